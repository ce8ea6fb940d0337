//! Admission of a load: a device in use is never written.

use crate::permission::{device, is_free, is_no_data, not_owned, refuse};
use assay_engine::load::{laid_out, outputs, traced_files};
use assay_model::load::{Ddir, Load, PerDirection, Stream};
use assay_model::wire::Refusal;
use assay_probe::roots::Roots;
use assay_probe::safety::KernelOwned;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Checks everything that a load would write, before it writes anything. The engine then
/// holds each device while the load runs. Returns warnings for the user.
///
/// # Errors
/// If the load would write a device or a file that is in use, trim a file, or write
/// although it must only read.
pub(super) fn admit(roots: &Roots, load: &Load) -> Result<Vec<String>, Refusal> {
    let streams = load.streams.iter().map(Touching::look);
    let streams = streams.collect::<Result<Vec<_>, _>>()?;
    let owned = KernelOwned::look(roots);
    let outputs = outputs(load);
    outputs
        .iter()
        .try_for_each(|path| is_no_data(&owned, path))?;
    if load.readonly {
        streams.iter().try_for_each(only_reads)?;
        return Ok(Vec::new());
    }
    streams.iter().try_for_each(trims_devices_only)?;
    let mut nodes = BTreeSet::new();
    let mut warnings = Vec::new();
    for touching in &streams {
        for path in touching.laid_out(load) {
            warnings.extend(not_owned(&path, owned.uses_of(&path))?);
        }
        for path in touching.written() {
            match device(&path) {
                Some(node) => drop(nodes.insert(node)),
                None => warnings.extend(not_owned(&path, owned.uses_of(&path))?),
            }
        }
        let stream = touching.stream;
        if let (Some(folder), true) = (&stream.files.opendir, stream.blocks.rw.changes()) {
            warnings.extend(not_owned(folder, owned.uses_below(folder))?);
        }
    }
    nodes.iter().try_for_each(|node| is_free(roots, node))?;
    Ok(warnings)
}

/// A stream and, if it replays a trace, the files in the trace.
struct Touching<'a> {
    stream: &'a Stream,
    traced: Option<Vec<(PathBuf, PerDirection<bool>)>>,
}

impl<'a> Touching<'a> {
    fn look(stream: &'a Stream) -> Result<Self, Refusal> {
        let replays = stream.trace.read.is_some();
        let traced = replays.then(|| traced_files(&stream.trace)).transpose();
        traced
            .map(|traced| Self { stream, traced })
            .map_err(|error| refuse(error.to_string()))
    }

    /// Returns all paths that the load may write.
    fn written(&self) -> Vec<PathBuf> {
        match &self.traced {
            Some(files) => of_traced(files, &[Ddir::Write, Ddir::Trim]),
            None if self.stream.blocks.rw.changes() => self.stream.files.paths.clone(),
            None => Vec::new(),
        }
    }

    /// Returns the files that the stream creates or extends before it reads them, which
    /// is a write to them. For a trace, these may be all files that it reads.
    fn laid_out(&self, load: &Load) -> Vec<PathBuf> {
        if self.stream.blocks.rw.changes() {
            return Vec::new();
        }
        match &self.traced {
            Some(files) => of_traced(files, &[Ddir::Read]),
            None => laid_out(load, self.stream),
        }
    }

    /// Returns the paths whose blocks are discarded.
    fn trimmed(&self) -> Vec<PathBuf> {
        let stream = self.stream;
        if !stream.engine.kind.moves_data() {
            return Vec::new();
        }
        if let Some(files) = &self.traced {
            return of_traced(files, &[Ddir::Trim]);
        }
        let blocks = &stream.blocks.rw;
        let checked = stream.verify.is_some() && blocks.write && stream.trim.percent > 0;
        if !(blocks.trim || checked) {
            return Vec::new();
        }
        let below = stream.files.opendir.iter().cloned();
        stream.files.paths.iter().cloned().chain(below).collect()
    }
}

/// Returns the files to which a trace has I/O of one of these directions.
fn of_traced(files: &[(PathBuf, PerDirection<bool>)], directions: &[Ddir]) -> Vec<PathBuf> {
    let touched = files
        .iter()
        .filter(|(_, does)| directions.iter().any(|&ddir| does[ddir]));
    touched.map(|(path, _)| path.clone()).collect()
}

/// Refuses a stream that writes.
fn only_reads(touching: &Touching<'_>) -> Result<(), Refusal> {
    let stream = touching.stream;
    if stream.blocks.rw.changes() || !touching.written().is_empty() {
        return Err(refuse(format!(
            "job {} writes, and nothing may be written (--readonly)",
            stream.name
        )));
    }
    Ok(())
}

/// Refuses a stream that would trim anything but a block device, as fio does: in a file,
/// a trim would punch a hole, which frees blocks of the file system and measures nothing
/// of the device.
fn trims_devices_only(touching: &Touching<'_>) -> Result<(), Refusal> {
    let refused = |path: &Path| {
        refuse(format!(
            "job {} trims, and {} is no block device: name one, or use ioengine=falloc to free \
             blocks of a file",
            touching.stream.name,
            path.display()
        ))
    };
    let no_device = |path: &&PathBuf| device(path).is_none();
    let trimmed = touching.trimmed();
    trimmed
        .iter()
        .find(no_device)
        .map_or(Ok(()), |path| Err(refused(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::EngineKind;
    use assay_model::load::blocks::{Verify, VerifyKind};
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
        fs::write(
            log.path(),
            "fio version 2 iolog\n/tmp/x add\n/tmp/x read 0 512\n",
        )
        .unwrap();
        assert!(admit(&Roots::default(), &load).is_ok());
        fs::write(
            log.path(),
            "fio version 2 iolog\n/tmp/x add\n/tmp/x write 0 512\n",
        )
        .unwrap();
        assert!(admit(&Roots::default(), &load).is_err());
        load.readonly = false;
        assert!(admit(&Roots::default(), &load).is_ok());
        fs::write(
            log.path(),
            "fio version 2 iolog\n/tmp/x add\n/tmp/x trim 0 512\n",
        )
        .unwrap();
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
    fn a_block_trace_that_writes_is_no_reading() {
        // A `struct blk_io_trace`: 512 bytes queued to be written (Q, W).
        let mut record = [0; 48];
        record[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
        record[24..28].copy_from_slice(&512_u32.to_le_bytes());
        record[28..32].copy_from_slice(&(1_u32 | 1 << 17).to_le_bytes());
        let log = tempfile::NamedTempFile::new().unwrap();
        fs::write(log.path(), record).unwrap();
        let mut load = load(Stream::new("replay"));
        load.readonly = true;
        load.streams[0].trace.read = Some(log.path().to_owned());
        load.streams[0].trace.redirect = Some("/tmp/x".into());
        let refusal = admit(&Roots::default(), &load).unwrap_err();
        assert!(refusal.message.contains("--readonly"), "{refusal:?}");
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let log = tempfile::NamedTempFile::new().unwrap();
        fs::write(log.path(), "fio version 3 iolog\n0 /a add\n1 /a write 0\n").unwrap();
        let mut load = load(Stream::new("replay"));
        load.streams[0].trace.read = Some(log.path().to_owned());
        let refusal = admit(&Roots::default(), &load).unwrap_err();
        assert!(
            refusal.usage && refusal.message.contains("line 3"),
            "{refusal:?}"
        );
    }

    #[test]
    fn what_a_trace_is_replayed_on_counts_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        fs::write(&log, "fio version 2 iolog\n/dev/x add\n/dev/x trim 0 512\n").unwrap();
        let mut stream = Stream::new("replay");
        stream.trace.read = Some(log);
        let written = |stream: &Stream| Touching::look(stream).unwrap().written();
        assert_eq!(written(&stream), [PathBuf::from("/dev/x")]);
        stream.trace.redirect = Some("/dev/y".into());
        assert_eq!(written(&stream), [PathBuf::from("/dev/y")]);
        stream.trace.skip.trim = true;
        assert!(written(&stream).is_empty(), "it is left out");
    }
}
