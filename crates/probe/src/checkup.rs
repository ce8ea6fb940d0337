//! Raw state of the machine, read before a measurement.

use crate::attr;
use crate::counters::queues;
use crate::devices::Device;
use crate::files::unescaped;
use crate::roots::Roots;
use crate::snapshot::{ZONE, memory, zone};
use crate::stack::resolve;
use crate::system::{system, throttled};
use assay_model::checkup::{
    Checkup, CoolingDevice, CpuSpeed, HeatZone, Limits, PowerKind, PowerSaving, SwapArea, Writeback,
};
use assay_model::storage::Storage;
use std::path::{Path, PathBuf};

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

/// Names in the firmware tables (`/sys/class/dmi/id`) of virtual machines, each with its
/// hypervisor. The list comes from systemd-detect-virt.
const FIRMWARE: [(&str, &str); 12] = [
    ("KVM", "KVM"),
    ("OpenStack", "KVM"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("QEMU", "QEMU"),
    ("VMware", "VMware"),
    ("VMW", "VMware"),
    ("innotek GmbH", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Xen", "Xen"),
    ("Parallels", "Parallels"),
    ("Virtual Machine", "Hyper-V"),
];

/// Returns the hypervisor; `None` on hardware, or if it cannot be determined.
pub(crate) fn hypervisor(roots: &Roots) -> Option<String> {
    let dmi = |name: &str| attr::text(&roots.sys.join("class/dmi/id").join(name));
    let names = [dmi("product_name"), dmi("sys_vendor"), dmi("bios_vendor")];
    let product = names[0].clone().unwrap_or_default();
    let known = names.iter().flatten().find_map(|name| {
        let mut known = FIRMWARE.iter();
        known.find(|(start, _)| name.starts_with(start))
    });
    // Amazon's machines without a hypervisor have a product name that ends in `.metal`.
    let known = known.filter(|_| !product.ends_with(".metal"));
    known
        .map(|(_, name)| (*name).to_owned())
        .or_else(|| by_device_tree(roots))
        .or_else(|| attr::text(&roots.sys.join("hypervisor/type")))
        .or_else(|| by_processor(roots))
}

/// Reads the device tree, which names the hypervisor or the machine that QEMU emulates.
fn by_device_tree(roots: &Roots) -> Option<String> {
    let tree = roots.sys.join("firmware/devicetree/base");
    let named = attr::text(&tree.join("hypervisor/compatible"));
    let compatible = attr::text(&tree.join("compatible")).unwrap_or_default();
    let made_up = || {
        compatible
            .contains("linux,dummy-virt")
            .then(|| "QEMU".to_owned())
    };
    named.or_else(made_up)
}

/// Detects a hypervisor by the processor's flags; x86 processors do not report its name.
fn by_processor(roots: &Roots) -> Option<String> {
    let text = attr::text(&roots.proc.join("cpuinfo"))?;
    let mut flags = attr::value_after(&text, "flags")?.split_whitespace();
    let found = flags.any(|flag| flag == "hypervisor");
    found.then(|| "unknown".to_owned())
}

/// Returns the container around this process; `None` if none is detected.
fn container(roots: &Roots) -> Option<String> {
    let root = &roots.root;
    // systemd's interface for containers, then the marker files of Podman and Docker.
    attr::text(&root.join("run/systemd/container"))
        .or_else(|| {
            root.join("run/.containerenv")
                .exists()
                .then(|| "podman".to_owned())
        })
        .or_else(|| {
            root.join(".dockerenv")
                .exists()
                .then(|| "docker".to_owned())
        })
}

/// Smallest value read as "no limit". Version 1 shows the largest number of whole pages if there is
/// no limit.
const NO_LIMIT: u64 = 1 << 62;

/// Returns the tightest limits of this process's control group and its ancestors: version 2
/// (Documentation/admin-guide/cgroup-v2.rst), and the memory controller of version 1.
fn limits(roots: &Roots) -> Limits {
    let mounted = roots.sys.join("fs/cgroup");
    let mut found = Limits::default();
    for (controllers, path) in own_groups(roots) {
        match controllers.as_str() {
            "" => unified(&mounted, &path, &mut found),
            "memory" => {
                let folders = upward(&mounted.join("memory"), &path);
                let limits = folders
                    .iter()
                    .filter_map(|folder| attr::number(&folder.join("memory.limit_in_bytes")));
                found.memory_bytes = tightest(limits.filter(|limit| *limit < NO_LIMIT));
            }
            _ => {}
        }
    }
    found
}

/// Returns the memory that this process's group and its ancestors may still allocate. Inactive
/// cached pages count as free, because the kernel reclaims them first.
pub(crate) fn memory_room(roots: &Roots) -> Option<u64> {
    let mounted = roots.sys.join("fs/cgroup");
    let rooms = own_groups(roots)
        .into_iter()
        .flat_map(|(controllers, path)| {
            let (folders, [limit, usage, cached]) = match controllers.as_str() {
                "" => (
                    upward(&mounted, &path),
                    ["memory.max", "memory.current", "inactive_file "],
                ),
                "memory" => (
                    upward(&mounted.join("memory"), &path),
                    [
                        "memory.limit_in_bytes",
                        "memory.usage_in_bytes",
                        "total_inactive_file ",
                    ],
                ),
                _ => return Vec::new(),
            };
            let room = |folder: &PathBuf| {
                let limit: u64 = attr::number(&folder.join(limit))?;
                let usage: u64 = attr::number(&folder.join(usage))?;
                let stat = attr::whole(&folder.join("memory.stat")).unwrap_or_default();
                let cached = attr::value_after(&stat, cached).and_then(|bytes| bytes.parse().ok());
                let used = usage.saturating_sub(cached.unwrap_or(0));
                (limit < NO_LIMIT).then(|| limit.saturating_sub(used))
            };
            folders.iter().filter_map(room).collect()
        });
    rooms.min()
}

/// Returns controllers and path of each group of this process: `0::/path` of version 2,
/// `4:memory:/path` of version 1.
fn own_groups(roots: &Roots) -> Vec<(String, String)> {
    let groups = attr::whole(&roots.proc.join("self/cgroup")).unwrap_or_default();
    let split = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
    };
    groups.lines().filter_map(split).collect()
}

fn unified(mounted: &Path, path: &str, found: &mut Limits) {
    let folders = upward(mounted, path);
    let limits = folders
        .iter()
        .filter_map(|folder| attr::number(&folder.join("memory.max")));
    found.memory_bytes = tightest(limits);
    let cpus = folders.iter().filter_map(|folder| cpu_quota(folder));
    found.cpus = cpus.reduce(f64::min);
    let io = folders
        .iter()
        .filter_map(|folder| attr::text(&folder.join("io.max")));
    found.io = io
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
}

fn tightest(limits: impl Iterator<Item = u64>) -> Option<u64> {
    limits.min()
}

/// Reads `cpu.max`: `max 100000`, or a share of the time such as `50000 100000`.
fn cpu_quota(folder: &Path) -> Option<f64> {
    let text = attr::text(&folder.join("cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then(|| quota / period)
}

/// Returns the folder of a group and its ancestors. The path of a group outside the visible
/// hierarchy begins with `/..`.
fn upward(mounted: &Path, path: &str) -> Vec<PathBuf> {
    let inside = Path::new(path.trim_start_matches('/'));
    let escapes = path.contains("..");
    let inside = if escapes { Path::new("") } else { inside };
    let ancestors = inside.ancestors();
    ancestors.map(|part| mounted.join(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Machine, MadeUp};
    use crate::stack::View;

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

    #[test]
    fn firmware_tells_what_emulates_the_machine() {
        for (vendor, product, name) in [
            ("QEMU", "Standard PC (Q35 + ICH9, 2009)", Some("QEMU")),
            ("Microsoft Corporation", "Virtual Machine", Some("Hyper-V")),
            ("Microsoft Corporation", "Surface Pro", None),
            ("Amazon EC2", "c5.metal", None),
            ("Amazon EC2", "c5.large", Some("Amazon EC2")),
            ("Dell Inc.", "XPS 13", None),
        ] {
            let machine = Machine::new();
            let files = [("sys_vendor", vendor), ("product_name", product)];
            machine.files("sys/class/dmi/id", &files);
            assert_eq!(hypervisor(&machine.roots).as_deref(), name, "{product}");
        }
    }

    #[test]
    fn a_device_tree_and_a_processor_tell_it_too() {
        let machine = Machine::new();
        let tree = "sys/firmware/devicetree/base";
        machine.file(&format!("{tree}/compatible"), "linux,dummy-virt\0");
        assert_eq!(hypervisor(&machine.roots).as_deref(), Some("QEMU"));
        machine.file(
            &format!("{tree}/hypervisor/compatible"),
            "xen,xen-4.17\0xen,xen\0",
        );
        assert!(hypervisor(&machine.roots).is_some_and(|name| name.starts_with("xen")));
        let machine = Machine::new();
        machine.file("proc/cpuinfo", "flags\t\t: fpu hypervisor lm\n");
        assert_eq!(hypervisor(&machine.roots).as_deref(), Some("unknown"));
    }

    #[test]
    fn containers_leave_their_marks() {
        let machine = Machine::new();
        assert_eq!(container(&machine.roots), None);
        machine.file(".dockerenv", "");
        assert_eq!(container(&machine.roots).as_deref(), Some("docker"));
        machine.file("run/systemd/container", "lxc\n");
        assert_eq!(container(&machine.roots).as_deref(), Some("lxc"));
    }

    #[test]
    fn the_tightest_limit_of_all_groups_counts() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "0::/a.slice/b.scope\n");
        let files = [
            ("a.slice/b.scope/memory.max", "max\n"),
            ("a.slice/memory.max", "1073741824\n"),
            ("a.slice/b.scope/cpu.max", "50000 100000\n"),
            ("a.slice/cpu.max", "max 100000\n"),
            (
                "a.slice/io.max",
                "8:0 rbps=1048576 wbps=max riops=max wiops=max\n",
            ),
        ];
        machine.files("sys/fs/cgroup", &files);
        let found = limits(&machine.roots);
        assert_eq!(found.memory_bytes, Some(1 << 30));
        assert_eq!(found.cpus, Some(0.5));
        assert_eq!(found.io.len(), 1);
    }

    #[test]
    fn version_1_shows_no_limit_as_a_huge_one() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n");
        let file = "sys/fs/cgroup/memory/x/memory.limit_in_bytes";
        machine.file(file, "9223372036854771712\n");
        assert_eq!(limits(&machine.roots).memory_bytes, None);
        machine.file(file, "536870912\n");
        assert_eq!(limits(&machine.roots).memory_bytes, Some(512 << 20));
    }

    #[test]
    fn the_narrowest_group_leaves_the_least_room() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "0::/a/b\n");
        let files = [
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "5\n"),
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "300\n"),
            ("a/memory.stat", "anon 5\ninactive_file 100\n"),
        ];
        machine.files("sys/fs/cgroup", &files);
        assert_eq!(memory_room(&machine.roots), Some(800));
    }

    #[test]
    fn version_1_leaves_room_in_other_words() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "7:memory:/x\n");
        let files = [
            ("x/memory.limit_in_bytes", "900\n"),
            ("x/memory.usage_in_bytes", "100\n"),
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory.usage_in_bytes", "100\n"),
        ];
        machine.files("sys/fs/cgroup/memory", &files);
        assert_eq!(memory_room(&machine.roots), Some(800));
    }

    #[test]
    fn a_group_outside_of_what_is_seen_is_not_followed() {
        let machine = Machine::new();
        machine.file("proc/self/cgroup", "0::/../../other\n");
        machine.file("sys/fs/cgroup/memory.max", "4096\n");
        assert_eq!(limits(&machine.roots).memory_bytes, Some(4096));
    }
}
