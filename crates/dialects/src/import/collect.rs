//! Collects figures: a repeated name is another trial of the same figure.

use super::{ImportError, Taken};
use assay_model::figures::{Figure, Results, Sample};
use assay_model::text::shorten;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Metric under a condition.
#[derive(Clone, Debug, Default)]
pub(super) struct Key {
    pub(super) condition: String,
    pub(super) metric: String,
    pub(super) unit: String,
    pub(super) primary: bool,
    pub(super) measured: Option<String>,
}

/// Mean of trials that the text reports without single values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReportedMean {
    pub(super) n: u32,
    pub(super) mean: f64,
    pub(super) stdev: Option<f64>,
}

/// Figures collected so far.
#[derive(Debug)]
pub(super) struct Collector {
    results: Results,
    /// Indices of the figures of a metric, one for each condition. They all have the
    /// metric's unit.
    places: HashMap<String, Vec<usize>>,
    /// Condition and metric of figures whose trials have different labels.
    mixed: HashSet<[String; 2]>,
    /// Metrics of which some trials have a position and others have none.
    half_ordered: BTreeSet<String>,
}

impl Collector {
    pub(super) fn new(tool: impl Into<String>) -> Self {
        Self {
            results: Results {
                tool: tool.into(),
                ..Results::default()
            },
            places: HashMap::new(),
            mixed: HashSet::new(),
            half_ordered: BTreeSet::new(),
        }
    }

    pub(super) fn tool(&mut self, tool: impl Into<String>) {
        self.results.tool = tool.into();
    }

    /// Adds a line to the circumstances, unless it is there.
    pub(super) fn circumstance(&mut self, line: impl Into<String>) {
        add(&mut self.results.circumstances, line.into());
    }

    /// Adds a sentence about omitted or converted data, unless it is there.
    pub(super) fn note(&mut self, sentence: impl Into<String>) {
        add(&mut self.results.notes, sentence.into());
    }

    /// Adds a note on errors that a program reported beside its figures.
    pub(super) fn errors(&mut self, program: &str, errors: &[&str]) {
        if let Some(first) = errors.first() {
            self.note(format!(
                "{program} reported errors ({}), the first of which is '{}': its figures may be \
                 wrong, or those of a part of it.",
                errors.len(),
                shorten(first.trim(), 80)
            ));
        }
    }

    /// Adds the value of a trial. `position` is its place in the order of all trials.
    pub(super) fn value(
        &mut self,
        mut key: Key,
        value: f64,
        position: Option<f64>,
        line: Option<usize>,
    ) -> Result<(), ImportError> {
        let value = value * self.same_unit(&mut key, line)?;
        check(&key, value, line)?;
        let Some(figure) = self.known(&key) else {
            let positions = position.into_iter().collect();
            let sample = Sample::Values {
                values: vec![value],
                positions,
            };
            self.add(key, sample);
            return Ok(());
        };
        let differs = figure.measured != key.measured;
        let mut half = false;
        match &mut figure.sample {
            Sample::Values { values, positions } => {
                // A partial order is useless, so drop all positions.
                match position {
                    Some(position) if positions.len() == values.len() => positions.push(position),
                    position => {
                        half = position.is_some() || !positions.is_empty();
                        positions.clear();
                    }
                }
                values.push(value);
            }
            Sample::Moments { .. } => return Err(twice(&key, line)),
        }
        if half {
            self.half_ordered.insert(key.metric.clone());
        }
        if differs {
            self.measured_differently(&key);
        }
        Ok(())
    }

    /// Adds the mean of trials whose single values are unknown.
    pub(super) fn moments(
        &mut self,
        mut key: Key,
        moments: ReportedMean,
        line: Option<usize>,
    ) -> Result<(), ImportError> {
        let ReportedMean { n, mean, stdev } = moments;
        if n == 0 {
            let problem = format!("{}: n is 0: there is no mean of 0 trials", name(&key));
            return Err(ImportError::at(line, problem));
        }
        let factor = self.same_unit(&mut key, line)?;
        if self.known(&key).is_some() {
            return Err(twice(&key, line));
        }
        let (mean, stdev) = (mean * factor, stdev.map(|stdev| stdev * factor));
        check(&key, mean, line)?;
        stdev.map_or(Ok(()), |stdev| check(&key, stdev, line))?;
        // One trial has no spread, so a printed deviation is ignored.
        let stdev = stdev.filter(|_| n > 1);
        self.add(key, Sample::Moments { n, mean, stdev });
        Ok(())
    }

    /// Returns true if a figure has no label, apart from figures whose trials have
    /// different ones.
    pub(super) fn has_unrecorded(&self) -> bool {
        let is_mixed = |figure: &Figure| {
            let name = [figure.condition.clone(), figure.metric.clone()];
            self.mixed.contains(&name)
        };
        let mut figures = self.results.figures.iter();
        figures.any(|figure| figure.measured.is_none() && !is_mixed(figure))
    }

    /// Adds notes on metrics in which positions are missing or two trials have the same
    /// one: their order is unknown.
    pub(super) fn check_order(&mut self) {
        for metric in std::mem::take(&mut self.half_ordered) {
            self.note(format!(
                "{metric}: some of its trials have no position, so their order is unknown."
            ));
        }
        let figures = &self.results.figures;
        let has_one_twice = |places: &Vec<usize>| {
            let samples = places.iter().map(|place| &figures[*place].sample);
            let mut positions: Vec<f64> = samples.flat_map(positions).copied().collect();
            positions.sort_by(f64::total_cmp);
            positions.windows(2).any(|pair| pair[0] >= pair[1])
        };
        let of_metrics = self.places.iter();
        let doubtful = of_metrics.filter(|(_, places)| has_one_twice(places));
        let mut doubtful: Vec<String> = doubtful.map(|(metric, _)| metric.clone()).collect();
        doubtful.sort();
        for metric in doubtful {
            self.note(format!(
                "{metric}: two of its trials have the same position, so their order is unknown."
            ));
        }
    }

    pub(super) fn finish(self) -> Results {
        self.results
    }

    fn known(&mut self, key: &Key) -> Option<&mut Figure> {
        let places = self.places.get(&key.metric)?;
        let figures = &self.results.figures;
        let is_it = |place: &&usize| {
            figures
                .get(**place)
                .is_some_and(|f| f.condition == key.condition)
        };
        let place = *places.iter().find(is_it)?;
        self.results.figures.get_mut(place)
    }

    fn add(&mut self, key: Key, sample: Sample) {
        let place = self.results.figures.len();
        self.places
            .entry(key.metric.clone())
            .or_default()
            .push(place);
        self.results.figures.push(Figure {
            better: super::better(&key.unit),
            condition: key.condition,
            metric: key.metric,
            unit: key.unit,
            primary: key.primary,
            sample,
            measured: key.measured,
            waited: None,
        });
    }

    /// Changes the key's unit to that of its metric. Returns the factor for its value.
    fn same_unit(&mut self, key: &mut Key, line: Option<usize>) -> Result<f64, ImportError> {
        let place = self
            .places
            .get(&key.metric)
            .and_then(|places| places.first());
        let figure = place.and_then(|place| self.results.figures.get(*place));
        let Some(Figure { unit: first, .. }) = figure.filter(|figure| figure.unit != key.unit)
        else {
            return Ok(1.0);
        };
        let Some(factor) = assay_stats::unit::factor(&key.unit, first) else {
            let problem = format!(
                "{} is in '{}', and was in '{first}' before: one metric has one unit",
                name(key),
                key.unit
            );
            return Err(ImportError::at(line, problem));
        };
        let note = format!(
            "{}: some trials are written in {}; here all are in {first}.",
            key.metric, key.unit
        );
        key.unit.clone_from(first);
        self.note(note);
        Ok(factor)
    }

    fn measured_differently(&mut self, key: &Key) {
        if let Some(figure) = self.known(key) {
            figure.measured = None;
        }
        self.mixed
            .insert([key.condition.clone(), key.metric.clone()]);
        self.note(format!(
            "{}: its trials did not all measure the same, so what they measured is unknown.",
            name(key)
        ));
    }
}

fn positions(sample: &Sample) -> &[f64] {
    match sample {
        Sample::Values { positions, .. } => positions,
        Sample::Moments { .. } => &[],
    }
}

fn add(lines: &mut Vec<String>, line: String) {
    if !lines.contains(&line) {
        lines.push(line);
    }
}

fn check(key: &Key, value: f64, line: Option<usize>) -> Result<(), ImportError> {
    let problem = match value {
        v if !v.is_finite() => format!("{}: '{v}' is not a number", name(key)),
        v if v < 0.0 => format!("{}: {v} is negative, and no measurement is", name(key)),
        _ => return Ok(()),
    };
    Err(ImportError::at(line, problem))
}

fn twice(key: &Key, line: Option<usize>) -> ImportError {
    let problem = format!(
        "{}: there is a figure already, and a mean cannot be joined with another: take each in \
         by itself, or under another --condition",
        name(key)
    );
    ImportError::at(line, problem)
}

fn name(key: &Key) -> String {
    match key.condition.as_str() {
        "" => key.metric.clone(),
        condition => format!("{} under {condition}", key.metric),
    }
}

/// Merges the texts of one experiment: each text adds a trial to a figure. `condition`
/// applies to all of them; a condition within a text becomes a prefix of the metric.
///
/// # Errors
/// When a metric has several units, or a mean is repeated.
pub fn together(mut texts: Vec<Taken>, condition: Option<&str>) -> Result<Results, ImportError> {
    if texts.len() == 1 && condition.is_none() {
        return Ok(texts.swap_remove(0).results);
    }
    let mut all = Collector::new("");
    let mut tools: Vec<String> = Vec::new();
    for Taken { results, .. } in texts {
        add(&mut tools, results.tool);
        for line in results.circumstances {
            all.circumstance(line);
        }
        for note in results.notes {
            all.note(note);
        }
        for figure in results.figures {
            add_figure(&mut all, figure, condition)?;
        }
    }
    all.tool(tools.join(", "));
    Ok(all.finish())
}

fn add_figure(
    all: &mut Collector,
    figure: Figure,
    condition: Option<&str>,
) -> Result<(), ImportError> {
    let metric = match (condition, figure.condition.as_str()) {
        (Some(_), own) if !own.is_empty() => format!("{own}: {}", figure.metric),
        _ => figure.metric,
    };
    let key = Key {
        condition: condition.map_or(figure.condition, str::to_owned),
        metric,
        unit: figure.unit,
        primary: figure.primary,
        measured: figure.measured,
    };
    match figure.sample {
        Sample::Moments { n, mean, stdev } => {
            all.moments(key, ReportedMean { n, mean, stdev }, None)
        }
        Sample::Values { values, positions } => {
            let positions = positions
                .into_iter()
                .map(Some)
                .chain(std::iter::repeat(None));
            for (value, position) in values.into_iter().zip(positions) {
                all.value(key.clone(), value, position, None)?;
            }
            Ok(())
        }
    }
}
