//! Inspection of a stream's paths.

use super::{FileKind, needs_only_names, problem};
use crate::error::EngineError;
use crate::held;
use crate::held::shown;
use assay_model::job::PathUse;
use assay_model::load::Stream;
use rustix::fs::{FileType, Mode, OFlags, SeekFrom, Stat, major, minor, seek};
use rustix::io::Errno;
use std::fs;
use std::path::{Path, PathBuf};

/// File found at a path.
#[derive(Clone, Debug)]
pub(super) struct InspectedFile {
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
    /// Size of the file; `None` if it is unlimited.
    pub(super) size: Option<u64>,
}

/// Major number and minor numbers of the memory devices that may be used as
/// files (Documentation/admin-guide/devices.txt of Linux): null, zero, full,
/// random, urandom. Other minor numbers give access to memory and I/O ports.
const MEMORY_DEVICES: (u32, [u32; 5]) = (1, [3, 5, 7, 8, 9]);

/// Returns every file of a stream, including those below `opendir`.
pub(super) fn at_files(stream: &Stream) -> Result<Vec<InspectedFile>, EngineError> {
    let mut paths = stream.files.paths.clone();
    if let Some(folder) = &stream.files.opendir {
        below(folder, &mut paths)?;
        if paths.is_empty() {
            let folder = shown(folder);
            return Err(problem(
                stream,
                format!("there is no regular file below opendir={folder}"),
            ));
        }
    }
    if paths.is_empty() {
        return Err(problem(
            stream,
            "it has no files: give filename= or directory=".to_owned(),
        ));
    }
    paths.into_iter().map(|path| at(stream, path)).collect()
}

/// Adds the regular files below a folder, in the order of their names. Does not
/// follow links, as in fio.
fn below(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), EngineError> {
    let failed = |error| EngineError::file("read the directory", folder, error);
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(failed)?;
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            below(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn at(stream: &Stream, path: PathBuf) -> Result<InspectedFile, EngineError> {
    if needs_only_names(stream) {
        return Ok(InspectedFile {
            path,
            kind: FileKind::NameOnly,
            size: None,
        });
    }
    let (kind, size) = match held::stat(&path) {
        Ok(what) => kind_and_size(stream, &path, &what)?,
        Err(Errno::NOENT) => (FileKind::Missing, Some(0)),
        Err(errno) => return Err(EngineError::file("look at", &path, errno.into())),
    };
    Ok(InspectedFile { path, kind, size })
}

fn kind_and_size(
    stream: &Stream,
    path: &Path,
    what: &Stat,
) -> Result<(FileKind, Option<u64>), EngineError> {
    let kind = FileType::from_raw_mode(what.st_mode);
    let no_storage = |is: &str| {
        let path = shown(path);
        Err(problem(
            stream,
            format!("{path} is {is}: give a file or a block device"),
        ))
    };
    if kind.is_file() {
        Ok((FileKind::Regular, Some(what.st_size.cast_unsigned())))
    } else if kind.is_block_device() {
        Ok((FileKind::BlockDevice, Some(device_size(stream, path)?)))
    } else if kind.is_char_device() {
        let (wanted, usable) = MEMORY_DEVICES;
        let memory = major(what.st_rdev) == wanted && usable.contains(&minor(what.st_rdev));
        let paths = stream.engine.kind.properties().paths;
        if memory || takes_character_device(paths, stream.blocks.rw.changes()) {
            Ok((FileKind::CharDevice, None))
        } else {
            no_storage("a character device")
        }
    } else if kind.is_dir() {
        no_storage("a directory")
    } else if kind.is_fifo() {
        no_storage("a pipe")
    } else if kind.is_symlink() {
        no_storage("a symbolic link that another user can change, and is not followed")
    } else {
        no_storage("a socket")
    }
}

/// `true` if a stream may open a character device that leads to a block device. Admission does not
/// know that block device, which may be in use, so the stream must change nothing.
pub(super) fn takes_character_device(paths: PathUse, changes: bool) -> bool {
    paths == PathUse::CharacterDevice && !changes
}

fn device_size(stream: &Stream, path: &Path) -> Result<u64, EngineError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let device = held::open(path, flags, Mode::empty())
        .map_err(|errno| EngineError::file("open", path, errno.into()))?;
    let size = seek(&device, SeekFrom::End(0))
        .map_err(|errno| EngineError::file("ask for the size of", path, errno.into()))?;
    if size == 0 {
        let path = shown(path);
        return Err(problem(
            stream,
            format!("the device {path} has no medium: its size is 0"),
        ));
    }
    Ok(size)
}
