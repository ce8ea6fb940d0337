//! Copying between stores: directly, and over a stream that can be cut, or lie.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_model::figures::{Opinion, OpinionState};
use assay_model::run::RunStatus;
use assay_model::trial::Outcome;
use assay_store::exchange::{
    AnsweringRole, ExchangeError, Given, Parcel, Part, Peer, Record, Sink, Source, TakenAs,
    Transfer, TransferTally, answer,
};
use assay_store::{Store, StoredId};
use common::{Bed, header, import, owner, store, trial};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::{scope, spawn};

on_both!(
    what_is_copied_is_there_as_it_was_and_is_not_copied_again,
    other_contents_of_the_same_id_are_a_conflict_and_stop_nothing_else,
    a_resumed_run_replaces_its_beginning_and_never_the_other_way_round,
    runs_that_two_resumed_are_a_conflict,
    what_was_removed_comes_back_only_if_its_user_insists,
    a_name_that_another_has_stays_with_that_one,
    the_annotation_that_was_changed_last_counts,
    what_was_said_last_of_a_change_counts_in_both_directions,
    several_that_push_at_once_lose_and_double_nothing,
    a_parcel_that_is_not_what_it_claims_is_refused,
);

/// Adds a run with so many trials that ended like that.
fn add(store: &mut Store, id: &str, trials: u32, status: &RunStatus) {
    store.begin_run(&header(id, 1_000), &owner()).unwrap();
    let trials: Vec<_> = (0..trials).map(trial).collect();
    store.save_trials(id, &trials).unwrap();
    store.finish_run(id, status, 2_000).unwrap();
}

fn name(store: &mut Store, id: &str, name: &str) {
    let named = store.annotate(id, |annotation| annotation.name = Some(name.to_owned()));
    named.unwrap();
}

fn copy_some(from: &mut dyn Source, to: &mut dyn Sink, ids: &[&str], again: bool) -> TransferTally {
    let mut tally = TransferTally::default();
    let mut transfer = Transfer {
        from,
        to,
        again,
        prepare: &mut |_| (),
        tell: &mut |_| (),
    };
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    match ids.is_empty() {
        true => transfer.everything(&mut tally).unwrap(),
        false => transfer.these(&ids, &mut tally).unwrap(),
    }
    tally
}

fn copy(from: &mut dyn Source, to: &mut dyn Sink) -> TransferTally {
    copy_some(from, to, &[], false)
}

/// Hashes of all that a store has, with their annotations.
fn contents(store: &mut Store) -> Vec<(String, Option<String>, Option<u64>)> {
    let offers = store.offers_after("").unwrap().into_iter();
    offers
        .map(|offer| (offer.id, offer.sha256, offer.annotated_unix_ms))
        .collect()
}

/// A store with runs of all kinds, and an import.
fn filled(store: &mut Store) {
    add(store, "finished", 3, &RunStatus::Finished);
    add(store, "stopped", 2, &RunStatus::Interrupted);
    let error = "no room: 'µ' \"quoted\"".to_owned();
    add(store, "failed", 0, &RunStatus::Failed { error });
    store.save_import(&import("import", 1_500)).unwrap();
    name(store, "finished", "before");
    name(store, "import", "elsewhere");
}

fn what_is_copied_is_there_as_it_was_and_is_not_copied_again(bed: &Bed) {
    let ((_a, mut from), mut to) = (store(), bed.open());
    filled(&mut from);
    let tally = copy(&mut from, &mut to);
    assert_eq!(tally.added, ["failed", "finished", "import", "stopped"]);
    assert_eq!(contents(&mut from), contents(&mut to));
    for id in ["finished", "stopped", "failed"] {
        assert_eq!(to.load(id).unwrap().run, from.load(id).unwrap().run);
    }
    let lists = |store: &Store| (store.runs().unwrap().len(), store.imports().unwrap());
    assert_eq!(lists(&from), lists(&to));
    assert_eq!(
        to.load_import("import").unwrap(),
        from.load_import("import").unwrap()
    );
    let again = copy(&mut from, &mut to);
    assert_eq!((again.there.len(), again.seen()), (4, 4));
}

fn other_contents_of_the_same_id_are_a_conflict_and_stop_nothing_else(bed: &Bed) {
    let ((_a, mut from), mut to) = (store(), bed.open());
    add(&mut from, "one", 3, &RunStatus::Finished);
    add(&mut from, "two", 1, &RunStatus::Finished);
    from.save_import(&import("three", 1)).unwrap();
    add(&mut to, "one", 2, &RunStatus::Finished);
    add(&mut to, "three", 1, &RunStatus::Finished);
    name(&mut from, "one", "of another");
    let before = contents(&mut to);
    let tally = copy(&mut from, &mut to);
    assert_eq!(tally.conflicts, ["one", "three"]);
    assert_eq!(tally.added, ["two"]);
    let mut after = contents(&mut to);
    after.retain(|(id, ..)| id != "two");
    assert_eq!(before, after);
}

fn a_resumed_run_replaces_its_beginning_and_never_the_other_way_round(bed: &Bed) {
    let ((_a, mut from), mut to) = (store(), bed.open());
    add(&mut from, "run", 2, &RunStatus::Interrupted);
    copy(&mut from, &mut to);
    // The trial that was under way is made anew.
    from.reopen_run("run", &owner(), 1).unwrap();
    let mut under_way = trial(1);
    under_way.outcome = Outcome::Interrupted;
    from.save_trial("run", &under_way).unwrap();
    from.finish_run("run", &RunStatus::Interrupted, 2_500)
        .unwrap();
    let (_c, mut shorter) = store();
    copy(&mut from, &mut shorter);
    assert_eq!(
        copy(&mut from, &mut to).conflicts,
        ["run"],
        "a trial would be lost"
    );

    from.reopen_run("run", &owner(), 1).unwrap();
    assert_eq!(copy(&mut from, &mut to).under_way, ["run"]);
    assert_eq!(copy(&mut to, &mut from).under_way, ["run"]);
    from.save_trials("run", &[trial(1), trial(2)]).unwrap();
    from.finish_run("run", &RunStatus::Finished, 3_000).unwrap();
    for to in [&mut to, &mut shorter] {
        assert_eq!(copy(&mut from, to).extended, ["run"]);
        assert_eq!(to.load("run").unwrap().run, from.load("run").unwrap().run);
        assert_eq!(copy(&mut from, to).there, ["run"]);
    }
    // From an old copy.
    let (_d, mut old) = store();
    add(&mut old, "run", 2, &RunStatus::Interrupted);
    assert_eq!(copy(&mut old, &mut to).there, ["run"]);
    assert_eq!(copy(&mut to, &mut old).extended, ["run"]);
    assert_eq!(contents(&mut old), contents(&mut to));
}

fn runs_that_two_resumed_are_a_conflict(bed: &Bed) {
    let ((_a, mut one), mut two) = (store(), bed.open());
    add(&mut one, "run", 1, &RunStatus::Interrupted);
    copy(&mut one, &mut two);
    for (store, seed) in [(&mut one, 1), (&mut two, 2)] {
        store.reopen_run("run", &owner(), 1).unwrap();
        let mut next = trial(1);
        next.seed = seed;
        store.save_trial("run", &next).unwrap();
        store
            .finish_run("run", &RunStatus::Interrupted, 3_000)
            .unwrap();
    }
    let before = contents(&mut two);
    assert_eq!(copy(&mut one, &mut two).conflicts, ["run"]);
    assert_eq!(before, contents(&mut two));
}

fn what_was_removed_comes_back_only_if_its_user_insists(bed: &Bed) {
    let ((_a, mut from), mut to) = (store(), bed.open());
    filled(&mut from);
    copy(&mut from, &mut to);
    let gone = [
        StoredId::Run("finished".to_owned()),
        StoredId::Import("import".to_owned()),
    ];
    to.remove(&gone, |_| false).unwrap();
    let tally = copy(&mut from, &mut to);
    assert_eq!(tally.removed, ["finished", "import"]);
    assert_eq!(tally.there.len(), 2);
    let tally = copy_some(&mut from, &mut to, &["finished"], true);
    assert_eq!(tally.added, ["finished"]);
    // It counts as there from now on.
    assert_eq!(copy(&mut from, &mut to).removed, ["import"]);
    assert_eq!(
        to.annotation("finished").unwrap().name.as_deref(),
        Some("before")
    );
}

fn a_name_that_another_has_stays_with_that_one(bed: &Bed) {
    let ((_a, mut from), mut to) = (store(), bed.open());
    add(&mut from, "mine", 1, &RunStatus::Finished);
    from.annotate("mine", |annotation| {
        annotation.name = Some("best".to_owned());
        annotation.add_tag("nightly");
    })
    .unwrap();
    add(&mut from, "other", 1, &RunStatus::Finished);
    name(&mut from, "other", "theirs");
    add(&mut to, "theirs", 1, &RunStatus::Finished);
    name(&mut to, "theirs", "best");
    let tally = copy(&mut from, &mut to);
    assert_eq!(tally.added, ["mine", "other"]);
    let lost = tally.nameless.iter();
    let lost: Vec<_> = lost
        .map(|(id, held)| (&**id, &*held.name, &*held.holder))
        .collect();
    // An id is found before a name.
    assert_eq!(
        lost,
        [("mine", "best", "theirs"), ("other", "theirs", "theirs")]
    );
    let there = to.annotation("mine").unwrap();
    assert_eq!((there.name, there.tags), (None, vec!["nightly".to_owned()]));
}

fn the_annotation_that_was_changed_last_counts(bed: &Bed) {
    let ((_a, mut one), mut two) = (store(), bed.open());
    add(&mut one, "run", 1, &RunStatus::Finished);
    name(&mut one, "run", "first");
    copy(&mut one, &mut two);
    std::thread::sleep(std::time::Duration::from_millis(2));
    name(&mut two, "run", "second");
    assert_eq!(copy(&mut one, &mut two).there, ["run"], "it is older");
    assert_eq!(
        two.annotation("run").unwrap().name.as_deref(),
        Some("second")
    );
    assert_eq!(copy(&mut two, &mut one).annotated, ["run"]);
    assert_eq!(
        one.annotation("run").unwrap().name.as_deref(),
        Some("second")
    );
    std::thread::sleep(std::time::Duration::from_millis(2));
    one.annotate("run", |annotation| annotation.name = None)
        .unwrap();
    assert_eq!(copy(&mut one, &mut two).annotated, ["run"]);
    assert!(two.annotation("run").unwrap().is_empty());
    assert_eq!(contents(&mut one), contents(&mut two));
}

const SERIES: &str = "0123456789ab";

/// Says something of the change at a run.
fn say(store: &mut Store, run: &str, state: OpinionState, at_unix_ms: u64) {
    let opinion = Opinion {
        series: SERIES.to_owned(),
        run: run.to_owned(),
        state,
        note: format!("as of {at_unix_ms}"),
        author: "kim".to_owned(),
        at_unix_ms,
    };
    store.save_opinion(&opinion).unwrap();
}

fn said(store: &Store) -> Vec<(String, OpinionState, u64)> {
    let all = store.opinions(None).unwrap().into_iter();
    all.map(|said| (said.run, said.state, said.at_unix_ms))
        .collect()
}

fn what_was_said_last_of_a_change_counts_in_both_directions(bed: &Bed) {
    let ((_a, mut here), mut there) = (store(), bed.open());
    for id in ["one", "two"] {
        add(&mut here, id, 1, &RunStatus::Finished);
    }
    say(&mut here, "one", OpinionState::Accepted, 10);
    say(&mut here, "two", OpinionState::False, 10);
    say(&mut here, "nowhere", OpinionState::False, 10);
    assert_eq!(
        copy_some(&mut here, &mut there, &["one"], false).opinions,
        1
    );
    let of_one = |state, at| ("one".to_owned(), state, at);
    assert_eq!(said(&there), [of_one(OpinionState::Accepted, 10)]);
    assert_eq!(copy(&mut here, &mut there).opinions, 1);
    assert_eq!(
        said(&there).len(),
        2,
        "that of a run that is not there stays"
    );
    assert_eq!(copy(&mut here, &mut there).opinions, 0);

    say(&mut there, "one", OpinionState::False, 20);
    assert_eq!(copy(&mut here, &mut there).opinions, 0);
    assert!(said(&there).contains(&of_one(OpinionState::False, 20)));
    let mut far = behind_a_stream(AnsweringRole::Send(Store::open(bed.location()).unwrap()));
    assert_eq!(copy(&mut far, &mut here).opinions, 1);
    assert!(said(&here).contains(&of_one(OpinionState::False, 20)));

    // What was withdrawn is not brought back by those who did not receive of it.
    let (_c, mut third) = store();
    copy(&mut here, &mut third);
    here.remove_opinion(SERIES, "one").unwrap();
    let mut far = behind_a_stream(AnsweringRole::Receive(Store::open(bed.location()).unwrap()));
    assert_eq!(copy(&mut here, &mut far).opinions, 1);
    assert_eq!(copy(&mut third, &mut there).opinions, 0);
    let left = ("two".to_owned(), OpinionState::False, 10);
    assert_eq!(said(&there), [left]);
    // Nothing is said of what was removed.
    there
        .remove(&[StoredId::Run("two".to_owned())], |_| false)
        .unwrap();
    say(&mut here, "two", OpinionState::Accepted, 90);
    let tally = copy(&mut here, &mut there);
    assert_eq!((tally.opinions, tally.removed), (0, vec!["two".to_owned()]));
}

fn several_that_push_at_once_lose_and_double_nothing(bed: &Bed) {
    let (_a, mut from) = store();
    for run in 0..12 {
        add(&mut from, &format!("run{run:02}"), 2, &RunStatus::Finished);
    }
    let mut to = bed.open();
    scope(|threads| {
        for _ in 0..4 {
            let mut from = Store::open_existing(from.path()).unwrap();
            let mut to = bed.open();
            threads.spawn(move || {
                let tally = copy(&mut from, &mut to);
                assert_eq!(tally.added.len() + tally.there.len(), 12);
            });
        }
    });
    assert_eq!(contents(&mut from), contents(&mut to));
    assert!(to.runs().unwrap().iter().all(|run| run.trials_done == 2));
}

/// A store that another side answers for.
fn behind_a_stream(role: AnsweringRole<Store>) -> Peer<UnixStream, UnixStream> {
    let (here, there) = UnixStream::pair().unwrap();
    spawn(move || answer(&there, &there, |_| Ok(role)));
    Peer::greet(here.try_clone().unwrap(), here, None).unwrap()
}

#[test]
fn a_store_behind_a_stream_is_like_one_of_this_side() {
    let ((_a, mut from), (b, to)) = (store(), store());
    filled(&mut from);
    let mut there = behind_a_stream(AnsweringRole::Receive(to));
    assert_eq!(copy(&mut from, &mut there).added.len(), 4);
    assert_eq!(copy(&mut from, &mut there).there.len(), 4);
    let mut to = Store::open(&common::path(&b)).unwrap();
    assert_eq!(contents(&mut from), contents(&mut to));

    let mut there = behind_a_stream(AnsweringRole::Send(to));
    assert_eq!(there.find("elsewhere").unwrap(), "import");
    assert_eq!(there.find("fin").unwrap(), "finished");
    let (_c, mut back) = store();
    assert_eq!(copy(&mut there, &mut back).added.len(), 4);
    assert_eq!(contents(&mut from), contents(&mut back));
    let none = there.find("nothing of it").unwrap_err().to_string();
    assert!(none.contains("no run or import 'nothing of it'"), "{none}");
}

#[test]
fn who_may_only_send_takes_nothing_and_the_other_way_round() {
    let ((_a, mut from), (_b, to), (_c, other)) = (store(), store(), store());
    filled(&mut from);
    let mut there = behind_a_stream(AnsweringRole::Send(to));
    let offers = from.offers_after("").unwrap();
    let refused = there.compare(&offers).unwrap_err();
    assert!(matches!(refused, ExchangeError::Refused(_)), "{refused}");
    let mut there = behind_a_stream(AnsweringRole::Receive(other));
    assert!(there.offers_after("").is_err());
}

/// A stream that keeps what a pusher says.
struct Recorded<'a> {
    said: &'a mut Vec<u8>,
    to: UnixStream,
}

impl Write for Recorded<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.said.extend_from_slice(&bytes[..written]);
        Ok(written)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Records everything that a pusher of this store says.
fn push_of(from: &mut Store) -> Vec<u8> {
    let (_b, to) = store();
    let (here, there) = UnixStream::pair().unwrap();
    spawn(move || answer(&there, &there, |_| Ok(AnsweringRole::Receive(to))));
    let mut said = Vec::new();
    let to = Recorded {
        said: &mut said,
        to: here.try_clone().unwrap(),
    };
    let mut peer = Peer::greet(here, to, None).unwrap();
    assert_eq!(copy(from, &mut peer).added.len(), 4);
    drop(peer);
    said
}

/// The store of who hears only this.
fn received(said: &[u8]) -> Vec<(String, Option<String>, Option<u64>)> {
    let (folder, to) = store();
    // How it ends is its own business.
    let _ = answer(said, std::io::sink(), |_| Ok(AnsweringRole::Receive(to)));
    let mut to = Store::open(&common::path(&folder)).unwrap();
    assert!(
        to.runs()
            .unwrap()
            .iter()
            .all(|run| run.status != RunStatus::Running)
    );
    contents(&mut to)
}

#[test]
fn a_link_that_is_cut_anywhere_leaves_whole_runs_only() {
    let (_a, mut from) = store();
    filled(&mut from);
    let all = contents(&mut from);
    let said = push_of(&mut from);
    assert_eq!(received(&said), all);
    let step = (said.len() / 60).max(1);
    for length in (0..said.len()).step_by(step) {
        assert_eq!(received(&said[..length]), [], "cut after {length} bytes");
    }
}

#[test]
fn what_is_changed_on_the_way_is_not_stored() {
    let (_a, mut from) = store();
    filled(&mut from);
    let all = contents(&mut from);
    let said = push_of(&mut from);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..80 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let place = usize::try_from(random >> 33).unwrap() % said.len();
        let mut changed = said.clone();
        changed[place] ^= 1 << (random >> 61);
        for (id, sha256, _) in received(&changed) {
            let same = all
                .iter()
                .any(|known| (&known.0, &known.1) == (&id, &sha256));
            assert!(same, "{id} was changed at {place}");
        }
    }
}

#[test]
fn lengths_without_end_take_no_memory() {
    for length in [64 << 20, u32::MAX] {
        let said = [length.to_le_bytes(), 0_u32.to_le_bytes()].concat();
        let (_b, to) = store();
        let mut answers = Vec::new();
        let end = answer(&said[..], &mut answers, |_| Ok(AnsweringRole::Receive(to)));
        assert!(end.is_err());
        let is_told = String::from_utf8_lossy(&answers).contains("refused");
        assert_eq!(is_told, length == u32::MAX, "as long as may be, and cut");
    }
}

/// The first message of a build that speaks these versions.
fn hello(oldest: u32, newest: u32) -> Vec<u8> {
    let greeting = format!(
        "{{\"version\":12,\"oldest\":{oldest},\"newest\":{newest},\"build\":\"9.0\",\"features\":[]}}"
    );
    let json = format!("{{\"type\":\"hello\",\"greeting\":{greeting},\"of_tomorrow\":1}}");
    let length = u32::try_from(json.len()).unwrap().to_le_bytes();
    [&length[..], &[0; 4], json.as_bytes()].concat()
}

#[test]
fn builds_that_share_no_version_say_so() {
    let (_b, to) = store();
    let mut answers = Vec::new();
    let end = answer(&hello(2, 3)[..], &mut answers, |_| {
        Ok(AnsweringRole::Receive(to))
    });
    let why = end.unwrap_err().to_string();
    assert!(why.contains("speaks versions 2 to 3"), "{why}");
    let answers = String::from_utf8_lossy(&answers);
    assert!(answers.contains("update the older one"), "{answers}");

    let answer_of_later = hello(2, 3);
    let end = Peer::greet(&answer_of_later[..], std::io::sink(), None);
    let why = end.unwrap_err().to_string();
    assert!(why.contains("speaks versions 2 to 3"), "{why}");
    let end = Peer::greet(&b"Welcome to board!\n"[..], std::io::sink(), None);
    let why = end.unwrap_err().to_string();
    assert!(why.contains("does not answer as assay store does"), "{why}");
    assert!(Peer::greet(std::io::empty(), std::io::sink(), None).is_err());
}

#[test]
fn a_store_that_cannot_be_opened_there_is_told_of() {
    let (here, there) = UnixStream::pair().unwrap();
    spawn(move || {
        answer::<Store>(&there, &there, |path| {
            Err(format!("no such file: {path:?}"))
        })
    });
    let asked = Some("/srv/runs.sqlite".as_ref());
    let end = Peer::greet(here.try_clone().unwrap(), here, asked).map(drop);
    let why = end.unwrap_err().to_string();
    assert_eq!(why, "no such file: Some(\"/srv/runs.sqlite\")");
}

fn parcel(from: &mut Store, id: &str) -> Parcel {
    let mut given = from.give(&[id.to_owned()], Part::Whole).unwrap();
    match given.remove(0) {
        Given::Parcel(parcel) => *parcel,
        damaged @ Given::Damaged { .. } => panic!("{damaged:?}"),
    }
}

fn a_parcel_that_is_not_what_it_claims_is_refused(bed: &Bed) {
    let ((_a, mut from), mut to) = (store(), bed.open());
    filled(&mut from);
    type Change = fn(&mut Parcel);
    let changes: [(Change, &str); 8] = [
        (
            |parcel| parcel.offer.id = "../x".to_owned(),
            "id is not one of assay",
        ),
        (
            |parcel| parcel.offer.id = "another".to_owned(),
            "is that of finished",
        ),
        (|parcel| parcel.offer.sha256 = None, "damaged"),
        (|parcel| run(parcel).trials.clear(), "damaged"),
        (
            |parcel| {
                run(parcel).trials.swap(0, 1);
                rehashed(parcel);
            },
            "not in order",
        ),
        (
            |parcel| {
                run(parcel).header = "{}".to_owned();
                rehashed(parcel);
            },
            "header cannot be read",
        ),
        (
            |parcel| {
                run(parcel).status = RunStatus::Running;
                rehashed(parcel);
            },
            "under way",
        ),
        (
            |parcel| parcel.annotation.name = Some("\u{1b}[2J".to_owned()),
            "name cannot be taken",
        ),
    ];
    for (change, expected) in changes {
        let mut parcel = parcel(&mut from, "finished");
        change(&mut parcel);
        let taken = to.take(vec![parcel], false).unwrap().remove(0);
        let TakenAs::Refused { why } = &taken.outcome else {
            panic!("{expected}: {taken:?}");
        };
        assert!(why.contains(expected), "{why}");
    }
    assert_eq!(contents(&mut to), []);
    let twice = vec![parcel(&mut from, "finished"), parcel(&mut from, "finished")];
    let taken = to.take(twice, false).unwrap();
    assert_eq!(taken[0].outcome, TakenAs::Added);
    assert!(matches!(taken[1].outcome, TakenAs::Refused { .. }));
}

fn run(parcel: &mut Parcel) -> &mut assay_store::exchange::RawRun {
    match &mut parcel.record {
        Some(Record::Run(run)) => run,
        other => panic!("{other:?}"),
    }
}

fn rehashed(parcel: &mut Parcel) {
    parcel.offer.sha256 = parcel.record.as_ref().map(Record::sha256);
}

#[test]
fn a_record_that_was_damaged_here_is_not_sent() {
    let ((_a, mut from), (_b, mut to)) = (store(), store());
    filled(&mut from);
    contents(&mut from);
    let sqlite = rusqlite::Connection::open(from.path()).unwrap();
    let sql = "UPDATE trials SET record = x'00' WHERE run_id = 'finished' AND position = 1";
    sqlite.execute(sql, []).unwrap();
    let tally = copy(&mut from, &mut to);
    assert_eq!(tally.added, ["failed", "import", "stopped"]);
    assert_eq!(tally.refused.len(), 1);
    assert!(
        tally.refused[0].1.contains("damaged"),
        "{:?}",
        tally.refused
    );
}

/// Ends after so many bytes.
struct Cut<R>(R, usize);

impl<R: Read> Read for Cut<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let room = into.len().min(self.1);
        let read = self.0.read(&mut into[..room])?;
        self.1 -= read;
        Ok(read)
    }
}

#[test]
fn a_pull_that_is_cut_is_begun_again() {
    let ((a, mut from), (_b, mut to)) = (store(), store());
    filled(&mut from);
    let all = contents(&mut from);
    let mut bytes = 100;
    while contents(&mut to) != all {
        let from = Store::open_existing(&common::path(&a)).unwrap();
        let (here, there) = UnixStream::pair().unwrap();
        spawn(move || answer(&there, &there, |_| Ok(AnsweringRole::Send(from))));
        let answers = Cut(here.try_clone().unwrap(), bytes);
        if let Ok(mut peer) = Peer::greet(answers, here, None) {
            let mut transfer = Transfer {
                from: &mut peer,
                to: &mut to,
                again: false,
                prepare: &mut |_| (),
                tell: &mut |_| (),
            };
            // What is there is there; the rest comes later.
            let _ = transfer.everything(&mut TransferTally::default());
        }
        for (id, sha256, _) in contents(&mut to) {
            assert!(
                all.iter()
                    .any(|known| (&known.0, &known.1) == (&id, &sha256))
            );
        }
        bytes += 1_500;
        assert!(bytes < 1 << 20, "it never ends");
    }
}
