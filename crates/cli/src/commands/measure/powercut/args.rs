//! The command line of `assay powercut`.

use super::cut::{Method, Words, words};
use crate::checks::admission::DestroyArgs;
use crate::driver::measuring::MeasureArgs;
use crate::exit::Failure;
use crate::ui::values::{one_of, parse_time};
use assay_model::units::Nanos;
use assay_model::work::powercut::{DurabilityKind, Mounting};
use clap::Args;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  assay powercut --on ssh://root@board /mnt/sd --cut ask --cycles 5
  assay powercut --on labgrid:board-3 /mnt/sd --cut labgrid --cycles 200
  assay powercut --on ssh://root@board /mnt/sd \\
      --mount /dev/mmcblk1p1:ext4:noatime \\
      --cut command:'relay off 3' --restore 'relay on 3' --cycles 200
  assay powercut --on ssh://root@board /dev/sda --destroy-data \\
      --cut command:'relay cycle 3'
  assay powercut --on ssh://root@board --resume    after a kill or a lost board

Exit codes: 0 every acknowledged write was there, 1 failed, 2 wrong usage, 4 an acknowledged
write was lost or torn, 5 the board did not come back,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished cycles are kept in every case.";

/// `assay powercut`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct PowercutArgs {
    /// A folder of the board's (one is made in it and removed), or a block device that is
    /// overwritten (needs --destroy-data).
    #[arg(required_unless_present = "resume")]
    pub path: Option<PathBuf>,
    /// Way to cut the power: ask (by hand), labgrid (the power driver of the place that is
    /// measured), or command:'WORDS', run without a shell.
    #[arg(long, value_name = "METHOD", required_unless_present = "resume")]
    pub cut: Option<Method>,
    /// Command that restores the power [default: the command of --cut does].
    #[arg(long, value_name = "WORDS", value_parser = words)]
    pub restore: Option<Words>,
    /// Number of cycles.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub cycles: u32,
    /// Range of the random time from the start of the writes to the cut.
    #[arg(long, value_name = "FROM..TO", default_value = "1s..8s", value_parser = between)]
    pub after: (Nanos, Nanos),
    /// Time that the power is off.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time)]
    pub off_time: Nanos,
    /// Time that the board may take to be reachable again.
    #[arg(long, value_name = "TIME", default_value = "3min", value_parser = parse_time)]
    pub boot_timeout: Nanos,
    /// Mount this at PATH, before the writes and after each cut [default: the board does].
    #[arg(long, value_name = "DEVICE:TYPE[:OPTIONS]", value_parser = mounting)]
    pub mount: Option<Mounting>,
    /// Write methods, separated by commas, which run at the same time [default: all that the path
    /// takes].
    #[arg(long, value_name = "WAYS", value_delimiter = ',', value_parser = one_of(&DurabilityKind::ALL, DurabilityKind::name))]
    pub ways: Vec<DurabilityKind>,
    /// Size that the device guarantees to write completely or not at all.
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = ["512", "4096"])]
    pub atomic: String,
    /// Resume a run that was stopped or killed: last, or the first letters of its id.
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "last",
        conflicts_with_all = [
            "path", "cut", "restore", "cycles", "after", "off_time", "boot_timeout", "mount",
            "ways", "atomic", "seed", "name", "tag", "note",
        ]
    )]
    pub resume: Option<String>,
    #[command(flatten)]
    pub destroy: DestroyArgs,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl PowercutArgs {
    /// Returns the path that is written.
    pub fn path(&self) -> Result<&Path, Failure> {
        let path = self.path.as_deref();
        path.ok_or_else(|| Failure::usage("give a folder or a block device of the board"))
    }

    /// Returns the method of cutting the power.
    pub fn cut(&self) -> Result<&Method, Failure> {
        let cut = self.cut.as_ref();
        cut.ok_or_else(|| Failure::usage("--cut says how the power is cut"))
    }
}

fn between(text: &str) -> Result<(Nanos, Nanos), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (parse_time(from)?, parse_time(to)?);
    match from <= to {
        true => Ok((from, to)),
        false => Err("the first time is the longer one".to_owned()),
    }
}

fn mounting(text: &str) -> Result<Mounting, String> {
    let mut parts = text.splitn(3, ':');
    match (parts.next(), parts.next()) {
        (Some(device), Some(fs_type)) if device.starts_with('/') && !fs_type.is_empty() => {
            Ok(Mounting {
                device: device.into(),
                fs_type: fs_type.to_owned(),
                options: parts.next().unwrap_or_default().to_owned(),
            })
        }
        _ => Err(
            "write DEVICE:TYPE or DEVICE:TYPE:OPTIONS, such as /dev/sda1:ext4:noatime".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_mounts_are_read() {
        let (from, to) = between("500ms..2s").unwrap();
        assert_eq!((from.0, to.0), (500_000_000, 2_000_000_000));
        assert!(between("2s..1s").is_err() && between("x").is_err());
        let mount = mounting("/dev/sda1:ext4:noatime,data=ordered").unwrap();
        assert_eq!(
            (mount.fs_type.as_str(), mount.options.as_str()),
            ("ext4", "noatime,data=ordered")
        );
        assert_eq!(mounting("/dev/sda1:xfs").unwrap().options, "");
        assert!(mounting("sda1:xfs").is_err() && mounting("/dev/sda1").is_err());
        assert_eq!(words("relay 'off 3'").unwrap().0, ["relay", "off 3"]);
        assert!(words("").is_err() && words("'").is_err());
    }
}
