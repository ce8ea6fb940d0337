//! The command line, and the pages that speak of it.

use super::{Cli, command_of, *};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use std::fs;
use std::path::Path;

#[test]
fn a_command_is_found_among_its_words() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let of = |line: &[&str]| {
        let words: Vec<String> = words(line);
        command_of(&words).to_owned()
    };
    assert_eq!(
        of(&["/usr/bin/assay", "--lang", "en", "qualify", "dd"]),
        "qualify"
    );
    assert_eq!(of(&["/opt/dd", "if=x"]), "dd");
    assert_eq!(of(&[]), "");
}

/// Name and text of README and of each page in `docs`.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = fs::read_dir(root.join("docs")).expect("docs");
    let docs = entries.map(|entry| entry.expect("an entry").path());
    let pages = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let read = |path: std::path::PathBuf| {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, fs::read_to_string(path).expect("text"))
    };
    pages.chain([root.join("README.md")]).map(read).collect()
}

/// Commands, and subcommands of these, each with all its words and its own flags.
fn flags(command: &clap::Command, words: &str, found: &mut Vec<(String, String)>) {
    let own = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !arg.is_global_set());
    let own = own.filter_map(|arg| arg.get_long());
    found.extend(own.map(|flag| (words.to_owned(), format!("--{flag}"))));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        flags(sub, &format!("{words} {}", sub.get_name()), found);
    }
}

/// A flag of more commands than this is described once, on a page for all of them.
const COMMON: usize = 6;

#[test]
fn each_flag_is_on_a_page_that_names_its_command() {
    let pages = pages();
    let mut all = Vec::new();
    flags(&Cli::command(), "assay", &mut all);
    let has_word = |text: &str, word: &str| {
        let mut places = text.match_indices(word);
        places.any(|(at, _)| {
            let next = text[at + word.len()..].chars().next();
            !next.is_some_and(|next| next.is_alphanumeric() || next == '-')
        })
    };
    let missing: Vec<_> = all
        .iter()
        .filter(|(command, flag)| {
            let first: Vec<&str> = command.split(' ').take(2).collect();
            let is_common = all.iter().filter(|(_, other)| other == flag).count() > COMMON;
            let names = |text: &str| is_common || text.contains(&first.join(" "));
            let mut of_command = pages.iter().filter(|(_, text)| names(text));
            !of_command.any(|(_, text)| has_word(text, flag))
        })
        .collect();
    assert!(
        missing.is_empty(),
        "on no page of its command: {missing:#?}"
    );
}

/// Lines of code blocks that start assay, without prompt, comment and what the shell does.
fn command_lines(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.flat_map(str::lines).filter_map(|line| {
        let line = line.trim_start_matches("$ ");
        let line = line.starts_with("assay ").then_some(line)?;
        let line = line.trim_end();
        let ends = ["   ", "  #", " #", " |", " >", " <", " &", ";", "\\"];
        let end = ends.iter().filter_map(|end| line.find(end)).min();
        Some(&line[..end.unwrap_or(line.len())])
    })
}

/// Values may be placeholders; commands and flags are those that exist.
#[test]
fn each_command_line_of_the_pages_is_one_that_assay_takes() {
    let mut count = 0;
    for (page, text) in pages() {
        for line in command_lines(&text.replace("\\\n    ", "")) {
            let words = shlex::split(line).expect(line);
            let tool = words.get(1).map_or("", String::as_str);
            if ["fio", "dd", "iozone", "androbench"].contains(&tool) {
                continue;
            }
            count += 1;
            let Err(error) = Cli::try_parse_from(&words) else {
                continue;
            };
            let is_value = matches!(
                error.kind(),
                ErrorKind::ValueValidation
                    | ErrorKind::InvalidValue
                    | ErrorKind::DisplayHelp
                    | ErrorKind::DisplayVersion
            );
            assert!(is_value, "{page}: {line}: {error}");
        }
    }
    assert!(count > 100, "only {count} lines were found");
}

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
