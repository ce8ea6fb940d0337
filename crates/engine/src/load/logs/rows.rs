//! One row of a log, as text or in fio's binary form.

use super::LogKind;
use super::samples::IoSample;
use assay_model::load::Ddir;
use assay_model::load::logs::Logs;
use assay_model::load::priority::IoPriority;
use std::io::{self, Write};

/// Set in the binary form if the offset follows.
const HAS_OFFSET: u32 = 1 << 31;
/// Set if the priority is to be shown.
const HAS_PRIORITY: u32 = 1 << 30;
/// Set if the largest value follows.
const HAS_MAX: u32 = 1 << 29;
/// Set if the time of issue follows.
const HAS_ISSUE_TIME: u32 = 1 << 28;
/// Class of real-time I/O priorities.
const REAL_TIME: u16 = 1;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogRow {
    /// Since the start of the stream.
    pub(super) at_ns: u64,
    pub(super) value: u64,
    /// The largest value beside the mean, where both are logged.
    pub(super) max: Option<u64>,
    pub(super) ddir: Ddir,
    pub(super) bytes: u32,
    pub(super) offset: u64,
    pub(super) priority: IoPriority,
    /// When it was issued, since the start of the stream; 0 in logs that do not
    /// tell it, as in fio.
    pub(super) issued_ns: u64,
}

impl LogRow {
    /// The row of one I/O in a log; `None`: it has none there. All of an I/O's
    /// rows have the time of its completion. (fio's of the submission latency
    /// have that of the submission.) `priority` is that of I/Os without one of
    /// their own.
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

    /// Since the start of the stream, or what the epoch is (ms).
    pub(super) fn at_ms(&self, epoch_ms: u64) -> u64 {
        epoch_ms + self.at_ns / 1_000_000
    }

    /// `msec, value[, largest], ddir, bs[, offset], priority[, issued]`. Without `log_prio`, the
    /// last tells only whether the class is real time.
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

    /// As `fio --inflate-log` reads it after decompression: time (ms), value,
    /// direction with flags, priority, block size, and the offset if it is
    /// logged; then what fio 3.33 does not know, the largest value and the time
    /// of issue, if they are logged. Each is aligned to its own size, in the byte order of the machine.
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

/// The bandwidth of a single I/O, as fio logs it: its bytes by its completion
/// latency, in **thousands** of bytes per second (where averages are in KiB/s);
/// 0 if it took no time that could be measured.
fn rate(sample: &IoSample) -> u64 {
    (u64::from(sample.bytes) * 1_000_000)
        .checked_div(sample.clat_ns)
        .unwrap_or(0)
}
