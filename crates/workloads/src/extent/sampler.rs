//! Taking samples.

use super::place::ExtentFile;
use crate::meter::Meter;
use crate::progress::ProgressReporter;
use crate::{Context, WorkError};
use assay_engine::buffer::IoBuf;
use assay_engine::held::shown;
use assay_model::job::Direction;
use assay_model::work::extent::{ExtentSample, SampleKind};
use std::io;

/// Consecutive failures after which sampling is given up.
const HOPELESS: u32 = 16;

/// Takes samples of one kind.
pub(super) struct Sampler<'a> {
    place: &'a ExtentFile,
    of: SampleKind,
    length: u64,
    buffer: IoBuf,
    samples: Vec<ExtentSample>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(place: &'a ExtentFile, of: SampleKind, sample_bytes: u64) -> Self {
        let length = match of {
            SampleKind::Read | SampleKind::Write => sample_bytes,
            SampleKind::Access => place.page(),
        };
        Self {
            place,
            of,
            length,
            buffer: IoBuf::zeroed(usize::try_from(length).unwrap_or(usize::MAX)),
            samples: Vec::new(),
        }
    }

    /// Takes the first sample, which does not count; returns the others.
    pub(super) fn warm_up<'b>(&mut self, offsets: &'b [u64]) -> &'b [u64] {
        let Some((&first, rest)) = offsets.split_first() else {
            return offsets;
        };
        // An error will occur again when the sample is taken.
        let _ = self.place.read(self.buffer.block_mut(), first);
        rest
    }

    /// Takes a sample at each of these offsets. Failed samples are counted and left out.
    pub(super) fn take(
        &mut self,
        offsets: &[u64],
        meter: &mut Meter,
        context: &mut Context<'_>,
    ) -> Result<(), WorkError> {
        let (name, done) = match self.of {
            SampleKind::Read => ("read", 0),
            SampleKind::Write => ("write", 1),
            SampleKind::Access => ("access", 2),
        };
        let total = offsets.len() as u64;
        let mut progress = ProgressReporter::new(name, done, Some(total)).of_items();
        let mut in_vain = 0;
        for (number, &offset) in offsets.iter().enumerate() {
            if context.stopped() {
                return Err(WorkError::Stopped);
            }
            match self.sample(offset, meter) {
                Ok(sample) => {
                    self.samples.push(sample);
                    in_vain = 0;
                }
                Err(error) => {
                    let taken = self.samples.iter().map(|sample| sample.bytes).sum();
                    meter.is_there(context, taken)?;
                    in_vain += 1;
                    if in_vain == HOPELESS {
                        return Err(self.hopeless(offset, &error));
                    }
                }
            }
            progress.report(context, number as u64 + 1);
        }
        match (self.samples.is_empty(), offsets.first()) {
            (true, Some(&offset)) => Err(self.hopeless(offset, &io::ErrorKind::Other.into())),
            _ => Ok(()),
        }
    }

    fn hopeless(&self, offset: u64, error: &io::Error) -> WorkError {
        WorkError::Failed {
            message: format!(
                "cannot sample {}: too many samples failed, the last at offset {offset}: {error}",
                shown(self.place.path())
            ),
            errno: error.raw_os_error(),
        }
    }

    fn sample(&mut self, offset: u64, meter: &mut Meter) -> io::Result<ExtentSample> {
        let place = self.place;
        // There may be less space than a whole sample after the last offsets.
        let left = place.bytes() - offset;
        let bytes = self.length.min(left - left % place.page());
        let usable = usize::try_from(bytes).unwrap_or(usize::MAX);
        let buffer = &mut self.buffer.block_mut()[..usable];
        place.forget(offset, bytes);
        let elapsed_ns = match self.of {
            SampleKind::Read => {
                find(place, buffer, offset, meter)?;
                place.forget(offset, bytes);
                timed_read(place, buffer, offset, meter)?
            }
            SampleKind::Write => {
                read(place, buffer, offset, meter)?;
                timed_write(place, buffer, offset, meter)?
            }
            SampleKind::Access => timed_read(place, buffer, offset, meter)?,
        };
        Ok(ExtentSample {
            offset,
            bytes,
            elapsed_ns,
        })
    }

    pub(super) fn into_samples(self) -> Vec<ExtentSample> {
        self.samples
    }
}

/// Moves to an offset by reading its first page.
fn find(place: &ExtentFile, buffer: &mut [u8], offset: u64, meter: &mut Meter) -> io::Result<()> {
    let page = usize::try_from(place.page()).unwrap_or(usize::MAX);
    let page = page.min(buffer.len());
    read(place, &mut buffer[..page], offset, meter)
}

/// Reads; counts a failure.
fn read(place: &ExtentFile, buffer: &mut [u8], offset: u64, meter: &mut Meter) -> io::Result<()> {
    let length = buffer.len() as u64;
    place
        .read(buffer, offset)
        .inspect_err(|error| meter.failed(Some(Direction::Read), offset, length, error))
}

fn timed_read(
    place: &ExtentFile,
    buffer: &mut [u8],
    offset: u64,
    meter: &mut Meter,
) -> io::Result<u64> {
    let (length, began_ns) = (buffer.len() as u64, meter.now_ns());
    read(place, buffer, offset, meter)?;
    Ok(meter.moved(Direction::Read, length, began_ns))
}

/// Writes and flushes; the time of both counts.
fn timed_write(
    place: &ExtentFile,
    buffer: &[u8],
    offset: u64,
    meter: &mut Meter,
) -> io::Result<u64> {
    let (length, began_ns) = (buffer.len() as u64, meter.now_ns());
    place
        .write(buffer, offset)
        .inspect_err(|error| meter.failed(Some(Direction::Write), offset, length, error))?;
    let write_ns = meter.moved(Direction::Write, length, began_ns);
    let began_ns = meter.now_ns();
    place
        .flush()
        .inspect_err(|error| meter.failed(None, offset, length, error))?;
    Ok(write_ns + meter.flushed(began_ns))
}
