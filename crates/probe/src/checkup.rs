//! Raw state of the machine, read before a measurement.

use crate::attr;
use crate::counters::queues;
use crate::device::Device;
use crate::files::unescaped;
use crate::roots::Roots;
use crate::snapshot::{ZONE, memory, zone};
use crate::stack::resolve;
use crate::system::{container, hypervisor, limits, system, throttled};
use assay_model::checkup::{
    Checkup, CoolingDevice, CpuSpeed, HeatZone, PowerKind, PowerSaving, SwapArea, Writeback,
};
use assay_model::storage::Storage;
use std::path::Path;

/// Reads every field of the machine and, if given, of the storage, except [`Checkup::place`],
/// [`Checkup::others`] and [`Checkup::missing`].
pub fn take(roots: &Roots, storage: Option<&Storage>) -> Checkup {
    Checkup {
        system: system(roots),
        place: None,
        queues: storage
            .map(|storage| queues(roots, storage))
            .unwrap_or_default(),
        cpus: cpus(roots),
        throttle_events: throttled(roots),
        heat: heat(roots),
        cooling: cooling(roots),
        memory: memory(roots),
        swaps: swaps(roots),
        writeback: writeback(roots),
        clocksources: clocksources(roots),
        limits: limits(roots),
        container: container(roots),
        hypervisor: hypervisor(roots),
        power: power(roots, storage),
        others: None,
        missing: Vec::new(),
    }
}

/// Reads the CPUs' frequencies (Documentation/admin-guide/pm/cpufreq.rst).
fn cpus(roots: &Roots) -> Vec<CpuSpeed> {
    let cpus = attr::numbered_entries(&roots.sys.join("devices/system/cpu"), "cpu");
    let mut cpus: Vec<CpuSpeed> = cpus
        .into_iter()
        .map(|(cpu, folder)| (cpu, folder.join("cpufreq")))
        .filter(|(_, cpufreq)| cpufreq.is_dir())
        .map(|(cpu, cpufreq)| CpuSpeed {
            cpu,
            governor: attr::text(&cpufreq.join("scaling_governor")),
            limit_khz: attr::number(&cpufreq.join("scaling_max_freq")),
            most_khz: attr::number(&cpufreq.join("cpuinfo_max_freq")),
        })
        .collect();
    cpus.sort_by_key(|cpu| cpu.cpu);
    cpus
}

/// Reads the thermal zones (Documentation/driver-api/thermal/sysfs-api.rst).
fn heat(roots: &Roots) -> Vec<HeatZone> {
    let zones = attr::numbered_entries(&roots.sys.join("class/thermal"), ZONE);
    zones
        .into_iter()
        .filter_map(|(number, folder)| {
            let zone = zone(number, &folder)?;
            Some(HeatZone {
                millicelsius: zone.millicelsius,
                slows_from_millicelsius: slows_from(&folder),
                name: zone.name,
            })
        })
        .collect()
}

fn slows_from(zone: &Path) -> Option<i64> {
    let names = attr::entries(zone).into_iter();
    let numbers = names.filter_map(|name| {
        let number = name.strip_prefix("trip_point_")?.strip_suffix("_type")?;
        let kind = attr::text(&zone.join(&name))?;
        (kind == "passive").then(|| number.to_owned())
    });
    let limits = numbers
        .filter_map(|number| attr::number::<i64>(&zone.join(format!("trip_point_{number}_temp"))));
    limits.filter(|limit| *limit > 0).min()
}

/// Returns the cooling devices that are active. Fans are left out because they do not slow the
/// machine down.
fn cooling(roots: &Roots) -> Vec<CoolingDevice> {
    let devices = attr::numbered_entries(&roots.sys.join("class/thermal"), "cooling_device");
    devices
        .into_iter()
        .filter_map(|(_, device)| {
            Some(CoolingDevice {
                name: attr::text(&device.join("type"))?,
                // An unused cooling device may show -1.
                state: attr::number(&device.join("cur_state"))?,
            })
        })
        .filter(|device| device.state > 0 && !device.name.to_ascii_lowercase().contains("fan"))
        .collect()
}

/// Reads `/proc/swaps`; sizes are in units of 1024 bytes.
fn swaps(roots: &Roots) -> Vec<SwapArea> {
    let text = attr::whole(&roots.proc.join("swaps")).unwrap_or_default();
    let lines = text.lines().skip(1);
    lines
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [path, _kind, _size, used, ..] = fields[..] else {
                return None;
            };
            let path = unescaped(path);
            let storage = resolve(roots, Path::new(&path)).ok();
            let layers = storage.map(|storage| storage.layers).unwrap_or_default();
            Some(SwapArea {
                path,
                used_bytes: used.parse::<u64>().ok()?.checked_mul(1024)?,
                devices: layers.into_iter().map(|layer| layer.name).collect(),
            })
        })
        .collect()
}

/// Reads the writeback settings (Documentation/admin-guide/sysctl/vm.rst).
fn writeback(roots: &Roots) -> Writeback {
    let folder = roots.proc.join("sys/vm");
    let number = |name: &str| attr::number(&folder.join(name));
    Writeback {
        dirty_bytes: number("dirty_bytes"),
        dirty_ratio: number("dirty_ratio"),
        background_bytes: number("dirty_background_bytes"),
        background_ratio: number("dirty_background_ratio"),
        laptop_mode: number("laptop_mode"),
    }
}

fn clocksources(roots: &Roots) -> Vec<String> {
    let folder = roots.sys.join("devices/system/clocksource/clocksource0");
    let offered = attr::text(&folder.join("available_clocksource")).unwrap_or_default();
    offered.split_whitespace().map(str::to_owned).collect()
}

/// Returns the power saving of all devices on the way to the disks of the storage, and the policy
/// of PCIe.
fn power(roots: &Roots, storage: Option<&Storage>) -> Vec<PowerSaving> {
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
    use crate::fixture::{Machine, MadeUp};
    use crate::stack::View;
    use assay_model::checkup::Limits;

    #[test]
    fn a_machine_that_shows_nothing_has_nothing() {
        let machine = Machine::new();
        let checkup = take(&machine.roots, None);
        let expected = Checkup {
            system: checkup.system.clone(),
            ..Checkup::default()
        };
        assert_eq!(checkup, expected);
        assert_eq!(checkup.limits, Limits::default());
    }

    #[test]
    fn heat_and_what_is_done_against_it_are_read() {
        let machine = Machine::new();
        machine.files(
            "sys/class/thermal/thermal_zone0",
            &[
                ("type", "soc-thermal\n"),
                ("temp", "71000\n"),
                ("trip_point_0_type", "passive\n"),
                ("trip_point_0_temp", "75000\n"),
                ("trip_point_1_type", "critical\n"),
                ("trip_point_1_temp", "60000\n"),
                ("trip_point_2_type", "passive\n"),
                ("trip_point_2_temp", "70000\n"),
            ],
        );
        for (number, name, state) in [
            (0, "cpufreq-cpu0", "2"),
            (1, "pwm-fan", "3"),
            (2, "x", "-1"),
        ] {
            let folder = format!("sys/class/thermal/cooling_device{number}");
            machine.files(&folder, &[("type", name), ("cur_state", state)]);
        }
        let checkup = take(&machine.roots, None);
        assert_eq!(checkup.heat.len(), 1);
        assert_eq!(checkup.heat[0].slows_from_millicelsius, Some(70_000));
        let cooling: Vec<&str> = checkup.cooling.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(cooling, ["cpufreq-cpu0"], "neither the fan nor what is off");
    }

    #[test]
    fn processors_swap_and_writeback_are_read() {
        let machine = Machine::new();
        let cpu = "sys/devices/system/cpu/cpu1";
        machine.files(
            cpu,
            &[
                ("cpufreq/scaling_governor", "ondemand\n"),
                ("cpufreq/scaling_max_freq", "800000\n"),
                ("cpufreq/cpuinfo_max_freq", "1500000\n"),
                ("thermal_throttle/core_throttle_count", "3\n"),
            ],
        );
        machine.file(
            "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
            "4\n",
        );
        machine.file(
            "proc/swaps",
            "Filename Type Size Used Priority\n/swap\\040file file 2048 16 -2\n",
        );
        machine.file("proc/sys/vm/dirty_ratio", "20\n");
        let checkup = take(&machine.roots, None);
        assert_eq!(checkup.cpus.len(), 1);
        assert_eq!(checkup.cpus[0].limit_khz, Some(800_000));
        assert_eq!(checkup.throttle_events, Some(7));
        assert_eq!(checkup.swaps[0].path, "/swap file");
        assert_eq!(checkup.swaps[0].used_bytes, 16 * 1024);
        assert_eq!(checkup.writeback.dirty_ratio, Some(20));
        assert_eq!(checkup.writeback.dirty_bytes, None);
    }

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
