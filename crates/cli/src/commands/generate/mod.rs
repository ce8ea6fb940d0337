//! `assay --generate`: files for packages besides the program, made from the definition of its
//! flags.
//!
//! The end of a help text consists of paragraphs. Those that begin with `Examples:` and `Exit
//! codes:` become sections of the page, the others become a part of its description. The help of
//! another tool is parsed in the same way.

pub mod completion;

use crate::commands::language::example;
use crate::commands::{Cli, GROUPS};
use crate::config::{SETTINGS, VARIABLES};
use crate::exit::{DONE, Failure};
use crate::output::print;
use crate::stored::OutputFolder;
use assay_dialects::{dd, fio, iozone};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use jiff::Timestamp;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Writes the manual, or prints a completion script.
pub fn run(words: &[OsString]) -> Result<ExitCode, Failure> {
    let what = words.first().and_then(|word| word.to_str());
    let shell = what.and_then(|word| word.strip_prefix("complete-"));
    match (words, shell.and_then(completion::script)) {
        ([man, folder], _) if man == "man" && !folder.is_empty() => write(Path::new(folder))?,
        ([_], Some(script)) => print(|out| out.write_all(script.as_bytes()))?,
        _ => {
            return Err(Failure::usage(
                "--generate takes man DIR, complete-bash, complete-zsh, complete-fish, \
                 complete-elvish or complete-powershell",
            ));
        }
    }
    Ok(DONE)
}

/// Variable with the date of reproducible builds, in seconds
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
const DATE: &str = "SOURCE_DATE_EPOCH";

/// Tools with a drop-in; each has its own page.
const TOOLS: [&str; 3] = ["dd", "fio", "iozone"];

/// Text for the pages of these tools.
const OF_TOOLS: &str = "--on TARGET in front of the tool's own options measures on another machine: \
    see assay-qualify(1). A link to assay with the name of the tool runs this command.";

/// Variable or file that commands read; option: only commands with this option read it (all, if
/// empty); description.
type Input = (&'static str, &'static str, &'static str);

const FILES: [Input; 5] = [
    (
        "~/.config/assay/config.toml, assay.toml",
        "",
        "Settings of the user and of a project: see assay-lab-config(1).",
    ),
    (
        "~/.local/share/assay/runs.sqlite",
        "store",
        "Default store of runs and imports.",
    ),
    (
        "~/.ssh/config",
        "on",
        "Hosts that assay lab targets lists; ssh reads it for --on ssh://HOST.",
    ),
    (
        "~/.assay-agent",
        "on",
        "Agent that assay lab agent push installs on a target.",
    ),
    (
        "/run/assay, $XDG_RUNTIME_DIR/assay",
        "on",
        "Journals of changed settings: the first folder for root, the second for other users. The \
         next command undoes what a killed one left changed.",
    ),
];

/// Returns the variables of settings, then all others.
fn environment() -> Vec<Input> {
    let settings = SETTINGS.iter();
    let settings = settings.map(|one| (one.variable, one.flag.trim_start_matches('-'), one.about));
    let others = VARIABLES.iter();
    let others = others.map(|(name, about, option)| (*name, *option, *about));
    settings.chain(others).collect()
}

/// Writes a page for each command into a folder, which is created if it is missing.
fn write(folder: &Path) -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    // Sets the display names of subcommands, such as assay-agent-push.
    command.build();
    let folder = OutputFolder::open(folder)?;
    write_pages(&command, &TOOLS.map(str::to_owned), &folder)
}

/// Writes the page of a command, with the names of related pages, and those of its subcommands.
fn write_pages(
    command: &Command,
    related: &[String],
    folder: &OutputFolder,
) -> Result<(), Failure> {
    let name = page_name(command);
    folder.write(&format!("{name}.1"), |out| {
        out.write_all(page(command, related)?.as_bytes())
    })?;
    for below in command.get_subcommands() {
        let siblings = command.get_subcommands().map(page_name);
        let siblings = siblings.filter(|sibling| is_related(sibling, &page_name(below)));
        let related: Vec<String> = [name.clone()].into_iter().chain(siblings).collect();
        write_pages(below, &related, folder)?;
    }
    Ok(())
}

/// Returns the name of a command's page, such as `assay-agent-push`.
fn page_name(command: &Command) -> String {
    let name = command.get_display_name();
    name.unwrap_or_else(|| command.get_name()).to_owned()
}

/// `true` if two pages are of commands in the same group of the help.
fn is_related(page: &str, other: &str) -> bool {
    let is_in = |page: &str, names: &[&str]| {
        let name = page.strip_prefix("assay-");
        name.is_some_and(|name| names.contains(&name))
    };
    let mut groups = GROUPS.iter();
    page != other && groups.all(|(_, names)| is_in(page, names) == is_in(other, names))
}

/// Returns the help of a command that is another tool; `None` for other commands.
fn help_of_tool(command: &Command) -> Option<String> {
    match page_name(command).as_str() {
        "assay-fio" => Some(fio::usage()),
        "assay-dd" => Some(dd::HELP.to_owned()),
        "assay-iozone" => Some(iozone::help()),
        _ => None,
    }
}

/// Parts of a help that become sections of a page.
#[derive(Debug, Default)]
struct HelpSections<'a> {
    usage: Option<&'a str>,
    examples: Option<&'a str>,
    exit_codes: Option<&'a str>,
    others: Vec<&'a str>,
}

impl<'a> HelpSections<'a> {
    /// Parses the end of a command's help, or the whole help of another tool.
    fn read(help: &'a str) -> Self {
        let mut sections = Self::default();
        for paragraph in help.trim_end().split("\n\n") {
            // A version may precede the usage.
            let (usage, rest) = match paragraph.split_once("Usage: ") {
                Some((_, usage)) => usage.split_once('\n').unwrap_or((usage, "")),
                None => ("", paragraph),
            };
            if !usage.is_empty() {
                sections.usage = Some(usage);
            }
            if let Some(examples) = rest.strip_prefix("Examples:\n") {
                sections.examples = Some(examples);
            } else if let Some(codes) = rest.strip_prefix("Exit codes: ") {
                sections.exit_codes = Some(codes);
            } else if !rest.is_empty() {
                sections.others.push(rest);
            }
        }
        sections
    }
}

fn page(command: &Command, related: &[String]) -> io::Result<String> {
    let tool = help_of_tool(command);
    let after = command.get_after_help().map(ToString::to_string);
    let help = HelpSections::read(tool.as_deref().or(after.as_deref()).unwrap_or_default());
    let usage = command.clone().render_usage().to_string();
    let usage = help.usage.or(usage.strip_prefix("Usage: "));
    let command = &command
        .clone()
        .override_usage(usage.unwrap_or_default().to_owned());
    let man = Man::new(command.clone())
        .title(page_name(command).to_uppercase())
        .date(date())
        .source(concat!("assay ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    let mut roff = Roff::new();
    let is_option = |text: &&&str| tool.is_some() && text.lines().any(|line| line.starts_with(' '));
    for text in help.others.iter().filter(|text| !is_option(text)) {
        paragraph(&mut roff, text);
    }
    if tool.is_some() {
        paragraph(&mut roff, OF_TOOLS);
        roff.control("SH", ["OPTIONS"]);
        for (index, text) in help.others.iter().filter(is_option).enumerate() {
            if index > 0 {
                roff.control("PP", []);
            }
            verbatim(&mut roff, text);
        }
    }
    if page_name(command) == "assay" {
        groups(&mut roff, command);
    }
    roff.to_writer(&mut out)?;
    if tool.is_none() {
        man.render_options_section(&mut out)?;
    }
    let mut roff = Roff::new();
    if let Some(codes) = help.exit_codes {
        roff.control("SH", ["EXIT STATUS"]).text([roman(codes)]);
    }
    for (heading, rows) in [("ENVIRONMENT", &environment()[..]), ("FILES", &FILES)] {
        roff.control("SH", [heading]);
        for (name, option, text) in rows {
            let mut options = command.get_arguments().filter_map(|arg| arg.get_long());
            if option.is_empty() || tool.is_some() || options.any(|own| own == *option) {
                entry(&mut roff, name, text);
            }
        }
    }
    let steps = match page_name(command).as_str() {
        "assay" => first_steps(command),
        _ => String::new(),
    };
    if let Some(examples) = help
        .examples
        .or(Some(&*steps).filter(|all| !all.is_empty()))
    {
        roff.control("SH", ["EXAMPLES"]);
        verbatim(&mut roff, examples);
    }
    roff.control("SH", ["SEE ALSO"]);
    let replaced = tool
        .as_ref()
        .and(page_name(command).strip_prefix("assay-"))
        .map(str::to_owned);
    let below = command.get_subcommands().map(page_name);
    let pages = related.iter().cloned().chain(replaced).chain(below);
    let pages: Vec<String> = pages.map(|name| format!("{name}(1)")).collect();
    roff.text([roman(pages.join(", "))]);
    roff.to_writer(&mut out)?;
    Ok(joined(&String::from_utf8_lossy(&out)))
}

/// Joins documents into one, and replaces input that roff would render differently or warn about.
fn joined(documents: &str) -> String {
    const REPLACED: [(&str, &str); 3] = [(".br\n\n.br\n", ".sp\n"), ("`", r"\(ga"), ("~", r"\(ti")];
    let preamble = Roff::new().render();
    let body = documents.replace(&preamble, "");
    let replaced = REPLACED
        .iter()
        .fold(body, |text, (from, to)| text.replace(from, to));
    preamble + &replaced
}

/// Formats the day of `SOURCE_DATE_EPOCH`; empty without it.
fn date() -> String {
    let seconds = std::env::var(DATE).ok().and_then(|text| text.parse().ok());
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(String::new, |time| time.strftime("%F").to_string())
}

/// Returns an example of each command of the first group.
fn first_steps(command: &Command) -> String {
    let (_, names) = GROUPS[0];
    let commands = names
        .iter()
        .filter_map(|name| command.find_subcommand(name));
    let examples = commands.filter_map(example);
    examples.map(|line| format!("  {line}\n")).collect()
}

/// Adds the commands in their groups.
fn groups(roff: &mut Roff, command: &Command) {
    roff.control("SH", ["COMMANDS"]);
    for (heading, names) in GROUPS {
        roff.control("SS", [heading]);
        for below in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = below.get_about().map(ToString::to_string);
            entry(
                roff,
                &format!("{}(1)", page_name(below)),
                &about.unwrap_or_default(),
            );
        }
    }
}

fn entry(roff: &mut Roff, name: &str, text: &str) {
    roff.control("TP", [])
        .text([bold(name)])
        .text([roman(text)]);
}

/// Adds text that is filled, unless it has indented lines.
fn paragraph(roff: &mut Roff, text: &str) {
    roff.control("PP", []);
    match text.lines().any(|line| line.starts_with(' ')) {
        true => verbatim(roff, text),
        false => drop(roff.text([roman(text)])),
    }
}

fn verbatim(roff: &mut Roff, text: &str) {
    roff.control("nf", []).text([roman(text)]).control("fi", []);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;

    /// Calls `check` for each command below `command`.
    fn each(command: &Command, check: &mut dyn FnMut(&Command)) {
        check(command);
        command
            .get_subcommands()
            .for_each(|below| each(below, check));
    }

    fn built() -> Command {
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        command
    }

    #[test]
    fn every_command_and_option_has_help_and_every_command_exit_codes() {
        each(&built(), &mut |command| {
            let name = page_name(command);
            assert!(command.get_about().is_some(), "{name}");
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{name}: {arg}");
            }
            let tool = help_of_tool(command);
            let after = command.get_after_help().map(ToString::to_string);
            let text = tool.or(after).unwrap_or_default();
            let help = HelpSections::read(&text);
            assert!(help.exit_codes.is_some(), "{name}");
            assert!(
                help.examples.is_some() || command.has_subcommands(),
                "{name}"
            );
            assert!(
                !help.others.iter().any(|text| text.contains("xit codes: ")),
                "{name}"
            );
        });
    }

    /// Returns the words of an example up to a pipe, a redirection or a comment.
    fn words_of(example: &str) -> Vec<String> {
        let ends = ["  ", " > "].map(|end| example.find(end).unwrap_or(example.len()));
        let end = ends[0].min(ends[1]);
        shlex::split(&example[..end]).expect("words")
    }

    #[test]
    fn examples_are_command_lines_that_assay_takes() {
        let mut count = 0;
        each(&built(), &mut |command| {
            let after = command.get_after_help().map(ToString::to_string);
            let after = after.unwrap_or_default();
            let examples = HelpSections::read(&after).examples.unwrap_or_default();
            let examples = examples.replace("\\\n      ", "");
            for line in examples.lines().map(str::trim) {
                let line = line.rsplit("| ").find(|part| part.starts_with("assay "));
                let Some(line) = line else { continue };
                let error = Cli::command().try_get_matches_from(words_of(line)).err();
                let error = error.filter(|error| error.kind() != ErrorKind::DisplayHelp);
                assert!(error.is_none(), "{line}: {}", error.expect("an error"));
                count += 1;
            }
        });
        assert!(count > 60, "{count}");
    }

    #[test]
    fn parts_of_a_help_are_told_apart() {
        let help = HelpSections::read(
            "v1\nUsage: assay x [FLAGS]\nIt does.\n\nExamples:\n  assay x\n\nExit codes: 0 done.\n",
        );
        assert_eq!(help.usage, Some("assay x [FLAGS]"));
        assert_eq!(help.examples, Some("  assay x"));
        assert_eq!(help.exit_codes, Some("0 done."));
        assert_eq!(help.others, ["It does."]);
    }
}
