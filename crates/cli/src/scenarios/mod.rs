//! Scenarios: files that describe the storage accesses of a product, and the built-in ones, which
//! have the same format and serve as templates (`--show`).
//!
//! A file is converted to acts: scaled, with paths in their place, each with a job that describes
//! it. Evidence is judged by the job, so that it has to match the act.

pub mod file;

use crate::checks::admission::Need;
use crate::checks::estimate::{SPEEDS, Speed};
use crate::checks::input::Mistake;
use crate::checks::{admission, estimate, input};
use crate::driver::Host;
use crate::driver::acts::PlannedAct;
use crate::exit::Failure;
use crate::output::say;
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::act::scenario::{
    ActPace, Action, Copying, DEVICE, Reading, Scenario, ScenarioAct, Stage, Sync, Tree, TreeAct,
    Verifying, Writing,
};
use assay_model::condition::{FileSystem, Offer, Subject};
use assay_model::job::{CacheState, FileState, Flush, FlushCall, Job, Purpose, RateLimit, Rw};
use assay_model::plan::Place;
use assay_model::text::{clean, meant};
use assay_model::units::{Bytes, Nanos, as_u64};
use assay_model::wire::Inspection;
use clap::ValueEnum;
use file::{ActWanted, ScenarioFile, Step};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Kinds of place where a scenario or a step can be carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaceWanted {
    /// In a folder only.
    Folder,
    /// On a scratch device only.
    Device,
    /// In both.
    #[default]
    Any,
}

/// Bytes that an act moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    pub read: u64,
    pub written: u64,
}

/// Kind of part; it selects the scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Flash and LPDDR in one package, as in phones.
    Emcp,
    /// Embedded flash.
    Emmc,
    /// Cards of cameras and recorders.
    Sd,
    /// USB sticks.
    Usb,
}

impl Profile {
    /// Returns the profile's scenarios for a folder.
    pub const fn in_folder(self) -> &'static [&'static str] {
        match self {
            Self::Emcp | Self::Emmc => &[
                "ota-ab",
                "app-install",
                "boot",
                "database-log",
                "log-writer",
                "background-write",
            ],
            Self::Sd => &["camera-burst", "video", "log-writer", "ota-files"],
            Self::Usb => &["flashing", "ota-files", "background-write"],
        }
    }

    /// Scenarios for a scratch device.
    pub const ON_DEVICE: [&'static str; 2] = ["flashing", "factory-reset"];
}

/// Plans a built-in scenario as an act of a composed run, and announces what it writes. The names of
/// its steps begin with its own.
///
/// # Errors
/// If a program that it needs is missing.
pub fn planned(
    name: &str,
    scale: f64,
    trials: u32,
    place: &Place,
    host: &mut Host,
) -> Result<PlannedAct, Failure> {
    let found = find(name)?;
    plays_on(&found, place, place.path())?;
    let mut resolved = resolve_in(&found, place, scale, false)?;
    resolved.scenario.name_acts_apart();
    tools_are_there(host, &resolved.scenario)?;
    say(&clean(&tr!(
        "then the scenario {name}, which writes up to {written} each time",
        name,
        written = resolved.written
    )));
    Ok(PlannedAct {
        steps: measured(&resolved.scenario),
        times: resolved.times,
        act: Act::Scenario(Box::new(resolved.scenario)),
        trials,
    })
}

/// Admits the place to work on.
pub fn admit(
    destroy_data: bool,
    found: &LibraryScenario,
    inspection: &Inspection,
) -> Result<Place, Failure> {
    let place = admission::admit(inspection, Need::written(destroy_data))?;
    plays_on(found, &place, &inspection.path)?;
    Ok(place)
}

/// Checks that a scenario is for such a place.
fn plays_on(found: &LibraryScenario, place: &Place, path: &Path) -> Result<(), Failure> {
    let (name, shown) = (&found.name, path.display());
    match (place, found.file.place) {
        (Place::Device { .. }, PlaceWanted::Folder) => Err(Failure::usage(format!(
            "{name} plays in a folder, and {shown} is a block device: mount a file system there"
        ))),
        (Place::Directory { .. }, PlaceWanted::Device) => Err(Failure::usage(format!(
            "{name} plays on a scratch device, and {shown} is a folder"
        ))),
        _ => Ok(()),
    }
}

/// Resolves a scenario for its place.
pub fn resolve_in(
    found: &LibraryScenario,
    place: &Place,
    scale: f64,
    allow_commands: bool,
) -> Result<Resolved, Failure> {
    let wanted = Wanted {
        name: &found.name,
        scale,
        path: place.path(),
        on_device: matches!(place, Place::Device { .. }),
        allow_commands,
    };
    resolve(&found.file, &wanted)
        .map_err(|mistake| Failure::usage(format!("{}: {mistake}", found.place)))
}

/// Returns the jobs of the measured acts.
pub fn measured(scenario: &Scenario) -> Vec<Job> {
    let acts = scenario.acts().filter(|act| !act.unmeasured);
    acts.map(|act| act.job.clone()).collect()
}

/// Checks, before anything is written, that the file systems of a scenario can be made: half of a
/// factory reset would leave an empty device.
///
/// # Errors
/// Missing programs and permissions.
pub fn tools_are_there(host: &mut Host, scenario: &Scenario) -> Result<(), Failure> {
    let kinds: Vec<String> = scenario.acts().filter_map(file_system).collect();
    if kinds.is_empty() {
        return Ok(());
    }
    let offered = host.offers(&scenario.path, vec![Subject::Mkfs])?;
    let there = match offered.first().map(|offered| &offered.offer) {
        Some(Offer::FileSystems { kinds }) => kinds.as_slice(),
        _ => &[],
    };
    match kinds.iter().find(|kind| !there.contains(kind)) {
        None => Ok(()),
        Some(kind) => Err(Failure::usage(format!(
            "{}: it makes a file system, and there is no mkfs.{kind} on {}{}: install that there, \
             or give a folder",
            scenario.name,
            host.target().unwrap_or("this machine"),
            instead(there)
        ))),
    }
}

fn file_system(act: &ScenarioAct) -> Option<String> {
    match &act.action {
        Action::Format { kind } => FileSystem::parse(kind).map(|asked| asked.kind),
        _ => None,
    }
}

/// Suggests the file systems that can be made instead.
fn instead(there: &[String]) -> String {
    match there {
        [] => String::new(),
        there => format!(" (there is one for {})", there.join(", ")),
    }
}

/// Returns the job of a scaled act.
fn job(name: &str, action: &Action, pace: &ActPace, moved: &Moved) -> Job {
    let plain = |rw, bs: u64| Job {
        purpose: Some(Purpose::Act),
        cache_state: CacheState::AsIs,
        ..Job::new(name, rw, Bytes(bs), Bytes(moved.read.max(moved.written)))
    };
    let job = match action {
        Action::Write(spec) => writing(spec, plain(rw(spec.random, false), spec.block)),
        Action::Read(spec) => reading(spec, plain(rw(spec.random, true), spec.block)),
        Action::Copy(spec) => copying(spec, plain(Rw::Rw, spec.block)),
        Action::Verify(spec) => verifying(spec, plain(Rw::Read, spec.block)),
        Action::Tree(spec) => tree(spec, &plain),
        Action::Database(phase) => Job {
            name: name.to_owned(),
            ..phase.job(phase.statements.first().copied().unwrap_or_default())
        },
        Action::Fill(_) => Job {
            flush: at_end(),
            file_state: FileState::Fresh,
            ..plain(Rw::Write, 1 << 20)
        },
        _ => plain(Rw::Write, 4096),
    };
    Job {
        rate: rate(pace, job.bs.0).or(job.rate),
        description: Some(words(action)),
        ..job
    }
}

const fn rw(random: bool, reads: bool) -> Rw {
    match (random, reads) {
        (false, false) => Rw::Write,
        (true, false) => Rw::RandWrite,
        (false, true) => Rw::Read,
        (true, true) => Rw::RandRead,
    }
}

const fn at_end() -> Flush {
    Flush {
        every: None,
        at_end: Some(FlushCall::Fsync),
    }
}

fn flush(sync: Sync, block: u64) -> Flush {
    match sync {
        Sync::None => Flush::default(),
        Sync::Each(call) => Flush {
            every: Some((1, call)),
            at_end: None,
        },
        Sync::EveryBytes(bytes) => Flush {
            every: Some((
                u32::try_from(bytes.div_ceil(block.max(1))).unwrap_or(u32::MAX),
                FlushCall::Fdatasync,
            )),
            at_end: Some(FlushCall::Fsync),
        },
        Sync::AtEnd => at_end(),
    }
}

fn writing(spec: &Writing, job: Job) -> Job {
    Job {
        direct: spec.direct,
        flush: flush(spec.sync, spec.block),
        file_state: match spec.random {
            true => FileState::Written,
            false => FileState::Fresh,
        },
        ..job
    }
}

fn reading(spec: &Reading, job: Job) -> Job {
    Job {
        direct: spec.direct,
        cache_state: match spec.cold {
            true => CacheState::Cold,
            false => CacheState::AsIs,
        },
        ..job
    }
}

fn copying(spec: &Copying, job: Job) -> Job {
    Job {
        flush: flush(spec.sync, spec.block),
        cache_state: CacheState::Cold,
        ..job
    }
}

fn verifying(spec: &Verifying, job: Job) -> Job {
    Job {
        direct: spec.direct,
        cache_state: CacheState::Cold,
        ..job
    }
}

fn tree(spec: &Tree, plain: &dyn Fn(Rw, u64) -> Job) -> Job {
    let reads = spec.act == TreeAct::Read;
    Job {
        flush: match spec.sync {
            Sync::None => Flush::default(),
            // Each file after its last block: all of them are durable at the end.
            _ => at_end(),
        },
        file_state: match reads {
            true => FileState::Written,
            false => FileState::Fresh,
        },
        cache_state: match spec.cold {
            true => CacheState::Cold,
            false => CacheState::AsIs,
        },
        ..plain(rw(spec.random && reads, reads), spec.block)
    }
}

fn rate(pace: &ActPace, block: u64) -> Option<RateLimit> {
    let every_ns = pace.every_ns?;
    let per_second = 1_000_000_000_u64.checked_div(every_ns).unwrap_or(0);
    Some(match per_second {
        0 => RateLimit::BytesPerSec(block.saturating_mul(1_000_000_000) / every_ns.max(1)),
        _ => RateLimit::Iops(per_second),
    })
}

/// Describes the action of an act.
fn words(action: &Action) -> String {
    let sync = |sync: Sync| match sync {
        Sync::None => String::new(),
        Sync::Each(FlushCall::Fsync) => ", fsync each".to_owned(),
        Sync::Each(FlushCall::Fdatasync) => ", fdatasync each".to_owned(),
        Sync::EveryBytes(bytes) => format!(", fdatasync every {}", Bytes(bytes)),
        Sync::AtEnd => ", flushed at the end".to_owned(),
    };
    let past = |direct| if direct { ", direct" } else { "" };
    let order = |random| if random { "random " } else { "" };
    match action {
        Action::Write(spec) => format!(
            "writes {} to {} in {}blocks of {}{}{}",
            Bytes(spec.bytes),
            spec.file,
            order(spec.random),
            Bytes(spec.block),
            past(spec.direct),
            sync(spec.sync)
        ),
        Action::Read(spec) => format!(
            "reads {} in {}blocks of {}{}",
            spec.file,
            order(spec.random),
            Bytes(spec.block),
            past(spec.direct)
        ),
        Action::Copy(spec) => format!(
            "reads {}, inflates {} % of that, writes {}{}{}",
            spec.from,
            spec.inflate_percent,
            spec.to,
            past(spec.direct),
            sync(spec.sync)
        ),
        Action::Verify(spec) => format!("reads {} back and compares its SHA-256", spec.file),
        Action::Tree(spec) => {
            let files = spec
                .files
                .map_or("all".to_owned(), |files| files.to_string());
            let chained = if spec.chained {
                ", each names the next"
            } else {
                ""
            };
            let (act, folder) = (spec.act.name(), &spec.folder);
            format!(
                "{act} {files} files in {folder}{chained}{}",
                sync(spec.sync)
            )
        }
        Action::Database(phase) => format!(
            "{} transactions of SQLite, journal {}, synchronous {}",
            phase.transactions, phase.journal, phase.synchronous
        ),
        Action::Inflate { bytes } => format!("inflates {} in memory", Bytes(*bytes)),
        Action::Discard { file } => format!("discards {file}"),
        Action::Format { kind } => format!("makes {kind} and mounts it"),
        Action::Delete { file } => format!("removes {file}"),
        Action::Fill(spec) => format!(
            "fills the file system to {} %, with {} written at most",
            spec.percent,
            Bytes(spec.write_at_most)
        ),
        Action::Command(spec) => format!("runs {}", spec.words.join(" ")),
        Action::Pause { .. } => "waits".to_owned(),
        Action::DropCaches => "writes all back and drops caches".to_owned(),
    }
}

/// Names and texts of the built-in scenarios.
pub const BUILT_IN: [(&str, &str); 12] = [
    ("ota-ab", include_str!("library/ota-ab.toml")),
    ("ota-files", include_str!("library/ota-files.toml")),
    ("flashing", include_str!("library/flashing.toml")),
    ("factory-reset", include_str!("library/factory-reset.toml")),
    ("app-install", include_str!("library/app-install.toml")),
    ("boot", include_str!("library/boot.toml")),
    ("camera-burst", include_str!("library/camera-burst.toml")),
    ("video", include_str!("library/video.toml")),
    ("database-log", include_str!("library/database-log.toml")),
    ("log-writer", include_str!("library/log-writer.toml")),
    ("low-space", include_str!("library/low-space.toml")),
    (
        "background-write",
        include_str!("library/background-write.toml"),
    ),
];

/// Scenario that was found.
#[derive(Debug)]
pub struct LibraryScenario {
    /// Name of the scenario, or of its file.
    pub name: String,
    /// Path of the file, the prefix of messages about it.
    pub place: String,
    /// Content of the file.
    pub file: ScenarioFile,
}

/// Finds a scenario by its name, or reads its file.
///
/// # Errors
/// If it does not exist, or its file has a mistake, with its line.
pub fn find(wanted: &str) -> Result<LibraryScenario, Failure> {
    let path = Path::new(wanted);
    let is_file = wanted.contains('/') || path.extension().is_some_and(|end| end == "toml");
    let text = match (built_in(wanted), is_file) {
        (Some(text), false) => text.to_owned(),
        (_, true) => input::text(path)?,
        (None, false) => return Err(unknown(wanted)),
    };
    let file = file::parse(&text).map_err(|mistake| Failure::in_file(path, mistake))?;
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    Ok(LibraryScenario {
        name: stem.unwrap_or_else(|| wanted.to_owned()),
        place: wanted.to_owned(),
        file,
    })
}

/// Returns the text of a built-in scenario.
pub fn built_in(name: &str) -> Option<&'static str> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// Failure for the name of an unknown scenario.
pub fn unknown(wanted: &str) -> Failure {
    let names = BUILT_IN.map(|(name, _)| name);
    let meant = meant(wanted, names);
    Failure::usage(format!(
        "no scenario is called {wanted}{meant}; there is {}, and any FILE.toml",
        names.join(", ")
    ))
}

/// Approximate size of a database transaction's writes, in bytes: its pages, twice.
const PER_TRANSACTION: u64 = 16 << 10;
/// Lower limit of scaled times, in nanoseconds.
const SHORTEST_NS: u64 = 200_000_000;

/// Scenario to carry out, and its cost.
#[derive(Debug)]
pub struct Resolved {
    /// The whole scenario.
    pub scenario: Scenario,
    /// Maximum size of the writes, without those of acts in the background.
    pub written: Bytes,
    /// `true` if acts in the background write until the others end.
    pub and_more: bool,
    /// Estimated time of a repetition, at each speed of [`SPEEDS`].
    pub times: [Nanos; 2],
}

/// Parameters for the resolution of a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// Factor for sizes, counts and times.
    pub scale: f64,
    /// Path where it is carried out.
    pub path: &'a Path,
    /// `true` if the path is a block device.
    pub on_device: bool,
    /// Permission to run its commands.
    pub allow_commands: bool,
}

/// Resolves a file.
///
/// # Errors
/// If a step is not possible after the ones before it; the error has the line of the first one.
pub fn resolve(file: &ScenarioFile, wanted: &Wanted<'_>) -> Result<Resolved, Mistake> {
    let mut known = KnownFiles {
        formatted: !wanted.on_device,
        ..KnownFiles::default()
    };
    let mut stages = Vec::new();
    let mut times = [Nanos(0); 2];
    for step in file.steps.iter().filter(|step| is_here(step, wanted)) {
        known.stage = [Nanos(0); 2];
        let acts = step.acts.iter().map(|act| one(act, wanted, &mut known));
        stages.push(Stage {
            acts: acts.collect::<Result<_, _>>()?,
        });
        for (time, longest) in times.iter_mut().zip(known.stage) {
            time.0 += longest.0;
        }
    }
    Ok(Resolved {
        scenario: Scenario {
            name: wanted.name.to_owned(),
            path: wanted.path.to_owned(),
            on_device: wanted.on_device,
            reserve: Bytes(file.reserve),
            stages,
            allow_commands: wanted.allow_commands,
        },
        written: Bytes(known.written),
        and_more: known.and_more,
        times,
    })
}

fn is_here(step: &Step, wanted: &Wanted<'_>) -> bool {
    match step.on {
        PlaceWanted::Any => true,
        PlaceWanted::Device => wanted.on_device,
        PlaceWanted::Folder => !wanted.on_device,
    }
}

/// Files and folders that exist after the acts so far.
#[derive(Default)]
struct KnownFiles {
    /// Sizes of files, in bytes.
    files: BTreeMap<String, u64>,
    /// Folders with files.
    trees: BTreeMap<String, Tree>,
    /// `true` if there is a file system.
    formatted: bool,
    /// `true` if a file system on the scratch device itself is mounted.
    mounted: bool,
    written: u64,
    and_more: bool,
    /// Longest act of the stage so far at each speed, without those in the background.
    stage: [Nanos; 2],
}

fn one(
    act: &ActWanted,
    wanted: &Wanted<'_>,
    known: &mut KnownFiles,
) -> Result<ScenarioAct, Mistake> {
    let action = scaled(&act.action, wanted.scale);
    let refuse = |why: String| Mistake {
        line: act.line,
        why: format!("{}: {why}", act.name),
    };
    let bytes = known.account(&action, wanted).map_err(refuse)?;
    match act.background {
        true => known.and_more |= bytes.written > 0,
        false => known.written += bytes.written,
    }
    let mut pace = act.pace;
    pace.limit_ns = pace
        .limit_ns
        .map(|limit| times(limit, wanted.scale).max(SHORTEST_NS.min(limit)));
    if !act.background {
        for (longest, speed) in known.stage.iter_mut().zip(SPEEDS) {
            *longest = (*longest).max(time(&action, &pace, bytes, speed));
        }
    }
    Ok(ScenarioAct {
        job: job(&act.name, &action, &pace, &bytes),
        // Pauses and dropped caches have no figures.
        unmeasured: act.prepares || matches!(action, Action::Pause { .. } | Action::DropCaches),
        background: act.background,
        pace,
        action,
    })
}

/// Estimates the time of an act.
fn time(action: &Action, pace: &ActPace, moved: Moved, speed: Speed) -> Nanos {
    let blocks = |bytes: u64, block: u64| bytes.div_ceil(block.max(1));
    let (operations, sync) = match action {
        Action::Write(spec) => (blocks(spec.bytes, spec.block), spec.sync),
        Action::Read(spec) => (blocks(moved.read, spec.block), Sync::None),
        Action::Database(phase) => (phase.transactions, Sync::Each(FlushCall::Fdatasync)),
        Action::Tree(spec) => (u64::from(spec.files.unwrap_or(0)), spec.sync),
        Action::Pause { time_ns } => return Nanos(*time_ns),
        Action::DropCaches => return estimate::DROPPED_CACHES,
        _ => (0, Sync::None),
    };
    // Time of the processor for decompression.
    let inflated = match action {
        Action::Inflate { bytes } => SPEEDS[0].time(Bytes(*bytes), 0).0,
        _ => 0,
    };
    let flushes = match sync {
        Sync::Each(_) => operations,
        Sync::EveryBytes(bytes) => blocks(moved.written, bytes),
        Sync::None | Sync::AtEnd => 1,
    };
    let bytes = Bytes(moved.read + moved.written);
    let own = inflated + speed.time(bytes, flushes).0;
    let due = pace.every_ns.unwrap_or(0).saturating_mul(operations);
    let made = match action {
        Action::Tree(spec) if spec.act == TreeAct::Create => operations,
        _ => 0,
    };
    let around = estimate::around_act(made).0;
    Nanos(around + own.max(due).min(pace.limit_ns.unwrap_or(u64::MAX)))
}

impl KnownFiles {
    /// Checks the requirements of an act, and adds its results to the known files.
    fn account(&mut self, action: &Action, wanted: &Wanted<'_>) -> Result<Moved, String> {
        self.needs_file_system(action)?;
        let mut moved = Moved::default();
        match action {
            Action::Write(spec) => {
                moved.written = spec.bytes;
                self.written_file(spec);
            }
            Action::Read(spec) => {
                let there = self.size(&spec.file)?;
                moved.read = spec.bytes.unwrap_or(there).min(there);
            }
            Action::Copy(spec) => {
                let bytes = self.size(&spec.from)?;
                moved = Moved {
                    read: bytes,
                    written: bytes,
                };
                self.files.insert(spec.to.clone(), bytes);
            }
            Action::Verify(spec) => moved.read = self.size(&spec.file)?,
            Action::Tree(spec) => moved = self.tree(spec)?,
            Action::Database(phase) => moved.written = phase.transactions * PER_TRANSACTION,
            Action::Fill(spec) => moved.written = spec.write_at_most,
            Action::Delete { file } => {
                let there = self.files.remove(file).is_some();
                if !there && self.trees.remove(file).is_none() {
                    return Err(format!("no step before has made {file}"));
                }
            }
            Action::Discard { file } if file == DEVICE && wanted.on_device => {}
            Action::Discard { file } => drop(self.size(file)?),
            Action::Format { .. } if !wanted.on_device => {
                return Err(
                    "a file system is made on a scratch device only: give one, or let this step \
                     be on = \"device\""
                        .to_owned(),
                );
            }
            Action::Format { .. } => {
                (self.formatted, self.mounted) = (true, true);
                self.files.clear();
                self.trees.clear();
            }
            Action::Command(_) if !wanted.allow_commands => {
                return Err(
                    "it runs a program: a scenario with commands is code that runs as you; read \
                     it, then add --allow-commands"
                        .to_owned(),
                );
            }
            Action::Command(_)
            | Action::Inflate { .. }
            | Action::Pause { .. }
            | Action::DropCaches => {}
        }
        Ok(moved)
    }

    fn needs_file_system(&self, action: &Action) -> Result<(), String> {
        let files: Vec<&str> = match action {
            Action::Inflate { .. } | Action::Pause { .. } | Action::Format { .. } => return Ok(()),
            Action::Database(_) | Action::Fill(_) | Action::Command(_) | Action::DropCaches => {
                vec![""]
            }
            _ => action.files(),
        };
        let bare = files.contains(&DEVICE);
        match (self.formatted, files.iter().all(|file| *file == DEVICE)) {
            (false, false) => Err(
                "there is no file system on the device yet: put a step before it that does \
                 \"format\""
                    .to_owned(),
            ),
            (true, _) if bare && self.mounted => Err(format!(
                "a file system is on {DEVICE} by now: it is not written under its feet"
            )),
            _ => Ok(()),
        }
    }

    fn size(&self, file: &str) -> Result<u64, String> {
        let size = self.files.get(file).copied();
        size.ok_or_else(|| format!("no step before has written {file}"))
    }

    fn written_file(&mut self, spec: &Writing) {
        let size = self.files.entry(spec.file.clone()).or_default();
        *size = match spec.append {
            true => *size + spec.bytes,
            false => (*size).max(spec.bytes),
        };
    }

    fn tree(&mut self, spec: &Tree) -> Result<Moved, String> {
        if spec.act == TreeAct::Create {
            self.trees.insert(spec.folder.clone(), spec.clone());
        }
        let Some(there) = self.trees.get(&spec.folder) else {
            return Err(format!("no step before has made files in {}", spec.folder));
        };
        let files = spec.files.or(there.files).unwrap_or(0);
        let bytes = u64::from(files).saturating_mul(mean(there.sizes));
        Ok(match spec.act {
            TreeAct::Create => Moved {
                read: 0,
                written: bytes,
            },
            TreeAct::Read => Moved {
                read: bytes,
                written: 0,
            },
            TreeAct::Stat | TreeAct::Delete => Moved::default(),
        })
    }
}

/// Returns the mean of sizes that are log-uniformly distributed: (b - a) / ln(b / a).
fn mean((least, most): (u64, u64)) -> u64 {
    let (a, b) = (least.max(1) as f64, most.max(1) as f64);
    match b > a {
        true => as_u64((b - a) / (b / a).ln()),
        false => least,
    }
}

/// Scales the sizes and counts of an action, but not block sizes and the sizes of files in a tree.
fn scaled(action: &Action, scale: f64) -> Action {
    let count = |count: u64| times(count, scale).max(1);
    let size = |bytes: u64, block: u64| {
        let whole = times(bytes, scale).max(1).next_multiple_of(block.max(1));
        whole.min(bytes.next_multiple_of(block.max(1)))
    };
    match action.clone() {
        Action::Write(mut spec) => {
            spec.bytes = size(spec.bytes, spec.block);
            Action::Write(spec)
        }
        Action::Read(mut spec) => {
            spec.bytes = spec.bytes.map(|bytes| size(bytes, spec.block));
            Action::Read(spec)
        }
        Action::Copy(mut spec) => {
            if let Sync::EveryBytes(every) = spec.sync {
                spec.sync = Sync::EveryBytes(every.max(spec.block));
            }
            Action::Copy(spec)
        }
        Action::Tree(mut spec) => {
            let scaled = |files: u32| u32::try_from(count(u64::from(files))).unwrap_or(files);
            spec.files = spec.files.map(scaled);
            Action::Tree(spec)
        }
        Action::Database(mut phase) => {
            phase.transactions = count(phase.transactions);
            Action::Database(phase)
        }
        Action::Inflate { bytes } => Action::Inflate {
            bytes: count(bytes),
        },
        Action::Fill(mut spec) => {
            spec.write_at_most = count(spec.write_at_most);
            Action::Fill(spec)
        }
        Action::Pause { time_ns } => Action::Pause {
            time_ns: count(time_ns),
        },
        same @ (Action::Verify(_)
        | Action::Discard { .. }
        | Action::Format { .. }
        | Action::Delete { .. }
        | Action::Command(_)
        | Action::DropCaches) => same,
    }
}

fn times(number: u64, scale: f64) -> u64 {
    as_u64((number as f64 * scale).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_built_in_one_is_without_mistakes() {
        for (name, text) in BUILT_IN {
            let file = file::parse(text);
            assert!(file.is_ok(), "{name}: {file:?}");
        }
    }

    #[test]
    fn the_example_is_one_and_a_small_scale_leaves_little() {
        let text = include_str!("../../../../examples/scenario.toml");
        let file = file::parse(text).unwrap();
        let resolved = |scale| {
            let wanted = Wanted {
                name: "example",
                scale,
                path: Path::new("/mnt"),
                on_device: false,
                allow_commands: false,
            };
            resolve(&file, &wanted).unwrap()
        };
        let (whole, little) = (resolved(1.0), resolved(0.001));
        assert!(whole.and_more && whole.written.0 > 1 << 30);
        assert!(little.written.0 < whole.written.0 / 100);
        let acts: Vec<_> = little.scenario.acts().collect();
        assert_eq!(acts.len(), 4);
        assert!(acts[0].unmeasured && acts[2].background);
        assert_eq!(acts[1].pace.every_ns, Some(50_000_000));
        assert_eq!(acts[1].job.size.0, 2 << 20, "whole blocks");
    }

    /// A repetition took 1.1 to 2.9 s on a loop device over a virtual disk, nearly all of it making
    /// files and dropping caches.
    #[test]
    fn the_time_of_a_scenario_is_also_that_of_its_preparation_and_longer_on_slow_storage() {
        let text = built_in("boot").expect("it is built in");
        let wanted = Wanted {
            name: "boot",
            scale: 0.04,
            path: Path::new("/mnt"),
            on_device: false,
            allow_commands: false,
        };
        let resolved = resolve(&file::parse(text).unwrap(), &wanted).unwrap();
        let [usual, slow] = resolved.times.map(|time| time.0 as f64 / 1e9);
        assert!((1.0..2.9).contains(&usual), "{usual} s");
        assert!(slow > 1.5 * usual, "{slow} s");
    }

    #[test]
    fn a_name_that_is_not_known_is_nearly_one() {
        let why = find("ota-bb").unwrap_err().to_string();
        assert!(why.contains("did you mean ota-ab?"), "{why}");
    }
}
