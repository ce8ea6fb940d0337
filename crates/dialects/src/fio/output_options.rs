//! Output options: format and destination of results.

use super::output::TerseVersion;
use assay_model::units::Nanos;
use std::path::PathBuf;

assay_model::defaults! {
    /// Output options: format and destination of results.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OutputOptions {
        /// In which formats.
        pub formats: Formats = Formats { normal: true, ..Formats::default() },
        /// Output file (`--output`); `None`: standard output.
        pub path: Option<PathBuf>,
        /// Version of the terse format.
        pub terse_version: TerseVersion,
        /// When progress is shown.
        pub eta: Eta,
        /// A new line of progress begins that often.
        pub eta_newline: Option<Nanos>,
        /// The seed of each job is shown (`--debug=random`).
        pub random_seeds: bool,
        /// Progress is renewed that often.
        pub eta_interval: Nanos = Nanos::millis(1000),
    }
}

/// Formats of the output; several are written one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// For people.
    pub normal: bool,
    /// One line of values a job (`--minimal`; `--append-terse` adds it).
    pub terse: bool,
    /// JSON.
    pub json: bool,
    /// The JSON has histograms too (`json+`).
    pub json_plus: bool,
}

impl Formats {
    /// Reads a list such as `normal,json`.
    ///
    /// # Errors
    ///
    /// If one of them is unknown.
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

/// When progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
