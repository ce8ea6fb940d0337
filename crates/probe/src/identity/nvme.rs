//! NVMe drives.

use super::Raw;
use crate::attr;
use crate::device::Device;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the identity of a drive. `dir` is the controller's folder (`nvme0`), or with native
/// multipath the subsystem's (`nvme-subsys0`), which links to its controllers.
pub(super) fn identity(device: &Device, dir: &Path) -> DeviceIdentity {
    let mut raw = Raw::default();
    // Attributes of the namespace.
    raw.take(&device.dir, &["eui", "nguid", "wwid"]);
    raw.take(
        dir,
        &["model", "serial", "firmware_rev", "subsysnqn", "transport"],
    );
    if let Some(pci) = pci_folder(dir) {
        raw.take(
            &pci,
            &[
                "current_link_speed",
                "current_link_width",
                "max_link_speed",
                "max_link_width",
                "vendor",
            ],
        );
    }
    DeviceIdentity {
        kind: DeviceKind::Nvme,
        model: raw.text("model"),
        serial: raw.text("serial"),
        firmware: raw.text("firmware_rev"),
        bus: link(&raw),
        raw: raw.0,
        ..DeviceIdentity::default()
    }
}

/// Returns the PCIe function of the first controller that has one; network transports have none.
fn pci_folder(dir: &Path) -> Option<PathBuf> {
    let names = attr::entries(dir).into_iter();
    let controllers = names
        .filter(|name| attr::numbered(name, "nvme").is_some())
        .filter_map(|name| fs::canonicalize(dir.join(name)).ok());
    std::iter::once(dir.to_owned())
        .chain(controllers)
        .find_map(|controller| {
            let mut above = controller.ancestors().take(4);
            above
                .find(|dir| dir.join("current_link_speed").exists())
                .map(Path::to_owned)
        })
}

/// Formats the link, such as `PCIe 8.0 GT/s x4`; `None` without a physical link, as in virtual
/// machines.
fn link(raw: &Raw) -> Option<String> {
    let speed = raw.get("current_link_speed")?;
    if speed.starts_with("Unknown") {
        return None;
    }
    // The kernel writes "8.0 GT/s PCIe"; older kernels write "8 GT/s".
    let speed = speed.strip_suffix(" PCIe").unwrap_or(speed);
    let width = raw.get("current_link_width")?;
    Some(format!("PCIe {speed} x{width}"))
}
