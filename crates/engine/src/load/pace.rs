//! Time of the next I/O: rates, pauses, minimum rates, and the proportions between streams.
//! All times are on the stream's clock, in nanoseconds; this module neither reads a clock nor
//! sleeps.

mod depth;
mod flow;
mod least;
mod limit;
mod think;

pub(crate) use depth::{DepthDecision, DepthSearch};
pub(crate) use flow::{FlowShare, FlowTable};
pub(crate) use think::Pause;

use assay_model::load::pace::PaceLimits;
use assay_model::load::{Ddir, PerDirection};
use assay_model::rng::SplitMix64;
use least::LeastRate;
use limit::Limit;
use think::Thinking;

/// The limits on the pace of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Pacing {
    limits: PerDirection<Option<Limit>>,
    thinking: Option<Thinking>,
    least: PerDirection<Option<LeastRate>>,
    /// True if pauses do not count against the rate.
    ignore_think_time: bool,
}

/// Direction and time of the next I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) ddir: Ddir,
    /// Time until the I/O is due; 0 if it is due now.
    pub(crate) delay_ns: u64,
}

impl Pacing {
    /// Creates the limits of `pace`, from `start_ns` on, with `seed` for random arrivals.
    /// `None` if there is no limit, so that the worker loop can skip the checks.
    pub(crate) fn new(pace: &PaceLimits, start_ns: u64, seed: u64) -> Option<Self> {
        let mut rng = SplitMix64::new(seed);
        let pacing = Self {
            limits: PerDirection::from_fn(|ddir| {
                let poisson = pace.poisson.then(|| SplitMix64::new(rng.next_u64()));
                Limit::new(pace.rate[ddir], pace.rate_iops[ddir], start_ns, poisson)
            }),
            thinking: pace
                .think
                .filter(|think| think.pause.0 > 0)
                .map(|think| Thinking::new(think, start_ns)),
            least: PerDirection::from_fn(|ddir| {
                let (bytes, ios) = (pace.rate_min[ddir], pace.rate_iops_min[ddir]);
                LeastRate::new(bytes, ios, pace.rate_cycle.0, start_ns)
            }),
            ignore_think_time: pace.ignore_think_time,
        };
        let nothing = Ddir::ALL
            .iter()
            .all(|&ddir| pacing.limits[ddir].is_none() && pacing.least[ddir].is_none());
        (!nothing || pacing.thinking.is_some()).then_some(pacing)
    }

    /// Returns the time until an I/O of that direction may be issued, in nanoseconds; 0 if it
    /// may be issued now.
    #[inline]
    pub(crate) fn delay_ns(&self, ddir: Ddir, now_ns: u64) -> u64 {
        match &self.limits[ddir] {
            Some(limit) => limit.delay_ns(now_ns),
            None => 0,
        }
    }

    /// Chooses the direction of the next I/O, given the `drawn` one. In a mix of reads and
    /// writes, the other direction goes first if it is due earlier (as in fio).
    pub(crate) fn steer(&self, drawn: Ddir, is_mixed: bool, now_ns: u64) -> Turn {
        let turn = |ddir| Turn {
            ddir,
            delay_ns: self.delay_ns(ddir, now_ns),
        };
        let other = match drawn {
            Ddir::Read => Ddir::Write,
            Ddir::Write => Ddir::Read,
            Ddir::Trim => return turn(drawn),
        };
        let (drawn, other) = (turn(drawn), turn(other));
        if is_mixed && other.delay_ns < drawn.delay_ns {
            other
        } else {
            drawn
        }
    }

    /// Records that an I/O was submitted.
    #[inline]
    pub(crate) fn issued(&mut self, ddir: Ddir, bytes: u32, now_ns: u64) {
        if let Some(limit) = &mut self.limits[ddir] {
            limit.issued(bytes, now_ns);
        }
        if let Some(thinking) = &mut self.thinking {
            thinking.issued();
        }
    }

    /// Records a completed I/O with the number of bytes moved.
    #[inline]
    pub(crate) fn completed(&mut self, ddir: Ddir, bytes: u32) {
        if let Some(thinking) = &mut self.thinking {
            thinking.completed();
        }
        if let Some(least) = &mut self.least[ddir] {
            least.completed(bytes);
        }
    }

    /// Returns the pause that is due. The caller waits until nothing is in flight, makes the
    /// pause and calls [`paused`](Self::paused).
    #[inline]
    pub(crate) fn pause_due(&self, now_ns: u64) -> Option<Pause> {
        self.thinking.as_ref()?.due(now_ns)
    }

    /// Records a pause from `begin_ns` to `now_ns`.
    pub(crate) fn paused(&mut self, begin_ns: u64, now_ns: u64) {
        if let Some(thinking) = &mut self.thinking {
            thinking.paused(now_ns);
        }
        if self.ignore_think_time {
            for ddir in Ddir::ALL {
                if let Some(limit) = &mut self.limits[ddir] {
                    limit.postpone(now_ns.saturating_sub(begin_ns));
                }
            }
        }
    }

    /// Returns a message if a minimum rate was not kept. Called after completions, except
    /// during the ramp.
    pub(crate) fn too_slow(&mut self, now_ns: u64) -> Option<String> {
        Ddir::ALL.into_iter().find_map(|ddir| {
            let problem = self.least[ddir].as_mut()?.not_kept(now_ns)?;
            Some(format!("{}: {problem}", ddir.name()))
        })
    }

    /// Restarts all limits when the measured time begins.
    pub(crate) fn restart(&mut self, now_ns: u64) {
        for ddir in Ddir::ALL {
            if let Some(limit) = &mut self.limits[ddir] {
                limit.restart(now_ns);
            }
            if let Some(least) = &mut self.least[ddir] {
                least.restart(now_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::pace::ThinkTime;
    use assay_model::units::Nanos;

    const SECOND: u64 = 1_000_000_000;

    /// A pace after a change.
    fn pacing(change: impl FnOnce(&mut PaceLimits)) -> Pacing {
        let mut pace = PaceLimits::default();
        change(&mut pace);
        Pacing::new(&pace, 0, 1).unwrap()
    }

    #[test]
    fn no_limits_no_pacing() {
        assert!(Pacing::new(&PaceLimits::default(), 0, 1).is_none());
    }

    #[test]
    fn each_direction_has_its_own_rate() {
        let mut pacing = pacing(|pace| {
            pace.rate.read = 4096 * 1000;
            pace.rate_iops.write = 10;
        });
        for ddir in Ddir::ALL {
            pacing.issued(ddir, 4096, 0);
        }
        assert_eq!(pacing.delay_ns(Ddir::Read, 0), SECOND / 1000);
        assert_eq!(pacing.delay_ns(Ddir::Write, 0), SECOND / 10);
        assert_eq!(pacing.delay_ns(Ddir::Trim, 0), 0);
    }

    #[test]
    fn a_direction_held_back_lets_the_other_go() {
        let mut pacing = pacing(|pace| {
            pace.rate_iops.read = 1;
            pace.rate_iops.write = 100;
        });
        let turn = |ddir, delay_ns| Turn { ddir, delay_ns };
        pacing.issued(Ddir::Read, 4096, 0);
        assert_eq!(pacing.steer(Ddir::Read, true, 0), turn(Ddir::Write, 0));
        assert_eq!(pacing.steer(Ddir::Read, false, 0), turn(Ddir::Read, SECOND));
        pacing.issued(Ddir::Write, 4096, 0);
        let next = turn(Ddir::Write, SECOND / 100);
        assert_eq!(pacing.steer(Ddir::Read, true, 0), next);
        assert_eq!(pacing.steer(Ddir::Write, true, 0), next);
        assert_eq!(pacing.steer(Ddir::Read, true, SECOND), turn(Ddir::Read, 0));
    }

    #[test]
    fn both_rates_of_a_mix_are_kept_whatever_is_drawn() {
        let mut pacing = pacing(|pace| {
            pace.rate_iops.read = 300;
            pace.rate_iops.write = 100;
        });
        let (mut now, mut counts, mut rng) = (0, [0_u32, 0], SplitMix64::new(1));
        while now < 10 * SECOND {
            let drawn = if rng.below(2) == 0 {
                Ddir::Read
            } else {
                Ddir::Write
            };
            let turn = pacing.steer(drawn, true, now);
            now += turn.delay_ns;
            pacing.issued(turn.ddir, 4096, now);
            counts[usize::from(turn.ddir == Ddir::Write)] += 1;
        }
        assert!(
            counts[0].abs_diff(3000) <= 2 && counts[1].abs_diff(1000) <= 2,
            "{counts:?}"
        );
    }

    fn thinking(ignore: bool) -> Pacing {
        pacing(|pace| {
            pace.rate_iops.read = 10;
            pace.ignore_think_time = ignore;
            pace.think = Some(ThinkTime {
                pause: Nanos(SECOND),
                spin: Nanos(0),
                blocks: 1,
                count_issued: true,
                io_time: Nanos(0),
            });
        })
    }

    #[test]
    fn thinking_is_made_up_for_unless_it_is_to_be_ignored() {
        for (ignore, delay) in [(false, 0), (true, SECOND / 10)] {
            let mut pacing = thinking(ignore);
            pacing.issued(Ddir::Read, 4096, 0);
            assert!(pacing.pause_due(0).is_some());
            pacing.paused(0, SECOND);
            assert!(pacing.pause_due(SECOND).is_none());
            assert_eq!(pacing.delay_ns(Ddir::Read, SECOND), delay);
        }
    }

    #[test]
    fn nothing_is_left_over_from_the_ramp() {
        let mut pacing = pacing(|pace| {
            pace.rate_iops.read = 10;
            pace.rate_iops_min.read = 5;
        });
        for _ in 0..50 {
            pacing.issued(Ddir::Read, 4096, 0);
        }
        pacing.restart(SECOND);
        assert_eq!(pacing.delay_ns(Ddir::Read, SECOND), 0);
        assert_eq!(pacing.too_slow(SECOND), None);
    }

    #[test]
    fn a_least_rate_not_kept_names_its_direction() {
        let mut pacing = pacing(|pace| pace.rate_iops_min.write = 100);
        assert_eq!(pacing.too_slow(2 * SECOND), None);
        pacing.completed(Ddir::Write, 4096);
        let problem = pacing.too_slow(4 * SECOND).unwrap();
        assert!(problem.starts_with("write: rate_iops_min=100"), "{problem}");
    }
}
