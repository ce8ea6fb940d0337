//! A run as JSON. `docs/json.md` describes every field; its version is
//! [`SCHEMA`].
//!
//! The types here are the schema: field names and units are those that other
//! programs read, so they do not follow the stored records when those change.
//! What is absent is `null` or missing, never 0.

mod comparison;
mod devices;
mod evidence;
mod layout;
mod series;
#[cfg(test)]
mod tests;
mod trial;

use crate::results::derived::Derived;
use crate::results::population::Standings;
use crate::results::reference as placed;
use crate::results::stopping::settled_at;
use crate::results::summary::Summary;
use crate::results::tails::{self, JobTail, Operation};
use crate::words::format::civil_from_days;
use assay_lang::in_english;
use assay_model::run::{Builds, Run, RunStatus};
use assay_model::storage::{Backing, DeviceIdentity, DeviceKind, Layer, LayerRole, Mount, Storage};
use assay_model::system::System;
use assay_model::verdict::Side;
use assay_trace::describe::Description;
use layout::Layout;
use serde::Serialize;
use serde_json::{Serializer, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use trial::TrialPart;

pub use comparison::{comparison, line, power, ranking};
pub use devices::{devices, doctor};
pub use series::{ChangeEntry, PointEntry, SeriesEntry, news, series, trend};

/// Version of the schema: rises when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// The run as one JSON object.
pub fn run(run: &Run) -> Value {
    let document =
        || serde_json::to_value(RunDocument::of(run, &Derived::all(run), Without::Nothing));
    in_english(document).expect("the document has only text keys and no serializer that can fail")
}

/// Writes the run as one indented JSON object with a line feed at its end.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    write_among(run, None, out)
}

/// Writes the run with its place among other units of its kind.
///
/// # Errors
/// As [`write()`].
pub fn write_among(
    run: &Run,
    standings: Option<&Standings>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(&mut *out, Layout::default());
    in_english(|| {
        let mut document = RunDocument::of(run, &Derived::all(run), Without::Nothing);
        document.population = standings;
        document.serialize(&mut serializer)
    })?;
    writeln!(out)
}

/// Parts of each trial to leave out if space is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// Nothing.
    Nothing,
    /// The series over time.
    Series,
    /// The series, the distributions of latency, and the evidence.
    Details,
}

/// Writes the run as [`write()`] does, in one line, from what is derived already (in
/// English); what is left out is `null`.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_without(
    run: &Run,
    derived: &[Rc<Derived>],
    without: Without,
    out: &mut dyn Write,
) -> io::Result<()> {
    in_english(|| serde_json::to_writer(&mut *out, &RunDocument::of(run, derived, without)))?;
    writeln!(out)
}

#[derive(Serialize)]
struct RunDocument<'a> {
    schema: u32,
    run: RunPart<'a>,
    system: SystemPart<'a>,
    device: DevicePart<'a>,
    tails: Vec<TailPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<LimitsPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    population: Option<&'a Standings>,
    trials: Vec<TrialPart<'a>>,
}

impl<'a> RunDocument<'a> {
    fn of(run: &'a Run, derived: &[Rc<Derived>], without: Without) -> Self {
        let trials = run.trials.iter().zip(derived);
        Self {
            schema: SCHEMA,
            run: RunPart::of(run),
            system: SystemPart::of(&run.header.system),
            device: DevicePart::of(&run.header.storage),
            tails: TailPart::all(run),
            limits: LimitsPart::of(&Summary::with(run, derived)),
            population: None,
            trials: trials
                .map(|(record, derived)| TrialPart::of(record, derived, without))
                .collect(),
        }
    }
}

/// Percentiles over the trials of a job.
#[derive(Serialize)]
struct TailPart<'a> {
    job: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    operation: Operation,
    percentile: f64,
    trials: usize,
    operations: u64,
    pooled_ns: u64,
    independent_ci95_ns: Option<(u64, u64)>,
    trial_gmean_ns: Option<f64>,
    worst_trial_ns: Option<u64>,
}

impl<'a> TailPart<'a> {
    fn all(run: &'a Run) -> Vec<Self> {
        tails::of_run(run).into_iter().map(Self::of).collect()
    }

    fn of(found: JobTail<'a>) -> Self {
        let tail = found.tail;
        Self {
            job: found.job,
            condition: found.condition,
            operation: found.operation,
            percentile: tail.percentile.percent(),
            trials: tail.trials,
            operations: tail.operations,
            pooled_ns: tail.pooled_ns,
            independent_ci95_ns: tail.independent_interval_ns,
            trial_gmean_ns: tail.each.map(|each| each.geometric_mean_ns),
            worst_trial_ns: tail.each.map(|each| each.worst_ns),
        }
    }
}

/// Maximum rate of the bus, and the figures compared with it and with a datasheet.
#[derive(Serialize)]
struct LimitsPart {
    bus: Option<Value>,
    placed: Vec<placed::Placed>,
}

impl LimitsPart {
    /// `None` where there is nothing to compare.
    fn of(summary: &Summary<'_>) -> Option<Self> {
        let placed = placed::all(summary);
        if placed.is_empty() {
            return None;
        }
        let bus = placed::bus(summary).map(|bus| {
            json!({
                "bus": bus.ceiling.bus,
                "mode": bus.ceiling.mode,
                "given": bus.given,
                "nominal_bytes_per_s": bus.ceiling.nominal,
                "read_bytes_per_s": bus.ceiling.read,
                "write_bytes_per_s": bus.ceiling.write,
                "formula": bus.ceiling.formula,
                "source": bus.ceiling.source,
            })
        });
        Some(Self { bus, placed })
    }
}

#[derive(Serialize)]
struct RunPart<'a> {
    id: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    started: String,
    finished: Option<String>,
    command: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
    assay_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    builds: Option<&'a Builds>,
    seed: String,
    path: String,
    file_size_bytes: u64,
    trials_planned: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    looks: Option<LooksPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paired: Option<PairedPart<'a>>,
}

/// When the figures were looked at.
#[derive(Serialize)]
struct LooksPart<'a> {
    at: &'a [u32],
    alpha: f64,
    margin_pct: f64,
    settled_at: Option<u32>,
}

/// The run that it took turns with.
#[derive(Serialize)]
struct PairedPart<'a> {
    with: &'a str,
    side: Side,
    places: &'a [u32],
}

impl<'a> RunPart<'a> {
    fn of(run: &'a Run) -> Self {
        let header = &run.header;
        Self {
            id: &header.id,
            status: run.status.word(),
            error: match &run.status {
                RunStatus::Failed { error } => Some(error),
                _ => None,
            },
            started: rfc3339(header.started_unix_ms),
            finished: run.finished_unix_ms.map(rfc3339),
            command: &header.command,
            target: header.target.as_deref(),
            unit: header.unit.as_deref(),
            project: header.project.as_deref(),
            assay_version: &header.assay_version,
            builds: header.builds.as_ref(),
            seed: header.plan.seed.to_string(),
            path: text(header.plan.place.path()),
            file_size_bytes: header.plan.file_size.0,
            trials_planned: header.plan.order.len(),
            conditions: header
                .plan
                .conditions
                .iter()
                .map(|condition| condition.name.as_str())
                .collect(),
            looks: header.stopping.looks.as_ref().map(|looks| LooksPart {
                at: &looks.at,
                alpha: looks.alpha,
                margin_pct: 100.0 * looks.margin,
                settled_at: settled_at(run),
            }),
            budget_ns: header.stopping.budget.map(|budget| budget.0),
            paired: header.paired.as_ref().map(|paired| PairedPart {
                with: &paired.with,
                side: paired.side,
                places: &paired.places,
            }),
        }
    }
}

#[derive(Serialize)]
struct SystemPart<'a> {
    hostname: Option<&'a str>,
    kernel: &'a str,
    machine: &'a str,
    os: Option<&'a str>,
    board: Option<&'a str>,
    cpu_model: Option<&'a str>,
    cpus: u32,
    memory_bytes: u64,
    page_size_bytes: u64,
    clocksource: Option<&'a str>,
    root: bool,
}

impl<'a> SystemPart<'a> {
    fn of(system: &'a System) -> Self {
        Self {
            hostname: system.hostname.as_deref(),
            kernel: &system.kernel,
            machine: &system.machine,
            os: system.os.as_deref(),
            board: system.board.as_deref(),
            cpu_model: system.cpu_model.as_deref(),
            cpus: system.cpus,
            memory_bytes: system.memory.0,
            page_size_bytes: system.page_size.0,
            clocksource: system.clocksource.as_deref(),
            root: system.root,
        }
    }
}

/// The device under test: of a partition, the identity of its disk.
#[derive(Serialize)]
struct DevicePart<'a> {
    name: Option<&'a str>,
    disk: Option<&'a str>,
    #[serde(flatten)]
    identity: Option<IdentityPart<'a>>,
    size_bytes: Option<u64>,
    path: String,
    total_bytes: Option<u64>,
    available_bytes: Option<u64>,
    backing: &'a Backing,
    mount: Option<&'a Mount>,
    layers: Vec<LayerPart<'a>>,
}

impl<'a> DevicePart<'a> {
    fn of(storage: &'a Storage) -> Self {
        let device = storage.device();
        Self {
            name: storage.top().map(|layer| layer.name.as_str()),
            disk: device.map(|layer| layer.name.as_str()),
            identity: device.map(|layer| IdentityPart::of(&layer.identity)),
            size_bytes: device.and_then(|layer| layer.size).map(|size| size.0),
            path: text(&storage.path),
            total_bytes: storage.total.map(|bytes| bytes.0),
            available_bytes: storage.available.map(|bytes| bytes.0),
            backing: &storage.backing,
            mount: storage.mount.as_ref(),
            layers: storage.layers.iter().map(LayerPart::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct LayerPart<'a> {
    name: &'a str,
    role: LayerRole,
    parent: Option<&'a str>,
    other_parents: &'a [String],
    major: u32,
    minor: u32,
    size_bytes: Option<u64>,
    backing_file: Option<String>,
    #[serde(flatten)]
    identity: IdentityPart<'a>,
}

impl<'a> LayerPart<'a> {
    fn of(layer: &'a Layer) -> Self {
        Self {
            name: &layer.name,
            role: layer.role,
            parent: layer.parent.as_deref(),
            other_parents: &layer.other_parents,
            major: layer.major,
            minor: layer.minor,
            size_bytes: layer.size.map(|size| size.0),
            backing_file: layer.backing_file.as_deref().map(text),
            identity: IdentityPart::of(&layer.identity),
        }
    }
}

#[derive(Serialize)]
struct IdentityPart<'a> {
    kind: &'a DeviceKind,
    model: Option<&'a str>,
    vendor: Option<&'a str>,
    serial: Option<&'a str>,
    firmware: Option<&'a str>,
    date: Option<&'a str>,
    cid: Option<&'a str>,
    life_time: Option<&'a str>,
    pre_eol: Option<&'a str>,
    bus: Option<&'a str>,
    rotational: Option<bool>,
    removable: Option<bool>,
    logical_block_bytes: Option<u64>,
    physical_block_bytes: Option<u64>,
    raw: &'a BTreeMap<String, String>,
}

impl<'a> IdentityPart<'a> {
    fn of(identity: &'a DeviceIdentity) -> Self {
        Self {
            kind: &identity.kind,
            model: identity.model.as_deref(),
            vendor: identity.vendor.as_deref(),
            serial: identity.serial.as_deref(),
            firmware: identity.firmware.as_deref(),
            date: identity.date.as_deref(),
            cid: identity.cid.as_deref(),
            life_time: identity.life_time.as_deref(),
            pre_eol: identity.pre_eol.as_deref(),
            bus: identity.bus.as_deref(),
            rotational: identity.rotational,
            removable: identity.removable,
            logical_block_bytes: identity.logical_block.map(|bytes| bytes.0),
            physical_block_bytes: identity.physical_block.map(|bytes| bytes.0),
            raw: &identity.raw,
        }
    }
}

/// Properties of recordings, each with its name, as one JSON object.
pub fn recordings(all: &[(String, Description)]) -> Value {
    /// Version of this document.
    const SCHEMA: u32 = 1;
    let traces = all.iter().map(|(name, description)| {
        let mut value = json!(description);
        value["trace"] = json!(name);
        value
    });
    json!({ "schema": SCHEMA, "traces": traces.collect::<Vec<_>>() })
}

/// A path as text; bytes that are not UTF-8 become U+FFFD, because JSON has
/// no way to write them.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A moment as RFC 3339, UTC, with milliseconds: `2026-11-03T14:05:09.250Z`.
pub fn rfc3339(unix_ms: u64) -> String {
    let seconds = unix_ms / 1_000;
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    let (second, millisecond) = (seconds % 60, unix_ms % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}
