//! `assay load-curve PATH`: latency at offered rates, and the rate that storage can serve.

use crate::checks::admission::{self, Need};
use crate::checks::estimate::file_size;
use crate::driver::acts::{MeasureArgs, once, single};
use crate::driver::plans::{Prepared, interleaved, never_enough};
use crate::driver::runs::random;
use crate::driver::trials::Listener;
use crate::exit::{EXIT_CODES, Failure};
use crate::output::say;
use crate::rounds::on_place;
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::job::{EngineKind, Job, RateLimit, Rw};
use assay_model::plan::{Place, PlannedJob};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, Inspection};
use assay_target::Target;
use clap::Args;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  assay load-curve /mnt/emmc
  assay load-curve /mnt/emmc --read-write
  assay load-curve /mnt/emmc --rates 500,1000,2000
";

/// `assay load-curve`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct LoadCurveArgs {
    /// A directory (a test file is made in it and removed), a file (it is only read), a block
    /// device (writes need --destroy-data), or a simulated device.
    pub path: PathBuf,
    /// Offer random writes instead of reads.
    #[arg(long, conflicts_with = "read_write")]
    pub writes: bool,
    /// Offer mixes as well: 100, 75, 50, 25 and 0 % reads.
    #[arg(long)]
    pub read_write: bool,
    /// Size of an I/O.
    #[arg(long, value_name = "SIZE", default_value = "4K")]
    pub bs: Bytes,
    /// Rates to offer, in I/Os per second [default: 10 to 100 % of the most that a short
    /// measurement before reaches].
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rates: Vec<u64>,
    /// I/Os in flight at most; those that are due wait for a place, and their latency counts it.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub iodepth: u32,
    /// Least seconds per trial; low rates take longer, until 99th percentiles are known.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Number of trials at each rate.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Size of the test file or region [default: 256M].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

/// Size of the test file, if there is enough space.
const TEST_FILE: Bytes = Bytes::mib(256);
/// Shares of the highest rate that are offered, in percent.
const SHARES: [u64; 8] = [10, 30, 50, 70, 80, 90, 95, 100];
/// Shares of a mix, fewer because there are five of them.
const SHARES_OF_MIX: [u64; 5] = [20, 50, 80, 90, 100];
/// Shares of reads of `--read-write`, in percent.
const MIXES: [u8; 5] = [100, 75, 50, 25, 0];
/// I/Os of a trial from which its 99th percentile is known.
const IOS_OF_P99: u64 = 1_100;
/// Longest trial at a low rate.
const LONGEST: Nanos = Nanos::secs(30);

/// Measures the highest rate, then latencies at shares of it.
pub fn run(args: &LoadCurveArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    target.needs(Feature::Arrivals);
    let (path, keep) = (&args.path, &args.shared.store);
    let mut prepared = Prepared::new(path, keep, target, |found| admit(args, found))?;
    let place = prepared.place.clone();
    let size = size(args, &prepared.inspection)?;
    let seed = args.shared.seed.unwrap_or_else(random);
    let mixes = match (args.read_write, args.writes) {
        (true, _) => &MIXES[..],
        (false, false) => &MIXES[..1],
        (false, true) => &MIXES[4..],
    };
    let engines = &prepared.inspection.async_engines;
    let engine = engines.first().copied().unwrap_or(EngineKind::Psync);
    let mut jobs = Vec::new();
    for reads in mixes {
        let base = base(args, *reads, engine, size);
        let highest = saturation(args, &base);
        let rates = match args.rates.as_slice() {
            [] => {
                let most = most(&mut prepared, &highest, seed, args.destroy_data)?;
                shares(most, args.read_write)
            }
            rates => BTreeSet::from_iter(rates.iter().copied())
                .into_iter()
                .collect(),
        };
        jobs.extend(rates.iter().map(|rate| at_rate(args, &base, *rate)));
        jobs.push(highest);
    }
    on_place(&place, &mut jobs)?;
    let trials = args.trials;
    let planned = jobs.into_iter().map(|job| PlannedJob { job, trials });
    let plan = interleaved(seed, place, size, planned.collect());
    let done = prepared.run(plan, target, never_enough)?;
    done.present(args.shared.json)
}

/// Returns the size of the test file.
fn size(args: &LoadCurveArgs, inspection: &Inspection) -> Result<Bytes, Failure> {
    let size = file_size(args.size, TEST_FILE, Bytes(0), inspection)?;
    match args.bs.0 == 0 || args.bs > size {
        true => Err(Failure::usage(format!(
            "--bs {}: an I/O is at least a byte, and at most the test file, {size}",
            args.bs
        ))),
        false => Ok(size),
    }
}

/// Admits the place, before a store is made. For reads alone a device is admitted as a file is: the
/// agent never writes to it.
fn admit(args: &LoadCurveArgs, inspection: &Inspection) -> Result<Place, Failure> {
    let writes = args.writes || args.read_write;
    let need = Need {
        writes_device: writes,
        ..Need::anything(args.destroy_data)
    };
    size(args, inspection)?;
    match admission::admit(inspection, need)? {
        Place::Device { path } if !writes => Ok(Place::File { path }),
        Place::File { path } if writes => Err(Failure::usage(format!(
            "{} is a file, which is only read: give the directory it is in",
            path.display()
        ))),
        place => Ok(place),
    }
}

/// Returns the random I/O with this share of reads, without a name and a rate.
fn base(args: &LoadCurveArgs, reads: u8, ioengine: EngineKind, size: Bytes) -> Job {
    let rw = match reads {
        100 => Rw::RandRead,
        0 => Rw::RandWrite,
        _ => Rw::RandRw,
    };
    Job {
        read_percent: reads,
        ioengine,
        iodepth: match ioengine {
            EngineKind::Psync => 1,
            _ => args.iodepth,
        },
        direct: true,
        time_based: true,
        runtime: Some(Nanos::secs(args.seconds)),
        ..Job::new("", rw, args.bs, size)
    }
}

/// Names a job by its share of reads, where there are several, and by `what`.
fn name(args: &LoadCurveArgs, base: &Job, what: &str) -> String {
    match args.read_write {
        true => format!("r{}-{what}", base.read_percent),
        false => what.to_owned(),
    }
}

/// Returns the closed loop that keeps all I/Os in flight.
fn saturation(args: &LoadCurveArgs, base: &Job) -> Job {
    Job {
        name: name(args, base, "saturation"),
        ..base.clone()
    }
}

/// Returns the open loop at a rate.
fn at_rate(args: &LoadCurveArgs, base: &Job, rate: u64) -> Job {
    // Each direction of a mix needs as many.
    let share = match base.read_percent {
        0 | 100 => 100,
        reads => u64::from(reads.min(100 - reads)),
    };
    let ios = IOS_OF_P99 * 100 / share;
    let long_enough = Nanos(ios.saturating_mul(1_000_000_000) / rate);
    Job {
        name: name(args, base, &format!("load-{rate}")),
        rate: Some(RateLimit::Arrivals(rate)),
        runtime: Some(long_enough.min(LONGEST).max(Nanos::secs(args.seconds))),
        ..base.clone()
    }
}

/// Returns shares of a rate, rounded to two digits so that repeated runs offer the same rates.
fn shares(most: u64, is_mix: bool) -> Vec<u64> {
    let shares = match is_mix {
        true => &SHARES_OF_MIX[..],
        false => &SHARES[..],
    };
    let mut rates: Vec<u64> = shares
        .iter()
        .map(|share| rounded(most.saturating_mul(*share) / 100))
        .collect();
    rates.dedup();
    rates
}

/// Rounds down to two digits.
fn rounded(rate: u64) -> u64 {
    let digits = rate.checked_ilog10().unwrap_or(0).saturating_sub(1);
    let unit = 10_u64.pow(digits);
    (rate / unit * unit).max(1)
}

/// The only trial of a job.
#[derive(Default)]
struct OneTrial(Option<TrialRecord>);

impl Listener for OneTrial {
    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        self.0 = Some(trial.clone());
        Ok(())
    }
}

/// Measures the I/Os per second of a job in one trial that is not stored.
fn most(prepared: &mut Prepared, job: &Job, seed: u64, destroy_data: bool) -> Result<u64, Failure> {
    let mut jobs = [job.clone()];
    on_place(&prepared.place, &mut jobs)?;
    let jobs = jobs.map(|job| PlannedJob { job, trials: 1 });
    let place = prepared.place.clone();
    let plan = interleaved(seed, place.clone(), job.size, jobs.into());
    say(&tr!(
        "first, unstored: the highest rate of {name}, with a test file of {size}",
        name = job.name,
        size = job.size
    ));
    let order = single(
        &plan.run_id.clone(),
        place,
        Act::Jobs(Box::new(plan)),
        seed,
        destroy_data,
    );
    let mut trial = OneTrial::default();
    once(&mut prepared.host, order, &mut trial)?;
    let failed = |why: &str| Failure::failed(format!("the highest rate is not known: {why}"));
    let trial = trial.0.ok_or_else(|| failed("no trial ended"))?;
    match (&trial.outcome, &trial.measured) {
        (Outcome::Completed, Some(measured)) => {
            let ios = measured.read.ios + measured.write.ios;
            let rate = ios.saturating_mul(1_000_000_000) / measured.elapsed_ns.max(1);
            match rate {
                0 => Err(failed("no I/O ended")),
                rate => Ok(rate),
            }
        }
        (Outcome::Failed { error }, _) => Err(failed(error)),
        _ => Err(failed("it was stopped")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_runs_offer_the_same_rates() {
        assert_eq!(
            shares(2_345, false),
            [230, 700, 1_100, 1_600, 1_800, 2_100, 2_200, 2_300]
        );
        assert_eq!(shares(2_312, false)[0], 230);
        assert_eq!(shares(3, false), [1, 2, 3]);
        assert_eq!(rounded(0), 1);
    }
}
