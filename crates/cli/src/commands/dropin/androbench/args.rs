//! The command line of `assay androbench`.

use crate::config;
use crate::driver::measuring::MeasureArgs;
use crate::exit::EXIT_CODES;
use crate::ui::values::one_of;
use assay_dialects::androbench::{AndroBenchOptions, Like, SyncMode};
use assay_model::units::Bytes;
use assay_model::work::androbench::{Journal, Statement, Synchronous};
use clap::{Args, value_parser};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  assay androbench /data/local/tmp
  assay androbench /mnt/emmc --like mobibench --only 'sqlite-*'
";

/// `assay androbench`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct AndroBenchArgs {
    /// Folder to measure: test files are made in it and removed.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Parameters to use: those of AndroBench 3 or 4, Mobibench, or assay's own.
    #[arg(long, value_name = "WHAT", default_value = "modern", value_parser = one_of(&Like::ALL, Like::name))]
    pub like: Like,
    /// Number of repetitions [default: 5].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Only these steps, separated by commas (seq-read, seq-write, rand-read,
    /// rand-write, sqlite-insert, sqlite-update, sqlite-delete; Mobibench also
    /// has append); a name may end in *.
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Size of each test file, for example 64M.
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Journal mode of SQLite.
    #[arg(long, value_name = "MODE", value_parser = one_of(&Journal::ALL, Journal::name))]
    pub journal: Option<Journal>,
    /// SQLite's synchronous mode [default: full].
    #[arg(long, value_name = "LEVEL", value_parser = one_of(&Synchronous::ALL, Synchronous::name))]
    pub synchronous: Option<Synchronous>,
    /// Transactions of each statement.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=10_000_000))]
    pub transactions: Option<u64>,
    /// Statements to measure, separated by commas [default: all].
    #[arg(long, value_name = "STATEMENTS", value_delimiter = ',', value_parser = one_of(&Statement::ALL, Statement::name))]
    pub operation: Vec<Statement>,
    /// Mobibench: tables in each transaction [default: 3].
    #[arg(long, value_name = "N")]
    pub tables: Option<u32>,
    /// Mobibench: size of a record [default: 4K].
    #[arg(long, value_name = "SIZE")]
    pub record: Option<Bytes>,
    /// Mobibench: how files are read and written [default: normal].
    #[arg(long, value_name = "MODE", value_parser = one_of(&SyncMode::ALL, SyncMode::name))]
    pub sync_mode: Option<SyncMode>,
    /// Mobibench: threads, each with its own file [default: 1].
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl AndroBenchArgs {
    /// Returns the number of repetitions.
    pub fn trials(&self) -> u32 {
        config::trials(self.trials, config::TRIALS)
    }

    /// Returns the options as the dialect's parser takes them.
    pub fn wanted(&self) -> AndroBenchOptions {
        AndroBenchOptions {
            like: self.like,
            only: self.only.clone(),
            size: self.size,
            journal: self.journal,
            synchronous: self.synchronous,
            transactions: self.transactions,
            operations: self.operation.clone(),
            tables: self.tables,
            record: self.record,
            sync_mode: self.sync_mode,
            threads: self.threads,
        }
    }
}
