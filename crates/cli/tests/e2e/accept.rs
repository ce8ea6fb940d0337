//! `assay accept`: two parts measured in turn, and one answer.

use crate::assay::{Bed, Ended, Running, test_folders, text};
use assay_testkit::{Fake, FakeDevice, KnownSpeed, Lie, Scratch, Volume, needs, or_skip};
use rustix::process::Signal;
use std::fs;

const MIB: u64 = 1 << 20;

/// The answer: the last paragraph, on one line.
fn answer(ended: &Ended) -> String {
    let words = |start: &str| ended.out.rfind(start).map(|at| &ended.out[at..]);
    let all = ["  Yes: ", "  No: ", "  Open: "]
        .into_iter()
        .filter_map(words);
    let last = all.min_by_key(|text| text.len()).expect("an answer");
    last.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plan(bed: &Bed, text: &str) -> String {
    let file = bed.join("plan.toml");
    fs::write(&file, text).expect("room");
    file.display().to_string()
}

/// A device that completes so many reads a second, in trials that vary by 1 %.
fn of_speed(scratch: &Scratch, iops: f64) -> Fake {
    let percent = scratch.join("percent");
    fs::write(&percent, "100\n").expect("room");
    let mut speed = KnownSpeed::new(percent, iops);
    speed.noise = 0.01;
    let mut fake = Fake::new(MIB, Lie::None);
    fake.speed = Some(speed);
    fake
}

#[test]
fn devices_of_known_speed_pass_or_fail() {
    needs!(root, "nbdfuse", "losetup");
    let scratches: Vec<Scratch> = (0..3).map_while(|_| Scratch::new().ok()).collect();
    let [a, alike, half] = &scratches[..] else {
        return assay_testkit::skip("no folder for a device");
    };
    let a = or_skip!(FakeDevice::over(a, of_speed(a, 200.0)));
    let alike = or_skip!(FakeDevice::over(alike, of_speed(alike, 200.0)));
    let half = or_skip!(FakeDevice::over(half, of_speed(half, 100.0)));
    let bed = Bed::new();
    let job = bed.join("reads.fio");
    let reads = "[reads]\nrw=randread\ndirect=1\nsize=1m\nruntime=400ms\ntime_based\n";
    fs::write(&job, reads).unwrap();
    let plan = plan(&bed, &format!("job-file = \"{}\"\n", job.display()));
    let accept = |b: &FakeDevice| {
        let nodes = [&a, b].map(|device| text(device.device().node()).to_owned());
        let words = [
            "accept",
            &nodes[0],
            &nodes[1],
            "--destroy-data",
            "--plan",
            &plan,
        ];
        bed.run(&[&words[..], &["--margin", "30"]].concat())
    };
    let passed = accept(&alike);
    let said = answer(&passed);
    assert!(
        said.starts_with("Yes: B may replace A: all 1 pass"),
        "{passed:#?}"
    );
    passed.assert_code(0);
    assert!(said.contains("limit -30 %"), "{said}");
    let failed = accept(&half);
    let said = answer(&failed);
    assert!(said.starts_with("No: B fails reads (-"), "{failed:#?}");
    assert!(said.ends_with("limit -30 %); 0 of 1 pass"), "{said}");
    failed.assert_code(3);
    // From the stored runs, with a limit of the metric's own.
    let limits = bed.join("limits.toml");
    fs::write(&limits, "require = [\"reads read_iops within 80 %\"]\n").unwrap();
    let runs = bed.run(&["list", "--json"]).json()["runs"].clone();
    let id = |side: &str| {
        let all = runs.as_array().unwrap().iter().take(2);
        let stored = all.map(|run| {
            run["run"]
                .as_str()
                .or(run["id"].as_str())
                .unwrap()
                .to_owned()
        });
        let mut of_side = stored.filter(|id| bed.stored(id)["run"]["paired"]["side"] == side);
        of_side.next().expect(side)
    };
    let (a, b) = (id("A"), id("B"));
    let words = ["accept", "--a", &a, "--b", &b];
    bed.run(&words).assert_code(3);
    let lenient = bed.run(&[&words[..], &["--limits", text(&limits)]].concat());
    lenient.assert_code(0);
    assert!(answer(&lenient).contains("limit -80 %"), "{lenient:#?}");
    // A margin that fits nothing leaves the answer open, and so does a trial that failed.
    fs::write(&limits, "require = [\"rads within 80 %\"]\n").unwrap();
    let unused = bed.run(&[&words[..], &["--margin", "80", "--limits", text(&limits)]].concat());
    unused.assert_code(2);
    assert!(
        answer(&unused).starts_with("Open: 1 of 2 pass, 1 open (rads within 80 %)"),
        "{unused:#?}"
    );
    bed.run(&[&words[..], &["--limits", "a1"]].concat())
        .assert_code(2);
    fs::write(&limits, "require = [\"reads read_iops > 1000\"]\n").unwrap();
    let strict = bed.run(&[&words[..], &["--margin", "80", "--limits", text(&limits)]].concat());
    strict.assert_code(3);
    assert!(
        answer(&strict).starts_with("No: B fails reads read_iops > 1000"),
        "{strict:#?}"
    );
    let json = bed.run(&[&words[..], &["--json"]].concat());
    json.assert_code(3);
    assert_eq!(json.json()["replaces"], "fail");
    let junit = bed.run(&[&words[..], &["--format", "junit"]].concat());
    assert!(junit.out.contains("<failure"), "{}", junit.out);
    let html = bed.join("accept.html");
    bed.run(&[&words[..], &["-o", text(&html)]].concat())
        .assert_code(3);
    let page = fs::read_to_string(html).unwrap();
    for words in [
        "Record of the decision",
        "Date and signature",
        "No: B fails reads",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_session_of_several_commands_is_resumed_after_a_kill() {
    needs!(root, "mkfs.ext4");
    let a = or_skip!(Volume::new("ext4", 256));
    let b = or_skip!(Volume::new("ext4", 256));
    let bed = Bed::new();
    let plan = plan(
        &bed,
        "jobs = [\"rand-read-4k\", \"append-4k-fsync\"]\n\
         commands = [\"dd --ladder of=copied bs=64k count=16\", \"scenario log-writer --scale 0.01\"]\n\
         probe = true\n",
    );
    let words = ["accept", text(a.point()), text(b.point()), "--plan", &plan];
    let more = ["--quick", "--size", "16M", "--trials", "4"];
    let mut running = Running::start(&mut bed.command(&[&words[..], &more].concat()));
    // In the third turn, between the two steps of the scenario.
    running.await_trials(25);
    running.kill(true);
    let refused = bed.run(&["resume", "last"]);
    refused.assert_code(2);
    refused.assert_says(&["use assay accept --resume"]);
    let refused = bed.refused(&["accept", "--resume", "last", "--trials", "4"]);
    assert!(refused.contains("--trials may only be auto"), "{refused}");
    let ended = bed.run(&["accept", "--resume", "last"]);
    assert!(matches!(ended.code, Some(0 | 2 | 3)), "{ended:#?}");
    assert!(
        !answer(&ended).contains("--resume"),
        "there are no more trials to make"
    );
    let runs = bed.run(&["list", "--json"]).json()["runs"].clone();
    let runs = runs.as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        let id = run["id"].as_str().unwrap();
        let stored = bed.stored(id);
        assert_eq!(stored["run"]["status"], "finished", "{id}");
        let trials = stored["trials"].as_array().unwrap();
        let mut all: Vec<(String, u64)> = trials
            .iter()
            .map(|trial| {
                let name = trial["job"]["name"].as_str().unwrap().to_owned();
                (name, trial["trial"].as_u64().unwrap())
            })
            .collect();
        // A probe; then 2 jobs, 4 ways of dd and 2 acts of the scenario, in 5 rounds.
        assert_eq!(all.len(), 1 + 5 * 8, "{all:?}");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 1 + 5 * 8, "a trial is there twice");
        let mut positions = trials.iter().zip(0..);
        assert!(positions.all(|(trial, at)| trial["position"] == at));
        let places = stored["run"]["paired"]["places"].as_array().unwrap();
        assert_eq!(places.len(), 41);
    }
    let again = bed.run(&["accept", "--resume", "last"]);
    again.assert_says(&["nothing is missing"]);
    assert_eq!(again.code, ended.code, "the answer stays");
    {}
    for volume in [&a, &b] {
        assert!(test_folders(volume.point()).is_empty());
        assert!(!volume.point().join("copied").exists());
    }
}

#[test]
fn a_fake_replacement_is_refused_before_it_is_measured() {
    needs!(root, "nbdfuse", "losetup");
    let (one, other) = (or_skip!(Scratch::new()), or_skip!(Scratch::new()));
    let genuine = or_skip!(FakeDevice::over(&one, Fake::new(64 * MIB, Lie::None)));
    let lie = Lie::Wraparound(32 * MIB);
    let fake = or_skip!(FakeDevice::over(&other, Fake::new(64 * MIB, lie)));
    let bed = Bed::new();
    let plan = plan(&bed, "jobs = [\"rand-read-4k\"]\nprobe = true\n");
    let nodes = [&genuine, &fake].map(|device| text(device.device().node()).to_owned());
    let words = [
        "accept",
        &nodes[0],
        &nodes[1],
        "--destroy-data",
        "--plan",
        &plan,
    ];
    let ended = bed.run(&[&words[..], &["--quick", "--size", "16M"]].concat());
    ended.assert_code(3);
    assert!(
        answer(&ended).starts_with("No: B does not keep its data"),
        "{ended:#?}"
    );
}

#[test]
fn simulated_parts_are_accepted_or_not() {
    let bed = Bed::new();
    let plan = plan(&bed, "jobs = [\"seq-read-1m\", \"rand-read-4k\"]\n");
    let accept = |b: &str| {
        bed.run(&[
            "accept",
            "sim:emmc-8gb-hs400",
            b,
            "--plan",
            &plan,
            "--quick",
        ])
    };
    let alike = accept("sim:emmc-8gb-hs400");
    alike.assert_code(0);
    assert!(
        answer(&alike).starts_with("Yes: B may replace A: all 2 pass"),
        "{alike:#?}"
    );
    let other = accept("sim:rtsx-sd-pro-plus-128");
    other.assert_code(3);
    assert!(
        answer(&other).starts_with("No: rtsx-sd…us-128 fails "),
        "{other:#?}"
    );
    assert!(other.out.lines().count() <= 20, "{}", other.out);
}

#[test]
fn what_cannot_be_accepted_is_refused() {
    let bed = Bed::new();
    let folder = bed.folder();
    let folder = text(&folder);
    let line = bed.refused(&["accept", folder, folder, "--plan", "no-such-plan.toml"]);
    assert!(line.contains("no-such-plan.toml"), "{line}");
    for (text_of_plan, why) in [
        ("probe = true\n", "it has no jobs and no commands"),
        ("jobs = [\"a\"]\nworks = 1\n", "works"),
        ("commands = [\"soak\"]\n", "soak"),
        ("commands = [\"androbench\", \"androbench\"]\n", "seq-read"),
    ] {
        let plan = plan(&bed, text_of_plan);
        let line = bed.refused(&["accept", folder, folder, "--plan", &plan]);
        assert!(line.contains(why), "{why}: {line}");
    }
    let line = bed.refused(&["compare", "a", "b", "--qualify"]);
    assert!(line.contains("--qualify is called --replace"), "{line}");
    let line = bed.refused(&["accept", folder]);
    assert!(
        line.contains("2 values") || line.contains("<B>") || line.contains("B"),
        "{line}"
    );
}

#[test]
fn a_session_pauses_at_a_check_and_continues_by_its_own_limits() {
    let bed = Bed::new();
    let plan = plan(&bed, "jobs = [\"rand-read-4k\"]\n");
    let limits = bed.join("limits.toml");
    fs::write(&limits, "require = [\"rand-* within 0.1 %\"]\n").unwrap();
    let part = "sim:emmc-8gb-hs400,noise=20";
    let words = [
        "accept",
        part,
        part,
        "--plan",
        &plan,
        "--quick",
        "--limits",
        text(&limits),
    ];
    let paused = bed.run(&words);
    let said = answer(&paused);
    if paused.code == Some(3) {
        return assay_testkit::skip("noise made a difference");
    }
    paused.assert_code(2);
    assert!(
        said.contains("4 more trials of each side: assay accept --resume"),
        "{said}"
    );
    let counted = |run: &str| {
        let stored = bed.stored(run);
        stored["trials"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|trial| trial["trial"] != 0)
            .count()
    };
    assert_eq!(counted("last"), 6);
    assert_eq!(bed.stored("last")["run"]["status"], "interrupted");
    let resumed = bed.run(&["accept", "--resume", "last"]);
    assert_eq!(counted("last"), 10);
    assert!(matches!(resumed.code, Some(2 | 3)), "{resumed:#?}");
    assert!(
        answer(&resumed).contains("0.1 %") || answer(&resumed).contains("10 more trials"),
        "{resumed:#?}"
    );
    let refused = bed.refused(&["accept", "--resume", "last", "--margin", "50"]);
    assert!(refused.contains("cannot be used together"), "{refused}");
}

#[test]
fn a_stopped_session_has_no_answer_and_is_continued() {
    let bed = Bed::new();
    let (a, b) = (bed.folder_named("a"), bed.folder_named("b"));
    let plan = plan(&bed, "jobs = [\"append-4k-fsync\"]\nprobe = false\n");
    let words = [
        "accept",
        text(&a),
        text(&b),
        "--plan",
        &plan,
        "--quick",
        "--size",
        "1M",
        "--trials",
        "4",
    ];
    let mut running = Running::start(&mut bed.command(&words));
    running.await_trials(5);
    running.signal(Signal::INT);
    let stopped = running.end();
    stopped.assert_code(130);
    stopped.assert_says(&["Open: stopped after", "continues"]);
    assert_eq!(bed.stored("last")["run"]["status"], "interrupted");
    let ended = bed.run(&["accept", "--resume", "last"]);
    assert!(matches!(ended.code, Some(0 | 2 | 3)), "{ended:#?}");
    assert_eq!(bed.stored("last")["trials"].as_array().unwrap().len(), 5);
}
