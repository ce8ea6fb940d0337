//! Trims: blocks that the storage may discard.
//!
//! No engine trims in the background (nor does fio): the call returns when the trim is
//! done.

use crate::io::{Completion, IoUnit, OpenFile, QueueStatus};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use std::fs::File;

/// `BLKDISCARD` of `<linux/fs.h>`: `_IO(0x12, 119)`.
const BLKDISCARD: Opcode = opcode::none(0x12, 119);

/// Trims the block of `unit`, for an engine that queues all other I/Os.
#[cold]
pub(super) fn queue(file: &OpenFile, unit: IoUnit) -> QueueStatus {
    let result = transfer(file, &unit);
    QueueStatus::Completed(Completion { unit, result })
}

/// Trims the block of `unit`.
#[cold]
pub(super) fn transfer(file: &OpenFile, unit: &IoUnit) -> Result<u32, i32> {
    let length = unit.left();
    let from = unit.offset + u64::from(unit.moved);
    trim(file, from, u64::from(length))
        .map(|()| length)
        .map_err(Errno::raw_os_error)
}

/// Discards a part of a device or file: a device discards its sectors, a file gets a
/// hole and keeps its size.
///
/// # Errors
/// If the device or the file system does not support it, or fails.
pub fn discard_range(
    file: &File,
    is_device: bool,
    offset: u64,
    length: u64,
) -> std::io::Result<()> {
    Ok(give_back(file, is_device, offset, length)?)
}

fn give_back(file: &File, is_device: bool, offset: u64, length: u64) -> Result<(), Errno> {
    if is_device {
        return retry_on_intr(|| discard(file, offset, length));
    }
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    retry_on_intr(|| fallocate(file, mode, offset, length))
}

/// Discards a part of an open file, as [`discard_range`] does.
pub(super) fn trim(file: &OpenFile, offset: u64, length: u64) -> Result<(), Errno> {
    let held = file.holder.as_deref().filter(|_| file.is_device);
    give_back(held.unwrap_or(&file.file), file.is_device, offset, length)
}

fn discard(file: &File, offset: u64, length: u64) -> Result<(), Errno> {
    // SAFETY: the call reads two 64-bit numbers, its range, and nothing else.
    unsafe { ioctl(file, Setter::<BLKDISCARD, _>::new([offset, length])) }
}
