//! Cases of evidence and the label each must get. Most of them try to make
//! the judge say `device` where it was not.

use super::*;
use crate::evidence::{
    CacheSource, DeviceCounters, FileCache, MemoryCounters, OwnIo, QueueSettings, Snapshot,
    WriteCache,
};
use crate::job::{CacheState, EngineKind, FlushCall, OpenSync, Rw};
use crate::storage::{Backing, DeviceIdentity, Layer, LayerRole, Mount, Storage};
use crate::trial::DirectionTotals;
use crate::units::{Bytes, KIB, MIB};

/// What the job of a case moves.
const JOB: u64 = 256 * MIB;

/// A trial in the making: a job of [`JOB`] bytes in blocks of 1 MiB on `sda`,
/// a write-back disk of a recent kernel.
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
        self.with(|t| t.counters(name).read_bytes += bytes)
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

mod writes {
    use super::*;

    #[test]
    fn left_in_the_page_cache() {
        Trial::write()
            .own_writes(JOB)
            .dirty(JOB)
            .writes_are("page-cache");
    }

    #[test]
    fn a_quarter_already_written_back_is_mixed_with_that_share() {
        let trial = Trial::write().own_writes(JOB).dirty(JOB / 4 * 3);
        let judged = trial.wrote("sda", JOB / 4).written();
        let expected = Measured::Mixed { device_share: 0.25 };
        assert_eq!(judged.measured, expected);
        assert_eq!(judged.device_share, Some(0.25));
        assert_eq!(judged.dirty_bytes_at_stop, Some(JOB / 4 * 3));
        assert!(judged.because.contains("25 %"), "{}", judged.because);
    }

    #[test]
    fn flushed_at_the_end() {
        let trial = Trial::write().fdatasync_at_end().all_written();
        trial.flushed("sda", 2).writes_are("device");
    }

    #[test]
    fn direct_is_device_only_without_a_volatile_cache() {
        let trial = || Trial::write().direct().all_written();
        trial().writes_are("device-unflushed");
        trial().write_through().writes_are("device");
        // Flushes that nobody asked for prove nothing about the last write.
        trial().flushed("sda", 3).writes_are("device-unflushed");
    }

    #[test]
    fn each_synchronous_write_needs_its_flush_or_fua() {
        let trial = || Trial::write().direct().sync(OpenSync::Dsync).all_written();
        trial().flushed("sda", 512).writes_are("device");
        trial().writes_are("device-unflushed");
        trial().fua().writes_are("device");
        // Those of others cannot stand for 256 of our own.
        trial().flushed("sda", 5).writes_are("device-unflushed");
        trial().fua().flushed("sda", 5).writes_are("device");
        let because = trial().flushed("sda", 5).written().because;
        assert!(
            because.contains("256") && because.contains("only 5"),
            "{because}"
        );
    }

    #[test]
    fn fua_is_for_direct_dsync_only() {
        let trial = |sync| Trial::write().sync(sync).all_written().fua();
        trial(OpenSync::Dsync).writes_are("device-unflushed");
        trial(OpenSync::Sync)
            .direct()
            .writes_are("device-unflushed");
        let raw = trial(OpenSync::Sync).direct();
        raw.with(|t| t.evidence().storage.mount = None)
            .writes_are("device");
    }

    #[test]
    fn without_barriers_flushes_are_those_of_others() {
        for option in ["nobarrier", "barrier=0", "fsync_mode=nobarrier"] {
            let trial = Trial::write().fdatasync_at_end().all_written();
            let trial = trial.flushed("sda", 4).mount_option(option);
            trial.writes_are("device-unflushed");
            assert!(trial.written().because.contains(option));
            trial.write_through().writes_are("device");
        }
    }

    #[test]
    fn missing_counters_are_unknown_never_device() {
        let trial = || {
            Trial::write()
                .fdatasync_at_end()
                .all_written()
                .flushed("sda", 2)
        };
        trial()
            .with(|t| t.counters("sda").flush_ios = None)
            .writes_are("unknown");
        trial()
            .with(|t| t.evidence().queues.clear())
            .writes_are("unknown");
        trial()
            .with(|t| t.evidence().queues[0].write_cache = None)
            .writes_are("unknown");
        let blind = trial().with(|t| t.moment(false).devices.clear());
        blind.writes_are("unknown");
        assert!(blind.written().because.contains("no counters for sda"));
        assert_eq!(blind.written().device_share, None);
        assert_eq!(blind.judged().foreign, None);
    }

    #[test]
    fn memory_is_page_cache_and_an_unknown_backing_says_why() {
        let memory = Backing::Memory {
            fs_type: "tmpfs".to_owned(),
        };
        let trial = Trial::write().fdatasync_at_end().own_writes(JOB).bare();
        trial
            .with(|t| t.evidence().storage.backing = memory)
            .writes_are("page-cache");
        let why = "the file system is on a network".to_owned();
        let trial = Trial::write().all_written().with(|t| {
            t.evidence().storage.backing = Backing::Unknown { why: why.clone() };
        });
        assert_eq!(trial.written().measured, Measured::Unknown { why });
    }

    #[test]
    fn a_foreign_writer_does_not_make_dirty_pages_ours_on_the_device() {
        let trial = || {
            let trial = Trial::write().own_writes(JOB).dirty(JOB);
            trial.wrote("sda", JOB).other_wrote(JOB)
        };
        trial().writes_are("page-cache");
        // The dirty pages alone are proof enough.
        trial().no_own_io().writes_are("page-cache");
        let blind = trial().no_own_io().no_cachestat(JOB, JOB);
        blind.writes_are("unknown");
        // Nor when the process table may not be read.
        let hidden = trial().no_own_io().no_cachestat(JOB, JOB);
        hidden
            .with(|t| t.evidence().other_processes = None)
            .writes_are("unknown");
    }

    #[test]
    fn an_old_kernel_is_believed_as_far_as_its_evidence_goes() {
        // Direct: nothing is cached, so nothing is dirty.
        let direct = || Trial::write().direct().all_written().write_through();
        direct().no_cachestat(0, JOB).writes_are("device");
        direct()
            .no_cachestat(0, JOB)
            .no_own_io()
            .writes_are("device");
        // Plain, all left dirty.
        let plain = || Trial::write().own_writes(JOB).no_cachestat(JOB, JOB);
        plain().writes_are("page-cache");
        // Plain, all written back meanwhile, or by a foreign writer: who knows.
        plain().wrote("sda", JOB).writes_are("unknown");
        // Nothing is dirty in all of memory: it must have been written.
        let clean = plain().wrote("sda", JOB).no_cachestat(JOB, 0);
        clean.write_through().writes_are("device");
        // A flush of everything leaves nothing dirty.
        let flushed = plain().wrote("sda", JOB).fdatasync_at_end();
        flushed.flushed("sda", 1).writes_are("device");
    }

    #[test]
    fn without_own_accounting_surplus_traffic_is_not_ours_to_claim() {
        let trial = || Trial::write().direct().write_through().no_own_io();
        trial().wrote("sda", JOB + MIB).writes_are("device");
        trial().wrote("sda", JOB * 2).writes_are("unknown");
        trial()
            .wrote("sda", JOB)
            .other_wrote(JOB)
            .writes_are("unknown");
    }

    #[test]
    fn a_tail_in_the_page_cache_is_not_safe_on_any_device() {
        let trial = Trial::write().own_writes(JOB).write_through();
        let trial = trial.dirty(JOB / 50).wrote("sda", JOB / 50 * 49);
        trial.writes_are("device-unflushed");
    }

    #[test]
    fn overwriting_cached_pages_reaches_nothing() {
        // Four passes over a quarter: the kernel accounts each page once.
        let trial = Trial::write().own_writes(JOB / 4).wrote("sda", JOB / 4);
        let judged = trial.fdatasync_at_end().flushed("sda", 2).written();
        assert_eq!(judged.measured, Measured::Mixed { device_share: 0.25 });
    }

    #[test]
    fn small_blocks_dirty_whole_pages_which_are_not_their_bytes() {
        // 512-byte writes dirty eight times their size; an eighth of the pages
        // was written back, as many bytes as the job wrote.
        let trial = Trial::write().job(|job| job.bs = Bytes(512));
        let trial = trial.own_writes(8 * JOB).dirty(7 * JOB).wrote("sda", JOB);
        let judged = trial.write_through().written();
        assert_eq!(
            judged.measured,
            Measured::Mixed {
                device_share: 0.125
            }
        );
    }

    #[test]
    fn cancelled_writes_never_arrived() {
        let trial = Trial::write().own_writes(JOB).wrote("sda", JOB);
        let trial = trial.write_through().with(|t| {
            t.moment(true)
                .own_io
                .as_mut()
                .unwrap()
                .cancelled_write_bytes = JOB;
        });
        trial.writes_are("page-cache");
    }

    #[test]
    fn flushes_on_the_way_do_not_cover_the_end() {
        let every = |n| {
            let trial = Trial::write().all_written().flushed("sda", 300);
            trial
                .job(|job| job.flush.every = Some((n, FlushCall::Fsync)))
                .with(|t| t.measured().flush.count = 256 / u64::from(n))
        };
        every(100).writes_are("device-unflushed");
        every(100).write_through().writes_are("device");
        every(1).writes_are("device");
        every(100).fdatasync_at_end().writes_are("device");
    }

    #[test]
    fn a_job_cut_short_has_skipped_its_last_flush() {
        for outcome in [
            Outcome::Interrupted,
            Outcome::Failed {
                error: "EIO".to_owned(),
            },
        ] {
            let trial = Trial::write().fdatasync_at_end().all_written();
            // A journal flushed meanwhile.
            let trial = trial.flushed("sda", 1).with(|t| t.0.outcome = outcome);
            trial.writes_are("device-unflushed");
        }
    }

    #[test]
    fn workers_that_flush_together_may_share_a_flush() {
        let trial = || {
            let trial = Trial::write().all_written().job(|job| {
                job.numjobs = 4;
                job.flush.every = Some((1, FlushCall::Fdatasync));
            });
            trial.with(|t| t.measured().flush.count = 256)
        };
        trial().flushed("sda", 64).writes_are("device");
        trial().flushed("sda", 63).writes_are("device-unflushed");
    }

    #[test]
    fn the_null_engine_measures_no_storage() {
        let trial = Trial::write().job(|job| job.ioengine = EngineKind::Null);
        trial.writes_are("unknown");
    }
}

mod reads {
    use super::*;

    #[test]
    fn all_from_the_device_or_all_from_the_cache() {
        let trial = || Trial::read().own_reads(JOB).read_from("sda", JOB);
        trial().reads_are("device");
        assert_eq!(trial().came().device_share, Some(1.0));
        Trial::read().cached_before(JOB).reads_are("page-cache");
    }

    #[test]
    fn half_cached_is_mixed() {
        let trial = Trial::read().own_reads(JOB / 2).read_from("sda", JOB / 2);
        let judged = trial.cached_before(JOB / 2).came();
        assert_eq!(judged.measured, Measured::Mixed { device_share: 0.5 });
    }

    #[test]
    fn reading_ahead_of_a_cold_file_is_still_all_device() {
        let trial = Trial::read().own_reads(JOB * 2).read_from("sda", JOB * 2);
        let judged = trial.came();
        assert_eq!(judged.measured, Measured::Device);
        assert_eq!(judged.device_share, Some(1.0));
    }

    /// Seen on Linux 6.18: a file cached to one half, a quarter of its pages
    /// read at random; the device moved 87 % of the job's bytes.
    #[test]
    fn read_ahead_may_hide_what_was_cached() {
        let trial = || {
            Trial::new(Rw::RandRead)
                .own_reads(JOB)
                .read_from("sda", JOB)
        };
        trial().cached_before(JOB / 2).reads_are("unknown");
        trial().cached_before(JOB / 100).reads_are("device");
        trial().cached_before(JOB / 2).direct().reads_are("device");
        // Nobody looked.
        trial()
            .with(|t| t.moment(false).file_cache = None)
            .reads_are("unknown");
    }

    #[test]
    fn reads_of_others_are_not_ours() {
        let trial = || Trial::read().read_from("sda", JOB);
        trial().cached_before(JOB).reads_are("page-cache");
        let busy = trial().cached_before(0).no_own_io().with(|t| {
            let process = ProcessIo {
                read_bytes: JOB,
                ..ProcessIo::default()
            };
            t.evidence().other_processes = Some(vec![process]);
        });
        busy.reads_are("unknown");
        trial().no_own_io().reads_are("device");
    }

    #[test]
    fn own_reads_of_another_device_are_not_this_one() {
        Trial::read().own_reads(JOB).reads_are("page-cache");
    }

    #[test]
    fn small_random_reads_that_share_a_page_are_mostly_cached() {
        // Each page is read once and serves eight reads.
        let trial = || {
            let trial = Trial::new(Rw::RandRead).job(|job| job.bs = Bytes(512));
            trial.with(|t| t.measured().read.ios = JOB / 512)
        };
        let once = trial().own_reads(JOB).read_from("sda", JOB).came();
        assert_eq!(
            once.measured,
            Measured::Mixed {
                device_share: 0.125
            }
        );
        let each = trial().own_reads(8 * JOB).read_from("sda", 8 * JOB);
        each.reads_are("device");
        // In order, the device's rate is what is measured.
        let in_order = trial().job(|job| job.rw = Rw::Read);
        in_order
            .own_reads(JOB)
            .read_from("sda", JOB)
            .reads_are("device");
    }

    #[test]
    fn a_job_without_bytes_has_no_label() {
        let trial = Trial::read().with(|t| t.measured().read.bytes = 0);
        assert_eq!(trial.judged().read, None);
        assert_eq!(trial.judged().write, None);
    }

    #[test]
    fn mixed_jobs_have_both_sides() {
        let trial = Trial::new(Rw::RandRw).own_reads(JOB).read_from("sda", JOB);
        let judged = trial.own_writes(JOB).dirty(JOB).judged();
        assert_eq!(judged.read.unwrap().measured, Measured::Device);
        assert_eq!(judged.write.unwrap().measured, Measured::PageCache);
    }
}

mod stacks {
    use super::*;

    fn durable() -> Trial {
        Trial::write().fdatasync_at_end().own_writes(JOB).bare()
    }

    #[test]
    fn bytes_of_the_partition_and_flushes_of_its_disk() {
        let trial = || {
            durable()
                .layer("sda1", LayerRole::Top, None, WriteCache::Through)
                .layer("sda", LayerRole::Disk, Some("sda1"), WriteCache::Back)
        };
        let good = trial()
            .wrote("sda1", JOB)
            .wrote("sda", JOB)
            .flushed("sda", 2);
        good.writes_are("device");
        assert_eq!(good.written().flushes, Some(2));
        // Only another partition was written.
        trial()
            .wrote("sda", JOB)
            .flushed("sda", 2)
            .writes_are("page-cache");
        // The partition's own row counts no flushes.
        let none = trial().wrote("sda1", JOB).wrote("sda", JOB);
        none.flushed("sda1", 2).writes_are("device-unflushed");
    }

    #[test]
    fn every_written_volatile_disk_of_a_mapping_must_be_flushed() {
        let trial = || {
            durable()
                .layer("dm-0", LayerRole::Top, None, WriteCache::Back)
                .layer("sda", LayerRole::Member, Some("dm-0"), WriteCache::Back)
                .layer("sdb", LayerRole::Member, Some("dm-0"), WriteCache::Through)
                .wrote("dm-0", JOB)
                .wrote("sda", JOB / 2)
                .wrote("sdb", JOB / 2)
        };
        let good = trial().flushed("sda", 2).written();
        assert_eq!(good.measured, Measured::Device);
        assert_eq!((good.flushes, good.volatile_cache), (Some(2), Some(true)));
        assert_eq!(good.layers.len(), 3);
        trial().flushed("sdb", 2).writes_are("device-unflushed");
        let both = trial().with(|t| t.evidence().queues[2].write_cache = Some(WriteCache::Back));
        both.flushed("sda", 2).writes_are("device-unflushed");
        trial().write_through().writes_are("device");
        let silent = trial().with(|t| t.evidence().queues[2].write_cache = None);
        silent.flushed("sda", 2).writes_are("unknown");
    }

    #[test]
    fn a_loop_device_answers_for_itself() {
        let trial = || {
            durable()
                .layer("loop0", LayerRole::Top, None, WriteCache::Back)
                .layer("vda", LayerRole::Beneath, Some("loop0"), WriteCache::Back)
                .wrote("loop0", JOB)
        };
        trial().flushed("loop0", 1).writes_are("device");
        trial()
            .flushed("vda", 9)
            .wrote("vda", JOB)
            .writes_are("device-unflushed");
        let through =
            trial().with(|t| t.evidence().queues[0].write_cache = Some(WriteCache::Through));
        through.writes_are("device");
    }
}

mod foreign {
    use super::*;

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
        assert_eq!(busy(100 * KIB), 100 * KIB);
        assert_eq!(busy(0), 0);
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
