//! `assay dd OPERANDS`, or the program called as `dd`: GNU dd's operands, conversions and lines,
//! and one more line with the label of the rate.

mod ladder;
mod place;
mod talk;
mod there;

use crate::commands::dropin::texts;
use crate::driver::acts::{self, Request};
use crate::driver::host::Host;
use crate::driver::runs::{self, Done, random};
use crate::exit::{DONE, FAILED, Failure};
use crate::output::{print, say, talk_was_lost};
use crate::stored::keep::KeepArgs;
use assay_dialects::OwnOptions;
use assay_dialects::dd::{self, DdCommand, HELP, Invocation};
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::text::clean;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Bytes;
use assay_model::wire::{Feature, Inspection};
use assay_model::work::copy::{CopyReport, FileCopy};
use assay_model::work::{StepDetail, Work};
use assay_target::Target;
use signal_hook::consts::SIGPIPE;
use signal_hook::low_level::emulate_default_handler;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use talk::Talk;

/// Carries out a command line of dd; `words` does not include the program's name.
pub fn run(words: &[OsString], target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let code = obey(words, target)?;
    // Like dd, fail if the lines could not be written: they are a part of its result.
    let lost = code == DONE && talk_was_lost();
    Ok(if lost { ExitCode::from(FAILED) } else { code })
}

fn obey(words: &[OsString], target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let command = match dd::parse(&texts(words)?) {
        Ok(command) => command,
        Err(error) => {
            error.lines().iter().for_each(|line| say(line));
            return Ok(ExitCode::from(FAILED));
        }
    };
    match command {
        DdCommand::Help => print(|out| out.write_all(HELP.as_bytes())).map(|()| DONE),
        DdCommand::Version => {
            let version = env!("CARGO_PKG_VERSION");
            print(|out| writeln!(out, "assay dd {version}")).map(|()| DONE)
        }
        DdCommand::Copy(invocation) => copy(*invocation, target),
    }
}

fn copy(invocation: Invocation, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    for warning in &invocation.warnings {
        say(&format!("dd: {warning}"));
    }
    place::check(&invocation)?;
    let Invocation {
        copy, status, own, ..
    } = invocation;
    let (mut host, copy, (inspection, place)) = match target.name() {
        Some(name) => ends_there(copy, &own, &name, target)?,
        None => ends_here(copy, &own, target)?,
    };
    let request = Request {
        steps: steps(&copy),
        work: Work::Copy(Box::new(copy)),
        trials: own.trials,
        seed: random(),
        // As with dd, naming a device permits to overwrite it.
        destroy_data: true,
        place,
        stopping: "",
        must_be_stored: own.store.is_some(),
        sweep: None,
    };
    let store = KeepArgs::of(own.store, own.annotation);
    let mut talk = Talk::new(status, own.ladder);
    let done = acts::execute(
        target,
        &mut host,
        inspection,
        &request,
        &store,
        &mut talk,
        &mut acts::all_slots,
    )?;
    talk.close();
    // The agent has ended before the user sees the result.
    drop(host);
    if own.ladder && !own.json && !done.run.trials.is_empty() {
        ladder::show(&done.run)?;
    }
    if own.json {
        runs::present(&done.run, true)?;
    }
    conclude(done)
}

/// Agent of a copy, the copy with the paths that it uses, and its storage.
type Ends = (Host, FileCopy, (Inspection, Place));

/// Prepares a copy on this machine, between its files and this program's streams.
fn ends_here(copy: FileCopy, own: &OwnOptions, target: &mut dyn Target) -> Result<Ends, Failure> {
    let copy = match own.ladder {
        true => ladder::plan(&copy, own.destroy_data)?,
        false => copy,
    };
    let mut host = Host::start_in_front(target)?;
    let storage = place::find(&mut host, &copy)?;
    Ok((host, copy, storage))
}

/// Prepares a copy on another machine, between files that are there.
fn ends_there(
    copy: FileCopy,
    own: &OwnOptions,
    name: &str,
    target: &mut dyn Target,
) -> Result<Ends, Failure> {
    // The ladder needs no input: it writes zeros by default.
    if !own.ladder {
        there::check(&copy, name)?;
    }
    target.needs(Feature::Works);
    let mut host = Host::start(target)?;
    let copy = match own.ladder {
        true => {
            let output = ladder::output(&copy)?;
            let found = there::at(&mut host, output)?;
            ladder::plan_over(&copy, found, own.destroy_data)?
        }
        false => copy,
    };
    let storage = match there::find(&mut host, &copy)? {
        Some(found) => found,
        None => place::nowhere_on(&mut host)?,
    };
    Ok((host, copy, storage))
}

/// Parses the copy that a sweep repeats; relative names are in `base`.
pub fn swept(words: &[OsString], base: &Path) -> Result<(FileCopy, Vec<Job>), Failure> {
    let command = dd::parse(&texts(words)?)
        .map_err(|error| Failure::usage(format!("dd: {}", error.lines().join(" "))))?;
    let DdCommand::Copy(invocation) = command else {
        return Err(Failure::usage(
            "dd: nothing is copied, so there is nothing to sweep",
        ));
    };
    let mut invocation = *invocation;
    // It is repeated, and copied data on standard output would have no reader.
    invocation.own.trials = 2;
    place::check(&invocation)?;
    let mut copy = invocation.copy;
    for name in [&mut copy.input, &mut copy.output].into_iter().flatten() {
        *name = base.join(&*name);
    }
    if invocation.own.ladder {
        copy = ladder::plan(&copy, false)?;
    }
    let steps = steps(&copy);
    Ok((copy, steps))
}

/// Returns the steps as far as they are known beforehand; the trials complete them.
fn steps(copy: &FileCopy) -> Vec<Job> {
    let all = std::iter::once(copy).chain(&copy.then);
    all.map(|copy| {
        let size = Bytes(copy.limit_bytes().unwrap_or(0));
        Job::new(&copy.name, Rw::Write, Bytes(copy.output_block), size)
    })
    .collect()
}

/// Returns dd's exit code, 0 or 1, or ends by the signal that stopped the copy.
fn conclude(done: Done) -> Result<ExitCode, Failure> {
    let reports = || done.run.trials.iter().filter_map(report);
    if reports().any(|report| report.reader_gone) {
        end_by(SIGPIPE);
    }
    if let Some(failure) = done.ending.failure {
        say(&format!("dd: {}", clean(&failure.to_string())));
        return Ok(failure.code());
    }
    if let Some(code) = done.ending.signal {
        end_by(i32::from(code) - i32::from(crate::exit::SIGNALLED));
        return Ok(ExitCode::from(code));
    }
    let failed = |trial: &TrialRecord| trial.outcome != Outcome::Completed;
    let failed = done.run.trials.iter().any(failed) || reports().any(|report| report.failed);
    Ok(if failed { ExitCode::from(FAILED) } else { DONE })
}

/// Ends the process by a signal, so that a shell sees the same as with dd.
fn end_by(signal: i32) {
    // If this fails, the exit code of the caller reports the signal.
    let _ = emulate_default_handler(signal);
}

fn report(trial: &TrialRecord) -> Option<&CopyReport> {
    match trial.detail.as_deref() {
        Some(StepDetail::Copy(report)) => Some(report),
        _ => None,
    }
}
