//! Start positions of a copy: `skip=` and `seek=`.

use super::Halt;
use super::buffer::Buffers;
use super::copier::Copier;
use super::words;
use crate::Context;
use assay_model::work::copy::Extent;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, read};

impl Copier<'_> {
    /// Skips the beginning of the input.
    pub(super) fn skip(
        &mut self,
        buffers: &mut Buffers,
        context: &mut Context<'_>,
    ) -> Result<(), Halt> {
        let wanted = self.work.skip;
        if wanted.is_empty() {
            return Ok(());
        }
        let begin = self.reading.offset;
        let length = exact(wanted, self.work.input_block);
        let moved = match length {
            Some(length) => self.seek_input(length),
            None => Err(Errno::OVERFLOW),
        };
        let all = match moved {
            Ok(all) => all,
            Err(why) => self.read_over(buffers, why, context)?,
        };
        let passed = self.reading.offset - begin;
        if !all || length.is_some_and(|length| passed < length) {
            let name = self.ends.input.name.leading();
            self.warn(format!("{name}: cannot skip to specified offset"), context);
        }
        Ok(())
    }

    /// Seeks in the input; `true` if all of it could be skipped, `false` if the file is
    /// shorter.
    fn seek_input(&mut self, length: u64) -> Result<bool, Errno> {
        let forward = i64::try_from(length).map_err(|_| Errno::OVERFLOW)?;
        seek(&self.ends.input.fd, SeekFrom::Current(forward))?;
        let left = self.ends.input.size.filter(|&size| size > 0);
        let left = left.map(|size| size.saturating_sub(self.reading.offset));
        let passed = left.map_or(length, |left| left.min(length));
        self.passed(passed);
        Ok(passed == length)
    }

    /// Skips the beginning of an unseekable input by reading.
    fn read_over(
        &mut self,
        buffers: &mut Buffers,
        why: Errno,
        context: &mut Context<'_>,
    ) -> Result<bool, Halt> {
        let input = &self.ends.input;
        if seek(&input.fd, SeekFrom::End(0)).is_ok() {
            let text = words::failed(&format!("{}: cannot skip", input.name.leading()), why);
            return self.give_up(text, context);
        }
        let Extent { mut blocks, bytes } = self.work.skip;
        let mut last = usize::try_from(bytes).unwrap_or(0);
        while blocks > 0 || last > 0 {
            let buffer = buffers.input.bytes_mut();
            let wanted = if blocks > 0 { buffer.len() } else { last };
            match self.read_block(&mut buffer[..wanted], context)? {
                Ok(0) => return Ok(false),
                Ok(count) => self.passed(count as u64),
                Err(why) => {
                    let name = self.ends.input.name.quoted();
                    let text = words::failed(&format!("error reading {name}"), why);
                    if self.work.treatment.go_on {
                        self.tell_stand(context);
                    }
                    return self.give_up(text, context);
                }
            }
            if blocks > 0 {
                blocks -= 1;
            } else {
                last = 0;
            }
        }
        // Skipped data does not count as copied.
        self.report.read_bytes = 0;
        Ok(true)
    }

    /// Skips the beginning of the output.
    pub(super) fn seek(
        &mut self,
        buffers: &mut Buffers,
        context: &mut Context<'_>,
    ) -> Result<(), Halt> {
        let wanted = self.work.seek;
        if wanted.is_empty() {
            return Ok(());
        }
        let length = exact(wanted, self.work.output_block);
        let forward = length.and_then(|length| i64::try_from(length).ok());
        let moved = match forward {
            Some(forward) => seek(&self.ends.output.fd, SeekFrom::Current(forward)),
            None => Err(Errno::OVERFLOW),
        };
        self.writing.cache.moved(&self.ends.output.fd);
        match moved {
            Ok(_) => Ok(()),
            Err(why) => self.go_over_output(buffers, why, context),
        }
    }

    /// Skips the beginning of an unseekable output, such as a tape, by reading, and pads
    /// it with zeros if it is too short.
    fn go_over_output(
        &mut self,
        buffers: &mut Buffers,
        why: Errno,
        context: &mut Context<'_>,
    ) -> Result<(), Halt> {
        let cannot = words::failed(
            &format!("{}: cannot seek", self.ends.output.name.leading()),
            why,
        );
        if seek(&self.ends.output.fd, SeekFrom::End(0)).is_ok() {
            return self.give_up(cannot, context);
        }
        let Buffers { input, output } = buffers;
        let buffer = output.as_mut().unwrap_or(input).bytes_mut();
        let Extent { mut blocks, bytes } = self.work.seek;
        let mut last = usize::try_from(bytes).unwrap_or(0);
        let mut readable = true;
        while blocks > 0 || last > 0 {
            let size = if blocks > 0 { buffer.len() } else { last };
            if readable {
                self.attend(context)?;
                match read(&self.ends.output.fd, &mut buffer[..size]) {
                    Err(Errno::INTR) => continue,
                    Err(_) => return self.give_up(cannot, context),
                    Ok(0) => {
                        readable = false;
                        buffer.fill(0);
                        continue;
                    }
                    Ok(_) => {}
                }
            } else if let Some(why) = self.write(&buffer[..size], context)?.error {
                self.write_failed("writing to", why, context);
                return Err(Halt::Failed);
            }
            if blocks > 0 {
                blocks -= 1;
            } else {
                last = 0;
            }
        }
        Ok(())
    }
}

/// Returns an extent in bytes, if that is a valid file offset.
fn exact(extent: Extent, block: u64) -> Option<u64> {
    let bytes = extent
        .blocks
        .checked_mul(block)?
        .checked_add(extent.bytes)?;
    i64::try_from(bytes).is_ok().then_some(bytes)
}
