//! Execution of a load: admission (a device in use is never written), folders held open, evidence
//! for its waves, and messages to the host.

mod watch;

use crate::frame::FrameError;
use crate::messages::Outbox;
use crate::permission::{device, is_free, is_no_data, not_owned, refuse};
use crate::plan::{Abort, Runner, refused};
use crate::workspace::Workspace;
use assay_engine::held::{HeldFolder, named, shown};
use assay_engine::load::{adopt, laid_out, outputs, traced_files};
use assay_model::act::{Act, ActReport};
use assay_model::job::EngineKind;
use assay_model::load::report::LoadReport;
use assay_model::load::{Ddir, Load, PerDirection, Stream};
use assay_model::plan::Place;
use assay_model::wire::{FromAgent, Refusal, RunEnd};
use assay_probe::roots::Roots;
use assay_probe::safety::KernelOwned;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};
use watch::LoadWatch;

/// Runs streams, and sends their report to the host. Their files are the user's: none is removed
/// unless the job file says so.
pub(crate) fn run(
    runner: &Runner<'_>,
    mut load: Load,
) -> Result<(RunEnd, Option<ActReport>), Abort> {
    let Runner {
        roots,
        inspected,
        outbox,
        controls,
        ..
    } = *runner;
    let folder = private_folder(&mut load).map_err(Abort::Refused)?;
    let warnings = admit(roots, &load).map_err(Abort::Refused)?;
    for stream in &load.streams {
        let named = stream.trace.redirect.iter().chain(&stream.files.paths);
        inspected.check_all(roots, named).map_err(Abort::Refused)?;
    }
    for text in warnings {
        outbox.warn(text)?;
    }
    adopt(&mut load).map_err(|error| refused(error.to_string()))?;
    // Until all is over.
    let _held = hold_folders_of_load(&mut load).map_err(Abort::Refused)?;
    let mut watch = LoadWatch::new(roots, outbox, &load);
    let report = assay_engine::load::run(&load, controls, &mut watch);
    if let Some(problem) = folder.and_then(Workspace::clear) {
        outbox.warn(problem)?;
    }
    let end = match (watch.lost(), runner.is_stopped()) {
        (Some(error), _) => RunEnd::DeviceLost { error },
        (None, true) => RunEnd::Cancelled,
        (None, false) => RunEnd::Finished,
    };
    watch.close(report)?;
    Ok((end, None))
}

/// Makes the folder for a file that the load makes. After a kill, the next start finds and
/// removes it.
fn private_folder(load: &mut Load) -> Result<Option<Workspace>, Refusal> {
    let mut redirected = load.streams.iter_mut();
    let file = redirected.find_map(|stream| stream.trace.redirect.as_mut());
    let (Some(run_id), Some(file)) = (&load.made_for, file) else {
        return Ok(None);
    };
    let path = file.clone();
    let made = Workspace::new(&Place::Directory { path }, run_id);
    let made = made.map_err(|error| refuse(format!("{}: {error}", file.display())))?;
    *file = made.data();
    Ok(Some(made))
}

/// Sends a report, one message per stream.
fn send_report(outbox: &Outbox, mut report: LoadReport) -> Result<(), FrameError> {
    for evidence in &mut report.evidence {
        replace_invalid_utf8(&mut evidence.evidence.storage.path);
    }
    for mut stream in std::mem::take(&mut report.streams) {
        for (path, _) in &mut stream.files {
            replace_invalid_utf8(path);
        }
        outbox.send(&FromAgent::LoadStream(Box::new(stream)))?;
    }
    outbox.send(&FromAgent::LoadReport(Box::new(report)))
}

/// Converts a name that is not valid UTF-8 (a directory may hold any bytes), as messages are
/// text. Otherwise a name could prevent the report of hours of measurement.
fn replace_invalid_utf8(path: &mut PathBuf) {
    if let Cow::Owned(name) = named(path) {
        *path = name;
    }
    if let Cow::Owned(shown) = path.to_string_lossy() {
        *path = shown.into();
    }
}

/// Checks everything that a load would write, before it writes anything. The engine then
/// holds each device while the load runs. Returns warnings for the user.
///
/// # Errors
/// If the load would write a device or a file that is in use, trim a file, or write
/// although it must only read.
fn admit(roots: &Roots, load: &Load) -> Result<Vec<String>, Refusal> {
    let streams = load.streams.iter().map(Touching::of);
    let streams = streams.collect::<Result<Vec<_>, _>>()?;
    let owned = KernelOwned::scan(roots);
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
    fn of(stream: &'a Stream) -> Result<Self, Refusal> {
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

/// Held folders by their names; dropping this closes them. They protect root against path
/// manipulation: if another user can replace a folder on the way to a named file by a link, the
/// folder is held open, and its names are resolved through the descriptor.
#[derive(Debug, Default)]
pub(crate) struct HeldFolders(BTreeMap<PathBuf, Option<HeldFolder>>);

/// Holds the folders of a load's files. Streams that replay a trace must have their files
/// from it already ([`adopt`]).
///
/// # Errors
/// If a folder cannot be opened, or the path to it contains a link that another user can
/// change.
fn hold_folders_of_load(load: &mut Load) -> Result<HeldFolders, Refusal> {
    let mut held = HeldFolders::default();
    for stream in &mut load.streams {
        // These engines open no files, and their names may be anything.
        if matches!(stream.engine.kind, EngineKind::Null | EngineKind::Sim) {
            continue;
        }
        for path in &mut stream.files.paths {
            held.file(path)?;
        }
        if let Some(folder) = &mut stream.files.opendir {
            held.folder(folder)?;
        }
    }
    Ok(held)
}

/// Holds the folders of an act's files; those of streams are held by [`hold_folders_of_load`] once they are
/// known.
///
/// # Errors
/// As [`hold_folders_of_load`].
pub(crate) fn hold_folders_of_act(act: &mut Act) -> Result<HeldFolders, Refusal> {
    let work = act.spec_mut();
    let mut held = HeldFolders::default();
    for path in work.named_files() {
        held.file(path)?;
    }
    // Folders that assay makes are held by the code that makes them.
    if let Some(path) = work.named_folder().filter(|path| path.is_dir()) {
        held.folder(path)?;
    }
    Ok(held)
}

impl HeldFolders {
    /// Holds the folder of a file, or the nearest existing one above it.
    fn file(&mut self, path: &mut PathBuf) -> Result<(), Refusal> {
        let above = path.ancestors().skip(1);
        let there = |folder: &&Path| folder.as_os_str().is_empty() || fs::metadata(folder).is_ok();
        let Some(folder) = above.into_iter().find(there).map(Path::to_owned) else {
            return Ok(());
        };
        let through = self.through(&folder)?;
        if let (Some(through), Ok(rest)) = (through, path.strip_prefix(&folder)) {
            *path = through.join(rest);
        }
        Ok(())
    }

    fn folder(&mut self, path: &mut PathBuf) -> Result<(), Refusal> {
        if let Some(through) = self.through(path)? {
            *path = through;
        }
        Ok(())
    }

    /// Returns the path through the descriptor; `None` if no other user can change the path.
    fn through(&mut self, folder: &Path) -> Result<Option<PathBuf>, Refusal> {
        if !self.0.contains_key(folder) {
            let held = hold_if_open_to_others(folder).map_err(|error| {
                let folder = shown(folder);
                refuse(format!("{folder} is left alone: {error}"))
            })?;
            self.0.insert(folder.to_owned(), held);
        }
        let held = self.0.get(folder).and_then(Option::as_ref);
        Ok(held.map(|held| held.path().to_owned()))
    }
}

/// Opens a folder. If the kernel refuses, the code that uses the folder reports the error.
fn hold_if_open_to_others(folder: &Path) -> io::Result<Option<HeldFolder>> {
    match HeldFolder::if_open_to_others(folder) {
        Err(error) if error.raw_os_error().is_some() => Ok(None),
        held => held,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::EngineKind;
    use assay_model::load::blocks::{Verify, VerifyKind};
    use assay_probe::safety::FileUse;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn any_name_can_be_said() {
        let mut path = PathBuf::from("/a/é");
        replace_invalid_utf8(&mut path);
        assert_eq!(path, PathBuf::from("/a/é"));
        let mut path = PathBuf::from(OsStr::from_bytes(b"/a/\xff"));
        replace_invalid_utf8(&mut path);
        assert_eq!(path.to_str(), Some("/a/\u{fffd}"));
    }

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
    fn the_device_that_a_trace_trims_counts_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        fs::write(&log, "fio version 2 iolog\n/dev/x add\n/dev/x trim 0 512\n").unwrap();
        let mut stream = Stream::new("replay");
        stream.trace.read = Some(log);
        let written = |stream: &Stream| Touching::of(stream).unwrap().written();
        assert_eq!(written(&stream), [PathBuf::from("/dev/x")]);
        stream.trace.redirect = Some("/dev/y".into());
        assert_eq!(written(&stream), [PathBuf::from("/dev/y")]);
        stream.trace.skip.trim = true;
        assert!(written(&stream).is_empty(), "it is left out");
    }
}
