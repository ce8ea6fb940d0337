//! Finds warnings about the device: the layers below it, its wear, its bus.

use super::Warning;
use crate::results::summary::Summary;
use crate::words::{clean, registers};
use assay_lang::tr;
use assay_model::evidence::WriteCache;
use assay_model::storage::{DeviceIdentity, DeviceKind, Layer};
use assay_model::trial::TrialRecord;

/// Returns all warnings about the device.
pub fn all(summary: &Summary<'_>) -> Vec<Warning> {
    let layers = &summary.run.header.storage.layers;
    let mut found: Vec<Warning> = layers.iter().filter_map(loop_device).collect();
    found.extend(
        layers
            .iter()
            .filter_map(|layer| forced_write_through(layer, summary)),
    );
    found.extend(layers.iter().filter_map(worn));
    found.extend(layers.iter().filter_map(of_bus));
    found
}

/// Warns about a loop device, unless it does direct I/O to its file (`loop/dio`).
fn loop_device(layer: &Layer) -> Option<Warning> {
    let file = layer.cached_file()?;
    Some(Warning::Loop {
        name: clean(&layer.name),
        file: clean(&file.to_string_lossy()),
    })
}

/// Warns about a loop device without a volatile cache. The kernel gives each writable loop device
/// one when it is set up (`loop_update_limits`), independent of the storage of its file. Since
/// Linux 6.11 a changed setting remains in force after the command that changed it.
fn forced_write_through(layer: &Layer, summary: &Summary<'_>) -> Option<Warning> {
    let through = |record: &TrialRecord| {
        let written = record.measured.as_ref().is_some_and(|m| m.write.bytes > 0);
        let queues = record.evidence.iter().flat_map(|evidence| &evidence.queues);
        let mut queues = queues.filter(|queue| queue.name == layer.name);
        written && queues.any(|queue| queue.write_cache == Some(WriteCache::Through))
    };
    let mut trials = summary.jobs.iter().flat_map(|job| &job.trials);
    let forced =
        layer.identity.kind == DeviceKind::Loop && trials.any(|trial| through(trial.record));
    forced.then(|| Warning::ForcedWriteThrough {
        name: clean(&layer.name),
    })
}

fn worn(layer: &Layer) -> Option<Warning> {
    let state = registers::problems(&layer.identity);
    (!state.is_empty()).then(|| Warning::Worn {
        device: clean(&layer.name),
        state: state.join(", "),
    })
}

fn of_bus(layer: &Layer) -> Option<Warning> {
    Some(Warning::SlowBus {
        device: clean(&layer.name),
        bus: clean(&slow_bus(&layer.identity)?),
    })
}

/// Describes a bus that is slower than nearly all devices of its kind.
pub fn slow_bus(identity: &DeviceIdentity) -> Option<String> {
    slow_usb(identity)
        .or_else(|| slow_card(identity))
        .or_else(|| slow_pcie(identity))
}

/// Describes a USB link of at most 480 Mbit/s.
fn slow_usb(identity: &DeviceIdentity) -> Option<String> {
    let speed = identity.raw.get("speed").map(|speed| speed.trim())?;
    let slow = identity.kind == DeviceKind::Usb && speed.parse::<f64>().ok()? <= 480.0;
    slow.then(|| tr!("USB at {speed} Mbit/s", speed))
}

/// Describes a mode that every eMMC since 4.5 and every SD card since 1.1 exceeds.
fn slow_card(identity: &DeviceIdentity) -> Option<String> {
    let bus = identity.bus.as_ref()?;
    let slow = match identity.kind {
        DeviceKind::Emmc => bus.starts_with("legacy") || bus.starts_with("high-speed"),
        DeviceKind::Sd => bus.starts_with("legacy"),
        _ => false,
    };
    slow.then(|| bus.clone())
}

/// Describes a PCIe link that is narrower or slower than device and slot allow.
fn slow_pcie(identity: &DeviceIdentity) -> Option<String> {
    let get = |key| identity.raw.get(key).map(String::as_str);
    let (speed, width) = (get("current_link_speed")?, get("current_link_width")?);
    let (most_speed, most_width) = (get("max_link_speed")?, get("max_link_width")?);
    // The kernel does not know the link, for example in a virtual machine.
    if [speed, most_speed]
        .iter()
        .any(|speed| speed.starts_with("Unknown"))
    {
        return None;
    }
    (speed != most_speed || width != most_width).then(|| {
        tr!(
            "PCIe {speed} x{width} of {most_speed} x{most_width}",
            speed,
            width,
            most_speed,
            most_width
        )
    })
}
