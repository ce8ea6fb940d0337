//! The grammar of job files.

use super::TestEnvironment;
use crate::fio::{FioCommand, FioError, Invocation, parse};
use assay_model::load::Extent;
use assay_model::units::Nanos;
use std::ffi::OsString;

pub(super) fn command(line: &str, env: &TestEnvironment) -> Result<FioCommand, FioError> {
    let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    parse(&args, env)
}

pub(super) fn run(line: &str, env: &TestEnvironment) -> Invocation {
    match command(line, env) {
        Ok(FioCommand::Run(invocation)) => *invocation,
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
fn globals_hold_for_what_is_below_them() {
    let load = file(
        "[a]\nbs=8k\n[global]\nbs=16k\n[b]\n[global]\ndirect=1\n[c]\nbs=32k ; not global\n[d]\n",
    )
    .load;
    let seen: Vec<_> = load
        .streams
        .iter()
        .map(|stream| {
            (
                stream.name.as_str(),
                stream.blocks.sizes.read.min,
                stream.durability.direct,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("a", 8192, false),
            ("b", 16384, false),
            ("c", 32768, true),
            ("d", 16384, true)
        ]
    );
}

#[test]
fn comments_blanks_and_spaces_say_nothing() {
    let load = file("; a\n\n  # b\n[ job one ]\t; c\n  rw = randwrite # d\n\tbs=4k\r\n").load;
    assert_eq!(load.streams[0].name, " job one ");
    assert!(load.streams[0].blocks.rw.write && load.streams[0].blocks.rw.random);
}

#[test]
fn errors_say_where_what_and_what_to_do() {
    for (text, expected) in [
        (
            "[a]\nbs=4q\n",
            "job.fio:2: [a] bs=4q: '4q' is not a size; 'q' is not a suffix: use k, m, g, t or p (fio would cut it off in silence)",
        ),
        (
            "[a]\niodpeth=4\n",
            "job.fio:2: [a] there is no option 'iodpeth'; did you mean 'iodepth'?",
        ),
        (
            "[a]\nioengine=rbd\n",
            "job.fio:2: [a] ioengine=rbd: fio's engine 'rbd' is not supported: it needs the library of a cluster's storage",
        ),
        (
            "[a]\nioengine=libiao\n",
            "job.fio:2: [a] ioengine=libiao: there is no engine 'libiao'; did you mean 'libaio'?",
        ),
        (
            "[a]\nuid=4\n",
            "job.fio:2: [a] uid=4: fio's option is not supported: start assay as that user",
        ),
        (
            "bs=4k\n[a]\n",
            "job.fio:1: 'bs=4k' is outside of any section: begin one with [name]",
        ),
        ("[a\nbs=4k\n", "job.fio:1: '[a' has no closing ']'"),
        (
            "[a]\nhipri\n",
            "job.fio:2: [a] hipri: the engine psync has no such option; it belongs to io_uring, pvsync2, io_uring_cmd, sg",
        ),
        (
            "[a]\nrate=1m\nrate_iops=4\n",
            "job.fio:1: [a] a rate in bytes and one in I/Os cannot be given together",
        ),
        (
            "[a]\nwait_for=b\n[b]\n",
            "job.fio:1: [a] wait_for: there is no job 'b' above",
        ),
        (
            "[a]\nnumjobs=1000000000\n",
            "job.fio:1: [a] more than 4096 jobs; --max-jobs=N allows more",
        ),
        (
            "[a]\nnrfiles=4000000000\n",
            "job.fio:1: [a] names and values of the jobs take more than 64 MiB of memory; use fewer files (nrfiles) or copies (numjobs)",
        ),
        (
            "[a]\ndirect=yes\n",
            "job.fio:2: [a] direct=yes: write 0 or 1",
        ),
        (
            "[global]\nbs=4k\n",
            "command line: there is no job: give a job file, or begin one with --name=…",
        ),
    ] {
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn surprising_units_are_warned_about() {
    let invocation = file("[a]\nsize=4MiB\nbs=4k\n");
    let stream = &invocation.load.streams[0];
    assert_eq!(stream.region.size, Some(Extent::Bytes(4_000_000)));
    assert_eq!(
        invocation.warnings,
        [
            "job.fio:2: [a] size: '4MiB' is 4000000 by fio's rule: with kb_base=1024, KiB, MiB … are powers of 1000 and k, m … are powers of 1024"
        ]
    );
    let other = file("[a]\nsize=4MiB\nkb_base=1000\n");
    assert_eq!(
        other.load.streams[0].region.size,
        Some(Extent::Bytes(4 << 20))
    );
    assert!(other.warnings.is_empty());
}

#[test]
fn values_of_directions_are_filled_as_fio_does() {
    let rates = |text: &str| {
        let rate = file(&format!("[a]\nrate={text}\n")).load.streams[0]
            .pace
            .rate;
        (rate.read, rate.write, rate.trim)
    };
    assert_eq!(rates("1k"), (1024, 1024, 1024));
    assert_eq!(rates("1k,2k"), (1024, 2048, 2048));
    assert_eq!(rates("1k,2k,"), (1024, 2048, 0));
    assert_eq!(rates("1k,"), (1024, 0, 0));
    assert_eq!(rates(",2k"), (0, 2048, 2048));
    let sizes = |text: &str| {
        let sizes = &file(&format!("[a]\n{text}\n")).load.streams[0].blocks.sizes;
        [sizes.read.clone(), sizes.write.clone(), sizes.trim.clone()]
            .map(|size| (size.min, size.max))
    };
    assert_eq!(
        sizes("bs=4k,8k,16k"),
        [(4096, 4096), (8192, 8192), (16384, 16384)]
    );
    assert_eq!(
        sizes("bsrange=4k-1k,2k-8k"),
        [(1024, 4096), (2048, 8192), (2048, 8192)]
    );
    assert_eq!(sizes("bsrange=512/25:1k:25:2k:25:4k/25"), [(512, 1024); 3]);
    assert_eq!(sizes("bsrange=1k-2k\nbs=64k"), [(1024, 2048); 3]);
}

#[test]
fn splits_share_what_is_left() {
    let split = |text: &str| {
        let sizes = &file(&format!("[a]\nbssplit={text}\n")).load.streams[0]
            .blocks
            .sizes;
        (sizes.read.split.clone(), sizes.write.split.clone())
    };
    let first = vec![(4096, 10), (65536, 50), (32768, 40)];
    assert_eq!(split("4k/10:64k/50:32k/40"), (first.clone(), first));
    assert_eq!(
        split("4k/50:8k/:16k/").0,
        [(4096, 50), (8192, 25), (16384, 25)]
    );
    assert_eq!(split("4k/100,8k/100").1, [(8192, 100)]);
    assert_eq!(split("4k/60:8k/30").0, [(4096, 70), (8192, 30)]);
    assert!(refusal("[a]\nbssplit=4k/60:8k/60\n").contains("add up to 120"));
}

#[test]
fn rw_says_directions_order_and_steps() {
    let rw = |text: &str| {
        file(&format!("[a]\nrw={text}\n")).load.streams[0]
            .blocks
            .rw
            .clone()
    };
    assert_eq!(rw("randread:8").every, 8);
    assert_eq!(rw("write:4k").skip_bytes, 4096);
    assert_eq!(rw("read:-8k").skip_bytes, -8192);
    let trims = rw("randtrimwrite");
    assert!(trims.trim && trims.write && trims.trim_then_write && trims.random && !trims.read);
    let mixed = rw("rw");
    assert!(mixed.read && mixed.write && !mixed.random);
}

#[test]
fn copies_are_numbered_and_grouped_as_in_fio() {
    let load = file("[a]\nnumjobs=4\n[b]\nstonewall\ngroup_reporting\n[c]\ngroup_reporting\n[d]\nname=zz\n[e]\ngroup_reporting\n[f]\nnew_group\ngroup_reporting\n").load;
    let seen: Vec<_> = load
        .streams
        .iter()
        .map(|s| {
            (
                s.name.as_str(),
                s.number,
                s.clone,
                s.group,
                s.wave,
                s.report,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("a", 1, 0, 0, 0, 0),
            ("a", 2, 3, 0, 0, 1),
            ("a", 3, 2, 0, 0, 2),
            ("a", 4, 1, 0, 0, 3),
            ("b", 5, 0, 1, 1, 4),
            ("c", 6, 0, 1, 1, 4),
            ("zz", 7, 0, 1, 1, 5),
            ("e", 8, 0, 1, 1, 5),
            ("f", 9, 0, 2, 1, 6),
        ]
    );
    assert_eq!(load.streams[1].files.paths, [std::path::Path::new("a.3.0")]);
    assert_eq!(load.streams[6].files.paths, [std::path::Path::new("d.0.0")]);
}

#[test]
fn a_job_named_as_a_device_works_on_it() {
    let load = file("[/dev/special]\n[/dev/other]\n").load;
    let paths = |n: usize| load.streams[n].files.paths[0].display().to_string();
    assert_eq!(
        (paths(0).as_str(), paths(1).as_str()),
        ("/dev/special", "/dev/other.0.0")
    );
    assert!(load.streams[0].files.named && !load.streams[1].files.named);
}

#[test]
fn files_are_included_where_they_are_named() {
    let env = TestEnvironment::default()
        .with_file(
            "dir/job.fio",
            "[a]\nbs=8k\ninclude inc.fio\nsize=${SIZE}\n[b]\n",
        )
        .with_file("dir/inc.fio", "# shared\nrw=randread\nbs=16k\n")
        .with_file("self.fio", "[a]\ninclude self.fio\n")
        .with_var("SIZE", "1m");
    let load = run("dir/job.fio", &env).load;
    assert_eq!(load.streams[0].blocks.sizes.read.min, 16384);
    assert_eq!(load.streams[0].region.size, Some(Extent::Bytes(1 << 20)));
    assert!(load.streams[0].blocks.rw.random && !load.streams[1].blocks.rw.random);
    let error = command("self.fio", &env).expect_err("a circle").to_string();
    assert_eq!(error, "self.fio:2: [a] 'self.fio' includes itself");
}

#[test]
fn options_that_depend_on_each_other_are_settled() {
    let invocation = file(
        "[a]\niodepth=16\n[b]\nioengine=libaio\niodepth=16\niodepth_batch=0\n[c]\nverify=crc32c\nrw=write\nbsrange=4k-12k\n[d]\nverify_pattern=0xab\n[e]\nrandseed=5\n[f]\nzonesize=1m\n",
    );
    let streams = &invocation.load.streams;
    assert_eq!(invocation.warnings.len(), 1, "{:?}", invocation.warnings);
    assert!(invocation.warnings[0].contains("synchronous"));
    let engine = &streams[1].engine;
    assert_eq!((engine.batch, engine.iodepth_low), (16, 16));
    assert_eq!(
        streams[2].verify.as_ref().map(|verify| verify.interval),
        Some(4096)
    );
    assert!(streams[2].content.refill);
    let kind = streams[3].verify.as_ref().map(|verify| verify.kind);
    assert_eq!(
        kind,
        Some(assay_model::load::blocks::VerifyKind::PatternHeader)
    );
    assert_eq!(
        (streams[4].blocks.seed, streams[4].blocks.repeat),
        (Some(5), false)
    );
    assert_eq!(
        streams[5].region.zones.map(|zones| zones.range),
        Some(1 << 20)
    );
}

#[test]
fn only_comments_may_be_unreadable() {
    let with = |bytes: &[u8]| TestEnvironment::default().with_file("job.fio", bytes);
    run("job.fio", &with(b"[a] ; f\xfcr\nrw=read\n"));
    let error = command("job.fio", &with(b"[a]\nfilename=f\xfcr\n")).expect_err("a name");
    assert!(error.to_string().ends_with("is not UTF-8"), "{error}");
}

/// Errors travel between threads, as those of other crates do.
#[test]
fn errors_are_send_and_sync() {
    fn check<T: std::error::Error + Send + Sync + 'static>() {}
    check::<FioError>();
}

#[test]
fn switches_of_io_uring_need_no_value() {
    let text = "[a]\nsize=1M\nioengine=io_uring\nfixedbufs\nregisterfiles\nsqthread_poll\n";
    let invocation = file(text);
    let engine = &invocation.load.streams[0].engine;
    assert!(engine.register_files && engine.sq_thread_poll);
}

#[test]
fn options_of_fio_3_41_are_understood() {
    use assay_model::load::WindowValue;
    use assay_model::load::blocks::SaveState;
    let all = file(
        "[a]\nrw=write\nsize=1m\nverify=pattern\nverify_pattern=%o\nverify_pattern_interval=512\n\
         verify_write_sequence=0\nverify_state_save=1\nwrite_lat_log=x\nlog_offset=1\n\
         log_issue_time=1\nlog_window_value=both\njob_start_clock_id=1\nallrandrepeat=0\n\
         [b]\nrw=write\nsize=1m\nlog_max_value=1\nverify=md5\n",
    );
    let [a, b] = &all.load.streams[..] else {
        panic!("two streams");
    };
    let verify = a.verify.as_ref().expect("it checks");
    assert_eq!(verify.pattern.interval, 512);
    assert!(!verify.check_number && verify.check_seed);
    assert_eq!(verify.save_state, SaveState::Always);
    assert!(a.logs.issue_time && !a.blocks.repeat);
    assert_eq!(a.logs.window_value, WindowValue::Both);
    assert_eq!(a.schedule.start_clock, 1);
    assert_eq!(b.logs.window_value, WindowValue::Max);
    let verify = b.verify.as_ref().expect("it checks");
    assert_eq!(verify.save_state, SaveState::WhenStopped);
    let alone = refusal("[a]\nsize=1m\nlog_issue_time=1\n");
    assert!(alone.contains("write_lat_log"), "{alone}");
}

#[test]
fn writes_that_may_overtake_each_other_are_not_told_by_number() {
    let checks = |more: &str| {
        let job = "[a]\nrw=randwrite\nsize=1m\nverify=md5\nnorandommap\nioengine=libaio\n";
        let load = file(&format!("{job}{more}\n")).load;
        let verify = load.streams[0].verify.clone().expect("it checks");
        (verify.check_number, verify.check_seed)
    };
    assert_eq!(checks(""), (true, true));
    assert_eq!(checks("iodepth=8"), (false, false));
    assert_eq!(checks("iodepth=8\nverify_write_sequence=1"), (true, false));
    assert_eq!(checks("iodepth=8\nserialize_overlap=1"), (true, true));
}
