//! Figures taken from the raw evidence without any judgement. Also the labels of main memory
//! figures (memory, or a cache of the processor) and of simulated trials.

use super::{Case, DirectionEvidence, Judgement, Measured};
use assay_lang::tr;
use assay_model::act::memory::{Machine, MemoryStep, MemoryStepResult, Pages, TIMES_LAST_LEVEL};
use assay_model::evidence::{DeviceCounters, FileCache, OwnIo, QueueSettings, WriteCache};
use assay_model::job::Direction;
use assay_model::storage::{DeviceKind, Layer, LayerRole};
use assay_model::units::Bytes;

impl Case<'_> {
    /// Returns the I/O that the kernel accounted to the agent while the clock ran.
    pub(super) fn own_io(&self) -> Option<OwnIo> {
        let (before, after) = (self.evidence.before.own_io?, self.evidence.after.own_io?);
        Some(after.combined(before, u64::saturating_sub))
    }

    /// Returns the bytes of the job's region (of the whole file where the region is not known) that
    /// were not on the device at clock stop, from any writer.
    pub(super) fn dirty_at_stop(&self) -> Option<u64> {
        let FileCache {
            dirty_bytes,
            writeback_bytes,
            ..
        } = self.pages_at_stop()?;
        Some(dirty_bytes? + writeback_bytes?)
    }

    /// Returns the cached pages of the job's region of the test file at clock stop. `None` on
    /// overlayfs: the pages belong to the file below, which the counters do not cover.
    pub(super) fn pages_at_stop(&self) -> Option<FileCache> {
        let after = &self.evidence.after;
        after
            .region_cache
            .or(after.file_cache)
            .filter(|_| !self.is_on("overlay"))
    }

    /// Returns the dirty bytes of the test file that other processes may have written. They are 0
    /// without a sign of another writer. Signs are: pages were dirty before the trial; pages are
    /// dirty although the job used direct I/O or flushed everything; more pages are dirty than the
    /// job wrote. With a sign, all bytes that other processes wrote may be in the file.
    pub(super) fn foreign_dirt(&self) -> u64 {
        let before = &self.evidence.before;
        let cache = before.region_cache.or(before.file_cache);
        let already = cache.map_or(0, |cache| {
            cache.dirty_bytes.unwrap_or(0) + cache.writeback_bytes.unwrap_or(0)
        });
        let dirty = self.dirty_at_stop().unwrap_or(0);
        let too_many = dirty.saturating_sub(self.most_dirtied());
        let not_its_own = dirty > 0 && (self.job.direct || self.ended_durable());
        match already > 0 || too_many > 0 || not_its_own {
            true => already
                .saturating_add(self.others(Direction::Write))
                .max(too_many),
            false => 0,
        }
    }

    /// Returns the most bytes that the job itself can have made dirty. The kernel accounts whole
    /// pages, and none that were already dirty.
    pub(super) fn most_dirtied(&self) -> u64 {
        self.own_written()
            .unwrap_or(0)
            .max(self.measured.write.bytes)
    }

    /// `true` if a process in user space reads the device for the job (`fuseblk`).
    pub(super) fn in_user_space(&self) -> bool {
        let mount = self.evidence.storage.mount.as_ref();
        mount.is_some_and(|mount| mount.fs_type.starts_with("fuse"))
    }

    /// `true` if the test file is on a file system of that type.
    pub(super) fn is_on(&self, fs_type: &str) -> bool {
        let mount = self.evidence.storage.mount.as_ref();
        mount.is_some_and(|mount| mount.fs_type == fs_type)
    }

    /// Returns the bytes that other processes read or wrote, on any device.
    pub(super) fn others(&self, direction: Direction) -> u64 {
        let processes = self.evidence.other_processes.iter().flatten();
        processes
            .map(|p| match direction {
                Direction::Read => p.read_bytes,
                Direction::Write => p.write_bytes,
            })
            .sum()
    }

    /// Returns the name of the layer that holds the file, or the joined names of several.
    pub(super) fn top_name(&self) -> String {
        let tops: Vec<&str> = (self.evidence.storage.tops())
            .map(|layer| layer.name.as_str())
            .collect();
        match tops.is_empty() {
            true => tr!("the device").to_owned(),
            false => tops.join(" + "),
        }
    }

    /// Returns the whole disk that the top layer is on; its counters cover all traffic.
    pub(super) fn disk_name(&self) -> Option<&str> {
        let disk = self.evidence.storage.device();
        disk.map(|layer| layer.name.as_str())
    }

    pub(super) fn queue(&self, layer: &Layer) -> Option<&QueueSettings> {
        let mut queues = self.evidence.queues.iter();
        queues.find(|queue| queue.name == layer.name)
    }

    /// `true` if a leaf has a volatile cache; `None` if a leaf's queue does not report it.
    pub(super) fn volatile_cache(&self) -> Option<bool> {
        let mut volatile = None;
        for leaf in self.evidence.storage.leaves() {
            let back = self.is_volatile(leaf)?;
            volatile = Some(volatile.unwrap_or(false) || back);
        }
        volatile
    }

    /// `true` if a device has a volatile cache, including one that the kernel is configured not to
    /// flush.
    pub(super) fn is_volatile(&self, leaf: &Layer) -> Option<bool> {
        let back = self.queue(leaf)?.write_cache? == WriteCache::Back;
        Some(back || self.hides_cache(leaf))
    }

    /// `true` if the queue of a device reports `write through` although the device has a cache:
    /// SCSI and virtio show the setting of the device itself, and NVMe has FUA only with a volatile
    /// cache.
    pub(super) fn hides_cache(&self, leaf: &Layer) -> bool {
        let (raw, kind) = (&leaf.identity.raw, &leaf.identity.kind);
        let of_device = raw.get("cache_type");
        let back = of_device.is_some_and(|cache| cache.starts_with("write back"));
        self.queue(leaf).is_some_and(|queue| {
            let has_cache = back || (*kind == DeviceKind::Nvme && queue.fua == Some(true));
            has_cache && queue.write_cache == Some(WriteCache::Through)
        })
    }

    /// Returns the leaves, grouped where several are paths to the same disk.
    pub(super) fn media(&self) -> Vec<Vec<&Layer>> {
        let leaves: Vec<&Layer> = self.evidence.storage.leaves().collect();
        let same = |a: &&Layer, b: &&Layer| a.role == LayerRole::Path && a.parent == b.parent;
        leaves.chunk_by(same).map(<[_]>::to_vec).collect()
    }

    /// Returns the flushes of all leaves together.
    pub(super) fn flushes(&self) -> Option<u64> {
        let media = self.media();
        let flushes = media.iter().map(|paths| self.flushes_of_medium(paths));
        flushes.sum::<Option<u64>>().filter(|_| !media.is_empty())
    }

    /// Returns the flushes of a disk: those counted at all paths to it, or at the multipath device
    /// above.
    pub(super) fn flushes_of_medium(&self, paths: &[&Layer]) -> Option<u64> {
        let sum: Option<u64> = paths.iter().map(|path| self.flushes_of(path)).sum();
        let path = paths.first().filter(|path| path.role == LayerRole::Path);
        let mut layers = self.evidence.storage.layers.iter();
        let above = layers.find(|layer| path.is_some_and(|path| path.is_below(&layer.name)));
        let above = above.and_then(|layer| self.flushes_of(layer));
        Some(sum?.max(above.unwrap_or(0)))
    }

    fn flushes_of(&self, leaf: &Layer) -> Option<u64> {
        if self.switched_off(leaf) {
            return None;
        }
        let (before, after) = self.counters(&leaf.name)?;
        Some(after.flush_ios?.saturating_sub(before.flush_ios?))
    }

    /// Returns the bytes that each layer moved; idle layers without counting are left out.
    pub(super) fn layer_bytes(&self, direction: Direction) -> Vec<(String, u64)> {
        let layers = self.evidence.storage.layers.iter();
        let moved = layers.filter_map(|layer| Some((layer, self.delta(&layer.name, direction)?)));
        moved
            .filter(|(layer, bytes)| *bytes > 0 || !self.switched_off(layer))
            .map(|(layer, bytes)| (layer.name.clone(), bytes))
            .collect()
    }

    /// Returns the bytes that the layers holding the file moved, as far as the kernel counts them.
    pub(super) fn moved(&self, direction: Direction) -> Option<u64> {
        let tops = self.evidence.storage.tops();
        tops.map(|top| self.moved_by(top, direction)).sum()
    }

    /// Returns the bytes that went through a layer.
    pub(super) fn moved_by(&self, layer: &Layer, direction: Direction) -> Option<u64> {
        let counted = self.counting(layer).into_iter();
        counted
            .map(|layer| self.delta(&layer.name, direction))
            .sum()
    }

    /// Returns the read requests that the layers holding the file completed.
    pub(super) fn read_requests(&self) -> Option<u64> {
        let tops = self.evidence.storage.tops();
        let counted = tops.flat_map(|top| self.counting(top));
        let requests = counted.map(|layer| {
            let (before, after) = self.counters(&layer.name)?;
            Some(after.read_ios.saturating_sub(before.read_ios))
        });
        requests.sum()
    }

    /// Returns the layers whose counters stand for `layer`: itself or, where the kernel does not
    /// count it, the layers below that carry all its data (its disk, its only member, or its
    /// paths).
    pub(super) fn counting<'a>(&'a self, layer: &'a Layer) -> Vec<&'a Layer> {
        let storage = &self.evidence.storage;
        let mut here = vec![layer];
        // The loop ends even if a damaged record contains a cycle of layers.
        for _ in &storage.layers {
            let below = here.iter().flat_map(|layer| storage.below(layer));
            let below: Vec<&Layer> = below.filter(|l| l.role != LayerRole::Beneath).collect();
            let all = below.len() == 1 || below.iter().all(|l| l.role == LayerRole::Path);
            if below.is_empty() || !all || here.iter().all(|layer| self.counts(layer)) {
                break;
            }
            here = below;
        }
        here
    }

    /// `true` if a layer counts its I/O. Device mapper and md of older kernels count although their
    /// counters are switched off; a disk with several paths, and its partitions, may not count
    /// although their counters are switched on.
    fn counts(&self, layer: &Layer) -> bool {
        let mut all = self.evidence.storage.layers.iter();
        let over_paths = layer.role != LayerRole::Path && all.any(|l| l.role == LayerRole::Path);
        self.has_moved(layer) || !(over_paths || self.switched_off(layer))
    }

    /// `true` if the counters of a layer moved while the clock ran.
    pub(super) fn has_moved(&self, layer: &Layer) -> bool {
        let both = [Direction::Read, Direction::Write].map(|way| self.delta(&layer.name, way));
        both.into_iter().flatten().any(|bytes| bytes > 0)
    }

    /// Returns the bytes that a layer moved while the clock ran.
    pub(super) fn delta(&self, layer: &str, direction: Direction) -> Option<u64> {
        let (before, after) = self.counters(layer)?;
        Some(match direction {
            Direction::Read => after.read_bytes.saturating_sub(before.read_bytes),
            Direction::Write => after.write_bytes.saturating_sub(before.write_bytes),
        })
    }

    /// Returns the bytes that a layer discarded while the clock ran (Linux 4.18).
    pub(super) fn discarded(&self, layer: &str) -> Option<u64> {
        let (before, after) = self.counters(layer)?;
        Some(after.discard_bytes?.saturating_sub(before.discard_bytes?))
    }

    fn counters(&self, layer: &str) -> Option<(&DeviceCounters, &DeviceCounters)> {
        let mut before = self.evidence.before.devices.iter();
        let mut after = self.evidence.after.devices.iter();
        Some((
            before.find(|c| c.name == layer)?,
            after.find(|c| c.name == layer)?,
        ))
    }
}

/// Judges a step. The result has one direction, since a loop over arrays has no direction of
/// storage.
pub(crate) fn judge(step: &MemoryStep) -> Judgement {
    let (measured, because, job_bytes) = match &step.found {
        MemoryStepResult::Bandwidth(found) => {
            let (measured, because) = of_size(&step.machine, found.array_bytes, &found.pages);
            (measured, because, found.counted_bytes)
        }
        MemoryStepResult::Latency(found) => {
            let (measured, because) = of_size(&step.machine, found.set_bytes, &found.pages);
            (measured, because, found.set_bytes)
        }
        MemoryStepResult::Stress(found) => {
            let because = tr!(
                "{bytes} of memory were written and checked",
                bytes = Bytes(found.tested_bytes)
            );
            (Measured::Memory, because, found.moved_bytes)
        }
    };
    Judgement {
        read: Some(DirectionEvidence::saying(measured, because, job_bytes)),
        ..Judgement::default()
    }
}

/// Returns the label of a measurement with arrays of `bytes`.
fn of_size(machine: &Machine, bytes: u64, pages: &Pages) -> (Measured, String) {
    let unknown = |why: String| (Measured::unknown(why.clone()), why);
    if pages.major_faults > 0 {
        return unknown(tr!(
            "pages were brought back from swap {count} times meanwhile",
            count = pages.major_faults
        ));
    }
    let Some(cache) = machine.last_level_bytes() else {
        return unknown(tr!("the kernel does not report how large the caches are").to_owned());
    };
    let (size, last) = (Bytes(bytes), Bytes(cache));
    if bytes <= cache {
        let because = tr!(
            "{size} fit into the last-level caches of {last} that the kernel reports",
            size,
            last
        );
        (Measured::CpuCache, because)
    } else if bytes >= cache.saturating_mul(TIMES_LAST_LEVEL) {
        let because = tr!(
            "{size} are {times} times or more the last-level caches of {last} that the kernel reports",
            size,
            times = TIMES_LAST_LEVEL,
            last
        );
        (Measured::Memory, because)
    } else {
        unknown(tr!(
            "{size} are more than the last-level caches of {last}, and less than {times} times as much: part of it came from there",
            size,
            last,
            times = TIMES_LAST_LEVEL
        ))
    }
}

/// Returns the label of `bytes` on a simulated device; `None` for 0 bytes. A model of a device
/// computed the figures of the trial, and none was measured.
pub(crate) fn direction(bytes: u64) -> Option<DirectionEvidence> {
    (bytes > 0).then(|| {
        DirectionEvidence::saying(
            Measured::Simulated,
            tr!("a model of a device computed it, in virtual time: nothing was measured")
                .to_owned(),
            bytes,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::memory::{Cache, LatencyStep};

    fn label(set_bytes: u64, cache: Option<u64>, major_faults: u64) -> &'static str {
        let caches = cache.map(|bytes| Cache {
            level: 3,
            bytes,
            count: 2,
            line_bytes: None,
        });
        let step = MemoryStep {
            machine: Machine {
                caches: caches.into_iter().collect(),
                ..Machine::default()
            },
            throttled_after: None,
            found: MemoryStepResult::Latency(LatencyStep {
                set_bytes,
                line_bytes: 64,
                cpu: None,
                loads: 1,
                passes_ns: Vec::new(),
                pages: Pages {
                    major_faults,
                    ..Pages::default()
                },
            }),
        };
        judge(&step).read.unwrap().measured.label()
    }

    #[test]
    fn a_size_is_memory_only_far_beyond_all_caches_together() {
        let mib = 1 << 20;
        assert_eq!(label(2 * mib, Some(mib), 0), "cpu-cache");
        assert_eq!(label(8 * mib - 1, Some(mib), 0), "unknown");
        assert_eq!(label(8 * mib, Some(mib), 0), "memory");
        assert_eq!(label(8 * mib, Some(mib), 1), "unknown", "swapped");
        assert_eq!(label(1 << 40, None, 0), "unknown", "no cache is known");
    }
}
