//! Effect of a warning on the trustworthiness of a run.

use super::Warning;
use assay_lang::{counted, tr};
use assay_model::job::Direction;

/// Reason to doubt figures, as a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// None of the figures is that of a working device.
    All(String),
    /// Some figures are missing or misleading.
    Some(String),
    /// The figures are correct, but less exact than they look.
    Exactness(String),
}

impl Warning {
    /// Returns the doubt that follows from the warning; `None` if the warning concerns the storage
    /// rather than the figures.
    pub fn doubt(&self) -> Option<Doubt> {
        Some(match self {
            Self::Memory { what } => Doubt::All(what.clone()),
            Self::DataLost { first, .. } => Doubt::All(tr!("data was not kept ({first})", first)),
            Self::Unfinished { how } => Doubt::Some(tr!("the run {how}", how)),
            Self::IoErrors { jobs, .. } => {
                Doubt::Some(tr!("I/O errors in {jobs}", jobs = count(jobs)))
            }
            Self::Failed { jobs, .. } => {
                Doubt::Some(tr!("trials of {jobs} failed", jobs = count(jobs)))
            }
            Self::PageCache {
                jobs, direction, ..
            } => Doubt::Some(match direction {
                Direction::Read => tr!("reads of {jobs} were the page cache's", jobs = count(jobs)),
                Direction::Write => {
                    tr!("writes of {jobs} were the page cache's", jobs = count(jobs))
                }
            }),
            Self::Mixed { jobs } => {
                Doubt::Some(tr!("{jobs} measured part page cache", jobs = count(jobs)))
            }
            Self::ToolLimit { jobs } => Doubt::Some(tr!(
                "assay itself may have limited {jobs}",
                jobs = count(jobs)
            )),
            Self::ShallowQueue { jobs } => Doubt::Some(tr!(
                "fewer I/Os were in flight than asked for in {jobs}",
                jobs = count(jobs)
            )),
            Self::Disagreement { jobs } => Doubt::Some(tr!(
                "trials of {jobs} measured different things",
                jobs = count(jobs)
            )),
            Self::Unknown { jobs, .. } => {
                Doubt::Some(tr!("what {jobs} measured is not known", jobs = count(jobs)))
            }
            Self::ForeignIo { device, .. } => Doubt::Exactness(tr!("others used {device}", device)),
            Self::Hindered { what, .. } => Doubt::Exactness(what.join("; ")),
            Self::Spread { jobs, of } => spread(jobs, *of),
            Self::FewTrials { checks: true, .. } => return None,
            Self::FewTrials { jobs, .. } => {
                Doubt::Exactness(tr!("fewer than 3 trials in {jobs}", jobs = count(jobs)))
            }
            Self::Throttled { .. } => Doubt::Exactness(tr!("the CPU slowed down").to_owned()),
            Self::Loop { name, .. } => {
                Doubt::Exactness(tr!("this machine caches the file behind {name}", name))
            }
            Self::Skipped { .. }
            | Self::ForcedWriteThrough { .. }
            | Self::Unflushed { .. }
            | Self::Stalls { .. }
            | Self::ShortTransfers { .. }
            | Self::Governor { .. }
            | Self::OtherAgent { .. }
            | Self::Worn { .. }
            | Self::SlowBus { .. } => return None,
        })
    }
}

fn count<T>(jobs: &[T]) -> String {
    counted!(jobs.len(), "{n} job", "{n} jobs")
}

/// Returns the doubt about varying figures. A coefficient of variation above 100 % makes a figure
/// meaningless.
fn spread(list: &[(String, f64)], of: usize) -> Doubt {
    let wild = list.iter().filter(|(_, cv)| *cv > 1.0).count();
    let jobs = counted!(of, "{n} job", "{n} jobs");
    match wild {
        0 => Doubt::Exactness(tr!(
            "trials vary by more than 10 % in {number} of {jobs}",
            number = list.len(),
            jobs
        )),
        wild => {
            let why = tr!(
                "trials differ by more than 100 % in {number} of {jobs}",
                number = wild,
                jobs
            );
            match wild == of {
                true => Doubt::All(why),
                false => Doubt::Some(why),
            }
        }
    }
}
