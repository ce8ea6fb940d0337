//! Scenarios in a folder of the test, without evidence.

use super::{INFLATED_BLOCK, Inflater, compressible_text, run};
use crate::observer::recording::Recording;
use crate::{ActError, Context};
use assay_model::act::scenario::{
    ActPace, Action, Command, Copying, Scenario, ScenarioAct, ScenarioStep, Stage, Sync, Tree,
    TreeAct, Verifying, Writing,
};
use assay_model::job::{Job, Rw};
use assay_model::trial::Outcome;
use assay_model::units::Bytes;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn act(name: &str, action: Action) -> ScenarioAct {
    ScenarioAct {
        job: Job::new(name, Rw::Write, Bytes(4096), Bytes(0)),
        unmeasured: false,
        background: false,
        pace: ActPace::default(),
        action,
    }
}

fn stage(acts: &[ScenarioAct]) -> Stage {
    Stage {
        acts: acts.to_vec(),
    }
}

fn write(file: &str, bytes: u64) -> Action {
    Action::Write(Writing {
        file: file.to_owned(),
        bytes,
        block: 4096,
        random: false,
        append: false,
        direct: false,
        sync: Sync::AtEnd,
        holes_percent: 20,
    })
}

fn verify(file: &str) -> Action {
    Action::Verify(Verifying {
        file: file.to_owned(),
        block: 8192,
        direct: false,
    })
}

fn tree(act: TreeAct, files: Option<u32>) -> Action {
    Action::Tree(Tree {
        folder: "many".to_owned(),
        act,
        files,
        sizes: (10, 100_000),
        block: 4096,
        random: false,
        chained: act == TreeAct::Read,
        cold: true,
        sync: Sync::AtEnd,
    })
}

fn shell(line: &str, limit_ns: u64) -> Action {
    Action::Command(Command {
        words: vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()],
        limit_ns,
    })
}

fn carry_out(folder: &Path, stages: Vec<Stage>) -> (Recording, Result<(), ActError>) {
    let work = Scenario {
        name: "test".to_owned(),
        path: folder.to_owned(),
        stages,
        allow_commands: true,
        ..Scenario::default()
    };
    let mut observer = Recording::default();
    let done = run(
        &work,
        &mut Context {
            seed: 9,
            folder: Some(folder),
            stop: &AtomicBool::new(false),
            report_now: &AtomicBool::new(false),
            observer: &mut observer,
        },
    );
    (observer, done.map(drop))
}

fn step(observer: &Recording, index: usize) -> &ScenarioStep {
    let detail = observer.steps[index].2.detail.as_ref();
    detail
        .and_then(|detail| detail.scenario())
        .expect("an act tells")
}

#[test]
fn copied_data_is_verified_except_holes() {
    let folder = tempfile::tempdir().unwrap();
    let copy = Action::Copy(Copying {
        from: "a".to_owned(),
        to: "deep/b".to_owned(),
        block: 4096,
        inflate_percent: 100,
        sync: Sync::EveryBytes(1 << 16),
        direct: false,
    });
    let stages = [write("a", 1_000_000), copy, verify("deep/b")]
        .into_iter()
        .zip(["a", "b", "c"])
        .map(|(action, name)| stage(&[act(name, action)]))
        .collect();
    let (observer, done) = carry_out(folder.path(), stages);
    done.unwrap();
    let holes = step(&observer, 0).hole_bytes;
    assert!(holes > 0);
    assert_eq!(step(&observer, 1).hole_bytes, holes);
    assert!(step(&observer, 1).inflated_bytes >= 500_000);
    let verified = step(&observer, 2).verified.as_ref().unwrap();
    assert_eq!(
        (verified.bytes, verified.differs()),
        (1_000_000 - holes, false)
    );
    let flushes = &observer.steps[1].2.measured.as_ref().unwrap().flush;
    assert!(flushes.count > 10);
}

#[test]
fn a_byte_that_was_changed_behind_its_back_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let change = shell(
        "printf x | dd of=a bs=1 seek=500000 conv=notrunc",
        10_000_000_000,
    );
    let stages = vec![
        stage(&[act("a", write("a", 1_000_000))]),
        stage(&[act("change", change)]),
        stage(&[act("b", verify("a"))]),
    ];
    let (observer, done) = carry_out(folder.path(), stages);
    let why = done.unwrap_err().to_string();
    assert!(why.contains("a is not what was written to it"), "{why}");
    assert!(step(&observer, 2).differs());
    assert!(matches!(observer.steps[2].1, Outcome::Failed { .. }));
}

#[test]
fn many_files_are_made_followed_from_one_to_the_next_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let acts = [
        (TreeAct::Create, Some(150)),
        (TreeAct::Read, None),
        (TreeAct::Stat, None),
        (TreeAct::Delete, Some(100)),
        (TreeAct::Delete, None),
    ];
    let stages = acts.iter().zip(0..).map(|((what, files), number)| {
        stage(&[act(&format!("act-{number}"), tree(*what, *files))])
    });
    let (observer, done) = carry_out(folder.path(), stages.collect());
    done.unwrap();
    let operations: Vec<u64> = (0..5)
        .map(|index| step(&observer, index).operations)
        .collect();
    assert_eq!(operations, [150, 150, 150, 100, 50]);
    let moved = |index: usize| observer.steps[index].2.measured.clone().unwrap();
    assert_eq!(moved(0).write.bytes, moved(1).read.bytes);
    let left = std::fs::read_dir(folder.path().join("scene/many/d000")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn the_background_ends_with_the_foreground_and_both_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut background = act("background", tree(TreeAct::Read, None));
    background.background = true;
    let mut paced = act("paced", write("a", 40_960));
    paced.pace = ActPace {
        every_ns: Some(10_000_000),
        deadline_ns: Some(1),
        limit_ns: None,
    };
    let stages = vec![
        stage(&[act("many", tree(TreeAct::Create, Some(5)))]),
        stage(&[paced, background]),
    ];
    let (observer, done) = carry_out(folder.path(), stages);
    done.unwrap();
    let names: Vec<&str> = observer
        .steps
        .iter()
        .map(|(job, ..)| job.name.as_str())
        .collect();
    assert_eq!(names, ["many", "paced", "background"]);
    let kept = step(&observer, 1).deadlines.unwrap();
    assert_eq!((kept.operations, kept.missed), (10, 10));
    assert!(step(&observer, 2).operations > 5, "it goes on");
    assert!(step(&observer, 2).background);
}

#[test]
fn a_program_is_ended_at_its_limit_and_says_why_it_failed() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str, limit_ns| {
        let folder = tempfile::tempdir_in(folder.path()).unwrap();
        let stages = vec![stage(&[act("program", shell(line, limit_ns))])];
        carry_out(folder.path(), stages).1
    };
    let why = run("sleep 60 & sleep 60", 50_000_000)
        .unwrap_err()
        .to_string();
    assert!(
        why.contains("was killed because it still ran after 50.0 ms"),
        "{why}"
    );
    let why = run("echo it is broken >&2; exit 3", 10_000_000_000).unwrap_err();
    assert!(why.to_string().contains("it is broken"), "{why}");
    run("true", 10_000_000_000).unwrap();
}

#[test]
fn a_path_outside_the_folder_is_refused_before_any_write() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["../a", "/etc/a", "a/../../b", ""] {
        let stages = vec![stage(&[act("a", write(file, 4096))])];
        let (observer, done) = carry_out(folder.path(), stages);
        assert!(matches!(done, Err(ActError::Refused(_))), "{file}");
        assert!(observer.steps.is_empty());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn so_much_is_inflated_as_is_asked_for_over_time() {
    let mut inflater = Inflater::new(1);
    let each = INFLATED_BLOCK as u64 / 2 + 1;
    let done: Vec<u64> = (0..4).map(|_| inflater.inflate(each)).collect();
    assert_eq!(done, [0, INFLATED_BLOCK as u64, 0, INFLATED_BLOCK as u64]);
    assert_eq!(inflater.out, compressible_text(1), "and it is the text");
    let share = inflater.packed.len() * 100 / INFLATED_BLOCK;
    assert!((15..60).contains(&share), "{share} %");
}
