//! `assay iozone`, or the program called as `iozone`: iozone's flags and output, followed by the
//! labels of the figures.
//!
//! `Listing` writes iozone's listing while it grows: each figure is written when it is known.

use crate::checks::admission::not_simulated;
use crate::child;
use crate::commands::dropin::texts;
use crate::driver::acts::Request;
use crate::driver::runs::{Done, present, random};
use crate::driver::trials::Listener;
use crate::driver::{Host, acts};
use crate::exit::{DONE, Failure};
use crate::output::{print, prints_to_terminal, say};
use crate::stored::KeepArgs;
use crate::stored::lookup::write_file;
use crate::ui::progress::{Forecast, Messages, time_left};
use assay_dialects::iozone;
use assay_dialects::iozone::table::{BannerFacts, RowText};
use assay_dialects::iozone::{IozoneCommand, IozoneRequest, table};
use assay_lang::tr;
use assay_model::act::iozone::{Iozone, IozoneRow, IozoneStep, Test};
use assay_model::act::{Act, ActProgress, ActReport, StepDetail};
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::storage::folder_of;
use assay_model::text::clean;
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_report::matrix::{Axis, Level, Matrix, cache_edge_sentences, matrices, matrices_in};
use assay_report::xlsx;
use assay_target::Target;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const STOPPING: &str = "assay: stopping; finished cells are kept (Ctrl-C again to insist)";

/// Carries out a command line of iozone; `words` does not include the program's name.
pub fn run(words: &[OsString], target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let words = texts(words)?;
    match iozone::parse(&words).map_err(Failure::usage)? {
        IozoneRequest::Help => print(|out| out.write_all(iozone::help().as_bytes())).map(|()| DONE),
        IozoneRequest::Version => {
            let version = env!("CARGO_PKG_VERSION");
            print(|out| writeln!(out, "assay {version}, like iozone 3.489")).map(|()| DONE)
        }
        IozoneRequest::Measure(mut command) => {
            // On another machine relative paths start in the login folder.
            if target.name().is_none() {
                make_absolute(&mut command.work, |path| std::path::absolute(path))?;
            }
            measure(&command, &words, target)
        }
    }
}

/// Parses the act that a sweep repeats; relative names are in the inspected folder.
pub fn swept(words: &[OsString], inspection: &Inspection) -> Result<Iozone, Failure> {
    let IozoneRequest::Measure(mut command) =
        iozone::parse(&texts(words)?).map_err(Failure::usage)?
    else {
        return Err(Failure::usage(
            "iozone: nothing is measured, so there is nothing to sweep",
        ));
    };
    if command.output.workbook.is_some() {
        return Err(Failure::usage(
            "iozone -b: a sweep writes no workbook: use assay report RUN -o FILE.xlsx after it",
        ));
    }
    if command.work.remount.is_some() {
        return Err(Failure::usage(
            "iozone -U mounts anew, which would undo what the sweep has set: leave it out",
        ));
    }
    make_absolute(&mut command.work, |path| Ok(inspection.path.join(path)))?;
    check(&command.work, inspection, None)?;
    Ok(command.work)
}

/// Makes the paths of an act absolute: the agent may have another working directory.
fn make_absolute(
    work: &mut Iozone,
    full: impl Fn(&Path) -> std::io::Result<PathBuf>,
) -> Result<(), Failure> {
    let absolute = |path: &mut PathBuf| match full(path) {
        Ok(full) => {
            *path = full;
            Ok(())
        }
        Err(error) => Err(Failure::usage(format!("{}: {error}", path.display()))),
    };
    work.files.iter_mut().try_for_each(absolute)?;
    work.latency_files.iter_mut().try_for_each(absolute)?;
    work.remount.iter_mut().try_for_each(absolute)
}

fn measure(
    command: &IozoneCommand,
    words: &[String],
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    if command.output.workbook.is_some() && child::this().is_some() {
        return Err(Failure::usage(
            "-b: all targets would write the same workbook: use assay report RUN -o FILE.xlsx \
             for each run after it",
        ));
    }
    target.needs(Feature::Works);
    let mut host = Host::start(target)?;
    let file = command.work.files.first().cloned().unwrap_or_default();
    let (inspection, place) = place(&mut host, &file)?;
    check(
        &command.work,
        &inspection,
        command.output.workbook.as_deref(),
    )?;
    let request = Request {
        work: Act::Iozone(Box::new(command.work.clone())),
        steps: Vec::new(),
        trials: command.own.trials,
        seed: random(),
        destroy_data: command.own.destroy_data,
        place,
        stopping: STOPPING,
        must_be_stored: true,
        announced: None,
        sweep: None,
    };
    let store = KeepArgs::of(command.own.store.clone(), command.own.annotation.clone());
    let opening = opening(command, words, &inspection);
    let mut listing = Listing::new(command, opening);
    let done = acts::execute(
        target,
        &mut host,
        inspection,
        &request,
        &store,
        &mut listing,
        &mut acts::all_slots,
    )?;
    listing.end()?;
    show(command, &done)?;
    done.conclude()
}

/// Inspects the first file, or its future folder, on the agent's machine. The act reports an
/// existing file that cannot be inspected, by name.
fn place(host: &mut Host, file: &Path) -> Result<(Inspection, Place), Failure> {
    let path = file.to_owned();
    if let Ok(inspection) = host.inspect(file) {
        return match inspection.kind {
            PathKind::Device { .. } => Ok((inspection, Place::Device { path })),
            PathKind::File { .. } => Ok((inspection, Place::File { path })),
            PathKind::Simulated { .. } => Err(not_simulated(file)),
            PathKind::Directory { .. } => Err(Failure::usage(format!(
                "{} is a directory: name a file in it with -f",
                file.display()
            ))),
        };
    }
    let folder = folder_of(file);
    let inspection = host.inspect(folder)?;
    let path = folder.to_owned();
    Ok((inspection, Place::Directory { path }))
}

/// Makes iozone's banner.
fn opening(command: &IozoneCommand, words: &[String], inspection: &Inspection) -> String {
    let now = jiff::Zoned::now();
    let began = now.strftime("%a %b %e %H:%M:%S %Y").to_string();
    let system = &inspection.system;
    let host = system.hostname.as_deref().unwrap_or("(none)");
    let machine = format!(
        "Linux {host} {} {} GNU/Linux",
        system.kernel, system.machine
    );
    let machine = clean(&machine);
    let line = format!("iozone {}", clean(&words.join(" ")));
    table::banner(
        command,
        BannerFacts {
            version: env!("CARGO_PKG_VERSION"),
            began: &began,
            command: line.trim_end(),
            machine: &machine,
        },
    )
}

/// Prints the text below the rows.
fn show(command: &IozoneCommand, done: &Done) -> Result<(), Failure> {
    if done.run.trials.is_empty() {
        return Ok(());
    }
    if let Some(asked) = &command.output.workbook {
        let (path, note) = xlsx::file_name(asked);
        let matrices = matrices_in(&done.run, command.output.unit);
        write_file(&path, |out| xlsx::write_matrices(&done.run, &matrices, out))?;
        note.iter().for_each(|note| say(&clean(note)));
    }
    if command.own.json {
        return present(&done.run, true);
    }
    let (text, labels) = closing(command, done);
    print(|out| out.write_all(text.as_bytes()))?;
    if !labels.is_empty() {
        say(&labels);
    }
    say(&tr!(
        "Stored as run {id}: assay report {id}",
        id = done.run.header.id
    ));
    Ok(())
}

/// Returns the end of iozone's text, and the labels of the figures. The latter are not part of
/// standard output, since scripts take rows by their position.
fn closing(command: &IozoneCommand, done: &Done) -> (String, String) {
    let work = &command.work;
    let steps: Vec<_> = done
        .run
        .trials
        .iter()
        .filter_map(|trial| match trial.detail.as_deref() {
            Some(StepDetail::Iozone(step)) => Some(step.clone()),
            _ => None,
        })
        .collect();
    let single = work.children.is_empty();
    let mut text = "\n".to_owned();
    if !single && command.output.blocks {
        text.push_str(&table::report(command, &steps));
    }
    text.push_str("iozone test complete.\n");
    if single && command.output.blocks {
        text.push_str(&table::blocks(
            &command.output,
            &work.tests,
            &work.rows,
            &steps,
        ));
    }
    let matrices = matrices(&done.run);
    let mut lines = Vec::new();
    if single {
        let label = |test, row| label_of(&matrices, test, row);
        let (output, rows) = (&command.output, &work.rows);
        lines.push(table::marks(output, &work.tests, rows, label));
    }
    let sentences = cache_edge_sentences(&matrices).into_iter();
    lines.extend(sentences.map(|sentence| format!("# {sentence}")));
    let caveats = done.run.header.storage.caveats().into_iter();
    lines.extend(caveats.map(|caveat| format!("# {}", clean(&caveat))));
    (text, lines.join("\n"))
}

/// Returns the label of a cell in single mode.
fn label_of(matrices: &[Matrix], test: Test, row: IozoneRow) -> Option<String> {
    let title = format!("{} report", test.title());
    let matrix = matrices.iter().find(|matrix| matrix.title == title)?;
    let at = |axis: &Axis, kib| {
        axis.levels
            .iter()
            .position(|level| *level == Level::Kib(kib))
    };
    let (at, column) = (
        at(&matrix.rows, row.file_kib)?,
        at(&matrix.columns, row.record_kib)?,
    );
    matrix.cells.get(at)?.get(column)?.as_ref()?.label.clone()
}

/// Fails if there is not enough space for the files, the workbook's folder does not exist, or the
/// workbook would replace a file that assay did not write.
fn check(work: &Iozone, inspection: &Inspection, workbook: Option<&Path>) -> Result<(), Failure> {
    has_room(work, inspection)?;
    workbook.map_or(Ok(()), |asked| {
        let (path, _) = xlsx::file_name(asked);
        has_folder(&path)?;
        may_be_replaced(&path)
    })
}

/// Checks the space for the files of all children, each as large as the largest file.
fn has_room(work: &Iozone, inspection: &Inspection) -> Result<(), Failure> {
    if !work.tests.contains(&Test::Write) {
        return Ok(());
    }
    let largest = work.rows.iter().map(|row| row.file_kib).max().unwrap_or(0);
    let files = work.children.iter().copied().max().unwrap_or(1).max(1);
    let wanted = Bytes(largest.saturating_mul(1024).saturating_mul(files.into()));
    let room = match inspection.kind {
        PathKind::Device { size } | PathKind::Simulated { size } => size,
        // An existing file is overwritten, so that its own space counts.
        PathKind::File { length, .. } => {
            let free = inspection.storage.available.unwrap_or(Bytes(u64::MAX));
            Bytes(free.0.saturating_add(length.0))
        }
        PathKind::Directory { .. } => inspection.storage.available.unwrap_or(Bytes(u64::MAX)),
    };
    if wanted <= room {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "not enough space for {} {} of {}: {} has {room} free; choose a smaller -s, -g or -t",
        files,
        if files == 1 { "file" } else { "files" },
        Bytes(largest.saturating_mul(1024)),
        inspection.path.display()
    )))
}

fn has_folder(path: &Path) -> Result<(), Failure> {
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "cannot write {}: there is no folder {}",
        path.display(),
        folder.display()
    )))
}

/// Refuses to replace a file that was not written by assay, or was saved since. A workbook of assay
/// is replaced, as iozone does it.
fn may_be_replaced(path: &Path) -> Result<(), Failure> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened,
    };
    let is_ours = |file: File| {
        let is_empty = file.metadata().is_ok_and(|meta| meta.len() == 0);
        is_empty || xlsx::is_untouched(BufReader::new(file))
    };
    if file.is_ok_and(is_ours) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} is no workbook of assay's, or was saved since: name another one with -b, or move it \
         away",
        path.display()
    )))
}

/// Writer of rows, or of blocks in throughput mode, with progress on a terminal.
struct Listing<'a> {
    command: &'a IozoneCommand,
    /// Banner, until it is written.
    opening: Option<String>,
    row: Option<RowText>,
    /// Text of the row under way. On a terminal a row is held back until it is complete, because
    /// the progress line takes its place.
    held: String,
    holds: bool,
    /// Number of started steps in this repetition.
    begun: usize,
    messages: Messages,
    pace: WorkPace,
}

impl<'a> Listing<'a> {
    fn new(command: &'a IozoneCommand, opening: String) -> Self {
        let messages = Messages::new();
        Self {
            command,
            opening: Some(opening),
            row: None,
            held: String::new(),
            holds: messages.is_live() && prints_to_terminal(),
            begun: 0,
            messages,
            pace: WorkPace::new(&command.work, command.own.trials),
        }
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        if self.command.own.json {
            return Ok(());
        }
        self.held.push_str(text);
        if self.holds && !self.held.ends_with('\n') {
            return Ok(());
        }
        self.messages.clear();
        let text = std::mem::take(&mut self.held);
        print(|out| out.write_all(text.as_bytes()))
    }

    /// Returns the row of the step that begins, if the step is the first one of that row.
    fn new_row(&self) -> Option<IozoneRow> {
        let work = &self.command.work;
        let tests = work.tests.len().max(1);
        let first = self.begun.is_multiple_of(tests);
        let at = self.begun / tests / work.children.len().max(1);
        work.rows.get(at).copied().filter(|_| first)
    }

    fn finish_row(&mut self) -> Result<(), Failure> {
        match self.row.take() {
            Some(row) => self.write(&row.end()),
            None => Ok(()),
        }
    }

    fn figures(&mut self, step: &IozoneStep) -> Result<(), Failure> {
        if !self.command.work.children.is_empty() {
            return self.write(&table::test(&self.command.output, step));
        }
        let text = self.row.as_mut().map(|row| row.cell(step));
        self.write(&text.unwrap_or_default())
    }

    /// Ends an unfinished line.
    fn end(mut self) -> Result<(), Failure> {
        self.messages.clear();
        self.finish_row()?;
        self.holds = false;
        self.write("")
    }
}

impl Listener for Listing<'_> {
    fn messages(&self) -> Option<&Messages> {
        Some(&self.messages)
    }

    fn started(&mut self, _job: &Job) -> Result<(), Failure> {
        if let Some(opening) = self.opening.take() {
            self.write(&opening)?;
        }
        if let Some(row) = self.new_row() {
            self.finish_row()?;
            let work = &self.command.work;
            let text = if work.children.is_empty() {
                let (begun, text) = RowText::begin(&self.command.output, &work.tests, row);
                self.row = Some(begun);
                text
            } else {
                table::opening(&self.command.output, row)
            };
            self.write(&text)?;
        }
        self.begun += 1;
        Ok(())
    }

    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        if let Some(StepDetail::Iozone(step)) = trial.detail.as_deref() {
            self.figures(step)?;
            self.pace.did(step);
        }
        let tests = self.command.work.tests.len().max(1);
        if self.begun.is_multiple_of(tests) {
            self.finish_row()?;
            if !self.command.work.children.is_empty() {
                self.write(table::CLOSING)?;
            }
        }
        self.pace.show(&self.messages, None);
        Ok(())
    }

    fn progress(&mut self, progress: &ActProgress) -> Result<(), Failure> {
        self.pace.show(&self.messages, Some(progress));
        Ok(())
    }

    fn repeated(&mut self, number: u32, _report: Option<&ActReport>) -> Result<(), Failure> {
        self.finish_row()?;
        self.begun = 0;
        let again = number < self.command.own.trials;
        if again && self.command.work.children.is_empty() {
            self.write("\n")?;
        }
        Ok(())
    }
}

/// Cost of opening and flushing files in a step, in bytes of I/O.
const AROUND_A_STEP: u64 = 1 << 20;

/// Progress of an act, weighted by bytes. Files differ in size far more than tests in speed, so
/// bytes give the remaining time.
struct WorkPace {
    start: Instant,
    steps: usize,
    done: usize,
    weight: u64,
    weight_done: u64,
}

impl WorkPace {
    fn new(work: &Iozone, trials: u32) -> Self {
        let counts: Vec<u64> = match work.children.as_slice() {
            [] => vec![1],
            counts => counts.iter().map(|&count| u64::from(count)).collect(),
        };
        let tests = work.tests.len() as u64;
        let of_rows = work
            .rows
            .iter()
            .flat_map(|row| counts.iter().map(|&count| weight(row.file_kib, count)));
        let weight = of_rows.fold(0, u64::saturating_add);
        let steps = work.rows.len() * counts.len() * work.tests.len();
        Self {
            start: Instant::now(),
            steps: steps * usize::try_from(trials).unwrap_or(1),
            done: 0,
            weight: weight
                .saturating_mul(tests)
                .saturating_mul(u64::from(trials)),
            weight_done: 0,
        }
    }

    /// Counts a step that ended.
    fn did(&mut self, step: &IozoneStep) {
        self.done += 1;
        let weight = weight(step.file_kib, step.children.len() as u64);
        self.weight_done = self.weight_done.saturating_add(weight);
    }

    /// Returns the remaining time; `None` before anything is done.
    fn left(&self, under_way: u64) -> Option<Nanos> {
        let done = self.weight_done.saturating_add(under_way);
        let spent = u64::try_from(self.start.elapsed().as_nanos()).ok()?;
        (done > 0).then(|| Forecast::rest(done, self.weight, Nanos(spent)))
    }

    /// Draws the live line, if there is one.
    fn show(&self, messages: &Messages, progress: Option<&ActProgress>) {
        if !messages.is_live() {
            return;
        }
        let left = self.left(progress.map_or(0, |progress| progress.done));
        let left = left.map_or_else(String::new, time_left);
        let text = match progress {
            Some(progress) => format!("{left}, {}", progress.step),
            None => left,
        };
        messages.show(self.done, self.steps, text.trim_start_matches(", "));
    }
}

/// Returns the weight of a step, in bytes. It saturates: sizes that no storage has are refused later,
/// by name.
fn weight(file_kib: u64, children: u64) -> u64 {
    let bytes = file_kib.saturating_mul(1024).saturating_mul(children);
    bytes.saturating_add(AROUND_A_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::iozone::{IozoneRow, Test};

    #[test]
    fn the_largest_sizes_have_a_weight() {
        let row = IozoneRow {
            file_kib: 1 << 52,
            record_kib: 4,
        };
        let work = Iozone {
            rows: vec![row, row],
            children: vec![1024],
            tests: vec![Test::Write],
            ..Iozone::default()
        };
        let pace = WorkPace::new(&work, 1000);
        assert_eq!(pace.weight, u64::MAX);
    }
}
