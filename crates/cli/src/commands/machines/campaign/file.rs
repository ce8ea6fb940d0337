//! Content of a campaign's file.

use super::part::Board;
use crate::checks::{input, toml_file};
use crate::exit::Failure;
use crate::targets::on::{self, On};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Commands that measure on other machines.
const COMMANDS: [&str; 9] = [
    "androbench",
    "capacity",
    "disks",
    "iozone",
    "mark",
    "qualify",
    "run",
    "scenario",
    "sweep",
];
/// Options that the campaign sets itself.
const OWN: [&str; 4] = ["--on", "--store", "--json", "--unit"];

/// A campaign.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// Arguments after `assay`.
    pub command: Vec<String>,
    /// Time limit of one run.
    #[serde(default, deserialize_with = "time")]
    pub limit: Option<Duration>,
    /// Maximum number of boards on which one run is tried.
    #[serde(default = "three")]
    pub attempts: u32,
    /// Number of simultaneous runs; all by default.
    pub at_once: Option<usize>,
    /// Time limit for waiting on boards that others hold.
    #[serde(default = "an_hour", deserialize_with = "time")]
    pub wait: Option<Duration>,
    /// One part, or two that are compared.
    #[serde(rename = "part")]
    pub parts: Vec<PartOfFile>,
}

/// Boards with one kind of storage.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartOfFile {
    /// Name of the part in the comparison.
    pub name: String,
    /// Tags of labgrid places; exclusive with `targets`.
    pub tags: Option<BTreeMap<String, String>>,
    /// Targets, as `--on` takes them; exclusive with `tags`.
    #[serde(default, deserialize_with = "targets")]
    pub targets: Vec<On>,
    /// Number of boards to use; all by default.
    pub boards: Option<usize>,
}

fn three() -> u32 {
    3
}

fn an_hour() -> Option<Duration> {
    Some(Duration::from_secs(3600))
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    toml_file::time(from).map(|nanos: u64| Some(Duration::from_nanos(nanos)))
}

fn targets<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<On>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    let targets = texts.iter().map(|text| on::parse(text));
    targets
        .collect::<Result<_, _>>()
        .map_err(serde::de::Error::custom)
}

impl Campaign {
    /// Reads a file. The boards are not looked up yet.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        parse(&input::text(path)?).map_err(|why| Failure::in_file(path, why))
    }

    /// Returns the arguments of a run. The store is inserted after the command's name, because options
    /// after a `--` in the file belong to another command.
    pub fn words(&self, store: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.command.iter().map(OsString::from).collect();
        words.splice(1..1, ["--store".into(), store.as_os_str().to_owned()]);
        words
    }

    /// `true` if the campaign needs boards of a labgrid.
    pub fn needs_lab(&self) -> bool {
        self.parts.iter().any(|part| part.tags.is_some())
    }
}

impl PartOfFile {
    /// Returns the boards that the file names; those of a labgrid are found by their tags.
    pub fn named(&self) -> Vec<Board> {
        self.targets.iter().cloned().map(Board::Target).collect()
    }

    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        match (&self.tags, self.targets.as_slice()) {
            (Some(_), [_, ..]) => {
                return Err(format!(
                    "part {name} has tags and targets: one of them says which boards"
                ));
            }
            (None, []) => return Err(format!("part {name} has neither tags nor targets")),
            (Some(tags), _) if tags.is_empty() => {
                return Err(format!("part {name} has no tag: every board would do"));
            }
            _ => {}
        }
        let is_lab = |on: &&On| matches!(on, On::Labgrid(_) | On::File(_));
        if let Some(on) = self.targets.iter().find(is_lab) {
            return Err(format!(
                "part {name}: {on} is not a single machine; select boards of a labgrid by their tags"
            ));
        }
        match self.boards {
            Some(0) => Err(format!("part {name} asks for no board")),
            _ => Ok(()),
        }
    }
}

fn parse(text: &str) -> Result<Campaign, String> {
    let campaign: Campaign = toml_file::read(text).map_err(|mistake| mistake.to_string())?;
    check_command(&campaign.command)?;
    if campaign.attempts == 0 || campaign.at_once == Some(0) {
        return Err("attempts and at_once are 1 or more: else nothing is measured".to_owned());
    }
    match campaign.parts.as_slice() {
        [_] => {}
        [a, b] if a.name != b.name => {}
        [a, _] => return Err(format!("both parts are called {}", a.name)),
        _ => return Err("a campaign has one part, or two that are compared".to_owned()),
    }
    campaign.parts.iter().try_for_each(PartOfFile::check)?;
    Ok(campaign)
}

fn check_command(words: &[String]) -> Result<(), String> {
    let name = words.first().map_or("", String::as_str);
    if !COMMANDS.contains(&name) {
        return Err(format!("the command is one of {}", COMMANDS.join(", ")));
    }
    let own = words.iter().take_while(|word| *word != "--");
    let mut names = own.map(|word| word.split('=').next().unwrap_or_default());
    match names.find(|word| OWN.contains(word)) {
        Some(word) => Err(format!(
            "{word} of the command is up to the campaign: leave it out"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"
command = ["qualify", "/mnt/sd", "--quick"]
limit = "30m"
[[part]]
name = "old"
tags = { media = "sd", part = "a" }
boards = 5
[[part]]
name = "new"
targets = ["ssh://root@10.0.0.7", "adb:0123"]
"#;

    #[test]
    fn a_campaign_is_read() {
        let campaign = parse(TWO).unwrap();
        assert_eq!(campaign.limit, Some(Duration::from_secs(1800)));
        assert_eq!((campaign.attempts, campaign.wait), (3, an_hour()));
        assert!(campaign.needs_lab());
        let words = campaign.words(Path::new("/s"));
        assert_eq!(words, ["qualify", "--store", "/s", "/mnt/sd", "--quick"]);
        let [old, new] = &campaign.parts[..] else {
            panic!("two parts");
        };
        assert_eq!((old.boards, new.boards), (Some(5), None));
        assert_eq!(new.named().len(), 2);
    }

    #[test]
    fn the_example_is_one() {
        parse(include_str!("../../../../../../examples/campaign.toml")).unwrap();
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_place() {
        for (from, to, expected) in [
            ("qualify", "list", "the command is one of"),
            ("--quick", "--on=local", "--on of the command"),
            ("30m", "30 days", "line 3: "),
            (
                "limit",
                "limits",
                "line 3: there is no key limits (did you mean limit?)",
            ),
            ("boards = 5", "boards = 0", "asks for no board"),
            (
                "tags =",
                "targets = [\"local\"]\ntags =",
                "tags and targets",
            ),
            ("tags = { media = \"sd\", part = \"a\" }", "", "neither"),
            ("adb:0123", "labgrid:sd1", "not a single machine"),
            ("adb:0123", "phone", "no machine is called so"),
            ("\"new\"", "\"old\"", "both parts"),
            ("limit", "attempts = 0\nlimit", "1 or more"),
            ("limit", "at_once = 0\nlimit", "1 or more"),
        ] {
            let why = parse(&TWO.replace(from, to)).unwrap_err();
            assert!(why.contains(expected), "{to}: {why}");
        }
    }
}
