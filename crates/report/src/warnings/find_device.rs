//! Warnings about the device: what is beneath it, its wear, its bus.

use super::Warning;
use crate::summary::Summary;
use crate::text::clean;
use assay_lang::tr;
use assay_model::storage::{DeviceIdentity, DeviceKind, Layer};
use std::ops::RangeInclusive;

/// JEDEC (eMMC 5.0 `DEVICE_LIFE_TIME_EST`, UFS `bDeviceLifeTimeEst`): 0x09 is
/// 80 to 90 % of the life used, 0x0b is exceeded; others are reserved.
const LIFE_USED: RangeInclusive<u64> = 0x09..=0x0b;

/// All of them.
pub fn all(summary: &Summary<'_>) -> Vec<Warning> {
    let layers = &summary.run.header.storage.layers;
    let mut found: Vec<Warning> = layers.iter().filter_map(loop_device).collect();
    found.extend(layers.iter().filter_map(worn));
    found.extend(layers.iter().filter_map(slow_bus));
    found
}

/// Unless it reads and writes its file past the page cache (`loop/dio`).
fn loop_device(layer: &Layer) -> Option<Warning> {
    let file = layer.cached_file()?;
    Some(Warning::Loop {
        name: clean(&layer.name),
        file: clean(&file.to_string_lossy()),
    })
}

fn worn(layer: &Layer) -> Option<Warning> {
    let identity = &layer.identity;
    let mut state = Vec::new();
    if life_used(identity) {
        state.push(match &identity.life_time {
            Some(words) => tr!("life time {words}", words = clean(words)),
            None => tr!("more than 80 % of its life time is used").to_owned(),
        });
    }
    let reserves = identity.pre_eol.as_deref();
    if let Some(level @ ("warning" | "urgent")) = reserves {
        state.push(tr!("reserved blocks: {level}", level));
    }
    (!state.is_empty()).then(|| Warning::Worn {
        device: clean(&layer.name),
        state: state.join(", "),
    })
}

fn life_used(identity: &DeviceIdentity) -> bool {
    let estimates = identity
        .raw
        .iter()
        .filter(|(key, _)| key.contains("life_time"));
    estimates
        .flat_map(|(_, value)| value.split_whitespace())
        .filter_map(|estimate| u64::from_str_radix(estimate.trim_start_matches("0x"), 16).ok())
        .any(|estimate| LIFE_USED.contains(&estimate))
}

fn slow_bus(layer: &Layer) -> Option<Warning> {
    let identity = &layer.identity;
    let bus = slow_usb(identity)
        .or_else(|| slow_card(identity))
        .or_else(|| slow_pcie(identity))?;
    Some(Warning::SlowBus {
        device: clean(&layer.name),
        bus: clean(&bus),
    })
}

/// A USB link of at most 480 Mbit/s.
fn slow_usb(identity: &DeviceIdentity) -> Option<String> {
    let speed = identity.raw.get("speed").map(|speed| speed.trim())?;
    let slow = identity.kind == DeviceKind::Usb && speed.parse::<f64>().ok()? <= 480.0;
    slow.then(|| tr!("USB at {speed} Mbit/s", speed))
}

/// Modes that every eMMC since 4.5 and every SD card since 1.1 exceeds.
fn slow_card(identity: &DeviceIdentity) -> Option<String> {
    let bus = identity.bus.as_ref()?;
    let slow = match identity.kind {
        DeviceKind::Emmc => bus.starts_with("legacy") || bus.starts_with("high-speed"),
        DeviceKind::Sd => bus.starts_with("legacy"),
        _ => false,
    };
    slow.then(|| bus.clone())
}

/// A PCIe link that is narrower or slower than device and slot allow.
fn slow_pcie(identity: &DeviceIdentity) -> Option<String> {
    let get = |key| identity.raw.get(key).map(String::as_str);
    let (speed, width) = (get("current_link_speed")?, get("current_link_width")?);
    let (most_speed, most_width) = (get("max_link_speed")?, get("max_link_width")?);
    // A link that the kernel knows nothing of, as in virtual machines.
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
