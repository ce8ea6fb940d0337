//! Runs that go from one store to another: files, PostgreSQL, and stores of other machines.

use crate::assay::{Bed, Ended, Running, start_with_store, text, with_store};
use crate::over_ssh::{Machine, write_program};
use crate::sweep::Knob;
use assay_model::rng::SplitMix64;
use assay_store::exchange::{Given, Offer, Parcel, Part, Record, Sink, Source, TakenAs};
use assay_store::{Location, Store};
use assay_testkit::{Postgres, needs, or_skip};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The shortest run on a simulated device.
const SHORT: [&str; 6] = [
    "qualify",
    "sim:emmc-8gb-hs400",
    "--quick",
    "--only",
    "rand-read-4k",
    "--json",
];

/// A short run; its id.
fn short_run(bed: &Bed, words: &[&str]) -> String {
    let ended = bed.run(&[&SHORT[..], words].concat());
    ended.assert_code(0);
    id_of(&ended)
}

fn id_of(ended: &Ended) -> String {
    let run = ended.json();
    run["run"]["id"].as_str().expect("an id").to_owned()
}

/// Runs of a store, as `assay list` shows them, by their ids.
fn listed(bed: &Bed, store: &str) -> BTreeSet<(String, String)> {
    let ended = with_store(bed, store, &["list", "--json"]);
    ended.assert_code(0);
    let runs = ended.json()["runs"].clone();
    let runs = runs.as_array().expect("a list").iter();
    let of = |run: &Value| (run["id"].to_string(), run.to_string());
    runs.map(of).collect()
}

fn ids(value: &Value, key: &str) -> Vec<String> {
    let all = value[key].as_array().expect("a list").iter();
    all.map(|id| id.as_str().expect("an id").to_owned())
        .collect()
}

/// Runs are pushed, listed, removed and pulled where `there` is.
fn to_and_from(there: &str) {
    let bed = Bed::new();
    let one = short_run(&bed, &["--name", "before", "--tag", "nightly"]);
    let two = short_run(&bed, &[]);
    let table = bed.join("t.csv");
    fs::write(
        &table,
        "condition,metric,unit,n,mean,stdev\nA,read,MB/s,3,10,1\n",
    )
    .expect("a table");
    bed.run(&["store", "import", text(&table)]).assert_code(0);

    let ended = bed.run(&["store", "push", "before", "--to", there]);
    ended.assert_code(0);
    assert!(ended.out.starts_with("pushed 1 run to "), "{}", ended.out);
    assert!(!ended.out.contains("secret"), "{}", ended.out);
    let ended = bed.run(&["store", "push", "--all", "--to", there]);
    ended.assert_code(0);
    assert!(
        ended.out.ends_with(": 1 was there already\n"),
        "{}",
        ended.out
    );
    let ended = bed.run(&["store", "push", "--all", "--to", there, "--json"]);
    ended.assert_code(0);
    let outcome = &ended.json()["transfers"][0];
    assert_eq!(ids(outcome, "there").len(), 3);
    assert_eq!(ids(outcome, "added").len(), 0);
    let none = bed.run(&["store", "push", "--json"]).json();
    assert_eq!(
        (&none["direction"], &none["transfers"]),
        (&"push".into(), &Value::Array(vec![]))
    );
    let here = listed(&bed, text(&bed.store()));
    assert_eq!(listed(&bed, there), here);
    let shown = with_store(&bed, there, &["report", "before", "--json"]);
    assert_eq!(shown.json(), bed.stored("before"));

    // What is renamed there comes back, and what is removed there stays away.
    with_store(&bed, there, &["store", "tag", &two, "--name", "after"]).assert_code(0);
    bed.run(&["store", "pull", &two, "--from", there])
        .assert_code(0);
    assert_eq!(bed.stored("after")["run"]["id"], *two);
    with_store(&bed, there, &["store", "rm", &one]).assert_code(0);
    let ended = bed.run(&["store", "push", &one, "--to", there]);
    ended.assert_code(1);
    ended.assert_says(&[&one, "was removed", "--again"]);
    bed.run(&["store", "push", "--all", "--to", there])
        .assert_code(0);
    assert_eq!(listed(&bed, there).len(), 2);
    bed.run(&["store", "push", &one, "--to", there, "--again"])
        .assert_code(0);
    assert_eq!(listed(&bed, there), listed(&bed, text(&bed.store())));

    let empty = Bed::new();
    let ended = empty.run(&["store", "pull", "after", "--from", there]);
    ended.assert_code(0);
    assert!(ended.out.starts_with("pulled 1 run from "), "{}", ended.out);
    empty
        .run(&["store", "pull", "--all", "--from", there])
        .assert_code(0);
    assert_eq!(listed(&bed, there), listed(&empty, text(&empty.store())));
    empty.run(&["store", "rm", &one]).assert_code(0);
    empty
        .run(&["store", "pull", "--all", "--from", there])
        .assert_code(0);
    assert_eq!(listed(&empty, text(&empty.store())).len(), 2);
}

#[test]
fn runs_go_to_another_file_and_come_back() {
    let there = Bed::new();
    to_and_from(text(&there.store()));
}

#[test]
fn runs_go_to_postgresql_and_come_back() {
    let server = or_skip!(Postgres::shared());
    let database = or_skip!(server.database());
    to_and_from(&server.url(&database));
}

/// A machine that is reached by ssh, on which assay is installed, with a store of its own.
fn machine_with_assay(before: &str) -> Machine {
    let machine = Machine::with_honest_agent();
    let there = machine.folder.join("there.sqlite");
    let program = env!("CARGO_BIN_EXE_assay");
    let assay = format!(
        "#!/bin/sh\n{before} ASSAY_STORE='{}' '{program}' \"$@\"\n",
        there.display()
    );
    write_program(&machine.folder.join("assay"), &assay);
    machine
}

#[test]
fn runs_go_to_another_machine_and_come_back() {
    let machine = machine_with_assay("");
    let run = short_run(&machine.bed, &["--name", "mine"]);
    let there = machine.folder.join("there.sqlite");
    let other = machine.folder.join("it's another.sqlite");
    let by_path = format!("ssh://ann@board{}", other.display());
    for (to, store) in [("ssh://board", &there), (&*by_path, &other)] {
        let ended = machine.run(&["store", "push", "mine", "--to", to]);
        ended.assert_code(0);
        assert_eq!(ended.out, format!("pushed 1 run to {to}\n"));
        let ended = machine.run(&["store", "push", "--all", "--to", to]);
        assert!(
            ended.out.ends_with(": 1 was there already\n"),
            "{}",
            ended.out
        );
        assert_eq!(
            listed(&machine.bed, text(store)),
            listed(&machine.bed, text(&machine.bed.store()))
        );
        machine.run(&["store", "rm", &run]).assert_code(0);
        let ended = machine.run(&["store", "pull", &run, "--from", to, "--again"]);
        ended.assert_code(0);
        assert_eq!(machine.bed.stored("mine")["run"]["id"], *run);
    }
    let none = machine.run(&["store", "pull", "nothing of it", "--from", "ssh://board"]);
    none.assert_code(1);
    none.assert_says(&["ssh://board", "no run or import 'nothing of it'"]);
}

#[test]
fn a_machine_that_cannot_be_had_is_explained() {
    let machine = Machine::with_honest_agent();
    short_run(&machine.bed, &[]);
    let ended = machine.run(&["store", "push", "last", "--to", "ssh://dead"]);
    ended.assert_code(5);
    ended.assert_says(&["ssh://dead", "No route to host"]);
    // There is no assay.
    let ended = machine.run(&["store", "push", "last", "--to", "ssh://board"]);
    ended.assert_code(5);
    ended.assert_says(&["ssh://board", "assay", "not found"]);
    write_program(
        &machine.folder.join("assay"),
        "#!/bin/sh\necho 'Welcome!'\n",
    );
    let ended = machine.run(&["store", "push", "last", "--to", "ssh://board"]);
    ended.assert_code(5);
    ended.assert_says(&["ssh://board", "does not answer as assay store does"]);
    let machine = machine_with_assay("echo x >\"$0.sqlite\";");
    short_run(&machine.bed, &[]);
    let to = format!(
        "ssh://board{}/assay.sqlite",
        machine.folder.path().display()
    );
    let ended = machine.run(&["store", "push", "last", "--to", &to]);
    ended.assert_code(1);
    ended.assert_says(&["is not an SQLite database"]);
}

/// Lets only so many bytes arrive.
const CUT: &str = "\
if [ -n \"$BYTES\" ]; then
    dd bs=1 count=\"$BYTES\" status=none | BYTES= \"$0\" \"$@\"
    exit
fi
";

#[test]
fn a_link_that_was_cut_is_begun_again() {
    let machine = machine_with_assay(CUT);
    // It ends with the command over there, as ssh does.
    let ssh = "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n";
    write_program(&machine.folder.join("ssh"), ssh);
    let run = short_run(&machine.bed, &[]);
    for bytes in ["10", "700", "3000", "5000"] {
        let mut push = machine.command(&["store", "push", &run, "--to", "ssh://board"]);
        let ended = Running::start(push.env("BYTES", bytes)).end();
        ended.assert_code(5);
        let there = machine.folder.join("there.sqlite");
        if there.exists() {
            assert_eq!(listed(&machine.bed, text(&there)).len(), 0);
        }
    }
    let ended = machine.run(&["store", "push", &run, "--to", "ssh://board"]);
    ended.assert_code(0);
    assert!(ended.out.starts_with("pushed 1 run"), "{}", ended.out);
}

/// `assay WORDS` with this store to push to.
fn pushing(bed: &Bed, to: &str, words: &[&str]) -> Ended {
    let mut command = bed.command(words);
    Running::start(command.env("ASSAY_PUSH_TO", to)).end()
}

#[test]
fn what_cannot_be_pushed_after_a_measurement_waits() {
    let bed = Bed::new();
    let folder = bed.join("team");
    fs::write(&folder, "not a folder").unwrap();
    let to = folder.join("runs.sqlite");
    let to = text(&to);
    let ended = pushing(&bed, to, &SHORT);
    ended.assert_code(0);
    let one = id_of(&ended);
    assert_eq!(
        ended
            .err
            .iter()
            .filter(|line| line.contains("not pushed"))
            .count(),
        1
    );
    let list = bed.run(&["list"]);
    list.assert_says(&["1 run waits to be pushed", to, "assay store push"]);
    let waiting = bed.run(&["list", "--json"]).json()["waiting"][0].clone();
    assert_eq!(
        (&waiting["id"], &waiting["attempts"]),
        (&one.clone().into(), &1.into())
    );
    let doctor = bed.command_without_store(&["doctor", "--self"]);
    let mut doctor = doctor;
    let doctor = Running::start(doctor.env("ASSAY_STORE", bed.store())).end();
    assert!(
        doctor.out.contains("1 run waits to be pushed"),
        "{}",
        doctor.out
    );

    // Still not.
    let ended = pushing(&bed, to, &["store", "push"]);
    ended.assert_code(2);
    let attempts = bed.run(&["list", "--json"]).json()["waiting"][0]["attempts"].clone();
    assert_eq!(attempts, 2);

    fs::remove_file(&folder).unwrap();
    let ended = pushing(&bed, to, &SHORT);
    ended.assert_code(0);
    ended.assert_says(&["pushed 2 runs to", to]);
    assert!(
        bed.run(&["list", "--json"]).json()["waiting"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(listed(&bed, to), listed(&bed, text(&bed.store())));
    let ended = pushing(&bed, to, &["store", "push"]);
    ended.assert_code(0);
    ended.assert_says(&["nothing waits to be pushed"]);
}

#[test]
fn runs_that_wait_are_pushed_by_command_wherever_they_were_to_go() {
    let bed = Bed::new();
    let (blocked, there) = (bed.join("blocked"), bed.join("there.sqlite"));
    fs::write(&blocked, "not a folder").unwrap();
    let one = blocked.join("runs.sqlite");
    pushing(&bed, text(&one), &SHORT).assert_code(0);
    pushing(&bed, text(&there), &SHORT).assert_code(0);
    assert_eq!(listed(&bed, text(&there)).len(), 1);
    fs::remove_file(&blocked).unwrap();
    let ended = bed.run(&["store", "push"]);
    ended.assert_code(0);
    assert_eq!(ended.out, format!("pushed 1 run to {}\n", one.display()));
}

#[test]
fn measuring_commands_push_to_the_database_that_is_their_store() {
    let server = or_skip!(Postgres::shared());
    let database = or_skip!(server.database());
    let url = server.url(&database);
    let bed = Bed::new();
    let home = bed.folder_named("home");
    let command = |words: &[&str]| -> Command {
        let mut command = bed.command_without_store(words);
        command.env("HOME", &home).env("ASSAY_STORE", &url);
        command.env_remove("XDG_DATA_HOME");
        command
    };
    let ended = Running::start(&mut command(&SHORT)).end();
    ended.assert_code(0);
    ended.assert_says(&["pushed 1 run to postgres://"]);
    let local = home.join(".local/share/assay/runs.sqlite");
    assert_eq!(listed(&bed, &url), listed(&bed, text(&local)));
    let ended = Running::start(&mut command(&["report", "last", "--json"])).end();
    assert_eq!(ended.json()["run"]["id"], *id_of_first(&bed, &url));
    let ended = Running::start(&mut command(&["store", "push"])).end();
    ended.assert_says(&["nothing waits"]);
}

fn id_of_first(bed: &Bed, store: &str) -> String {
    let list = with_store(bed, store, &["list", "--json"]).json();
    list["runs"][0]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_run_that_is_resumed_after_it_was_pushed_is_there_once_and_whole() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let (folder, there) = (bed.folder(), bed.join("there.sqlite"));
    let words = [
        "sweep",
        text(&folder),
        "--vary",
        &knob.vary,
        "--rounds",
        "4",
    ];
    let jobs = [
        "--idle",
        "300ms",
        "--quick",
        "--size",
        "1M",
        "--only",
        "read-cached",
    ];
    let mut command = bed.command(&[&words[..], &jobs].concat());
    let mut running = Running::start(command.env("ASSAY_PUSH_TO", &there));
    running.await_trials(3);
    running.signal(Signal::INT);
    running.end().assert_code(130);
    assert!(
        !there.exists(),
        "an interrupted run is pushed only when its user says so"
    );
    let push = ["store", "push", "last", "--to", text(&there)];
    let ended = bed.run(&push);
    ended.assert_code(0);
    let ended = pushing(&bed, text(&there), &["sweep", "--resume", "last", "--json"]);
    ended.assert_code(0);
    ended.assert_says(&["pushed 1 run to", "1 of them longer than before"]);
    assert_eq!(listed(&bed, text(&there)), listed(&bed, text(&bed.store())));
    let shown = with_store(&bed, text(&there), &["report", "last", "--json"]);
    assert_eq!(shown.json(), bed.stored("last"));
    let ended = bed.run(&push);
    assert!(ended.out.contains(": 1 was there already"), "{}", ended.out);
}

#[test]
fn where_to_push_has_to_be_said() {
    let bed = Bed::new();
    short_run(&bed, &[]);
    let line = bed.refused(&["store", "push", "last"]);
    assert!(line.contains("--to") && line.contains("push_to"), "{line}");
    let line = bed.refused(&["store", "pull", "--all"]);
    assert!(line.contains("--from"), "{line}");
    let line = bed.refused(&["store", "push", "last", "--to", text(&bed.store())]);
    assert!(line.contains("it is the store itself"), "{line}");
    let line = bed.refused(&["store", "push", "last", "--to", "http://lab"]);
    assert!(line.contains("ssh://"), "{line}");
}

/// A store with copies of a run, which all have other ids and contents.
fn copies(bed: &Bed, count: usize) -> PathBuf {
    let run = short_run(bed, &[]);
    let mut store = Store::open_existing(&bed.store()).expect("a store");
    let Given::Parcel(parcel) = store.give(&[run], Part::Whole).expect("a run").remove(0) else {
        panic!("it is damaged");
    };
    let mut all = Vec::new();
    for number in 0..count {
        all.push(copy(&parcel, &format!("copy{number:03}")));
    }
    let path = bed.join("copies.sqlite");
    let mut copies = Store::open(&path).expect("a store");
    let taken = copies.take(all, false).expect("they are taken");
    assert!(taken.iter().all(|taken| taken.outcome == TakenAs::Added));
    path
}

/// The same run under another id, and with trials of some size.
fn copy(parcel: &Parcel, id: &str) -> Parcel {
    let mut copy = parcel.clone();
    copy.offer.id = id.to_owned();
    let Some(Record::Run(run)) = &mut copy.record else {
        panic!("it is a run");
    };
    let mut header: Value = serde_json::from_str(&run.header).expect("a header");
    header["id"] = id.into();
    run.header = header.to_string();
    let first = run.trials[0].clone();
    let next = u32::try_from(run.trials.len()).expect("a few");
    run.trials.extend((next..next + 8).map(|position| {
        let mut trial = first.clone();
        trial.position = position;
        trial.record.extend(vec![0; 30_000]);
        trial
    }));
    copy.offer.sha256 = copy.record.as_ref().map(Record::sha256);
    copy
}

fn all_of(store: &mut Store) -> Vec<Offer> {
    let mut all = Vec::new();
    loop {
        let last = all
            .last()
            .map_or(String::new(), |offer: &Offer| offer.id.clone());
        let more = store.offers_after(&last).expect("they are there");
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// Pushers that are killed again and again, and a server that crashes meanwhile.
fn killed_pushers(kills: usize) {
    let server = or_skip!(Postgres::start());
    let database = or_skip!(server.database());
    let url = server.url(&database);
    let bed = Bed::new();
    let local = copies(&bed, 60);
    let push = || {
        start_with_store(
            &bed,
            text(&local),
            &["store", "push", "--all", "--to", &url],
        )
    };
    push().end().assert_code(0);
    let mut killed = 0;
    let mut random = SplitMix64::new(7);
    while killed < kills {
        // Room for what is pushed again.
        let some = "SELECT id FROM runs ORDER BY random() LIMIT 40";
        let sql = format!(
            "CREATE TABLE gone AS {some}; DELETE FROM trials WHERE run_id IN (SELECT id FROM gone); \
             DELETE FROM runs WHERE id IN (SELECT id FROM gone); DROP TABLE gone"
        );
        server.sql(&database, &sql).expect("the database is ours");
        let pushers: Vec<Running> = (0..4).map(|_| push()).collect();
        if random.below(10) == 0 {
            sleep(Duration::from_millis(random.below(400)));
            server.halt();
            server.go_on().expect("it starts again");
        }
        for pusher in pushers {
            sleep(Duration::from_millis(random.below(250)));
            pusher.kill(false);
            killed += 1;
        }
        assert_whole(&url);
    }
    let pushers: Vec<Running> = (0..3).map(|_| push()).collect();
    for pusher in pushers {
        pusher.end().assert_code(0);
    }
    assert_whole(&url);
    let (mut here, mut there) = both(&local, &url);
    let hashes = |all: Vec<Offer>| -> Vec<_> {
        all.into_iter()
            .map(|offer| (offer.id, offer.sha256))
            .collect()
    };
    assert_eq!(hashes(all_of(&mut here)), hashes(all_of(&mut there)));
    let trials = "SELECT count(*), count(DISTINCT (run_id, position)) FROM trials";
    let counted = server.sql(&database, trials).expect("a number");
    let per_run = here.load("copy000").expect("a run");
    let count = (per_run.run.trials.len() + per_run.damaged.len()) * 60;
    assert_eq!(counted.trim(), format!("{count}|{count}"));
}

fn both(local: &Path, url: &str) -> (Store, Store) {
    let there = Location::parse(url.as_ref());
    let here = Store::open_existing(local).expect("a store");
    (here, Store::open_existing(&there).expect("a store"))
}

/// Checks that the contents of each run in a store are those of its hash.
fn assert_whole(url: &str) {
    let location = Location::parse(url.as_ref());
    let mut store = Store::open_existing(&location).expect("a store");
    let ids: Vec<String> = all_of(&mut store)
        .into_iter()
        .map(|offer| offer.id)
        .collect();
    let mut left = &ids[..];
    while !left.is_empty() {
        let given = store.give(left, Part::Whole).expect("they are there");
        left = &left[given.len()..];
        for given in given {
            assert!(matches!(given, Given::Parcel(_)), "{given:?}");
        }
    }
}

#[test]
fn a_few_killed_pushers_lose_and_double_nothing() {
    killed_pushers(12);
}

#[test]
fn two_hundred_killed_pushers_lose_and_double_nothing() {
    needs!(full);
    killed_pushers(200);
}
