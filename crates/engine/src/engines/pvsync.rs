//! `preadv(2)` and `pwritev(2)`, and their second version, which takes flags.

use super::trim;
use crate::error::EngineError;
use crate::io::{IoEngine, IoUnit, OpenFile, moved};
use assay_model::job::EngineKind;
use assay_model::load::{Ddir, Engine};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, ReadWriteFlags, preadv, preadv2, pwritev, pwritev2, retry_on_intr};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};

/// The engine, with one block per call. Both versions share one type: the branch between them
/// costs little in comparison with the call, and the worker loop is not compiled for each.
#[derive(Debug)]
pub(crate) struct Pvsync {
    /// Flags of the second version; `None` for the first.
    flags: Option<ReadWriteFlags>,
}

impl Pvsync {
    /// Creates an engine that uses `preadv(2)` and `pwritev(2)`.
    pub(crate) const fn first() -> Self {
        Self { flags: None }
    }

    /// Creates an engine that uses `preadv2(2)` and `pwritev2(2)`.
    pub(crate) fn second(engine: &Engine) -> Self {
        let mut flags = ReadWriteFlags::empty();
        flags.set(ReadWriteFlags::HIPRI, engine.hipri);
        flags.set(ReadWriteFlags::NOWAIT, engine.nowait);
        Self { flags: Some(flags) }
    }

    fn read(&self, file: &File, bytes: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let bytes = &mut [IoSliceMut::new(bytes)];
        match self.flags {
            None => preadv(file, bytes, offset),
            Some(flags) => preadv2(file, bytes, offset, flags),
        }
    }

    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        let bytes = &[IoSlice::new(bytes)];
        match self.flags {
            None => pwritev(file, bytes, offset),
            Some(flags) => pwritev2(file, bytes, offset, flags),
        }
    }
}

impl IoEngine for Pvsync {
    // Inlined: a return after a system call costs over 100 ns if the kernel flushes return
    // predictions.
    #[inline(always)]
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        if unit.ddir == Ddir::Trim {
            return trim::transfer(file, unit);
        }
        let writes = unit.ddir == Ddir::Write;
        let (offset, bytes) = unit.remainder();
        moved(if writes {
            retry_on_intr(|| self.write(&file.file, bytes, offset))
        } else {
            retry_on_intr(|| self.read(&file.file, bytes, offset))
        })
    }
}

/// Checks that `preadv2(2)` exists (Linux 4.6).
pub(crate) fn probe() -> Result<(), EngineError> {
    let mut nothing = [0; 1];
    open("/dev/zero", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| {
            let mut to = [IoSliceMut::new(&mut nothing)];
            preadv2(file, &mut to, 0, ReadWriteFlags::empty())
        })
        .map(drop)
        .map_err(|errno| EngineError::unavailable(EngineKind::Pvsync2, errno.into()))
}
