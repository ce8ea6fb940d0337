//! Device information for a soak.

use crate::devices::ask;
use crate::inspect::storage_of;
use assay_model::act::soak::Health;
use assay_probe::roots::Roots;
use assay_workloads::soak::DeviceHealth;
use std::path::Path;

/// Device behind a path.
pub(super) struct Behind<'a> {
    pub(super) roots: &'a Roots,
    pub(super) path: &'a Path,
}

impl DeviceHealth for Behind<'_> {
    fn health(&self) -> Option<Health> {
        let storage = storage_of(self.roots, self.path);
        let mut layer = storage.device()?.clone();
        ask(self.roots, &mut layer);
        Health::of(&layer.identity)
    }
}
