//! `assay sweep`: conditions are really set, read back, and put back on every way
//! out.

use crate::assay::{Bed, Ended, Running, lives, test_folders, text, until};
use assay_testkit::{
    BETWEEN_TRIALS, Fake, FakeDevice, KnownSpeed, Lie, Scratch, Volume, needs, or_skip, signal_to,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const SHORT: [&str; 5] = ["--quick", "--size", "1M", "--only", "read-cached"];

/// A file that stands for a setting: no root is needed for it.
pub struct Knob {
    pub path: PathBuf,
    pub vary: String,
}

impl Knob {
    pub fn new(bed: &Bed) -> Self {
        let path = bed.join("knob");
        fs::write(&path, "1\n").expect("a file");
        let vary = format!("file:{}=5,6", path.display());
        Self { path, vary }
    }

    pub fn value(&self) -> String {
        value(&self.path)
    }
}

fn value(path: &Path) -> String {
    fs::read_to_string(path)
        .expect("it is there")
        .trim()
        .to_owned()
}

fn start(bed: &Bed, folder: &Path, words: &[&str]) -> Running {
    let all = [&["sweep", text(folder)][..], words, &SHORT].concat();
    bed.start(&all)
}

/// As in a container that was not started as a session: getsid(2) is 0 there.
#[test]
fn a_knob_is_set_in_a_namespace_of_processes_without_a_session() {
    needs!(root, "unshare");
    let bed = Bed::new();
    let (folder, knob) = (bed.folder(), Knob::new(&bed));
    let words = [
        "sweep",
        text(&folder),
        "--vary",
        &knob.vary,
        "--rounds",
        "2",
    ];
    let sweep = bed.command(&[&words[..], &SHORT].concat());
    for own_proc in [&["--mount-proc"][..], &[]] {
        let mut command = assay_testkit::command("unshare");
        command.args(["--pid", "--fork"]).args(own_proc);
        command.arg(sweep.get_program()).args(sweep.get_args());
        for (name, value) in sweep.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        let ended = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{own_proc:?}: {said}");
        assert_eq!(knob.value(), "1");
        assert_eq!(journals(&bed), 0);
    }
}

/// A sweep that does not end by itself, with some trials behind it.
fn under_way(bed: &Bed, folder: &Path, knob: &Knob) -> Running {
    let words = ["--vary", &knob.vary, "--rounds", "500"];
    let mut running = start(bed, folder, &words);
    running.await_trials(3);
    running
}

/// Kills host and agent, before the host can see that its agent is gone.
pub fn kill_both(running: Running) -> Ended {
    running.signal(Signal::STOP);
    running.kill(true)
}

pub fn journals(bed: &Bed) -> usize {
    let entries = fs::read_dir(bed.join("journals"));
    entries.map_or(0, Iterator::count)
}

/// Each trial's condition is what was read back.
pub fn assert_in_force(run: &Value) {
    for trial in run["trials"].as_array().expect("a list") {
        let condition = trial["condition"].as_str().expect("a word");
        let all = trial["in_force"].as_array().expect("a list");
        let read = all.iter().map(|one| {
            let word = |name: &str| one[name].as_str().expect("a word").to_owned();
            format!("{}={}", word("subject"), word("value"))
        });
        let mut read: Vec<String> = read.collect();
        let mut asked: Vec<&str> = condition.split(',').collect();
        read.sort();
        asked.sort_unstable();
        assert_eq!(read, asked);
    }
}

#[test]
fn scheduler_and_read_ahead_are_set_for_each_trial_and_put_back() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let queue = PathBuf::from(format!("/sys/block/{}/queue", volume.device().name()));
    let all = || {
        let files = ["scheduler", "read_ahead_kb", "nr_requests"];
        files.map(|name| value(&queue.join(name)))
    };
    let before = all();
    let schedulers = before[0].replace(['[', ']'], "");
    let schedulers: Vec<&str> = schedulers.split_whitespace().collect();
    let words = ["--vary", "scheduler=all", "--vary", "read_ahead_kb=64,512"];
    let ended = start(
        &bed,
        volume.point(),
        &[&words[..], &["--rounds", "2", "--json"]].concat(),
    )
    .end();
    ended.assert_code(0);
    assert_eq!(all(), before);
    assert_eq!(journals(&bed), 0);
    ended.assert_says(&["Sets", "scheduler to", "read_ahead_kb to 64, 512"]);

    let run = ended.json();
    assert_in_force(&run);
    let conditions = run["run"]["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 2 * schedulers.len());
    let trials = run["trials"].as_array().unwrap();
    for condition in conditions {
        let of = trials
            .iter()
            .filter(|trial| trial["condition"] == *condition);
        let rounds: Vec<u64> = of.map(|trial| trial["trial"].as_u64().unwrap()).collect();
        assert_eq!(rounds, [0, 1, 2], "{condition}");
    }
    // What the kernel says around each trial agrees with what was set.
    for trial in trials {
        let seen = &trial["evidence"]["queues"][0];
        let condition = trial["condition"].as_str().unwrap();
        let scheduler = seen["scheduler"].as_str().unwrap();
        let ahead = seen["read_ahead_kib"].as_u64().unwrap();
        assert_eq!(
            condition,
            format!("scheduler={scheduler},read_ahead_kb={ahead}")
        );
    }
}

#[test]
fn a_summary_has_a_table_of_conditions() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let words = ["--vary", &knob.vary, "--rounds", "2"];
    let ended = start(&bed, &bed.folder(), &words).end();
    ended.assert_code(0);
    for value in ["5", "6"] {
        let name = format!("file:{}={value}", knob.path.display());
        let mut lines = ended.out.lines().filter(|line| line.contains(&name));
        // The conditioning trial does not count.
        assert!(
            lines.any(|line| line.contains(" 2 ") && line.contains("page-cache")),
            "{name}: {}",
            ended.out
        );
    }
    assert_eq!(ended.trials_told(), 6);
    assert_eq!(knob.value(), "1");
}

#[test]
fn the_seed_decides_the_order() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    let order = || {
        let words = [
            "--vary", &knob.vary, "--rounds", "3", "--seed", "7", "--json",
        ];
        let run = start(&bed, &folder, &words).end().json();
        let trials = run["trials"].as_array().unwrap().clone();
        trials
            .iter()
            .map(|trial| trial["condition"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(order(), order());
}

#[test]
fn ctrl_c_puts_back_and_the_rest_can_be_run_later() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    // Long enough not to be over before the signal.
    let words = ["--vary", &knob.vary, "--rounds", "4", "--idle", "300ms"];
    let mut running = start(&bed, &folder, &words);
    running.await_trials(3);
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(130);
    assert_eq!((knob.value().as_str(), journals(&bed)), ("1", 0));
    let id = ended.run_id().unwrap().to_owned();
    let before = bed.stored(&id);
    assert_eq!(before["run"]["status"], "interrupted");

    let resumed = bed.run(&["sweep", "--resume", "last", "--json"]);
    resumed.assert_code(0);
    resumed.assert_says(&["resumes run", &id, "trials are missing"]);
    let run = resumed.json();
    assert_eq!(
        (&run["run"]["id"], &run["run"]["status"]),
        (&id.into(), &"finished".into())
    );
    let trials = run["trials"].as_array().unwrap();
    let positions: Vec<u64> = trials
        .iter()
        .map(|t| t["position"].as_u64().unwrap())
        .collect();
    assert_eq!(positions, (0..10).collect::<Vec<_>>());
    assert!(trials.iter().all(|trial| trial["outcome"] == "completed"));
    assert_in_force(&run);
    let mut seeds: Vec<&str> = trials.iter().map(|t| t["seed"].as_str().unwrap()).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 10, "no trial repeats the I/O of another");
    // What had been finished is as it was.
    let finished = before["trials"].as_array().unwrap().iter();
    let finished = finished.filter(|trial| trial["outcome"] == "completed");
    assert!(finished.zip(trials).all(|(old, new)| old == new));
    assert_eq!(knob.value(), "1");
    assert!(test_folders(&folder).is_empty());

    let again = bed.run(&["sweep", "--resume", "last"]);
    again.assert_code(0);
    again.assert_says(&["nothing is missing"]);
}

fn assert_told_and_put_back(bed: &Bed, killed: &Ended, knob: &Knob, next: &Ended) {
    let id = killed.run_id().expect("it had begun");
    let shown = knob.path.display().to_string();
    next.assert_says(&[
        "run",
        id,
        "was cut off under a condition",
        &shown,
        "back to '1'",
    ]);
    assert_eq!((knob.value().as_str(), journals(bed)), ("1", 0));
}

#[test]
fn what_a_killed_sweep_had_set_is_put_back_by_the_next_start() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    let killed = kill_both(under_way(&bed, &folder, &knob));
    assert_ne!(knob.value(), "1", "it is left");
    assert_eq!(journals(&bed), 1);
    let next = bed.short_run(&bed.folder_named("elsewhere"));
    assert_told_and_put_back(&bed, &killed, &knob, &next);
    let then = bed.short_run(&bed.folder_named("later"));
    assert!(!then.says(&["under a condition"]), "told once");
}

#[test]
fn a_scheduler_that_a_killed_sweep_had_set_is_put_back() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let queue = PathBuf::from(format!("/sys/block/{}/queue", volume.device().name()));
    let all = || ["scheduler", "nr_requests"].map(|name| value(&queue.join(name)));
    // Neither what the kernel begins with: both must come back.
    fs::write(queue.join("nr_requests"), "33").unwrap();
    let before = all();
    let other = before[0]
        .split_whitespace()
        .find(|word| !word.starts_with('['));
    let Some(other) = other else {
        assay_testkit::skip("this kernel has only one scheduler");
        return;
    };
    let vary = format!("scheduler={other}");
    let mut running = start(&bed, volume.point(), &["--vary", &vary, "--rounds", "500"]);
    running.await_trials(2);
    kill_both(running);
    assert_ne!(all()[0], before[0], "it is left");
    bed.short_run(&bed.folder())
        .assert_says(&["scheduler", "back to"]);
    assert_eq!(all(), before);
}

#[test]
fn the_agent_of_a_killed_host_puts_back() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let running = under_way(&bed, &bed.folder(), &knob);
    let agent = running.agent();
    running.kill(false);
    until("the agent ends", || !lives(agent));
    assert_eq!((knob.value().as_str(), journals(&bed)), ("1", 0));
}

#[test]
fn another_agent_puts_back_what_a_lost_one_had_set() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let running = under_way(&bed, &bed.folder(), &knob);
    signal_to(running.agent(), Signal::KILL);
    let ended = running.end();
    ended.assert_code(5);
    assert_told_and_put_back(&bed, &ended, &knob, &ended);
}

#[test]
fn a_living_sweep_is_left_alone_and_not_gone_on_with() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let living = under_way(&bed, &bed.folder(), &knob);
    let other = bed.short_run(&bed.folder_named("elsewhere"));
    assert!(!other.says(&["under a condition"]), "{:#?}", other.err);
    let id = bed.run(&["list"]).out;
    let id = id.lines().find(|line| line.contains("running"));
    let id = id.and_then(|line| line.split_whitespace().next()).unwrap();
    assert!(
        bed.refused(&["sweep", "--resume", id])
            .contains("still under way")
    );
    assert_eq!(journals(&bed), 1);
    living.signal(Signal::INT);
    living.end().assert_code(130);
    assert_eq!(knob.value(), "1");
}

#[test]
fn commands_set_and_undo() {
    let bed = Bed::new();
    let log = bed.join("log");
    let [apply, undo] =
        ["apply", "undo"].map(|word| format!("x=echo {word} $1 >> {}", log.display()));
    let words = ["--vary", "cmd:x=a,b", "--apply", &apply, "--undo", &undo];
    let words = [&words[..], &["--rounds", "1", "--json"]].concat();
    let ended = start(&bed, &bed.folder(), &words).end();
    ended.assert_code(0);
    let log = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    for pair in lines.chunks(2) {
        let [applied, undone] = pair else {
            panic!("not undone: {log}")
        };
        assert_eq!(
            applied.strip_prefix("apply"),
            undone.strip_prefix("undo"),
            "{log}"
        );
    }
    for trial in ended.json()["trials"].as_array().unwrap() {
        assert_eq!(
            trial["in_force"][0]["value"],
            Value::Null,
            "it cannot be read back"
        );
    }
}

/// The order of its conditions is shuffled, so that a trial that fails can be the
/// first or the last.
#[test]
fn a_condition_that_cannot_be_made_fails_its_trials_only() {
    let bed = Bed::new();
    let words = ["--vary", "cmd:x=good,bad", "--undo", "x=true"];
    let apply = [
        "--apply",
        "x=test $1 = good || { echo no such luck >&2; exit 7; }",
    ];
    let words = [&words[..], &apply, &["--rounds", "1"]].concat();
    let ended = start(&bed, &bed.folder(), &words).end();
    ended.assert_code(1);
    ended.assert_says(&["under cmd:x=bad", "no such luck"]);
    let run = bed.stored("last");
    for trial in run["trials"].as_array().unwrap() {
        let good = trial["condition"] == "cmd:x=good";
        assert_eq!(trial["outcome"], if good { "completed" } else { "failed" });
    }
}

#[test]
fn a_command_that_does_not_end_fails_its_trials() {
    let bed = Bed::new();
    let words = ["--vary", "cmd:x=good,bad", "--undo", "x=true"];
    let apply = ["--apply", "x=test $1 = good || sleep 1000"];
    let limit = ["--command-limit", "300ms", "--rounds", "1"];
    let words = [&words[..], &apply, &limit].concat();
    let ended = start(&bed, &bed.folder(), &words).end();
    ended.assert_code(1);
    ended.assert_says(&["under cmd:x=bad", "did not end within 300 ms"]);
}

/// Only a machine without sensors can be told so; the waiting has tests of its own.
#[test]
fn a_temperature_window_needs_a_sensor() {
    let sensors = [
        "/sys/class/thermal/thermal_zone0",
        "/sys/class/hwmon/hwmon0",
    ];
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    let words = ["--vary", &knob.vary, "--rounds", "1", "--temperature", "3"];
    let ended = start(&bed, &folder, &words).end();
    if sensors.iter().any(|path| Path::new(path).exists()) {
        // Whatever it is at: the first trial sets it.
        assert_ne!(ended.code, Some(2), "{:#?}", ended.err);
        return;
    }
    ended.assert_code(2);
    ended.assert_says(&["no sensor reports a temperature", "--temperature"]);
    let dd = ["--", "dd", "if=/dev/zero", "of=f", "count=1"];
    let all = [&["sweep", text(&folder)][..], &words, &dd].concat();
    assert!(bed.refused(&all).contains("no sensor"));
    let line = bed.refused(
        &[
            &["sweep", text(&folder)][..],
            &words[..4],
            &["--temperature", "0"],
        ]
        .concat(),
    );
    assert!(line.contains("kelvin"), "{line}");
}

#[test]
fn a_job_file_is_swept_job_by_job() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let file = bed.join("two.fio");
    let jobs = "[reads]\nrw=randread\nsize=1m\nruntime=100ms\ntime_based\n\
                [writes]\nstonewall\nrw=write\nbs=64k\nsize=1m\nend_fsync=1\n";
    fs::write(&file, jobs).unwrap();
    let folder = bed.folder();
    let words = ["sweep", text(&folder), text(&file), "--vary", &knob.vary];
    let ended = bed.run(&[&words[..], &["--rounds", "1", "--json"]].concat());
    ended.assert_code(0);
    let run = ended.json();
    assert_in_force(&run);
    for (job, metric) in [("reads", "read_iops"), ("writes", "write_bw")] {
        let trials = crate::assay::trials(&run, job);
        assert_eq!(trials.len(), 4);
        for trial in trials {
            let metrics = trial["metrics"].as_array().unwrap();
            assert!(metrics.iter().any(|m| m["name"] == metric), "{job}");
        }
    }
    for (jobs, says) in [
        (
            "[a]\nrw=read\nsize=1m\nnumjobs=2\ngroup_reporting\n",
            "several copies",
        ),
        (
            "[a]\nrw=read\nsize=1m\n[b]\nrw=read\nsize=1m\n",
            "beside others",
        ),
        (
            "[a]\nrw=randread\nsize=1m\nrandom_distribution=zipf\n",
            "more than can be repeated in rounds",
        ),
        (
            "[a]\nrw=read\nsize=1m\nthinktime=10\n",
            "more than can be repeated in rounds",
        ),
        ("[a]\nrw=read\n", "it has no size"),
    ] {
        fs::write(&file, jobs).unwrap();
        let ended = bed.run(&words);
        ended.assert_code(2);
        ended.assert_says(&["job a", says]);
    }
}

#[test]
fn what_cannot_be_varied_is_refused_before_anything_runs() {
    let bed = Bed::new();
    let knob = Knob::new(&bed);
    let folder = bed.folder();
    let path = knob.path.display();
    let refused = |words: &[&str]| bed.refused(&[&["sweep", text(&folder)][..], words].concat());
    for (vary, says) in [
        (format!("file:{path}=much"), "offers a whole number"),
        (format!("file:{path}=all"), "name them"),
        (format!("file:{path}.not=1"), "there is"),
        ("vm.no_such=1".to_owned(), "dirty_ratio"),
        ("affinity=0-4000".to_owned(), "the processors 0"),
        ("scheduler".to_owned(), "SUBJECT=VALUE"),
        ("cmd:x=1".to_owned(), "--apply 'x=COMMAND'"),
    ] {
        let line = refused(&["--vary", &vary]);
        assert!(line.contains(says), "{vary}: {line}");
    }
    let line = refused(&[]);
    assert!(line.contains("--vary"), "{line}");
    let line = refused(&["--vary", &knob.vary, "--vary", &knob.vary]);
    assert!(line.contains("is given twice"), "{line}");
    let unused = ["--vary", &knob.vary, "--apply", "x=true"];
    let line = refused(&unused);
    assert!(line.contains("--apply x=… sets nothing"), "{line}");
    let twice = ["--vary", "cmd:x=1", "--undo", "x=a", "--undo", "x=b"];
    let line = refused(&twice);
    assert!(line.contains("--undo x=… is given twice"), "{line}");
    let line = refused(&["--vary", &knob.vary, "--margin", "3"]);
    assert!(line.contains("--trials auto"), "{line}");
    let line = refused(&["--vary", &knob.vary, "--trials", "0"]);
    assert!(line.contains("from 1 to 1000, or auto"), "{line}");
    let line = bed.refused(&["sweep", "--resume", "last", "--rounds", "4"]);
    assert!(line.contains("cannot be used together"), "{line}");
    let line = bed.refused(&["sweep", "--resume", "last"]);
    assert!(line.contains("assay:"), "{line}");
    assert!(!bed.store().exists(), "a refused sweep leaves no store");
    assert_eq!(knob.value(), "1");
}

#[test]
fn a_scheduler_that_the_kernel_does_not_offer_is_refused_with_those_it_does() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    let queue = PathBuf::from(format!("/sys/block/{}/queue", volume.device().name()));
    let point = text(volume.point());
    let line = bed.refused(&["sweep", point, "--vary", "scheduler=cfq"]);
    for scheduler in value(&queue.join("scheduler"))
        .replace(['[', ']'], "")
        .split(' ')
    {
        assert!(line.contains(scheduler), "{line}");
    }
    let line = bed.refused(&["sweep", point, "--vary", "read_ahead=4"]);
    assert!(line.contains("read_ahead_kb"), "{line}");
    // Taken only when it is tried: the kernel needs at least some requests.
    let before = value(&queue.join("nr_requests"));
    let ended = start(&bed, volume.point(), &["--vary", "nr_requests=1"]).end();
    ended.assert_code(2);
    ended.assert_says(&["nr_requests", "'1'"]);
    assert_eq!(value(&queue.join("nr_requests")), before);
    assert_eq!(bed.run(&["list"]).out.matches("nr_requests").count(), 0);
}

#[test]
fn without_root_a_line_says_so() {
    needs!(root, "setpriv", "mkfs.ext4");
    let bed = Bed::new();
    let volume = or_skip!(Volume::new("ext4", 64));
    fs::set_permissions(
        volume.point(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    let words = ["sweep", text(volume.point()), "--vary", "scheduler=all"];
    let line = Running::start(&mut bed.command_of_nobody(&words))
        .end()
        .refusal();
    assert!(
        line.contains("scheduler") && line.contains("need root"),
        "{line}"
    );
}

/// A device that is twice as fast under one condition, in trials that vary by 2 %
/// and drift by 10 %.
#[test]
fn a_known_difference_is_found() {
    needs!(root, "nbdfuse", "losetup");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let percent = scratch.join("percent");
    fs::write(&percent, "100\n").unwrap();
    let mut speed = KnownSpeed::new(percent.clone(), 100.0);
    (speed.noise, speed.drift) = (0.02, 0.01);
    let mut fake = Fake::new(1 << 20, Lie::None);
    fake.speed = Some(speed);
    let device = or_skip!(FakeDevice::over(&scratch, fake));
    let job = bed.join("job.fio");
    let reads = "[reads]\nrw=randread\ndirect=1\nsize=1m\nruntime=400ms\ntime_based\n";
    fs::write(&job, reads).unwrap();
    let vary = format!("file:{}=100,200", percent.display());
    let rest = format!("{}ms", 2 * BETWEEN_TRIALS.as_millis());
    let node = text(device.device().node());
    let words = ["sweep", node, text(&job), "--destroy-data", "--vary", &vary];
    let more = ["--rounds", "12", "--idle", &rest, "--seed", "1"];
    bed.run(&[&words[..], &more].concat()).assert_code(0);
    let compared = bed.run(&["compare", "last", "--json"]);
    compared.assert_code(0);
    let pairs = compared.json()["pairs"].clone();
    let mut pairs = pairs.as_array().unwrap().iter();
    let found = pairs.find(|pair| pair["primary"] == true).unwrap();
    assert_eq!(found["metric"], "reads: read_iops", "{found:#}");
    let number = |name: &str| found[name].as_f64().expect("a number");
    let spread = number("a_cv_pct").max(number("b_cv_pct"));
    // Other work of the machine delays I/Os of both conditions, and adds to their spread.
    let power = bed.run(&["model", "power", "--cv", &format!("{spread:.1}"), "--json"]);
    let rows = power.json()["tables"][0]["rows"].clone();
    let mut rows = rows.as_array().expect("a list").iter();
    let row = rows.find(|row| row["n"] == 10).expect("a row");
    let visible = row["difference_pct"].as_f64();
    match visible.is_some_and(|visible| number("change_pct") > 1.5 * visible) {
        true => assert_eq!(found["verdict"], "faster", "{found:#}"),
        false => assert_ne!(found["verdict"], "slower", "{found:#}"),
    }
}
