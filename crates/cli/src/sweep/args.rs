//! Flags of `assay sweep`.

use crate::args::{EXIT_CODES, QualifyArgs, StoreArgs, parse_size};
use crate::on::OnArgs;
use crate::watch::args::parse_time;
use assay_model::units::{Bytes, Nanos};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  assay sweep /data --vary scheduler=all --vary read_ahead_kb=128,512,2048
  assay sweep /data --quick --only 'rand-*' --vary governor=performance,schedutil
  assay sweep /data jobs.fio --vary vm.dirty_ratio=5,20 --idle 5s
  assay sweep /mnt/card --vary mount=noatime,relatime --trim
  assay sweep /data --vary cmd:turbo=on,off \\
      --apply 'turbo=set-turbo \"$1\"' --undo 'turbo=set-turbo on'
  assay sweep --resume last

What can be varied: scheduler, a file of the device's queue folder (read_ahead_kb,
nr_requests, ...), governor, cpufreq_min, cpufreq_max, vm.NAME, mount (options of the
file system's mount, several put together with +), affinity (0, 0+2, 0-3),
file:/PATH, and cmd:NAME with a pair of commands. 'all': all that the kernel offers.
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
    /// What is set, and to what: SUBJECT=VALUE,VALUE or SUBJECT=all. Several make
    /// every combination.
    #[arg(
        long,
        value_name = "SUBJECT=VALUES",
        required_unless_present = "resume"
    )]
    pub vary: Vec<String>,
    /// The command that sets cmd:NAME to its value, which it gets as $1.
    #[arg(long, value_name = "NAME=COMMAND")]
    pub apply: Vec<String>,
    /// The command that undoes it; it gets the value too.
    #[arg(long, value_name = "NAME=COMMAND")]
    pub undo: Vec<String>,
    /// How often each condition is measured; one more round before is thrown away.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Wait so long before each trial, for example 2s or 500ms.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub idle: Option<Nanos>,
    /// Empty the page cache of the whole system before each trial.
    #[arg(long)]
    pub drop_caches: bool,
    /// Discard the free blocks of the file system before each trial (fstrim).
    #[arg(long)]
    pub trim: bool,
    /// Short trials, with a test file of 256 MiB.
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Longer trials, with a test file larger than the memory where there is room.
    #[arg(long)]
    pub thorough: bool,
    /// Size of the test file, for example 512M or 4G.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<Bytes>,
    /// Run these jobs of assay qualify, separated by commas; a name may end in *
    /// [default: read-buffered, seq-read-1m, seq-write-1m, rand-read-4k,
    /// rand-write-4k, append-4k-fsync].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Repeat the order, offsets and contents of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    /// Go on with a sweep that was interrupted: the trials that are missing.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["path", "file", "vary", "apply", "undo", "seed", "idle", "drop_caches", "trim", "quick", "thorough", "size", "only", "rounds"])]
    pub resume: Option<String>,
    /// Print the run as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

impl SweepArgs {
    /// What of it `assay qualify` knows too, with the jobs of these names.
    pub fn suite(&self, path: PathBuf, only: Vec<String>) -> QualifyArgs {
        QualifyArgs {
            path,
            quick: self.quick,
            thorough: self.thorough,
            trials: self.rounds,
            size: self.size,
            only,
            seed: self.seed,
            destroy_data: self.destroy_data,
            json: self.json,
            on: OnArgs::default(),
            store: StoreArgs {
                store: self.store.store.clone(),
            },
        }
    }
}
