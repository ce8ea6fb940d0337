//! Whether a load may be run: no device that is in use is written.

use super::replay;
use crate::inspect::uses;
use assay_model::load::{Load, Stream};
use assay_model::wire::Refusal;
use assay_probe::roots::Roots;
use assay_probe::stack;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Looks at everything that a load would write, before it writes anything. The
/// engine then holds each device for as long as the load runs.
///
/// # Errors
/// When it would write a device that is in use, or anything although it must
/// not.
pub(super) fn admit(roots: &Roots, load: &Load) -> Result<(), Refusal> {
    let mut nodes = BTreeSet::new();
    for stream in &load.streams {
        if load.readonly && changes(stream) {
            return Err(refuse(format!(
                "job {} writes, and nothing may be written (--readonly)",
                stream.name
            )));
        }
        if !load.readonly {
            nodes.extend(written(stream).iter().filter_map(|path| device(path)));
        }
    }
    nodes.iter().try_for_each(|node| is_free(roots, node))
}

/// Whether a stream changes what is on its files by itself.
fn changes(stream: &Stream) -> bool {
    stream.blocks.rw.write || stream.blocks.rw.trim
}

/// All paths that a stream may write.
fn written(stream: &Stream) -> Vec<PathBuf> {
    match (&stream.trace.read, &stream.trace.redirect) {
        (Some(_), Some(path)) => vec![path.clone()],
        (Some(trace), None) => replay::written(trace),
        (None, _) if changes(stream) => stream.files.paths.clone(),
        (None, _) => Vec::new(),
    }
}

/// The node of a block device behind a path; `None` for all else.
fn device(path: &Path) -> Option<PathBuf> {
    let node = fs::canonicalize(path).ok()?;
    let meta = fs::metadata(&node).ok()?;
    meta.file_type().is_block_device().then_some(node)
}

/// Fails when somebody uses a device.
fn is_free(roots: &Roots, node: &Path) -> Result<(), Refusal> {
    let storage = stack::resolve(roots, node).map_err(|error| refuse(error.to_string()))?;
    let reasons = match storage.top() {
        Some(top) => uses(roots, node, &top.name),
        None => vec!["what it is cannot be told".to_owned()],
    };
    if reasons.is_empty() {
        return Ok(());
    }
    Err(refuse(format!(
        "{} is in use and is left alone: {}",
        node.display(),
        reasons.join("; ")
    )))
}

fn refuse(message: String) -> Refusal {
    Refusal {
        usage: true,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(path: &Path) -> Stream {
        let mut stream = Stream::new("w");
        stream.blocks.rw.write = true;
        stream.files.paths = vec![path.to_owned()];
        stream
    }

    fn load(stream: Stream) -> Load {
        Load {
            streams: vec![stream],
            ..Load::default()
        }
    }

    #[test]
    fn regular_files_need_no_leave() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let there = load(writer(file.path()));
        let missing = load(writer(&file.path().join("missing")));
        for load in [there, missing] {
            assert_eq!(admit(&Roots::default(), &load), Ok(()));
        }
    }

    #[test]
    fn readonly_is_kept_by_the_side_that_writes() {
        let mut load = load(writer(Path::new("/tmp/x")));
        load.readonly = true;
        let refusal = admit(&Roots::default(), &load).unwrap_err();
        assert!(refusal.usage);
        assert!(
            refusal.message.contains("--readonly"),
            "{}",
            refusal.message
        );
        load.streams[0].blocks.rw.write = false;
        assert!(admit(&Roots::default(), &load).is_ok());
    }

    #[test]
    fn what_a_trace_is_replayed_on_counts_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        fs::write(&log, "fio version 2 iolog\n/dev/x add\n/dev/x trim 0 512\n").unwrap();
        let mut stream = Stream::new("replay");
        stream.trace.read = Some(log);
        assert_eq!(written(&stream), [PathBuf::from("/dev/x")]);
        stream.trace.redirect = Some("/dev/y".into());
        assert_eq!(written(&stream), [PathBuf::from("/dev/y")]);
    }
}
