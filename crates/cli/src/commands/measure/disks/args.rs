//! The command line of `assay disks`.

use crate::driver::measuring::MeasureArgs;
use crate::exit::EXIT_CODES;
use crate::ui::values::parse_size;
use assay_model::units::Bytes;
use clap::Args;
use std::path::PathBuf;

/// `assay disks`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct DisksArgs {
    /// Block device or file (only read), or folder (a test file is made in it and removed).
    pub path: PathBuf,
    /// Number of samples of the rate, spread evenly over the extent.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub samples: u32,
    /// Size of each sample, at most 1G.
    #[arg(long, value_name = "SIZE", default_value = "10M", value_parser = parse_size)]
    pub sample_size: Bytes,
    /// Number of single pages read for the access time, the first of which does
    /// not count; 0: none.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub access_samples: u32,
    /// Write too: each sample is written back as it was read. A block device has
    /// to be unused, and needs --destroy-data.
    #[arg(long)]
    pub write: bool,
    /// Size of the test file in a folder [default: 1G].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<Bytes>,
    /// Number of repetitions.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Allow --write on a block device. Data is lost if it fails in between.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}
