//! `assay dd OPERANDS`, or the program called as `dd`: GNU dd's operands, conversions and
//! messages, and one more line with the label of the rate. `--ladder` writes the same file in four
//! ways, side by side.

use crate::checks::admission::{self, not_simulated};
use crate::commands::dropin::texts;
use crate::driver::acts::Request;
use crate::driver::runs::{Done, random};
use crate::driver::trials::Listener;
use crate::driver::{Host, acts, runs};
use crate::exit::{DONE, FAILED, Failure};
use crate::output::{message_was_lost, print, say, say_part};
use crate::stored::KeepArgs;
use assay_dialects::dd::{
    DdCommand, HELP, Invocation, Status, evidence, explanation, progress, statistics, ways,
};
use assay_dialects::{OwnOptions, dd};
use assay_model::act::copy::{CopyReport, FLUSHING, FileCopy};
use assay_model::act::{Act, ActProgress, ActReport, StepDetail};
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::run::Run;
use assay_model::storage::{Storage, folder_of};
use assay_model::text::clean;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Bytes;
use assay_model::wire::{Feature, Inspection, LoadNote, PathKind};
use assay_target::Target;
use rustix::fs::{FileType, fstat};
use signal_hook::consts::SIGPIPE;
use signal_hook::low_level::emulate_default_handler;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Carries out a command line of dd; `words` does not include the program's name.
pub fn run(words: &[OsString], target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let code = execute(words, target)?;
    // Like dd, fail if a message could not be written: messages are part of its result.
    let lost = code == DONE && message_was_lost();
    Ok(if lost { ExitCode::from(FAILED) } else { code })
}

fn execute(words: &[OsString], target: &mut dyn Target) -> Result<ExitCode, Failure> {
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
    check(&invocation)?;
    let Invocation {
        copy, status, own, ..
    } = invocation;
    let (mut host, copy, (inspection, place)) = match target.name() {
        Some(name) => prepare_remote(copy, &own, &name, target)?,
        None => prepare_local(copy, &own, target)?,
    };
    let request = Request {
        steps: steps(&copy),
        work: Act::Copy(Box::new(copy)),
        trials: own.trials,
        seed: random(),
        // As with dd, naming a device permits to overwrite it.
        destroy_data: true,
        place,
        stopping: "",
        must_be_stored: own.store.is_some(),
        announced: None,
        sweep: None,
    };
    let store = KeepArgs::of(own.store, own.annotation);
    let mut messages = CopyMessages::new(status, own.ladder);
    let done = acts::execute(
        target,
        &mut host,
        inspection,
        &request,
        &store,
        &mut messages,
        &mut acts::all_slots,
    )?;
    messages.close();
    // The agent has ended before the user sees the result.
    drop(host);
    if own.ladder && !own.json && !done.run.trials.is_empty() {
        show_ladder(&done.run)?;
    }
    if own.json {
        runs::present(&done.run, true)?;
    }
    conclude(done)
}

/// Agent that executes a copy; the copy with its final paths; the storage that the run is about.
type PreparedCopy = (Host, FileCopy, (Inspection, Place));

/// Prepares a copy on this machine, between its files and this program's streams.
fn prepare_local(
    copy: FileCopy,
    own: &OwnOptions,
    target: &mut dyn Target,
) -> Result<PreparedCopy, Failure> {
    let copy = match own.ladder {
        true => plan_ladder(&copy, own.destroy_data)?,
        false => copy,
    };
    let mut host = Host::start_in_foreground(target)?;
    let storage = find(&mut host, &copy)?;
    Ok((host, copy, storage))
}

/// Prepares a copy on another machine, between files that are there.
fn prepare_remote(
    copy: FileCopy,
    own: &OwnOptions,
    name: &str,
    target: &mut dyn Target,
) -> Result<PreparedCopy, Failure> {
    // The ladder needs no input: it writes zeros by default.
    if !own.ladder {
        check_names_files(&copy, name)?;
    }
    target.needs(Feature::Works);
    let mut host = Host::start(target)?;
    let copy = match own.ladder {
        true => {
            let output = ladder_output(&copy)?;
            let found = kind_there(&mut host, output)?;
            plan_ladder_over(&copy, found, own.destroy_data)?
        }
        false => copy,
    };
    let storage = match find_there(&mut host, &copy)? {
        Some(found) => found,
        None => nowhere_on(&mut host)?,
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
    // A sweep repeats the copy. With 2 trials, `check` refuses standard input and standard output.
    invocation.own.trials = 2;
    check(&invocation)?;
    let mut copy = invocation.copy;
    for name in [&mut copy.input, &mut copy.output].into_iter().flatten() {
        *name = base.join(&*name);
    }
    if invocation.own.ladder {
        copy = plan_ladder(&copy, false)?;
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

/// Refuses requests that cannot be carried out on any storage.
fn check(invocation: &Invocation) -> Result<(), Failure> {
    let Invocation { copy, own, .. } = invocation;
    if own.json && copy.output.is_none() {
        return Err(Failure::usage(
            "--json and the copy cannot both be written to standard output: give of=FILE",
        ));
    }
    if own.trials > 1 && copy.input.is_none() && !own.ladder {
        return Err(Failure::usage(
            "standard input can be read once only: give if=FILE to repeat the copy",
        ));
    }
    if own.trials > 1 && copy.output.is_none() {
        return Err(Failure::usage(
            "standard output would get the copy several times: give of=FILE to repeat it",
        ));
    }
    let stdout = fstat(rustix::stdio::stdout()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if copy.output.is_none() && stdout == Ok(FileType::BlockDevice) {
        return Err(Failure::usage(
            "standard output is a block device: give of=DEVICE, so that assay can check that it is not in use",
        ));
    }
    Ok(())
}

/// Finds the storage that the run is about.
fn find(host: &mut Host, copy: &FileCopy) -> Result<(Inspection, Place), Failure> {
    for (path, place) in candidates(copy) {
        // If a path cannot be inspected, opening it reports the error in dd's words.
        if let Ok(inspection) = host.inspect(&path) {
            return Ok((inspection, place));
        }
    }
    nowhere_on(host)
}

/// Returns the machine as the place, for a copy with neither end on storage.
fn nowhere_on(host: &mut Host) -> Result<(Inspection, Place), Failure> {
    let path = PathBuf::from("/");
    let inspection = host.inspect(&path)?;
    Ok((nowhere(inspection), Place::Directory { path }))
}

/// Returns an inspection of the machine without storage.
fn nowhere(inspection: Inspection) -> Inspection {
    let why = "neither end of the copy is on storage".to_owned();
    let storage = Storage::unknown(inspection.storage.path, why);
    Inspection {
        storage,
        ..inspection
    }
}

fn candidates(copy: &FileCopy) -> Vec<(PathBuf, Place)> {
    let output = copy.output.clone().or_else(|| link(1));
    let input = copy.input.clone().or_else(|| link(0));
    let mut found = Vec::new();
    if let Some(path) = output {
        match fs::metadata(&path) {
            Ok(meta) if meta.file_type().is_block_device() => {
                found.push((path.clone(), Place::Device { path }));
            }
            Ok(meta) if !meta.is_file() => {}
            // Inspect its folder: the file may not exist yet, or may not be readable.
            _ => found.extend(in_folder(&path)),
        }
    }
    if let Some(path) = input
        && fs::metadata(&path)
            .is_ok_and(|meta| meta.is_file() || meta.file_type().is_block_device())
    {
        match fs::canonicalize(&path) {
            // Paths are stored as text: a name that is not UTF-8 is replaced by its folder.
            Ok(real) if real.to_str().is_none() => found.extend(in_folder(&path)),
            _ => found.push((path.clone(), Place::File { path })),
        }
    }
    found
}

/// Returns the folder of a file, or the nearest folder above it on the same file system whose path
/// is UTF-8: paths are stored as text.
fn in_folder(path: &Path) -> Option<(PathBuf, Place)> {
    let folder = fs::canonicalize(folder(path)).ok()?;
    let device = fs::metadata(&folder).ok()?.dev();
    let on_device = |path: &&Path| fs::metadata(path).is_ok_and(|meta| meta.dev() == device);
    let mut above = folder.ancestors().take_while(on_device);
    let path = above.find(|path| path.to_str().is_some())?.to_owned();
    Some((path.clone(), Place::Directory { path }))
}

/// Returns the file that a standard stream is open on.
fn link(number: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{number}")).ok()
}

fn folder(path: &Path) -> PathBuf {
    let real = fs::canonicalize(path);
    let path = real.as_deref().unwrap_or(path);
    folder_of(path).to_owned()
}

/// Prints the messages of dd.
struct CopyMessages {
    status: Status,
    /// `true` if each step is one of the ways of `--ladder`.
    ladder: bool,
    /// Length of the unfinished progress line on the screen; 0 without one.
    open: usize,
}

impl CopyMessages {
    pub const fn new(status: Status, ladder: bool) -> Self {
        Self {
            status,
            ladder,
            open: 0,
        }
    }

    /// Ends the progress line.
    pub fn close(&mut self) {
        if std::mem::take(&mut self.open) > 0 {
            say("");
        }
    }

    fn print(&mut self, report: &CopyReport) {
        let lines = statistics(report, self.status);
        if !lines.is_empty() {
            self.close();
        }
        lines.iter().for_each(|line| say(line));
    }
}

impl Listener for CopyMessages {
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        self.close();
        say(&format!("dd: {}", clean(&note.text)));
        Ok(())
    }

    /// Prints dd's last lines, after the line that dd does not have: scripts take the last one.
    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        let Some(report) = report(trial).filter(|report| !report.reader_gone) else {
            return Ok(());
        };
        if self.ladder && self.status != Status::None {
            say(&format!("{}:", trial.job.name));
        }
        if self.status != Status::None {
            self.close();
            say(&clean(&evidence(trial)));
        }
        self.print(report);
        Ok(())
    }

    fn progress(&mut self, done: &ActProgress) -> Result<(), Failure> {
        let line = progress(done.done, done.elapsed_ns);
        if done.step == FLUSHING {
            self.close();
            say(&line);
            return Ok(());
        }
        let width = self.open;
        say_part(&format!("\r{line:<width$}"));
        self.open = line.len();
        Ok(())
    }

    fn act_interim(&mut self, how: &ActReport) -> Result<(), Failure> {
        if let ActReport::Copy(report) = how {
            self.print(report);
        }
        Ok(())
    }
}

/// Checks that both ends are on the other machine: the agent has no access to this process's
/// standard streams.
fn check_names_files(copy: &FileCopy, target: &str) -> Result<(), Failure> {
    match (&copy.input, &copy.output) {
        (Some(_), Some(_)) => Ok(()),
        _ => Err(Failure::usage(format!(
            "on {target} dd copies between files and devices that are there: give if=FILE (also \
             /dev/zero) and of=FILE (also /dev/null)"
        ))),
    }
}

/// Returns the kind of a path on the other machine; `None` when nothing is there.
fn kind_there(host: &mut Host, path: &Path) -> Result<Option<PathKind>, Failure> {
    match host.inspect(path) {
        Ok(inspection) => Ok(Some(inspection.kind)),
        Err(failure) if failure.is_usage() => {
            // A file that does not exist yet needs an existing folder.
            host.inspect(folder_of(path)).map(|_| None)
        }
        Err(failure) => Err(failure),
    }
}

/// Finds the storage that the run is about: the output's, else the input's.
fn find_there(host: &mut Host, copy: &FileCopy) -> Result<Option<(Inspection, Place)>, Failure> {
    for (path, is_output) in [(&copy.output, true), (&copy.input, false)] {
        let Some(path) = path else { continue };
        if let Some(found) = storage_there(host, path, is_output)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the storage of a path; for an output, that of its folder, since the file may not exist
/// yet.
fn storage_there(
    host: &mut Host,
    path: &Path,
    is_output: bool,
) -> Result<Option<(Inspection, Place)>, Failure> {
    let inspection = match host.inspect(path) {
        Ok(inspection) => inspection,
        Err(failure) if !failure.is_usage() => return Err(failure),
        // The path does not exist, or is a character device, whose folder is not on storage.
        Err(_) if is_output && !path.starts_with("/dev") => host.inspect(folder_of(path))?,
        Err(_) => return Ok(None),
    };
    let path = inspection.path.clone();
    match inspection.kind {
        PathKind::Simulated { .. } => Err(not_simulated(&path)),
        PathKind::File { .. } if is_output => {
            let path = folder_of(&path).to_owned();
            Ok(Some((host.inspect(&path)?, Place::Directory { path })))
        }
        _ => {
            let place = admission::of(&inspection);
            Ok(Some((inspection, place)))
        }
    }
}

/// Makes one work of the four ways, on this machine. Existing data at `of=` is overwritten only with
/// `destroy_data`.
fn plan_ladder(copy: &FileCopy, destroy_data: bool) -> Result<FileCopy, Failure> {
    let output = ladder_output(copy)?;
    let there = match fs::metadata(output).ok() {
        None => None,
        Some(meta) if meta.is_file() => Some(PathKind::File {
            length: Bytes(meta.len()),
            written: None,
        }),
        Some(meta) if meta.file_type().is_block_device() => {
            Some(PathKind::Device { size: Bytes(0) })
        }
        Some(_) => return Err(no_ladder_storage(output)),
    };
    plan_ladder_over(copy, there, destroy_data)
}

/// Makes the act over the known kind of the output; `None` if nothing is there yet.
fn plan_ladder_over(
    copy: &FileCopy,
    there: Option<PathKind>,
    destroy_data: bool,
) -> Result<FileCopy, Failure> {
    let output = ladder_output(copy)?;
    if copy.count.is_none() && copy.input.is_none() {
        return Err(Failure::usage(
            "--ladder would write zeros until there is no room: give count=N, or if=FILE",
        ));
    }
    let holds_data = match there {
        None => false,
        Some(PathKind::File { length, .. }) => length > Bytes(0),
        Some(PathKind::Device { .. }) => true,
        Some(PathKind::Directory { .. } | PathKind::Simulated { .. }) => {
            return Err(no_ladder_storage(output));
        }
    };
    if holds_data && !destroy_data {
        return Err(Failure::usage(format!(
            "{} holds data, and --ladder overwrites it four times: name a new file, or add \
             --destroy-data",
            output.display()
        )));
    }
    Ok(ways(copy, there.is_none()))
}

/// Returns the output path.
fn ladder_output(copy: &FileCopy) -> Result<&Path, Failure> {
    let output = copy.output.as_deref();
    output.ok_or_else(|| Failure::usage("--ladder writes a file: give of=FILE"))
}

fn no_ladder_storage(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} is neither a file nor a block device: the ways differ only on storage",
        path.display()
    ))
}

/// Prints the table and the caveats of the storage on standard output.
fn show_ladder(run: &Run) -> Result<(), Failure> {
    print(|out| {
        out.write_all(explanation(&run.trials).as_bytes())?;
        let mut caveats = run.header.storage.caveats().into_iter();
        caveats.try_for_each(|caveat| writeln!(out, "\n{}", clean(&caveat)))
    })
}
