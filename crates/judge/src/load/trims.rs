//! Labels of trims: the kernel counts what a device discards.

use super::super::share::Share;
use super::super::{Case, DataLocation, DirectionEvidence, Measured};
use assay_lang::tr;
use assay_model::units::{Bytes, MIB};

/// Bytes trimmed by all members of a wave on one storage, and by one of them.
pub(super) struct Trims {
    /// Bytes of all members, ramps included.
    pub(super) of_all: u64,
    /// Bytes of the member, ramp included.
    pub(super) of_member: u64,
    /// Measured bytes of the member.
    pub(super) measured: u64,
    /// Reason why the counters do not show the result.
    pub(super) hopeless: Option<String>,
}

impl Case<'_> {
    /// Judges the trims of one member. The label is `device` only if the device discarded all of
    /// them and nothing else that could replace them.
    pub(super) fn judge_trims(&self, trims: &Trims) -> DirectionEvidence {
        let (measured, because, share) = match self.trim_share(trims) {
            Err(why) => (Measured::unknown(why.clone()), why, None),
            Ok(None) => (Measured::PageCache, self.said(String::new()), Some(0.0)),
            Ok(Some(share)) => self.judge_discarded(share),
        };
        DirectionEvidence {
            device_share: share,
            layers: self.discards(),
            ..DirectionEvidence::saying(measured, because, trims.measured)
        }
    }

    fn judge_discarded(&self, share: Share) -> (Measured, String, Option<f64>) {
        let top = self.top_name();
        let so_far = tr!("{share} of the bytes were discarded on {top}", share, top);
        if share.place() == DataLocation::Device {
            return (Measured::Device, so_far, Some(share.least));
        }
        let kept = match &self.evidence.storage.mount {
            Some(mount) => tr!(
                "{so_far}: {file_system} may keep or delay them",
                so_far,
                file_system = mount.fs_type
            ),
            None => so_far,
        };
        (Measured::unknown(kept.clone()), kept, None)
    }

    /// Returns the part of a member's trims that the device discarded; `None` if there is no
    /// device.
    fn trim_share(&self, trims: &Trims) -> Result<Option<Share>, String> {
        if self.is_memory()? {
            return Ok(None);
        }
        if let Some(why) = &trims.hopeless {
            return Err(why.clone());
        }
        let top = self.top_name();
        let discarded = self
            .discarded(&top)
            .ok_or_else(|| tr!("the kernel does not count what {top} discards", top))?;
        let off = self.evidence.storage.top().filter(|t| self.switched_off(t));
        if let Some(layer) = off.filter(|_| discarded < trims.of_all) {
            return Err(self.not_counted(&layer.name));
        }
        if discarded > trims.of_all.saturating_add(trims.of_all / 20 + MIB) {
            return Err(tr!(
                "{top} discarded {bytes}, more than the {asked} of this wave: whose they were cannot be told",
                top,
                bytes = Bytes(discarded),
                asked = Bytes(trims.of_all)
            ));
        }
        Ok(Some(
            Share::exactly(discarded, trims.of_all).of_part(trims.of_member, trims.of_all),
        ))
    }

    fn discards(&self) -> Vec<(String, u64)> {
        let layers = self.evidence.storage.layers.iter();
        layers
            .filter_map(|layer| Some((layer.name.clone(), self.discarded(&layer.name)?)))
            .collect()
    }
}
