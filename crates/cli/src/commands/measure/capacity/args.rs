//! The command line of `assay capacity`.

use crate::driver::measuring::MeasureArgs;
use assay_model::units::Bytes;
use clap::Args;
use std::path::PathBuf;

const AFTER: &str = "\
The files are those of H2testw and f3: f3read checks what assay wrote, and assay
what f3write wrote.

Examples:
  assay capacity /mnt/sd
  assay capacity /dev/sdb --probe --destroy-data

Exit codes: 0 all data read back is as it was written, 1 failed, 2 wrong usage, 4 data differs,
5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM; files written so far are kept
then, and --verify-only checks them.";

/// `assay capacity`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct CapacityArgs {
    /// Folder to fill with files 1.h2w, 2.h2w, ..., which replace those of an earlier run; or
    /// block device (needs --destroy-data).
    pub path: PathBuf,
    /// Check with few writes whether a block device is smaller than it reports, and restore the
    /// overwritten blocks (needs --destroy-data: their data is lost if the machine stops in
    /// between).
    #[arg(long, conflicts_with_all = ["write_only", "verify_only", "start", "end", "limit", "remove", "keep"])]
    pub probe: bool,
    /// Only write; do not check.
    #[arg(long, conflicts_with = "verify_only")]
    pub write_only: bool,
    /// Only check files written by an earlier run, f3write or H2testw.
    #[arg(long)]
    pub verify_only: bool,
    /// Number of the first file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub start: Option<u32>,
    /// Number of the last file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub end: Option<u32>,
    /// Write at most this much, for example 4G.
    #[arg(long, value_name = "SIZE")]
    pub limit: Option<Bytes>,
    /// Keep the files (the default; the opposite is --remove).
    #[arg(long, conflicts_with = "remove")]
    pub keep: bool,
    /// Remove the files that this run wrote, if all of them are correct.
    #[arg(long, conflicts_with_all = ["write_only", "verify_only"])]
    pub remove: bool,
    /// Number of repetitions.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl CapacityArgs {
    /// Returns the first given flag that does not apply to a device.
    pub fn only_for_folders(&self) -> Option<&'static str> {
        [
            (self.start.is_some(), "--start"),
            (self.end.is_some(), "--end"),
            (self.remove, "--remove"),
            (self.keep, "--keep"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }
}
