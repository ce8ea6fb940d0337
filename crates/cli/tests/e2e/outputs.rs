//! What comes out: standard output is data, standard error is talk, and
//! neither is coloured where nobody asked for it.

use crate::assay::{Bed, Ended, Running, pattern, text};
use assay_testkit::{LoopDevice, Scratch, needs, or_skip};
use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::process::Stdio;

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
    for words in [&["list"][..], &["report", "last"], &["--help"]] {
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
    let line = format!("{assay} report last --store {}", text(&bed.store()));
    let shown = |no_color: Option<&str>| {
        let mut command = assay_testkit::command("script");
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
        &["report", "last", "--json"][..],
        &["report", "last"],
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
        let shown = bed.run(&["report", name]);
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
charts = book['Charts']._charts
print([type(chart).__name__ for chart in charts])
print(charts[0].series[0].errBars.plus.numRef.f)
";
    let mut python = assay_testkit::command("/usr/bin/python3");
    let read = python.args(["-c", script, text(&path)]).output().unwrap();
    let said = String::from_utf8(read.stdout).unwrap();
    let failed = String::from_utf8_lossy(&read.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines.first(),
        Some(&"['Summary', 'Charts', 'Ways to write', 'Ways to read', 'Evidence', 'Trials']"),
        "{failed}"
    );
    assert!(lines[1].contains(ended.run_id().unwrap()), "{said}");
    assert!(lines[2].parse::<u32>().unwrap() >= 2, "{said}");
    assert_eq!(lines[3], "['BarChart']", "{said}");
    assert!(lines[4].starts_with("Charts!$D$"), "{said}");
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

/// Words of commands that would write results to a path.
fn writers(path: &str) -> Vec<Vec<String>> {
    let job = [
        "fio",
        "--name=j",
        "--ioengine=null",
        "--rw=read",
        "--size=4k",
    ];
    let job: Vec<String> = job.map(str::to_owned).to_vec();
    let with = |word: String| [job.clone(), vec![word]].concat();
    vec![
        with(format!("--output={path}")),
        with(format!("--write_iolog={path}")),
        ["report", "last", "--chart", "-o", path]
            .map(str::to_owned)
            .to_vec(),
    ]
}

#[test]
fn results_are_not_written_over_a_device_or_the_file_behind_one() {
    needs!(root);
    let bed = Bed::new();
    let image = bed.join("disk.svg");
    let content = pattern(1 << 20);
    fs::write(&image, &content).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    bed.short_run(&bed.folder());
    for path in [image.as_path(), device.node()] {
        for words in writers(text(path)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut command = match words[0] {
                "fio" => bed.command_without_store(&words),
                _ => bed.command(&words),
            };
            let ended = Running::start(&mut command).end();
            assert_ne!(ended.code, Some(0), "{words:?}");
            assert!(fs::read(&image).unwrap() == content, "{words:?}");
            let said = ended.err.join("\n");
            let reason = said.contains("is a block device") || said.contains("the file behind");
            assert!(reason || words[0] == "report", "{words:?}: {said}");
        }
    }
    assert!(
        fs::metadata(device.node())
            .unwrap()
            .file_type()
            .is_block_device()
    );
}

#[test]
fn laying_out_the_file_behind_a_device_in_use_is_refused() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let image = scratch.join("disk.img");
    let content = pattern(1 << 20);
    fs::write(&image, &content).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    // As a mount does.
    let flags = OFlags::RDWR | OFlags::EXCL;
    let held = rustix::fs::open(device.node(), flags, Mode::empty()).unwrap();
    let bed = Bed::new();
    let file = format!("--filename={}", image.display());
    let read = |size: &str| {
        let words = ["fio", "--name=j", "--rw=read", &file, size];
        Running::start(&mut bed.command_without_store(&words)).end()
    };
    let refused = read("--size=2m");
    refused.assert_code(2);
    assert!(fs::read(&image).unwrap() == content);
    read("--size=1m").assert_code(0);
    drop(held);
}

#[test]
fn a_pipe_or_a_null_device_takes_a_report() {
    let bed = Bed::new();
    bed.short_run(&bed.folder());
    let words = ["report", "last", "--format", "json", "-o", "/dev/null"];
    bed.run(&words).assert_code(0);
    let kind = fs::metadata("/dev/null").unwrap().file_type();
    assert!(kind.is_char_device(), "it is in nobody's way");
}

#[test]
fn a_named_pipe_is_not_waited_for() {
    let bed = Bed::new();
    let pipe = bed.join("pipe");
    let made = assay_testkit::command("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|made| made.success()));
    let import = bed.refused(&["store", "import", text(&pipe)]);
    assert!(import.contains("a named pipe"), "{import}");
    let folder = bed.folder();
    let replay = bed.refused(&["replay", text(&pipe), text(&folder)]);
    assert!(replay.contains("a named pipe"), "{replay}");
}

#[test]
fn a_small_stack_is_enough() {
    let bed = Bed::new();
    let folder = bed.folder();
    let line = format!(
        "ulimit -s 64; exec {} qualify {} --quick --size 1M --trials 1 --only read-cached \
         --store {}",
        env!("CARGO_BIN_EXE_assay"),
        text(&folder),
        text(&bed.store())
    );
    let mut shell = assay_testkit::command("sh");
    Running::start(shell.args(["-c", &line]))
        .end()
        .assert_code(0);
}
