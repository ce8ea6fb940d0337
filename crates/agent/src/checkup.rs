//! State of the machine, and the activity of other processes on it.

use crate::inspect::inspect;
use assay_engine::{page_cache, usable};
use assay_model::act::watch::Processor;
use assay_model::checkup::{Checkup, DiskUse, Facility, MissingFacility, Others};
use assay_model::evidence::DeviceCounters;
use assay_model::job::EngineKind;
use assay_model::storage::Storage;
use assay_model::wire::Refusal;
use assay_probe::counters::device_counters;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::{checkup, watch};
use rustix::fs::{Access, access};
use rustix::process::geteuid;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

/// Duration for which other processes are observed.
const LOOK: Duration = Duration::from_secs(1);
/// Processes that are reported, at most.
const MOST_PROCESSES: usize = 8;

/// Checks the machine, and the storage behind a path. Takes a second for observation and
/// writes nothing.
pub(crate) fn checkup(roots: &Roots, path: Option<&Path>) -> Result<Checkup, Refusal> {
    let place = path.map(|path| inspect(roots, path)).transpose()?;
    let storage = place.as_ref().map(|place| &place.storage);
    let mut checkup = checkup::take(roots, storage);
    checkup.others = Some(others(roots, storage));
    checkup.missing = missing(roots);
    checkup.place = place.map(Box::new);
    Ok(checkup)
}

/// Tries each facility of the kernel.
fn missing(roots: &Roots) -> Vec<MissingFacility> {
    let engine = |engine| usable(engine).err().map(|error| error.to_string());
    let file = |path: PathBuf, how| {
        let answer = access(&path, how).err();
        answer.map(|error| format!("{}: {error}", path.display()))
    };
    // For files of other users, the kernel answers only root.
    let user = geteuid();
    let is_own = |meta: Metadata| user.is_root() || meta.uid() == user.as_raw();
    let program = File::open("/proc/self/exe").ok();
    let program = program.filter(|file| file.metadata().is_ok_and(is_own));
    let no_cachestat = program.is_some_and(|file| page_cache::look_at(&file, 0, 0).is_none());
    let answers = [
        (Facility::IoUring, engine(EngineKind::IoUring)),
        (Facility::Libaio, engine(EngineKind::Libaio)),
        (
            Facility::Cachestat,
            no_cachestat.then(|| "cachestat(2) fails".to_owned()),
        ),
        (
            Facility::DropCaches,
            file(roots.proc.join("sys/vm/drop_caches"), Access::WRITE_OK),
        ),
        (
            Facility::BlockEvents,
            file(
                roots.sys.join("kernel/tracing/events/block"),
                Access::READ_OK,
            ),
        ),
    ];
    let missing = answers.into_iter().filter_map(|(facility, answer)| {
        Some(MissingFacility {
            facility,
            answer: answer?,
        })
    });
    missing.collect()
}

fn others(roots: &Roots, storage: Option<&Storage>) -> Others {
    let disks = match storage {
        Some(storage) => storage.leaves().map(|layer| layer.name.clone()).collect(),
        None => watch::disks(roots),
    };
    let look = || Look::at(roots, &disks);
    let (begin, before) = (Instant::now(), look());
    thread::sleep(LOOK);
    let after = look();
    let disks = before.disks.iter().zip(&after.disks);
    Others {
        elapsed_ns: u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
        disks: disks.map(|(before, after)| moved(before, after)).collect(),
        processes: busiest(&before.processes, &after.processes, MOST_PROCESSES),
        cpu_share: before.cpu.zip(after.cpu).and_then(|(a, b)| used(&a, &b)),
    }
}

/// Counters at one point in time.
struct Look {
    disks: Vec<DeviceCounters>,
    processes: ProcessIoTable,
    cpu: Option<Processor>,
}

impl Look {
    fn at(roots: &Roots, disks: &[String]) -> Self {
        let own = [process::id(), parent_id()];
        Self {
            disks: disks
                .iter()
                .map(|name| {
                    device_counters(roots, name).unwrap_or_else(|| DeviceCounters {
                        name: name.clone(),
                        ..DeviceCounters::default()
                    })
                })
                .collect(),
            processes: ProcessIoTable::take(roots, &own),
            cpu: watch::processor(roots),
        }
    }
}

fn moved(before: &DeviceCounters, after: &DeviceCounters) -> DiskUse {
    DiskUse {
        name: after.name.clone(),
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
    }
}

/// Returns the share of all processors' time that was not idle. Guest time is already
/// included in user time.
fn used(before: &Processor, after: &Processor) -> Option<f64> {
    let passed = |of: fn(&Processor) -> u64| of(after).saturating_sub(of(before));
    let idle = passed(|cpu| cpu.idle) + passed(|cpu| cpu.iowait);
    let busy = passed(|cpu| cpu.user)
        + passed(|cpu| cpu.nice)
        + passed(|cpu| cpu.system)
        + passed(|cpu| cpu.irq)
        + passed(|cpu| cpu.softirq)
        + passed(|cpu| cpu.steal);
    let share = busy as f64 / (busy + idle) as f64;
    (busy + idle > 0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_passed() {
        let before = Processor {
            user: 100,
            idle: 1_000,
            ..Processor::default()
        };
        let after = Processor {
            user: 130,
            system: 20,
            idle: 1_030,
            iowait: 20,
            ..Processor::default()
        };
        assert_eq!(used(&before, &after), Some(0.5));
        assert_eq!(used(&before, &before), None);
    }
}
