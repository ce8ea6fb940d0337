//! Several units of each part: what is found then holds for the parts.

use super::arm::Arm;
use super::combined::Level;
use super::compare::{Comparison, Scope, compare_at};
use super::line::Options;
use super::note::Note;
use assay_model::figures::{Better, Figure, Sample};

/// Fewest units of each part that stand for it.
pub const MIN_UNITS: usize = 3;

/// Compares two parts by the figures of their units. From three units a part
/// on, each unit's mean is one observation, df = U_A + U_B - 2 (the top level
/// of Kalibera and Jones 2013). With fewer, trials of all units are put
/// together and the finding holds for these units alone.
#[must_use]
pub fn compare_units(a: &[Vec<Figure>], b: &[Vec<Figure>], options: &Options) -> Comparison {
    if a.len().min(b.len()) >= MIN_UNITS {
        let (of_a, of_b) = (joined(a, unit_means), joined(b, unit_means));
        let compared = compare_at(&of_a, &of_b, Level::Units, options);
        let scope = Scope::Parts(a.len(), b.len());
        return Comparison { scope, ..compared };
    }
    let (of_a, of_b) = (joined(a, all_trials), joined(b, all_trials));
    let mut compared = compare_at(&of_a, &of_b, Level::Trials, options);
    compared.scope = match (a.len(), b.len()) {
        (0 | 1, 0 | 1) => Scope::TwoUnits,
        (units_a, units_b) => {
            compared.notes.push(Note::FewUnits(units_a, units_b));
            Scope::Units(units_a + units_b)
        }
    };
    compared
}

/// One figure per metric of the first unit, from those of all units.
fn joined(units: &[Vec<Figure>], sample: fn(&[&Figure]) -> Sample) -> Vec<Figure> {
    let [only] = units else {
        let first = units.first().map(Vec::as_slice).unwrap_or_default();
        return first
            .iter()
            .map(|figure| joined_figure(figure, units, sample))
            .collect();
    };
    only.clone()
}

fn joined_figure(
    figure: &Figure,
    units: &[Vec<Figure>],
    sample: fn(&[&Figure]) -> Sample,
) -> Figure {
    let same = |other: &&Figure| {
        other.metric == figure.metric
            && other.condition == figure.condition
            && other.unit == figure.unit
            && other.measured == figure.measured
    };
    let found: Vec<&Figure> = units
        .iter()
        .filter_map(|unit| unit.iter().find(same))
        .collect();
    Figure {
        sample: sample(&found),
        ..figure.clone()
    }
}

/// Geometric mean of each unit. A unit whose figures have none leaves what is
/// no number, which the comparison then tells.
fn unit_means(figures: &[&Figure]) -> Sample {
    let mean = |figure: &&Figure| {
        Arm::of(&figure.sample, Some(Better::Higher)).map_or(f64::NAN, |arm| arm.centre)
    };
    Sample::Values {
        values: figures.iter().map(mean).collect(),
        positions: Vec::new(),
    }
}

fn all_trials(figures: &[&Figure]) -> Sample {
    let mut all = Vec::new();
    for figure in figures {
        match &figure.sample {
            Sample::Values { values, .. } => all.extend_from_slice(values),
            Sample::Moments { mean, .. } => all.push(*mean),
        }
    }
    Sample::Values {
        values: all,
        positions: Vec::new(),
    }
}
