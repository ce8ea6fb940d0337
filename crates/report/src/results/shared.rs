//! A run in the form for sharing: figures with their labels, model, bus mode, job hashes and kernel
//! version. Host names, paths, users and names given by users are left out; keyed hashes identify
//! units and runs.
//!
//! To add a field: it must not identify a person or a machine; a test here checks that, and
//! `docs/population.md` lists the fields.

use assay_model::facts::{Circumstance, FigureFacts, RunFacts};
use assay_model::figures::Better;
use assay_model::metric::Unit;
use assay_stats::figures::may_decide;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt::{self, Write};

/// Version of the file format.
pub const SHARED_VERSION: u32 = 1;

/// Secret of one person or lab. It is needed to find the serial number behind a hash, and to test
/// whether a known serial number is among the hashed ones.
#[derive(Clone)]
pub struct Secret(pub [u8; 32]);

/// Run in the form for sharing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedRun {
    /// Version of the file format.
    pub assay_shared: u32,
    /// Keyed hash of the run's id.
    pub run: String,
    /// Keyed hash of the identity of the unit.
    pub unit: String,
    /// Model of the device in a few words.
    pub model: String,
    /// Mode of the bus; empty if it is not known.
    pub bus: String,
    /// Version of the kernel, without local suffixes.
    pub kernel: String,
    /// The figures.
    pub figures: Vec<SharedFigure>,
}

/// Figure in the form for sharing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedFigure {
    /// Hash of the name and the resolved options of the job, without path and seed.
    pub job: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of the figure: `device`, `page-cache` and so on.
    pub label: String,
    /// Unit of the value.
    pub unit: Unit,
    /// Direction in which the metric improves; `None` if it has none.
    pub better: Option<Better>,
    /// Number of trials.
    pub n: u32,
    /// Median of the trials; for tail latencies, the percentile over all operations.
    pub value: f64,
}

/// Reason why a run cannot be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotShared {
    /// The manufacturer gave the device no name.
    NoModel,
    /// The unit has no identity, such as a serial number.
    NoUnit,
    /// No figure of the device was measured without a condition.
    NoFigures,
}

impl fmt::Display for NotShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoModel => "its device has no model, so there are no others of its kind",
            Self::NoUnit => {
                "its device has no serial number, and without one it cannot have one vote: name \
                 the unit when you measure (--unit NAME)"
            }
            Self::NoFigures => {
                "it has no figure of the device that was measured without a condition"
            }
        })
    }
}

impl SharedRun {
    /// Selects the shareable facts of a run. Figures under a condition are left out: their settings
    /// do not apply to other machines, and their names may contain anything.
    ///
    /// # Errors
    /// If the run cannot be compared with other units.
    pub fn of(facts: &RunFacts, secret: &Secret) -> Result<Self, NotShared> {
        if facts.series_unit.is_some() {
            return Err(NotShared::NoModel);
        }
        let unit = facts.known(Circumstance::Unit).ok_or(NotShared::NoUnit)?;
        let figures: Vec<SharedFigure> = comparable(facts).map(SharedFigure::of).collect();
        if figures.is_empty() {
            return Err(NotShared::NoFigures);
        }
        Ok(Self {
            assay_shared: SHARED_VERSION,
            run: secret.hash("run", &facts.run),
            unit: secret.hash("unit", unit),
            model: facts.model.clone(),
            bus: facts
                .known(Circumstance::Bus)
                .unwrap_or_default()
                .to_owned(),
            kernel: version_of(facts.known(Circumstance::Kernel).unwrap_or_default()),
            figures,
        })
    }

    /// Returns the file name, which depends only on the run.
    pub fn file_name(&self) -> String {
        let plain = |c: char| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
            _ => '-',
        };
        let model: String = self.model.chars().map(plain).take(48).collect();
        let parts = model.split('-').filter(|part| !part.is_empty());
        let model = parts.collect::<Vec<_>>().join("-");
        let run = self.run.get(..16).unwrap_or(&self.run);
        format!("{model}-{run}.json")
    }

    /// Returns true if a file from another user is valid.
    pub fn is_sound(&self) -> bool {
        self.assay_shared == SHARED_VERSION
            && !self.unit.is_empty()
            && self.figures.iter().all(|figure| figure.value.is_finite())
    }
}

impl SharedFigure {
    fn of(figure: &FigureFacts) -> Self {
        Self {
            job: figure.job_hash.clone(),
            metric: figure.metric.clone(),
            label: figure.label.clone(),
            unit: figure.unit,
            better: figure.better,
            n: figure.n,
            value: figure.centre,
        }
    }
}

/// Returns the figures that other runs of its kind can have: of the device, without a condition.
pub fn comparable(facts: &RunFacts) -> impl Iterator<Item = &FigureFacts> {
    let figures = facts.figures.iter();
    figures.filter(|figure| {
        figure.condition.is_empty() && may_decide(Some(&figure.label)) && figure.centre.is_finite()
    })
}

impl Secret {
    /// Returns the keyed hash of a text of one kind (RFC 2104), 32 hexadecimal digits.
    fn hash(&self, kind: &str, text: &str) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(kind.as_bytes());
        mac.update(&[0]);
        mac.update(text.as_bytes());
        let mut hash = String::with_capacity(32);
        for byte in mac.finalize().into_bytes().iter().take(16) {
            // Writing to a String cannot fail.
            let _ = write!(hash, "{byte:02x}");
        }
        hash
    }

    /// Returns the hash of a run's unit; `None` if the unit has no identity.
    pub fn unit_of(&self, facts: &RunFacts) -> Option<String> {
        let unit = facts.known(Circumstance::Unit)?;
        Some(self.hash("unit", unit))
    }
}

/// Returns the numeric part of a release: the rest may contain the name of a machine or a person.
fn version_of(release: &str) -> String {
    let version = release
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .next();
    version.unwrap_or_default().trim_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::facts;
    use crate::testing::fixture;

    const SECRET: Secret = Secret([7; 32]);

    #[test]
    fn nothing_of_the_person_or_the_machine_leaves() {
        let mut run = fixture::run();
        let header = &mut run.header;
        header.system.hostname = Some("zz-host".to_owned());
        header.system.kernel = "6.6.63-zz-builder".to_owned();
        header.storage.path = "/home/zz-user/sd".into();
        header.target = Some("ssh://zz-login@zz-board".to_owned());
        header.command = vec!["assay".to_owned(), "/home/zz-user/sd".to_owned()];
        run.annotation.note = Some("zz-note".to_owned());
        for trial in &mut run.trials {
            trial.job.name = format!("zz-{}", trial.job.name);
        }
        let facts = facts::of(&run);
        let shared = SharedRun::of(&facts, &SECRET).unwrap();
        let text = serde_json::to_string(&shared).unwrap();
        assert!(!text.contains("zz"), "{text}");
        let unit = facts.known(Circumstance::Unit).unwrap();
        let serial = unit.rsplit(' ').next().unwrap();
        assert!(serial.len() > 8 && !text.contains(serial), "{text}");
        assert_eq!(shared.kernel, "6.6.63");
        assert!(shared.figures.len() > 10);
        assert!(
            shared
                .figures
                .iter()
                .all(|figure| figure.label != "page-cache")
        );
        insta::assert_snapshot!(shared.file_name());
    }

    #[test]
    fn hashes_are_those_of_the_standard_and_of_one_secret() {
        // hmac.new(bytes([7]) * 32, b"unit\\0a", hashlib.sha256).hexdigest()[:32] of Python.
        assert_eq!(SECRET.hash("unit", "a"), "dd271ce8faace64310276d1e5eba1c88");
        assert_ne!(SECRET.hash("unit", "a"), SECRET.hash("run", "a"));
        assert_ne!(SECRET.hash("unit", "a"), Secret([8; 32]).hash("unit", "a"));
        assert_eq!(SECRET.hash("unit", "a").len(), 32);
    }

    #[test]
    fn a_device_without_a_name_or_a_number_is_not_shared() {
        let mut facts = facts::of(&fixture::run());
        facts.series_unit = Some("file /a.img".to_owned());
        assert_eq!(SharedRun::of(&facts, &SECRET), Err(NotShared::NoModel));
        facts.series_unit = None;
        facts.surroundings.remove(Circumstance::Unit.name());
        assert_eq!(SharedRun::of(&facts, &SECRET), Err(NotShared::NoUnit));
    }

    #[test]
    fn releases_of_kernels_lose_what_their_builders_added() {
        for (release, version) in [
            ("6.6.63", "6.6.63"),
            ("6.1.0-28-amd64", "6.1.0"),
            ("5.10.157-android13-4-o-g5f7", "5.10.157"),
            ("alices-kernel", ""),
        ] {
            assert_eq!(version_of(release), version);
        }
    }
}
