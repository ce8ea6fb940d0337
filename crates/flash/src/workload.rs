//! I/O of benchmarks on a simulated device, and the part of it that they time.

use crate::device::{Device, RequestPhase, Spent};
use crate::policy::BlockRequest;
use crate::time::Picos;
use assay_model::job::Direction;
use assay_model::rng::SplitMix64;

/// A job with one I/O after the other, or with as many in flight as the device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedJob {
    /// Share of reads, in percent of the I/Os.
    pub read_percent: u8,
    /// True for random offsets, false if each I/O follows the previous one.
    pub random: bool,
    /// Blocks per I/O. An I/O above the host's maximum is split into several requests.
    pub blocks: u64,
    /// Length of the region from block 0, in blocks.
    pub span: u64,
    /// Number of I/Os before the clock starts.
    pub warm: u64,
    /// Number of timed I/Os.
    pub ios: u64,
    /// Seed of random offsets and directions.
    pub seed: u64,
}

/// Timed I/O of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// Number of I/Os.
    pub ios: u64,
    /// Time from the first issue to the last end.
    pub time: Picos,
    /// Time of the requests, by phase.
    pub spent: Spent,
    /// Time of flushes after writes, by phase.
    pub flushed: Spent,
    /// Programming that the card has not finished when the clock stops.
    pub left: Picos,
    /// Hash of the end times of all requests: two runs with the same value were identical.
    pub digest: u64,
}

impl Timed {
    /// Returns the mean time of an I/O, in microseconds.
    pub fn mean_us(&self) -> f64 {
        self.time.as_us() / self.ios.max(1) as f64
    }
}

/// FNV-1a over 64-bit words.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Issue of a job's I/Os by the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Issue {
    /// Number of I/Os in flight, at least 1. An I/O that the device cannot take waits.
    pub depth: u32,
    /// Number of writes after which a flush follows; 0 for none.
    pub flush_every: u64,
}

/// Runs a job from time zero, with as many I/Os in flight as the device takes.
pub fn run(device: &mut Device, job: &SimulatedJob) -> Timed {
    let depth = device.depth();
    run_issued(
        device,
        job,
        Issue {
            depth,
            flush_every: 0,
        },
    )
}

/// Runs a job with the given issue of I/Os. The time by phase sums up to the latencies; a
/// wait for a slot of the device is [`RequestPhase::Queue`].
pub fn run_issued(device: &mut Device, job: &SimulatedJob, issue: Issue) -> Timed {
    let mut places = Places::new(job);
    let mut flights = vec![Picos::ZERO; issue.depth.max(1) as usize];
    let mut slots = vec![Picos::ZERO; device.depth().max(1) as usize];
    let crowded = flights.len() > slots.len();
    let mut written = 0;
    let mut timed = Timed {
        ios: job.ios,
        digest: FNV_START,
        ..Timed::default()
    };
    let mut started = Picos::ZERO;
    for number in 0..job.warm.saturating_add(job.ios) {
        if number == job.warm {
            (timed.spent, timed.flushed) = (Spent::default(), Spent::default());
            started = flights.iter().max().copied().unwrap_or_default();
        }
        let (direction, block) = places.next(job);
        let flight = first_free(&flights);
        let mut at = flights[flight];
        let slot = crowded.then(|| first_free(&slots));
        if let Some(slot) = slot {
            timed.spent.add(RequestPhase::Queue, slots[slot] - at);
            at = at.max(slots[slot]);
        }
        let mut end = io(device, at, (direction, block, job.blocks), &mut timed);
        if let Some(slot) = slot {
            slots[slot] = end;
        }
        written += u64::from(direction == Direction::Write);
        if issue.flush_every > 0
            && direction == Direction::Write
            && written % issue.flush_every == 0
        {
            let flushed = device.flush(end);
            timed.flushed.add_all(&flushed.spent);
            end = flushed.end;
        }
        flights[flight] = end;
    }
    let ended = flights.iter().max().copied().unwrap_or_default();
    timed.time = ended - started;
    timed.left = device.unfinished(ended);
    timed
}

/// Returns the index of the minimum.
fn first_free(flights: &[Picos]) -> usize {
    let ends = flights.iter().enumerate();
    ends.min_by_key(|(_, end)| **end)
        .map_or(0, |(slot, _)| slot)
}

/// Executes one I/O (direction, first block, blocks) issued at `at`. As in the block layer,
/// it is split into requests of at most the host's size, one after the other. Returns the end
/// of the last one and adds the time by phase to `timed`.
pub fn io(
    device: &mut Device,
    at: Picos,
    (direction, block, blocks): (Direction, u64, u64),
    timed: &mut Timed,
) -> Picos {
    let mut now = at;
    let mut done = 0;
    while done < blocks {
        let count = (blocks - done).min(device.max_blocks());
        let request = BlockRequest {
            direction,
            block: block.saturating_add(done),
            blocks: count,
        };
        let ended = device.request(now, &request);
        now = ended.end;
        timed.spent.add_all(&ended.spent);
        timed.digest = (timed.digest ^ now.0).wrapping_mul(FNV_PRIME);
        done += count;
    }
    now
}

/// Generator of I/O offsets.
struct Places {
    rng: SplitMix64,
    slots: u64,
    next: u64,
}

impl Places {
    fn new(job: &SimulatedJob) -> Self {
        Self {
            rng: SplitMix64::new(job.seed),
            slots: (job.span / job.blocks.max(1)).max(1),
            next: 0,
        }
    }

    fn next(&mut self, job: &SimulatedJob) -> (Direction, u64) {
        let reads = match job.read_percent {
            0 => false,
            100.. => true,
            share => self.rng.below(100) < u64::from(share),
        };
        let slot = if job.random {
            self.rng.below(self.slots)
        } else {
            let slot = self.next;
            self.next = (slot + 1) % self.slots;
            slot
        };
        let direction = if reads {
            Direction::Read
        } else {
            Direction::Write
        };
        (direction, slot.saturating_mul(job.blocks))
    }
}

/// Samples of GNOME Disks: 10 MiB each.
pub const SAMPLE_BLOCKS: u64 = (10 << 20) / crate::BLOCK_BYTES;
/// Length of the page that GNOME Disks reads first, untimed, in blocks.
const PAGE_BLOCKS: u64 = 8;

/// Runs the benchmark of GNOME Disks: for each sample, a page is read untimed; then the
/// sample is read, and the same bytes are written and flushed, both timed. The first sample
/// is not counted, because the state of the device before it is arbitrary. Returns reads,
/// then writes.
pub fn disks(device: &mut Device, samples: u64, span: u64) -> (Timed, Timed) {
    let mut read = Timed {
        ios: samples,
        ..Timed::default()
    };
    let mut write = read;
    let mut now = Picos::ZERO;
    for sample in 0..=samples {
        if sample == 1 {
            (read.time, read.spent) = (Picos::ZERO, Spent::default());
            (write.time, write.spent) = (Picos::ZERO, Spent::default());
        }
        let block = span / (samples + 1) * sample / PAGE_BLOCKS * PAGE_BLOCKS;
        now = io(
            device,
            now,
            (Direction::Read, block, PAGE_BLOCKS),
            &mut Timed::default(),
        );
        let asked = io(
            device,
            now,
            (Direction::Read, block, SAMPLE_BLOCKS),
            &mut read,
        );
        read.time += asked - now;
        now = asked;
        let written = io(
            device,
            now,
            (Direction::Write, block, SAMPLE_BLOCKS),
            &mut write,
        );
        let flushed = device.flush(written);
        write.spent.add_all(&flushed.spent);
        write.time += flushed.end - now;
        now = flushed.end;
    }
    read.left = Picos::ZERO;
    write.left = device.unfinished(now);
    (read, write)
}
