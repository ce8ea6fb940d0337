//! Traces from text, bytes and fio, as steps.

use super::*;
use Action::{Close, Datasync, Open, Sync};
use assay_model::job::FlushCall;
use assay_model::load::{Ddir, PerDirection, Trace};
use assay_testkit::{Scratch, missing, run, skip};
use assay_trace::RecordedIo;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

fn io(ddir: Ddir, offset: u64, length: u32) -> Action {
    Action::Io(RecordedIo {
        ddir,
        offset,
        length,
    })
}

fn opened(content: impl AsRef<[u8]>, options: &Trace) -> Result<TraceReader, EngineError> {
    let scratch = Scratch::new().unwrap();
    let path = scratch.join("trace");
    fs::write(&path, content).unwrap();
    TraceReader::open(&path, options)
}

/// Steps as (file, action, delay in µs).
fn steps(content: impl AsRef<[u8]>, options: &Trace) -> Vec<(usize, Action, u64)> {
    let steps = opened(content, options).unwrap();
    steps
        .map(|step| step.unwrap())
        .map(|step| (step.file, step.action, step.delay_ns / 1_000))
        .collect()
}

/// Files with how far their I/O reaches.
fn files(summary: &TraceSummary) -> Vec<(&str, u64)> {
    let files = summary.files.iter();
    files
        .map(|file| (file.path.to_str().unwrap(), file.extent))
        .collect()
}

fn problem(content: impl AsRef<[u8]>, options: &Trace) -> String {
    opened(content, options).err().unwrap().to_string()
}

const THREE: &str = "fio version 3 iolog
10 /a add
11 /b add
20 /a open
30 /a write 4096 512
1030 /a sync 4096 0
1040 /b open
2040 /b read 123456 1024
2050 /a datasync 0 0
2060 /a trim 8192 8192
2070 /a close
";

#[test]
fn version_3_is_read_with_its_times() {
    assert_eq!(
        steps(THREE, &Trace::default()),
        [
            (0, Open, 0),
            (0, io(Ddir::Write, 4096, 512), 10),
            (0, Sync, 1000),
            (1, Open, 10),
            (1, io(Ddir::Read, 123_456, 1024), 1000),
            (0, Datasync, 10),
            (0, io(Ddir::Trim, 8192, 8192), 10),
            (0, Close, 10),
        ]
    );
    let reader = opened(THREE, &Trace::default()).unwrap();
    let summary = reader.summary();
    assert_eq!(files(summary), [("/a", 16_384), ("/b", 124_480)]);
    assert_eq!((summary.ios.read, summary.longest.trim), (1, 8192));
}

#[test]
fn waits_of_version_2_are_delays_and_short_ones_are_left_out() {
    let two = "fio version 2 iolog
/a add
/a open
/a read 0 512
/a wait 500 0
/a wait 99 0
/a read 512 512
/a read 1024 512
/a close
";
    assert_eq!(
        steps(two, &Trace::default()),
        [
            (0, Open, 0),
            (0, io(Ddir::Read, 0, 512), 0),
            (0, io(Ddir::Read, 512, 512), 500),
            (0, io(Ddir::Read, 1024, 512), 0),
            (0, Close, 0),
        ]
    );
}

#[test]
fn a_file_that_was_not_opened_is_opened() {
    let text = "fio version 2 iolog\n/a add\n/a close\n/a read 0 512\n";
    assert_eq!(
        steps(text, &Trace::default()),
        [(0, Open, 0), (0, io(Ddir::Read, 0, 512), 0)]
    );
}

#[test]
fn with_no_stall_there_are_no_delays() {
    let options = Trace {
        no_stall: true,
        ..Trace::default()
    };
    assert!(steps(THREE, &options).iter().all(|step| step.2 == 0));
}

#[test]
fn at_200_percent_the_trace_takes_half_the_time() {
    let duration = |time_scale_percent| -> u64 {
        let options = Trace {
            time_scale_percent,
            ..Trace::default()
        };
        steps(THREE, &options).iter().map(|step| step.2).sum()
    };
    assert_eq!(
        (duration(100), duration(200), duration(50)),
        (2050, 1025, 4100)
    );
}

#[test]
fn what_is_skipped_leaves_its_time_to_the_next() {
    let options = Trace {
        skip: PerDirection {
            read: true,
            write: false,
            trim: true,
        },
        skip_sync: true,
        ..Trace::default()
    };
    assert_eq!(
        steps(THREE, &options),
        [
            (0, Open, 0),
            (0, io(Ddir::Write, 4096, 512), 10),
            (1, Open, 1010),
            (0, Close, 1030),
        ]
    );
}

#[test]
fn redirected_all_goes_to_one_file_which_is_opened_once() {
    let options = Trace {
        redirect: Some(PathBuf::from("/c")),
        ..Trace::default()
    };
    let all = steps(THREE, &options);
    assert!(all.iter().all(|step| step.0 == 0));
    assert_eq!(all.iter().filter(|step| step.1 == Open).count(), 1);
    let reader = opened(THREE, &options).unwrap();
    assert_eq!(files(reader.summary()), [("/c", 124_480)]);
}

#[test]
fn offsets_are_scaled_and_then_aligned() {
    let options = Trace {
        scale: 10,
        align: 4096,
        ..Trace::default()
    };
    let text = "fio version 2 iolog\n/a add\n/a open\n/a read 123456 1000\n";
    // 12345 rounded down.
    assert_eq!(steps(text, &options)[1].1, io(Ddir::Read, 12_288, 1000));
}

#[test]
fn in_pieces_comes_the_same() {
    let options = Trace {
        read_chunked: true,
        ..Trace::default()
    };
    assert_eq!(steps(THREE, &options), steps(THREE, &Trace::default()));
    let summary = |options| opened(THREE, options).unwrap().summary().clone();
    assert_eq!(summary(&options), summary(&Trace::default()));
}

#[test]
fn bad_lines_are_named_with_what_is_wrong() {
    for (text, expected) in [
        ("", "line 1: neither"),
        ("fio version 1 iolog\n", "line 1: neither"),
        (
            "fio version 3 iolog\n1 /a add\n2 /a reed 0 1\n",
            "line 3: unknown action 'reed'",
        ),
        (
            "fio version 3 iolog\n1 /a read 0 1\n",
            "line 2: no earlier line adds",
        ),
        (
            "fio version 3 iolog\nx /a add\n",
            "line 2: time 'x' is not a number",
        ),
        (
            "fio version 3 iolog\n1 /a wait 5 0\n",
            "line 2: version 3 has times",
        ),
        (
            "fio version 3 iolog\n1 /a unlink\n",
            "line 2: unknown action 'unlink'",
        ),
        (
            "fio version 2 iolog\n/a add\n/a read 1\n",
            "line 3: expected FILE",
        ),
        (
            "fio version 2 iolog\n/a add\n/a read 1 2 3\n",
            "line 3: expected FILE",
        ),
        (
            "fio version 2 iolog\n/a add\n/a read -1 2\n",
            "line 3: offset '-1'",
        ),
        (
            "fio version 2 iolog\n/a add\n/a read 0 4294967296\n",
            "line 3: length",
        ),
        (
            "fio version 2 iolog\n/a add\n/a read 18446744073709551615 2\n",
            "line 3: 2 bytes at offset 18446744073709551615 end beyond",
        ),
    ] {
        let problem = problem(text, &Trace::default());
        assert!(problem.contains(expected), "{text:?}: {problem}");
    }
    let long = format!("fio version 2 iolog\n/{} add\n", "a".repeat(9_000));
    assert!(problem(long, &Trace::default()).contains("line 2: longer than"));
}

#[test]
fn options_without_sense_are_refused() {
    let align = Trace {
        align: 3,
        ..Trace::default()
    };
    assert!(problem(THREE, &align).contains("not a power of two"));
    let time = Trace {
        time_scale_percent: 0,
        ..Trace::default()
    };
    assert!(problem(THREE, &time).contains("replay_time_scale=0"));
}

/// A record of blktrace, with `extra` bytes behind it.
fn record(time_ns: u64, sector: u64, bytes: u32, action: u32, device: u32, extra: u16) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(time_ns.to_le_bytes());
    record.extend(sector.to_le_bytes());
    for field in [bytes, action, 4711, device, 0] {
        record.extend(field.to_le_bytes());
    }
    record.extend([0, 0]);
    record.extend(extra.to_le_bytes());
    record.resize(48 + usize::from(extra), 0x55);
    record
}

/// The same record from a machine with the other byte order.
fn swapped(mut record: Vec<u8>) -> Vec<u8> {
    for (from, to) in [
        (0, 4),
        (4, 8),
        (8, 16),
        (16, 24),
        (24, 28),
        (28, 32),
        (32, 36),
        (36, 40),
        (40, 44),
        (44, 46),
        (46, 48),
    ] {
        record[from..to].reverse();
    }
    record
}

/// Read, write, flush, write with flush, trim; and what is not replayed.
fn block_trace() -> Vec<Vec<u8>> {
    const QUEUE: u32 = 1 | 1 << (4 + 16);
    let queued = |bits: u32| QUEUE | bits << 16;
    let disk = 8 << 20;
    vec![
        record(0, 0, 0, 1 << (10 + 16), 0, 12),
        record(5_000, 8, 4096, queued(1), disk, 0),
        record(6_000, 8, 4096, 7 | 1 << (6 + 16) | 1 << 16, disk, 0),
        record(15_000, 16, 512, queued(2), disk, 7),
        record(25_000, 0, 0, queued(4), disk, 0),
        record(35_000, 24, 512, queued(2 | 4), disk, 0),
        record(40_000, 24, 0, queued(1), disk, 0),
        record(45_000, 32, 65_536, queued(2 | 1 << 13), disk + 1, 0),
    ]
}

fn redirected() -> Trace {
    Trace {
        redirect: Some(PathBuf::from("/c")),
        ..Trace::default()
    }
}

#[test]
fn block_traces_of_both_byte_orders_are_read() {
    let expected = [
        (0, Open, 0),
        (0, io(Ddir::Read, 4096, 4096), 0),
        (0, io(Ddir::Write, 8192, 512), 10),
        (0, Sync, 10),
        (0, Sync, 10),
        (0, io(Ddir::Write, 12_288, 512), 0),
        (0, io(Ddir::Trim, 16_384, 65_536), 10),
    ];
    let trace = block_trace();
    assert_eq!(steps(trace.concat(), &redirected()), expected);
    let big: Vec<u8> = trace.into_iter().flat_map(swapped).collect();
    assert_eq!(steps(big, &redirected()), expected);
}

#[test]
fn lengths_of_a_block_trace_are_rounded_up() {
    let options = Trace {
        align: 4096,
        ..redirected()
    };
    let steps = steps(block_trace().concat(), &options);
    assert_eq!(steps[2].1, io(Ddir::Write, 8192, 4096));
}

#[test]
fn a_device_that_is_not_here_is_named() {
    let trace = record(0, 0, 512, 1 | 1 << 16, 4000 << 20 | 3, 0);
    let problem = problem(trace, &Trace::default());
    assert!(
        problem.contains("record 1: this machine has no device 4000:3"),
        "{problem}"
    );
    assert!(problem.contains("replay_redirect"), "{problem}");
}

#[test]
fn damaged_block_traces_are_refused_with_the_place() {
    let good = block_trace().concat();
    let cut = &good[..good.len() - 1];
    assert!(problem(cut, &redirected()).contains("record 8: truncated: the file ends"));
    let extra = record(0, 0, 512, 0, 0, 9);
    assert!(problem(&extra[..50], &redirected()).contains("record 1: truncated: the file ends"));
    let mut second = [record(0, 0, 0, 0, 0, 0), record(0, 0, 0, 0, 0, 0)].concat();
    second[48 + 3] = 0;
    assert!(problem(&second, &redirected()).contains("record 2: not a blktrace record"));
    let mut old = record(0, 0, 0, 0, 0, 0);
    old[0] = 6;
    assert!(problem(old, &redirected()).contains("version 6"));
}

#[test]
fn fio_takes_the_same_records_for_a_block_trace() {
    if let Some(why) = missing(&["fio"]) {
        return skip(&why);
    }
    let trace = [
        record(1_000, 0, 8192, 1 | 1 << 16, 8 << 20, 5),
        record(2_000, 64, 4096, 1 | 2 << 16, 8 << 20, 0),
        record(3_000, 0, 0, 1 | 4 << 16, 8 << 20, 0),
    ]
    .concat();
    let scratch = Scratch::new().unwrap();
    let (log, target) = (scratch.join("log"), scratch.join("target"));
    fs::write(&log, &trace).unwrap();
    fs::write(&target, vec![0; 65_536]).unwrap();
    assert_eq!(
        read_and_written(&log, Some(&target)),
        ("8".into(), "4".into())
    );
    let summary = opened(&trace, &redirected()).unwrap().summary().clone();
    assert_eq!((summary.bytes.read, summary.bytes.write), (8192, 4096));
}

/// KiB that fio reads and writes when it replays a trace.
fn read_and_written(log: &Path, redirect: Option<&Path>) -> (String, String) {
    let log = format!("--read_iolog={}", log.display());
    let redirect = redirect.map(|path| format!("--replay_redirect={}", path.display()));
    let mut words = vec!["fio", "--name=r", &log, "--output-format=terse"];
    words.extend(redirect.as_deref());
    let out = run(&words).unwrap();
    let fields: Vec<&str> = out.trim().split(';').collect();
    (fields[5].to_owned(), fields[46].to_owned())
}

/// The log of a stream with two files.
fn written(path: &Path, files: [&Path; 2]) {
    let mut writer = TraceWriter::create(path, &files.map(Path::to_owned)).unwrap();
    writer.opened(20_000, 0);
    writer.opened(21_000, 1);
    writer.io(30_000, 0, Ddir::Write, 4096, 4096);
    writer.io(40_999, 1, Ddir::Read, 0, 8192);
    writer.flushed(50_000, 0, FlushCall::Fsync);
    writer.flushed(50_000, 0, FlushCall::Fdatasync);
    writer.closed(60_000, 0);
    writer.closed(60_000, 1);
    writer.finish().unwrap();
}

#[test]
fn what_was_written_is_read_back() {
    let scratch = Scratch::new().unwrap();
    let path = scratch.join("log");
    written(&path, [Path::new("/a"), Path::new("/b")]);
    assert_eq!(
        steps(fs::read(&path).unwrap(), &Trace::default()),
        [
            (0, Open, 0),
            (1, Open, 1),
            (0, io(Ddir::Write, 4096, 4096), 9),
            (1, io(Ddir::Read, 0, 8192), 10),
            (0, Sync, 10),
            (0, Datasync, 0),
            (0, Close, 10),
            (1, Close, 0),
        ]
    );
}

#[test]
fn names_with_spaces_are_refused_instead_of_written_wrongly() {
    let scratch = Scratch::new().unwrap();
    let error = TraceWriter::create(&scratch.join("log"), &[PathBuf::from("/a b")]).unwrap_err();
    assert!(error.to_string().contains("\"/a b\""), "{error}");
}

#[test]
fn fio_replays_what_was_written() {
    if let Some(why) = missing(&["fio"]) {
        return skip(&why);
    }
    let scratch = Scratch::new().unwrap();
    let (a, b, log) = (scratch.join("a"), scratch.join("b"), scratch.join("log"));
    fs::write(&a, vec![0; 65_536]).unwrap();
    fs::write(&b, vec![0; 65_536]).unwrap();
    written(&log, [&a, &b]);
    assert_eq!(read_and_written(&log, None), ("8".into(), "4".into()));
}

#[test]
fn what_fio_writes_is_read() {
    if let Some(why) = missing(&["fio"]) {
        return skip(&why);
    }
    let scratch = Scratch::new().unwrap();
    let (file, log) = (scratch.join("file"), scratch.join("log"));
    let (filename, iolog) = (
        format!("--filename={}", file.display()),
        format!("--write_iolog={}", log.display()),
    );
    let job = [
        "fio",
        "--name=w",
        "--rw=write",
        "--bs=4k",
        "--size=64k",
        "--fsync=8",
    ];
    run(&[&job[..], &[&filename, &iolog]].concat()).unwrap();
    let reader = TraceReader::open(&log, &Trace::default()).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(files(reader.summary()), [(file, 65_536)]);
    let steps: Vec<Action> = reader.map(|step| step.unwrap().action).collect();
    let offsets: Vec<u64> = steps
        .iter()
        .filter_map(|action| match action {
            Action::Io(io) => Some(io.offset),
            _ => None,
        })
        .collect();
    assert!(
        offsets
            .iter()
            .copied()
            .eq((0..16).map(|block| block * 4096))
    );
    let syncs = steps.iter().filter(|action| **action == Sync).count();
    // fio does not flush after the last write.
    assert_eq!((steps[0], syncs), (Open, 1));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(start in 0..4_usize, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let starts = [
            Vec::new(),
            b"fio version 2 iolog\n/a add\n".to_vec(),
            b"fio version 3 iolog\n1 /a add\n".to_vec(),
            block_trace().concat(),
        ];
        let content = [&starts[start][..], &bytes].concat();
        if let Ok(steps) = opened(content, &redirected()) {
            prop_assert!(steps.count() <= 420);
        }
    }

    #[test]
    fn no_words_make_it_panic(lines in prop::collection::vec(
        prop::collection::vec(
            prop::sample::select(vec!["/a", "add", "open", "close", "read", "wait", "0", "99999999999999999999", "18446744073709551615", "512"]),
            0..6,
        ),
        0..20,
    )) {
        for version in [2, 3] {
            let lines: Vec<String> = lines.iter().map(|words| words.join(" ")).collect();
            let text = format!("fio version {version} iolog\n{}\n", lines.join("\n"));
            for read_chunked in [false, true] {
                let options = Trace { read_chunked, ..Trace::default() };
                if let Ok(steps) = opened(&text, &options) {
                    prop_assert!(steps.count() <= 40);
                }
            }
        }
    }
}

#[test]
fn a_device_is_found_by_its_number() {
    let mut nodes = fs::read_dir("/dev").unwrap().flatten();
    let Some((path, rdev)) = nodes.find_map(|entry| {
        let metadata = entry.metadata().ok()?;
        metadata
            .file_type()
            .is_block_device()
            .then(|| (entry.path(), metadata.rdev()))
    }) else {
        skip("there is no block device in /dev");
        return;
    };
    let found = device_node(Path::new("/dev"), major(rdev), minor(rdev)).unwrap();
    assert_eq!(found.metadata().unwrap().rdev(), rdev, "{path:?}");
    assert_eq!(device_node(Path::new("/dev"), 4_000, 1), None);
}

/// Returns the files with the initials of their directions.
fn traced(content: impl AsRef<[u8]>, mut trace: Trace) -> Vec<(String, String)> {
    let scratch = Scratch::new().unwrap();
    let path = scratch.join("trace");
    fs::write(&path, content).unwrap();
    trace.read = Some(path);
    let files = traced_files(&trace).unwrap().into_iter();
    let initials = |does: PerDirection<bool>| {
        let done = does.iter().filter(|(_, done)| **done);
        done.map(|(ddir, _)| &ddir.name()[..1]).collect()
    };
    files
        .map(|(path, does)| (path.display().to_string(), initials(does)))
        .collect()
}

fn plain(content: &str) -> Vec<(String, String)> {
    traced(content, Trace::default())
}

fn expected(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(path, done): &(&str, &str)| ((*path).to_owned(), (*done).to_owned());
    files.iter().map(owned).collect()
}

#[test]
fn both_versions_of_an_iolog_name_their_files() {
    let log = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a write 0 4096\n";
    assert_eq!(plain(log), expected(&[("/dev/a", "w")]));
    let log = "fio version 3 iolog\n0 /dev/a add\n5 /dev/b add\n9 /dev/b write 0 4096\n\
                   9 /dev/a read 0 1\n";
    assert_eq!(plain(log), expected(&[("/dev/a", "r"), ("/dev/b", "w")]));
}

#[test]
fn actions_are_told_apart() {
    let log = "fio version 2 iolog\n/a add\n/b add\n/c add\n/a write 0 1\n/b trim 0 1\n\
                   /b read 0 1\n/c sync 0 0\n";
    let files = [("/a", "w"), ("/b", "rt"), ("/c", "")];
    assert_eq!(plain(log), expected(&files));
}

#[test]
fn what_is_skipped_is_not_done_and_what_is_redirected_is_done_elsewhere() {
    let log = "fio version 2 iolog\n/a add\n/b add\n/a write 0 1\n/b trim 0 1\n";
    let mut options = Trace::default();
    options.skip.trim = true;
    let files = [("/a", "w"), ("/b", "")];
    assert_eq!(traced(log, options.clone()), expected(&files));
    options.redirect = Some("/c".into());
    assert_eq!(traced(log, options), expected(&[("/c", "w")]));
}

#[test]
fn without_a_trace_there_are_no_files() {
    assert!(traced_files(&Trace::default()).unwrap().is_empty());
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let scratch = Scratch::new().unwrap();
    let refused = |content: Option<&[u8]>| {
        let path = scratch.join("trace");
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        let trace = Trace {
            read: Some(path),
            ..Trace::default()
        };
        traced_files(&trace).unwrap_err().to_string()
    };
    let long = [b"fio version 3 iolog\n".as_slice(), &[b'a'; 10_000]].concat();
    let cases: [(Option<&[u8]>, &str); 5] = [
        (None, "No such file"),
        (Some(b""), "neither a blktrace file nor an iolog"),
        (Some(b"fio version 3 iolog\n"), "no I/O to replay"),
        (Some(b"fio version 2 iolog\n/a write 0 1\n"), "'/a add'"),
        (Some(&long), "longer than"),
    ];
    for (content, words) in cases {
        let problem = refused(content);
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn a_pipe_is_refused_before_it_is_opened() {
    let scratch = Scratch::new().unwrap();
    let path = scratch.join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let trace = Trace {
        read: Some(path),
        ..Trace::default()
    };
    let problem = traced_files(&trace).unwrap_err().to_string();
    assert!(problem.contains("regular file"), "{problem}");
}
