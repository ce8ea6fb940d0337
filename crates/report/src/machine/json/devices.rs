//! Disks of a machine, and findings about it, as JSON: `docs/devices.md` describes both.

use super::{LayerPart, SystemPart, text};
use crate::machine::parts::parts;
use crate::results::checkup::words;
use crate::words::registers;
use assay_lang::in_english;
use assay_model::checkup::{Checkup, Finding};
use assay_model::device::{Ceiling, DeviceList, ListedDevice, MountedPart, ceiling};
use assay_model::storage::Mount;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Version of the document; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;
/// Version of the document of findings.
const DOCTOR_SCHEMA: u32 = 1;

parts! {
    struct DevicePart<'a> of (device: &'a ListedDevice) {
        { let identity = &device.layer.identity; }
        #[serde(flatten)]
        layer: LayerPart<'a> = LayerPart::of(&device.layer),
        ceiling: Option<CeilingPart> = ceiling(identity).map(CeilingPart::of),
        health: Option<String> = registers::wear_in_words(identity),
        problems: Vec<String> = registers::problems(identity),
        registers: BTreeMap<&'static str, String> =
            registers::facts(identity).into_iter().collect(),
        partitions: &'a [String] = &device.partitions,
        mounted: Vec<MountedJson<'a>> = device.mounted.iter().map(MountedJson::of).collect(),
        in_use: &'a [String] = &device.in_use,
    }

    struct CeilingPart of (ceiling: Ceiling) {
        read_bytes_per_sec: f64 = ceiling.read,
        write_bytes_per_sec: f64 = ceiling.write,
    }

    struct MountedJson<'a> of (part: &'a MountedPart) {
        device: &'a str = &part.device,
        #[serde(flatten)]
        mount: &'a Mount = &part.mount,
        available_bytes: Option<u64> = part.available.map(|bytes| bytes.0),
        writable: bool = part.writable,
    }

    struct FindingPart<'a> of (finding: &'a Finding) {
        { let words = words(finding); }
        severity: &'static str = finding.severity().name(),
        what: String = words.what,
        why: &'static str = words.why,
        remedy: String = words.remedy,
        #[serde(flatten)]
        data: &'a Finding = finding,
    }
}

/// Converts the disks to one JSON object.
pub fn devices(list: &DeviceList, target: Option<&str>) -> Value {
    in_english(|| {
        json!({
            "schema": SCHEMA,
            "target": target,
            "system": SystemPart::of(&list.system),
            "devices": list.devices.iter().map(DevicePart::of).collect::<Vec<_>>(),
        })
    })
}

/// Converts the findings about a machine to one JSON object. `checkup` is `None` if the machine
/// could not be examined.
pub fn doctor(checkup: Option<&Checkup>, findings: &[Finding], target: Option<&str>) -> Value {
    let place = checkup.and_then(|checkup| checkup.place.as_ref());
    in_english(|| {
        json!({
            "schema": DOCTOR_SCHEMA,
            "target": target,
            "path": place.map(|place| text(&place.path)),
            "system": checkup.map(|checkup| SystemPart::of(&checkup.system)),
            "findings": findings.iter().map(FindingPart::of).collect::<Vec<_>>(),
        })
    })
}
