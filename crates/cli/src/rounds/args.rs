//! Flags of commands that repeat jobs in rounds: `assay sweep` and `assay compare --paired-on`.

use super::schedule::Trials;
use crate::checks::admission::DestroyArgs;
use crate::jobs::suite::SuiteArgs;
use crate::ui::values::parse_time;
use assay_model::condition::{Restore, TemperatureWindow};
use assay_model::number::as_u32;
use assay_model::units::Nanos;
use clap::Args;

/// Jobs to repeat, number of repetitions, and actions around each trial.
#[derive(Args, Clone, Debug)]
pub struct RoundArgs {
    /// Trials of each job under each condition, or on each side, after a conditioning round
    /// that does not count. auto: until all comparisons have a verdict, checked after 6, 10 and
    /// 20 trials at a significance level that allows for repeated checks [default: 6, or as
    /// many as fit into --budget].
    #[arg(long, value_name = "N|auto", alias = "rounds", value_parser = Trials::parse)]
    pub trials: Option<Trials>,
    /// Limit the time, for example 30m, by making fewer trials if necessary. The number of
    /// trials and the difference that they can show are reported beforehand.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<Nanos>,
    /// Wait this long before each trial, for example 2s or 500ms.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub idle: Option<Nanos>,
    /// Empty the page cache of the whole system before each trial.
    #[arg(long)]
    pub drop_caches: bool,
    /// Discard the free blocks of the file system before each trial (fstrim).
    #[arg(long)]
    pub trim: bool,
    /// Wait before each trial until the temperature is within this many kelvin of that before
    /// the first one: the device's if it has a sensor, else the board's.
    #[arg(long, value_name = "K", value_parser = parse_kelvin)]
    pub temperature: Option<u32>,
    /// Time to wait for the temperature; after that the trial fails.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "5min")]
    pub temperature_limit: Nanos,
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Run these jobs of assay qualify, separated by commas; a name may end in *
    /// [default: read-buffered, seq-read-1m, seq-write-1m, rand-read-4k,
    /// rand-write-4k, append-4k-fsync].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    pub destroy: DestroyArgs,
}

impl RoundArgs {
    /// Names of all arguments that define the trials: they cannot be given when a run is resumed.
    pub const NAMES: [&str; 10] = [
        "trials",
        "budget",
        "idle",
        "drop_caches",
        "trim",
        "temperature",
        "quick",
        "thorough",
        "size",
        "only",
    ];

    /// Returns the actions before each trial.
    pub fn restore(&self) -> Restore {
        Restore {
            idle: self.idle.unwrap_or_default(),
            drop_caches: self.drop_caches,
            trim: self.trim,
            temperature: self.temperature.map(|width_mk| TemperatureWindow {
                width_mk,
                limit: self.temperature_limit,
                around: None,
            }),
        }
    }
}

/// Parses kelvin; returns thousandths of it.
fn parse_kelvin(text: &str) -> Result<u32, String> {
    let kelvin = text.parse::<f64>().ok();
    let kelvin = kelvin.filter(|kelvin| (0.1..=100.0).contains(kelvin));
    let wrong = || format!("{text} is not a number of kelvin from 0.1 to 100");
    kelvin
        .map(|kelvin| as_u32((kelvin * 1e3).round()))
        .ok_or_else(wrong)
}
