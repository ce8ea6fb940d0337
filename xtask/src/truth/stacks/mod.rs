//! `cargo xtask stacks`: checks labels on stacks of devices, in a QEMU guest with Debian's
//! kernels.

mod list;
pub mod lowest;
mod media;

use super::jobs::{JOBS, Neighbour, On};
use super::trace::Tracer;
use super::{Bench, TruthCell, built, random};
use crate::board::initramfs::pack;
use crate::board::program;
use crate::packages::{self, Packages, launcher, unpack};
use crate::run::{build_folder, run};
use anyhow::{Context, Result, bail};
use assay_testkit::Scratch;
use list::STACKS;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Version of the prepared files. Raise it with every change to them.
const RECIPE: &str = "1";
const FOLDER: &str = "stacks";
const QEMU: &str = "qemu-system-x86_64";
/// Arguments that select the guest's side of the command.
const INSIDE: &str = "--inside";
const MEDIA_INSIDE: &str = "--media-inside";

/// Kernels, each with the package that depends on its newest version.
const KERNELS: [(&str, &str); 2] = [
    ("6.1", "linux-image-amd64"),
    ("6.12", "linux-image-amd64/bookworm-backports"),
];
const PACKAGES: &str = "bcache-tools btrfs-progs busybox-static dmsetup e2fsprogs f2fs-tools fdisk \
                        kmod lvm2 mdadm mount nbd-client nbd-server thin-provisioning-tools \
                        util-linux xfsprogs";
/// Folders of kernel modules that storage needs.
const MODULES: &str = "arch block crypto drivers/ata drivers/block drivers/dax drivers/md \
                       drivers/nvme drivers/scsi drivers/virtio fs lib mm";
const DISK_MIB: u64 = 320;

const INIT: &str = "#!/bin/busybox sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
/bin/busybox mkdir -p /proc /sys /dev /tmp /mnt /below /run /var/lock /usr/sbin
/bin/busybox --install -s 2>/dev/null
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
exec >/dev/ttyS0 2>&1
echo 1 > /proc/sys/kernel/printk
ifconfig lo up
modprobe scsi_mod scan=manual
for module in virtio_pci virtio_blk virtio_scsi sd_mod ext4 btrfs f2fs xfs bcache raid0 raid1 \\
    dm_mod dm_multipath dm_service_time dm_round_robin dm_integrity nbd zram; do
    modprobe $module
done
# One disk and one controller after the other, as their names follow the order of probing: sda and
# sdb are the same disk, and the drive with two controllers is nvme0n1.
for id in 0 1 2 -; do
    echo - $id - > /sys/class/scsi_host/host0/scan
    sleep 2
done
echo 0 > /sys/bus/pci/drivers_autoprobe
modprobe nvme
for class in $(grep -l 0x010802 /sys/bus/pci/devices/*/class); do
    basename ${class%/class} > /sys/bus/pci/drivers/nvme/bind
    sleep 2
done
for second in $(seq 30); do
    sleep 1
    [ -b /dev/sdc ] && [ -b /dev/nvme0n1 ] && [ $(ls /dev/nvme?n1 | wc -l) -ge 2 ] && break
done
/xtask stacks $(sed 's/.* task=//; s/ .*//' /proc/cmdline) \\
    \"$(sed 's/.* only=//; s/%20/ /g' /proc/cmdline)\"
poweroff -f
";

/// Measures on all stacks and kernels, or on selected ones. Returns an error if a label is
/// wrong.
pub fn check(arguments: &[&str]) -> Result<()> {
    let (mut only, mut kernel, mut assay, mut task) = (String::new(), None, None, INSIDE);
    for pair in arguments.chunks(2) {
        match pair {
            [INSIDE, only] => return inside(only),
            [MEDIA_INSIDE, only] => return media::inside(only),
            ["--media", "yes"] => task = MEDIA_INSIDE,
            ["--only", text] => only = text.replace(' ', "%20"),
            ["--kernel", name] => kernel = Some(*name),
            ["--assay", path] => assay = Some(PathBuf::from(path)),
            _ => bail!(
                "stacks has the options --kernel, --only and --assay, with a value, and --media yes"
            ),
        }
    }
    packages::prepare(FOLDER, RECIPE, prepare).context("cannot prepare the guest")?;
    let folder = build_folder()?.join(FOLDER);
    let assay = assay.map_or_else(built, Ok)?;
    let scratch = Scratch::new()?;
    let programs = programs(&folder, &scratch, &assay)?;
    let all = KERNELS.iter().map(|(name, _)| *name);
    for name in all.filter(|name| kernel.is_none_or(|it| it == *name)) {
        boot(&folder, &scratch, &programs, name, task, &only)?;
    }
    Ok(())
}

/// Measures on the stacks whose name contains `only`; called in the guest.
fn inside(only: &str) -> Result<()> {
    let scratch = Scratch::new()?;
    let bench = Bench {
        tracer: Tracer::new(&scratch.join("tracing"))?,
        program: PathBuf::from("/assay"),
        contents: random()?,
        keep: None,
        scratch,
    };
    let mut cells = Vec::new();
    for topology in STACKS.iter().filter(|stack| stack.name.contains(only)) {
        let has_files = !topology.name.ends_with("(device)");
        let jobs = JOBS.iter().filter(|job| job.neighbour == Neighbour::None);
        let jobs = jobs.filter(|job| job.on == On::All || (has_files && job.on == On::Files));
        cells.extend(jobs.map(|job| TruthCell {
            topology,
            job,
            engine: "psync",
        }));
    }
    let table = bench.measure(&cells, None);
    println!("{}", table.markdown());
    table.print();
    table.verdict(None)
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn prepare(folder: &Path) -> Result<()> {
    let work = folder.join("work");
    let packages = Packages::update(&work.join("apt"))?;
    let host = folder.join("host");
    for package in packages.to_run(&["qemu-system-x86", "kmod", "cpio"])? {
        unpack(&package, &host)?;
    }
    let data = "-L \"$here/usr/share/qemu\" -L \"$here/usr/share/seabios\"";
    launcher(folder, &host, &format!("usr/bin/{QEMU}"), data)?;
    let root = work.join("root");
    for package in packages.all_of("amd64", &words(PACKAGES))? {
        unpack(&package, &root)?;
    }
    for part in ["usr/share", "usr/lib/udev", "lib/udev", "var"] {
        let _ = fs::remove_dir_all(root.join(part));
    }
    pack(&root, &host, &folder.join("root.gz"))?;
    for (name, meta) in KERNELS {
        let image = packages.kernel_of(meta)?;
        let version = image.trim_start_matches("linux-image-");
        let (kernel, modules) = (work.join(name), work.join(format!("modules-{name}")));
        unpack(&packages.download_of("amd64", &image)?, &kernel)?;
        fs::copy(
            kernel.join(format!("boot/vmlinuz-{version}")),
            folder.join(format!("vmlinuz-{name}")),
        )?;
        let from = kernel.join("lib/modules").join(version);
        let to = modules.join("lib/modules").join(version);
        fs::create_dir_all(&to)?;
        let mut copy = Command::new("cp");
        copy.args(["--recursive", "--parents"]).current_dir(&from);
        copy.args(words(MODULES).iter().map(|part| format!("kernel/{part}")));
        run(copy.args(["modules.builtin", "modules.order"]).arg(&to))?;
        let depmod = program(&host, &["bin/kmod", "usr/bin/kmod"]);
        let mut depmod = Command::new(depmod);
        depmod.arg0("depmod").arg("--basedir").arg(&modules);
        run(depmod.arg(version))?;
        pack(&modules, &host, &folder.join(format!("modules-{name}.gz")))?;
    }
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// Packs the part of the image that each run makes anew: assay, this program, and their start
/// script.
fn programs(folder: &Path, scratch: &Scratch, assay: &Path) -> Result<PathBuf> {
    let root = scratch.join("programs");
    fs::create_dir(&root)?;
    for (from, name) in [(assay, "assay"), (&std::env::current_exe()?, "xtask")] {
        let to = root.join(name);
        run(Command::new("strip").arg("-o").args([to.as_path(), from]))?;
    }
    fs::write(root.join("init"), INIT)?;
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755))?;
    let image = scratch.join("programs.gz");
    pack(&root, &folder.join("host"), &image)?;
    Ok(image)
}

/// Starts the guest and prints its output.
fn boot(
    folder: &Path,
    scratch: &Scratch,
    programs: &Path,
    kernel: &str,
    task: &str,
    only: &str,
) -> Result<()> {
    let image = scratch.join("initrd");
    let mut all = File::create(&image)?;
    let modules = folder.join(format!("modules-{kernel}.gz"));
    for part in [&folder.join("root.gz"), &modules, programs] {
        std::io::copy(&mut File::open(part)?, &mut all)?;
    }
    for disk in ["b", "c", "p", "s", "n", "o"] {
        File::create(scratch.join(disk))?.set_len(DISK_MIB << 20)?;
    }
    let disk = |id: &str, file: &str, device: &str| {
        let file = scratch.join(file);
        let drive = format!(
            "if=none,id={id},format=raw,file.locking=off,file={}",
            file.display()
        );
        format!("-drive {drive} -device {device},drive={id}")
    };
    let path = "scsi-hd,serial=p,wwn=0x5000c50012345678,scsi-id";
    let machine = [
        "-accel tcg -m 2048 -nodefaults -no-user-config -display none -no-reboot -serial stdio",
        "-device virtio-scsi-pci -device nvme-subsys,id=two",
        "-device nvme,id=first,serial=two,subsys=two -device nvme,serial=two,subsys=two",
        &disk("b", "b", "virtio-blk-pci"),
        &disk("c", "c", "virtio-blk-pci"),
        &disk("p", "p", &format!("{path}=0")),
        &disk("q", "p", &format!("{path}=1")),
        &disk("s", "s", "scsi-hd,serial=s,scsi-id=2"),
        &disk("n", "n", "nvme-ns,bus=first,shared=on,nsid=1"),
        &disk("o", "o", "nvme,serial=plain"),
    ];
    let mut qemu = Command::new(folder.join(QEMU));
    qemu.args(words(&machine.join(" ")))
        .arg("-initrd")
        .arg(&image);
    if task == MEDIA_INSIDE {
        qemu.args(words(&media::machine(scratch.path())?));
    }
    let kernel_line = format!("console=ttyS0 quiet panic=-1 task={task} only={only}");
    let image = folder.join(format!("vmlinuz-{kernel}"));
    qemu.arg("-kernel")
        .arg(image)
        .args(["-append", &kernel_line]);
    qemu.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut guest = qemu.spawn().context("cannot start QEMU")?;
    let lines = BufReader::new(guest.stdout.take().context("the guest has no console")?).lines();
    let (mut done, mut failed) = (false, false);
    for line in lines.map_while(Result::ok) {
        println!("{kernel}: {}", line.trim_end());
        done |= line.starts_with("truth: ") || line.starts_with("media: ");
        failed |= line.starts_with("xtask: ");
    }
    guest.wait()?;
    if failed || !done {
        bail!("the guest with Linux {kernel} failed");
    }
    Ok(())
}
