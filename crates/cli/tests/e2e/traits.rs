//! `assay model traits`, on a simulated device whose traits are known, and where there is no flash.

use crate::assay::{Bed, text};
use assay_testkit::{Mount, Volume, needs, or_skip};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

/// A card that has all traits.
const CARD: &str = r#"
name = "all-traits"
about = "all traits"
source = "made up"
bus = "hs400"
max_request_kib = 512
timer_ms = 150
noise_percent = 5
queue_depth = 32
units = 4
[read]
command_us = 150.0
ramp_us = 2.0
ramp_blocks = 32
break_us = 60.0
resume_us = 40.0
[write]
program_us = 350.0
ramp_us = 8.0
ramp_blocks = 128
block_us = 3.0
break_us = 60.0
[cache]
size_kib = 256
drain_us = 20.0
flush_us = 400.0
[map]
region_kib = 4096
regions = 64
load_us = 120.0
[slc]
size_kib = 131072
fold_us = 40.0
[flash]
page_kib = 16
page_us = 40.0
unit_kib = 4096
unit_us = 60.0
map_kib = 4
rmw_us = 500.0
open_units = 6
close_us = 3000.0
"#;

fn of<'a>(found: &'a Value, what: &str) -> &'a Value {
    let all = found["traits"].as_array().expect("traits");
    let mut named = all.iter().filter(|one| one["trait"] == what);
    named.next().unwrap_or_else(|| panic!("no {what}: {found}"))
}

/// Words of lines that were wrapped.
fn in_line(out: &str) -> String {
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_traits_of_a_known_card_are_stated() {
    let bed = Bed::new();
    let file = bed.join("card.toml");
    fs::write(&file, CARD).expect("it can be written");
    let path = format!("sim:{}", text(&file));
    let plots = bed.join("plots");
    let words = [
        "model",
        "traits",
        &path,
        "--seed",
        "1",
        "--json",
        "--plots",
        text(&plots),
    ];
    let ended = bed.run(&words);
    ended.assert_code(0);
    let found = ended.json();
    let value = |what: &str, field: &str| {
        let values = &of(&found, what)["values"];
        values[field]
            .as_f64()
            .unwrap_or_else(|| panic!("{what} {field}: {values}"))
    };
    assert!((value("read-costs", "command_us") / 150.0 - 1.0).abs() < 0.05);
    assert!(value("read-costs", "worst_prediction_pct") < 10.0);
    assert_eq!(of(&found, "boundaries")["values"][0]["bytes"], 16384);
    assert_eq!(of(&found, "boundaries")["values"][1]["bytes"], 4 << 20);
    assert_eq!(value("map-unit", "bytes"), 4096.0);
    assert_eq!(
        (value("open-units", "least"), value("open-units", "most")),
        (6.0, 6.0)
    );
    let span = f64::from(256 << 20);
    assert!(value("map-span", "least_bytes") < span && span < value("map-span", "most_bytes"));
    assert!(value("slc", "fast_bytes_per_s") > 1.5 * value("slc", "slow_bytes_per_s"));
    assert!(value("queue", "gain") > 2.0);
    assert_eq!(of(&found, "break")["status"], "not-visible");
    for (what, said) in [
        ("map-span", "256 MiB"),
        ("break", "in order"),
        ("slc", "MB/s"),
    ] {
        let drawn = fs::read_to_string(plots.join(format!("{what}.svg")));
        let drawn = drawn.expect("it was drawn");
        assert!(drawn.contains("<svg") && drawn.contains(said), "{drawn}");
    }
    for (what, said) in [
        ("status", json!("finished")),
        ("device", json!("simulated device all-traits, 8 GiB")),
        ("path", json!(path)),
        ("size_bytes", json!(4_u64 << 30)),
        ("trials", json!(3)),
        ("trials_completed", found["trials_planned"].clone()),
        ("labels", json!(["simulated"])),
    ] {
        assert_eq!(found[what], said, "{what}");
    }
    // The stored run shows the same again.
    let again = bed.run(&["model", "traits", "--of", "last", "--json"]);
    assert_eq!(again.json(), found);
    let shown = bed.run(&["model", "traits", "--of", "last"]);
    let of = format!("4 GiB of {path}, 3 trials of each point; figures: simulated");
    assert!(in_line(&shown.out).contains(&of), "{}", shown.out);
    // A list says what the run found, not what one of its points took.
    let listed = &bed.run(&["list", "--json", "--lang", "zh"]).json()["runs"][0]["key_figure"];
    let text = listed["text"].as_str().expect("a text");
    assert!(
        text.starts_with("8 of 11 traits: Cost of a read, "),
        "{text}"
    );
    assert_eq!(listed["measured"], "simulated");
}

#[test]
fn an_interrupted_run_says_so_and_states_nothing_from_single_trials() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = [
        "model",
        "traits",
        text(&folder),
        "--size",
        "32M",
        "--read-only",
    ];
    let mut running = bed.start(&[&words[..], &["--json"]].concat());
    running.await_trials(5);
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(130);
    let found = ended.json();
    assert_eq!(found["status"], "interrupted");
    let of = |field: &str| found[field].as_u64().unwrap_or_else(|| panic!("{found}"));
    assert!((5..of("trials_planned")).contains(&of("trials_completed")));
    for one in found["traits"].as_array().expect("traits") {
        assert_ne!(one["status"], "seen", "{one}");
    }
    let shown = bed.run(&["model", "traits", "--of", "last"]);
    let far = format!("{} of {}", of("trials_completed"), of("trials_planned"));
    let said = in_line(&shown.out);
    assert!(said.contains(&format!("interrupted: {far}")), "{said}");
}

#[test]
fn memory_is_refused_before_it_is_asked() {
    needs!(root);
    let bed = Bed::new();
    let memory = or_skip!(Mount::tmpfs(96, &bed.join("memory")));
    let refused = bed.refused(&["model", "traits", text(memory.point()), "--size", "32M"]);
    let why = "its figures are not the device's (tmpfs is memory: there is no device behind it)";
    for said in [text(memory.point()), why] {
        assert!(refused.contains(said), "{refused}");
    }
    let stored = bed.run(&["model", "traits", "--of", "last"]);
    assert!(stored.out.is_empty(), "{}", stored.out);
}

#[test]
fn only_what_is_named_is_asked() {
    let bed = Bed::new();
    let words = ["model", "traits", "sim:emmc-8gb-hs400", "--only"];
    let ended = bed.run(&[&words[..], &["read-costs,deferred", "--json"]].concat());
    ended.assert_code(0);
    let found = ended.json();
    let asked = ["read-costs", "deferred", "break"];
    for one in found["traits"].as_array().expect("traits") {
        let is_asked = asked.iter().any(|what| one["trait"] == *what);
        assert_eq!(one["status"] != "not-asked", is_asked, "{one}");
    }
    let conflict = bed.refused(&["model", "traits", "--of", "last", "--trials", "5"]);
    assert!(conflict.contains("--trials"), "{conflict}");
    let refused = bed.refused(&[&words[..], &["costs"]].concat());
    assert!(
        refused.contains("'costs' is not a value of --only") && refused.contains("read-costs"),
        "{refused}"
    );
    let refused = bed.refused(&[&words[..], &["slc", "--read-only"]].concat());
    assert!(refused.contains("it needs writes"), "{refused}");
}

#[test]
fn what_has_no_flash_has_no_traits_of_flash() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 128));
    let bed = Bed::new();
    let point = text(volume.point());
    let words = [
        "model",
        "traits",
        point,
        "--size",
        "32M",
        "--trials",
        "2",
        "--read-only",
        "--json",
    ];
    let ended = bed.run(&words);
    ended.assert_code(0);
    let found = ended.json();
    for what in ["boundaries", "map-span", "slc", "open-units"] {
        assert_eq!(of(&found, what)["status"], "not-claimed", "{what}");
    }
    // What was left out by the user is not asked, whether there is flash or not.
    let some = bed.run(&[&words[..], &["--only", "break,boundaries"]].concat());
    let again = bed.run(&["model", "traits", "--of", "last", "--json"]);
    for found in [some.json(), again.json()] {
        let of = |what: &str| of(&found, what)["status"].clone();
        assert_eq!(of("boundaries"), "not-claimed");
        assert_eq!(
            (of("map-span"), of("slc")),
            ("not-asked".into(), "not-asked".into())
        );
    }
    let other = bed.refused(&["model", "traits", "--of", "nothing"]);
    assert!(other.contains("nothing"), "{other}");
}
