//! `assay lab soak`: every block is checked, corruption is located, and a kill loses nothing.

use crate::assay::{Bed, Running, lives, text, until};
use assay_model::rng::SplitMix64;
use assay_testkit::{LoopDevice, Scratch, needs, or_skip};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// What the steps of a soak tell, in their order.
fn steps(run: &Value) -> Vec<&Value> {
    let trials = run["trials"].as_array().expect("trials");
    trials.iter().map(|trial| &trial["detail"]).collect()
}

fn last<'a>(run: &'a Value, counter: &str) -> &'a Value {
    &steps(run).last().expect("a step")["checkpoint"][counter]
}

/// The file of a soak in a folder.
fn area(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let names = entries.map(|entry| entry.expect("an entry").path());
    let mut areas = names.filter(|path| path.extension().is_some_and(|end| end == "area"));
    areas.next().expect("there is an area")
}

#[test]
fn a_sound_device_is_written_and_checked_without_a_fault() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let image = scratch.join("disk.img");
    File::create(&image).unwrap().set_len(8 * MIB).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    let bed = Bed::new();
    let node = text(device.node());
    let refused = bed.run(&["lab", "soak", node, "--passes", "2"]);
    refused.assert_code(2);
    assert!(refused.err.join("\n").contains("--destroy-data"));
    let ended = bed.run(&[
        "lab",
        "soak",
        node,
        "--passes",
        "3",
        "--endurance",
        "3000",
        "--destroy-data",
        "--json",
    ]);
    ended.assert_code(0);
    let said = ended.err.join("\n");
    assert!(said.contains("24 MiB: 3 passes"), "{said}");
    assert!(
        said.contains("of its life (3000 cycles of 8 MiB)"),
        "{said}"
    );
    let run = ended.json();
    assert_eq!(last(&run, "written_bytes"), 24 * MIB);
    assert_eq!(
        last(&run, "verified_bytes"),
        24 * MIB,
        "and a check at the end"
    );
    assert_eq!(last(&run, "faults"), 0);
    let shown = bed.run(&["report", "last"]);
    let words: Vec<&str> = shown.out.split_whitespace().collect();
    assert!(
        words.join(" ").contains("no error found in 24 MiB"),
        "{}",
        shown.out
    );
    assert!(
        shown
            .out
            .starts_with("No errors: 24 MiB written, 24 MiB read back in"),
        "{}",
        shown.out
    );
    // Stretches are no repetitions: more of them would be no remedy.
    assert!(!shown.out.contains("--trials"), "{}", shown.out);
}

/// A soak that goes on until it is ended.
fn endless(bed: &Bed, folder: &Path) -> Running {
    let words = [
        "lab",
        "soak",
        text(folder),
        "--size",
        "4M",
        "--passes",
        "1000000",
        "--checkpoint",
        "150ms",
    ];
    bed.start(&words)
}

/// Waits until it has told of so many finished stretches.
fn await_stretches(running: &mut Running, count: usize) {
    running.await_lines("stretches", count, |line| line.contains(" #1: "));
}

fn resumed(bed: &Bed) -> Running {
    bed.start(&["lab", "soak", "--resume", "last", "--json"])
}

#[test]
fn a_block_that_changed_behind_its_back_is_found_and_located() {
    let bed = Bed::new();
    let folder = bed.folder();
    let mut running = endless(&bed, &folder);
    await_stretches(&mut running, 2);
    running.kill(true);
    // A block of zeros, and one with a wrong byte.
    let file = OpenOptions::new().write(true).open(area(&folder)).unwrap();
    file.write_all_at(&[0; 65_536], 3 * 65_536).unwrap();
    file.write_all_at(b"?", 10 * 65_536 + 1234).unwrap();
    drop(file);
    let mut running = resumed(&bed);
    await_stretches(&mut running, 3);
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(4);
    let run = ended.json();
    let faults: Vec<&Value> = steps(&run)
        .into_iter()
        .flat_map(|step| step["faults"].as_array().expect("faults"))
        .collect();
    let found = |block: u64| {
        let mut own = faults.iter().filter(|fault| fault["block"] == block);
        own.next().unwrap_or_else(|| panic!("{faults:#?}"))
    };
    assert_eq!(found(3)["found"]["held"], "zeros");
    assert_eq!(found(3)["offset"], 3 * 65_536);
    assert_eq!(found(10)["found"]["held"], "flipped");
    assert_eq!(found(10)["first_byte"], 10 * 65_536 + 1234);
    assert!(last(&run, "faults").as_u64() >= Some(2));
    let shown = bed.run(&["report", "last"]);
    assert!(shown.out.contains("ERRORS FOUND"), "{}", shown.out);
}

#[test]
fn killed_at_any_moment_it_goes_on_and_loses_no_counter() {
    let bed = Bed::new();
    let folder = bed.folder();
    let mut pauses = SplitMix64::new(0x50a4);
    let mut before = 0;
    for round in 0..4 {
        let mut running = match round {
            0 => endless(&bed, &folder),
            _ => resumed(&bed),
        };
        await_stretches(&mut running, 2);
        sleep(Duration::from_millis(pauses.next_u64() % 200));
        let agent = running.agent();
        // Host and agent, or the host alone.
        running.kill(round % 2 == 0);
        until("the agent ends", || !lives(agent));
        let run = bed.stored("last");
        let written = last(&run, "written_bytes").as_u64().expect("a counter");
        assert!(written > before, "round {round}: {written} after {before}");
        before = written;
        for pair in steps(&run).windows(2) {
            let count = |step: &Value| step["checkpoint"]["written_bytes"].as_u64();
            assert!(count(pair[0]) <= count(pair[1]), "a counter went back");
        }
    }
    let mut running = resumed(&bed);
    await_stretches(&mut running, 2);
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(130);
    let run = ended.json();
    assert_eq!(last(&run, "faults"), 0, "a kill is no fault");
    assert_eq!(last(&run, "errors"), 0);
    let all = steps(&run).into_iter();
    let gone_on = all.filter(|step| step["of"]["stretch"] == "resuming");
    assert_eq!(gone_on.count(), 4);
}

#[test]
fn what_cannot_be_gone_on_with_says_why() {
    let scratch = or_skip!(Scratch::new());
    let bed = Bed::new();
    let words = [
        "lab",
        "soak",
        text(scratch.path()),
        "--size",
        "1M",
        "--passes",
        "1",
    ];
    bed.run(&words).assert_code(0);
    let left = fs::read_dir(scratch.path()).unwrap().count();
    assert_eq!(left, 0, "the file is gone");
    let again = bed.run(&["lab", "soak", "--resume", "last"]);
    again.assert_code(0);
    assert!(again.err.join("\n").contains("nothing is missing"));
    for (words, why) in [
        (vec!["lab", "soak"], "PATH"),
        (
            vec!["lab", "soak", text(scratch.path()), "--block", "1000"],
            "not a multiple",
        ),
        (
            vec!["lab", "soak", text(scratch.path()), "--size", "1000T"],
            "room for",
        ),
    ] {
        let ended = bed.run(&words);
        ended.assert_code(2);
        let said = ended.err.join("\n");
        assert!(said.contains(why), "{words:?}: {said}");
    }
}
