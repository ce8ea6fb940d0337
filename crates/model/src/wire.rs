//! Messages between the host and the agent. `assay_agent::frame` defines their encoding in a byte
//! stream, and `docs/compatibility.md` the rules for changes.

mod greeting;

use crate::checkup::Checkup;
use crate::condition::{Condition, Offered, Restore, Subject, Undone};
use crate::device::DeviceList;
pub use crate::inspection::{Inspection, PathKind};
use crate::job::Job;
#[cfg(feature = "works")]
use crate::load::report::{LoadProgress, LoadReport, StreamReport};
use crate::plan::Plan;
use crate::trial::TrialRecord;
use crate::units::Bytes;
#[cfg(feature = "works")]
use crate::work::WorkProgress;
use crate::work::WorkReport;
use crate::work::acts::ActOrder;
#[cfg(feature = "works")]
use crate::work::powercut::Word;
pub use greeting::{Feature, Greeting, NEWEST, OLDEST};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Part of a message about loads and works; an agent without them skips it.
#[cfg(feature = "works")]
pub type Works<T> = T;
/// Part of a message about loads and works; an agent without them skips it.
#[cfg(not(feature = "works"))]
pub type Works<T> = crate::unread::Unread<T>;

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
    /// Requests to make each condition once and to undo it, so that values that the kernel refuses
    /// are known before a work is measured under them. A plan does this itself.
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
    /// A trial of a plan, or a step of a work, begins.
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
    /// Progress of the running work, a few times a second.
    #[cfg(feature = "works")]
    WorkProgress(WorkProgress),
    /// Interim report of the running work, sent on request.
    #[cfg(feature = "works")]
    WorkStands(Box<WorkReport>),
    /// Event of a power-cut test that must be sent at once.
    #[cfg(feature = "works")]
    Powercut(Word),
    /// The plan ended, and the files that the agent made for it are removed.
    Done {
        /// End state of the run.
        end: RunEnd,
    },
    /// Message of a plan, a load or a work for the user.
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
    /// `true` for an answer to a question, which belongs to no plan, load or work.
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
    pub report: Option<Works<Box<WorkReport>>>,
}

/// A line for the user of a load or a work.
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
