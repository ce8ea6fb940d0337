//! `assay report --chart`: one chart, in the terminal or as a file.

use crate::assay::{Bed, Running, text};
use assay_testkit::needs;
use std::fs;
use std::path::PathBuf;

/// A bed with a run of three jobs.
fn bed_with_run() -> Bed {
    let bed = Bed::new();
    let folder = bed.folder();
    let jobs = "ladder-plain,ladder-dsync,rand-read-4k";
    let words = ["--size", "1M", "--trials", "2", "--only", jobs];
    bed.qualify(&folder, &words).end().assert_code(0);
    bed
}

fn plotted(bed: &Bed, name: &str, words: &[&str]) -> Vec<u8> {
    let path = bed.join(name);
    let mut all = vec!["report", "last", "-o", text(&path)];
    all.extend_from_slice(words);
    let ended = bed.run(&all);
    ended.assert_code(0);
    assert_eq!(ended.out, "", "a file is no data for standard output");
    fs::read(&path).expect("a chart")
}

#[test]
fn each_ending_has_its_format() {
    let bed = bed_with_run();
    let metric = ["--metric", "write_bw"];
    let svg = String::from_utf8(plotted(&bed, "x.svg", &metric)).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("<title>") && svg.contains("<desc>"));
    let png = plotted(&bed, "x.png", &metric);
    assert!(
        png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 5_000,
        "{} bytes",
        png.len()
    );
    let csv = String::from_utf8(plotted(&bed, "x.csv", &metric)).unwrap();
    let trials = csv.lines().filter(|line| line.contains(",trial,"));
    assert_eq!(trials.count(), 4, "two jobs of two trials: {csv}");
    let script = String::from_utf8(plotted(&bed, "x.gp", &metric)).unwrap();
    assert!(script.contains("plot $p0s0"), "{script}");
}

#[test]
fn gnuplot_draws_every_chart_of_a_run() {
    needs!("gnuplot");
    let bed = bed_with_run();
    let list = bed.run(&["report", "last", "--chart"]);
    list.assert_code(0);
    let names: Vec<&str> = list
        .out
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.contains(&"latency-rand-read-4k"), "{}", list.out);
    for name in names {
        plotted(&bed, "x.gp", &["--chart", name]);
        let script: PathBuf = bed.join("x.gp");
        let mut gnuplot = assay_testkit::command("gnuplot");
        gnuplot.args([
            "-e",
            "set terminal svg; set output '/dev/null'",
            text(&script),
        ]);
        let drawn = Running::start(&mut gnuplot).end();
        drawn.assert_code(0);
        let complaints: Vec<String> = drawn.err.clone();
        assert!(
            !complaints.concat().contains("line "),
            "{name}: {complaints:?}"
        );
    }
}

#[test]
fn without_a_file_it_is_drawn_in_characters() {
    let bed = bed_with_run();
    let drawn = bed.run(&["report", "last", "--chart", "latency-rand-read-4k"]);
    drawn.assert_code(0);
    assert!(
        drawn.out.contains("99 %") && drawn.out.contains("slowest"),
        "{}",
        drawn.out
    );
    assert!(!drawn.out.contains('\u{1b}'), "a pipe has no colours");
    let mut plain = bed.command(&["report", "last", "--chart", "latency-rand-read-4k"]);
    let plain = Running::start(plain.env("NO_COLOR", "1")).end();
    let curve = plain.out.lines().filter(|line| line.contains('|'));
    assert!(curve.count() > 5, "{}", plain.out);
    let drawn = |c: char| ('\u{2500}'..='\u{28ff}').contains(&c);
    assert!(!plain.out.contains(drawn), "{}", plain.out);
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let bed = bed_with_run();
    let said = bed.refused(&["report", "last", "--chart", "latency-rand-read"]);
    assert!(
        said.contains("latency-rand-read-4k"),
        "the nearest name: {said}"
    );
    let said = bed.refused(&["report", "last", "--metric", "nothing"]);
    assert!(said.contains("write_bw"), "{said}");
    let path = bed.join("x.pdf");
    let said = bed.refused(&["report", "last", "--metric", "write_bw", "-o", text(&path)]);
    assert!(said.contains(".svg, .png, .gp or .csv"), "{said}");
    let path = bed.join("x.svg");
    let said = bed.refused(&["report", "last", "--chart", "-o", text(&path)]);
    assert!(said.contains("--chart") && !path.exists(), "{said}");
}
