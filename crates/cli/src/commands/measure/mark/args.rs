//! Flags of `assay mark`.

use crate::driver::measuring::MeasureArgs;
use crate::ui::values::parse_size;
use assay_dialects::mark::SdClass;
use assay_model::units::Bytes;
use clap::Args;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage,
3 the class is missed, 5 device or target lost, 130 or 143 stopped by Ctrl-C or
SIGTERM. Finished trials are kept in every case.";

/// `assay mark`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct MarkArgs {
    /// A directory (a test file is made in it and removed), a file (it is only
    /// read), or a block device (needs --destroy-data).
    pub path: PathBuf,
    /// Check a speed class of SD cards: A1, A2, C10, U1, U3, V6, V10, V30, V60
    /// or V90.
    #[arg(long, value_name = "CLASS", conflicts_with = "steady_state", value_parser = parse_class)]
    pub class: Option<SdClass>,
    /// Write a whole device twice, then at random in rounds until five of them
    /// are steady (SNIA).
    #[arg(long)]
    pub steady_state: bool,
    /// Trials of each test, for marks after one warm-up; for a steady state the maximum number
    /// of rounds [default: 5, for a class 3, 25 rounds].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Seconds per trial [default: 5, for a class 10, for a round 60].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: Option<u64>,
    /// Size of the test file or region [default: 1G, for a steady state the whole device].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<Bytes>,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

fn parse_class(text: &str) -> Result<SdClass, String> {
    text.parse()
}
