//! Buffers for writing and reading.

use crate::WorkError;
use assay_engine::EngineError;
use assay_engine::buffer::{IoBuf, fill_random};
use assay_engine::held::shown;
use assay_model::rng::SplitMix64;
use assay_model::work::iozone::Iozone;
use std::path::Path;

/// Begin of each record, so that a file of an earlier test can be distinguished from one
/// with other data.
pub(super) const MARK: [u8; 16] = *b"assay iozone  1\n";
/// Size of iozone's buffer area with many buffers (`-m`).
const MANY: usize = 16 << 20;

/// Checks that all buffers fit into half of the machine's memory: the remainder is for
/// the page cache, which the tests measure.
///
/// # Errors
/// If they do not fit.
pub(super) fn admit(work: &Iozone) -> Result<(), WorkError> {
    let info = rustix::system::sysinfo();
    #[allow(clippy::useless_conversion, reason = "32 bits on some machines")]
    let memory = u64::from(info.totalram).saturating_mul(u64::from(info.mem_unit));
    fits(work, memory)
}

fn fits(work: &Iozone, memory: u64) -> Result<(), WorkError> {
    let largest = work.rows.iter().map(|row| row.record_kib).max();
    let record = largest.unwrap_or(0).saturating_mul(1024);
    let area = if work.many_buffers {
        record.max(MANY as u64)
    } else {
        record
    };
    // C streams use another third of a record.
    let of_child = area.saturating_mul(2).saturating_add(record);
    let children = work.children.iter().max().map_or(1, |&most| most);
    let needed = of_child.saturating_mul(u64::from(children));
    if needed <= memory / 2 {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Err(WorkError::Refused(format!(
        "records of {} KiB with {children} at a time need buffers of {} MiB, more than half of this machine's memory ({} MiB): give a smaller -r or -q, or fewer children",
        record >> 10,
        mib(needed),
        mib(memory)
    )))
}

/// Buffers of a child.
pub(super) struct Buffers {
    write: IoBuf,
    read: IoBuf,
    /// Bytes of a record.
    record: usize,
    /// Records that fit into the area.
    windows: usize,
    area: usize,
    verify: Option<u8>,
    diagnose: bool,
    many: bool,
}

impl Buffers {
    pub(super) fn new(work: &Iozone, largest_kib: u64, seed: u64) -> Result<Self, EngineError> {
        let largest = bytes(largest_kib);
        let area = if work.many_buffers {
            largest.max(MANY)
        } else {
            largest
        };
        let mut write = IoBuf::of(area as u64)?;
        if work.verify.is_none() {
            fill_random(write.block_mut(), &mut SplitMix64::new(seed));
        }
        Ok(Self {
            write,
            read: IoBuf::of(area as u64)?,
            record: 0,
            windows: 1,
            area,
            verify: work.verify,
            diagnose: work.diagnose,
            many: work.many_buffers,
        })
    }

    /// Prepares the buffers for records of this size.
    pub(super) fn prepare(&mut self, record_kib: u64) {
        let record = bytes(record_kib).min(self.area);
        if record == self.record {
            return;
        }
        self.record = record;
        self.windows = if self.many { self.area / record } else { 1 };
        for window in 0..self.windows {
            let start = window * record;
            let block = &mut self.write.block_mut()[start..start + record];
            if let Some(pattern) = self.verify {
                fill_pattern(block, pattern, self.diagnose);
            }
            let mark = MARK.len().min(block.len());
            block[..mark].copy_from_slice(&MARK[..mark]);
        }
    }

    #[inline]
    fn start(&self, index: u64) -> usize {
        if self.windows == 1 {
            return 0;
        }
        let windows = self.windows as u64;
        usize::try_from(index % windows).unwrap_or(0) * self.record
    }

    /// Returns the record to write in the `index`-th I/O.
    #[inline]
    pub(super) fn to_write(&self, index: u64) -> &[u8] {
        let start = self.start(index);
        &self.write.block()[start..start + self.record]
    }

    /// Returns the buffer for the record of the `index`-th I/O.
    #[inline]
    pub(super) fn read_place(&mut self, index: u64) -> &mut [u8] {
        let start = self.start(index);
        let record = self.record;
        &mut self.read.block_mut()[start..start + record]
    }

    /// Compares the data of the `index`-th read with the data written; returns a
    /// description of a difference.
    pub(super) fn check(&self, index: u64, offset: u64, path: &Path) -> Option<String> {
        let start = self.start(index);
        let read = &self.read.block()[start..start + self.record];
        let written = &self.write.block()[start..start + self.record];
        let mut pairs = read.iter().zip(written);
        let at = pairs.position(|(read, written)| read != written)?;
        Some(format!(
            "{} differs from what was written, first at byte {}: {:#04x} was read instead of {:#04x} (without a write by the same -V or -+d before, it always does)",
            shown(path),
            offset + at as u64,
            read[at],
            written[at]
        ))
    }
}

/// Fills a block with one byte, or with `diagnose` with a different byte at each
/// position, so that shifted data is detected as well.
fn fill_pattern(block: &mut [u8], pattern: u8, diagnose: bool) {
    if !diagnose {
        block.fill(pattern);
        return;
    }
    for (at, byte) in block.iter_mut().enumerate() {
        *byte = pattern ^ u8::try_from(at % 251).unwrap_or(0);
    }
}

fn bytes(kib: u64) -> usize {
    usize::try_from(kib << 10).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::iozone::IozoneRow;

    #[test]
    fn buffers_leave_half_of_the_memory() {
        let mut work = Iozone {
            rows: vec![IozoneRow {
                file_kib: 1 << 52,
                record_kib: 16 << 10,
            }],
            ..Iozone::default()
        };
        assert!(fits(&work, 96 << 20).is_ok());
        work.children = vec![1, 2];
        let error = fits(&work, 96 << 20).unwrap_err().to_string();
        assert!(
            error.contains("2 at a time need buffers of 96 MiB"),
            "{error}"
        );
        work.rows[0].record_kib = 1 << 52;
        assert!(fits(&work, u64::MAX).is_err());
        assert!(admit(&work).is_err());
    }
}
