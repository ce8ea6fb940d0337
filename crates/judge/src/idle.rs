//! Pauses that a figure leaves out, and the evidence does not.

use super::{Case, DEVICE_SHARE, DirectionEvidence, Measured};
use assay_lang::tr;
use assay_model::job::{Direction, OpenSync};

impl Case<'_> {
    /// While a clock stands still, read-ahead and write-back go on: what they
    /// moved then is in the counters and not in the figure. Direct I/O has
    /// neither, and synchronous writes leave nothing for later.
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

    /// A child's clock did, for more of its time than a label overlooks.
    fn stood_still(&self) -> bool {
        let mut children = self.cell.iter().flat_map(|cell| &cell.children);
        children.any(|child| {
            let all = child.elapsed_ns.saturating_add(child.idle_ns);
            child.idle_ns as f64 > all as f64 * (1.0 - DEVICE_SHARE)
        })
    }
}
