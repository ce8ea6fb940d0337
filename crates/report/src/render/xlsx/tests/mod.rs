//! What is in the files.

mod verdicts;

use super::*;
use crate::results::summary::Summary;
use crate::testing::fixture;
use crate::testing::samples;
use assay_testkit::needs;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
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

/// The texts that cells point at.
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
            "Files up to 128 MiB measured the page cache, from 512 MiB on the device; \
             between them both, or something unknown."
        )
    );
    // Sizes stand around the figures, and a figure that was not measured is
    // no 0.
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
