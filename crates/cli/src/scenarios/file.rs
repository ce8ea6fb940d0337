//! File of a scenario: its header, and its steps in their order.

use super::PlaceWanted;
use crate::checks::input::{
    Keys, Mistake, parse_size, parse_toml, read_number, read_size, read_time,
};
use assay_model::act::androbench::{DatabasePhase, Journal, Schema, Statement, Synchronous};
use assay_model::act::scenario::{
    ActPace, Action, Command, Copying, DEVICE, Filling, Reading, Sync, Tree, TreeAct, Verifying,
    Writing,
};
use assay_model::condition::FileSystem;
use assay_model::job::FlushCall;
use assay_model::text::meant;
use assay_model::units::{KIB, MIB};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::path::{Component, Path};
use toml::de::DeTable;

/// Maximum number of steps in a file, with repetitions.
const MOST_STEPS: usize = 10_000;
/// Default free space that a scenario leaves, in bytes.
const RESERVE: u64 = 64 << 20;
/// Content of a file, before it is scaled.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// Description, one or two sentences.
    pub about: String,
    /// Kinds of place where it can be carried out.
    pub place: PlaceWanted,
    /// Space that stays free, in bytes.
    pub reserve: u64,
    /// Steps, with repetitions expanded.
    pub steps: Vec<Step>,
}

/// Acts that begin together; a single one, unless the step is parallel.
#[derive(Clone, Debug)]
pub struct Step {
    /// Kinds of place where the step is carried out.
    pub on: PlaceWanted,
    /// Acts in the order of the file.
    pub acts: Vec<ActWanted>,
}

/// Single act, before it is scaled.
#[derive(Clone, Debug)]
pub struct ActWanted {
    /// Line of the file where the act begins.
    pub line: usize,
    /// Name, unique in the file.
    pub name: String,
    /// `true` if the act only prepares others, and is not measured.
    pub prepares: bool,
    /// `true` if the act runs until the other acts of its step have ended.
    pub background: bool,
    /// Pace and deadline of its operations.
    pub pace: ActPace,
    /// Action of the act.
    pub action: Action,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKeys {
    about: String,
    #[serde(default)]
    place: PlaceWanted,
    #[serde(default, deserialize_with = "read_size")]
    reserve: Option<u64>,
    #[serde(default, rename = "step")]
    steps: Vec<StepKeys>,
}

/// Parses the text of a file.
///
/// # Errors
/// The first mistake in it.
pub fn parse(text: &str) -> Result<ScenarioFile, Mistake> {
    let file: FileKeys = parse_toml(text)?;
    let document = DeTable::parse(text).map(toml::Spanned::into_inner);
    let document = document.unwrap_or_default();
    let keys = Keys::new(text, &document);
    let mut steps = Vec::new();
    for (keys, step) in keys.tables("step").zip(&file.steps) {
        steps.extend(written_out(keys, step)?);
    }
    unique_names(&steps)?;
    if steps.is_empty() {
        return Err(keys.mistake("there is no [[step]]"));
    }
    if steps.len() > MOST_STEPS {
        return Err(keys.mistake(format!("there are more than {MOST_STEPS} steps")));
    }
    Ok(ScenarioFile {
        about: file.about,
        place: file.place,
        reserve: file.reserve.unwrap_or(RESERVE),
        steps,
    })
}

fn unique_names(steps: &[Step]) -> Result<(), Mistake> {
    let mut names = BTreeSet::new();
    let mut acts = steps.iter().flat_map(|step| &step.acts);
    match acts.find(|act| !names.insert(&act.name)) {
        None => Ok(()),
        Some(act) => Err(Mistake {
            line: act.line,
            why: format!("there is a step {} already: names are unique", act.name),
        }),
    }
}

/// Expands the table of a step: repetitions and series become several steps.
fn written_out(keys: Keys<'_>, step: &StepKeys) -> Result<Vec<Step>, Mistake> {
    let on = step.on;
    let alone = |act| Step {
        on,
        acts: vec![act],
    };
    let once = match step.word {
        Word::Parallel => {
            let acts = group(keys, step)?;
            if acts.len() < 2 || acts.iter().all(|act| act.background) {
                return Err(keys.mistake(
                    "a parallel step has two or more [[step.with]], one of them not in the background",
                ));
            }
            vec![Step { on, acts }]
        }
        Word::Series => group(keys, step)?.into_iter().map(alone).collect(),
        _ if step.background => {
            return Err(keys.mistake_in(
                "background",
                "there is nothing beside it: it belongs into a [[step.with]] of a parallel step",
            ));
        }
        _ => vec![alone(act(keys, step, &["on", "repeat"])?)],
    };
    let times = step.repeat.unwrap_or(1);
    let repeated = (1..=times).flat_map(|number| {
        once.iter().map(move |step| match times {
            1 => step.clone(),
            _ => numbered(step, number),
        })
    });
    Ok(repeated.collect())
}

fn numbered(step: &Step, number: u32) -> Step {
    let mut step = step.clone();
    for act in &mut step.acts {
        act.name = format!("{}-{number}", act.name);
    }
    step
}

/// Returns the acts of a parallel step or a series. It may have a name, but only its acts are shown.
fn group(keys: Keys<'_>, step: &StepKeys) -> Result<Vec<ActWanted>, Mistake> {
    keys.only(&["do", "name", "on", "repeat", "with"])?;
    if step.with.is_empty() {
        return Err(keys.mistake("it has no [[step.with]]"));
    }
    let members = keys.tables("with").zip(&step.with);
    let member = |(keys, step): (Keys<'_>, &StepKeys)| match step.word {
        Word::Parallel | Word::Series | Word::Format => {
            Err(keys.mistake_in("do", "it is a step of its own, not one of several"))
        }
        _ => act(keys, step, &[]),
    };
    members.map(member).collect()
}

fn act(keys: Keys<'_>, step: &StepKeys, also: &[&str]) -> Result<ActWanted, Mistake> {
    let own = step.word.keys();
    let paced: &[&str] = match step.word {
        Word::Pause | Word::Command | Word::Format | Word::DropCaches => &[],
        _ => &["rate", "per_second", "deadline", "time"],
    };
    let common = &["do", "name", "prepare", "background"];
    keys.only(&[common, paced, own, also].concat())?;
    let name = keys.needed("name", step.name.clone())?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if !(1..=40).contains(&name.len()) || !name.bytes().all(plain) {
        return Err(keys.mistake_in("name", "1 to 40 letters, digits, -, _ and . are wanted"));
    }
    let action = step.action(keys)?;
    Ok(ActWanted {
        line: keys.mistake("").line,
        pace: match paced {
            [] => ActPace::default(),
            _ => pace(keys, step, &action)?,
        },
        name,
        prepares: step.prepare,
        background: step.background,
        action,
    })
}

/// Returns the time from one operation to the next, and the deadline.
fn pace(keys: Keys<'_>, step: &StepKeys, action: &Action) -> Result<ActPace, Mistake> {
    // An operation on a tree is a whole file, so that blocks do not count.
    let block = action
        .block()
        .filter(|_| !matches!(action, Action::Tree(_)));
    let every_ns = match (step.rate, step.per_second, block) {
        (Some(_), Some(_), _) => {
            return Err(keys.mistake_in("rate", "it and per_second say two things: leave one out"));
        }
        (Some(_), None, None) => {
            return Err(keys.mistake_in("rate", "its operations are no blocks: use per_second"));
        }
        (Some(rate), None, Some(block)) => {
            let every_ns = u128::from(block) * 1_000_000_000 / u128::from(rate);
            Some(u64::try_from(every_ns).unwrap_or(u64::MAX).max(1))
        }
        (None, Some(rate), _) => Some(1_000_000_000 / u64::from(rate)),
        (None, None, _) => None,
    };
    Ok(ActPace {
        every_ns,
        deadline_ns: step.deadline,
        limit_ns: step.time,
    })
}

/// Maximum number of files, lines or transactions of a step.
const MOST: u32 = 10_000_000;
/// Default block size of whole files, in bytes.
const BLOCK: u64 = MIB;
const SMALL_BLOCK: u64 = 128 * KIB;
/// Maximum block size, in bytes.
const MOST_BLOCK: u64 = 256 * MIB;
/// Default length of a log line, in bytes.
const LINE: u64 = 200;
/// Default time limit of a command, in nanoseconds.
const LIMIT_NS: u64 = 60_000_000_000;

/// Value of `do`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    Write,
    Read,
    Copy,
    Verify,
    Log,
    CreateFiles,
    ReadFiles,
    StatFiles,
    DeleteFiles,
    Database,
    Inflate,
    Discard,
    Format,
    Delete,
    Fill,
    Command,
    Pause,
    DropCaches,
    Parallel,
    Series,
}

impl Word {
    /// Returns the keys that a step with this word may have, besides those of every step.
    #[rustfmt::skip]
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Write => &["file", "size", "block", "order", "append", "direct", "sync", "holes"],
            Self::Read => &["file", "size", "block", "order", "direct", "warm"],
            Self::Copy => &["from", "to", "block", "inflate", "sync", "direct"],
            Self::Verify => &["file", "block", "direct"],
            Self::Log => &["file", "lines", "line", "sync"],
            Self::CreateFiles => &["in", "files", "size", "block", "sync"],
            Self::ReadFiles => &["in", "files", "order", "block", "warm", "chained"],
            Self::StatFiles => &["in", "files", "order"],
            Self::DeleteFiles => &["in", "files", "order", "sync"],
            Self::Database => &["transactions", "journal", "synchronous", "statement"],
            Self::Inflate => &["size"],
            Self::Discard | Self::Delete => &["file"],
            Self::Format => &["kind"],
            Self::Fill => &["to", "write_at_most"],
            Self::Command => &["run", "shell", "limit"],
            Self::Pause => &["time"],
            Self::DropCaches => &[],
            Self::Parallel | Self::Series => &["with"],
        }
    }
}

/// Keys of steps; [`Word::keys`] lists those of each word.
#[derive(Deserialize)]
pub struct StepKeys {
    #[serde(rename = "do")]
    pub word: Word,
    pub name: Option<String>,
    #[serde(default)]
    pub prepare: bool,
    #[serde(default)]
    pub background: bool,
    #[serde(default)]
    pub on: PlaceWanted,
    #[serde(default, deserialize_with = "read_number::<1, 1_000_000, _, _>")]
    pub repeat: Option<u32>,
    #[serde(default)]
    pub with: Vec<Self>,
    #[serde(default, deserialize_with = "read_size")]
    pub rate: Option<u64>,
    #[serde(default, deserialize_with = "read_number::<1, 1_000_000, _, _>")]
    pub per_second: Option<u32>,
    #[serde(default, deserialize_with = "read_time")]
    pub deadline: Option<u64>,
    #[serde(default, deserialize_with = "read_time")]
    pub time: Option<u64>,
    #[serde(default, deserialize_with = "path")]
    file: Option<String>,
    #[serde(default, deserialize_with = "path")]
    from: Option<String>,
    to: Option<FileOrPercent>,
    #[serde(default, deserialize_with = "path")]
    r#in: Option<String>,
    #[serde(default, deserialize_with = "sizes")]
    size: Option<(u64, u64)>,
    #[serde(default, deserialize_with = "block")]
    block: Option<u64>,
    #[serde(default)]
    order: OffsetOrder,
    #[serde(default)]
    append: bool,
    #[serde(default)]
    direct: bool,
    #[serde(default)]
    warm: bool,
    #[serde(default)]
    chained: bool,
    #[serde(default, deserialize_with = "sync")]
    sync: Option<Sync>,
    #[serde(default, deserialize_with = "read_number::<0, 99, _, _>")]
    holes: u32,
    #[serde(default, deserialize_with = "read_number::<0, 10_000, _, _>")]
    inflate: u32,
    #[serde(default, deserialize_with = "read_number::<1, MOST, _, _>")]
    lines: Option<u32>,
    #[serde(default, deserialize_with = "read_size")]
    line: Option<u64>,
    #[serde(default, deserialize_with = "read_number::<1, MOST, _, _>")]
    files: Option<u32>,
    #[serde(default, deserialize_with = "read_number::<1, MOST, _, _>")]
    transactions: Option<u32>,
    journal: Option<Journal>,
    synchronous: Option<Synchronous>,
    #[serde(default)]
    statement: Statement,
    #[serde(default, deserialize_with = "file_system")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "read_size")]
    write_at_most: Option<u64>,
    run: Option<Vec<String>>,
    shell: Option<String>,
    #[serde(default, deserialize_with = "read_time")]
    limit: Option<u64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OffsetOrder {
    #[default]
    Sequential,
    Random,
}

/// Value of `to`: a file in a copy, a percentage in a fill of the file system.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a path in quotes, or a whole number is wanted")]
enum FileOrPercent {
    File(String),
    Percent(i64),
}

impl StepKeys {
    /// Returns the action of a step that is not a group; its keys were checked against its word.
    pub fn action(&self, keys: Keys<'_>) -> Result<Action, Mistake> {
        let file = || keys.needed("file", self.file.clone());
        Ok(match self.word {
            Word::Write | Word::Log => Action::Write(self.writing(keys)?),
            Word::Read => Action::Read(Reading {
                file: file()?,
                bytes: self.one_size(keys)?,
                block: self.block.unwrap_or(BLOCK),
                random: self.order == OffsetOrder::Random,
                direct: self.direct(keys)?,
                cold: !self.warm,
            }),
            Word::Copy => Action::Copy(self.copying(keys)?),
            Word::Verify => Action::Verify(Verifying {
                file: file()?,
                block: self.block.unwrap_or(BLOCK),
                direct: self.direct(keys)?,
            }),
            Word::CreateFiles => Action::Tree(self.tree(keys, TreeAct::Create)?),
            Word::ReadFiles => Action::Tree(self.tree(keys, TreeAct::Read)?),
            Word::StatFiles => Action::Tree(self.tree(keys, TreeAct::Stat)?),
            Word::DeleteFiles => Action::Tree(self.tree(keys, TreeAct::Delete)?),
            Word::Database => Action::Database(DatabasePhase {
                schema: Schema::AndroBench,
                journal: self.journal.unwrap_or(Journal::Wal),
                synchronous: self.synchronous.unwrap_or(Synchronous::Full),
                transactions: keys.needed("transactions", self.transactions)?.into(),
                statements: vec![self.statement],
                checkpoint: false,
            }),
            Word::Inflate => Action::Inflate {
                bytes: keys.needed("size", self.one_size(keys)?)?,
            },
            Word::Discard => Action::Discard { file: file()? },
            Word::Format => Action::Format {
                kind: self.kind.clone().unwrap_or_else(|| "ext4".to_owned()),
            },
            Word::Delete => Action::Delete { file: file()? },
            Word::Fill => Action::Fill(self.filling(keys)?),
            Word::Command => Action::Command(self.command(keys)?),
            Word::Pause => Action::Pause {
                time_ns: keys.needed("time", self.time)?,
            },
            Word::DropCaches => Action::DropCaches,
            Word::Parallel | Word::Series => return Err(keys.mistake("it is several steps")),
        })
    }

    /// Returns the size; fails if it is a range, for actions with one size.
    fn one_size(&self, keys: Keys<'_>) -> Result<Option<u64>, Mistake> {
        match self.size {
            Some((least, most)) if least != most => Err(keys.mistake_in("size", "one is wanted")),
            size => Ok(size.map(|(size, _)| size)),
        }
    }

    /// Returns `true` for direct I/O; fails if the block size is not a multiple of 4 KiB.
    fn direct(&self, keys: Keys<'_>) -> Result<bool, Mistake> {
        match self.direct && !self.block.unwrap_or(BLOCK).is_multiple_of(4096) {
            true => Err(keys.mistake_in("direct", "its block is to be a multiple of 4K")),
            false => Ok(self.direct),
        }
    }

    fn writing(&self, keys: Keys<'_>) -> Result<Writing, Mistake> {
        let file = keys.needed("file", self.file.clone())?;
        if self.word == Word::Log {
            // Each appended line is made durable.
            let line = self.line.unwrap_or(LINE);
            let lines = u64::from(keys.needed("lines", self.lines)?);
            return Ok(Writing {
                file,
                bytes: lines.saturating_mul(line),
                block: line,
                random: false,
                append: true,
                direct: false,
                sync: self.sync.unwrap_or(Sync::Each(FlushCall::Fsync)),
                holes_percent: 0,
            });
        }
        Ok(Writing {
            file,
            bytes: keys.needed("size", self.one_size(keys)?)?,
            block: self.block.unwrap_or(BLOCK),
            random: self.order == OffsetOrder::Random,
            append: self.append,
            direct: self.direct(keys)?,
            sync: self.sync.unwrap_or(Sync::AtEnd),
            holes_percent: u8::try_from(self.holes).unwrap_or(99),
        })
    }

    fn copying(&self, keys: Keys<'_>) -> Result<Copying, Mistake> {
        let from = keys.needed("from", self.from.clone())?;
        let to = match keys.needed("to", self.to.as_ref())? {
            FileOrPercent::File(name) => scene_path(name),
            FileOrPercent::Percent(_) => Err("a path in quotes is wanted".to_owned()),
        };
        let to = to.map_err(|why| keys.mistake_in("to", &why))?;
        if from == to {
            return Err(keys.mistake_in("to", "it is the file that is read"));
        }
        Ok(Copying {
            from,
            to,
            block: self.block.unwrap_or(BLOCK),
            inflate_percent: self.inflate,
            sync: self.sync.unwrap_or(Sync::AtEnd),
            direct: self.direct(keys)?,
        })
    }

    fn tree(&self, keys: Keys<'_>, act: TreeAct) -> Result<Tree, Mistake> {
        let folder = keys.needed("in", self.r#in.clone())?;
        if folder == DEVICE {
            return Err(keys.mistake_in("in", "there are no files on the bare device"));
        }
        let makes = act == TreeAct::Create;
        if makes {
            keys.needed("files", self.files)?;
            keys.needed("size", self.size)?;
        }
        Ok(Tree {
            folder,
            act,
            files: self.files,
            sizes: self.size.unwrap_or((0, 0)),
            block: self.block.unwrap_or(SMALL_BLOCK),
            random: self.order == OffsetOrder::Random,
            chained: self.chained,
            cold: act == TreeAct::Read && !self.warm,
            sync: match makes || act == TreeAct::Delete {
                true => self.sync.unwrap_or(Sync::AtEnd),
                false => Sync::None,
            },
        })
    }

    fn filling(&self, keys: Keys<'_>) -> Result<Filling, Mistake> {
        match keys.needed("to", self.to.as_ref())? {
            FileOrPercent::Percent(percent @ 1..=99) => Ok(Filling {
                percent: u8::try_from(*percent).unwrap_or(99),
                write_at_most: self.write_at_most.unwrap_or(4 << 30),
            }),
            _ => Err(keys.mistake_in("to", "a number from 1 to 99 is wanted, in percent")),
        }
    }

    fn command(&self, keys: Keys<'_>) -> Result<Command, Mistake> {
        let words = match (&self.run, &self.shell) {
            (Some(words), None) if words.iter().any(|word| !word.is_empty()) => words.clone(),
            (None, Some(line)) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            _ => {
                return Err(keys.mistake(
                    "one of run = [\"PROGRAM\", \"ARGUMENT\"] and shell = \"LINE\" is wanted",
                ));
            }
        };
        Ok(Command {
            words,
            limit_ns: self.limit.unwrap_or(LIMIT_NS),
        })
    }
}

/// Checks a path inside the scenario's folder, or the name of the scratch device.
fn scene_path(name: &str) -> Result<String, String> {
    let mut parts = Path::new(name).components();
    let inside = !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)));
    match name == DEVICE || inside && !name.starts_with('@') {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "{name} is neither a path inside the scenario's folder nor {DEVICE}"
        )),
    }
}

fn path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    scene_path(&name).map(Some).map_err(D::Error::custom)
}

fn block<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    match read_size(from)? {
        Some(block) if block > MOST_BLOCK => Err(D::Error::custom("at most 256M")),
        block => Ok(block),
    }
}

/// Reads one size, or the smallest and largest of several.
fn sizes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(u64, u64)>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "a size in quotes such as \"64M\" is wanted here, or [\"smallest\", \"largest\"]"
    )]
    enum Sizes {
        One(String),
        Two(String, String),
    }
    let read = |text: &str| parse_size(text).map_err(D::Error::custom);
    let (least, most) = match Sizes::deserialize(from)? {
        Sizes::One(size) => (read(&size)?, read(&size)?),
        Sizes::Two(least, most) => (read(&least)?, read(&most)?),
    };
    match least <= most {
        true => Ok(Some((least, most))),
        false => Err(D::Error::custom("the smallest comes first")),
    }
}

/// Reads `none`, `each`, `each-fsync`, `end`, or `every 16M`.
fn sync<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Sync>, D::Error> {
    let text = String::deserialize(from)?;
    Ok(Some(match (text.as_str(), text.strip_prefix("every ")) {
        ("none", _) => Sync::None,
        ("each", _) => Sync::Each(FlushCall::Fdatasync),
        ("each-fsync", _) => Sync::Each(FlushCall::Fsync),
        ("end", _) => Sync::AtEnd,
        (_, Some(size)) => Sync::EveryBytes(parse_size(size).map_err(D::Error::custom)?),
        _ => {
            return Err(D::Error::custom(format!(
                "{text} is none of none, each, each-fsync, end, and \"every 16M\"{}",
                meant(&text, ["none", "each", "each-fsync", "end"])
            )));
        }
    }))
}

fn file_system<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    match FileSystem::parse(&text) {
        Some(_) => Ok(Some(text)),
        None => Err(D::Error::custom(format!(
            "{text} is not a file system: write KIND or KIND:OPTION+OPTION"
        ))),
    }
}
