//! `assay iozone`, or the program called as `iozone`: iozone's flags and output, followed by the
//! labels of the figures.

mod ahead;
mod listing;
mod progress;

use crate::checks::admission::not_simulated;
use crate::child;
use crate::commands::dropin::texts;
use crate::driver::acts::{self, Request};
use crate::driver::host::Host;
use crate::driver::runs::{Done, present, random};
use crate::exit::{DONE, Failure};
use crate::output::{print, say};
use crate::stored::keep::KeepArgs;
use crate::stored::lookup::write_file;
use assay_dialects::iozone::banner::{self, Moment};
use assay_dialects::iozone::{self, IozoneCommand, IozoneRequest, blocks, marks, throughput};
use assay_lang::tr;
use assay_model::plan::Place;
use assay_model::storage::folder_of;
use assay_model::text::clean;
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_model::work::iozone::{Iozone, IozoneRow, Test};
use assay_model::work::{StepDetail, Work};
use assay_report::matrix::{Matrix, matrices, matrices_in};
use assay_report::{cache_edge, xlsx};
use assay_target::Target;
use listing::Listing;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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

/// Parses the work that a sweep repeats; relative names are in the inspected folder.
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
    ahead::check(&command.work, inspection, None)?;
    Ok(command.work)
}

/// Makes the paths of a work absolute: the agent may have another working directory.
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
    ahead::check(
        &command.work,
        &inspection,
        command.output.workbook.as_deref(),
    )?;
    let request = Request {
        work: Work::Iozone(Box::new(command.work.clone())),
        steps: Vec::new(),
        trials: command.own.trials,
        seed: random(),
        destroy_data: command.own.destroy_data,
        place,
        stopping: STOPPING,
        must_be_stored: true,
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

/// Inspects the first file, or its future folder, on the agent's machine. The work reports an
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
    banner::banner(
        command,
        Moment {
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
        "Stored as run {id}: assay show {id}",
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
        text.push_str(&throughput::report(command, &steps));
    }
    text.push_str("iozone test complete.\n");
    if single && command.output.blocks {
        text.push_str(&blocks::blocks(
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
        lines.push(marks::marks(output, &work.tests, rows, label));
    }
    let sentences = cache_edge::sentences(&matrices).into_iter();
    lines.extend(sentences.map(|sentence| format!("# {sentence}")));
    let caveats = done.run.header.storage.caveats().into_iter();
    lines.extend(caveats.map(|caveat| format!("# {}", clean(&caveat))));
    (text, lines.join("\n"))
}

/// Returns the label of a cell in single mode.
fn label_of(matrices: &[Matrix], test: Test, row: IozoneRow) -> Option<String> {
    let title = format!("{} report", test.title());
    let matrix = matrices.iter().find(|matrix| matrix.title == title)?;
    let at = matrix.rows.iter().position(|file| *file == row.file_kib)?;
    let column = matrix
        .columns
        .iter()
        .position(|record| *record == row.record_kib)?;
    matrix.cells.get(at)?.get(column)?.as_ref()?.label.clone()
}
