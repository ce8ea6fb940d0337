//! Description of the machine around the storage.

use crate::attr;
use crate::device::Device;
use crate::roots::Roots;
use crate::snapshot::memory;
use assay_model::storage::{Storage, System};
use assay_model::units::Bytes;
use std::fs;
use std::path::{Path, PathBuf};

/// Describes this machine.
pub fn system(roots: &Roots) -> System {
    let uname = rustix::system::uname();
    System {
        hostname: attr::text(&roots.proc.join("sys/kernel/hostname")),
        boot_id: attr::text(&roots.proc.join("sys/kernel/random/boot_id")),
        kernel: attr::text(&roots.proc.join("sys/kernel/osrelease"))
            .unwrap_or_else(|| uname.release().to_string_lossy().into_owned()),
        machine: uname.machine().to_string_lossy().into_owned(),
        os: os(roots),
        board: board(roots),
        cpu_model: cpu_model(roots),
        cpus: cpus_online(roots),
        memory: total_memory(roots),
        page_size: Bytes(rustix::param::page_size() as u64),
        clocksource: attr::text(
            &roots
                .sys
                .join("devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        root: rustix::process::geteuid().is_root(),
    }
}

/// Returns the total memory from meminfo, or else from `sysinfo(2)`, which gives the same figure.
fn total_memory(roots: &Roots) -> Bytes {
    let counted = || {
        let info = rustix::system::sysinfo();
        // The width of `totalram` differs between machines.
        let bytes = u128::from(info.totalram) * u128::from(info.mem_unit);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    };
    Bytes(memory(roots).map_or_else(counted, |memory| memory.total_bytes))
}

/// Reads os-release(5): the first of the two locations takes precedence.
fn os(roots: &Roots) -> Option<String> {
    let text = ["etc/os-release", "usr/lib/os-release"]
        .iter()
        .find_map(|file| attr::text(&roots.root.join(file)))?;
    let name = attr::value_after(&text, "PRETTY_NAME=")?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

/// Returns the device tree's model on boards, else the names in the firmware's DMI tables.
fn board(roots: &Roots) -> Option<String> {
    let tree = roots.sys.join("firmware/devicetree/base/model");
    let dmi = roots.sys.join("class/dmi/id");
    let from_dmi = || {
        let product = attr::text(&dmi.join("product_name"))?;
        Some(match attr::text(&dmi.join("sys_vendor")) {
            Some(vendor) => format!("{vendor} {product}"),
            None => product,
        })
    };
    attr::text(&tree).or_else(from_dmi)
}

/// Returns the processor's model. x86 and some others report a name; ARM reports numbers of
/// implementer and part, of which the common cores are named here (Arm's MIDR_EL1).
fn cpu_model(roots: &Roots) -> Option<String> {
    let text = attr::text(&roots.proc.join("cpuinfo"))?;
    let value = |key| attr::value_after(&text, key);
    if let Some(model) = value("model name") {
        return Some(model.to_owned());
    }
    let implementer = value("CPU implementer")?;
    let part = value("CPU part")?;
    let core = match (implementer, part) {
        ("0x41", "0xc07") => "Cortex-A7",
        ("0x41", "0xc08") => "Cortex-A8",
        ("0x41", "0xc09") => "Cortex-A9",
        ("0x41", "0xd03") => "Cortex-A53",
        ("0x41", "0xd04") => "Cortex-A35",
        ("0x41", "0xd05") => "Cortex-A55",
        ("0x41", "0xd07") => "Cortex-A57",
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd09") => "Cortex-A73",
        ("0x41", "0xd0a") => "Cortex-A75",
        ("0x41", "0xd0b") => "Cortex-A76",
        _ => return Some(format!("ARM implementer {implementer} part {part}")),
    };
    Some(core.to_owned())
}

/// Counts the online CPUs, from a list such as `0-3,6`.
fn cpus_online(roots: &Roots) -> u32 {
    attr::text(&roots.sys.join("devices/system/cpu/online"))
        .and_then(|list| count_of_list(&list))
        .or_else(|| u32::try_from(std::thread::available_parallelism().ok()?.get()).ok())
        .unwrap_or(1)
}

fn count_of_list(list: &str) -> Option<u32> {
    let mut count = 0_u32;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// Returns the number of thermal throttling events since boot, summed over all CPUs.
pub fn throttled(roots: &Roots) -> Option<u64> {
    let cpus = attr::numbered_entries(&roots.sys.join("devices/system/cpu"), "cpu").into_iter();
    let file = "thermal_throttle/core_throttle_count";
    let counts = cpus.filter_map(|(_, folder)| attr::number::<u64>(&folder.join(file)));
    counts.reduce(u64::saturating_add)
}

/// Sensors of one component; the highest value counts. An NVMe or SATA device has its own sensor
/// (`/sys/class/hwmon`, see the kernel's Documentation/hwmon/sysfs-interface.rst); eMMC and SD have
/// none, so the thermal zones of the board (`/sys/class/thermal`) are used instead.
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

    #[test]
    fn a_board_is_described_by_its_device_tree() {
        let machine = Machine::new();
        machine.file(
            "sys/firmware/devicetree/base/model",
            "NXP i.MX8MPlus EVK board\0",
        );
        machine.file("proc/sys/kernel/osrelease", "3.10.104-imx\n");
        machine.file("proc/sys/kernel/hostname", "board7\n");
        machine.file(
            "proc/cpuinfo",
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n",
        );
        machine.file("sys/devices/system/cpu/online", "0-3,6\n");
        machine.file("etc/os-release", "NAME=x\nPRETTY_NAME=\"Yocto 5.0\"\n");
        let system = system(&machine.roots);
        assert_eq!(system.board.as_deref(), Some("NXP i.MX8MPlus EVK board"));
        assert_eq!(system.kernel, "3.10.104-imx");
        assert_eq!(system.hostname.as_deref(), Some("board7"));
        assert_eq!(system.cpu_model.as_deref(), Some("Cortex-A53"));
        assert_eq!(system.cpus, 5);
        assert_eq!(system.os.as_deref(), Some("Yocto 5.0"));
    }

    #[test]
    fn a_pc_is_described_by_dmi() {
        let machine = Machine::new();
        machine.file("sys/class/dmi/id/sys_vendor", "LENOVO\n");
        machine.file("sys/class/dmi/id/product_name", "20XW\n");
        machine.file(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n",
        );
        let system = system(&machine.roots);
        assert_eq!(system.board.as_deref(), Some("LENOVO 20XW"));
        assert_eq!(system.cpu_model.as_deref(), Some("Some CPU @ 3 GHz"));
        assert_eq!(system.os, None);
    }

    #[test]
    fn cpu_lists_that_make_no_sense_are_not_counted() {
        assert_eq!(count_of_list("0"), Some(1));
        for bad in ["", "3-1", "0-4294967295", "a-b"] {
            assert_eq!(count_of_list(bad), None, "{bad:?}");
        }
    }

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
