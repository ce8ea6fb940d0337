//! `assay show`: a stored run or import.

use crate::exit::{DONE, Failure};
use crate::output::{print, style};
use crate::stored::lookup::{StoreArgs, Stored, load};
use assay_lang::tr;
use assay_model::annotation::Annotation;
use assay_model::text::clean;
use assay_report::import::write_json;
use assay_report::terminal::{self, write_summary};
use assay_report::{json, views};
use clap::Args;
use std::io::{self, Write};
use std::process::ExitCode;

/// `assay show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// Name or id of a run or an import, the beginning of its id, or `last`.
    pub run: String,
    /// Print it as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay show`.
pub fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let stored = load(&args.store, &args.run)?;
    print(|out| match (&stored, args.json) {
        (Stored::Run(run), true) => json::write(run, out),
        (Stored::Run(run), false) => {
            write_annotation(&run.annotation, out)?;
            write_summary(run, style(), &[], out)
        }
        (Stored::Import(import), true) => write_json(import, out),
        (Stored::Import(import), false) => {
            write_annotation(&import.annotation, out)?;
            terminal::write(&views::import::document(import), style(), &[], out)
        }
    })?;
    Ok(DONE)
}

/// A line for the name and the tags, one for each line of the note.
fn write_annotation(annotation: &Annotation, out: &mut dyn Write) -> io::Result<()> {
    if let Some(name) = &annotation.name {
        writeln!(out, "{}", tr!("Name: {name}", name = clean(name)))?;
    }
    if !annotation.tags.is_empty() {
        let tags = clean(&annotation.tags.join(", "));
        writeln!(out, "{}", tr!("Tags: {tags}", tags))?;
    }
    for line in annotation.note.iter().flat_map(|note| note.lines()) {
        writeln!(out, "{}", tr!("Note: {line}", line = clean(line)))?;
    }
    match annotation.is_empty() {
        true => Ok(()),
        false => writeln!(out),
    }
}
