//! `assay compare`: is B faster, slower or equivalent, or is there no
//! conclusion?

pub mod args;
mod paired;

use crate::exit::Failure;
use crate::judging::comparison::{NamedSide, two_conditions, two_sources, units};
use crate::judging::written::present;
use crate::judging::written::wanted;
use crate::stored::sources::FigureSource;
use args::CompareArgs;
use assay_target::Target;
use std::process::ExitCode;

/// Compares what is stored, or two targets that are measured for it.
pub fn run(args: &CompareArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if let [a, b] = args.paired_on.as_slice() {
        // Before anything is measured.
        wanted(&args.shown)?;
        return paired::run(args, [a, b], target);
    }
    present(&args.shown, sides(args)?)
}

fn sides(args: &CompareArgs) -> Result<(NamedSide, NamedSide), Failure> {
    let find = |word: &String| FigureSource::find(word, &args.shown.store);
    match args.sources.as_slice() {
        [only] => two_conditions(&find(only)?),
        [a, b] => two_sources([a, b], &args.shown.store),
        _ => {
            let side = |words: &[String]| units(&words.join(", "), words, &args.shown.store);
            Ok((side(&args.a)?, side(&args.b)?))
        }
    }
}
