//! `--ladder`: the four ways to write, side by side.

use crate::exit::Failure;
use crate::output::print;
use assay_dialects::dd::{explanation, ways};
use assay_model::run::Run;
use assay_model::text::clean;
use assay_model::work::copy::FileCopy;
use std::fs;
use std::os::unix::fs::FileTypeExt;

/// The ways as one work. What is at `of=` is only overwritten at its user's word.
pub fn plan(copy: &FileCopy, destroy_data: bool) -> Result<FileCopy, Failure> {
    let Some(output) = &copy.output else {
        return Err(Failure::usage("--ladder writes a file: give of=FILE"));
    };
    if copy.count.is_none() && copy.input.is_none() {
        return Err(Failure::usage(
            "--ladder would write zeros until there is no room: give count=N, or if=FILE",
        ));
    }
    let path = output.display();
    let there = fs::metadata(output).ok();
    let holds_data = match &there {
        None => false,
        Some(meta) if meta.is_file() => meta.len() > 0,
        Some(meta) if meta.file_type().is_block_device() => true,
        Some(_) => {
            return Err(Failure::usage(format!(
                "{path} is neither a file nor a block device: the ways differ only on storage"
            )));
        }
    };
    if holds_data && !destroy_data {
        return Err(Failure::usage(format!(
            "{path} holds data, and --ladder overwrites it four times: name a new file, or add \
             --destroy-data"
        )));
    }
    Ok(ways(copy, there.is_none()))
}

/// The table, on standard output, and what holds for all of it.
pub fn show(run: &Run) -> Result<(), Failure> {
    print(|out| {
        out.write_all(explanation(&run.trials).as_bytes())?;
        let mut caveats = run.header.storage.caveats().into_iter();
        caveats.try_for_each(|caveat| writeln!(out, "\n{}", clean(&caveat)))
    })
}
