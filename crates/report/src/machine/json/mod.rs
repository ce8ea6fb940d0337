//! A run as JSON. `docs/json.md` describes every field of version [`SCHEMA`].
//!
//! The types here define the schema: their field names and units are those that other programs
//! read, so that changes of the stored records do not change them. Missing data is `null` or left
//! out, never 0. The disks of a machine, and findings about it, are in `docs/devices.md`.

mod comparison;
mod trial;

pub use comparison::{
    ChangeEntry, PointEntry, SeriesEntry, comparison, line, news, power, ranking, requirements,
    series, trend,
};

use crate::results::checkup::words;
use crate::results::derived::{Derived, JobTail, Operation, tails_of_run};
use crate::results::describe::settled_at;
use crate::results::population::Standings;
use crate::results::reference as placed;
use crate::results::summary::Summary;
use crate::words::{civil_from_days, registers};
use assay_lang::in_english;
use assay_model::checkup::{Checkup, Finding};
use assay_model::device::{Ceiling, DeviceList, ListedDevice, MountedPart, ceiling};
use assay_model::figures::Side;
use assay_model::run::{Builds, Looks, Paired, Run, RunStatus};
use assay_model::storage::{
    Backing, DeviceIdentity, DeviceKind, Layer, LayerRole, Mount, Storage, System,
};
use assay_trace::recording::Description;
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value, json};
use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use trial::TrialPart;

/// Version of the schema; rises when a field is removed or changes its meaning.
pub const SCHEMA: u32 = 1;

/// Converts the run to one JSON object.
pub fn run(run: &Run) -> Value {
    let document =
        || serde_json::to_value(RunDocument::of(run, &Derived::all(run), Without::Nothing));
    in_english(document).expect("the document has only text keys and no serializer that can fail")
}

/// Writes the run as one indented JSON object that ends in a line feed.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    write_among(run, None, out)
}

/// Writes the run with its rank among other units of its kind.
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

/// Writes the run like [`write()`], but on one line, and from derived results (in English). Parts
/// left out are `null`.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_without(
    run: &Run,
    derived: &[Rc<Derived>],
    without: Without,
    out: &mut dyn Write,
) -> io::Result<()> {
    in_english(|| serde_json::to_writer(&mut *out, &RunDocument::of(run, derived, without)))?;
    writeln!(out)
}

/// Declares JSON types, each with a constructor `of`: `struct Name of (arguments)` lists for each
/// field its type and its value, an expression of the arguments. The fields are written in this
/// order, with their serde attributes. `of` has the visibility of its type. Statements in braces
/// before the fields compute shared values:
///
/// ```text
/// parts! {
///     /// The device under test.
///     struct DevicePart<'a> of (storage: &'a Storage) {
///         { let device = storage.device(); }
///         disk: Option<&'a str> = device.map(|layer| layer.name.as_str()),
///         size_bytes: Option<u64> = device.and_then(|layer| layer.size).map(|size| size.0),
///         #[serde(skip_serializing_if = "Option::is_none")]
///         mount: Option<&'a Mount> = storage.mount.as_ref(),
///     }
/// }
/// let part = DevicePart::of(&storage);
/// ```
macro_rules! parts {
    ($(
        $(#[$about:meta])*
        $visibility:vis struct $name:ident $(<$life:lifetime>)? of ($($input:ident: $from:ty),+) {
            $({ $($first:tt)+ })?
            $($(#[$attribute:meta])* $field:ident: $kind:ty = $value:expr,)+
        }
    )+) => { $(
        $(#[$about])*
        #[derive(serde::Serialize)]
        $visibility struct $name $(<$life>)? {
            $($(#[$attribute])* $field: $kind,)+
        }

        impl $(<$life>)? $name $(<$life>)? {
            $visibility fn of($($input: $from),+) -> Self {
                $($($first)+)?
                Self { $($field: $value,)+ }
            }
        }
    )+ };
}

pub(crate) use parts;

parts! {
    struct RunDocument<'a> of (run: &'a Run, derived: &[Rc<Derived>], without: Without) {
        { let trials = run.trials.iter().zip(derived); }
        schema: u32 = SCHEMA,
        run: RunPart<'a> = RunPart::of(run),
        system: SystemPart<'a> = SystemPart::of(&run.header.system),
        device: DevicePart<'a> = DevicePart::of(&run.header.storage),
        tails: Vec<TailPart<'a>> = tails_of_run(run).into_iter().map(TailPart::of).collect(),
        #[serde(skip_serializing_if = "Option::is_none")]
        limits: Option<LimitsPart> = LimitsPart::of(&Summary::with(run, derived)),
        #[serde(skip_serializing_if = "Option::is_none")]
        population: Option<&'a Standings> = None,
        trials: Vec<TrialPart<'a>> =
            trials.map(|(record, derived)| TrialPart::of(record, derived, without)).collect(),
    }

    /// Percentiles over the trials of a job.
    struct TailPart<'a> of (found: JobTail<'a>) {
        { let tail = found.tail; }
        job: &'a str = found.job,
        #[serde(skip_serializing_if = "Option::is_none")]
        condition: Option<&'a str> = found.condition,
        operation: Operation = found.operation,
        percentile: f64 = tail.percentile.percent(),
        trials: usize = tail.trials,
        operations: u64 = tail.operations,
        pooled_ns: u64 = tail.pooled_ns,
        independent_ci95_ns: Option<(u64, u64)> = tail.independent_interval_ns,
        trial_gmean_ns: Option<f64> = tail.each.map(|each| each.geometric_mean_ns),
        worst_trial_ns: Option<u64> = tail.each.map(|each| each.worst_ns),
    }

    struct RunPart<'a> of (run: &'a Run) {
        {
            let header = &run.header;
            let (plan, stopping) = (&header.plan, &header.stopping);
        }
        id: &'a str = &header.id,
        status: &'static str = run.status.word(),
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str> = match &run.status {
            RunStatus::Failed { error } => Some(error),
            _ => None,
        },
        started: String = rfc3339(header.started_unix_ms),
        finished: Option<String> = run.finished_unix_ms.map(rfc3339),
        command: &'a [String] = &header.command,
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<&'a str> = header.target.as_deref(),
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<&'a str> = header.unit.as_deref(),
        #[serde(skip_serializing_if = "Option::is_none")]
        project: Option<&'a str> = header.project.as_deref(),
        assay_version: &'a str = &header.assay_version,
        #[serde(skip_serializing_if = "Option::is_none")]
        builds: Option<&'a Builds> = header.builds.as_ref(),
        seed: String = plan.seed.to_string(),
        path: String = text(plan.place.path()),
        file_size_bytes: u64 = plan.file_size.0,
        trials_planned: usize = plan.order.len(),
        #[serde(skip_serializing_if = "Vec::is_empty")]
        conditions: Vec<&'a str> = plan.conditions.iter().map(|it| it.name.as_str()).collect(),
        #[serde(skip_serializing_if = "Option::is_none")]
        looks: Option<LooksPart<'a>> =
            stopping.looks.as_ref().map(|looks| LooksPart::of(looks, run)),
        #[serde(skip_serializing_if = "Option::is_none")]
        budget_ns: Option<u64> = stopping.budget.map(|budget| budget.0),
        #[serde(skip_serializing_if = "Option::is_none")]
        paired: Option<PairedPart<'a>> = header.paired.as_ref().map(PairedPart::of),
    }

    /// Interim analyses of the figures.
    struct LooksPart<'a> of (looks: &'a Looks, run: &Run) {
        at: &'a [u32] = &looks.at,
        alpha: f64 = looks.alpha,
        margin_pct: f64 = 100.0 * looks.margin,
        settled_at: Option<u32> = settled_at(run),
    }

    /// Other run of an interleaved pair.
    struct PairedPart<'a> of (paired: &'a Paired) {
        with: &'a str = &paired.with,
        side: Side = paired.side,
        places: &'a [u32] = &paired.places,
    }

    struct SystemPart<'a> of (system: &'a System) {
        hostname: Option<&'a str> = system.hostname.as_deref(),
        kernel: &'a str = &system.kernel,
        machine: &'a str = &system.machine,
        os: Option<&'a str> = system.os.as_deref(),
        board: Option<&'a str> = system.board.as_deref(),
        cpu_model: Option<&'a str> = system.cpu_model.as_deref(),
        cpus: u32 = system.cpus,
        memory_bytes: u64 = system.memory.0,
        page_size_bytes: u64 = system.page_size.0,
        clocksource: Option<&'a str> = system.clocksource.as_deref(),
        root: bool = system.root,
    }

    /// Device under test; for a partition, the identity of its disk.
    struct DevicePart<'a> of (storage: &'a Storage) {
        { let device = storage.device(); }
        name: Option<&'a str> = storage.top().map(|layer| layer.name.as_str()),
        disk: Option<&'a str> = device.map(|layer| layer.name.as_str()),
        #[serde(flatten)]
        identity: Option<IdentityPart<'a>> = device.map(|layer| IdentityPart::of(&layer.identity)),
        size_bytes: Option<u64> = device.and_then(|layer| layer.size).map(|size| size.0),
        path: String = text(&storage.path),
        total_bytes: Option<u64> = storage.total.map(|bytes| bytes.0),
        available_bytes: Option<u64> = storage.available.map(|bytes| bytes.0),
        backing: &'a Backing = &storage.backing,
        mount: Option<&'a Mount> = storage.mount.as_ref(),
        layers: Vec<LayerPart<'a>> = storage.layers.iter().map(LayerPart::of).collect(),
    }

    struct LayerPart<'a> of (layer: &'a Layer) {
        name: &'a str = &layer.name,
        role: LayerRole = layer.role,
        parent: Option<&'a str> = layer.parent.as_deref(),
        other_parents: &'a [String] = &layer.other_parents,
        major: u32 = layer.major,
        minor: u32 = layer.minor,
        size_bytes: Option<u64> = layer.size.map(|size| size.0),
        backing_file: Option<String> = layer.backing_file.as_deref().map(text),
        #[serde(flatten)]
        identity: IdentityPart<'a> = IdentityPart::of(&layer.identity),
    }

    struct IdentityPart<'a> of (identity: &'a DeviceIdentity) {
        kind: &'a DeviceKind = &identity.kind,
        model: Option<&'a str> = identity.model.as_deref(),
        vendor: Option<&'a str> = identity.vendor.as_deref(),
        serial: Option<&'a str> = identity.serial.as_deref(),
        firmware: Option<&'a str> = identity.firmware.as_deref(),
        date: Option<&'a str> = identity.date.as_deref(),
        cid: Option<&'a str> = identity.cid.as_deref(),
        life_time: Option<&'a str> = identity.life_time.as_deref(),
        pre_eol: Option<&'a str> = identity.pre_eol.as_deref(),
        bus: Option<&'a str> = identity.bus.as_deref(),
        rotational: Option<bool> = identity.rotational,
        removable: Option<bool> = identity.removable,
        logical_block_bytes: Option<u64> = identity.logical_block.map(|bytes| bytes.0),
        physical_block_bytes: Option<u64> = identity.physical_block.map(|bytes| bytes.0),
        raw: &'a BTreeMap<String, String> = &identity.raw,
    }
}

/// Ceiling of the bus, and the figures compared with it and with a datasheet.
#[derive(Serialize)]
struct LimitsPart {
    bus: Option<Value>,
    placed: Vec<placed::Placed>,
}

impl LimitsPart {
    /// Returns the comparison; `None` if there is nothing to compare.
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

/// Converts the properties of recordings, each with its name, to one JSON object.
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

/// Returns a path as text. Bytes that are not UTF-8, which JSON cannot contain, become U+FFFD.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Formats a time as RFC 3339, UTC, with milliseconds: `2026-11-03T14:05:09.250Z`.
pub fn rfc3339(unix_ms: u64) -> String {
    let seconds = unix_ms / 1_000;
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    let (second, millisecond) = (seconds % 60, unix_ms % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// Depth to which containers are broken into lines: document, list of trials, trial, and its
/// fields.
const BROKEN_LEVELS: usize = 4;

/// Formatter that indents by two spaces down to [`BROKEN_LEVELS`]. The text has one line per field
/// of a trial, per metric and per interval. Fully indented, a run would be three times as long.
#[derive(Default)]
struct Layout {
    level: usize,
    /// True if the current container has any content.
    filled: bool,
}

impl Layout {
    fn begin(&mut self, out: &mut (impl Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.filled = false;
        out.write_all(bracket)
    }

    fn end(&mut self, out: &mut (impl Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        let broken = self.filled && self.level <= BROKEN_LEVELS;
        self.level -= 1;
        self.filled = true;
        if broken {
            self.new_line(out)?;
        }
        out.write_all(bracket)
    }

    fn item(&mut self, out: &mut (impl Write + ?Sized), first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.level <= BROKEN_LEVELS {
            self.new_line(out)
        } else if first {
            Ok(())
        } else {
            out.write_all(b" ")
        }
    }

    fn new_line(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.level).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

/// Version of the document; rises when a field is removed or changes its meaning.
const DEVICES_SCHEMA: u32 = 1;
/// Version of the document of findings.
const DOCTOR_SCHEMA: u32 = 1;

parts! {
    struct ListedDevicePart<'a> of (device: &'a ListedDevice) {
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
            "schema": DEVICES_SCHEMA,
            "target": target,
            "system": SystemPart::of(&list.system),
            "devices": list.devices.iter().map(ListedDevicePart::of).collect::<Vec<_>>(),
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

/// Type with a JSON schema.
pub trait Described {
    /// Returns the schema of the JSON.
    fn schema() -> Value;
}

impl Described for String {
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

impl Described for f64 {
    fn schema() -> Value {
        json!({ "type": "number" })
    }
}

impl Described for bool {
    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

/// Implements the schema of whole numbers that JSON readers represent exactly.
macro_rules! whole {
    ($($number:ty),*) => { $(
        impl Described for $number {
            fn schema() -> Value {
                json!({ "type": "integer", "minimum": 0 })
            }
        }
    )* };
}
whole!(u32, u64);

impl<T: Described> Described for Vec<T> {
    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }
}

impl<T: Described> Described for Option<T> {
    fn schema() -> Value {
        json!({ "anyOf": [T::schema(), { "type": "null" }] })
    }
}

/// Any JSON object; docs/json.md describes it.
impl Described for Value {
    fn schema() -> Value {
        json!({ "type": "object" })
    }
}

/// Declares JSON types, with the doc comment of each field as its description. Every field is
/// written; an unknown one is `null`. With `of (argument)`, each field also has a value, an
/// expression of the argument, and the type has a constructor `of`:
///
/// ```
/// assay_report::described! {
///     /// A point of a plane.
///     pub struct Point of (at: (f64, f64)) {
///         /// Distance to the right.
///         pub x: f64 = at.0,
///         /// Distance upwards.
///         pub y: f64 = at.1,
///     }
/// }
/// assert_eq!(Point::of((1.0, 2.0)).y, 2.0);
/// ```
#[macro_export]
macro_rules! described {
    ($($(#[doc = $about:literal])+ pub struct $name:ident of ($input:ident: $from:ty) {
        $($(#[doc = $doc:literal])+ pub $field:ident: $kind:ty = $value:expr,)+
    })+) => {
        $crate::described! { $(
            $(#[doc = $about])+
            pub struct $name { $($(#[doc = $doc])+ pub $field: $kind,)+ }
        )+ }
        $(
            impl $name {
                /// Makes the JSON of a value.
                pub fn of($input: $from) -> Self {
                    Self { $($field: $value,)+ }
                }
            }
        )+
    };
    ($($(#[doc = $about:literal])+ pub struct $name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident: $kind:ty,)+
    })+) => { $(
        $(#[doc = $about])+
        #[derive(Clone, Debug, serde::Serialize)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: $kind,)+ }

        impl $crate::machine::json::Described for $name {
            fn schema() -> serde_json::Value {
                let mut properties = serde_json::Map::new();
                $(
                    let mut schema = <$kind as $crate::machine::json::Described>::schema();
                    schema["description"] = concat!($($doc),+).trim().into();
                    properties.insert(stringify!($field).to_owned(), schema);
                )+
                serde_json::json!({
                    "type": "object",
                    "description": concat!($($about),+).trim(),
                    "required": [$(stringify!($field)),+],
                    "properties": properties,
                })
            }
        }
    )+ };
}

#[cfg(test)]
mod tests;
