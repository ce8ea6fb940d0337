//! A run: an executed plan; and the unit of a part that it measured. Results of one unit do not
//! apply to another.

use crate::act::Acts;
use crate::annotation::Annotation;
use crate::figures::{LEVEL, Side};
use crate::plan::Plan;
use crate::storage::{Backing, DeviceKind, Layer, LayerRole, Storage, System};
use crate::trial::{Outcome, TrialRecord};
use crate::units::Nanos;
use assay_lang::{key, tr};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Description of a run without its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Id of lower-case letters and digits, unique.
    pub id: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Version of assay that made the run.
    pub assay_version: String,
    /// Programs that made the run; absent in runs from before protocol 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builds: Option<Builds>,
    /// Command that made the run.
    pub command: Vec<String>,
    /// Measured machine, as named by the user; `None` for the machine that the command ran on.
    #[serde(default)]
    pub target: Option<String>,
    /// Plan of the run.
    pub plan: Plan,
    /// The machine.
    pub system: System,
    /// Storage at the start.
    pub storage: Storage,
    /// Acts of its slots; absent if these are the jobs of the plan, and in runs from before
    /// protocol 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acts: Option<Box<Acts>>,
    /// Conditions that may end the run before its plan does.
    #[serde(default, skip_serializing_if = "Stopping::is_nothing")]
    pub stopping: Stopping,
    /// Run that it was interleaved with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
    /// The user's claims about the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    /// Measured unit, as named by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Project of its series; `None`: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl RunHeader {
    /// Returns the place of a trial of this run in the session, counted over both runs if two were
    /// interleaved.
    pub fn place_of(&self, position: u32) -> u32 {
        let paired = self.paired.as_ref();
        let place = paired.and_then(|paired| paired.places.get(position as usize));
        place.copied().unwrap_or(position)
    }

    /// Returns the place of a trial that ended, see [`Self::place_of`]. Where acts take turns, it
    /// follows from the turn of its slot, because the number of steps of some acts is not known
    /// beforehand; such places have gaps.
    pub fn place_of_trial(&self, trial: &TrialRecord) -> u32 {
        /// More than the trials of a run.
        const OF_A_TURN: u32 = 1_000_000;
        let turns = self.paired.as_ref().map(|paired| &paired.turns);
        let turn = turns
            .zip(trial.slot)
            .and_then(|(turns, slot)| turns.get(slot as usize));
        match turn {
            Some(turn) => turn * OF_A_TURN + trial.position.min(OF_A_TURN - 1),
            None => self.place_of(trial.position),
        }
    }
}

/// Programs that made a run: version and commit of each, as in SemVer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Builds {
    /// Build of assay that stored the run.
    pub host: String,
    /// Build of the agent that measured.
    pub agent: String,
    /// Version of the protocol between them.
    pub protocol: u32,
}

/// The user's claims about a device, shown beside its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    /// Mode of the bus, one of [`crate::device`].
    pub bus: Option<String>,
    /// Figures of the manufacturer's datasheet.
    pub datasheet: Option<Datasheet>,
}

/// Typical figures of a datasheet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datasheet {
    /// Part number that the datasheet describes.
    pub part: String,
    /// Document that states the figures.
    pub source: String,
    /// Sequential reads, in millions of bytes per second.
    pub seq_read_mb_s: Option<f64>,
    /// Sequential writes, in millions of bytes per second.
    pub seq_write_mb_s: Option<f64>,
    /// Random reads of 4 KiB, per second.
    pub rand_read_iops: Option<f64>,
    /// Random writes of 4 KiB, per second.
    pub rand_write_iops: Option<f64>,
}

/// A figure of a datasheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatasheetFigure {
    /// Sequential reads.
    SeqRead,
    /// Sequential writes.
    SeqWrite,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
}

impl Datasheet {
    /// Returns a figure in bytes per second or I/Os per second, if it is given.
    pub fn value(&self, figure: DatasheetFigure) -> Option<f64> {
        match figure {
            DatasheetFigure::SeqRead => self.seq_read_mb_s.map(|rate| rate * 1e6),
            DatasheetFigure::SeqWrite => self.seq_write_mb_s.map(|rate| rate * 1e6),
            DatasheetFigure::RandRead => self.rand_read_iops,
            DatasheetFigure::RandWrite => self.rand_write_iops,
        }
    }

    /// Returns the name of a figure that is not above 0, which makes the datasheet invalid.
    pub fn problem(&self) -> Option<&'static str> {
        let figures = [
            ("seq_read_mb_s", self.seq_read_mb_s),
            ("seq_write_mb_s", self.seq_write_mb_s),
            ("rand_read_iops", self.rand_read_iops),
            ("rand_write_iops", self.rand_write_iops),
        ];
        let mut wrong = figures.into_iter().filter(|(_, figure)| {
            figure.is_some_and(|figure| !(figure.is_finite() && figure > 0.0))
        });
        wrong.next().map(|(name, _)| name)
    }
}

/// Conditions that may end a run before all trials of its plan have run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// Looks at which the run ends if its comparisons are settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
    /// Time that another round must not exceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
}

impl Stopping {
    /// All trials of the plan are run.
    pub const NEVER: Self = Self {
        looks: None,
        budget: None,
    };

    /// Level that verdicts on the run are held to: it was looked at more than once, or
    /// once.
    pub fn alpha(&self) -> f64 {
        self.looks.as_ref().map_or(LEVEL, |looks| looks.alpha)
    }

    /// Level of the verdicts after the run is extended: half of that of the last extension, and at
    /// first half of [`LEVEL`]. So all extensions together find false differences as seldom as one
    /// look at [`LEVEL`], and the run as a whole at most twice as often.
    pub fn alpha_if_extended(&self) -> f64 {
        let extended = self.looks.as_ref().filter(|looks| looks.runs_all);
        extended.map_or(LEVEL, |looks| looks.alpha) / 2.0
    }

    /// `true` if all trials are run.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Times at which the figures of a run are evaluated, fixed before its first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Looks {
    /// Trials of each condition or side at each look.
    pub at: Vec<u32>,
    /// Level of each look, for difference and equivalence: so small that the total error rate of
    /// all looks is that of one look at 0.05. In an extended run the level of the last look
    /// ([`Stopping::alpha_if_extended`]).
    pub alpha: f64,
    /// Margin of the verdicts, as a share.
    pub margin: f64,
    /// `true` if all trials are run: the run was extended after it had been looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_all: bool,
}

/// Two runs that were measured in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    /// Id of the other run.
    pub with: String,
    /// Side of this run.
    pub side: Side,
    /// Place of each trial of this run in the common session, in the order of its plan.
    pub places: Vec<u32>,
    /// Turn of the common session in which each slot of this run is, if acts take turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<u32>,
}

/// Status of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum RunStatus {
    /// In progress, or killed before the status could be stored.
    Running,
    /// The run is complete.
    Finished,
    /// Stopped by the user or another process.
    Interrupted,
    /// Stopped by an error.
    Failed {
        /// Error message: what failed, where, and what to do.
        error: String,
    },
}

impl RunStatus {
    /// Returns the name of the status, as in JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Running => key!("running"),
            Self::Finished => key!("finished"),
            Self::Interrupted => key!("interrupted"),
            Self::Failed { .. } => key!("failed"),
        }
    }
}

/// A run with all its trials, in the order they were run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Plan and place of the run.
    pub header: RunHeader,
    /// Status of the run.
    pub status: RunStatus,
    /// End, milliseconds since 1970 (UTC).
    pub finished_unix_ms: Option<u64>,
    /// The trials.
    pub trials: Vec<TrialRecord>,
    /// Name, tags and note of the user.
    pub annotation: Annotation,
}

impl Run {
    /// Returns the longest time without any completed I/O in a trial that gives figures, with the
    /// name of its job; `None` if no trial has one.
    pub fn longest_gap(&self) -> Option<(Nanos, &str)> {
        let trials = self.trials.iter();
        let ended = trials.filter(|trial| trial.gives_figures());
        let gaps = ended.filter_map(|trial| {
            let gap = trial.measured.as_ref()?.longest_gap?;
            Some((Nanos(gap.length_ns), &*trial.job.name))
        });
        gaps.max_by_key(|(length, _)| *length)
    }

    /// `true` if this run was interleaved with the other one: the positions of both count in one
    /// session.
    pub fn took_turns_with(&self, other: &Self) -> bool {
        let with = |run: &Self| run.header.paired.as_ref().map(|paired| paired.with.clone());
        with(self).as_ref() == Some(&other.header.id)
            && with(other).as_ref() == Some(&self.header.id)
    }

    /// Returns the number of complete rounds, without conditioning.
    pub fn whole_rounds(&self) -> u32 {
        let order = &self.header.plan.order;
        let ended = self.trials.iter();
        let ended = ended.filter(|trial| trial.outcome != Outcome::Interrupted);
        let acts = self.header.acts.as_deref();
        if let Some((acts, last)) = acts.zip(ended.clone().next_back().and_then(|trial| trial.slot))
        {
            let of_last = ended.filter(|trial| trial.slot == Some(last)).count();
            let slot = acts.slots.get(last as usize).map(|(slot, _)| slot);
            let steps = slot.and_then(|slot| acts.steps.get(slot.job));
            // The slots before it are whole.
            let missing = last as usize + usize::from(steps == Some(&of_last));
            return match acts.slots.get(missing) {
                Some((missing, _)) => missing.trial.saturating_sub(1),
                None => slot.map_or(0, |slot| slot.trial),
            };
        }
        match order.get(ended.count()) {
            // The round of the first missing trial is incomplete.
            Some(missing) => missing.trial.saturating_sub(1),
            None => order.last().map_or(0, |last| last.trial),
        }
    }
}

/// A unit of a part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Unit with a unique identifier, such as `NVMe serial S649NX0T123456`.
    Device(String),
    /// Unit with a name given by the user.
    Named(String),
    /// Unit that cannot be distinguished from others.
    Unknown,
}

impl Unit {
    /// Returns the unit of a run: by the manufacturer's identifier if there is one, else by the
    /// user's name, else by the identifier of storage made of software.
    pub fn of(header: &RunHeader) -> Self {
        let machine = header.system.hostname.as_deref().unwrap_or_default();
        Self::told(&header.storage, header.unit.as_deref(), machine)
    }

    fn told(storage: &Storage, name: Option<&str>, machine: &str) -> Self {
        let named = || name.map(|name| Self::Named(name.to_owned()));
        of_devices(storage, of_maker)
            .map(Self::Device)
            .or_else(named)
            .or_else(|| of_software(storage, machine).map(Self::Device))
            .unwrap_or(Self::Unknown)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(words) | Self::Named(words) => f.write_str(words),
            Self::Unknown => f.write_str(tr!("not known")),
        }
    }
}

/// Joins the `name` of each leaf of the storage, if every leaf has one.
fn of_devices(storage: &Storage, name: fn(&Layer) -> Option<String>) -> Option<String> {
    let names: Option<BTreeSet<String>> = storage.leaves().map(name).collect();
    let names: Vec<String> = names?.into_iter().collect();
    (!names.is_empty()).then(|| names.join(" + "))
}

/// Returns the identity that the manufacturer wrote into a device. The serial number of a USB
/// device may be that of a card reader or a bridge, and does not identify the medium behind it.
fn of_maker(layer: &Layer) -> Option<String> {
    let identity = &layer.identity;
    if identity.kind == DeviceKind::Usb {
        return None;
    }
    let serial = identity.serial.as_deref();
    let is_told = serial.is_none_or(tells_apart);
    if let Some(cid) = identity
        .cid
        .as_deref()
        .filter(|cid| is_told && tells_apart(cid))
    {
        return Some(format!("{} CID {cid}", identity.kind));
    }
    serial_words(layer).or_else(|| {
        let raw = |name: &str| identity.raw.get(name).map(String::as_str);
        let names = ["nguid", "eui", "wwid"].into_iter().filter_map(raw);
        // A name of the form t10 is derived from the serial number.
        let mut names = names.filter(|name| tells_apart(name) && !name.starts_with("t10."));
        names.next().map(|name| format!("{} {name}", identity.kind))
    })
}

fn serial_words(layer: &Layer) -> Option<String> {
    let identity = &layer.identity;
    let serial = identity
        .serial
        .as_deref()
        .filter(|text| tells_apart(text))?;
    let model = identity.model.as_deref().unwrap_or_default();
    let words = format!("{} {model} serial {}", identity.kind, serial.trim());
    Some(words.replace("  ", " "))
}

/// Returns the identity of a unit without a manufacturer: the file of a loop device, a model, a
/// machine's memory; or as a last resort the serial number of a USB device.
fn of_software(storage: &Storage, machine: &str) -> Option<String> {
    match &storage.backing {
        Backing::Simulated { .. } => return Some(storage.path.display().to_string()),
        Backing::Memory { .. } | Backing::MainMemory => {
            return Some(format!("memory of {machine}"));
        }
        Backing::Device { .. } | Backing::Unknown { .. } => {}
    }
    let of_loop = |layer: &Layer| {
        let file = layer.backing_file.as_deref()?.display();
        let inode = layer.identity.raw.get("backing_inode");
        let inode = inode.map(|inode| format!(", inode {inode}"));
        Some(format!("file {file}{}", inode.unwrap_or_default()))
    };
    match of_devices(storage, |layer| {
        let is_memory = layer.identity.kind.is_memory();
        is_memory.then(|| layer.name.clone())
    }) {
        Some(name) => Some(format!("{name} of {machine}")),
        None => of_devices(storage, serial_words).or_else(|| {
            let files = of_devices(storage, of_loop)?;
            Some(format!("{files} of {machine}"))
        }),
    }
}

/// Attribute in `raw` of a top layer: UUID of the file system that holds the path.
pub const FS_UUID: &str = "fs_uuid";
/// Attribute in `raw`: inode number and creation time of the measured file.
pub const FILE_ID: &str = "file_id";
/// Attribute in `raw` of a loop device: inode number and creation time of its file.
pub const BACKING_ID: &str = "backing_id";

/// Result of comparing the media at a path at two times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Same {
    /// A unique identifier is equal.
    Yes,
    /// The medium is another one: the identifier that differs, with both values.
    No(String),
    /// No identifier distinguishes the medium from others of its model and size.
    Unknown,
}

/// Compares the storage at the start of a run with the storage at its path now. Identifiers that
/// only one side has are ignored: earlier versions stored fewer of them.
pub fn is_same_medium(before: &Storage, now: &Storage) -> Same {
    let (then, today) = (before.words(), now.words());
    if then != today {
        return Same::No(format!("it was {then}, and is {today}"));
    }
    let (before, now) = (identifiers(before), identifiers(now));
    let mut same = Same::Unknown;
    for (name, (is_unique, then)) in &before {
        let Some((_, today)) = now.get(name) else {
            continue;
        };
        if then != today {
            let list = |values: &BTreeSet<String>| Vec::from_iter(values.clone()).join(" + ");
            let (then, today) = (list(then), list(today));
            return Same::No(format!("its {name} was {then}, and is {today}"));
        }
        if *is_unique {
            same = Same::Yes;
        }
    }
    same
}

/// Returns the identifiers of all layers by name, with `true` if equal values prove the same
/// medium. Serial numbers of USB devices do not, because a card reader reports its own.
fn identifiers(storage: &Storage) -> BTreeMap<&'static str, (bool, BTreeSet<String>)> {
    let mut found: BTreeMap<&'static str, (bool, BTreeSet<String>)> = BTreeMap::new();
    for layer in &storage.layers {
        let identity = &layer.identity;
        let is_usb = identity.kind == DeviceKind::Usb;
        let raw = |name: &str| identity.raw.get(name).map(String::as_str);
        let by_maker = |id: &&str| tells_apart(id) && !id.starts_with("t10.");
        let is_clone = identity
            .serial
            .as_deref()
            .is_some_and(|id| !tells_apart(id));
        let named = |id: &&str| !id.starts_with("CRYPT-PLAIN");
        let all = [
            ("CID", !is_clone, identity.cid.as_deref().filter(by_maker)),
            (
                "serial number",
                !is_usb,
                identity.serial.as_deref().filter(by_maker),
            ),
            ("WWID", true, raw("wwid").filter(by_maker)),
            ("NGUID", true, raw("nguid").filter(by_maker)),
            ("EUI", true, raw("eui").filter(by_maker)),
            ("UUID", true, raw("uuid").filter(named)),
            ("first sector", false, raw("start")),
            (
                "file behind the loop device (inode, time of birth)",
                true,
                raw(BACKING_ID),
            ),
            ("file (inode, time of birth)", true, raw(FILE_ID)),
            ("file system UUID", true, raw(FS_UUID)),
        ];
        for (name, is_unique, value) in all {
            // Another file on the same disk is another medium.
            let is_unique = is_unique && layer.role != LayerRole::Beneath;
            if let Some(value) = value {
                let (proves, values) = found.entry(name).or_default();
                *proves |= is_unique;
                values.insert(value.trim().to_owned());
            }
        }
    }
    found
}

/// `true` if a number identifies one device among others of its kind: many devices have none, and
/// report zeros, an example, or a common value.
pub fn tells_apart(number: &str) -> bool {
    let lower = number.trim().to_ascii_lowercase();
    let prefixes = ["0x", "eui.", "naa.", "uuid."].into_iter();
    let bare = prefixes
        .filter_map(|prefix| lower.strip_prefix(prefix))
        .next();
    let bare = bare.unwrap_or(&lower);
    let signs: Vec<u8> = bare.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let words = [
        "none",
        "null",
        "serial",
        "default",
        "unknown",
        "notspecified",
    ];
    let known = ["qm0000", "tobefilled", "defaultstring"];
    let text = String::from_utf8_lossy(&signs);
    let is_word = words.contains(&text.as_ref()) || known.iter().any(|word| text.starts_with(word));
    let significant = signs.iter().skip_while(|sign| **sign == b'0').count();
    significant > 1 && !is_word && !is_alike(&signs) && !is_counted(&signs)
}

/// `true` if all characters are the same.
fn is_alike(signs: &[u8]) -> bool {
    signs.windows(2).all(|pair| pair[0] == pair[1])
}

/// `true` for consecutive digits, ascending or descending, as in `0123456789ABCDEF`.
fn is_counted(signs: &[u8]) -> bool {
    let digit = |sign: u8| char::from(sign).to_digit(36);
    let steps = |up: bool| {
        signs.windows(2).all(|pair| {
            let (from, to) = if up {
                (pair[0], pair[1])
            } else {
                (pair[1], pair[0])
            };
            match (digit(from), digit(to)) {
                (Some(from), Some(to)) => to == from + 1 || (to == 0 && (from == 9 || from == 15)),
                _ => false,
            }
        })
    };
    signs.len() > 3 && (steps(true) || steps(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{DeviceIdentity, LayerRole};
    use std::path::PathBuf;

    fn layer(kind: DeviceKind, edit: fn(&mut DeviceIdentity)) -> Layer {
        let mut identity = DeviceIdentity {
            kind,
            ..DeviceIdentity::default()
        };
        edit(&mut identity);
        Layer {
            name: "disk".to_owned(),
            major: 179,
            minor: 0,
            role: LayerRole::Top,
            parent: None,
            other_parents: Vec::new(),
            size: None,
            backing_file: None,
            identity,
        }
    }

    fn storage(layers: Vec<Layer>) -> Storage {
        Storage {
            path: PathBuf::from("/mnt"),
            mount: None,
            backing: Backing::Device {
                name: "disk".to_owned(),
            },
            layers,
            total: None,
            available: None,
        }
    }

    fn unit(layer: Layer, name: Option<&str>) -> String {
        Unit::told(&storage(vec![layer]), name, "desk").to_string()
    }

    #[test]
    fn the_maker_comes_first_then_the_user_then_what_software_is_made_of() {
        let card = |identity: &mut DeviceIdentity| {
            identity.cid = Some("150100444734303332".to_owned());
            identity.serial = Some("0x3a1b5c77".to_owned());
        };
        let clone = |identity: &mut DeviceIdentity| {
            identity.cid = Some("150100444734303332".to_owned());
            identity.serial = Some("0x00000000".to_owned());
        };
        let of_card = "eMMC CID 150100444734303332";
        assert_eq!(unit(layer(DeviceKind::Emmc, card), None), of_card);
        assert_eq!(unit(layer(DeviceKind::Emmc, card), Some("x")), of_card);
        assert_eq!(unit(layer(DeviceKind::Emmc, clone), Some("x")), "x");
        assert_eq!(unit(layer(DeviceKind::Emmc, clone), None), "not known");
        let serial =
            |identity: &mut DeviceIdentity| identity.serial = Some("S649NX0T12".to_owned());
        let nvme = layer(DeviceKind::Nvme, serial);
        assert_eq!(unit(nvme.clone(), None), "NVMe serial S649NX0T12");
        // A reader's number is the same for each card in it.
        let usb = layer(DeviceKind::Usb, serial);
        assert_eq!(unit(usb.clone(), Some("card 2")), "card 2");
        assert_eq!(unit(usb, None), "USB storage serial S649NX0T12");
        assert_eq!(unit(layer(DeviceKind::Virtio, |_| ()), None), "not known");
        let of_file = Layer {
            backing_file: Some(PathBuf::from("/a.img")),
            ..layer(DeviceKind::Loop, |identity| {
                identity
                    .raw
                    .insert("backing_inode".to_owned(), "7".to_owned());
            })
        };
        assert_eq!(unit(of_file, None), "file /a.img, inode 7 of desk");
        // A partition and layers below a loop device do not hold the file.
        let disk = Layer {
            role: LayerRole::Disk,
            parent: Some("part".to_owned()),
            ..nvme
        };
        let part = Layer {
            name: "part".to_owned(),
            ..layer(DeviceKind::Partition, |_| ())
        };
        let both = Unit::told(&storage(vec![part, disk]), None, "desk");
        assert_eq!(both.to_string(), "NVMe serial S649NX0T12");
    }

    fn of(layer: Layer) -> Storage {
        storage(vec![layer])
    }

    #[test]
    fn a_medium_is_another_if_any_identifier_differs() {
        let with = |kind: DeviceKind, key: &str, value: &str| {
            let mut layer = layer(kind, |_| ());
            match key {
                "serial" => layer.identity.serial = Some(value.to_owned()),
                "cid" => layer.identity.cid = Some(value.to_owned()),
                _ => drop(layer.identity.raw.insert(key.to_owned(), value.to_owned())),
            }
            of(layer)
        };
        let mmc = "150100444734303332";
        for (kind, key, a, b, equal) in [
            (
                DeviceKind::Emmc,
                "cid",
                mmc,
                "150100444734303333",
                Same::Yes,
            ),
            (DeviceKind::Sata, "serial", "WD-1", "WD-2", Same::Yes),
            // A reader has a number, whichever card is in it.
            (DeviceKind::Usb, "serial", "2011A1", "2011B7", Same::Unknown),
            (
                DeviceKind::Usb,
                "wwid",
                "naa.5000c5001",
                "naa.5000c5002",
                Same::Yes,
            ),
            (
                DeviceKind::Nvme,
                "nguid",
                "0025385b71",
                "0025385b72",
                Same::Yes,
            ),
            (DeviceKind::Dm, "uuid", "LVM-a1", "LVM-a2", Same::Yes),
            (
                DeviceKind::Partition,
                "start",
                "2048",
                "4096",
                Same::Unknown,
            ),
            (
                DeviceKind::Loop,
                BACKING_ID,
                "12, 1.5",
                "12, 1.7",
                Same::Yes,
            ),
            (DeviceKind::Virtio, FS_UUID, "9f1c-1", "9f1c-2", Same::Yes),
            (DeviceKind::Virtio, FILE_ID, "12, 1.5", "13, 1.5", Same::Yes),
        ] {
            let before = with(kind.clone(), key, a);
            assert_eq!(is_same_medium(&before, &before), equal, "{key}");
            let other = is_same_medium(&before, &with(kind.clone(), key, b));
            let Same::No(why) = other else {
                panic!("{key}: {other:?}");
            };
            assert!(why.contains(a) && why.contains(b), "{why}");
            // A run of an earlier version lacks it.
            let bare = of(layer(kind, |_| ()));
            assert_eq!(is_same_medium(&bare, &before), Same::Unknown, "{key}");
        }
    }

    #[test]
    fn numbers_that_all_units_share_prove_nothing() {
        let stick = |identity: &mut DeviceIdentity| identity.serial = Some("0123456789".to_owned());
        let stick = of(layer(DeviceKind::Scsi, stick));
        assert_eq!(is_same_medium(&stick, &stick), Same::Unknown);
        // The disk beneath an image does not tell one image from the next.
        let disk = Layer {
            role: LayerRole::Beneath,
            ..layer(DeviceKind::Nvme, |identity| {
                identity.serial = Some("S64".to_owned())
            })
        };
        let on_disk = storage(vec![layer(DeviceKind::Loop, |_| ()), disk]);
        assert_eq!(is_same_medium(&on_disk, &on_disk), Same::Unknown);
        let small = Layer {
            size: Some(crate::units::Bytes(4096)),
            ..layer(DeviceKind::Scsi, |_| ())
        };
        assert!(matches!(is_same_medium(&stick, &of(small)), Same::No(_)));
    }

    #[test]
    fn numbers_that_all_devices_share_tell_nothing() {
        for number in [
            "",
            " ",
            "0",
            "0x00000000",
            "00000000000000000001",
            "ffffffff",
            "0123456789ABCDEF",
            "123456789012",
            "1234567890",
            "9876543210",
            "QM00001",
            "None",
            "Default string",
            "eui.0000000000000000",
            "----",
        ] {
            assert!(!tells_apart(number), "{number}");
        }
        for number in [
            "0x3a1b5c77",
            "S649NX0T123456",
            "1501004d4d4331364",
            "WD-WCC4E1234567",
            "vol-1a2b",
            "0025385b71b0c1d2",
            "AA00000000000489",
        ] {
            assert!(tells_apart(number), "{number}");
        }
    }
}
