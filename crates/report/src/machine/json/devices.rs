//! The disks of a machine, and findings about it, as JSON: `docs/devices.md` describes both.

use super::{LayerPart, SystemPart, text};
use crate::results::checkup::words;
use crate::words::{health, registers};
use assay_lang::in_english;
use assay_model::checkup::{Checkup, Finding};
use assay_model::device::bus::ceiling;
use assay_model::device::{DeviceList, ListedDevice, MountedPart};
use assay_model::storage::Mount;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Version of the document: rises when a field changes its meaning or goes.
const SCHEMA: u32 = 1;
/// The same of findings.
const DOCTOR_SCHEMA: u32 = 1;

#[derive(Serialize)]
struct DevicesDocument<'a> {
    schema: u32,
    target: Option<&'a str>,
    system: SystemPart<'a>,
    devices: Vec<DevicePart<'a>>,
}

#[derive(Serialize)]
struct DevicePart<'a> {
    #[serde(flatten)]
    layer: LayerPart<'a>,
    ceiling: Option<CeilingPart>,
    health: Option<String>,
    problems: Vec<String>,
    registers: BTreeMap<&'static str, String>,
    partitions: &'a [String],
    mounted: Vec<MountedJson<'a>>,
    in_use: &'a [String],
}

#[derive(Serialize)]
struct CeilingPart {
    read_bytes_per_sec: f64,
    write_bytes_per_sec: f64,
}

#[derive(Serialize)]
struct MountedJson<'a> {
    device: &'a str,
    #[serde(flatten)]
    mount: &'a Mount,
    available_bytes: Option<u64>,
    writable: bool,
}

/// The disks as one JSON object.
pub fn devices(list: &DeviceList, target: Option<&str>) -> Value {
    in_english(|| whole(list, target))
}

fn whole(list: &DeviceList, target: Option<&str>) -> Value {
    let document = DevicesDocument {
        schema: SCHEMA,
        target,
        system: SystemPart::of(&list.system),
        devices: list.devices.iter().map(DevicePart::of).collect(),
    };
    serde_json::to_value(document)
        .expect("the document has only text keys and no serializer that can fail")
}

impl<'a> DevicePart<'a> {
    fn of(device: &'a ListedDevice) -> Self {
        let identity = &device.layer.identity;
        Self {
            layer: LayerPart::of(&device.layer),
            ceiling: ceiling(identity).map(|it| CeilingPart {
                read_bytes_per_sec: it.read,
                write_bytes_per_sec: it.write,
            }),
            health: health::wear_in_words(identity),
            problems: health::problems(identity),
            registers: registers::facts(identity).into_iter().collect(),
            partitions: &device.partitions,
            mounted: device.mounted.iter().map(MountedJson::of).collect(),
            in_use: &device.in_use,
        }
    }
}

impl<'a> MountedJson<'a> {
    fn of(part: &'a MountedPart) -> Self {
        Self {
            device: &part.device,
            mount: &part.mount,
            available_bytes: part.available.map(|bytes| bytes.0),
            writable: part.writable,
        }
    }
}

#[derive(Serialize)]
struct DoctorDocument<'a> {
    schema: u32,
    target: Option<&'a str>,
    path: Option<String>,
    system: Option<SystemPart<'a>>,
    findings: Vec<FindingPart<'a>>,
}

#[derive(Serialize)]
struct FindingPart<'a> {
    severity: &'static str,
    what: String,
    why: &'static str,
    remedy: String,
    #[serde(flatten)]
    data: &'a Finding,
}

/// The findings about a machine as one JSON object; without a checkup, if nothing could look at it.
pub fn doctor(checkup: Option<&Checkup>, findings: &[Finding], target: Option<&str>) -> Value {
    in_english(|| doctor_whole(checkup, findings, target))
}

fn doctor_whole(checkup: Option<&Checkup>, findings: &[Finding], target: Option<&str>) -> Value {
    let findings = findings.iter().map(|finding| {
        let words = words(finding);
        FindingPart {
            severity: finding.severity().name(),
            what: words.what,
            why: words.why,
            remedy: words.remedy,
            data: finding,
        }
    });
    let document = DoctorDocument {
        schema: DOCTOR_SCHEMA,
        target,
        path: checkup
            .and_then(|checkup| checkup.place.as_ref())
            .map(|place| text(&place.path)),
        system: checkup.map(|checkup| SystemPart::of(&checkup.system)),
        findings: findings.collect(),
    };
    serde_json::to_value(document)
        .expect("the document has only text keys and no serializer that can fail")
}
