//! Command lines, job files and outputs in the formats of other tools. Performs no I/O: files,
//! environment and clock come in through traits and parameters.

pub mod androbench;
pub mod dd;
pub mod fio;
pub mod import;
pub mod iozone;
pub mod mark;

use assay_model::annotation::Annotation;
use std::path::PathBuf;

assay_model::defaults! {
    /// assay's own options in the command lines of dd and iozone.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OwnOptions {
        /// `--trials`: repetitions of the whole command.
        pub trials: u32 = 1,
        /// `--json`: the run as JSON on standard output.
        pub json: bool,
        /// `--store`: file that keeps the runs.
        pub store: Option<PathBuf>,
        /// `--name`, `--tag`, `--note`: annotation of the run.
        pub annotation: Annotation,
        /// `--destroy-data`: data on a block device may be overwritten (in dd, only the ladder
        /// requires it).
        pub destroy_data: bool,
        /// `--ladder`: the four ways to write with dd, one after the other.
        pub ladder: bool,
    }
}
