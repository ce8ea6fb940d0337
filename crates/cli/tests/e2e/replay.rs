//! `assay replay`: what was recorded is done again, at the same places, in the same
//! order, when it was due.

use crate::assay::{Bed, figure, label, text, trial};
use assay_testkit::{Board, LoopDevice, Scratch, needs, or_skip};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const SECTOR: u64 = 512;

/// Reads, writes and flushes of several lengths, jumping about in 8 MiB, half a
/// millisecond apart.
fn iolog(ios: u64) -> String {
    let mut log = "fio version 3 iolog\n0 /recorded add\n0 /recorded open\n".to_owned();
    for n in 0..ios {
        let (at_us, length) = (n * 500, 4096 << (n % 3));
        let offset = n * 7_919 % 500 * 16_384;
        let what = if n % 3 == 0 { "write" } else { "read" };
        writeln!(log, "{at_us} /recorded {what} {offset} {length}").expect("written");
        if n % 50 == 49 {
            writeln!(log, "{at_us} /recorded datasync 0 0").expect("written");
        }
    }
    log
}

/// The same as `blkparse` shows it.
fn blkparse(ios: u64) -> String {
    let mut text = "CPU0 (8,0):\n".to_owned();
    for n in 0..ios {
        let (us, sectors) = (n * 500, 8 << (n % 3));
        let sector = n * 7_919 % 500 * 32;
        let what = if n % 3 == 0 { "WS" } else { "R" };
        let time = format!("{}.{:06}000", us / 1_000_000, us % 1_000_000);
        writeln!(
            text,
            "  8,0 1 {n} {time} 99 Q {what} {sector} + {sectors} [x]"
        )
        .expect("written");
        if n % 50 == 49 {
            writeln!(text, "  8,0 1 {n} {time} 99 Q FN 0 + 0 [x]").expect("written");
        }
    }
    text
}

/// What an iolog does to a file, without the times.
fn done(log: &str) -> Vec<String> {
    let is_io = |words: &Vec<&str>| words.len() == 5;
    let lines = log.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    lines
        .filter(is_io)
        .map(|words| words[2..].join(" ").replace("datasync", "sync"))
        .collect()
}

fn replayed(
    bed: &Bed,
    trace: &Path,
    onto: &Path,
    words: &[&str],
) -> (serde_json::Value, Vec<String>) {
    let log = bed.join("done");
    let all = [
        "replay",
        text(trace),
        text(onto),
        "--json",
        "--log",
        text(&log),
    ];
    let ended = bed.run(&[&all, words].concat());
    ended.assert_code(0);
    (ended.json(), done(&fs::read_to_string(log).expect("a log")))
}

fn written(bed: &Bed, name: &str, content: &str) -> PathBuf {
    let path = bed.join(name);
    fs::write(&path, content).expect("written");
    path
}

#[test]
fn the_same_offsets_lengths_and_order_come_in_time() {
    let bed = Bed::new();
    let recorded = iolog(1_000);
    let trace = written(&bed, "trace", &recorded);
    let folder = bed.folder();
    let (run, done_again) = replayed(&bed, &trace, &folder, &[]);
    assert_eq!(done_again, done(&recorded));
    let trial = trial(&run, "replay");
    assert_eq!(trial["totals"]["read"]["ios"], 666);
    assert_eq!(trial["totals"]["write"]["ios"], 334);
    let detail = &trial["detail"];
    assert_eq!(detail["kind"], "replay");
    assert_eq!(detail["flushes"], 20);
    assert_eq!(detail["moved"], 0);
    // Each I/O and each flush has its lateness, and none comes too early: what was
    // recorded over half a second takes as long.
    assert_eq!(detail["lateness"]["count"], 1_020);
    assert!(figure(&run, "replay", "lateness_p50") >= 0.0);
    assert!(trial["elapsed_ns"].as_u64().unwrap() >= 999 * 500_000);
    assert!(
        fs::read_dir(folder).unwrap().next().is_none(),
        "the file is removed"
    );
}

#[test]
fn text_of_the_kernels_events_is_the_same_trace() {
    let bed = Bed::new();
    let trace = written(&bed, "trace.txt", &blkparse(300));
    let (run, done_again) = replayed(&bed, &trace, &bed.folder(), &["--speed", "max"]);
    assert_eq!(done_again, done(&iolog(300)));
    let detail = &trial(&run, "replay")["detail"];
    assert_eq!(detail["format"], "block events (queued)");
    assert!(detail["lateness"].is_null(), "no times are kept");
}

#[test]
fn on_a_smaller_device_offsets_wrap_or_scale_and_that_is_said() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let image = or_skip!(scratch.image("disk", 1));
    let device = or_skip!(LoopDevice::over(&image));
    let bed = Bed::new();
    let trace = written(&bed, "trace", &iolog(300));
    let words = ["--speed", "max"];
    let refused =
        bed.refused(&[&["replay", text(&trace), text(device.node())], &words[..]].concat());
    assert!(refused.contains("--destroy-data"), "{refused}");
    for how in ["wrap", "scale"] {
        let words = [&words[..], &["--destroy-data", "--shrink", how]].concat();
        let (run, done_again) = replayed(&bed, &trace, device.node(), &words);
        let detail = &trial(&run, "replay")["detail"];
        assert_eq!(detail["shrunk"], how);
        assert!(detail["moved"].as_u64().unwrap() > 100, "{detail}");
        for line in done_again {
            let mut numbers = line
                .split(' ')
                .skip(1)
                .map(|word| word.parse::<u64>().unwrap());
            let (offset, length) = (numbers.next().unwrap(), numbers.next().unwrap());
            assert!(offset + length <= 1 << 20 && offset % SECTOR == 0, "{line}");
        }
        assert_ne!(label(&run, "replay", "read").0, "unknown");
    }
}

#[test]
fn what_is_no_trace_and_what_may_not_be_written_is_refused() {
    let bed = Bed::new();
    let folder = bed.folder();
    let text_of = |name: &str, content: &str| {
        let path = written(&bed, name, content);
        bed.refused(&["replay", text(&path), text(&folder)])
    };
    assert!(text_of("prose", "hello\n").contains("neither an iolog"));
    let problem = text_of("short", "fio version 3 iolog\n0 f add\n1 f write\n");
    assert!(problem.contains("line 3"), "{problem}");
    let trace = written(&bed, "trace", &iolog(3));
    let precious = written(&bed, "precious", "do not lose this");
    let problem = bed.refused(&["replay", text(&trace), text(&precious)]);
    assert!(problem.contains("--destroy-data"), "{problem}");
    assert_eq!(fs::read_to_string(precious).unwrap(), "do not lose this");
}

#[test]
fn traces_are_described_and_compared() {
    let bed = Bed::new();
    let first = written(&bed, "first", &iolog(300));
    let second = written(&bed, "second", &blkparse(150));
    let words = ["replay", "--describe", text(&first), text(&second)];
    let ended = bed.command_without_store(&words).output().unwrap();
    let shown = String::from_utf8(ended.stdout).unwrap();
    let line = shown
        .lines()
        .find(|line| line.trim_start().starts_with("flushes"))
        .unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["flushes", "6", "3"]
    );
    let ended = bed
        .command_without_store(&[&words[..], &["--json"]].concat())
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(json["traces"][1]["directions"]["read"]["ios"], 100);
}

#[test]
fn a_trace_of_this_machine_is_replayed_on_a_board() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let trace = written(&bed, "trace", &iolog(200));
    let words = [
        "replay",
        text(&trace),
        "/mnt/sd/replayed",
        "--json",
        "--on",
        &board.url(),
    ];
    let mut command = bed.command(&words);
    command
        .env("PATH", board.search_path())
        .env("ASSAY_AGENTS", Board::agents());
    let ended = crate::assay::Running::start(&mut command).end();
    ended.assert_code(0);
    let run = ended.json();
    assert_eq!(trial(&run, "replay")["detail"]["lateness"]["count"], 204);
    assert_eq!(board.run("ls /mnt/sd | grep replayed; true").unwrap(), "");
}
