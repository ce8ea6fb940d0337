//! Writing a file block by block.

use super::content::{ContentSource, Recipe};
use super::stage::Turn;
use super::{Play, Scene, free_space};
use crate::ActError;
use crate::observer::Meter;
use assay_engine::buffer::IoBuf;
use assay_engine::held;
use assay_model::act::scenario::{Sync, Writing};
use assay_model::job::{Direction, FlushCall};
use assay_model::rng::SplitMix64;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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
        free_space::check(scene, &path, growth)?;
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
                turn.tell(length);
                // In sequential order, the file contains exactly the data written so far.
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
pub(super) fn offsets(bytes: u64, block: u64, shuffled: Option<u64>) -> Vec<u64> {
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
pub(super) fn length(file: &File, path: &Path) -> Result<u64, ActError> {
    rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))
        .map_err(|errno| ActError::io("look at", path, &errno.into()))
}
