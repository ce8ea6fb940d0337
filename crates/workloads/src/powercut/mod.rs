//! Acknowledged writes until the power is cut, and verification of them after the power
//! returns.
//!
//! - [`mod@write`]: the streams, each on a separate thread; content of each sector of each write;
//!   kinds of writes, and the verification of each.
//! - [`mount`], [`check`]: the file system under test.
//!
//! Nothing is removed at the end of writing: the data must exist when the power returns, and
//! the verification removes it.

mod check;
mod mount;
#[cfg(test)]
mod tests;
mod write;

use crate::{ActError, Context};
use assay_engine::held::{HeldFolder, is_own, shown};
use assay_model::act::ActReport;
use assay_model::act::powercut::{
    DurabilityKind, FOLDER, KnownWrites, Powercut, PowercutReport, StreamFound, Task,
};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use write::Stream;

/// Examples of faults kept for each stream, at most.
const EXAMPLES: usize = 5;

/// Makes successive writes; a write that has returned is acknowledged.
trait StreamWriter: Send {
    fn write(&mut self, sequence: u64) -> io::Result<()>;
}

pub(crate) fn run(work: &Powercut, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    if let Some(kind) = work
        .kinds
        .iter()
        .find(|kind| work.device && !kind.on_device())
    {
        return Err(ActError::Refused(format!(
            "{}: a device has no {}",
            shown(&work.path),
            kind.name()
        )));
    }
    match &work.task {
        Task::Write => {
            mount::mount(work)?;
            write::run(work, context)?;
            Ok(ActReport::Steps)
        }
        Task::Verify { known, atomic } => {
            let report = verify(work, known, *atomic, context.seed)?;
            Ok(ActReport::Powercut(report))
        }
    }
}

/// Verifies the data, and removes it.
fn verify(
    work: &Powercut,
    known: &[KnownWrites],
    atomic: u32,
    seed: u64,
) -> Result<PowercutReport, ActError> {
    let mut report = PowercutReport {
        boot_id: boot_id(),
        ..PowercutReport::default()
    };
    let before = mount::kernel_lines();
    let mounted = mount::mount(work);
    report.said = mount::said_since(work, before);
    if let Err(error) = mounted {
        report.not_mounted = Some(error.to_string());
        return Ok(report);
    }
    report.check = check::check(work);
    let made = match open(work) {
        Ok(made) => made,
        Err(why) => {
            report.not_mounted = Some(format!("{} {why}", folder(work).display()));
            return Ok(report);
        }
    };
    for (number, &kind) in (0_u32..).zip(&work.kinds) {
        let known = known.get(number as usize).copied().unwrap_or_default();
        let stream = Stream { seed, number };
        let mut findings = Findings::of(kind, known);
        let place = StreamStorage {
            work,
            folder: made.as_ref().map_or(&*work.path, HeldFolder::path),
            number,
            kind,
        };
        match kind {
            DurabilityKind::Rename => write::verify_renamed(&place, stream, known, &mut findings),
            DurabilityKind::Append => write::verify_appended(&place, stream, known, &mut findings),
            DurabilityKind::Sqlite => write::verify_rows(&place, stream, known, &mut findings),
            _ => write::verify(&place, stream, known, atomic, &mut findings),
        }
        report.streams.push(findings.found);
    }
    if !work.device {
        // The next cycle makes everything anew, and reports a failure to remove it.
        let above = HeldFolder::open(&work.path);
        let _ = above.and_then(|above| fs::remove_dir_all(above.path().join(FOLDER)));
    }
    Ok(report)
}

/// Location that a stream writes to.
struct StreamStorage<'a> {
    work: &'a Powercut,
    /// Path of the folder of all files; the device's path if there is no folder.
    folder: &'a Path,
    number: u32,
    kind: DurabilityKind,
}

impl StreamStorage<'_> {
    /// Returns the stream's file in the folder, or the device.
    fn file(&self) -> PathBuf {
        match self.work.device {
            true => self.work.path.clone(),
            false => self.folder.join(self.kind.name()),
        }
    }

    /// Returns the offset at which the stream begins: each stream has its own part of a device.
    fn base(&self) -> u64 {
        match self.work.device {
            true => write::EXTENT * (u64::from(self.number) + 1),
            false => 0,
        }
    }
}

/// Opens the folder of all files; `None` for a device. The error describes the problem.
fn open(work: &Powercut) -> Result<Option<HeldFolder>, String> {
    if work.device {
        return Ok(None);
    }
    let made = HeldFolder::open(&folder(work)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            "is missing: no file system is mounted, or not the one of before".to_owned()
        }
        _ => format!("cannot be opened: {error}"),
    })?;
    match is_own(&made) {
        true => Ok(Some(made)),
        false => Err("belongs to another user: remove it, or choose another folder".to_owned()),
    }
}

fn folder(work: &Powercut) -> PathBuf {
    work.path.join(FOLDER)
}

/// Returns the identifier of the machine's current boot.
fn boot_id() -> Option<String> {
    let id = fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id")).ok()?;
    Some(id.trim().to_owned())
}

/// Findings about a stream.
struct Findings {
    found: StreamFound,
    lost: Vec<u64>,
    newest: u64,
}

impl Findings {
    fn of(kind: DurabilityKind, known: KnownWrites) -> Self {
        Self {
            found: StreamFound {
                kind: kind.name().to_owned(),
                acknowledged: known.acknowledged,
                ..StreamFound::default()
            },
            lost: Vec::new(),
            newest: 0,
        }
    }

    fn example(&mut self, text: impl FnOnce() -> String) {
        if self.found.examples.len() < EXAMPLES {
            self.found.examples.push(text());
        }
    }

    /// Records an acknowledged write that is missing; `instead` was found.
    fn lost(&mut self, sequence: u64, instead: &str) {
        self.found.lost += 1;
        self.lost.push(sequence);
        self.example(|| format!("write {sequence} was acknowledged and is lost: {instead}"));
    }

    fn torn(&mut self, what: String) {
        self.found.torn += 1;
        self.example(|| what);
    }

    fn garbage(&mut self, what: String) {
        self.found.garbage += 1;
        self.example(|| what);
    }

    /// Records a write that exists; `acknowledged` is the last acknowledged one.
    fn there(&mut self, sequence: u64, acknowledged: u64) {
        self.newest = self.newest.max(sequence);
        self.found.beyond += u64::from(sequence > acknowledged);
    }

    /// Counts lost writes before the newest one found: the order was not kept.
    fn judge_order(&mut self) {
        let newest = self.newest;
        let before = self.lost.iter().filter(|lost| **lost < newest).count();
        self.found.misordered = before as u64;
    }
}
