//! What a warning means for the question whether a run can be believed.

use super::Warning;
use crate::text::count;

/// A reason not to take the figures as they are, one clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// None of the figures is the device's.
    All(String),
    /// Some figures are missing, or not what they seem.
    Some(String),
    /// The figures are what they seem, but less exact.
    Exactness(String),
}

impl Warning {
    /// The doubt that follows from the warning; `None` where it tells about
    /// the storage rather than about the figures.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        let jobs = |n: usize| count(n as u64, "job");
        Some(match self {
            Self::Memory { what } => Doubt::All(what.clone()),
            Self::Unfinished { how } => Doubt::Some(format!("the run {how}")),
            Self::IoErrors { jobs: list, .. } => {
                Doubt::Some(format!("I/O errors in {}", jobs(list.len())))
            }
            Self::Failed { jobs: list, .. } => {
                Doubt::Some(format!("trials of {} failed", jobs(list.len())))
            }
            Self::PageCache {
                jobs: list,
                direction,
                ..
            } => Doubt::Some(format!(
                "{direction}s of {} were the page cache's",
                jobs(list.len())
            )),
            Self::Mixed { jobs: list } => {
                Doubt::Some(format!("{} measured part page cache", jobs(list.len())))
            }
            Self::Disagreement { jobs: list } => Doubt::Some(format!(
                "trials of {} measured different things",
                jobs(list.len())
            )),
            Self::Unknown { jobs: list, .. } => {
                Doubt::Some(format!("what {} measured is not known", jobs(list.len())))
            }
            Self::ForeignIo { device, .. } => Doubt::Exactness(format!("others used {device}")),
            Self::Spread { jobs: list, of } => Doubt::Exactness(format!(
                "trials vary by more than 10 % in {} of {}",
                list.len(),
                jobs(*of)
            )),
            Self::FewTrials { jobs: list } => {
                Doubt::Exactness(format!("fewer than 3 trials in {}", jobs(list.len())))
            }
            Self::Throttled { .. } => Doubt::Exactness("the CPU slowed down".to_owned()),
            Self::Loop { name, .. } => {
                Doubt::Exactness(format!("this machine caches the file behind {name}"))
            }
            Self::Skipped { .. }
            | Self::Unflushed { .. }
            | Self::Stalls { .. }
            | Self::ShortTransfers { .. }
            | Self::Governor { .. }
            | Self::Worn { .. }
            | Self::SlowBus { .. } => return None,
        })
    }
}
