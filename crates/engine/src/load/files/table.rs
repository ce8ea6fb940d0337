//! The open files of a running stream.

use super::{FileKind, FilePlan, HeldLock, PathLock, PlannedFile, SharedFiles, open};
use crate::engines::OpenFile;
use crate::load::Note;
use crate::{EngineError, held, page_cache};
use assay_model::job::PathUse;
use assay_model::load::blocks::FileLock;
use assay_model::load::{Ddir, Stream};
use rustix::fs::{AtFlags, FileType, Stat};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The open files of a running stream, limited to the number it may have open at once.
///
/// Create it when the stream's wave begins, so that its warnings about holes take account of the
/// writes of earlier waves.
///
/// The table does not know the engine. The caller notifies the engine of opened files, and
/// receives closed files to flush them and notify the engine before they are dropped.
#[derive(Debug)]
pub(crate) struct FileTable<'a> {
    stream: &'a Stream,
    plan: &'a FilePlan,
    /// Open files by number; a separate vector, because each I/O accesses it.
    open: Vec<Option<OpenFile>>,
    uses: Vec<Use>,
    locks: Vec<Arc<PathLock>>,
    shared: &'a SharedFiles,
    limit: usize,
    number_open: usize,
    /// Number of uses so far, to find the least recently used file.
    uses_made: u64,
    notes: Vec<Note>,
}

/// Use of a file.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    in_flight: u32,
    last: u64,
    opened_before: bool,
}

/// Result of a check for room to open one more file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Another file can be opened.
    Free,
    /// This file must be closed first: it is the least recently used one without I/O.
    Close(u32),
    /// Every open file has I/O in flight; the caller must wait for one.
    Busy,
}

impl<'a> FileTable<'a> {
    /// Creates a table with no open file.
    pub(crate) fn new(stream: &'a Stream, plan: &'a FilePlan, shared: &'a SharedFiles) -> Self {
        let files = plan.files.len();
        let limit = match stream.files.open_at_once as usize {
            0 => files,
            limit => limit.min(files),
        };
        let locks = match stream.files.lock {
            FileLock::None => Vec::new(),
            FileLock::Exclusive | FileLock::ReadWrite => plan
                .files
                .iter()
                .map(|file| shared.lock_of(&file.path))
                .collect(),
        };
        Self {
            stream,
            plan,
            open: std::iter::repeat_with(|| None).take(files).collect(),
            uses: vec![Use::default(); files],
            locks,
            shared,
            limit,
            number_open: 0,
            uses_made: 0,
            notes: Vec::new(),
        }
    }

    /// Returns true if not all files are open at the same time.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit < self.open.len()
    }

    /// Returns an open file.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&OpenFile> {
        self.open.get(number as usize)?.as_ref()
    }

    /// Returns the numbers of the open files.
    pub(crate) fn open_numbers(&self) -> impl Iterator<Item = u32> {
        self.open.iter().flatten().map(|file| file.number)
    }

    /// Counts the start of an I/O to the file.
    #[inline]
    pub(crate) fn began(&mut self, number: u32) {
        self.uses_made += 1;
        let usage = &mut self.uses[number as usize];
        usage.in_flight += 1;
        usage.last = self.uses_made;
    }

    /// Counts the end of an I/O to the file.
    #[inline]
    pub(crate) fn ended(&mut self, number: u32) {
        self.uses[number as usize].in_flight -= 1;
    }

    /// Checks for room to open one more file.
    pub(crate) fn room(&self) -> Room {
        if self.number_open < self.limit {
            return Room::Free;
        }
        self.open_numbers()
            .filter(|&number| self.uses[number as usize].in_flight == 0)
            .min_by_key(|&number| self.uses[number as usize].last)
            .map_or(Room::Busy, Room::Close)
    }

    /// Opens a file, unless it is open. Call [`Self::room`] before.
    ///
    /// # Errors
    /// [`EngineError::NoDirect`] if `O_DIRECT` is refused, else the error of the failed call.
    pub(crate) fn open(&mut self, number: u32) -> Result<&OpenFile, EngineError> {
        let index = number as usize;
        if self.open[index].is_none() {
            let planned = &self.plan.files[index];
            let first = !self.uses[index].opened_before;
            let notes = &mut self.notes;
            let mut file = open(self.stream, planned, number, first, &mut |note| {
                notes.push(note)
            })?;
            if file.is_device {
                file.holder = self.shared.holder(&planned.path);
            }
            self.open[index] = Some(file);
            self.number_open += 1;
            self.uses_made += 1;
            self.uses[index].last = self.uses_made;
            self.uses[index].opened_before = true;
        }
        Ok(self.open[index].as_ref().expect("it was opened just now"))
    }

    /// Opens as many files as may be open at once, ordered by number. With `pre_read`, reads the
    /// regions of all files first.
    ///
    /// # Errors
    /// As for [`Self::open`]; [`EngineError::Stopped`] if `stop` was set.
    pub(crate) fn open_first(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        if self.stream.files.pre_read && self.stream.engine.kind.properties().paths.opens() {
            for file in &self.plan.files {
                pre_read(file, stop)?;
            }
        }
        for file in (0..).take(self.limit) {
            self.open(file)?;
        }
        Ok(())
    }

    /// Returns the notes since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Removes an open file from the table. No I/O to it may be in flight.
    pub(crate) fn close(&mut self, number: u32) -> Option<OpenFile> {
        debug_assert_eq!(self.uses[number as usize].in_flight, 0);
        let file = self.open[number as usize].take()?;
        self.number_open -= 1;
        Some(file)
    }

    /// Returns the lock of a file for an I/O, if one is required and free; it is held until it is
    /// dropped. `Err` if it is taken. If this stream has I/O in flight, complete that before
    /// waiting for the lock.
    pub(crate) fn try_lock(&self, number: u32, ddir: Ddir) -> Result<Option<HeldLock>, LockBusy> {
        match self.locks.get(number as usize) {
            None => Ok(None),
            Some(lock) => match lock.try_hold(self.stream.files.lock, ddir) {
                None => Err(LockBusy),
                held => Ok(held),
            },
        }
    }

    /// Removes the stream's regular files, or the directories that its engine
    /// worked on. Devices are never removed.
    ///
    /// # Errors
    /// If an existing file cannot be removed.
    pub(crate) fn remove_files(&self) -> Result<(), EngineError> {
        self.plan
            .files
            .iter()
            .filter(|file| self.is_removable(file))
            .try_for_each(|file| match self.remove(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(EngineError::file("remove", &file.path, error))
                }
                _ => Ok(()),
            })
    }

    fn remove(&self, file: &PlannedFile) -> std::io::Result<()> {
        let paths = self.stream.engine.kind.properties().paths;
        match paths.is_of_directories() {
            true => Ok(held::unlink(&file.path, AtFlags::REMOVEDIR)?),
            false => held::remove_file(&file.path),
        }
    }

    /// Returns true if the stream may remove a file. Files known only by name are removed only if
    /// the engine creates files; the null engine creates none. The path must now lead to a regular
    /// file, or to a directory if the engine works on directories.
    fn is_removable(&self, file: &PlannedFile) -> bool {
        let paths = self.stream.engine.kind.properties().paths;
        let made_by_name = file.kind == FileKind::NameOnly && paths == PathUse::NewFile;
        if paths.is_of_directories() {
            return held::status(&file.path).is_ok_and(|what| file_type(&what).is_dir());
        }
        let is_own = file.is_regular() || made_by_name;
        is_own && held::stat(&file.path).is_ok_and(|what| file_type(&what).is_file())
    }
}

fn file_type(what: &Stat) -> FileType {
    FileType::from_raw_mode(what.st_mode)
}

/// The lock of the file is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockBusy;

/// Reads a region into the page cache through a separate descriptor, because the stream's may be
/// direct.
fn pre_read(file: &PlannedFile, stop: &AtomicBool) -> Result<(), EngineError> {
    /// Bytes read between two checks of the stop flag.
    const PIECE: u64 = 64 << 20;
    if matches!(file.kind, FileKind::CharDevice | FileKind::NameOnly) {
        return Ok(());
    }
    let opened = held::open_to_read(&file.path)
        .map_err(|error| EngineError::file("open", &file.path, error))?;
    let mut at = file.span.offset;
    while at < file.span.end() {
        if stop.load(Ordering::Relaxed) {
            return Err(EngineError::Stopped);
        }
        let piece = PIECE.min(file.span.end() - at);
        page_cache::warm(&opened, &file.path, at, piece)?;
        at += piece;
    }
    Ok(())
}
