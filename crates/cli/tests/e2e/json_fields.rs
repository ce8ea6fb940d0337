//! Every field of the JSON that assay prints is described by a page.

use crate::assay::{Bed, Running};
use crate::pages::{root, run, sandbox};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Commands that print a run, with the page of their `trials[].detail`.
const RUNS: [(&str, &str); 16] = [
    (
        "qualify",
        "qualify sim:emmc-8gb-hs400 --quick --trials 2 --only rand-*,seq-* --json",
    ),
    ("ping", "ping sim:emmc-8gb-hs400 --json"),
    (
        "load-curve",
        "load-curve sim:emmc-8gb-hs400 --rates 100 --trials 1 --json",
    ),
    ("mark", "mark sim:emmc-8gb-hs400 --trials 1 --json"),
    ("dd", "dd if=/dev/zero of=zeros bs=64k count=2 --json"),
    ("iozone", "iozone -i 0 -i 1 -s 64k -r 4k --json"),
    (
        "androbench",
        "androbench --size 64k --transactions 4 --trials 1 --json",
    ),
    (
        "disks",
        "disks zeros --sample-size 64k --samples 4 --access-samples 4 --json",
    ),
    ("capacity", "capacity . --end 1 --limit 1M --json"),
    (
        "memory",
        "mem bandwidth latency --size 64k --largest-set 64k --trials 1 --json",
    ),
    ("memory", "mem stress --stress-size 1M --json"),
    (
        "memory",
        "mem stress --stress-size 1M --flip-bit 8.1 --json",
    ),
    ("soak", "lab soak . --size 1M --passes 1 --json"),
    (
        "scenarios",
        "scenario database-log . --scale 0.01 --trials 1 --json",
    ),
    (
        "scenarios",
        "scenario ota-files . --scale 0.005 --trials 1 --json",
    ),
    ("replay", "replay trace.log . --json"),
];

/// Commands that print another document, with its page. Those before make what later ones show.
const OTHERS: [(&str, &str); 31] = [
    (
        "json",
        "qualify sim:rtsx-sd-pro-plus-128,noise=3 --quick --name a --json",
    ),
    (
        "json",
        "qualify sim:rtsx-sd-pro-plus-128,noise=3,policy=open --quick --name b --json",
    ),
    ("json", "report a --json"),
    ("json", "list --json"),
    (
        "model",
        "model limits --bus hs400 --read 200MB/s --write 50MB/s --json",
    ),
    (
        "model",
        "model simulate --part emmc-8gb-hs400 --ios 100 --json",
    ),
    ("model", "model simulate --parts --json"),
    ("model", "model fit rates.csv --json"),
    ("model", "model fit a --json"),
    ("model", "model compare --json"),
    ("model", "model check --json"),
    ("explain", "model explain a --json"),
    (
        "traits",
        "model traits sim:emmc-8gb-hs400,noise=1 --size 256M --json",
    ),
    ("verdicts", "compare a b --json"),
    (
        "require",
        "require a --file examples/requirements.toml --json",
    ),
    ("verdicts", "rank examples/governors.csv --json"),
    ("verdicts", "model power a --json"),
    (
        "import",
        "store import examples/rtsx-before-after.csv --name c --json",
    ),
    ("explain", "model explain c --bus sdr104 --json"),
    ("series", "series --json"),
    ("series", "series seq-read-1m --json"),
    ("devices", "devices --json"),
    ("devices", "doctor . --json"),
    ("devices", "doctor --self --json"),
    ("config", "lab config --json"),
    ("boards", "lab targets --json"),
    ("watch", "watch --samples 2 --interval 50ms --json"),
    ("watch", "watch --json -- true"),
    ("replay", "replay --describe trace.log --json"),
    ("store", "store push --all --to other.sqlite --json"),
    ("population", "store share a --dry-run"),
];

/// Objects whose keys are data.
const DATA: [&str; 3] = ["raw", "percentiles_ns", "registers"];

fn text_of(page: &str) -> String {
    fs::read_to_string(root().join(format!("docs/{page}.md"))).expect("a page")
}

/// Pages with JSON that a page refers to.
fn referred(text: &str) -> impl Iterator<Item = &str> {
    let links = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let pages = links.filter_map(|link| link.split_once(".md#"));
    let of_json = pages.filter(|(page, anchor)| *page == "json" || anchor.contains("json"));
    of_json.map(|(page, _)| page)
}

/// Words in code spans and code blocks of a page.
fn described(page: &str) -> BTreeSet<String> {
    let text = text_of(page);
    let spans = text.split('`').skip(1).step_by(2);
    let words = spans.flat_map(|span| span.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.map(str::to_owned).collect()
}

/// Paths of the fields, one for each name.
fn fields(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(object) => {
            let is_data = DATA.iter().any(|name| path.ends_with(&format!(".{name}")));
            for (name, value) in object {
                let path = format!("{path}.{name}");
                if !is_data {
                    found.entry(name.clone()).or_insert_with(|| path.clone());
                }
                fields(value, &path, found);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| fields(item, &format!("{path}[]"), found)),
        _ => {}
    }
}

#[test]
fn each_field_is_on_a_page() {
    let bed = Bed::new();
    let folder = sandbox(&bed);
    let rates = "randread,8k,16.5MiB/s\nread,1M,80MiB/s\nwrite,1M,30MiB/s\n";
    fs::write(folder.join("rates.csv"), rates).expect("a file");
    let trace =
        "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf sync 0 0\nf read 0 4096\nf close\n";
    fs::write(folder.join("trace.log"), trace).expect("a file");
    let of_runs = described("json");
    let mut missing = Vec::new();
    let runs = RUNS.iter().map(|(page, words)| (page, words, true));
    let others = OTHERS.iter().map(|(page, words)| (page, words, false));
    for (page, command, is_run) in others.chain(runs) {
        let words = shlex::split(&format!("assay {command}")).expect("words");
        let ended = run(&bed, &folder, &words);
        assert!(
            matches!(ended.code, Some(0 | 3 | 4)),
            "{command}: {ended:#?}"
        );
        let mut found = BTreeMap::new();
        fields(&ended.json(), "", &mut found);
        let mut known = described(page);
        known.extend(referred(&text_of(page)).flat_map(described));
        if is_run {
            known.extend(of_runs.iter().cloned());
        }
        let unknown = found.iter().filter(|(name, _)| !known.contains(*name));
        missing.extend(unknown.map(|(_, path)| format!("docs/{page}.md: {command}: {path}")));
    }
    assert!(missing.is_empty(), "not described: {missing:#?}");
}

#[test]
fn each_column_of_the_csv_of_watch_is_on_its_page() {
    let bed = Bed::new();
    let words = ["watch", "--samples", "1", "--interval", "50ms", "--csv"];
    let ended = Running::start(&mut bed.command_without_store(&words)).end();
    let known = described("watch");
    let columns = ended.out.lines().next().expect("a header").split(',');
    let missing: Vec<&str> = columns.filter(|column| !known.contains(*column)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn each_field_that_fio_does_not_have_is_on_its_page() {
    let bed = Bed::new();
    let job = "assay fio --name=a --size=64k --rw=rw --end_fsync=1 --output-format=json";
    let ended = run(&bed, &bed.folder(), &shlex::split(job).expect("words"));
    let mut found = BTreeMap::new();
    fields(&ended.json()["jobs"][0]["assay"], "", &mut found);
    let mut known = described("fio");
    known.extend(described("json"));
    let missing: Vec<_> = found
        .iter()
        .filter(|(name, _)| !known.contains(*name))
        .collect();
    assert!(!found.is_empty() && missing.is_empty(), "{missing:?}");
}
