//! Detection of the time at which a command's dirty pages are written.
//!
//! The kernel reports how much is dirty, but not by which process. The pages count as written
//! when almost no dirty pages are left: of the device, if the kernel reports them per device,
//! otherwise of all devices. A return to the level before the command would prove nothing,
//! because pages of other processes may have been written instead. If other processes keep
//! pages dirty all the time, the command's pages count as written when they are older than the
//! kernel lets any page become and the device has been idle since. In both cases the last
//! write of the device before that time was the last of these pages.

use assay_model::act::watch::{CommandEnd, DiskCounters, Drain, LastWrite, WatchSample};

/// Pages by which `Dirty` and `Writeback` may be wrong for each processor: it adds its changes
/// to the sum when they reach this number (`mm/vmstat.c`, `calculate_normal_threshold`, at
/// most 125), or after a second.
const UNREPORTED_PAGES: u64 = 125;
/// Time without writes after which a device counts as idle, in nanoseconds.
const STILL_NS: u64 = 2_000_000_000;

/// State of the detection.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Smallest number of unwritten bytes since the start.
    fewest: Option<u64>,
    within_bytes: u64,
    /// Greatest age of a dirty page before the kernel writes it, in nanoseconds.
    age_ns: Option<u64>,
    writers: Vec<WritingDevice>,
}

/// A device and its last write.
#[derive(Clone, Debug)]
struct WritingDevice {
    before: DiskCounters,
    now: DiskCounters,
    wrote_at_ns: Option<u64>,
}

impl Pending {
    /// Starts the detection for a command that began after a sample.
    pub(super) fn after(before: &WatchSample, age_ns: Option<u64>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        let processors = u64::try_from(processors).unwrap_or(1);
        let writers = before.disks.iter().map(|disk| WritingDevice {
            before: disk.clone(),
            now: disk.clone(),
            wrote_at_ns: None,
        });
        Self {
            fewest: unwritten(before),
            within_bytes: UNREPORTED_PAGES
                .saturating_mul(page)
                .saturating_mul(processors),
            age_ns,
            writers: writers.collect(),
        }
    }

    /// Records the writes of the devices since the last sample, with the latest possible time.
    pub(super) fn record(&mut self, now: &WatchSample, at_ns: u64) {
        let fewest = self.fewest.into_iter().chain(self.unwritten(now)).min();
        self.fewest = fewest;
        for writer in &mut self.writers {
            let name = &writer.before.counters.name;
            let Some(disk) = now.disks.iter().find(|d| d.counters.name == *name) else {
                continue;
            };
            if disk.counters.write_ios != writer.now.counters.write_ios {
                writer.wrote_at_ns = Some(at_ns);
            }
            writer.now = disk.clone();
        }
    }

    /// Returns the result, if it is known by now.
    pub(super) fn drained(&self, now: &WatchSample, end: &CommandEnd) -> Option<Drain> {
        let Some(unwritten_bytes) = self.unwritten(now) else {
            return Some(Drain::Unknown);
        };
        let at_ns = now.at_ns;
        let fewest = self.fewest.unwrap_or(0);
        let within_bytes = fewest.saturating_add(self.within_bytes);
        if fewest <= self.within_bytes && unwritten_bytes <= within_bytes {
            return Some(Drain::Left {
                at_ns,
                within_bytes,
            });
        }
        let age_ns = self.age_ns?;
        let written = at_ns.saturating_sub(age_ns) > end.at_ns;
        (written && self.is_still(at_ns)).then_some(Drain::Expired { at_ns, age_ns })
    }

    /// Returns the bytes that still have to be written; `None` if the kernel does not report
    /// them.
    pub(super) fn unwritten(&self, now: &WatchSample) -> Option<u64> {
        self.fewest.and(unwritten(now))
    }

    /// Returns the time of the last write of each device that wrote.
    pub(super) fn last_writes(&self) -> Vec<LastWrite> {
        let writers = self.writers.iter();
        let last = writers.filter_map(|writer| {
            Some(LastWrite {
                device: writer.before.counters.name.clone(),
                at_ns: writer.wrote_at_ns?,
            })
        });
        last.collect()
    }

    /// Returns true if the device that wrote most has no I/O in flight and wrote nothing for a
    /// while.
    fn is_still(&self, at_ns: u64) -> bool {
        let most = self.writers.iter().max_by_key(|writer| {
            let (was, is) = (&writer.before.counters, &writer.now.counters);
            is.write_bytes.saturating_sub(was.write_bytes)
        });
        most.is_some_and(|writer| {
            let wrote = writer.wrote_at_ns.unwrap_or(0);
            writer.now.counters.in_flight == 0 && at_ns.saturating_sub(wrote) >= STILL_NS
        })
    }
}

fn unwritten(sample: &WatchSample) -> Option<u64> {
    let of_all = || Some(sample.memory?.unwritten_bytes());
    match sample.disks.as_slice() {
        [only] => only.unwritten_bytes.or_else(of_all),
        _ => of_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::watch::Memory;
    use assay_model::evidence::DeviceCounters;

    const MIB: u64 = 1 << 20;
    const AGE: u64 = 35_000_000_000;

    /// Creates a sample after some seconds, with a number of writes of one device, and dirty
    /// memory in MiB.
    fn sample(seconds: u64, writes: u64, dirty: u64) -> WatchSample {
        WatchSample {
            at_ns: seconds * 1_000_000_000,
            memory: Some(Memory {
                dirty_bytes: dirty * MIB,
                ..Memory::default()
            }),
            disks: vec![DiskCounters {
                counters: DeviceCounters {
                    name: "sda".to_owned(),
                    write_ios: writes,
                    write_bytes: writes * MIB,
                    ..DeviceCounters::default()
                },
                ..DiskCounters::default()
            }],
            ..WatchSample::default()
        }
    }

    fn pending(dirty_before: u64, age_ns: Option<u64>) -> Pending {
        Pending {
            within_bytes: MIB,
            ..Pending::after(&sample(0, 0, dirty_before), age_ns)
        }
    }

    /// Returns the result after each sample of a command that ended after a second.
    fn known(mut pending: Pending, samples: &[WatchSample]) -> (Vec<Option<Drain>>, Vec<u64>) {
        let end = CommandEnd {
            at_ns: 1_000_000_000,
            exit_code: Some(0),
            signal: None,
        };
        let drains = samples.iter().map(|now| {
            pending.record(now, now.at_ns);
            pending.drained(now, &end)
        });
        let drains = drains.collect();
        let last = pending.last_writes();
        (drains, last.iter().map(|write| write.at_ns).collect())
    }

    #[test]
    fn pages_have_left_when_next_to_none_are_dirty() {
        let samples = [
            sample(1, 5, 200),
            sample(3, 100, 100),
            sample(4, 200, 2),
            sample(9, 200, 1),
        ];
        let (drains, last) = known(pending(0, None), &samples);
        assert_eq!(drains[..3], [None, None, None]);
        let left = Drain::Left {
            at_ns: 9_000_000_000,
            within_bytes: MIB,
        };
        assert_eq!(drains[3], Some(left));
        assert_eq!(last, [4_000_000_000], "with the last write before");
    }

    #[test]
    fn what_leaves_may_be_the_pages_of_others() {
        let samples = [
            sample(1, 5, 80),
            sample(3, 100, 40),
            sample(4, 110, 30),
            sample(9, 200, 1),
        ];
        let (drains, _) = known(pending(40, Some(AGE)), &samples);
        assert_eq!(drains[..3], [None, None, None]);
        let left = Drain::Left {
            at_ns: 9_000_000_000,
            within_bytes: 2 * MIB,
        };
        assert_eq!(drains[3], Some(left));
    }

    #[test]
    fn old_pages_have_left_although_others_are_dirty() {
        let samples = [
            sample(1, 5, 240),
            sample(34, 200, 300),
            // Younger than the maximum age at first, then not yet idle.
            sample(36, 200, 300),
            sample(37, 201, 300),
            sample(38, 201, 300),
            sample(39, 201, 300),
        ];
        let (drains, last) = known(pending(0, Some(AGE)), &samples);
        assert_eq!(drains[..5], [None; 5]);
        let expired = Drain::Expired {
            at_ns: 39_000_000_000,
            age_ns: AGE,
        };
        assert_eq!(drains[5], Some(expired));
        assert_eq!(last, [37_000_000_000]);
        // Without a maximum age there is no conclusion.
        let (drains, _) = known(pending(0, None), &samples);
        assert_eq!(drains, [None; 6]);
    }

    #[test]
    fn the_devices_own_count_wins() {
        let mut before = sample(0, 0, 0);
        before.disks[0].unwritten_bytes = Some(0);
        let mut now = sample(1, 0, 900);
        now.disks[0].unwritten_bytes = Some(7);
        let pending = Pending::after(&before, None);
        assert_eq!(pending.unwritten(&now), Some(7));
    }

    #[test]
    fn without_counters_nothing_is_known() {
        let pending = Pending::after(&WatchSample::default(), Some(AGE));
        assert_eq!(pending.unwritten(&sample(1, 1, 0)), None);
    }
}
