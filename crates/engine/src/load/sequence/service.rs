//! Choice of the next file.

use super::skewed::Skewed;
use crate::extra::Loads;
use assay_model::load::files::{FileService, Files};
use assay_model::rng::SplitMix64;
use std::collections::VecDeque;

/// Factor by which file frequencies are drawn more finely than the number of files, so that the
/// distribution also applies within each file's share (as in fio).
const FINENESS: u64 = 1024;

/// Chooses among the files that are not done.
#[derive(Clone, Debug)]
pub(super) struct Service {
    choice: Choice,
    /// Number of I/Os to a file before another is chosen.
    every: u32,
    /// Number of I/Os left for the chosen file.
    left: u32,
    /// Files in use, at most `open_at_once`.
    active: VecDeque<u32>,
    /// Index of the chosen file in `active`.
    at: usize,
    /// Number of the first file that was not in use yet.
    unused: u32,
    files: u32,
    open_at_once: usize,
    /// True if the chosen file was already used.
    served: bool,
}

#[derive(Clone, Debug)]
enum Choice {
    InTurn,
    UntilDone,
    Random,
    /// Skewed choice among the files in use, with the first the most frequent (normal: the middle
    /// one).
    Skewed(Skewed, Loads),
}

impl Service {
    /// Creates the choice among `number` files, of which at most `files.open_at_once` are in use
    /// at a time.
    pub(super) fn new(files: &Files, number: u32) -> Self {
        let open_at_once = match files.open_at_once {
            0 => number,
            some => some.min(number),
        };
        let fine = u64::from(open_at_once) * FINENESS;
        let skewed = Loads::here().and_then(|loads| Some((skewed(files.service, fine)?, loads)));
        let choice = match (files.service, skewed) {
            (_, Some((law, loads))) => Choice::Skewed(law, loads),
            (FileService::Sequential, None) => Choice::UntilDone,
            (FileService::Random, None) => Choice::Random,
            _ => Choice::InTurn,
        };
        let mut service = Self {
            choice,
            every: files.service_every.max(1),
            left: 0,
            active: VecDeque::new(),
            at: 0,
            unused: 0,
            files: number,
            open_at_once: open_at_once as usize,
            served: false,
        };
        service.begin_again();
        service
    }

    /// Restarts with all files available.
    pub(super) fn begin_again(&mut self) {
        self.active.clear();
        (self.at, self.left, self.unused, self.served) = (0, 0, 0, false);
        self.refill();
    }

    /// Returns true if some files get more I/O than others. A file at its end then restarts
    /// instead of being done.
    pub(super) const fn is_skewed(&self) -> bool {
        matches!(self.choice, Choice::Skewed(..))
    }

    /// Returns true if files wait until others are done, so that each file must end at some time.
    pub(super) fn replaces_files(&self) -> bool {
        let one_by_one = matches!(self.choice, Choice::UntilDone) && self.files > 1;
        (one_by_one || self.open_at_once < self.files as usize) && !self.is_skewed()
    }

    /// Returns the file of the next I/O; `None` if all are done.
    pub(super) fn next(&mut self, rng: &mut SplitMix64) -> Option<u32> {
        if self.left == 0 {
            self.choose(rng);
            self.left = self.every;
        }
        self.left -= 1;
        self.active.get(self.at).copied()
    }

    /// Marks the file that [`next`](Self::next) last returned as done.
    pub(super) fn is_done(&mut self) {
        if self.at == 0 {
            // This preserves the order of the others.
            self.active.pop_front();
        } else {
            self.active.swap_remove_back(self.at);
        }
        (self.at, self.left, self.served) = (0, 0, false);
        self.refill();
    }

    fn choose(&mut self, rng: &mut SplitMix64) {
        match &self.choice {
            Choice::InTurn if self.served && self.active.len() > 1 => self.active.rotate_left(1),
            Choice::InTurn | Choice::UntilDone => {}
            Choice::Random => self.at = index(rng.below(self.active.len() as u64)),
            Choice::Skewed(law, _) => {
                let last = self.active.len().saturating_sub(1);
                self.at = index(law.draw(rng) / FINENESS).min(last);
            }
        }
        self.served = true;
    }

    fn refill(&mut self) {
        while self.active.len() < self.open_at_once && self.unused < self.files {
            self.active.push_back(self.unused);
            self.unused += 1;
        }
    }
}

/// Returns the distribution of a service that prefers some files; `None` if it prefers none.
fn skewed(service: FileService, bound: u64) -> Option<Skewed> {
    match service {
        FileService::Zipf(theta) => Some(Skewed::zipf(bound, theta)),
        FileService::Pareto(power) => Some(Skewed::pareto(bound, power)),
        FileService::Normal(deviation) => Some(Skewed::normal(bound, deviation, None)),
        FileService::RoundRobin | FileService::Sequential | FileService::Random => None,
    }
}

/// Converts a position among the files, which is below 2^32.
fn index(place: u64) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(kind: FileService, every: u32, open_at_once: u32, number: u32) -> Service {
        let files = Files {
            service: kind,
            service_every: every,
            open_at_once,
            ..Files::default()
        };
        Service::new(&files, number)
    }

    fn take(service: &mut Service, number: usize) -> Vec<u32> {
        let mut rng = SplitMix64::new(2);
        (0..number).map_while(|_| service.next(&mut rng)).collect()
    }

    #[test]
    fn round_robin_gives_each_its_turn_and_goes_on_without_those_done() {
        let mut service = service(FileService::RoundRobin, 2, 0, 3);
        assert_eq!(take(&mut service, 8), [0, 0, 1, 1, 2, 2, 0, 0]);
        assert_eq!(take(&mut service, 1), [1]);
        service.is_done();
        assert_eq!(take(&mut service, 6), [2, 2, 0, 0, 2, 2]);
        service.begin_again();
        assert_eq!(take(&mut service, 4), [0, 0, 1, 1]);
    }

    #[test]
    fn few_open_files_are_replaced_as_they_are_done() {
        let mut service = service(FileService::RoundRobin, 1, 2, 3);
        assert_eq!(take(&mut service, 3), [0, 1, 0]);
        service.is_done();
        assert_eq!(take(&mut service, 4), [1, 2, 1, 2]);
        service.is_done();
        assert_eq!(take(&mut service, 2), [1, 1]);
        service.is_done();
        assert_eq!(take(&mut service, 1), []);
    }

    #[test]
    fn sequential_stays_until_done() {
        let mut service = service(FileService::Sequential, 1, 0, 2);
        assert_eq!(take(&mut service, 3), [0, 0, 0]);
        service.is_done();
        assert_eq!(take(&mut service, 2), [1, 1]);
    }

    #[test]
    fn random_takes_all_alike_and_only_those_left() {
        let mut service = service(FileService::Random, 1, 0, 4);
        let taken = take(&mut service, 40_000);
        for file in 0..4 {
            // Binomial with p = 1/4: standard deviation 87.
            let count = taken.iter().filter(|&&taken| taken == file).count();
            assert!((9_560..10_440).contains(&count), "{file}: {count}");
        }
        let done = *taken.last().unwrap();
        service.is_done();
        assert!(!take(&mut service, 1000).contains(&done));
    }

    #[test]
    fn skewed_services_prefer_the_first_files() {
        for kind in [FileService::Zipf(1.2), FileService::Pareto(0.1)] {
            let taken = take(&mut service(kind, 1, 0, 10), 10_000);
            let count = |file| taken.iter().filter(|&&taken| taken == file).count();
            assert!(count(0) > 3 * count(1), "{kind:?}");
        }
        let taken = take(&mut service(FileService::Normal(10.0), 1, 0, 11), 10_000);
        let count = |file| taken.iter().filter(|&&taken| taken == file).count();
        assert!(count(5) > 5 * count(2));
    }
}
