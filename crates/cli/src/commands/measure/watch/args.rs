//! The command line of `assay watch`.

use crate::targets::on::OnArgs;
use crate::ui::values::parse_time;
use assay_model::units::Nanos;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  assay watch -- cp video.mp4 /mnt/usb
  assay watch --device mmcblk0 --csv --samples 60 > writes.csv
";

const EXIT_CODES: &str = "\
Exit codes: those of the command, 128 and the number of the signal that ended it;
without a command 0 after Ctrl-C; 2 for wrong usage.";

/// `assay watch`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct WatchArgs {
    /// Time between two samples: 1s, 500ms, 2min; at least 50 ms.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    pub interval: Nanos,
    /// Device to watch: its name, its node, or a path on it [default: that of the last path of
    /// the command, else of the current directory].
    #[arg(long, value_name = "DEV|PATH")]
    pub device: Option<PathBuf>,
    /// Longest wait for dirty pages after the command. Without a flush the kernel writes them
    /// about 30 s after they became dirty.
    #[arg(long, value_name = "TIME", default_value = "90s", value_parser = parse_time)]
    pub wait: Nanos,
    /// Without a command: end after this many samples.
    #[arg(long, value_name = "N", conflicts_with = "command", value_parser = clap::value_parser!(u64).range(1..))]
    pub samples: Option<u64>,
    /// Print one row per sample as CSV on standard output, with one header.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print all samples as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub on: OnArgs,
    /// Command and its arguments, which uses this terminal. Without a command: until Ctrl-C.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Parses an interval of at least 50 ms.
fn parse_interval(text: &str) -> Result<Nanos, String> {
    const SHORTEST: Nanos = Nanos(50_000_000);
    match parse_time(text)? {
        time if time < SHORTEST => Err(format!("{text} is too short: at least {SHORTEST}")),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_not_too_short() {
        assert!(parse_interval("10ms").is_err());
        assert!(parse_interval("1s").is_ok());
    }
}
