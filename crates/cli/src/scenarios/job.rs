//! Description of an act as a job. Evidence is judged by the job, so that it has to match the act.

use super::Moved;
use assay_model::job::{CacheState, FileState, Flush, FlushCall, Job, Purpose, RateLimit, Rw};
use assay_model::units::Bytes;
use assay_model::work::scenario::{
    ActPace, Action, Copying, Reading, Sync, Tree, TreeAct, Verifying, Writing,
};

/// Returns the job of a scaled act.
pub fn job(name: &str, action: &Action, pace: &ActPace, moved: &Moved) -> Job {
    let plain = |rw, bs: u64| Job {
        purpose: Some(Purpose::Act),
        cache_state: CacheState::AsIs,
        ..Job::new(name, rw, Bytes(bs), Bytes(moved.read.max(moved.written)))
    };
    let job = match action {
        Action::Write(spec) => writing(spec, plain(rw(spec.random, false), spec.block)),
        Action::Read(spec) => reading(spec, plain(rw(spec.random, true), spec.block)),
        Action::Copy(spec) => copying(spec, plain(Rw::Rw, spec.block)),
        Action::Verify(spec) => verifying(spec, plain(Rw::Read, spec.block)),
        Action::Tree(spec) => tree(spec, &plain),
        Action::Database(phase) => Job {
            name: name.to_owned(),
            ..phase.job(phase.statements.first().copied().unwrap_or_default())
        },
        Action::Fill(_) => Job {
            flush: at_end(),
            file_state: FileState::Fresh,
            ..plain(Rw::Write, 1 << 20)
        },
        _ => plain(Rw::Write, 4096),
    };
    Job {
        rate: rate(pace, job.bs.0).or(job.rate),
        description: Some(words(action)),
        ..job
    }
}

const fn rw(random: bool, reads: bool) -> Rw {
    match (random, reads) {
        (false, false) => Rw::Write,
        (true, false) => Rw::RandWrite,
        (false, true) => Rw::Read,
        (true, true) => Rw::RandRead,
    }
}

const fn at_end() -> Flush {
    Flush {
        every: None,
        at_end: Some(FlushCall::Fsync),
    }
}

fn flush(sync: Sync, block: u64) -> Flush {
    match sync {
        Sync::None => Flush::default(),
        Sync::Each(call) => Flush {
            every: Some((1, call)),
            at_end: None,
        },
        Sync::EveryBytes(bytes) => Flush {
            every: Some((
                u32::try_from(bytes.div_ceil(block.max(1))).unwrap_or(u32::MAX),
                FlushCall::Fdatasync,
            )),
            at_end: Some(FlushCall::Fsync),
        },
        Sync::AtEnd => at_end(),
    }
}

fn writing(spec: &Writing, job: Job) -> Job {
    Job {
        direct: spec.direct,
        flush: flush(spec.sync, spec.block),
        file_state: match spec.random {
            true => FileState::Written,
            false => FileState::Fresh,
        },
        ..job
    }
}

fn reading(spec: &Reading, job: Job) -> Job {
    Job {
        direct: spec.direct,
        cache_state: match spec.cold {
            true => CacheState::Cold,
            false => CacheState::AsIs,
        },
        ..job
    }
}

fn copying(spec: &Copying, job: Job) -> Job {
    Job {
        flush: flush(spec.sync, spec.block),
        cache_state: CacheState::Cold,
        ..job
    }
}

fn verifying(spec: &Verifying, job: Job) -> Job {
    Job {
        direct: spec.direct,
        cache_state: CacheState::Cold,
        ..job
    }
}

fn tree(spec: &Tree, plain: &dyn Fn(Rw, u64) -> Job) -> Job {
    let reads = spec.act == TreeAct::Read;
    Job {
        flush: match spec.sync {
            Sync::None => Flush::default(),
            // Each file after its last block: all of them are durable at the end.
            _ => at_end(),
        },
        file_state: match reads {
            true => FileState::Written,
            false => FileState::Fresh,
        },
        cache_state: match spec.cold {
            true => CacheState::Cold,
            false => CacheState::AsIs,
        },
        ..plain(rw(spec.random && reads, reads), spec.block)
    }
}

fn rate(pace: &ActPace, block: u64) -> Option<RateLimit> {
    let every_ns = pace.every_ns?;
    let per_second = 1_000_000_000_u64.checked_div(every_ns).unwrap_or(0);
    Some(match per_second {
        0 => RateLimit::BytesPerSec(block.saturating_mul(1_000_000_000) / every_ns.max(1)),
        _ => RateLimit::Iops(per_second),
    })
}

/// Describes the action of an act.
fn words(action: &Action) -> String {
    let sync = |sync: Sync| match sync {
        Sync::None => String::new(),
        Sync::Each(FlushCall::Fsync) => ", fsync each".to_owned(),
        Sync::Each(FlushCall::Fdatasync) => ", fdatasync each".to_owned(),
        Sync::EveryBytes(bytes) => format!(", fdatasync every {}", Bytes(bytes)),
        Sync::AtEnd => ", flushed at the end".to_owned(),
    };
    let past = |direct| if direct { ", direct" } else { "" };
    let order = |random| if random { "random " } else { "" };
    match action {
        Action::Write(spec) => format!(
            "writes {} to {} in {}blocks of {}{}{}",
            Bytes(spec.bytes),
            spec.file,
            order(spec.random),
            Bytes(spec.block),
            past(spec.direct),
            sync(spec.sync)
        ),
        Action::Read(spec) => format!(
            "reads {} in {}blocks of {}{}",
            spec.file,
            order(spec.random),
            Bytes(spec.block),
            past(spec.direct)
        ),
        Action::Copy(spec) => format!(
            "reads {}, inflates {} % of that, writes {}{}{}",
            spec.from,
            spec.inflate_percent,
            spec.to,
            past(spec.direct),
            sync(spec.sync)
        ),
        Action::Verify(spec) => format!("reads {} back and compares its SHA-256", spec.file),
        Action::Tree(spec) => {
            let files = spec
                .files
                .map_or("all".to_owned(), |files| files.to_string());
            let chained = if spec.chained {
                ", each names the next"
            } else {
                ""
            };
            let (act, folder) = (spec.act.name(), &spec.folder);
            format!(
                "{act} {files} files in {folder}{chained}{}",
                sync(spec.sync)
            )
        }
        Action::Database(phase) => format!(
            "{} transactions of SQLite, journal {}, synchronous {}",
            phase.transactions, phase.journal, phase.synchronous
        ),
        Action::Inflate { bytes } => format!("inflates {} in memory", Bytes(*bytes)),
        Action::Discard { file } => format!("discards {file}"),
        Action::Format { kind } => format!("makes {kind} and mounts it"),
        Action::Delete { file } => format!("removes {file}"),
        Action::Fill(spec) => format!(
            "fills the file system to {} %, with {} written at most",
            spec.percent,
            Bytes(spec.write_at_most)
        ),
        Action::Command(spec) => format!("runs {}", spec.words.join(" ")),
        Action::Pause { .. } => "waits".to_owned(),
        Action::DropCaches => "writes all back and drops caches".to_owned(),
    }
}
