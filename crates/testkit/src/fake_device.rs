//! Block device with a false capacity: a [`Fake`] served over NBD, which
//! `nbdfuse` exposes as a file, with a loop device over that file.

use crate::command::{Unavailable, Undo, text};
use crate::fake::Fake;
use crate::loop_device::LoopDevice;
use crate::nbd::{self, Request, negotiate};
use crate::process::Process;
use crate::scratch::Scratch;
use std::fs;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Time limit for the start of `nbdfuse`.
const STARTS_WITHIN: Duration = Duration::from_secs(20);

/// Block device over a [`Fake`], removed when dropped.
#[derive(Debug)]
pub struct FakeDevice {
    // Fields are dropped in this order.
    device: LoopDevice,
    _mount: Undo,
    _nbdfuse: Process,
    fake: Arc<Mutex<Fake>>,
}

impl FakeDevice {
    /// Makes a device over a fake.
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
                // A client that disconnects without a request to do so has
                // ended.
                spawn(move || drop(serve(stream, &served)));
            }
        });
        let file = point.join("disk");
        let mut command = crate::command("nbdfuse");
        command.arg(&file).arg("--unix").arg(&socket);
        let nbdfuse = Process::start(command.stdin(Stdio::null())).map_err(failed)?;
        let mount = Undo::by(&["umount", text(&point)]);
        await_file(&file)?;
        Ok(Self {
            // Direct I/O, or the page cache of the file would answer instead of
            // the fake.
            device: LoopDevice::with(&["--direct-io=on"], &file)?,
            _mount: mount,
            _nbdfuse: nbdfuse,
            fake,
        })
    }

    /// Returns the loop device.
    #[must_use]
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// Returns a copy of the sectors that exist.
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

/// Serves one client until it disconnects.
fn serve(mut stream: UnixStream, fake: &Mutex<Fake>) -> io::Result<()> {
    let bytes = fake.lock().unwrap_or_else(PoisonError::into_inner).bytes();
    if negotiate(&mut stream, bytes, nbd::PLAIN)? {
        while transmit(&mut stream, fake)? {}
    }
    Ok(())
}

/// Answers one request; returns false after the last.
fn transmit(stream: &mut UnixStream, fake: &Mutex<Fake>) -> io::Result<bool> {
    let request = Request::read(stream)?;
    let mut data = vec![0; usize::try_from(request.length).map_err(io::Error::other)?];
    let mut fake = fake.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let mut done_at = now;
    if let (nbd::READ | nbd::WRITE, Some(speed)) = (request.kind, &mut fake.speed) {
        done_at = speed.done_at(now);
    }
    let of = |done: io::Result<()>| done.map_err(|_| nbd::EIO);
    let answer = match request.kind {
        nbd::READ => {
            done_at += fake.read_takes();
            of(fake.read_at(request.offset, &mut data)).map(|()| data)
        }
        nbd::WRITE => of(fake.write_at(request.offset, &request.data)).map(|()| Vec::new()),
        nbd::FLUSH => {
            done_at += fake.flush_takes;
            Ok(Vec::new())
        }
        nbd::DISCONNECT => return Ok(false),
        _ => Err(nbd::EINVAL),
    };
    drop(fake);
    sleep(done_at.saturating_duration_since(Instant::now()));
    request.reply(stream, answer)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Lie;
    use crate::{needs, or_skip};
    use std::io::Write;

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
