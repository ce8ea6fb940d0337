//! What comes out: standard output is data, standard error is talk, and
//! neither is coloured where nobody asked for it.

use crate::assay::{Bed, Ended, Running, text};
use assay_testkit::needs;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

const ESCAPE: char = '\u{1b}';

/// A bed with one run in it.
fn bed_with_run() -> (Bed, Ended) {
    let bed = Bed::new();
    let folder = bed.folder();
    let jobs = "ladder-plain,ladder-dsync,read-cached";
    let words = ["--size", "2M", "--trials", "2", "--only", jobs, "--json"];
    let ended = bed.qualify(&folder, &words).end();
    ended.assert_code(0);
    (bed, ended)
}

#[test]
fn json_is_the_only_thing_on_standard_output() {
    let (bed, ended) = bed_with_run();
    let run = ended.json();
    assert_eq!(run["schema"], 1);
    for key in ["run", "system", "device"] {
        assert!(run[key].is_object(), "{key}");
    }
    for key in ["id", "status", "started", "seed", "path", "command"] {
        assert!(!run["run"][key].is_null(), "run.{key}");
    }
    assert_eq!(run["run"]["status"], "finished");
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6);
    for trial in trials {
        assert_eq!(trial["outcome"], "completed");
        for key in ["name", "rw", "bs", "iodepth"] {
            assert!(!trial["job"][key].is_null(), "job.{key}");
        }
        for metric in trial["metrics"].as_array().unwrap() {
            assert!(metric["name"].is_string() && metric["unit"].is_string());
            assert!(metric["value"].is_number() && metric["label"].is_string());
        }
        let direction = trial["job"]["rw"].as_str().unwrap();
        assert!(trial["latency"][direction]["count"].as_u64() > Some(0));
        assert!(trial["evidence"][direction]["label"].is_string());
        assert!(trial["series"].is_array());
    }
    assert_eq!(bed.stored("last"), run, "stored as it was printed");
}

#[test]
fn neither_stream_is_coloured_for_a_pipe() {
    let (bed, ended) = bed_with_run();
    assert!(!ended.err.concat().contains(ESCAPE));
    let folder = bed.join("work");
    let words = ["--size", "1M", "--trials", "1", "--only", "read-cached"];
    let ended = bed.qualify(&folder, &words).end();
    assert!(ended.out.contains("Stored as run"), "{}", ended.out);
    for words in [&["list"][..], &["show", "last"], &["--help"]] {
        let shown = bed.run(words);
        assert!(!shown.out.is_empty() && !shown.out.contains(ESCAPE));
    }
    assert!(!ended.out.contains(ESCAPE) && !ended.err.concat().contains(ESCAPE));
}

#[test]
fn a_terminal_gets_colour_unless_it_is_not_wanted() {
    needs!("script");
    let (bed, _) = bed_with_run();
    let assay = env!("CARGO_BIN_EXE_assay");
    let line = format!("{assay} show last --store {}", text(&bed.store()));
    let shown = |no_color: Option<&str>| {
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        command.envs(no_color.map(|value| ("NO_COLOR", value)));
        let ended = Running::start(&mut command).end();
        ended.assert_code(0);
        ended.out
    };
    assert!(shown(None).contains(ESCAPE));
    assert!(shown(Some("")).contains(ESCAPE), "empty means unset");
    assert!(!shown(Some("1")).contains(ESCAPE));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let (bed, _) = bed_with_run();
    for words in [
        &["show", "last", "--json"][..],
        &["show", "last"],
        &["list"],
    ] {
        let mut command = bed.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let mut talk = String::new();
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_to_string(&mut talk).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{words:?}: {talk}");
        assert_eq!(talk, "", "{words:?}");
    }
}

#[test]
fn the_list_has_every_run_newest_first() {
    let (bed, first) = bed_with_run();
    let second = bed.short_run(&bed.join("work"));
    let (first, second) = (first.run_id().unwrap(), second.run_id().unwrap());
    let list = bed.run(&["list"]);
    list.assert_code(0);
    let at = |id| list.out.find(id).unwrap_or_else(|| panic!("{}", list.out));
    assert!(at(second) < at(first), "{}", list.out);
    assert!(list.out.contains("finished"));

    for name in ["last", second, &second[..6]] {
        let shown = bed.run(&["show", name]);
        shown.assert_code(0);
        assert!(shown.out.contains(second), "{name}: {}", shown.out);
    }
    assert_eq!(bed.stored(first)["run"]["id"], first);
}

#[test]
fn reports() {
    let (bed, ended) = bed_with_run();
    let id = ended.run_id().unwrap();
    let report = |name: &str| {
        let path = bed.join(name);
        let wrote = bed.run(&["report", "last", "-o", text(&path)]);
        wrote.assert_code(0);
        assert_eq!(wrote.out, "");
        wrote.assert_says(&["wrote", name]);
        fs::read_to_string(path).expect("it was written")
    };
    let page = report("out.html");
    assert!(page.to_lowercase().starts_with("<!doctype html>"));
    assert!(page.contains(id) && page.contains("page-cache"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "the page needs {outside}");
    }

    let json: Value = serde_json::from_str(&report("out.json")).unwrap();
    assert_eq!(json, ended.json());

    let csv = report("out.csv");
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(columns[..3], ["run", "job", "rw"]);
    assert!(columns.contains(&"value") && columns.contains(&"label"));
    let dsync = lines.filter(|line| line.contains("ladder-dsync"));
    assert!(dsync.count() >= 2, "{csv}");

    // Written as a whole or not at all; nothing else is left beside it.
    let left = fs::read_dir(bed.join("")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!left.into_iter().any(|name| name.ends_with(".part")));
}

/// Another program opens the workbook and finds the run in it.
#[test]
fn a_workbook_is_read_by_others() {
    needs!(
        "/usr/bin/python3",
        "/usr/lib/python3/dist-packages/openpyxl"
    );
    let (bed, ended) = bed_with_run();
    let path = bed.join("out.xlsx");
    let wrote = bed.run(&["report", "last", "-o", text(&path)]);
    wrote.assert_code(0);
    let script = "\
import openpyxl, sys
book = openpyxl.load_workbook(sys.argv[1])
print(book.sheetnames)
print([cell.value for cell in book['Summary']['B']])
print(sum(1 for row in book['Trials'].values if row[11] == 'write_bw' and row[13] > 0))
";
    let mut python = Command::new("/usr/bin/python3");
    let read = python.args(["-c", script, text(&path)]).output().unwrap();
    let said = String::from_utf8(read.stdout).unwrap();
    let failed = String::from_utf8_lossy(&read.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines.first(),
        Some(&"['Summary', 'Ways to write', 'Ways to read', 'Evidence', 'Trials']"),
        "{failed}"
    );
    assert!(lines[1].contains(ended.run_id().unwrap()), "{said}");
    assert!(lines[2].parse::<u32>().unwrap() >= 2, "{said}");
}

/// The link is its user's way to have the file elsewhere.
#[test]
fn a_report_to_a_link_is_written_where_the_link_leads() {
    let bed = Bed::new();
    bed.short_run(&bed.folder());
    let there = bed.folder_named("there");
    fs::write(there.join("old.json"), "old").unwrap();
    for name in ["old.json", "new.json"] {
        let link = bed.join(name);
        std::os::unix::fs::symlink(format!("there/{name}"), &link).unwrap();
        bed.run(&["report", "last", "-o", text(&link)])
            .assert_code(0);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{name}");
        let written = fs::read_to_string(there.join(name)).unwrap();
        assert!(written.starts_with('{'), "{name}");
    }
    assert_eq!(fs::read_dir(there).unwrap().count(), 2, "nothing else");
}
