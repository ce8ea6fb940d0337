//! `--ladder`: the four ways to write the same file, side by side.

use crate::exit::Failure;
use crate::output::print;
use assay_dialects::dd::{explanation, ways};
use assay_model::act::copy::FileCopy;
use assay_model::run::Run;
use assay_model::text::clean;
use assay_model::units::Bytes;
use assay_model::wire::PathKind;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Makes one work of the four ways, on this machine. Existing data at `of=` is overwritten only with
/// `destroy_data`.
pub fn plan(copy: &FileCopy, destroy_data: bool) -> Result<FileCopy, Failure> {
    let output = output(copy)?;
    let there = match fs::metadata(output).ok() {
        None => None,
        Some(meta) if meta.is_file() => Some(PathKind::File {
            length: Bytes(meta.len()),
            written: None,
        }),
        Some(meta) if meta.file_type().is_block_device() => {
            Some(PathKind::Device { size: Bytes(0) })
        }
        Some(_) => return Err(no_storage(output)),
    };
    plan_over(copy, there, destroy_data)
}

/// Makes the work over the known kind of the output; `None` if nothing is there yet.
pub fn plan_over(
    copy: &FileCopy,
    there: Option<PathKind>,
    destroy_data: bool,
) -> Result<FileCopy, Failure> {
    let output = output(copy)?;
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
            return Err(no_storage(output));
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
pub fn output(copy: &FileCopy) -> Result<&Path, Failure> {
    let output = copy.output.as_deref();
    output.ok_or_else(|| Failure::usage("--ladder writes a file: give of=FILE"))
}

fn no_storage(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} is neither a file nor a block device: the ways differ only on storage",
        path.display()
    ))
}

/// Prints the table and the caveats of the storage on standard output.
pub fn show(run: &Run) -> Result<(), Failure> {
    print(|out| {
        out.write_all(explanation(&run.trials).as_bytes())?;
        let mut caveats = run.header.storage.caveats().into_iter();
        caveats.try_for_each(|caveat| writeln!(out, "\n{}", clean(&caveat)))
    })
}
