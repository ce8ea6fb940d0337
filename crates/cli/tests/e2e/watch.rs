//! Looking on while a command runs.

use crate::assay::{Ended, Running, text};
use assay_testkit::{Mount, Volume, needs, or_skip};
use rustix::process::Signal;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// `assay watch WORDS`; it has no store.
fn command(words: &[&str]) -> Command {
    let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
    command.arg("watch").args(words);
    command
}

fn start(words: &[&str]) -> Running {
    Running::start(&mut command(words))
}

fn run(words: &[&str]) -> Ended {
    start(words).end()
}

fn refused(words: &[&str]) -> String {
    let ended = run(words);
    ended.assert_code(2);
    ended.refusal()
}

/// The copy is done when its data is in memory; somebody has it written a
/// second later.
#[test]
fn the_data_of_a_plain_copy_is_on_the_device_after_the_copy() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 512));
    let point = text(volume.point());
    let script = format!(
        "dd if=/dev/zero of={point}/file bs=1M count=200; \
         (sleep 1; sync -f {point}) >/dev/null 2>&1 &"
    );
    let mut watched = command(&["--json", "--interval", "200ms", "--device", point]);
    watched.args(["sh", "-c", &script]);
    let ended = Running::start(&mut watched).end();
    ended.assert_code(0);
    ended.assert_says(&["200+0 records out"]);
    let seen = ended.json();
    let device = &seen["device"];
    let name = volume.device().node().file_name().unwrap();
    assert_eq!(device["name"], name.to_str().unwrap());
    let written = |until: &str| device[until]["written_bytes"].as_u64().unwrap();
    assert!(written("in_all") >= 200 * MIB, "{device}");
    assert!(written("until_finished") < written("in_all"), "{device}");
    let nanos = |key: &str| seen[key].as_u64().unwrap_or_else(|| panic!("no {key}"));
    assert!(nanos("finished_ns") < nanos("on_device_ns"));
    ended.assert_says(&[
        "sh finished after",
        "the data was on",
        name.to_str().unwrap(),
    ]);
}

/// Others may keep pages dirty on a busy machine; then nothing is told of these.
#[test]
fn a_copy_that_flushes_leaves_nothing_to_wait_for() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 128));
    let point = text(volume.point());
    let script = format!("dd if=/dev/zero of={point}/file bs=1M count=32 conv=fsync");
    let mut watched = command(&["--json", "--wait", "0s", "--device", point]);
    watched.args(["sh", "-c", &script]);
    let ended = Running::start(&mut watched).end();
    ended.assert_code(0);
    let seen = ended.json();
    let written = &seen["device"]["until_finished"]["written_bytes"];
    assert!(written.as_u64().unwrap() >= 32 * MIB, "{written}");
    if seen["drain"]["drain"] == "left" {
        ended.assert_says(&["sh finished after", "it left nothing dirty"]);
    }
}

#[test]
fn the_command_has_the_users_streams_and_gives_its_exit_code() {
    let mut watched = command(&["--", "sh", "-c", "cat; echo oops >&2; exit 7"]);
    watched.stdin(Stdio::piped());
    watched.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = watched.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello").unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(
        ended.stdout, b"hello",
        "the table is not on standard output"
    );
    let err = String::from_utf8(ended.stderr).unwrap();
    for word in ["oops\n", "dirty", "sh finished after"] {
        assert!(err.contains(word), "{word}: {err}");
    }
    let killed = run(&["--", "sh", "-c", "kill -9 $$"]);
    killed.assert_code(128 + 9);
}

#[test]
fn what_cannot_be_carried_out_is_named() {
    assert!(refused(&["no-such-program"]).contains("no-such-program"));
    let nowhere = refused(&["--device", "/proc", "true"]);
    assert!(
        nowhere.contains("/proc") && nowhere.contains("--device"),
        "{nowhere}"
    );
    let misspelt = refused(&["--device", "nope", "true"]);
    for words in ["nope", "the nearest devices are"] {
        assert!(misspelt.contains(words), "{misspelt}");
    }
    let missing = refused(&["--device", "/no/such/file", "true"]);
    assert!(missing.contains("/no/such/file"), "{missing}");
    assert!(refused(&["--interval", "1ms"]).contains("too short"));
    assert!(refused(&["--samples", "0"]).contains("--samples"));
}

#[test]
fn csv_is_the_only_thing_on_standard_output() {
    let ended = run(&["--csv", "--samples", "3", "--interval", "100ms"]);
    ended.assert_code(0);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), 1 + 3, "{}", ended.out);
    assert!(lines[0].starts_with("time_s,phase,total_bytes,"));
    let columns = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == columns));
    assert!(lines[1].starts_with("0.0") && lines[3].contains(",alone,"));
}

#[test]
fn an_interrupt_ends_the_watching_but_not_a_command() {
    let alone = start(&["--json", "--interval", "100ms"]);
    alone.agent();
    sleep(Duration::from_millis(500));
    alone.signal(Signal::INT);
    let ended = alone.end();
    ended.assert_code(0);
    assert!(!ended.json()["samples"].as_array().unwrap().is_empty());

    let script = "trap '' INT; echo ready >&2; sleep 1; exit 3";
    let mut running = start(&["--", "sh", "-c", script]);
    running.await_words("ready");
    running.signal(Signal::INT);
    running.end().assert_code(3);

    let mut running = start(&["--", "sh", "-c", "echo ready >&2; exec sleep 60"]);
    running.await_words("ready");
    running.signal(Signal::TERM);
    running.end().assert_code(128 + 15);
}

/// Not the disk that is busiest, which others may use.
#[test]
fn the_device_is_that_of_the_current_directory() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let name = volume.device().node().file_name().unwrap();
    let watched = |folder: &std::path::Path| {
        let mut watched = command(&["--json", "--wait", "0s", "true"]);
        let ended = Running::start(watched.current_dir(folder)).end();
        ended.assert_code(0);
        ended
    };
    let seen = watched(volume.point()).json();
    let disks = seen["samples"][0]["disks"].as_array().unwrap();
    assert_eq!(disks.len(), 1, "{disks:?}");
    assert_eq!(seen["device"]["name"], name.to_str().unwrap());

    let memory = or_skip!(Mount::tmpfs(1, &volume.point().join("memory")));
    let ended = watched(memory.point());
    ended.assert_says(&["current directory", "in memory", "moved most", "--device"]);
    let seen = ended.json();
    let disks = seen["samples"][0]["disks"].as_array().unwrap();
    assert!(disks.len() > 1, "all are looked at: {disks:?}");
}
