//! Estimation of a part's parameters from measured rates.
//!
//! A parameter on which no rate depends keeps its value and is reported as undetermined, and so
//! is one whose effect cannot be separated from that of others.
//!
//! [`fit`] is least squares for nonlinear models (Levenberg and Marquardt), with the standard errors
//! of the estimates. It is not taken from a linear algebra library, because those select their
//! instructions by processor: the last bits of the same fit would differ between machines.

use crate::device::Device;
use crate::experiment::{FREE, Issue, Model, Parameter, SimulatedJob, run_issued};
use crate::fit::fit;
use crate::part::DeviceModel;
use crate::policy::Policy;
use crate::{BLOCK_BYTES, FlashError};
use assay_model::job::Direction;
use assay_stats::distributions::{normal_quantile, student_quantile};

/// A measured rate, with one I/O in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Direction of the I/Os.
    pub direction: Direction,
    /// True for random offsets, false for sequential ones.
    pub random: bool,
    /// Blocks per I/O.
    pub blocks: u64,
    /// Bytes per second.
    pub rate: f64,
    /// Precision of the rate, if it was measured more than once.
    pub repeated: Option<Repeated>,
}

/// Precision of a rate, from repeated trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeated {
    /// Standard error of the rate, as a share of the rate.
    pub error: f64,
    /// Degrees of freedom of the error: number of trials minus one.
    pub freedom: u32,
}

/// Result of an estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimated {
    /// The part with the estimated parameters.
    pub part: DeviceModel,
    /// Fitted parameters; `error` is `None` if the rates do not determine one. With few rates
    /// and trials a standard error is itself uncertain. It is therefore widened, so that twice
    /// the error covers as often as with many trials (by Student's t, 95 %).
    pub parameters: Vec<Parameter>,
    /// Simulated rate of the estimated part for each observation.
    pub rates: Vec<f64>,
}

/// Number of I/Os that are simulated for a rate, and before the clock starts.
const IOS: u64 = 16;
/// Length of the region: 64 GiB.
const SPAN: u64 = (64 << 30) / BLOCK_BYTES;
/// Largest I/O, in blocks.
const MOST_BLOCKS: u64 = (1 << 30) / BLOCK_BYTES;
/// Number of the part's parameters among those of the experiment; the last one belongs to the
/// tool.
const OF_PART: usize = FREE.len() - 1;

/// Estimates the parameters of a part, starting from `start`.
///
/// # Errors
/// If an observation cannot be simulated.
pub fn estimate(
    start: &DeviceModel,
    policy: Policy,
    observations: &[Observation],
) -> Result<Estimated, FlashError> {
    Device::new(start, policy)?;
    for seen in observations {
        if !(seen.rate.is_finite() && seen.rate > 0.0) {
            return Err(FlashError(format!(
                "{} bytes per second is not a valid rate",
                seen.rate
            )));
        }
        if !(1..=MOST_BLOCKS).contains(&seen.blocks) {
            return Err(FlashError(format!(
                "an I/O of {} blocks cannot be simulated: give 512 bytes to 1 GiB",
                seen.blocks
            )));
        }
    }
    let rates = |values: &[f64]| -> Vec<f64> {
        let part = with(start, values);
        observations
            .iter()
            .map(|seen| rate(&part, policy, seen))
            .collect()
    };
    let begin = values(start);
    let told = sensitive(&begin, rates);
    let whole = |some: &[f64]| -> Vec<f64> {
        let mut all = begin.clone();
        for (at, value) in told.iter().zip(some) {
            all[*at] = *value;
        }
        all
    };
    let off = |some: &[f64]| -> Vec<f64> {
        let pairs = rates(&whole(some)).into_iter().zip(observations);
        pairs
            .map(|(rate, seen)| libm::log(rate / seen.rate))
            .collect()
    };
    let some: Vec<f64> = told.iter().map(|at| begin[*at]).collect();
    let fitted = fit(&some, off);
    let all = whole(&fitted.values);
    let sigma = sigma(&fitted.residuals, some.len(), observations);
    let error = |at: usize| {
        let place = told.iter().position(|told| *told == at)?;
        Some(fitted.errors_of_one[place]? * sigma?)
    };
    let parameters = NAMES.iter().zip(&all).enumerate();
    Ok(Estimated {
        part: with(start, &all),
        parameters: (parameters.map(|(at, ((name, unit), value))| Parameter {
            name,
            unit,
            value: *value,
            error: error(at),
        }))
        .collect(),
        rates: rates(&all),
    })
}

/// Residual variance, as a multiple of the variance of trials, above which the residuals are a
/// misfit of the model and not noise.
const MISFIT: f64 = 4.0;

/// Returns the standard deviation of an observation's logarithm, widened for few degrees of
/// freedom. It is that of residuals and trials together, or of residuals alone if those are much
/// larger. `None` if there are too few of both.
fn sigma(residuals: &[f64], parameters: usize, observations: &[Observation]) -> Option<f64> {
    let left = residuals.len().saturating_sub(parameters) as f64;
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let repeated: Vec<Repeated> = observations.iter().filter_map(|one| one.repeated).collect();
    let freedom: f64 = repeated.iter().map(|one| f64::from(one.freedom)).sum();
    let of_trials = repeated
        .iter()
        .map(|one| one.error * one.error)
        .sum::<f64>();
    let of_trials = of_trials / repeated.len().max(1) as f64;
    let is_misfit = left > 0.0 && squares / left > MISFIT * of_trials;
    let (variance, freedom) = match freedom > 0.0 && !is_misfit {
        true => {
            let all = left + freedom;
            ((squares + of_trials * freedom) / all, all)
        }
        false if left > 0.0 => (squares / left, left),
        false => return None,
    };
    const TAIL: f64 = 0.025;
    Some(variance.sqrt() * student_quantile(TAIL, freedom) / normal_quantile(TAIL))
}

/// Names and units of the fitted parameters: those of the experiment, and the time of a read
/// block.
const NAMES: [(&str, &str); OF_PART + 1] = {
    let mut names = [("read.block", "µs/block"); OF_PART + 1];
    let mut at = 0;
    while at < OF_PART {
        names[at] = (FREE[at].name, FREE[at].unit);
        at += 1;
    }
    names
};

fn values(part: &DeviceModel) -> Vec<f64> {
    let mut values = model(part).values();
    values.truncate(OF_PART);
    values.push(part.read_block().as_us());
    values
}

fn with(part: &DeviceModel, values: &[f64]) -> DeviceModel {
    let (of_part, read_block) = values.split_at(OF_PART);
    let mut part = model(part).with(of_part).part;
    part.read.block_us = read_block.first().copied();
    part
}

fn model(part: &DeviceModel) -> Model {
    Model {
        part: part.clone(),
        disks_factor: 1.0,
    }
}

/// Returns the indices of parameters that change any rate when they change by a tenth, or a
/// microsecond.
fn sensitive(begin: &[f64], rates: impl Fn(&[f64]) -> Vec<f64>) -> Vec<usize> {
    let now = rates(begin);
    let matters = |at: &usize| {
        let mut moved = begin.to_vec();
        moved[*at] += (moved[*at] * 0.1).max(1.0);
        rates(&moved) != now
    };
    (0..begin.len()).filter(matters).collect()
}

fn rate(part: &DeviceModel, policy: Policy, seen: &Observation) -> f64 {
    let Ok(mut device) = Device::new(part, policy) else {
        return f64::NAN;
    };
    let job = SimulatedJob {
        read_percent: if seen.direction == Direction::Read {
            100
        } else {
            0
        },
        random: seen.random,
        blocks: seen.blocks,
        span: SPAN,
        warm: IOS,
        ios: IOS,
        seed: 1,
    };
    let bytes = (seen.blocks * BLOCK_BYTES) as f64;
    let one_by_one = Issue {
        depth: 1,
        flush_every: 0,
    };
    bytes / run_issued(&mut device, &job, one_by_one).mean_us() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::rng::SplitMix64;

    /// A card whose every cost differs from the known one's.
    fn truth(rng: &mut SplitMix64) -> DeviceModel {
        let mut part = DeviceModel::find("rtsx-sd-pro-plus-128").expect("it is known");
        let mut some = |low: f64, high: f64| low + (high - low) * rng.fraction();
        part.read.command_us = some(100.0, 500.0);
        part.read.ramp_us = some(2.0, 10.0);
        part.read.block_us = Some(some(3.0, 12.0));
        part.write.program_us = some(300.0, 2000.0);
        part.write.ramp_us = some(4.0, 20.0);
        part.write.block_us = some(5.0, 20.0);
        part
    }

    /// Rates of these sizes that vary by one percent, evenly.
    fn measured(
        part: &DeviceModel,
        directions: &[Direction],
        rng: &mut SplitMix64,
    ) -> Vec<Observation> {
        let sizes = [1, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
        let all = directions
            .iter()
            .flat_map(|direction| sizes.map(|blocks| (*direction, blocks)));
        all.map(|(direction, blocks)| {
            let exact = Observation {
                direction,
                random: true,
                blocks,
                rate: 1.0,
                repeated: None,
            };
            let noise = 1.0 + 0.02 * (rng.fraction() - 0.5);
            Observation {
                rate: rate(part, Policy::Closed, &exact) * noise,
                ..exact
            }
        })
        .collect()
    }

    const BOTH: [Direction; 2] = [Direction::Read, Direction::Write];

    #[test]
    fn synthetic_cards_are_found_again_within_their_errors() {
        let start = DeviceModel::find("rtsx-sd-pro-plus-128").expect("it is known");
        let (mut outside, mut all) = (0, 0);
        for seed in 0..20 {
            let rng = &mut SplitMix64::new(seed);
            let part = truth(rng);
            let seen = measured(&part, &BOTH, rng);
            let found = estimate(&start, Policy::Closed, &seen).expect("it can be fitted");
            for (parameter, truth) in found.parameters.iter().zip(values(&part)) {
                if let Some(error) = parameter.error {
                    all += 1;
                    outside += usize::from((parameter.value - truth).abs() > 3.0 * error);
                }
            }
        }
        assert_eq!(all, 20 * 6, "six are told");
        assert!(
            outside <= 3,
            "{outside} of {all} are further off than three errors"
        );
    }

    /// Four sizes, as `assay qualify` has, leave one degree of freedom to three parameters:
    /// twice the errors must hold all the same, with trials and without.
    #[test]
    fn errors_of_few_rates_hold_too() {
        let start = DeviceModel::find("rtsx-sd-pro-plus-128").expect("it is known");
        let share = 0.02 * (1.0_f64 / 12.0).sqrt();
        let trials = Repeated {
            error: share,
            freedom: 4,
        };
        for repeated in [None, Some(trials)] {
            let (mut outside, mut all) = (0, 0);
            for seed in 0..60 {
                let rng = &mut SplitMix64::new(seed);
                let part = truth(rng);
                let mut seen = measured(&part, &[Direction::Read], rng);
                seen.retain(|one| [8, 16, 64, 1024].contains(&one.blocks));
                seen.iter_mut().for_each(|one| one.repeated = repeated);
                let found = estimate(&start, Policy::Closed, &seen).expect("it can be fitted");
                for (parameter, truth) in found.parameters.iter().zip(values(&part)) {
                    if let Some(error) = parameter.error {
                        all += 1;
                        outside += usize::from((parameter.value - truth).abs() > 2.0 * error);
                    }
                }
            }
            assert_eq!(all, 60 * 3, "three are told");
            assert!(outside * 12 <= all, "{outside} of {all}: {repeated:?}");
        }
    }

    #[test]
    fn parameters_on_which_no_rate_depends_are_unknown() {
        let rng = &mut SplitMix64::new(1);
        let part = truth(rng);
        let seen = measured(&part, &BOTH, rng);
        let found = estimate(&part, Policy::Closed, &seen).expect("it can be fitted");
        let unknown: Vec<&str> = (found.parameters.iter())
            .filter(|parameter| parameter.error.is_none())
            .map(|parameter| parameter.name)
            .collect();
        assert_eq!(unknown, ["read.break", "read.resume", "write.break"]);
    }

    /// Uses writes only: command and programming are then known only as a sum.
    #[test]
    fn parameters_that_only_other_rates_separate_are_unknown() {
        let rng = &mut SplitMix64::new(2);
        let part = truth(rng);
        let seen = measured(&part, &[Direction::Write], rng);
        let found = estimate(&part, Policy::Closed, &seen).expect("it can be fitted");
        let error = |name: &str| {
            let mut all = found.parameters.iter();
            all.find(|parameter| parameter.name == name)
                .and_then(|one| one.error)
        };
        assert_eq!(
            (error("read.command"), error("write.program")),
            (None, None)
        );
        assert!(error("write.block").is_some());
    }

    #[test]
    fn what_is_no_measurement_is_refused() {
        let part = DeviceModel::find("rtsx-sd-pro-plus-128").expect("it is known");
        let good = Observation {
            direction: Direction::Read,
            random: true,
            blocks: 8,
            rate: 1e6,
            repeated: None,
        };
        for bad in [
            Observation { rate: 0.0, ..good },
            Observation {
                rate: f64::INFINITY,
                ..good
            },
            Observation { blocks: 0, ..good },
            Observation {
                blocks: u64::MAX,
                ..good
            },
        ] {
            assert!(estimate(&part, Policy::Closed, &[bad]).is_err(), "{bad:?}");
        }
        assert!(estimate(&part, Policy::SetCount, &[good]).is_err());
        let few = estimate(&part, Policy::Closed, &[good]).expect("it can be fitted");
        assert!(
            few.parameters
                .iter()
                .all(|parameter| parameter.error.is_none())
        );
    }
}
