use super::{Status, Submission, Suite, kcidb_document, write_junit, write_lava, write_tap};
use crate::results::comparison::Compared;
use crate::testing::comparison_fixture::{Sides, repeated, swept};
use crate::testing::{fixture, samples};
use assay_model::run::Run;
use assay_stats::verdict::compare::compare_figures;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;
use std::io::{self, Write};

type Writer = fn(&Suite, &mut dyn Write) -> io::Result<()>;

fn written(suite: &Suite, write: Writer) -> String {
    let mut out = Vec::new();
    write(suite, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn status_of(suite: &Suite, case: &str) -> Status {
    let found = suite.cases.iter().find(|found| found.name() == case);
    found
        .unwrap_or_else(|| panic!("{case}: {:?}", suite.cases))
        .status
}

#[test]
fn only_what_was_found_good_passes() {
    let sides = Sides::new();
    let suite = Suite::of_comparison(&sides.compared());
    for (case, status) in [
        ("seq-read-1m: read_bw", Status::Fail),
        ("rand-rw-4k: read_iops", Status::Pass),
        ("dd-fdatasync: write_bw", Status::Pass),
        ("dd-direct: write_bw", Status::Skip),
    ] {
        assert_eq!(status_of(&suite, case), status, "{case}");
    }
    assert!(
        suite
            .cases
            .iter()
            .all(|case| case.name() != "seq-read-1m: read_iops")
    );
}

#[test]
fn a_replacement_passes_unless_it_is_worse() {
    let sides = Sides::new();
    let mut compared = sides.compared();
    compared.qualify = true;
    let suite = Suite::of_comparison(&compared);
    assert_eq!(status_of(&suite, "seq-read-1m: read_bw"), Status::Fail);
    assert_eq!(status_of(&suite, "dd-direct: write_bw"), Status::Skip);
    let synced = suite
        .cases
        .iter()
        .find(|case| case.job == "dd-fdatasync")
        .unwrap();
    assert_eq!((synced.status, synced.word), (Status::Pass, "pass"));
}

/// On both sides it is no case; on one of them it is skipped, not forgotten.
#[test]
fn what_measured_the_page_cache_closes_no_gate() {
    let slower = |job: &str| if job == "dd-plain" { 2.0 } else { 1.0 };
    let sides = Sides::of(repeated(2, |_| 1.0), repeated(2, slower));
    let suite = Suite::of_comparison(&sides.compared());
    assert_eq!(suite.count(Status::Fail), 0, "{:?}", suite.cases);
    assert!(suite.cases.iter().all(|case| case.job != "dd-plain"));

    let sides = Sides::new();
    let mut b_figures = sides.b_figures.clone();
    let figures = b_figures.iter_mut();
    for figure in figures.filter(|figure| figure.metric == "seq-read-1m: read_bw") {
        figure.measured = Some("page-cache".to_owned());
    }
    let comparison = compare_figures(&sides.a_figures, &b_figures, &sides.options);
    let compared = Compared {
        comparison: &comparison,
        ..sides.compared()
    };
    let suite = Suite::of_comparison(&compared);
    assert_eq!(status_of(&suite, "seq-read-1m: read_bw"), Status::Skip);
}

#[test]
fn what_one_side_lacks_is_skipped_and_an_empty_comparison_does_not_pass() {
    let without = |job: &str| {
        let mut run = repeated(2, |_| 1.0);
        run.trials.retain(|trial| trial.job.name != job);
        run
    };
    let sides = Sides::of(repeated(2, |_| 1.0), without("dd-plain"));
    let suite = Suite::of_comparison(&sides.compared());
    let missing = suite
        .cases
        .iter()
        .find(|case| case.job == "dd-plain")
        .unwrap();
    assert_eq!(missing.status, Status::Skip);
    assert!(
        missing.reason.contains("missing on B"),
        "{}",
        missing.reason
    );
    let nothing = Sides::of(samples::empty(), samples::empty());
    let mut compared = nothing.compared();
    assert_eq!(Suite::of_comparison(&compared).count(Status::Error), 1);
    compared.allow_unjudged = true;
    let suite = Suite::of_comparison(&compared);
    assert_eq!(suite.count(Status::Skip), suite.cases.len());
    assert!(!suite.cases.is_empty());
}

#[test]
fn a_run_is_measured_and_not_judged() {
    let suite = Suite::of_run(&fixture::run());
    assert_eq!(suite.count(Status::Pass) + suite.count(Status::Fail), 0);
    assert_eq!(status_of(&suite, "seq-read-1m: read_bw"), Status::Done);
    assert_eq!(status_of(&suite, "dd-fdatasync"), Status::Error);
    assert_eq!(status_of(&suite, "rand-read-4k-qd8"), Status::Skip);
    let stopped = Suite::of_run(&samples::empty());
    assert_eq!(stopped.count(Status::Error), stopped.cases.len());
    assert_eq!(Suite::of_run(&samples::void()).count(Status::Error), 1);
}

#[test]
fn tap_has_a_block_for_each_case() {
    let sides = Sides::new();
    let mut suite = Suite::of_comparison(&sides.compared());
    suite
        .cases
        .retain(|case| ["seq-read-1m", "dd-direct"].contains(&&*case.job));
    let text = written(&suite, write_tap);
    // Last digits are the mathematics library's.
    let is_figure = |line: &&str| {
        ["_pct:", "_value:", "value:", "p_adjusted:"]
            .iter()
            .any(|f| line.contains(f))
    };
    let (figures, others): (Vec<&str>, Vec<&str>) = text.lines().partition(is_figure);
    assert_eq!(figures.len(), 2 * 10, "{figures:?}");
    insta::assert_snapshot!(others.join("\n"));
}

#[test]
fn signals_of_lava_keep_to_their_form() {
    let suite = Suite::of_run(&fixture::run());
    let text = written(&suite, write_lava);
    let signals: Vec<&str> = text.lines().filter(|line| line.starts_with('<')).collect();
    assert_eq!(signals.len(), suite.cases.len());
    for signal in &signals {
        let inside = signal.strip_prefix("<LAVA_SIGNAL_TESTCASE ").unwrap();
        let fields: Vec<&str> = inside.strip_suffix('>').unwrap().split(' ').collect();
        let names: Vec<&str> = fields
            .iter()
            .map(|f| f.split_once('=').unwrap().0)
            .collect();
        assert!(
            ["TEST_CASE_ID", "RESULT", "UNITS", "MEASUREMENT"].starts_with(&names),
            "{signal}"
        );
    }
    assert!(text.contains("ID=dd-plain.write_bw RESULT=pass UNITS=B/s MEASUREMENT="));
    assert!(text.contains("TEST_CASE_ID=dd-fdatasync RESULT=fail>"));
}

fn ids(run: &Run) -> Vec<String> {
    let mut ids = super::ids(&Suite::of_run(run));
    ids.sort();
    ids
}

#[test]
fn names_have_neither_labels_nor_numbers_of_trials() {
    let run = repeated(2, |_| 1.0);
    let mut other = repeated(3, |_| 1.0);
    for trial in other.trials.iter_mut().skip(1).step_by(2) {
        // Nothing is known of what it measured.
        trial.evidence = None;
    }
    assert_eq!(ids(&run), ids(&other));
}

#[test]
fn each_condition_of_a_sweep_has_its_case() {
    let run = swept();
    let (first, all) = (&run.header.plan.conditions[0].name, ids(&run));
    let mut reversed = run.clone();
    reversed.trials.reverse();
    assert_eq!(ids(&reversed), all);
    let suite = Suite::of_run(&run);
    assert!(suite.cases.iter().all(|case| !case.condition.is_empty()));
    assert!(suite.cases[0].name().contains(&format!(" under {first}")));
}

/// Every element and attribute that is written, and each text.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut reader = Reader::from_str(xml);
    let mut found = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => return found,
            Event::Start(element) | Event::Empty(element) => {
                let attributes = element.attributes().map(|attribute| {
                    let attribute = attribute.unwrap();
                    (
                        attribute.key.as_ref().to_owned(),
                        attribute.value.into_owned(),
                    )
                });
                found.push((element.name().as_ref().to_owned(), attributes.collect()));
            }
            _ => {}
        }
    }
}

#[test]
fn junit_counts_what_it_has() {
    let sides = Sides::new();
    let xml = written(&Suite::of_comparison(&sides.compared()), write_junit);
    let elements = elements(&xml);
    let count = |name: &str| {
        elements
            .iter()
            .filter(|(of, _)| of == name)
            .count()
            .to_string()
    };
    let (_, suite) = elements
        .iter()
        .find(|(name, _)| name == "testsuite")
        .unwrap();
    let told = |name: &str| suite.iter().find(|(of, _)| of == name).unwrap().1.clone();
    assert_eq!(told("tests"), count("testcase"));
    assert_eq!(told("failures"), count("failure"));
    assert_eq!(told("skipped"), count("skipped"));
    assert_eq!(
        (told("errors").as_str(), count("error").as_str()),
        ("0", "0")
    );
    assert_eq!(count("failure"), "1");
}

#[test]
fn kcidb_has_figures_in_units_without_prefix() {
    let suite = Suite::of_run(&fixture::run());
    let submission = Submission {
        origin: "my_lab",
        build: Some("my_lab:6.6"),
    };
    let document = kcidb_document(&suite, &submission);
    assert_eq!(document["checkouts"], Value::Null, "the build is known");
    let tests = document["tests"].as_array().unwrap();
    let test = |path: &str| tests.iter().find(|test| test["path"] == path).unwrap();
    let read = test("assay.seq-read-1m.read_bw");
    assert_eq!(
        (&read["status"], &read["build_id"]),
        (&"DONE".into(), &"my_lab:6.6".into())
    );
    assert_eq!(read["number"]["unit"], "B/s");
    let flush = &test("assay.fsync-append-4k.flush_lat_p50")["number"];
    assert_eq!(flush["unit"], "s");
    assert!(
        flush["value"].as_f64().is_some_and(|value| value < 1.0),
        "{flush}"
    );
    assert!(test("assay.rand-read-4k-qd8")["number"].is_null());
}

/// What a hostile name may not do to any of the formats.
#[test]
fn hostile_names_stay_text() {
    let run: Run = samples::hostile();
    let sides = Sides::of(run.clone(), run.clone());
    let mut compared = sides.compared();
    compared.a = samples::HOSTILE;
    for suite in [Suite::of_run(&run), Suite::of_comparison(&compared)] {
        for write in [write_junit as Writer, write_tap, write_lava] {
            let text = written(&suite, write);
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        }
        for write in [write_junit as Writer, write_lava] {
            assert!(!written(&suite, write).contains("<script"));
        }
        let tap = written(&suite, write_tap);
        let results = tap
            .lines()
            .filter(|line| line.contains("ok ") && !line.starts_with(' '));
        let results = results.filter(|line| line.starts_with("ok") || line.starts_with("not"));
        assert_eq!(results.count(), suite.cases.len(), "{tap}");
        elements(&written(&suite, write_junit));
    }
}

#[test]
fn what_one_side_did_not_record_is_not_taken_from_the_other() {
    let mut sides = Sides::new();
    let figure = sides
        .b_figures
        .iter_mut()
        .find(|figure| figure.metric == "seq-read-1m: read_bw");
    figure.unwrap().measured = None;
    let measured = sides
        .compared()
        .in_letters()
        .measured("seq-read-1m: read_bw");
    assert_eq!(measured.as_deref(), Some("A device, B not known"));
}

#[test]
fn sides_are_known_by_runs_and_by_names_of_files() {
    let sides = Sides::new();
    let mut compared = sides.compared();
    compared.a_sources[0].name = "last@file:/sys/x=1";
    compared.b_sources[0].run = None;
    compared.b_sources[0].name = "/data/old/table.csv@after";
    let known = ["k3v9d2ma@file:/sys/x=1", "table.csv@after"];
    assert_eq!(compared.known_by(), known);
}

#[test]
fn segments_have_only_what_farms_take() {
    assert_eq!(
        super::path(&["rand-read-4k", "read_iops"]),
        "rand-read-4k.read_iops"
    );
    assert_eq!(super::path(&["seq read 10M", ""]), "seq-read-10M");
    assert_eq!(
        super::path(&["under scheduler=bfq", "µs"]),
        "under-scheduler-bfq.s"
    );
    assert_eq!(super::path(&["µ"]), "unnamed");
}
