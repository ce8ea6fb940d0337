use super::*;
use crate::testing::{fixture, samples};
use assay_model::condition::{Condition, InForce, Setting, Subject};
use assay_model::evidence::{Glance, LatencyRecord};
use assay_model::job::{FlushCall, RateLimit};
use assay_model::run::{Claims, Datasheet, Looks, Paired, Stopping};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_stats::derive::label_of;
use std::collections::BTreeSet;

const DOCS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"));

fn trial_of(run: &Run, job: &str, trial: u32) -> Value {
    let is_it = |t: &&TrialRecord| t.job.name == job && t.trial == trial;
    let record = run.trials.iter().find(is_it).unwrap();
    serde_json::to_value(TrialPart::of(
        record,
        &Derived::of(record),
        Without::Nothing,
    ))
    .unwrap()
}

fn text_of(run: &Run) -> String {
    let mut out = Vec::new();
    write(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The golden form of every part; of the trials, one that ran and one that
/// did not.
#[test]
fn the_document_of_two_trials() {
    let mut run = fixture::run();
    run.trials.retain(|t| {
        t.trial == 1 && ["fsync-append-4k", "rand-read-4k-qd8"].contains(&t.job.name.as_str())
    });
    insta::assert_snapshot!("document", text_of(&run));
}

#[test]
fn a_run_without_trials_is_a_whole_document() {
    let mut run = fixture::run();
    run.trials.clear();
    assert!(text_of(&run).ends_with("  \"trials\": []\n}\n"));
}

#[test]
fn a_skipped_trial_has_reasons_and_no_figures() {
    let trial = trial_of(&fixture::run(), "rand-read-4k-qd8", 2);
    assert_eq!(trial["outcome"], "skipped");
    assert_eq!(trial["reasons"].as_array().unwrap().len(), 1);
    assert_eq!(trial["metrics"].as_array().unwrap().len(), 0);
    for absent in ["latency", "series", "evidence", "totals", "elapsed_ns"] {
        assert!(trial[absent].is_null(), "{absent}");
    }
}

#[test]
fn a_failed_trial_tells_error_and_place() {
    let trial = trial_of(&fixture::run(), "dd-fdatasync", 3);
    assert_eq!(trial["outcome"], "failed");
    assert!(trial["error"].as_str().unwrap().contains("17825792"));
    assert_eq!(trial["error_count"], 1);
    assert_eq!(trial["errors"][0]["errno"], 5);
    assert_eq!(trial["errors"][0]["offset"], 17_825_792);
}

#[test]
fn empty_intervals_of_a_stall_are_kept() {
    let trial = trial_of(&fixture::run(), "dd-direct", 2);
    let series = trial["series"].as_array().unwrap();
    let empty = series.iter().filter(|point| point["write_bytes"] == 0);
    assert!(empty.count() >= 11, "a stall of 1.2 s, intervals of 0.1 s");
    assert_eq!(series[3]["start_ms"], 300);
    assert!(trial["longest_gap"]["length_ns"].as_u64().unwrap() > 1_200_000_000);
}

#[test]
fn each_direction_has_its_own_label() {
    let run = fixture::run();
    let label = |job, direction: &str| {
        trial_of(&run, job, 1)["evidence"][direction]["label"]
            .as_str()
            .map(str::to_owned)
    };
    let is = |label: &str| Some(label.to_owned());
    assert_eq!(label("dd-plain", "write"), is("page-cache"));
    assert_eq!(label("dd-plain", "read"), None);
    assert_eq!(label("dd-fdatasync", "write"), is("device"));
    assert_eq!(label("dd-direct", "write"), is("device-unflushed"));
    assert_eq!(label("seq-read-1m", "read"), is("device"));
    assert_eq!(label("rand-read-4k", "read"), is("mixed"));
    assert_eq!(label("rand-rw-4k", "read"), is("device"));
    assert_eq!(label("rand-rw-4k", "write"), is("device-unflushed"));
    assert_eq!(label("fsync-append-4k", "write"), is("unknown"));
}

#[test]
fn each_metric_has_the_label_of_its_direction() {
    let trial = trial_of(&fixture::run(), "rand-rw-4k", 1);
    let metrics = trial["metrics"].as_array().unwrap();
    let label = |name: &str| {
        let metric = metrics.iter().find(|metric| metric["name"] == name);
        metric.unwrap()["label"].as_str().unwrap().to_owned()
    };
    assert_eq!(label("read_iops"), "device");
    assert_eq!(label("write_lat_mean"), "device-unflushed");
    assert_eq!(label("longest_gap"), "device+device-unflushed");
    assert_eq!(label_of("read_bw", None), "unknown");
}

#[test]
fn a_damaged_latency_record_gives_no_figures() {
    let mut run = fixture::run();
    let damage = |trial: &mut TrialRecord| {
        if let Some(measured) = &mut trial.measured {
            measured.write.latency.count += 1;
        }
    };
    run.trials.iter_mut().for_each(damage);
    let trial = trial_of(&run, "dd-plain", 1);
    let latency = trial["latency"]["write"].as_object().unwrap();
    assert!(latency["damaged"].as_str().unwrap().contains("counts 33"));
    assert_eq!(latency.len(), 1);
}

#[test]
fn absent_counters_are_null_and_backward_ones_too() {
    let mut run = fixture::run();
    for trial in &mut run.trials {
        if let Some(evidence) = &mut trial.evidence {
            evidence.other_processes = None;
            evidence.after.context_switches = Some(0);
            evidence.after.pressure = None;
        }
    }
    let evidence = &trial_of(&run, "dd-plain", 1)["evidence"];
    assert!(evidence["foreign"]["processes"].is_null());
    assert!(evidence["foreign"]["write_bytes"].is_u64());
    assert!(evidence["context_switches"].is_null());
    assert!(evidence["pressure_delta"].is_null());
}

#[test]
fn percentiles_without_enough_operations_are_left_out() {
    let latency = &trial_of(&fixture::run(), "rand-read-4k", 1)["latency"]["read"];
    assert_eq!(latency["count"], 256);
    let percentiles = latency["percentiles_ns"].as_object().unwrap();
    let names: Vec<&str> = percentiles.keys().map(String::as_str).collect();
    assert_eq!(names, ["50", "90", "95"]);
}

#[test]
fn value_and_text_are_the_same_document() {
    let fixture = fixture::run();
    let text: Value = serde_json::from_str(&text_of(&fixture)).unwrap();
    // Both parsed: serde_json may read a fraction one digit off.
    let value: Value = serde_json::from_str(&run(&fixture).to_string()).unwrap();
    assert!(text == value);
}

#[test]
fn moments_are_rfc_3339() {
    assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(rfc3339(951_827_696_789), "2000-02-29T12:34:56.789Z");
    assert_eq!(
        rfc3339(fixture::STARTED_UNIX_MS),
        "2026-03-14T09:26:53.589Z"
    );
}

#[test]
fn the_documented_fields_are_those_that_are_written() {
    let mut written = BTreeSet::new();
    collect_paths(&run(&with_every_field()), "", &mut written);
    let documented = documented_paths();
    let missing: Vec<_> = written.difference(&documented).collect();
    let stale: Vec<_> = documented.difference(&written).collect();
    assert!(missing.is_empty(), "not in docs/json.md: {missing:#?}");
    assert!(
        stale.is_empty(),
        "in docs/json.md, but not written: {stale:#?}"
    );
}

#[test]
fn the_examples_in_the_docs_are_parts_of_a_real_document() {
    let whole = run(&fixture::run());
    let blocks = DOCS.split("```json\n").skip(1);
    let examples: Vec<&str> = blocks.filter_map(|b| b.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let example: Value = serde_json::from_str(example).unwrap();
        assert_part_of(&example, &whole, "");
    }
}

/// The fixture, with the parts that no run has all at once.
fn with_every_field() -> Run {
    let mut run = samples::with_tails();
    run.header.target = Some("ssh://root@board".to_owned());
    run.header.unit = Some("A1".to_owned());
    run.header.project = Some("nightly".to_owned());
    run.header.builds = Some(fixture::builds("0.2.0+abc"));
    run.header.claims = Some(Claims {
        bus: Some("hs400".to_owned()),
        datasheet: Some(Datasheet {
            seq_read_mb_s: Some(300.0),
            ..Datasheet::default()
        }),
    });
    let sustained = samples::with_sustained().trials;
    run.trials.extend(
        sustained
            .into_iter()
            .filter(|t| t.job.name == "sustained-write"),
    );
    run.status = RunStatus::Failed {
        error: "the device went away".to_owned(),
    };
    for trial in run
        .trials
        .iter_mut()
        .filter(|t| t.job.name == "seq-read-1m")
    {
        let evidence = trial.evidence.as_mut().unwrap();
        evidence.storage.backing = Backing::Unknown {
            why: "it is on a network".to_owned(),
        };
        evidence.during = vec![Glance {
            at_ns: 1,
            hottest_millicelsius: Some(41_000),
            dirty_bytes: Some(4096),
            writeback_bytes: Some(0),
        }];
    }
    let mut measured = run.trials.iter_mut().filter(|t| t.job.name == "rand-rw-4k");
    let trial = measured.next().unwrap();
    trial.measured.as_mut().unwrap().cpu.run_delay_ns = 3_600_000_000_000;
    trial.job.flush.every = Some((1, FlushCall::Fsync));
    let totals = trial.measured.as_mut().unwrap();
    for direction in [&mut totals.read, &mut totals.write] {
        direction.latency = one_operation();
        direction.submission = Some(one_operation());
    }
    totals.flush = one_operation();
    totals.durable = Some(one_operation());
    let trial = measured.next().unwrap();
    trial.job.rate = Some(RateLimit::Iops(100));
    let totals = trial.measured.as_mut().unwrap();
    let damaged = LatencyRecord {
        count: 2,
        ..one_operation()
    };
    for direction in [&mut totals.read, &mut totals.write] {
        direction.latency = damaged.clone();
        direction.submission = Some(damaged.clone());
    }
    totals.durable = Some(damaged.clone());
    totals.flush = damaged;
    let trial = measured.next().unwrap();
    trial.job.rate = Some(RateLimit::BytesPerSec(1_000_000));
    trial.job.description = Some("SQLite insert".to_owned());
    trial
        .detail
        .clone_from(&samples::with_lost_data().trials[0].detail);
    let setting = Setting {
        subject: Subject::Scheduler,
        value: "bfq".to_owned(),
    };
    trial.condition = Some(setting.to_string());
    trial.in_force = vec![InForce {
        subject: "scheduler".to_owned(),
        knob: "/sys/block/mmcblk0/queue/scheduler".to_owned(),
        value: Some("bfq".to_owned()),
    }];
    run.header.plan.conditions = vec![Condition::of(vec![setting])];
    run.header.stopping = Stopping {
        looks: Some(Looks {
            at: vec![6, 12],
            alpha: 0.0294,
            margin: 0.05,
            runs_all: false,
        }),
        budget: Some(Nanos::secs(60)),
    };
    run.header.paired = Some(Paired {
        with: "other".to_owned(),
        side: Side::B,
        places: vec![1, 2],
        turns: Vec::new(),
    });
    run
}

fn one_operation() -> LatencyRecord {
    let mut histogram = assay_stats::histogram::Histogram::new();
    histogram.record(1_000);
    histogram.to_record()
}

#[test]
fn a_cliff_and_tails_are_told() {
    let run = samples::with_sustained();
    let course = trial_of(&run, "sustained-write", 1)["course"].clone();
    assert_eq!(course["levels"].as_array().unwrap().len(), 2);
    assert_eq!(
        course["settled"]["from_ns"],
        course["levels"][1]["start_ns"]
    );
    let json = super::run(&samples::with_tails());
    let tails = json["tails"].as_array().unwrap();
    let of = |percentile: f64| {
        let is_it = |t: &&Value| t["job"] == "rand-read-4k" && t["percentile"] == percentile;
        tails.iter().find(is_it).unwrap()
    };
    let number = |tail: &Value, field: &str| tail[field].as_f64().unwrap();
    let p99 = of(99.0);
    assert_eq!(
        (number(p99, "trials"), number(p99, "operations")),
        (3.0, 12_000.0)
    );
    assert!(number(p99, "worst_trial_ns") > number(p99, "trial_gmean_ns"));
    assert!(
        of(99.9)["worst_trial_ns"].is_null(),
        "4000 I/Os are too few"
    );
}

/// Every field of `value` as `trials[].job.bs`; keys that are data are `*`.
fn collect_paths(value: &Value, at: &str, paths: &mut BTreeSet<String>) {
    match value {
        // Raw, and of its own kind: described in the pages of the commands.
        Value::Object(_) if at == "trials[].detail" => {}
        Value::Object(fields) => {
            let keys_are_data = at.ends_with(".raw") || at.ends_with(".percentiles_ns");
            for (name, value) in fields {
                let name = if keys_are_data { "*" } else { name };
                let path = format!("{at}.{name}");
                let path = path.trim_start_matches('.');
                paths.insert(path.to_owned());
                collect_paths(value, path, paths);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_paths(item, &format!("{at}[]"), paths);
            }
        }
        _ => {}
    }
}

/// The first cells of the tables: each code span is a field of each path in
/// the heading above, where `document` is the whole.
fn documented_paths() -> BTreeSet<String> {
    let mut parents: Vec<String> = Vec::new();
    let mut paths = BTreeSet::new();
    for line in DOCS.lines() {
        if line.starts_with('#') {
            parents = code_spans(line).map(|span| format!("{span}.")).collect();
        } else if let Some(row) = line.strip_prefix("| `") {
            let cell = row.split(" |").next().unwrap_or_default();
            for field in code_spans(&format!("`{cell}")) {
                paths.extend(parents.iter().map(|parent| {
                    let path = format!("{parent}{field}");
                    path.trim_start_matches("document.").to_owned()
                }));
            }
        }
    }
    paths
}

fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether all of `example` is in `whole`; of an array, any elements.
fn assert_part_of(example: &Value, whole: &Value, at: &str) {
    match (example, whole) {
        (Value::Object(example), Value::Object(whole)) => {
            for (name, value) in example {
                let found = whole.get(name);
                let found = found.unwrap_or_else(|| panic!("no field {at}.{name}"));
                assert_part_of(value, found, &format!("{at}.{name}"));
            }
        }
        (Value::Array(example), Value::Array(whole)) => {
            for item in example {
                assert!(
                    whole.iter().any(|candidate| is_part_of(item, candidate)),
                    "{at}[] has no {item}"
                );
            }
        }
        _ => assert_eq!(example, whole, "{at}"),
    }
}

fn is_part_of(example: &Value, whole: &Value) -> bool {
    match (example, whole) {
        (Value::Object(example), Value::Object(whole)) => example
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|w| is_part_of(value, w))),
        (Value::Array(example), Value::Array(whole)) => example
            .iter()
            .all(|item| whole.iter().any(|candidate| is_part_of(item, candidate))),
        _ => example == whole,
    }
}

#[test]
fn fields_can_be_left_out_where_there_is_little_room() {
    let run = fixture::run();
    let written = |without| -> Value {
        let mut out = Vec::new();
        write_without(&run, &Derived::all(&run), without, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    };
    let whole: Value = serde_json::from_str(&text_of(&run)).unwrap();
    assert!(
        written(Without::Nothing) == whole,
        "nothing is left out unasked"
    );
    let trials = |less: &Value| less["trials"].as_array().unwrap().clone();
    let less = trials(&written(Without::Series));
    assert_eq!(less.len(), run.trials.len());
    assert!(less.iter().all(|trial| trial["series"].is_null()));
    assert!(less.iter().any(|trial| trial["evidence"].is_object()));
    let least = trials(&written(Without::Details));
    assert!(least.iter().all(|trial| trial["evidence"].is_null()));
    assert!(least.iter().all(|trial| trial["latency"].is_null()));
}

described! {
    /// A thing.
    pub struct Thing {
        /// Name of the thing.
        pub name: String,
        /// Parts of it, where
        /// they are known.
        pub parts: Option<Vec<u32>>,
    }
}

#[test]
fn the_schema_has_the_fields_that_are_written() {
    let schema = Thing::schema();
    let written = serde_json::to_value(Thing {
        name: "a".to_owned(),
        parts: None,
    });
    let written = written.unwrap();
    let fields: Vec<&String> = written.as_object().unwrap().keys().collect();
    let known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, known);
    assert_eq!(schema["required"], json!(["name", "parts"]));
    let parts = &schema["properties"]["parts"];
    assert_eq!(parts["description"], "Parts of it, where they are known.");
    assert_eq!(parts["anyOf"][0]["items"]["type"], "integer");
}
