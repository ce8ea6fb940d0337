//! The command line of `assay replay`.

use crate::exit::EXIT_CODES;
use crate::stored::keep::KeepArgs;
use crate::targets::on::OnArgs;
use assay_model::number::as_u32;
use assay_model::units::Bytes;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  assay replay boot.iolog --describe
  assay replay boot.iolog /mnt/emmc --speed max
  assay replay trace.txt /dev/sdb --destroy-data --trials 5
";

/// `assay replay`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct ReplayArgs {
    /// An iolog of fio (version 2 or 3), a trace of blktrace, or text of blkparse,
    /// trace-cmd report, perf script or /sys/kernel/tracing/trace with block events.
    pub trace: PathBuf,
    /// Storage to replay on: a block device or a file with data (both need
    /// --destroy-data where the trace writes), a file that is not there yet or a folder
    /// (one is made and removed). With --describe: a trace to compare with.
    #[arg(required_unless_present = "describe")]
    pub path: Option<PathBuf>,
    /// Describe the trace and replay nothing.
    #[arg(long, conflicts_with_all = ["on", "speed", "shrink", "size", "buffered", "log", "destroy_data"])]
    pub describe: bool,
    /// Speed: 1 as recorded, 2 in half the time, max as fast as possible.
    #[arg(long, value_name = "FACTOR|max", default_value = "1", value_parser = parse_speed)]
    pub speed: Speed,
    /// Treatment of I/O beyond the end of smaller storage: wrap it around (sequential I/O stays
    /// sequential), or scale all offsets down.
    #[arg(long, value_enum, default_value_t = ShrinkBy::Wrap)]
    pub shrink: ShrinkBy,
    /// Size of a new file [default: the extent of the trace].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Maximum number of I/Os in flight; an I/O that finds as many in flight is late.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub iodepth: u32,
    /// Use the page cache [default: direct I/O (O_DIRECT), if the trace's offsets and lengths
    /// allow it].
    #[arg(long)]
    pub buffered: bool,
    /// Write the executed I/Os with their times as an iolog to this file, on the machine that
    /// replays; of the last repetition.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Number of repetitions.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Overwrite the block device or file. The data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    /// Print the run, or the description, as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: KeepArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Replay speed of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Percentage of the recorded speed.
    Percent(u32),
    /// As fast as possible.
    Max,
}

/// Treatment of offsets beyond the end of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShrinkBy {
    /// Continues at the start.
    Wrap,
    /// Scales all offsets down by the same factor.
    Scale,
}

fn parse_speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let factor: f64 = text
        .parse()
        .map_err(|_| "a factor such as 0.5 or 2, or max".to_owned())?;
    if !(0.01..=1_000.0).contains(&factor) {
        return Err("from 0.01 to 1000, or max".to_owned());
    }
    Ok(Speed::Percent(as_u32((factor * 100.0).round())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_factor_or_max() {
        assert_eq!(parse_speed("1"), Ok(Speed::Percent(100)));
        assert_eq!(parse_speed("0.5"), Ok(Speed::Percent(50)));
        assert_eq!(parse_speed("max"), Ok(Speed::Max));
        for bad in ["", "0", "-1", "nan", "inf", "fast", "1e9"] {
            assert!(parse_speed(bad).is_err(), "{bad}");
        }
    }
}
