//! Disks of the machine, and registers that a device reports only on request.

use assay_engine::registers::{ext_csd, nvme_controller, nvme_smart, sd_status};
use assay_model::device::register::{
    EXT_CSD, ExtCsd, NVME_IDENTIFY, NVME_SMART, SD_STATUS, SdStatus, from_hex, to_hex,
};
use assay_model::device::{DeviceList, ListedDevice};
use assay_model::storage::{DeviceIdentity, DeviceKind, Layer};
use assay_probe::devices::{self, node};
use assay_probe::identity::{life_time, pre_eol};
use assay_probe::roots::Roots;
use assay_probe::{safety, system};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::Path;

/// Lists all disks, without writing anything.
pub(crate) fn list(roots: &Roots) -> DeviceList {
    let mut devices = devices::list(roots);
    for device in &mut devices {
        ask(roots, &mut device.layer);
        open(roots, device);
    }
    DeviceList {
        system: system::system(roots),
        devices,
    }
}

/// Adds the uses that only opening the device shows.
fn open(roots: &Roots, device: &mut ListedDevice) {
    if device.in_use.is_empty() {
        let name = &device.layer.name;
        let held = is_held(&node(roots, name), name);
        device
            .in_use
            .extend(held.unwrap_or_else(|error| Some(not_opened(name, &error))));
    }
}

/// Opens a device, and returns a reason against writing it, if opening shows one.
pub(crate) fn is_held(node: &Path, name: &str) -> io::Result<Option<String>> {
    let reason = || format!("{name} is held by another program or mounted in another namespace");
    Ok(safety::held_exclusively(node)?.then(reason))
}

/// Returns the message for a device that cannot be opened.
pub(crate) fn not_opened(name: &str, error: &io::Error) -> String {
    format!("{name} cannot be opened: {error}")
}

/// Adds registers and logs that the kernel does not keep. This sends commands to the device,
/// so it must not run during a measurement. Registers that the device does not report are
/// left out.
pub(crate) fn ask(roots: &Roots, layer: &mut Layer) {
    let name = layer.name.as_str();
    let identity = &mut layer.identity;
    match identity.kind {
        DeviceKind::Emmc => {
            let register = devices::ext_csd(roots, name).or_else(|| {
                let asked = ext_csd(&open_disk(roots, name).ok()?).ok()?;
                Some(to_hex(&asked))
            });
            put(identity, EXT_CSD, register);
            fill_in(identity);
        }
        // The kernel reads the register of a card once, in some versions before the card
        // provides it: all zeros.
        DeviceKind::Sd if !has_status(identity) => {
            let disk = open_disk(roots, name);
            let asked = disk.and_then(|disk| sd_status(&disk)).ok();
            put(identity, SD_STATUS, asked.map(|bytes| to_hex(&bytes)));
        }
        DeviceKind::Nvme => {
            let Ok(disk) = open_disk(roots, name) else {
                return;
            };
            let hex = |asked: io::Result<Vec<u8>>| asked.ok().map(|bytes| to_hex(&bytes));
            put(identity, NVME_IDENTIFY, hex(nvme_controller(&disk)));
            put(identity, NVME_SMART, hex(nvme_smart(&disk)));
        }
        _ => {}
    }
}

fn has_status(identity: &DeviceIdentity) -> bool {
    let bytes = identity.raw.get(SD_STATUS).and_then(|text| from_hex(text));
    bytes.as_deref().and_then(SdStatus::parse).is_some()
}

/// Keeps a register or another raw attribute, if there is one.
pub(crate) fn put(identity: &mut DeviceIdentity, name: &str, register: Option<String>) {
    if let Some(register) = register {
        identity.raw.insert(name.to_owned(), register);
    }
}

/// Fills in the fields of EXT_CSD that the kernel did not report (it reports life times since
/// 4.16).
fn fill_in(identity: &mut DeviceIdentity) {
    let bytes = identity.raw.get(EXT_CSD).and_then(|text| from_hex(text));
    let Some(register) = bytes.as_deref().and_then(ExtCsd::parse) else {
        return;
    };
    if let (None, Some([a, b])) = (&identity.life_time, register.life_time()) {
        identity.life_time = life_time(Some(a.into()), Some(b.into()));
    }
    if let (None, Some(info)) = (&identity.pre_eol, register.pre_eol()) {
        identity.pre_eol = Some(pre_eol(info.into()));
    }
}

fn open_disk(roots: &Roots, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let disk = rustix::fs::open(node(roots, name), flags, Mode::empty())?;
    Ok(File::from(disk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_not_replaced() {
        let mut bytes = [0; 512];
        bytes[192] = 8;
        bytes[267] = 3;
        bytes[268] = 4;
        let mut identity = DeviceIdentity {
            pre_eol: Some("normal".to_owned()),
            ..DeviceIdentity::default()
        };
        put(&mut identity, EXT_CSD, Some(to_hex(&bytes)));
        fill_in(&mut identity);
        assert_eq!(identity.pre_eol.as_deref(), Some("normal"));
        let life = identity.life_time.unwrap();
        assert_eq!(life, "30-40 % used (type A), not defined (type B)");
    }

    #[test]
    fn a_status_of_zeros_is_none() {
        let mut identity = DeviceIdentity::default();
        assert!(!has_status(&identity));
        put(&mut identity, SD_STATUS, Some("00".repeat(64)));
        assert!(!has_status(&identity));
        put(&mut identity, SD_STATUS, Some("80".repeat(64)));
        assert!(has_status(&identity));
    }

    #[test]
    fn a_damaged_register_fills_in_nothing() {
        let mut identity = DeviceIdentity::default();
        put(&mut identity, EXT_CSD, Some("00zz".to_owned()));
        fill_in(&mut identity);
        assert_eq!((identity.life_time, identity.pre_eol), (None, None));
    }
}
