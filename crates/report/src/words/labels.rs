//! Labels of one job's trials: one label if all agree, else every label with its count, so that a
//! disagreement is never hidden.

use crate::words::format::{extremes, percent};
use crate::words::text::clean;
use assay_judge::Measured;
use assay_lang::{counted, key, tr, translated};
use std::fmt;

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
