//! `assay model explain` and `assay model fit RUN`: where the time went, on devices whose costs are
//! known, where there is no flash, and where nothing can be told.

use crate::assay::{Bed, text};
use assay_testkit::{Mount, Volume, needs, or_skip};
use serde_json::Value;
use std::fs;

/// A card that costs what it says, and nothing beside.
const CARD: &str = r#"
name = "card"
about = "a card"
source = "made up"
bus = "hs200"
max_request_kib = 512
timer_ms = 150
noise_percent = 1
[read]
command_us = 150.0
ramp_us = 2.5
ramp_blocks = 32
block_us = 3.2
break_us = 60.0
resume_us = 40.0
[write]
program_us = 900.0
ramp_us = 9.0
ramp_blocks = 128
block_us = 5.5
break_us = 60.0
"#;

fn list(value: &Value) -> &[Value] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"))
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

/// A stored run of a job for each size and direction, on the card; the words of its path.
fn measured(bed: &Bed) -> String {
    let file = bed.join("card.toml");
    fs::write(&file, CARD).expect("it can be written");
    let part = format!("sim:{}", text(&file));
    let mut jobs = format!("[global]\nioengine={part}\nsize=512m\ntime_based\nruntime=2\n");
    for rw in ["randread", "randwrite"] {
        for bs in ["512", "4k", "8k", "32k", "128k", "512k"] {
            jobs += &format!("[{rw}-{bs}]\nstonewall\nrw={rw}\nbs={bs}\n");
        }
    }
    jobs += "[deep]\nstonewall\nrw=randread\nbs=4k\niodepth=8\n";
    let path = bed.join("sizes.fio");
    fs::write(&path, jobs).expect("it can be written");
    bed.run(&["run", text(&path)]).assert_code(0);
    part
}

/// What is said of the last run names nothing that only flash has.
pub fn assert_claims_no_flash(bed: &Bed) {
    let shown = bed.run(&["model", "explain", "last"]);
    shown.assert_code(0);
    for word in ["garbage collection", "erase unit", "mapping", "programming"] {
        let said = shown.out.lines().filter(|line| line.contains(word));
        let claims = said.filter(|line| !line.contains("Nothing is said about"));
        assert_eq!(claims.count(), 0, "{word}: {}", shown.out);
    }
}

/// Runs `assay model explain`, and checks that its parts add up.
pub fn explained(bed: &Bed, words: &[&str]) -> Value {
    let ended = bed.run(&[&["model", "explain"], words, &["--json"]].concat());
    ended.assert_code(0);
    let found = ended.json();
    for result in list(&found["results"]) {
        let sum: f64 = list(&result["parts"])
            .iter()
            .map(|part| number(&part["us"]))
            .sum();
        let total = number(&result["total_us"]);
        let latency = number(&result["latency_us"]) + number(&result["flush_us"]);
        assert!((sum / total - 1.0).abs() < 1e-6, "{result}");
        assert!((latency / total - 1.0).abs() < 1e-6, "{result}");
    }
    found
}

fn result<'v>(found: &'v Value, job: &str) -> &'v Value {
    let mut all = list(&found["results"]).iter();
    all.find(|one| one["job"] == job)
        .unwrap_or_else(|| panic!("no {job}: {found}"))
}

fn part_us(result: &Value, part: &str) -> f64 {
    let all = list(&result["parts"]).iter();
    all.filter(|one| one["part"] == part)
        .map(|one| number(&one["us"]))
        .sum()
}

#[test]
fn a_fit_gives_the_parameters_of_the_part_back() {
    let bed = Bed::new();
    measured(&bed);
    let file = bed.join("fitted.toml");
    let words = [
        "model",
        "fit",
        "last",
        "--write-part",
        text(&file),
        "--json",
    ];
    let ended = bed.run(&words);
    ended.assert_code(0);
    let found = ended.json();
    let parameters = list(&found["parameters"]);
    let named = |name: &str| {
        let mut named = parameters.iter().filter(|one| one["name"] == name);
        named.next().unwrap_or_else(|| panic!("no {name}: {found}"))
    };
    for (name, truth) in [
        ("read.command", 150.0),
        ("read.ramp", 2.5),
        ("read.block", 3.2),
        ("write.program", 900.0),
        ("write.ramp", 9.0),
        ("write.block", 5.5),
    ] {
        let (value, error) = (number(&named(name)["value"]), &named(name)["std_error"]);
        let within = (value / truth - 1.0).abs() < 0.03;
        assert!(
            within && number(error) < 0.05 * truth,
            "{name}: {value} ± {error}"
        );
    }
    assert!(named("read.break")["std_error"].is_null(), "{found}");
    let words = ["model", "fit", "last", "--only", "randread-*", "--json"];
    let reads = bed.run(&words).json();
    assert_eq!(list(&reads["rates"]).len(), 6, "{reads}");
    let unknown = bed.refused(&["model", "fit", "last", "--only", "nothing"]);
    assert!(unknown.contains("no results of such a job"), "{unknown}");
    let left_out = list(&found["left_out"]);
    assert_eq!(left_out.len(), 1, "{found}");
    assert!(
        text_of(&left_out[0]["why"]).contains("in flight"),
        "{found}"
    );
    // What was written can be simulated, and has the rate that was measured.
    let path = format!("sim:{}", text(&file));
    let run = bed.run(&[
        "qualify",
        &path,
        "--quick",
        "--only",
        "rand-read-4k",
        "--json",
    ]);
    run.assert_code(0);
    let card = bed.run(&["model", "explain", "last", "--json"]).json();
    let us = number(&result(&card, "rand-read-4k")["latency_us"]);
    assert!(
        (us / (150.0 + 8.0 * (2.5 + 3.2)) - 1.0).abs() < 0.03,
        "{us}"
    );
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[test]
fn the_time_of_a_simulated_io_went_where_the_model_spent_it() {
    let bed = Bed::new();
    measured(&bed);
    let found = explained(&bed, &["last"]);
    let read = result(&found, "randread-4k");
    assert!((part_us(read, "command") - 150.0).abs() < 3.0, "{read}");
    assert!((part_us(read, "ramp") - 20.0).abs() < 0.5, "{read}");
    let data = part_us(read, "bus") + part_us(read, "data");
    assert!((data - 25.6).abs() < 0.1, "{read}");
    let write = result(&found, "randwrite-128k");
    let program = 900.0 + 9.0 * 128.0;
    assert!(
        (part_us(write, "program") / program - 1.0).abs() < 0.02,
        "{write}"
    );
    let deep = result(&found, "deep");
    assert!(
        part_us(deep, "queue") > 0.8 * number(&deep["total_us"]),
        "{deep}"
    );
    let helps = list(&read["helps"]);
    assert!(
        text_of(&helps[0]["sentence"]).starts_with("Larger I/Os"),
        "{read}"
    );
    let few = explained(&bed, &["last", "--only", "deep"]);
    assert_eq!(list(&few["results"]).len(), 1, "{few}");
    // In order of what they can save.
    let shares: Vec<f64> = helps.iter().map(|help| number(&help["share"])).collect();
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
}

#[test]
fn the_page_caches_figures_are_not_fitted_and_not_divided_as_a_devices() {
    needs!(root);
    let bed = Bed::new();
    let memory = or_skip!(Mount::tmpfs(96, &bed.join("memory")));
    bed.measure(memory.point(), "16M", "read-cached,rand-read-4k", &[]);
    let refused = bed.refused(&["model", "fit", "last"]);
    assert!(refused.contains("page cache"), "{refused}");
    assert!(refused.contains("direct I/O"), "{refused}");
    let found = explained(&bed, &["last", "--bus", "hs400"]);
    assert_eq!(found["fits"][0]["status"], "refused", "{found}");
    for result in list(&found["results"]) {
        for part in list(&result["parts"]) {
            let word = text_of(&part["part"]);
            assert!(
                ["processor", "waiting", "whole"].contains(&word),
                "{result}"
            );
        }
    }
}

#[test]
fn a_page_has_a_few_links_and_a_heading_for_each_result() {
    let bed = Bed::new();
    measured(&bed);
    let page = bed.join("explained.html");
    bed.run(&["model", "explain", "last", "-o", text(&page)])
        .assert_code(0);
    let page = fs::read_to_string(page).expect("a page");
    // A page of few sections has no links to them.
    let (links, rest) = page.split_once("</nav>").unwrap_or(("", &page));
    let links = links.split_once("<nav").map_or("", |(_, links)| links);
    let count = links.matches("<a ").count();
    assert!(count <= 5, "{links}");
    assert_eq!(rest.matches("<h3>").count(), 13, "{rest}");
}

#[test]
fn nothing_of_flash_is_claimed_of_a_loop_device() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 128));
    let bed = Bed::new();
    let jobs = "rand-read-*,rand-write-4k,append-4k-fsync,seq-read-1m";
    bed.measure(volume.point(), "32M", jobs, &[]);
    let found = explained(&bed, &["last"]);
    let why = text_of(&found["not_flash"]);
    assert!(
        why.starts_with("loop device is not known to be flash; its file is on"),
        "{why}"
    );
    assert_claims_no_flash(&bed);
    let append = result(&found, "append-4k-fsync");
    let flush: f64 = ["flush", "flush-device", "flush-rest"]
        .map(|part| part_us(append, part))
        .iter()
        .sum();
    assert!(
        (flush / number(&append["flush_us"]) - 1.0).abs() < 1e-6,
        "{append}"
    );
}

#[test]
fn conditions_are_not_mixed() {
    let bed = Bed::new();
    let file = bed.join("none");
    let refused = bed.refused(&["model", "fit", text(&file)]);
    assert!(refused.contains("not a file of rates"), "{refused}");
    measured(&bed);
    for words in [
        &["model", "explain", "last@bfq"][..],
        &["model", "fit", "last@bfq"],
    ] {
        let refused = bed.refused(words);
        assert!(refused.contains("condition bfq"), "{refused}");
    }
    let table = bed.join("table.csv");
    let conditions = [
        "scheduler=none,nr_requests=64",
        "scheduler=bfq,nr_requests=64",
    ];
    let rows = conditions.map(|condition| format!("\"{condition}\",read_bw,MB/s,5,100,2\n"));
    let text_of_table = format!("condition,metric,unit,n,mean,stdev\n{}", rows.concat());
    fs::write(&table, text_of_table).expect("it can be written");
    bed.run(&["store", "import", text(&table)]).assert_code(0);
    // A setting that only one condition has names it, as in assay compare.
    let found = bed
        .run(&["model", "explain", "last@scheduler=bfq", "--json"])
        .json();
    assert_eq!(found["figures"][0]["condition"], conditions[1]);
    let refused = bed.refused(&["model", "explain", "last@nr_requests=64"]);
    assert!(refused.contains("several conditions"), "{refused}");
    let other = bed.refused(&["model", "explain", "last", "--bus", "hs401"]);
    assert!(other.contains("did you mean hs400?"), "{other}");
}

#[test]
fn a_killed_run_is_explained_as_far_as_it_came() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = [
        "--size",
        "8M",
        "--trials",
        "500",
        "--only",
        "ladder-dsync,seq-read-1m",
    ];
    let mut running = bed.qualify(&folder, &words);
    running.await_trials(2);
    running.kill(true);
    let found = explained(&bed, &["last"]);
    assert_eq!(list(&found["results"]).len(), 2, "{found}");
    let shown = bed.run(&["model", "explain", "last"]);
    assert!(shown.out.contains("was stopped or killed"), "{}", shown.out);
    // The next start clears up what is left.
    bed.short_run(&folder);
}

#[test]
fn a_trial_that_is_damaged_is_named_and_the_others_are_explained() {
    needs!("/usr/bin/python3");
    let bed = Bed::new();
    measured(&bed);
    let whole = explained(&bed, &["last"]);
    let damage = "import sqlite3, sys\n\
        store = sqlite3.connect(sys.argv[1])\n\
        store.execute(\"UPDATE trials SET record = x'00' WHERE job = 'randread-4k'\")\n\
        store.commit()";
    let mut python = assay_testkit::command("/usr/bin/python3");
    let status = python.args(["-c", damage]).arg(bed.store()).status();
    assert!(status.expect("it can be started").success());
    let ended = bed.run(&["model", "explain", "last", "--json"]);
    ended.assert_code(0);
    assert!(
        ended.err.iter().any(|line| line.contains("damaged")),
        "{:?}",
        ended.err
    );
    let found = ended.json();
    assert_eq!(
        list(&found["results"]).len() + 1,
        list(&whole["results"]).len()
    );
    let without = list(&found["without"]);
    assert!(
        without.iter().any(|one| one["job"] == "randread-4k"),
        "{without:?}"
    );
}

/// The published i.MX8M board, in the words of `assay model limits`.
#[test]
fn an_import_is_placed_on_its_bus_and_not_divided() {
    let bed = Bed::new();
    let path = bed.join("board.csv");
    let table =
        "metric,mean,unit,measured\nseq read 1m,275,MiB/s,device\nseq write 1m,54.3,MiB/s,\n";
    fs::write(&path, table).expect("it can be written");
    bed.run(&["store", "import", text(&path)]).assert_code(0);
    let found = bed
        .run(&["model", "explain", "last", "--bus", "hs400", "--json"])
        .json();
    assert_eq!(found["fit"]["status"], "refused");
    let words = [
        "limits",
        "--bus",
        "hs400",
        "--read",
        "275MiB/s",
        "--write",
        "54.3MiB/s",
    ];
    let mut command = bed.command_without_store(&[&["model"], &words[..], &["--json"]].concat());
    let limits = crate::assay::Running::start(&mut command).end().json();
    for (figure, limit) in list(&found["figures"])
        .iter()
        .zip(list(&limits["measured"]))
    {
        assert_eq!(figure["bus"], *limit);
    }
    let mut command = bed.command_without_store(&[&["model"], &words[..]].concat());
    let shown = crate::assay::Running::start(&mut command).end().out;
    let shown: Vec<&str> = shown.split_whitespace().collect();
    for figure in list(&found["figures"]) {
        let (proviso, sentence) = text_of(&figure["sentence"]).split_once(": ").unwrap();
        assert!(proviso.contains("in order and with one such request at a time"));
        assert!(shown.join(" ").contains(sentence), "{figure}");
    }
    let refused = bed.refused(&["model", "fit", "last"]);
    assert!(refused.contains("is an import"), "{refused}");
}
