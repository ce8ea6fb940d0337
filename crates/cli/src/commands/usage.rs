//! Parsing the command line; a mistake is explained in one line.

use crate::commands::Cli;
use crate::commands::language::localized;
use crate::exit::Failure;
use crate::output::print;
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::ffi::OsString;

/// The arguments; `None` when help or the version was asked for and printed.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Option<Cli>, Failure> {
    let command = localized();
    let parsed = command.try_get_matches_from(words);
    let error = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(args) => return Ok(Some(args)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(|out| write!(out, "{}", error.render()))?;
            Ok(None)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(Failure::usage(
            "no command given: try assay qualify PATH, or assay --help",
        )),
        _ => Err(Failure::usage(one_line(&error))),
    }
}

/// What is wrong, with the nearest known word, in one line.
fn one_line(error: &Error) -> String {
    let argument = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let named = argument.clone().unwrap_or_default();
    let problem = match error.kind() {
        ErrorKind::UnknownArgument => {
            format!(
                "unknown argument '{named}'{}",
                nearest(error, ContextKind::SuggestedArg)
            )
        }
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let near = nearest(error, ContextKind::SuggestedSubcommand);
            format!("unknown command '{word}'{near}")
        }
        ErrorKind::MissingRequiredArgument => format!("missing: {named}"),
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
    format!("{problem} (assay --help shows all)")
}

/// clap's own first line, and the reason behind it where it has one.
fn first_line(error: &Error) -> String {
    let rendered = error.render().to_string();
    let first = rendered.lines().next().unwrap_or_default();
    first.trim_start_matches("error: ").to_owned()
}

fn nearest(error: &Error, kind: ContextKind) -> String {
    text(error, kind).map_or_else(String::new, |known| format!(": did you mean '{known}'?"))
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
        one_line(&Cli::try_parse_from(words).unwrap_err())
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
            (&["qualifi", "."], "did you mean 'qualify'?"),
            (&["qualify"], "missing: <PATH>"),
            (&["qualify", ".", "--trials", "0"], "'0'"),
            (&["qualify", ".", "--size", "3q"], "unknown suffix 'q'"),
            (
                &["qualify", ".", "--quick", "--thorough"],
                "cannot be used together",
            ),
            (
                &["import", "f", "--format", "x"],
                "'x' is not a value of --format <FORMAT>: it takes fio-json, fio-text",
            ),
            (
                &["report", "last"],
                "missing: <--output <FILE>|--format <FORMAT>|--all <DIR>>",
            ),
        ] {
            let line = complaint(words);
            assert!(line.contains(expected), "{words:?}: {line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
