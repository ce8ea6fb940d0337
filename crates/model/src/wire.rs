//! Messages between the host and the agent, of which a [`Greeting`] begins each session.
//! `assay_agent::frame` defines their encoding in a byte stream, and `docs/compatibility.md` the
//! rules for changes.

pub use crate::device::{Inspection, PathKind};

use crate::act::{Act, ActOrder, ActReport};
use crate::checkup::Checkup;
use crate::condition::{Condition, Offered, Restore, Subject, Undone};
use crate::device::DeviceList;
use crate::job::{Job, RateLimit};
use crate::plan::{Plan, PlannedJob};
use crate::trial::TrialRecord;
use crate::units::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::str::FromStr;

#[cfg(feature = "works")]
use crate::act::ActProgress;
#[cfg(feature = "works")]
use crate::act::powercut::Word;
#[cfg(feature = "works")]
use crate::load::report::{LoadProgress, LoadReport, StreamReport};

/// Placeholder for a `T` that this program never reads, so that no code for `T` is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread<T>(PhantomData<fn() -> T>);

impl<'de, T> Deserialize<'de> for Unread<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(PhantomData))
    }
}

impl<T> Serialize for Unread<T> {
    /// Serializes to nothing, since the value was never read.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// Part of a message about loads and acts; an agent without them skips it.
#[cfg(feature = "works")]
pub type Works<T> = T;
/// Part of a message about loads and acts; an agent without them skips it.
#[cfg(not(feature = "works"))]
pub type Works<T> = Unread<T>;

/// Messages from host to agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// Opens the session.
    Hello(Greeting),
    /// Requests the storage behind a path; nothing is written.
    Inspect {
        /// The path.
        path: PathBuf,
    },
    /// Requests the removal of the leftovers of killed runs in a directory.
    Sweep {
        /// The directory.
        directory: PathBuf,
    },
    /// Requests to end agents that lost their host, and to undo the settings that killed runs left
    /// behind.
    Undo,
    /// Requests all disks of the machine; nothing is written.
    Devices,
    /// Requests the conditions that would spoil a measurement; nothing is written.
    Checkup {
        /// Path whose storage is checked; `None` to check only the machine.
        path: Option<PathBuf>,
    },
    /// Requests the values that the kernel offers for settings of the storage behind a path.
    Offers {
        /// The path.
        path: PathBuf,
        /// The subjects.
        subjects: Vec<Subject>,
    },
    /// Requests to set each condition once and to restore the settings, so that values that the
    /// kernel refuses are found before an act is measured under them. A plan does this itself.
    Rehearse {
        /// The run.
        run_id: String,
        /// Path of the storage whose settings are made.
        path: PathBuf,
        /// The conditions.
        conditions: Vec<Condition>,
        /// Actions before each trial; the agent checks that they are possible.
        restore: Restore,
    },
    /// Requests to run a plan.
    Run {
        /// The plan.
        plan: Box<Plan>,
    },
    /// Acknowledges that the trial of that position is stored; the agent continues.
    Stored {
        /// [`TrialRecord::position`].
        position: u32,
    },
    /// Asks to carry out acts.
    RunActs {
        /// The acts and their slots.
        order: Works<Box<ActOrder>>,
    },
    /// Asks for an interim report of the act under way, once.
    ReportNow,
    /// Stop the trial or act under way, clean up, and end the run.
    Cancel,
}

/// Messages from agent to host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromAgent {
    /// Answers [`ToAgent::Hello`].
    Hello(Greeting),
    /// Answers [`ToAgent::Inspect`].
    Inspected(Box<Inspection>),
    /// Answers [`ToAgent::Sweep`].
    Swept {
        /// Leftovers found in the directory.
        leftovers: Vec<Leftover>,
    },
    /// Answers [`ToAgent::Undo`].
    Undone {
        /// Number of agents that had lost their host, and were ended.
        agents: usize,
        /// Settings that killed runs had left, and the result of undoing each.
        settings: Vec<Undone>,
    },
    /// Answers [`ToAgent::Devices`].
    Devices(Box<DeviceList>),
    /// Answers [`ToAgent::Checkup`].
    Checkup(Box<Checkup>),
    /// Answers [`ToAgent::Offers`], in the order of its subjects.
    Offers {
        /// Values that each subject accepts.
        offered: Vec<Offered>,
    },
    /// Answers [`ToAgent::Rehearse`] if each condition could be made.
    Rehearsed {
        /// Folder or device to work on under the conditions: the mount point if one of the settings
        /// makes a file system, else the requested path.
        place: PathBuf,
    },
    /// The test file is being written.
    Preparing {
        /// Bytes written so far.
        done: Bytes,
        /// Bytes to write.
        total: Bytes,
    },
    /// A trial of a plan, or a step of an act, begins.
    TrialStarted {
        /// The job that describes it.
        job: Box<Job>,
    },
    /// Progress of the running trial, a few times a second.
    Progress {
        /// Time on the trial's clock.
        elapsed_ns: u64,
        /// Bytes moved so far.
        bytes: u64,
        /// I/Os completed so far.
        ios: u64,
    },
    /// A trial or a step ended. Steps can be very short, so the agent does not wait after each: see
    /// [`FromAgent::KeepTrials`].
    TrialDone(Box<TrialRecord>),
    /// The trials that ended so far are to be stored together; the agent waits
    /// for [`ToAgent::Stored`] with this position.
    KeepTrials {
        /// Number of trials of this order that ended before the last one.
        position: u32,
        /// Present when the slot of these trials ended.
        slot: Option<SlotEnd>,
    },
    /// Progress of the running act, a few times a second.
    #[cfg(feature = "works")]
    ActProgress(ActProgress),
    /// Interim report of the running act, sent on request.
    #[cfg(feature = "works")]
    ActInterim(Box<ActReport>),
    /// Event of a power-cut test that must be sent at once.
    #[cfg(feature = "works")]
    Powercut(Word),
    /// The plan ended, and the files that the agent made for it are removed.
    Done {
        /// End state of the run.
        end: RunEnd,
    },
    /// Message of a plan, a load or an act for the user.
    LoadNote(LoadNote),
    /// Progress of the running load, a few times a second.
    #[cfg(feature = "works")]
    LoadProgress(LoadProgress),
    /// Report of the next stream of a load, in its order; a [`FromAgent::LoadReport`] follows. Each
    /// stream has its own message, because the reports of many long streams would be too long for
    /// one.
    #[cfg(feature = "works")]
    LoadStream(Box<StreamReport>),
    /// The rest of a report; its `streams` are empty, they came before. Unless it is an interim
    /// one, the end of its slot follows.
    #[cfg(feature = "works")]
    LoadReport(Box<LoadReport>),
    /// The request cannot be carried out.
    Refused(Refusal),
}

impl FromAgent {
    /// `true` for an answer to a question, which belongs to no plan, load or act.
    pub const fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Hello(_)
                | Self::Inspected(_)
                | Self::Swept { .. }
                | Self::Undone { .. }
                | Self::Devices(_)
                | Self::Checkup(_)
                | Self::Offers { .. }
                | Self::Rehearsed { .. }
        )
    }
}

/// End of a slot of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotEnd {
    /// Repetition that ended, from 1; 0 for one that makes no figure.
    pub trial: u32,
    /// Findings of the act as a whole; `None` for jobs and streams, and for an act that ended early.
    pub report: Option<Works<Box<ActReport>>>,
}

/// A line for the user of a load or an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadNote {
    /// Severity of the note.
    pub weight: NoteWeight,
    /// The line.
    pub text: String,
}

/// Severity of a [`LoadNote`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteWeight {
    /// For information.
    Info,
    /// Something may differ from the user's expectation.
    Warning,
    /// Reason why a stream failed.
    Error,
}

/// A test folder that a run left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The folder.
    pub folder: PathBuf,
    /// Run that created it.
    pub run_id: String,
    /// Size of its files.
    pub size: Bytes,
    /// Reason why it could not be removed; `None` if it was.
    pub problem: Option<String>,
    /// `true` if a process still uses it: the folder was left alone, since it may belong to a
    /// running run.
    #[serde(default)]
    pub locked: bool,
}

/// End state of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum RunEnd {
    /// The run is complete.
    Finished,
    /// The run was cancelled by the host.
    Cancelled,
    /// The storage was lost.
    DeviceLost {
        /// Error that showed the loss.
        error: String,
    },
    /// The run could not continue, for example because the test file cannot be created.
    Failed {
        /// Error message: what failed, where, and what to do.
        error: String,
    },
}

/// Reason why a request cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// `true` if the request or its path is at fault (exit code 2), not the machine.
    pub usage: bool,
    /// One-line message: what failed, where, and what to do.
    pub message: String,
}

/// Oldest version of the protocol that this build speaks.
pub const OLDEST: u32 = 2;
/// Newest version of the protocol that this build speaks.
pub const NEWEST: u32 = 2;
/// Value of [`Greeting::version`] that makes builds older than protocol 1 ask for an update: they
/// send 11 and compare only this number.
const AFTER_11: u32 = 12;

crate::named! {
    /// Optional part of the protocol. A side must not request it from a peer that does not list it.
    /// `docs/compatibility.md` has the table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Feature {
        /// Acts on files: copies, cells of iozone, capacity, samples, watches.
        Works = "works",
        /// Loads: jobs of fio, replayed traces.
        Loads = "loads",
        /// Acts on databases, and AndroBench, scenarios, memory, soaks, power cuts, and the
        /// patterns of traits.
        Sqlite = "sqlite",
        /// Jobs of a plan as one of the acts of an order, beside acts of every kind.
        Composed = "composed",
        /// Jobs that offer arrivals.
        Arrivals = "arrivals",
        /// Simulated devices.
        Sim = "sim",
    }
}

impl Feature {
    /// Feature that an agent must have to carry out acts in one order.
    pub fn of_acts(acts: &[Act]) -> Option<Self> {
        match acts {
            [act] => Some(Self::of(act)),
            [_, ..] => Some(Self::Composed),
            [] => None,
        }
    }

    /// Feature that an agent must have to carry out the jobs of a plan; `None` if all agents can.
    pub fn of_jobs(jobs: &[PlannedJob]) -> Option<Self> {
        let mut rates = jobs.iter().map(|planned| &planned.job.rate);
        let arrive = rates.any(|rate| matches!(rate, Some(RateLimit::Arrivals(_))));
        arrive.then_some(Self::Arrivals)
    }

    /// Feature that an agent must have to carry out an act.
    pub const fn of(act: &Act) -> Self {
        match act {
            Act::Copy(_) | Act::Iozone(_) | Act::Extent(_) | Act::Capacity(_) | Act::Watch(_) => {
                Self::Works
            }
            Act::Jobs(_) => Self::Composed,
            Act::Streams(_) => Self::Loads,
            Act::AndroBench(_)
            | Act::Memory(_)
            | Act::Scenario(_)
            | Act::Soak(_)
            | Act::Powercut(_) => Self::Sqlite,
        }
    }
}

/// Protocol versions and features of one side, and its build. A build from before protocol 1 sends
/// only the number, so all other fields are 0 or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Greeting {
    /// Number by which builds from before protocol 1 recognise a newer build.
    pub version: u32,
    /// Oldest supported version of the protocol.
    pub oldest: u32,
    /// Newest supported version of the protocol.
    pub newest: u32,
    /// Version and commit, as in SemVer: `0.1.0+19e031c1`.
    pub build: String,
    /// Names of its features; the peer ignores unknown names.
    pub features: Vec<String>,
}

impl Greeting {
    /// Creates the greeting of this build with these features. The commit of a release is set at
    /// build time in `ASSAY_COMMIT`.
    pub fn with(features: impl IntoIterator<Item = Feature>) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            version: AFTER_11,
            oldest: OLDEST,
            newest: NEWEST,
            build: match option_env!("ASSAY_COMMIT") {
                Some(commit) => format!("{version}+{commit}"),
                None => version.to_owned(),
            },
            features: features
                .into_iter()
                .map(|feature| feature.name().to_owned())
                .collect(),
        }
    }

    /// Creates the greeting of a host, which can use every feature.
    pub fn of_host() -> Self {
        Self::with(Feature::ALL)
    }

    /// `true` if the side supports the feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.iter().any(|name| name == feature.name())
    }

    /// Returns the highest version of the protocol that both sides support.
    pub fn common(&self, other: &Self) -> Option<u32> {
        let version = self.newest.min(other.newest);
        (version >= self.oldest.max(other.oldest)).then_some(version)
    }
}

/// Prints the line of `assay-agent --version`.
impl fmt::Display for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            oldest,
            newest,
            build,
            features,
            ..
        } = self;
        write!(
            f,
            "assay-agent {build} protocol {oldest}..{newest} features"
        )?;
        features.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

impl FromStr for Greeting {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [
            "assay-agent",
            build,
            "protocol",
            versions,
            "features",
            features @ ..,
        ] = &*words
        else {
            return Err(());
        };
        let (oldest, newest) = versions.split_once("..").ok_or(())?;
        Ok(Self {
            version: AFTER_11,
            oldest: oldest.parse().map_err(drop)?,
            newest: newest.parse().map_err(drop)?,
            build: (*build).to_owned(),
            features: features.iter().map(|&name| name.to_owned()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaking(oldest: u32, newest: u32) -> Greeting {
        Greeting {
            oldest,
            newest,
            ..Greeting::of_host()
        }
    }

    #[test]
    fn both_sides_take_the_highest_version_that_they_share() {
        for (a, b, expected) in [
            ((1, 1), (1, 1), Some(1)),
            ((1, 1), (1, 3), Some(1)),
            ((2, 4), (1, 3), Some(3)),
            ((1, 1), (2, 3), None),
            // From before protocol 1.
            ((1, 1), (0, 0), None),
        ] {
            let (a, b) = (speaking(a.0, a.1), speaking(b.0, b.1));
            assert_eq!(a.common(&b), expected, "{a} and {b}");
            assert_eq!(b.common(&a), expected, "{a} and {b}");
        }
    }

    #[test]
    fn the_line_of_an_agent_is_read_as_it_was_written() {
        let mut greeting = speaking(1, 2);
        greeting.features.push("of tomorrow".to_owned());
        let line = greeting.to_string();
        let read: Greeting = line.parse().unwrap();
        assert_eq!(read.to_string(), line);
        assert!(read.has(Feature::Sqlite) && read.common(&greeting) == Some(2));
        let none = Greeting::with([]);
        assert_eq!(none.to_string().parse(), Ok(none));
        for line in ["", "assay-agent 1.0", "assay-agent 1 protocol 1 features"] {
            assert_eq!(line.parse::<Greeting>(), Err(()), "{line}");
        }
    }

    #[test]
    fn jobs_with_arrivals_need_their_feature() {
        let planned = |rate| PlannedJob {
            job: Job {
                rate,
                ..Job::default()
            },
            trials: 1,
        };
        let steady = planned(Some(RateLimit::Iops(100)));
        assert_eq!(Feature::of_jobs(std::slice::from_ref(&steady)), None);
        let both = [steady, planned(Some(RateLimit::Arrivals(100)))];
        assert_eq!(Feature::of_jobs(&both), Some(Feature::Arrivals));
    }
}
