//! Boards of a labgrid: real daemons, places that lead to one server of ssh.

use crate::assay::{Bed, Ended, Running, lives, test_folders, text, until};
use assay_testkit::lab::Place;
use assay_testkit::{Lab, Neighbour, or_skip, signal_to};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SHORT: &str = r#"["--quick", "--size", "1M", "--trials", "1", "--only", "read-cached"]"#;
const LONG: &str = r#"["--quick", "--size", "1M", "--trials", "500", "--only", "read-cached"]"#;

/// What starts a command as on a board that was started by itself: its first word is the
/// boot id there.
pub const AS_BOARD: &str = r#"exec unshare --mount sh -c '
    id=$(mktemp) && echo "$0" >"$id" && mount --bind "$id" /proc/sys/kernel/random/boot_id
    rm "$id"
    exec "$@"'"#;

/// A lab, and a machine that uses it.
pub struct Desk<'a> {
    pub bed: Bed,
    lab: &'a Lab,
    folder: PathBuf,
    agents: PathBuf,
    host: &'a str,
}

impl<'a> Desk<'a> {
    pub fn new(lab: &'a Lab, host: &'a str) -> Self {
        let bed = Bed::new();
        let (folder, agents) = (bed.folder(), bed.folder_named("agents"));
        let machine = rustix::system::uname();
        let machine = machine.machine().to_string_lossy();
        let program = env!("CARGO_BIN_EXE_assay");
        let script = format!(
            "#!/bin/sh\nserver=${{SSH_CONNECTION#* * }}\n{AS_BOARD} \"${{server%% *}}\" '{program}' --serve-as-assay-agent \"$@\"\n"
        );
        for flavour in ["", "-sqlite"] {
            let agent = agents.join(format!("assay-agent-{machine}{flavour}"));
            assay_testkit::write_program(&agent, &script).expect("a program");
        }
        Self {
            bed,
            lab,
            folder,
            agents,
            host,
        }
    }

    pub fn near(&self, command: &mut Command) -> Command {
        command
            .env("ASSAY_AGENTS", &self.agents)
            .env("XDG_DATA_HOME", self.bed.join("data"))
            .env("LG_HOSTNAME", self.host)
            .env("LG_USERNAME", "tester");
        self.lab.near(command)
    }

    fn start(&self, words: &[&str]) -> Running {
        Running::start(&mut self.near(&mut self.bed.command(words)))
    }

    fn run(&self, words: &[&str]) -> Ended {
        self.start(words).end()
    }

    /// `assay qualify`, which is over soon.
    fn qualify(&self, on: &[&str]) -> Ended {
        let on = on.iter().flat_map(|on| ["--on", on]);
        let short: Vec<&str> = SHORT.split('"').skip(1).step_by(2).collect();
        let words = ["qualify", text(&self.folder)].into_iter().chain(on);
        self.run(&words.chain(short).collect::<Vec<_>>())
    }

    /// A campaign's file; what runs is `qualify` with these words.
    fn campaign(&self, words: &str, rest: &str) -> PathBuf {
        let file = self.bed.join("campaign.toml");
        let words = words.trim_start_matches('[');
        let text = format!("command = [\"qualify\", {:?}, {words}\n{rest}", self.folder);
        fs::write(&file, text).expect("a file");
        file
    }

    fn release_stale(&self) -> Ended {
        let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
        command.args(["lab", "targets", "--release-stale"]);
        Running::start(&mut self.near(&mut command)).end()
    }

    /// All stored runs.
    fn runs(&self) -> Vec<Value> {
        let listed = self.bed.run(&["list"]);
        let ids = listed.out.lines().skip(1);
        let ids = ids.filter_map(|line| line.split(' ').next());
        ids.map(|id| self.bed.stored(id)).collect()
    }

    /// Journals of what is held.
    fn journals(&self) -> usize {
        let folder = self.bed.join("data/assay/labgrid");
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    fn assert_nothing_is_left(&self) {
        assert_eq!(self.lab.acquired(), Vec::<String>::new());
        assert_eq!(self.journals(), 0);
        until("the boards are clean", || {
            let memory = self.lab.memory().expect("the boards'");
            let there = fs::read_dir(memory).expect("a folder");
            there.count() == 0 && test_folders(&self.folder).is_empty()
        });
    }
}

/// Places of a part, each of which has an address of its own.
pub fn places(count: u8, part: &str) -> Vec<Place> {
    let name = |number| format!("{part}{number:02}");
    let first = if part == "a" { 1 } else { 101 };
    let place = |number| {
        let address = Neighbour::address(first + number);
        Place::new(&name(number), "part", part).at(&address, 22)
    };
    (0..count).map(place).collect()
}

fn part(name: &str, boards: usize) -> String {
    format!("[[part]]\nname = \"part {name}\"\ntags = {{ part = \"{name}\" }}\nboards = {boards}\n")
}

fn targets(runs: &[Value]) -> BTreeSet<&str> {
    runs.iter()
        .filter_map(|run| run["run"]["target"].as_str())
        .collect()
}

#[test]
fn a_campaign_measures_on_all_boards_and_compares_the_parts() {
    let mut all = places(25, "a");
    all.push(Place::new("a-dead", "part", "a").dead());
    all.extend(places(25, "b"));
    let lab = or_skip!(Lab::new(&all));
    let desk = Desk::new(&lab, "desk");
    // More at a time would be too many for one server of ssh.
    let rest = format!("at_once = 4\n{}{}", part("a", 25), part("b", 25));
    let file = desk.campaign(SHORT, &rest);
    let listed = desk.run(&["lab", "campaign", text(&file), "--dry-run"]);
    listed.assert_code(0);
    assert!(
        listed
            .out
            .contains("part a: 25 of 26 boards\n  labgrid:a-dead\n"),
        "{}",
        listed.out
    );

    let ended = desk.run(&["lab", "campaign", text(&file), "--json"]);
    ended.assert_code(0);
    ended.assert_says(&["labgrid:a-dead ended with 5", "tried on another board"]);
    let comparison = ended.json();
    for (side, name) in [("a", "part a"), ("b", "part b")] {
        assert_eq!(comparison[side], name, "{comparison:#}");
        let units = &comparison["pairs"][0][format!("{side}_n")];
        assert_eq!(*units, 25, "boards are units: {comparison:#}");
    }
    let runs = desk.runs();
    assert_eq!(runs.len(), 50);
    let used = targets(&runs);
    assert_eq!(used.len(), 50, "each board is measured once: {used:?}");
    assert!(!used.contains("labgrid:a-dead"));
    desk.assert_nothing_is_left();
}

#[test]
fn two_machines_share_boards_of_which_each_has_one_job_at_a_time() {
    let lab = or_skip!(Lab::new(&places(4, "a")));
    let desks = [Desk::new(&lab, "one"), Desk::new(&lab, "two")];
    let campaigns = desks.each_ref().map(|desk| {
        let file = desk.campaign(SHORT, &format!("at_once = 2\n{}", part("a", 4)));
        desk.start(&["lab", "campaign", text(&file)])
    });
    for ended in campaigns.map(Running::end) {
        ended.assert_code(0);
        assert!(!ended.says(&["two jobs"]), "{:#?}", ended.err);
    }
    let runs = desks.each_ref().map(Desk::runs);
    let mut times: Vec<(String, String, String)> = Vec::new();
    for run in runs.iter().flatten() {
        let word = |name: &str| run["run"][name].as_str().expect("text").to_owned();
        times.push((word("target"), word("started"), word("finished")));
    }
    assert_eq!(times.len(), 8);
    times.sort();
    for pair in times.windows(2) {
        let (one, other) = (&pair[0], &pair[1]);
        assert!(
            one.0 != other.0 || one.2 <= other.1,
            "at the same time: {pair:?}"
        );
    }
    desks.iter().for_each(Desk::assert_nothing_is_left);
}

/// A campaign that has begun on all of four boards.
fn long_campaign(desk: &Desk<'_>) -> Running {
    let file = desk.campaign(LONG, &part("a", 4));
    let mut running = desk.start(&["lab", "campaign", text(&file)]);
    for number in 0..4 {
        running.await_words(&format!("labgrid:a0{number}: ["));
    }
    running
}

/// Processes whose parent this is.
fn children(pid: u32, name: &str) -> Vec<u32> {
    // Any of its threads may have started one.
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let all: Vec<String> = lists.collect();
    let all = all.iter().flat_map(|list| list.split_whitespace());
    let all = all.filter_map(|word| word.parse().ok());
    let is_named = |pid: &u32| {
        let own = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        own.starts_with(name)
    };
    all.filter(is_named).collect()
}

#[test]
fn however_a_campaign_ends_no_board_stays_acquired() {
    let lab = or_skip!(Lab::new(&places(4, "a")));
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let desk = Desk::new(&lab, "desk");
        let running = long_campaign(&desk);
        assert_eq!(lab.acquired().len(), 4);
        running.signal(signal);
        running.end().assert_code(code);
        desk.assert_nothing_is_left();
        assert!(
            desk.runs()
                .iter()
                .all(|run| run["run"]["status"] == "interrupted")
        );
    }
    // Who holds the boards outlives the campaign, and gives them back.
    let desk = Desk::new(&lab, "desk");
    let running = long_campaign(&desk);
    running.kill(false);
    until("the boards are free", || lab.acquired().is_empty());
    desk.release_stale().assert_code(0);
    desk.assert_nothing_is_left();
}

#[test]
fn boards_of_a_killed_campaign_are_released_by_the_next_command_that_is_asked_to() {
    let lab = or_skip!(Lab::new(&places(4, "a")));
    let desk = Desk::new(&lab, "desk");
    let running = long_campaign(&desk);
    let living = desk.release_stale();
    living.assert_code(0);
    living.assert_says(&["no killed run holds a board"]);
    let [keeper] = children(running.id(), "python")[..] else {
        panic!("one session");
    };
    signal_to(keeper, Signal::KILL);
    running.kill(false);
    until("it is gone", || !lives(keeper));
    assert_eq!(lab.acquired().len(), 4);
    // Somebody gives one back by hand, and takes it again as the same user.
    let by_hand = |words: &[&str]| lab.client_as("desk/tester", words);
    by_hand(&["-p", "a01", "release"]);
    by_hand(&["-p", "a01", "acquire"]);
    let freed = desk.release_stale();
    freed.assert_code(0);
    freed.assert_says(&["released labgrid:a00"]);
    freed.assert_says(&["left labgrid:a01", "alone"]);
    assert_eq!(lab.acquired(), ["a01"]);
    by_hand(&["-p", "a01", "release"]);
    desk.release_stale()
        .assert_says(&["no killed run holds a board"]);
    desk.assert_nothing_is_left();
}

#[test]
fn a_board_is_named_or_reserved() {
    let lab = or_skip!(Lab::new(&places(3, "a")));
    let desk = Desk::new(&lab, "desk");
    desk.qualify(&["labgrid:a01"]).assert_code(0);
    assert_eq!(targets(&desk.runs()), BTreeSet::from(["labgrid:a01"]));
    let any = "labgrid:reserve?part=a";
    desk.qualify(&[any, any, "labgrid:a00"]).assert_code(0);
    assert_eq!(targets(&desk.runs()).len(), 3, "each on a board of its own");
    desk.assert_nothing_is_left();

    lab.client(&["-p", "a01", "acquire"]);
    let busy = desk.qualify(&["labgrid:a01", "labgrid:a00"]);
    busy.assert_code(5);
    busy.assert_says(&["labgrid: a01: ", "already acquired"]);
    assert_eq!(
        desk.runs().len(),
        5,
        "the other one is measured all the same"
    );
    let refusal = desk.qualify(&["labgrid:nowhere"]).refusal();
    assert!(refusal.contains("there is no such place"), "{refusal}");
    // Only who acquired it releases it.
    assert_eq!(lab.acquired(), ["a01"]);
}

#[test]
fn who_loses_a_board_is_told() {
    let lab = or_skip!(Lab::new(&places(1, "a")));
    let desk = Desk::new(&lab, "desk");
    let file = desk.campaign(LONG, &part("a", 1));
    let mut running = desk.start(&["lab", "campaign", text(&file)]);
    running.await_words("labgrid:a00: [");
    lab.client(&["-p", "a00", "release", "--kick"]);
    running.signal(Signal::TERM);
    let ended = running.end();
    ended.assert_says(&[
        "labgrid:a00",
        "another job may have run during the measurement",
    ]);
}

#[test]
fn without_a_lab_there_are_still_campaigns() {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = bed.join("c.toml");
    let words = SHORT.trim_start_matches('[');
    let head = format!("command = [\"qualify\", {folder:?}, {words}\n");
    let write = |rest: &str| fs::write(&file, format!("{head}{rest}")).expect("a file");
    write("[[part]]\nname = \"here\"\ntargets = [\"local\"]\n");
    let ended = bed.run(&["lab", "campaign", text(&file)]);
    ended.assert_code(0);
    ended.assert_says(&["part here: local is run", "1 of 1"]);

    let listed = bed.run(&["lab", "campaign", text(&file), "--dry-run"]);
    listed.assert_code(0);
    let line = listed.out.lines().nth(1).unwrap_or_default();
    assert!(
        line.contains("  local  ") && line.contains("Linux"),
        "{}",
        listed.out
    );
    let listed = bed.run(&["lab", "campaign", text(&file), "--dry-run", "--json"]);
    listed.assert_code(0);
    let listed = listed.json();
    let board = &listed["parts"][0]["boards"][0];
    assert_eq!(board["target"], "local", "{listed:#}");
    assert_eq!(board["reached"], true, "{listed:#}");
    assert_eq!(listed["command"][0], "qualify", "{listed:#}");

    write("[[part]]\nname = \"gone\"\ntargets = [\"ssh://root@127.0.0.1:1\"]\n");
    let listed = bed.run(&["lab", "campaign", text(&file), "--dry-run"]);
    listed.assert_code(5);
    assert!(listed.out.contains("not reached: "), "{}", listed.out);

    let part = "[[part]]\nname = \"here\"\ntargets = [\"local\"]\n";
    for (command, why) in [
        (
            "[\"qualify\", \"/x\", \"--trails\", \"5\"]",
            "unknown argument '--trails'",
        ),
        ("[\"qualify\"]", "missing: <PATH>"),
        ("[\"iozone\", \"--no-such\"]", "the command: "),
        (
            "[\"sweep\", \"/x\", \"--vary\", \"a=b\", \"--\", \"fio\"]",
            "'fio' cannot be repeated",
        ),
    ] {
        fs::write(&file, format!("command = {command}\n{part}")).expect("a file");
        let refusal = bed.refused(&["lab", "campaign", text(&file), "--dry-run"]);
        assert!(refusal.contains(why), "{command}: {refusal}");
    }

    write(
        "[[part]]\nname = \"here\"\ntargets = [\"local\"]\n[[part]]\nname = \"there\"\ntargets = [\"local\"]\n",
    );
    let refusal = bed.refused(&["lab", "campaign", text(&file)]);
    assert!(refusal.contains("one unit of one part"), "{refusal}");
    let refusal = bed.refused(&["lab", "campaign", text(Path::new("/no/such/file"))]);
    assert!(refusal.contains("No such file"), "{refusal}");
}

#[test]
fn a_missing_coordinator_is_named() {
    let lab = or_skip!(Lab::new(&places(1, "a")));
    let desk = Desk::new(&lab, "desk");
    let mut command = desk.near(&mut desk.bed.command(&["qualify", "--on", "labgrid:a00", "/"]));
    let ended = Running::start(command.env("LG_COORDINATOR", "127.0.0.1:1")).end();
    ended.assert_code(5);
    ended.assert_says(&["no coordinator answers at 127.0.0.1:1", "LG_COORDINATOR"]);
}
