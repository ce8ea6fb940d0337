//! Temperature of the storage under test, or of the nearest sensor.
//!
//! An NVMe or SATA device has its own sensor (`/sys/class/hwmon`, see the kernel's
//! Documentation/hwmon/sysfs-interface.rst); eMMC and SD have none, so the thermal zones of the
//! board (`/sys/class/thermal`) are used instead.

use crate::attr;
use crate::device::Device;
use crate::roots::Roots;
use assay_model::storage::Storage;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the number of thermal throttling events since boot, summed over all CPUs.
pub fn throttled(roots: &Roots) -> Option<u64> {
    let cpus = attr::numbered_entries(&roots.sys.join("devices/system/cpu"), "cpu").into_iter();
    let file = "thermal_throttle/core_throttle_count";
    let counts = cpus.filter_map(|(_, folder)| attr::number::<u64>(&folder.join(file)));
    counts.reduce(u64::saturating_add)
}

/// Sensors of one component; the highest value counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thermometer {
    /// Name of the measured component.
    pub name: String,
    inputs: Vec<PathBuf>,
}

impl Thermometer {
    /// Finds the sensor of a disk that data reaches, else those of the board; `None` if there is
    /// none. A disk whose sensor does not respond now (a sleeping disk) still counts as one with a
    /// sensor.
    pub fn of(roots: &Roots, storage: &Storage) -> Option<Self> {
        of_disks(roots, storage).or_else(|| of_board(roots))
    }

    /// Returns thousandths of a degree Celsius; `None` when no sensor responds.
    pub fn read(&self) -> Option<i64> {
        let inputs = self.inputs.iter();
        inputs.filter_map(|path| attr::number(path)).max()
    }
}

fn of_disks(roots: &Roots, storage: &Storage) -> Option<Thermometer> {
    let disks = storage
        .leaves()
        .filter_map(|layer| Device::named(roots, &layer.name));
    let disks: Vec<PathBuf> = disks.map(|disk| disk.disk_dir().join("device")).collect();
    let is_of_disk = |sensors: &Path| {
        let of = fs::canonicalize(sensors.join("device"));
        let mut disks = disks.iter().map(fs::canonicalize);
        of.is_ok_and(|of| disks.any(|disk| disk.is_ok_and(|disk| disk == of)))
    };
    let folder = roots.sys.join("class/hwmon");
    let all = attr::entries(&folder).into_iter();
    let all = all.map(|name| folder.join(name));
    // A device with several sensors reports its overall temperature at the first one.
    let has_input = |sensors: &PathBuf| sensors.join("temp1_input").is_file();
    let sensors = all.filter(has_input).find(|sensors| is_of_disk(sensors))?;
    Some(Thermometer {
        name: attr::text(&sensors.join("name")).unwrap_or_else(|| "the device".to_owned()),
        inputs: vec![sensors.join("temp1_input")],
    })
}

fn of_board(roots: &Roots) -> Option<Thermometer> {
    let folder = roots.sys.join("class/thermal");
    let is_zone = |name: &String| attr::numbered(name, "thermal_zone").is_some();
    let zones = attr::entries(&folder).into_iter().filter(is_zone);
    let inputs: Vec<PathBuf> = zones.map(|zone| folder.join(zone).join("temp")).collect();
    (!inputs.is_empty()).then(|| Thermometer {
        name: "the hottest thermal zone".to_owned(),
        inputs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;
    use assay_model::storage::{Backing, DeviceIdentity, Layer, LayerRole};

    fn on(disk: &str) -> Storage {
        Storage {
            path: "/data".into(),
            mount: None,
            backing: Backing::Device {
                name: disk.to_owned(),
            },
            layers: vec![Layer {
                name: disk.to_owned(),
                major: 259,
                minor: 0,
                role: LayerRole::Top,
                parent: None,
                other_parents: Vec::new(),
                size: None,
                backing_file: None,
                identity: DeviceIdentity::default(),
            }],
            total: None,
            available: None,
        }
    }

    /// An NVMe device with a sensor, an SD card without, and two thermal zones.
    fn machine() -> Machine {
        let machine = Machine::new();
        machine.disk("pci0/nvme0/nvme0n1", "259:0", 1000);
        machine.link(
            "sys/devices/pci0/nvme0/nvme0n1/device",
            "sys/devices/pci0/nvme0",
        );
        machine.disk("mmcblk0", "179:0", 1000);
        machine.files(
            "sys/devices/pci0/nvme0/hwmon0",
            &[
                ("name", "nvme\n"),
                ("temp1_input", "38850\n"),
                ("temp2_input", "70000\n"),
            ],
        );
        machine.link("sys/class/hwmon/hwmon0", "sys/devices/pci0/nvme0/hwmon0");
        machine.link(
            "sys/devices/pci0/nvme0/hwmon0/device",
            "sys/devices/pci0/nvme0",
        );
        machine
    }

    #[test]
    fn a_device_is_as_warm_as_its_own_sensor_says() {
        let machine = machine();
        let found = Thermometer::of(&machine.roots, &on("nvme0n1")).unwrap();
        assert_eq!((found.name.as_str(), found.read()), ("nvme", Some(38_850)));
        assert_eq!(
            Thermometer::of(&machine.roots, &on("mmcblk0")),
            None,
            "no sensor"
        );
    }

    #[test]
    fn without_a_sensor_the_board_must_do() {
        let machine = machine();
        for (zone, temp) in [(0, "41000\n"), (1, "52500\n"), (2, "")] {
            let zone = format!("sys/class/thermal/thermal_zone{zone}");
            machine.files(&zone, &[("type", "soc\n"), ("temp", temp)]);
        }
        let found = Thermometer::of(&machine.roots, &on("mmcblk0")).unwrap();
        assert_eq!(found.read(), Some(52_500));
        let found = Thermometer::of(&machine.roots, &on("nvme0n1")).unwrap();
        assert_eq!(found.name, "nvme", "its own is nearer");
    }
}
