//! Parsing of the command line; a mistake is explained in one line.

use crate::commands::Cli;
use crate::commands::language::localized;
use crate::exit::Failure;
use crate::output::print;
use assay_dialects::nearest;
use assay_store::{is_address, without_secrets};
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::ffi::OsString;

/// Parses the arguments; returns `None` if help or the version was requested and printed.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Option<Cli>, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let command = localized();
    let parsed = command.try_get_matches_from(&words);
    let error = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(args) if args.command.is_none() && args.generate.is_none() => {
            return Err(Failure::usage(without_command(&words)));
        }
        Ok(args) => return Ok(Some(args)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(|out| write!(out, "{}", error.render()))?;
            Ok(None)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Err(Failure::usage(without_command(&words)))
        }
        _ => Err(Failure::usage(one_line(&error, &words))),
    }
}

/// Returns the subcommands that can follow arguments that lack one.
fn without_command(words: &[OsString]) -> String {
    let command = localized();
    let mut groups = words.iter().skip(1).filter_map(|word| {
        let found = command.find_subcommand(word)?;
        found.has_subcommands().then_some(found)
    });
    let Some(group) = groups.next() else {
        return "no command given: try assay qualify PATH, or assay --help".to_owned();
    };
    let name = group.get_name();
    let names = group.get_subcommands().map(clap::Command::get_name);
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    format!(
        "assay {name} needs one of: {} (assay {name} --help describes them)",
        names.join(", ")
    )
}

/// Describes a usage error, with the nearest known word, in one line.
fn one_line(error: &Error, words: &[OsString]) -> String {
    let command = localized();
    let given = words.get(1).and_then(|word| command.find_subcommand(word));
    let name = given.map(clap::Command::get_name);
    let argument = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let named = argument.clone().unwrap_or_default();
    let problem = match error.kind() {
        ErrorKind::UnknownArgument if name == Some("rank") && !named.starts_with('-') => {
            return "rank takes one sweep; to compare two runs: assay compare A B".to_owned();
        }
        ErrorKind::UnknownArgument => {
            format!(
                "unknown argument '{named}'{}",
                meant(error, ContextKind::SuggestedArg, &named)
            )
        }
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let near = meant(error, ContextKind::SuggestedSubcommand, &word);
            format!("unknown command '{word}'{near}")
        }
        ErrorKind::MissingRequiredArgument if name == Some("compare") && words.len() == 2 => {
            return "give two runs: assay compare A B".to_owned();
        }
        ErrorKind::MissingRequiredArgument if named.starts_with(SCENARIO) => {
            "give a scenario and a path, such as assay scenario boot PATH (--list shows all \
             scenarios)"
                .to_owned()
        }
        ErrorKind::MissingRequiredArgument => format!("missing: {}", of_groups(&named)),
        ErrorKind::ArgumentConflict => {
            let other = text(error, ContextKind::PriorArg).unwrap_or_default();
            format!("{named} and {other} cannot be used together")
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{named} needs a value"),
        ErrorKind::InvalidValue => match text(error, ContextKind::ValidValue) {
            Some(known) if !known.is_empty() => {
                format!("'{value}' is not a value of {named}: it takes {known}")
            }
            _ => first_line(error),
        },
        _ => first_line(error),
    };
    match name {
        Some(name) => format!("{problem} (assay {name} --help shows all)"),
        None => format!("{problem} (assay --help shows all)"),
    }
}

/// Start of clap's notation for the arguments of which `assay scenario` needs one.
const SCENARIO: &str = "<SCENARIO|FILE|--list";

/// Lists arguments by name where clap writes a group of options as `<--name <NAME>|--tag <TAG>>`.
fn of_groups(named: &str) -> String {
    let each = named.split(", ").map(|one| {
        let group = one.strip_prefix("<-").and_then(|one| one.strip_suffix('>'));
        group.map_or_else(
            || one.to_owned(),
            |group| format!("one of -{}", group.replace('|', ", ")),
        )
    });
    each.collect::<Vec<_>>().join(" and ")
}

/// Returns clap's first line, and the reason after it if there is one.
fn first_line(error: &Error) -> String {
    let rendered = match error.get(ContextKind::InvalidValue) {
        // A line break in the value would cut off the reason; an address may contain a password.
        Some(ContextValue::String(value)) => {
            let shown = match is_address(value) {
                true => without_secrets(value),
                false => value.clone(),
            };
            let rendered = error.render().to_string();
            rendered.replace(value.as_str(), &shown.escape_debug().to_string())
        }
        _ => error.render().to_string(),
    };
    let first = rendered.lines().next().unwrap_or_default();
    first.trim_start_matches("error: ").to_owned()
}

/// Suggests the intended word; clap also offers words that merely sound alike.
fn meant(error: &Error, kind: ContextKind, given: &str) -> String {
    let known = match error.get(kind) {
        Some(ContextValue::String(text)) => std::slice::from_ref(text),
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    };
    let given = given.split('=').next().unwrap_or_default();
    nearest(given, known.iter().map(String::as_str))
        .map_or_else(String::new, |known| format!(": did you mean '{known}'?"))
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    fn complaint(words: &[&str]) -> String {
        let words = std::iter::once("assay").chain(words.iter().copied());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        one_line(&Cli::try_parse_from(&words).unwrap_err(), &words)
    }

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn mistakes_are_named_in_one_line_with_the_nearest_word() {
        for (words, expected) in [
            (
                &["qualify", ".", "--trails", "3"][..],
                "did you mean '--trials'?",
            ),
            (&["list", "--sort"], "(assay list --help shows all)"),
            (&["qualifi", "."], "did you mean 'qualify'?"),
            (&["qualify"], "missing: <PATH>"),
            (&["qualify", ".", "--trials", "0"], "'0'"),
            (&["qualify", ".", "--size", "3q"], "unknown suffix 'q'"),
            (
                &["qualify", ".", "--quick", "--thorough"],
                "cannot be used together",
            ),
            (&["compare"], "give two runs: assay compare A B"),
            (&["scenario"], "such as assay scenario boot PATH"),
            (&["scenario", "boot"], "missing: <PATH>"),
            (
                &["tag", "last"],
                "missing: one of --name <NAME>, --no-name, --tag <TAG>",
            ),
            (&["tag"], "--note <TEXT> and <RUN>"),
            (&["sweep"], "missing: --vary <SUBJECT=VALUES> and <PATH>"),
            (&["rank", "a", "b"], "rank takes one sweep"),
            (&["tag", "last", "--name", "a\nb"], "a\\nb"),
            (
                &["push", "--to", "mysql://ann:s3@db"],
                "invalid value 'mysql://ann@db' for '--to <STORE>': mysql://ann@db names no store",
            ),
            (
                &["import", "f", "--format", "x"],
                "'x' is not a value of --format <FORMAT>: it takes fio-json, fio-text",
            ),
        ] {
            let line = complaint(words);
            assert!(line.contains(expected), "{words:?}: {line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn words_that_are_not_alike_are_not_offered() {
        for words in [
            &["history"][..],
            &["delete"],
            &["qualify", ".", "--frobnicate"],
            &["list", "--sort"],
            &["show", "last", "--html"],
        ] {
            let line = complaint(words);
            assert!(!line.contains("did you mean"), "{words:?}: {line}");
        }
        assert!(complaint(&["lsit"]).contains("'list'"));
        assert!(complaint(&["list", "--devcie", "x"]).contains("'--device'"));
    }

    #[test]
    fn a_group_of_commands_names_them() {
        for (group, expected) in [
            ("agent", "push, list, remove"),
            ("model", "limits, compare"),
        ] {
            let words = ["assay", group].map(OsString::from);
            let line = parse(words).unwrap_err().to_string();
            assert!(line.contains(expected), "{line}");
        }
    }
}
