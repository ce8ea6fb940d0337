//! The command line of `assay soak`.

use crate::driver::measuring::MeasureArgs;
use crate::ui::values::{parse_size, parse_time};
use assay_model::units::{Bytes, Nanos};
use clap::Args;
use std::path::PathBuf;

const AFTER: &str = "\
assay soak /mnt/data --for 24h --size 8G
assay soak /dev/mmcblk1 --passes 3 --endurance 3000 --destroy-data
assay soak --resume last               after a kill, a lost board or Ctrl-C
Exit codes: 0 every block held what was written to it, 4 one did not, 1 failed, 2 the
command cannot be carried out as given, 5 device or target lost, 130 or 143 stopped by
Ctrl-C or SIGTERM. docs/soak.md says what is written, checked and kept.";

/// `assay soak`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct SoakArgs {
    /// A folder, in which a file is made; or a block device (needs --destroy-data).
    #[arg(required_unless_present = "resume")]
    pub path: Option<PathBuf>,
    /// Size of the area that is written again and again [default: half of what is free
    /// in a folder, all of a device].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<Bytes>,
    /// How long, for example 30m or 168h [default: until --passes are done, else 1h].
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub duration: Option<Nanos>,
    /// How often all of the area is written.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub passes: Option<u64>,
    /// Size of a block.
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = parse_size)]
    pub block: Bytes,
    /// Time between two checkpoints, at which what was written is flushed and stored.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub checkpoint: Nanos,
    /// Program and erase cycles that the device is made for, to say how much of its life
    /// this takes.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u32).range(1..))]
    pub endurance: Option<u32>,
    /// Bytes that may be written to the device in its life (TBW), for the same.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "endurance")]
    pub tbw: Option<Bytes>,
    /// Write and check so much memory beside it.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<Bytes>,
    /// Keep the file.
    #[arg(long)]
    pub keep: bool,
    /// Go on with a run that was stopped or killed: last, or the first letters of its id.
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "last",
        conflicts_with_all = ["path", "size", "duration", "passes", "block", "checkpoint", "memory", "keep", "seed"]
    )]
    pub resume: Option<String>,
    /// Write over the block device.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}
