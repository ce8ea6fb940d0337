//! `assay explain`: where the time of an I/O went, and what would help.

pub mod args;

use crate::checks::part::bus_mode;
use crate::checks::part::device_model;
use crate::exit::{DONE, Failure};
use crate::output::print;
use crate::stored::lookup::{Stored, load};
use crate::stored::sources::split_condition;
use args::ExplainArgs;
use assay_explain::{DeviceFacts, Explained, ExplainedImport};
use assay_lang::in_english;
use assay_model::units::Bytes;
use assay_report::summary::Summary;
use std::process::ExitCode;

/// `assay explain`.
pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let facts = facts(args)?;
    let (name, condition) = split_condition(&args.run);
    let stored = load(&args.store, name)?;
    let explain = || match &stored {
        Stored::Run(run) => {
            let summary = Summary::of(run);
            let explained = Explained::of(&summary, condition, &facts);
            let explained = explained.map_err(Failure::usage)?;
            match args.json {
                true => print(|out| writeln!(out, "{:#}", explained.value())),
                false => args.output.show(&explained.document()),
            }
        }
        Stored::Import(import) => {
            let explained = ExplainedImport::of(import, condition, &facts);
            let explained = explained.map_err(Failure::usage)?;
            match args.json {
                true => print(|out| writeln!(out, "{:#}", explained.value())),
                false => args.output.show(&explained.document()),
            }
        }
    };
    match args.json {
        true => in_english(explain),
        false => explain(),
    }?;
    Ok(DONE)
}

fn facts(args: &ExplainArgs) -> Result<DeviceFacts, Failure> {
    if args.request == Some(Bytes(0)) {
        return Err(Failure::usage("--request must not be 0"));
    }
    Ok(DeviceFacts {
        only: args.only.clone(),
        ceiling: args.bus.as_deref().map(bus_mode).transpose()?,
        part: args.part.as_deref().map(device_model).transpose()?,
        request: args.request,
    })
}
