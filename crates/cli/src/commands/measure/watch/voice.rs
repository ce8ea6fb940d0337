//! Output of samples while they come: a table for people, CSV for programs. Standard output is for
//! the command, if there is one, and for the CSV.

use super::args::WatchArgs;
use crate::exit::Failure;
use crate::output::{print_while_read, say};
use assay_model::work::watch::WatchSample;
use assay_report::watch::{Csv, WatchTable};

/// Tells of samples.
pub enum Voice {
    /// A table on standard error.
    Talk(WatchTable),
    /// A table on standard output.
    Table(WatchTable),
    /// CSV on standard output.
    Csv(Csv),
    /// Nothing: a document follows.
    Silent,
}

impl Voice {
    /// The one that was asked for.
    pub fn of(args: &WatchArgs) -> Self {
        match (args.csv, args.json, args.command.is_empty()) {
            (true, ..) => Self::Csv(Csv::default()),
            (_, true, _) => Self::Silent,
            (.., true) => Self::Table(WatchTable::default()),
            _ => Self::Talk(WatchTable::default()),
        }
    }

    /// Tells of the next sample; whether somebody still reads.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn tell(&mut self, sample: &WatchSample) -> Result<bool, Failure> {
        match self {
            Self::Silent => Ok(true),
            Self::Csv(csv) => print_while_read(|out| csv.write(sample, out)),
            Self::Talk(table) => {
                table.lines(sample).iter().for_each(|line| say(line));
                Ok(true)
            }
            Self::Table(table) => {
                let lines = table.lines(sample);
                print_while_read(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
            }
        }
    }
}
