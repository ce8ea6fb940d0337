//! The command line of `assay scenario`.

use crate::config;
use crate::driver::measuring::MeasureArgs;
use clap::{ArgGroup, Args};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  assay scenario --list
  assay scenario ota-ab /mnt/emmc                  in a folder of its own there
  assay scenario factory-reset /dev/mmcblk0p7 --destroy-data
  assay scenario --show ota-ab > mine.toml         to start from
  assay scenario mine.toml /mnt/emmc --trials 5

docs/scenarios.md describes the language.

Exit codes: 0 done, 1 failed, 2 wrong usage,
4 data read differs from data written, 5 device or target lost,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished steps are kept in every case.";

/// Group of the arguments of which exactly one is given: carry out, list, or show.
fn what() -> ArgGroup {
    ArgGroup::new("what")
        .args(["scenario", "list", "show"])
        .required(true)
}

/// `assay scenario`.
#[derive(Args, Debug)]
#[command(after_help = AFTER, group(what()))]
pub struct ScenarioArgs {
    /// Name of a built-in scenario (see --list), or a FILE.toml.
    #[arg(value_name = "SCENARIO|FILE", requires = "path")]
    pub scenario: Option<String>,
    /// Folder in which a folder is made and removed, or block device (needs --destroy-data).
    pub path: Option<PathBuf>,
    /// List the built-in scenarios.
    #[arg(long)]
    pub list: bool,
    /// Print the file of a built-in scenario.
    #[arg(long, value_name = "SCENARIO")]
    pub show: Option<String>,
    /// Multiply all sizes, counts and times by this.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = parse_scale)]
    pub scale: f64,
    /// Number of repetitions [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Allow the programs that the scenario names to run. Read it first: it is code.
    #[arg(long)]
    pub allow_commands: bool,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl ScenarioArgs {
    /// Returns the number of repetitions.
    pub fn trials(&self) -> u32 {
        config::trials(self.trials, config::TRIALS)
    }
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.0001..=100.0).contains(&scale) => Ok(scale),
        _ => Err("give a number from 0.0001 to 100".to_owned()),
    }
}
