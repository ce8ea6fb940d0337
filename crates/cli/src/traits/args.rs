//! The words of `assay traits`.

use crate::args::{EXIT_CODES, StoreArgs, parse_size};
use crate::on::OnArgs;
use assay_model::units::Bytes;
use clap::Args;
use std::path::PathBuf;

/// `assay traits`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct TraitsArgs {
    /// A directory (a test file is made in it and removed), a file (it is only read), a
    /// block device (needs --destroy-data), or a simulated device (sim:PART).
    #[arg(required_unless_present = "of")]
    pub path: Option<PathBuf>,
    /// Only read: what writes would show is left out.
    #[arg(long)]
    pub read_only: bool,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    /// Size of the test file or region, for example 4G: the larger, the more shows.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<Bytes>,
    /// How often each point is measured.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub trials: u32,
    /// Repeat the order, offsets and contents of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// What a stored run of assay traits shows: `last`, or the first letters of its id.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["path", "read_only", "destroy_data", "size", "seed"])]
    pub of: Option<String>,
    /// Draw each series into this folder, as SVG.
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    /// Print what was found as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub on: OnArgs,
}
