use super::*;
use assay_model::act::androbench::FileStart;
use assay_model::job::{FlushCall, Job, OpenSync, Rw};

fn of(like: Like) -> AndroBenchOptions {
    AndroBenchOptions {
        like,
        ..AndroBenchOptions::default()
    }
}

fn names(wanted: &AndroBenchOptions) -> Vec<String> {
    let phases = phases(wanted).unwrap();
    let jobs = phases.iter().flat_map(Phase::jobs);
    jobs.map(|job| job.name).collect()
}

fn job(wanted: &AndroBenchOptions, name: &str) -> Job {
    let phases = phases(wanted).unwrap();
    let mut jobs = phases.iter().flat_map(Phase::jobs);
    jobs.find(|job| job.name == name).unwrap()
}

fn database(wanted: &AndroBenchOptions) -> DatabasePhase {
    match phases(wanted).unwrap().pop() {
        Some(Phase::Database(phase)) => phase,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_generation_has_its_steps_in_androbenchs_order() {
    let usual = [
        "seq-read",
        "seq-write",
        "rand-read",
        "rand-write",
        "sqlite-insert",
        "sqlite-update",
        "sqlite-delete",
    ];
    for like in [Like::Modern, Like::AndroBench3, Like::AndroBench4] {
        assert_eq!(names(&of(like)), usual);
    }
    assert_eq!(names(&of(Like::Mobibench))[4], "append");
}

#[test]
fn generation_3_writes_new_files_with_a_flush_each() {
    let phases = phases(&of(Like::AndroBench3)).unwrap();
    let Phase::Files(write) = &phases[1] else {
        panic!("{phases:?}");
    };
    assert_eq!(write.start, FileStart::Empty);
    assert_eq!((write.sync, write.direct), (OpenSync::Sync, false));
    assert_eq!(write.flush.every, Some((1, FlushCall::Fsync)));
    assert_eq!(
        (write.bs, write.file_size),
        (Bytes::kib(256), Bytes::mib(2))
    );
    let random = job(&of(Like::AndroBench3), "rand-write");
    assert_eq!((random.rw, random.flush.every), (Rw::RandWrite, None));
    let read = job(&of(Like::AndroBench3), "rand-read");
    assert_eq!(
        (read.size, read.direct, read.numjobs),
        (Bytes::mib(32), true, 1)
    );
    let database = database(&of(Like::AndroBench3));
    assert_eq!(
        (database.transactions, database.journal),
        (300, Journal::Persist)
    );
}

#[test]
fn generation_4_has_eight_threads_for_random_io_alone() {
    let like = of(Like::AndroBench4);
    let (sequential, random) = (job(&like, "seq-write"), job(&like, "rand-write"));
    assert_eq!((sequential.numjobs, random.numjobs), (1, 8));
    assert_eq!(sequential.size, Bytes::mib(512));
    assert_eq!((sequential.bs, random.bs), (Bytes::mib(32), Bytes::kib(4)));
    assert_eq!(random.io_size, Some(Bytes(2048 * 4096)));
    assert!(random.direct && random.sync == OpenSync::Dsync);
    assert_eq!(database(&like).transactions, 1024);
}

#[test]
fn smaller_files_have_no_larger_blocks() {
    let wanted = AndroBenchOptions {
        size: Some(Bytes::mib(1)),
        ..of(Like::AndroBench4)
    };
    let sequential = job(&wanted, "seq-read");
    assert_eq!(
        (sequential.bs, sequential.size),
        (Bytes::mib(1), Bytes::mib(8))
    );
    assert!(sequential.description.unwrap().contains("8 files of 1 MiB"));
    let random = job(&wanted, "rand-read");
    assert_eq!(random.io_size, Some(Bytes::mib(1)), "no more than a pass");
}

#[test]
fn only_the_chosen_steps_remain() {
    let only = |names_of: &[&str]| AndroBenchOptions {
        only: names_of.iter().map(ToString::to_string).collect(),
        ..AndroBenchOptions::default()
    };
    assert_eq!(names(&only(&["rand-*"])), ["rand-read", "rand-write"]);
    assert_eq!(names(&only(&["sqlite-update"])), ["sqlite-update"]);
    let problem = phases(&only(&["seq-red"])).unwrap_err().to_string();
    assert!(problem.contains("seq-red") && problem.contains("seq-read"));
}

#[test]
fn mobibenchs_options_are_mobibenchs() {
    for wanted in [
        AndroBenchOptions {
            tables: Some(1),
            ..AndroBenchOptions::default()
        },
        AndroBenchOptions {
            sync_mode: Some(SyncMode::Mmap),
            ..of(Like::AndroBench4)
        },
    ] {
        let problem = phases(&wanted).unwrap_err().to_string();
        assert!(problem.contains("--like mobibench"), "{problem}");
    }
    let wanted = AndroBenchOptions {
        tables: Some(5),
        sync_mode: Some(SyncMode::MmapSync),
        ..of(Like::Mobibench)
    };
    assert_eq!(database(&wanted).schema, Schema::Mobibench { tables: 5 });
    assert!(!names(&wanted).contains(&"append".to_owned()));
}

#[test]
fn a_mode_of_mobibench_decides_on_flags_and_flushes() {
    let of = |mode, name| {
        let wanted = AndroBenchOptions {
            sync_mode: Some(mode),
            ..of(Like::Mobibench)
        };
        let job = job(&wanted, name);
        (job.direct, job.sync, job.flush.every, job.flush.at_end)
    };
    let end = Some(FlushCall::Fsync);
    assert_eq!(
        of(SyncMode::Normal, "seq-write"),
        (false, OpenSync::None, None, end)
    );
    assert_eq!(
        of(SyncMode::Normal, "seq-read"),
        (false, OpenSync::None, None, None)
    );
    assert_eq!(
        of(SyncMode::SyncDirect, "append"),
        (true, OpenSync::Sync, None, end)
    );
    let each = Some((1, FlushCall::Fdatasync));
    assert_eq!(
        of(SyncMode::Fdatasync, "rand-write"),
        (false, OpenSync::None, each, None)
    );
}
