//! `cargo xtask stacks`: checks labels on stacks of devices, in a QEMU guest with Debian's
//! kernels.
//!
//! Its disks: vda and vdb (virtio), sda and sdb (two paths to one SCSI disk), sdc (another one),
//! nvme0n1 (an NVMe drive with two controllers) and `$NVME` (one with one controller). All have
//! volatile caches.

mod media;

use super::labels::{Truth, by_share};
use super::topology::{Made, Storage, Topology};
use super::trace::{MeasuredPhase, Micros, Operation, OperationKind, SyscallEvent, Tracer, What};
use super::{Bench, Claim, Direction, JOBS, Neighbour, On, TruthCell, built, random};
use crate::board::{pack, program};
use crate::packages;
use crate::packages::{Packages, launcher, unpack};
use crate::run::{build_folder, run};
use anyhow::{Context, Result, bail};
use assay_testkit::{Scratch, Undo};
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Makes the table: name, whether it is opaque, the device if there is no file system, script.
macro_rules! stacks {
    ($($name:literal $opaque:ident $device:expr, $script:literal)*) => {
        &[$(Topology {
            name: $name,
            make: || stack($opaque, $device, $script),
        }),*]
    };
}

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

/// Script that finds the NVMe drive with one controller.
const FIND_NVME: &str = "
NVME=$(cd /sys/block; for disk in nvme?n1; do grep -q plain $disk/device/serial && echo /dev/$disk; done)
";

/// Script that removes the present stack.
const TAKE_DOWN: &str = "
cd /
umount /mnt /below 2>/dev/null
for name in $(cd /sys/block; echo bcache*); do echo 1 > /sys/block/$name/bcache/stop; done 2>/dev/null
nbd-client -d /dev/nbd0 >/dev/null 2>&1
kill $(cat /tmp/nbd.pid 2>/dev/null) 2>/dev/null
sleep 1
for set in /sys/fs/bcache/*/stop; do echo 1 > $set; done 2>/dev/null
vgchange -qq -an g 2>/dev/null
dmsetup remove_all --force >/dev/null 2>&1
mdadm -q --stop /dev/md0 2>/dev/null
umount /below 2>/dev/null
sleep 1
for disk in vda vdb sda sdc nvme0n1 ${NVME#/dev/}; do
    [ -b /dev/$disk ] || continue
    echo 'write back' > /sys/block/$disk/queue/write_cache
    for seek in 0 304; do dd if=/dev/zero of=/dev/$disk bs=1M count=16 seek=$seek conv=fsync; done
    blockdev --rereadpt /dev/$disk
done 2>/dev/null
rm -rf /dev/g /etc/lvm/devices /etc/lvm/lvm.conf
true";

const HELPERS: &str = "
export DM_DISABLE_UDEV=1
sectors() { blockdev --getsz $1; }
ext4() { mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 $1 && mount $1 /mnt; }
halves() { printf '1M,100M\\n,100M\\n' | sfdisk -q $1; }
crypt() { dmsetup create $1 --table \"0 $(sectors $2) crypt aes-xts-plain64 $(printf 'ab%.0s' $(seq 32)) 0 $2 0\"; }
multipath() { dmsetup create m --table \"0 $(sectors /dev/sda) multipath 0 0 1 1 service-time 0 2 2 /dev/sda 1 1 /dev/sdb 1 1\"; }
group() { pvcreate -qq -ff -y \"$@\" && vgcreate -qq g \"$@\"; }
volume() { lvcreate -qq -y \"$@\"; }
set -e
";

/// Runs a script that mounts a stack on `/mnt`, or makes the device that is measured. An opaque
/// stack generates or keeps data without a counter.
fn stack(is_opaque: bool, device: Option<&str>, script: &str) -> Made {
    let take_down = [FIND_NVME, TAKE_DOWN].concat();
    assay_testkit::run(&["sh", "-c", &take_down])?;
    assay_testkit::run(&["sh", "-c", &[FIND_NVME, HELPERS, script].concat()])?;
    Ok(Storage::of_stack(
        device,
        is_opaque,
        Undo::by(&["sh", "-c", &take_down]),
    ))
}

const STACKS: &[Topology] = stacks! {
    "ext4" false None, "ext4 /dev/vda"
    "crypt" false None, "crypt x /dev/vda; ext4 /dev/mapper/x"
    "group on two partitions" false None, "halves /dev/vda; group /dev/vda1 /dev/vda2; volume -l 100%FREE -n v g; ext4 /dev/g/v"
    "thin volume" false None, "group /dev/vda; volume -T -L 200M -V 400M -n v g/p; ext4 /dev/g/v"
    "fresh thin volume (device)" true Some("/dev/g/v"), "group /dev/vda; volume -T -L 200M -V 400M -n v g/p"
    "snapshot" false None, "group /dev/vda; volume -L 100M -n o g; volume -s -L 100M -n v g/o; ext4 /dev/g/v"
    "volume with a snapshot" false None, "group /dev/vda; volume -L 100M -n v g; ext4 /dev/g/v; volume -s -L 100M -n s g/v"
    "cache" false None, "group /dev/vda /dev/vdb; volume -L 200M -n v g /dev/vda; volume --type cache-pool -L 100M -n c g /dev/vdb; lvconvert -qq -y --type cache --cachepool g/c g/v; ext4 /dev/g/v"
    "cache on one disk" false None, "group /dev/vda; volume -L 120M -n v g; volume --type cache-pool --cachemode writeback -L 60M -n c g; lvconvert -qq -y --type cache --cachepool g/c g/v; ext4 /dev/g/v"
    "RAID1 volume" false None, "group /dev/vda /dev/vdb; volume --type raid1 --nosync -m 1 -L 200M -n v g; ext4 /dev/g/v"
    "md on two partitions" false None, "halves /dev/vda; mdadm -q -C /dev/md0 -R -l 0 -n 2 /dev/vda1 /dev/vda2; ext4 /dev/md0"
    "md RAID1" false None, "mdadm -q -C /dev/md0 -R --assume-clean -l 1 -n 2 /dev/vda /dev/vdb; ext4 /dev/md0"
    "dm-multipath" false None, "multipath; ext4 /dev/mapper/m"
    "NVMe multipath" false None, "ext4 /dev/nvme0n1"
    "NVMe multipath, partition" false None, "halves /dev/nvme0n1; ext4 /dev/nvme0n1p1"
    "NVMe" false None, "ext4 $NVME"
    "integrity" true None, "integrity() { dmsetup create x --table \"0 $1 integrity /dev/vda 0 4 J 1 internal_hash:crc32c\"; }; integrity 1; dmsetup remove x; integrity 100000; dd if=/dev/zero of=/dev/mapper/x bs=1M count=48 conv=fsync; ext4 /dev/mapper/x"
    "flakey that drops writes (device)" true Some("/dev/mapper/x"), "dmsetup create x --table \"0 $(sectors /dev/vda) flakey /dev/vda 0 0 9999 1 drop_writes\""
    "zero (device)" true Some("/dev/mapper/x"), "dmsetup create x --table '0 400000 zero'"
    "delay" false None, "dmsetup create x --table \"0 $(sectors /dev/vda) delay /dev/vda 0 2\"; ext4 /dev/mapper/x"
    "write through by hand, virtio" false None, "ext4 /dev/vda; echo write through > /sys/block/vda/queue/write_cache"
    "write through by hand, SCSI" false None, "ext4 /dev/sdc; echo write through > /sys/block/sdc/queue/write_cache"
    "write through by hand, NVMe" false None, "ext4 $NVME; echo write through > /sys/block/${NVME#/dev/}/queue/write_cache"
    "RAID0 with a RAM disk" false None, "modprobe brd rd_nr=1 rd_size=200000; mdadm -q -C /dev/md0 -R -l 0 -n 2 /dev/vda /dev/ram0; blockdev --setra 256 /dev/md0; ext4 /dev/md0"
    "RAID1 with a RAM disk" false None, "modprobe brd rd_nr=1 rd_size=200000; mdadm -q -C /dev/md0 -R --assume-clean -l 1 -n 2 /dev/vda /dev/ram0; ext4 /dev/md0"
    "stripes with zram" false None, "modprobe zram; echo 100M > /sys/block/zram0/disksize; dmsetup create x --table \"0 199936 striped 2 128 /dev/vda 0 /dev/zram0 0\"; blockdev --setra 256 /dev/mapper/x; ext4 /dev/mapper/x"
    "f2fs" false None, "mkfs.f2fs -q -f /dev/vda; mount -t f2fs /dev/vda /mnt"
    "f2fs on two devices" false None, "mkfs.f2fs -q -f -c /dev/vdb /dev/vda; mount -t f2fs /dev/vda /mnt"
    "btrfs RAID1" false None, "mkfs.btrfs -q -f -d raid1 -m raid1 /dev/vda /dev/vdb; mount -t btrfs /dev/vda /mnt"
    "btrfs on two devices" false None, "mkfs.btrfs -q -f -d single -m raid1 /dev/vda /dev/vdb; mount -t btrfs /dev/vda /mnt"
    "bcache" false None, "make-bcache -b 65536 -B /dev/vda -C /dev/vdb >/dev/null; for d in vda vdb; do echo /dev/$d > /sys/fs/bcache/register; done; sleep 1; ext4 /dev/bcache0"
    "virtio (device)" false Some("/dev/vda"), "true"
    "SCSI" false None, "ext4 /dev/sdc"
    "ext2" false None, "mkfs.ext2 -q -F /dev/vda; mount /dev/vda /mnt"
    "xfs" false None, "mkfs.xfs -q -f /dev/vda; mount /dev/vda /mnt"
    "xfs, log elsewhere" false None, "mkfs.xfs -q -f -l logdev=/dev/vdb,size=64m /dev/vda; mount -o logdev=/dev/vdb /dev/vda /mnt"
    "partition" false None, "halves /dev/vda; ext4 /dev/vda2"
    "crypt (device)" false Some("/dev/mapper/x"), "crypt x /dev/vda"
    "crypt on a partition" false None, "halves /dev/vda; crypt x /dev/vda1; ext4 /dev/mapper/x"
    "crypt on crypt" false None, "crypt y /dev/vda; crypt x /dev/mapper/y; ext4 /dev/mapper/x"
    "crypt on md RAID1" false None, "mdadm -q -C /dev/md0 -R --assume-clean -l 1 -n 2 /dev/vda /dev/vdb; crypt x /dev/md0; ext4 /dev/mapper/x"
    "crypt on a volume" false None, "group /dev/vda; volume -L 200M -n v g; crypt x /dev/g/v; ext4 /dev/mapper/x"
    "volume on crypt" false None, "crypt x /dev/vda; group /dev/mapper/x; volume -L 200M -n v g; ext4 /dev/g/v"
    "crypt, xfs" false None, "crypt x /dev/vda; mkfs.xfs -q -f /dev/mapper/x; mount /dev/mapper/x /mnt"
    "crypt, btrfs" false None, "crypt x /dev/vda; mkfs.btrfs -q -f /dev/mapper/x; mount -t btrfs /dev/mapper/x /mnt"
    "crypt, f2fs" false None, "crypt x /dev/vda; mkfs.f2fs -q -f /dev/mapper/x; mount -t f2fs /dev/mapper/x /mnt"
    "volume" false None, "group /dev/vda; volume -L 200M -n v g; ext4 /dev/g/v"
    "volume (device)" false Some("/dev/g/v"), "group /dev/vda; volume -L 200M -n v g"
    "striped volume" false None, "group /dev/vda /dev/vdb; volume -i 2 -L 200M -n v g; ext4 /dev/g/v"
    "RAID5 volume" false None, "group /dev/vda /dev/vdb /dev/sdc; volume --type raid5 --nosync -i 2 -L 200M -n v g; ext4 /dev/g/v"
    "snapshot of a thin volume" false None, "group /dev/vda; volume -T -L 200M -V 150M -n o g/p; volume -s -kn -n v g/o; ext4 /dev/g/v"
    "thin volume on md RAID1" false None, "mdadm -q -C /dev/md0 -R --assume-clean -l 1 -n 2 /dev/vda /dev/vdb; group /dev/md0; volume -T -L 200M -V 400M -n v g/p; ext4 /dev/g/v"
    "md RAID0" false None, "mdadm -q -C /dev/md0 -R -l 0 -n 2 /dev/vda /dev/vdb; ext4 /dev/md0"
    "md RAID1 (device)" false Some("/dev/md0"), "mdadm -q -C /dev/md0 -R --assume-clean -l 1 -n 2 /dev/vda /dev/vdb"
    "md RAID5" false None, "mdadm -q -C /dev/md0 -R --assume-clean -l 5 -n 3 /dev/vda /dev/vdb /dev/sdc; ext4 /dev/md0"
    "md RAID10" false None, "mdadm -q -C /dev/md0 -R --assume-clean -l 10 -n 4 /dev/vda /dev/vdb /dev/sdc $NVME; ext4 /dev/md0"
    "md RAID1 of NVMe and SCSI" false None, "mdadm -q -C /dev/md0 -R --assume-clean -l 1 -n 2 $NVME /dev/sdc; ext4 /dev/md0"
    "linear on dm-multipath" false None, "multipath; dmsetup create x --table '0 400000 linear /dev/mapper/m 2048'; ext4 /dev/mapper/x"
    "dm-multipath (device)" false Some("/dev/mapper/m"), "multipath"
    "crypt on dm-multipath" false None, "multipath; crypt x /dev/mapper/m; ext4 /dev/mapper/x"
    "volume on dm-multipath" false None, "multipath; echo 'devices { global_filter = [\"a|/dev/mapper/|\", \"r|.*|\"] }' >/etc/lvm/lvm.conf; group /dev/mapper/m; volume -L 200M -n v g; ext4 /dev/g/v"
    "NVMe multipath (device)" false Some("/dev/nvme0n1"), "true"
    "crypt on NVMe multipath" false None, "crypt x /dev/nvme0n1; ext4 /dev/mapper/x"
    "volume on NVMe multipath" false None, "group /dev/nvme0n1; volume -L 200M -n v g; ext4 /dev/g/v"
    "stripes" false None, "dmsetup create x --table '0 399872 striped 2 128 /dev/vda 0 /dev/vdb 0'; ext4 /dev/mapper/x"
    "mirror" false None, "dmsetup create x --table '0 400000 mirror core 2 1024 nosync 2 /dev/vda 0 /dev/vdb 0'; ext4 /dev/mapper/x"
    "writecache" false None, "dmsetup create x --table \"0 $(sectors /dev/vda) writecache s /dev/vda /dev/vdb 4096 0\"; ext4 /dev/mapper/x"
    "flakey that passes all" false None, "dmsetup create x --table \"0 $(sectors /dev/vda) flakey /dev/vda 0 9999 0\"; ext4 /dev/mapper/x"
    "btrfs" false None, "mkfs.btrfs -q -f /dev/vda; mount -t btrfs /dev/vda /mnt"
    "btrfs RAID0" false None, "mkfs.btrfs -q -f -d raid0 -m raid1 /dev/vda /dev/vdb; mount -t btrfs /dev/vda /mnt"
    "nbd of this machine" true None, "mkfs.ext4 -q -F /dev/vda; mount /dev/vda /below; truncate -s 150M /below/image; nbd-server -p /tmp/nbd.pid 10809 /below/image >/dev/null; sleep 1; nbd-client 127.0.0.1 10809 /dev/nbd0 >/dev/null; ext4 /dev/nbd0"
};

/// Drivers whose devices are not the lowest ones, by their names in `/proc/devices`.
const UPPER: [&str; 3] = ["device-mapper", "loop", "nbd"];
/// Drivers of which a stack has one disk, possibly with several paths to it.
const ONE_DISK: [&str; 2] = ["sd", "blkext"];
/// Bytes that a file system or a layer may write besides the data.
const BESIDES: u64 = 64 << 10;
const SECTOR: u64 = 512;

/// Returns the labels that are right for a claim. On an emulated processor, a final flush may begin
/// late; `flushed` states that it belongs to the phase. The truth is the requests that the lowest
/// devices of the stack completed.
pub fn truth(
    claim: &Claim,
    mut phase: MeasuredPhase,
    all: &[Operation],
    events: &[SyscallEvent],
    flushed: bool,
) -> Result<Truth> {
    if flushed {
        let last = phase.operations.iter().map(|one| one.end).max();
        let mut flushes = all.iter().filter(|one| one.kind == OperationKind::Flush);
        let flush = flushes.find(|one| Some(one.begin) >= last);
        phase.stop = flush.context("the trace has no flush at the end")?.end;
    }
    let disks = by_disk(events)?;
    let (mut reached, mut later) = (0, 0);
    for event in disks
        .values()
        .flatten()
        .filter(|event| event.at >= phase.start)
    {
        let bytes = data(event, claim.direction);
        match event.at <= phase.stop {
            true => reached += bytes,
            false => later += bytes,
        }
    }
    let (whole, safe): (u64, &[_]) = match claim.direction {
        Direction::Read => (claim.bytes, &["device"]),
        Direction::Write => {
            // A layer that caches also writes its tables; a label is about 99 % of the data.
            later -= (BESIDES + claim.bytes / 100).min(later);
            let left: u64 = disks.values().map(|disk| unsafe_bytes(disk, &phase)).sum();
            let safe: &[_] = match left {
                0 if later == 0 => &["device"],
                bytes if later == 0 && bytes <= BESIDES => &["device", "device-unflushed"],
                _ => &["device-unflushed"],
            };
            // Mirrors and journals write the data several times.
            (claim.bytes.max(reached + later), safe)
        }
    };
    let share = (reached as f64 / whole.max(1) as f64).min(1.0);
    Ok(Truth {
        label: by_share(share, safe),
        latency: Vec::new(),
        share,
    })
}

/// Returns the requests of each of the lowest disks.
fn by_disk(events: &[SyscallEvent]) -> Result<BTreeMap<String, Vec<&SyscallEvent>>> {
    let known = fs::read_to_string("/proc/devices")?;
    let drivers: BTreeMap<&str, &str> = (known.lines())
        .filter_map(|line| line.trim().split_once(' '))
        .collect();
    let mut disks: BTreeMap<String, Vec<&SyscallEvent>> = BTreeMap::new();
    for event in events {
        let device = event.device.as_deref().unwrap_or_default();
        let major = device.split(',').next().unwrap_or_default();
        let driver = drivers.get(major).copied().unwrap_or_default();
        let disk = if ONE_DISK.contains(&driver) {
            driver
        } else {
            device
        };
        if !UPPER.contains(&driver) {
            disks.entry(disk.to_owned()).or_default().push(event);
        }
    }
    Ok(disks)
}

/// Returns the bytes written to a disk that neither FUA nor a later flush made durable.
fn unsafe_bytes(events: &[&SyscallEvent], phase: &MeasuredPhase) -> u64 {
    let (mut left, mut asked): (Vec<(Micros, u64)>, Option<Micros>) = (Vec::new(), None);
    for event in events.iter().filter(|event| event.at <= phase.stop) {
        match &event.what {
            What::Issued { flags, .. } if flags.starts_with("FF") => {
                asked.get_or_insert(event.at);
            }
            What::Done { flags, .. } if flags.starts_with("FF") => {
                let from = asked.take().unwrap_or(0);
                left.retain(|(at, _)| *at > from);
            }
            What::Done { flags, .. } if event.at >= phase.start => {
                let forced = flags.trim_start_matches('F').contains('F');
                let bytes = data(event, Direction::Write);
                left.push((event.at, if forced { 0 } else { bytes }));
            }
            _ => {}
        }
    }
    left.iter().map(|(_, bytes)| bytes).sum()
}

/// Returns the bytes of data that a completed request moved.
fn data(event: &SyscallEvent, direction: Direction) -> u64 {
    let letter = match direction {
        Direction::Read => 'R',
        Direction::Write => 'W',
    };
    match &event.what {
        What::Done { flags, sectors } if !flags.contains('M') => {
            let moved = flags.trim_start_matches('F').starts_with(letter);
            if moved { sectors.1 * SECTOR } else { 0 }
        }
        _ => 0,
    }
}
