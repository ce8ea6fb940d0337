//! `assay powercut`: a board is killed while it writes to a drive with a write-back cache.
//! A drive that honours flushes loses nothing that was acknowledged; one that drops them
//! does, and so does a file system that asks for none.

use crate::assay::{Bed, Ended, Running, text};
use assay_testkit::{
    Board, Flushes, Scratch, SwitchedBoard, Unavailable, VolatileDrive, needs, or_skip, run,
};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const MKFS: [&str; 4] = [
    "mkfs.ext4",
    "-q",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0",
];

/// A board with a drive, and what is needed to cut its power.
struct Bench {
    bed: Bed,
    board: SwitchedBoard,
    drive: VolatileDrive,
    _scratch: Scratch,
}

impl Bench {
    fn new(flushes: Flushes) -> Result<Self, Unavailable> {
        let scratch = Scratch::new()?;
        let image = scratch.image("drive", 64)?;
        run(&[MKFS.as_slice(), &[text(&image)]].concat())?;
        let drive = VolatileDrive::serve(&scratch, &image, flushes, 1)?;
        let board = SwitchedBoard::start(&drive)?;
        Ok(Self {
            bed: Bed::new(),
            board,
            drive,
            _scratch: scratch,
        })
    }

    /// Its power is cut so often.
    fn cut(&self, cycles: &str, words: &[&str]) -> Ended {
        self.start(cycles, words).end()
    }

    fn start(&self, cycles: &str, words: &[&str]) -> Running {
        let (off, on) = (self.switch("off"), self.switch("on"));
        let (cut, url) = (format!("command:{off}"), self.board.url());
        let all = [
            "powercut",
            "--on",
            &url,
            "--cut",
            &cut,
            "--restore",
            &on,
            "--cycles",
            cycles,
            "--after",
            "500ms..3s",
            "--off-time",
            "500ms",
            "--seed",
            "1",
            "--json",
        ];
        let mut command = self.bed.command(&[&all, words].concat());
        command
            .env("PATH", self.board.search_path())
            .env("ASSAY_AGENTS", Board::agents());
        Running::start(&mut command)
    }

    fn switch(&self, what: &str) -> String {
        format!("{} {what}", self.board.switch().display())
    }
}

fn on_ext4(options: &str) -> [String; 3] {
    let mount = format!("/dev/sda:ext4:{options}");
    ["/mnt/usb".to_owned(), "--mount".to_owned(), mount]
}

fn on_file_system(bench: &Bench, cycles: &str, options: &str) -> Ended {
    let words = on_ext4(options);
    bench.cut(cycles, &words.each_ref().map(String::as_str))
}

/// The sum of a figure over all streams of all cycles.
fn sum(run: &Value, figure: &str) -> u64 {
    let trials = run["trials"].as_array().expect("trials").iter();
    let streams = trials.flat_map(|trial| {
        let streams = trial["detail"]["found"]["streams"].as_array();
        streams.expect("streams")
    });
    streams
        .map(|stream| stream[figure].as_u64().expect("a count"))
        .sum()
}

/// What a run on a drive that keeps its word found.
fn assert_all_there(run: &Value, cycles: u64) {
    assert_eq!(
        run["trials"].as_array().expect("trials").len() as u64,
        cycles
    );
    for figure in ["lost", "torn", "misordered", "garbage"] {
        assert_eq!(sum(run, figure), 0, "{figure}");
    }
    assert!(sum(run, "acknowledged") > 20 * cycles, "{run:#}");
    assert!(sum(run, "checked") > 10 * cycles);
}

#[test]
fn a_drive_that_honours_flushes_keeps_what_it_acknowledged() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Honoured));
    let ended = on_file_system(&bench, "2", "");
    ended.assert_code(0);
    let run = ended.json();
    assert_all_there(&run, 2);
    let (cuts, lost) = bench.drive.losses();
    assert!(cuts >= 2, "{cuts} cuts");
    // Where in its work a drive is cut is chance: two cuts may find its cache empty.
    println!("its cache lost {lost} sectors");
    let said = run["trials"][0]["detail"]["found"]["said"].to_string();
    assert!(said.contains("recovery complete"), "{said}");
    let shown = bench
        .bed
        .run(&["show", run["run"]["id"].as_str().expect("an id")]);
    let shown = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("every one is there"), "{shown}");
    assert!(shown.contains("95 % confidence"), "{shown}");
    let journals = fs::read_dir(bench.bed.store().parent().expect("a folder")).expect("read");
    let journals = journals.flatten().map(|entry| entry.path());
    let left: Vec<PathBuf> = journals
        .filter(|path| path.to_string_lossy().contains("powercut"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_drive_that_drops_flushes_is_found_out() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Dropped));
    let words = ["/dev/sda", "--destroy-data"];
    let refused = bench.cut("1", &words[..1]);
    refused.assert_code(2);
    let ended = bench.cut("1", &words);
    ended.assert_code(4);
    ended.assert_says(&["NOT SAFE"]);
    let run = ended.json();
    assert!(sum(&run, "lost") > 0);
    let streams = run["trials"][0]["detail"]["found"]["streams"].to_string();
    assert!(
        streams.contains("was acknowledged and is lost"),
        "{streams}"
    );
}

/// What is lost without barriers depends on the moment of the cut.
#[test]
#[ignore = "ten cuts take minutes"]
fn a_file_system_without_barriers_is_found_out() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Honoured));
    let ended = on_file_system(&bench, "10", "barrier=0");
    ended.assert_code(4);
    let run = ended.json();
    let unmounted = run["trials"].to_string().contains("cannot mount");
    assert!(unmounted || sum(&run, "lost") > 0, "{run:#}");
}

/// Some half an hour: `cargo test --test e2e -- --ignored --nocapture fifty`.
#[test]
#[ignore = "half an hour"]
fn fifty_cuts_lose_nothing_on_a_drive_that_honours_flushes() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Honoured));
    let words = on_ext4("");
    let mut running = bench.start("50", &words.each_ref().map(String::as_str));
    (1..=50).for_each(|cycle| running.await_words(&format!("[{cycle}/50]")));
    let ended = running.end();
    let (cuts, lost) = bench.drive.losses();
    let shown = bench.bed.run(&["show", "last"]);
    println!("{cuts} cuts, {lost} sectors lost with them\n{}", shown.out);
    ended.assert_code(0);
    assert_all_there(&ended.json(), 50);
}
