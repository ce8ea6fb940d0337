//! Acts on one file or device: writing, reading, copying, verifying, discarding and deleting. The
//! content of a file is derived from a seed and the offset alone, so that a check needs no copy and
//! can compute the digest by itself.

use super::stage::Turn;
use super::{Inflater, Play, Scene, check_free_space};
use crate::ActError;
use crate::observer::Meter;
use assay_engine::buffer::{IoBuf, fill_random};
use assay_engine::{discard_range, held, page_cache};
use assay_model::act::scenario::{Copying, Reading, Sync, Verified, Verifying, Writing};
use assay_model::job::{Direction, FlushCall};
use assay_model::rng::SplitMix64;
use rustix::fs::{Advice, Mode, OFlags, fadvise};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Distance in bytes after which content repeats, larger than the window of compressors; each
/// sector has a mark, so that no two are equal.
const PERIOD: usize = 1 << 20;
/// Distance of the marks in bytes.
const SECTOR: u64 = 4096;
const MARK_STEP: usize = 4096;
/// Bytes that are hashed at a time.
const HASH_CHUNK: usize = 1 << 20;

/// Content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Seed of the bytes.
    seed: u64,
    /// Length in bytes.
    bytes: u64,
    /// Percentage of blocks that are holes.
    holes_percent: u8,
    /// Size in bytes of the blocks that may be holes.
    block: u64,
}

impl Recipe {
    /// Returns true if the block at an offset is a hole.
    fn is_hole(&self, offset: u64) -> bool {
        if self.holes_percent == 0 {
            return false;
        }
        let number = offset / self.block.max(1);
        let mut draw = SplitMix64::new(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        draw.below(100) < u64::from(self.holes_percent)
    }

    /// Returns the SHA-256 of all written data. Holes are skipped: nothing is written there, so
    /// a device keeps old data.
    fn digest(&self) -> String {
        let source = ContentSource::new(self.seed);
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; HASH_CHUNK];
        for (offset, length) in self.extents(HASH_CHUNK as u64) {
            let length = usize::try_from(length).unwrap_or(HASH_CHUNK);
            source.fill(&mut buffer[..length], offset);
            hasher.update(&buffer[..length]);
        }
        hex(&hasher.finalize())
    }

    /// Returns offsets and lengths of the written data, at most `most` bytes each.
    fn extents(&self, most: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        // A piece must not extend over a block that may be a hole.
        let piece = match self.holes_percent {
            0 => most,
            _ => most.min(self.block.max(1)),
        };
        let mut offset = 0;
        std::iter::from_fn(move || {
            while offset < self.bytes {
                let at = offset;
                let to_block = match self.holes_percent {
                    0 => piece,
                    _ => self.block.max(1) - at % self.block.max(1),
                };
                let length = piece.min(to_block).min(self.bytes - at);
                offset += length;
                if !self.is_hole(at) {
                    return Some((at, length));
                }
            }
            None
        })
    }
}

/// Generates the bytes of a seed.
pub(super) struct ContentSource {
    seed: u64,
    base: Vec<u8>,
}

impl ContentSource {
    pub(super) fn new(seed: u64) -> Self {
        let mut base = vec![0; PERIOD];
        fill_random(&mut base, &mut SplitMix64::new(seed));
        Self { seed, base }
    }

    /// Fills a buffer with the content at an offset.
    pub(super) fn fill(&self, into: &mut [u8], offset: u64) {
        let mut at = usize::try_from(offset % PERIOD as u64).unwrap_or(0);
        let mut rest = &mut into[..];
        while !rest.is_empty() {
            let length = rest.len().min(PERIOD - at);
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(&self.base[at..at + length]);
            rest = later;
            at = 0;
        }
        self.mark(into, offset);
    }

    /// Marks each sector at its begin with a different word.
    fn mark(&self, into: &mut [u8], offset: u64) {
        let end = offset + into.len() as u64;
        let first = offset - offset % SECTOR;
        for sector in (first..end).step_by(MARK_STEP) {
            let word = SplitMix64::new(self.seed ^ sector).next_u64().to_le_bytes();
            for (byte, at) in word.into_iter().zip(sector..) {
                if (offset..end).contains(&at)
                    && let Ok(place) = usize::try_from(at - offset)
                {
                    into[place] = byte;
                }
            }
        }
    }
}

/// Formats bytes as lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file to write.
pub(super) struct FileWriter<'a> {
    spec: &'a Writing,
    scene: &'a Scene,
    path: PathBuf,
    file: File,
    /// Offset at which the file's data begins.
    base: u64,
    recipe: Recipe,
    source: ContentSource,
    flusher: Flusher,
}

impl<'a> FileWriter<'a> {
    pub(super) fn new(spec: &'a Writing, scene: &'a Scene, number: u64) -> Result<Self, ActError> {
        let path = scene.path(&spec.file)?;
        let file = open_to_write(scene, &path, spec.direct)?;
        let length = length(&file, &path)?;
        let growth = match (spec.append, spec.random) {
            (true, _) => spec.bytes,
            (false, _) => spec.bytes.saturating_sub(length),
        };
        check_free_space(scene, &path, growth)?;
        // An act that appends to the file of another act continues with its content.
        let before = scene.recipe(&spec.file).filter(|_| spec.append);
        let seed = before.as_ref().map(|recipe| recipe.seed);
        let seed = seed.unwrap_or_else(|| SplitMix64::new(scene.seed ^ number << 32).next_u64());
        let known = !spec.append || before.is_some() || length == 0;
        let recipe = Recipe {
            seed,
            bytes: 0,
            holes_percent: spec.holes_percent,
            block: spec.block,
        };
        if !known {
            scene.holds(&spec.file, None);
        }
        Ok(Self {
            base: if spec.append { length } else { 0 },
            source: ContentSource::new(seed),
            flusher: Flusher::new(spec.sync),
            spec,
            scene,
            path,
            file,
            recipe,
        })
    }

    fn one(&mut self, at: u64, buffer: &mut IoBuf, turn: &mut Turn<'_>) -> Result<u64, ActError> {
        let length = self.spec.block.min(self.spec.bytes - at);
        if self.recipe.is_hole(at) {
            turn.step.hole_bytes += length;
            return Ok(length);
        }
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        let bytes = &mut buffer.block_mut()[..size];
        self.source.fill(bytes, self.base + at);
        write_block(&self.file, &self.path, self.base + at, bytes, turn)?;
        self.flusher.wrote(length, &self.file, &self.path, turn)?;
        Ok(length)
    }
}

impl Play for FileWriter<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.spec.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let shuffled = self.spec.random.then_some(self.recipe.seed);
        let offsets = offsets(self.spec.bytes, self.spec.block, shuffled);
        let mut buffer = IoBuf::of(self.spec.block)?;
        let mut whole = true;
        'passes: loop {
            for &at in &offsets {
                let Some(due_ns) = turn.due()? else {
                    whole &= turn.again();
                    break 'passes;
                };
                let length = self.one(at, &mut buffer, turn)?;
                turn.over(due_ns);
                turn.add_progress(length);
                // Sequential writes that are stopped have written all data up to here.
                self.recipe.bytes = self.recipe.bytes.max(self.base + at + length);
            }
            if !turn.again() {
                break;
            }
        }
        self.flusher.end(&self.file, &self.path, turn)?;
        let known = whole || !self.spec.random;
        let held =
            self.spec.append && self.base > 0 && self.scene.recipe(&self.spec.file).is_none();
        let recipe = (known && !held).then(|| self.recipe.clone());
        self.scene.holds(&self.spec.file, recipe);
        Ok(())
    }
}

/// Returns the offsets of blocks in the order of access: ascending, or random with a
/// seed.
fn offsets(bytes: u64, block: u64, shuffled: Option<u64>) -> Vec<u64> {
    let blocks = bytes.div_ceil(block);
    let mut offsets: Vec<u64> = (0..blocks).map(|n| n * block).collect();
    if let Some(seed) = shuffled {
        SplitMix64::new(seed).shuffle(&mut offsets);
    }
    offsets
}

/// Writes a block, and counts it.
pub(super) fn write_block(
    file: &File,
    path: &Path,
    at: u64,
    bytes: &[u8],
    turn: &mut Turn<'_>,
) -> Result<(), ActError> {
    let length = bytes.len() as u64;
    let began_ns = turn.meter.now_ns();
    if let Err(error) = file.write_all_at(bytes, at) {
        let direction = Some(Direction::Write);
        turn.meter.failed(direction, at, length, &error);
        return Err(ActError::io("write", path, &error));
    }
    turn.meter.moved(Direction::Write, length, began_ns);
    Ok(())
}

/// Flushes a file as requested.
pub(super) struct Flusher {
    sync: Sync,
    unflushed: u64,
}

impl Flusher {
    pub(super) const fn new(sync: Sync) -> Self {
        Self { sync, unflushed: 0 }
    }

    /// Records that bytes were written, and flushes if a flush is due.
    pub(super) fn wrote(
        &mut self,
        bytes: u64,
        file: &File,
        path: &Path,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        self.unflushed += bytes;
        match self.sync {
            Sync::Each(call) => self.flush(call, file, path, turn, Meter::flushed_group),
            Sync::EveryBytes(every) if self.unflushed >= every => {
                let call = FlushCall::Fdatasync;
                self.flush(call, file, path, turn, Meter::flushed_group)
            }
            Sync::EveryBytes(_) | Sync::None | Sync::AtEnd => Ok(()),
        }
    }

    /// Makes the last flush after everything is written.
    pub(super) fn end(
        &mut self,
        file: &File,
        path: &Path,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        match self.sync {
            Sync::None => Ok(()),
            _ if self.unflushed == 0 => Ok(()),
            _ => self.flush(FlushCall::Fsync, file, path, turn, |meter, began_ns| {
                meter.flushed(began_ns);
            }),
        }
    }

    fn flush(
        &mut self,
        call: FlushCall,
        file: &File,
        path: &Path,
        turn: &mut Turn<'_>,
        count: fn(&mut Meter, u64),
    ) -> Result<(), ActError> {
        let began_ns = turn.meter.now_ns();
        let done = match call {
            FlushCall::Fsync => rustix::fs::fsync(file),
            FlushCall::Fdatasync => rustix::fs::fdatasync(file),
        };
        if let Err(errno) = done {
            let error = io::Error::from(errno);
            turn.meter.failed(None, 0, 0, &error);
            return Err(ActError::io("flush", path, &error));
        }
        count(&mut turn.meter, began_ns);
        self.unflushed = 0;
        Ok(())
    }
}

/// Opens a file of the scene, creating it if necessary; a device is held exclusively.
pub(super) fn open_to_write(scene: &Scene, path: &Path, direct: bool) -> Result<File, ActError> {
    let is_device = scene.device().is_some_and(|device| device == path);
    let mut flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    flags |= match is_device {
        true => OFlags::EXCL,
        false => OFlags::CREATE,
    };
    if direct {
        flags |= OFlags::DIRECT;
    }
    let opened = held::open(path, flags, Mode::RUSR | Mode::WUSR);
    opened
        .map(File::from)
        .map_err(|errno| ActError::io("open", path, &errno.into()))
}

/// Returns the length of a file or device.
fn length(file: &File, path: &Path) -> Result<u64, ActError> {
    rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))
        .map_err(|errno| ActError::io("look at", path, &errno.into()))
}

/// A file to read.
pub(super) struct FileReader<'a> {
    spec: &'a Reading,
    path: PathBuf,
    file: File,
    bytes: u64,
    seed: u64,
}

impl<'a> FileReader<'a> {
    pub(super) fn new(spec: &'a Reading, scene: &Scene) -> Result<Self, ActError> {
        let path = scene.path(&spec.file)?;
        let file = open_to_read(&path, spec.direct, spec.cold)?;
        if spec.random && !spec.direct {
            // Like a program that knows its access pattern.
            let _ = fadvise(&file, 0, None, Advice::Random);
        }
        let there = length(&file, &path)?;
        Ok(Self {
            bytes: spec.bytes.unwrap_or(there).min(there),
            seed: scene.seed,
            spec,
            path,
            file,
        })
    }
}

impl Play for FileReader<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let shuffled = self.spec.random.then_some(self.seed);
        let offsets = offsets(self.bytes, self.spec.block, shuffled);
        let mut buffer = IoBuf::of(self.spec.block)?;
        loop {
            for &at in &offsets {
                let Some(due_ns) = turn.due()? else {
                    return Ok(());
                };
                let length = self.spec.block.min(self.bytes - at);
                read_block(&self.file, &self.path, at, length, &mut buffer, turn)?;
                turn.over(due_ns);
                turn.add_progress(length);
            }
            if !turn.again() || offsets.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Opens a file of the scene; with `cold`, drops its pages from the page cache.
pub(super) fn open_to_read(path: &Path, direct: bool, cold: bool) -> Result<File, ActError> {
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    if direct {
        flags |= OFlags::DIRECT;
    }
    let opened = held::open(path, flags, Mode::empty());
    let file = opened
        .map(File::from)
        .map_err(|errno| ActError::io("open", path, &errno.into()))?;
    if cold || direct {
        page_cache::evict(&file, path)?;
    }
    Ok(file)
}

/// Reads a block into the front of the buffer, and counts it.
pub(super) fn read_block(
    file: &File,
    path: &Path,
    at: u64,
    length: u64,
    buffer: &mut IoBuf,
    turn: &mut Turn<'_>,
) -> Result<(), ActError> {
    let wanted = usize::try_from(length).unwrap_or(usize::MAX);
    let began_ns = turn.meter.now_ns();
    // A direct read needs whole sectors, even if the file ends within one.
    let whole = buffer.block().len();
    let into = &mut buffer.block_mut()[..wanted.next_multiple_of(4096).min(whole)];
    let mut got = 0;
    while got < wanted {
        let error = match file.read_at(&mut into[got..], at + got as u64) {
            Ok(0) => io::Error::from(ErrorKind::UnexpectedEof),
            Ok(read) => {
                got += read;
                continue;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        let way = Some(Direction::Read);
        turn.meter.failed(way, at, length, &error);
        return Err(ActError::io("read", path, &error));
    }
    turn.meter.moved(Direction::Read, length, began_ns);
    Ok(())
}

/// A file to copy: it is read, inflated and written, like the installation of an update that was
/// downloaded.
pub(super) struct Copier<'a> {
    spec: &'a Copying,
    scene: &'a Scene,
    from: (File, PathBuf),
    to: (File, PathBuf),
    bytes: u64,
    recipe: Option<Recipe>,
    flusher: Flusher,
    inflater: Option<Inflater>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(spec: &'a Copying, scene: &'a Scene) -> Result<Self, ActError> {
        let (from, to) = (scene.path(&spec.from)?, scene.path(&spec.to)?);
        let source = open_to_read(&from, false, true)?;
        let bytes = length(&source, &from)?;
        let target = open_to_write(scene, &to, spec.direct)?;
        // Cached pages of the target would turn partial writes into reads that do not
        // belong to the copy.
        page_cache::evict(&target, &to)?;
        let there = length(&target, &to)?;
        check_free_space(scene, &to, bytes.saturating_sub(there))?;
        let inflates = spec.inflate_percent > 0;
        Ok(Self {
            recipe: scene.recipe(&spec.from),
            flusher: Flusher::new(spec.sync),
            inflater: inflates.then(|| Inflater::new(scene.seed)),
            spec,
            scene,
            from: (source, from),
            to: (target, to),
            bytes,
        })
    }

    /// Returns offsets and lengths of the data to copy. Holes are left out, as in
    /// `simg2img` and `bmaptool`.
    fn extents(&self) -> Vec<(u64, u64)> {
        match &self.recipe {
            Some(recipe) => recipe.extents(self.spec.block).collect(),
            None => {
                let blocks = (0..self.bytes).step_by(usize::try_from(self.spec.block).unwrap_or(1));
                let length = |at: u64| self.spec.block.min(self.bytes - at);
                blocks.map(|at| (at, length(at))).collect()
            }
        }
    }

    fn one(
        &mut self,
        (at, length): (u64, u64),
        buffer: &mut IoBuf,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        read_block(&self.from.0, &self.from.1, at, length, buffer, turn)?;
        if let Some(inflater) = &mut self.inflater {
            let wanted = length * u64::from(self.spec.inflate_percent) / 100;
            turn.step.inflated_bytes += inflater.inflate(wanted);
        }
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        let (file, path) = &self.to;
        write_block(file, path, at, &buffer.block()[..size], turn)?;
        self.flusher.wrote(length, file, path, turn)
    }
}

impl Play for Copier<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.from.1.clone(), self.to.1.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let extents = self.extents();
        let written: u64 = extents.iter().map(|(_, length)| length).sum();
        let mut buffer = IoBuf::of(self.spec.block)?;
        let mut whole = true;
        'passes: loop {
            for &extent in &extents {
                let Some(due_ns) = turn.due()? else {
                    whole = false;
                    break 'passes;
                };
                self.one(extent, &mut buffer, turn)?;
                turn.over(due_ns);
                turn.add_progress(extent.1);
            }
            if !turn.again() || extents.is_empty() {
                break;
            }
        }
        let (file, path) = &self.to;
        self.flusher.end(file, path, turn)?;
        turn.step.hole_bytes = self.bytes - written;
        let recipe = self.recipe.clone().filter(|_| whole);
        self.scene.holds(&self.spec.to, recipe);
        Ok(())
    }
}

/// A file to read back, to compare its SHA-256 with that of the data written. The expected digest
/// is computed before the clock starts. Hashing counts, as it does when a product verifies an
/// installed update.
pub(super) struct Verifier<'a> {
    spec: &'a Verifying,
    path: PathBuf,
    file: File,
    recipe: Recipe,
    expected: String,
}

impl<'a> Verifier<'a> {
    pub(super) fn new(spec: &'a Verifying, scene: &Scene) -> Result<Self, ActError> {
        let Some(recipe) = scene.recipe(&spec.file) else {
            return Err(ActError::Refused(format!(
                "{} cannot be verified: no step of this scenario has written all of it in order",
                spec.file
            )));
        };
        let path = scene.path(&spec.file)?;
        Ok(Self {
            file: open_to_read(&path, spec.direct, true)?,
            expected: recipe.digest(),
            spec,
            path,
            recipe,
        })
    }
}

impl Play for Verifier<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.recipe.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let mut buffer = IoBuf::of(self.spec.block)?;
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        for (at, length) in self.recipe.extents(self.spec.block) {
            let Some(due_ns) = turn.due()? else {
                return Ok(());
            };
            read_block(&self.file, &self.path, at, length, &mut buffer, turn)?;
            let length_here = usize::try_from(length).unwrap_or(usize::MAX);
            hasher.update(&buffer.block()[..length_here]);
            bytes += length;
            turn.over(due_ns);
            turn.add_progress(length);
        }
        let found = Verified {
            bytes,
            written: self.expected.clone(),
            read: hex(&hasher.finalize()),
        };
        let differs = found.differs();
        let message = format!(
            "{} is not what was written to it: its SHA-256 is {}…, and should be {}…",
            self.spec.file,
            &found.read[..16],
            &found.written[..16]
        );
        turn.step.verified = Some(found);
        match differs {
            true => Err(ActError::failed(message)),
            false => Ok(()),
        }
    }
}

/// Bytes that are discarded by one call; a stop takes effect between two calls.
const DISCARD_PIECE: u64 = 1 << 30;

/// A device or file whose blocks are discarded.
pub(super) struct Discarding<'a> {
    scene: &'a Scene,
    name: &'a str,
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl<'a> Discarding<'a> {
    pub(super) fn new(name: &'a str, scene: &'a Scene) -> Result<Self, ActError> {
        let path = scene.path(name)?;
        let file = open_to_write(scene, &path, false)?;
        Ok(Self {
            bytes: length(&file, &path)?,
            scene,
            name,
            path,
            file,
        })
    }
}

impl Play for Discarding<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let is_device = self
            .scene
            .device()
            .is_some_and(|device| *device == self.path);
        self.scene.holds(self.name, None);
        let mut at = 0;
        while at < self.bytes {
            let Some(due_ns) = turn.due()? else {
                break;
            };
            let length = DISCARD_PIECE.min(self.bytes - at);
            discard_range(&self.file, is_device, at, length)
                .map_err(|error| ActError::io("discard", &self.path, &error))?;
            turn.step.discarded_bytes += length;
            turn.over(due_ns);
            turn.add_progress(length);
            at += length;
        }
        Ok(())
    }
}

/// A file, or a folder with its content, to delete.
pub(super) struct Deletion<'a> {
    scene: &'a Scene,
    name: &'a str,
    path: PathBuf,
}

impl<'a> Deletion<'a> {
    pub(super) fn new(name: &'a str, scene: &'a Scene) -> Result<Self, ActError> {
        let path = scene.path(name)?;
        if scene.device() == Some(&path) {
            return Err(ActError::Refused(format!(
                "{name} cannot be removed: discard it"
            )));
        }
        Ok(Self { scene, name, path })
    }
}

impl Play for Deletion<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        self.scene.root().into_iter().collect()
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let Some(due_ns) = turn.due()? else {
            return Ok(());
        };
        let meta = fs::symlink_metadata(&self.path);
        let meta = meta.map_err(|error| ActError::io("look at", &self.path, &error))?;
        let removed = match meta.is_dir() {
            true => fs::remove_dir_all(&self.path),
            false => held::remove_file(&self.path),
        };
        removed.map_err(|error| ActError::io("remove", &self.path, &error))?;
        // Deleted blocks are free, and discarded, only after the deletion is on the
        // device.
        let began_ns = turn.meter.now_ns();
        self.scene.settle()?;
        turn.meter.flushed(began_ns);
        turn.over(due_ns);
        self.scene.forget(self.name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_depend_on_their_offset_alone_and_sectors_differ() {
        let source = ContentSource::new(7);
        let mut whole = vec![0; 3 * PERIOD];
        source.fill(&mut whole, 0);
        for (at, length) in [(0, 200), (4090, 30), (PERIOD - 7, 5000), (2 * PERIOD, 1)] {
            let mut part = vec![0; length];
            source.fill(&mut part, at as u64);
            assert_eq!(part, whole[at..at + length], "{at}");
        }
        assert_ne!(whole[..4096], whole[PERIOD..PERIOD + 4096]);
    }

    #[test]
    fn a_digest_leaves_holes_out() {
        let recipe = Recipe {
            seed: 3,
            bytes: 10 * 4096 + 5,
            holes_percent: 50,
            block: 4096,
        };
        let written: u64 = recipe.extents(1000).map(|(_, length)| length).sum();
        let holes = (0..11).filter(|n| recipe.is_hole(n * 4096)).count();
        assert!(holes > 0 && holes < 11);
        let source = ContentSource::new(3);
        let mut hasher = Sha256::new();
        for n in (0..11).filter(|n| !recipe.is_hole(n * 4096)) {
            let mut block = vec![0; if n == 10 { 5 } else { 4096 }];
            source.fill(&mut block, n * 4096);
            hasher.update(&block);
        }
        assert_eq!(recipe.digest(), hex(&hasher.finalize()));
        assert!(written < recipe.bytes);
    }
}
