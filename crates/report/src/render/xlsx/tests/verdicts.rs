//! Workbooks of comparisons and sweeps, as other programs read them.

use crate::render::xlsx::{write_comparison, write_sweep};
use crate::testing::comparison_fixture::{Sides, ranked, ranking, swept};
use assay_model::figures::Sample;
use assay_stats::figures::of_trials;
use assay_stats::verdict::Options;
use assay_testkit::needs;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

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
