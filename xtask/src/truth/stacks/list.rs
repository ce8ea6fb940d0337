//! Stacks that scripts build in the guest.
//!
//! Its disks: vda and vdb (virtio), sda and sdb (two paths to one SCSI disk), sdc (another one),
//! nvme0n1 (an NVMe drive with two controllers) and `$NVME` (one with one controller). All have
//! volatile caches.

use super::super::topology::{Made, Storage, Topology};
use assay_testkit::{Undo, run};

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
    run(&["sh", "-c", &take_down])?;
    run(&["sh", "-c", &[FIND_NVME, HELPERS, script].concat()])?;
    Ok(Storage::of_stack(
        device,
        is_opaque,
        Undo::by(&["sh", "-c", &take_down]),
    ))
}

/// Makes the table: name, whether it is opaque, the device if there is no file system, script.
macro_rules! stacks {
    ($($name:literal $opaque:ident $device:expr, $script:literal)*) => {
        &[$(Topology {
            name: $name,
            make: || stack($opaque, $device, $script),
        }),*]
    };
}

pub const STACKS: &[Topology] = stacks! {
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
