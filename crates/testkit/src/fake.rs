//! In-memory storage that reports a false capacity, as counterfeit cards do.

use crate::command::{Process, Scratch, Unavailable, Undo, text};
use crate::known_speed::KnownSpeed;
use crate::volume::LoopDevice;
use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Size of a sector, in bytes.
const SECTOR: usize = 512;

/// Kinds of false capacity, named as in f3probe. Addresses and sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub enum Lie {
    /// Each address has its own sector.
    None,
    /// Writes at or above this address are lost.
    Limbo(u64),
    /// All addresses at or above this one share the same eight sectors.
    Sink(u64),
    /// Addresses repeat modulo this size.
    Wraparound(u64),
    /// Addresses repeat modulo the second size; within it, those at or above
    /// the first are lost.
    Chain(u64, u64),
}

/// Simulated storage.
#[derive(Debug)]
pub struct Fake {
    /// Content of the sectors that exist.
    pub memory: Vec<u8>,
    bytes: u64,
    lie: Lie,
    /// Addresses that can neither be read nor written.
    pub broken: Vec<Range<u64>>,
    /// Number of latest written sectors that reads return from a cache, even if
    /// the write was lost.
    pub cached: usize,
    cache: HashMap<u64, Vec<u8>>,
    newest: VecDeque<u64>,
    /// Number of writes so far.
    pub writes: usize,
    /// Duration of a flush.
    pub flush_takes: Duration,
    /// Speed of reads and writes; `None`: no delay.
    pub speed: Option<KnownSpeed>,
    /// File with the duration of a read, in milliseconds; `None`: no delay.
    pub slowed_by: Option<PathBuf>,
}

impl Fake {
    /// Makes storage that reports a capacity of `bytes`. Its content differs
    /// between neighbouring sectors.
    ///
    /// # Panics
    /// When its real capacity does not fit into memory.
    #[must_use]
    pub fn new(bytes: u64, lie: Lie) -> Self {
        let real = match lie {
            Lie::None => bytes,
            Lie::Limbo(real) | Lie::Wraparound(real) | Lie::Chain(real, _) => real,
            // The eight sectors that addresses above the real capacity share.
            Lie::Sink(real) => real + 4096,
        };
        let mut memory = vec![0; usize::try_from(real).expect("it fits into memory")];
        for (number, sector) in (0_u8..251).cycle().zip(memory.chunks_mut(SECTOR)) {
            sector.fill(number);
        }
        Self {
            memory,
            bytes,
            lie,
            broken: Vec::new(),
            cached: 0,
            cache: HashMap::new(),
            newest: VecDeque::new(),
            writes: 0,
            flush_takes: Duration::ZERO,
            speed: None,
            slowed_by: None,
        }
    }

    /// Reported capacity.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Duration of a read.
    ///
    /// # Panics
    /// When the file `slowed_by` holds no number.
    #[must_use]
    pub fn read_takes(&self) -> Duration {
        let Some(file) = &self.slowed_by else {
            return Duration::ZERO;
        };
        let text = fs::read_to_string(file).expect("a file");
        Duration::from_millis(text.trim().parse().expect("a number"))
    }

    /// Returns the position in memory of a byte address; `None` if it is lost.
    fn place(&self, at: u64) -> Option<usize> {
        let place = match self.lie {
            Lie::None => Some(at),
            Lie::Limbo(real) => (at < real).then_some(at),
            Lie::Sink(real) => Some(if at < real { at } else { real + at % 4096 }),
            Lie::Wraparound(real) => Some(at % real),
            Lie::Chain(real, wraps_at) => Some(at % wraps_at).filter(|at| *at < real),
        };
        place.and_then(|place| usize::try_from(place).ok())
    }

    fn check(&self, at: u64, length: usize) -> io::Result<()> {
        let end = at + length as u64;
        let hit = |bad: &Range<u64>| bad.start < end && at < bad.end;
        if self.broken.iter().any(hit) {
            return Err(rustix::io::Errno::IO.into());
        }
        Ok(())
    }

    /// Reads whole sectors; bytes beyond the reported end stay unchanged.
    ///
    /// # Errors
    /// `EIO` in a `broken` range.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let left = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let inside = left.min(into.len());
        let into = &mut into[..inside];
        self.check(offset, into.len())?;
        for (at, sector) in (offset..).step_by(SECTOR).zip(into.chunks_mut(SECTOR)) {
            if let Some(bytes) = self.cache.get(&at) {
                sector.copy_from_slice(bytes);
            } else if let Some(place) = self.place(at) {
                sector.copy_from_slice(&self.memory[place..place + sector.len()]);
            } else {
                sector.fill(0xff);
            }
        }
        Ok(())
    }

    /// Writes whole sectors.
    ///
    /// # Errors
    /// `EIO` in a `broken` range.
    pub fn write_at(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.check(offset, from.len())?;
        self.writes += 1;
        for (at, sector) in (offset..).step_by(SECTOR).zip(from.chunks(SECTOR)) {
            if let Some(place) = self.place(at) {
                self.memory[place..place + sector.len()].copy_from_slice(sector);
            }
            if self.cached > 0 {
                self.remember(at, sector);
            }
        }
        Ok(())
    }

    fn remember(&mut self, at: u64, sector: &[u8]) {
        self.newest.push_back(at);
        if self.newest.len() > self.cached {
            let oldest = self.newest.pop_front();
            oldest.and_then(|at| self.cache.remove(&at));
        }
        self.cache.insert(at, sector.to_vec());
    }
}

/// Time limit for the start of `nbdfuse`.
const STARTS_WITHIN: Duration = Duration::from_secs(20);

/// Block device over a [`Fake`], removed when dropped. The storage is served over NBD
/// (`doc/proto.md` of the NetworkBlockDevice project), `nbdfuse` exposes it as a file, and a loop
/// device is over that file.
#[derive(Debug)]
pub struct FakeDevice {
    // Dropped in this order: each uses the next (loop device, mount, nbdfuse, storage).
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
                // Errors are ignored: a client that exits closes the socket
                // without NBD_CMD_DISC.
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
    if negotiate(&mut stream, bytes, PLAIN)? {
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
    if let (READ | WRITE, Some(speed)) = (request.kind, &mut fake.speed) {
        done_at = speed.done_at(now);
    }
    let of = |done: io::Result<()>| done.map_err(|_| EIO);
    let answer = match request.kind {
        READ => {
            done_at += fake.read_takes();
            of(fake.read_at(request.offset, &mut data)).map(|()| data)
        }
        WRITE => of(fake.write_at(request.offset, &request.data)).map(|()| Vec::new()),
        FLUSH => {
            done_at += fake.flush_takes;
            Ok(Vec::new())
        }
        DISCONNECT => return Ok(false),
        _ => Err(EINVAL),
    };
    drop(fake);
    sleep(done_at.saturating_duration_since(Instant::now()));
    request.reply(stream, answer)?;
    Ok(true)
}

const MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const FIXED_NEWSTYLE_NO_ZEROES: u16 = 3;
const OPT_EXPORT_NAME: u32 = 1;
const OPT_ABORT: u32 = 2;
const OPT_INFO: u32 = 6;
const OPT_GO: u32 = 7;
const REP_ACK: u32 = 1;
const REP_INFO: u32 = 3;
const REP_UNSUPPORTED: u32 = 0x8000_0001;
/// Transmission flags of an export that supports flushes.
pub(crate) const PLAIN: u16 = 1 | 4;
/// Transmission flags of an export that also supports FUA.
pub(crate) const WITH_FUA: u16 = PLAIN | 8;
/// Command flag of a write that must reach the medium before it is acknowledged.
const FUA: u16 = 1;
const REPLY: u32 = 0x6744_6698;
pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISCONNECT: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const EIO: u32 = 5;
pub(crate) const EINVAL: u32 = 22;

/// Request of a client.
#[derive(Debug)]
pub(crate) struct Request {
    /// Type of the request, such as [`READ`].
    pub(crate) kind: u16,
    /// Set for a write that must reach the medium before it is acknowledged.
    pub(crate) fua: bool,
    /// Names the request in its reply.
    pub(crate) cookie: [u8; 8],
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Payload of a write; else empty.
    pub(crate) data: Vec<u8>,
}

impl Request {
    /// Reads the next request.
    pub(crate) fn read(stream: &mut UnixStream) -> io::Result<Self> {
        let _magic: [u8; 4] = number(stream)?;
        let flags = u16::from_be_bytes(number(stream)?);
        let kind = u16::from_be_bytes(number(stream)?);
        let mut request = Self {
            kind,
            fua: flags & FUA != 0,
            cookie: number(stream)?,
            offset: u64::from_be_bytes(number(stream)?),
            length: u32::from_be_bytes(number(stream)?),
            data: Vec::new(),
        };
        if kind == WRITE {
            request.data = vec![0; usize::try_from(request.length).map_err(io::Error::other)?];
            stream.read_exact(&mut request.data)?;
        }
        Ok(request)
    }

    /// Replies with the data of a read, or with an error number.
    pub(crate) fn reply(
        &self,
        stream: &mut UnixStream,
        answer: Result<Vec<u8>, u32>,
    ) -> io::Result<()> {
        let (error, data) = match answer {
            Ok(data) => (0, data),
            Err(error) => (error, Vec::new()),
        };
        stream.write_all(&REPLY.to_be_bytes())?;
        stream.write_all(&error.to_be_bytes())?;
        stream.write_all(&self.cookie)?;
        stream.write_all(&data)
    }
}

fn number<const N: usize>(stream: &mut UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Negotiates the only export; returns false if the client leaves without it.
pub(crate) fn negotiate(stream: &mut UnixStream, bytes: u64, flags: u16) -> io::Result<bool> {
    stream.write_all(&MAGIC.to_be_bytes())?;
    stream.write_all(&OPTION.to_be_bytes())?;
    stream.write_all(&FIXED_NEWSTYLE_NO_ZEROES.to_be_bytes())?;
    let _client_flags: [u8; 4] = number(stream)?;
    loop {
        let _magic: [u8; 8] = number(stream)?;
        let option = u32::from_be_bytes(number(stream)?);
        let length = u32::from_be_bytes(number(stream)?);
        let mut data = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        stream.read_exact(&mut data)?;
        let mut export = bytes.to_be_bytes().to_vec();
        export.extend(flags.to_be_bytes());
        match option {
            OPT_EXPORT_NAME => {
                stream.write_all(&export)?;
                return Ok(true);
            }
            OPT_GO | OPT_INFO => {
                // Information type 0 is the export.
                let info = [&0_u16.to_be_bytes()[..], &export].concat();
                answer(stream, option, REP_INFO, &info)?;
                answer(stream, option, REP_ACK, &[])?;
                if option == OPT_GO {
                    return Ok(true);
                }
            }
            OPT_ABORT => {
                answer(stream, option, REP_ACK, &[])?;
                return Ok(false);
            }
            _ => answer(stream, option, REP_UNSUPPORTED, &[])?,
        }
    }
}

fn answer(stream: &mut UnixStream, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    stream.write_all(&OPTION_REPLY.to_be_bytes())?;
    for word in [option, kind, length] {
        stream.write_all(&word.to_be_bytes())?;
    }
    stream.write_all(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{needs, or_skip};
    use std::io::Write;

    #[test]
    fn writes_beyond_a_wraparound_overwrite_the_beginning() {
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
