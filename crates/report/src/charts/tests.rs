use super::*;
use crate::charts::draw::{Body, svg};
use crate::testing::{fixture, samples};

#[test]
fn names_of_charts_are_unique_and_plain() {
    for run in [
        fixture::run(),
        samples::with_sustained(),
        samples::with_matrix(),
        samples::hostile(),
    ] {
        let gallery = Gallery::of(&run);
        let mut names: Vec<&str> = gallery.iter().map(|chart| chart.name.as_str()).collect();
        assert!(!names.is_empty());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
        assert!(
            names.iter().all(|name| name.chars().all(plain)),
            "{names:?}"
        );
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}

#[test]
fn every_chart_says_what_it_shows() {
    for chart in Gallery::of(&samples::with_sustained()).iter() {
        assert!(
            !chart.title.is_empty() && !chart.description.is_empty(),
            "{}",
            chart.name
        );
        assert!(!svg::file(chart).contains("NaN"), "{}", chart.name);
    }
}

#[test]
fn a_single_stall_among_a_million_intervals_is_drawn() {
    let run = samples::endless();
    let gallery = Gallery::of(&run);
    let [course] = gallery.courses.as_slice() else {
        panic!("{} courses", gallery.courses.len());
    };
    let drawn = svg::in_page(course, svg::NARROW).into_string();
    assert_eq!(drawn.matches("class=\"stretch").count(), 1);
    assert!(drawn.len() < 20_000, "{} bytes", drawn.len());
    let Body::Plane(plane) = &course.body else {
        panic!("a plane");
    };
    let rate = &plane.panels[0].series[0].points;
    let lowest = rate
        .iter()
        .filter_map(|point| point.ends)
        .map(|ends| ends.0);
    assert!(
        lowest.fold(f64::INFINITY, f64::min) <= 0.0,
        "the curve falls to zero"
    );
}

#[test]
fn runs_without_figures_have_no_charts() {
    for run in [samples::empty(), samples::void(), samples::only_failures()] {
        assert_eq!(Gallery::of(&run).iter().count(), 0);
    }
}

#[test]
fn jobs_whose_names_look_alike_have_charts_of_their_own() {
    let mut run = fixture::run();
    for trial in &mut run.trials {
        let name = if trial.job.name == "seq-read-1m" {
            "A job"
        } else {
            "a-job"
        };
        trial.job.name = name.to_owned();
    }
    run.header.plan.jobs.clear();
    let gallery = Gallery::of(&run);
    let names: Vec<&str> = gallery
        .latencies
        .iter()
        .map(|chart| chart.name.as_str())
        .collect();
    assert_eq!(names, ["latency-a-job", "latency-a-job.2"]);
}
