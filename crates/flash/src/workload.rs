//! I/O that benchmarks ask of a device, and the part of it inside the windows that they time.

use crate::device::{Device, RequestPhase, Spent};
use crate::policy::BlockRequest;
use crate::time::Picos;
use assay_model::job::Direction;
use assay_model::rng::SplitMix64;

/// A job with one I/O after the other, or as many in flight as the device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedJob {
    /// Share of reads, in percent of the I/Os.
    pub read_percent: u8,
    /// At random places, or each behind the one before.
    pub random: bool,
    /// Blocks of an I/O; larger ones than the host takes become several requests.
    pub blocks: u64,
    /// I/Os fall on so many blocks from the begin on.
    pub span: u64,
    /// I/Os before the clock starts.
    pub warm: u64,
    /// I/Os that are timed.
    pub ios: u64,
    /// Decides where they fall, and which of them read.
    pub seed: u64,
}

/// Timed I/O of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// I/Os.
    pub ios: u64,
    /// From the first issue to the last end.
    pub time: Picos,
    /// Time of the requests, by phase.
    pub spent: Spent,
    /// Time of flushes behind writes, by phase.
    pub flushed: Spent,
    /// Programming that the card had still to do when the clock stopped.
    pub left: Picos,
    /// A number that follows from the end of every request: two runs with the same one were
    /// the same.
    pub digest: u64,
}

impl Timed {
    /// Microseconds of an I/O, on average.
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
    /// So many are in flight, 1 at least; those that the device does not take wait for it.
    pub depth: u32,
    /// A flush behind each that many writes; 0: none.
    pub flush_every: u64,
}

/// Runs a job from the begin of virtual time on, with as many I/Os in flight as the device
/// takes.
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

/// The same with I/Os that are issued in another way. What they spent sums up to their
/// latencies; a wait for a place in the device is [`RequestPhase::Queue`].
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

/// Index of the least.
fn first_free(flights: &[Picos]) -> usize {
    let ends = flights.iter().enumerate();
    ends.min_by_key(|(_, end)| **end)
        .map_or(0, |(slot, _)| slot)
}

/// One I/O (direction, first block, blocks) that is issued at `at`, as the block layer hands
/// it on: in requests of at most the host's size, one after the other; when the last one
/// ends. What they spent is added to `timed`.
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
/// Blocks of the page that it reads first, untimed.
const PAGE_BLOCKS: u64 = 8;

/// The benchmark of GNOME Disks: at each of the places a page is read, untimed; then the
/// sample is read, and the same bytes are written and flushed; both are timed. The first
/// place is not counted: what came before it is another story. Reads, then writes.
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
