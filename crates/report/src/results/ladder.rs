//! Ladders: one transfer done in several ways, each with its label. They cover the four ways of dd
//! to write, and the corresponding ways to read.

use crate::results::summary::{Group, JobSummary, Summary};
use crate::results::write_mode::WriteMode;
use crate::words::format::{extremes, percent};
use crate::words::labels::Labels;
use assay_lang::tr;
use assay_model::job::Direction;

/// Ladder of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ladder {
    /// Ways to write a new file.
    Write,
    /// Ways to read a file.
    Read,
}

impl Ladder {
    /// Both ladders, in reading order.
    pub const ALL: [Self; 2] = [Self::Write, Self::Read];

    /// Returns the group of the ladder's jobs.
    pub const fn group(self) -> Group {
        match self {
            Self::Write => Group::WriteLadder,
            Self::Read => Group::ReadLadder,
        }
    }

    /// Returns the direction of the ladder's I/O.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Write => Direction::Write,
            Self::Read => Direction::Read,
        }
    }

    /// Returns the metric of its steps.
    pub const fn metric(self) -> &'static str {
        match self {
            Self::Write => "write_bw",
            Self::Read => "read_bw",
        }
    }

    /// Explains why its steps differ.
    pub fn introduction(self) -> &'static str {
        match self {
            Self::Write => tr!(
                "The same transfer, written in the ways that dd offers. They differ because they measure different things."
            ),
            Self::Read => tr!(
                "The same file, read from the page cache, through it, and past it. They differ because they measure \
             different things."
            ),
        }
    }

    /// Returns the heading of the column with the device's share.
    pub fn share_header(self) -> &'static str {
        match self {
            Self::Write => tr!("on the device"),
            Self::Read => tr!("from the device"),
        }
    }

    /// Returns the title: `Four ways to write`; `None` if the run has no step of it, or is a sweep,
    /// which compares conditions instead of ways.
    pub fn title(self, summary: &Summary<'_>) -> Option<String> {
        if !summary.run.header.plan.conditions.is_empty() {
            return None;
        }
        let number = match summary.group(self.group()).count() {
            0 => return None,
            1 => tr!("One way"),
            2 => tr!("Two ways"),
            3 => tr!("Three ways"),
            4 => tr!("Four ways"),
            _ => tr!("Ways"),
        };
        Some(match self {
            Self::Write => tr!("{number} to write", number),
            Self::Read => tr!("{number} to read", number),
        })
    }

    /// Returns the smallest and the largest share of the bytes that the device moved while the
    /// clock ran, over a step's completed trials.
    pub fn device_shares(self, job: &JobSummary<'_>) -> Option<(f64, f64)> {
        let evidence = job.completed().flat_map(|trial| trial.directions());
        let shares = evidence
            .filter(|(direction, _)| *direction == self.direction())
            .filter_map(|(_, evidence)| evidence.device_share);
        extremes(shares)
    }

    /// Explains a step's result in one sentence, from its evidence.
    pub fn meaning(self, way: WriteMode, labels: &Labels, shares: Option<(f64, f64)>) -> String {
        let (_, most) = shares.unwrap_or((0.0, 0.0));
        let fixed = match labels.agreed() {
            Some("page-cache") => return self.memory(most),
            Some("device") => self.device(way),
            Some("device-unflushed") => {
                tr!("The device took the data, but its volatile cache was never flushed.")
            }
            Some("mixed") => self.both(),
            Some("simulated") => tr!("A model of a device computed it."),
            Some(_) => {
                return tr!(
                    "Not known: {reasons}.",
                    reasons = labels.unknown_reasons().join("; ")
                );
            }
            None if labels.is_empty() => tr!("It has no completed trial."),
            None => tr!("Its trials measured different things; see the evidence of each."),
        };
        fixed.to_owned()
    }

    fn memory(self, share: f64) -> String {
        let share = if share > 0.0 {
            tr!("{share} of the data", share = percent(share))
        } else {
            tr!("nothing").to_owned()
        };
        match self {
            Self::Write => tr!(
                "The speed of memory: {share} had reached a device when the clock stopped.",
                share
            ),
            Self::Read => tr!("The speed of memory: {share} came from a device.", share),
        }
    }

    fn both(self) -> &'static str {
        match self {
            Self::Write => {
                tr!("Neither memory nor device: part was stored, the rest was still in memory.")
            }
            Self::Read => {
                tr!("Neither memory nor device: part was read from it, the rest was in memory.")
            }
        }
    }

    fn device(self, way: WriteMode) -> &'static str {
        match (self, way) {
            (Self::Write, WriteMode::FlushAtEnd) => {
                tr!("The device: memory first, then the wait until all of it was stored.")
            }
            (Self::Write, WriteMode::Direct) => {
                tr!("The device, past the page cache; nothing volatile holds the data.")
            }
            (Self::Write, WriteMode::EachBlock) => {
                tr!("The device with every block made durable before the next one.")
            }
            (Self::Write, _) => {
                tr!("The device: the kernel had written all of it before the clock stopped.")
            }
            (Self::Read, WriteMode::Cached) => {
                tr!("The device: the data was to be in memory, but was read again.")
            }
            (Self::Read, WriteMode::Direct) => {
                tr!("The device, past the page cache, one block at a time.")
            }
            (Self::Read, _) => {
                tr!("The device through an empty page cache: the kernel reads ahead, and copies.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use crate::testing::samples;
    use assay_judge::Measured;

    #[test]
    fn a_ladder_counts_its_steps() {
        let run = fixture::run();
        let title = |ladder: Ladder| ladder.title(&Summary::of(&run));
        assert_eq!(title(Ladder::Write).as_deref(), Some("Three ways to write"));
        assert_eq!(title(Ladder::Read), None);
        let run = samples::with_read_ladder();
        let title = |ladder: Ladder| ladder.title(&Summary::of(&run));
        assert_eq!(title(Ladder::Read).as_deref(), Some("Three ways to read"));
    }

    #[test]
    fn a_step_never_claims_more_than_its_label() {
        let words = |ladder: Ladder, way, measured| {
            let labels: Labels = [measured].into_iter().collect();
            ladder.meaning(way, &labels, None)
        };
        for ladder in Ladder::ALL {
            for way in [WriteMode::Direct, WriteMode::Buffered, WriteMode::EachBlock] {
                let memory = words(ladder, way, Measured::PageCache);
                assert!(memory.starts_with("The speed of memory"), "{memory}");
                let unknown = words(
                    ladder,
                    way,
                    Measured::Unknown {
                        why: "x".to_owned(),
                    },
                );
                assert_eq!(unknown, "Not known: x.");
            }
        }
        let unflushed = words(
            Ladder::Write,
            WriteMode::EachBlock,
            Measured::DeviceUnflushed,
        );
        assert!(unflushed.contains("never flushed"), "{unflushed}");
    }
}
