//! Latencies by priority, and the window of a steady state.

use super::{Case, direction, full, latencies, report};
use assay_model::load::report::DirectionReport;
use assay_model::load::{IoPriority, Stream};

/// A reader of whose 1000 I/Os 400 are in real time; with `split` only.
fn prioritized(split: bool) -> Case {
    let mut reads = direction(1000, 60_000, true);
    reads.priorities = vec![(IoPriority::NONE, latencies((0..600).map(|n| 60_000 + n)))];
    if split {
        let high = latencies((0..400).map(|n| 50_000 + n));
        reads.priorities.push((IoPriority::new(1, 3), high));
    }
    let none = DirectionReport::default();
    Case::new(vec![(Stream::new("a"), report(1, reads, none))])
}

#[test]
fn each_priority_has_its_latencies() {
    let json = prioritized(true).json(true);
    let read = &json["jobs"][0]["read"];
    let priorities = read["prios"].as_array().unwrap();
    assert_eq!(priorities.len(), 2);
    assert_eq!(
        (&priorities[0]["prioclass"], &priorities[0]["prio"]),
        (&0.into(), &0.into())
    );
    assert_eq!(
        (&priorities[1]["prioclass"], &priorities[1]["prio"]),
        (&1.into(), &3.into())
    );
    assert_eq!(priorities[1]["clat_ns"]["N"], 400);
    assert!(priorities[1]["clat_ns"]["bins"].is_object());
    let text = prioritized(true).normal();
    assert!(
        text.contains("    clat prio 1/3 (nsec): min=50000, max=50399,"),
        "{text}"
    );
    assert!(
        text.contains("clat prio 1/3 (40.00% of IOs) percentiles"),
        "{text}"
    );
}

#[test]
fn one_priority_is_nothing_to_tell_apart() {
    assert!(prioritized(false).json(true)["jobs"][0]["read"]["prios"].is_null());
    assert!(!prioritized(false).normal().contains("prio"));
}

#[test]
fn a_window_that_is_not_full_is_filled_with_zeros() {
    let mut case = full();
    if let Some(steady) = &mut case.report.streams[0].steady_state {
        steady.iops.truncate(1);
    }
    let data = &case.json(false)["jobs"][0]["steadystate"]["data"];
    assert_eq!(data["iops"], serde_json::json!([1001, 0]));
    assert_eq!(data["bw"].as_array().unwrap().len(), 2);
}
