//! A block device of the kernel that lies: a [`Fake`] behind the NBD protocol,
//! which `nbdfuse` shows as a file, with a loop device over that.

use crate::command::{Unavailable, Undo, text};
use crate::fake::Fake;
use crate::loop_device::LoopDevice;
use crate::process::Process;
use crate::scratch::Scratch;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// `nbdfuse` that takes longer to start will not.
const STARTS_WITHIN: Duration = Duration::from_secs(20);

/// The device; it goes away when this is dropped.
#[derive(Debug)]
pub struct FakeDevice {
    // Taken down in this order.
    device: LoopDevice,
    _mount: Undo,
    _nbdfuse: Process,
    fake: Arc<Mutex<Fake>>,
}

impl FakeDevice {
    /// Makes a device of a fake.
    ///
    /// # Errors
    /// Without root, `/dev/fuse`, `nbdfuse` or a free loop device.
    pub fn over(scratch: &Scratch, fake: Fake) -> Result<Self, Unavailable> {
        let failed = |error: io::Error| Unavailable(format!("cannot serve a fake: {error}"));
        if !Path::new("/dev/fuse").exists() {
            return Err(Unavailable("there is no /dev/fuse".to_owned()));
        }
        let (socket, point) = (scratch.join("fake.socket"), scratch.join("fake"));
        fs::create_dir(&point).map_err(failed)?;
        let listener = UnixListener::bind(&socket).map_err(failed)?;
        let fake = Arc::new(Mutex::new(fake));
        let served = Arc::clone(&fake);
        spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let served = Arc::clone(&served);
                // A client that goes away without a word has ended.
                spawn(move || drop(serve(stream, &served)));
            }
        });
        let file = point.join("disk");
        let mut command = Command::new("nbdfuse");
        command.arg(&file).arg("--unix").arg(&socket);
        let nbdfuse = Process::start(command.stdin(Stdio::null())).map_err(failed)?;
        let mount = Undo::by(&["umount", text(&point)]);
        await_file(&file)?;
        Ok(Self {
            // Else the page cache of the file would answer for it.
            device: LoopDevice::with(&["--direct-io=on"], &file)?,
            _mount: mount,
            _nbdfuse: nbdfuse,
            fake,
        })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// What it really holds.
    #[must_use]
    pub fn memory(&self) -> Vec<u8> {
        let fake = self.fake.lock().unwrap_or_else(PoisonError::into_inner);
        fake.memory.clone()
    }
}

fn await_file(file: &Path) -> Result<(), Unavailable> {
    let deadline = Instant::now() + STARTS_WITHIN;
    while !file.exists() {
        if Instant::now() > deadline {
            return Err(Unavailable("nbdfuse does not start".to_owned()));
        }
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Numbers of the NBD protocol (doc/proto.md of the NetworkBlockDevice project).
mod nbd {
    pub(super) const MAGIC: u64 = 0x4e42_444d_4147_4943;
    pub(super) const OPTION: u64 = 0x4948_4156_454f_5054;
    pub(super) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
    pub(super) const FIXED_NEWSTYLE_NO_ZEROES: u16 = 3;
    pub(super) const OPT_EXPORT_NAME: u32 = 1;
    pub(super) const OPT_ABORT: u32 = 2;
    pub(super) const OPT_INFO: u32 = 6;
    pub(super) const OPT_GO: u32 = 7;
    pub(super) const REP_ACK: u32 = 1;
    pub(super) const REP_INFO: u32 = 3;
    pub(super) const REP_UNSUPPORTED: u32 = 0x8000_0001;
    /// Has flags, can be flushed.
    pub(super) const TRANSMISSION: u16 = 1 | 4;
    pub(super) const REPLY: u32 = 0x6744_6698;
    pub(super) const READ: u16 = 0;
    pub(super) const WRITE: u16 = 1;
    pub(super) const DISCONNECT: u16 = 2;
    pub(super) const FLUSH: u16 = 3;
    pub(super) const EIO: u32 = 5;
    pub(super) const EINVAL: u32 = 22;
}

/// One client, until it leaves.
fn serve(mut stream: UnixStream, fake: &Mutex<Fake>) -> io::Result<()> {
    let bytes = fake.lock().unwrap_or_else(PoisonError::into_inner).bytes();
    if negotiate(&mut stream, bytes)? {
        while transmit(&mut stream, fake)? {}
    }
    Ok(())
}

fn number<const N: usize>(stream: &mut UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Agrees on the one export there is; `false`: the client does not want it.
fn negotiate(stream: &mut UnixStream, bytes: u64) -> io::Result<bool> {
    stream.write_all(&nbd::MAGIC.to_be_bytes())?;
    stream.write_all(&nbd::OPTION.to_be_bytes())?;
    stream.write_all(&nbd::FIXED_NEWSTYLE_NO_ZEROES.to_be_bytes())?;
    let _client_flags: [u8; 4] = number(stream)?;
    loop {
        let _magic: [u8; 8] = number(stream)?;
        let option = u32::from_be_bytes(number(stream)?);
        let length = u32::from_be_bytes(number(stream)?);
        let mut data = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        stream.read_exact(&mut data)?;
        let mut export = bytes.to_be_bytes().to_vec();
        export.extend(nbd::TRANSMISSION.to_be_bytes());
        match option {
            nbd::OPT_EXPORT_NAME => {
                stream.write_all(&export)?;
                return Ok(true);
            }
            nbd::OPT_GO | nbd::OPT_INFO => {
                // Information of kind 0: the export.
                let info = [&0_u16.to_be_bytes()[..], &export].concat();
                answer(stream, option, nbd::REP_INFO, &info)?;
                answer(stream, option, nbd::REP_ACK, &[])?;
                if option == nbd::OPT_GO {
                    return Ok(true);
                }
            }
            nbd::OPT_ABORT => {
                answer(stream, option, nbd::REP_ACK, &[])?;
                return Ok(false);
            }
            _ => answer(stream, option, nbd::REP_UNSUPPORTED, &[])?,
        }
    }
}

fn answer(stream: &mut UnixStream, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    stream.write_all(&nbd::OPTION_REPLY.to_be_bytes())?;
    for word in [option, kind, length] {
        stream.write_all(&word.to_be_bytes())?;
    }
    stream.write_all(data)
}

/// One request; `false`: it was the last.
fn transmit(stream: &mut UnixStream, fake: &Mutex<Fake>) -> io::Result<bool> {
    let _magic_and_flags: [u8; 6] = number(stream)?;
    let kind = u16::from_be_bytes(number(stream)?);
    let cookie: [u8; 8] = number(stream)?;
    let offset = u64::from_be_bytes(number(stream)?);
    let length = u32::from_be_bytes(number(stream)?);
    let mut data = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    if kind == nbd::WRITE {
        stream.read_exact(&mut data)?;
    }
    let mut fake = fake.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let mut done_at = now;
    if let (nbd::READ | nbd::WRITE, Some(speed)) = (kind, &mut fake.speed) {
        done_at = speed.done_at(now);
    }
    let error = |done: io::Result<()>| done.map_or(nbd::EIO, |()| 0);
    let error = match kind {
        nbd::READ => {
            done_at += fake.read_takes();
            error(fake.read_at(offset, &mut data))
        }
        nbd::WRITE => error(fake.write_at(offset, &data)),
        nbd::FLUSH => {
            done_at += fake.flush_takes;
            0
        }
        nbd::DISCONNECT => return Ok(false),
        _ => nbd::EINVAL,
    };
    drop(fake);
    sleep(done_at.saturating_duration_since(Instant::now()));
    stream.write_all(&nbd::REPLY.to_be_bytes())?;
    stream.write_all(&error.to_be_bytes())?;
    stream.write_all(&cookie)?;
    if kind == nbd::READ && error == 0 {
        stream.write_all(&data)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Lie;
    use crate::{needs, or_skip};

    #[test]
    fn what_is_written_beyond_the_end_goes_over_the_begin() {
        const MIB: usize = 1 << 20;
        needs!(root, "nbdfuse", "losetup");
        let scratch = or_skip!(Scratch::new());
        let fake = Fake::new(8 << 20, Lie::Wraparound(4 << 20));
        let fake = or_skip!(FakeDevice::over(&scratch, fake));
        let node = fake.device().node();
        fs::OpenOptions::new()
            .write(true)
            .open(node)
            .and_then(|mut file| {
                file.write_all(&vec![7; 5 * MIB])
                    .and_then(|()| file.sync_all())
            })
            .unwrap();
        let memory = fake.memory();
        assert_eq!(memory.len(), 4 * MIB);
        assert!(memory.iter().all(|byte| *byte == 7));
    }
}
