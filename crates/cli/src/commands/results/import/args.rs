//! The command line of `assay import`.

use crate::stored::keep::KeepArgs;
use assay_dialects::import::Format;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  assay import before.json                       fio's JSON
  assay import --condition bfq bfq-*.json        three files, three trials
  fio job.fio | assay import -                   its normal output
  assay import --condition 'unit A' iozone.txt   the table, -R blocks, throughput
  assay import androbench.csv                    condition,metric,unit,n,mean,stdev

Facts that the files do not contain are unknown: above all, whether the device or the
page cache was measured. Exit codes: 0 done, 1 failed, 2 a file cannot be read or
understood; nothing is stored then.";

/// `assay import`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct ImportArgs {
    /// Files written by fio, iozone, dd or vmstat, or tables (CSV); - is standard input. The
    /// same metric in several files gives several trials.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Format of the files, if it is not detected.
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    pub format: Option<Format>,
    /// Condition of all figures, such as bfq or 'unit A'.
    #[arg(long, value_name = "NAME")]
    pub condition: Option<String>,
    /// Print the import as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: KeepArgs,
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::word)).map(|word| {
        let found = Format::ALL.into_iter().find(|format| format.word() == word);
        // The parser before lets no other word through.
        found.unwrap_or(Format::Table)
    })
}
