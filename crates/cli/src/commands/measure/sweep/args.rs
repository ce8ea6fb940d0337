//! Flags of `assay sweep`.

use crate::driver::measuring::MeasureArgs;
use crate::exit::EXIT_CODES;
use crate::rounds::args::RoundArgs;
use crate::ui::values::{parse_margin, parse_time};
use assay_model::units::Nanos;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  assay sweep /data --vary scheduler=all --vary read_ahead_kb=128,512,2048
  assay sweep /data --only 'rand-*' --vary governor=performance,schedutil
  assay sweep /data jobs.fio --vary vm.dirty_ratio=5,20 --idle 5s
  assay sweep /mnt/card --vary mount=noatime,relatime --trim
  assay sweep /data --vary cmd:turbo=on,off \\
      --apply 'turbo=set-turbo \"$1\"' --undo 'turbo=set-turbo on'
  assay sweep /data --vary scheduler=all --trials auto
  assay sweep /data --vary scheduler=none,bfq --budget 30m
  assay sweep /data --vary read_ahead_kb=64,512 -- iozone -i0 -i1 -s 64m -r 4k
  assay sweep /data --vary scheduler=all -- \\
      dd if=/dev/zero of=f bs=1M count=64 conv=fdatasync
  assay sweep /dev/sdb1 --destroy-data --vary mkfs=ext4:-b+1024,ext4:-b+4096,xfs
  assay sweep --resume last

What can be varied: scheduler, a file of the device's queue folder (read_ahead_kb,
nr_requests, ...), governor, cpufreq_min, cpufreq_max, vm.NAME, mount (options of the
file system's mount, several put together with +), mkfs (KIND or KIND:OPTION+OPTION,
made on an unused block device), affinity (0, 0+2, 0-3), file:/PATH, and cmd:NAME with
a pair of commands. 'all': all that the kernel offers.
";

/// `assay sweep`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct SweepArgs {
    /// A directory (a test file is made in it and removed), a file (it is only
    /// read), or a block device (needs --destroy-data).
    #[arg(required_unless_present = "resume")]
    pub path: Option<PathBuf>,
    /// Jobs from a job file of fio instead of those of assay qualify; each runs
    /// alone, in the test file.
    #[arg(value_name = "JOB-FILE", conflicts_with_all = ["quick", "thorough", "only"])]
    pub file: Option<PathBuf>,
    /// Command of dd, iozone, androbench, disks, mark, mem or scenario, written as after assay. File
    /// names without a leading / are in PATH.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["file", "quick", "thorough", "only", "size", "resume"])]
    pub command: Vec<OsString>,
    /// Setting and its values: SUBJECT=VALUE,VALUE or SUBJECT=all. Several --vary make every
    /// combination.
    #[arg(
        long,
        value_name = "SUBJECT=VALUES",
        required_unless_present = "resume"
    )]
    pub vary: Vec<String>,
    /// Command that sets cmd:NAME to the value in $1.
    #[arg(long, value_name = "NAME=COMMAND")]
    pub apply: Vec<String>,
    /// Command that undoes the setting; it gets the value in $1, too.
    #[arg(long, value_name = "NAME=COMMAND")]
    pub undo: Vec<String>,
    /// Time limit of a command of --apply or --undo; after that it is killed and has failed.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    pub command_limit: Nanos,
    #[command(flatten)]
    pub rounds: RoundArgs,
    /// Maximum number of trials for --trials auto (12 or more) and --budget [default: 20 and
    /// 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_trials: Option<u32>,
    /// Largest difference that counts as equivalent, in percent, for --trials auto [default:
    /// 5].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    /// Resume an interrupted sweep: run its missing trials.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["path", "file", "vary", "apply", "undo", "max_trials", "margin", "name", "tag", "note"], conflicts_with_all = RoundArgs::NAMES, conflicts_with = "seed")]
    pub resume: Option<String>,
    #[command(flatten)]
    pub shared: MeasureArgs,
}
