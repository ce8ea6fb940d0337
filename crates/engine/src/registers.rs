//! Registers and logs that a device returns only in response to a special command. All of these
//! commands only read. They need root; other users get `EPERM` or `EACCES`.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Updater, ioctl, opcode};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::path::Path;

/// `MMC_IOC_CMD` of `<linux/mmc/ioctl.h>`: `_IOWR(MMC_BLOCK_MAJOR, 0, …)`.
const MMC_IOC_CMD: Opcode = opcode::read_write::<MmcCommand>(179, 0);
/// `NVME_IOCTL_ADMIN_CMD` of `<linux/nvme_ioctl.h>`.
const NVME_ADMIN: Opcode = opcode::read_write::<NvmeCommand>(b'N', 0x41);

/// `LOOP_GET_STATUS64` of `<linux/loop.h>`, which predates numbers with a size.
const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// Time limit of a command, in milliseconds; a drive that hangs does not block forever.
const PATIENCE_MS: u32 = 5_000;

/// `struct mmc_ioc_cmd`.
#[repr(C)]
#[derive(Default)]
struct MmcCommand {
    write: i32,
    is_application: i32,
    opcode: u32,
    argument: u32,
    response: [u32; 4],
    flags: u32,
    block_size: u32,
    blocks: u32,
    sleep_min_us: u32,
    sleep_max_us: u32,
    data_timeout_ns: u32,
    command_timeout_ms: u32,
    padding: u32,
    data: u64,
}

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_length: u32,
    data_length: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// Reads the EXT_CSD of an eMMC (CMD8). Must not be sent to an SD card, where CMD8 is another
/// command.
///
/// # Errors
/// Errors of `ioctl(2)`: no permission, a kernel without the call, no answer.
pub fn ext_csd(disk: &File) -> io::Result<Vec<u8>> {
    const SEND_EXT_CSD: u32 = 8;
    card_register(disk, SEND_EXT_CSD, 0, 512)
}

/// Reads the SD Status of a card (ACMD13).
///
/// # Errors
/// As for [`ext_csd`].
pub fn sd_status(disk: &File) -> io::Result<Vec<u8>> {
    const SD_STATUS: u32 = 13;
    card_register(disk, SD_STATUS, 1, 64)
}

/// `MMC_RSP_SPI_R1 | MMC_RSP_R1 | MMC_CMD_ADTC` of `<linux/mmc/core.h>`: a command with
/// a response and a block of data.
const READS_A_BLOCK: u32 = 1 << 7 | (1 | 1 << 2 | 1 << 4) | 1 << 5;

fn card_register(
    disk: &File,
    opcode: u32,
    is_application: i32,
    length: u32,
) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; length as usize];
    let mut command = MmcCommand {
        opcode,
        is_application,
        flags: READS_A_BLOCK,
        block_size: length,
        blocks: 1,
        data: address(&mut bytes),
        ..MmcCommand::default()
    };
    // SAFETY: `command` has the layout of the kernel's structure, which the call reads
    // and whose response it writes. It writes one block of `length` bytes to `data`:
    // `bytes` is as long and lives until the call has returned.
    let done = unsafe { ioctl(disk, Updater::<MMC_IOC_CMD, _>::new(&mut command)) };
    done.map(|()| bytes).map_err(Errno::into)
}

/// Reads the Identify Controller data of an NVMe drive, 4096 bytes.
///
/// # Errors
/// Errors of `ioctl(2)`: no permission, a kernel without the call, an error of the drive.
pub fn nvme_controller(disk: &File) -> io::Result<Vec<u8>> {
    const IDENTIFY: u8 = 0x06;
    const CONTROLLER: u32 = 1;
    nvme_read(disk, IDENTIFY, 0, CONTROLLER, 4096)
}

/// Reads the SMART / Health Information of an NVMe drive, 512 bytes.
///
/// # Errors
/// As for [`nvme_controller`].
pub fn nvme_smart(disk: &File) -> io::Result<Vec<u8>> {
    const GET_LOG_PAGE: u8 = 0x02;
    const ALL_NAMESPACES: u32 = u32::MAX;
    const SMART: u32 = 0x02;
    const LENGTH: u32 = 512;
    // The command takes the length in words of four bytes, minus one.
    let page = SMART | (LENGTH / 4 - 1) << 16;
    nvme_read(disk, GET_LOG_PAGE, ALL_NAMESPACES, page, LENGTH)
}

fn nvme_read(
    disk: &File,
    opcode: u8,
    namespace: u32,
    word_10: u32,
    length: u32,
) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; length as usize];
    let mut command = NvmeCommand {
        opcode,
        namespace,
        data: address(&mut bytes),
        data_length: length,
        words_10_15: [word_10, 0, 0, 0, 0, 0],
        timeout_ms: PATIENCE_MS,
        ..NvmeCommand::default()
    };
    // SAFETY: `command` has the layout of the kernel's structure, which the call reads
    // and whose result it writes. It writes at most `data_length` bytes to `data`:
    // `bytes` is as long and lives until the call has returned.
    let status = unsafe { ioctl(disk, Admin(&mut command)) };
    match status {
        Ok(0) => Ok(bytes),
        // The drive's status, not the kernel's.
        Ok(status) => Err(io::Error::other(format!(
            "the drive answers with status {status:#x}"
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Returns the device number (`st_dev`) and inode of the file behind a loop device, even if the file
/// was renamed; `None` if the kernel does not report them.
pub fn loop_file(node: &Path) -> Option<(u64, u64)> {
    /// Size of `struct loop_info64`, which begins with device number and inode.
    const WORDS: usize = 232 / 8;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let device = rustix::fs::open(node, flags, Mode::empty()).ok()?;
    let mut info = [0_u64; WORDS];
    // SAFETY: the call writes one `struct loop_info64`, which `info` has the size and at least the
    // alignment of.
    unsafe { ioctl(&device, Updater::<LOOP_GET_STATUS64, _>::new(&mut info)) }.ok()?;
    Some((info[0], info[1]))
}

fn address(bytes: &mut [u8]) -> u64 {
    bytes.as_mut_ptr().expose_provenance() as u64
}

/// A command for the controller; the call returns the drive's status.
struct Admin<'a>(&'a mut NvmeCommand);

// SAFETY: the number is that of a call which takes a pointer to the structure and may
// write it; the pointer is that of an exclusive reference, so it is valid as long.
unsafe impl Ioctl for Admin<'_> {
    type Output = i32;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        NVME_ADMIN
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut *self.0).cast()
    }

    unsafe fn output_from_ptr(status: IoctlOutput, _: *mut c_void) -> rustix::io::Result<i32> {
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes are a part of the calls' numbers: what `<linux/mmc/ioctl.h>` and
    /// `<linux/nvme_ioctl.h>` make of them on all machines of this program.
    #[test]
    fn the_numbers_of_the_calls_are_the_kernels() {
        assert_eq!(MMC_IOC_CMD, 0xc048_b300);
        assert_eq!(NVME_ADMIN, 0xc048_4e41);
    }

    #[test]
    fn a_file_that_is_no_drive_has_no_registers() {
        let file = tempfile::tempfile().unwrap();
        assert!(ext_csd(&file).is_err());
        assert!(sd_status(&file).is_err());
        assert!(nvme_smart(&file).is_err());
        assert!(nvme_controller(&file).is_err());
    }
}
