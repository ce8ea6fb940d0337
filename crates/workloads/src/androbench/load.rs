//! A phase on files as a load of the engine: one stream for each thread.

use assay_model::load::blocks::{BlockSizes, Blocks, Region, RwPattern};
use assay_model::load::files::{Advice, Fallocate, FileService, Files};
use assay_model::load::schedule::{ExitWhat, Schedule};
use assay_model::load::{Durability, Engine, Extent, Length, Load, PerDirection, Stream};
use assay_model::work::androbench::FilePhase;
use std::path::PathBuf;

/// The streams of a phase on files that are ready, in one wave and reported as
/// one. The same seed gives the same I/O.
pub(super) fn load_of(phase: &FilePhase, paths: &[PathBuf], seed: u64) -> Load {
    let streams = (0..phase.threads).map(|thread| stream(phase, paths, seed, thread));
    Load {
        streams: streams.collect(),
        entropy: seed,
        ..Load::default()
    }
}

fn stream(phase: &FilePhase, paths: &[PathBuf], seed: u64, thread: u32) -> Stream {
    let own: Vec<PathBuf> = paths
        .iter()
        .skip(thread as usize)
        .step_by(phase.threads as usize)
        .cloned()
        .collect();
    let size = phase.file_size.0.saturating_mul(own.len() as u64);
    Stream {
        number: thread + 1,
        clone: thread,
        schedule: Schedule {
            exit_all: phase.first_ends_all.then_some(ExitWhat::All),
            exit_all_on_error: true,
            ..Schedule::default()
        },
        files: files(own),
        region: Region {
            size: Some(Extent::Bytes(size)),
            ..Region::default()
        },
        blocks: blocks(phase, seed),
        length: Length {
            number_ios: phase.ios,
            ..Length::default()
        },
        engine: Engine {
            kind: phase.ioengine,
            register_files: true,
            ..Engine::default()
        },
        durability: Durability::of_job(phase.direct, phase.sync, phase.flush),
        ..Stream::new(&phase.name)
    }
}

/// Files as they are, one after the other.
fn files(paths: Vec<PathBuf>) -> Files {
    Files {
        paths,
        named: true,
        service: FileService::Sequential,
        fallocate: Fallocate::None,
        advice: Advice::None,
        invalidate: false,
        create_fsync: false,
        allow_create: false,
        prepared: true,
        ..Files::default()
    }
}

fn blocks(phase: &FilePhase, seed: u64) -> Blocks {
    let block = u32::try_from(phase.bs.0).unwrap_or(u32::MAX);
    Blocks {
        rw: RwPattern {
            read: phase.rw.reads(),
            write: phase.rw.writes(),
            random: phase.rw.is_random(),
            ..RwPattern::default()
        },
        sizes: PerDirection::all(BlockSizes {
            min: block,
            max: block,
            ..BlockSizes::default()
        }),
        no_map: phase.repeats,
        repeat: false,
        seed: Some(seed),
        ..Blocks::default()
    }
}
