//! `assay model`: ceilings, the multi-block experiment, searches, simulated parts.

use crate::assay::{Bed, Ended, Running, text};
use serde_json::Value;
use std::fs;

/// `assay model WORDS`: nothing is stored.
fn model(words: &[&str]) -> Ended {
    let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
    Running::start(command.arg("model").args(words)).end()
}

fn json(words: &[&str], code: i32) -> Value {
    let ended = model(&[words, &["--json"]].concat());
    ended.assert_code(code);
    ended.json()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

#[test]
fn the_experiment_has_a_cell_for_each_published_figure() {
    let words = ["compare", "--policy", "closed", "--policy", "open"];
    let found = json(&words, 0);
    let cells = list(&found["cells"]);
    assert_eq!(cells.len(), 16);
    let mut sum = 0.0;
    for cell in cells {
        for field in ["tool", "workload", "block_size", "policy"] {
            assert!(cell[field].is_string(), "{field}: {cell}");
        }
        let number = |field: &str| {
            cell[field]
                .as_f64()
                .unwrap_or_else(|| panic!("{field}: {cell}"))
        };
        let error = (number("model") / number("published") - 1.0) * 100.0;
        assert!((error - number("error_pct")).abs() < 1e-9, "{cell}");
        assert!(error.abs() <= 6.0, "{cell}");
        sum += error.abs();
    }
    assert!(sum / 16.0 <= 2.5, "{sum}");
    assert!(
        list(&found["parameters"])
            .iter()
            .all(|one| one["std_error"].is_number())
    );
    assert_eq!(list(&found["changes"]).len(), 8);
}

#[test]
fn holes_are_found_with_the_way_to_them_and_end_with_3() {
    let found = json(&["check", "--policy", "open"], 3);
    let rules = list(&found["policies"][0]["rules"]);
    let broken = rules.iter().filter(|rule| rule["holds"] == false);
    assert_eq!(broken.clone().count(), 4);
    assert!(
        broken
            .into_iter()
            .all(|rule| !list(&rule["trace"]).is_empty())
    );
    for policy in ["closed", "open-safe", "open-after-2"] {
        model(&["check", "--policy", policy]).assert_code(0);
    }
    let far = model(&["check", "--policy", "open-after-3"]).refusal();
    assert!(far.contains("has room for 2 requests in a row"), "{far}");
}

#[test]
fn a_measured_rate_stands_beside_the_ceiling() {
    let found = json(&["limits", "--bus", "HS400", "--read", "275MiB/s"], 0);
    let share = found["measured"][0]["share"].as_f64().expect("a number");
    assert!((share - 0.794).abs() < 0.001, "{found}");
    assert!(list(&json(&["limits"], 0)["limits"]).len() > 40);
    let unknown = model(&["limits", "--bus", "hs401"]).refusal();
    assert!(unknown.contains("did you mean hs400?"), "{unknown}");
}

/// Made by the formulas of docs/model.md: 200 + 3 n for reads, and 1000 + 10 n more in writes.
#[test]
fn rates_that_were_made_up_give_their_parameters_back() {
    let bed = Bed::new();
    let path = bed.join("rates.csv");
    let mut lines = "rw,bs,rate\n# made up\n".to_owned();
    for blocks in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] {
        let (n, wobble) = (
            f64::from(blocks),
            if blocks % 3 == 1 { 1.01 } else { 0.995 },
        );
        let read = 200.0 + 3.0 * n;
        let write = 200.0 + 1000.0 + 10.0 * n;
        for (rw, us) in [("randread", read), ("randwrite", write)] {
            let rate = n * 512.0 / us * wobble;
            lines += &format!("{rw},{},{rate}MB/s\n", blocks * 512);
        }
    }
    fs::write(&path, lines).expect("it can be written");
    let found = json(&["fit", text(&path)], 0);
    let parameters = list(&found["parameters"]);
    let named = |name: &str| {
        let mut named = parameters.iter().filter(|one| one["name"] == name);
        named.next().unwrap_or_else(|| panic!("no {name}: {found}"))
    };
    for (name, truth) in [
        ("read.command", 200.0),
        ("read.block", 3.0),
        ("write.block", 10.0),
    ] {
        let value = named(name)["value"].as_f64().expect("a number");
        assert!((value / truth - 1.0).abs() < 0.05, "{name}: {value}");
    }
    assert!(named("read.break")["std_error"].is_null(), "{found}");
    fs::write(&path, "randread,8k\n").expect("it can be written");
    let short = model(&["fit", text(&path)]).refusal();
    assert!(
        short.contains("line 1: it must have three fields"),
        "{short}"
    );
}

#[test]
fn a_part_in_a_file_is_simulated_and_the_seed_decides() {
    let bed = Bed::new();
    let known = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../flash/parts/emmc-8gb-hs400.toml"
    ));
    let path = bed.join("mine.toml");
    let mine = known
        .expect("it is there")
        .replace("emmc-8gb-hs400", "mine");
    fs::write(&path, mine).expect("it can be written");
    let run = |part: &str, seed: &str| {
        let words = [
            "simulate", "--part", part, "--rw", "randrw", "--ios", "500", "--seed", seed,
        ];
        json(&words, 0)["digest"].clone()
    };
    assert_eq!(run(text(&path), "1"), run("emmc-8gb-hs400", "1"));
    assert_ne!(run(text(&path), "1"), run(text(&path), "2"));
    fs::write(&path, "name = 3").expect("it can be written");
    let wrong = model(&["simulate", "--part", text(&path)]).refusal();
    assert!(wrong.contains("it is not a valid part"), "{wrong}");
}
