//! Files that a load writes besides its data.

use super::crew::output_name;
use super::files::FilePlan;
use super::logs::log_names;
use super::run::log_names_of_all;
use super::worker::state_path;
use assay_model::load::blocks::SaveState;
use assay_model::load::{Load, Stream};
use std::path::{Path, PathBuf};

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
