//! The multi-block experiment: a model fitted to a published before/after table.
//!
//! Each figure of the table is simulated as its tool measured it. Nine parameters are fitted
//! to the logarithms of the sixteen figures with equal weights; none belongs to a single
//! figure. For each figure the fit is also repeated without it, and the error of that
//! prediction is reported too.

mod model;
mod published;

pub use model::{FREE, Free, Model};
pub use published::{PublishedRow, SOURCE, Tool, rows};

use crate::FlashError;
use crate::device::RequestPhase;
use crate::fit::fit;
use crate::part::DeviceModel;
use crate::policy::Policy;
use crate::workload::Timed;

/// Name of the part whose parameters the experiment estimates.
pub const PART: &str = "rtsx-sd-pro-plus-128";

/// A parameter with its standard error.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// Estimated value.
    pub value: f64,
    /// Standard error; `None` if the table does not determine it.
    pub error: Option<f64>,
}

/// A figure of the table, or of a policy that was not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFigure {
    /// Row of the figure.
    pub row: PublishedRow,
    /// Policy of the figure.
    pub policy: Policy,
    /// Published figure, in the row's unit.
    pub published: Option<f64>,
    /// Prediction of the model.
    pub model: f64,
    /// Prediction of the model when fitted without this figure.
    pub left_out: Option<f64>,
    /// Simulated time of an I/O, by phase.
    pub timed: Timed,
    /// Time of an I/O as the tool measures it, in microseconds.
    pub io_us: f64,
}

impl PublishedFigure {
    /// Returns the model's error, in percent of the published figure.
    pub fn error_percent(&self) -> Option<f64> {
        self.published
            .map(|published| percent(self.model, published))
    }

    /// Returns the error of the prediction without this figure, in percent.
    pub fn left_out_percent(&self) -> Option<f64> {
        self.published
            .zip(self.left_out)
            .map(|(published, left_out)| percent(left_out, published))
    }

    /// Returns the time of a phase in an I/O as the tool measures it, in microseconds.
    pub fn phase_us(&self, phase: RequestPhase) -> f64 {
        self.as_the_tool_sees(self.timed.spent.of(phase).as_us())
    }

    /// Returns the programming time that one I/O leaves unfinished at the end of the window,
    /// in microseconds.
    pub fn left_us(&self) -> f64 {
        // `spent` is the sum over all I/Os, `left` is that of the last.
        let ios = self.timed.ios as f64;
        self.as_the_tool_sees(self.timed.left.as_us() * ios)
    }

    /// Scales a time of all requests to one I/O as the tool measures it.
    fn as_the_tool_sees(&self, us: f64) -> f64 {
        match self.timed.spent.total().as_us() {
            0.0 => 0.0,
            requests => us / requests * self.io_us,
        }
    }
}

fn percent(value: f64, of: f64) -> f64 {
    (value / of - 1.0) * 100.0
}

/// The experiment with its fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The fitted model.
    pub model: Model,
    /// Fitted parameters.
    pub parameters: Vec<Parameter>,
    observations: Vec<Observation>,
    /// The model fitted without each observation.
    without: Vec<Model>,
}

/// A published figure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Observation {
    row: PublishedRow,
    policy: Policy,
    rate: f64,
}

impl Experiment {
    /// Fits the model to the published table.
    ///
    /// # Errors
    /// If the part is missing, which a test excludes.
    pub fn of_table() -> Result<Self, FlashError> {
        let part = DeviceModel::find(PART)
            .ok_or_else(|| FlashError(format!("the part {PART} is missing")))?;
        Self::from(&Model {
            part,
            disks_factor: 1.05,
        })
    }

    /// Fits the model to the published table, starting at `start`.
    ///
    /// # Errors
    /// If the part cannot be simulated with the policies of the table.
    pub fn from(start: &Model) -> Result<Self, FlashError> {
        let observations = observations();
        for seen in &observations {
            start.rate(&seen.row, seen.policy)?;
        }
        let (model, parameters) = estimate(start, &observations);
        let without = (0..observations.len()).map(|left_out| {
            let mut others = observations.clone();
            others.remove(left_out);
            estimate(&model, &others).0
        });
        let without = without.collect();
        Ok(Self {
            model,
            parameters,
            observations,
            without,
        })
    }

    /// Returns all cells of the table under a policy.
    ///
    /// # Errors
    /// If the part lacks a parameter that the policy needs.
    pub fn cells(&self, policy: Policy) -> Result<Vec<PublishedFigure>, FlashError> {
        rows()
            .into_iter()
            .map(|row| self.cell(row, policy))
            .collect()
    }

    fn cell(&self, row: PublishedRow, policy: Policy) -> Result<PublishedFigure, FlashError> {
        let seen =
            (self.observations.iter()).position(|seen| seen.row == row && seen.policy == policy);
        let left_out = match seen.and_then(|seen| self.without.get(seen)) {
            Some(model) => Some(model.rate(&row, policy)?),
            None => None,
        };
        let timed = self.model.time(&row, policy)?;
        Ok(PublishedFigure {
            row,
            policy,
            published: seen.map(|seen| self.observations[seen].rate),
            model: self.model.rate(&row, policy)?,
            left_out,
            timed,
            io_us: timed.mean_us() * self.model.factor(row.tool),
        })
    }
}

/// Returns the sixteen figures.
fn observations() -> Vec<Observation> {
    let both = |row: PublishedRow| {
        [(Policy::Closed, row.before), (Policy::OPEN, row.after)]
            .map(|(policy, rate)| Observation { row, policy, rate })
    };
    rows().into_iter().flat_map(both).collect()
}

/// Fits all free parameters.
fn estimate(start: &Model, observations: &[Observation]) -> (Model, Vec<Parameter>) {
    let off = |values: &[f64]| -> Vec<f64> {
        let model = start.with(values);
        let off = observations.iter().map(|seen| {
            let rate = model.rate(&seen.row, seen.policy);
            rate.map_or(f64::NAN, |rate| libm::log(rate / seen.rate))
        });
        off.collect()
    };
    let fitted = fit(&start.values(), off);
    let parameters = FREE.iter().zip(&fitted.values).zip(&fitted.errors);
    let parameters = parameters.map(|((free, value), error)| Parameter {
        name: free.name,
        unit: free.unit,
        value: *value,
        error: *error,
    });
    (start.with(&fitted.values), parameters.collect())
}

/// Returns the mean and the maximum of the absolute values.
pub fn mean_and_worst(errors: &[f64]) -> (f64, f64) {
    let count = errors.len().max(1) as f64;
    let sum: f64 = errors.iter().map(|error| error.abs()).sum();
    let worst = errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
    (sum / count, worst)
}

#[cfg(test)]
mod tests;
