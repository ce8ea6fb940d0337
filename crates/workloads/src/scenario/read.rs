//! Reading a file block by block.

use super::stage::Turn;
use super::write::{length, offsets};
use super::{Play, Scene};
use crate::ActError;
use assay_engine::buffer::IoBuf;
use assay_engine::{held, page_cache};
use assay_model::act::scenario::Reading;
use assay_model::job::Direction;
use rustix::fs::{Advice, Mode, OFlags, fadvise};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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
                turn.tell(length);
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
