//! Findings about the machine.

use assay_model::checkup::{Checkup, DiskUse, Facility, Finding, Others, SwapArea};
use assay_model::evidence::ProcessIo;
use assay_model::storage::Layer;
use assay_model::units::Bytes;

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
pub(super) fn all(checkup: &Checkup) -> Vec<Finding> {
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
