//! Cases of evidence and the label each must get. Most of them try to make
//! the judge say `device` where it was not.

mod calls;
mod stacks;
mod writes;

use super::*;
use assay_model::act::androbench::{DatabaseStep, Journal, Synchronous};
use assay_model::act::iozone::{Child, Test};
use assay_model::evidence::{
    AgentStop, CacheSource, DeviceCounters, FileCache, Hindrances, IoLimit, MemoryCounters, OwnIo,
    QueueSettings, Snapshot, Throttled, WriteCache,
};
use assay_model::job::{CacheState, EngineKind, FlushCall, OpenSync, Rw};
use assay_model::storage::{Backing, DeviceIdentity, DeviceKind, Layer, LayerRole, Mount, Storage};
use assay_model::trial::DirectionTotals;
use assay_model::units::{Bytes, KIB, MIB};

/// What the job of a case moves.
const JOB: u64 = 256 * MIB;

/// A trial in the making: a job of [`JOB`] bytes in blocks of 1 MiB on `sda`,
/// a write-back disk of a recent kernel.
#[derive(Clone)]
struct Trial(TrialRecord);

impl Trial {
    fn new(rw: Rw) -> Self {
        let job = Job::new("t", rw, Bytes(MIB), Bytes(JOB));
        let moved = DirectionTotals {
            ios: JOB / MIB,
            bytes: JOB,
            ..DirectionTotals::default()
        };
        let mut measured = Measurement::default();
        if rw.reads() {
            measured.read = moved.clone();
        }
        if rw.writes() {
            measured.write = moved;
        }
        let mut trial = Self(TrialRecord {
            job,
            trial: 1,
            position: 0,
            started_unix_ms: 0,
            seed: 1,
            outcome: Outcome::Completed,
            measured: Some(measured),
            wave: None,
            detail: None,
            slot: None,
            condition: None,
            in_force: Vec::new(),
            evidence: Some(Evidence {
                storage: Storage {
                    path: "/mnt".into(),
                    mount: Some(Mount::default()),
                    backing: Backing::Device {
                        name: "sda".to_owned(),
                    },
                    layers: Vec::new(),
                    total: None,
                    available: None,
                },
                queues: Vec::new(),
                before: Snapshot::default(),
                after: Snapshot::default(),
                during: Vec::new(),
                other_processes: Some(Vec::new()),
            }),
        });
        for moment in [false, true] {
            let at = trial.moment(moment);
            at.own_io = Some(OwnIo::default());
            at.file_cache = Some(cache(0, 0));
        }
        trial.layer("sda", LayerRole::Top, None, WriteCache::Back)
    }

    fn write() -> Self {
        Self::new(Rw::Write)
    }

    fn read() -> Self {
        Self::new(Rw::Read)
    }

    fn evidence(&mut self) -> &mut Evidence {
        self.0.evidence.as_mut().unwrap()
    }

    fn measured(&mut self) -> &mut Measurement {
        self.0.measured.as_mut().unwrap()
    }

    fn moment(&mut self, after: bool) -> &mut Snapshot {
        let evidence = self.evidence();
        match after {
            true => &mut evidence.after,
            false => &mut evidence.before,
        }
    }

    /// Changes anything at all.
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn job(self, change: impl FnOnce(&mut Job)) -> Self {
        self.with(|t| change(&mut t.0.job))
    }

    /// `queue/iostats` of every layer.
    fn iostats(self, on: Option<bool>) -> Self {
        self.with(|t| {
            for queue in &mut t.evidence().queues {
                queue.iostats = on;
            }
        })
    }

    /// Adds a layer; all counters start anywhere but at 0.
    fn layer(
        mut self,
        name: &str,
        role: LayerRole,
        parent: Option<&str>,
        write_cache: WriteCache,
    ) -> Self {
        let counters = DeviceCounters {
            name: name.to_owned(),
            read_bytes: 7_000,
            write_bytes: 9_000,
            flush_ios: Some(11),
            ..DeviceCounters::default()
        };
        self.moment(false).devices.push(counters.clone());
        self.moment(true).devices.push(counters);
        let evidence = self.evidence();
        evidence.storage.layers.push(Layer {
            name: name.to_owned(),
            major: 8,
            minor: 0,
            role,
            parent: parent.map(str::to_owned),
            other_parents: Vec::new(),
            size: None,
            backing_file: None,
            identity: DeviceIdentity::default(),
        });
        evidence.queues.push(QueueSettings {
            name: name.to_owned(),
            write_cache: Some(write_cache),
            fua: Some(false),
            ..QueueSettings::default()
        });
        self
    }

    /// Another layer that stands directly on `name`.
    fn also_below(self, name: &str, parent: &str) -> Self {
        self.layer_with(name, |layer| layer.other_parents.push(parent.to_owned()))
    }

    fn kind(self, name: &str, kind: DeviceKind) -> Self {
        self.layer_with(name, |layer| layer.identity.kind = kind)
    }

    fn layer_with(self, name: &str, change: impl FnOnce(&mut Layer)) -> Self {
        self.with(|t| {
            let mut layers = t.evidence().storage.layers.iter_mut();
            change(layers.find(|layer| layer.name == name).unwrap());
        })
    }

    fn queue(self, name: &str, change: impl FnOnce(&mut QueueSettings)) -> Self {
        self.with(|t| {
            let mut queues = t.evidence().queues.iter_mut();
            change(queues.find(|queue| queue.name == name).unwrap());
        })
    }

    /// Without any layer, to build another stack.
    fn bare(self) -> Self {
        self.with(|t| {
            let evidence = t.evidence();
            evidence.storage.layers.clear();
            evidence.queues.clear();
            evidence.before.devices.clear();
            evidence.after.devices.clear();
        })
    }

    fn counters(&mut self, name: &str) -> &mut DeviceCounters {
        let mut all = self.moment(true).devices.iter_mut();
        all.find(|c| c.name == name).unwrap()
    }

    /// The layer wrote that much while the clock ran.
    fn wrote(self, name: &str, bytes: u64) -> Self {
        self.with(|t| t.counters(name).write_bytes += bytes)
    }

    fn read_from(self, name: &str, bytes: u64) -> Self {
        self.with(|t| {
            let counters = t.counters(name);
            counters.read_bytes += bytes;
            counters.read_ios += bytes / 4096;
        })
    }

    /// All that was read of the layer came in so many requests.
    fn in_requests(self, name: &str, requests: u64) -> Self {
        self.with(|t| t.counters(name).read_ios = requests)
    }

    fn flushed(self, name: &str, times: u64) -> Self {
        self.with(|t| {
            let flushes = t.counters(name).flush_ios.as_mut();
            *flushes.unwrap() += times;
        })
    }

    /// The kernel accounted that much writing to the agent.
    fn own_writes(self, bytes: u64) -> Self {
        self.with(|t| t.moment(true).own_io.as_mut().unwrap().write_bytes = bytes)
    }

    fn own_reads(self, bytes: u64) -> Self {
        self.with(|t| t.moment(true).own_io.as_mut().unwrap().read_bytes = bytes)
    }

    fn dirty(self, bytes: u64) -> Self {
        self.with(|t| t.moment(true).file_cache = Some(cache(bytes, bytes)))
    }

    fn cached_before(self, bytes: u64) -> Self {
        self.with(|t| t.moment(false).file_cache = Some(cache(bytes, 0)))
    }

    /// A kernel without task I/O accounting.
    fn no_own_io(self) -> Self {
        self.with(|t| {
            t.moment(false).own_io = None;
            t.moment(true).own_io = None;
        })
    }

    /// A kernel before 6.5: pages are cached, dirty or not, and some of all
    /// memory is dirty.
    fn no_cachestat(self, cached: u64, dirty_anywhere: u64) -> Self {
        self.with(|t| {
            let after = t.moment(true);
            after.file_cache = Some(FileCache {
                source: CacheSource::Mincore,
                cached_bytes: cached,
                dirty_bytes: None,
                writeback_bytes: None,
            });
            after.memory = Some(MemoryCounters {
                dirty_bytes: dirty_anywhere,
                ..MemoryCounters::default()
            });
        })
    }

    /// Everything was written through to the device.
    fn all_written(self) -> Self {
        self.own_writes(JOB).wrote("sda", JOB)
    }

    fn fdatasync_at_end(self) -> Self {
        self.job(|job| job.flush.at_end = Some(FlushCall::Fdatasync))
            .with(|t| t.measured().flush.count = 1)
    }

    fn direct(self) -> Self {
        self.job(|job| job.direct = true)
    }

    fn sync(self, sync: OpenSync) -> Self {
        self.job(|job| job.sync = sync)
    }

    fn write_through(self) -> Self {
        self.with(|t| {
            for queue in &mut t.evidence().queues {
                queue.write_cache = Some(WriteCache::Through);
            }
        })
    }

    fn fua(self) -> Self {
        self.with(|t| {
            for queue in &mut t.evidence().queues {
                queue.fua = Some(true);
            }
        })
    }

    fn mount_option(self, option: &str) -> Self {
        self.with(|t| {
            let mount = t.evidence().storage.mount.as_mut().unwrap();
            mount.super_options.push(option.to_owned());
        })
    }

    /// Another process wrote that much.
    fn other_wrote(self, bytes: u64) -> Self {
        self.with(|t| {
            let process = ProcessIo {
                pid: 7,
                name: "dd".to_owned(),
                write_bytes: bytes,
                ..ProcessIo::default()
            };
            t.evidence().other_processes = Some(vec![process]);
        })
    }

    fn judged(&self) -> Judgement {
        judge(&self.0).unwrap()
    }

    fn written(&self) -> DirectionEvidence {
        self.judged().write.unwrap()
    }

    fn came(&self) -> DirectionEvidence {
        self.judged().read.unwrap()
    }

    #[track_caller]
    fn writes_are(&self, label: &str) {
        let judged = self.written();
        assert_eq!(judged.measured.label(), label, "{}", judged.because);
    }

    #[track_caller]
    fn reads_are(&self, label: &str) {
        let judged = self.came();
        assert_eq!(judged.measured.label(), label, "{}", judged.because);
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

#[test]
fn a_trial_that_did_not_start_is_not_judged() {
    let trial = Trial::read().with(|t| t.0.evidence = None);
    assert_eq!(judge(&trial.0), None);
    let trial = Trial::read().with(|t| t.0.measured = None);
    assert_eq!(judge(&trial.0), None);
}

#[test]
fn warm_reads_are_page_cache() {
    let trial = Trial::read().job(|job| job.cache_state = CacheState::Warm);
    trial.cached_before(JOB).reads_are("page-cache");
}

/// A cell of two children, of which one took so long and waited so long.
fn cell(trial: Trial, elapsed_ns: u64, idle_ns: u64) -> Trial {
    let child = Child {
        bytes: JOB / 2,
        elapsed_ns,
        cpu_ns: 0,
        idle_ns,
    };
    let step = IozoneStep {
        test: Test::Write,
        file_kib: JOB / 2048,
        record_kib: 1024,
        children: vec![
            Child {
                idle_ns: 0,
                ..child
            },
            child,
        ],
        parent_ns: None,
        mismatch: false,
    };
    trial.with(|t| t.0.detail = Some(Box::new(StepDetail::Iozone(step))))
}

#[test]
fn what_moved_while_the_clock_stood_still_is_nobodys_figure() {
    let flushed = || Trial::write().fdatasync_at_end().all_written();
    let flushed = || flushed().flushed("sda", 2);
    cell(flushed(), 1_000_000, 0).writes_are("device");
    cell(flushed(), 1_000_000, 1000).writes_are("device");
    cell(flushed(), 1_000_000, 100_000).writes_are("unknown");
    let some = || Trial::write().own_writes(JOB).dirty(JOB / 2);
    let some = || some().wrote("sda", JOB / 2);
    cell(some(), 1_000_000, 0).writes_are("mixed");
    cell(some(), 1_000_000, 100_000).writes_are("unknown");
    let read = || Trial::read().own_reads(JOB).read_from("sda", JOB);
    cell(read(), 1_000_000, 0).reads_are("device");
    cell(read(), 1_000_000, 100_000).reads_are("unknown");
}

#[test]
fn direct_and_synchronous_calls_leave_nothing_for_the_pauses() {
    let direct = Trial::read().direct().own_reads(JOB).read_from("sda", JOB);
    cell(direct, 1_000_000, 100_000).reads_are("device");
    let direct = Trial::write().direct().all_written().write_through();
    cell(direct, 1_000_000, 100_000).writes_are("device");
    let cached = Trial::write().own_writes(JOB).dirty(JOB);
    cell(cached, 1_000_000, 100_000).writes_are("page-cache");
}

const TRANSACTIONS: u64 = 100;

/// [`TRANSACTIONS`] that wrote [`JOB`] bytes together.
fn transactions(journal: Journal, synchronous: Synchronous) -> Trial {
    let step = DatabaseStep {
        transactions: TRANSACTIONS,
        journal,
        synchronous,
        ..DatabaseStep::default()
    };
    let durable = synchronous.commits_durably(journal);
    Trial::new(Rw::RandWrite)
        .job(|job| job.flush.at_end = durable.then_some(FlushCall::Fsync))
        .with(|t| t.0.detail = Some(Box::new(StepDetail::Database(step))))
}

#[test]
fn each_durable_transaction_needs_a_flush() {
    let full = || transactions(Journal::Wal, Synchronous::Full).all_written();
    full().flushed("sda", TRANSACTIONS).writes_are("device");
    full().write_through().writes_are("device");
    // A device, or a file system, that answers without having flushed.
    let few = full().flushed("sda", TRANSACTIONS - 1);
    few.writes_are("device-unflushed");
    assert!(few.written().because.contains("only 99"));
    full().writes_are("device-unflushed");
}

#[test]
fn transactions_that_are_never_flushed_are_the_page_caches() {
    let off = transactions(Journal::Delete, Synchronous::Off);
    off.own_writes(JOB).dirty(JOB).writes_are("page-cache");
    let log = transactions(Journal::Wal, Synchronous::Normal);
    log.own_writes(JOB).dirty(JOB).writes_are("page-cache");
}

#[test]
fn what_a_journal_adds_is_not_somebody_elses() {
    let wrote = |trial: Trial, bytes| {
        let judged = trial.all_written().wrote("sda", bytes).judged();
        judged.foreign.unwrap().write_bytes
    };
    // Far more than a job without flushes can cause.
    let bytes = 32 * MIB;
    let full = transactions(Journal::Delete, Synchronous::Full);
    assert_eq!(wrote(full, bytes), 0);
    let off = transactions(Journal::Off, Synchronous::Off);
    assert!(wrote(off, bytes) > 0);
}

/// Seen on a real loop device: all reads came from it, none were counted.
#[test]
fn counters_that_are_switched_off_do_not_say_page_cache() {
    let trial = Trial::read().direct().iostats(Some(false));
    let judged = trial.came();
    assert_eq!(judged.measured.label(), "unknown");
    let remedy = "echo 1 > /sys/block/sda/queue/iostats";
    assert!(judged.because.contains(remedy), "{}", judged.because);
    assert_eq!(judged.layers, []);
    assert_eq!(trial.judged().foreign, None);
    // Nor mixed, when they were switched off in between.
    let trial = || Trial::write().own_writes(JOB).iostats(Some(false));
    trial().writes_are("unknown");
    trial().wrote("sda", JOB / 2).writes_are("unknown");
}

#[test]
fn counters_that_moved_although_switched_off_vouch_for_the_device() {
    let trial = |on| {
        Trial::read()
            .own_reads(JOB)
            .read_from("sda", JOB)
            .iostats(on)
    };
    trial(Some(false)).reads_are("device");
    trial(None).reads_are("device");
}

#[test]
fn flushes_that_are_not_counted_are_not_missing_flushes() {
    let trial = Trial::write().fdatasync_at_end().all_written();
    let judged = trial.iostats(Some(false)).written();
    assert_eq!(judged.measured.label(), "unknown");
    assert_eq!(judged.flushes, None);
    assert!(judged.because.contains("iostats"), "{}", judged.because);
}

#[test]
fn a_partition_is_switched_on_at_its_disk() {
    let trial = Trial::read().own_reads(JOB).bare();
    let trial = trial
        .layer("sda1", LayerRole::Top, None, WriteCache::Through)
        .layer("sda", LayerRole::Disk, Some("sda1"), WriteCache::Back);
    let because = trial.iostats(Some(false)).came().because;
    assert!(because.contains("I/O of sda1"), "{because}");
    assert!(because.contains("/sys/block/sda/queue"), "{because}");
}

#[test]
fn direct_bytes_that_the_device_did_not_see_are_a_contradiction() {
    let read = |seen| Trial::read().direct().own_reads(JOB).read_from("sda", seen);
    for (seen, label) in [(0, "unknown"), (JOB / 2, "unknown"), (JOB, "device")] {
        read(seen).reads_are(label);
    }
    let because = read(0).came().because;
    assert!(because.contains("contradicts"), "{because}");
    let write = Trial::write().direct().own_writes(JOB).write_through();
    write.writes_are("unknown");
    // The kernel counted no reads of the agent either, so nothing contradicts.
    let because = Trial::read().direct().came().because;
    assert!(!because.contains("contradicts"), "{because}");
}

#[test]
fn flushed_bytes_that_the_device_did_not_see_are_a_contradiction_too() {
    let trial = Trial::write().fdatasync_at_end().own_writes(JOB);
    trial.flushed("sda", 2).writes_are("unknown");
}

#[test]
fn counters_read_late_do_not_count_what_was_written_back_after_the_clock() {
    let trial = |slack_ns: u64| {
        let trial = Trial::write().own_writes(JOB).dirty(JOB / 2);
        let trial = trial.wrote("sda", JOB / 2).write_through();
        trial.with(|t| {
            t.measured().elapsed_ns = 1_000_000_000;
            t.moment(false).at_ns = 5_000_000_000;
            t.moment(true).at_ns = 6_000_000_000 + slack_ns;
        })
    };
    trial(20_000_000).writes_are("mixed");
    trial(200_000_000).writes_are("unknown");
    let because = trial(200_000_000).written().because;
    assert!(because.contains("long after the clock"), "{because}");
    // Flushed and direct writes are over when the clock stops; write-back has not begun.
    let flushed = trial(200_000_000).fdatasync_at_end();
    flushed.writes_are("mixed");
    trial(200_000_000).direct().writes_are("mixed");
    let left = trial(200_000_000).dirty(JOB);
    left.writes_are("page-cache");
}

fn foreign(trial: &Trial) -> (u64, u64) {
    let foreign = trial.judged().foreign.unwrap();
    (foreign.read_bytes, foreign.write_bytes)
}

#[test]
fn what_no_process_is_known_for_counts_beyond_the_overhead() {
    let trial = || Trial::write().all_written();
    assert_eq!(foreign(&trial()), (0, 0));
    assert_eq!(foreign(&trial().wrote("sda", MIB)), (0, 0));
    let (_, written) = foreign(&trial().wrote("sda", JOB));
    assert!((JOB * 9 / 10..JOB).contains(&written), "{written}");
    let (read, _) = foreign(&trial().read_from("sda", 10 * MIB));
    assert_eq!(read, 9 * MIB);
}

#[test]
fn what_processes_did_counts_as_far_as_the_disk_moved_it() {
    let busy = |disk: u64| {
        let trial = Trial::write().all_written();
        foreign(&trial.wrote("sda", disk).other_wrote(512 * KIB)).1
    };
    assert_eq!(busy(512 * KIB), 512 * KIB);
    assert_eq!(busy(MIB), 512 * KIB);
    assert_eq!(busy(100 * KIB), 100 * KIB);
    assert_eq!(busy(0), 0);
}

/// 850 appends of 4 KiB with an fsync each beside a dd, seen on ext4: the disk
/// moved 55 MB, of which commits explain 24 and at most 56.
#[test]
fn a_busy_process_is_not_hidden_behind_the_allowance_for_commits() {
    let flushes = 850;
    let trial = |disk| {
        let trial = Trial::write().own_writes(flushes * 4096).job(|job| {
            job.bs = Bytes(4096);
            job.flush.every = Some((1, FlushCall::Fsync));
        });
        let trial = trial.with(|t| {
            t.measured().write.bytes = flushes * 4096;
            t.measured().flush.count = flushes;
        });
        trial.wrote("sda", disk).flushed("sda", flushes)
    };
    let disturbed = || trial(55_000_000);
    assert_eq!(foreign(&disturbed()), (0, 0));
    let (_, written) = foreign(&disturbed().other_wrote(104_000_000));
    assert!((20_000_000..30_000_000).contains(&written), "{written}");
    assert_eq!(foreign(&disturbed().other_wrote(MIB)), (0, MIB));
    // The usual traffic of the job alone, and a process busy elsewhere.
    let alone = trial(flushes * 28 * KIB).other_wrote(104_000_000);
    assert_eq!(foreign(&alone), (0, 0));
}

#[test]
fn read_ahead_of_a_buffered_job_is_its_own() {
    let trial = |direct| {
        let trial = Trial::read()
            .own_reads(JOB)
            .read_from("sda", JOB + 200 * KIB);
        trial.job(|job| job.direct = direct).with(|t| {
            t.evidence().queues[0].read_ahead_kib = Some(128);
            let process = ProcessIo {
                read_bytes: JOB,
                ..ProcessIo::default()
            };
            t.evidence().other_processes = Some(vec![process]);
        })
    };
    assert_eq!(foreign(&trial(false)).0, 0);
    assert_eq!(foreign(&trial(true)).0, 200 * KIB);
}

#[test]
fn journal_commits_of_the_job_are_its_own() {
    let trial = Trial::write().all_written().job(|job| {
        job.bs = Bytes(4096);
        job.flush.every = Some((1, FlushCall::Fsync));
    });
    let trial = trial.with(|t| t.measured().flush.count = JOB / 4096);
    let trial = trial.wrote("sda", 4 * JOB).flushed("sda", JOB / 4096);
    assert_eq!(foreign(&trial), (0, 0));
    // Even when others were busy, perhaps elsewhere.
    assert_eq!(foreign(&trial.other_wrote(JOB)), (0, 0));
}

#[test]
fn pages_around_small_blocks_are_the_jobs_own() {
    let trial = Trial::write().own_writes(8 * JOB).wrote("sda", 8 * JOB);
    assert_eq!(foreign(&trial), (0, 0));
}

#[test]
fn bytes_of_an_unlabelled_job_are_not_called_foreign() {
    let trial = Trial::write()
        .all_written()
        .no_own_io()
        .other_wrote(JOB / 10);
    trial.writes_are("unknown");
    assert_eq!(foreign(&trial), (0, 0));
}

#[test]
fn a_neighbouring_partition_is_foreign() {
    let trial = Trial::write().own_writes(JOB).dirty(JOB).bare();
    let trial = trial
        .layer("sda1", LayerRole::Top, None, WriteCache::Through)
        .layer("sda", LayerRole::Disk, Some("sda1"), WriteCache::Back)
        .wrote("sda", 100 * MIB)
        .other_wrote(100 * MIB);
    assert_eq!(foreign(&trial).1, 100 * MIB);
}

const SECOND: u64 = 1_000_000_000;

fn throttled(group: &str, time_ns: u64) -> Throttled {
    Throttled {
        group: group.to_owned(),
        time_ns,
    }
}

/// Ten seconds on two processors in one group, with what happened meanwhile.
fn trial(change: impl FnOnce(&mut Hindrances)) -> Trial {
    let quiet = Hindrances {
        suspended_ns: 7,
        stops: Vec::new(),
        steal_ns: Some(9),
        processors: 2,
        throttled: vec![throttled("/a", 5), throttled("/", 3600 * SECOND)],
        io_limits: Vec::new(),
    };
    Trial::write().direct().with(|t| {
        t.measured().elapsed_ns = 10 * SECOND;
        t.moment(true).at_ns = 10 * SECOND;
        let mut after = quiet.clone();
        change(&mut after);
        t.moment(false).hindrances = Some(quiet);
        t.moment(true).hindrances = Some(after);
    })
}

fn told(trial: &Trial) -> Vec<String> {
    let hindrances = trial.judged().hindrances;
    hindrances.into_iter().map(|found| found.words).collect()
}

#[test]
fn a_quiet_machine_hinders_nothing() {
    assert_eq!(told(&trial(|_| {})), [""; 0]);
    let little = trial(|now| {
        now.steal_ns = Some(9 + SECOND);
        now.throttled[0].time_ns += SECOND / 10;
    });
    let little = little.with(|t| t.measured().cpu.run_delay_ns = SECOND / 2);
    assert_eq!(told(&little), [""; 0]);
    assert_eq!(told(&Trial::write()), [""; 0], "an old record");
}

#[test]
fn each_hindrance_has_its_own_words() {
    let stopped = trial(|now| {
        let stop = |end_ns, length_ns| AgentStop { end_ns, length_ns };
        // The first began before the clock.
        now.stops = vec![stop(SECOND, 2 * SECOND), stop(9 * SECOND, SECOND)];
        now.suspended_ns += SECOND + SECOND / 5;
    });
    assert_eq!(
        told(&stopped),
        ["the agent stood still 3.20 s (stopped or suspended)"]
    );
    let steal = trial(|now| now.steal_ns = Some(9 + 2 * SECOND));
    assert_eq!(
        told(&steal),
        ["the hypervisor took 10 % of the processors' time"]
    );
    let quota = trial(|now| now.throttled[0].time_ns += SECOND);
    assert_eq!(
        told(&quota),
        ["the CPU limit of cgroup /a stopped threads of it for 1.00 s"]
    );
    let busy = trial(|_| {}).with(|t| t.measured().cpu.run_delay_ns = SECOND);
    assert_eq!(
        told(&busy),
        ["the agent's threads waited for a processor for 10 % of the time"]
    );
}

#[test]
fn a_limit_is_told_of_devices_that_reach_it() {
    let limited = |key: &str, device: &str, per_second| {
        let limit = IoLimit {
            source: "io.max of cgroup /a".to_owned(),
            device: device.to_owned(),
            key: key.to_owned(),
            per_second,
        };
        let trial = trial(|now| now.io_limits.push(limit)).wrote("sda", JOB);
        told(&trial.with(|t| t.counters("sda").write_ios += 1000))
    };
    let words = "limited by io.max of cgroup /a to 25.6 MiB/s";
    assert_eq!(limited("wbps", "8:0", JOB / 10), [words]);
    assert_eq!(limited("wbps", "8:0", JOB), [""; 0], "far below it");
    assert_eq!(limited("wbps", "8:0", JOB / 100), [""; 0], "far above it");
    assert_eq!(limited("wbps", "8:16", JOB / 10), [""; 0], "another device");
    let words = "limited by io.max of cgroup /a to 100 IOPS";
    assert_eq!(limited("wiops", "8:0", 100), [words], "requests, not calls");
}
