//! One row of a log, as text or in fio's binary form.

use super::LogKind;
use super::samples::IoSample;
use assay_model::load::Ddir;
use assay_model::load::logs::Logs;
use assay_model::load::priority::IoPriority;
use std::io::{self, Write};

/// Flag of the binary form: the offset follows.
const HAS_OFFSET: u32 = 1 << 31;
/// Flag: the priority is valid.
const HAS_PRIORITY: u32 = 1 << 30;
/// Flag: the largest value follows.
const HAS_MAX: u32 = 1 << 29;
/// Flag: the time of issue follows.
const HAS_ISSUE_TIME: u32 = 1 << 28;
/// Class of real-time I/O priorities.
const REAL_TIME: u16 = 1;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogRow {
    /// Time since the start of the stream.
    pub(super) at_ns: u64,
    pub(super) value: u64,
    /// Largest value, if it is logged in addition to the mean.
    pub(super) max: Option<u64>,
    pub(super) ddir: Ddir,
    pub(super) bytes: u32,
    pub(super) offset: u64,
    pub(super) priority: IoPriority,
    /// Time of issue since the start of the stream; 0 in logs without it, as in fio.
    pub(super) issued_ns: u64,
}

impl LogRow {
    /// Returns the row of one I/O in a log; `None` if it has none there. All rows of an I/O have its
    /// completion time. (In fio, rows of the submission latency have the submission time.) `priority`
    /// applies to I/Os without their own.
    pub(super) fn of(sample: &IoSample, kind: LogKind, priority: IoPriority) -> Option<Self> {
        let value = match kind {
            LogKind::Bandwidth => rate(sample),
            LogKind::Iops => 1,
            LogKind::Submission => sample.slat_ns()?,
            LogKind::Completion => sample.clat_ns,
            LogKind::Total => sample.lat_ns,
            LogKind::Histogram => return None,
        };
        Some(Self {
            at_ns: sample.at_ns,
            value,
            max: None,
            ddir: sample.ddir,
            bytes: sample.bytes,
            offset: sample.offset,
            priority: match sample.priority {
                IoPriority::NONE => priority,
                own => own,
            },
            issued_ns: match kind {
                LogKind::Submission | LogKind::Completion => {
                    sample.at_ns.saturating_sub(sample.clat_ns)
                }
                _ => 0,
            },
        })
    }

    /// Returns the time in milliseconds since the start of the stream, plus `epoch_ms`.
    pub(super) fn at_ms(&self, epoch_ms: u64) -> u64 {
        epoch_ms + self.at_ns / 1_000_000
    }

    /// Writes `msec, value[, largest], ddir, bs[, offset], priority[, issued]`. Without `log_prio`, the
    /// priority is 1 for the real-time class and 0 for others.
    pub(super) fn write_text(
        &self,
        epoch_ms: u64,
        options: &Logs,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (ddir, bytes) = (self.ddir.number(), self.bytes);
        write!(out, "{}, {}, ", self.at_ms(epoch_ms), self.value)?;
        if let Some(max) = self.max {
            write!(out, "{max}, ")?;
        }
        write!(out, "{ddir}, {bytes}, ")?;
        if options.offset {
            write!(out, "{}, ", self.offset)?;
        }
        if options.priority {
            write!(out, "0x{:04x}", self.priority.0)?;
        } else {
            write!(out, "{}", u8::from(self.priority.class() == REAL_TIME))?;
        }
        if options.issue_time {
            write!(out, ", {}", self.issued_ns)?;
        }
        writeln!(out)
    }

    /// Writes the format that `fio --inflate-log` reads after decompression: time (ms), value,
    /// direction with flags, priority, block size, and the offset if it is logged. Fields that fio 3.33
    /// does not know follow if they are logged: the largest value and the time of issue. Fields are
    /// naturally aligned and in native byte order.
    pub(super) fn write_binary(
        &self,
        epoch_ms: u64,
        options: &Logs,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let offset_flag = if options.offset { HAS_OFFSET } else { 0 };
        let priority_flag = if options.priority { HAS_PRIORITY } else { 0 };
        let max_flag = if self.max.is_some() { HAS_MAX } else { 0 };
        let issue_flag = if options.issue_time {
            HAS_ISSUE_TIME
        } else {
            0
        };
        let flags = offset_flag | priority_flag | max_flag | issue_flag;
        let ddir = u32::from(self.ddir.number()) | flags;
        out.write_all(&self.at_ms(epoch_ms).to_ne_bytes())?;
        out.write_all(&self.value.to_ne_bytes())?;
        out.write_all(&ddir.to_ne_bytes())?;
        out.write_all(&self.priority.0.to_ne_bytes())?;
        out.write_all(&[0, 0])?;
        out.write_all(&u64::from(self.bytes).to_ne_bytes())?;
        if options.offset {
            out.write_all(&self.offset.to_ne_bytes())?;
        }
        if let Some(max) = self.max {
            out.write_all(&max.to_ne_bytes())?;
        }
        if options.issue_time {
            out.write_all(&self.issued_ns.to_ne_bytes())?;
        }
        Ok(())
    }
}

/// Returns the bandwidth of a single I/O as fio logs it: bytes divided by completion latency, in
/// **thousands** of bytes per second (averages are in KiB/s); 0 if the latency is 0.
fn rate(sample: &IoSample) -> u64 {
    (u64::from(sample.bytes) * 1_000_000)
        .checked_div(sample.clat_ns)
        .unwrap_or(0)
}
