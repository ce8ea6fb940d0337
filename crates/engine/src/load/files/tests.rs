//! Tests on real files in scratch folders.

mod lay_out;
mod refusals;
mod sizes;
mod table;

use super::{FilePlan, SharedFiles};
use crate::EngineError;
use crate::load::Note;
use assay_model::load::{Extent, Load, Stream};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// A stream named `job`, over these files.
fn stream<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Stream {
    let mut stream = Stream::new("job");
    stream.files.paths = paths.into_iter().map(Into::into).collect();
    stream
}

/// The same, only writing.
fn writer<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Stream {
    let mut stream = stream(paths);
    stream.blocks.rw.read = false;
    stream.blocks.rw.write = true;
    stream
}

fn sized(mut stream: Stream, bytes: u64) -> Stream {
    stream.region.size = Some(Extent::Bytes(bytes));
    stream
}

/// A file of zeros, really written.
fn file(folder: &TempDir, name: &str, size: usize) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, vec![0; size]).unwrap();
    path
}

fn resolve(stream: &Stream) -> Result<FilePlan, EngineError> {
    FilePlan::resolve(stream, &Load::default())
}

/// (offset, length) of each file.
fn spans(plan: &FilePlan) -> Vec<(u64, u64)> {
    let spans = plan.files.iter().map(|file| file.span);
    spans.map(|span| (span.offset, span.length)).collect()
}

fn refusal(stream: &Stream) -> String {
    resolve(stream).unwrap_err().to_string()
}

/// Resolves and lays out; the plan and the notes.
fn made(stream: &Stream, shared: &SharedFiles) -> (FilePlan, Vec<Note>) {
    let mut plan = resolve(stream).unwrap();
    let mut notes = Vec::new();
    let stop = AtomicBool::new(false);
    plan.lay_out(stream, shared, &stop, &mut |note| notes.push(note))
        .unwrap();
    (plan, notes)
}
