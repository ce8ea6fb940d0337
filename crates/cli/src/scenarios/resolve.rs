//! Conversion of a scenario's file to acts: scaled, with paths in their place, each with a job that
//! describes it.

use super::file::{ActWanted, ScenarioFile, Step};
use super::job::job;
use super::{Moved, PlaceWanted};
use crate::checks::estimate::{self, SPEEDS, Speed};
use crate::checks::toml_file::Mistake;
use assay_model::job::FlushCall;
use assay_model::number::as_u64;
use assay_model::units::{Bytes, Nanos};
use assay_model::work::scenario::{
    Act, ActPace, Action, DEVICE, Scenario, Stage, Sync, Tree, TreeAct, Writing,
};
use std::collections::BTreeMap;
use std::path::Path;

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

fn one(act: &ActWanted, wanted: &Wanted<'_>, known: &mut KnownFiles) -> Result<Act, Mistake> {
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
    Ok(Act {
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
