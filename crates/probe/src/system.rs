//! Description of the machine around the storage: its hypervisor and container, limits of control
//! groups, and kernel information about main memory (caches, nodes, huge pages, free memory, and
//! physical locations of this process's pages).

use crate::attr;
use crate::device::Device;
use crate::roots::Roots;
use crate::snapshot::memory;
use assay_model::act::memory::{Cache, Machine};
use assay_model::checkup::Limits;
use assay_model::storage::{Storage, System};
use assay_model::units::Bytes;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
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
pub(crate) fn container(roots: &Roots) -> Option<String> {
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
pub(crate) fn limits(roots: &Roots) -> Limits {
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
fn memory_room(roots: &Roots) -> Option<u64> {
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

/// Bytes of an entry of `/proc/self/pagemap`.
const PAGEMAP_ENTRY: usize = 8;
/// Fields of a pagemap entry: the bit of a present page, and the mask of its frame number
/// (Documentation/admin-guide/mm/pagemap.rst).
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// Describes the memory of this machine, for a process that may run on these CPUs.
pub fn describe_memory(roots: &Roots, cpus: Vec<u32>) -> Machine {
    let counters = memory(roots);
    let huge = roots.sys.join("kernel/mm/transparent_hugepage");
    Machine {
        caches: caches(roots, &cpus),
        nodes: memory_nodes(roots),
        huge_pages: attr::text(&huge.join("enabled"))
            .and_then(|text| Some(attr::bracketed(&text)?.to_owned())),
        huge_page_bytes: attr::number(&huge.join("hpage_pmd_size")),
        total_bytes: counters.map(|counters| counters.total_bytes),
        available_bytes: counters.and_then(|counters| counters.available_bytes),
        group_bytes: memory_room(roots),
        throttled: throttled(roots),
        running: running(roots),
        hypervisor: hypervisor(roots),
        cpus,
    }
}

/// Returns the data and unified caches of the first CPU, with their number over all CPUs
/// (Documentation/ABI/testing/sysfs-devices-system-cpu).
fn caches(roots: &Roots, cpus: &[u32]) -> Vec<Cache> {
    let of_cpu = |cpu: u32| roots.sys.join(format!("devices/system/cpu/cpu{cpu}/cache"));
    let Some(&first) = cpus.first() else {
        return Vec::new();
    };
    let mut caches: Vec<Cache> = Vec::new();
    for name in attr::entries(&of_cpu(first)) {
        let Some(cache) = cache(&of_cpu(first).join(&name)) else {
            continue;
        };
        // A cache is identified by the CPUs that share it.
        let shares = |&cpu: &u32| attr::text(&of_cpu(cpu).join(&name).join("shared_cpu_list"));
        let different: BTreeSet<String> = cpus.iter().filter_map(shares).collect();
        let count = u32::try_from(different.len()).unwrap_or(u32::MAX).max(1);
        caches.push(Cache { count, ..cache });
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(folder: &Path) -> Option<Cache> {
    if attr::text(&folder.join("type"))? == "Instruction" {
        return None;
    }
    let size = attr::text(&folder.join("size"))?;
    let (number, unit) = match size.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (size.strip_suffix('M')?, 1 << 20),
    };
    Some(Cache {
        level: attr::number(&folder.join("level"))?,
        bytes: number.parse::<u64>().ok()?.checked_mul(unit)?,
        count: 1,
        line_bytes: attr::number(&folder.join("coherency_line_size")),
    })
}

fn memory_nodes(roots: &Roots) -> Option<u32> {
    let nodes = attr::numbered_entries(&roots.sys.join("devices/system/node"), "node");
    u32::try_from(nodes.len()).ok().filter(|nodes| *nodes > 0)
}

/// Returns the processes that run or wait for a CPU (`/proc/loadavg`: `0.5 0.6 0.7 2/345 6789`).
fn running(roots: &Roots) -> Option<u32> {
    let text = attr::text(&roots.proc.join("loadavg"))?;
    let (running, _) = text.split_whitespace().nth(3)?.split_once('/')?;
    running.parse().ok()
}

/// Returns the bytes of this process between two addresses that are in huge pages
/// (`/proc/self/smaps`); `None` when the kernel does not report them.
pub fn huge_bytes(roots: &Roots, from: u64, to: u64) -> Option<u64> {
    let text = attr::whole(&roots.proc.join("self/smaps")).ok()?;
    let (mut bytes, mut within) = (None, false);
    for line in text.lines() {
        if let Some((start, end)) = mapping_range(line) {
            within = start < to && end > from;
        } else if let (true, Some(rest)) = (within, line.strip_prefix("AnonHugePages:")) {
            let kibibytes: u64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
            bytes = Some(bytes.unwrap_or(0) + 1024 * kibibytes);
        }
    }
    // The mapping may extend beyond the range.
    bytes.map(|bytes: u64| bytes.min(to.saturating_sub(from)))
}

/// Parses the addresses of a mapping: `7f00a000-7f00b000 rw-p ...`.
fn mapping_range(line: &str) -> Option<(u64, u64)> {
    let (range, _) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some((hex(start)?, hex(end)?))
}

/// Returns the physical address of an address of this process. The kernel shows it to root only;
/// other users read 0.
pub fn physical_address(roots: &Roots, address: u64) -> Option<u64> {
    let page = rustix::param::page_size() as u64;
    let map = File::open(roots.proc.join("self/pagemap")).ok()?;
    let mut entry = [0; PAGEMAP_ENTRY];
    map.read_exact_at(&mut entry, address / page * PAGEMAP_ENTRY as u64)
        .ok()?;
    let entry = u64::from_ne_bytes(entry);
    let frame = entry & FRAME;
    (entry & PRESENT != 0 && frame != 0).then(|| frame * page + address % page)
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

    #[test]
    fn caches_are_counted_by_who_shares_them() {
        let files = Machine::new();
        for cpu in 0..4 {
            let cache = |index: u32, level: u32, kind: &str, size: &str, shared: &str| {
                let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
                files.file(&format!("{folder}/level"), &format!("{level}\n"));
                files.file(&format!("{folder}/type"), &format!("{kind}\n"));
                files.file(&format!("{folder}/size"), &format!("{size}\n"));
                files.file(&format!("{folder}/coherency_line_size"), "64\n");
                files.file(&format!("{folder}/shared_cpu_list"), &format!("{shared}\n"));
            };
            cache(0, 1, "Data", "32K", &cpu.to_string());
            cache(1, 1, "Instruction", "32K", &cpu.to_string());
            cache(2, 2, "Unified", "1M", if cpu < 2 { "0-1" } else { "2-3" });
        }
        let machine = describe_memory(&files.roots, vec![0, 1, 2, 3]);
        let found: Vec<_> = machine
            .caches
            .iter()
            .map(|cache| (cache.level, cache.bytes, cache.count))
            .collect();
        assert_eq!(found, [(1, 32 << 10, 4), (2, 1 << 20, 2)]);
        assert_eq!(machine.last_level_bytes(), Some(2 << 20));
    }

    #[test]
    fn huge_pages_are_counted_in_the_mappings_asked_for() {
        let files = Machine::new();
        files.file(
            "proc/self/smaps",
            "1000-2000 rw-p 00000000 00:00 0 \nSize: 4 kB\nAnonHugePages:      2 kB\n\
             200000-a00000 rw-p 00000000 00:00 0 \nAnonHugePages:   4096 kB\n",
        );
        assert_eq!(
            huge_bytes(&files.roots, 0x40_0000, 0xa0_0000),
            Some(4 << 20)
        );
        assert_eq!(huge_bytes(&files.roots, 0xb0_0000, 0xc0_0000), None);
    }

    #[test]
    fn a_kernel_that_tells_nothing_leaves_all_unknown() {
        let files = Machine::new();
        let nothing = assay_model::act::memory::Machine::default();
        assert_eq!(describe_memory(&files.roots, Vec::new()), nothing);
        assert_eq!(physical_address(&files.roots, 4096), None);
    }

    #[test]
    fn the_policy_of_huge_pages_is_the_word_in_brackets() {
        let bracketed = attr::bracketed;
        assert_eq!(bracketed("always [madvise] never"), Some("madvise"));
        assert_eq!(bracketed("always"), None);
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
