//! Rank of a run's figures among those of other units of the same model, and a run in the form for
//! sharing ([`SharedRun`]).
//!
//! A shared run contains figures with their labels, model, bus mode, job hashes and kernel version.
//! Host names, paths, users and names given by users are left out; keyed hashes identify units and
//! runs.
//!
//! To add a field: it must not identify a person or a machine; a test here checks that, and
//! `docs/population.md` lists the fields.

use assay_model::figures::{Better, Circumstance, FigureFacts, RunFacts, Unit};
use assay_stats::figures::may_decide;
use assay_stats::summary::{Population, Standing};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write;

/// Quantiles that describe the population, in percent.
pub const QUANTILES: [u8; 5] = [5, 25, 50, 75, 95];

/// Properties that two figures must share to be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    job: String,
    metric: String,
    label: String,
}

/// Runs of other units of the same model with the same bus mode.
#[derive(Clone, Debug, Default)]
pub struct Others {
    figures: BTreeMap<Kind, Vec<(String, f64)>>,
    units: BTreeSet<String>,
}

/// Figure of a run on another unit of the same model and bus.
#[derive(Clone, Debug, PartialEq)]
pub struct KinFigure {
    /// Keyed hash or name of the unit.
    pub unit: String,
    /// Hash of the job.
    pub job: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of the figure: `device`, `page-cache` and so on.
    pub label: String,
    /// The figure.
    pub value: f64,
}

impl Extend<KinFigure> for Others {
    fn extend<T: IntoIterator<Item = KinFigure>>(&mut self, figures: T) {
        for figure in figures {
            let kind = Kind {
                job: figure.job,
                metric: figure.metric,
                label: figure.label,
            };
            let values = self.figures.entry(kind).or_default();
            values.push((figure.unit.clone(), figure.value));
            self.units.insert(figure.unit);
        }
    }
}

impl FromIterator<KinFigure> for Others {
    fn from_iter<T: IntoIterator<Item = KinFigure>>(figures: T) -> Self {
        let mut others = Self::default();
        others.extend(figures);
        others
    }
}

/// Figure of a run with its rank among other units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    /// Name of the job in this run.
    pub job: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of the figure: `device`, `page-cache` and so on.
    pub label: String,
    /// Unit of the values.
    pub unit: Unit,
    /// True if the figure decides how good the result of the job is.
    pub primary: bool,
    /// The figure of this run.
    pub value: f64,
    /// Number of other units.
    pub units: usize,
    /// Share of other units that this unit surpasses, in percent.
    pub percentile: f64,
    /// Interval that contains this share among all units, with 90 % confidence.
    pub band: [f64; 2],
    /// Value of the population at each of [`QUANTILES`].
    pub quantiles: BTreeMap<String, f64>,
}

/// Ranks of a run among other runs of its kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standings {
    /// Model of the device.
    pub model: String,
    /// Mode of the bus; empty if it is not known.
    pub bus: String,
    /// Number of other units of that model on that bus; in a store, only those of the newest runs.
    pub units: usize,
    /// Number of newest runs considered in a store; `None` for a folder, in which all runs count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_runs: Option<usize>,
    /// Figures that enough other units have, in the order of the run.
    pub figures: Vec<Placed>,
}

impl Others {
    /// Selects the runs that are comparable with one run, except those of its `unit`.
    pub fn of(
        facts: &RunFacts,
        own: Option<&str>,
        all: impl IntoIterator<Item = SharedRun>,
    ) -> Self {
        let bus = facts.known(Circumstance::Bus).unwrap_or_default();
        let mut others = Self::default();
        let mut seen = BTreeSet::new();
        for run in all {
            let alike = run.model == facts.model && run.bus == bus;
            if !alike || own == Some(run.unit.as_str()) || !seen.insert(run.run.clone()) {
                continue;
            }
            let SharedRun { unit, figures, .. } = run;
            others.extend(figures.into_iter().map(|figure| KinFigure {
                unit: unit.clone(),
                job: figure.job,
                metric: figure.metric,
                label: figure.label,
                value: figure.value,
            }));
        }
        others
    }

    /// Ranks each figure of the run.
    pub fn place(&self, facts: &RunFacts) -> Standings {
        let bus = facts.known(Circumstance::Bus).unwrap_or_default();
        Standings {
            model: facts.model.clone(),
            bus: bus.to_owned(),
            units: self.units.len(),
            newest_runs: None,
            figures: comparable(facts)
                .filter_map(|figure| self.place_one(figure))
                .collect(),
        }
    }

    fn place_one(&self, figure: &FigureFacts) -> Option<Placed> {
        let kind = Kind {
            job: figure.job_hash.clone(),
            metric: figure.metric.clone(),
            label: figure.label.clone(),
        };
        let population = Population::of_runs(self.figures.get(&kind)?.iter().cloned());
        let Standing {
            percentile,
            low,
            high,
            units,
        } = population.standing(figure.centre, figure.better)?;
        let quantile = |percent: u8| {
            let value = population.quantile(f64::from(percent) / 100.0)?;
            Some((format!("p{percent}"), value))
        };
        Some(Placed {
            job: figure.job.clone(),
            metric: figure.metric.clone(),
            label: figure.label.clone(),
            unit: figure.unit,
            primary: figure.primary,
            value: figure.centre,
            units,
            percentile,
            band: [low, high],
            quantiles: QUANTILES.into_iter().filter_map(quantile).collect(),
        })
    }
}

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
pub(crate) mod tests {
    use super::*;
    use crate::results::facts;
    use crate::testing::fixture;

    /// Returns runs of other units, each a little faster than the one before, relative to the run's
    /// own figures; each unit was measured twice.
    pub(crate) fn others(facts: &RunFacts, units: u32) -> Vec<SharedRun> {
        let own = SharedRun::of(facts, &Secret([1; 32])).unwrap();
        let of = |at: u32| {
            let mut run = own.clone();
            run.unit = format!("unit {}", at / 2);
            run.run = format!("run {at}");
            for figure in &mut run.figures {
                figure.value *= 0.905 + 0.01 * f64::from(at / 2);
            }
            run
        };
        (0..2 * units).map(of).collect()
    }

    #[test]
    fn a_run_is_placed_among_other_units_of_its_kind() {
        let facts = facts::of(&fixture::run());
        let mut all = others(&facts, 20);
        // Not of its kind: another bus, another model, another job, its own unit.
        let odd = |name: &str, edit: fn(&mut SharedRun)| {
            let mut run = others(&facts, 1).swap_remove(0);
            name.clone_into(&mut run.run);
            edit(&mut run);
            run
        };
        all.push(odd("bus", |run| run.bus = "another".to_owned()));
        all.push(odd("model", |run| run.model = "another".to_owned()));
        all.push(odd("own", |run| run.unit = "own".to_owned()));
        all.push(odd("job", |run| {
            for figure in &mut run.figures {
                figure.job = "another".to_owned();
            }
        }));
        let standings = Others::of(&facts, Some("own"), all).place(&facts);
        assert_eq!(standings.units, 20);
        assert!(!standings.figures.is_empty());
        for placed in &standings.figures {
            assert_eq!(placed.units, 20);
            assert!((placed.percentile - 50.0).abs() < 1e-9, "{placed:?}");
            assert!(placed.band[0] < 45.0 && placed.band[1] > 55.0);
        }
    }

    #[test]
    fn four_other_units_are_no_population() {
        let facts = facts::of(&fixture::run());
        let few = Others::of(&facts, None, others(&facts, 4)).place(&facts);
        assert!(few.figures.is_empty());
        assert_eq!(few.units, 4);
        let enough = Others::of(&facts, None, others(&facts, 5)).place(&facts);
        assert!(!enough.figures.is_empty());
    }

    #[test]
    fn a_run_that_is_there_twice_counts_once() {
        let facts = facts::of(&fixture::run());
        let once = others(&facts, 6);
        let twice = [once.clone(), once.clone()].concat();
        let of = |all| Others::of(&facts, None, all).place(&facts);
        assert_eq!(of(once), of(twice));
    }

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
