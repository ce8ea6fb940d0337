//! Whole outputs of reports made by hand.

mod keys;
mod priorities;
mod recorded;
mod texts;

use super::*;
use assay_judge::{CallEnd, DirectionEvidence, Measured};
use assay_model::evidence::LatencyRecord;
use assay_model::job::EngineKind;
use assay_model::load::report::{
    DepthUse, DirectionReport, DiskUse, SteadyCriterion, SteadyStateReached, StreamReport, Unified,
};
use assay_model::load::{LatencyTarget, PerDirection, Stream};
use assay_model::trial::{CpuUse, Gap, Interval, Series};
use assay_model::units::Nanos;
use assay_stats::histogram::Histogram;

const VERSION: &str = "fio-3.41-assay-0.1.0";

fn latencies(values: impl IntoIterator<Item = u64>) -> LatencyRecord {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|ns| histogram.record(ns));
    histogram.to_record()
}

/// `ios` blocks of 4 KiB in one second, latencies in even steps.
fn direction(ios: u64, latency_ns: u64, with_submission: bool) -> DirectionReport {
    let completion = latencies((0..ios).map(|n| latency_ns + n * 100));
    let total = latencies((0..ios).map(|n| latency_ns + n * 100 + 900));
    let submission = latencies((0..ios).map(|n| 800 + n));
    DirectionReport {
        ios,
        bytes: ios * 4096,
        runtime_ns: 1_000_100_000,
        submission: if with_submission {
            submission
        } else {
            LatencyRecord::default()
        },
        completion,
        total: Some(total),
        ..DirectionReport::default()
    }
}

/// A stream that did that, half of it in each half second.
fn report(tid: u32, read: DirectionReport, write: DirectionReport) -> StreamReport {
    let half = Interval {
        read_bytes: read.bytes / 2,
        read_ios: read.ios / 2,
        write_bytes: write.bytes / 2,
        write_ios: write.ios / 2,
        ..Interval::default()
    };
    let ios = read.ios + write.ios;
    StreamReport {
        tid,
        started: true,
        started_unix_ms: 1_795_199_557_000,
        runtime_ns: 1_000_100_000,
        elapsed_ns: 1_200_000_000,
        directions: PerDirection {
            read,
            write,
            trim: DirectionReport::default(),
        },
        series: Series {
            interval_ns: 500_000_000,
            points: vec![half; 2],
        },
        longest_gap: Some(Gap {
            start_ns: 5,
            length_ns: 7_000_000,
        }),
        cpu: CpuUse {
            user_ns: 12_300_000,
            system_ns: 250_000_000,
            voluntary_switches: 1000,
            involuntary_switches: 12,
            run_delay_ns: 0,
        },
        major_faults: 1,
        minor_faults: 17,
        depths: DepthUse {
            level: [ios, 0, 0, 0, 0, 0, 0],
            submit: [0, ios, 0, 0, 0, 0, 0],
            complete: [0, ios, 0, 0, 0, 0, 0],
        },
        ..StreamReport::default()
    }
}

fn evidence(measured: Measured, because: &str, job_bytes: u64) -> DirectionEvidence {
    DirectionEvidence {
        measured,
        because: because.to_owned(),
        job_bytes,
        device_share: Some(0.0),
        layers: vec![("mmcblk0".to_owned(), 4096)],
        flushes: Some(3),
        volatile_cache: Some(true),
        dirty_bytes_at_stop: None,
        caveat: None,
        calls: CallEnd::Whole,
        waited: None,
    }
}

/// What a presentation borrows.
struct Case {
    load: Load,
    report: LoadReport,
    jobs: Vec<JobText>,
    global: Vec<(String, Option<String>)>,
    judgements: Vec<Option<Judgement>>,
}

impl Case {
    fn new(streams: Vec<(Stream, StreamReport)>) -> Self {
        let (streams, reports): (Vec<_>, Vec<_>) = streams.into_iter().unzip();
        let text = |stream: &Stream| JobText {
            options: vec![("name".to_owned(), Some(stream.name.clone()))],
        };
        Self {
            jobs: streams.iter().map(text).collect(),
            judgements: vec![None; streams.len()],
            load: Load {
                streams,
                ..Load::default()
            },
            report: LoadReport {
                streams: reports,
                ..LoadReport::default()
            },
            global: vec![("bs".to_owned(), Some("4k".to_owned()))],
        }
    }

    fn written(&self, write: impl Fn(&Presentation<'_>, &mut Vec<u8>)) -> String {
        let presentation = Presentation {
            load: &self.load,
            report: &self.report,
            jobs: &self.jobs,
            global_options: &self.global,
            judgements: &self.judgements,
            version: VERSION,
            timestamp_ms: 1_795_199_558_123,
            time_text: "Fri Nov 20 18:32:38 2026".to_owned(),
            eta_s: 0,
        };
        let mut out = Vec::new();
        write(&presentation, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn normal(&self) -> String {
        self.written(|p, out| write_normal(p, out).unwrap())
    }

    fn terse(&self, version: TerseVersion) -> String {
        self.written(|p, out| write_terse(p, version, out).unwrap())
    }

    fn json_text(&self, plus: bool) -> String {
        self.written(|p, out| write_json(p, plus, out).unwrap())
    }

    fn json(&self, plus: bool) -> serde_json::Value {
        serde_json::from_str(&self.json_text(plus)).unwrap()
    }
}

/// One psync reader, the page cache measured.
fn plain() -> Case {
    let stream = Stream::new("plain");
    let none = DirectionReport::default();
    let mut case = Case::new(vec![(
        stream,
        report(866, direction(1000, 60_000, false), none),
    )]);
    case.judgements = vec![Some(Judgement {
        read: Some(evidence(
            Measured::PageCache,
            "0.0% of the bytes came from mmcblk0 while the clock ran",
            4_096_000,
        )),
        write: None,
        trim: None,
        foreign: None,
        hindrances: Vec::new(),
    })];
    case.report.disks = vec![disk("mmcblk0", &[])];
    case
}

fn disk(name: &str, below: &[&str]) -> DiskUse {
    DiskUse {
        name: name.to_owned(),
        read_ios: 38_566,
        write_ios: 7_638,
        write_merges: 14,
        read_ms: 102_947,
        write_ms: 103_810,
        queue_ms: 206_902,
        busy_ms: 59_950,
        over_ms: 60_000,
        below: below.iter().map(|name| (*name).to_owned()).collect(),
        ..DiskUse::default()
    }
}

/// Everything that adds keys: two libaio streams as one, flushes, all
/// percentiles, errors gone past, a latency target, a steady state, disks on
/// disks.
fn full() -> Case {
    let mut stream = Stream::new("full");
    stream.description = Some("hello \"world\"".to_owned());
    stream.engine.kind = EngineKind::Libaio;
    stream.engine.iodepth = 4;
    stream.blocks.rw.write = true;
    stream.stats.group_reporting = true;
    stream.stats.lat_percentiles = true;
    stream.stats.slat_percentiles = true;
    stream.stats.percentiles = vec![50.0, 99.0, 99.9];
    stream.errors.continue_on_read = true;
    stream.pace.latency_target = Some(LatencyTarget {
        target: Nanos::millis(10),
        window: Nanos::millis(100),
        percentile: 99.9,
        run: false,
    });
    let mut first = report(
        7,
        direction(700, 3_000_000, true),
        direction(300, 5_000, true),
    );
    first.sync = latencies([507_000, 623_000, 896_000]);
    first.steady_state = Some(SteadyStateReached {
        criterion: SteadyCriterion::Iops,
        limit: 90.0,
        percent: true,
        duration_ns: 2_000_000_000,
        attained: true,
        value: 0.049_975,
        deviation: 0.5,
        slope: 0.0,
        iops: vec![1001, 1000],
        bw: vec![4_100_591, 4_096_000],
        lat: vec![500, 510],
    });
    let second = report(
        8,
        direction(700, 3_000_000, true),
        direction(300, 5_000, true),
    );
    let copy = Stream {
        clone: 1,
        number: 2,
        ..stream.clone()
    };
    let mut case = Case::new(vec![(stream, first), (copy, second)]);
    let judged = |measured: Measured, because: &str| {
        Some(Judgement {
            read: Some(evidence(Measured::Device, "100% of the bytes", 2_867_200)),
            write: Some(evidence(measured, because, 1_228_800)),
            trim: None,
            foreign: None,
            hindrances: Vec::new(),
        })
    };
    case.judgements = vec![
        judged(Measured::Device, "100%"),
        judged(Measured::PageCache, "none of the bytes"),
    ];
    case.report.disks = vec![disk("md0", &["vda"]), disk("vda", &[])];
    case
}

/// All directions as one, also or only.
fn unified(unified: Unified) -> Case {
    let mut stream = Stream::new("unified");
    stream.blocks.rw.write = true;
    stream.stats.unified = unified;
    let reads = direction(600, 60_000, false);
    Case::new(vec![(
        stream,
        report(9, reads, direction(400, 2_000, false)),
    )])
}

#[test]
fn the_spelling_is_fios() {
    let mut options = Map::new();
    options.add("description", "q\"u\\o\n");
    let mut map = Map::new();
    map.add("fio version", "fio-3.33");
    map.add("global options", Map::new());
    map.add(
        "jobs",
        vec![JsonValue::from(options), JsonValue::from(1_u64)],
    );
    map.add("util", 20.080_320_9);
    map.add("absent", None::<u64>);
    let mut text = Vec::new();
    write(&map, &mut text).unwrap();
    let expected = r#"{
  "fio version" : "fio-3.33",
  "global options" : {

  },
  "jobs" : [
    {
      "description" : "q\"u\\o\n"
    },
    1
  ],
  "util" : 20.080321,
  "absent" : null
}
"#;
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}
