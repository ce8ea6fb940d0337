//! Label of simulated trials: a model of a device computed their figures, and none was measured.

use super::{DirectionEvidence, Measured};
use assay_lang::tr;

/// The label of so many bytes on a simulated device; `None` when there were none.
pub(super) fn direction(bytes: u64) -> Option<DirectionEvidence> {
    (bytes > 0).then(|| {
        DirectionEvidence::saying(
            Measured::Simulated,
            tr!("a model of a device computed it, in virtual time: nothing was measured")
                .to_owned(),
            bytes,
        )
    })
}
