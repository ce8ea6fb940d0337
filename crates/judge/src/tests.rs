//! Cases of evidence and the label each must get. Most of them try to make
//! the judge say `device` where it was not.

mod calls;
mod databases;
mod foreign;
mod hindrances;
mod idle;
mod reads;
mod stacks;
mod witness;
mod writes;

use super::*;
use assay_model::evidence::{
    CacheSource, DeviceCounters, FileCache, MemoryCounters, OwnIo, QueueSettings, Snapshot,
    WriteCache,
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
