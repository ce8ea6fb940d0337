//! Observation of a command: samples of memory, paging, processors and devices at each
//! interval, and the time at which the command's dirty pages are written.
//!
//! The command has the user's own streams. A separate thread waits for it, so that its
//! end is known at once and not only at the next sample.

mod command;
mod device;
mod drain;
mod named;

use assay_model::evidence::DeviceCounters;
use assay_model::units::Bytes;
use assay_model::work::watch::{
    CommandEnd, DiskCounters, Drain, Phase, Watch, WatchReport, WatchSample,
};
use assay_probe::roots::Roots;
use assay_probe::watch as counters;
use assay_workloads::WorkError;
use command::{Command, Waited};
use device::{Looked, looked_at};
use drain::Pending;
use named::NamedFiles;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval at which the end of the work, and the writeback of dirty pages, are checked.
const POLL: Duration = Duration::from_millis(100);

/// Writes to another disk below this size are not reported, in bytes.
const MUCH_BYTES: u64 = 1 << 20;

/// Runs the observation; passes each sample to `tell`.
///
/// # Errors
/// If the device is not known, or the command cannot be started.
pub(crate) fn run(
    roots: &Roots,
    watch: &Watch,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(WatchMessage),
) -> Result<WatchReport, WorkError> {
    let looked = looked_at(roots, watch.device.as_deref(), &watch.command)?;
    let mut watching = Watching {
        roots,
        watch,
        looked,
        stop,
        tell,
        began: Instant::now(),
        samples: 0,
        due: Duration::ZERO,
        said_at_ns: None,
    };
    if watch.command.is_empty() {
        watching.alone();
        return Ok(WatchReport::default());
    }
    watching.with_command()
}

/// Message sent while watching.
pub(crate) enum WatchMessage {
    /// A line for the user.
    Remark(String),
    /// Counters.
    Sample(Box<WatchSample>),
}

struct Watching<'a> {
    roots: &'a Roots,
    watch: &'a Watch,
    looked: Looked,
    stop: &'a AtomicBool,
    tell: &'a mut dyn FnMut(WatchMessage),
    began: Instant,
    /// Samples sent so far.
    samples: u32,
    /// Time at which the next sample is due.
    due: Duration,
    /// Time of the last sample.
    said_at_ns: Option<u64>,
}

impl Watching<'_> {
    /// Takes samples until stopped, or until the requested number is reached.
    fn alone(&mut self) {
        self.say_what_is_shown();
        self.say(self.look(Phase::Alone));
        let wanted = self.watch.samples.unwrap_or(u64::MAX);
        while u64::from(self.samples) < wanted && !self.stopped() {
            match self.until_due() {
                Duration::ZERO => self.say(self.look(Phase::Alone)),
                time => std::thread::sleep(time.min(POLL)),
            }
        }
    }

    fn with_command(&mut self) -> Result<WatchReport, WorkError> {
        let everywhere = written_by_disk(self.roots);
        let files = NamedFiles::before(self.roots, &self.watch.command);
        let before = self.look(Phase::Command);
        let shown = before.disks.clone();
        let mut pending = Pending::after(&before, counters::dirty_page_age_ns(self.roots));
        let mut command = Command::start(&self.watch.command)?;
        self.say_what_is_shown();
        self.say(before);
        let end = loop {
            match command.wait(self.until_due().min(POLL)) {
                Waited::Ended(end) => break end.since(self.began),
                Waited::Runs if self.stopped() => command.ask_to_end(),
                Waited::Runs => {}
            }
            if self.until_due() == Duration::ZERO {
                let now = self.look(Phase::Command);
                pending.look(&now, now.at_ns);
                self.say(now);
            }
        };
        let drain = self.drain(&mut pending, &end, &files);
        self.say_who_wrote_more(&everywhere, &shown);
        Ok(WatchReport {
            ended: Some(end),
            drain: Some(drain),
            last_writes: pending.last_writes(),
        })
    }

    /// Waits until the command's dirty pages are written.
    fn drain(&mut self, pending: &mut Pending, end: &CommandEnd, files: &NamedFiles) -> Drain {
        let give_up = Instant::now() + Duration::from_nanos(self.watch.drain_limit_ns);
        let mut now = self.look(Phase::Draining);
        // Writes found now happened before the command ended.
        pending.look(&now, end.at_ns);
        self.say(now.clone());
        let drain = loop {
            if let Some(drain) = pending.drained(&now, end) {
                break drain;
            }
            if files.unwritten(self.roots, &self.watch.command) == Some(0) {
                break Drain::Left {
                    at_ns: now.at_ns,
                    within_bytes: 0,
                };
            }
            let unwritten_bytes = pending.unwritten(&now).unwrap_or(0);
            if self.stopped() {
                break Drain::NotAwaited { unwritten_bytes };
            }
            if Instant::now() >= give_up {
                break Drain::TimedOut { unwritten_bytes };
            }
            if self.until_due() == Duration::ZERO {
                self.say(now.clone());
            }
            std::thread::sleep(self.until_due().min(POLL));
            now = self.look(Phase::Draining);
            pending.look(&now, now.at_ns);
        };
        if self.said_at_ns != Some(now.at_ns) {
            self.say(now);
        }
        drain
    }

    fn look(&self, phase: Phase) -> WatchSample {
        let at_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let names = match &self.looked {
            Looked::At(name) | Looked::AtNamed { device: name, .. } => vec![name.clone()],
            Looked::AtAll { .. } => counters::disks(self.roots),
        };
        let disks = names.iter();
        WatchSample {
            at_ns,
            phase,
            memory: counters::memory(self.roots),
            paging: counters::paging(self.roots),
            processor: counters::processor(self.roots),
            disks: disks
                .filter_map(|name| counters::disk(self.roots, name))
                .collect(),
        }
    }

    fn say(&mut self, sample: WatchSample) {
        self.samples = self.samples.saturating_add(1);
        self.said_at_ns = Some(sample.at_ns);
        self.due = next_due(self.began.elapsed(), self.watch.interval_ns);
        (self.tell)(WatchMessage::Sample(Box::new(sample)));
    }

    fn say_what_is_shown(&mut self) {
        let remark = match &self.looked {
            Looked::At(_) => return,
            Looked::AtNamed { device, path } => format!(
                "watching {device}, which {} is on; --device names another",
                path.display()
            ),
            Looked::AtAll { because } => because.clone(),
        };
        (self.tell)(WatchMessage::Remark(remark));
    }

    /// Reports another disk with many more writes, which the command may have caused.
    fn say_who_wrote_more(&mut self, before: &[(String, u64)], shown: &[DiskCounters]) {
        let written = |(name, before): &(String, u64)| {
            let now = counters::disk(self.roots, name)?.counters.write_bytes;
            Some((name.clone(), now.saturating_sub(*before)))
        };
        let most = before.iter().filter_map(written).max_by_key(|(_, n)| *n);
        let of_shown = shown.iter().filter_map(|disk| {
            let DeviceCounters {
                name, write_bytes, ..
            } = &disk.counters;
            written(&(name.clone(), *write_bytes))
        });
        let of_shown = of_shown.map(|(_, bytes)| bytes).max().unwrap_or(0);
        if let (Some((name, bytes)), Some(disk)) = (most, shown.first())
            && bytes / 10 > of_shown
            && bytes > MUCH_BYTES
        {
            (self.tell)(WatchMessage::Remark(format!(
                "{} was written to {name} meanwhile, and {} to {}: if that was the command, \
                 watch it with --device {name}",
                Bytes(bytes),
                Bytes(of_shown),
                disk.counters.name
            )));
        }
    }

    /// Returns the time until the next sample.
    fn until_due(&self) -> Duration {
        self.due.saturating_sub(self.began.elapsed())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Returns the bytes written to each disk since boot.
fn written_by_disk(roots: &Roots) -> Vec<(String, u64)> {
    let written = |name: String| {
        let bytes = counters::disk(roots, &name)?.counters.write_bytes;
        Some((name, bytes))
    };
    let names = counters::disks(roots).into_iter();
    names.filter_map(written).collect()
}

/// Returns when the next sample is due, at a multiple of the interval. Missed samples,
/// for example while the process was stopped, are not repeated.
fn next_due(elapsed: Duration, interval_ns: u64) -> Duration {
    let interval = u128::from(interval_ns.max(1));
    let due = (elapsed.as_nanos() / interval + 1) * interval;
    Duration::from_nanos(u64::try_from(due).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_samples_are_not_made_up_for() {
        let due = |millis| next_due(Duration::from_millis(millis), 1_000_000_000);
        assert_eq!(due(1), Duration::from_secs(1));
        assert_eq!(due(1000), Duration::from_secs(2));
        assert_eq!(due(9500), Duration::from_secs(10));
    }

    #[test]
    fn a_stop_is_seen_although_samples_are_due_all_the_time() {
        let watch = Watch {
            interval_ns: 1,
            ..Watch::default()
        };
        let mut samples = 0;
        let stop = AtomicBool::new(false);
        let mut tell = |told| {
            samples += u32::from(matches!(told, WatchMessage::Sample(_)));
            stop.store(samples == 3, Ordering::Relaxed);
            assert!(samples < 4, "it goes on");
        };
        run(&Roots::default(), &watch, &stop, &mut tell).unwrap();
        assert_eq!(samples, 3);
    }
}
