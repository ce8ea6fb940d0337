//! `assay replay TRACE PATH`: repeats recorded I/O.

pub mod args;
mod load;
mod place;

use crate::checks::admission::can_be_stored;
use crate::checks::input;
use crate::driver::host::Host;
use crate::driver::records::entries;
use crate::exit::{DONE, Failure};
use crate::jobs::load_trials::RepeatedLoad;
use crate::output::{print_json, say, show, style};
use crate::stored::guard::keep_apart;
use args::ReplayArgs;
use assay_lang::tr;
use assay_model::load::PerDirection;
use assay_model::units::Bytes;
use assay_model::wire::Feature;
use assay_report::{json, views};
use assay_target::Target;
use assay_trace::Action;
use assay_trace::describe::{Description, describe};
use assay_trace::fit::{Shrink, extent, fit};
use assay_trace::recording::Recording;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

/// Replays or describes a trace.
///
/// # Errors
/// If the trace cannot be read, or may not be replayed there.
pub fn run(args: &ReplayArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let mut recording = read(&args.trace)?;
    let path = match (&args.path, args.describe) {
        (second, true) => return describe_all(args, &recording, second.as_deref()),
        (Some(path), false) => path,
        (None, false) => return Err(Failure::usage("name a file, folder or device to replay on")),
    };
    can_be_stored(path)?;
    can_be_stored(&args.trace)?;
    let store_path = args.store.path()?;
    target.needs(Feature::Loads);
    let mut host = Host::start(target)?;
    let found = place::find(&mut host, path)?;
    let trims = found.leave_out_trims(&mut recording);
    let described = describe(&recording);
    found.admit(&described, args.destroy_data)?;
    // Paths on another machine have no meaning here.
    if host.target().is_none() {
        let file = Some(found.file.clone()).filter(|_| !found.is_made());
        keep_apart(&store_path, file.into_iter().chain(args.log.clone()))?;
    }
    let recorded_extent = extent(&recording);
    let size = found
        .size
        .or(args.size)
        .map_or(recorded_extent, |size| size.0);
    let shrink = match args.shrink {
        args::ShrinkBy::Wrap => Shrink::Wrap,
        args::ShrinkBy::Scale => Shrink::Scale,
    };
    let fitted =
        fit(&recording, size, shrink).map_err(|error| Failure::in_file(&args.trace, error))?;
    let replay = load::step(args, &described, &fitted, recorded_extent, trims);
    if replay.shrunk.is_some() {
        say(&tr!(
            "assay: the trace spans {recorded}, the storage has {size}: {moved} I/Os were moved to other offsets",
            recorded = Bytes(recorded_extent),
            size = Bytes(size),
            moved = replay.moved
        ));
    }
    let load = load::load(args, &described, &fitted, &found)?;
    let entries = entries(&load);
    if entries.is_empty() {
        let why = "it only trims: a run keeps no figures of trims";
        return Err(Failure::in_file(&args.trace, why));
    }
    let asked = RepeatedLoad {
        load,
        entries,
        replay: Some(replay),
        is_private: found.is_made(),
        inspection: found.inspection,
        trials: args.trials,
        json: args.json,
    };
    asked.carry_out(target, &mut host, args.store.open(&store_path)?)
}

/// Reads a trace, which is a file on this machine.
fn read(path: &Path) -> Result<Recording, Failure> {
    let file = input::open(path).map(BufReader::new);
    let read = file.and_then(Recording::read);
    read.map_err(|error| Failure::in_file(path, error))
}

/// Describes the recording, or two of them side by side.
fn describe_all(
    args: &ReplayArgs,
    first: &Recording,
    second: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let name = |path: &Path| path.display().to_string();
    let mut all: Vec<(String, Description)> = vec![(name(&args.trace), describe(first))];
    if let Some(path) = second {
        all.push((name(path), describe(&read(path)?)));
    }
    match args.json {
        true => print_json(&json::recordings(&all))?,
        false => show(&views::recordings::document(&all, style().ascii))?,
    }
    Ok(DONE)
}

/// Counts the I/Os of each direction.
fn counts(recording: &Recording) -> PerDirection<u64> {
    let mut counts = PerDirection::default();
    for step in &recording.steps {
        if let Action::Io(io) = step.action {
            counts[io.ddir] += 1;
        }
    }
    counts
}
