//! Detection of virtual machines.

use crate::attr;
use crate::roots::Roots;

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
pub(super) fn container(roots: &Roots) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

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
}
