//! Many files in a folder (created, read, queried, removed), and filling a file system to a level.

use super::file::{ContentSource, Flusher, open_to_read, open_to_write, read_block, write_block};
use super::stage::Turn;
use super::{FreeSpace, Planted, Play, Scene, check_free_space};
use crate::ActError;
use assay_engine::buffer::IoBuf;
use assay_engine::held::{self, shown};
use assay_model::act::scenario::{Filling, Sync, Tree, TreeAct};
use assay_model::rng::SplitMix64;
use assay_model::units::{Bytes, as_u64};
use assay_stats::histogram::Histogram;
use rustix::fs::{Advice, FallocateFlags, Mode, fadvise, fallocate};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files in one folder; further files are in the next one.
const IN_ONE_FOLDER: usize = 100;
/// Bytes at the begin of a file that contain the number of the next one.
const LINK_BYTES: u64 = 4;
/// Files listed as evidence, at most. For more files only the folder is listed, and their
/// cached pages are unknown.
const MOST_NAMED: usize = 4096;

/// Prepares an act on many files.
pub(super) fn prepare<'a>(
    spec: &'a Tree,
    scene: &'a Scene,
    number: u64,
) -> Result<Box<dyn Play + 'a>, ActError> {
    let root = scene.path(&spec.folder)?;
    let mut rng = SplitMix64::new(scene.seed ^ number << 32);
    let planted = match spec.act {
        TreeAct::Create => sow(spec, scene, &root, &mut rng)?,
        _ => scene.planted(&spec.folder).ok_or_else(|| {
            ActError::Refused(format!(
                "{}: no earlier step has made files in it",
                spec.folder
            ))
        })?,
    };
    let first = planted.removed;
    let wanted = spec.files.map_or(usize::MAX, |files| files as usize);
    let mut order: Vec<usize> = (first..planted.sizes.len()).collect();
    if spec.random && spec.act != TreeAct::Create {
        rng.shuffle(&mut order);
    }
    order.truncate(wanted);
    let forest = Forest {
        next: chain(&planted, scene.seed),
        spec,
        scene,
        root,
        planted,
        order,
        source: ContentSource::new(scene.seed),
        latencies: Histogram::new(),
    };
    if spec.cold && spec.act == TreeAct::Read {
        forest.cool()?;
    }
    Ok(Box::new(forest))
}

/// Chooses sizes of new files, and creates folders for them.
fn sow(spec: &Tree, scene: &Scene, root: &Path, rng: &mut SplitMix64) -> Result<Planted, ActError> {
    let count = spec.files.unwrap_or(1) as usize;
    let sizes: Vec<u64> = (0..count).map(|_| size(spec.sizes, rng)).collect();
    check_free_space(scene, root, sizes.iter().sum())?;
    for folder in 0..count.div_ceil(IN_ONE_FOLDER) {
        let path = root.join(folder_name(folder));
        held::make_folders(&path, Mode::RWXU)
            .map_err(|error| ActError::io("make", &path, &error))?;
    }
    Ok(Planted { sizes, removed: 0 })
}

/// Draws a size, evenly distributed by its logarithm.
fn size((least, most): (u64, u64), rng: &mut SplitMix64) -> u64 {
    let (least, most) = (least.max(LINK_BYTES), most.max(least).max(LINK_BYTES));
    if least == most {
        return least;
    }
    let part = rng.below(1 << 32) as f64 / (1_u64 << 32) as f64;
    let size = (least as f64).ln() + part * ((most as f64).ln() - (least as f64).ln());
    as_u64(size.exp()).clamp(least, most)
}

/// Returns the successor of each file: one ring through all of them.
fn chain(planted: &Planted, seed: u64) -> Vec<u32> {
    let count = u32::try_from(planted.sizes.len()).unwrap_or(u32::MAX);
    let mut ring: Vec<u32> = (0..count).collect();
    SplitMix64::new(seed ^ u64::from(count)).shuffle(&mut ring);
    let mut next = vec![0; ring.len()];
    for (at, &file) in ring.iter().enumerate() {
        next[file as usize] = ring[(at + 1) % ring.len()];
    }
    next
}

fn folder_name(number: usize) -> String {
    format!("d{number:03}")
}

/// An act on many files.
struct Forest<'a> {
    spec: &'a Tree,
    scene: &'a Scene,
    root: PathBuf,
    planted: Planted,
    order: Vec<usize>,
    next: Vec<u32>,
    source: ContentSource,
    /// Latencies of whole files.
    latencies: Histogram,
}

impl Forest<'_> {
    fn file(&self, number: usize) -> PathBuf {
        let folder = folder_name(number / IN_ONE_FOLDER);
        self.root.join(folder).join(format!("f{number:06}"))
    }

    /// Drops the files from the page cache, and unused dentries and inodes if this user
    /// is root.
    fn cool(&self) -> Result<(), ActError> {
        for &number in &self.order {
            drop(open_to_read(&self.file(number), false, true)?);
        }
        super::drop_entries();
        Ok(())
    }

    fn one(
        &mut self,
        number: usize,
        buffer: &mut IoBuf,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        let path = self.file(number);
        match self.spec.act {
            TreeAct::Create => self.create(number, &path, buffer, turn),
            TreeAct::Read => self.read(number, &path, buffer, turn),
            TreeAct::Stat => held::status(&path)
                .map(drop)
                .map_err(|error| ActError::io("look at", &path, &error)),
            TreeAct::Delete => {
                held::remove_file(&path).map_err(|error| ActError::io("remove", &path, &error))
            }
        }
    }

    fn create(
        &self,
        number: usize,
        path: &Path,
        buffer: &mut IoBuf,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        let file = open_to_write(self.scene, path, false)?;
        let mut flusher = Flusher::new(match self.spec.sync {
            // A file is durable only when all of it is.
            Sync::Each(_) => Sync::AtEnd,
            _ => Sync::None,
        });
        let size = self.planted.sizes[number];
        let mut at = 0;
        while at < size {
            let length = self.spec.block.min(size - at);
            let bytes = usize::try_from(length).unwrap_or(usize::MAX);
            let bytes = &mut buffer.block_mut()[..bytes];
            self.source.fill(bytes, (number as u64) << 32 | at);
            if at == 0 {
                let link = self.next[number].to_le_bytes();
                let room = link.len().min(bytes.len());
                bytes[..room].copy_from_slice(&link[..room]);
            }
            write_block(&file, path, at, bytes, turn)?;
            flusher.wrote(length, &file, path, turn)?;
            turn.add_progress(length);
            at += length;
        }
        flusher.end(&file, path, turn)
    }

    fn read(
        &self,
        number: usize,
        path: &Path,
        buffer: &mut IoBuf,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        let file = open_to_read(path, false, false)?;
        let size = self.planted.sizes[number];
        let mut at = size;
        // From the end, so that the buffer finally contains the first bytes.
        let blocks = size.div_ceil(self.spec.block);
        for block in (0..blocks).rev() {
            let begin = block * self.spec.block;
            read_block(&file, path, begin, at - begin, buffer, turn)?;
            turn.add_progress(at - begin);
            at = begin;
        }
        if self.spec.cold && turn.again() {
            // The next pass must find the file uncached as well.
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
        }
        Ok(())
    }

    /// Returns the file after this one: from the content of this file, or from the order.
    fn follower(&self, at: usize, buffer: &IoBuf) -> Option<usize> {
        if !self.spec.chained {
            return self.order.get(at).copied();
        }
        let link = buffer.block().get(..4)?.try_into().ok()?;
        let next = u32::from_le_bytes(link) as usize;
        (next < self.planted.sizes.len()).then_some(next)
    }

    fn pass(&mut self, buffer: &mut IoBuf, turn: &mut Turn<'_>) -> Result<usize, ActError> {
        let mut file = self.order.first().copied();
        let mut done = 0;
        while let Some(number) = file.filter(|_| done < self.order.len()) {
            let Some(due_ns) = turn.due()? else {
                break;
            };
            let began_ns = turn.meter.now_ns();
            self.one(number, buffer, turn)?;
            turn.over(due_ns);
            let took_ns = turn.meter.now_ns().saturating_sub(began_ns);
            self.latencies.record(took_ns);
            done += 1;
            file = self.follower(done, buffer);
        }
        Ok(done)
    }

    /// Flushes all created files at once.
    fn settle(&self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let together = matches!(self.spec.sync, Sync::AtEnd | Sync::EveryBytes(_));
        if !together || self.spec.act == TreeAct::Read {
            return Ok(());
        }
        let began_ns = turn.meter.now_ns();
        self.scene.settle()?;
        turn.meter.flushed(began_ns);
        Ok(())
    }
}

impl Play for Forest<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        let moves = matches!(self.spec.act, TreeAct::Create | TreeAct::Read);
        match self.order.len() {
            0..=MOST_NAMED if moves => self.order.iter().map(|&n| self.file(n)).collect(),
            _ => vec![self.root.clone()],
        }
    }

    fn total(&self) -> Option<u64> {
        let moves = matches!(self.spec.act, TreeAct::Create | TreeAct::Read);
        let sizes = self.order.iter().map(|&number| self.planted.sizes[number]);
        moves.then(|| sizes.sum())
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let mut buffer = IoBuf::of(self.spec.block)?;
        let mut done = self.pass(&mut buffer, turn)?;
        let repeats = turn.again() && self.spec.act != TreeAct::Delete;
        while repeats && done == self.order.len() && done > 0 {
            done = self.pass(&mut buffer, turn)?;
        }
        self.settle(turn)?;
        turn.step.latency = Some(self.latencies.to_record());
        match self.spec.act {
            TreeAct::Create => {
                let whole = done == self.order.len() || turn.again();
                let made = if whole { self.order.len() } else { done };
                self.planted.sizes.truncate(made);
                self.scene.plant(&self.spec.folder, self.planted.clone());
            }
            // The remaining files are known only if the first ones were removed.
            TreeAct::Delete if !self.spec.random => {
                self.planted.removed += done;
                self.scene.plant(&self.spec.folder, self.planted.clone());
            }
            TreeAct::Delete => self.scene.forget(&self.spec.folder),
            TreeAct::Read | TreeAct::Stat => {}
        }
        Ok(())
    }
}

/// Bytes written at a time.
const BLOCK: u64 = 1 << 20;
/// Bytes after which the file is flushed, so that the page cache does not hold all of it.
const FLUSH_EVERY: u64 = 64 << 20;

/// A file that occupies the space. Most of a large file is only allocated: the user limits the
/// bytes that are written, because flash wears.
pub(super) struct Filler<'a> {
    spec: &'a Filling,
    scene: &'a Scene,
    root: PathBuf,
    path: PathBuf,
    file: File,
    /// Bytes that are allocated first, then bytes that are written.
    plan: (u64, u64),
}

impl<'a> Filler<'a> {
    pub(super) fn new(spec: &'a Filling, name: &str, scene: &'a Scene) -> Result<Self, ActError> {
        let root = scene.root()?;
        let path = scene.path(&format!("filler-{name}"))?;
        let file = open_to_write(scene, &path, false)?;
        let room = FreeSpace::of(&root)?;
        Ok(Self {
            plan: plan(spec, room, scene.reserve)?,
            spec,
            scene,
            root,
            path,
            file,
        })
    }

    fn allocate(&self, bytes: u64) -> Result<(), ActError> {
        if bytes == 0 {
            return Ok(());
        }
        fallocate(&self.file, FallocateFlags::empty(), 0, bytes).map_err(|errno| {
            let path = shown(&self.path);
            ActError::call(
                format!(
                    "cannot allocate {} for {path} (to write them all instead, raise \
                     write_at_most)",
                    Bytes(bytes)
                ),
                errno,
            )
        })
    }
}

/// Returns the bytes to allocate and the bytes to write, so that the level is reached and the
/// reserve remains.
fn plan(spec: &Filling, room: FreeSpace, reserve: u64) -> Result<(u64, u64), ActError> {
    let used = room.size.saturating_sub(room.free);
    let level = u128::from(room.size) * u128::from(spec.percent.min(100)) / 100;
    let level = u64::try_from(level).unwrap_or(u64::MAX);
    let wanted = level.saturating_sub(used);
    if wanted.saturating_add(reserve) > room.free {
        return Err(ActError::failed(format!(
            "{} % full would leave less than the reserve of {}: use a larger file system, or \
                 a smaller reserve",
            spec.percent,
            Bytes(reserve)
        )));
    }
    let written = wanted.min(spec.write_at_most);
    Ok((wanted - written, written))
}

impl Play for Filler<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.plan.1)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let (allocated, written) = self.plan;
        self.allocate(allocated)?;
        turn.step.allocated_bytes = allocated;
        let source = ContentSource::new(self.scene.seed ^ u64::from(self.spec.percent));
        let mut buffer = IoBuf::zeroed(usize::try_from(BLOCK).unwrap_or(usize::MAX));
        let mut flusher = Flusher::new(Sync::EveryBytes(FLUSH_EVERY));
        let mut at = allocated;
        let end = allocated + written;
        while at < end {
            let Some(due_ns) = turn.due()? else {
                break;
            };
            let length = BLOCK.min(end - at);
            let bytes = &mut buffer.block_mut()[..usize::try_from(length).unwrap_or(0)];
            source.fill(bytes, at);
            write_block(&self.file, &self.path, at, bytes, turn)?;
            flusher.wrote(length, &self.file, &self.path, turn)?;
            turn.over(due_ns);
            turn.add_progress(length);
            at += length;
        }
        flusher.end(&self.file, &self.path, turn)?;
        turn.step.full_percent = Some(FreeSpace::of(&self.root)?.percent());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ring_goes_through_all_files() {
        let planted = Planted {
            sizes: vec![4; 17],
            removed: 0,
        };
        let next = chain(&planted, 5);
        let mut seen = [false; 17];
        let mut at = 0;
        for _ in 0..17 {
            assert!(!std::mem::replace(&mut seen[at], true));
            at = next[at] as usize;
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn sizes_stay_between_their_bounds_and_small_ones_are_frequent() {
        let mut rng = SplitMix64::new(1);
        let sizes: Vec<u64> = (0..1000)
            .map(|_| size((1 << 10, 1 << 20), &mut rng))
            .collect();
        assert!(sizes.iter().all(|size| (1 << 10..=1 << 20).contains(size)));
        let small = sizes.iter().filter(|size| **size < 32 << 10).count();
        assert!((400..600).contains(&small), "{small} of 1000");
        assert_eq!(size((7, 7), &mut rng), 7);
    }

    fn planned(percent: u8, write_at_most: u64, free: u64) -> Result<(u64, u64), ActError> {
        let spec = Filling {
            percent,
            write_at_most,
        };
        plan(&spec, FreeSpace { size: 1000, free }, 50)
    }

    #[test]
    fn what_is_not_written_is_allocated_and_the_reserve_stays() {
        assert_eq!(planned(80, 1000, 700).unwrap(), (0, 500));
        assert_eq!(planned(80, 100, 700).unwrap(), (400, 100));
        assert_eq!(
            planned(80, 100, 100).unwrap(),
            (0, 0),
            "it is fuller already"
        );
        assert!(planned(96, 1000, 700).is_err());
        assert_eq!(planned(95, 1000, 700).unwrap(), (0, 650));
    }
}
