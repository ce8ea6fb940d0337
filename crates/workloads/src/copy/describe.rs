//! Description of a copy as a job, for the evaluation of its evidence.

use super::ends::{End, Ends};
use assay_engine::held::shown;
use assay_engine::load::sync_flags;
use assay_model::act::copy::{EndKind, FileCopy};
use assay_model::job::{CacheState, Content, FileState, Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::units::Bytes;
use rustix::fs::OFlags;

/// Returns the job of the file whose storage is evidence.
pub(super) fn job(work: &FileCopy, ends: &Ends) -> Job {
    let writes = ends.output.kind.is_storage() || !ends.input.kind.is_storage();
    let (end, block, at) = if writes {
        (&ends.output, work.output_block, work.seek)
    } else {
        (&ends.input, work.input_block, work.skip)
    };
    let rw = if writes { Rw::Write } else { Rw::Read };
    let size = expected(work, &ends.input);
    let mut job = Job::new(&work.name, rw, Bytes(block), Bytes(size));
    job.offset = Bytes(at.of_blocks(block));
    job.direct = end.flags.contains(OFlags::DIRECT);
    job.cache_state = CacheState::AsIs;
    job.description = Some(description(ends));
    if writes {
        job.sync = sync(end.flags);
        job.flush = Flush {
            every: None,
            at_end: flush(work),
        };
        job.content = content(&ends.input);
        let emptied = !work.treatment.keep_length && work.seek.blocks == 0;
        job.file_state = if work.output.is_some() && emptied {
            FileState::Fresh
        } else {
            FileState::Written
        };
    }
    job
}

/// Returns the bytes that will be copied; 0 if unknown.
fn expected(work: &FileCopy, input: &End) -> u64 {
    let skipped = work.skip.of_blocks(work.input_block);
    let there = input.size.map(|size| size.saturating_sub(skipped));
    match (work.limit_bytes(), there) {
        (Some(limit), Some(there)) => limit.min(there),
        (limit, there) => limit.or(there).unwrap_or(0),
    }
}

fn sync(flags: OFlags) -> OpenSync {
    // The bits of O_SYNC include that of O_DSYNC.
    let stronger_first = [OpenSync::Sync, OpenSync::Dsync];
    let mut set = stronger_first.into_iter();
    set.find(|&sync| flags.contains(sync_flags(sync)))
        .unwrap_or(OpenSync::None)
}

fn flush(work: &FileCopy) -> Option<FlushCall> {
    if work.treatment.fsync {
        Some(FlushCall::Fsync)
    } else {
        work.treatment.fdatasync.then_some(FlushCall::Fdatasync)
    }
}

fn content(input: &End) -> Content {
    // Other input has unknown content, which is treated as incompressible.
    if input.kind == EndKind::Character {
        Content::Zero
    } else {
        Content::Random
    }
}

/// Returns a description such as `copy of FILE to a pipe`.
fn description(ends: &Ends) -> String {
    format!("copy {} to {}", end(&ends.input), end(&ends.output))
}

fn end(end: &End) -> String {
    let words = match end.kind {
        EndKind::File | EndKind::Device => match &end.path {
            Some(path) => return shown(path),
            None => "a file",
        },
        EndKind::Pipe => "a pipe",
        EndKind::Socket => "a socket",
        EndKind::Terminal => "the terminal",
        EndKind::Character | EndKind::Other => {
            return end.name.quoted().trim_matches('\'').to_owned();
        }
    };
    words.to_owned()
}
