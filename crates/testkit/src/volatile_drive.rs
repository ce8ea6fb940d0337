//! Drive with a write-back cache that can lose power: each unflushed page may then be lost
//! or not, in any order. It is served over NBD (`doc/proto.md` of the NetworkBlockDevice
//! project) for an emulator to attach.
//!
//! A client that disconnects without a request to do so simulates a power cut.

use crate::command::{Scratch, Unavailable};
use crate::fake;
use crate::fake::{Request, negotiate};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::spawn;

/// Smallest addressable unit, in bytes.
const SECTOR: usize = 512;
/// Sectors of a page, which are written all or none, as on flash. ext4 depends on that: if
/// the last block of a journal transaction were written in part, its checksum would be
/// wrong ("JBD2: journal transaction 294 is corrupt") and the file system would not mount.
const PAGE: u64 = 8;
/// Capacity of the cache, in sectors; beyond it, those with the lowest numbers are written
/// to the medium.
const CACHED: usize = 64 << 10;

/// Handling of flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushes {
    /// Flushes empty the cache.
    Honoured,
    /// Flushes are acknowledged without any effect.
    Dropped,
}

/// Medium and cache.
#[derive(Debug)]
struct Drive {
    medium: Vec<u8>,
    /// Cached sectors by number.
    cache: BTreeMap<u64, [u8; SECTOR]>,
    flushes: Flushes,
    random: u64,
    /// Number of power cuts.
    cuts: u32,
    /// Sectors that power cuts lost.
    lost: u64,
}

/// Drive that is served until the process ends.
#[derive(Debug)]
pub struct VolatileDrive {
    socket: PathBuf,
    drive: Arc<Mutex<Drive>>,
}

impl VolatileDrive {
    /// Serves the content of `image`. `seed` selects the sectors that are lost.
    ///
    /// # Errors
    /// When the socket cannot be made or the image cannot be read.
    pub fn serve(
        scratch: &Scratch,
        image: &Path,
        flushes: Flushes,
        seed: u64,
    ) -> Result<Self, Unavailable> {
        let failed = |error: io::Error| Unavailable(format!("cannot serve a drive: {error}"));
        let socket = scratch.join("drive.socket");
        let listener = UnixListener::bind(&socket).map_err(failed)?;
        let drive = Arc::new(Mutex::new(Drive {
            medium: std::fs::read(image).map_err(failed)?,
            cache: BTreeMap::new(),
            flushes,
            random: seed,
            cuts: 0,
            lost: 0,
        }));
        let served = Arc::clone(&drive);
        spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let served = Arc::clone(&served);
                spawn(move || serve(stream, &served));
            }
        });
        Ok(Self { socket, drive })
    }

    /// Path of the socket on which it is served.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the number of power cuts and of lost sectors.
    #[must_use]
    pub fn losses(&self) -> (u32, u64) {
        let drive = lock(&self.drive);
        (drive.cuts, drive.lost)
    }
}

fn lock(drive: &Mutex<Drive>) -> MutexGuard<'_, Drive> {
    drive.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one client until it disconnects or loses power.
fn serve(mut stream: UnixStream, drive: &Mutex<Drive>) {
    let bytes = lock(drive).medium.len() as u64;
    if !matches!(negotiate(&mut stream, bytes, fake::WITH_FUA), Ok(true)) {
        return;
    }
    loop {
        let served = Request::read(&mut stream).and_then(|request| {
            if request.kind == fake::DISCONNECT {
                return Ok(false);
            }
            let answer = lock(drive).answer(&request);
            request.reply(&mut stream, answer)?;
            Ok(true)
        });
        match served {
            Ok(true) => {}
            // An orderly shutdown: drives write their cache then.
            Ok(false) => return lock(drive).flush(),
            Err(_) => return lock(drive).lose_power(),
        }
    }
}

impl Drive {
    fn answer(&mut self, request: &Request) -> Result<Vec<u8>, u32> {
        let whole = |bytes: u64| bytes.is_multiple_of(SECTOR as u64);
        let length = u64::from(request.length);
        let end = request.offset.checked_add(length).ok_or(fake::EINVAL)?;
        if !whole(request.offset) || !whole(length) || end > self.medium.len() as u64 {
            return Err(fake::EINVAL);
        }
        match request.kind {
            fake::READ => Ok(self.read(request.offset, request.length)),
            fake::WRITE => {
                self.write(request.offset, &request.data);
                if request.fua {
                    self.flushed(request.offset, length);
                }
                Ok(Vec::new())
            }
            fake::FLUSH => {
                if self.flushes == Flushes::Honoured {
                    self.flush();
                }
                Ok(Vec::new())
            }
            _ => Err(fake::EINVAL),
        }
    }

    fn read(&self, offset: u64, length: u32) -> Vec<u8> {
        let first = offset / SECTOR as u64;
        let sectors = u64::from(length) / SECTOR as u64;
        let mut bytes = Vec::new();
        for number in first..first + sectors {
            match self.cache.get(&number) {
                Some(sector) => bytes.extend_from_slice(sector),
                None => bytes.extend_from_slice(&self.medium[place(number)]),
            }
        }
        bytes
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (number, sector) in (offset / SECTOR as u64..).zip(bytes.chunks_exact(SECTOR)) {
            if let Ok(sector) = sector.try_into() {
                self.cache.insert(number, sector);
            }
        }
        while self.cache.len() > CACHED {
            if let Some((number, sector)) = self.cache.pop_first() {
                self.medium[place(number)].copy_from_slice(&sector);
            }
        }
    }

    /// Writes a range of a FUA write to the medium before it is acknowledged.
    fn flushed(&mut self, offset: u64, length: u64) {
        if self.flushes == Flushes::Dropped {
            return;
        }
        let first = offset / SECTOR as u64;
        for number in first..first + length / SECTOR as u64 {
            if let Some(sector) = self.cache.remove(&number) {
                self.medium[place(number)].copy_from_slice(&sector);
            }
        }
    }

    fn flush(&mut self) {
        for (number, sector) in std::mem::take(&mut self.cache) {
            self.medium[place(number)].copy_from_slice(&sector);
        }
    }

    /// Loses the cache. A random half of the cached pages has been written before.
    fn lose_power(&mut self) {
        self.cuts += 1;
        let (mut page, mut written) = (None, false);
        for (number, sector) in std::mem::take(&mut self.cache) {
            if page.replace(number / PAGE) != Some(number / PAGE) {
                written = self.coin();
            }
            if written {
                self.medium[place(number)].copy_from_slice(&sector);
            } else {
                self.lost += 1;
            }
        }
    }

    /// Draws a bit with Knuth's generator (MMIX), whose high bits are random enough.
    fn coin(&mut self) -> bool {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.random >> 63 == 0
    }
}

/// Byte range of a sector on the medium.
fn place(number: u64) -> std::ops::Range<usize> {
    let start = usize::try_from(number).unwrap_or(usize::MAX / SECTOR) * SECTOR;
    start..start + SECTOR
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(flushes: Flushes) -> Drive {
        Drive {
            medium: vec![0; 64 * SECTOR],
            cache: BTreeMap::new(),
            flushes,
            random: 1,
            cuts: 0,
            lost: 0,
        }
    }

    fn written(drive: &mut Drive, fua: bool) {
        let request = Request {
            kind: fake::WRITE,
            fua,
            cookie: [0; 8],
            offset: 0,
            length: 64 * 512,
            data: vec![7; 64 * SECTOR],
        };
        drive.answer(&request).unwrap();
    }

    fn flushed(drive: &mut Drive) {
        let request = Request {
            kind: fake::FLUSH,
            fua: false,
            cookie: [0; 8],
            offset: 0,
            length: 0,
            data: Vec::new(),
        };
        drive.answer(&request).unwrap();
    }

    fn there(drive: &Drive) -> usize {
        drive
            .medium
            .chunks(SECTOR)
            .filter(|sector| sector[0] == 7)
            .count()
    }

    #[test]
    fn flushed_writes_survive_and_others_survive_in_part() {
        let mut kept = drive(Flushes::Honoured);
        written(&mut kept, false);
        assert_eq!(there(&kept), 0);
        assert_eq!(kept.read(0, 512), vec![7; 512], "the cache answers");
        flushed(&mut kept);
        kept.lose_power();
        assert_eq!((there(&kept), kept.lost), (64, 0));
        let mut kept = drive(Flushes::Honoured);
        written(&mut kept, true);
        kept.lose_power();
        assert_eq!(there(&kept), 64, "FUA");
        let mut lost = drive(Flushes::Dropped);
        written(&mut lost, true);
        flushed(&mut lost);
        lost.lose_power();
        assert!((8..57).contains(&there(&lost)), "{}", there(&lost));
        assert_eq!(there(&lost) % 8, 0, "pages are whole");
        assert_eq!(there(&lost) as u64 + lost.lost, 64);
    }
}
