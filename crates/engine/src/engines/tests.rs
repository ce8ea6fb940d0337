//! Every engine on a real file.

mod blocks;
mod device;
mod files;
mod gathered;
mod mapped;
mod options;

use super::*;
use crate::buffer::IoBuf;
use crate::engines::{Completion, IoUnit, OpenFile, QueueStatus};
use assay_model::job::FlushCall;
use assay_model::load::{Ddir, IoPriority};
use assay_testkit::skip;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::TempDir;

const BLOCK: u32 = 4096;

/// Each engine that moves data and works here, as a stream would describe it.
fn movers() -> impl Iterator<Item = Engine> {
    let works = |&kind: &EngineKind| match usable(kind) {
        Ok(()) => true,
        Err(why) => {
            skip(&why.to_string());
            false
        }
    };
    let movers = EngineKind::ALL.into_iter().filter(|kind| kind.moves_data());
    movers.filter(works).map(engine)
}

fn engine(kind: EngineKind) -> Engine {
    Engine {
        kind,
        iodepth: 4,
        ..Engine::default()
    }
}

/// A file of so many bytes, none of them zero.
fn file(folder: &TempDir, name: &str, number: u32, size: usize) -> OpenFile {
    let path = folder.path().join(name);
    fs::write(&path, vec![0xaa; size]).unwrap();
    open(&path, number)
}

fn open(path: &Path, number: u32) -> OpenFile {
    let file = File::options().read(true).write(true).open(path).unwrap();
    OpenFile::new(file, number, path, true).unwrap()
}

fn unit(ddir: Ddir, file: &OpenFile, offset: u64) -> IoUnit {
    let mut buf = IoBuf::zeroed(BLOCK as usize);
    if ddir == Ddir::Write {
        let number = offset.to_le_bytes()[1] ^ 0x55;
        buf.block_mut().fill(number);
    }
    IoUnit {
        ddir,
        file: file.number,
        offset,
        length: BLOCK,
        moved: 0,
        buf,
        submitted_ns: 0,
        priority: IoPriority::NONE,
        tag: u32::try_from(offset).unwrap_or(u32::MAX),
    }
}

/// Does some I/Os, as many at a time as the engine takes, continues those that
/// were cut short, and flushes.
struct Does<'a> {
    files: &'a [OpenFile],
    units: Vec<IoUnit>,
}

impl WithEngine for Does<'_> {
    type Output = Vec<Completion>;

    fn run<E: IoEngine>(self, mut engine: E) -> Vec<Completion> {
        for file in self.files {
            engine.opened(file).unwrap();
        }
        let mut todo: Vec<IoUnit> = self.units.into_iter().rev().collect();
        let (mut came, mut under_way, mut all) = (Vec::new(), 0, Vec::new());
        while !todo.is_empty() || under_way > 0 {
            while let Some(unit) = todo.pop() {
                match engine.queue(&self.files[unit.file as usize], unit) {
                    QueueStatus::Completed(completion) => all.push(completion),
                    QueueStatus::Queued => under_way += 1,
                    QueueStatus::Busy(unit) => {
                        todo.push(unit);
                        break;
                    }
                }
            }
            engine.commit().unwrap();
            engine
                .reap(u32::from(under_way > 0), u32::MAX, None, &mut came)
                .unwrap();
            under_way -= came.len();
            all.append(&mut came);
            let is_short = |c: &mut Completion| c.result.is_ok_and(|n| n > 0 && n < c.unit.left());
            for mut short in all.extract_if(.., is_short) {
                short.unit.moved += short.result.unwrap();
                todo.push(short.unit);
            }
        }
        for file in self.files {
            engine.flush(file, FlushCall::Fdatasync).unwrap();
            engine.closes(file);
        }
        all
    }
}

/// Does the I/Os; what came of each, in the order of their offsets.
fn does(engine: &Engine, files: &[OpenFile], units: Vec<IoUnit>) -> Vec<Completion> {
    let mut all = with_engine(engine, Does { files, units }).unwrap();
    all.sort_by_key(|completion| completion.unit.tag);
    all
}

fn results(completions: &[Completion]) -> Vec<Result<u32, i32>> {
    completions.iter().map(|c| c.result).collect()
}

fn offsets(blocks: u64) -> impl Iterator<Item = u64> {
    (0..blocks).map(|block| block * u64::from(BLOCK))
}

fn writes_and_reads_back(engine: &Engine) {
    let folder = tempfile::tempdir().unwrap();
    let size = 16 * BLOCK as usize;
    let files = [file(&folder, "a", 0, size), file(&folder, "b", 1, size)];
    // Neighbours, neighbours in the other file, and far apart.
    let order = [0, 1, 2, 3, 4, 5, 9, 7, 8, 6, 15, 14, 13, 12, 11, 10];
    let all = |ddir| {
        let at = order.iter().map(|block| block * u64::from(BLOCK));
        at.flat_map(|offset| files.each_ref().map(|file| unit(ddir, file, offset)))
            .collect()
    };
    let written = does(engine, &files, all(Ddir::Write));
    assert_eq!(results(&written), [Ok(BLOCK); 32], "{}", engine.kind);
    for mut read in does(engine, &files, all(Ddir::Read)) {
        assert_eq!(read.result, Ok(BLOCK), "{}", engine.kind);
        let expected = unit(Ddir::Write, &files[0], read.unit.offset)
            .buf
            .block_mut()[0];
        let bytes = read.unit.remainder().1;
        assert!(
            bytes.iter().all(|&byte| byte == expected),
            "{}",
            engine.kind
        );
    }
    for file in &files {
        let content = fs::read(&file.path).unwrap();
        assert_eq!(content.len(), size, "{}", engine.kind);
        for (block, number) in content.chunks(BLOCK as usize).zip(0_u8..) {
            let expected = (number << 4) ^ 0x55;
            assert!(
                block.iter().all(|&byte| byte == expected),
                "{}",
                engine.kind
            );
        }
    }
}

/// Bytes that a file takes on its storage.
fn space(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}
