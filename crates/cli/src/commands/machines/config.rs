//! `assay lab config`: the settings in force, and the source of each.

use crate::config::{self, SETTINGS, Setting, VARIABLES, value_in_words};
use crate::exit::{DONE, Failure, USAGE};
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::StoreArgs;
use crate::ui::{Destination, parse_margin, store_location};
use assay_lang::in_english;
use assay_model::text::clean;
use assay_report::document::{Block, Document, Section};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use std::process::ExitCode;

const PRECEDENCE: &str = "\
Precedence: flag, environment variable, project file (assay.toml in this folder or
above), user file (assay/config.toml in the XDG config folder). A flag given here
shows its effect. docs/config.md describes all settings.

Examples:
  assay lab config
  assay lab config --trials 3    what a flag would change

Exit codes: 0 done, 1 failed, 2 wrong usage, or a setting is not understood.";

/// Version of the JSON format; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// `assay lab config`.
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub struct ConfigArgs {
    /// Number of trials.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Largest difference that counts as equivalent, in percent.
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub output: DocumentArgs,
}

/// Returns the precedence, then every setting and every other variable.
fn after_help() -> String {
    let settings = SETTINGS.iter();
    let settings = settings.map(|one| format!("  {}, {}: {}", one.key, one.variable, one.about));
    let others = VARIABLES.iter();
    let others = others.map(|(name, about, _)| format!("  {name}: {about}"));
    let lines = |title: &str, lines: Vec<String>| format!("{title}:\n{}", lines.join("\n"));
    [
        lines("Settings, with the variable of each", settings.collect()),
        lines("Other environment variables", others.collect()),
        PRECEDENCE.to_owned(),
    ]
    .join("\n\n")
}

/// A setting in force.
#[derive(Serialize)]
struct SettingInForce {
    key: String,
    value: Option<String>,
    /// Text for users if there is no single value.
    #[serde(skip)]
    otherwise: &'static str,
    from: &'static str,
    file: Option<String>,
    variable: &'static str,
    flag: &'static str,
}

/// Shows the settings, and the problems of those that are not understood.
pub fn run(args: &ConfigArgs, language: Option<&str>) -> Result<ExitCode, Failure> {
    let settings = settings(args, language);
    let problems = config::current().all_problems();
    let value = || {
        json!({
            "schema": SCHEMA,
            "settings": settings,
            "files": config::current().files_json(),
            "problems": problems,
            "warnings": config::current().warnings,
        })
    };
    args.output
        .present(value, || in_english(|| document(&settings, &problems)))?;
    Ok(match problems.is_empty() {
        true => DONE,
        false => ExitCode::from(USAGE),
    })
}

fn settings(args: &ConfigArgs, language: Option<&str>) -> Vec<SettingInForce> {
    let mut all = Vec::new();
    for setting in &SETTINGS {
        let flag = match setting.key {
            "store" => args.store.store.as_ref().map(ToString::to_string),
            "language" => language.map(str::to_owned),
            "trials" => args.trials.map(|number| number.to_string()),
            // Rounded to the percentage that the user gave: the share is a binary fraction.
            "margin" => args
                .margin
                .map(|share| ((1e8 * share).round() / 1e6).to_string()),
            _ => None,
        };
        let names = config::values().targets.keys();
        match setting.key {
            "targets" if names.len() > 0 => {
                all.extend(names.map(|name| in_force(setting, &format!("targets.{name}"), None)));
            }
            key => all.push(in_force(setting, key, flag)),
        }
    }
    all
}

fn in_force(setting: &'static Setting, key: &str, flag: Option<String>) -> SettingInForce {
    let (value, from, file) = match (flag, config::current().find(key)) {
        (Some(value), _) => (Some(value), "flag", None),
        (None, Some((value, layer))) => (
            Some(shown(key, &value_in_words(value))),
            layer.kind,
            layer.file.as_ref(),
        ),
        (None, None) => (default(setting), "default", None),
    };
    SettingInForce {
        key: key.to_owned(),
        value,
        otherwise: setting.default,
        from,
        file: file.map(|file| file.display().to_string()),
        variable: setting.variable,
        flag: setting.flag,
    }
}

/// Formats a value for display: the address of a store without its password.
fn shown(key: &str, value: &str) -> String {
    match key {
        "store" => match store_location(value.as_ref()) {
            Ok(location) => location.to_string(),
            Err(_) => "a store that is not understood".to_owned(),
        },
        "push_to" => match value.parse::<Destination>() {
            Ok(to) => to.to_string(),
            Err(_) => "a store that is not understood".to_owned(),
        },
        _ => value.to_owned(),
    }
}

/// Returns the default of a setting; `None` if it depends on the command.
fn default(setting: &Setting) -> Option<String> {
    match setting.key {
        "store" => {
            let location = StoreArgs::default().location().ok()?;
            Some(location.to_string())
        }
        "language" => Some(assay_lang::current().tag().to_owned()),
        "margin" => Some(setting.default.to_owned()),
        _ => None,
    }
}

fn document(settings: &[SettingInForce], problems: &[String]) -> Document {
    let mut document = Document::new("Settings in force".to_owned());
    let mut section = Section::new("settings", "");
    section.facts(settings.iter().map(|setting| {
        let value = setting.value.as_deref().unwrap_or(setting.otherwise);
        let from = match (&setting.file, setting.from) {
            (Some(file), kind) => format!("{kind} file {file}"),
            (None, "environment") => setting.variable.to_owned(),
            (None, "flag") => setting.flag.to_owned(),
            (None, from) => from.to_owned(),
        };
        (clean(&setting.key), clean(&format!("{value} ({from})")))
    }));
    document.push(section);
    let mut files = Section::new("files", "Config files");
    files.list(config::current().file_states());
    document.push(files);
    let warnings = &config::current().warnings;
    document.push(warned("problems", "Not understood", problems, true));
    document.push(warned("warnings", "Not read", warnings, false));
    document
}

fn warned(id: &'static str, title: &str, sentences: &[String], severe: bool) -> Section {
    let mut section = Section::new(id, title);
    let warnings = sentences.iter().map(|sentence| Block::Warning {
        message: clean(sentence),
        remedy: None,
        severe,
    });
    section.blocks.extend(warnings);
    section
}
