//! Power management of the devices between the processor and the storage
//! (Documentation/ABI/testing/sysfs-devices-power).

use crate::attr;
use crate::device::Device;
use crate::roots::Roots;
use assay_model::checkup::{PowerKind, PowerSaving};
use assay_model::storage::Storage;
use std::path::Path;

/// Returns the power saving of all devices on the way to the disks of the storage, and the policy
/// of PCIe.
pub(super) fn power(roots: &Roots, storage: Option<&Storage>) -> Vec<PowerSaving> {
    let mut found: Vec<PowerSaving> = Vec::new();
    for layer in storage.into_iter().flat_map(Storage::leaves) {
        let Some(device) = Device::named(roots, &layer.name) else {
            continue;
        };
        for folder in device.ancestors() {
            found.extend(runtime(folder));
            found.extend(nvme(folder));
            found.extend(sata(folder));
        }
    }
    found.extend(storage.and_then(|_| pcie(roots)));
    found.dedup();
    found
}

/// Returns the state of a device that the kernel may suspend. A device with the status
/// `unsupported` has no driver for that, and one with a negative delay never suspends.
fn runtime(folder: &Path) -> Option<PowerSaving> {
    let power = folder.join("power");
    let value = attr::text(&power.join("control")).filter(|value| value == "auto")?;
    let status = attr::text(&power.join("runtime_status"))?;
    let delay: Option<i64> = attr::number(&power.join("autosuspend_delay_ms"));
    if status == "unsupported" || delay.is_some_and(|delay| delay < 0) {
        return None;
    }
    let is_usb = folder.join("idVendor").exists();
    let kind = match is_usb {
        true => PowerKind::UsbAutosuspend,
        false => PowerKind::Runtime,
    };
    Some(saving(kind, folder, &power.join("control"), value))
}

/// Returns the power saving of an NVMe drive. The drive changes its state by itself, within a limit
/// of added latency in microseconds; 0 forbids it.
fn nvme(folder: &Path) -> Option<PowerSaving> {
    let name = folder.file_name()?.to_str()?;
    attr::numbered(name, "nvme")?;
    let file = folder.join("power/pm_qos_latency_tolerance_us");
    let value = attr::text(&file).filter(|value| value != "0")?;
    Some(saving(PowerKind::NvmeApst, folder, &file, value))
}

fn sata(folder: &Path) -> Option<PowerSaving> {
    let name = folder.file_name()?;
    let file = folder
        .join("scsi_host")
        .join(name)
        .join("link_power_management_policy");
    let value = attr::text(&file).filter(|value| value != "max_performance")?;
    Some(saving(PowerKind::SataLink, folder, &file, value))
}

/// Returns the policy of PCIe; the policy in force is in brackets.
fn pcie(roots: &Roots) -> Option<PowerSaving> {
    let file = roots.sys.join("module/pcie_aspm/parameters/policy");
    let text = attr::text(&file)?;
    let (_, rest) = text.split_once('[')?;
    let (value, _) = rest.split_once(']')?;
    let saves = value.starts_with("power");
    saves.then(|| {
        saving(
            PowerKind::PcieAspm,
            Path::new("pcie_aspm"),
            &file,
            value.to_owned(),
        )
    })
}

fn saving(kind: PowerKind, folder: &Path, file: &Path, value: String) -> PowerSaving {
    let name = folder.file_name().unwrap_or_default();
    PowerSaving {
        kind,
        device: name.to_string_lossy().into_owned(),
        file: file.display().to_string(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;
    use crate::fixture::MadeUp;
    use crate::stack::View;

    fn found(machine: &Machine, name: &str, number: &str) -> Vec<(PowerKind, String)> {
        let node = format!("/dev/{name}");
        let files = MadeUp::default().node(&node, number);
        let storage = View::new(&machine.roots, &files)
            .resolve(Path::new(&node))
            .unwrap();
        let found = power(&machine.roots, Some(&storage)).into_iter();
        found.map(|saving| (saving.kind, saving.device)).collect()
    }

    #[test]
    fn a_usb_stick_that_may_sleep_is_found_and_one_that_may_not_is_not() {
        let machine = Machine::new();
        let usb = "sys/devices/pci0/usb1/1-1";
        machine.disk("pci0/usb1/1-1/1-1:1.0/host0/block/sda", "8:0", 100);
        machine.file(&format!("{usb}/idVendor"), "0781\n");
        machine.files(
            &format!("{usb}/power"),
            &[
                ("control", "auto\n"),
                ("runtime_status", "active\n"),
                ("autosuspend_delay_ms", "2000\n"),
            ],
        );
        let expected = (PowerKind::UsbAutosuspend, "1-1".to_owned());
        assert_eq!(found(&machine, "sda", "8:0"), [expected]);
        machine.file(&format!("{usb}/power/autosuspend_delay_ms"), "-1000\n");
        assert!(found(&machine, "sda", "8:0").is_empty());
        machine.remove(&format!("{usb}/power/autosuspend_delay_ms"));
        machine.file(&format!("{usb}/power/runtime_status"), "unsupported\n");
        assert!(found(&machine, "sda", "8:0").is_empty());
    }

    #[test]
    fn an_nvme_drive_and_its_links_are_found() {
        let machine = Machine::new();
        machine.disk("pci0/nvme/nvme0/nvme0n1", "259:0", 100);
        let tolerance = "sys/devices/pci0/nvme/nvme0/power/pm_qos_latency_tolerance_us";
        machine.file(tolerance, "100000\n");
        machine.file(
            "sys/module/pcie_aspm/parameters/policy",
            "default performance [powersave] powersupersave\n",
        );
        assert_eq!(
            found(&machine, "nvme0n1", "259:0"),
            [
                (PowerKind::NvmeApst, "nvme0".to_owned()),
                (PowerKind::PcieAspm, "pcie_aspm".to_owned())
            ]
        );
        machine.file(tolerance, "0\n");
        machine.file(
            "sys/module/pcie_aspm/parameters/policy",
            "[default] powersave\n",
        );
        assert!(found(&machine, "nvme0n1", "259:0").is_empty());
    }
}
