//! Output options: format and destination of results.

use super::output::TerseVersion;
use assay_model::units::Nanos;
use std::path::PathBuf;

assay_model::defaults! {
    /// Output options: format and destination of results.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OutputOptions {
        /// Formats to write.
        pub formats: Formats = Formats { normal: true, ..Formats::default() },
        /// Output file (`--output`); `None`: standard output.
        pub path: Option<PathBuf>,
        /// Version of the terse format.
        pub terse_version: TerseVersion,
        /// Display of progress.
        pub eta: Eta,
        /// Interval at which a new progress line begins.
        pub eta_newline: Option<Nanos>,
        /// Set to show the seed of each job (`--debug=random`).
        pub random_seeds: bool,
        /// Interval at which the progress is updated.
        pub eta_interval: Nanos = Nanos::millis(1000),
    }
}

/// Formats of the output; several are written one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// Format for people.
    pub normal: bool,
    /// One line of values per job (`--minimal`; `--append-terse` adds it).
    pub terse: bool,
    /// JSON.
    pub json: bool,
    /// JSON with histograms (`json+`).
    pub json_plus: bool,
}

impl Formats {
    /// Reads a list such as `normal,json`.
    ///
    /// # Errors
    ///
    /// If a format is unknown.
    pub(super) fn parse(list: &str) -> Result<Self, String> {
        let mut formats = Self::default();
        for word in list.split(',') {
            match word.trim() {
                "normal" => formats.normal = true,
                "terse" | "minimal" | "csv" => formats.terse = true,
                "json" => formats.json = true,
                "json+" => {
                    formats.json = true;
                    formats.json_plus = true;
                }
                other => {
                    return Err(format!(
                        "'{other}' is not a format: use normal, terse, json or json+"
                    ));
                }
            }
        }
        Ok(formats)
    }
}

/// Display of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// Show it on a terminal.
    #[default]
    Auto,
    /// Always show it.
    Always,
    /// Never show it.
    Never,
}
