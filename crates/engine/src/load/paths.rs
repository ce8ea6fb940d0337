//! Files of a load, which a caller that checks or locks them must know before the load runs: those
//! that its traces name, those that it creates, and those that it writes besides its data.

use super::crew::output_name;
use super::files::FilePlan;
use super::logs::log_names;
use super::run::log_names_of_all;
use super::worker::state_path;
use crate::EngineError;
use crate::load::trace::TraceSummary;
use assay_model::load::blocks::{RwPattern, SaveState};
use assay_model::load::{Ddir, Load, Stream};
use std::path::{Path, PathBuf};

/// Sets the files and directions of streams that replay from their traces. Must be called
/// before [`run`](crate::load::run()), because a caller that locks the files must know all of
/// them.
///
/// # Errors
/// If a trace cannot be replayed.
pub fn adopt(load: &mut Load) -> Result<(), EngineError> {
    load.streams.iter_mut().try_for_each(adopt_one)
}

fn adopt_one(stream: &mut Stream) -> Result<(), EngineError> {
    let Some(path) = &stream.trace.read else {
        return Ok(());
    };
    let summary = TraceSummary::read(path, &stream.trace)?;
    let files = &summary.files;
    stream.files.paths = files.iter().map(|file| file.path.clone()).collect();
    stream.files.named = true;
    // Missing files are created as long as their I/O requires.
    stream.files.file_size = None;
    stream.files.sizes = files.iter().map(|file| file.extent).collect();
    stream.region.size = None;
    let holds = |ddir| summary.ios[ddir] > 0;
    stream.blocks.rw = RwPattern {
        read: holds(Ddir::Read),
        write: holds(Ddir::Write),
        trim: holds(Ddir::Trim),
        ..RwPattern::default()
    };
    Ok(())
}

/// Returns the paths of all logs, traces, verification states and command outputs that a
/// load may write. Dumps of damaged blocks are not included, because their names contain
/// an offset.
pub fn outputs(load: &Load) -> Vec<PathBuf> {
    let folder = load.aux_path.as_deref().unwrap_or(Path::new(""));
    let mut outputs: Vec<PathBuf> = Vec::new();
    if load.bandwidth_log {
        outputs.extend(log_names_of_all().map(|name| folder.join(name)));
    }
    for stream in &load.streams {
        let logs = log_names(&stream.logs, &stream.stats, &stream.name, stream.number);
        outputs.extend(logs.into_iter().map(|name| folder.join(name)));
        outputs.extend(stream.trace.write.iter().map(|path| folder.join(path)));
        outputs.extend(of_commands(stream).map(|name| folder.join(name)));
        if let Some(spec) = &stream.verify
            && spec.save_state != SaveState::Never
            && stream.blocks.rw.write
        {
            outputs.push(state_path(spec, stream, folder));
        }
    }
    outputs
}

fn of_commands(stream: &Stream) -> impl Iterator<Item = String> {
    let schedule = &stream.schedule;
    let commands = [
        (&schedule.exec_before, "prerun"),
        (&schedule.exec_after, "postrun"),
    ];
    let given = commands
        .into_iter()
        .filter(|(command, _)| command.is_some());
    given.map(|(_, when)| output_name(&stream.name, when))
}

/// Returns the regular files that a stream would create or extend before it starts. Empty
/// if the sizes of its files cannot be determined, because such a stream does not start.
pub fn laid_out(load: &Load, stream: &Stream) -> Vec<PathBuf> {
    FilePlan::resolve(stream, load).map_or_else(|_| Vec::new(), |plan| plan.to_lay_out(stream))
}
