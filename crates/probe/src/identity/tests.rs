//! Identities of boards and machines made of files.

use super::*;
use crate::fixture::Machine;

fn identity(machine: &Machine, name: &str) -> DeviceIdentity {
    of(&Device::named(&machine.roots, name).unwrap())
}

/// A disk whose folder `unit` above `block/` belongs to a subsystem.
fn disk_on(machine: &Machine, unit: &str, subsystem: &str, name: &str) {
    machine.disk(&format!("{unit}/block/{name}"), "8:0", 1000);
    machine.link(
        &format!("sys/devices/{unit}/subsystem"),
        &format!("sys/bus/{subsystem}"),
    );
}

/// A driver without a file of its own.
fn driver(machine: &Machine, folder: &str, name: &str) {
    machine.link(
        &format!("sys/devices/{folder}/driver"),
        &format!("sys/bus/x/drivers/{name}"),
    );
}

const EMMC: &str = "platform/soc/30b60000.mmc/mmc_host/mmc2/mmc2:0001";

fn emmc_board() -> Machine {
    let machine = Machine::new();
    disk_on(&machine, EMMC, "mmc", "mmcblk2");
    machine.files(
        &format!("sys/devices/{EMMC}"),
        &[
            ("type", "MMC\n"),
            ("name", "8GTF4R\n"),
            ("manfid", "0x000015\n"),
            ("oemid", "0x0100\n"),
            ("fwrev", "0x0600000000000000\n"),
            ("hwrev", "0x0\n"),
            ("prv", "0x6\n"),
            ("date", "09/2021\n"),
            ("serial", "0xd3f1a2b4\n"),
            ("cid", "15010038475446345206d3f1a2b49800\n"),
            ("life_time", "0x01 0x02\n"),
            ("pre_eol_info", "0x01\n"),
        ],
    );
    machine.file(
        "sys/kernel/debug/mmc2/ios",
        "clock:\t\t200000000 Hz\nactual clock:\t200000000 Hz\nvdd:\t\t21 (3.3 ~ 3.4 V)\n\
         bus mode:\t2 (push-pull)\nbus width:\t3 (8 bits)\n\
         timing spec:\t10 (mmc HS400 enhanced strobe)\nsignal voltage:\t1 (1.80 V)\n",
    );
    machine
}

#[test]
fn an_emmc_shows_its_maker_its_wear_and_its_bus_mode() {
    let machine = emmc_board();
    let disk = format!("sys/devices/{EMMC}/block/mmcblk2");
    machine.file(&format!("{disk}/removable"), "0\n");
    machine.files(
        &format!("{disk}/queue"),
        &[
            ("rotational", "0\n"),
            ("logical_block_size", "512\n"),
            ("physical_block_size", "4096\n"),
        ],
    );
    let id = identity(&machine, "mmcblk2");
    assert_eq!(id.kind, DeviceKind::Emmc);
    assert_eq!(id.model.as_deref(), Some("8GTF4R"));
    assert_eq!(id.vendor.as_deref(), Some("Samsung"));
    assert_eq!(id.firmware.as_deref(), Some("0x0600000000000000"));
    assert_eq!(id.date.as_deref(), Some("09/2021"));
    assert_eq!(id.cid.as_deref(), Some("15010038475446345206d3f1a2b49800"));
    assert_eq!(
        id.life_time.as_deref(),
        Some("0-10 % used (type A), 10-20 % used (type B)")
    );
    assert_eq!(id.pre_eol.as_deref(), Some("normal"));
    assert_eq!(
        id.bus.as_deref(),
        Some("HS400 enhanced strobe, 8 bit, 200 MHz")
    );
    assert_eq!((id.rotational, id.removable), (Some(false), Some(false)));
    assert_eq!(id.logical_block, Some(Bytes(512)));
    assert_eq!(id.physical_block, Some(Bytes(4096)));
    assert_eq!(id.raw["prv"], "0x6");
    assert_eq!(id.raw["life_time"], "0x01 0x02");
}

#[test]
fn an_emmc_boot_partition_is_the_same_card_without_being_a_partition() {
    let machine = emmc_board();
    machine.disk(&format!("{EMMC}/block/mmcblk2/mmcblk2boot0"), "179:8", 8192);
    let id = identity(&machine, "mmcblk2boot0");
    assert_eq!(id.kind, DeviceKind::Emmc);
    assert_eq!(id.model.as_deref(), Some("8GTF4R"));
    let main = Device::named(&machine.roots, "mmcblk2").unwrap();
    assert_eq!(main.partitions(), [""; 0]);
}

#[test]
fn without_debugfs_the_bus_mode_is_unknown() {
    let machine = emmc_board();
    machine.remove("sys/kernel/debug/mmc2/ios");
    assert_eq!(identity(&machine, "mmcblk2").bus, None);
}

#[test]
fn a_partition_is_described_by_its_disks_queue() {
    let machine = emmc_board();
    let disk = format!("{EMMC}/block/mmcblk2");
    machine.partition(&disk, "mmcblk2p1", "179:1", 500);
    machine.file(&format!("sys/devices/{disk}/queue/rotational"), "0\n");
    let id = identity(&machine, "mmcblk2p1");
    assert_eq!(id.kind, DeviceKind::Partition);
    assert_eq!(id.rotational, Some(false));
    assert_eq!(id.cid, None, "the card is a layer of its own");
}

#[test]
fn an_sd_card_shows_its_product_revision_and_does_not_claim_to_be_fixed() {
    let machine = Machine::new();
    let card = "platform/soc/mmc_host/mmc0/mmc0:aaaa";
    disk_on(&machine, card, "mmc", "mmcblk0");
    machine.files(
        &format!("sys/devices/{card}"),
        &[
            ("type", "SD\n"),
            ("name", "ED2S5\n"),
            ("manfid", "0x00001b\n"),
            ("oemid", "0x534d\n"),
            ("fwrev", "0x0\n"),
            ("hwrev", "0x3\n"),
        ],
    );
    machine.file(
        &format!("sys/devices/{card}/block/mmcblk0/removable"),
        "0\n",
    );
    machine.file(
        "sys/kernel/debug/mmc0/ios",
        "clock:\t\t208000000 Hz\nbus width:\t2 (4 bits)\ntiming spec:\t6 (sd uhs SDR104)\n",
    );
    let id = identity(&machine, "mmcblk0");
    assert_eq!(id.kind, DeviceKind::Sd);
    assert_eq!(id.vendor.as_deref(), Some("Samsung"));
    assert_eq!(id.firmware.as_deref(), Some("3.0"));
    assert_eq!(id.bus.as_deref(), Some("SDR104, 4 bit, 208 MHz"));
    assert_eq!(id.removable, None);
    assert_eq!((id.life_time, id.pre_eol), (None, None));
}

#[test]
fn a_usb_stick_shows_the_usb_devices_names_link_and_driver() {
    let machine = Machine::new();
    let usb = "pci0000:00/usb1/1-4";
    let unit = format!("{usb}/1-4:1.0/host6/target6:0:0/6:0:0:0");
    disk_on(&machine, &unit, "scsi", "sdb");
    driver(&machine, &unit, "sd");
    driver(&machine, &format!("{usb}/1-4:1.0"), "usb-storage");
    driver(&machine, usb, "usb");
    machine.files(
        &format!("sys/devices/{unit}"),
        &[
            ("vendor", "SanDisk \n"),
            ("model", "Cruzer Blade    \n"),
            ("rev", "1.00\n"),
        ],
    );
    machine.files(
        &format!("sys/devices/{usb}"),
        &[
            ("idVendor", "0781\n"),
            ("idProduct", "5567\n"),
            ("manufacturer", "SanDisk Corp\n"),
            ("product", "Ultra Stick\n"),
            ("serial", "4C53\n"),
            ("speed", "480\n"),
        ],
    );
    let id = identity(&machine, "sdb");
    assert_eq!(id.kind, DeviceKind::Usb);
    assert_eq!(id.vendor.as_deref(), Some("SanDisk Corp"));
    assert_eq!(id.model.as_deref(), Some("Ultra Stick"));
    assert_eq!(id.serial.as_deref(), Some("4C53"));
    assert_eq!(id.firmware.as_deref(), Some("1.00"));
    assert_eq!(id.bus.as_deref(), Some("USB 480 Mb/s, usb-storage"));
    assert_eq!(id.raw["idProduct"], "5567");
}

#[test]
fn a_usb_stick_without_strings_falls_back_to_scsi() {
    let machine = Machine::new();
    let unit = "usb1/1-4/1-4:1.0/host6/target6:0:0/6:0:0:0";
    disk_on(&machine, unit, "scsi", "sdb");
    machine.file("sys/devices/usb1/1-4/idVendor", "1234\n");
    machine.file(&format!("sys/devices/{unit}/model"), "Generic Disk   \n");
    let id = identity(&machine, "sdb");
    assert_eq!(id.model.as_deref(), Some("Generic Disk"));
    assert_eq!(id.bus, None);
}

#[test]
fn ufs_shows_wear_and_date_from_its_descriptors() {
    let machine = Machine::new();
    let controller = "platform/soc/1d84000.ufshc";
    let unit = format!("{controller}/host0/target0:0:0/0:0:0:0");
    disk_on(&machine, &unit, "scsi", "sda");
    let folder = |name: &str| format!("sys/devices/{controller}/{name}");
    machine.files(
        &folder("health_descriptor"),
        &[
            ("eol_info", "0x02\n"),
            ("life_time_estimation_a", "0x03\n"),
            ("life_time_estimation_b", "0x0b\n"),
        ],
    );
    machine.file(&folder("device_descriptor/manufacturing_date"), "0x0321\n");
    machine.files(
        &folder("string_descriptors"),
        &[
            ("manufacturer_name", "SAMSUNG\n"),
            ("product_name", "KLUDG8UHDC\n"),
        ],
    );
    machine.files(
        &folder("power_info"),
        &[
            ("gear", "HS_GEAR3\n"),
            ("lane", "2\n"),
            ("rate", "HS_RATE_B\n"),
        ],
    );
    machine.file(&format!("sys/devices/{unit}/rev"), "0400\n");
    let id = identity(&machine, "sda");
    assert_eq!(id.kind, DeviceKind::Ufs);
    assert_eq!(id.vendor.as_deref(), Some("SAMSUNG"));
    assert_eq!(id.model.as_deref(), Some("KLUDG8UHDC"));
    assert_eq!(id.firmware.as_deref(), Some("0400"));
    assert_eq!(id.date.as_deref(), Some("03/2021"));
    assert_eq!(id.pre_eol.as_deref(), Some("warning"));
    assert_eq!(
        id.life_time.as_deref(),
        Some("20-30 % used (type A), maximum exceeded (type B)")
    );
    assert_eq!(id.bus.as_deref(), Some("HS gear 3, rate B, 2 lanes"));
}

#[test]
fn ufs_of_an_old_kernel_is_told_by_its_driver() {
    let machine = Machine::new();
    let host = "platform/1d84000.ufshc/host0";
    disk_on(
        &machine,
        &format!("{host}/target0:0:0/0:0:0:0"),
        "scsi",
        "sda",
    );
    let proc_name = format!("sys/devices/{host}/scsi_host/host0/proc_name");
    machine.file(&proc_name, "ufshcd-qcom\n");
    let id = identity(&machine, "sda");
    assert_eq!((id.kind, id.life_time), (DeviceKind::Ufs, None));
}

#[test]
fn a_sata_disk_shows_its_link_and_its_serial() {
    let machine = Machine::new();
    let port = "pci0000:00/0000:00:17.0/ata3";
    let unit = format!("{port}/host2/target2:0:0/2:0:0:0");
    disk_on(&machine, &unit, "scsi", "sda");
    machine.files(
        &format!("sys/devices/{unit}"),
        &[
            ("vendor", "ATA     \n"),
            ("model", "Samsung SSD 860 \n"),
            ("rev", "2B6Q\n"),
            ("vpd_pg80", "\0\u{1}\0\u{8}  S3Z9NX0\0"),
        ],
    );
    let link = format!("sys/devices/{port}/link3/ata_link/link3/sata_spd");
    machine.file(&link, "6.0 Gbps\n");
    let id = identity(&machine, "sda");
    assert_eq!(id.kind, DeviceKind::Sata);
    assert_eq!(id.vendor, None, "ATA is no maker");
    assert_eq!(id.serial.as_deref(), Some("S3Z9NX0"));
    assert_eq!(id.bus.as_deref(), Some("SATA 6.0 Gb/s"));
}

#[test]
fn another_scsi_disk_is_just_that() {
    let machine = Machine::new();
    let unit = "pci/virtio3/host1/target1:0:0/1:0:0:0";
    disk_on(&machine, unit, "scsi", "sda");
    machine.file(&format!("sys/devices/{unit}/vendor"), "QEMU    \n");
    let cache = format!("sys/devices/{unit}/scsi_disk/1:0:0:0/cache_type");
    machine.file(&cache, "write back\n");
    let id = identity(&machine, "sda");
    assert_eq!(id.kind, DeviceKind::Scsi);
    assert_eq!(id.raw["cache_type"], "write back");
    assert_eq!(id.vendor.as_deref(), Some("QEMU"));
}

fn nvme_controller(machine: &Machine) -> &'static str {
    machine.files(
        "sys/devices/pci0000:00/0000:01:00.0",
        &[
            ("current_link_speed", "8.0 GT/s PCIe\n"),
            ("current_link_width", "4\n"),
        ],
    );
    "pci0000:00/0000:01:00.0/nvme/nvme0"
}

const NVME_NAMES: [(&str, &str); 3] = [
    ("model", "WDC PC SN730                            \n"),
    ("serial", "20273D800123        \n"),
    ("firmware_rev", "11130101\n"),
];

#[test]
fn an_nvme_drive_shows_its_pcie_link() {
    let machine = Machine::new();
    let controller = nvme_controller(&machine);
    machine.disk(&format!("{controller}/nvme0n1"), "259:0", 1000);
    machine.link(
        &format!("sys/devices/{controller}/subsystem"),
        "sys/class/nvme",
    );
    machine.files(&format!("sys/devices/{controller}"), &NVME_NAMES);
    let id = identity(&machine, "nvme0n1");
    assert_eq!(id.kind, DeviceKind::Nvme);
    assert_eq!(id.model.as_deref(), Some("WDC PC SN730"));
    assert_eq!(id.serial.as_deref(), Some("20273D800123"));
    assert_eq!(id.firmware.as_deref(), Some("11130101"));
    assert_eq!(id.bus.as_deref(), Some("PCIe 8.0 GT/s x4"));
}

#[test]
fn an_nvme_drive_of_a_virtual_machine_has_no_link() {
    let machine = Machine::new();
    let pci = "pci0000:00/0000:01:00.0";
    machine.files(
        &format!("sys/devices/{pci}"),
        &[
            ("current_link_speed", "Unknown\n"),
            ("current_link_width", "0\n"),
        ],
    );
    let controller = format!("{pci}/nvme/nvme0");
    machine.disk(&format!("{controller}/nvme0n1"), "259:0", 1000);
    machine.link(
        &format!("sys/devices/{controller}/subsystem"),
        "sys/class/nvme",
    );
    assert_eq!(identity(&machine, "nvme0n1").bus, None);
}

#[test]
fn a_multipath_nvme_drive_finds_the_link_through_its_subsystem() {
    let machine = Machine::new();
    let controller = nvme_controller(&machine);
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    machine.disk(&format!("{subsystem}/nvme0n1"), "259:0", 1000);
    machine.link(
        &format!("sys/devices/{subsystem}/subsystem"),
        "sys/class/nvme-subsystem",
    );
    machine.files(&format!("sys/devices/{subsystem}"), &NVME_NAMES);
    machine.file(&format!("sys/devices/{controller}/state"), "live\n");
    machine.link(
        &format!("sys/devices/{subsystem}/nvme0"),
        &format!("sys/devices/{controller}"),
    );
    let id = identity(&machine, "nvme0n1");
    assert_eq!(id.model.as_deref(), Some("WDC PC SN730"));
    assert_eq!(id.bus.as_deref(), Some("PCIe 8.0 GT/s x4"));
}

#[test]
fn a_virtio_disk_shows_the_serial_its_host_gave_it() {
    let machine = Machine::new();
    disk_on(&machine, "pci/virtio1", "virtio", "vda");
    machine.file("sys/devices/pci/virtio1/block/vda/serial", "disk-7");
    let id = identity(&machine, "vda");
    assert_eq!(id.kind, DeviceKind::Virtio);
    assert_eq!(id.serial.as_deref(), Some("disk-7"));
}

#[test]
fn devices_made_of_software_are_told_by_their_names() {
    let machine = Machine::new();
    let virtual_disks = [
        ("loop0", DeviceKind::Loop),
        ("zram1", DeviceKind::Zram),
        ("ram0", DeviceKind::Ram),
        ("dm-0", DeviceKind::Dm),
        ("md127", DeviceKind::Md),
        ("md_home", DeviceKind::Md),
        ("nbd0", DeviceKind::Nbd),
        ("nullb0", DeviceKind::Nullblk),
        ("mtdblock2", DeviceKind::Mtd),
        ("bcache0", DeviceKind::Other),
    ];
    for (minor, (name, kind)) in virtual_disks.into_iter().enumerate() {
        machine.disk(&format!("virtual/block/{name}"), &format!("250:{minor}"), 8);
        assert_eq!(identity(&machine, name).kind, kind, "{name}");
    }
    let folder = "sys/devices/virtual/block";
    machine.file(&format!("{folder}/dm-0/dm/name"), "vg-root\n");
    machine.file(&format!("{folder}/md127/md/level"), "raid1\n");
    assert_eq!(identity(&machine, "dm-0").model.as_deref(), Some("vg-root"));
    assert_eq!(identity(&machine, "md127").model.as_deref(), Some("raid1"));
    machine.file(
        &format!("{folder}/bcache0/bcache/backing_dev_uuid"),
        "5-a\n",
    );
    let bcache = identity(&machine, "bcache0");
    assert_eq!(bcache.model.as_deref(), Some("bcache"));
    assert_eq!(bcache.raw["backing_dev_uuid"], "5-a");
    machine.disk("virtual/block/pmem0", "259:3", 8);
    machine.file(&format!("{folder}/pmem0/device/uuid"), "7-b\n");
    let pmem = identity(&machine, "pmem0");
    assert_eq!(pmem.model.as_deref(), Some("persistent memory"));
    assert_eq!(pmem.raw["uuid"], "7-b");
}

#[test]
fn wear_codes_are_put_in_words() {
    assert_eq!(life_time(None, None), None);
    let words = |a, b| life_time(Some(a), Some(b)).unwrap();
    assert_eq!(words(10, 0), "90-100 % used (type A), not defined (type B)");
    assert!(words(12, 11).starts_with("reserved value 0x0c"));
    assert_eq!(
        [0, 1, 2, 3].map(pre_eol),
        ["not defined", "normal", "warning", "urgent"]
    );
}

#[test]
fn a_clock_is_shown_with_one_decimal_at_most() {
    let ios = "clock:\t\t52000000 Hz\nactual clock:\t49500000 Hz\nbus width:\t3 (8 bits)\ntiming spec:\t8 (mmc DDR52)\n";
    assert_eq!(bus_mode(ios).unwrap(), "DDR52, 8 bit, 49.5 MHz");
}

#[test]
fn unknown_makers_keep_their_id() {
    assert_eq!(unknown_vendor(0x9b, Some("0x5957")), "id 0x9b (YW)");
    assert_eq!(unknown_vendor(0x05, Some("0x0100")), "id 0x05");
}
