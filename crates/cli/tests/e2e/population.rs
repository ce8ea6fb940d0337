//! Shared runs: what leaves, and where a run stands among them.

use crate::assay::{Bed, text};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A device with a model and a bus, and without noise: each run has the same figures.
const EMMC: &str = "sim:emmc-8gb-hs400";
const ONE_JOB: [&str; 5] = ["--quick", "--only", "seq-read-1m", "--trials", "2"];

fn measured() -> Bed {
    let bed = Bed::new();
    bed.run(&[&["qualify", EMMC][..], &ONE_JOB].concat())
        .assert_code(0);
    bed
}

/// A command with a data folder of its own.
fn with_data(bed: &Bed, words: &[&str]) -> Command {
    let mut command = bed.command(words);
    command.env("XDG_DATA_HOME", bed.join("data"));
    command
}

fn run(bed: &Bed, words: &[&str]) -> crate::assay::Ended {
    crate::assay::Running::start(&mut with_data(bed, words)).end()
}

fn shared(bed: &Bed) -> (PathBuf, Value) {
    let folder = bed.join("devices");
    run(bed, &["store", "share", "last", "--to", text(&folder)]).assert_code(0);
    let mut files = fs::read_dir(&folder).expect("a folder");
    let file = files.next().expect("a file").expect("an entry").path();
    assert!(files.next().is_none(), "one run, one file");
    let value = serde_json::from_slice(&fs::read(file).expect("it")).expect("JSON");
    (folder, value)
}

/// As many other units, each a percent faster than the one before; the run itself is in the middle.
fn add_units(folder: &Path, of: &Value, units: u32) {
    for unit in 0..units {
        let mut other = of.clone();
        other["unit"] = json!(format!("unit{unit}"));
        other["run"] = json!(format!("run{unit}"));
        for figure in other["figures"].as_array_mut().expect("figures") {
            let own = figure["value"].as_f64().expect("a number");
            let share = 1.0 + 0.01 * (f64::from(unit) + 0.5 - f64::from(units) / 2.0);
            figure["value"] = json!(own * share);
        }
        let file = folder.join(format!("other-{unit}.json"));
        fs::write(file, other.to_string()).expect("a file");
    }
}

#[test]
fn a_dry_run_prints_the_bytes_that_would_leave_and_nothing_else() {
    let bed = measured();
    let dry = run(&bed, &["store", "share", "last", "--dry-run"]);
    dry.assert_code(0);
    assert!(!bed.join("devices").exists());
    let (folder, value) = shared(&bed);
    let file = fs::read_dir(folder)
        .expect("it")
        .next()
        .expect("one")
        .expect("it");
    assert_eq!(dry.out, fs::read_to_string(file.path()).expect("text"));
    let stored = bed.stored("last");
    for secret in [
        stored["run"]["id"].as_str(),
        stored["run"]["path"].as_str(),
        stored["system"]["hostname"].as_str(),
    ] {
        let secret = secret.expect("a text");
        assert!(!dry.out.contains(secret), "{secret}: {}", dry.out);
    }
    let fields: Vec<&String> = value.as_object().expect("an object").keys().collect();
    let expected = [
        "assay_shared",
        "bus",
        "figures",
        "kernel",
        "model",
        "run",
        "unit",
    ];
    assert_eq!(fields, expected);
    let secret = bed.join("data/assay/share.key");
    let mode = fs::metadata(secret).expect("the key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let bed = measured();
    run(&bed, &["store", "share", "last", "--dry-run"]).assert_code(0);
    let key = bed.join("data/assay/share.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let line = run(&bed, &["store", "share", "last", "--dry-run"]).refusal();
    assert!(
        line.contains("share.key") && line.contains("chmod 600"),
        "{line}"
    );
}

#[test]
fn a_run_stands_among_other_units_in_text_page_and_json() {
    let bed = measured();
    let (folder, own) = shared(&bed);
    let folder_name = text(&folder);
    add_units(&folder, &own, 4);
    let few = run(&bed, &["report", "last", "--population", folder_name]);
    assert!(few.out.contains("4 other units"), "{}", few.out);
    assert!(!few.out.contains("P50"), "{}", few.out);
    // Neither git's files nor damaged ones count.
    fs::create_dir(folder.join(".git")).expect("a folder");
    fs::write(folder.join(".git/x.json"), "{").expect("a file");
    fs::write(folder.join("broken.json"), "{").expect("a file");
    add_units(&folder, &own, 20);
    let shown = run(&bed, &["report", "last", "--population", folder_name]);
    shown.assert_code(0);
    shown.assert_says(&["1 of 22 files", "broken.json"]);
    assert!(
        shown.out.contains("P50 (30 to 70), of 20 units"),
        "{}",
        shown.out
    );
    let json = run(
        &bed,
        &["report", "last", "--json", "--population", folder_name],
    )
    .json();
    let placed = &json["population"]["figures"][0];
    assert_eq!(placed["units"], 20, "{placed}");
    assert_eq!(placed["percentile"], 50.0, "{placed}");
    let page = bed.join("page.html");
    let report = [
        "report",
        "last",
        "-o",
        text(&page),
        "--population",
        folder_name,
    ];
    run(&bed, &report).assert_code(0);
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("of 20 units"), "the page has it");
    let configured = with_data(&bed, &["report", "last"])
        .env("ASSAY_POPULATION", &folder)
        .output()
        .expect("it runs");
    let out = String::from_utf8_lossy(&configured.stdout).into_owned();
    assert!(out.contains("of 20 units"), "{out}");
}

#[test]
fn the_store_is_a_population_too_and_one_unit_is_none() {
    let bed = measured();
    bed.run(&[&["qualify", EMMC][..], &ONE_JOB].concat())
        .assert_code(0);
    let shown = bed.run(&["report", "last", "--population", "store"]);
    shown.assert_code(0);
    assert!(shown.out.contains("0 other units"), "{}", shown.out);
}

#[test]
fn a_report_that_shows_no_population_does_without_its_folder() {
    let bed = measured();
    let missing = bed.join("missing");
    let report = |file: &str| {
        let file = bed.join(file);
        let words = ["report", "last", "-o", text(&file), "--population"];
        run(&bed, &[&words[..], &[text(&missing)]].concat())
    };
    report("run.csv").assert_code(0);
    report("run.xml").assert_code(0);
    let refused = report("run.html").err.concat();
    assert!(refused.contains("missing"), "{refused}");
}
