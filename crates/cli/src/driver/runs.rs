//! Common parts of commands that make a run: its name, its presentation, and the exit code.

use crate::exit::{DATA_MISMATCH, DONE, FAILED, Failure};
use crate::output::{print, prints_to_terminal, style};
use crate::{config, stored};
use assay_lang::tr;
use assay_model::act::soak::SoakStep;
use assay_model::plan::Plan;
use assay_model::run::{Builds, Run, RunHeader, RunStatus, Stopping};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::wire::{Inspection, RunEnd};
use assay_report::json;
use assay_report::terminal::{write_ending, write_summary};
use assay_store::{Location, Store, StoreError};
use rustix::time::{ClockId, clock_gettime};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Origin of runs: the user's names for the measured objects, and the programs that measure.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Target machine; `None` for this one.
    pub target: Option<String>,
    /// Name of the measured unit.
    pub unit: Option<String>,
    /// Project of the runs; `None` for that of the settings.
    pub project: Option<String>,
    /// Builds of this program and of the agent.
    pub builds: Option<Builds>,
}

/// Returns the header of a run that begins now.
pub fn header(plan: Plan, inspection: Inspection, origin: &Origin) -> RunHeader {
    let set = config::values().project.as_ref();
    let project = origin.project.as_ref().or(set);
    RunHeader {
        id: plan.run_id.clone(),
        started_unix_ms: unix_ms(),
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
        builds: origin.builds.clone(),
        command: std::env::args_os()
            .map(|word| without_password(&word.to_string_lossy()))
            .collect(),
        target: origin.target.clone(),
        plan,
        system: inspection.system,
        storage: inspection.storage,
        stopping: Stopping::default(),
        paired: None,
        claims: None,
        acts: None,
        unit: origin.unit.clone(),
        project: project.cloned(),
    }
}

/// Formats an argument for the store: the address of a store without its password.
fn without_password(word: &str) -> String {
    let (option, value) = match word.split_once("=postgres") {
        Some((option, _)) => word.split_at(option.len() + 1),
        None => ("", word),
    };
    match Location::parse(value.as_ref()) {
        Location::Server(server) => format!("{option}{}", server.url()),
        Location::File(_) => word.to_owned(),
    }
}

/// End of a run, and its effect on the command.
pub struct Ending {
    /// Status of the run.
    pub status: RunStatus,
    /// Failure that ended the run early.
    pub failure: Option<Failure>,
    /// Exit code of the signal that stopped it.
    pub signal: Option<u8>,
    /// `true` if the agent ended before the run did.
    pub agent_lost: bool,
}

impl Ending {
    /// Converts the end that the agent reported.
    pub fn of(end: RunEnd, signal: Option<u8>) -> Self {
        let (status, failure) = match end {
            RunEnd::Finished => (RunStatus::Finished, None),
            RunEnd::Cancelled => (RunStatus::Interrupted, None),
            RunEnd::DeviceLost { error } => (
                RunStatus::Failed {
                    error: error.clone(),
                },
                Some(Failure::lost(error)),
            ),
            RunEnd::Failed { error } => (
                RunStatus::Failed {
                    error: error.clone(),
                },
                Some(Failure::failed(error)),
            ),
        };
        Self {
            status,
            failure,
            signal,
            agent_lost: false,
        }
    }

    /// Adds a failure to store the end to the failure that ended the run.
    pub fn and_noted(&mut self, noted: Result<(), Failure>) {
        if let Err(lost) = noted {
            self.failure = Some(match self.failure.take() {
                Some(first) => first.and(&lost),
                None => lost,
            });
        }
    }

    /// Makes the end of a run that failed on the host's side or on the link.
    pub fn of_failure(failure: Failure) -> Self {
        Self {
            status: RunStatus::Failed {
                error: failure.to_string(),
            },
            agent_lost: failure.is_lost(),
            failure: Some(failure),
            signal: None,
        }
    }
}

/// Run that has ended.
pub struct Done {
    /// Run with its trials and its end.
    pub run: Run,
    /// Reason why the run is incomplete, and the exit code of the command.
    pub ending: Ending,
    /// `true` if the run is stored.
    pub stored: bool,
}

impl Done {
    /// Stores the end of a run, or removes the run from the store if it is to leave nothing behind.
    pub fn close(
        store: Option<&mut Store>,
        header: RunHeader,
        trials: Vec<TrialRecord>,
        mut ending: Ending,
        forget: bool,
    ) -> Result<Self, Failure> {
        let run = Run {
            header,
            status: ending.status.clone(),
            finished_unix_ms: Some(unix_ms()),
            annotation: assay_model::annotation::Annotation::default(),
            trials,
        };
        let stored = store.is_some() && !forget;
        match store {
            Some(store) if forget => store.forget_run(&run.header.id).map_err(Failure::failed)?,
            Some(store) => ending.and_noted(finish(store, &run)),
            None => {}
        }
        Ok(Self {
            run,
            ending,
            stored,
        })
    }

    /// Shows the run if it is stored; returns the exit code.
    pub fn present(self, as_json: bool) -> Result<ExitCode, Failure> {
        if self.stored {
            present(&self.run, as_json)?;
        }
        self.conclude()
    }

    /// Returns the exit code: of the signal or failure that ended the run, or of a failed trial. Data
    /// that differs has its own code.
    pub fn conclude(self) -> Result<ExitCode, Failure> {
        let trials = self.run.trials.iter();
        let mut details = trials.filter_map(|trial| trial.detail.as_deref());
        let flips = |soak: &SoakStep| soak.checkpoint.memory_flips > 0;
        let differs = details.any(|detail| detail.differs() || detail.soak().is_some_and(flips));
        match conclude(&self.run, self.ending.failure, self.ending.signal) {
            Err(failure) if differs => Err(Failure::mismatch(failure)),
            Ok(_) if differs => Ok(ExitCode::from(DATA_MISMATCH)),
            concluded => concluded,
        }
    }
}

/// Stores the end of a run. If the store fails, the run is written to a separate file.
///
/// # Errors
/// If the store does not have the whole run: the reason, and the path of the separate file.
pub fn finish(store: &mut Store, run: &Run) -> Result<(), Failure> {
    let (id, trials) = (&run.header.id, &run.trials);
    let finished_unix_ms = run.finished_unix_ms.unwrap_or_default();
    let noted = store
        .finish_run(id, &run.status, finished_unix_ms)
        .and_then(|()| store.expect_trials(id, trials.len()));
    let Err(error) = noted else {
        // An interrupted run is likely to be resumed, so it is not pushed yet.
        if matches!(run.status, RunStatus::Finished | RunStatus::Failed { .. }) {
            stored::note_ended(store.path(), id);
        }
        return Ok(());
    };
    Err(Failure::failed(match rescue(store.path(), run) {
        Ok(path) => {
            let path = path.display();
            format!("{error}; the run is kept in {path}: assay report {id} --store {path}")
        }
        Err(again) => format!("{error}; the run is not stored anywhere: {again}"),
    }))
}

/// Writes a run into a new store beside the failed one, or in the folder for temporary files;
/// returns its path.
fn rescue(store: &Path, run: &Run) -> Result<PathBuf, StoreError> {
    let id = &run.header.id;
    let stem = store.file_stem().unwrap_or_default().to_string_lossy();
    let beside = store.with_file_name(format!("{stem}-{id}.sqlite"));
    write_whole(&beside, run).or_else(|error| {
        let folder = std::env::temp_dir().join(format!("assay-{id}"));
        // A new private folder: other users may write in the folder for temporary files.
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => write_whole(&folder.join("runs.sqlite"), run).inspect_err(|_| {
                let _ = std::fs::remove_dir(&folder);
            }),
            Err(_) => Err(error),
        }
    })
}

/// Writes a run into a new store, which is removed again unless it has all trials.
fn write_whole(path: &Path, run: &Run) -> Result<PathBuf, StoreError> {
    let (id, is_new) = (&run.header.id, !path.exists());
    let written = Store::open(path).and_then(|mut store| {
        store.begin_run(&run.header, &stored::this_process())?;
        store.save_trials(id, &run.trials)?;
        // If only the end cannot be stored, the run counts as interrupted.
        let _ = store.finish_run(id, &run.status, run.finished_unix_ms.unwrap_or_default());
        Ok(store.path().to_owned())
    });
    if written.is_err() && is_new {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// Prints the run on standard output: a summary, or the whole run as JSON.
pub fn present(run: &Run, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print(|out| json::write(run, out));
    }
    let id = &run.header.id;
    let mut closing = vec![
        tr!("Stored as run {id}: assay report {id}", id),
        tr!("Full report: assay report {id} -o {id}.html", id),
    ];
    if !run.header.plan.conditions.is_empty() {
        closing.push(tr!("Which conditions differ: assay rank {id}", id));
    }
    print(|out| match prints_to_terminal() {
        true => write_ending(run, style(), &closing, out),
        false => write_summary(run, style(), &closing, out),
    })
}

/// Returns the exit code: of the failure or signal that ended the run, or of a failed trial.
fn conclude(run: &Run, failure: Option<Failure>, signal: Option<u8>) -> Result<ExitCode, Failure> {
    if let Some(failure) = failure {
        return Err(failure);
    }
    if run.status == RunStatus::Interrupted {
        // No signal reached this process: the agent was stopped.
        return Ok(ExitCode::from(signal.unwrap_or(FAILED)));
    }
    let failed = |trial: &TrialRecord| matches!(trial.outcome, Outcome::Failed { .. });
    match run.trials.iter().filter(|trial| failed(trial)).count() {
        0 => Ok(DONE),
        count => Err(Failure::failed(format!(
            "{count} of {} trials failed: see the summary",
            run.trials.len()
        ))),
    }
}

/// Makes an id of eight letters and digits without those that look alike.
pub fn run_id() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bits = random();
    (0..8)
        .map(|at| char::from(ALPHABET[((bits >> (5 * at)) & 31) as usize]))
        .collect()
}

/// Returns a random number.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    // Early in the boot the kernel's pool is not ready; the time must do.
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK) {
        Ok(8) => u64::from_le_bytes(bytes),
        _ => unix_ms() ^ u64::from(std::process::id()) << 40,
    }
}

/// Returns the milliseconds since 1970. The system's clock is read once; later calls add the time of
/// a clock that cannot be set, so that setting the system's clock changes no duration.
pub fn unix_ms() -> u64 {
    static BEGAN: LazyLock<(SystemTime, Duration)> =
        LazyLock::new(|| (SystemTime::now(), since_boot()));
    let (began, since) = *BEGAN;
    let now = began + since_boot().saturating_sub(since);
    let since = now.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

/// Returns the time since the system started, times of suspend included.
fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let (secs, nanos) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
    Duration::new(secs.unwrap_or(0), nanos.unwrap_or(0))
}
