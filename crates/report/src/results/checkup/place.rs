//! Findings about the storage.

use crate::results::warnings::slow_bus;
use crate::words::registers;
use crate::words::registers::{controller_of, ext_csd_of};
use assay_model::checkup::{Checkup, Finding};
use assay_model::device::CardMode;
use assay_model::evidence::{QueueSettings, WriteCache};
use assay_model::storage::{Backing, DeviceIdentity, DeviceKind, Layer, Mount, Storage};
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};

/// Free space that a test file of the usual size needs.
const LITTLE_ROOM: Bytes = Bytes::gib(1);
/// Filled share at which flash has few free blocks and a file system fragments files, in percent.
const NEARLY_FULL_PERCENT: u64 = 90;
/// File systems that support discard.
const DISCARDING: [&str; 6] = ["ext4", "f2fs", "xfs", "btrfs", "vfat", "exfat"];
/// Mount options that prevent flushes of the device.
const NO_BARRIERS: [&str; 3] = ["nobarrier", "barrier=0", "fsync_mode=nobarrier"];

/// Returns all findings about the test location; empty without a path.
pub(super) fn all(checkup: &Checkup) -> Vec<Finding> {
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
