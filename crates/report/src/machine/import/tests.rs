//! What is written of an import.

use super::{moments, write_csv, write_json};
use crate::render::terminal::{self, Style};
use crate::render::{Form, html, write_mail, xlsx};
use crate::results::comparison::Ranked;
use crate::results::sweep::Verdicts;
use crate::testing::comparison_fixture::ranked;
use crate::testing::samples::HOSTILE;
use crate::views;
use assay_model::figures::{Better, Figure, Import, Results, Sample};
use assay_stats::verdict::Options;
use assay_stats::verdict::ranking::rank_figures;
use serde_json::Value;
use std::io::Cursor;

fn import() -> Import {
    let figure = |condition: &str, metric: &str, sample| Figure {
        condition: condition.to_owned(),
        metric: metric.to_owned(),
        unit: "MB/s".to_owned(),
        better: Some(Better::Higher),
        primary: true,
        sample,
        measured: None,
        waited: None,
    };
    let values = Sample::Values {
        values: vec![0.1 + 0.2, 86.9],
        positions: vec![0.0, 3.0],
    };
    let moments = Sample::Moments {
        n: 3,
        mean: 65.28,
        stdev: Some(0.77),
    };
    Import {
        id: "k3v9d2ma".to_owned(),
        imported_unix_ms: 1_773_480_413_589,
        assay_version: "0.1.0".to_owned(),
        files: vec!["a, b.csv".to_owned()],
        results: Results {
            tool: "table\u{1b}[31m".to_owned(),
            circumstances: vec!["phone".to_owned()],
            notes: vec!["What was measured is not recorded.".to_owned()],
            figures: vec![
                figure("bfq", "seq, read", moments),
                figure("", "seq_write", values),
            ],
        },
        annotation: assay_model::annotation::Annotation::default(),
    }
}

#[test]
fn csv_has_every_digit() {
    let mut out = Vec::new();
    write_csv(&import(), &mut out).unwrap();
    let expected = "condition,metric,unit,trial,value,position,n,mean,stdev,measured\n\
        bfq,\"seq, read\",MB/s,,,,3,65.28,0.77,\n\
        ,seq_write,MB/s,1,0.30000000000000004,0,,,,\n\
        ,seq_write,MB/s,2,86.9,3,,,,\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn no_name_in_csv_is_a_formula() {
    let mut import = import();
    for figure in &mut import.results.figures {
        figure.condition = "=cmd|calc".to_owned();
        figure.metric = "@sum".to_owned();
    }
    let mut out = Vec::new();
    write_csv(&import, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rows = text.lines().skip(1);
    assert!(
        rows.into_iter()
            .all(|row| row.starts_with("'=cmd|calc,'@sum,")),
        "{text}"
    );
}

#[test]
fn json_says_what_is_not_known() {
    let mut out = Vec::new();
    write_json(&import(), &mut out).unwrap();
    let json: Value = serde_json::from_slice(&out).unwrap();
    let figures = json["figures"].as_array().unwrap();
    assert_eq!(figures[0]["values"], Value::Null);
    assert_eq!(figures[0]["measured"], Value::Null);
    assert_eq!(figures[0]["better"], "higher");
    assert_eq!(figures[1]["values"][1], 86.9);
    assert_eq!(figures[1]["positions"][1], 3.0);
    assert_eq!(json["import"]["imported"], "2026-03-14T09:26:53.589Z");
}

#[test]
fn a_single_value_has_no_spread() {
    let values = |values: &[f64]| Sample::Values {
        values: values.to_vec(),
        positions: Vec::new(),
    };
    assert_eq!(moments(&values(&[5.0])).stdev, None);
    let two = moments(&values(&[1.0, 3.0]));
    assert_eq!((two.n, two.mean, two.stdev), (2, 2.0, Some(2.0_f64.sqrt())));
}

#[test]
fn the_terminal_shows_a_line_for_each_figure() {
    let style = Style {
        color: false,
        width: 80,
        ascii: false,
    };
    let mut out = Vec::new();
    terminal::write(
        &views::import::document(&import()),
        style,
        &["Stored".to_owned()],
        &mut out,
    )
    .unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

/// A read and a write under two conditions, three trials of each; everything that has a
/// name has a hostile one.
fn swept() -> Import {
    let figure = |condition: &str, metric: &str, values: [f64; 3]| Figure {
        condition: format!("{condition} {HOSTILE}"),
        metric: format!("{metric} {HOSTILE}"),
        unit: "MB/s".to_owned(),
        better: Some(Better::Higher),
        primary: true,
        sample: Sample::Values {
            values: values.to_vec(),
            positions: Vec::new(),
        },
        measured: Some("device".to_owned()),
        waited: None,
    };
    let mut import = import();
    import.files = vec![format!("{HOSTILE}.csv")];
    import.results.tool = format!("={HOSTILE}");
    import.results.circumstances = vec![HOSTILE.to_owned(); 20];
    import.results.figures = vec![
        figure("before", "read", [100.0, 101.0, 102.0]),
        figure("before", "write", [50.0, 51.0, 52.0]),
        figure("after", "read", [200.0, 201.0, 202.0]),
        figure("after", "write", [50.5, 51.5, 51.0]),
    ];
    import
}

fn options() -> Options {
    Options {
        min_trials: 3,
        same_session: false,
        ..Options::default()
    }
}

fn page(import: &Import) -> String {
    let verdicts = Verdicts::of_figures(&import.results.figures, options());
    let mut out = Vec::new();
    html::write_import(import, verdicts.as_ref(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Calls `write` with what came of the conditions, if there are several.
fn with_ranking(import: &Import, write: impl FnOnce(Option<&Ranked<'_>>)) {
    let (figures, options) = (&import.results.figures, options());
    let ranking = rank_figures(figures, None, &options).ok();
    let found = ranking.as_ref().map(|ranking| ranked(ranking, &options));
    write(found.as_ref());
}

#[test]
fn a_page_has_each_figure_and_its_trials_and_says_what_is_not_known() {
    let plain = page(&import());
    for words in ["65.28", "86.9", "assay has no evidence of", "phone"] {
        assert!(plain.contains(words), "{words}");
    }
    let swept = page(&swept());
    assert!(swept.contains("id=\"verdict\"") && swept.contains(">faster</span>"));
    assert!(
        swept.contains("<title>trial 2: 201 MB/s</title>"),
        "a mark for each trial"
    );
    assert!(swept.contains(">device</td>"));
    for page in [plain, swept] {
        assert_eq!(page.matches("<script").count(), 1, "assay's own");
        assert!(!page.contains(['\u{1b}', '\u{202e}']));
    }
}

#[test]
fn a_mail_has_each_figure_and_is_no_wider_than_a_mail() {
    for import in [import(), swept()] {
        for form in [Form::Text, Form::Markdown] {
            let mut out = Vec::new();
            with_ranking(&import, |ranked| {
                write_mail(&views::import::mail(&import, ranked), form, &mut out).unwrap();
            });
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("seq") || text.contains("read"), "{text}");
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= 72, "too wide: {line}");
            }
        }
    }
}

#[test]
fn a_workbook_has_each_figure_as_a_number_and_no_name_as_a_formula() {
    let import = swept();
    let mut out = Vec::new();
    with_ranking(&import, |ranked| {
        xlsx::write_import(&import, ranked, &mut out).unwrap()
    });
    let part = |name: &str| xlsx::part(Cursor::new(&out), name).unwrap();
    let book = part("xl/workbook.xml");
    for sheet in ["Summary", "Figures", "Trials"] {
        assert!(book.contains(&format!("name=\"{sheet}\"")), "{sheet}");
    }
    let figures = part("xl/worksheets/sheet2.xml");
    assert!(
        figures.contains("<v>201</v>") && figures.contains("<f>AVERAGE("),
        "{figures}"
    );
    let formulas = figures.split("<f>").skip(1);
    for formula in formulas {
        assert!(
            ["AVERAGE(", "STDEV(", "GEOMEAN("]
                .iter()
                .any(|own| formula.starts_with(own))
        );
    }
    assert!(!part("xl/worksheets/sheet1.xml").contains("<f>"));
}
