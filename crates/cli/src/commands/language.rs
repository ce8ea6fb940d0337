//! Language of the texts for users: it is chosen once, before any output, and the help of every
//! command is translated into it.

use super::{Cli, GROUPS};
use crate::config;
use crate::output::print_columns;
use assay_lang::{Language, tr, translated};
use assay_report::words::wrap;
use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};
use std::ffi::{OsStr, OsString};

/// Variables that set the language of messages, the strongest first (`locale(7)`).
const VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// Returns the language that the command line requests, else that of the settings or the locale.
/// The arguments are searched before they are parsed, because parsing prints help. The parser
/// reports a wrong value. Arguments after the name of another tool or a `--` are not assay's.
pub fn wanted(words: &[OsString], tools: &[&str]) -> Language {
    asked_for(words, tools)
        .or(config::values().language)
        .unwrap_or_else(|| of_locale(|name| std::env::var_os(name)))
}

fn asked_for(words: &[OsString], tools: &[&str]) -> Option<Language> {
    let ends = |word: &&OsString| *word == "--" || tools.iter().any(|tool| *word == tool);
    let mut words = words.iter().skip(1).take_while(|word| !ends(word));
    while let Some(word) = words.next() {
        let value = match word.to_str()?.strip_prefix("--lang") {
            Some("") => words.next().and_then(|value| value.to_str()),
            Some(value) => value.strip_prefix('='),
            None => continue,
        };
        return Language::of_tag(value?);
    }
    None
}

fn of_locale(variable: impl Fn(&str) -> Option<OsString>) -> Language {
    let mut set = VARIABLES.iter().filter_map(|name| variable(name));
    let locale = set.find(|value| !value.is_empty());
    let locale = locale.as_deref().map(OsStr::to_string_lossy);
    Language::of_locale(&locale.unwrap_or_default())
}

/// Default and maximum width of help, in columns.
const WIDTH: usize = 100;
/// Indent of clap for the text below an option, in columns.
const INDENT: usize = 10;

/// Returns the command line with its help in the current language and its commands in groups.
pub fn localized() -> Command {
    let mut command = Cli::command();
    let commands = grouped(&command);
    if assay_lang::current() == Language::English {
        command = with_whole_paragraphs(command);
    } else {
        // Options such as `--help` exist only after this.
        command.build();
        let columns = print_columns().unwrap_or(WIDTH).min(WIDTH);
        command = in_language(command, columns);
    }
    let (usage, options) = (tr!("Usage: "), tr!("Options"));
    command.help_template(format!(
        "{{about-with-newline}}\n{usage}{{usage}}\n{commands}\n{options}:\n{{options}}{{after-help}}"
    ))
}

/// Formats a heading for each group, and a line for each command.
fn grouped(command: &Command) -> String {
    let mut lines = String::new();
    for (heading, names) in GROUPS {
        lines += &format!("\n{}:\n", translated(heading));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(plain).unwrap_or_default();
            lines += &format!("  {name:<10}  {}\n", translated(&about));
        }
    }
    lines
}

/// Joins the lines of each paragraph below the options: the source wraps them for its readers, clap
/// wraps at the width of the terminal.
fn with_whole_paragraphs(command: Command) -> Command {
    let command = command.mut_subcommands(with_whole_paragraphs);
    match command.get_after_help().map(plain) {
        Some(after) => command.after_help(whole_paragraphs(&after)),
        None => command,
    }
}

/// Joins a line with the one before it, unless that ends a sentence or one of both is indented.
fn whole_paragraphs(text: &str) -> String {
    let mut whole = String::new();
    let mut last = "";
    for line in text.lines() {
        let apart = last.is_empty()
            || line.is_empty()
            || last.ends_with(['.', ':'])
            || [last, line].iter().any(|line| line.starts_with(' '));
        let between = match (whole.is_empty(), apart) {
            (true, _) => "",
            (false, true) => "\n",
            (false, false) => " ",
        };
        whole += between;
        whole += line;
        last = line;
    }
    whole
}

/// Translates a command's help and wraps it here: clap breaks lines only at spaces, which Chinese
/// does not have. The descriptions of options begin on the line below, where the width is known.
fn in_language(command: Command, columns: usize) -> Command {
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{}{{usage}}\n\n{{all-args}}{{after-help}}",
        tr!("Usage: ")
    );
    let mut command = command
        .next_line_help(true)
        .help_template(template)
        .subcommand_help_heading(tr!("Commands"))
        .mut_args(|arg| argument(arg, columns.saturating_sub(INDENT)))
        .mut_subcommands(|command| in_language(command, columns));
    if let Some(about) = command.get_about().map(plain) {
        command = command.about(broken(&about, columns));
    }
    if let Some(about) = command.get_long_about().map(plain) {
        command = command.long_about(broken(&about, columns));
    }
    if let Some(after) = command.get_after_help().map(plain) {
        command = command.after_help(translated(&after).to_owned());
    }
    command
}

fn argument(arg: Arg, columns: usize) -> Arg {
    let heading = match arg.is_positional() {
        true => tr!("Arguments"),
        false => tr!("Options"),
    };
    let mut notes = Vec::new();
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let value = defaults.join(" ");
        notes.push(tr!("[default: {value}]", value));
    }
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect();
    if !values.is_empty() && arg.get_action().takes_values() {
        let values = values.join(", ");
        notes.push(tr!("[possible values: {values}]", values));
    }
    let notes = notes.join(" ");
    let whole =
        |help: &StyledStr| broken(&format!("{} {notes}", translated(&plain(help))), columns);
    let (short, long) = (arg.get_help().map(whole), arg.get_long_help().map(whole));
    let arg = arg
        .help_heading(heading)
        .hide_default_value(true)
        .hide_possible_values(true);
    match (short, long) {
        (Some(short), Some(long)) => arg.help(short).long_help(long),
        (Some(short), None) => arg.help(short),
        _ => arg,
    }
}

fn plain(text: &StyledStr) -> String {
    text.to_string()
}

/// Returns the translation in lines of at most `columns` columns.
fn broken(text: &str, columns: usize) -> String {
    let lines = translated(text).lines();
    let lines: Vec<String> = lines.map(|line| wrap(line, columns).join("\n")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod template;
#[cfg(test)]
mod tests;
