//! Pauses that the figure excludes and the evidence includes.

use super::{Case, DEVICE_SHARE, DirectionEvidence, Measured};
use assay_lang::tr;
use assay_model::job::{Direction, OpenSync};

impl Case<'_> {
    /// Labels a figure `unknown` if its clock was paused. Read-ahead and write-back continue during
    /// a pause: the counters include those bytes, and the figure does not. Direct I/O has neither,
    /// and synchronous writes leave no dirty pages.
    pub(super) fn less_idle(
        &self,
        direction: Direction,
        evidence: DirectionEvidence,
    ) -> DirectionEvidence {
        let job = self.job;
        let in_the_call =
            job.direct || (direction == Direction::Write && job.sync != OpenSync::None);
        let asked = matches!(
            evidence.measured,
            Measured::Device | Measured::DeviceUnflushed | Measured::Mixed { .. }
        );
        if in_the_call || !asked || !self.stood_still() {
            return evidence;
        }
        let why = tr!(
            "the clock stood still between the records, and what moved meanwhile is not in the figure"
        );
        DirectionEvidence {
            measured: Measured::unknown(why),
            because: format!("{}; {why}", evidence.because),
            device_share: None,
            ..evidence
        }
    }

    /// `true` if a child's clock was paused for more than the share of its time that a label
    /// ignores.
    fn stood_still(&self) -> bool {
        let mut children = self.cell.iter().flat_map(|cell| &cell.children);
        children.any(|child| {
            let all = child.elapsed_ns.saturating_add(child.idle_ns);
            child.idle_ns as f64 > all as f64 * (1.0 - DEVICE_SHARE)
        })
    }
}
