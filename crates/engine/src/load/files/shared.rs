//! State of a load's files that its streams share.

use crate::error::EngineError;
use crate::held;
use crate::sys::lock;
use assay_model::load::{Ddir, files::FileLock};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// State of a load's files that its streams share; one for each load. Devices are kept open
/// until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct SharedFiles {
    locks: Mutex<HashMap<PathBuf, Arc<PathLock>>>,
    /// Devices by number, because a device can have several names.
    devices: Mutex<HashMap<u64, Arc<File>>>,
    reserved: Mutex<HashMap<PathBuf, Reserved>>,
}

/// A part of a file that has allocated blocks but no data yet.
#[derive(Clone, Debug)]
struct Reserved {
    part: Range<u64>,
    wave: u32,
}

impl SharedFiles {
    /// Opens a device exclusively. Fails if it is mounted, and prevents mounting it later. (fio
    /// only checks that the device is not mounted.)
    pub(super) fn hold(&self, path: &Path) -> Result<(), EngineError> {
        let what = fs::metadata(path).map_err(|e| EngineError::file("look at", path, e))?;
        let mut devices = lock(&self.devices);
        if devices.contains_key(&what.rdev()) {
            return Ok(());
        }
        let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let device = held::open(path, flags, Mode::empty()).map_err(|errno| {
            let source = match errno {
                Errno::BUSY => io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "it is in use: mounted, swap, part of an array or held by a program",
                ),
                other => other.into(),
            };
            EngineError::file("hold the device", path, source)
        })?;
        devices.insert(what.rdev(), Arc::new(device.into()));
        Ok(())
    }

    /// Returns the exclusive handle of a device, if there is one. The kernel drops dirty pages
    /// for a trim only through that handle, because they could belong to another user of the
    /// device.
    pub(super) fn holder(&self, path: &Path) -> Option<Arc<File>> {
        let device = fs::metadata(path).ok()?.rdev();
        lock(&self.devices).get(&device).cloned()
    }

    /// Records that a stream of `wave` will write this part of a file, which has no data yet.
    pub(super) fn reserve(&self, path: &Path, part: Range<u64>, wave: u32) {
        let mut reserved = lock(&self.reserved);
        let entry = reserved.entry(path.to_owned()).or_insert(Reserved {
            part: part.clone(),
            wave,
        });
        entry.part = entry.part.start.min(part.start)..entry.part.end.max(part.end);
        entry.wave = entry.wave.max(wave);
    }

    /// Returns the offset from which a file has no data when a stream of `wave` starts. Parts
    /// that earlier waves reserved are written by then.
    pub(super) fn unwritten_from(&self, path: &Path, wave: u32) -> Option<u64> {
        let reserved = lock(&self.reserved);
        let entry = reserved.get(path)?;
        (entry.wave >= wave).then_some(entry.part.start)
    }

    /// Records that a file has data up to `end`.
    pub(super) fn written(&self, path: &Path, end: u64) {
        let mut reserved = lock(&self.reserved);
        if let Some(entry) = reserved.get_mut(path) {
            entry.part.start = entry.part.start.max(end);
            if entry.part.is_empty() {
                reserved.remove(path);
            }
        }
    }

    /// Returns the lock of a path, which all streams share.
    pub(super) fn lock_of(&self, path: &Path) -> Arc<PathLock> {
        let mut locks = lock(&self.locks);
        Arc::clone(locks.entry(path.to_owned()).or_default())
    }
}

/// A lock on a file that can be held across calls, as by an I/O in flight. (A guard of the
/// standard library can neither outlive a borrow nor move to another thread.)
#[derive(Debug, Default)]
pub(crate) struct PathLock {
    holders: Mutex<Holders>,
}

#[derive(Debug, Default)]
struct Holders {
    readers: u32,
    writer: bool,
}

impl PathLock {
    /// Takes the lock if it is free.
    pub(super) fn try_hold(self: &Arc<Self>, mode: FileLock, ddir: Ddir) -> Option<HeldLock> {
        let mut holders = lock(&self.holders);
        let shared = is_shared(mode, ddir);
        holders.take(shared).then(|| HeldLock {
            lock: Arc::clone(self),
            shared,
        })
    }
}

fn is_shared(mode: FileLock, ddir: Ddir) -> bool {
    mode == FileLock::ReadWrite && ddir == Ddir::Read
}

impl Holders {
    fn take(&mut self, shared: bool) -> bool {
        if self.writer || !shared && self.readers > 0 {
            return false;
        }
        if shared {
            self.readers += 1;
        } else {
            self.writer = true;
        }
        true
    }
}

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub(crate) struct HeldLock {
    lock: Arc<PathLock>,
    shared: bool,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let mut holders = lock(&self.lock.holders);
        if self.shared {
            holders.readers -= 1;
        } else {
            holders.writer = false;
        }
    }
}
