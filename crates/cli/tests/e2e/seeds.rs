//! A seed repeats order, offsets and contents.

use crate::assay::{Bed, trials};
use assay_testkit::{LoopDevice, Scratch, needs, or_skip};
use serde_json::Value;
use std::fs;

/// Each trial in its order: job, repetition, seed of its offsets.
fn order(run: &Value) -> Vec<(String, u64, String)> {
    let word = |value: &Value| value.as_str().expect("text").to_owned();
    let trials = run["trials"].as_array().expect("a list").iter();
    trials
        .enumerate()
        .map(|(place, trial)| {
            assert_eq!(trial["position"].as_u64(), u64::try_from(place).ok());
            let count = trial["trial"].as_u64().expect("a count");
            (word(&trial["job"]["name"]), count, word(&trial["seed"]))
        })
        .collect()
}

#[test]
fn a_seed_repeats_the_order_and_the_offsets() {
    let bed = Bed::new();
    let folder = bed.folder();
    let run = |seed: Option<&str>| {
        let jobs = "ladder-*,read-cached,read-buffered";
        let mut words = vec!["--size", "1M", "--trials", "3", "--only", jobs, "--json"];
        words.extend(seed.map(|_| "--seed").into_iter().chain(seed));
        let ended = bed.qualify(&folder, &words).end();
        ended.assert_code(0);
        ended.json()
    };
    let first = run(None);
    // The seed that was printed repeats it, however large.
    let seed = first["run"]["seed"].as_str().unwrap();
    let again = run(Some(seed));
    assert_eq!(order(&first), order(&again));
    let jobs = |run: &Value| order(run).into_iter().map(|(job, ..)| job);
    assert!(!jobs(&first).is_sorted_by_key(|job| job), "it is shuffled");
    let other = run(Some("7"));
    assert_ne!(order(&first), order(&other));
    assert_eq!(trials(&other, "ladder-plain").len(), 3);
}

#[test]
fn a_seed_repeats_the_contents() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let written = |seed: &str| {
        let image = scratch.join("disk.img");
        let _ = fs::remove_file(&image);
        let device = LoopDevice::new(&scratch, "disk.img", 4)?;
        let words = ["--destroy-data", "--seed", seed];
        Bed::new().measure(device.node(), "4M", "read-cached", &words);
        device.detach()?;
        Ok::<_, assay_testkit::Unavailable>(fs::read(image).expect("an image"))
    };
    let first = or_skip!(written("11"));
    assert!(first == or_skip!(written("11")), "the same seed");
    assert!(first != or_skip!(written("12")), "another seed");
    let repeats = first.chunks(4096).filter(|block| *block == &first[..4096]);
    assert_eq!(repeats.count(), 1, "blocks differ from each other");
}
