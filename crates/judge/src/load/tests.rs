//! Loads whose evidence is of several streams together. Most of them try to make the judge take one
//! stream's I/O for another's.
//!
//! Further cases are writes and flushes that failed, which the device's counters do not know from
//! the others; random buffered reads of which most were served by what the kernel read around the
//! others; and trims, against what the device says that it discarded.

mod stops;

use super::*;
use assay_model::evidence::{
    CacheSource, DeviceCounters, Evidence, FileCache, OwnIo, QueueSettings, Snapshot, WriteCache,
};
use assay_model::job::{Direction, EngineKind, FlushCall, OpenSync};
use assay_model::load::blocks::Sequencer;
use assay_model::load::report::WaveEvidence;
use assay_model::storage::{Backing, DeviceIdentity, Layer, LayerRole, Mount, Storage};
use assay_model::trial::{IoErrorRecord, IoErrors};
use assay_model::units::{Bytes, MIB};

/// What a stream moves unless said otherwise.
const MOVED: u64 = 256 * MIB;
const SECOND: u64 = 1_000_000_000;

/// A load in the making: streams of one wave of 10 s on `sda`, a write-back
/// disk.
#[derive(Default)]
struct Wave {
    load: Load,
    report: LoadReport,
}

impl Wave {
    fn new() -> Self {
        let mut wave = Self::default();
        wave.storage("sda");
        wave
    }

    fn storage(&mut self, name: &str) {
        let counters = DeviceCounters {
            name: name.to_owned(),
            flush_ios: Some(0),
            ..DeviceCounters::default()
        };
        let moment = |at_ns| Snapshot {
            at_ns,
            devices: vec![counters.clone()],
            own_io: Some(OwnIo::default()),
            file_cache: Some(cache(0, 0)),
            ..Snapshot::default()
        };
        self.report.evidence.push(WaveEvidence {
            wave: 0,
            streams: Vec::new(),
            evidence: Evidence {
                storage: storage(name),
                queues: vec![QueueSettings {
                    name: name.to_owned(),
                    write_cache: Some(WriteCache::Back),
                    fua: Some(false),
                    ..QueueSettings::default()
                }],
                before: moment(0),
                after: moment(10 * SECOND),
                during: Vec::new(),
                other_processes: Some(Vec::new()),
            },
            stops: Vec::new(),
        });
    }

    /// A stream that moved `bytes` in blocks of 1 MiB for 10 s, on the storage
    /// added last.
    fn stream(&mut self, name: &str, ddir: Ddir, bytes: u64) -> &mut Self {
        let mut stream = Stream::new(name);
        stream.blocks.rw.read = ddir == Ddir::Read;
        stream.blocks.rw.write = ddir == Ddir::Write;
        let mut came = StreamReport {
            started: true,
            runtime_ns: 10 * SECOND,
            elapsed_ns: 10 * SECOND,
            files: vec![("/mnt/f".into(), Bytes(bytes))],
            ..StreamReport::default()
        };
        came.directions[ddir].bytes = bytes;
        came.directions[ddir].ios = bytes.div_ceil(MIB);
        came.moved_bytes[ddir] = bytes;
        let index = u32::try_from(self.load.streams.len()).unwrap();
        self.load.streams.push(stream);
        self.report.streams.push(came);
        self.report.evidence.last_mut().unwrap().streams.push(index);
        self
    }

    fn last(&mut self, change: impl FnOnce(&mut Stream, &mut StreamReport)) -> &mut Self {
        let stream = self.load.streams.last_mut().unwrap();
        change(stream, self.report.streams.last_mut().unwrap());
        self
    }

    fn direct(&mut self) -> &mut Self {
        self.last(|stream, _| stream.durability.direct = true)
    }

    fn after(&mut self) -> &mut Snapshot {
        &mut self.report.evidence[0].evidence.after
    }

    /// The device read that much, all of it for this process.
    fn read(&mut self, bytes: u64) -> &mut Self {
        self.after().devices[0].read_bytes = bytes;
        self.after().devices[0].read_ios = bytes / 4096;
        self.after().own_io.as_mut().unwrap().read_bytes = bytes;
        self
    }

    /// This process dirtied so much, of which the device wrote a part.
    fn wrote(&mut self, dirtied: u64, device: u64) -> &mut Self {
        self.after().devices[0].write_bytes = device;
        self.after().own_io.as_mut().unwrap().write_bytes = dirtied;
        self.after().file_cache = Some(cache(dirtied, dirtied.saturating_sub(device)));
        self
    }

    /// Why the first stream's figure has its label.
    fn because(&self, ddir: Ddir) -> String {
        let judgement = self.judged().remove(0).unwrap();
        let evidence = match ddir {
            Ddir::Read => judgement.read,
            Ddir::Write => judgement.write,
            Ddir::Trim => judgement.trim,
        };
        evidence.unwrap().because
    }

    fn judged(&self) -> Vec<Option<Judgement>> {
        judge_load(&self.load, &self.report)
    }

    /// The labels of all streams in a direction.
    fn labels(&self, ddir: Ddir) -> Vec<&'static str> {
        let judged = self.judged();
        let of = |judgement: &Option<Judgement>| {
            let judgement = judgement.as_ref()?;
            let evidence = match ddir {
                Ddir::Read => &judgement.read,
                Ddir::Write => &judgement.write,
                Ddir::Trim => &judgement.trim,
            };
            Some(evidence.as_ref()?.measured.label())
        };
        judged
            .iter()
            .map(|judgement| of(judgement).unwrap_or("none"))
            .collect()
    }
}

fn cache(cached_bytes: u64, dirty_bytes: u64) -> FileCache {
    FileCache {
        source: CacheSource::Cachestat,
        cached_bytes,
        dirty_bytes: Some(dirty_bytes),
        writeback_bytes: Some(0),
    }
}

fn storage(name: &str) -> Storage {
    Storage {
        path: "/mnt".into(),
        mount: Some(Mount::default()),
        backing: Backing::Device {
            name: name.to_owned(),
        },
        layers: vec![Layer {
            name: name.to_owned(),
            major: 8,
            minor: 0,
            role: LayerRole::Top,
            parent: None,
            other_parents: Vec::new(),
            size: None,
            backing_file: None,
            identity: DeviceIdentity::default(),
        }],
        total: None,
        available: None,
    }
}

#[test]
fn one_stream_is_judged_as_a_trial_is() {
    let mut wave = Wave::new();
    wave.stream("r", Ddir::Read, MOVED).read(MOVED);
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
    wave.read(0);
    assert_eq!(wave.labels(Ddir::Read), ["page-cache"]);
    wave.read(MOVED / 2);
    assert_eq!(wave.labels(Ddir::Read), ["mixed"]);

    let mut wave = Wave::new();
    wave.stream("w", Ddir::Write, MOVED).wrote(MOVED, 0);
    assert_eq!(wave.labels(Ddir::Write), ["page-cache"]);
    wave.wrote(MOVED, MOVED);
    assert_eq!(wave.labels(Ddir::Write), ["device-unflushed"]);
}

#[test]
fn a_flush_at_the_end_counts_when_it_was_made_and_seen() {
    let mut wave = Wave::new();
    wave.stream("w", Ddir::Write, MOVED).wrote(MOVED, MOVED);
    wave.last(|stream, came| {
        stream.durability.at_end = Some(FlushCall::Fsync);
        came.flushed_at_end = true;
        came.sync.count = 1;
    });
    assert_eq!(wave.labels(Ddir::Write), ["device-unflushed"], "not seen");
    wave.after().devices[0].flush_ios = Some(1);
    assert_eq!(wave.labels(Ddir::Write), ["device"]);
    wave.last(|_, came| came.flushed_at_end = false);
    assert_eq!(wave.labels(Ddir::Write), ["device-unflushed"], "not made");
}

#[test]
fn copies_of_a_job_share_alike() {
    let mut wave = Wave::new();
    for _ in 0..4 {
        wave.stream("r", Ddir::Read, MOVED);
    }
    wave.read(2 * MOVED);
    assert_eq!(wave.labels(Ddir::Read), ["mixed"; 4]);
    wave.read(4 * MOVED);
    assert_eq!(wave.labels(Ddir::Read), ["device"; 4]);
}

#[test]
fn a_cached_stream_does_not_hide_behind_a_large_one() {
    let mut wave = Wave::new();
    wave.stream("large", Ddir::Read, 100 * MOVED);
    wave.stream("small", Ddir::Read, MOVED);
    wave.read(100 * MOVED);
    // 99 % of all bytes came from the device, but perhaps none of the small
    // one's.
    assert_eq!(wave.labels(Ddir::Read), ["device", "unknown"]);
    wave.read(101 * MOVED);
    assert_eq!(wave.labels(Ddir::Read), ["device", "device"]);
    wave.read(0);
    assert_eq!(wave.labels(Ddir::Read), ["page-cache", "page-cache"]);
}

#[test]
fn direct_and_buffered_streams_are_told_apart_only_when_both_agree() {
    let mut wave = Wave::new();
    wave.stream("direct", Ddir::Read, MOVED).direct();
    wave.stream("cached", Ddir::Read, MOVED).read(MOVED);
    assert_eq!(wave.labels(Ddir::Read), ["unknown", "unknown"]);
    let judged = wave.judged();
    let why = &judged[0].as_ref().unwrap().read.as_ref().unwrap().because;
    assert!(why.contains("other jobs of this wave"), "{why}");
    wave.read(2 * MOVED);
    assert_eq!(wave.labels(Ddir::Read), ["device", "device"]);
}

#[test]
fn each_stream_answers_for_its_own_flushes() {
    let mut wave = Wave::new();
    wave.stream("plain", Ddir::Write, MOVED).direct();
    wave.stream("sync", Ddir::Write, MOVED).direct();
    wave.last(|stream, _| stream.durability.sync = OpenSync::Dsync);
    wave.wrote(2 * MOVED, 2 * MOVED);
    wave.after().devices[0].flush_ios = Some(MOVED / MIB);
    assert_eq!(wave.labels(Ddir::Write), ["device-unflushed", "device"]);
}

/// What a short stream left in memory is written back while a long one runs on.
#[test]
fn a_write_that_ended_early_is_not_vouched_for_by_later_counters() {
    let mut wave = Wave::new();
    wave.stream("short", Ddir::Write, MOVED);
    wave.last(|_, came| {
        came.runtime_ns = SECOND;
        came.elapsed_ns = SECOND;
    });
    wave.stream("long", Ddir::Read, MOVED).read(MOVED);
    wave.wrote(MOVED, MOVED);
    assert_eq!(wave.labels(Ddir::Write), ["unknown", "none"]);
    assert_eq!(wave.labels(Ddir::Read), ["none", "device"]);
    // One that was flushed has nothing left.
    wave.load.streams[0].durability.at_end = Some(FlushCall::Fsync);
    wave.report.streams[0].sync.count = 1;
    wave.report.streams[0].flushed_at_end = true;
    wave.after().devices[0].flush_ios = Some(1);
    assert_eq!(wave.labels(Ddir::Write), ["device", "none"]);
}

/// The same beside a direct stream: what is late concerns the other only.
#[test]
fn a_direct_stream_is_not_blurred_by_pages_that_others_left() {
    let mut wave = Wave::new();
    wave.stream("short", Ddir::Write, MOVED);
    wave.last(|_, came| {
        came.runtime_ns = SECOND;
        came.elapsed_ns = SECOND;
    });
    wave.stream("direct", Ddir::Write, MOVED).direct();
    wave.wrote(2 * MOVED, 2 * MOVED);
    assert_eq!(wave.labels(Ddir::Write), ["unknown", "device-unflushed"]);
    // Nothing of the short one was written back yet: the rest may be either's.
    wave.wrote(2 * MOVED, MOVED);
    assert_eq!(wave.labels(Ddir::Write), ["unknown", "unknown"]);
}

#[test]
fn direct_writes_left_no_pages_that_a_buffered_neighbour_explains() {
    let mut wave = Wave::new();
    wave.stream("direct", Ddir::Write, MOVED).direct();
    wave.stream("buffered", Ddir::Read, MOVED)
        .wrote(MOVED, MOVED)
        .read(MOVED);
    let calls = |wave: &Wave| {
        wave.judged()[0]
            .as_ref()
            .unwrap()
            .write
            .as_ref()
            .unwrap()
            .calls
    };
    wave.after().file_cache = Some(cache(MOVED, 0));
    assert_eq!(calls(&wave), CallEnd::Whole);
    // Through the page cache after all, as with files that the file system encrypts.
    wave.after().file_cache = Some(cache(2 * MOVED, 0));
    assert_ne!(calls(&wave), CallEnd::Whole);
}

#[test]
fn an_interim_report_has_flushed_nothing_for_good() {
    let mut wave = Wave::new();
    wave.stream("w", Ddir::Write, MOVED).wrote(MOVED, MOVED);
    wave.last(|stream, came| {
        stream.durability.at_end = Some(FlushCall::Fsync);
        came.sync.count = 1;
    });
    wave.after().devices[0].flush_ios = Some(1);
    wave.report.interim = true;
    assert_eq!(wave.labels(Ddir::Write), ["device-unflushed"]);
}

#[test]
fn the_ramp_counts_as_moved_but_not_as_measured() {
    let mut wave = Wave::new();
    wave.stream("r", Ddir::Read, MOVED).read(2 * MOVED);
    wave.last(|_, came| {
        came.moved_bytes.read = 2 * MOVED;
        came.files[0].1 = Bytes(2 * MOVED);
    });
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
    let judged = wave.judged();
    let read = judged[0].as_ref().unwrap().read.as_ref().unwrap();
    assert_eq!(read.job_bytes, MOVED);
    // Half of it from the cache.
    wave.read(MOVED);
    assert_eq!(wave.labels(Ddir::Read), ["mixed"]);
}

#[test]
fn small_random_reads_need_a_page_each() {
    let mut wave = Wave::new();
    wave.stream("r", Ddir::Read, MIB).read(8 * MIB);
    wave.last(|stream, came| {
        stream.blocks.rw.random = true;
        came.directions.read.ios = MIB / 512;
    });
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
    wave.read(MIB);
    assert_eq!(wave.labels(Ddir::Read), ["mixed"], "most pages were cached");
}

#[test]
fn pages_that_are_read_again_and_again_count_each_time() {
    let mut wave = Wave::new();
    // 16 MiB of a file of 16 MiB are cached, and read 16 times; read-ahead of
    // others fills the device's counter.
    wave.stream("r", Ddir::Read, MOVED).read(MOVED);
    wave.last(|_, came| came.files[0].1 = Bytes(16 * MIB));
    wave.report.evidence[0].evidence.before.file_cache = Some(cache(16 * MIB, 0));
    assert_eq!(wave.labels(Ddir::Read), ["unknown"]);
}

#[test]
fn engines_that_move_no_data_are_not_judged_by_counters() {
    let engines = EngineKind::ALL.into_iter();
    for kind in engines.filter(|kind| !kind.moves_data() && *kind != EngineKind::Sim) {
        let mut wave = Wave::new();
        wave.stream("n", Ddir::Write, MOVED).wrote(MOVED, MOVED);
        wave.last(|stream, _| stream.engine.kind = kind);
        assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
        let judged = wave.judged();
        let why = &judged[0].as_ref().unwrap().write.as_ref().unwrap().because;
        assert!(
            why.contains(kind.name()) && why.contains("no data"),
            "{why}"
        );
    }
}

#[test]
fn files_on_two_storages_cannot_be_judged() {
    let mut wave = Wave::new();
    wave.stream("both", Ddir::Read, MOVED).read(MOVED);
    wave.storage("sdb");
    wave.report.evidence[1].streams.push(0);
    assert_eq!(wave.labels(Ddir::Read), ["unknown"]);
}

#[test]
fn another_storage_of_the_wave_takes_the_processes_account_away() {
    let mut wave = Wave::new();
    wave.stream("a", Ddir::Read, MOVED);
    wave.storage("sdb");
    wave.stream("b", Ddir::Read, MOVED).read(MOVED);
    // `read` fills the first storage's counters: b's device did nothing.
    assert_eq!(wave.labels(Ddir::Read), ["device", "page-cache"]);
}

#[test]
fn what_moved_nothing_is_not_judged() {
    let mut wave = Wave::new();
    wave.stream("t", Ddir::Read, 0);
    assert_eq!(wave.judged(), [None]);
    wave.report.evidence.clear();
    assert_eq!(wave.judged(), [None]);
    wave.stream_without_evidence();
    assert_eq!(wave.labels(Ddir::Read), ["none", "unknown"]);
}

impl Wave {
    fn stream_without_evidence(&mut self) {
        self.storage("sda");
        self.stream("r", Ddir::Read, MOVED);
        self.report.evidence.clear();
    }
}

#[test]
fn maps_are_never_direct() {
    let mut wave = Wave::new();
    wave.stream("m", Ddir::Write, MOVED).direct();
    wave.last(|stream, _| stream.engine.kind = EngineKind::Mmap);
    wave.wrote(MOVED, 0);
    assert_eq!(wave.labels(Ddir::Write), ["page-cache"]);
}

#[test]
fn a_trial_of_several_streams_says_what_all_of_them_say() {
    let mut wave = Wave::new();
    wave.stream("r", Ddir::Read, MOVED);
    wave.stream("r", Ddir::Read, MOVED);
    wave.stream("small", Ddir::Read, MIB).read(2 * MOVED);
    let record = |members: &[u32]| WaveRecord {
        load: wave.load.clone(),
        report: wave.report.clone(),
        members: members.to_vec(),
    };
    let read = |members: &[u32]| judge_members(&record(members)).unwrap().read.unwrap();
    let both = read(&[0, 1]);
    assert_eq!(both.measured, Measured::Device);
    assert_eq!(both.job_bytes, 2 * MOVED);
    assert_eq!(read(&[0, 2]).measured.label(), "unknown");
    assert_eq!(judge_members(&record(&[])), None);
}

fn error(direction: Option<Direction>) -> IoErrors {
    IoErrors {
        count: 1,
        first: vec![IoErrorRecord {
            direction,
            offset: 0,
            length: 4096,
            errno: Some(5),
            message: "Input/output error at 0".to_owned(),
            at_ns: 0,
        }],
    }
}

/// Direct writes, all of which the device counted, with a flush at the end.
fn written() -> Wave {
    let mut wave = Wave::new();
    wave.stream("w", Ddir::Write, MOVED)
        .direct()
        .wrote(MOVED, MOVED);
    wave.last(|stream, came| {
        stream.durability.at_end = Some(FlushCall::Fsync);
        came.flushed_at_end = true;
        came.sync.count = 1;
    });
    wave.after().devices[0].flush_ios = Some(1);
    wave
}

#[test]
fn a_failed_write_leaves_nothing_proven() {
    assert_eq!(written().labels(Ddir::Write), ["device"]);
    let mut wave = written();
    wave.last(|_, came| {
        came.total_errors = 1;
        came.errors = error(Some(Direction::Write));
        came.directions.write.dropped_ios = 1;
    });
    assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
    let because = wave.because(Ddir::Write);
    assert!(because.contains("job w: Input/output error"), "{because}");
}

#[test]
fn an_ignored_error_is_one_nevertheless() {
    let mut wave = written();
    wave.last(|_, came| came.directions.write.dropped_ios = 1);
    assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
    // The write that found the device full is how such a job ends.
    wave.last(|stream, _| stream.length.fill_device = true);
    assert_eq!(wave.labels(Ddir::Write), ["device"]);
}

#[test]
fn a_failed_flush_leaves_nothing_proven() {
    let mut wave = written();
    wave.last(|_, came| {
        came.errno = 5;
        came.total_errors = 1;
        came.problem = Some("flush of f: Input/output error".to_owned());
    });
    assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
    assert!(wave.because(Ddir::Write).contains("flush of f"));
}

#[test]
fn a_failure_of_one_job_is_in_the_counters_of_all() {
    let mut wave = written();
    wave.stream("bad", Ddir::Write, MIB).direct();
    wave.last(|_, came| came.directions.write.dropped_ios = 3);
    wave.stream("r", Ddir::Read, MOVED).read(MOVED);
    wave.wrote(MOVED + MIB, MOVED + MIB);
    assert_eq!(wave.labels(Ddir::Write), ["unknown", "unknown", "none"]);
    assert_eq!(wave.labels(Ddir::Read), ["none", "none", "device"]);
}

#[test]
fn a_failed_read_is_no_failed_write() {
    let mut wave = written();
    wave.last(|_, came| {
        came.total_errors = 1;
        came.errors = error(Some(Direction::Read));
        came.directions.read.dropped_ios = 1;
    });
    // It did not come to its end: the flush is not taken for granted.
    assert_eq!(wave.labels(Ddir::Write), ["device-unflushed"]);
}

/// 4 KiB random reads of [`MOVED`] bytes with a map, and what the device did.
fn random(device_bytes: u64, requests: u64) -> Wave {
    let mut wave = Wave::new();
    wave.stream("m", Ddir::Read, MOVED).read(device_bytes);
    wave.last(|stream, came| {
        stream.blocks.rw.random = true;
        stream.engine.kind = EngineKind::Mmap;
        came.directions.read.ios = MOVED / 4096;
    });
    wave.after().devices[0].read_ios = requests;
    wave
}

const READS: u64 = MOVED / 4096;

/// Seen on Linux 6.18: 16 MiB read with a map at random made the device move
/// 64 MiB in 512 requests; the median read took 660 ns.
#[test]
fn bytes_read_around_do_not_vouch_for_the_reads() {
    let wave = random(4 * MOVED, READS / 8);
    assert_eq!(wave.labels(Ddir::Read), ["mixed"]);
    let because = wave.because(Ddir::Read);
    assert!(because.contains("only 12 % of the reads"), "{because}");
    let judged = wave.judged().remove(0).unwrap().read.unwrap();
    assert_eq!(judged.device_share, Some(0.125));
    let few = random(4 * MOVED, READS / 32);
    assert_eq!(few.labels(Ddir::Read), ["page-cache"]);
}

#[test]
fn a_request_for_each_read_is_the_device() {
    assert_eq!(random(MOVED, READS).labels(Ddir::Read), ["device"]);
    // A few neighbours may have shared one.
    let most = READS - READS / 50;
    assert_eq!(random(MOVED, most).labels(Ddir::Read), ["device"]);
}

#[test]
fn large_blocks_may_take_one_request_or_many() {
    for requests in [MOVED / MIB, 8 * MOVED / MIB] {
        let mut wave = random(MOVED, requests);
        wave.last(|_, came| came.directions.read.ios = MOVED / MIB);
        assert_eq!(wave.labels(Ddir::Read), ["device"]);
    }
}

#[test]
fn reads_in_order_are_merged_and_direct_ones_are_not_cached() {
    let mut wave = random(MOVED, MOVED / (128 << 10));
    assert_eq!(wave.labels(Ddir::Read), ["page-cache"]);
    wave.last(|stream, _| stream.blocks.rw.random = false);
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
    wave.last(|stream, _| {
        stream.blocks.rw.random = true;
        stream.engine.kind = EngineKind::Psync;
        stream.durability.direct = true;
    });
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
}

#[test]
fn runs_of_reads_in_order_need_one_request_each() {
    let mut wave = random(MOVED, READS / 8);
    wave.last(|stream, _| stream.blocks.rw.every = 8);
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
    wave.last(|stream, _| stream.blocks.rw.sequencer = Sequencer::Identical);
    assert_eq!(wave.labels(Ddir::Read), ["mixed"], "the same block again");
    let mut half = random(MOVED, READS / 2);
    half.last(|stream, _| stream.blocks.percentage_random.read = 50);
    assert_eq!(half.labels(Ddir::Read), ["device"]);
}

#[test]
fn requests_of_others_do_not_vouch() {
    // A direct job beside it made as many requests.
    let mut wave = random(2 * MOVED, READS / 8 + READS);
    wave.stream("d", Ddir::Read, MOVED).direct();
    wave.last(|_, came| came.directions.read.ios = READS);
    assert_eq!(wave.labels(Ddir::Read), ["unknown", "device"]);
    wave.after().devices[0].read_ios = 2 * READS;
    assert_eq!(wave.labels(Ddir::Read), ["device", "device"]);
    // Another process did.
    let mut busy = random(MOVED, READS);
    busy.after().devices[0].read_bytes = 2 * MOVED;
    assert_eq!(busy.labels(Ddir::Read), ["unknown"]);
}

fn trimmed(discarded: Option<u64>) -> Wave {
    let mut wave = Wave::new();
    wave.stream("t", Ddir::Trim, MOVED);
    let evidence = &mut wave.report.evidence[0].evidence;
    evidence.before.devices[0].discard_bytes = discarded.map(|_| 0);
    evidence.after.devices[0].discard_bytes = discarded;
    wave
}

#[test]
fn all_discarded_is_the_device() {
    let wave = trimmed(Some(MOVED));
    assert_eq!(wave.labels(Ddir::Trim), ["device"]);
    let because = wave.because(Ddir::Trim);
    assert_eq!(because, "100 % of the bytes were discarded on sda");
    let trim = wave.judged().remove(0).unwrap().trim.unwrap();
    assert_eq!((trim.job_bytes, trim.device_share), (MOVED, Some(1.0)));
    assert_eq!(trim.layers, [("sda".to_owned(), MOVED)]);
}

#[test]
fn what_was_kept_or_not_counted_is_unknown() {
    for discarded in [None, Some(0), Some(MOVED / 2), Some(2 * MOVED)] {
        let wave = trimmed(discarded);
        assert_eq!(wave.labels(Ddir::Trim), ["unknown"], "{discarded:?}");
    }
    let mut failed = trimmed(Some(MOVED));
    failed.last(|_, came| came.directions.trim.dropped_ios = 1);
    assert_eq!(failed.labels(Ddir::Trim), ["unknown"]);
}

#[test]
fn memory_has_no_device_to_trim() {
    let mut wave = trimmed(Some(MOVED));
    wave.report.evidence[0].evidence.storage.backing = Backing::Memory {
        fs_type: "tmpfs".to_owned(),
    };
    assert_eq!(wave.labels(Ddir::Trim), ["page-cache"]);
}

#[test]
fn a_small_job_does_not_hide_behind_a_large_one() {
    let mut wave = trimmed(Some(MOVED));
    wave.stream("small", Ddir::Trim, 4 * MIB);
    assert_eq!(wave.labels(Ddir::Trim), ["device", "unknown"]);
}
