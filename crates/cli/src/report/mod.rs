//! `assay report`: a run, two of them against each other, or all of them, as files.

mod folder;

use crate::args::ReportArgs;
use crate::compare::{Judged, Question};
use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::stored::{report, write_file};
use assay_report::{html, json};
use std::path::Path;
use std::process::ExitCode;

/// `assay report`.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.all {
        return folder::write(&args.store, folder);
    }
    let Some(output) = &args.output else {
        return Err(Failure::usage("name a file with --output"));
    };
    match args.runs.as_slice() {
        [run] => report(&args.store, run, output),
        _ => compared(args, output),
    }
}

/// The second against the first.
fn compared(args: &ReportArgs, output: &Path) -> Result<ExitCode, Failure> {
    let is_page = match output.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => true,
        Some("json") => false,
        _ => {
            return Err(Failure::usage(format!(
                "{}: the name of a comparison must end in .html or .json",
                output.display()
            )));
        }
    };
    let judged = Judged::of(&Question {
        margin: args.margin,
        ..Question::plain(&args.runs, &args.store)
    })?;
    let compared = judged.compared();
    let (of_a, of_b) = (judged.a.runs(), judged.b.runs());
    write_file(output, |out| match is_page {
        true => html::write_comparison(
            &compared,
            &judged.a.shown(&of_a),
            &judged.b.shown(&of_b),
            out,
        ),
        false => writeln!(out, "{:#}", json::comparison(&compared)),
    })?;
    say(&format!("wrote {}", output.display()));
    Ok(DONE)
}
