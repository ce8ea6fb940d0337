//! The same job file on fio and on assay: the same requests, the same files,
//! the same output but for the figures and what assay adds.

#[path = "fio_parity/both.rs"]
mod both;
#[path = "fio_parity/compare.rs"]
mod compare;

use crate::assay::{Bed, pattern, text};
use assay_testkit::{LoopDevice, Scratch, Volume, needs, or_skip};
use both::{Outcome, Program, outcomes};
use compare::{Allowed, differences, file_differences};
use std::fs;
use std::path::Path;

#[track_caller]
fn assert_none(found: &[String]) {
    assert!(
        found.is_empty(),
        "fio and assay differ:\n{}",
        found.join("\n")
    );
}

/// Both on those jobs, which must agree.
#[track_caller]
fn assert_same(folder: &Path, jobs: &str, allowed: &Allowed<'_>) -> [Outcome; 2] {
    let both = outcomes(folder, jobs, None);
    assert_none(&differences(&both, allowed));
    both
}

/// Where assay tells of flushes and fio does not.
const FLUSHES: [&str; 2] = ["  fsync/", "    sync "];

/// No difference but those that are always there.
const NOTHING: Allowed<'_> = Allowed {
    shares: &[],
    amounts: &[],
    flushes: &[],
    groups: false,
    lines: &[],
    files: &[],
};

#[test]
fn directions_orders_and_block_sizes() {
    needs!("fio");
    let jobs = include_str!("fio_parity/modes.fio");
    let allowed = Allowed {
        shares: &["rw", "bsrange", "bssplit"],
        // The last block of one size may reach past the end of the sum; fio ends
        // some of these before all blocks were visited.
        amounts: &["mix", "mix-write", "unaligned", "by-random"],
        ..NOTHING
    };
    let bed = Bed::new();
    assert_same(&bed.folder(), jobs, &allowed);
}

#[test]
fn lengths_and_offsets() {
    needs!("fio");
    let bed = Bed::new();
    assert_same(
        &bed.folder(),
        include_str!("fio_parity/lengths.fio"),
        &NOTHING,
    );
}

#[test]
fn many_files() {
    needs!("fio");
    let bed = Bed::new();
    let folder = bed.folder();
    for program in Program::BOTH {
        let opened = folder.join(program.name()).join("opened");
        fs::create_dir_all(&opened).unwrap();
        for name in ["a", "b"] {
            fs::write(opened.join(name), pattern(8192)).unwrap();
        }
    }
    let allowed = Allowed {
        flushes: &[("fsync-on-close", 8)],
        lines: &FLUSHES,
        ..NOTHING
    };
    assert_same(&folder, include_str!("fio_parity/files.fio"), &allowed);
}

#[test]
fn copies_groups_and_their_order() {
    needs!("fio");
    let bed = Bed::new();
    assert_same(&bed.folder(), include_str!("fio_parity/jobs.fio"), &NOTHING);
}

#[test]
fn one_report_for_a_group() {
    needs!("fio");
    let bed = Bed::new();
    let allowed = Allowed {
        flushes: &[("readers", 16)],
        lines: &FLUSHES,
        groups: true,
        ..NOTHING
    };
    assert_same(
        &bed.folder(),
        include_str!("fio_parity/grouped.fio"),
        &allowed,
    );
}

#[test]
fn engines() {
    needs!("fio");
    let bed = Bed::new();
    let allowed = Allowed {
        flushes: &[("mmap-write", 8), ("posixaio-write", 8)],
        // assay times handing over in vsync, and the whole of calls on files.
        lines: &["    slat (", "     lat ("],
        ..NOTHING
    };
    let jobs = include_str!("fio_parity/engines.fio");
    assert_same(&bed.folder(), jobs, &allowed);
}

#[test]
fn direct_io_with_a_queue() {
    needs!(root, "fio", "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 128));
    let jobs = include_str!("fio_parity/direct.fio");
    let allowed = Allowed {
        shares: &["libaio-low"],
        flushes: &[("libaio-write", 8), ("io_uring-write", 8), ("psync", 1)],
        lines: &FLUSHES,
        ..NOTHING
    };
    assert_same(volume.point(), jobs, &allowed);
}

#[test]
fn requests_for_durability() {
    needs!("fio");
    let bed = Bed::new();
    let allowed = Allowed {
        amounts: &["mixed"],
        flushes: &[
            ("fsync", 16),
            ("fdatasync", 25),
            ("both", 41),
            ("end", 1),
            ("at-close", 1),
            ("fsync-and-end", 9),
            ("range", 16),
            ("random", 128),
        ],
        lines: &FLUSHES,
        ..NOTHING
    };
    assert_same(
        &bed.folder(),
        include_str!("fio_parity/syncs.fio"),
        &allowed,
    );
}

#[test]
fn data_that_is_checked() {
    needs!("fio");
    let bed = Bed::new();
    let jobs = include_str!("fio_parity/verify.fio");
    let allowed = Allowed {
        amounts: &["mixed", "bsrange", "no-map"],
        ..NOTHING
    };
    assert_same(&bed.folder(), jobs, &allowed);
}

#[test]
fn content_of_buffers() {
    needs!("fio");
    let bed = Bed::new();
    let jobs = include_str!("fio_parity/buffers.fio");
    let both = assert_same(&bed.folder(), jobs, &NOTHING);
    // What is random is so in both.
    let random = ["dedupe.0.0", "compress.0.0", "refill.0.0", "scramble.0.0"];
    let found = file_differences(&both, &random, true);
    assert_none(&found);
}

#[test]
fn discards() {
    needs!(root, "fio");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 8));
    let jobs = include_str!("fio_parity/trims.fio");
    let both = outcomes(scratch.path(), jobs, Some(text(device.node())));
    assert_none(&differences(&both, &NOTHING));
}

#[test]
fn lengths_in_time_and_pace() {
    needs!("fio");
    let bed = Bed::new();
    let jobs = include_str!("fio_parity/timed.fio");
    let both = outcomes(&bed.folder(), jobs, None);
    let allowed = Allowed {
        amounts: &["time-based", "ramp", "runtime-cuts"],
        lines: &["runtime-cuts: runtime ended it"],
        ..NOTHING
    };
    assert_none(&differences(&both, &allowed));
    for outcome in &both {
        let runtime = |name: &str, direction: &str| {
            outcome.job(name)[direction]["runtime"]
                .as_u64()
                .unwrap_or_default()
        };
        // 256 requests of 4 KiB at 1 MiB/s, or 200 a second: a second or more,
        // and not much more but on a machine that is busy.
        for (name, direction, least) in [
            ("time-based", "read", 1000),
            ("ramp", "read", 1000),
            ("rate", "read", 950),
            ("rate-iops", "write", 1200),
            ("number", "read", 950),
        ] {
            let took = runtime(name, direction);
            assert!((least..least + 1500).contains(&took), "{name}: {took} ms");
        }
    }
}

/// Offset and length of each `write` or `read` in a log of I/O.
fn logged(path: &Path, action: &str) -> Vec<(u64, u64)> {
    let log = fs::read_to_string(path).expect("a log");
    let requests = log.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == action)?;
        Some((words[at + 1].parse().ok()?, words[at + 2].parse().ok()?))
    });
    requests.collect()
}

#[test]
fn a_random_order_visits_every_block_once_and_can_be_replayed() {
    needs!("fio");
    let bed = Bed::new();
    let folder = bed.folder();
    let write = "[a]\nrw=randwrite\nsize=1M\nfilename=f\nwrite_iolog=log\n";
    let allowed = Allowed {
        files: &["log"],
        ..NOTHING
    };
    let both = assert_same(&folder, write, &allowed);
    for outcome in &both {
        let mut requests = logged(&outcome.folder.join("log"), "write");
        let blocks: Vec<(u64, u64)> = (0..256).map(|block| (block * 4096, 4096)).collect();
        assert_ne!(requests, blocks, "not random");
        requests.sort_unstable();
        assert_eq!(requests, blocks);
    }
    // Each replays what the other has logged.
    let logs = both.map(|outcome| outcome.folder.join("log"));
    for log in &logs {
        let replay = format!("[a]\nread_iolog={}\nreplay_no_stall=1\n", text(log));
        // fio shows no disks then.
        for outcome in outcomes(&folder, &replay, None) {
            assert_eq!(outcome.code, Some(0));
            assert_eq!(outcome.job("a")["write"]["total_ios"], 256);
        }
    }
}

/// Both with those words in one folder: exit codes equal, and `expected`.
#[track_caller]
fn assert_code(folder: &Path, words: &[&str], success: bool) {
    let codes = Program::BOTH.map(|program| program.run(folder, words).code);
    assert_eq!(codes[0], codes[1], "{words:?}");
    assert_eq!(codes[0] == Some(0), success, "{words:?}: {codes:?}");
}

#[test]
fn each_verifies_what_the_other_wrote() {
    needs!("fio");
    let bed = Bed::new();
    let folder = bed.folder();
    let sums = [
        "md5", "crc64", "crc32c", "crc32", "crc16", "crc7", "xxhash", "sha256", "sha1", "sha3-224",
        "sha3-256", "sha3-384", "sha3-512", "pattern", "null",
    ];
    let jobs = |rw: &str| {
        let mut text = format!(
            "[global]\nrw={rw}\nsize=128k\nbs=8k\nverify_interval=4k\ndo_verify=0\n\
             verify_pattern=0x1234\nverify_fatal=1\n"
        );
        for sum in sums {
            text.push_str(&format!("[{sum}]\nfilename=f-{sum}\nverify={sum}\n"));
        }
        text
    };
    fs::write(folder.join("write.fio"), jobs("randwrite")).unwrap();
    fs::write(folder.join("read.fio"), jobs("read")).unwrap();
    for (writer, reader) in [
        (Program::Fio, Program::Assay),
        (Program::Assay, Program::Fio),
    ] {
        writer.run(&folder, &["write.fio"]).assert_code(0);
        reader.run(&folder, &["read.fio"]).assert_code(0);
        // A damage that one makes is seen by the other.
        for sum in sums.iter().filter(|sum| **sum != "null") {
            let path = folder.join(format!("f-{sum}"));
            let mut data = fs::read(&path).unwrap();
            data[70_000] ^= 0xff;
            fs::write(&path, data).unwrap();
        }
        let ended = reader.run(&folder, &["read.fio"]);
        assert_ne!(ended.code, Some(0), "{}", reader.name());
    }
}

#[test]
fn failures_have_the_same_exit_code() {
    needs!("fio");
    let bed = Bed::new();
    let folder = bed.folder();
    assert_code(&folder, &["--version"], true);
    assert_code(&folder, &["--name=a", "--size=64k", "--parse-only"], true);
    assert_code(&folder, &["--name=a", "--size=64k", "--rw=write"], true);
    assert_code(
        &folder,
        &[
            "--name=a",
            "--filename=/proc/version",
            "--size=4k",
            "--rw=write",
        ],
        false,
    );
}
