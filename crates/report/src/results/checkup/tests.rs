use super::*;
use crate::machine::json;
use crate::render::terminal::{Style, write};
use crate::views;
use assay_model::checkup::{
    CoolingDevice, CpuSpeed, DiskUse, Facility, HeatZone, Limits, MissingFacility, Others,
    PowerKind, PowerSaving, Severity, SwapArea, Writeback,
};
use assay_model::device::register::{EXT_CSD, to_hex};
use assay_model::evidence::{MemoryCounters, ProcessIo, QueueSettings, WriteCache};
use assay_model::storage::{
    Backing, DeviceIdentity, DeviceKind, Layer, LayerRole, Mount, Storage, System,
};
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};
use std::collections::BTreeSet;

/// A machine at rest, of root, with a card on ext4 that has room.
fn at_rest() -> Checkup {
    let system = System {
        kernel: "6.12.3-generic".to_owned(),
        cpus: 4,
        memory: Bytes::gib(4),
        clocksource: Some("arch_sys_counter".to_owned()),
        root: true,
        ..System::default()
    };
    let identity = DeviceIdentity {
        kind: DeviceKind::Emmc,
        bus: Some("HS400, 8 bit, 200 MHz".to_owned()),
        ..DeviceIdentity::default()
    };
    let layer = Layer {
        name: "mmcblk0".to_owned(),
        major: 179,
        minor: 0,
        role: LayerRole::Top,
        parent: None,
        other_parents: Vec::new(),
        size: Some(Bytes::gib(32)),
        backing_file: None,
        identity,
    };
    let storage = Storage {
        path: "/data".into(),
        mount: Some(Mount {
            point: "/data".into(),
            fs_type: "ext2".to_owned(),
            ..Mount::default()
        }),
        backing: Backing::Device {
            name: "mmcblk0".to_owned(),
        },
        layers: vec![layer],
        total: Some(Bytes::gib(30)),
        available: Some(Bytes::gib(20)),
    };
    Checkup {
        place: Some(Box::new(Inspection {
            path: "/data".into(),
            kind: PathKind::Directory { writable: true },
            system: system.clone(),
            storage,
            in_use: Vec::new(),
            holds: Vec::new(),
            async_engines: Vec::new(),
        })),
        queues: vec![QueueSettings {
            name: "mmcblk0".to_owned(),
            write_cache: Some(WriteCache::Back),
            iostats: Some(true),
            ..QueueSettings::default()
        }],
        writeback: Writeback {
            dirty_ratio: Some(20),
            background_ratio: Some(10),
            dirty_bytes: Some(0),
            background_bytes: Some(0),
            laptop_mode: Some(0),
        },
        system,
        ..Checkup::default()
    }
}

/// The kinds of what is found after a change.
fn found(change: impl FnOnce(&mut Checkup)) -> Vec<String> {
    let mut checkup = at_rest();
    change(&mut checkup);
    let kinds = findings(&checkup).into_iter().map(|finding| {
        let value = serde_json::to_value(finding).unwrap();
        value["kind"].as_str().unwrap().to_owned()
    });
    kinds.collect()
}

fn storage(checkup: &mut Checkup) -> &mut Storage {
    &mut checkup.place.as_mut().unwrap().storage
}

fn option(checkup: &mut Checkup, fs_type: &str, option: &str) {
    let mount = storage(checkup).mount.as_mut().unwrap();
    mount.fs_type = fs_type.to_owned();
    mount.super_options.push(option.to_owned());
}

#[test]
fn a_machine_at_rest_is_sound() {
    assert!(found(|_| {}).is_empty());
}

#[test]
fn a_bare_machine_of_a_user_lacks_only_root() {
    let checkup = Checkup {
        system: System {
            kernel: "6.12".to_owned(),
            ..System::default()
        },
        ..Checkup::default()
    };
    assert_eq!(findings(&checkup), [Finding::NoRoot]);
}

#[test]
fn processors_that_change_their_speed_disturb() {
    let cpu = |governor: &str, limit_khz| CpuSpeed {
        cpu: 0,
        governor: Some(governor.to_owned()),
        limit_khz: Some(limit_khz),
        most_khz: Some(1_500_000),
    };
    let with = |cpus: Vec<CpuSpeed>| found(|checkup| checkup.cpus = cpus);
    assert!(with(vec![cpu("performance", 1_499_000)]).is_empty());
    assert_eq!(with(vec![cpu("ondemand", 1_500_000); 4]), ["governor"]);
    assert_eq!(with(vec![cpu("performance", 600_000)]), ["frequency_limit"]);
}

#[test]
fn heat_is_told_before_during_and_after() {
    let zone = |millicelsius| HeatZone {
        name: "soc".to_owned(),
        millicelsius,
        slows_from_millicelsius: Some(75_000),
    };
    assert!(found(|checkup| checkup.heat = vec![zone(60_000)]).is_empty());
    assert_eq!(found(|checkup| checkup.heat = vec![zone(70_000)]), ["hot"]);
    let cooling = CoolingDevice {
        name: "cpufreq-cpu0".to_owned(),
        state: 2,
    };
    let throttled = found(|checkup| {
        checkup.cooling = vec![cooling];
        checkup.throttle_events = Some(4);
    });
    assert_eq!(throttled, ["throttled", "was_throttled"]);
}

#[test]
fn others_are_named_and_a_murmur_is_not() {
    let others = |write_bytes| Others {
        elapsed_ns: 1_000_000_000,
        disks: vec![DiskUse {
            name: "mmcblk0".to_owned(),
            read_bytes: 0,
            write_bytes,
        }],
        processes: Some(vec![ProcessIo {
            pid: 7,
            name: "backup".to_owned(),
            write_bytes,
            ..ProcessIo::default()
        }]),
        cpu_share: Some(0.1),
    };
    assert!(found(|checkup| checkup.others = Some(others(4096))).is_empty());
    let mut checkup = at_rest();
    checkup.others = Some(others(8 << 20));
    let all = findings(&checkup);
    assert_eq!(
        words(&all[0]).what,
        "others wrote 8 MiB on mmcblk0 in 1.00 s; busy then: backup (pid 7)"
    );
    assert_eq!(all[0].severity(), Severity::Spoils);
    let busy = Others {
        cpu_share: Some(0.9),
        ..others(0)
    };
    assert_eq!(found(|checkup| checkup.others = Some(busy)), ["busy_cpu"]);
}

#[test]
fn storage_that_is_not_what_it_seems_spoils() {
    let memory = found(|checkup| {
        storage(checkup).backing = Backing::Memory {
            fs_type: "tmpfs".to_owned(),
        };
        storage(checkup).layers.clear();
    });
    assert_eq!(memory, ["memory"]);
    let file = found(|checkup| {
        let layer = &mut storage(checkup).layers[0];
        layer.identity.kind = DeviceKind::Loop;
        layer.backing_file = Some("/disk.img".into());
    });
    assert_eq!(file, ["loop_device"]);
    let uncounted = found(|checkup| checkup.queues[0].iostats = Some(false));
    assert_eq!(uncounted, ["iostats_off"]);
    let full = found(|checkup| storage(checkup).available = Some(Bytes::mib(100)));
    assert_eq!(full, ["little_room", "nearly_full"]);
}

#[test]
fn a_card_below_its_best_mode_and_without_its_cache_is_found() {
    let mut register = [0; 512];
    register[192] = 8;
    register[196] = 0x57;
    register[250] = 8;
    let slow = found(|checkup| {
        let raw = &mut storage(checkup).layers[0].identity.raw;
        raw.insert(EXT_CSD.to_owned(), to_hex(&register));
        let ios = "clock: 200000000 Hz\nbus width: 3 (8 bits)\ntiming spec: 9 (mmc HS200)\n";
        raw.insert("ios".to_owned(), ios.to_owned());
    });
    assert_eq!(slow, ["slow_bus", "cache_off"]);
    register[33] = 1;
    let dropped = found(|checkup| {
        let raw = &mut storage(checkup).layers[0].identity.raw;
        raw.insert(EXT_CSD.to_owned(), to_hex(&register));
        checkup.queues[0].write_cache = Some(WriteCache::Through);
    });
    assert_eq!(dropped, ["flushes_dropped"]);
}

#[test]
fn options_of_a_mount_are_told() {
    let kinds = |fs_type: &str, word: &str| found(|checkup| option(checkup, fs_type, word));
    assert_eq!(kinds("ext4", "rw"), ["no_discard"]);
    assert_eq!(kinds("ext4", "discard"), ["online_discard"]);
    assert!(kinds("btrfs", "discard=async").is_empty());
    assert_eq!(
        kinds("btrfs", "compress=zstd:1"),
        ["compressed", "no_discard"]
    );
    assert_eq!(kinds("ext4", "nobarrier"), ["no_barriers", "no_discard"]);
    assert!(kinds("nilfs2", "rw").is_empty());
}

#[test]
fn limits_and_memory_are_told() {
    let limits = Limits {
        memory_bytes: Some(1 << 30),
        cpus: Some(0.5),
        io: vec!["179:0 wbps=1048576".to_owned()],
    };
    assert_eq!(
        found(|checkup| checkup.limits = limits),
        ["io_limit", "cpu_limit", "memory_limit"]
    );
    let wide = Limits {
        memory_bytes: Some(8 << 30),
        cpus: Some(4.0),
        io: Vec::new(),
    };
    assert!(found(|checkup| checkup.limits = wide).is_empty());
    let swap = SwapArea {
        path: "/swap".to_owned(),
        used_bytes: 4096,
        devices: vec!["mmcblk0".to_owned()],
    };
    let swapping = found(|checkup| checkup.swaps = vec![swap]);
    assert_eq!(swapping, ["swap_on_device", "swapping"]);
    let dirty = MemoryCounters {
        dirty_bytes: 100 << 20,
        ..MemoryCounters::default()
    };
    let dirty = found(|checkup| checkup.memory = Some(dirty));
    assert_eq!(dirty, ["dirty_pages"]);
    let tight = found(|checkup| checkup.writeback.dirty_bytes = Some(16 << 20));
    assert_eq!(tight, ["dirty_limits"]);
    let lazy = found(|checkup| checkup.writeback.laptop_mode = Some(5));
    assert_eq!(lazy, ["laptop_mode"]);
}

#[test]
fn a_facility_that_does_not_work_is_told_once() {
    let missing = |facility| MissingFacility {
        facility,
        answer: "no".to_owned(),
    };
    let all = [
        Facility::IoUring,
        Facility::Cachestat,
        Facility::DropCaches,
        Facility::BlockEvents,
    ];
    let of = |kernel: &str, root| {
        let mut checkup = at_rest();
        checkup.missing = all.map(missing).into();
        checkup.system.kernel = kernel.to_owned();
        checkup.system.root = root;
        let found = findings(&checkup).into_iter();
        let facilities = found.filter_map(|finding| match finding {
            Finding::MissingFacility { facility, .. } => Some(facility),
            _ => None,
        });
        facilities.collect::<Vec<_>>()
    };
    assert_eq!(of("6.5.0", true), all);
    assert_eq!(of("6.5.0", false), all[..2], "root is missing, and told");
    assert_eq!(
        of("6.1.0", true)[..2],
        [Facility::IoUring, Facility::DropCaches]
    );
    assert_eq!(of("4.19.0", false), [], "the kernel is old, and told");
}

#[test]
fn old_kernels_and_slow_clocks_are_told() {
    let kernel = |release: &str| {
        let mut checkup = at_rest();
        checkup.system.kernel = release.to_owned();
        match findings(&checkup).pop() {
            Some(Finding::OldKernel { lacks, .. }) => lacks.len(),
            Some(other) => panic!("{other:?}"),
            None => 0,
        }
    };
    assert_eq!(kernel("6.5.0"), 0);
    assert_eq!(kernel("6.1.0-41-arm64"), 1);
    assert_eq!(kernel("3.10.108"), 4);
    assert_eq!(kernel("strange"), 0);
    let clock = found(|checkup| {
        checkup.system.clocksource = Some("hpet".to_owned());
        checkup.clocksources = vec!["hpet".to_owned(), "tsc".to_owned()];
    });
    assert_eq!(clock, ["clock_source"]);
}

#[test]
fn power_saving_disturbs_as_far_as_it_costs() {
    let saving = |kind| PowerSaving {
        kind,
        device: "1-1".to_owned(),
        file: "/sys/x/power/control".to_owned(),
        value: "auto".to_owned(),
    };
    let mut checkup = at_rest();
    checkup.power = vec![
        saving(PowerKind::Runtime),
        saving(PowerKind::UsbAutosuspend),
    ];
    let all = findings(&checkup);
    assert_eq!(
        all[0].severity(),
        Severity::Disturbs,
        "what matters more first"
    );
    assert_eq!(all[1].severity(), Severity::Note);
    assert!(words(&all[0]).remedy.contains("/sys/x/power/control"));
}

/// One of each kind.
fn ill() -> Checkup {
    let mut checkup = at_rest();
    option(&mut checkup, "btrfs", "compress=zstd");
    option(&mut checkup, "btrfs", "nobarrier");
    checkup.system.root = false;
    checkup.system.kernel = "3.10".to_owned();
    checkup.container = Some("docker\u{1b}[2J".to_owned());
    checkup.hypervisor = Some("QEMU".to_owned());
    checkup.place.as_mut().unwrap().kind = PathKind::Directory { writable: false };
    let layer = &mut storage(&mut checkup).layers[0];
    layer.identity.pre_eol = Some("urgent".to_owned());
    checkup
}

#[test]
fn every_finding_says_what_why_and_what_to_do() {
    for finding in findings(&ill()) {
        let words = words(&finding);
        assert!(!words.what.is_empty(), "{finding:?}");
        assert!(!words.why.is_empty(), "{finding:?}");
        assert!(!words.remedy.is_empty(), "{finding:?}");
    }
}

#[test]
fn the_findings_read_well() {
    let style = Style {
        color: false,
        width: 80,
        ascii: false,
    };
    let checkup = ill();
    let mut out = Vec::new();
    let document = views::devices::doctor(&checkup, &findings(&checkup), Some("ssh://b"));
    write(&document, style, &[], &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
    insta::assert_snapshot!(text);
}

#[test]
fn json_has_words_and_data() {
    let checkup = ill();
    let value = json::doctor(Some(&checkup), &findings(&checkup), None);
    assert_eq!(value["schema"], 1);
    assert_eq!(value["path"], "/data");
    let all = value["findings"].as_array().unwrap();
    let worn = all
        .iter()
        .find(|finding| finding["kind"] == "worn")
        .unwrap();
    assert_eq!(worn["severity"], "disturbs");
    assert_eq!(worn["device"], "mmcblk0");
    assert!(worn["what"].as_str().unwrap().contains("urgent"));
}

#[test]
fn the_fields_of_every_finding_are_on_the_page() {
    let page = include_str!("../../../../../docs/devices.md");
    let value = json::doctor(None, &findings(&ill()), None);
    let all = value["findings"].as_array().unwrap().iter();
    let fields = all.flat_map(|finding| finding.as_object().unwrap().keys());
    let missing: BTreeSet<&String> = fields
        .filter(|field| !page.contains(&format!("`{field}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
