//! Disks beneath a loop device or a device that a user-space program serves, with a page cache in
//! between. The label describes the upper device; a caveat beside it names the bytes that did not
//! reach the disk.

use super::share::{percent, ratio};
use super::{Case, DEVICE_SHARE, DirectionEvidence, Measured};
use assay_lang::tr;
use assay_model::job::Direction;
use assay_model::storage::{DeviceKind, Layer, LayerRole};

/// Caveat that a bare `device` label would hide.
pub(super) struct Beneath(Option<String>);

impl Beneath {
    /// Adds the caveat to the evidence if its label claims that a device moved the bytes.
    pub(super) fn qualify(self, evidence: DirectionEvidence) -> DirectionEvidence {
        let claims = matches!(
            evidence.measured,
            Measured::Device | Measured::DeviceUnflushed
        );
        let Some(caveat) = self.0.filter(|_| claims) else {
            return evidence;
        };
        DirectionEvidence {
            because: tr!(
                "{because}, but {caveat}",
                because = evidence.because,
                caveat
            ),
            caveat: Some(caveat),
            ..evidence
        }
    }
}

impl Case<'_> {
    /// Returns the caveat about the disks beneath loop devices and served ones.
    pub(super) fn beneath(&self, direction: Direction) -> Beneath {
        let all = &self.evidence.storage.layers;
        let loops = all
            .iter()
            .filter(|layer| layer.identity.kind == DeviceKind::Loop || layer.is_served());
        let shares = loops.map(|over| {
            let below = self.evidence.storage.below(over);
            let mut below = below.filter(|layer| layer.role == LayerRole::Beneath);
            (over, below.next())
        });
        let mut worst: Option<(f64, String)> = None;
        for (over, below) in shares {
            let (share, words) = self.reached_below(over, below, direction);
            if share < worst.as_ref().map_or(DEVICE_SHARE, |(least, _)| *least) {
                worst = Some((share, words));
            }
        }
        Beneath(worst.map(|(_, words)| words))
    }

    /// Returns the share of a loop device's bytes that the device below moved, and a clause about
    /// it. The share is 0 where those bytes are not counted.
    fn reached_below(
        &self,
        over: &Layer,
        below: Option<&Layer>,
        direction: Direction,
    ) -> (f64, String) {
        let Some(below) = below else {
            let words = tr!(
                "what is beneath {name} cannot be told here",
                name = over.name
            );
            return (0.0, words);
        };
        let moved = self
            .delta(&over.name, direction)
            .zip(self.delta(&below.name, direction));
        let (Some((over_bytes, bytes)), false) = (moved, self.switched_off(below)) else {
            let words = tr!(
                "what {below} moved, beneath {over}, is not counted",
                below = below.name,
                over = over.name
            );
            return (0.0, words);
        };
        let share = ratio(bytes, over_bytes);
        let (percent, below, over) = (percent(share), &below.name, &over.name);
        let words = match direction {
            Direction::Read => tr!(
                "only {percent} % of that came from {below}, beneath {over}",
                percent,
                below,
                over
            ),
            Direction::Write => tr!(
                "only {percent} % of that had reached {below}, beneath {over}",
                percent,
                below,
                over
            ),
        };
        (share, words)
    }
}
