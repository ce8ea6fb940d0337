//! Every output shows the same figures: the same digits and units where people read
//! them, and every digit where programs do.

use crate::machine::json;
use crate::render::terminal::{Style, write_summary};
use crate::render::{Form, html, write_mail, xlsx};
use crate::results::summary::Summary;
use crate::testing::fixture;
use crate::words::{quantity, spread};
use crate::{machine, views};
use assay_model::run::Run;
use proptest::prelude::*;
use std::io::{self, Cursor, Write};

const JOB: &str = "seq-read-1m";

/// A run of one job whose trials moved so many bytes in so much time.
fn run(trials: &[(u64, u64)]) -> Run {
    let mut run = fixture::run();
    let like = run.trials.iter().find(|trial| trial.job.name == JOB);
    let like = like.unwrap().clone();
    run.header
        .plan
        .jobs
        .retain(|planned| planned.job.name == JOB);
    run.trials.clear();
    for (position, (bytes, elapsed_ns)) in (0..).zip(trials) {
        let mut trial = like.clone();
        (trial.position, trial.trial) = (position, position + 1);
        let measured = trial.measured.as_mut().unwrap();
        measured.read.bytes = *bytes;
        measured.elapsed_ns = *elapsed_ns;
        run.trials.push(trial);
    }
    run
}

fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Renders the outputs that people read.
fn shown(run: &Run) -> [(&'static str, String); 4] {
    let style = Style {
        width: 200,
        color: false,
        ascii: false,
    };
    [
        ("terminal", text(|out| write_summary(run, style, &[], out))),
        ("page", text(|out| html::write(run, out))),
        (
            "mail",
            text(|out| write_mail(&views::run::mail(run), Form::Text, out)),
        ),
        (
            "ticket",
            text(|out| write_mail(&views::run::mail(run), Form::Markdown, out)),
        ),
    ]
}

/// The rates as programs read them, in ascending order.
fn machine_rates(run: &Run) -> [(&'static str, Vec<f64>); 3] {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let table = text(|out| machine::write_csv(run, out));
    let rows = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|row| row[11] == "read_bw");
    let json = json::run(run);
    let metrics = json["trials"].as_array().unwrap().iter();
    let metrics = metrics.flat_map(|trial| trial["metrics"].as_array().unwrap());
    let metrics = metrics.filter(|metric| metric["name"] == "read_bw");
    let ascending = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values
    };
    [
        ("CSV", ascending(rows.map(|row| number(row[13])).collect())),
        (
            "JSON",
            ascending(
                metrics
                    .map(|metric| metric["value"].as_f64().unwrap())
                    .collect(),
            ),
        ),
        ("workbook", ascending(cells(run))),
    ]
}

/// The numbers of the sheet of trials in its column of values, for `read_bw`.
fn cells(run: &Run) -> Vec<f64> {
    let mut out = Vec::new();
    xlsx::write(run, &mut out).unwrap();
    let part = |name: &str| xlsx::part(Cursor::new(&out), name).unwrap();
    let shared = part("xl/sharedStrings.xml");
    let name = shared
        .split("<si>")
        .skip(1)
        .position(|text| text.contains(">read_bw<"));
    let name = format!("<v>{}</v>", name.unwrap());
    let sheets = part("xl/workbook.xml").matches("<sheet ").count();
    let trials = part(&format!("xl/worksheets/sheet{sheets}.xml"));
    let rows = trials.split("<row ").filter(|row| {
        let mut cells = row.split("<c ");
        cells.any(|cell| cell.starts_with("r=\"L") && cell.contains(&name))
    });
    let value = |row: &str| {
        let cell = row.split("<c ").find(|cell| cell.starts_with("r=\"N"))?;
        cell.split("<v>").nth(1)?.split('<').next()?.parse().ok()
    };
    rows.filter_map(value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_output_has_the_same_figures(
        trials in prop::collection::vec((1_u64..1 << 50, 1_000_u64..1 << 45), 3),
    ) {
        let run = run(&trials);
        let summary = Summary::of(&run);
        let figure = summary.jobs[0].figure("read_bw").unwrap();
        let stats = &figure.stats;
        let median = quantity(figure.unit, stats.median);
        let ends = spread(figure.unit, stats.median, stats.min, stats.max);
        for (output, text) in shown(&run) {
            let plain = text.replace(['\u{a0}', '\u{202f}'], " ");
            prop_assert!(plain.contains(&median), "{output} has no {median}: {plain}");
            prop_assert!(plain.contains(&ends), "{output} has no {ends}: {plain}");
        }
        let mut values: Vec<f64> = figure.values.iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        for (output, told) in machine_rates(&run) {
            prop_assert_eq!(&told, &values, "{}", output);
        }
    }
}
