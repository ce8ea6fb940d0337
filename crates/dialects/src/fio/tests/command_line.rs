//! The command line.

use super::TestEnvironment;
use super::grammar::{command, run};
use crate::fio::FioCommand;
use assay_model::job::EngineKind;
use assay_model::load::Extent;

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

#[test]
fn jobs_of_the_command_line_and_of_files_come_one_after_another() {
    let env = TestEnvironment::default()
        .with_file("x.fio", "[x]\n[y]\n")
        .with_file("z.fio", "[z]\n");
    let invocation = run(
        "--bs=8k --name=first --rw randwrite --name second --output-format=normal,json+ x.fio z.fio --eta=never",
        &env,
    );
    let seen: Vec<_> = invocation
        .load
        .streams
        .iter()
        .map(|s| (s.name.as_str(), s.blocks.sizes.read.min, s.wave))
        .collect();
    assert_eq!(
        seen,
        [
            ("first", 8192, 0),
            ("second", 8192, 0),
            ("x", 8192, 0),
            ("y", 8192, 0),
            ("z", 4096, 1)
        ]
    );
    assert!(
        invocation.load.streams[0].blocks.rw.write && !invocation.load.streams[1].blocks.rw.write
    );
    let formats = invocation.output.formats;
    assert!(formats.normal && formats.json && formats.json_plus && !formats.terse);
    let first = &invocation.jobs[0].options;
    assert_eq!(first[0], ("name".to_owned(), Some("first".to_owned())));
    assert_eq!(first[1], ("rw".to_owned(), Some("randwrite".to_owned())));
}

#[test]
fn sections_are_chosen() {
    let env = TestEnvironment::default()
        .with_file("x.fio", "[global]\nbs=8k\n[x]\n[nonsense]\nqqq=1\n[y]\n");
    let load = run("--section=x --section y x.fio", &env).load;
    assert_eq!(load.streams.len(), 2);
    assert_eq!(load.streams[1].blocks.sizes.read.min, 8192);
    let load = run("--section=b --name=a --bs=16k --name=b --rw=write", &env).load;
    assert_eq!(load.streams.len(), 1);
    assert_eq!(load.streams[0].blocks.sizes.read.min, 4096);
}

#[test]
fn unambiguous_beginnings_are_enough() {
    let env = TestEnvironment::default();
    assert!(
        run("--name=a --rwmixr=40 --time_b --runt=5", &env)
            .load
            .streams[0]
            .length
            .time_based
    );
    let error = command("--name=a --verify_b=4", &env)
        .expect_err("two are meant")
        .to_string();
    assert_eq!(
        error,
        "command line: '--verify_b' may be one of --verify_backlog, --verify_backlog_batch"
    );
}

#[test]
fn flags_too_may_be_ambiguous() {
    let env = TestEnvironment::default();
    let error = command("--trig=x", &env).expect_err("several").to_string();
    assert_eq!(
        error,
        "command line: '--trig' may be one of --trigger-file, --trigger-timeout, --trigger, --trigger-remote"
    );
}

#[test]
fn some_flags_are_answered_at_once() {
    let env = TestEnvironment::default().with_file(
        "job.fio",
        "[global]\nbs=8k\n[a]\ntime_based\ndescription=a b\n",
    );
    let text = |line: &str| match command(line, &env) {
        Ok(FioCommand::Print(text)) => text,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(text("--version"), format!("{}\n", crate::fio::VERSION));
    assert_eq!(text("-v"), text("--version"));
    assert!(text("--cmdhelp=rw").contains("readwrite"));
    assert!(text("--cmdhelp").lines().count() > 200);
    for engine in EngineKind::ALL {
        assert!(
            text("--enghelp").contains(&format!("\t{engine}\n")),
            "{engine}"
        );
    }
    assert!(text("--enghelp=libaio").contains("nowait"));
    assert!(text("--enghelp=pvsync2,hipri").contains("engines"));
    assert!(text("--help").contains("--output-format"));
    assert_eq!(
        text("--showcmd job.fio"),
        "fio --bs=8k --name=a --time_based --description='a b'\n"
    );
    assert!(matches!(
        command("--parse-only job.fio", &env),
        Ok(FioCommand::ParsedOnly { .. })
    ));
    for line in [
        "--server",
        "--client=x",
        "--crctest",
        "--trigger=x",
        "--profile=act",
    ] {
        let error = command(line, &env).expect_err(line).to_string();
        assert!(error.contains("not supported"), "{error}");
    }
}

#[test]
fn options_are_shown_as_they_are_read() {
    let env = TestEnvironment::default();
    let parsing = |line: &str| match command(line, &env) {
        Ok(FioCommand::ParsedOnly { parsing, warnings }) => {
            assert!(warnings.is_empty(), "{warnings:?}");
            parsing
        }
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(
        parsing("--parse-only --debug=io,parse --bs=4k --ss=iops:.1%"),
        [
            "command line: bs=4k",
            "command line: ss=iops:.1%",
            "set steady state threshold to 0.100000%"
        ]
    );
    assert!(parsing("--parse-only --debug=io --bs=4k").is_empty());
    let limit = |ss: &str| parsing(&format!("--parse-only --debug=parse --ss={ss}")).pop();
    let expected = |what: &str| Some(format!("set steady state {what}"));
    assert_eq!(limit("iops:10"), expected("IOPS threshold to 10.000000"));
    assert_eq!(limit("bw:12"), expected("BW threshold to 12"));
}

#[test]
fn an_option_without_effect_is_noted_once() {
    let invocation = run(
        "--alloc-size=64 --iomem_align=4k --name=a --name=b --iomem_align=8k",
        &TestEnvironment::default(),
    );
    assert_eq!(
        invocation.notes,
        [
            "--alloc-size has no effect: assay has no such pool",
            "command line: iomem_align has no effect: buffers always begin at a page"
        ]
    );
}

#[test]
fn readonly_refuses_writers() {
    let env = TestEnvironment::default();
    let error = command("--readonly --name=a --rw=randrw", &env).expect_err("a writer");
    assert_eq!(
        error.to_string(),
        "command line: [a] it writes or trims, which --readonly forbids"
    );
    assert!(run("--readonly --name=a --rw=read", &env).load.readonly);
}

#[test]
fn a_hundred_thousand_sections_are_read() {
    let text: String = (0..100_000)
        .map(|n| format!("[j{n}]\nbs=4k\nrw=randread\n"))
        .collect();
    let env = TestEnvironment::default().with_file("job.fio", text);
    let invocation = run("--max-jobs=100000 job.fio", &env);
    assert_eq!(invocation.load.streams.len(), 100_000);
}

/// As fio's `t/strided.py` writes it.
#[test]
fn a_parenthesis_too_many_is_left_out() {
    let invocation = run("--name=a --filesize=1048576)", &TestEnvironment::default());
    let size = invocation.load.streams[0].files.file_size;
    assert_eq!(size.map(|size| size.min), Some(1 << 20));
    assert!(!invocation.warnings.is_empty());
}

#[test]
fn warnings_can_be_errors() {
    let env = TestEnvironment::default();
    let error = command("--warnings-fatal --alloc-size=1 --name=a --iodepth=4", &env)
        .expect_err("a depth without effect")
        .to_string();
    assert!(
        error.contains("--warnings-fatal: command line: [a] iodepth=4"),
        "{error}"
    );
    run("--warnings-fatal --alloc-size=1 --name=a", &env);
}

#[test]
fn a_shown_command_line_means_the_same() {
    let text = "[global]\nioengine=libaio\nfilename=/a:/b\\:c\nbs=4k,8k\ntime_based\nruntime=2m\n\
        [one]\nrw=randrw:8\nbssplit=4k/20:8k/80\nnumjobs=3\nrate=1m,2m\nverify=crc32c\n\
        [two]\nstonewall\nbs=16k\nwrite_bw_log\nrandom_distribution=zoned:60/10:40/90\n";
    let env = TestEnvironment::default().with_file("job.fio", text);
    let Ok(FioCommand::Print(shown)) = command("--showcmd job.fio", &env) else {
        panic!("no command line");
    };
    let line = shown
        .trim()
        .strip_prefix("fio ")
        .expect("fio first")
        .replace('\'', "");
    assert_eq!(run(&line, &env).load, run("job.fio", &env).load);
}
