//! Plain files stand for settings of the kernel.

use super::*;
use assay_model::condition::{COMMAND_LIMIT, Restore, cross};
use assay_model::plan::{Place, Plan};
use assay_model::storage::Backing;
use assay_model::units::{Bytes, Nanos};
use rustix::fs::{FlockOperation, flock};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file, and where journals go.
struct Bench {
    folder: tempfile::TempDir,
    plan: Plan,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "1\n").unwrap();
        let subject = |name: &str| Subject::File {
            path: folder.path().join(name),
        };
        let values = |all: &[&str]| all.iter().map(|&value| value.to_owned()).collect();
        let varied = [(subject("a"), values(&["5", "6"]))];
        let plan = Plan {
            run_id: "run".to_owned(),
            seed: 1,
            place: Place::File { path: "f".into() },
            file_size: Bytes(0),
            jobs: Vec::new(),
            conditions: cross(&varied).unwrap(),
            restore: Restore::default(),
            order: Vec::new(),
        };
        Self { folder, plan }
    }

    fn add_command(&mut self) {
        let log = self.folder.path().join("log");
        let words = |word: &str| format!("echo {word} \"$1\" >> {}", log.display());
        for (condition, value) in self.plan.conditions.iter_mut().zip(["on", "off"]) {
            condition.settings.push(Setting {
                subject: Subject::Command {
                    name: "c".to_owned(),
                    apply: words("apply"),
                    undo: words("undo"),
                    limit: COMMAND_LIMIT,
                },
                value: value.to_owned(),
            });
        }
    }

    fn journals(&self) -> PathBuf {
        self.folder.path().join("journals")
    }

    fn conditions<'a>(&'a self, roots: &'a Roots) -> Conditions<'a> {
        self.try_conditions(roots).unwrap()
    }

    fn try_conditions<'a>(&'a self, roots: &'a Roots) -> Result<Conditions<'a>, String> {
        let Plan {
            run_id, conditions, ..
        } = &self.plan;
        Conditions::new(roots, &storage(), run_id, conditions, self.journals())
    }

    fn value(&self, name: &str) -> String {
        let text = fs::read_to_string(self.folder.path().join(name)).unwrap();
        text.trim().to_owned()
    }

    fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.journals()).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn next_start(&self) -> Vec<Undone> {
        undo_abandoned(&Roots::default(), &self.journals(), Duration::from_secs(30))
    }
}

fn storage() -> Storage {
    Storage {
        path: "/".into(),
        mount: None,
        backing: Backing::Unknown {
            why: "a test".to_owned(),
        },
        layers: Vec::new(),
        total: None,
        available: None,
    }
}

/// As a kill leaves it: changes and journal stay, the lock goes.
fn kill(mut conditions: Conditions<'_>) {
    conditions.changed.clear();
    let journal = conditions.journal.take().map(|journal| journal.path);
    if let Some(path) = journal {
        // A process that another test starts holds the lock too until it has become
        // its program.
        flock(fs::File::open(path).unwrap(), FlockOperation::LockExclusive).unwrap();
    }
}

#[test]
fn a_condition_is_made_read_back_and_undone() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    for (index, value) in [(0, "5"), (1, "6"), (0, "5")] {
        let in_force = conditions.enter(Some(index)).unwrap();
        assert_eq!(in_force[0].value.as_deref(), Some(value));
        assert_eq!(bench.value("a"), value);
        assert_eq!(bench.left().len(), 1);
    }
    assert!(bench.next_start().is_empty(), "it lives");
    assert_eq!(bench.value("a"), "5");
    assert_eq!(conditions.leave(), Vec::<String>::new());
    assert_eq!(bench.value("a"), "1");
    assert!(!bench.journals().exists(), "the folder goes too");
}

#[test]
fn dropping_undoes_too() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(1)).unwrap();
    drop(conditions);
    assert_eq!(bench.value("a"), "1");
    assert!(bench.left().is_empty());
}

#[test]
fn a_rehearsal_leaves_everything_as_it_was_and_runs_no_command() {
    let mut bench = Bench::new();
    bench.add_command();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.rehearse(&AtomicBool::new(false)).unwrap();
    assert_eq!(bench.value("a"), "1");
    assert_eq!(conditions.leave(), Vec::<String>::new());
    assert!(bench.left().is_empty());
    assert!(!bench.folder.path().join("log").exists());
}

#[test]
fn a_command_that_failed_is_undone_and_tried_again() {
    let mut bench = Bench::new();
    bench.add_command();
    let setting = &mut bench.plan.conditions[0].settings[1];
    let Subject::Command { apply, .. } = &mut setting.subject else {
        panic!("a command")
    };
    apply.push_str("; false");
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    for _ in 0..2 {
        assert!(conditions.enter(Some(0)).is_err());
    }
    assert_eq!(conditions.leave(), Vec::<String>::new());
    assert_eq!(bench.value("log"), "apply on\nundo on\napply on\nundo on");
    assert_eq!(bench.value("a"), "1");
}

#[test]
fn a_value_that_is_not_offered_is_refused_before_anything_changes() {
    let mut bench = Bench::new();
    bench.plan.conditions[1].settings[0].value = "much".to_owned();
    let roots = Roots::default();
    let error = bench.try_conditions(&roots);
    let error = error.err().unwrap();
    assert!(error.contains("offers a whole number"), "{error}");
    assert_eq!(bench.value("a"), "1");
}

#[test]
fn the_next_start_undoes_what_a_killed_run_left() {
    let mut bench = Bench::new();
    bench.add_command();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(0)).unwrap();
    conditions.enter(Some(1)).unwrap();
    kill(conditions);
    assert_eq!(bench.value("a"), "6");

    let undone = bench.next_start();
    assert_eq!(bench.value("a"), "1");
    assert_eq!(bench.value("log"), "apply on\nundo on\napply off\nundo off");
    assert!(
        undone.iter().all(|undone| undone.problem.is_none()),
        "{undone:?}"
    );
    let knobs: Vec<&str> = undone.iter().map(|undone| undone.knob.as_str()).collect();
    assert_eq!(knobs.len(), 2);
    assert_eq!(
        (knobs[0], undone[1].old.as_deref()),
        ("cmd:c", Some("1")),
        "newest first"
    );
    assert!(bench.left().is_empty());
    assert!(bench.next_start().is_empty(), "told once");
}

/// As a host that was killed leaves its agent: it lives, holds its journal, and has no parent left.
fn orphan(conditions: &Conditions<'_>) {
    let path = &conditions.journal.as_ref().unwrap().path;
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: JournalLine = serde_json::from_str(line).unwrap();
        line.host = Some(i32::MAX);
        serde_json::to_string(&line).unwrap() + "\n"
    });
    fs::write(path, lines.collect::<String>()).unwrap();
}

#[test]
fn the_next_start_waits_for_an_agent_that_is_about_to_undo_its_settings() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(0)).unwrap();
    assert!(bench.next_start().is_empty(), "its host lives");
    assert_eq!(bench.value("a"), "5");
    orphan(&conditions);
    std::thread::scope(|scope| {
        let (looks, asked) = std::sync::mpsc::channel();
        let bench = &bench;
        let next = scope.spawn(move || {
            let all = bench.next_start();
            looks.send(()).unwrap();
            (all, bench.value("a"))
        });
        let early = asked.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "it did not wait");
        assert!(conditions.leave().is_empty());
        let (undone, value) = next.join().unwrap();
        assert_eq!(
            (undone.len(), value.as_str()),
            (0, "1"),
            "the agent did it itself"
        );
    });
}

#[test]
fn settings_of_an_agent_that_does_not_end_are_told() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(0)).unwrap();
    orphan(&conditions);
    let told = undo_abandoned(&roots, &bench.journals(), Duration::ZERO);
    assert_eq!((told.len(), told[0].old.as_deref()), (1, Some("1")));
    let problem = told[0].problem.as_deref().unwrap();
    let process = format!("process {}", std::process::id());
    assert!(problem.contains(&process), "{problem}");
    assert_eq!(bench.value("a"), "5", "it is the other's");
}

#[test]
fn a_setting_that_another_program_changed_is_not_restored() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(0)).unwrap();
    kill(conditions);
    fs::write(bench.folder.path().join("a"), "77\n").unwrap();
    let undone = bench.next_start();
    assert_eq!(bench.value("a"), "77");
    let problem = undone[0].problem.as_deref().unwrap();
    assert!(problem.contains("'77'"), "{problem}");
    assert!(bench.left().is_empty());
}

#[test]
fn a_plain_file_that_was_about_to_get_its_value_is_put_back() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(0)).unwrap();
    kill(conditions);
    fs::write(bench.folder.path().join("a"), "").unwrap();
    assert_eq!(bench.next_start()[0].problem, None);
    assert_eq!(bench.value("a"), "1");
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from));
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn after_a_reboot_nothing_is_undone() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(0)).unwrap();
    kill(conditions);
    edit(&bench.left()[0], &boot_id(), "another");
    assert!(bench.next_start().is_empty());
    assert_eq!(bench.value("a"), "5");
    assert!(bench.left().is_empty());
}

#[test]
fn a_line_that_was_cut_off_is_of_a_change_that_was_not_made() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(0)).unwrap();
    kill(conditions);
    let path = &bench.left()[0];
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, format!("{text}{}", &text[..text.len() / 2])).unwrap();
    assert_eq!(bench.next_start().len(), 1);
    assert_eq!(bench.value("a"), "1");
}

#[test]
fn a_journal_that_others_may_write_is_not_obeyed() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.enter(Some(0)).unwrap();
    kill(conditions);
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(bench.journals(), open).unwrap();
    assert!(bench.next_start().is_empty());
    assert_eq!(bench.value("a"), "5");
    let mut conditions = bench.conditions(&roots);
    let error = conditions.enter(Some(0)).unwrap_err();
    assert!(error.contains("only this user may write"), "{error}");
}

/// Another run, in another journal of the same folder.
fn other_run<'a>(bench: &'a Bench, roots: &'a Roots, all: &'a [Condition]) -> Conditions<'a> {
    let journals = bench.journals();
    Conditions::new(roots, &storage(), "other", all, journals).unwrap()
}

#[test]
fn two_runs_do_not_change_the_same_at_the_same_time() {
    let bench = Bench::new();
    let roots = Roots::default();
    let stop = AtomicBool::new(false);
    let mut first = bench.conditions(&roots);
    // The knobs are its own from the rehearsal on, before any trial.
    first.rehearse(&stop).unwrap();
    let mut second = other_run(&bench, &roots, &bench.plan.conditions);
    let error = second.rehearse(&stop).unwrap_err();
    for words in ["run run (pid ", "under way", "/a too"] {
        assert!(error.contains(words), "{error}");
    }
    drop(second);
    first.enter(Some(0)).unwrap();
    assert!(bench.next_start().is_empty(), "it lives");
    assert_eq!(first.leave(), Vec::<String>::new());
    assert_eq!(bench.value("a"), "1");
    let mut second = other_run(&bench, &roots, &bench.plan.conditions);
    second.rehearse(&stop).unwrap();
}

#[test]
fn two_runs_change_different_things() {
    let bench = Bench::new();
    fs::write(bench.folder.path().join("b"), "1\n").unwrap();
    let mut elsewhere = bench.plan.conditions.clone();
    for condition in &mut elsewhere {
        condition.settings[0].subject = Subject::File {
            path: bench.folder.path().join("b"),
        };
    }
    let roots = Roots::default();
    let mut first = bench.conditions(&roots);
    first.enter(Some(0)).unwrap();
    let mut second = other_run(&bench, &roots, &elsewhere);
    second.enter(Some(1)).unwrap();
    assert_eq!(
        (bench.value("a"), bench.value("b")),
        ("5".into(), "6".into())
    );
}

#[test]
fn a_setting_that_changed_meanwhile_is_told_and_set_again() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    assert_eq!(conditions.still(), Ok(()), "nothing is in force");
    conditions.enter(Some(0)).unwrap();
    assert_eq!(conditions.still(), Ok(()));
    fs::write(bench.folder.path().join("a"), "77\n").unwrap();
    let error = conditions.still().unwrap_err();
    assert!(error.contains("'77' although it was set to '5'"), "{error}");
    conditions.enter(Some(0)).unwrap();
    assert_eq!(bench.value("a"), "5");
}

#[test]
fn a_setting_changed_after_the_rehearsal_is_restored_to_the_changed_value() {
    let bench = Bench::new();
    let roots = Roots::default();
    let mut conditions = bench.conditions(&roots);
    conditions.rehearse(&AtomicBool::new(false)).unwrap();
    fs::write(bench.folder.path().join("a"), "2\n").unwrap();
    conditions.enter(Some(0)).unwrap();
    kill(conditions);
    bench.next_start();
    assert_eq!(bench.value("a"), "2");
}

/// A machine made of files with one thermal zone.
struct Board {
    folder: tempfile::TempDir,
    roots: Roots,
}

impl Board {
    fn at(temperature: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::under(folder.path());
        let board = Self { folder, roots };
        fs::create_dir_all(board.zone()).unwrap();
        board.becomes(temperature);
        board
    }

    fn zone(&self) -> PathBuf {
        let class = self.folder.path().join("sys/class/thermal");
        class.join("thermal_zone0")
    }

    /// Replaces the file in one step, so that a partial value is never read.
    fn becomes(&self, temperature: &str) {
        let new = self.folder.path().join("new");
        fs::write(&new, temperature).unwrap();
        fs::rename(new, self.zone().join("temp")).unwrap();
    }

    fn before_trial(&self, restore: &Restore) -> Result<Option<InForce>, String> {
        let stop = AtomicBool::new(false);
        before_trial(&self.roots, &storage(), restore, &stop)
    }
}

fn within(width_mk: u32, around: Option<i64>, limit: Nanos) -> Restore {
    Restore {
        temperature: Some(TemperatureWindow {
            width_mk,
            limit,
            around,
        }),
        ..Restore::default()
    }
}

#[test]
fn a_trial_begins_when_it_is_as_warm_as_the_first_one() {
    let board = Board::at("40000\n");
    let read = |found: Result<Option<InForce>, String>| found.unwrap().unwrap().value;
    let long = Nanos::secs(100);
    let first = read(board.before_trial(&within(3000, None, long)));
    assert_eq!(first.as_deref(), Some("40.000"));
    board.becomes("43000\n");
    let later = read(board.before_trial(&within(3000, Some(40_000), long)));
    assert_eq!(later.as_deref(), Some("43.000"));
    board.becomes("50000\n");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| board.before_trial(&within(3000, Some(40_000), long)));
        board.becomes("42000\n");
        let cooled = read(waits.join().unwrap());
        assert_eq!(cooled.as_deref(), Some("42.000"));
    });
}

#[test]
fn a_zone_that_does_not_cool_is_reported_with_its_temperature() {
    let board = Board::at("50000\n");
    let restore = within(3000, Some(40_000), Nanos(0));
    let error = board.before_trial(&restore).unwrap_err();
    for words in ["50.000 °C", "3 K around 40.000 °C", "--temperature"] {
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn without_a_sensor_there_is_no_window() {
    let board = Board::at("40000\n");
    let silent = Board::at("");
    let restore = within(3000, None, Nanos(0));
    let error = silent.before_trial(&restore).unwrap_err();
    assert!(error.contains("does not answer"), "{error}");
    fs::remove_dir_all(board.zone()).unwrap();
    let error = can_restore(&board.roots, &storage(), &restore).unwrap_err();
    assert!(error.contains("no sensor"), "{error}");
    assert_eq!(
        can_restore(&board.roots, &storage(), &Restore::default()),
        Ok(())
    );
}
