//! Label of simulated trials: a model of a device computed their figures, and none was measured.

use super::{DirectionEvidence, Measured};
use assay_lang::tr;

/// Returns the label of `bytes` on a simulated device; `None` for 0 bytes.
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
