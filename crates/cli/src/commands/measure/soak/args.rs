//! The command line of `assay soak`.

use crate::checks::admission::DestroyArgs;
use crate::driver::measuring::MeasureArgs;
use crate::ui::values::parse_time;
use assay_model::units::{Bytes, Nanos};
use clap::Args;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  assay soak /mnt/data --for 24h --size 8G
  assay soak /dev/mmcblk1 --passes 3 --endurance 3000 --destroy-data
  assay soak --resume last               after a kill, a lost board or Ctrl-C

docs/soak.md says what is written, checked and kept.

Exit codes: 0 every block held what was written to it, 1 failed, 2 wrong usage, 4 a block did
not, 5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM.";

/// `assay soak`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct SoakArgs {
    /// Folder in which a file is made, or block device (needs --destroy-data).
    #[arg(required_unless_present = "resume")]
    pub path: Option<PathBuf>,
    /// Size of the area that is written repeatedly [default: half of the free space of a
    /// folder, all of a device].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Duration, for example 30m or 168h [default: until --passes are done, else 1h].
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub duration: Option<Nanos>,
    /// Number of passes over the area.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub passes: Option<u64>,
    /// Size of a block.
    #[arg(long, value_name = "SIZE", default_value = "64K")]
    pub block: Bytes,
    /// Time between checkpoints, at which data is flushed and progress is stored.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub checkpoint: Nanos,
    /// Rated program and erase cycles of the device, to estimate the share of its life that the
    /// soak uses.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u32).range(1..))]
    pub endurance: Option<u32>,
    /// Rated bytes written over the device's life (TBW), for the same estimate.
    #[arg(long, value_name = "SIZE", conflicts_with = "endurance")]
    pub tbw: Option<Bytes>,
    /// Also write and check this much memory.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// Keep the file.
    #[arg(long)]
    pub keep: bool,
    /// Resume a run that was stopped or killed: last, or the first letters of its id.
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "last",
        conflicts_with_all = ["path", "size", "duration", "passes", "block", "checkpoint", "memory", "keep", "seed", "name", "tag", "note"]
    )]
    pub resume: Option<String>,
    #[command(flatten)]
    pub destroy: DestroyArgs,
    #[command(flatten)]
    pub shared: MeasureArgs,
}
