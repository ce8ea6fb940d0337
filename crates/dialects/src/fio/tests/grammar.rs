//! The grammar of job files and command lines.

use super::TestEnvironment;
use crate::fio::{Command, FioError, Invocation, parse};
use assay_model::job::EngineKind;
use assay_model::load::Extent;
use assay_model::units::Nanos;
use std::ffi::OsString;

fn command(line: &str, env: &TestEnvironment) -> Result<Command, FioError> {
    let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    parse(&args, env)
}

pub(super) fn run(line: &str, env: &TestEnvironment) -> Invocation {
    match command(line, env) {
        Ok(Command::Run(invocation)) => *invocation,
        other => panic!("{line}: {other:?}"),
    }
}

pub(super) fn file(text: &str) -> Invocation {
    run(
        "job.fio",
        &TestEnvironment::default().with_file("job.fio", text),
    )
}

pub(super) fn refusal(text: &str) -> String {
    let env = TestEnvironment::default().with_file("job.fio", text);
    command("job.fio", &env).expect_err(text).to_string()
}

#[test]
fn the_board_tests_file_means_what_it_says() {
    let load = file(
        "[global]\nioengine=psync\ndirect=1\ninvalidate=1\niodepth=1\ntime_based\nruntime=60\nramp_time=10\n\n\
         [read-1024k-seq]\nstonewall\nrw=read\nbs=1024k\nfilename=/dev/mmcblk0\nfilesize=1024mb\n\
         [write-1024k-seq]\nstonewall\nrw=write\nbs=1024k\nfilename=/dev/mmcblk0\nfilesize=1024mb\n",
    )
    .load;
    assert_eq!(load.streams.len(), 2);
    let [read, write] = &load.streams[..] else {
        panic!("two streams");
    };
    assert_eq!((read.wave, write.wave), (0, 1));
    assert_eq!((read.group, write.group), (0, 1));
    assert!(read.blocks.rw.read && !read.blocks.rw.write && write.blocks.rw.write);
    assert!(read.durability.direct && write.length.time_based);
    assert_eq!(read.length.runtime, Some(Nanos::millis(60_000)));
    assert_eq!(read.length.ramp_time, Nanos::millis(10_000));
    assert_eq!(read.blocks.sizes.read.min, 1 << 20);
    assert_eq!(read.files.file_size.map(|size| size.max), Some(1 << 30));
    assert_eq!(read.files.paths, [std::path::Path::new("/dev/mmcblk0")]);
    assert!(read.files.named);
}

#[test]
fn single_dashes_are_understood() {
    let invocation = run(
        "-filename=DEV -direct=1 -numjobs=1 -thread -group_reporting -ioengine=psync -iodepth=1 -size=1G -name=mytest -bs=8k -rw=randread",
        &TestEnvironment::default(),
    );
    let stream = &invocation.load.streams[0];
    assert_eq!(stream.name, "mytest");
    assert!(stream.blocks.rw.read && stream.blocks.rw.random);
    assert!(stream.durability.direct && stream.stats.group_reporting);
    assert_eq!(stream.region.size, Some(Extent::Bytes(1 << 30)));
    assert_eq!(stream.blocks.sizes.read.min, 8192);
    assert_eq!(stream.engine.kind, EngineKind::Psync);
}
