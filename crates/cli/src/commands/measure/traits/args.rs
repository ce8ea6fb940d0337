//! The command line of `assay traits`.

use crate::exit::EXIT_CODES;
use crate::stored::formats::DocumentArgs;
use crate::stored::keep::KeepArgs;
use crate::targets::on::OnArgs;
use crate::ui::values::one_of;
use assay_flash::traits::Trait;
use assay_model::units::Bytes;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  assay traits /dev/mmcblk1 --destroy-data
  assay traits /mnt/sd --size 4G --only slc
  assay traits --of last --plots series
";

/// `assay traits`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct TraitsArgs {
    /// A directory (a test file is made in it and removed), a file (it is only read), a
    /// block device (needs --destroy-data), or a simulated device (sim:PART).
    #[arg(required_unless_present = "of")]
    pub path: Option<PathBuf>,
    /// Only read; leave out traits that need writes.
    #[arg(long)]
    pub read_only: bool,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    /// Size of the test file or region, for example 4G; a larger one shows more traits.
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Measure only these traits, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = one_of(&Trait::ALL, Trait::name))]
    pub only: Vec<Trait>,
    /// Repeat the order, offsets and contents of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Trials of each point.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub trials: u32,
    /// Show a stored run of assay traits: `last`, or the first letters of its id.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["path", "read_only", "destroy_data", "size", "only", "trials", "seed", "name", "tag", "note"])]
    pub of: Option<String>,
    /// Draw each series into this folder, as SVG.
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: KeepArgs,
    #[command(flatten)]
    pub on: OnArgs,
}
