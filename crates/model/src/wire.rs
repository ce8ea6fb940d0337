//! Messages between the host and the agent. `assay_agent::frame` says how they
//! are put on a byte stream, and `docs/compatibility.md` how they may change.

mod greeting;

use crate::checkup::Checkup;
use crate::condition::{Condition, Offered, Restore, Subject, Undone};
use crate::device::DeviceList;
pub use crate::inspection::{Inspection, PathKind};
use crate::job::Job;
use crate::load::Load;
#[cfg(feature = "works")]
use crate::load::report::{LoadProgress, LoadReport, StreamReport};
use crate::plan::Plan;
use crate::trial::TrialRecord;
use crate::units::Bytes;
#[cfg(feature = "works")]
use crate::work::WorkProgress;
#[cfg(feature = "works")]
use crate::work::powercut::Word;
use crate::work::{WorkOrder, WorkReport};
pub use greeting::{Feature, Greeting, NEWEST, OLDEST};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Part of a message about loads and works; an agent without them skips it.
#[cfg(feature = "works")]
pub type Works<T> = T;
/// Part of a message about loads and works; an agent without them skips it.
#[cfg(not(feature = "works"))]
pub type Works<T> = crate::unread::Unread<T>;

/// From host to agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// Opens the session.
    Hello(Greeting),
    /// Asks what is behind a path; nothing is written.
    Inspect {
        /// The path.
        path: PathBuf,
    },
    /// Asks to remove what killed runs left in a directory.
    Sweep {
        /// The directory.
        directory: PathBuf,
    },
    /// Asks to end agents that lost their host, and to undo the settings that killed
    /// runs left.
    Undo,
    /// Asks for all disks of the machine; nothing is written.
    Devices,
    /// Asks what would spoil a measurement; nothing is written.
    Checkup {
        /// Path whose storage is checked; `None`: only the machine.
        path: Option<PathBuf>,
    },
    /// Asks what the kernel offers to be set of the storage behind a path.
    Offers {
        /// The path.
        path: PathBuf,
        /// The subjects.
        subjects: Vec<Subject>,
    },
    /// Asks to make each condition once and to undo it: what the kernel refuses
    /// only then is known before a work is measured under them. A plan does so
    /// by itself.
    Rehearse {
        /// The run.
        run_id: String,
        /// Whose storage they are of.
        path: PathBuf,
        /// The conditions.
        conditions: Vec<Condition>,
        /// Actions before each trial; the agent checks that they are possible.
        restore: Restore,
    },
    /// Asks to run a plan.
    Run {
        /// The plan.
        plan: Box<Plan>,
    },
    /// The trial of that position is safely stored: go on.
    Stored {
        /// [`TrialRecord::position`].
        position: u32,
    },
    /// Asks to run a load.
    RunLoad {
        /// The load.
        load: Works<Box<Load>>,
    },
    /// Asks to carry out a work.
    RunWork {
        /// The work.
        order: Works<Box<WorkOrder>>,
    },
    /// Report how the load or work under way stands, once.
    ReportNow,
    /// Stop the trial, load or work under way, clean up, and end the run.
    Cancel,
}

/// From agent to host.
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
    /// Answers [`ToAgent::Offers`], in their order.
    Offers {
        /// Values that each subject accepts.
        offered: Vec<Offered>,
    },
    /// Answers [`ToAgent::Rehearse`]: each could be made.
    Rehearsed {
        /// The folder or device to work on under them: where a file system will
        /// be mounted that is one of the settings, else the path that was asked
        /// about.
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
    /// The trial under way, a few times a second.
    Progress {
        /// Time on its clock.
        elapsed_ns: u64,
        /// Bytes moved so far.
        bytes: u64,
        /// I/Os completed so far.
        ios: u64,
    },
    /// A trial or a step ended. Steps can be very short, so the agent does not wait after
    /// each: see [`FromAgent::KeepTrials`].
    TrialDone(Box<TrialRecord>),
    /// The trials that ended so far are to be stored together; the agent waits
    /// for [`ToAgent::Stored`] with the position of the last.
    KeepTrials {
        /// Of the last trial.
        position: u32,
    },
    /// The work under way, a few times a second.
    #[cfg(feature = "works")]
    WorkProgress(WorkProgress),
    /// Interim report of the work under way, sent on request.
    #[cfg(feature = "works")]
    WorkStands(Box<WorkReport>),
    /// A work that writes until the power goes has something to tell at once.
    #[cfg(feature = "works")]
    Powercut(Word),
    /// The plan or the work ended; what it made for itself is removed.
    Done {
        /// End state of the work.
        end: RunEnd,
        /// Findings of the whole work; `None` for a plan, and for a work that did not come
        /// so far.
        report: Option<Works<Box<WorkReport>>>,
    },
    /// A plan, a load or a work has something to tell its user.
    LoadNote(LoadNote),
    /// The load under way, a few times a second.
    #[cfg(feature = "works")]
    LoadProgress(LoadProgress),
    /// Report of the next stream of a load, in its order; a [`FromAgent::LoadReport`] follows. Each
    /// stream has its own message, because the reports of many long streams would be too long for
    /// one.
    #[cfg(feature = "works")]
    LoadStream(Box<StreamReport>),
    /// The rest of a report; its `streams` are empty, they came before. Unless
    /// it is an interim one, the load has ended.
    #[cfg(feature = "works")]
    LoadReport(Box<LoadReport>),
    /// The request cannot be carried out.
    Refused(Refusal),
}

impl FromAgent {
    /// Returns true if it answers a question, and so belongs to no plan, load or work.
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
    /// Something may not be as the user thinks.
    Warning,
    /// Why a stream failed.
    Error,
}

/// A test folder that a run left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The folder.
    pub folder: PathBuf,
    /// The run that had made it.
    pub run_id: String,
    /// Size of its files.
    pub size: Bytes,
    /// Why it could not be removed; `None`: it was.
    pub problem: Option<String>,
    /// A process still uses it: it was not touched, and may be that of a run under way.
    #[serde(default)]
    pub locked: bool,
}

/// End state of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum RunEnd {
    /// The run is complete.
    Finished,
    /// Cancelled by the host.
    Cancelled,
    /// The storage went away.
    DeviceLost {
        /// Error that showed the loss.
        error: String,
    },
    /// It could not go on, for example because the test file cannot be made.
    Failed {
        /// Error message: what failed, where, and what to do.
        error: String,
    },
}

/// Why a request cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The request or its path is at fault (exit code 2), not the machine.
    pub usage: bool,
    /// One-line message: what failed, where, and what to do.
    pub message: String,
}
