//! Whether a load may be run: no device that is in use is written.

use super::replay::{self, files_of};
use crate::permission::{device, is_free, not_owned, refuse};
use assay_model::load::{Load, Stream};
use assay_model::wire::Refusal;
use assay_probe::roots::Roots;
use assay_probe::safety::KernelOwned;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Looks at everything that a load would write, before it writes anything. The
/// engine then holds each device for as long as the load runs. Gives what the
/// user should know.
///
/// # Errors
/// When it would write a device or a file that is in use, trim a file, or write
/// anything although it must not.
pub(super) fn admit(roots: &Roots, load: &Load) -> Result<Vec<String>, Refusal> {
    if load.readonly {
        load.streams.iter().try_for_each(only_reads)?;
        return Ok(Vec::new());
    }
    load.streams.iter().try_for_each(trims_devices_only)?;
    let mut nodes = BTreeSet::new();
    let mut warnings = Vec::new();
    let owned = KernelOwned::look(roots);
    for stream in &load.streams {
        for path in written(stream) {
            match device(&path) {
                Some(node) => drop(nodes.insert(node)),
                None => warnings.extend(not_owned(&path, owned.uses_of(&path))?),
            }
        }
        if let (Some(folder), true) = (&stream.files.opendir, stream.blocks.rw.changes()) {
            warnings.extend(not_owned(folder, owned.uses_below(folder))?);
        }
    }
    nodes.iter().try_for_each(|node| is_free(roots, node))?;
    Ok(warnings)
}

/// Fails when a stream writes.
fn only_reads(stream: &Stream) -> Result<(), Refusal> {
    let trace = stream.trace.read.as_deref();
    let replayed = trace.is_some_and(|trace| !files_of(trace, &["write", "trim"]).is_empty());
    if stream.blocks.rw.changes() || replayed {
        return Err(refuse(format!(
            "job {} writes, and nothing may be written (--readonly)",
            stream.name
        )));
    }
    Ok(())
}

/// Fails when a stream would trim something else than a block device, as fio
/// does: in a file, a trim would be a hole, which frees blocks of the file system
/// and tells nothing about a device.
fn trims_devices_only(stream: &Stream) -> Result<(), Refusal> {
    let refused = |path: &Path| {
        refuse(format!(
            "job {} trims, and {} is no block device: name one, or use ioengine=falloc to free \
             blocks of a file",
            stream.name,
            path.display()
        ))
    };
    let no_device = |path: &&PathBuf| device(path).is_none();
    let trimmed = trimmed(stream);
    trimmed
        .iter()
        .find(no_device)
        .map_or(Ok(()), |path| Err(refused(path)))
}

/// The paths that a stream discards blocks of.
fn trimmed(stream: &Stream) -> Vec<PathBuf> {
    if let Some(trace) = &stream.trace.read {
        let named = files_of(trace, &["trim"]);
        return match &stream.trace.redirect {
            Some(path) if !named.is_empty() => vec![path.clone()],
            Some(_) => Vec::new(),
            None => named,
        };
    }
    let blocks = &stream.blocks.rw;
    let checked = stream.verify.is_some() && blocks.write && stream.trim.percent > 0;
    if !(blocks.trim || checked) || !stream.engine.kind.moves_data() {
        return Vec::new();
    }
    let below = stream.files.opendir.iter().cloned();
    stream.files.paths.iter().cloned().chain(below).collect()
}

/// All paths that a stream may write.
fn written(stream: &Stream) -> Vec<PathBuf> {
    match (&stream.trace.read, &stream.trace.redirect) {
        (Some(_), Some(path)) => vec![path.clone()],
        (Some(trace), None) => replay::written(trace),
        (None, _) if stream.blocks.rw.changes() => stream.files.paths.clone(),
        (None, _) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::EngineKind;
    use assay_model::load::verify::{Verify, VerifyKind};
    use assay_probe::safety::FileUse;
    use std::fs;

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
            assert_eq!(admit(&Roots::default(), &load), Ok(Vec::new()));
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
    fn only_devices_are_trimmed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut load = load(writer(file.path()));
        load.streams[0].trim.percent = 10;
        let admitted = |load: &Load| admit(&Roots::default(), load);
        assert!(
            admitted(&load).is_ok(),
            "nothing is checked, so none is trimmed"
        );
        load.streams[0].verify = Some(Verify::new(VerifyKind::Null));
        assert!(admitted(&load).is_err());
        load.streams[0].trim.percent = 0;
        assert!(admitted(&load).is_ok());
        load.streams[0].blocks.rw.trim = true;
        let refusal = admitted(&load).unwrap_err();
        assert!(refusal.usage && refusal.message.contains("no block device"));
        for kind in [EngineKind::Falloc, EngineKind::Null] {
            load.streams[0].engine.kind = kind;
            assert!(admitted(&load).is_ok(), "{kind:?}");
        }
    }

    #[test]
    fn a_replay_that_writes_is_no_reading() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut load = load(Stream::new("replay"));
        load.readonly = true;
        load.streams[0].trace.read = Some(log.path().to_owned());
        fs::write(log.path(), "fio version 2 iolog\n/tmp/x read 0 512\n").unwrap();
        assert!(admit(&Roots::default(), &load).is_ok());
        fs::write(log.path(), "fio version 2 iolog\n/tmp/x write 0 512\n").unwrap();
        assert!(admit(&Roots::default(), &load).is_err());
        load.readonly = false;
        assert!(admit(&Roots::default(), &load).is_ok());
        fs::write(log.path(), "fio version 2 iolog\n/tmp/x trim 0 512\n").unwrap();
        assert!(admit(&Roots::default(), &load).is_err());
    }

    #[test]
    fn a_file_that_nobody_but_a_loop_device_uses_is_warned_of() {
        let file_use = |reasons: &[&str]| FileUse {
            file: "/disk.img".into(),
            device: Some("loop9".to_owned()),
            reasons: reasons.iter().map(ToString::to_string).collect(),
        };
        let path = Path::new("/link");
        let warnings = not_owned(path, vec![file_use(&[])]).unwrap();
        assert!(warnings[0].contains("loop9"), "{warnings:?}");
        let refusal = not_owned(path, vec![file_use(&["loop9 is mounted on /mnt"])]).unwrap_err();
        for part in ["/link", "/disk.img", "mounted on /mnt"] {
            assert!(refusal.message.contains(part), "{}", refusal.message);
        }
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
