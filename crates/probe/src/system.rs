//! Description of the machine around the storage.

use crate::attr;
use crate::roots::Roots;
use crate::snapshot::memory;
use assay_model::system::System;
use assay_model::units::Bytes;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

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
}
