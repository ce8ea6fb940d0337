//! Each warning in words, and its remedy.

use super::{Stalled, Warning};
use crate::format::{celsius, percent};
use crate::text::{count, enumerate};
use assay_model::job::Direction;
use assay_model::units::Bytes;
use std::fmt::Write as _;

impl Warning {
    /// What was seen. At most `names` jobs are named; the rest is counted.
    #[must_use]
    pub fn message(&self, names: usize) -> String {
        let list = |items: &[String]| shortened(items, names);
        match self {
            Self::Unfinished { how } => format!("the run {how}: figures are of the trials before"),
            Self::IoErrors { jobs, first } => {
                format!("I/O errors in {}; the first: {first}", list(&times(jobs)))
            }
            Self::Failed { jobs, first } => {
                format!("failed trials: {}; the first: {first}", list(&times(jobs)))
            }
            Self::Skipped { reason, jobs } => format!("{} did not run: {reason}", list(jobs)),
            Self::Memory { what } => format!("{what}: its figures are those of memory"),
            Self::PageCache {
                direction, jobs, ..
            } => {
                let moved = match direction {
                    Direction::Read => "reads came from the page cache",
                    Direction::Write => "writes ended in the page cache",
                };
                format!("{moved}, not the device: {}", list(jobs))
            }
            Self::Mixed { jobs } => {
                format!("part page cache, part device: {}", list(&in_brackets(jobs)))
            }
            Self::Disagreement { jobs } => {
                format!(
                    "trials measured different things: {}",
                    list(&in_brackets(jobs))
                )
            }
            Self::Unknown { why, jobs, .. } => {
                format!("what was measured is not known for {}: {why}", list(jobs))
            }
            Self::Unflushed { jobs } => {
                format!(
                    "the device's volatile cache was not flushed: {}",
                    list(jobs)
                )
            }
            Self::ForeignIo {
                read,
                written,
                trials,
                processes,
            } => foreign(*read, *written, &list(trials), processes),
            Self::Stalls { jobs } => {
                let jobs: Vec<String> = jobs.iter().map(Stalled::describe).collect();
                format!("nothing completed for a long time: {}", list(&jobs))
            }
            Self::Spread { jobs } => {
                let jobs: Vec<String> = jobs
                    .iter()
                    .map(|(job, cv)| format!("{job} ({})", percent(*cv)))
                    .collect();
                format!("trials differ by more than 10 %: {}", list(&jobs))
            }
            Self::FewTrials { jobs } => {
                format!("fewer than 3 trials: {}", list(&times(jobs)))
            }
            Self::ShortTransfers { jobs } => {
                format!("the kernel cut transfers short: {}", list(&times(jobs)))
            }
            Self::Governor { governors } => {
                format!("CPU frequency was left to {}", enumerate(governors))
            }
            Self::Throttled {
                trials,
                hottest_millicelsius,
            } => {
                let hottest = hottest_millicelsius.map_or_else(String::new, |hottest| {
                    format!(" (up to {})", celsius(hottest))
                });
                format!("the CPU slowed down during {}{hottest}", list(trials))
            }
            Self::Loop { name, file } => {
                format!("{name} is a loop device: its file {file} is cached by this machine")
            }
            Self::Worn { device, state } => format!("{device} is worn: {state}"),
            Self::SlowBus { device, bus } => format!("{device} runs on a slow bus: {bus}"),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        let fixed = match self {
            Self::PageCache {
                direction, fits_in, ..
            } => return cache_remedy(*direction, *fits_in),
            Self::Unknown { root: false, .. } => {
                "run as root: the kernel then shows the counters that tell"
            }
            Self::Unknown { .. } => {
                "do not take these for the device's speed; repeat on an idle machine, or with a \
                 kernel that counts it"
            }
            Self::Unfinished { .. } => "run it again to have all trials",
            Self::IoErrors { .. } => {
                "read dmesg; check cable, socket and supply; do not ship on these figures"
            }
            Self::Failed { .. } => "remove the cause and run again; failed trials make no figure",
            Self::Skipped { .. } => "remove the cause, or leave these jobs out",
            Self::Memory { .. } => "choose a path on the storage you mean",
            Self::Mixed { .. } => {
                "use direct I/O, flush before the clock stops, or take a file larger than RAM \
                 (--thorough)"
            }
            Self::Disagreement { .. } => {
                "do not average them; see the evidence of each trial, and repeat on an idle machine"
            }
            Self::Unflushed { .. } => {
                "a power cut may lose such writes; for durable figures see fdatasync, dsync and \
                 fsync"
            }
            Self::ForeignIo { .. } => "stop these processes, or measure another device",
            Self::Stalls { .. } => {
                "judge by p99 and the longest gap, not by the mean; the report draws the course"
            }
            Self::Spread { .. } => "more trials (--trials 10) on an idle, cool machine",
            Self::FewTrials { .. } => "use --trials 3 or more: one figure has no spread",
            Self::ShortTransfers { .. } => "they were continued and counted; check free space",
            Self::Governor { .. } => {
                "for comparable figures set it: cpupower frequency-set -g performance"
            }
            Self::Throttled { .. } => "cool it, or pause between trials",
            Self::Loop { .. } => {
                "such figures say nothing about a real device; use one, or direct I/O on the loop device (losetup --direct-io=on)"
            }
            Self::Worn { .. } => {
                "compare with a fresh device; speed and reliability fall with wear"
            }
            Self::SlowBus { .. } => {
                "use a faster port, cable or mode, or state the bus with the figures"
            }
        };
        fixed.to_owned()
    }
}

impl Stalled {
    fn describe(&self) -> String {
        let mut text = format!(
            "{} ({} in trial {}, {} after its start",
            self.job, self.longest, self.trial, self.start
        );
        if self.empty_intervals > 0 {
            // Writing to a String cannot fail.
            let _ = write!(text, "; {}", count(self.empty_intervals, "empty interval"));
        }
        text.push(')');
        text
    }
}

fn cache_remedy(direction: Direction, fits_in: Option<(Bytes, Bytes)>) -> String {
    let first = match direction {
        Direction::Read => "use direct I/O",
        Direction::Write => "use direct I/O or a flush before the clock stops",
    };
    match fits_in {
        Some((file, memory)) => format!(
            "{first}, or a file larger than RAM (file {file}, RAM {memory}): --size, --thorough"
        ),
        None => first.to_owned(),
    }
}

fn foreign(read: Bytes, written: Bytes, trials: &str, processes: &[String]) -> String {
    let mut moved = Vec::new();
    if read.0 > 0 {
        moved.push(format!("read {read}"));
    }
    if written.0 > 0 {
        moved.push(format!("wrote {written}"));
    }
    let who = if processes.is_empty() {
        "others".to_owned()
    } else {
        format!("others ({})", shortened(processes, 3))
    };
    format!(
        "{who} {} on the device during {trials}",
        moved.join(" and ")
    )
}

/// `a (2x)` for every pair.
fn times(jobs: &[(String, u64)]) -> Vec<String> {
    jobs.iter()
        .map(|(job, n)| format!("{job} ({n}x)"))
        .collect()
}

fn in_brackets(jobs: &[(String, String)]) -> Vec<String> {
    jobs.iter()
        .map(|(job, detail)| format!("{job} ({detail})"))
        .collect()
}

/// The first `most` items, and how many more there are.
fn shortened(items: &[String], most: usize) -> String {
    // One item is not replaced by "1 more".
    if items.len() <= most.saturating_add(1) {
        return enumerate(items);
    }
    format!(
        "{} and {} more",
        items[..most].join(", "),
        items.len() - most
    )
}
