//! Warnings for readers of the figures, each with its remedy. A warning requires evidence, and
//! lists all affected jobs instead of appearing once per trial.
//!
//! To add a warning: add a variant of `Warning`, find it in one of the `find` modules, and word it
//! with its remedy in `words`.

mod find;

pub(crate) use find::slow_bus;

use crate::results::summary::Summary;
use crate::words::{celsius, enumerate, percent, trial_named};
use assay_lang::{counted, tr};
use assay_model::job::Direction;
use assay_model::units::{Bytes, Nanos};

/// Maximum number of jobs in one warning if lines are short; the HTML report names all.
pub const NAMES: usize = 4;

/// Warning. All texts in it are safe to display.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The run did not finish.
    Unfinished {
        /// End of the run, in words.
        how: String,
    },
    /// Written data was lost.
    DataLost {
        /// Jobs, each with its number of affected trials.
        jobs: Vec<(String, u64)>,
        /// Description of the first loss.
        first: String,
    },
    /// The storage, or a device on the path to it, returned errors.
    IoErrors {
        /// Jobs and their number of errors.
        jobs: Vec<(String, u64)>,
        /// Description of the first error.
        first: String,
    },
    /// Trials ended with an error.
    Failed {
        /// Jobs, each with its number of failed trials.
        jobs: Vec<(String, u64)>,
        /// The first error.
        first: String,
    },
    /// Jobs were skipped for one reason.
    Skipped {
        /// The reason.
        reason: String,
        /// Jobs.
        jobs: Vec<String>,
    },
    /// The measured storage is memory.
    Memory {
        /// Storage, for example `/tmp is a tmpfs`.
        what: String,
    },
    /// Figures that should be the device's are the page cache's.
    PageCache {
        /// Reads or writes.
        direction: Direction,
        /// Jobs.
        jobs: Vec<String>,
        /// Size of the test file and of RAM, if the file is smaller.
        fits_in: Option<(Bytes, Bytes)>,
    },
    /// Figures that mix the page cache and the device.
    Mixed {
        /// Jobs with their device shares.
        jobs: Vec<(String, String)>,
    },
    /// The tool's threads were busy for so much of the time that they may limit the figures.
    ToolLimit {
        /// Jobs with the busy share of the time.
        jobs: Vec<(String, String)>,
    },
    /// Fewer I/Os were in flight than requested.
    ShallowQueue {
        /// Jobs with the mean and the requested depth.
        jobs: Vec<(String, String)>,
    },
    /// Trials of one job have different labels.
    Disagreement {
        /// Jobs with their labels.
        jobs: Vec<(String, String)>,
    },
    /// The label of a measurement is unknown.
    Unknown {
        /// Reason.
        why: String,
        /// Jobs.
        jobs: Vec<String>,
        /// True if assay ran as root.
        root: bool,
    },
    /// Written data may still be in the device's volatile cache.
    Unflushed {
        /// Jobs.
        jobs: Vec<String>,
    },
    /// Other programs used the device.
    ForeignIo {
        /// The device.
        device: String,
        /// Bytes read by other programs.
        read: Bytes,
        /// Bytes written by other programs.
        written: Bytes,
        /// Trials by job, as `job #1 #3`.
        trials: Vec<String>,
        /// Processes with the most I/O meanwhile, on this or another device.
        processes: Vec<String>,
    },
    /// Other causes than the storage delayed the agent.
    Hindered {
        /// Descriptions of the causes.
        what: Vec<String>,
        /// Trials by job, as `job #1 #3`.
        trials: Vec<String>,
    },
    /// No I/O completed for a long time.
    Stalls {
        /// Jobs, worst first.
        jobs: Vec<Stalled>,
    },
    /// Trials of one job vary a lot.
    Spread {
        /// Jobs and the coefficient of variation of their figure, widest
        /// first.
        jobs: Vec<(String, f64)>,
        /// Number of jobs with a coefficient of variation.
        of: usize,
    },
    /// Too few trials to separate effects from noise.
    FewTrials {
        /// Jobs and their completed trials.
        jobs: Vec<(String, u64)>,
        /// True if all jobs search for faults, for which one trial is enough.
        checks: bool,
    },
    /// The kernel transferred less than requested.
    ShortTransfers {
        /// Jobs with the number of short transfers.
        jobs: Vec<(String, u64)>,
    },
    /// The CPU frequency was controlled by a governor.
    Governor {
        /// Governors in force.
        governors: Vec<String>,
    },
    /// The CPU became slower although its governor is `performance`.
    Throttled {
        /// Trials by job, as `job #1 #3`.
        trials: Vec<String>,
        /// Highest temperature seen, in thousandths of a degree Celsius.
        hottest_millicelsius: Option<i64>,
    },
    /// A loop device reports that it has no volatile cache, which is the result of a setting.
    ForcedWriteThrough {
        /// Name of the device.
        name: String,
    },
    /// The storage is a loop device, which adds another page cache.
    Loop {
        /// Name of the device.
        name: String,
        /// Backing file of the loop device.
        file: String,
    },
    /// The agent has another build than assay.
    OtherAgent {
        /// Build of the agent.
        agent: String,
        /// Build of assay.
        host: String,
    },
    /// Most of the device's life, or of its reserves, is used.
    Worn {
        /// Device.
        device: String,
        /// Wear state reported by the kernel.
        state: String,
    },
    /// The bus is slower than such devices support.
    SlowBus {
        /// Device.
        device: String,
        /// Mode of the bus.
        bus: String,
    },
}

/// Stalls of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The job.
    pub job: String,
    /// Longest time without a completion.
    pub longest: Nanos,
    /// Trial it happened in.
    pub trial: u32,
    /// Start of that time, from the start of the clock.
    pub start: Nanos,
}

/// Collects all warnings of a run; those that put figures in doubt come first.
pub fn collect(summary: &Summary<'_>) -> Vec<Warning> {
    let mut warnings = find::find_in_trials(summary);
    warnings.extend(find::find_in_conditions(summary));
    warnings.extend(find::find_on_device(summary));
    warnings.sort_by_key(|warning| !warning.is_severe());
    warnings
}

impl Warning {
    /// Returns true if figures are misleading, not just noisy.
    pub fn is_severe(&self) -> bool {
        let misleads = matches!(self.doubt(), Some(Doubt::All(_) | Doubt::Some(_)));
        misleads && !matches!(self, Self::Spread { .. })
    }
}

/// Reason to doubt figures, as a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// None of the figures is that of a working device.
    All(String),
    /// Some figures are missing or misleading.
    Some(String),
    /// The figures are correct, but less exact than they look.
    Exactness(String),
}

impl Warning {
    /// Returns the doubt that follows from the warning; `None` if the warning concerns the storage
    /// rather than the figures.
    pub fn doubt(&self) -> Option<Doubt> {
        Some(match self {
            Self::Memory { what } => Doubt::All(what.clone()),
            Self::DataLost { first, .. } => Doubt::All(tr!("data was not kept ({first})", first)),
            Self::Unfinished { how } => Doubt::Some(tr!("the run {how}", how)),
            Self::IoErrors { jobs, .. } => {
                Doubt::Some(tr!("I/O errors in {jobs}", jobs = count(jobs)))
            }
            Self::Failed { jobs, .. } => {
                Doubt::Some(tr!("trials of {jobs} failed", jobs = count(jobs)))
            }
            Self::PageCache {
                jobs, direction, ..
            } => Doubt::Some(match direction {
                Direction::Read => tr!("reads of {jobs} were the page cache's", jobs = count(jobs)),
                Direction::Write => {
                    tr!("writes of {jobs} were the page cache's", jobs = count(jobs))
                }
            }),
            Self::Mixed { jobs } => {
                Doubt::Some(tr!("{jobs} measured part page cache", jobs = count(jobs)))
            }
            Self::ToolLimit { jobs } => Doubt::Some(tr!(
                "assay itself may have limited {jobs}",
                jobs = count(jobs)
            )),
            Self::ShallowQueue { jobs } => Doubt::Some(tr!(
                "fewer I/Os were in flight than asked for in {jobs}",
                jobs = count(jobs)
            )),
            Self::Disagreement { jobs } => Doubt::Some(tr!(
                "trials of {jobs} measured different things",
                jobs = count(jobs)
            )),
            Self::Unknown { jobs, .. } => {
                Doubt::Some(tr!("{jobs} could not be labelled", jobs = count(jobs)))
            }
            Self::ForeignIo {
                device,
                read,
                written,
                ..
            } => Doubt::Exactness(foreign_doubt(device, *read, *written)),
            Self::Hindered { what, .. } => Doubt::Exactness(what.join("; ")),
            Self::Spread { jobs, of } => spread(jobs, *of),
            Self::FewTrials { checks: true, .. } => return None,
            Self::FewTrials { jobs, .. } => {
                Doubt::Exactness(tr!("fewer than 3 trials in {jobs}", jobs = count(jobs)))
            }
            Self::Throttled { .. } => Doubt::Exactness(tr!("the CPU slowed down").to_owned()),
            Self::Loop { name, .. } => {
                Doubt::Exactness(tr!("this machine caches the file behind {name}", name))
            }
            Self::Skipped { .. }
            | Self::ForcedWriteThrough { .. }
            | Self::Unflushed { .. }
            | Self::Stalls { .. }
            | Self::ShortTransfers { .. }
            | Self::Governor { .. }
            | Self::OtherAgent { .. }
            | Self::Worn { .. }
            | Self::SlowBus { .. } => return None,
        })
    }
}

fn count<T>(jobs: &[T]) -> String {
    counted!(jobs.len(), "{n} job", "{n} jobs")
}

/// Returns the doubt about varying figures. A coefficient of variation above 100 % makes a figure
/// meaningless.
fn spread(list: &[(String, f64)], of: usize) -> Doubt {
    let wild = list.iter().filter(|(_, cv)| *cv > 1.0).count();
    let jobs = counted!(of, "{n} job", "{n} jobs");
    match wild {
        0 if of == 1 => {
            let cv = list.first().map_or(0.0, |(_, cv)| *cv);
            Doubt::Exactness(tr!("the trials vary by {cv}", cv = percent(cv)))
        }
        0 => Doubt::Exactness(tr!(
            "trials vary by more than 10 % in {number} of {jobs}",
            number = list.len(),
            jobs
        )),
        wild => {
            let why = tr!(
                "trials differ by more than 100 % in {number} of {jobs}",
                number = wild,
                jobs
            );
            match wild == of {
                true => Doubt::All(why),
                false => Doubt::Some(why),
            }
        }
    }
}

impl Warning {
    /// Returns the observation. At most `names` jobs are named; the rest is counted.
    pub fn message(&self, names: usize) -> String {
        let list = |items: &[String]| shortened(items, names);
        match self {
            Self::Unfinished { how } => tr!("the run {how}: figures are of the trials before", how),
            Self::DataLost { jobs, first } => tr!(
                "data was not kept in {jobs}: {first}",
                jobs = list(&times(jobs)),
                first
            ),
            Self::IoErrors { jobs, first } => tr!(
                "I/O errors in {jobs}; the first: {first}",
                jobs = list(&times(jobs)),
                first
            ),
            Self::Failed { jobs, first } => tr!(
                "failed trials: {jobs}; the first: {first}",
                jobs = list(&times(jobs)),
                first
            ),
            Self::Skipped { reason, jobs } => {
                tr!("{jobs} did not run: {reason}", jobs = list(jobs), reason)
            }
            Self::Memory { what } => tr!("{what}: its figures are those of memory", what),
            Self::PageCache {
                direction, jobs, ..
            } => {
                let moved = match direction {
                    Direction::Read => tr!("reads came from the page cache"),
                    Direction::Write => tr!("writes ended in the page cache"),
                };
                tr!("{moved}, not the device: {jobs}", moved, jobs = list(jobs))
            }
            Self::Mixed { jobs } => tr!(
                "part page cache, part device: {jobs}",
                jobs = list(&in_brackets(jobs))
            ),
            Self::ToolLimit { jobs } => tr!(
                "the tool may have been the limit, its threads used the processor for most of the clock: {jobs}",
                jobs = list(&in_brackets(jobs))
            ),
            Self::ShallowQueue { jobs } => tr!(
                "fewer I/Os were in flight than asked for, so the figures are of that depth: {jobs}",
                jobs = list(&in_brackets(jobs))
            ),
            Self::Disagreement { jobs } => tr!(
                "trials measured different things: {jobs}",
                jobs = list(&in_brackets(jobs))
            ),
            Self::Unknown { why, jobs, .. } => tr!(
                "what was measured is not known for {jobs}: {why}",
                jobs = list(jobs),
                why
            ),
            Self::Unflushed { jobs } => tr!(
                "{jobs} measured device-unflushed: the data may still be in the device's volatile \
                 cache",
                jobs = counted!(jobs.len(), "{n} job", "{n} jobs")
            ),
            Self::ForeignIo {
                device,
                read,
                written,
                trials,
                processes,
            } => foreign(device, *read, *written, &list(trials), processes),
            Self::Hindered { what, trials } => tr!(
                "{what}, during {trials} (times of the worst trial)",
                what = enumerate(what),
                trials = list(trials)
            ),
            Self::Stalls { jobs } => {
                let jobs: Vec<String> = jobs.iter().map(Stalled::describe).collect();
                tr!(
                    "stalls (time without a completion): {jobs}",
                    jobs = list(&jobs)
                )
            }
            Self::Spread { jobs, of } => {
                let widest: Vec<String> = jobs
                    .iter()
                    .map(|(job, cv)| match *cv {
                        cv if cv > 1.0 => format!("{job} (>100 %)"),
                        cv => format!("{job} ({})", percent(cv)),
                    })
                    .collect();
                tr!(
                    "trials vary by more than 10 % in {number} of {jobs}, most in {widest}",
                    number = jobs.len(),
                    jobs = counted!(*of, "{n} job", "{n} jobs"),
                    widest = list(&widest)
                )
            }
            Self::FewTrials { jobs, .. } => tr!(
                "fewer than 3 trials in {number}: {jobs}",
                number = counted!(jobs.len(), "{n} job", "{n} jobs"),
                jobs = list(&times(jobs))
            ),
            Self::ShortTransfers { jobs } => tr!(
                "the kernel cut transfers short: {jobs}",
                jobs = list(&times(jobs))
            ),
            Self::Governor { governors } => tr!(
                "CPU frequency was left to {governors}",
                governors = enumerate(governors)
            ),
            Self::Throttled {
                trials,
                hottest_millicelsius,
            } => {
                let hottest = hottest_millicelsius.map_or_else(String::new, |hottest| {
                    tr!(" (up to {temperature})", temperature = celsius(hottest))
                });
                tr!(
                    "the CPU slowed down during {trials}{hottest}",
                    trials = list(trials),
                    hottest
                )
            }
            Self::Loop { name, file } => tr!(
                "{name} is a loop device, and this machine caches its file {file}",
                name,
                file
            ),
            Self::ForcedWriteThrough { name } => tr!(
                "the cache of {name} was set to write through, which no loop device is by itself: flushes do not reach its file",
                name
            ),
            Self::OtherAgent { agent, host } => tr!(
                "the agent that measured is of build {agent}, assay of build {host}",
                agent,
                host
            ),
            Self::Worn { device, state } => tr!("{device} is worn: {state}", device, state),
            Self::SlowBus { device, bus } => tr!("{device} runs on a slow bus: {bus}", device, bus),
        }
    }

    /// Returns the remedy.
    pub fn remedy(&self) -> String {
        let fixed = match self {
            Self::PageCache {
                direction, fits_in, ..
            } => return cache_remedy(*direction, *fits_in),
            Self::Unknown { root: false, .. } => {
                tr!("run as root: the kernel then shows the missing counters")
            }
            Self::Unknown { .. } => tr!(
                "do not take these for the device's speed; repeat on an idle machine, or with a \
                 kernel that counts it"
            ),
            Self::DataLost { .. } => tr!(
                "save what is on it and do not use it; then look for the cause: the part, its \
                 connection, its supply, the memory of the machine"
            ),
            Self::Unfinished { .. } => tr!("run it again to have all trials"),
            Self::IoErrors { .. } => {
                tr!("read dmesg; check cable, socket and supply; do not ship on these figures")
            }
            Self::Failed { .. } => {
                tr!("remove the cause and run again; failed trials make no figure")
            }
            Self::Skipped { .. } => tr!("remove the cause, or leave these jobs out"),
            Self::Memory { .. } => tr!("choose a path on the storage you mean"),
            Self::Mixed { .. } => tr!(
                "use direct I/O, flush before the clock stops, or take a file larger than RAM \
                 (qualify --thorough; size= of a job file)"
            ),
            Self::ToolLimit { .. } => tr!(
                "the device may be faster: take larger blocks, more threads (numjobs), or contents and \
                 checks that cost less; a faster clock of the CPU helps too (governor performance)"
            ),
            Self::ShallowQueue { .. } => {
                tr!("take larger blocks or more threads (numjobs), or repeat on an idle machine")
            }
            Self::Disagreement { .. } => tr!(
                "do not average them; see the evidence of each trial, and repeat on an idle machine"
            ),
            Self::Unflushed { .. } => tr!(
                "a power cut may lose it; writes that are safe are those with fdatasync, fsync or \
                 O_DSYNC"
            ),
            Self::ForeignIo { .. } => tr!("stop these processes, or measure another device"),
            Self::Hindered { .. } => tr!(
                "remove it, and measure again: these figures are not those of the storage alone"
            ),
            Self::Stalls { .. } => tr!(
                "judge by p99 and the longest gap, not by the mean; the report draws the course"
            ),
            Self::Spread { .. } => {
                tr!(
                    "measure more trials (assay model power shows how many), on an idle, cool machine"
                )
            }
            Self::FewTrials { checks: true, .. } => {
                tr!("use --trials 3 for rates")
            }
            Self::FewTrials { .. } => tr!("use --trials 3 or more: one figure has no spread"),
            Self::ShortTransfers { .. } => tr!("they were continued and counted; check free space"),
            Self::Governor { .. } => {
                tr!("for comparable figures set it: cpupower frequency-set -g performance")
            }
            Self::Throttled { .. } => tr!("cool it, or pause between trials"),
            Self::Loop { .. } => tr!(
                "figures labelled device are those of this loop device, not of a real one; measure \
                 that, or set losetup --direct-io=on"
            ),
            Self::ForcedWriteThrough { name } => {
                return tr!(
                    "echo write back > /sys/block/{name}/queue/write_cache, and measure again",
                    name
                );
            }
            Self::OtherAgent { .. } => tr!(
                "compare runs of the same agent only: assay lab agent push installs that of this assay"
            ),
            Self::Worn { .. } => {
                tr!("compare with a fresh device; speed and reliability fall with wear")
            }
            Self::SlowBus { .. } => {
                tr!("use a faster port, cable or mode, or state the bus with the figures")
            }
        };
        fixed.to_owned()
    }
}

impl Stalled {
    fn describe(&self) -> String {
        tr!(
            "{job} {longest} ({trial})",
            job = self.job,
            longest = self.longest,
            trial = trial_named(self.trial)
        )
    }
}

fn cache_remedy(direction: Direction, fits_in: Option<(Bytes, Bytes)>) -> String {
    let first = match direction {
        Direction::Read => tr!("use direct I/O"),
        Direction::Write => tr!("use direct I/O or a flush before the clock stops"),
    };
    match fits_in {
        Some((file, memory)) => tr!(
            "{first}, or a file larger than RAM (file {file}, RAM {memory}): --size or --thorough of \
             qualify, size= of a job file",
            first,
            file,
            memory
        ),
        None => first.to_owned(),
    }
}

/// Amount below which bytes are not mentioned beside larger ones.
const WORTH_A_WORD: Bytes = Bytes::mib(1);

fn foreign_doubt(device: &str, read: Bytes, written: Bytes) -> String {
    match written >= read {
        true => tr!(
            "another program wrote {bytes} to {device} meanwhile",
            bytes = written,
            device
        ),
        false => tr!(
            "another program read {bytes} of {device} meanwhile",
            bytes = read,
            device
        ),
    }
}

fn foreign(
    device: &str,
    read: Bytes,
    written: Bytes,
    trials: &str,
    processes: &[String],
) -> String {
    let mut words = Vec::new();
    if read >= WORTH_A_WORD {
        words.push(tr!("read at least {bytes}", bytes = read));
    }
    if written >= WORTH_A_WORD {
        words.push(tr!("wrote at least {bytes}", bytes = written));
    }
    let who = if processes.is_empty() {
        String::new()
    } else {
        tr!(
            "; busy then: {processes}",
            processes = shortened(processes, 3)
        )
    };
    tr!(
        "others {moved} on {device} during {trials}{who}",
        moved = enumerate(&words),
        device,
        trials,
        who
    )
}

/// Formats pairs: `a (2x)`.
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

/// Lists the first `most` items and counts the others.
fn shortened(items: &[String], most: usize) -> String {
    // A single item is not replaced by "1 more".
    if items.len() <= most.saturating_add(1) {
        return enumerate(items);
    }
    tr!(
        "{first} and {more} more",
        first = items[..most].join(", "),
        more = items.len() - most
    )
}

#[cfg(test)]
mod tests;
