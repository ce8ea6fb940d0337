//! `assay compare`, `rank` and `power`: of tables that others published, and of
//! runs of our own.

use crate::assay::{Bed, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Means and standard deviations of three trials, as AndroBench gave them for
/// CPU governors of a phone.
const GOVERNORS: &str = "\
condition,metric,unit,n,mean,stdev
interactive,rand_read,IOPS,3,1849.93,11.03
interactive,sqlite_delete,TPS,3,58.85,0.58
intellidemand,rand_read,IOPS,3,1117.60,60.42
intellidemand,sqlite_delete,TPS,3,34.22,0.61
intelliactive,rand_read,IOPS,3,1984.46,64.42
intelliactive,sqlite_delete,TPS,3,59.65,0.36
ondemand,rand_read,IOPS,3,1777.45,63.01
ondemand,sqlite_delete,TPS,3,53.84,1.20
";

fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).expect("a file");
    path
}

/// The words of all pairs of a metric: (A, B, word).
fn words<'a>(found: &'a Value, metric: &str) -> Vec<(&'a str, &'a str, &'a str)> {
    let word = |pair: &'a Value, key: &str| pair[key].as_str().expect("text");
    let pairs = found["pairs"].as_array().expect("a list").iter();
    pairs
        .filter(|pair| pair["metric"] == metric)
        .map(|pair| (word(pair, "a"), word(pair, "b"), word(pair, "verdict")))
        .collect()
}

#[test]
fn a_mistyped_name_is_told_to_be_neither_file_nor_run() {
    let bed = Bed::new();
    let table = file(&bed.folder(), "governors.csv", GOVERNORS);
    bed.run(&["store", "import", text(&table)]).assert_code(0);
    let line = bed.refused(&["rank", "governers.csv"]);
    for words in [
        "governers.csv is not a file, and no run or import",
        "assay list",
    ] {
        assert!(line.contains(words), "{line}");
    }
}

#[test]
fn a_published_table_is_ranked_as_its_figures_allow() {
    let bed = Bed::new();
    let table = file(&bed.folder(), "governors.csv", GOVERNORS);
    let ended = bed.run(&["rank", text(&table), "--baseline", "interactive", "--json"]);
    ended.assert_code(0);
    let found = ended.json();
    let delete = words(&found, "sqlite_delete");
    let of = |name: &str| delete.iter().find(|(_, b, _)| *b == name).map(|p| p.2);
    assert_eq!(of("intellidemand"), Some("slower"), "{delete:?}");
    assert_eq!(of("ondemand"), Some("slower"), "{delete:?}");
    assert_eq!(of("intelliactive"), Some("equivalent"), "{delete:?}");
    let letters: Vec<&str> = found["metrics"][1]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| condition["letters"].as_str().unwrap())
        .collect();
    // Nothing but the baseline, the second, was compared with the others.
    assert_eq!(letters, ["ab", "a", "b", "b"], "the best first");
    let screen = bed.run(&["rank", text(&table)]);
    screen.assert_code(0);
    assert!(screen.out.contains("letters"), "{}", screen.out);
    assert!(
        screen
            .out
            .starts_with(&format!("Conditions of {}", text(&table))),
        "{}",
        screen.out
    );
    bed.run(&["store", "import", text(&table), "--name", "governors"])
        .assert_code(0);
    let of_last = bed.run(&["rank", "last"]).out;
    assert!(
        of_last.starts_with("Conditions of governors against"),
        "{of_last}"
    );
}

#[test]
fn single_values_end_in_no_conclusion_with_what_to_do() {
    let bed = Bed::new();
    let table = file(
        &bed.folder(),
        "patch.csv",
        "workload,unit,before,after\nseq read,MB/s,86.9,91.5\nseq write,MB/s,38.3,55.5\n",
    );
    let allowed = ["compare", text(&table), "--gate", "--allow-unjudged"];
    bed.run(&allowed).assert_code(0);
    let ended = bed.run(&allowed[..3]);
    ended.assert_code(2);
    ended.assert_says(&["nothing was judged", "--allow-unjudged"]);
    assert_eq!(
        ended.out.matches("no conclusion").count(),
        2,
        "{}",
        ended.out
    );
    assert!(ended.out.contains("at least 4 times"), "{}", ended.out);
}

#[test]
fn a_gate_closes_on_what_is_slower() {
    let bed = Bed::new();
    let table = file(&bed.folder(), "governors.csv", GOVERNORS);
    let side = |name: &str| format!("{}@{name}", text(&table));
    let (a, b) = (side("interactive"), side("intellidemand"));
    let gate = |words: &[&str]| bed.run(&[&["compare"], words].concat());
    gate(&[&a, &b]).assert_code(0);
    gate(&[&a, &b, "--gate"]).assert_code(3);
    let qualified = gate(&[&a, &b, "--gate", "--replace"]);
    qualified.assert_code(3);
    // How many settle which is faster was not asked.
    assert!(!qualified.out.contains("more trials"), "{}", qualified.out);
    gate(&[&b, &a, "--gate"]).assert_code(0);
    let json = gate(&[&a, &b, "--json"]).json();
    let slower = [(a.as_str(), b.as_str(), "slower")];
    assert_eq!(words(&json, "rand_read"), slower);
}

#[test]
fn what_cannot_be_compared_is_said_in_a_line() {
    let bed = Bed::new();
    let folder = bed.folder();
    let table = file(&folder, "governors.csv", GOVERNORS);
    let all = text(&table);
    let line = bed.refused(&["compare", all]);
    assert!(line.contains("4 conditions"), "{line}");
    let line = bed.refused(&["compare", &format!("{all}@nope"), all]);
    assert!(line.contains("interactive"), "{line}");
    let one = format!("{all}@interactive");
    let line = bed.refused(&["compare", &one, &one]);
    assert!(line.contains("are the same results"), "{line}");
    let line = bed.refused(&["rank", all, "--baseline", "nope"]);
    assert!(line.contains("nope"), "{line}");
    let line = bed.refused(&["compare", "/no/such", all]);
    assert!(line.contains("/no/such"), "{line}");
    let empty = file(&folder, "empty.csv", "");
    let line = bed.refused(&["compare", text(&empty), all]);
    assert!(line.contains("empty"), "{line}");
    let line = bed.refused(&["compare", all, all, "--margin", "0"]);
    assert!(line.contains("margin"), "{line}");
    let odd = file(
        &folder,
        "odd.csv",
        "condition,metric,unit,value\nx,m,MB/s,NaN\ny,m,MB/s,-3\n",
    );
    bed.refused(&["compare", text(&odd)]);
}

/// Whatever the word is, it goes with the figures.
#[test]
fn two_runs_of_our_own_are_compared_by_what_decides() {
    let bed = Bed::new();
    let folder = bed.folder();
    let measure = || {
        let words = ["qualify", "--quick", "--size", "4M", "--trials", "4"];
        let only = ["--only", "rand-read-4k", "--json", text(&folder)];
        let ended = bed.run(&[&words[..], &only].concat());
        ended.assert_code(0);
        let id = ended.json()["run"]["id"].as_str().map(str::to_owned);
        id.expect("an id")
    };
    let (a, b) = (measure(), measure());
    let ended = bed.run(&["compare", &a, &b, "--json"]);
    ended.assert_code(0);
    let found = ended.json();
    let metric = "rand-read-4k: read_iops";
    let pair = words(&found, metric);
    assert_eq!(pair.len(), 1, "{found:#}");
    let line = &found["pairs"][0];
    assert_eq!((&line["a_n"], &line["b_n"]), (&4.into(), &4.into()));
    let end = |number: usize| line["ci95_pct"][number].as_f64().expect("an interval");
    let (low, high) = (end(0), end(1));
    let differs = low > 0.0 || high < 0.0;
    let told = ["faster", "slower"].contains(&pair[0].2);
    assert!(differs || !told, "{line:#}");
    let power = bed.run(&["model", "power", &a]);
    power.assert_code(0);
    assert!(power.out.contains(metric), "{}", power.out);
}

/// A change of the machine between both sides would look like a difference.
#[test]
fn runs_of_one_side_after_those_of_the_other_have_no_verdict() {
    let bed = Bed::new();
    let folder = bed.folder();
    for tag in ["old", "old", "old", "new", "new", "new"] {
        let words = ["qualify", "--quick", "--size", "1M", "--trials", "1"];
        let only = ["--only", "rand-read-4k", "--tag", tag, text(&folder)];
        bed.run(&[&words[..], &only].concat()).assert_code(0);
    }
    let line = bed.refused(&["compare", "--in-turn", "old", "new"]);
    assert!(line.contains("were not made in turn"), "{line}");
}

/// Runs that the store has from before tell what runs differ by; tags tell which run comes next.
#[test]
fn runs_in_turn_are_led_and_judged_at_their_looks() {
    let bed = Bed::new();
    let folder = bed.folder();
    let measure = |tag: &str, name: &str| {
        let words = ["qualify", "--quick", "--size", "4M", "--trials", "4"];
        let only = ["--only", "rand-read-4k", "--tag", tag, "--name", name];
        let only = [&only[..], &[text(&folder)]].concat();
        bed.run(&[&words[..], &only].concat()).assert_code(0);
    };
    let turn = |words: &[&str]| bed.run(&[&["compare", "--in-turn", "old", "new"], words].concat());
    measure("other", "r0");
    for (name, tag, made) in [
        ("r1", "old", "0 of old, 0 of new"),
        ("r2", "new", "1 of old, 0 of new"),
        ("r3", "new", "1 of old, 1 of new"),
        ("r4", "old", "1 of old, 2 of new"),
        ("r5", "old", "2 of old, 2 of new"),
        ("r6", "new", "3 of old, 2 of new"),
    ] {
        let asked = turn(&[]);
        asked.assert_code(0);
        let last = asked.err.join("\n");
        assert!(last.contains(made), "{last}");
        assert!(last.ends_with(&format!("--tag {tag}")), "{last}");
        measure(tag, name);
    }
    let gate = ["compare", "--in-turn", "old", "nosuch", "--gate"];
    let line = bed.refused(&gate);
    assert!(line.contains("nothing was judged yet"), "{line}");
    bed.run(&[&gate[..], &["--allow-unjudged"]].concat())
        .assert_code(0);
    let looked = turn(&["--json"]);
    looked.assert_code(0);
    let found = looked.json();
    let line = &found["pairs"][0];
    assert_eq!((&line["a_n"], &line["b_n"]), (&3.into(), &3.into()));
    assert_eq!(found["alpha"], 0.0294, "{found:#}");
    assert_eq!(found["scope"], "this one device, by 3 and 3 runs");
    // One run a side, with those before them.
    let told = bed.run(&["compare", "r5", "r6"]);
    let said = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("known from up to 5 earlier runs"), "{said}");
}

#[test]
fn the_table_of_trials_is_that_of_the_method() {
    // A margin that is far below what can be found: differences within one are equivalent.
    let ended = Bed::new().run(&["model", "power", "--cv", "2", "--margin", "1", "--json"]);
    ended.assert_code(0);
    let found = ended.json();
    let rows = found["tables"][0]["rows"].as_array().expect("rows");
    let ten = rows.iter().find(|row| row["n"] == 10).expect("ten trials");
    let difference = ten["difference_pct"].as_f64().unwrap();
    assert!((2.0..3.0).contains(&difference), "{difference}");
}

#[test]
fn metrics_that_one_side_lacks_are_named_in_one_note() {
    const BOTH: &str = "metric,trial,value,unit\nread,1,100,MB/s\nread,2,101,MB/s\n";
    let bed = Bed::new();
    let folder = bed.folder();
    let lone = format!("{BOTH}write,1,5,MB/s\nerase,1,5,MB/s\ntrim,1,5,MB/s\n");
    let a = file(&folder, "a.csv", &lone);
    let b = file(&folder, "b.csv", BOTH);
    let told = bed.run(&["compare", text(&a), text(&b)]).out;
    let note = "write and 2 more are missing on b";
    assert!(told.contains(note), "{told}");
    assert_eq!(told.matches("missing on ").count(), 1, "{told}");
}

/// Results of four trials that vary by 1 % around a rate.
fn four(rate: f64) -> String {
    let trials = [1.0, 0.99, 1.01, 1.0].map(|share| rate * share);
    let rows = trials.iter().zip(1..);
    let rows = rows.map(|(value, trial)| format!("read,{trial},{value},MB/s\n"));
    format!("metric,trial,value,unit\n{}", rows.collect::<String>())
}

#[test]
fn sides_are_called_by_their_files_and_the_answer_is_last() {
    let bed = Bed::new();
    let folder = bed.folder();
    let [a, b] = [("before.csv", 100.0), ("after.csv", 80.0)]
        .map(|(name, rate)| file(&folder, name, &four(rate)));
    let compare = |words: &[&str]| bed.run(&[&["compare", text(&a), text(&b)], words].concat());
    let shown = compare(&[]);
    shown.assert_code(0);
    let last = shown.out.lines().last();
    assert_eq!(last, Some("  after is slower in read."), "{}", shown.out);
    assert!(
        shown.out.contains("MB/s  before  after   change  interval"),
        "{}",
        shown.out
    );
    // Programs read A and B.
    let json = compare(&["--json"]).json();
    assert!(!json["warnings"].to_string().contains("after"), "{json:#}");

    let note = bed.join("note.patch");
    compare(&["-o", text(&note)]).assert_code(0);
    let note = fs::read_to_string(&note).expect("it was written");
    assert!(note.lines().count() <= 11, "{note}");
    assert_eq!(note, compare(&["--format", "patch"]).out);
    assert_eq!(note.lines().last(), last, "{note}");
    let refused = bed.run(&["report", text(&a), "--format", "patch"]);
    refused.assert_code(2);

    let report = |words: &[&str]| bed.run(&[&["report", text(&a), text(&b)], words].concat());
    assert_eq!(report(&["--explain"]).out, compare(&["--explain"]).out);
    let drawn = |words: &[&str]| {
        let path = bed.join("changes.svg");
        let words = [words, &["--chart", "changes", "-o", text(&path)]].concat();
        report(&words).assert_code(0);
        fs::read_to_string(&path).expect("it was drawn")
    };
    assert_ne!(
        drawn(&[]),
        drawn(&["--margin", "50"]),
        "charts take the terms"
    );
}

#[test]
fn three_sources_are_compared_with_the_first() {
    let bed = Bed::new();
    let folder = bed.folder();
    let files = [
        ("v6.6.csv", 100.0),
        ("v6.12.csv", 80.0),
        ("v6.18.csv", 100.5),
    ]
    .map(|(name, rate)| file(&folder, name, &four(rate)));
    let [a, b, c] = files.each_ref().map(|path| text(path));
    let shown = bed.run(&["compare", a, b, c]);
    shown.assert_code(0);
    let lines: Vec<&str> = shown.out.lines().collect();
    let last = &lines[lines.len() - 2..];
    assert!(last[0].starts_with("  v6.12 is slower"), "{}", shown.out);
    assert!(
        last[1].starts_with("  v6.18 is equivalent"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("80.0 -20.0 % S"), "{}", shown.out);

    let both = bed.run(&["compare", a, b, "--json"]).json();
    let all = bed.run(&["compare", a, b, c, "--json"]).json();
    assert_eq!(both["alpha"], 0.05);
    assert_eq!(all[0]["alpha"], 0.025, "the level is divided");
    assert_eq!(all.as_array().map(Vec::len), Some(2));
    bed.run(&["compare", a, b, c, "--gate"]).assert_code(3);
    bed.run(&["compare", a, c, c, "--gate"]).assert_code(0);
    bed.run(&["compare", a, a, c]).assert_code(2);
    bed.run(&["compare", a, b, c, "--format", "junit"])
        .assert_code(2);
    bed.run(&["compare", a, b, c, "--replace"]).assert_code(2);

    // A regression counts before what was not judged, and that has the name of its side.
    let one = file(
        &folder,
        "one.csv",
        "metric,trial,value,unit\nread,1,100,MB/s\n",
    );
    let one = text(&one);
    bed.run(&["compare", a, one, b, "--gate"]).assert_code(3);
    let open = bed.run(&["compare", a, one, c, "--gate"]);
    open.assert_code(2);
    open.assert_says(&["one: nothing was judged"]);

    let written = bed.join("all.md");
    let told = bed.run(&["compare", a, b, c, "-o", text(&written)]);
    told.assert_says(&["v6.12 is slower"]);
    told.assert_says(&["v6.18 is equivalent"]);
    let page = fs::read_to_string(&written).expect("it was written");
    let at = |words: &str| page.find(words).expect("the words");
    assert!(at("v6.12 is slower") < at("Main figures"), "{page}");
}
