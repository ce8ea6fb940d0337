//! Labels of one job's trials: one label if all agree, else every label with its count, so that a
//! disagreement is never hidden.

use crate::words::{NameValue, clean, extremes, percent, registers};
use assay_judge::Measured;
use assay_lang::{counted, key, tr, translated};
use assay_model::run::Run;
use assay_model::storage::{Backing, DeviceIdentity, DeviceKind, Layer, Storage};
use assay_model::units::{Bytes, Nanos};
use std::fmt;
use std::path::Path;

/// Labels of trials with their meanings.
pub const MEANINGS: [(&str, &str); 8] = [
    (
        "device",
        key!(
            "at least 95 % of the bytes moved to or from the device while the clock ran, and what was written is \
         safe from a power cut: the device has no volatile cache, or was seen to be flushed"
        ),
    ),
    (
        "device-unflushed",
        key!("the bytes reached the device, but may still be in its volatile cache"),
    ),
    (
        "page-cache",
        key!("at most 5 % of the bytes moved to or from the device: the figure is memory's"),
    ),
    (
        "mixed",
        key!("in between: the figure stands neither for memory nor for the device"),
    ),
    (
        "simulated",
        key!("nothing was measured: a model of a device computed the figure in virtual time"),
    ),
    (
        "memory",
        key!("main memory itself was measured, far beyond the caches that the kernel reports"),
    ),
    (
        "cpu-cache",
        key!("what was measured fits into the processor's caches that the kernel reports"),
    ),
    (
        "unknown",
        key!("the kernel does not show enough to tell; the reason is given"),
    ),
];

/// Label for trials that disagree, used if there is room for only one word.
pub const DIFFERS: &str = key!("differs");

/// Returns the meaning of a label, as a clause.
pub fn meaning(label: &str) -> Option<&'static str> {
    if label == DIFFERS {
        return Some(tr!("the trials do not agree; the evidence has each"));
    }
    let known = MEANINGS.iter().find(|(known, _)| *known == label);
    known.map(|(_, meaning)| translated(meaning))
}

/// Returns the known label that is equal to a text.
pub fn label_of(text: &str) -> Option<&'static str> {
    let labels = MEANINGS.iter().map(|(label, _)| *label).chain([DIFFERS]);
    labels.into_iter().find(|label| *label == text)
}

/// Labels of several trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels(Vec<Measured>);

impl Labels {
    /// Returns true if there is no label.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns each trial's label.
    pub fn iter(&self) -> impl Iterator<Item = &Measured> {
        self.0.iter()
    }

    /// Returns the label that all trials have; `None` if they differ or there is no trial.
    pub fn agreed(&self) -> Option<&'static str> {
        match self.counts().as_slice() {
            [(label, _)] => Some(label),
            _ => None,
        }
    }

    /// Returns each label with its number of trials, most frequent first.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for measured in &self.0 {
            match counts.iter_mut().find(|(l, _)| *l == measured.label()) {
                Some((_, n)) => *n += 1,
                None => counts.push((measured.label(), 1)),
            }
        }
        counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        counts
    }

    /// Returns true if any trial has that label.
    pub fn has(&self, label: &str) -> bool {
        self.0.iter().any(|measured| measured.label() == label)
    }

    /// Returns the reasons why trials are `unknown`, each once, safe to display.
    pub fn unknown_reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for measured in &self.0 {
            if let Measured::Unknown { why } = measured {
                let why = clean(why);
                if !reasons.contains(&why) {
                    reasons.push(why);
                }
            }
        }
        reasons
    }

    /// Returns the smallest and the largest device share of the `mixed` trials.
    pub fn mixed_shares(&self) -> Option<(f64, f64)> {
        let shares = self.0.iter().filter_map(|measured| match measured {
            Measured::Mixed { device_share } => Some(*device_share),
            _ => None,
        });
        extremes(shares)
    }

    /// Describes one label; `mixed` includes its shares.
    pub fn describe(&self, label: &str) -> String {
        match self.mixed_shares() {
            Some((low, high)) if label == "mixed" => {
                let (low, high) = (percent(low), percent(high));
                let share = match low == high {
                    true => low,
                    false => format!("{}..{high}", low.trim_end_matches(" %")),
                };
                tr!("mixed (device {share})", share)
            }
            _ => translated(label).to_owned(),
        }
    }
}

impl FromIterator<Measured> for Labels {
    fn from_iter<I: IntoIterator<Item = Measured>>(labels: I) -> Self {
        Self(labels.into_iter().collect())
    }
}

/// Formats as `device`, `mixed (device 40..60 %)`, or `device in 2 trials, page-cache in 1 trial`.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts();
        if let [(label, _)] = counts.as_slice() {
            return f.write_str(&self.describe(label));
        }
        for (index, (label, n)) in counts.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { tr!(", ") })?;
            let trials = counted!(*n, "{n} trial", "{n} trials");
            f.write_str(&tr!(
                "{label} in {trials}",
                label = self.describe(label),
                trials
            ))?;
        }
        Ok(())
    }
}

/// Describes the storage in one line: `SanDisk DG4032, eMMC, 29.1 GiB (mmcblk0)`.
pub fn name(storage: &Storage) -> String {
    let path = clean(&storage.path.to_string_lossy());
    match (&storage.backing, storage.device()) {
        (Backing::Simulated { part }, _) => tr!("simulated device {part}", part = clean(part)),
        (Backing::Device { .. }, Some(layer)) => {
            let identity = &layer.identity;
            let mut parts: Vec<String> = maker_and_model(identity).into_iter().collect();
            parts.push(identity.kind.to_string());
            parts.extend(layer.size.map(|size| size.to_string()));
            format!("{} ({})", parts.join(", "), clean(&layer.name))
        }
        (Backing::Device { name }, None) => tr!("block device {name}", name = clean(name)),
        (Backing::Memory { fs_type }, _) => tr!(
            "{path}: {file_system} in memory",
            path,
            file_system = clean(fs_type)
        ),
        (Backing::MainMemory, _) => tr!("main memory").to_owned(),
        (Backing::Unknown { .. }, _) => tr!("{path}: device unknown", path),
    }
}

pub(crate) fn maker_and_model(identity: &DeviceIdentity) -> Option<String> {
    let model = identity.model.as_deref().map(clean);
    let vendor = identity.vendor.as_deref().map(clean);
    match (vendor, model) {
        (Some(vendor), Some(model)) if !model.starts_with(&vendor) => {
            Some(format!("{} {}", vendor.trim(), model.trim()))
        }
        (vendor, model) => model.or(vendor).map(|text| text.trim().to_owned()),
    }
}

/// Returns everything that the kernel shows of a device.
pub fn device_facts(layer: &Layer) -> Vec<NameValue> {
    let identity = &layer.identity;
    let text = |value: &Option<String>| value.as_deref().map(clean);
    let size = |value: Option<Bytes>| value.map(|bytes| bytes.to_string());
    let yes_no =
        |value: Option<bool>| value.map(|yes| if yes { tr!("yes") } else { tr!("no") }.to_owned());
    let backing_file = layer.backing_file.as_deref();
    known([
        (tr!("kernel name"), Some(clean(&layer.name))),
        (tr!("kind"), Some(identity.kind.to_string())),
        (tr!("maker"), text(&identity.vendor)),
        (tr!("model"), text(&identity.model)),
        (tr!("capacity"), size(layer.size)),
        (tr!("bus"), text(&identity.bus)),
        (tr!("firmware"), text(&identity.firmware)),
        (tr!("made"), text(&identity.date)),
        (tr!("serial"), text(&identity.serial)),
        (tr!("CID"), text(&identity.cid)),
        (tr!("life time used"), text(&identity.life_time)),
        (tr!("pre-EOL"), text(&identity.pre_eol)),
        (tr!("file behind it"), backing_file.map(path)),
        (tr!("logical block"), size(identity.logical_block)),
        (tr!("physical block"), size(identity.physical_block)),
        (tr!("rotational"), yes_no(identity.rotational)),
        (tr!("removable"), yes_no(identity.removable)),
    ])
    .into_iter()
    .chain(registers::facts(identity))
    .collect()
}

/// Returns facts about the location of the bytes: path, mount, free space.
pub fn path_facts(storage: &Storage) -> Vec<NameValue> {
    let mount = storage.mount.as_ref();
    let held_by = match &storage.backing {
        Backing::Device { name } => clean(name),
        Backing::Memory { fs_type } => tr!("memory ({file_system})", file_system = clean(fs_type)),
        Backing::Simulated { .. } => tr!("nothing: it is simulated").to_owned(),
        Backing::MainMemory => tr!("main memory").to_owned(),
        Backing::Unknown { why } => tr!("unknown: {why}", why = clean(why)),
    };
    let stack: Vec<String> = storage.layers.iter().map(|l| clean(&l.name)).collect();
    known([
        (tr!("path"), Some(path(&storage.path))),
        (tr!("held by"), Some(held_by)),
        (
            tr!("stack"),
            (stack.len() > 1).then(|| stack.join(tr!(" on "))),
        ),
        (tr!("mount point"), mount.map(|m| path(&m.point))),
        (tr!("file system"), mount.map(|m| clean(&m.fs_type))),
        (
            tr!("mount options"),
            mount.map(|m| clean(&m.options.join(","))),
        ),
        (
            tr!("file system options"),
            mount.map(|m| clean(&m.super_options.join(","))),
        ),
        (tr!("size"), storage.total.map(|bytes| bytes.to_string())),
        (
            tr!("room at the start"),
            storage.available.map(|bytes| bytes.to_string()),
        ),
    ])
}

/// Returns facts about the machine.
pub fn system_facts(run: &Run) -> Vec<NameValue> {
    let system = &run.header.system;
    let text = |value: &Option<String>| value.as_deref().map(clean);
    let root = if system.root { tr!("yes") } else { tr!("no") };
    known([
        (tr!("host"), text(&system.hostname)),
        (tr!("board"), text(&system.board)),
        (tr!("system"), text(&system.os)),
        (
            tr!("kernel"),
            Some(format!(
                "{} {}",
                clean(&system.kernel),
                clean(&system.machine)
            )),
        ),
        (tr!("CPU"), text(&system.cpu_model)),
        (tr!("CPUs online"), Some(system.cpus.to_string())),
        (tr!("RAM"), Some(system.memory.to_string())),
        (tr!("page size"), Some(system.page_size.to_string())),
        (tr!("clock source"), text(&system.clocksource)),
        (tr!("run as root"), Some(root.to_owned())),
    ])
}

/// Returns the duration of a run; `None` if it has no end.
pub fn took(run: &Run) -> Option<Nanos> {
    let ms = run
        .finished_unix_ms?
        .checked_sub(run.header.started_unix_ms)?;
    Some(Nanos(ms.saturating_mul(1_000_000)))
}

/// Returns true if the layer is a whole device, not a partition.
pub fn is_device(layer: &Layer) -> bool {
    layer.identity.kind != DeviceKind::Partition
}

fn path(path: &Path) -> String {
    clean(&path.to_string_lossy())
}

pub(crate) fn known<const N: usize>(facts: [(&'static str, Option<String>); N]) -> Vec<NameValue> {
    let facts = facts.into_iter();
    facts
        .filter_map(|(name, value)| Some((name, value?)))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(device_share: f64) -> Measured {
        Measured::Mixed { device_share }
    }

    #[test]
    fn agreement_is_one_word() {
        let labels: Labels = [Measured::Device, Measured::Device].into_iter().collect();
        assert_eq!(labels.to_string(), "device");
        assert_eq!(labels.agreed(), Some("device"));
    }

    #[test]
    fn a_disagreement_names_every_label_and_its_count() {
        let labels: Labels = [Measured::PageCache, Measured::Device, Measured::Device]
            .into_iter()
            .collect();
        assert_eq!(
            labels.to_string(),
            "device in 2 trials, page-cache in 1 trial"
        );
        assert_eq!(labels.agreed(), None);
    }

    #[test]
    fn mixed_tells_its_shares() {
        let labels: Labels = [mixed(0.4), mixed(0.6)].into_iter().collect();
        assert_eq!(labels.to_string(), "mixed (device 40..60 %)");
        let same: Labels = [mixed(0.4), mixed(0.4)].into_iter().collect();
        assert_eq!(same.to_string(), "mixed (device 40 %)");
    }
}
