//! Host's side of a work: sending each repetition, storing its steps, and receiving its messages
//! until it has ended.

mod repetitions;
mod runner;

pub use repetitions::Sweep;

use crate::driver::host::Host;
use crate::driver::leftovers;
use crate::driver::runs::{Done, header};
use crate::driver::trials::{Listener, Trials};
use crate::exit::Failure;
use crate::interrupt::{Interrupt, Interrupts};
use crate::output::say;
use crate::stored::guard::keep_apart;
use crate::stored::keep::KeepArgs;
use crate::stored::owner;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::run::{Run, RunHeader};
use assay_model::wire::Inspection;
use assay_model::work::{Work, WorkSpec};
use assay_store::Store;
use assay_target::Target;
use repetitions::plan;
use runner::Runner;
use std::path::PathBuf;

/// Work to carry out, and its parameters.
pub struct Request {
    /// The work.
    pub work: Work,
    /// Steps in their order, as far as they are known beforehand.
    pub steps: Vec<Job>,
    /// Number of repetitions.
    pub trials: u32,
    /// Seed of orders and contents.
    pub seed: u64,
    /// `true` if the user agreed that the data on a block device is destroyed.
    pub destroy_data: bool,
    /// Place to work on.
    pub place: Place,
    /// Message when the user asks to stop; none if it is empty.
    pub stopping: &'static str,
    /// `true` if the work is refused when it cannot be stored.
    pub must_be_stored: bool,
    /// Conditions; `None` to measure the machine as it is.
    pub sweep: Option<Sweep>,
}

/// Carries out a work with the host's agent, and stores its steps. `target` starts another agent
/// that cleans up if this one is lost.
///
/// # Errors
/// If the work cannot begin. Later failures are in [`Done::ending`].
pub fn execute(
    target: &mut dyn Target,
    host: &mut Host,
    inspection: Inspection,
    request: &Request,
    store: &KeepArgs,
    listener: &mut dyn Listener,
) -> Result<Done, Failure> {
    let path = store.path();
    // Paths on another machine have no meaning here.
    if let (Ok(path), None) = (&path, host.target()) {
        keep_apart(path, written(request.work.spec()))?;
    }
    let opened = path.and_then(|path| store.open(&path));
    let mut store = unless_it_may_go_unstored(opened, request)?;
    if let (Some(_), Some(store)) = (request.work.spec().private_folder_in(), &mut store) {
        leftovers::clear(host, store, &request.place)?;
    }
    let header = header(plan(request), inspection, host.origin());
    let interrupt = listen_to_signals(host, request)?;
    let begun = store.map(|store| begin(store, &header)).transpose();
    let store = unless_it_may_go_unstored(begun, request)?.flatten();
    let runner = Runner {
        store,
        header,
        trials: Trials::default(),
        finished: 0,
        listener,
    };
    runner.run(target, host, request, &interrupt)
}

/// Continues a run of a work, of which `finished` repetitions are complete and in the run.
///
/// # Errors
/// If the run cannot be reopened in the store, or signals cannot be caught.
pub fn go_on(
    target: &mut dyn Target,
    host: &mut Host,
    (run, finished): (Run, usize),
    request: &Request,
    mut store: Store,
    listener: &mut dyn Listener,
) -> Result<Done, Failure> {
    let interrupt = listen_to_signals(host, request)?;
    store.reopen_run(&run.header.id, &owner::this_process(), run.trials.len())?;
    let runner = Runner {
        store: Some(store),
        header: run.header,
        trials: Trials::after(run.trials, 0),
        finished,
        listener,
    };
    runner.run(target, host, request, &interrupt)
}

/// Returns all paths that a work writes, including this program's standard output.
fn written(work: &dyn WorkSpec) -> Vec<PathBuf> {
    let mut written = work.writes();
    if work.writes_stdout() {
        written.push(PathBuf::from("/proc/self/fd/1"));
    }
    written
}

/// Returns the store; if it cannot be opened, a work that may run unstored gets `None` and a warning.
fn unless_it_may_go_unstored<T>(
    came: Result<T, Failure>,
    request: &Request,
) -> Result<Option<T>, Failure> {
    match came {
        Ok(store) => Ok(Some(store)),
        Err(failure) if request.must_be_stored => Err(failure),
        Err(failure) => {
            say(&format!("assay: this run is not stored: {failure}"));
            Ok(None)
        }
    }
}

/// Stores the run before the work begins: if the process is killed, the next start must find the
/// run even during the first step, and storing must not disturb a measurement.
fn begin(mut store: Store, header: &RunHeader) -> Result<Store, Failure> {
    let begun = store.begin_run(header, &owner::this_process());
    begun.map_err(Failure::failed)?;
    Ok(store)
}

/// Handles signals that end the work or request an interim report.
fn listen_to_signals(host: &Host, request: &Request) -> Result<Interrupt, Failure> {
    let stopping = request.stopping;
    let interrupts = match request.work.spec().is_filter() {
        true => Interrupts::UnlessIgnored,
        false => Interrupts::Caught,
    };
    host.obey_signals(interrupts, move || {
        if !stopping.is_empty() {
            say(stopping);
        }
    })
}
