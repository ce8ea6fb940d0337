//! What a trace says about the stream that replays it.

use crate::error::EngineError;
use crate::load::source::holds;
use crate::load::trace::TraceReader;
use assay_model::load::blocks::RwPattern;
use assay_model::load::{Ddir, Load, Stream};

/// Streams that replay take their files and directions from their traces.
/// Why a stream cannot, by its index.
pub(super) fn adopt(load: &mut Load) -> Vec<Option<EngineError>> {
    let streams = load.streams.iter_mut();
    streams.map(|stream| adopt_one(stream).err()).collect()
}

fn adopt_one(stream: &mut Stream) -> Result<(), EngineError> {
    let Some(path) = &stream.trace.read else {
        return Ok(());
    };
    let reader = TraceReader::open(path, &stream.trace)?;
    let files = reader.files();
    if files.is_empty() {
        return Err(EngineError::Job {
            job: stream.name.clone(),
            problem: format!("{} holds no I/O to replay", path.display()),
        });
    }
    stream.files.paths = files.to_vec();
    stream.files.named = true;
    // What is missing is made as long as its I/O reaches.
    stream.files.file_size = None;
    stream.files.sizes = reader.summary().extents.clone();
    stream.region.size = None;
    stream.blocks.rw = RwPattern {
        read: holds(&reader, Ddir::Read),
        write: holds(&reader, Ddir::Write),
        trim: holds(&reader, Ddir::Trim),
        ..RwPattern::default()
    };
    Ok(())
}
