//! Imported results as JSON and as CSV. Both contain every digit; the CSV can be imported again.

use crate::machine::harmless;
use crate::machine::json::{SCHEMA, parts, rfc3339};
use crate::words::clean;
use assay_lang::key;
use assay_model::figures::{Better, Figure, Import, Sample};
use assay_stats::figures::measured_in_words;
use assay_stats::summary::Moments;
use std::io::{self, Write};

/// Columns of the CSV. A trial has `trial` and `value`; a mean has `n`, `mean` and optionally
/// `stdev`. Other columns are empty.
const COLUMNS: [&str; 10] = [
    "condition",
    "metric",
    "unit",
    "trial",
    "value",
    "position",
    "n",
    "mean",
    "stdev",
    "measured",
];

/// Table headings for a figure.
pub(crate) const HEADER: [&str; 7] = [
    key!("condition"),
    key!("metric"),
    "n",
    key!("mean"),
    key!("stdev"),
    key!("unit"),
    key!("measured"),
];
/// Significant digits of computed values, such as a mean of several trials.
const DIGITS: usize = 6;
/// Maximum number of digits of a value that is shown unrounded.
const EXACT: usize = 9;

/// Formats a figure, one cell for each of [`HEADER`]; safe to display.
pub(crate) fn cells(figure: &Figure) -> [String; HEADER.len()] {
    let Moments { n, mean, stdev } = moments(&figure.sample);
    [
        clean(&figure.condition),
        clean(&figure.metric),
        n.to_string(),
        number(mean),
        stdev.map_or_else(String::new, number),
        clean(&figure.unit),
        figure
            .measured
            .as_deref()
            .map_or_else(String::new, |labels| clean(&measured_in_words(labels))),
    ]
}

/// Formats a number without rounding if it has few digits.
fn number(value: f64) -> String {
    let exact = value.to_string();
    let digits = exact.bytes().filter(u8::is_ascii_digit).count();
    let whole = exact.split('.').next().map_or(0, str::len);
    match digits {
        0..=EXACT => exact,
        _ => format!("{value:.places$}", places = DIGITS.saturating_sub(whole)),
    }
}

/// Returns the arithmetic mean, and the standard deviation (n - 1) if there is one.
pub(crate) fn moments(sample: &Sample) -> Moments {
    match sample {
        Sample::Moments { mean, stdev, .. } => Moments {
            n: sample.n(),
            mean: *mean,
            stdev: *stdev,
        },
        Sample::Values { values, .. } => Moments::of(values),
    }
}

/// Writes the figures as CSV with a header line. Quoting follows RFC 4180; lines end in a line
/// feed. A name that a spreadsheet would take for a formula gets an apostrophe, which the import of
/// such a table removes.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_csv(import: &Import, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    for figure in &import.results.figures {
        for row in rows(figure) {
            csv.write_record(row)?;
        }
    }
    csv.flush()
}

fn rows(figure: &Figure) -> Vec<[String; 10]> {
    let name = |text: &str| harmless(text).into_owned();
    let row = |trial: [String; 6]| {
        let [number, value, position, n, mean, stdev] = trial;
        [
            name(&figure.condition),
            name(&figure.metric),
            name(&figure.unit),
            number,
            value,
            position,
            n,
            mean,
            stdev,
            name(figure.measured.as_deref().unwrap_or_default()),
        ]
    };
    let none = String::new;
    match &figure.sample {
        Sample::Moments { n, mean, stdev } => {
            let stdev = stdev.map_or_else(none, |stdev| stdev.to_string());
            vec![row([
                none(),
                none(),
                none(),
                n.to_string(),
                mean.to_string(),
                stdev,
            ])]
        }
        Sample::Values { values, positions } => values
            .iter()
            .enumerate()
            .map(|(at, value)| {
                let position = positions.get(at).map_or_else(none, ToString::to_string);
                let number = (at + 1).to_string();
                row([number, value.to_string(), position, none(), none(), none()])
            })
            .collect(),
    }
}

/// Writes the import as one indented JSON object that ends in a line feed.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json(import: &Import, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &ImportDocument::of(import))?;
    writeln!(out)
}

parts! {
    struct ImportDocument<'a> of (import: &'a Import) {
        schema: u32 = SCHEMA,
        import: ImportPart<'a> = ImportPart::of(import),
        figures: Vec<FigurePart<'a>> = import.results.figures.iter().map(FigurePart::of).collect(),
    }

    struct ImportPart<'a> of (import: &'a Import) {
        id: &'a str = &import.id,
        imported: String = rfc3339(import.imported_unix_ms),
        assay_version: &'a str = &import.assay_version,
        files: &'a [String] = &import.files,
        tool: &'a str = &import.results.tool,
        circumstances: &'a [String] = &import.results.circumstances,
        notes: &'a [String] = &import.results.notes,
    }

    struct FigurePart<'a> of (figure: &'a Figure) {
        {
            let Moments { n, mean, stdev } = moments(&figure.sample);
            let (values, positions) = match &figure.sample {
                Sample::Moments { .. } => (None, None),
                Sample::Values { values, positions } => (Some(&**values), Some(&**positions)),
            };
        }
        condition: &'a str = &figure.condition,
        metric: &'a str = &figure.metric,
        unit: &'a str = &figure.unit,
        better: Option<Better> = figure.better,
        primary: bool = figure.primary,
        measured: Option<&'a str> = figure.measured.as_deref(),
        n: usize = n,
        mean: f64 = mean,
        stdev: Option<f64> = stdev,
        /// Values of the trials; `None` if only the mean is known.
        values: Option<&'a [f64]> = values,
        /// Positions of the trials in the session; `None` if their order is not known.
        positions: Option<&'a [f64]> = positions.filter(|positions| !positions.is_empty()),
    }
}

#[cfg(test)]
mod tests {
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
}
