//! Describes findings about a machine that would spoil a measurement.

use crate::results::warnings::slow_bus;
use crate::words::registers::{at_most, controller_of, ext_csd_of};
use crate::words::{celsius, clean, enumerate, percent, registers};
use assay_lang::counted;
use assay_model::checkup::{Checkup, DiskUse, Facility, Finding, Others, PowerKind, SwapArea};
use assay_model::device::{CardMode, ListedDevice, MountedPart, ceiling};
use assay_model::evidence::{ProcessIo, QueueSettings, WriteCache};
use assay_model::storage::{Backing, DeviceIdentity, DeviceKind, Layer, Mount, Storage};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, PathKind};
use std::cmp::Reverse;

/// Returns all findings, the most important first.
pub fn findings(checkup: &Checkup) -> Vec<Finding> {
    let mut all = findings_of_place(checkup);
    all.extend(findings_of_machine(checkup));
    all.sort_by_key(|finding| Reverse(finding.severity()));
    all
}

/// Number of mounts of a device above which they are counted instead of named.
const MOUNTS_NAMED: usize = 4;

/// Returns true for an unused RAM disk, which lists hide.
pub fn is_idle_memory(device: &ListedDevice) -> bool {
    let kind = &device.layer.identity.kind;
    *kind == DeviceKind::Ram && device.mounted.is_empty() && device.in_use.is_empty()
}

/// Returns the facts to know about a device before a test, one named line each.
pub fn lines(device: &ListedDevice) -> Vec<(&'static str, String)> {
    let identity = &device.layer.identity;
    let bus = identity.bus.as_deref().map(|bus| {
        let most = ceiling(identity).map(|ceiling| format!("; at most {}", at_most(&ceiling)));
        format!("{}{}", clean(bus), most.unwrap_or_default())
    });
    let problems = registers::problems(identity);
    let worn = (!problems.is_empty()).then(|| problems.join("; "));
    [
        ("bus", bus),
        (
            "health",
            worn.or_else(|| registers::wear_in_words(identity)),
        ),
        ("files", files(&device.mounted)),
        ("whole", Some(whole(device))),
    ]
    .into_iter()
    .filter_map(|(name, words)| Some((name, words?)))
    .collect()
}

/// Describes the mount points and whether files can be created there; `None` if nothing is mounted.
fn files(mounted: &[MountedPart]) -> Option<String> {
    let named = mounted.iter().take(MOUNTS_NAMED).map(mounted_part_in_words);
    let named: Vec<String> = named.collect();
    let more = mounted.len().saturating_sub(MOUNTS_NAMED);
    let more = (more > 0).then(|| format!("; {more} more mounts"));
    (!named.is_empty()).then(|| format!("{}{}", named.join("; "), more.unwrap_or_default()))
}

/// Describes a mount: `/mnt/sd (ext4, 466 MiB free)`, or why nothing can be written there.
fn mounted_part_in_words(part: &MountedPart) -> String {
    let point = clean(&part.mount.point.to_string_lossy());
    let fs_type = clean(&part.mount.fs_type);
    let free = part.available.map(|bytes| format!("{bytes} free"));
    let not = match part.writable {
        true => None,
        false if is_read_only(&part.mount) => Some("read-only".to_owned()),
        false => Some("no permission to write".to_owned()),
    };
    let details: Vec<String> = [Some(fs_type), free, not].into_iter().flatten().collect();
    format!("{point} ({})", details.join(", "))
}

fn is_read_only(mount: &Mount) -> bool {
    let mut options = mount.options.iter().chain(&mount.super_options);
    options.any(|option| option == "ro")
}

/// Describes whether the device may be written as a whole, and why not.
fn whole(device: &ListedDevice) -> String {
    let reasons: Vec<String> = device.in_use.iter().map(|reason| clean(reason)).collect();
    match reasons.is_empty() {
        true => "may be overwritten (--destroy-data)".to_owned(),
        false => format!("no: {}", enumerate(&reasons)),
    }
}

/// Free space that a test file of the usual size needs.
const LITTLE_ROOM: Bytes = Bytes::gib(1);
/// Filled share at which flash has few free blocks and a file system fragments files, in percent.
const NEARLY_FULL_PERCENT: u64 = 90;
/// File systems that support discard.
const DISCARDING: [&str; 6] = ["ext4", "f2fs", "xfs", "btrfs", "vfat", "exfat"];
/// Mount options that prevent flushes of the device.
const NO_BARRIERS: [&str; 3] = ["nobarrier", "barrier=0", "fsync_mode=nobarrier"];

/// Returns all findings about the test location; empty without a path.
fn findings_of_place(checkup: &Checkup) -> Vec<Finding> {
    let Some(place) = checkup.place.as_deref() else {
        return Vec::new();
    };
    let storage = &place.storage;
    let mut found = Vec::new();
    found.extend(what_is_measured(storage));
    found.extend(not_writable(place));
    found.extend(storage.layers.iter().flat_map(layer));
    let queues = checkup.queues.iter().zip(&storage.layers);
    found.extend(queues.flat_map(|(queue, layer)| of_queue(queue, layer)));
    found.extend(room(storage));
    if let Some(mount) = &storage.mount {
        found.extend(options(mount, storage));
    }
    found.extend(checkup.power.iter().map(|saving| Finding::PowerSaving {
        how: saving.kind,
        device: saving.device.clone(),
        file: saving.file.clone(),
        value: saving.value.clone(),
    }));
    found
}

fn what_is_measured(storage: &Storage) -> Option<Finding> {
    if let Some(what) = storage.memory() {
        return Some(Finding::Memory { what });
    }
    match &storage.backing {
        Backing::Unknown { why } => Some(Finding::UnknownDevice { why: why.clone() }),
        Backing::Device { .. }
        | Backing::Memory { .. }
        | Backing::MainMemory
        | Backing::Simulated { .. } => None,
    }
}

fn not_writable(place: &Inspection) -> Option<Finding> {
    let reasons = match &place.kind {
        PathKind::Directory { writable: false } => {
            let mount = place.storage.mount.as_ref();
            let read_only = mount.is_some_and(|mount| has(mount, "ro"));
            let reason = match read_only {
                true => "it is mounted read-only",
                false => "this user has no permission to make files in it",
            };
            vec![reason.to_owned()]
        }
        PathKind::Device { .. } => place.in_use.clone(),
        PathKind::Directory { writable: true }
        | PathKind::File { .. }
        | PathKind::Simulated { .. } => Vec::new(),
    };
    (!reasons.is_empty()).then_some(Finding::NotWritable { reasons })
}

fn layer(layer: &Layer) -> Vec<Finding> {
    let device = layer.name.clone();
    let identity = &layer.identity;
    let file = layer.cached_file().map(|file| Finding::LoopDevice {
        device: device.clone(),
        file: file.to_string_lossy().into_owned(),
    });
    let uuid = identity.raw.get("uuid").map_or("", String::as_str);
    let is_crypt = identity.kind == DeviceKind::Dm && uuid.starts_with("CRYPT-");
    let encrypted = is_crypt.then(|| Finding::Encrypted {
        device: device.clone(),
    });
    let problems = registers::problems(identity);
    let worn = (!problems.is_empty()).then(|| Finding::Worn {
        device: device.clone(),
        problems,
    });
    let cache = ext_csd_of(identity, |register| register.cache()).flatten();
    let cache_off = cache.is_some_and(|cache| !cache.on);
    let cache_off = cache_off.then(|| Finding::CacheOff {
        device: device.clone(),
    });
    let found = [file, encrypted, worn, bus(&device, identity), cache_off];
    found.into_iter().flatten().collect()
}

/// Reports a bus mode below the device's best one, or else one below that of nearly all devices.
fn bus(device: &str, identity: &DeviceIdentity) -> Option<Finding> {
    let finding = |bus: String, could: Option<String>| Finding::SlowBus {
        device: device.to_owned(),
        bus,
        could,
    };
    if let Some(best) = below_its_best(identity) {
        return Some(finding(identity.bus.clone()?, Some(best)));
    }
    Some(finding(slow_bus(identity)?, None))
}

/// Returns the fastest mode of an eMMC that runs in a slower one. Modes are compared by their first
/// word: `HS400 enhanced strobe` counts as HS400.
fn below_its_best(identity: &DeviceIdentity) -> Option<String> {
    let best = ext_csd_of(identity, |register| register.fastest()).flatten()?;
    let mode = CardMode::parse(identity.raw.get("ios")?)?;
    (!mode.timing.starts_with(best)).then(|| best.to_owned())
}

fn of_queue(queue: &QueueSettings, layer: &Layer) -> Vec<Finding> {
    let device = layer.name.clone();
    let off = (queue.iostats == Some(false)).then(|| Finding::IostatsOff {
        device: device.clone(),
    });
    let has_cache = controller_of(&layer.identity, |it| it.has_volatile_cache())
        .or_else(|| {
            let cache = ext_csd_of(&layer.identity, |register| register.cache())??;
            Some(cache.on)
        })
        .unwrap_or(false);
    let believed = queue.write_cache == Some(WriteCache::Through);
    let dropped = (has_cache && believed).then_some(Finding::FlushesDropped { device });
    [off, dropped].into_iter().flatten().collect()
}

fn room(storage: &Storage) -> Vec<Finding> {
    let (Some(available), Some(total)) = (storage.available, storage.total) else {
        return Vec::new();
    };
    let little = (available < LITTLE_ROOM).then_some(Finding::LittleRoom { available });
    let used = total.0.saturating_sub(available.0);
    let used_percent = u128::from(used) * 100 / u128::from(total.0.max(1));
    let used_percent = u64::try_from(used_percent).unwrap_or(100);
    let full = used_percent >= NEARLY_FULL_PERCENT;
    let full = full.then_some(Finding::NearlyFull { used_percent });
    [little, full].into_iter().flatten().collect()
}

fn options(mount: &Mount, storage: &Storage) -> Vec<Finding> {
    let point = mount.point.to_string_lossy().into_owned();
    let all = || mount.options.iter().chain(&mount.super_options);
    let find = |fits: &dyn Fn(&str) -> bool| all().find(|option| fits(option)).cloned();
    let barriers = find(&|option| NO_BARRIERS.contains(&option));
    let barriers = barriers.map(|option| Finding::NoBarriers {
        point: point.clone(),
        option,
    });
    let compressed = find(&|option| option.starts_with("compress"));
    let compressed = compressed.map(|option| Finding::Compressed {
        point: point.clone(),
        option,
    });
    let found = [barriers, compressed, discard(mount, storage, point)];
    found.into_iter().flatten().collect()
}

fn discard(mount: &Mount, storage: &Storage, point: String) -> Option<Finding> {
    let device = storage.device()?;
    let is_flash = match device.identity.kind {
        DeviceKind::Emmc | DeviceKind::Sd | DeviceKind::Ufs | DeviceKind::Nvme => true,
        DeviceKind::Sata => device.identity.rotational == Some(false),
        _ => false,
    };
    if !is_flash || !DISCARDING.contains(&mount.fs_type.as_str()) {
        return None;
    }
    let online = ["discard", "discard=sync"]
        .iter()
        .any(|word| has(mount, word));
    let later = has(mount, "discard=async");
    match (online, later) {
        (true, _) => Some(Finding::OnlineDiscard { point }),
        (_, true) => None,
        _ => Some(Finding::NoDiscard { point }),
    }
}

fn has(mount: &Mount, word: &str) -> bool {
    let mut options = mount.options.iter().chain(&mount.super_options);
    options.any(|option| option == word)
}

/// Bytes per second below which the I/O of an idle system is normal.
const MURMUR: u64 = 256 << 10;
/// Share of the processors' time that slows a benchmark down.
const BUSY: f64 = 0.25;
/// Dirty bytes that the kernel is likely to write during a measurement.
const MUCH_DIRTY: Bytes = Bytes::mib(64);
/// Distance to the throttling temperature that counts as hot, in thousandths of a degree.
const NEAR_MILLICELSIUS: i64 = 5_000;
/// Governors that keep the frequency constant.
const STEADY_GOVERNORS: [&str; 2] = ["performance", "userspace"];
/// Clock sources that need microseconds per reading, or have a coarse resolution.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// Default of the kernel for `dirty_ratio`, in percent; distributions set less.
const DIRTY_RATIO: u64 = 20;
/// Tolerance for clocks, whose dividers cannot reach every frequency, in percent.
const ROUNDING_PERCENT: u64 = 2;

/// Returns all findings about the machine.
fn findings_of_machine(checkup: &Checkup) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(checkup.others.iter().flat_map(others));
    found.extend(io_limit(checkup));
    found.extend(processors(checkup));
    found.extend(heat(checkup));
    found.extend((!checkup.system.root).then_some(Finding::NoRoot));
    found.extend(memory(checkup));
    let old = old_kernel(&checkup.system.kernel);
    found.extend(missing(checkup, old.as_ref()));
    found.extend(old);
    found.extend(clock_source(checkup));
    let container = checkup.container.clone();
    found.extend(container.map(|name| Finding::Container { name }));
    let machine = checkup.hypervisor.clone();
    found.extend(machine.map(|name| Finding::VirtualMachine { name }));
    found
}

fn others(others: &Others) -> Vec<Finding> {
    let moved = |disk: &&DiskUse| disk.read_bytes.saturating_add(disk.write_bytes) > MURMUR;
    let processes = others.processes.iter().flatten().take(3);
    let processes: Vec<String> = processes.map(process_in_words).collect();
    let disks = others.disks.iter().filter(moved);
    let mut found: Vec<Finding> = disks
        .map(|disk| Finding::OthersIo {
            disk: disk.clone(),
            elapsed_ns: others.elapsed_ns,
            processes: processes.clone(),
        })
        .collect();
    let busy = others.cpu_share.filter(|share| *share > BUSY);
    found.extend(busy.map(|share| Finding::BusyCpu { share }));
    found
}

fn process_in_words(process: &ProcessIo) -> String {
    format!("{} (pid {})", process.name, process.pid)
}

fn io_limit(checkup: &Checkup) -> Option<Finding> {
    let limits = checkup.limits.io.clone();
    (!limits.is_empty()).then_some(Finding::IoLimit { limits })
}

fn processors(checkup: &Checkup) -> Vec<Finding> {
    let mut governors: Vec<String> = Vec::new();
    for governor in checkup.cpus.iter().filter_map(|cpu| cpu.governor.clone()) {
        let is_steady = STEADY_GOVERNORS.contains(&governor.as_str());
        if !is_steady && !governors.contains(&governor) {
            governors.push(governor);
        }
    }
    let governor = (!governors.is_empty()).then_some(Finding::Governor { governors });
    let limited = checkup.cpus.iter().find_map(|cpu| {
        let (khz, most_khz) = (cpu.limit_khz?, cpu.most_khz?);
        let full = most_khz.saturating_mul(100 - ROUNDING_PERCENT) / 100;
        (khz < full).then_some(Finding::FrequencyLimit { khz, most_khz })
    });
    let cpus = checkup.limits.cpus;
    let allowed = cpus.filter(|cpus| *cpus < f64::from(checkup.system.cpus));
    let allowed = allowed.map(|cpus| Finding::CpuLimit { cpus });
    [governor, limited, allowed].into_iter().flatten().collect()
}

fn heat(checkup: &Checkup) -> Vec<Finding> {
    let what = checkup.cooling.iter().map(|device| device.name.clone());
    let what: Vec<String> = what.collect();
    let mut found = Vec::new();
    if !what.is_empty() {
        found.push(Finding::Throttled { what });
    }
    found.extend(checkup.heat.iter().filter_map(|zone| {
        let slows_from_millicelsius = zone.slows_from_millicelsius?;
        let near = zone.millicelsius >= slows_from_millicelsius - NEAR_MILLICELSIUS;
        near.then(|| Finding::Hot {
            zone: zone.name.clone(),
            millicelsius: zone.millicelsius,
            slows_from_millicelsius,
        })
    }));
    let events = checkup.throttle_events.filter(|events| *events > 0);
    found.extend(events.map(|events| Finding::WasThrottled { events }));
    found
}

fn memory(checkup: &Checkup) -> Vec<Finding> {
    let dirty = checkup
        .memory
        .map(|memory| Bytes(memory.dirty_bytes.saturating_add(memory.writeback_bytes)));
    let dirty = dirty.filter(|bytes| *bytes > MUCH_DIRTY);
    let memory = checkup.system.memory;
    let limit = checkup.limits.memory_bytes.map(Bytes);
    let limit = limit.filter(|limit| *limit < memory);
    let mut found = vec![
        dirty.map(|bytes| Finding::DirtyPages { bytes }),
        limit.map(|limit| Finding::MemoryLimit { limit, memory }),
        laptop_mode(checkup),
        dirty_limits(checkup),
    ];
    found.extend(swap(checkup));
    found.into_iter().flatten().collect()
}

fn laptop_mode(checkup: &Checkup) -> Option<Finding> {
    let seconds = checkup.writeback.laptop_mode?;
    (seconds > 0).then_some(Finding::LaptopMode)
}

/// Checks the dirty limits. The kernel has each limit in bytes and in percent, and uses the one
/// that is not 0.
fn dirty_limits(checkup: &Checkup) -> Option<Finding> {
    let set = &checkup.writeback;
    let ratios = [set.background_ratio?, set.dirty_ratio?];
    let bytes = [set.background_bytes, set.dirty_bytes].map(|bytes| bytes.filter(|b| *b > 0));
    if bytes == [None, None] && ratios[1] <= DIRTY_RATIO {
        return None;
    }
    let available = checkup.memory.and_then(|memory| memory.available_bytes);
    let of = |bytes: Option<u64>, percent: u64| {
        bytes
            .or_else(|| Some(available? / 100 * percent))
            .map(Bytes)
    };
    Some(Finding::DirtyLimits {
        background: of(bytes[0], ratios[0]),
        limit: of(bytes[1], ratios[1]),
    })
}

fn swap(checkup: &Checkup) -> Vec<Option<Finding>> {
    let place = checkup.place.as_ref();
    let layers: &[Layer] = place.map_or(&[], |place| &place.storage.layers);
    let on_device = |area: &&SwapArea| {
        let mut devices = area.devices.iter();
        devices.any(|device| layers.iter().any(|layer| layer.name == *device))
    };
    let areas = checkup.swaps.iter().filter(on_device);
    let mut found: Vec<Option<Finding>> = areas
        .map(|area| {
            let path = area.path.clone();
            Some(Finding::SwapOnDevice { path })
        })
        .collect();
    let used = checkup.swaps.iter().map(|area| area.used_bytes);
    let used = Bytes(used.fold(0, u64::saturating_add));
    found.push((used > Bytes(0)).then_some(Finding::Swapping { used }));
    found
}

/// Reports the evidence that the kernel is too old to provide.
fn old_kernel(release: &str) -> Option<Finding> {
    const SINCE: [((u32, u32), &str); 4] = [
        ((6, 5), "cachestat (dirty pages of a file)"),
        ((5, 5), "counters of flushes"),
        ((5, 1), "io_uring"),
        ((4, 18), "counters of discards"),
    ];
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let version: (u32, u32) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let lacks = SINCE.iter().filter(|(since, _)| version < *since);
    let lacks: Vec<&'static str> = lacks.map(|(_, what)| *what).collect();
    (!lacks.is_empty()).then(|| Finding::OldKernel {
        release: release.to_owned(),
        lacks,
    })
}

/// Reports facilities that do not work, unless missing root rights or the kernel's age explain it.
fn missing(checkup: &Checkup, old: Option<&Finding>) -> Vec<Finding> {
    let lacks = match old {
        Some(Finding::OldKernel { lacks, .. }) => lacks.as_slice(),
        _ => &[],
    };
    let is_told = |facility| match facility {
        Facility::IoUring => lacks.contains(&"io_uring"),
        Facility::Cachestat => lacks.iter().any(|lack| lack.starts_with("cachestat")),
        Facility::Libaio => false,
        Facility::DropCaches | Facility::BlockEvents => !checkup.system.root,
    };
    let missing = checkup
        .missing
        .iter()
        .filter(|missing| !is_told(missing.facility));
    let missing = missing.map(|missing| Finding::MissingFacility {
        facility: missing.facility,
        answer: missing.answer.clone(),
    });
    missing.collect()
}

fn clock_source(checkup: &Checkup) -> Option<Finding> {
    let source = checkup.system.clocksource.clone()?;
    let is_slow = |name: &str| SLOW_CLOCKS.contains(&name);
    let mut offered = checkup.clocksources.iter();
    let better = offered.find(|name| !is_slow(name)).cloned();
    is_slow(&source).then_some(Finding::ClockSource { source, better })
}

/// Description of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Finding, and its location.
    pub what: String,
    /// Effect on measurements.
    pub why: &'static str,
    /// Remedy for the finding.
    pub remedy: String,
}

/// Describes a finding: cause, location, effect, remedy. Foreign texts are not cleaned here; the
/// views do that.
pub fn words(finding: &Finding) -> Words {
    let (why, remedy) = reason(finding);
    Words {
        what: what(finding),
        why,
        remedy,
    }
}

fn what(finding: &Finding) -> String {
    match finding {
        Finding::Memory { what } => what.clone(),
        Finding::UnknownDevice { why } => format!("the device behind this path is unknown: {why}"),
        Finding::NotWritable { reasons } => {
            format!("nothing can be written here: {}", enumerate(reasons))
        }
        Finding::LoopDevice { device, file } => {
            format!("{device} is a loop device, and this machine caches its file {file}")
        }
        Finding::IostatsOff { device } => format!("the kernel does not count the I/O of {device}"),
        Finding::FlushesDropped { device } => format!(
            "{device} has a volatile cache, but its queue says write through: flushes are not sent"
        ),
        Finding::NoBarriers { point, option } => format!("{point} is mounted with {option}"),
        Finding::OthersIo {
            disk,
            elapsed_ns,
            processes,
        } => others_in_words(disk, *elapsed_ns, processes),
        Finding::IoLimit { limits } => {
            format!("a control group limits I/O: {}", enumerate(limits))
        }
        Finding::BusyCpu { share } => {
            format!("others use {} of the processors' time", percent(*share))
        }
        Finding::DirtyPages { bytes } => format!("{bytes} of dirty pages are still to be written"),
        Finding::NoRoot => "not run as root".to_owned(),
        Finding::LittleRoom { available } => format!("only {available} are free"),
        Finding::NearlyFull { used_percent } => {
            format!("the file system is {used_percent} % full")
        }
        Finding::SwapOnDevice { path } => format!("swap space {path} is on this device"),
        Finding::Swapping { used } => format!("{used} of memory are swapped out"),
        Finding::NoDiscard { point } => format!("{point} is mounted without discard"),
        Finding::OnlineDiscard { point } => format!("{point} is mounted with discard"),
        Finding::Encrypted { device } => format!("{device} encrypts (dm-crypt)"),
        Finding::Compressed { point, option } => format!("{point} is mounted with {option}"),
        Finding::SlowBus { device, bus, could } => match could {
            Some(could) => format!("{device} runs at {bus}, and could at {could}"),
            None => format!("{device} runs on a slow bus: {bus}"),
        },
        Finding::Worn { device, problems } => format!("{device} is worn: {}", problems.join("; ")),
        Finding::CacheOff { device } => format!("the volatile cache of {device} is off"),
        Finding::Governor { governors } => {
            format!("CPU frequency is left to {}", enumerate(governors))
        }
        Finding::FrequencyLimit { khz, most_khz } => format!(
            "processors are held at {} MHz of {} MHz",
            khz / 1_000,
            most_khz / 1_000
        ),
        Finding::Throttled { what } => format!("slowed down against heat now: {}", enumerate(what)),
        Finding::WasThrottled { events } => format!(
            "processors were slowed down by heat {} since boot",
            counted!(*events, "{n} time", "{n} times")
        ),
        Finding::Hot {
            zone,
            millicelsius,
            slows_from_millicelsius,
        } => format!(
            "{zone} is at {}, and is slowed down from {} on",
            celsius(*millicelsius),
            celsius(*slows_from_millicelsius)
        ),
        Finding::OldKernel { release, lacks } => {
            format!("Linux {release} lacks {}", enumerate(lacks))
        }
        Finding::MissingFacility { answer, .. } => answer.clone(),
        Finding::ClockSource { source, .. } => format!("the kernel's clock source is {source}"),
        Finding::PowerSaving {
            how, device, value, ..
        } => power_in_words(*how, device, value),
        Finding::LaptopMode => "laptop mode is on".to_owned(),
        Finding::DirtyLimits { background, limit } => dirty_limits_in_words(*background, *limit),
        Finding::MemoryLimit { limit, memory } => {
            format!("a control group limits memory to {limit} of {memory}")
        }
        Finding::CpuLimit { cpus } => format!(
            "a control group limits processors' time to {} of one",
            percent(*cpus)
        ),
        Finding::Container { name } => format!("in a container ({name})"),
        Finding::VirtualMachine { name } if name == "unknown" => {
            "a virtual machine, of which kind is not known".to_owned()
        }
        Finding::VirtualMachine { name } => format!("a virtual machine ({name})"),
    }
}

fn others_in_words(disk: &DiskUse, elapsed_ns: u64, processes: &[String]) -> String {
    let moved = [("read", disk.read_bytes), ("wrote", disk.write_bytes)];
    let moved = moved.iter().filter(|(_, bytes)| *bytes > 0);
    let moved: Vec<String> = moved
        .map(|(verb, bytes)| format!("{verb} {}", Bytes(*bytes)))
        .collect();
    let who = match processes.is_empty() {
        true => String::new(),
        false => format!("; busy then: {}", enumerate(processes)),
    };
    let name = &disk.name;
    format!(
        "others {} on {name} in {}{who}",
        enumerate(&moved),
        Nanos(elapsed_ns)
    )
}

fn power_in_words(how: PowerKind, device: &str, value: &str) -> String {
    match how {
        PowerKind::Runtime => format!("{device} may sleep when it is idle"),
        PowerKind::UsbAutosuspend => format!("the USB device {device} may sleep when it is idle"),
        PowerKind::NvmeApst => format!(
            "{device} may change to states of less power, as far as that costs no more than {value} \
             µs"
        ),
        PowerKind::PcieAspm => format!("links of PCIe may sleep: {value}"),
        PowerKind::SataLink => format!("the SATA link {device} may sleep: {value}"),
    }
}

fn dirty_limits_in_words(background: Option<Bytes>, limit: Option<Bytes>) -> String {
    let background = background.map(|bytes| format!("written in the background from {bytes} on"));
    let limit = limit.map(|bytes| format!("writers held up from {bytes} on"));
    let known: Vec<String> = [background, limit].into_iter().flatten().collect();
    format!(
        "limits of dirty pages are not the usual ones: {}",
        known.join(", ")
    )
}

/// Returns the effect and the remedy.
fn reason(finding: &Finding) -> (&'static str, String) {
    let fixed = match finding {
        Finding::Memory { .. } => (
            "figures are those of memory",
            "choose a path on the storage you mean",
        ),
        Finding::UnknownDevice { .. } => (
            "no counter shows what reached the device: labels are unknown",
            "measure where the device is, or give the block device",
        ),
        Finding::NotWritable { .. } => (
            "only reads of existing files can be measured",
            "choose a folder that this user may write, or free the device",
        ),
        Finding::LoopDevice { .. } => (
            "what is labelled device is the loop device, not the storage beneath it",
            "measure that, or set losetup --direct-io=on",
        ),
        Finding::IostatsOff { .. } => (
            "no counter shows how much reached the device: labels are unknown",
            "write 1 to queue/iostats of the disk",
        ),
        Finding::FlushesDropped { .. } => (
            "data that was flushed may be lost in a power cut, and flushes look free",
            "write 'write back' to queue/write_cache of the disk",
        ),
        Finding::NoBarriers { .. } => (
            "flushes of files do not reach the device, and look free",
            "mount it without that option",
        ),
        Finding::OthersIo { .. } => (
            "figures include I/O of others, which the evidence cannot always separate",
            "stop these processes, or measure another device",
        ),
        Finding::IoLimit { .. } => (
            "what is measured may be the limit",
            "run it outside of that control group",
        ),
        Finding::BusyCpu { .. } => (
            "small I/Os wait for a processor",
            "stop what is running, or wait",
        ),
        Finding::DirtyPages { .. } => (
            "they are written while something else is measured",
            "run sync, and wait for it",
        ),
        Finding::NoRoot => (
            "page caches cannot be dropped, and counters, modes of buses, health and other \
             users of the device are not all seen",
            "run it as root",
        ),
        Finding::LittleRoom { .. } => (
            "a small test file fits into caches of device and memory",
            "make room, or choose another file system",
        ),
        Finding::NearlyFull { .. } => (
            "flash is slower when few blocks are free, and new files are broken up",
            "make room, or say how full it was",
        ),
        Finding::SwapOnDevice { .. } => (
            "the kernel may read and write it at any time",
            "swapoff it while something is measured",
        ),
        Finding::Swapping { .. } => (
            "running programs may wait for it",
            "give the machine more free memory",
        ),
        Finding::NoDiscard { .. } => (
            "the flash keeps blocks of removed files until they are trimmed: writes may be slower \
             than on a fresh one",
            "run fstrim before a measurement, or assay sweep --trim",
        ),
        Finding::OnlineDiscard { .. } => (
            "removing files costs time of the device, also after the removal",
            "wait after files were removed, or mount it without",
        ),
        Finding::Encrypted { .. } => (
            "figures include the cost of encryption",
            "measure below it to know the device's own speed",
        ),
        Finding::Compressed { .. } => (
            "contents that can be compressed look faster than the device is; assay writes such \
             that cannot",
            "keep contents random, or mount it without",
        ),
        Finding::SlowBus { .. } => (
            "figures near the bus's ceiling are those of the bus",
            "use a faster port, cable or mode, or state the bus with the figures",
        ),
        Finding::Worn { .. } => (
            "speed and reliability fall with wear",
            "compare with a fresh device; do not trust data to this one",
        ),
        Finding::CacheOff { .. } => (
            "small writes are slower than with it, and flushes cost nothing",
            "state it with the figures",
        ),
        Finding::Governor { .. } => (
            "latencies depend on how busy the processor was before",
            "cpupower frequency-set -g performance, or assay sweep --vary governor=...",
        ),
        Finding::FrequencyLimit { .. } => (
            "fast storage waits for the processor",
            "raise scaling_max_freq, unless that is meant",
        ),
        Finding::Throttled { .. } | Finding::Hot { .. } => (
            "figures fall while it lasts",
            "cool it, or pause between trials (assay sweep --temperature)",
        ),
        Finding::WasThrottled { .. } => (
            "it may happen again under load",
            "watch temperatures of a long measurement",
        ),
        Finding::OldKernel { .. } => (
            "there is less evidence, or an engine is missing",
            "read what labels say; use a newer kernel if it matters",
        ),
        Finding::MissingFacility { facility, .. } => missing_in_words(*facility),
        Finding::ClockSource { better, .. } => {
            let why =
                "reading the clock costs microseconds, or is coarse: small latencies are wrong";
            return match better {
                Some(better) => (
                    why,
                    format!("write {better} to current_clocksource of clocksource0"),
                ),
                None => (why, "do not believe latencies of microseconds".to_owned()),
            };
        }
        Finding::PowerSaving { how, file, .. } => return power_reason(*how, file),
        Finding::LaptopMode => (
            "the kernel gathers writes and does them at once",
            "write 0 to /proc/sys/vm/laptop_mode",
        ),
        Finding::DirtyLimits { .. } => (
            "buffered writes are held up, or stay in memory, at other amounts than elsewhere",
            "state it with figures of buffered writes",
        ),
        Finding::MemoryLimit { .. } => (
            "the page cache is smaller than the memory: buffered figures are those of the limit",
            "run it outside of that control group, or use direct I/O",
        ),
        Finding::CpuLimit { .. } => (
            "I/O stands still when the time is used up",
            "run it outside of that control group",
        ),
        Finding::Container { .. } => (
            "devices, processes and limits outside of it are not all seen",
            "run it on the machine itself if labels are unknown",
        ),
        Finding::VirtualMachine { .. } => (
            "its host may cache and share the storage: device means what the host shows",
            "measure on the host to know the device",
        ),
    };
    (fixed.0, fixed.1.to_owned())
}

const fn missing_in_words(facility: Facility) -> (&'static str, &'static str) {
    match facility {
        Facility::IoUring => (
            "jobs of that engine fail, and those of qualify use libaio",
            "set kernel.io_uring_disabled to 0, or allow its calls in the container's seccomp \
             profile",
        ),
        Facility::Libaio => (
            "jobs of that engine fail",
            "use a kernel with AIO, or allow its calls in the container's seccomp profile",
        ),
        Facility::Cachestat => (
            "dirty pages of a file are not known, and cached ones only to its owner",
            "use Linux 6.5 or newer, or allow the call in the container's seccomp profile",
        ),
        Facility::DropCaches => (
            "--drop-caches fails",
            "run it outside of the container, or with a writable /proc/sys",
        ),
        Facility::BlockEvents => (
            "block requests cannot be recorded here for assay replay",
            "mount -t tracefs tracefs /sys/kernel/tracing, on a kernel with block events",
        ),
    }
}

fn power_reason(how: PowerKind, file: &str) -> (&'static str, String) {
    match how {
        PowerKind::Runtime => (
            "the first I/O after a pause waits until it is awake",
            format!("write on to {file} to keep it awake"),
        ),
        PowerKind::UsbAutosuspend => (
            "the first I/O after a pause waits until it is awake, which takes tens of milliseconds",
            format!("write on to {file} to keep it awake"),
        ),
        PowerKind::NvmeApst => (
            "the first I/O after a pause is slower, and latencies at low rates are too",
            format!("write 0 to {file} to keep it at full power"),
        ),
        PowerKind::PcieAspm => (
            "single I/Os wait until links are awake",
            format!("write performance to {file}"),
        ),
        PowerKind::SataLink => (
            "single I/Os wait until the link is awake",
            format!("write max_performance to {file}"),
        ),
    }
}

#[cfg(test)]
mod tests;
