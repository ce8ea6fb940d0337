//! Simulated devices: every feature on no hardware, and every figure called what it is.

use crate::assay::{Bed, Ended, Running, trials};
use std::fs;

const EMMC: &str = "sim:emmc-8gb-hs400,noise=5";

fn qualify(bed: &Bed, words: &[&str]) -> Ended {
    let ended = bed.run(&[&["qualify", EMMC, "--quick"], words].concat());
    ended.assert_code(0);
    ended
}

#[test]
fn a_qualification_says_of_every_figure_that_it_is_simulated() {
    let bed = Bed::new();
    let shown = qualify(&bed, &["--seed", "1"]);
    for words in ["simulated device emmc-8gb-hs400", "nothing was measured"] {
        assert!(shown.out.contains(words), "{}", shown.out);
    }
    assert!(!shown.out.contains("unknown"), "{}", shown.out);
    let run = bed.stored("last");
    let all = run["trials"].as_array().expect("trials");
    assert!(all.len() > 40, "{}", all.len());
    for trial in all {
        for direction in ["read", "write"] {
            let label = &trial["evidence"][direction]["label"];
            assert!(label.is_null() || label == "simulated", "{label}");
        }
    }
    for format in ["html", "csv", "md", "xlsx"] {
        let path = bed.join(&format!("run.{format}"));
        let words = ["report", "last", "-o", path.to_str().expect("UTF-8")];
        bed.run(&words).assert_code(0);
        let written = fs::read(&path).expect("it was written");
        let says = String::from_utf8_lossy(&written).contains("simulated");
        assert!(says || format == "xlsx", "{format}");
    }
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let bed = Bed::new();
    let figures = |seed: &str| {
        let words = ["--seed", seed, "--only", "rand-read-4k-qd32", "--json"];
        let run = qualify(&bed, &words).json();
        let all = trials(&run, "rand-read-4k-qd32").into_iter();
        all.map(|trial| trial["metrics"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(figures("1"), figures("1"));
    assert_ne!(figures("1"), figures("2"));
}

#[test]
fn policies_are_compared_and_the_verdict_is_that_of_the_model() {
    let bed = Bed::new();
    let compare = |b: &str| {
        let words = [
            "compare",
            "--paired-on",
            "sim:rtsx-sd-pro-plus-128,noise=3",
            b,
            "--only",
            "rand-read-8k,seq-read-1m",
            "--quick",
            "--trials",
            "6",
            "--seed",
            "5",
        ];
        bed.run(&words)
    };
    let ended = compare("sim:rtsx-sd-pro-plus-128,noise=3,policy=open");
    ended.assert_code(0);
    let short = ended.out.split("In short").nth(1).unwrap_or_default();
    assert!(short.contains("slower in rand-read-8k"), "{}", ended.out);
    assert!(short.contains("equivalent in seq-read-1m"), "{}", ended.out);
    let same = compare("sim:rtsx-sd-pro-plus-128,noise=3");
    for word in ["faster in", "slower in"] {
        assert!(!same.out.contains(word), "{}", same.out);
    }
}

/// `assay fio WORDS`, which stores nothing.
fn fio(bed: &Bed, words: &[&str]) -> Ended {
    Running::start(&mut bed.command_without_store(&[&["fio"], words].concat())).end()
}

#[test]
fn fio_and_job_files_run_in_virtual_time() {
    let bed = Bed::new();
    let words = [
        "--name=a",
        "--ioengine=sim:ufs-128gb-g3x2",
        "--rw=randread",
        "--bs=4k",
        "--size=1g",
        "--time_based",
        "--runtime=3600",
        "--iodepth=16",
        "--rate_iops=100",
    ];
    let ended = fio(&bed, &words);
    ended.assert_code(0);
    assert!(ended.out.contains("read=simulated ("), "{}", ended.out);
    assert!(
        ended.out.contains("IOPS=99") || ended.out.contains("IOPS=100"),
        "{}",
        ended.out
    );
    let file = bed.join("jobs.fio");
    let text = "[a]\nioengine=sim:emmc-8gb-hs400\nrw=write\nbs=128k\nsize=256m\nfsync=1\n";
    fs::write(&file, text).expect("it can be written");
    let ended = bed.run(&["run", file.to_str().expect("UTF-8")]);
    ended.assert_code(0);
    assert!(ended.out.contains("simulated"), "{}", ended.out);
}

#[test]
fn what_a_simulated_device_cannot_do_is_refused_with_the_reason() {
    let bed = Bed::new();
    for (words, expected) in [
        (
            &["qualify", "sim:nothing"][..],
            "no part is called 'nothing'",
        ),
        (
            &["qualify", "sim:emmc-8gb-hs400,speed=3"],
            "'speed=3' is not known",
        ),
        (&["qualify", EMMC, "--profile", "emmc"], "keeps no data"),
        (&["capacity", EMMC], "keeps no data"),
        (&["disks", EMMC], "keeps no data"),
        (
            &["sweep", EMMC, "--vary", "scheduler=none,bfq"],
            "no settings of a kernel",
        ),
        (
            &["sweep", EMMC, "--vary", "governor=performance"],
            "no settings of a kernel",
        ),
    ] {
        let refused = bed.refused(words);
        assert!(refused.contains(expected), "{words:?}: {refused}");
    }
    let verified = [
        "--name=a",
        "--ioengine=sim:emmc-8gb-hs400",
        "--rw=write",
        "--size=1m",
        "--verify=crc32c",
    ];
    let ended = fio(&bed, &verified);
    let told = ended.err.join("\n");
    assert!(told.contains("cannot be verified"), "{told}");
}
