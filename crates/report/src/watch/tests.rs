//! Output of assay watch for constructed samples: a copy whose data is still dirty when it ends.

use super::*;
use assay_model::act::watch::{
    CommandEnd, Drain, LastWrite, Memory, Paging, Phase, Processor, WatchReport,
};
use assay_model::evidence::DeviceCounters;
use assay_model::units::MIB;

/// Returns a sample at `ms`, with `written` MiB written to mmcblk0 and `dirty` MiB of dirty pages.
fn sample(ms: u64, phase: Phase, written: u64, dirty: u64) -> WatchSample {
    WatchSample {
        at_ns: ms * 1_000_000,
        phase,
        memory: Some(Memory {
            total_bytes: 1024 * MIB,
            free_bytes: 512 * MIB,
            available_bytes: Some(900 * MIB),
            cached_bytes: (100 + written + dirty) * MIB,
            dirty_bytes: dirty * MIB,
            ..Memory::default()
        }),
        paging: Some(Paging {
            out_bytes: written * MIB,
            ..Paging::default()
        }),
        processor: Some(Processor {
            user: ms / 10,
            idle: ms / 10,
            running: 1,
            ..Processor::default()
        }),
        disks: vec![DiskCounters {
            counters: DeviceCounters {
                name: "mmcblk0".to_owned(),
                write_ios: written,
                write_bytes: written * MIB,
                write_ms: written * 20,
                busy_ms: ms / 2,
                flush_ios: Some(u64::from(dirty == 0 && written > 0)),
                ..DeviceCounters::default()
            },
            ..DiskCounters::default()
        }],
    }
}

fn samples() -> Vec<WatchSample> {
    vec![
        sample(0, Phase::Command, 0, 0),
        sample(1000, Phase::Command, 12, 120),
        sample(1900, Phase::Draining, 20, 180),
        sample(2900, Phase::Draining, 60, 140),
        sample(8600, Phase::Draining, 201, 0),
    ]
}

fn report(drain: Drain) -> WatchReport {
    WatchReport {
        ended: Some(CommandEnd {
            at_ns: 1_900_000_000,
            exit_code: Some(0),
            signal: None,
        }),
        drain: Some(drain),
        last_writes: vec![LastWrite {
            device: "mmcblk0".to_owned(),
            at_ns: 8_600_000_000,
        }],
    }
}

fn left() -> Drain {
    Drain::Left {
        at_ns: 9_000_000_000,
        within_bytes: MIB,
    }
}

fn dd() -> Name {
    Name::of(&["/usr/bin/dd".into(), "of=x".into()])
}

#[test]
fn figures_that_are_wider_than_their_columns_stand_apart() {
    let mut later = sample(1000, Phase::Command, 12, 120);
    later.paging = Some(Paging {
        in_bytes: 121_831_193 * 1024,
        out_bytes: 80_123_456 * 1024,
        ..Paging::default()
    });
    later.processor = Some(Processor {
        interrupts: 1_234_567,
        context_switches: 7_654_321,
        ..later.processor.expect("a processor")
    });
    let mut table = WatchTable::default();
    let _ = table.lines(&sample(0, Phase::Command, 0, 0));
    let line = table.lines(&later).concat();
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    assert_eq!(words.len(), 21, "{line}");
    assert_eq!(
        words[7..11],
        ["121831193", "80123456", "1234567", "7654321"]
    );
}

#[test]
fn the_end_says_when_the_data_was_on_the_device() {
    let drain = left();
    assert_eq!(
        sentences(&dd(), &samples(), &report(drain)),
        [
            "dd finished after 1.90 s; the data was on mmcblk0 after 8.60 s.",
            "When dd finished, 20 MiB had been written to mmcblk0, and 180 MiB were dirty (of all devices).",
            "In the end it was 201 MiB in 201 writes and 1 flush.",
        ]
    );
}

#[test]
fn an_unknown_end_is_reported_as_unknown() {
    let said = |drain| sentences(&dd(), &samples()[..4], &report(drain)).remove(0);
    let bytes = 140 * MIB;
    let late = said(Drain::TimedOut {
        unwritten_bytes: bytes,
    });
    assert!(
        late.contains("140 MiB were still dirty") && late.contains("not known"),
        "{late}"
    );
    let stopped = said(Drain::NotAwaited {
        unwritten_bytes: bytes,
    });
    assert!(
        stopped.contains("when the watching was stopped"),
        "{stopped}"
    );
    let (at_ns, age_ns) = (39_000_000_000, 35_000_000_000);
    let old = said(Drain::Expired { at_ns, age_ns });
    assert!(
        old.contains("was on mmcblk0 after 8.60 s (others kept pages dirty"),
        "{old}"
    );
    let unknown = said(Drain::Unknown);
    assert!(unknown.contains("the kernel does not report"), "{unknown}");
}

#[test]
fn a_command_that_flushes_leaves_nothing() {
    let samples = [
        sample(0, Phase::Command, 0, 0),
        sample(1900, Phase::Draining, 200, 0),
    ];
    let report = WatchReport {
        last_writes: Vec::new(),
        ..report(left())
    };
    assert_eq!(
        sentences(&dd(), &samples, &report)[0],
        "dd finished after 1.90 s; it left nothing dirty in memory (counted to within 1 MiB)."
    );
}

#[test]
fn without_a_command_the_device_is_summed_up() {
    let samples = [
        sample(0, Phase::Alone, 0, 0),
        sample(2000, Phase::Alone, 30, 0),
    ];
    assert_eq!(
        sentences(&dd(), &samples, &WatchReport::default()),
        ["In 2.00 s: 0 B read from mmcblk0, 30 MiB written to it, 1 flush."]
    );
    assert!(sentences(&dd(), &[], &WatchReport::default()).is_empty());
}

#[test]
fn the_table_grows_and_its_first_row_has_no_rates() {
    let mut table = WatchTable::default();
    let lines: Vec<String> = samples().iter().flat_map(|now| table.lines(now)).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(lines.len(), 1 + samples().len());
}

#[test]
fn csv_has_one_header_and_a_row_a_sample() {
    let mut csv = Csv::default();
    let mut out = Vec::new();
    for now in samples() {
        csv.write(&now, &mut out).unwrap();
    }
    let mut reader = ::csv::Reader::from_reader(out.as_slice());
    let columns = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        let column = columns.iter().position(|column| column == name).unwrap();
        rows[row][column].to_owned()
    };
    assert_eq!(rows.len(), samples().len());
    assert_eq!(cell(1, "time_s"), "1.000");
    assert_eq!(cell(1, "phase"), "command");
    assert_eq!(cell(1, "used_bytes"), (124 * MIB).to_string());
    assert_eq!(cell(1, "bo_bytes_per_s"), "12582912.000");
    assert_eq!(cell(1, "w_per_s"), "12.000");
    assert_eq!(cell(1, "w_await_ms"), "20.000");
    assert_eq!(cell(1, "util"), "0.500");
    assert_eq!(cell(1, "us"), "0.500");
    assert_eq!(cell(0, "w_per_s"), "", "nothing before it");
    assert_eq!(
        cell(1, "r_await_ms"),
        "",
        "without reads there is no read latency"
    );
    assert_eq!(cell(4, "device_flushes"), "1");
}

#[test]
fn the_document_has_the_samples_and_the_times() {
    let drain = left();
    let document = document(&["dd".into()], 1_000_000_000, &samples(), &report(drain));
    assert_eq!(document["finished_ns"], 1_900_000_000_u64);
    assert_eq!(document["on_device_ns"], 8_600_000_000_u64);
    assert_eq!(
        document["device"]["until_finished"]["written_bytes"],
        20 * MIB
    );
    assert_eq!(document["device"]["in_all"]["written_bytes"], 201 * MIB);
    assert_eq!(document["samples"].as_array().unwrap().len(), 5);
    assert_eq!(document["samples"][1]["disks"][0]["name"], "mmcblk0");
}
