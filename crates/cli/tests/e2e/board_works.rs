//! Works on a board: scenarios, a soak, memory, a replayed trace, databases. A board has
//! little memory, a slow card and busybox; what they leave there is nothing.

use crate::assay::{Bed, Running, figure, text};
use crate::board::{CARD, assert_clean, on, run};
use crate::scenario::{BUILT_IN, names};
use assay_testkit::{Board, or_skip};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// A drive of the board that nobody uses.
const SCRATCH: &str = "/dev/nvme0n1";
/// Scenarios are short with it, also on an emulated card.
const SCALE: &str = "0.004";

/// `assay scenario NAME PATH WORDS` on the board, once, as JSON.
fn play(board: &Board, scenario: &str, path: &str, words: &[&str]) -> Value {
    let bed = Bed::new();
    let all = ["scenario", scenario, path, "--trials", "1", "--json"];
    let scale = ["--scale", SCALE];
    let ended = run(board, &bed, &[&all[..], &scale, words].concat());
    ended.assert_code(0);
    let run = ended.json();
    for trial in run["trials"].as_array().expect("trials") {
        assert_eq!(trial["outcome"], "completed", "{scenario}: {trial:#}");
        assert_eq!(trial["detail"]["kind"], "scenario", "{scenario}");
    }
    let shown = bed.run(&["report", "last"]);
    let total = format!("all of {scenario}: ");
    assert!(shown.out.contains(&total), "{}", shown.out);
    run
}

/// Only what mkfs made is on the card, and nothing of the scratch drive is mounted.
fn assert_nothing_is_left(board: &Board) {
    assert_clean(board);
    let files = board.run(&format!("ls -A {CARD}")).expect("it is there");
    assert_eq!(files, "lost+found");
    let mounts = board.run("cat /proc/mounts").expect("it is there");
    assert!(!mounts.contains(SCRATCH), "{mounts}");
}

#[test]
fn each_scenario_plays_on_a_boards_card_and_leaves_nothing() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    for (scenario, steps) in BUILT_IN {
        let run = play(&board, scenario, CARD, &[]);
        assert_eq!(names(&run).len(), steps, "{scenario}: {:?}", names(&run));
        assert_eq!(run["device"]["layers"][0]["name"], "mmcblk0", "{scenario}");
        assert_eq!(run["run"]["target"], board.url());
    }
    assert_nothing_is_left(&board);
}

#[test]
fn scenarios_that_want_a_device_make_and_unmount_a_file_system_on_the_board() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    for scenario in ["flashing", "factory-reset", "low-space"] {
        let run = play(&board, scenario, SCRATCH, &["--destroy-data"]);
        assert_eq!(run["device"]["layers"][0]["kind"], "nvme", "{scenario}");
        assert_nothing_is_left(&board);
    }
}

#[test]
fn what_a_board_lacks_is_told_before_anything_is_written() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let file = bed.join("mine.toml");
    let scenario = "about = \"Makes what nobody made.\"\n[[step]]\nname = \"wipe\"\non = \"device\"\n\
                    do = \"discard\"\nfile = \"@device\"\n[[step]]\nname = \"format\"\n\
                    on = \"device\"\ndo = \"format\"\nkind = \"f2fs\"\n";
    fs::write(&file, scenario).expect("a file");
    let words = ["scenario", text(&file), SCRATCH, "--destroy-data"];
    let refusal = run(&board, &bed, &words).refusal();
    assert!(refusal.contains("no mkfs.f2fs on ssh://"), "{refusal}");
    assert!(refusal.contains("ext4"), "{refusal}");
    assert_nothing_is_left(&board);
}

#[test]
fn a_stopped_scenario_leaves_nothing_on_a_board() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let file = bed.join("mine.toml");
    let scenario = "about = \"Waits.\"\n[[step]]\nname = \"format\"\non = \"device\"\ndo = \"format\"\n\
                    [[step]]\nname = \"files\"\ndo = \"create-files\"\nin = \"many\"\nfiles = 9\n\
                    size = \"4K\"\n[[step]]\nname = \"wait\"\ndo = \"pause\"\ntime = \"1000s\"\n";
    fs::write(&file, scenario).expect("a file");
    for place in [&[CARD][..], &[SCRATCH, "--destroy-data"]] {
        let words = [&["scenario", text(&file)], place].concat();
        let mut running = Running::start(&mut on(&board, &bed, &words));
        running.await_words("files #1");
        running.signal(Signal::INT);
        let ended = running.end();
        ended.assert_code(130);
        assert_nothing_is_left(&board);
    }
}

#[test]
fn the_memory_of_a_board_is_measured_and_checked() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let small = ["--size", "1M", "--passes", "2", "--largest-set", "256K"];
    let stress = ["--stress-size", "4M", "--trials", "1", "--json"];
    let parts = ["mem", "bandwidth", "latency", "stress"];
    let ended = run(&board, &bed, &[&parts[..], &small, &stress].concat());
    ended.assert_code(0);
    let run = ended.json();
    assert_eq!(run["system"]["machine"], "aarch64");
    assert!(figure(&run, "copy-1t", "memory_bw") > 0.0);
    assert!(figure(&run, "latency-4KiB", "memory_lat") > 0.0);
    assert!(names(&run).contains(&"stress-random"), "{:?}", names(&run));
    assert_clean(&board);
}

#[test]
fn databases_of_a_board_are_measured() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let words = ["androbench", CARD, "--only", "sqlite-*", "--transactions"];
    let ended = run(
        &board,
        &bed,
        &[&words[..], &["10", "--trials", "1", "--json"]].concat(),
    );
    ended.assert_code(0);
    assert_eq!(names(&ended.json()).len(), 3);
    assert_nothing_is_left(&board);
}

#[test]
fn a_soak_on_a_board_goes_on_after_it_was_stopped() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let words = ["lab", "soak", CARD, "--size", "2M", "--passes", "4"];
    let checkpoints = ["--block", "16K", "--checkpoint", "100ms", "--json"];
    let mut running = Running::start(&mut on(&board, &bed, &[&words[..], &checkpoints].concat()));
    running.await_words("soak #1");
    running.signal(Signal::INT);
    let stopped = running.end();
    stopped.assert_code(130);
    assert_clean(&board);
    let files = board.run(&format!("ls {CARD}")).expect("it is there");
    assert!(files.contains("assay-soak-"), "{files}");

    let ended = run(&board, &bed, &["lab", "soak", "--resume", "last", "--json"]);
    ended.assert_code(0);
    let run = ended.json();
    let last = run["trials"].as_array().expect("trials").last();
    let counters = &last.expect("a step")["detail"]["checkpoint"];
    assert!(
        counters["written_bytes"].as_u64() >= Some(8 << 20),
        "{counters}"
    );
    assert_eq!(counters["faults"], 0);
    assert_nothing_is_left(&board);
}

#[test]
fn a_card_of_a_board_is_checked() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let words = ["check", CARD, "--seconds", "1", "--trials", "1"];
    let ended = run(&board, &bed, &words);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:#?}");
    let (_, verdict) = ended.out.rsplit_once("Verdict\n").expect("a verdict");
    for class in ["A1 ", "A2 ", "V30 ", " a Pi"] {
        assert!(verdict.contains(class), "{class}: {verdict}");
    }
    assert!(ended.out.lines().count() <= 20, "{}", ended.out);
    assert_clean(&board);
}

#[test]
fn a_card_of_a_board_does_not_fail_in_place_of_itself() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let plan = bed.join("plan.toml");
    let text_of_plan = format!(
        "jobs = [\"rand-read-4k\", \"append-4k-fsync\"]\n\
         commands = [\"scenario log-writer --scale {SCALE}\"]\n"
    );
    fs::write(&plan, text_of_plan).expect("a plan");
    let words = [
        "accept",
        CARD,
        CARD,
        "--plan",
        text(&plan),
        "--quick",
        "--size",
        "8M",
    ];
    let ended = run(&board, &bed, &[&words[..], &["--trials", "4"]].concat());
    assert!(matches!(ended.code, Some(0 | 2)), "{ended:#?}");
    let answers = ["  Yes: B may replace A", "  Open: "];
    assert!(
        answers.iter().any(|answer| ended.out.contains(answer)),
        "{ended:#?}"
    );
    let stored = bed.stored("last");
    assert_eq!(stored["run"]["target"], board.url());
    assert_clean(&board);
}
