//! `preadv(2)` and `pwritev(2)`, and their second edition, which takes flags.

use super::trim;
use crate::error::EngineError;
use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus, moved};
use assay_model::job::EngineKind;
use assay_model::load::{Ddir, Engine};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{ReadWriteFlags, preadv, preadv2, pwritev, pwritev2, retry_on_intr};
use std::io::{IoSlice, IoSliceMut};

/// `preadv(2)` and `pwritev(2)`, one block a call.
#[derive(Debug, Default)]
pub(crate) struct Pvsync;

impl IoEngine for Pvsync {
    const ASYNCHRONOUS: bool = false;

    #[inline]
    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        if unit.ddir == Ddir::Trim {
            return trim::queue(file, unit);
        }
        let writes = unit.ddir == Ddir::Write;
        let (offset, bytes) = unit.remainder();
        let result = moved(if writes {
            retry_on_intr(|| pwritev(&file.file, &[IoSlice::new(bytes)], offset))
        } else {
            retry_on_intr(|| preadv(&file.file, &mut [IoSliceMut::new(bytes)], offset))
        });
        QueueStatus::Completed(Completion { unit, result })
    }
}

/// `preadv2(2)` and `pwritev2(2)`.
#[derive(Debug)]
pub(crate) struct Pvsync2 {
    flags: ReadWriteFlags,
}

impl Pvsync2 {
    pub(crate) fn new(engine: &Engine) -> Self {
        let mut flags = ReadWriteFlags::empty();
        flags.set(ReadWriteFlags::HIPRI, engine.hipri);
        flags.set(ReadWriteFlags::NOWAIT, engine.nowait);
        Self { flags }
    }
}

impl IoEngine for Pvsync2 {
    const ASYNCHRONOUS: bool = false;

    #[inline]
    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        if unit.ddir == Ddir::Trim {
            return trim::queue(file, unit);
        }
        let (writes, flags) = (unit.ddir == Ddir::Write, self.flags);
        let (offset, bytes) = unit.remainder();
        let result = moved(if writes {
            retry_on_intr(|| pwritev2(&file.file, &[IoSlice::new(bytes)], offset, flags))
        } else {
            retry_on_intr(|| preadv2(&file.file, &mut [IoSliceMut::new(bytes)], offset, flags))
        });
        QueueStatus::Completed(Completion { unit, result })
    }
}

/// Whether there is a `preadv2(2)` (Linux 4.6).
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
