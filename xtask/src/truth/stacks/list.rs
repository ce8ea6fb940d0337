//! Stacks that the guest builds, each by a script.
//!
//! Its disks: vda and vdb (virtio), sda and sdb (two paths to one SCSI disk), sdc (another one),
//! nvme0n1 (an NVMe drive with two controllers) and `$NVME` (one with one controller). All have
//! volatile caches.

/// One stack.
pub struct Stack {
    pub name: &'static str,
    /// The device itself is measured, not a file on `/mnt`.
    pub device: Option<&'static str>,
    /// A layer makes up or keeps data, so that no counter tells where it is: a label that says
    /// so is right.
    pub opaque: bool,
    /// Builds it, and mounts it where it is for files.
    pub script: &'static str,
}

macro_rules! stacks {
    ($($name:literal $opaque:ident $device:expr, $script:literal)*) => {
        &[$(Stack {
            name: $name,
            device: $device,
            opaque: $opaque,
            script: $script,
        }),*]
    };
}

/// Takes down whatever stack is there.
pub const TAKE_DOWN: &str = "
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
    echo 'write back' > /sys/block/$disk/queue/write_cache
    for seek in 0 240; do dd if=/dev/zero of=/dev/$disk bs=1M count=16 seek=$seek conv=fsync; done
    blockdev --rereadpt /dev/$disk
done 2>/dev/null
rm -rf /dev/g /etc/lvm/devices
true";

/// What scripts use.
pub const HELPERS: &str = "
export DM_DISABLE_UDEV=1
sectors() { blockdev --getsz $1; }
ext4() { mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 $1 && mount $1 /mnt; }
halves() { printf '1M,100M\\n,100M\\n' | sfdisk -q $1; }
group() { pvcreate -qq -ff -y \"$@\" && vgcreate -qq g \"$@\"; }
volume() { lvcreate -qq -y \"$@\"; }
set -e
";

const NONE: Option<&str> = None;

pub const STACKS: &[Stack] = stacks! {
    "ext4" false NONE, "ext4 /dev/vda"
    "crypt" false NONE, "dmsetup create x --table \"0 $(sectors /dev/vda) crypt aes-xts-plain64 $(printf 'ab%.0s' $(seq 32)) 0 /dev/vda 0\"; ext4 /dev/mapper/x"
    "group on two partitions" false NONE, "halves /dev/vda; group /dev/vda1 /dev/vda2; volume -l 100%FREE -n v g; ext4 /dev/g/v"
    "thin volume" false NONE, "group /dev/vda; volume -T -L 200M -V 400M -n v g/p; ext4 /dev/g/v"
    "fresh thin volume" true Some("/dev/g/v"), "group /dev/vda; volume -T -L 200M -V 400M -n v g/p"
    "snapshot" false NONE, "group /dev/vda; volume -L 100M -n o g; volume -s -L 100M -n v g/o; ext4 /dev/g/v"
    "volume with a snapshot" false NONE, "group /dev/vda; volume -L 100M -n v g; ext4 /dev/g/v; volume -s -L 100M -n s g/v"
    "cache" false NONE, "group /dev/vda /dev/vdb; volume -L 200M -n v g /dev/vda; volume --type cache-pool -L 100M -n c g /dev/vdb; lvconvert -qq -y --type cache --cachepool g/c g/v; ext4 /dev/g/v"
    "cache on one disk" false NONE, "group /dev/vda; volume -L 120M -n v g; volume --type cache-pool --cachemode writeback -L 60M -n c g; lvconvert -qq -y --type cache --cachepool g/c g/v; ext4 /dev/g/v"
    "RAID1 volume" false NONE, "group /dev/vda /dev/vdb; volume --type raid1 --nosync -m 1 -L 200M -n v g; ext4 /dev/g/v"
    "md on two partitions" false NONE, "halves /dev/vda; mdadm -q -C /dev/md0 -R -l 0 -n 2 /dev/vda1 /dev/vda2; ext4 /dev/md0"
    "md RAID1" false NONE, "mdadm -q -C /dev/md0 -R --assume-clean -l 1 -n 2 /dev/vda /dev/vdb; ext4 /dev/md0"
    "dm-multipath" false NONE, "dmsetup create x --table \"0 $(sectors /dev/sda) multipath 0 0 1 1 service-time 0 2 2 /dev/sda 1 1 /dev/sdb 1 1\"; ext4 /dev/mapper/x"
    "NVMe multipath" false NONE, "ext4 /dev/nvme0n1"
    "NVMe multipath, partition" false NONE, "halves /dev/nvme0n1; ext4 /dev/nvme0n1p1"
    "NVMe" false NONE, "ext4 $NVME"
    "integrity" true NONE, "integrity() { dmsetup create x --table \"0 $1 integrity /dev/vda 0 4 J 1 internal_hash:crc32c\"; }; integrity 1; dmsetup remove x; integrity $(od -A n -t u8 -j 16 -N 8 /dev/vda); ext4 /dev/mapper/x"
    "flakey that drops writes" true Some("/dev/mapper/x"), "dmsetup create x --table \"0 $(sectors /dev/vda) flakey /dev/vda 0 0 9999 1 drop_writes\""
    "zero" true Some("/dev/mapper/x"), "dmsetup create x --table '0 400000 zero'"
    "delay" false NONE, "dmsetup create x --table \"0 $(sectors /dev/vda) delay /dev/vda 0 2\"; ext4 /dev/mapper/x"
    "write through by hand, virtio" false NONE, "ext4 /dev/vda; echo write through > /sys/block/vda/queue/write_cache"
    "write through by hand, SCSI" false NONE, "ext4 /dev/sdc; echo write through > /sys/block/sdc/queue/write_cache"
    "write through by hand, NVMe" false NONE, "ext4 $NVME; echo write through > /sys/block/${NVME#/dev/}/queue/write_cache"
    "RAID0 with a RAM disk" false NONE, "modprobe brd rd_nr=1 rd_size=200000; mdadm -q -C /dev/md0 -R -l 0 -n 2 /dev/vda /dev/ram0; ext4 /dev/md0"
    "RAID1 with a RAM disk" false NONE, "modprobe brd rd_nr=1 rd_size=200000; mdadm -q -C /dev/md0 -R --assume-clean -l 1 -n 2 /dev/vda /dev/ram0; ext4 /dev/md0"
    "group with zram" false NONE, "modprobe zram; echo 100M > /sys/block/zram0/disksize; group /dev/vda /dev/zram0; volume -i 2 -L 100M -n v g; ext4 /dev/g/v"
    "f2fs" false NONE, "mkfs.f2fs -q -f /dev/vda; mount -t f2fs /dev/vda /mnt"
    "f2fs on two devices" false NONE, "mkfs.f2fs -q -f -c /dev/vdb /dev/vda; mount -t f2fs /dev/vda /mnt"
    "btrfs RAID1" false NONE, "mkfs.btrfs -q -f -d raid1 -m raid1 /dev/vda /dev/vdb; mount -t btrfs /dev/vda /mnt"
    "btrfs on two devices" false NONE, "mkfs.btrfs -q -f -d single -m raid1 /dev/vda /dev/vdb; mount -t btrfs /dev/vda /mnt"
    "bcache" false NONE, "make-bcache -B /dev/vda -C /dev/vdb >/dev/null; for d in vda vdb; do echo /dev/$d > /sys/fs/bcache/register; done; sleep 1; ext4 /dev/bcache0"
    "nbd of this machine" true NONE, "mkfs.ext4 -q -F /dev/vda; mount /dev/vda /below; truncate -s 150M /below/image; nbd-server -p /tmp/nbd.pid 10809 /below/image >/dev/null; sleep 1; nbd-client 127.0.0.1 10809 /dev/nbd0 >/dev/null; ext4 /dev/nbd0"
};
