//! Properties that a trace gives to the stream that replays it.

use crate::error::EngineError;
use crate::load::trace::TraceSummary;
use assay_model::load::blocks::RwPattern;
use assay_model::load::{Ddir, Load, Stream};

/// Streams that replay take their files and directions from their traces. To be done before a
/// load is [run](crate::load::run()): whoever holds its files has to know all of them.
///
/// # Errors
/// When a trace cannot be replayed.
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
    // What is missing is made as long as its I/O reaches.
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
