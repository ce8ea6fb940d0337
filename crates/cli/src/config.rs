//! Settings from config files and the environment: defaults of flags, and names of targets.
//!
//! They are read once, at the start. A process that this one starts gets them as variables and
//! reads no file, so that all processes of a command have the same settings.
//!
//! To add a setting: add a row of `SETTINGS`, a field of `Values`, the look-up where the flag's
//! default is used, and a row in `docs/config.md` (a test compares them). Other variables that
//! assay reads are in `VARIABLES`.

use crate::checks::input;
use crate::checks::input::{device_model, parse_toml};
use crate::exit::Failure;
use crate::ui::{Destination, On, parse_address, parse_margin, parse_unit, store_location};
use assay_lang::Language;
use assay_model::annotation::parse_tag;
use assay_model::text::{clean, nearest};
use assay_stats::verdict::Options;
use assay_store::Location;
use rustix::process::geteuid;
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, iter, mem};
use toml::{Table, Value};

/// A setting in each place where it can be made.
pub struct Setting {
    /// Key in config files.
    pub key: &'static str,
    /// Environment variable.
    pub variable: &'static str,
    /// Flag, which precedes the variable, as that precedes config files.
    pub flag: &'static str,
    /// Effect, as a text for users.
    pub about: &'static str,
    /// Description of the value that is used if the setting is not made.
    pub default: &'static str,
}

const fn setting([key, variable, flag, about, default]: [&'static str; 5]) -> Setting {
    Setting {
        key,
        variable,
        flag,
        about,
        default,
    }
}

/// Settings in the order of the manual page.
pub const SETTINGS: [Setting; 10] = [
    setting([
        "store",
        "ASSAY_STORE",
        "--store",
        "file or database that keeps the runs",
        "assay/runs.sqlite in the XDG data folder",
    ]),
    setting([
        "push_to",
        "ASSAY_PUSH_TO",
        "--to",
        "store that runs are pushed to when they have ended",
        "the store, where that is a PostgreSQL database; else none",
    ]),
    setting([
        "language",
        "ASSAY_LANG",
        "--lang",
        "language for people: en or zh",
        "that of the locale",
    ]),
    setting([
        "trials",
        "ASSAY_TRIALS",
        "--trials",
        "trials of each job, without --trials and --budget",
        "that of the command",
    ]),
    setting([
        "margin",
        "ASSAY_MARGIN",
        "--margin",
        "largest difference that counts as equivalent, in percent",
        "5",
    ]),
    setting([
        "unit",
        "ASSAY_UNIT",
        "--unit",
        "name of the measured unit, for devices that have no identity",
        "none",
    ]),
    setting([
        "project",
        "ASSAY_PROJECT",
        "--project",
        "project that the series of runs belong to",
        "default",
    ]),
    setting([
        "part",
        "ASSAY_PART",
        "--part",
        "measured part of explain: a known one, or a file",
        "none",
    ]),
    setting([
        "population",
        "ASSAY_POPULATION",
        "--population",
        "folder of shared runs, or store (to compare)",
        "none",
    ]),
    setting([
        "targets",
        "ASSAY_TARGETS",
        "--on",
        "names of machines; in the variable: NAME=TARGET ...",
        "none",
    ]),
];

/// Variable with the path of the only config file to read, which is trusted even if others can write
/// it; if the variable is empty, no file is read.
const FILE: &str = "ASSAY_CONFIG";

/// Escape character in the value of a variable: the next character is a part of its word.
const ESCAPE: char = '\\';

/// Other environment variables that assay reads: name, effect, and the option of the commands for
/// which it matters (all commands, if empty).
pub const VARIABLES: [(&str, &str, &str); 8] = [
    (FILE, "the only config file to read; empty: none", ""),
    (
        "ASSAY_AGENTS",
        "folder with agents for other machines, before all others",
        "on",
    ),
    (
        "ASSAY_JOURNAL_DIR",
        "folder for the journal of settings that sweep restores",
        "on",
    ),
    ("XDG_CONFIG_HOME", "folder of the user's config file", ""),
    (
        "XDG_DATA_HOME",
        "folder of the store, and of the journal of held boards",
        "store",
    ),
    ("LG_COORDINATOR", "address of the labgrid coordinator", "on"),
    (
        "LC_ALL, LC_MESSAGES, LANG",
        "language and encoding, the first that is set",
        "",
    ),
    ("NO_COLOR, TERM=dumb", "no colour, no live progress", ""),
];

/// Values of settings. Numbers can be texts, because variables are.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Values {
    /// File or database that keeps the runs.
    #[serde(deserialize_with = "store")]
    pub store: Option<Location>,
    /// Store that runs are pushed to.
    #[serde(deserialize_with = "destination")]
    pub push_to: Option<Destination>,
    /// Language for people.
    #[serde(deserialize_with = "language")]
    pub language: Option<Language>,
    #[serde(deserialize_with = "number_of_trials")]
    trials: Option<u32>,
    #[serde(deserialize_with = "share")]
    margin: Option<f64>,
    /// Name of the measured unit.
    #[serde(deserialize_with = "unit")]
    pub unit: Option<String>,
    /// Project that runs belong to.
    #[serde(deserialize_with = "project")]
    pub project: Option<String>,
    /// Measured part.
    pub part: Option<String>,
    /// Folder of shared runs, or `store`.
    pub population: Option<PathBuf>,
    /// Machines by their names.
    #[serde(deserialize_with = "targets")]
    pub targets: BTreeMap<String, On>,
}

fn destination<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Destination>, D::Error> {
    parsed(from, str::parse)
}

fn store<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Location>, D::Error> {
    let text = String::deserialize(from)?;
    let location = store_location(text.as_ref());
    location.map(Some).map_err(D::Error::custom)
}

fn language<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Language>, D::Error> {
    parsed(from, |text| {
        Language::of_tag(text).ok_or_else(|| "give en or zh".to_owned())
    })
}

fn number_of_trials<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    parsed(from, |text| {
        let number = text.parse().ok();
        let number = number.filter(|number| (1..=1000).contains(number));
        number.ok_or_else(|| "give a number from 1 to 1000".to_owned())
    })
}

fn share<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    parsed(from, parse_margin)
}

fn unit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    parsed(from, parse_unit)
}

fn project<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    parsed(from, parse_tag)
}

fn parsed<'de, T, D: Deserializer<'de>>(
    from: D,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, D::Error> {
    let text = value_in_words(&Value::deserialize(from)?);
    parse(&text).map(Some).map_err(D::Error::custom)
}

fn targets<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, On>, D::Error> {
    let targets = BTreeMap::<String, SingleTarget>::deserialize(from)?;
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let is_name = |name: &str| name != "local" && !name.is_empty() && name.chars().all(is_plain);
    match targets.keys().find(|name| !is_name(name)) {
        Some(name) => Err(D::Error::custom(format!(
            "{name:?} cannot name a target: use letters, digits, -, _ and ."
        ))),
        None => Ok(targets
            .into_iter()
            .map(|(name, SingleTarget(on))| (name, on))
            .collect()),
    }
}

/// Target of one machine, as opposed to a list of targets.
#[derive(serde::Deserialize)]
#[serde(try_from = "String")]
struct SingleTarget(On);

impl TryFrom<String> for SingleTarget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match parse_address(&text)? {
            On::File(_) => Err("a name is that of one machine".to_owned()),
            on => Ok(Self(on)),
        }
    }
}

/// Settings from one source.
#[derive(Debug)]
pub struct Layer {
    /// Kind of the source: `environment`, or the kind of its file.
    pub kind: &'static str,
    /// Config file; `None` for the environment.
    pub file: Option<PathBuf>,
    table: Table,
}

/// Longest config file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Kind of the file that [`FILE`] names.
const NAMED: &str = "named";
const PROJECT: &str = "project";
const USER: &str = "user";

/// Settings from all sources.
#[derive(Debug, Default)]
pub struct Config {
    /// Sources, the strongest first.
    layers: Vec<Layer>,
    /// Files that were looked for, with their kinds.
    files: Vec<(&'static str, PathBuf)>,
    /// Reasons why sources cannot be used.
    pub problems: Vec<String>,
    /// Warnings about variables of assay that nothing reads, a sentence each.
    pub warnings: Vec<String>,
    values: Values,
}

static CONFIG: OnceLock<Config> = OnceLock::new();

/// Reads the settings of this process. Called once, at its start.
pub fn load() {
    let folder = std::env::current_dir().ok();
    let mut config = Config::read(&|name| std::env::var_os(name), folder.as_deref());
    config.warnings = warnings(std::env::vars_os());
    // Set once: this is one of the first things that a process does.
    let _ = CONFIG.set(config);
}

/// Returns the settings of this process with their sources.
pub fn current() -> &'static Config {
    CONFIG.get_or_init(Config::default)
}

/// Returns the settings in force.
pub fn values() -> &'static Values {
    &current().values
}

/// Default number of trials of most commands.
pub const TRIALS: u32 = 5;

/// Returns the number of trials: that of the flag, else of the settings, else the default of the
/// command.
pub fn trials(flag: Option<u32>, usual: u32) -> u32 {
    flag.or(values().trials).unwrap_or(usual)
}

/// Returns the margin of comparisons where neither a flag nor a run has one, as a share.
pub fn margin() -> f64 {
    values().margin.unwrap_or(Options::default().margin)
}

/// Formats a value as the text of its variable.
pub fn value_in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Table(named) => {
            let named = named.iter();
            let named = named.map(|(name, on)| format!("{name}={}", escaped(&value_in_words(on))));
            named.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// Puts a backslash before each character that would end a word of a variable, and before each
/// backslash.
fn escaped(text: &str) -> String {
    let characters = text.chars().flat_map(|character| {
        let is_special = character == ESCAPE || character.is_whitespace();
        is_special.then_some(ESCAPE).into_iter().chain([character])
    });
    characters.collect()
}

/// Splits a variable at spaces. The character after a backslash is a part of its word.
fn words_of(text: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE => word.push(characters.next().unwrap_or(ESCAPE)),
            space if space.is_whitespace() => words.push(mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

impl Config {
    fn read(variable: &dyn Fn(&str) -> Option<OsString>, folder: Option<&Path>) -> Self {
        let absolute = |name| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let files = match variable(FILE) {
            Some(file) if file.is_empty() => Vec::new(),
            Some(file) => vec![(NAMED, file.into())],
            None => {
                let real_home = home.as_deref().and_then(|home| fs::canonicalize(home).ok());
                let project = folder.and_then(|folder| project_file(folder, real_home.as_deref()));
                let configs = absolute("XDG_CONFIG_HOME");
                let configs = configs.or_else(|| Some(home.as_ref()?.join(".config")));
                let user = configs.map(|configs| configs.join("assay/config.toml"));
                let both = [(PROJECT, project), (USER, user)];
                let both = both.into_iter();
                both.filter_map(|(kind, file)| Some((kind, file?)))
                    .collect()
            }
        };
        let of_files = files.iter();
        let of_files = of_files.filter_map(|(kind, file)| {
            of_file(kind, file, home.as_deref())
                .map_err(|why| format!("{}: {why}", file.display()))
                .transpose()
        });
        let mut config = Self::default();
        let of_variables = of_variables(variable, &mut config.problems);
        for layer in iter::once(Ok(of_variables)).chain(of_files) {
            match layer {
                Ok(layer) => config.layers.push(layer),
                Err(why) => config.problems.push(why),
            }
        }
        config.files = files;
        match config.merged().try_into() {
            Ok(values) => config.values = values,
            Err(error) => config.problems.push(error.message().to_owned()),
        }
        config
    }

    /// Fails if a setting is not understood.
    pub fn check(&self) -> Result<(), Failure> {
        self.problems.first().map_or(Ok(()), |why| {
            Err(Failure::usage(format_args!(
                "{why} (assay lab config shows all settings)"
            )))
        })
    }

    /// Returns all reasons why settings cannot be used, including those that are otherwise found only
    /// by the command that uses the setting.
    pub fn all_problems(&self) -> Vec<String> {
        let part = self.values.part.as_deref();
        let part = part.and_then(|part| device_model(part).err());
        let part = part.zip(self.find("part")).map(|(why, (_, layer))| {
            let source = layer.file.as_ref();
            let source = source.map_or("ASSAY_PART".to_owned(), |file| {
                format!("{}: part", file.display())
            });
            format!("{source}: {why}")
        });
        self.problems.iter().cloned().chain(part).collect()
    }

    /// Returns a setting with its source. A key such as `targets.board` finds one target by its name.
    pub fn find(&self, key: &str) -> Option<(&Value, &Layer)> {
        self.layers.iter().find_map(|layer| {
            let value = match key.split_once('.') {
                Some((table, name)) => layer.table.get(table)?.get(name),
                None => layer.table.get(key),
            };
            Some((value?, layer))
        })
    }

    /// Returns the files that were looked for, with their kinds, and whether they were read.
    fn files(&self) -> impl Iterator<Item = (&'static str, &Path, bool)> {
        self.files.iter().map(|(kind, file)| {
            let mut read = self.layers.iter().filter_map(|layer| layer.file.as_ref());
            (*kind, file.as_path(), read.any(|read| read == file))
        })
    }

    /// Returns each file that was looked for, as JSON.
    pub fn files_json(&self) -> Vec<serde_json::Value> {
        let files = self.files();
        let files =
            files.map(|(kind, path, read)| json!({"kind": kind, "path": path, "read": read}));
        files.collect()
    }

    /// Returns a sentence about each file that was looked for.
    pub fn file_states(&self) -> Vec<String> {
        let states = self.files().map(|(kind, file, read)| {
            // A file that cannot be examined may exist.
            let state = match (read, file.try_exists()) {
                (true, _) => "read",
                (false, Ok(false)) => "not there",
                (false, _) => "not used",
            };
            clean(&format!("{kind} file {}: {state}", file.display()))
        });
        states.collect()
    }

    /// Returns the variables that give these settings to a child process, and stop it from reading
    /// config files.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let merged = self.merged();
        let set = SETTINGS.iter().filter_map(|setting| {
            let value = merged.get(setting.key)?;
            Some((setting.variable, value_in_words(value)))
        });
        iter::once((FILE, String::new())).chain(set).collect()
    }

    fn merged(&self) -> Table {
        let mut merged = Table::new();
        for (key, value) in self.layers.iter().rev().flat_map(|layer| &layer.table) {
            match (merged.get_mut(key), value) {
                (Some(Value::Table(known)), Value::Table(more)) => known.extend(more.clone()),
                _ => {
                    merged.insert(key.clone(), value.clone());
                }
            }
        }
        merged
    }
}

/// Reads the variables of settings, and adds a sentence for each that cannot be used. An empty
/// variable counts as not set.
fn of_variables(variable: &dyn Fn(&str) -> Option<OsString>, problems: &mut Vec<String>) -> Layer {
    let mut table = Table::new();
    for setting in &SETTINGS {
        let Some(text) = variable(setting.variable).filter(|text| !text.is_empty()) else {
            continue;
        };
        match of_variable(setting, text) {
            Ok(one) => table.extend(one),
            Err(why) => problems.push(format!("{}: {why}", setting.variable)),
        }
    }
    Layer {
        kind: "environment",
        file: None,
        table,
    }
}

fn of_variable(setting: &Setting, text: OsString) -> Result<Table, String> {
    let text = text.into_string().map_err(|_| "it is not UTF-8")?;
    let value = match setting.key {
        "targets" => Value::Table(named_targets(&text)?),
        _ => Value::String(text),
    };
    let one = Table::from_iter([(setting.key.to_owned(), value)]);
    let checked = one.clone().try_into::<Values>();
    checked.map_err(|error| error.message().to_owned())?;
    Ok(one)
}

fn named_targets(text: &str) -> Result<Table, String> {
    let named = words_of(text).into_iter().map(|word| {
        let (name, on) = word.split_once('=')?;
        Some((name.to_owned(), Value::String(on.to_owned())))
    });
    let named: Option<Table> = named.collect();
    named.ok_or_else(|| {
        "give NAME=TARGET, separated by spaces; a space in a target has a backslash before it"
            .to_owned()
    })
}

/// Reads a config file; returns `None` if it does not exist, unless [`FILE`] names it.
fn of_file(kind: &'static str, path: &Path, home: Option<&Path>) -> Result<Option<Layer>, String> {
    let file = match input::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && kind != NAMED => return Ok(None),
        opened => opened.map_err(|error| error.to_string())?,
    };
    if kind != NAMED {
        let meta = file.metadata().map_err(|error| error.to_string())?;
        trust(&meta, path)?;
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_BYTES {
        return Err("it is longer than 1 MiB".to_owned());
    }
    parse_toml::<Values>(&text).map_err(|mistake| mistake.to_string())?;
    let mut table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    for key in ["store", "push_to", "part", "population"] {
        if let Some(Value::String(text)) = table.get_mut(key) {
            *text = located(key, text, path, home)?;
        }
    }
    let file = Some(path.to_owned());
    Ok(Some(Layer { kind, file, table }))
}

/// Value of `population` that selects the runs of the store.
pub const POPULATION_OF_STORE: &str = "store";

/// Resolves a path in a config file relative to the folder of that file. Returns the name of a
/// known part, and other values that are no paths, unchanged.
fn located(key: &str, text: &str, file: &Path, home: Option<&Path>) -> Result<String, String> {
    if ["", "~"].contains(&text) {
        return Err(format!("{key} = \"{text}\" names no file"));
    }
    let is_store = ["store", "push_to"].contains(&key);
    if is_store && (text.starts_with("ssh://") || Location::parse(text.as_ref()).file().is_none()) {
        return Ok(text.to_owned());
    }
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => file.with_file_name("").join(text),
    };
    let is_path = match key {
        "population" => text != POPULATION_OF_STORE,
        _ => is_store || path.is_file(),
    };
    match is_path {
        true => path
            .into_os_string()
            .into_string()
            .map_err(|_| format!("{key}: the folder of this file has a name that is not UTF-8")),
        false => Ok(text.to_owned()),
    }
}

/// Returns the nearest `assay.toml` of a folder and those above it. The search stops at the user's
/// home, at the mount point, and at a folder that another user can write: otherwise anybody could
/// change the settings of others with a file in a folder such as /tmp.
fn project_file(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let device = fs::metadata(folder).ok()?.dev();
    let is_searched = |folder: &&Path| {
        let meta = fs::metadata(folder);
        meta.is_ok_and(|meta| meta.dev() == device && strangers(&meta).is_none())
    };
    let mut next = Some(folder).filter(is_searched);
    while let Some(folder) = next {
        let file = folder.join("assay.toml");
        if file.symlink_metadata().is_ok() {
            return Some(file);
        }
        if Some(folder) == home {
            return None;
        }
        next = folder.parent().filter(is_searched);
    }
    None
}

/// Describes which other users can change a file; `None` if there are none. Write access of the
/// group counts only for root, because users commonly have a private group.
fn strangers(meta: &Metadata) -> Option<String> {
    let user = geteuid().as_raw();
    let shared = if user == 0 { 0o022 } else { 0o002 };
    if ![0, user].contains(&meta.uid()) {
        return Some(format!("it belongs to another user (uid {})", meta.uid()));
    }
    (meta.mode() & shared != 0).then(|| "other users can write it".to_owned())
}

fn trust(meta: &Metadata, path: &Path) -> Result<(), String> {
    strangers(meta).map_or(Ok(()), |why| {
        Err(format!(
            "{why}, so its settings are not used: change its owner or mode, or trust it with \
             {FILE}={}, or use no config file with {FILE}=",
            path.display()
        ))
    })
}

/// Prefix of the names of assay's variables.
const PREFIX: &str = "ASSAY_";

/// Suffixes of known variables that are no settings: completion scripts set the first,
/// `contrib/labgrid` reads the others.
const OF_OTHERS: [&str; 3] = ["COMPLETE", "PATH", "WORDS"];

/// Returns a sentence for each variable with assay's prefix that nothing reads. An empty variable
/// counts as not set.
fn warnings(set: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<String> {
    let settings = SETTINGS.iter().map(|setting| setting.variable);
    let others = VARIABLES.iter().map(|(name, _, _)| *name);
    let known = settings.chain(others);
    let known = known.filter_map(|name| name.strip_prefix(PREFIX));
    let known: Vec<&str> = known.chain(OF_OTHERS).collect();
    let set = set.into_iter().filter(|(_, value)| !value.is_empty());
    let names: BTreeSet<String> = set
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    let unknown = names.iter().filter_map(|name| {
        let rest = name.strip_prefix(PREFIX)?;
        (!known.contains(&rest)).then(|| {
            let meant = nearest(rest, known.iter().copied());
            let meant = meant.map_or_else(String::new, |known| {
                format!(" (did you mean {PREFIX}{known}?)")
            });
            format!("{name} is set, and assay reads no variable of that name{meant}")
        })
    });
    unknown.collect()
}

#[cfg(test)]
mod tests;
