//! Each warning in words, and its remedy.

use super::{Stalled, Warning};
use crate::format::{celsius, percent};
use crate::text::{count, enumerate};
use assay_model::job::Direction;
use assay_model::units::Bytes;

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
            Self::Unflushed { jobs } => format!(
                "{} measured device-unflushed: the data may still be in the device's volatile \
                 cache",
                count(jobs.len() as u64, "job")
            ),
            Self::ForeignIo {
                device,
                read,
                written,
                trials,
                processes,
            } => foreign(
                device,
                &[("read", *read), ("wrote", *written)],
                &list(trials),
                processes,
            ),
            Self::Stalls { jobs } => {
                let jobs: Vec<String> = jobs.iter().map(Stalled::describe).collect();
                format!("stalls, times without any completion: {}", list(&jobs))
            }
            Self::Spread { jobs, of } => {
                let widest: Vec<String> = jobs
                    .iter()
                    .map(|(job, cv)| match *cv {
                        cv if cv > 1.0 => format!("{job} (>100 %)"),
                        cv => format!("{job} ({})", percent(cv)),
                    })
                    .collect();
                format!(
                    "trials vary by more than 10 % in {} of {}, most in {}",
                    jobs.len(),
                    count(*of as u64, "job"),
                    list(&widest)
                )
            }
            Self::FewTrials { jobs } => {
                format!(
                    "fewer than 3 trials in {}: {}",
                    count(jobs.len() as u64, "job"),
                    list(&times(jobs))
                )
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
                format!("{name} is a loop device, and this machine caches its file {file}")
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
                 (qualify --thorough; size= of a job file)"
            }
            Self::Disagreement { .. } => {
                "do not average them; see the evidence of each trial, and repeat on an idle machine"
            }
            Self::Unflushed { .. } => {
                "a power cut may lose it; writes that are safe are those with fdatasync, fsync or \
                 O_DSYNC"
            }
            Self::ForeignIo { .. } => "stop these processes, or measure another device",
            Self::Stalls { .. } => {
                "judge by p99 and the longest gap, not by the mean; the report draws the course"
            }
            Self::Spread { .. } => {
                "measure more trials (assay power tells how many), on an idle, cool machine"
            }
            Self::FewTrials { .. } => "use --trials 3 or more: one figure has no spread",
            Self::ShortTransfers { .. } => "they were continued and counted; check free space",
            Self::Governor { .. } => {
                "for comparable figures set it: cpupower frequency-set -g performance"
            }
            Self::Throttled { .. } => "cool it, or pause between trials",
            Self::Loop { .. } => {
                "figures labelled device are those of this loop device, not of a real one; measure \
                 that, or set losetup --direct-io=on"
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
        format!(
            "{} ({} in trial {}, at {})",
            self.job, self.longest, self.trial, self.start
        )
    }
}

fn cache_remedy(direction: Direction, fits_in: Option<(Bytes, Bytes)>) -> String {
    let first = match direction {
        Direction::Read => "use direct I/O",
        Direction::Write => "use direct I/O or a flush before the clock stops",
    };
    match fits_in {
        Some((file, memory)) => format!(
            "{first}, or a file larger than RAM (file {file}, RAM {memory}): --size or --thorough of \
             qualify, size= of a job file"
        ),
        None => first.to_owned(),
    }
}

/// Less than this is not worth a word next to more.
const WORTH_A_WORD: Bytes = Bytes::mib(1);

fn foreign(device: &str, moved: &[(&str, Bytes)], trials: &str, processes: &[String]) -> String {
    let words: Vec<String> = moved
        .iter()
        .filter(|(_, bytes)| *bytes >= WORTH_A_WORD)
        .map(|(verb, bytes)| format!("{verb} at least {bytes}"))
        .collect();
    let who = if processes.is_empty() {
        String::new()
    } else {
        format!("; busy then: {}", shortened(processes, 3))
    };
    format!(
        "others {} on {device} during {trials}{who}",
        enumerate(&words)
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
