//! Which block comes next, and in which direction.

use crate::permutation::{Ahead, Permutation};
use assay_model::job::{Direction, Job};
use assay_model::rng::SplitMix64;

/// The sequence of blocks of one worker.
#[derive(Debug)]
pub(crate) struct Pattern {
    offset: u64,
    block: u64,
    directions: Directions,
    blocks: Blocks,
    rng: SplitMix64,
}

/// How the direction is chosen.
#[derive(Clone, Copy, Debug)]
enum Directions {
    Only(Direction),
    /// Reads with this chance in 2^32.
    Mixed(u64),
}

/// How the block is chosen.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per worker, and in the hot loop: no detour over the heap"
)]
enum Blocks {
    /// Reads and writes each go through the region in order, as in fio.
    Sequential { streams: [Pass; 2] },
    /// One pass touches every block once, in either direction.
    Random { pass: Pass, ahead: Ahead },
}

/// A pass over the region.
#[derive(Clone, Copy, Debug)]
struct Pass {
    blocks: u64,
    done: u64,
    /// Begin again when the region is done.
    repeat: bool,
}

impl Pattern {
    /// The sequence for a worker; `None` when not one block fits the region.
    pub(crate) fn new(job: &Job, seed: u64) -> Option<Self> {
        let blocks = job.size.0.checked_div(job.bs.0).filter(|&n| n > 0)?;
        let mut rng = SplitMix64::new(seed);
        let directions = match (job.rw.reads(), job.rw.writes()) {
            (true, true) => Directions::Mixed((u64::from(job.read_percent.min(100)) << 32) / 100),
            (true, false) => Directions::Only(Direction::Read),
            (false, _) => Directions::Only(Direction::Write),
        };
        let pass = Pass {
            blocks,
            done: 0,
            repeat: job.time_based || job.io_size.is_some(),
        };
        let blocks = if job.rw.is_random() {
            let order = Permutation::new(blocks, rng.next_u64());
            Blocks::Random {
                pass,
                ahead: Ahead::new(order),
            }
        } else {
            Blocks::Sequential { streams: [pass; 2] }
        };
        Some(Self {
            offset: job.offset.0,
            block: job.bs.0,
            directions,
            blocks,
            rng,
        })
    }

    /// The next block: direction and offset in the file. `None` when the pass
    /// is over and none follows.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Direction, u64)> {
        let direction = match self.directions {
            Directions::Only(direction) => direction,
            Directions::Mixed(chance) if self.rng.next_u64() >> 32 < chance => Direction::Read,
            Directions::Mixed(_) => Direction::Write,
        };
        let block = match &mut self.blocks {
            Blocks::Sequential { streams } => {
                let stream = &mut streams[usize::from(direction == Direction::Write)];
                if stream.done == stream.blocks {
                    stream.begin_again()?;
                }
                stream.done += 1;
                stream.done - 1
            }
            Blocks::Random { pass, ahead } => {
                if pass.done == pass.blocks {
                    pass.begin_again()?;
                    *ahead = Ahead::new(Permutation::new(pass.blocks, self.rng.next_u64()));
                }
                pass.done += 1;
                ahead.next()
            }
        };
        Some((direction, self.offset + block * self.block))
    }

    /// The measured time begins: a job of one pass has all of it before it
    /// again. One that repeats goes on where it is, not over what it just did.
    pub(crate) fn end_ramp(&mut self) {
        match &mut self.blocks {
            Blocks::Sequential { streams } => {
                for stream in streams.iter_mut().filter(|stream| !stream.repeat) {
                    stream.done = 0;
                }
            }
            Blocks::Random { pass, ahead } if !pass.repeat => {
                pass.done = 0;
                *ahead = Ahead::new(Permutation::new(pass.blocks, self.rng.next_u64()));
            }
            Blocks::Random { .. } => {}
        }
    }
}

impl Pass {
    #[cold]
    fn begin_again(&mut self) -> Option<()> {
        if !self.repeat {
            return None;
        }
        self.done = 0;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::Rw;
    use assay_model::units::Bytes;

    fn job(rw: Rw) -> Job {
        Job::new("t", rw, Bytes(4096), Bytes(4096 * 100))
    }

    #[test]
    fn a_random_pass_touches_each_block_once_and_the_next_in_another_order() {
        let mut job = job(Rw::RandRead);
        job.time_based = true;
        job.offset = Bytes(8192);
        let mut pattern = Pattern::new(&job, 1).unwrap();
        let mut pass = || -> Vec<u64> { (0..100).map(|_| pattern.next().unwrap().1).collect() };
        let (first, second) = (pass(), pass());
        assert_ne!(first, second);
        for mut offsets in [first, second] {
            offsets.sort_unstable();
            let expected: Vec<u64> = (0..100).map(|i| 8192 + i * 4096).collect();
            assert_eq!(offsets, expected);
        }
    }

    #[test]
    fn one_pass_ends_unless_repeated() {
        let mut pattern = Pattern::new(&job(Rw::Write), 1).unwrap();
        assert_eq!((0..1000).map_while(|_| pattern.next()).count(), 100);
    }

    #[test]
    fn a_single_pass_is_whole_after_the_ramp_and_others_go_on() {
        for rw in [Rw::Write, Rw::RandWrite] {
            let mut pattern = Pattern::new(&job(rw), 1).unwrap();
            assert_eq!((0..60).map_while(|_| pattern.next()).count(), 60);
            pattern.end_ramp();
            let mut offsets: Vec<u64> = std::iter::from_fn(|| pattern.next())
                .map(|(_, offset)| offset)
                .collect();
            offsets.sort_unstable();
            assert!(offsets.into_iter().eq((0..100).map(|i| i * 4096)), "{rw}");
        }
        let mut endless = job(Rw::Write);
        endless.time_based = true;
        let mut pattern = Pattern::new(&endless, 1).unwrap();
        assert_eq!((0..60).map_while(|_| pattern.next()).count(), 60);
        pattern.end_ramp();
        assert_eq!(pattern.next().unwrap().1, 60 * 4096);
    }

    #[test]
    fn the_read_share_is_kept() {
        let mut job = job(Rw::RandRw);
        job.read_percent = 70;
        job.time_based = true;
        let mut pattern = Pattern::new(&job, 7).unwrap();
        let reads = (0..100_000)
            .filter(|_| pattern.next().unwrap().0 == Direction::Read)
            .count();
        // Binomial with p = .7: standard deviation 145.
        assert!((69_300..70_700).contains(&reads), "{reads} reads");
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        let mut job = job(Rw::RandRw);
        job.time_based = true;
        let sequence = |seed| {
            let mut pattern = Pattern::new(&job, seed).unwrap();
            (0..500)
                .map(|_| pattern.next().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(sequence(3), sequence(3));
        assert_ne!(sequence(3), sequence(4));
    }

    #[test]
    fn a_region_below_one_block_has_no_pattern() {
        let mut job = job(Rw::Read);
        job.size = Bytes(4095);
        assert!(Pattern::new(&job, 1).is_none());
    }
}
