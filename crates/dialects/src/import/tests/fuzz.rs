//! No text panics, and an error is one line. `ASSAY_FUZZ_SECONDS` makes it go
//! on for as long, for each importer.

use super::{ImportError, of_all};
use crate::import::{Format, detect, read};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use std::time::{Duration, Instant};

const GOOD: [(Format, &str); 10] = [
    (
        Format::Table,
        include_str!("../../../../../examples/governors.csv"),
    ),
    (
        Format::Table,
        include_str!("../../../../../examples/rtsx-before-after.csv"),
    ),
    (Format::Table, include_str!("data/dd-ladder-board.csv")),
    (
        Format::Table,
        "governor;n;Seq (MB/s);Rand [IOPS]\na;3;65,28 ± 0,77;1.849,93 ± 1\n",
    ),
    (
        Format::FioText,
        include_str!("data/fio-3.26-emmc-board.txt"),
    ),
    (Format::Vmstat, include_str!("data/vmstat-dd-500M.txt")),
    (
        Format::Dd,
        "$ dd if=a of=b bs=1M\n1+0 records in\n1+0 records out\n104857600 bytes (105 MB, 100 MiB) \
         copied, 0.259118 s, 405 MB/s\n1+0 records out\n5 Bytes kopiert, 0,1 s, 0,1 kB/s\r\n",
    ),
    (
        Format::Iozone,
        "\tIozone: Performance Test\n\tCommand line used: iozone -i 0\n              kB  reclen    \
         write  rewrite    read    reread\n            1024       4   100   200\n\"Writer \
         report\"\n   \"4\" \"8\"\n\"64\"  1 2\n\tEach process writes a 8 kByte file in 4 kByte \
         records\n\tChildren see throughput for  2 readers \t= 1.5 kB/sec\n\tMin throughput per \
         process = 1.0 kB/sec\n# kB reclen write\n# 1024 4 P\n",
    ),
    (
        Format::FioJson,
        "x\n{\"fio version\":\"fio-3.33\",\"timestamp\":17,\"global options\":{\"bs\":\"4k\"},\
         \"jobs\":[{\"jobname\":\"j\",\"elapsed\":3,\"read\":{\"io_bytes\":1,\"bw\":1,\"iops\":2.5,\
         \"clat_ns\":{\"N\":1,\"mean\":1e3,\"percentile\":{\"99.000000\":5},\"bins\":{\"5\":1}}}}]}\n{\
         \"fio version\":\"fio-3.33\",\"jobs\":[]}",
    ),
    (
        Format::FioText,
        "j: (groupid=0, jobs=1): err= 5: pid=1: x\n read : io=1MB, bw=1KB/s, iops=1.5k\n  clat \
         (usec): avg=1\n  clat percentiles (usec):\n  | 99.00th=[  5]\n evidence : read=device\n",
    ),
];

/// What is put into a good text.
fn bit() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("nan".to_owned()),
        Just("-1".to_owned()),
        Just("1e999".to_owned()),
        Just("99999999999999999999999999".to_owned()),
        Just("\n".to_owned()),
        Just("\"".to_owned()),
        Just("{".to_owned()),
        Just(", ".to_owned()),
        Just("± µ é €".to_owned()),
        Just("=".to_owned()),
        Just(": (groupid=".to_owned()),
        Just("th=[".to_owned()),
        Just("\r".to_owned()),
        "\\PC{0,6}",
        "[0-9,.;\t\"±-]{0,8}",
    ]
}

/// A good text of which parts were replaced.
fn mutated() -> impl Strategy<Value = (Format, String)> {
    let change = (any::<prop::sample::Index>(), 0..12_usize, bit());
    (
        prop::sample::select(GOOD.to_vec()),
        prop::collection::vec(change, 1..6),
    )
        .prop_map(|((format, good), changes)| {
            let mut text: Vec<char> = good.chars().collect();
            for (at, length, bit) in changes {
                let at = at.index(text.len() + 1);
                let end = (at + length).min(text.len());
                text.splice(at..end, bit.chars());
            }
            (format, text.into_iter().collect())
        })
}

fn one_line(read: Result<(), ImportError>) -> Result<(), TestCaseError> {
    if let Err(error) = read {
        let said = error.to_string();
        prop_assert!(said.lines().count() == 1, "{said}");
    }
    Ok(())
}

fn try_all(text: &str) -> Result<(), TestCaseError> {
    let _ = detect(text);
    for format in Format::ALL {
        one_line(read(text, Some(format)).map(|_| ()))?;
    }
    one_line(of_all(&[text, text], Some("c")).map(|_| ()))
}

#[test]
fn any_text_is_read_or_refused() {
    run(&"\\PC{0,200}(\n\\PC{0,40}){0,4}", |text: String| {
        try_all(&text)
    });
}

#[test]
fn damaged_texts_are_read_or_refused() {
    run(&mutated(), |(format, text)| {
        one_line(read(&text, Some(format)).map(|_| ()))?;
        try_all(&text)
    });
}

#[test]
fn good_texts_are_good() {
    for (format, text) in GOOD {
        assert!(read(text, Some(format)).is_ok(), "{format:?}");
    }
}

/// A few hundred cases, or as many as there is time for.
fn run<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let seconds = std::env::var("ASSAY_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(0);
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        let config = ProptestConfig::with_cases(300);
        let ran = TestRunner::new(config).run(strategy, &test);
        ran.unwrap_or_else(|error| panic!("{error}"));
        if Instant::now() >= end {
            break;
        }
    }
}
