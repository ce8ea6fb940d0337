//! `assay store import`: what the real tools write, and what is made of it.

use crate::assay::{Bed, Ended, text};
use crate::machine;
use assay_testkit::needs;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const GOVERNORS: &str = "condition,metric,unit,n,mean,stdev\n\
    interactive,seq_read,MB/s,3,65.28,0.77\ninteractive,rand_read,IOPS,3,1849.93,11.03\n\
    ondemand,seq_read,MB/s,3,65.47,4.43\nondemand,rand_read,IOPS,3,1777.45,63.01\n";

/// Takes files in; what was taken in.
fn import(bed: &Bed, words: &[&str], files: &[&Path]) -> Value {
    let mut all = vec!["store", "import", "--json"];
    all.extend_from_slice(words);
    all.extend(files.iter().map(|file| text(file)));
    let ended = bed.run(&all);
    ended.assert_code(0);
    ended.json()
}

fn file(bed: &Bed, name: &str, text: &str) -> PathBuf {
    let path = bed.join(name);
    fs::write(&path, text).expect("it can be written");
    path
}

fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

/// A figure by condition and metric.
fn figure<'a>(json: &'a Value, condition: &str, metric: &str) -> &'a Value {
    let figures = json["figures"].as_array().expect("a list");
    let mut found = figures.iter().filter(|figure| figure["metric"] == metric);
    let found = found.find(|figure| figure["condition"] == condition);
    found.unwrap_or_else(|| panic!("no {metric} under '{condition}': {figures:#?}"))
}

fn values(figure: &Value) -> Vec<f64> {
    let values = figure["values"].as_array().expect("a value per trial");
    values
        .iter()
        .map(|value| value.as_f64().expect("a number"))
        .collect()
}

fn fio(folder: &Path, format: &str) -> String {
    let mut command = assay_testkit::command("fio");
    command.current_dir(folder).args([
        "--name=j",
        "--filename=data",
        "--rw=randrw",
        "--size=2m",
        "--bs=4k",
        "--fsync=64",
        &format!("--output-format={format}"),
    ]);
    output(&mut command)
}

#[test]
fn jsons_of_fio_are_trials() {
    needs!("fio");
    let bed = Bed::new();
    let folder = bed.folder();
    let texts: Vec<String> = ["json", "json+"]
        .map(|format| fio(&folder, format))
        .to_vec();
    let files = [
        file(&bed, "1.json", &texts[0]),
        file(&bed, "2.json", &texts[1]),
    ];
    let json = import(&bed, &["--condition", "a"], &[&files[0], &files[1]]);
    let written: Vec<Value> = texts
        .iter()
        .map(|text| serde_json::from_str(text).expect("fio writes JSON"))
        .collect();
    let of = |key: &dyn Fn(&Value) -> &Value| -> Vec<f64> {
        let jobs = written.iter().map(|document| &document["jobs"][0]);
        jobs.map(|job| key(job).as_f64().expect("a number"))
            .collect()
    };
    let bw = figure(&json, "a", "j: read_bw");
    assert_eq!(values(bw), of(&|job| &job["read"]["bw"]));
    assert_eq!(
        (bw["unit"].as_str(), bw["better"].as_str()),
        (Some("KiB/s"), Some("higher"))
    );
    assert_eq!(bw["measured"], Value::Null);
    let p99 = figure(&json, "a", "j: write_clat_p99");
    let expected = of(&|job| &job["write"]["clat_ns"]["percentile"]["99.000000"]);
    assert_eq!(values(p99), expected);
    assert_eq!(
        (p99["unit"].as_str(), p99["better"].as_str()),
        (Some("ns"), Some("lower"))
    );
    let sync = figure(&json, "a", "j: sync_lat_mean");
    assert_eq!(values(sync), of(&|job| &job["sync"]["lat_ns"]["mean"]));
    assert_eq!(json["import"]["tool"], written[0]["fio version"]);
}

#[test]
fn the_normal_output_of_fio_and_of_assay_fio_comes_through_a_pipe() {
    needs!("fio");
    let bed = Bed::new();
    let folder = bed.folder();
    let plain = file(&bed, "plain.txt", &fio(&folder, "normal"));
    let json = import(&bed, &[], &[&plain]);
    for metric in [
        "read_bw",
        "write_iops",
        "read_clat_mean",
        "write_clat_p99",
        "sync_lat_mean",
    ] {
        assert_eq!(values(figure(&json, "", &format!("j: {metric}"))).len(), 1);
    }

    let mut own = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
    own.current_dir(&folder);
    own.args(["fio", "--name=own", "--rw=write", "--size=2m", "--bs=64k"]);
    let own = file(&bed, "own.txt", &output(&mut own));
    let stdin = fs::File::open(own).expect("it was written");
    let mut command = bed.command(&["store", "import", "-", "--json"]);
    let piped = command.stdin(stdin).output().expect("it starts");
    let json: Value = serde_json::from_slice(&piped.stdout).expect("JSON");
    let label = &figure(&json, "", "own: write_bw")["measured"];
    assert!(label.is_string(), "assay's evidence was lost: {json:#}");
    assert_eq!(json["import"]["files"][0], "standard input");
}

#[test]
fn tables_blocks_and_throughput_of_iozone() {
    needs!("iozone");
    let _alone = machine::alone();
    let bed = Bed::new();
    let folder = bed.folder();
    let iozone = |words: &[&str]| {
        let mut command = assay_testkit::command("iozone");
        output(command.current_dir(&folder).args(words))
    };
    let single = iozone(&["-i", "0", "-i", "2", "-s", "256", "-r", "4", "-R"]);
    let single = file(&bed, "single.txt", &single);
    let json = import(&bed, &[], &[&single]);
    let row = fs::read_to_string(&single).expect("it was written");
    let row = row
        .lines()
        .find(|line| line.split_whitespace().take(2).eq(["256", "4"]));
    let row = row.expect("a row").split_whitespace().skip(2);
    let row: Vec<f64> = row.map(|word| word.parse().expect("a number")).collect();
    let tests = ["write", "rewrite", "random read", "random write"];
    let read: Vec<f64> = tests
        .iter()
        .map(|test| {
            values(figure(
                &json,
                "",
                &format!("256 kB file, 4 kB records: {test}"),
            ))[0]
        })
        .collect();
    assert_eq!(read, row);
    assert_eq!(json["figures"].as_array().map(Vec::len), Some(tests.len()));

    // The blocks alone say the same.
    let whole = fs::read_to_string(&single).expect("it was written");
    let (_, blocks) = whole.split_once("Excel").expect("blocks");
    let json = import(&bed, &[], &[&file(&bed, "blocks.txt", blocks)]);
    let write = figure(&json, "", "256 kB file, 4 kB records: write");
    assert_eq!(values(write), [row[0]]);

    let several = iozone(&["-i", "0", "-t", "2", "-s", "256", "-r", "4"]);
    let json = import(&bed, &[], &[&file(&bed, "several.txt", &several)]);
    let start = "256 kB file, 4 kB records, 2 initial writers";
    let sum = figure(&json, "", &format!("{start}: throughput"));
    assert!(values(sum)[0] > 0.0 && sum["unit"] == "kBytes/sec", "{sum}");
}

#[test]
fn marks_of_assay_iozone_come_with_its_figures() {
    let bed = Bed::new();
    let path = bed.folder().join("f");
    let path = path.to_str().expect("UTF-8");
    let own = bed.run(&["iozone", "-i", "0", "-s", "256", "-r", "4", "-f", path]);
    let text = own.out + &own.err.join("\n");
    let json = import(&bed, &[], &[&file(&bed, "own.txt", &text)]);
    let write = figure(&json, "", "256 kB file, 4 kB records: write");
    assert!(write["measured"].is_string(), "{write}\n{text}");
}

#[test]
fn lines_of_dd() {
    needs!("dd");
    let bed = Bed::new();
    let folder = bed.folder();
    let words = ["if=/dev/zero", "of=f", "bs=64k", "count=16"];
    let mut said = String::new();
    for _ in 0..2 {
        let mut dd = assay_testkit::command("dd");
        let output = dd
            .current_dir(&folder)
            .args(words)
            .env("LC_ALL", "C")
            .output();
        said.push_str("$ dd if=/dev/zero of=f bs=64k count=16\n");
        said.push_str(&String::from_utf8_lossy(&output.expect("it starts").stderr));
    }
    let json = import(&bed, &[], &[&file(&bed, "dd.txt", &said)]);
    assert_eq!(values(figure(&json, "bs=64k count=16", "rate")).len(), 2);
    assert_eq!(figure(&json, "bs=64k count=16", "time")["better"], "lower");
}

#[test]
fn an_import_is_listed_shown_reported_and_taken_in_again() {
    let bed = Bed::new();
    let table = file(&bed, "phone.csv", GOVERNORS);
    let ended = bed.run(&["store", "import", text(&table)]);
    ended.assert_code(0);
    for words in [
        "table: 4 figures",
        "interactive",
        "1849.93",
        "not recorded",
        "Stored as import",
    ] {
        assert!(ended.out.contains(words), "no '{words}' in {}", ended.out);
    }
    bed.short_run(&bed.folder());
    let json = import(&bed, &[], &[&table]);
    let id = json["import"]["id"].as_str().expect("an id");

    let list = bed.run(&["list"]).out;
    let rows: Vec<&str> = list.lines().collect();
    assert!(rows.len() == 4 && rows[1].starts_with(id), "{list}");
    assert!(
        rows[1].contains("imported") && rows[1].contains("phone.csv"),
        "{list}"
    );
    assert!(
        rows[2].contains("finished") && rows[3].contains("imported"),
        "{list}"
    );

    let shown: Ended = bed.run(&["report", id, "--json"]);
    assert_eq!(shown.json(), json);
    assert!(bed.run(&["report", "last"]).out.contains("ondemand"));
    let again = bed.join("again.csv");
    bed.run(&["report", id, "-o", text(&again)]).assert_code(0);
    assert_eq!(import(&bed, &[], &[&again])["figures"], json["figures"]);
    let gate = bed.join("gate.tap");
    let said = bed.refused(&["report", id, "-o", text(&gate)]);
    assert!(said.contains("it can be html, json, csv, xlsx"), "{said}");
    assert!(!gate.exists());
}

#[test]
fn an_import_is_a_page_a_mail_a_workbook_and_charts() {
    let bed = Bed::new();
    let table = file(&bed, "phone.csv", GOVERNORS);
    let json = import(&bed, &[], &[&table]);
    let id = json["import"]["id"].as_str().expect("an id");
    for ending in ["html", "txt", "md"] {
        let path = bed.join(&format!("report.{ending}"));
        bed.run(&["report", id, "-o", text(&path)]).assert_code(0);
        let report = fs::read_to_string(&path).expect("a report");
        for words in ["seq_read", "interactive", "ondemand", "phone.csv"] {
            assert!(report.contains(words), "no '{words}' in {report}");
        }
    }
    let workbook = bed.join("report.xlsx");
    bed.run(&["report", id, "-o", text(&workbook)])
        .assert_code(0);
    assert!(fs::read(&workbook).expect("a workbook").starts_with(b"PK"));
    let folder = bed.join("all");
    bed.run(&["report", "--all", text(&folder)]).assert_code(0);
    let index = fs::read_to_string(folder.join("index.html")).expect("a list");
    assert!(index.contains(&format!("href=\"{id}.html\"")), "{index}");
    assert!(folder.join(format!("{id}.html")).exists());
    let charts = bed.run(&["report", id, "--chart"]);
    charts.assert_code(0);
    assert!(charts.out.contains("trials-rand-read"), "{}", charts.out);
    let drawn = bed.run(&["report", id, "--chart", "trials-rand-read"]);
    drawn.assert_code(0);
    assert!(drawn.out.contains("ondemand"), "{}", drawn.out);
    let said = bed.refused(&["report", id, "--metric", "read_bw"]);
    assert!(said.contains("--chart"), "{said}");
}

#[test]
fn what_cannot_be_taken_in_is_said_in_one_line_and_nothing_is_stored() {
    let bed = Bed::new();
    let good = file(&bed, "good.csv", GOVERNORS);
    let empty = file(&bed, "empty.json", "");
    let half = file(
        &bed,
        "half.json",
        "{\n\"fio version\" : \"fio-3.33\",\n\"jobs\" : [",
    );
    let odd = file(&bed, "odd.csv", "metric,unit,value\nseq,MB/s,NaN\n");
    let other = file(&bed, "other.csv", "metric,unit,value\nseq_read,IOPS,5\n");
    let folder = bed.folder();
    let missing = bed.join("missing");
    for (path, words) in [
        (&empty, "it is empty"),
        (&half, "half.json: line 3: the JSON ends in the middle"),
        (&odd, "odd.csv: line 2: 'NaN' is not a number"),
        (
            &other,
            "the files together: seq_read is in 'IOPS', and was in 'MB/s' before",
        ),
        (&folder, "cannot read"),
        (&missing, "cannot read"),
        (
            &PathBuf::from(env!("CARGO_BIN_EXE_assay")),
            "not known what wrote this",
        ),
    ] {
        let said = bed.refused(&["store", "import", text(&good), text(path)]);
        assert!(said.contains(words), "{said}");
    }
    let said = bed.refused(&["store", "import", "-", "-"]);
    assert!(said.contains("named twice"), "{said}");
    assert!(
        bed.refused(&["store", "import"])
            .contains("missing: <FILE>")
    );
    assert!(
        bed.refused(&["store", "import", text(&good), "--format", "x"])
            .contains("fio-json")
    );
    assert!(!bed.store().exists(), "a store was made for nothing");
}
