//! The command line, and the pages that speak of it.

use super::{Cli, command_of};
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
