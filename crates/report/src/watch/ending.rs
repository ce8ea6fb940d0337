//! Sentences on the bytes that reached the device, and their timing.

use super::of_name;
use crate::words::text::clean;
use assay_lang::{counted, tr};
use assay_model::units::{Bytes, Nanos};
use assay_model::work::watch::{DiskCounters, Drain, Phase, WatchReport, WatchSample};
use assay_stats::watch::busiest;
use std::ffi::OsString;
use std::path::Path;

/// Name of a command in sentences: the file name of its program.
#[derive(Clone, Debug)]
pub struct Name(String);

impl Name {
    /// Returns the name of a command.
    pub fn of(command: &[OsString]) -> Self {
        let program = command.first().map(Path::new);
        let name = program.and_then(|program| Some(program.file_name()?.to_string_lossy()));
        Self(name.map_or_else(|| tr!("the command").to_owned(), |name| clean(&name)))
    }
}

/// Activity of one device between two samples.
pub(super) struct Moved {
    pub(super) device: String,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    pub(super) writes: u64,
    /// Number of flushes; `None` if the kernel does not count them.
    pub(super) flushes: Option<u64>,
}

impl Moved {
    /// Returns the activity of a device; `None` if the device was replaced meanwhile.
    pub(super) fn of(name: &str, before: &WatchSample, after: &WatchSample) -> Option<Self> {
        let (was, is) = (of_name(before, name)?, of_name(after, name)?);
        let (was, is) = (&was.counters, &is.counters);
        let flushes = was.flush_ios.zip(is.flush_ios);
        Some(Self {
            device: clean(name),
            read_bytes: is.read_bytes.checked_sub(was.read_bytes)?,
            written_bytes: is.write_bytes.checked_sub(was.write_bytes)?,
            writes: is.write_ios.checked_sub(was.write_ios)?,
            flushes: flushes.and_then(|(was, is)| is.checked_sub(was)),
        })
    }
}

/// Describes the data that the command left in memory, the time when it was written, and the
/// activity of the device until then.
pub fn sentences(name: &Name, samples: &[WatchSample], report: &WatchReport) -> Vec<String> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let disk = busiest(first, last).map(|disk| disk.counters.name.as_str());
    let moved = |after| disk.and_then(|disk| Moved::of(disk, first, after));
    let Some(end) = report.ended else {
        return moved(last)
            .map(|moved| alone(&moved, last))
            .into_iter()
            .collect();
    };
    let ended = samples
        .iter()
        .find(|sample| sample.phase == Phase::Draining);
    let ended = ended.unwrap_or(last);
    let mut lines = vec![finished(name, end.at_ns, disk, report)];
    lines.extend(moved(ended).map(|moved| then(name, &moved, ended)));
    if ended.at_ns < last.at_ns {
        lines.extend(moved(last).map(|moved| in_the_end(&moved)));
    }
    lines
}

fn finished(name: &Name, at_ns: u64, disk: Option<&str>, report: &WatchReport) -> String {
    let Name(name) = name;
    let begin = tr!("{name} finished after {time}", name, time = Nanos(at_ns));
    let device = disk.map_or_else(|| tr!("its device").to_owned(), clean);
    let still_dirty = |bytes| {
        tr!(
            "{begin}; {bytes} were still dirty",
            begin,
            bytes = Bytes(bytes)
        )
    };
    let on_device = on_device_ns(disk, report);
    match (report.drain, on_device) {
        (Some(Drain::Left { .. } | Drain::Expired { .. }), Some(then)) if then > at_ns => {
            let known = match report.drain {
                Some(Drain::Expired { age_ns, .. }) => tr!(
                    " (others kept pages dirty; known from the device, still since, and from the {age} \
                     after which the kernel writes a page)",
                    age = Nanos(age_ns)
                ),
                _ => String::new(),
            };
            tr!(
                "{begin}; the data was on {device} after {time}{known}.",
                begin,
                device,
                time = Nanos(then),
                known
            )
        }
        (
            Some(Drain::Left {
                within_bytes: 0, ..
            }),
            _,
        ) => {
            tr!("{begin}; it left nothing dirty in memory.", begin)
        }
        (Some(Drain::Left { within_bytes, .. }), _) => tr!(
            "{begin}; it left nothing dirty in memory (counted to within {bytes}).",
            begin,
            bytes = Bytes(within_bytes)
        ),
        (Some(Drain::Expired { .. }), _) => tr!(
            "{begin}; nothing of it was written to {device} after that.",
            begin,
            device
        ),
        (Some(Drain::TimedOut { unwritten_bytes }), _) => tr!(
            "{dirty} when the longest wait was over: something else goes on writing, or {device} is \
             slow, so when the data was on {device} is not known.",
            dirty = still_dirty(unwritten_bytes),
            device
        ),
        (Some(Drain::NotAwaited { unwritten_bytes }), _) => tr!(
            "{dirty} when the watching was stopped.",
            dirty = still_dirty(unwritten_bytes)
        ),
        (Some(Drain::Unknown) | None, _) => tr!(
            "{begin}; the kernel does not tell when the data was on {device}.",
            begin,
            device
        ),
    }
}

/// Returns the time at which the written-back pages were on the device: that of its last write.
pub(super) fn on_device_ns(disk: Option<&str>, report: &WatchReport) -> Option<u64> {
    let gone = matches!(
        report.drain,
        Some(Drain::Left { .. } | Drain::Expired { .. })
    );
    let last = report
        .last_writes
        .iter()
        .find(|last| Some(&*last.device) == disk);
    last.filter(|_| gone).map(|last| last.at_ns)
}

fn then(name: &Name, moved: &Moved, ended: &WatchSample) -> String {
    let Name(name) = name;
    let dirty = match (of_name(ended, &moved.device), ended.memory) {
        (
            Some(DiskCounters {
                unwritten_bytes: Some(bytes),
                ..
            }),
            _,
        ) => {
            tr!(", and {bytes} of its own were dirty", bytes = Bytes(*bytes))
        }
        (_, Some(memory)) => tr!(
            ", and {bytes} were dirty (of all devices)",
            bytes = Bytes(memory.unwritten_bytes())
        ),
        _ => String::new(),
    };
    tr!(
        "When {name} finished, {bytes} had been written to {device}{dirty}.",
        name,
        bytes = Bytes(moved.written_bytes),
        device = moved.device,
        dirty
    )
}

fn in_the_end(moved: &Moved) -> String {
    let flushes = match moved.flushes {
        None => String::new(),
        Some(0) => tr!(" and no flush: what the device itself caches may not be safe").to_owned(),
        Some(flushes) => tr!(" and {flushes}", flushes = flush_count(flushes)),
    };
    tr!(
        "In the end it was {bytes} in {writes}{flushes}.",
        bytes = Bytes(moved.written_bytes),
        writes = counted!(moved.writes, "{n} write", "{n} writes"),
        flushes
    )
}

fn alone(moved: &Moved, last: &WatchSample) -> String {
    tr!(
        "In {time}: {read} read from {device}, {written} written to it{flushes}.",
        time = Nanos(last.at_ns),
        read = Bytes(moved.read_bytes),
        device = moved.device,
        written = Bytes(moved.written_bytes),
        flushes = moved
            .flushes
            .map(|flushes| format!("{}{}", tr!(", "), flush_count(flushes)))
            .unwrap_or_default()
    )
}

fn flush_count(flushes: u64) -> String {
    counted!(flushes, "{n} flush", "{n} flushes")
}
