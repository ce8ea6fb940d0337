//! Settings that a stream takes from the trace that it replays.

use crate::error::EngineError;
use crate::load::trace::TraceSummary;
use assay_model::load::blocks::RwPattern;
use assay_model::load::{Ddir, Load, Stream};

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
