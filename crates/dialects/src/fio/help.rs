//! Texts of `--help`, `--cmdhelp` and `--enghelp`, generated from the tables.

use super::flags::{Takes, flags};
use super::options::{self, ENGINES, GROUPS, OptionDef, OptionType, Support};
use crate::nearest;
use std::fmt::Write as _;

const EXAMPLES: &str = "\
Examples:
  assay fio jobs.fio --output-format=json
  assay fio --name=r --filename=/mnt/sd/file --size=1g --rw=randread --bs=4k --direct=1

";

const EXIT_CODES: &str = "
Exit codes: the number of failed jobs, 4 for data that differs, 128 when stopped.
";

/// Returns the output of `assay fio --help`.
pub fn usage() -> String {
    let mut text = format!(
        "{}\nUsage: assay fio [flags] [options of jobs] [job files]\n\n{EXAMPLES}",
        super::VERSION
    );
    for flag in flags().filter(|flag| !is_refused(flag.support)) {
        let value = match flag.value {
            Takes::Nothing => "",
            Takes::Value => "=…",
            Takes::Maybe => "[=…]",
        };
        let name = format!("--{}{value}", flag.name);
        let _ = writeln!(text, "  {name:<24}{}", flag.help);
    }
    text.push_str("\nOptions of jobs: --cmdhelp. Engines: --enghelp.\n");
    text.push_str(EXIT_CODES);
    text
}

const fn is_refused(support: Support) -> bool {
    matches!(support, Support::Refused(_))
}

/// Returns the output of `--cmdhelp`: all options, or one.
pub(super) fn option(name: Option<&str>) -> Result<String, String> {
    let Some(name) = name.filter(|name| !name.is_empty() && *name != "all") else {
        return Ok(list(
            options::all().filter(|option| option.engines.is_empty()),
        ));
    };
    match options::find(name) {
        Some(option) => Ok(describe(option)),
        None => Err(match nearest(name, options::names()) {
            Some(near) => format!("there is no option '{name}'; did you mean '{near}'?"),
            None => format!("there is no option '{name}'"),
        }),
    }
}

/// Returns the output of `--enghelp`: all engines, the options of one, or one
/// option of one.
pub(super) fn engine(name: Option<&str>) -> Result<String, String> {
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        let mut text = "Available IO engines:\n".to_owned();
        for engine in ENGINES.iter().filter(|engine| engine.kind.is_ok()) {
            let _ = writeln!(text, "\t{}", engine.name);
        }
        return Ok(text);
    };
    let (engine, option) = match name.split_once(',') {
        Some((engine, option)) => (engine, Some(option)),
        None => (name, None),
    };
    let found = options::engine(engine).ok_or_else(|| format!("there is no engine '{engine}'"))?;
    let mut own = options::all().filter(|option| option.engines.contains(&found.name));
    match option {
        Some(option) => own
            .find(|known| known.names().any(|name| name == option))
            .map(describe)
            .ok_or_else(|| format!("the engine {engine} has no option '{option}'")),
        None => {
            let text = list(own);
            Ok(match text.is_empty() {
                true => format!("IO engine {engine} has no options\n"),
                false => text,
            })
        }
    }
}

fn list(options: impl Iterator<Item = &'static OptionDef>) -> String {
    let mut text = String::new();
    for option in options {
        let _ = writeln!(
            text,
            "{:<30}: {}{}",
            option.name,
            option.help,
            mark(option.support)
        );
    }
    text
}

const fn mark(support: Support) -> &'static str {
    match support {
        Support::Works => "",
        Support::Differs(_) => " (differs from fio)",
        Support::NoEffect(_) => " (no effect)",
        Support::Refused(_) => " (refused)",
    }
}

/// Describes an option in full.
fn describe(option: &OptionDef) -> String {
    let mut text = format!("{:>20}: {}\n", option.name, option.help);
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:>20}: {value}");
    };
    for alias in option.aliases {
        line("alias", alias);
    }
    line("type", &form(option.kind));
    line(
        "default",
        if option.default.is_empty() {
            "no default"
        } else {
            option.default
        },
    );
    if !option.engines.is_empty() {
        line("engines", &option.engines.join(", "));
    }
    if let OptionType::Choice(choices) = option.kind {
        for (number, (name, meaning)) in choices.iter().enumerate() {
            let title = if number == 0 { "valid values" } else { "" };
            line(title, &format!("{name:<12} {meaning}"));
        }
    }
    match option.support {
        Support::Works => {}
        Support::Differs(how) => line("differs from fio", how),
        Support::NoEffect(why) => line("no effect", why),
        Support::Refused(why) => line("refused", why),
    }
    text
}

/// Describes the values that an option accepts.
pub(super) fn form(kind: OptionType) -> String {
    match kind {
        OptionType::Flag => "0 or 1".to_owned(),
        OptionType::Switch => "nothing, 0 or 1".to_owned(),
        OptionType::Number(min, max) if max >= u64::from(u32::MAX) => match min {
            i64::MIN => "number".to_owned(),
            min => format!("number from {min}"),
        },
        OptionType::Number(min, max) => format!("number from {min} to {max}"),
        OptionType::Bytes => "bytes, as in 4k".to_owned(),
        OptionType::EachBytes => "one to three numbers, as in 4k,8k,16k".to_owned(),
        OptionType::Extent => "bytes or percent".to_owned(),
        OptionType::Time(unit) => format!("time, in {} without a suffix", unit.name()),
        OptionType::Choice(choices) => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            names.join(", ")
        }
        OptionType::Text(form) => form.to_owned(),
        OptionType::OptionalText(form) => format!("nothing, or {form}"),
    }
}

/// Returns the page `docs/compat/fio.md`, which lists the parts of fio that are
/// supported, differ or are refused.
pub fn compat_table() -> String {
    let mut text = include_str!("compat_head.md").to_owned();
    text.push_str(include_str!("compat_tests.md"));
    text.push_str(
        "\n## Flags of the program\n\n| flag | what it is for | support |\n|---|---|---|\n",
    );
    for flag in flags() {
        let _ = writeln!(
            text,
            "| `--{}` | {} | {} |",
            flag.name,
            cell(flag.help),
            cell(&support(flag.support))
        );
    }
    text.push_str("\n## Engines\n\n| engine | support |\n|---|---|\n");
    for engine in ENGINES {
        let support = match engine.kind {
            Ok(kind) if kind.name() == engine.name => "works".to_owned(),
            Ok(kind) => format!("works: another name of {kind}"),
            Err(why) => format!("refused: {why}"),
        };
        let _ = writeln!(text, "| `{}` | {support} |", engine.name);
    }
    for (title, parts) in GROUPS {
        let _ = writeln!(
            text,
            "\n## {}\n\n| option | takes | default | what it is for | support |\n|---|---|---|---|---|",
            title
        );
        for option in parts.iter().flat_map(|options| *options) {
            let _ = writeln!(text, "{}", row(option));
        }
    }
    text
}

fn row(option: &OptionDef) -> String {
    let names: Vec<String> = option.names().map(|name| format!("`{name}`")).collect();
    let default = match option.default {
        "" => String::new(),
        default => format!("`{default}`"),
    };
    let engines = match option.engines {
        [] => String::new(),
        engines => format!(" ({})", engines.join(", ")),
    };
    format!(
        "| {} | {} | {default} | {}{engines} | {} |",
        names.join(", "),
        cell(&form(option.kind)),
        cell(option.help),
        cell(&support(option.support))
    )
}

fn support(support: Support) -> String {
    match support {
        Support::Works => "works".to_owned(),
        Support::Differs(how) => format!("differs: {how}"),
        Support::NoEffect(why) => format!("no effect: {why}"),
        Support::Refused(why) => format!("refused: {why}"),
    }
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
