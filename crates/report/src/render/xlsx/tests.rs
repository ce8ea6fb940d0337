//! Contents of the XML parts of written workbooks.

use super::*;
use crate::render::xlsx::{write_comparison, write_sweep};
use crate::results::summary::Summary;
use crate::testing::comparison_fixture::{Sides, ranked, ranking, swept};
use crate::testing::{fixture, samples};
use assay_model::figures::Sample;
use assay_stats::figures::of_trials;
use assay_stats::verdict::Options;
use assay_testkit::needs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// The parts of the workbook of a run, by name.
fn parts(run: &Run) -> BTreeMap<String, String> {
    let mut bytes = Vec::new();
    write(run, &mut bytes).unwrap();
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..archive.len())
        .map(|index| {
            let mut part = archive.by_index(index).unwrap();
            let mut text = String::new();
            part.read_to_string(&mut text).unwrap();
            (part.name().unwrap().into_owned(), text)
        })
        .collect()
}

/// Shared strings; a text cell holds an index into them.
fn texts(parts: &BTreeMap<String, String>) -> Vec<&str> {
    let shared = &parts["xl/sharedStrings.xml"];
    let all = shared.split("<si>").skip(1);
    all.map(|text| text.split('>').nth(1).unwrap().trim_end_matches("</t"))
        .collect()
}

/// The cell as its sheet has it: its number, or its text.
fn cell(parts: &BTreeMap<String, String>, sheet: usize, name: &str) -> Option<String> {
    let sheet = &parts[&format!("xl/worksheets/sheet{sheet}.xml")];
    let cell = sheet
        .split("<c ")
        .find(|c| c.starts_with(&format!("r=\"{name}\"")))?;
    let value = cell.split("<v>").nth(1)?.split('<').next()?;
    if cell.contains("t=\"s\"") {
        return Some(texts(parts)[value.parse::<usize>().unwrap()].to_owned());
    }
    Some(value.to_owned())
}

fn sheets(parts: &BTreeMap<String, String>) -> Vec<&str> {
    let sheets = parts["xl/workbook.xml"].split("<sheet name=\"").skip(1);
    sheets
        .map(|sheet| sheet.split('"').next().unwrap())
        .collect()
}

/// Names of the elements of a part in their order, without their depth.
fn elements(xml: &str) -> Vec<&str> {
    let tags = xml.split('<').skip(1);
    let tags = tags.filter(|tag| !tag.starts_with(['/', '?']));
    tags.map(|tag| tag.split([' ', '/', '>']).next().unwrap())
        .collect()
}

#[test]
fn each_matrix_has_its_sheet_between_summary_and_evidence() {
    let parts = parts(&samples::with_matrix());
    assert_eq!(
        sheets(&parts),
        ["Summary", "Writer report", "Evidence", "Trials"]
    );
    let cell = |name: &str| cell(&parts, 2, name);
    assert_eq!(cell("A1").as_deref(), Some("Writer report"));
    assert_eq!(
        cell("A3").as_deref(),
        Some(
            "Up to 128 MiB per file, the page cache was measured; from 512 MiB on, the device; in \
             between, both or unknown."
        )
    );
    // The first row and column hold the sizes. The cell of a figure that was not measured is
    // empty, not 0.
    let row = |n| ["A", "B", "C", "D"].map(|column| cell(&format!("{column}{n}")));
    let head = (4..12).find(|n| cell(&format!("A{n}")).is_some_and(|t| t.starts_with("file")));
    let head = head.unwrap();
    assert_eq!(row(head)[1..], ["4", "8", "16"].map(|n| Some(n.to_owned())));
    assert_eq!(
        row(head + 1),
        ["131072", "1000", "2000", "3000"].map(|n| Some(n.to_owned()))
    );
    assert_eq!(
        row(head + 3),
        [
            Some("524288".to_owned()),
            Some("7000".to_owned()),
            Some("8000".to_owned()),
            None
        ]
    );
    // A second matrix, 6 rows below the first, has the labels.
    let labels = row(head + 8);
    assert_eq!(labels[0].as_deref(), Some("262144"));
    assert_eq!(
        labels[1..],
        ["page-cache", "unknown", "device"].map(|n| Some(n.to_owned()))
    );
}

#[test]
fn cells_of_the_page_cache_are_shaded_and_marked() {
    let parts = parts(&samples::with_matrix());
    let styles = &parts["xl/styles.xml"];
    assert!(styles.contains("FFF4B183"), "the shade");
    assert!(
        styles.contains("formatCode=\"#,##0&quot; c&quot;\""),
        "{styles}"
    );
    let style = |name: &str| {
        let sheet = &parts["xl/worksheets/sheet2.xml"];
        let cell = sheet
            .split(&format!("<c r=\"{name}\" s=\""))
            .nth(1)
            .unwrap();
        cell.split('"').next().unwrap().parse::<usize>().unwrap()
    };
    // 128 MiB and 512 MiB with records of 4 KiB; the head is in row 8.
    let (cached, device) = (style("B9"), style("B11"));
    assert_ne!(cached, device);
    assert_eq!(cached, style("C9"));
    let formats = styles.split("<cellXfs").nth(1).unwrap();
    let format = |index: usize| formats.split("<xf ").nth(index + 1).unwrap();
    assert!(
        !format(cached).contains("fillId=\"0\""),
        "{}",
        format(cached)
    );
    assert!(
        format(device).contains("fillId=\"0\""),
        "{}",
        format(device)
    );
}

#[test]
fn the_chart_is_a_surface_over_the_cells() {
    let parts = parts(&samples::with_matrix());
    let chart = &parts["xl/charts/chart1.xml"];
    assert!(!chart.contains("lineChart"));
    assert_eq!(
        chart.matches("<c:ser>").count(),
        3,
        "one for each file size"
    );
    assert!(
        chart.contains("<c:f>'Writer report'!$B$9:$D$9</c:f>"),
        "{chart}"
    );
    assert!(
        chart.contains("<c:f>'Writer report'!$B$8:$D$8</c:f>"),
        "{chart}"
    );
    assert!(
        chart.contains("<c:f>'Writer report'!$A$11</c:f>"),
        "{chart}"
    );
    assert!(chart.contains("<c:ptCount val=\"3\"/><c:pt idx=\"0\"><c:v>7000</c:v></c:pt><c:pt idx=\"1\"><c:v>8000</c:v></c:pt></c:numCache>"));
    assert_eq!(
        parts["xl/drawings/drawing1.xml"]
            .matches("c:chart ")
            .count(),
        1
    );
}

/// `CT_Surface3DChart`, `CT_SurfaceSer`, `CT_PlotArea` and the axes are sequences:
/// programs refuse a chart whose elements stand in another order.
#[test]
fn elements_of_the_chart_stand_in_the_schemas_order() {
    let parts = parts(&samples::with_matrix());
    let chart = elements(&parts["xl/charts/chart1.xml"]);
    let only = |names: &[&str]| -> Vec<&str> {
        chart
            .iter()
            .copied()
            .filter(|name| names.contains(name))
            .collect()
    };
    assert_eq!(
        only(&[
            "c:autoTitleDeleted",
            "c:view3D",
            "c:plotArea",
            "c:surface3DChart",
            "c:wireframe",
            "c:catAx",
            "c:valAx",
            "c:serAx",
            "c:legend",
            "c:plotVisOnly",
            "c:dispBlanksAs",
        ]),
        [
            "c:autoTitleDeleted",
            "c:view3D",
            "c:plotArea",
            "c:surface3DChart",
            "c:wireframe",
            "c:catAx",
            "c:valAx",
            "c:serAx",
            "c:legend",
            "c:plotVisOnly",
            "c:dispBlanksAs",
        ]
    );
    let series = ["c:ser", "c:idx", "c:order", "c:tx", "c:cat", "c:val"];
    let of_one = only(&series);
    let start = of_one.iter().position(|name| *name == "c:ser").unwrap();
    assert_eq!(of_one[start..start + 6], series);
    let axis = [
        "c:scaling",
        "c:delete",
        "c:axPos",
        "c:majorGridlines",
        "c:title",
        "c:numFmt",
        "c:majorTickMark",
        "c:minorTickMark",
        "c:tickLblPos",
        "c:crossAx",
        "c:crosses",
        "c:crossBetween",
    ];
    let start = chart.iter().position(|name| *name == "c:valAx").unwrap();
    let end = chart.iter().position(|name| *name == "c:serAx").unwrap();
    let of_axis = chart[start..end].iter().copied();
    assert_eq!(
        of_axis
            .filter(|name| axis.contains(name))
            .collect::<Vec<_>>(),
        axis
    );
}

#[test]
fn one_row_of_figures_makes_no_surface() {
    let mut run = samples::with_matrix();
    run.trials.truncate(3);
    let parts = parts(&run);
    assert!(!parts.contains_key("xl/charts/chart1.xml"));
    assert!(
        texts(&parts)
            .iter()
            .any(|text| text.starts_with("No surface"))
    );
}

#[test]
fn every_trial_has_its_evidence_and_its_metrics() {
    let run = fixture::run();
    let parts = parts(&run);
    let names = sheets(&parts);
    let groups = [
        "Charts",
        "Ways to write",
        "Sequential",
        "Random read",
        "Mixed",
        "Small durable writes",
    ];
    assert_eq!(names[0], "Summary");
    assert_eq!(names[1..=groups.len()], groups);
    assert_eq!(names[groups.len() + 1..], ["Evidence", "Trials"]);
    let rows = |sheet: &str| {
        let number = names.iter().position(|name| *name == sheet).unwrap() + 1;
        let part = &parts[&format!("xl/worksheets/sheet{number}.xml")];
        part.matches("<row ").count()
    };
    let evidence = rows("Evidence");
    // Three trials of eight jobs, one of which reads and writes, and a head.
    assert_eq!(evidence, 3 * 8 + 3 + 1);
    assert!(
        texts(&parts)
            .iter()
            .any(|text| text.contains("of the bytes"))
    );
    let metrics = run
        .trials
        .iter()
        .map(|t| assay_stats::derive::metrics(t).len().max(1));
    assert_eq!(rows("Trials"), metrics.sum::<usize>() + 1);
}

#[test]
fn bars_have_the_intervals_of_their_trials_and_rates_are_lines() {
    let parts = parts(&samples::with_sustained());
    let bars = &parts["xl/charts/chart1.xml"];
    assert!(bars.contains("<c:barDir val=\"bar\"/>"), "{bars}");
    assert!(
        bars.contains("<c:errValType val=\"cust\"/><c:plus>"),
        "{bars}"
    );
    assert!(bars.contains("<c:f>Charts!$D$3:"), "above: {bars}");
    let charts = parts
        .iter()
        .filter(|(name, _)| name.starts_with("xl/charts/"));
    let lines = charts.filter(|(_, chart)| chart.contains("<c:scatterChart>"));
    assert!(lines.count() >= 1);
}

#[test]
fn no_text_becomes_a_formula_or_breaks_a_part() {
    let mut run = samples::with_matrix();
    for trial in &mut run.trials {
        trial
            .job
            .name
            .insert_str(0, "=HYPERLINK(\"x\")<&\u{1b}[31m\u{0}");
    }
    let parts = parts(&run);
    for (name, part) in &parts {
        assert!(!part.contains("<f>"), "{name} has a formula");
        assert!(!part.contains('\u{1b}'), "{name} has an escape");
    }
}

#[test]
fn formulas_are_assays_own() {
    let mut run = fixture::run();
    for trial in &mut run.trials {
        trial.job.name.insert_str(0, "=HYPERLINK(\"x\")");
    }
    let parts = parts(&run);
    let formulas = parts.values().flat_map(|part| part.split("<f>").skip(1));
    let functions: Vec<&str> = formulas.map(|f| f.split('(').next().unwrap()).collect();
    assert!(functions.len() > 20, "{functions:?}");
    for function in functions {
        assert!(
            ["AVERAGE", "STDEV", "GEOMEAN"].contains(&function),
            "{function}"
        );
    }
}

#[test]
fn a_run_always_makes_the_same_file() {
    let bytes = |run: &Run| {
        let mut bytes = Vec::new();
        write(run, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(
        bytes(&samples::with_matrix()),
        bytes(&samples::with_matrix())
    );
}

#[test]
fn a_workbook_is_named_as_what_it_is() {
    let name = |asked| {
        let (name, note) = file_name(Path::new(asked));
        (name.display().to_string(), note.is_some())
    };
    assert_eq!(name("a.xlsx"), ("a.xlsx".to_owned(), false));
    assert_eq!(name("./out/w.xls"), ("./out/w.xlsx".to_owned(), true));
    assert_eq!(name("w.v1"), ("w.v1.xlsx".to_owned(), true));
    assert_eq!(name("W.XLS"), ("W.xlsx".to_owned(), true));
}

/// Another program finds the surface, with its three axes, and the figures.
#[test]
fn others_read_the_surface() {
    needs!(
        "/usr/bin/python3",
        "/usr/lib/python3/dist-packages/openpyxl"
    );
    let file = tempfile::NamedTempFile::with_suffix(".xlsx").unwrap();
    write(&samples::with_matrix(), &mut file.as_file()).unwrap();
    let script = "\
import openpyxl, sys
sheet = openpyxl.load_workbook(sys.argv[1])['Writer report']
for chart in sheet._charts:
    axes = [type(axis).__name__ for axis in (chart.y_axis, chart.z_axis)]
    print(type(chart).__name__, len(chart.ser), *axes)
print(sheet['B9'].value, sheet['D11'].value)
";
    let mut python = assay_testkit::command("/usr/bin/python3");
    let read = python
        .args(["-c", script])
        .arg(file.path())
        .output()
        .unwrap();
    let failed = String::from_utf8_lossy(&read.stderr);
    let said = String::from_utf8_lossy(&read.stdout);
    let expected = "SurfaceChart3D 3 NumericAxis SeriesAxis\n1000 None\n";
    assert_eq!(said, expected, "{failed}");
}

/// A workbook with one of its texts replaced, as another program saves it.
fn saved_with(bytes: &[u8], text: &str, by: &str) -> Cursor<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut part = String::new();
    let core = "docProps/core.xml";
    archive
        .by_name(core)
        .unwrap()
        .read_to_string(&mut part)
        .unwrap();
    let saved = part.replace(text, by);
    assert_ne!(saved, part, "{text}");
    let options = zip::write::SimpleFileOptions::default();
    writer.start_file(core, options).unwrap();
    writer.write_all(saved.as_bytes()).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_workbook_that_somebody_saved_is_theirs() {
    let mut bytes = Vec::new();
    write(&fixture::run(), &mut bytes).unwrap();
    assert!(is_untouched(Cursor::new(bytes.clone())));
    for (text, by) in [
        ("<dc:creator>assay", "<dc:creator>somebody"),
        ("<cp:lastModifiedBy>assay", "<cp:lastModifiedBy>somebody"),
        ("Z</dcterms:modified>", "Y</dcterms:modified>"),
        ("<dcterms:created", "<dcterms:made"),
    ] {
        assert!(!is_untouched(saved_with(&bytes, text, by)), "{text}");
    }
    for other in [&b""[..], b"PK", b"a,b\n1,2\n"] {
        assert!(!is_untouched(Cursor::new(other)));
    }
}

/// Widths of the columns of a sheet, the first one first.
fn widths(parts: &BTreeMap<String, String>, sheet: usize) -> Vec<f64> {
    let sheet = &parts[&format!("xl/worksheets/sheet{sheet}.xml")];
    let value = |col: &str, name: &str| -> Option<f64> {
        let (_, rest) = col.split_once(&format!("{name}=\""))?;
        rest.split('"').next()?.parse().ok()
    };
    let mut widths = Vec::new();
    for col in sheet.split("<col ").skip(1) {
        let last = value(col, "max").unwrap_or_default();
        while (widths.len() as f64) < last {
            widths.push(value(col, "width").unwrap_or_default());
        }
    }
    widths
}

/// A narrower cell shows `###` in place of the number.
#[test]
fn columns_are_wide_enough_for_their_numbers_as_they_are_shown() {
    assert_eq!(
        look::columns_of(1_234_567_890.0, "ns"),
        "1,234,567.89 µs_".chars().count()
    );
    assert_eq!(look::columns_of(166_400_000.0, "B/s"), "166.40 MB/s_".len());
    let mut run = fixture::run();
    for trial in &mut run.trials {
        // Rates of TB/s, in MB/s.
        let measured = trial.measured.iter_mut();
        measured.for_each(|found| found.elapsed_ns = 1 + found.elapsed_ns / 1_000_000);
    }
    let parts = parts(&run);
    let summary = Summary::of(&run);
    let job = summary
        .jobs
        .iter()
        .find(|job| job.job.name == "seq-read-1m");
    let stats = job.unwrap().figure("read_bw").unwrap().stats;
    let needed = look::columns_of(stats.max, "B/s") as f64;
    let widths = widths(&parts, 1);
    let head = |text: &str| {
        let mut columns = ('A'..='Z').zip(&widths);
        let rows = 1..60;
        let is_head = |column| {
            let mut rows = rows.clone();
            rows.any(|row| cell(&parts, 1, &format!("{column}{row}")).as_deref() == Some(text))
        };
        columns
            .find(|(column, _)| is_head(*column))
            .map(|(_, width)| *width)
    };
    for text in ["median", "Lowest", "Highest"] {
        assert!(
            head(text).is_some_and(|width| width >= needed),
            "{text}: {widths:?}, {needed}"
        );
    }
}

#[test]
fn a_row_is_as_high_as_its_text_that_wraps() {
    let mut run = fixture::run();
    // Rows of three lines.
    let high = |run: &Run| {
        let sheet = &parts(run)["xl/worksheets/sheet1.xml"];
        let heads = sheet.split("<row ").filter_map(|row| row.split('>').next());
        heads.filter(|head| head.contains("ht=\"45\"")).count()
    };
    let before = high(&run);
    let long = "writes a slot with a flush after each, ".repeat(4);
    for trial in &mut run.trials {
        trial.job.description = (trial.job.name == "seq-read-1m").then(|| long.clone());
    }
    assert_eq!(high(&run), before + 1);
}

/// What a script in Python says of a file.
fn python(script: &str, words: &[&Path]) -> String {
    let mut python = assay_testkit::command("/usr/bin/python3");
    let read = python.args(["-c", script]).args(words).output().unwrap();
    let failed = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success(), "{failed}");
    String::from_utf8(read.stdout).unwrap()
}

fn compared(folder: &Path) -> PathBuf {
    let path = folder.join("compared.xlsx");
    let sides = Sides::new();
    write_comparison(&sides.compared(), &mut fs::File::create(&path).unwrap()).unwrap();
    path
}

fn of_sweep(folder: &Path) -> PathBuf {
    let path = folder.join("swept.xlsx");
    let (run, options) = (swept(), Options::default());
    let ranking = ranking(&run, &options);
    let mut file = fs::File::create(&path).unwrap();
    write_sweep(&run, &ranked(&ranking, &options), &mut file).unwrap();
    path
}

/// All cells of all sheets as JSON, formulas or their values.
const CELLS: &str = "
import json, openpyxl, sys
book = openpyxl.load_workbook(sys.argv[1], data_only=sys.argv[2].endswith('values'))
print(json.dumps({sheet.title: [list(row) for row in sheet.values] for sheet in book}))
";

fn cells(path: &Path, what: &str) -> Value {
    serde_json::from_str(&python(CELLS, &[path, Path::new(what)])).unwrap()
}

/// The row of a sheet that begins so.
fn row<'a>(cells: &'a Value, sheet: &str, begin: [&str; 2]) -> &'a [Value] {
    let rows = cells[sheet].as_array().unwrap().iter();
    let mut rows = rows.map(|row| row.as_array().unwrap().as_slice());
    let row = rows.find(|row| row[0] == begin[0] && row[1] == begin[1]);
    row.unwrap_or_else(|| panic!("{sheet} {begin:?}"))
}

#[test]
fn the_trials_of_both_sides_stand_beside_formulas_over_them() {
    needs!(
        "/usr/bin/python3",
        "/usr/lib/python3/dist-packages/openpyxl"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = compared(folder.path());
    let (values, formulas) = (cells(&path, "values"), cells(&path, "formulas"));
    let begin = ["seq-read-1m: read_bw", "B: q7w8e9r2"];
    let line = row(&values, "Sequential", begin);
    let sides = Sides::new();
    let figure = sides
        .b_figures
        .iter()
        .find(|figure| figure.metric == begin[0])
        .unwrap();
    let Sample::Values { values: trials, .. } = &figure.sample else {
        panic!("no values");
    };
    let shown: Vec<f64> = line[13..].iter().filter_map(Value::as_f64).collect();
    assert_eq!(shown.len(), trials.len());
    for (shown, trial) in shown.iter().zip(trials) {
        assert!((shown / trial - 1.0).abs() < 1e-14, "all digits of a cell");
    }
    let mean = trials.iter().sum::<f64>() / 6.0;
    assert!((line[3].as_f64().unwrap() / mean - 1.0).abs() < 1e-12);
    assert_eq!(line[11], "slower");
    let line = row(&formulas, "Sequential", begin);
    let row = line[3]
        .as_str()
        .unwrap()
        .strip_prefix("=AVERAGE(N")
        .unwrap();
    let row = row.split(':').next().unwrap();
    for (cell, function) in [(3, "AVERAGE"), (4, "STDEV"), (5, "GEOMEAN")] {
        assert_eq!(line[cell], format!("={function}(N{row}:S{row})"));
    }
}

#[test]
fn the_summary_of_a_comparison_has_each_verdict() {
    needs!(
        "/usr/bin/python3",
        "/usr/lib/python3/dist-packages/openpyxl"
    );
    let folder = tempfile::tempdir().unwrap();
    let cells = cells(&compared(folder.path()), "values");
    let sheets: Vec<&String> = cells.as_object().unwrap().keys().collect();
    for name in [
        "Conditions",
        "Evidence k3v9d2ma",
        "Evidence q7w8e9r2",
        "Trials",
        "Mixed",
    ] {
        assert!(
            sheets.iter().any(|sheet| *sheet == name),
            "{name}: {sheets:?}"
        );
    }
    // The page cache's figures stand there, and decide nothing.
    for (metric, decides, word) in [
        ("seq-read-1m: read_bw", "yes", "slower"),
        ("rand-rw-4k: write_iops", "yes", "faster"),
        ("dd-plain: write_bw", "no", "equivalent"),
        ("rand-read-4k: read_iops", "no", "no conclusion"),
    ] {
        assert_eq!(
            row(&cells, "Summary", [metric, decides])[7],
            word,
            "{metric}"
        );
    }
    let kernel = row(&cells, "Conditions", ["Machine", "kernel"]);
    assert_eq!(kernel[2], "differs");
    let trials = cells["Trials"].as_array().unwrap();
    let run = |id: &str| trials.iter().filter(|row| row[0] == id).count();
    assert!(run("k3v9d2ma") > 100 && run("k3v9d2ma") == run("q7w8e9r2"));
}

#[test]
fn a_sweep_of_two_settings_has_matrices_with_surfaces() {
    needs!(
        "/usr/bin/python3",
        "/usr/lib/python3/dist-packages/openpyxl"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = of_sweep(folder.path());
    let script = "
import openpyxl, sys
sheet = openpyxl.load_workbook(sys.argv[1])['Surfaces']
for chart in sheet._charts[:1]:
    print(type(chart).__name__, [serie.tx.strRef.f for serie in chart.ser])
print([cell.value for cell in sheet[3]], [cell.value for cell in sheet['A'][3:5]])
print(sheet['B4'].value)
";
    let said = python(script, &[&path]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        "SurfaceChart3D [\"'Surfaces'!$A$4\", \"'Surfaces'!$A$5\"]"
    );
    let heads = "['scheduler \\\\ read_ahead_kb', 128, 512, 2048] ['none', 'bfq']";
    assert_eq!(lines[1], heads);
    let run = swept();
    let figures = of_trials(&run.header, &run.trials);
    let first = figures.iter().find(|figure| figure.primary).unwrap();
    let Sample::Values { values, .. } = &first.sample else {
        panic!("no values");
    };
    let mean = assay_stats::summary::Summary::of(values)
        .unwrap()
        .geometric_mean;
    assert_eq!(lines[2].parse::<f64>().ok(), mean);
    let cells = cells(&path, "values");
    let conditions = cells["Conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 7);
    let letters = row(
        &cells,
        "Sequential",
        ["seq-read-1m: read_bw", "scheduler=bfq,read_ahead_kb=128"],
    );
    assert!(letters[8].as_f64().is_some(), "a delta: {letters:?}");
}

/// Every number of ours is there in `theirs`; how many there are.
fn assert_same(ours: &Value, theirs: &Value) -> usize {
    let mut numbers = 0;
    for (name, sheet) in ours.as_object().unwrap() {
        for (row, cells) in sheet.as_array().unwrap().iter().enumerate() {
            for (column, cell) in cells.as_array().unwrap().iter().enumerate() {
                let Some(ours) = cell.as_f64() else { continue };
                let theirs = theirs[name][row][column].as_f64();
                let same = |theirs: f64| (theirs - ours).abs() <= 1e-9 * ours.abs();
                assert!(
                    theirs.is_some_and(same),
                    "{name} {row} {column}: {ours} {theirs:?}"
                );
                numbers += 1;
            }
        }
    }
    numbers
}

/// `LibreOffice` opens our workbooks, and computes what was written beside the formulas:
/// a copy has no values beside them, so it has to compute.
#[test]
fn others_open_them_and_compute_the_same() {
    needs!(
        "soffice",
        "/usr/bin/python3",
        "/usr/lib/python3/dist-packages/openpyxl"
    );
    let folder = tempfile::tempdir().unwrap();
    let (compared, swept) = (compared(folder.path()), of_sweep(folder.path()));
    let bare = folder.path().join("bare.xlsx");
    let script = "
import openpyxl, sys
openpyxl.load_workbook(sys.argv[1]).save(sys.argv[2])
";
    python(script, &[&compared, &bare]);
    let begin = ["seq-read-1m: read_bw", "B: q7w8e9r2"];
    assert!(row(&cells(&bare, "values"), "Sequential", begin)[3].is_null());
    let profile = folder.path().join("profile");
    let profile = format!("-env:UserInstallation=file://{}", profile.display());
    let opened = folder.path().join("opened");
    let mut office = assay_testkit::command("soffice");
    office.args([&profile, "--headless", "--convert-to", "xlsx", "--outdir"]);
    office.arg(&opened).args([&compared, &swept, &bare]);
    let ended = office.output().unwrap();
    let failed = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{failed}");
    for (ours, name) in [
        (&compared, "compared.xlsx"),
        (&compared, "bare.xlsx"),
        (&swept, "swept.xlsx"),
    ] {
        let theirs = cells(&opened.join(name), "values");
        let numbers = assert_same(&cells(ours, "values"), &theirs);
        assert!(numbers > 1000, "{name}: {numbers}");
    }
}
