//! `assay mem`: figures of main memory, and bits that flip.

use crate::assay::{Bed, figure, trial};
use assay_testkit::needs;
use serde_json::Value;

/// What the steps of a job found.
fn details<'a>(run: &'a Value, job: &str) -> Vec<&'a Value> {
    let trials = run["trials"].as_array().expect("trials");
    let own = trials.iter().filter(|trial| trial["job"]["name"] == job);
    own.map(|trial| &trial["detail"]["found"]).collect()
}

#[test]
fn every_kernel_has_a_rate_and_says_what_it_was_made_of() {
    let bed = Bed::new();
    let ended = bed.run(&[
        "mem",
        "bandwidth",
        "--size",
        "1M",
        "--passes",
        "2",
        "--threads",
        "1",
        "--trials",
        "1",
        "--json",
    ]);
    ended.assert_code(0);
    let run = ended.json();
    let steps = run["trials"].as_array().expect("trials").len();
    ended.assert_says(&[&format!("{steps} steps")]);
    for kernel in ["copy", "scale", "add", "triad", "memset", "read", "memcpy"] {
        let job = format!("{kernel}-1t");
        assert_eq!(details(&run, &job).len(), 1, "{job}");
        assert!(figure(&run, &job, "memory_bw") > 0.0);
        assert!(figure(&run, &job, "memory_bw_best") >= figure(&run, &job, "memory_bw"));
    }
    let copy = trial(&run, "copy-1t");
    assert_eq!(copy["detail"]["found"]["array_bytes"], 1 << 20);
    assert_eq!(
        copy["detail"]["found"]["counted_bytes"],
        2 << 20,
        "STREAM's count"
    );
    let memcpy = trial(&run, "memcpy-1t");
    assert_eq!(
        memcpy["detail"]["found"]["counted_bytes"],
        1 << 20,
        "mbw's count"
    );
    assert_eq!(run["device"]["backing"]["kind"], "main_memory");
    let shown = bed.run(&["report", "last"]);
    shown.assert_code(0);
    assert!(shown.out.contains("Bandwidth of memory"), "{}", shown.out);
    let (answer, _) = shown.out.split_once("\nRun\n").expect("sections");
    for words in [
        "main memory\n\nSummary",
        "  Bandwidth  ",
        "(cpu-cache) with 1 thread",
        "in part: ",
    ] {
        assert!(answer.contains(words), "{words}: {answer}");
    }
    assert!(!answer.contains("device"), "{answer}");
}

#[test]
fn two_runs_of_latency_are_compared() {
    let bed = Bed::new();
    for _ in 0..2 {
        let words = ["mem", "latency", "--largest-set", "16K", "--trials", "3"];
        bed.run(&words).assert_code(0);
    }
    let listed = bed.run(&["list"]);
    listed.assert_code(0);
    let ids: Vec<&str> = listed
        .out
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.len() == 8)
        .collect();
    let [b, a, ..] = ids[..] else {
        panic!("{}", listed.out)
    };
    let shown = bed.run(&["report", "last"]).out;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("(cpu-cache) in a working set of 4 KiB; "),
        "{shown}"
    );
    assert!(
        shown.contains("(cpu-cache) in a working set of 16 KiB Believe it?"),
        "{shown}"
    );
    let compared = bed.run(&["compare", a, b]);
    assert!(compared.out.contains("latency-4KiB"), "{}", compared.out);
}

#[test]
fn a_flipped_bit_is_found_with_its_address_and_ends_with_4() {
    let bed = Bed::new();
    let words = [
        "mem",
        "stress",
        "--stress-size",
        "2M",
        "--flip-bit",
        "4104.5",
        "--json",
    ];
    let ended = bed.run(&words);
    ended.assert_code(4);
    let run = ended.json();
    let steps = details(&run, "stress-address");
    let [found, after] = steps[..] else {
        panic!("{steps:?}")
    };
    assert_eq!(found["flips"], 1);
    let flip = &found["first"][0];
    let start = found["parts"][0][0].as_u64().expect("an address");
    assert_eq!(flip["address"].as_u64(), Some(start + 4104));
    let differ = flip["expected"].as_u64().unwrap() ^ flip["found"].as_u64().unwrap();
    assert_eq!(differ, 1 << 5);
    assert_eq!(flip["wrong_reads"], flip["reads"]);
    assert_eq!(after["flips"], 0, "and it went on");
    let shown = bed.run(&["report", "last"]);
    assert!(
        shown.out.starts_with("MEMORY IS FAULTY: 1 word of 2 MiB"),
        "{}",
        shown.out
    );
    assert!(!shown.out.contains("--trials 3 or"), "{}", shown.out);
    let said = ended.err.join("\n");
    assert!(
        said.contains("Measures patterns") && said.contains("Takes    about"),
        "{said}"
    );
    assert!(shown.out.contains("on purpose"), "{}", shown.out);
}

#[test]
fn root_is_told_the_physical_address_of_a_flip() {
    needs!(root);
    let words = [
        "mem",
        "stress",
        "--stress-size",
        "2M",
        "--flip-bit",
        "0.0",
        "--json",
    ];
    let ended = Bed::new().run(&words);
    ended.assert_code(4);
    let run = ended.json();
    let flip = &details(&run, "stress-address")[0]["first"][0];
    assert!(flip["physical"].as_u64().is_some_and(|at| at > 0), "{flip}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_stored() {
    let bed = Bed::new();
    let cases = [
        (vec!["mem", "--stress-size", "1M"], "add stress"),
        (
            vec!["mem", "stress", "--stress-size", "1000T"],
            "--stress-size",
        ),
        (
            vec!["mem", "stress", "--stress-size", "1K"],
            "too little to test",
        ),
        (vec!["mem", "disk"], "it takes bandwidth, latency, stress"),
    ];
    for (words, why) in cases {
        let ended = bed.run(&words);
        ended.assert_code(2);
        let said = ended.err.join("\n");
        assert!(said.contains(why), "{words:?}: {said}");
    }
    let listed = bed.run(&["list"]);
    assert!(!listed.out.contains("memory"), "{}", listed.out);
}
