//! Comparison of a measured rate with the ceiling of a bus, and the causes of the distance; also of
//! the rates of imported results.
//!
//! [`no_flash`] explains why storage is not flash: emulated and virtual devices have no erase
//! blocks, no garbage collection and no address mapping.

use crate::fit_input::of_imports;
use crate::{DeviceFacts, USUAL_REQUEST};
use assay_lang::{tr, translated};
use assay_model::device::{Ceiling, Placed};
use assay_model::figures::{Figure, Import, Sample};
use assay_model::job::Direction;
use assay_model::storage::{DeviceIdentity, DeviceKind, LayerRole, Storage};
use assay_model::units::{Bytes, BytesPerSec, three_digits};
use assay_report::describe;
use assay_report::document::{Document, Section};
use assay_report::words::clean;
use serde_json::{Value, json};

/// Measured rate with its ceiling.
pub struct OnBus {
    direction: Direction,
    rate: BytesPerSec,
    ceiling: BytesPerSec,
    command_us: Option<f64>,
    request: Bytes,
    placed: Placed,
    flash: bool,
}

impl OnBus {
    /// Compares a rate at depth 1 with requests of that size. `flash` is true if the device is
    /// known to be flash. Returns `None` if the rate cannot be compared.
    pub fn of(
        (direction, rate): (Direction, BytesPerSec),
        ceiling: &Ceiling,
        request: Bytes,
        flash: bool,
    ) -> Option<Self> {
        let limit = ceiling.rate(direction);
        Some(Self {
            direction,
            rate,
            ceiling: BytesPerSec(limit),
            command_us: ceiling.command_us,
            request,
            placed: Placed::of(rate.0, limit, request.0)?,
            flash,
        })
    }

    /// Returns the comparison as JSON.
    pub fn value(&self) -> Value {
        json!({
            "direction": self.direction.to_string(),
            "measured_bytes_per_s": self.rate.0,
            "ceiling_bytes_per_s": self.ceiling.0,
            "share": self.placed.share,
            "request_bytes": self.request.0,
            "request_us": self.placed.request_us,
            "wire_us": self.placed.wire_us,
            "other_us": self.placed.other_us(),
            "command_wire_us": self.command_us,
        })
    }

    /// Explains the distance to the ceiling, as far as one rate determines it.
    pub fn sentence(&self) -> String {
        let placed = &self.placed;
        let percent = format!("{:.1}", placed.share * 100.0);
        let head = tr!(
            "{direction}: {rate} is {percent} % of {ceiling}.",
            direction = describe::direction(self.direction),
            rate = self.rate,
            percent,
            ceiling = self.ceiling
        );
        if placed.share > 1.0 {
            let above = tr!(
                "More than the bus carries: it was not this bus, not in this mode, or not the device that was measured."
            );
            return format!("{head} {above}");
        }
        let told = tr!(
            "Of each request of {request}, {wire} µs are its data on the wire and {other} µs are not: {rest}.",
            request = self.request,
            wire = three_digits(placed.wire_us),
            other = three_digits(placed.other_us()),
            rest = self.rest()
        );
        let parts = [Some(head), Some(told), self.of_commands(), Some(limits())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn rest(&self) -> &'static str {
        match (self.direction, self.flash) {
            (Direction::Read, true) => tr!(
                "commands, interrupts, the host driver and the card's reading, which did not overlap with the data"
            ),
            (Direction::Write, true) => tr!(
                "commands, interrupts, the host driver and the card's programming, which the host waits for"
            ),
            (_, false) => tr!(
                "commands, interrupts, the host driver and the device's own work, which did not overlap with the data"
            ),
        }
    }

    /// Explains that the transfer of a command on the wire is a small part of its cost.
    fn of_commands(&self) -> Option<String> {
        let us = self.command_us?;
        Some(tr!(
            "A command and its response are on the wire for {us} µs: what they cost beyond that is the host's and the card's.",
            us = three_digits(us)
        ))
    }
}

/// Says that one rate does not determine the cause.
fn limits() -> String {
    tr!("One rate does not show which of them it is; rates of several I/O sizes do.").to_owned()
}

/// Units of rates, in bytes per second.
const RATES: [(&str, f64); 7] = [
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("B/s", 1.0),
];

/// Reads a rate such as `275MiB/s`.
pub fn parse_rate(text: &str) -> Result<BytesPerSec, String> {
    let of = |(unit, bytes): &(&str, f64)| {
        let number = text.strip_suffix(unit)?.trim();
        let number: f64 = number.parse().ok()?;
        (number.is_finite() && number > 0.0).then_some(BytesPerSec(number * bytes))
    };
    let rate = RATES.iter().find_map(of);
    rate.ok_or_else(|| "give a number and its unit, such as 275MiB/s or 288MB/s".to_owned())
}

/// Prefixes of vendor or model names of emulated and virtual devices.
const MADE_UP: [&str; 8] = [
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual",
    "Msft",
    "Xen",
    "BHYVE",
    "Parallels",
];
/// Model names of cloud volumes, which are reached over a network.
const VOLUMES: [&str; 4] = [
    "Amazon Elastic Block Store",
    "PersistentDisk",
    "nvme_card",
    "MSFT NVMe",
];
/// Manufacturer and application ids of the SD card that QEMU emulates (`hw/sd/sd.c`).
const QEMU_CARD: (&str, &str) = ("aa", "5859");

/// Explains why storage is not known to be flash. Returns `None` if one of its disks is.
pub fn no_flash(storage: &Storage) -> Option<String> {
    let mut reasons = Vec::new();
    for leaf in storage.leaves() {
        reasons.push(not_of_flash(&leaf.identity)?);
    }
    let Some(first) = reasons.into_iter().next() else {
        return Some(tr!("the device is not known").to_owned());
    };
    let beneath: Vec<String> = (storage.layers.iter())
        .filter(|layer| layer.role == LayerRole::Beneath)
        .map(|layer| format!("{} ({})", clean(&layer.name), layer.identity.kind))
        .collect();
    Some(match beneath.is_empty() {
        true => first,
        false => tr!(
            "{first}; its file is on {beneath}",
            first,
            beneath = beneath.join(", ")
        ),
    })
}

/// Explains why a device is not known to contain flash. Returns `None` for types that do.
pub fn not_of_flash(identity: &DeviceIdentity) -> Option<String> {
    if let Some(name) = made_up(identity) {
        return Some(tr!(
            "{name} is emulated: it has no flash of its own",
            name = clean(&name)
        ));
    }
    match identity.kind {
        DeviceKind::Emmc
        | DeviceKind::Sd
        | DeviceKind::Ufs
        | DeviceKind::Usb
        | DeviceKind::Nvme
        | DeviceKind::Simulated => None,
        DeviceKind::Sata | DeviceKind::Scsi if identity.rotational == Some(false) => None,
        _ => Some(tr!("{kind} is not known to be flash", kind = identity.kind)),
    }
}

/// Returns the vendor or model of an emulated or virtual device.
fn made_up(identity: &DeviceIdentity) -> Option<String> {
    if identity.kind == DeviceKind::Simulated {
        return None;
    }
    let names = [&identity.model, &identity.vendor].into_iter().flatten();
    for name in names {
        let begins = MADE_UP.iter().any(|word| name.starts_with(word));
        if begins || VOLUMES.iter().any(|word| name.contains(word)) {
            return Some(name.clone());
        }
    }
    let number = |key: &str| {
        let text = identity.raw.get(key)?.trim().to_ascii_lowercase();
        Some(
            text.trim_start_matches("0x")
                .trim_start_matches('0')
                .to_owned(),
        )
    };
    let card = (number("manfid")?, number("oemid")?);
    let is_qemu = identity.kind == DeviceKind::Sd && card.0 == QEMU_CARD.0 && card.1 == QEMU_CARD.1;
    is_qemu.then(|| "QEMU".to_owned())
}

/// Explanation of an import.
pub struct Explained<'i> {
    import: &'i Import,
    figures: Vec<ExplainedFigure<'i>>,
    /// Reason why no parameters are fitted to the figures.
    refused: String,
}

impl<'i> Explained<'i> {
    /// Explains the figures of an import, or those under one condition.
    ///
    /// # Errors
    /// If the import has no such figures, or the user gives device facts that need single I/Os.
    pub fn of(
        import: &'i Import,
        condition: Option<&str>,
        facts: &DeviceFacts,
    ) -> Result<Self, String> {
        if facts.part.is_some() || !facts.only.is_empty() {
            let why = "--part and --only are for runs: the times of an import cannot be divided";
            return Err(why.to_owned());
        }
        let figures = import.results.figures.iter();
        let wanted = |figure: &&Figure| condition.is_none_or(|name| figure.condition == name);
        let figures: Vec<ExplainedFigure<'_>> = figures
            .filter(wanted)
            .map(|figure| ExplainedFigure::of(figure, facts))
            .collect();
        if figures.is_empty() {
            return Err(format!("import {} has no such figures", import.id));
        }
        Ok(Self {
            import,
            figures,
            refused: of_imports(&import.id),
        })
    }

    /// Returns the explanation as JSON.
    pub fn value(&self) -> Value {
        let figures: Vec<Value> = self.figures.iter().map(ExplainedFigure::value).collect();
        json!({
            "schema": 1, "import": self.import.id, "tool": self.import.results.tool,
            "fit": {"status": "refused", "why": self.refused}, "figures": figures,
        })
    }

    /// Returns the explanation as a document.
    pub fn document(&self) -> Document {
        let tool = clean(&self.import.results.tool);
        let title = tr!("Import {id} of {tool}", id = self.import.id, tool);
        let mut document = Document::new(title);
        let mut section = Section::new("summary", "");
        let figures = self.figures.iter();
        section.list(figures.map(ExplainedFigure::sentence).collect());
        let why = tr!(
            "Unknown: where the time went. An import has figures, no times of single I/Os and no evidence"
        );
        section.say(why, None);
        section.say(tr!("No fit: {why}", why = self.refused), None);
        document.push(section);
        document
    }
}

/// Explanation of one figure.
struct ExplainedFigure<'f> {
    figure: &'f Figure,
    mean: f64,
    on_bus: Option<OnBus>,
}

impl<'f> ExplainedFigure<'f> {
    fn of(figure: &'f Figure, facts: &DeviceFacts) -> Self {
        let mean = mean(&figure.sample);
        let request = facts.request.unwrap_or(USUAL_REQUEST);
        let rate = parse_rate(&format!("{mean}{}", figure.unit)).ok();
        let on_bus = facts.ceiling.as_ref().and_then(|ceiling| {
            let flash = ["eMMC", "SD", "UFS"].contains(&ceiling.bus);
            let of = (direction(&figure.metric)?, rate?);
            OnBus::of(of, ceiling, request, flash)
        });
        Self {
            on_bus: on_bus.filter(|_| may_be_of_the_bus(figure)),
            figure,
            mean,
        }
    }

    fn name(&self) -> String {
        let metric = clean(&self.figure.metric);
        match self.figure.condition.as_str() {
            "" => metric,
            condition => format!("{metric} @ {}", clean(condition)),
        }
    }

    /// Returns the recorded label of the figure.
    fn measured(&self) -> String {
        match self.figure.measured.as_deref() {
            Some(label) => tr!("it measured: {label}", label = translated(label)),
            None => {
                tr!("whether the device or the page cache was measured is not recorded").to_owned()
            }
        }
    }

    fn sentence(&self) -> String {
        let said = format!(
            "{}: {} {}; {}",
            self.name(),
            three_digits(self.mean),
            clean(&self.figure.unit),
            self.measured()
        );
        match &self.on_bus {
            Some(on_bus) => format!("{said}. {}", self.placed(on_bus)),
            None => said,
        }
    }

    /// Compares the figure with the bus; the sentence names the assumptions that its record leaves
    /// open.
    fn placed(&self, on_bus: &OnBus) -> String {
        let sentence = on_bus.sentence();
        match &self.figure.measured {
            None => tr!(
                "If it is the device's, in order and with one such request at a time: {sentence}",
                sentence
            ),
            Some(_) => tr!(
                "If it is in order and with one such request at a time: {sentence}",
                sentence
            ),
        }
    }

    fn value(&self) -> Value {
        json!({
            "metric": self.figure.metric,
            "condition": self.figure.condition,
            "unit": self.figure.unit,
            "mean": self.mean,
            "measured": self.figure.measured,
            "bus": self.on_bus.as_ref().map(OnBus::value),
            "sentence": self.on_bus.as_ref().map(|on_bus| self.placed(on_bus)),
        })
    }
}

/// Returns false for random I/O, where the bus is a small part of the time, and for figures of the
/// page cache, whose data do not pass the bus.
fn may_be_of_the_bus(figure: &Figure) -> bool {
    let past = figure
        .measured
        .as_deref()
        .is_none_or(|label| label.starts_with("device"));
    past && !figure.metric.to_lowercase().contains("rand")
}

fn mean(sample: &Sample) -> f64 {
    match sample {
        Sample::Moments { mean, .. } => *mean,
        Sample::Values { values, .. } => {
            let n = values.len().max(1) as f64;
            values.iter().sum::<f64>() / n
        }
    }
}

/// Returns the direction that a metric's name contains; `None` if it contains neither or both.
fn direction(metric: &str) -> Option<Direction> {
    let name = metric.to_lowercase();
    match (name.contains("read"), name.contains("write")) {
        (true, false) => Some(Direction::Read),
        (false, true) => Some(Direction::Write),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_their_units() {
        assert_eq!(parse_rate("54.3MiB/s"), Ok(BytesPerSec(54.3 * 1_048_576.0)));
        assert_eq!(parse_rate("5866 KiB/s"), Ok(BytesPerSec(5866.0 * 1024.0)));
        assert_eq!(parse_rate("100B/s"), Ok(BytesPerSec(100.0)));
        for bad in [
            "",
            "275",
            "MB/s",
            "-1MB/s",
            "0MB/s",
            "nanMB/s",
            "infMB/s",
            "3 parsecs",
        ] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
    }

    fn identity(kind: DeviceKind, model: &str) -> DeviceIdentity {
        DeviceIdentity {
            kind,
            model: Some(model.to_owned()),
            ..DeviceIdentity::default()
        }
    }

    #[test]
    fn what_is_made_up_is_not_flash() {
        for (kind, model) in [
            (DeviceKind::Sd, "QEMU!"),
            (DeviceKind::Nvme, "QEMU NVMe Ctrl"),
            (DeviceKind::Nvme, "Amazon Elastic Block Store"),
            (DeviceKind::Sata, "VBOX HARDDISK"),
            (DeviceKind::Scsi, "Virtual Disk"),
        ] {
            let why = not_of_flash(&identity(kind, model)).expect(model);
            assert!(why.contains("emulated"), "{why}");
        }
        for (kind, model) in [
            (DeviceKind::Virtio, "virtio"),
            (DeviceKind::Loop, "loop"),
            (DeviceKind::Zram, "zram"),
        ] {
            assert!(not_of_flash(&identity(kind, "")).is_some(), "{model}");
        }
    }

    #[test]
    fn the_numbers_of_a_card_tell_too() {
        let mut card = identity(DeviceKind::Sd, "renamed");
        assert_eq!(not_of_flash(&card), None);
        for (key, value) in [("manfid", "0x0000aa"), ("oemid", "0x5859")] {
            card.raw.insert(key.to_owned(), value.to_owned());
        }
        assert!(not_of_flash(&card).is_some());
    }

    #[test]
    fn real_devices_are_flash() {
        assert_eq!(not_of_flash(&identity(DeviceKind::Emmc, "DG4008")), None);
        assert_eq!(not_of_flash(&identity(DeviceKind::Simulated, "QEMU")), None);
        let mut disk = identity(DeviceKind::Sata, "ST1000");
        disk.rotational = Some(true);
        assert!(not_of_flash(&disk).is_some());
    }

    #[test]
    fn a_metric_says_which_way_it_goes() {
        assert_eq!(direction("seq Read 1M"), Some(Direction::Read));
        assert_eq!(direction("job: write_bw"), Some(Direction::Write));
        for neither in ["rewrite of what was read", "latency"] {
            assert_eq!(direction(neither), None, "{neither}");
        }
    }
}
