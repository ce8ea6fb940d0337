//! A lab that measures every night: what became slower is found, and nothing else.

use crate::assay::{Bed, Running, start_with_store, text, with_store};
use assay_store::{Location, Owner, Store};
use assay_testkit::{Postgres, Scratch, needs, or_skip};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

const PART: &str = include_str!("../../../flash/parts/emmc-8gb-hs400.toml");
/// Host and device time of a command of that part, and of a whole random read of 4 KiB.
const COMMAND_US: f64 = 180.0;
const READ_US: f64 = 239.3;

const BOARDS: u64 = 20;
const NIGHTS: u64 = 14;
/// The board whose card gets another firmware, and the night.
const UPDATED: (u64, u64) = (7, 9);
const SLOWER_BY: f64 = 0.08;
/// Trials vary by a fifth of this: runs of three by more than 1 %, so that series have noise in the
/// size of the margin of 2 %.
const NOISE_PERCENT: u32 = 15;
/// 2026-03-01, milliseconds since 1970 (UTC).
const FIRST_OF_MARCH: u64 = 1_772_323_200_000;
const HOUR_MS: u64 = 3_600_000;

/// Runs of a store that measure at the same time.
const AT_ONCE: usize = 4;

/// A board with its card, the file that a night's run goes to, and the board's own store.
struct Board {
    name: String,
    card: PathBuf,
    measured: PathBuf,
    store: PathBuf,
}

impl Board {
    fn new(bed: &Bed, number: u64) -> Self {
        let name = format!("board-{number:02}");
        let folder = bed.folder_named(&name);
        let board = Self {
            card: folder.join("card.toml"),
            measured: folder.join("measured.sqlite"),
            store: folder.join("runs.sqlite"),
            name,
        };
        board.update("1.0", COMMAND_US);
        board
    }

    /// Gives the card another firmware, with which a command takes that long.
    fn update(&self, firmware: &str, command_us: f64) {
        let part = PART.replacen("name =", &format!("firmware = \"{firmware}\"\nname ="), 1);
        let time = |us: f64| format!("[read]\ncommand_us = {us:.1}");
        assert!(part.contains(&time(COMMAND_US)));
        let part = part.replace(&time(COMMAND_US), &time(command_us));
        fs::write(&self.card, part).expect("a card");
    }

    /// The jobs of a night.
    fn measure(&self, bed: &Bed, seed: u64) -> Running {
        let card = format!("sim:{},noise={NOISE_PERCENT}", text(&self.card));
        let jobs = "rand-read-4k,rand-write-4k,seq-read-1m,seq-write-1m";
        let seed = seed.to_string();
        let words = [
            &["qualify", &card, "--quick", "--trials", "3", "--only", jobs][..],
            &["--project", "nightly", "--seed", &seed],
        ];
        start_with_store(bed, text(&self.measured), &words.concat())
    }

    /// Takes the run of a night into the board's store, as this board would have written it in
    /// that night. assay has no clock that can be set, and simulated devices are on the machine
    /// of the test; all else is as it was measured.
    fn keep(&self, night: u64) {
        let measured = Store::open(Location::File(self.measured.clone())).expect("a store");
        let newest = measured.runs().expect("runs");
        let newest = newest.iter().max_by_key(|run| run.started_unix_ms);
        let id = &newest.expect("a run").id;
        let mut run = measured.load(id).expect("it can be read").run;
        let started = run.header.started_unix_ms;
        let moved = |at: u64| night_ms(night) + 2 * HOUR_MS + (at - started);
        run.header.started_unix_ms = moved(started);
        run.header.target = Some(self.name.clone());
        run.header.system.hostname = Some(self.name.clone());
        for trial in &mut run.trials {
            trial.started_unix_ms = moved(trial.started_unix_ms);
        }
        let owner = Owner {
            pid: 1,
            boot_id: self.name.clone(),
            start_ticks: 1,
        };
        let ended = run.finished_unix_ms.expect("it ended");
        let mut store = Store::open(Location::File(self.store.clone())).expect("a store");
        store.begin_run(&run.header, &owner).expect("a new run");
        store.save_trials(id, &run.trials).expect("trials");
        let finished = store.finish_run(id, &run.status, moved(ended));
        finished.expect("the end");
    }
}

/// Midnight at the beginning of a night, the first of which is 1.
fn night_ms(night: u64) -> u64 {
    FIRST_OF_MARCH + (night - 1) * 24 * HOUR_MS
}

/// Measures on all boards, then pushes from all at the same time.
fn measure_and_push(bed: &Bed, boards: &[Board], night: u64, there: &str) {
    let seeds = (1..).map(|board| night * 100 + board);
    let all: Vec<(&Board, u64)> = boards.iter().zip(seeds).collect();
    for some in all.chunks(AT_ONCE) {
        let running = some.iter().map(|(board, seed)| board.measure(bed, *seed));
        let running: Vec<Running> = running.collect();
        for running in running {
            running.end().assert_code(0);
        }
    }
    for board in boards {
        board.keep(night);
    }
    let push = |board: &Board| {
        start_with_store(
            bed,
            text(&board.store),
            &["store", "push", "--all", "--to", there],
        )
    };
    let pushing: Vec<Running> = boards.iter().map(push).collect();
    for pushing in pushing {
        pushing.end().assert_code(0);
    }
}

/// Asserts that a text names the board, its firmware of both sides, and that one slowdown is told.
fn assert_names_the_update(told: &str) {
    let (board, _) = UPDATED;
    let board = format!("board-{board:02}");
    for words in ["1 ", &board, "rand-read-4k", "firmware", "1.0", "1.1"] {
        assert!(told.contains(words), "no {words}: {told}");
    }
}

/// Changes of all series, of metrics that decide.
fn changes(bed: &Bed, there: &str) -> Vec<Value> {
    let listed = with_store(bed, there, &["series", "--json"]);
    listed.assert_code(0);
    let listed = listed.json();
    let series = listed["series"].as_array().expect("a list");
    assert_eq!(series.len() as u64, 4 * BOARDS, "{series:#?}");
    let changed = series.iter().filter(|series| !series["change"].is_null());
    changed.cloned().collect()
}

#[test]
fn two_weeks_in_a_lab_find_a_slower_firmware_and_nothing_else() {
    let server = or_skip!(Postgres::shared());
    let there = server.url(&server.database().expect("a database"));
    let bed = Bed::new();
    let boards: Vec<Board> = (1..=BOARDS).map(|board| Board::new(&bed, board)).collect();
    let (updated, at_night) = UPDATED;
    let mut found = None;
    for night in 1..=NIGHTS {
        if night == at_night {
            let slower_us = COMMAND_US + READ_US * SLOWER_BY / (1.0 - SLOWER_BY);
            let name = format!("board-{updated:02}");
            let board = boards.iter().find(|board| board.name == name);
            board.expect("a board").update("1.1", slower_us);
        }
        measure_and_push(&bed, &boards, night, &there);
        let since = format!("2026-03-{night:02}");
        let gate = with_store(&bed, &there, &["series", "--gate", "--since", &since]);
        if gate.code == Some(3) {
            assert_eq!(found, None, "night {night} alarms again: {}", gate.out);
            found = Some(night);
            assert_names_the_update(&gate.out);
            let news = ["series", "--news", "--since", &since, "--format", "text"];
            let mail = with_store(&bed, &there, &news);
            assert!(mail.out.starts_with("1 new slowdown\n"), "{}", mail.out);
            assert_names_the_update(&mail.out);
        } else {
            gate.assert_code(0);
        }
    }
    let found = found.expect("the slower firmware is found");
    assert!(found <= at_night + 2, "found in night {found}");

    let changes = changes(&bed, &there);
    assert_eq!(changes.len(), 1, "{changes:#?}");
    let (series, change) = (&changes[0]["series"], &changes[0]["change"]);
    assert_eq!(series["target"], format!("board-{updated:02}"));
    assert_eq!(series["metric"], "read_iops");
    assert_eq!(change["verdict"], "slower");
    let percent = change["effect_pct"].as_f64().expect("an effect");
    assert!((percent + 100.0 * SLOWER_BY).abs() < 2.0, "{percent}");
    let started = with_store(
        &bed,
        &there,
        &["report", change["run"].as_str().expect("a run"), "--json"],
    );
    let started = started.json()["run"]["started"].to_string();
    assert!(
        started.contains(&format!("2026-03-{at_night:02}T")),
        "{started}"
    );
    let events = change["events"].as_array().expect("events");
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(events[0]["circumstance"], "firmware");
}

/// Projects of the same jobs, each of which has a series per job.
const PROJECTS: [&str; 4] = ["a", "b", "c", "d"];
const JOBS: [&str; 5] = [
    "rand-read-4k",
    "rand-write-4k",
    "seq-read-1m",
    "seq-write-1m",
    "rand-read-4k-qd32",
];

/// A short run of a project, in a store of its name.
fn short_run(bed: &Bed, path: &str, jobs: &str, project: &str, seed: u64) -> Running {
    let seed = seed.to_string();
    let words = [
        &["qualify", path, "--quick", "--trials", "3", "--only", jobs][..],
        &["--size", "16M", "--project", project, "--seed", &seed],
    ];
    start_with_store(bed, text(&store_of(bed, project)), &words.concat())
}

fn store_of(bed: &Bed, project: &str) -> PathBuf {
    bed.join(&format!("{project}.sqlite"))
}

/// Series of a project, and how many of them changed; with `--all` also metrics that do not decide.
fn count(bed: &Bed, project: &str, words: &[&str]) -> (usize, usize) {
    let words = [&["series", "--json"], words].concat();
    let listed = with_store(bed, text(&store_of(bed, project)), &words);
    listed.assert_code(0);
    let listed = listed.json();
    let series = listed["series"].as_array().expect("a list");
    let changed = series.iter().filter(|series| !series["change"].is_null());
    (series.len(), changed.count())
}

#[test]
fn twenty_series_without_a_change_show_at_most_one() {
    let bed = Bed::new();
    let card = format!("sim:emmc-8gb-hs400,noise={NOISE_PERCENT}");
    for number in 1..=40 {
        let seeds = (1..).map(|project| project * 1000 + number);
        let one =
            |(project, seed): (&&str, u64)| short_run(&bed, &card, &JOBS.join(","), project, seed);
        let running: Vec<Running> = PROJECTS.iter().zip(seeds).map(one).collect();
        for running in running {
            running.end().assert_code(0);
        }
    }
    let of_all = PROJECTS.map(|project| count(&bed, project, &[]));
    let series: usize = of_all.iter().map(|(series, _)| series).sum();
    let changed: usize = of_all.iter().map(|(_, changed)| changed).sum();
    assert_eq!(series, 20);
    assert!(changed <= 1, "{changed} series changed: {of_all:?}");
}

/// Prints how series of real runs fare, on whatever holds the folder of the tests: how even that is
/// no test can promise.
#[test]
fn real_runs_are_reported() {
    needs!(full);
    let bed = Bed::new();
    let folder = Scratch::new().expect("a folder");
    for number in 1..=10 {
        let jobs = "rand-read-4k,rand-write-4k";
        let ended = short_run(&bed, text(folder.path()), jobs, "real", number).end();
        ended.assert_code(0);
    }
    let [deciding, all] = [&[][..], &["--all"]].map(|words| count(&bed, "real", words));
    assert!(all.0 >= 2, "series of both jobs: {all:?}");
    // Past `eprintln!`, whose output the test harness keeps to itself when a test passes.
    let _ = writeln!(
        std::io::stderr(),
        "10 real runs: {} of {} series that decide changed, {} of {} with exploratory metrics",
        deciding.1,
        deciding.0,
        all.1,
        all.0
    );
}
