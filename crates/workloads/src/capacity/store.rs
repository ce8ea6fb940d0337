//! Storage from which blocks are read and to which they are written.

use crate::WorkError;
use crate::meter::Meter;
use assay_engine::held::{self, shown};
use assay_model::job::Direction;
use rustix::fs::{Advice, Mode, OFlags, SeekFrom, fadvise, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Storage of a known length. Tests implement it with faults that no available device
/// has.
pub(crate) trait BlockStore {
    /// Returns the length in bytes.
    fn bytes(&self) -> u64;
    /// Reads all of `into` from `offset` on, except bytes beyond the end.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()>;
    /// Writes all of `from` to `offset`.
    fn write_at(&mut self, offset: u64, from: &[u8]) -> io::Result<()>;
    /// Flushes: on return, all written data is durable.
    fn flush(&mut self) -> io::Result<()>;

    /// Reads like [`Self::read_at`], and counts.
    fn read_counted(&mut self, meter: &mut Meter, at: u64, into: &mut [u8]) -> io::Result<()> {
        let (length, began_ns) = (into.len() as u64, meter.now_ns());
        self.read_at(at, into)
            .inspect_err(|error| meter.failed(Some(Direction::Read), at, length, error))?;
        meter.moved(Direction::Read, length, began_ns);
        Ok(())
    }

    /// Writes like [`Self::write_at`], and counts.
    fn write_counted(&mut self, meter: &mut Meter, at: u64, from: &[u8]) -> io::Result<()> {
        let (length, began_ns) = (from.len() as u64, meter.now_ns());
        self.write_at(at, from)
            .inspect_err(|error| meter.failed(Some(Direction::Write), at, length, error))?;
        meter.moved(Direction::Write, length, began_ns);
        Ok(())
    }

    /// Flushes like [`Self::flush`], and counts. `at` is the end of the data written
    /// before.
    fn flush_counted(&mut self, meter: &mut Meter, at: u64) -> io::Result<()> {
        let began_ns = meter.now_ns();
        self.flush()
            .inspect_err(|error| meter.failed(None, at, 0, error))?;
        meter.flushed(began_ns);
        Ok(())
    }
}

/// Access for which a file or device is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// For reading.
    Read,
    /// For reading and writing; a device is held exclusively.
    Write,
}

/// A file or device, accessed without the page cache if possible.
#[derive(Debug)]
pub(crate) struct DirectFile {
    file: File,
    bytes: u64,
    direct: bool,
}

impl DirectFile {
    /// Opens a path with `O_DIRECT`, or without if the file system does not support it:
    /// its pages are then dropped first.
    pub(crate) fn open(path: &Path, purpose: Use) -> Result<Self, WorkError> {
        let failed = |errno| WorkError::call(format!("cannot open {}", shown(path)), errno);
        let flags = match purpose {
            Use::Read => OFlags::RDONLY,
            Use::Write => OFlags::RDWR | OFlags::EXCL,
        };
        let (file, direct) = open_direct(path, flags | OFlags::NOFOLLOW).map_err(failed)?;
        // Unlike the metadata, this also returns the length of a device.
        let bytes = seek(&file, SeekFrom::End(0)).map_err(failed)?;
        if !direct {
            // Pages that stay cached appear in the evidence.
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
        }
        Ok(Self {
            file,
            bytes,
            direct,
        })
    }

    /// Returns true if it is accessed without the page cache.
    pub(crate) const fn is_direct(&self) -> bool {
        self.direct
    }
}

/// Opens with `O_DIRECT` if that is supported; returns `true` if it was.
pub(crate) fn open_direct(path: &Path, flags: OFlags) -> Result<(File, bool), Errno> {
    let open = |more| held::open(path, flags | OFlags::CLOEXEC | more, Mode::empty());
    let (opened, direct) = match open(OFlags::DIRECT) {
        Err(Errno::INVAL) => (open(OFlags::empty()), false),
        other => (other, true),
    };
    Ok((opened?.into(), direct))
}

impl BlockStore for DirectFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() && offset + (done as u64) < self.bytes {
            match self.file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_at(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.file.write_all_at(from, offset)
    }

    fn flush(&mut self) -> io::Result<()> {
        rustix::fs::fdatasync(&self.file).map_err(Into::into)
    }
}
