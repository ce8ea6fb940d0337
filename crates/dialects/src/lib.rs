//! Foreign words in, foreign words out: what the users of other tools already
//! speak. Pure: files, environment and clock come in through traits and
//! parameters.

pub mod androbench;
pub mod dd;
pub mod fio;
pub mod import;
pub mod iozone;
pub mod mark;

use assay_model::annotation::Annotation;
use std::path::PathBuf;

assay_model::defaults! {
    /// Options of assay's own that the command lines of dd and iozone take besides those of the
    /// tools.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OwnOptions {
        /// `--trials`: repetitions of all of it.
        pub trials: u32 = 1,
        /// `--json`: the run as JSON on standard output.
        pub json: bool,
        /// `--store`: file that keeps the runs.
        pub store: Option<PathBuf>,
        /// `--name`, `--tag`, `--note`: of the run.
        pub annotation: Annotation,
        /// `--destroy-data`: what is on a block device may go (of dd, only the ladder asks for it).
        pub destroy_data: bool,
        /// `--ladder`: the four ways to write with dd, one after the other.
        pub ladder: bool,
    }
}

mod nearest;

pub use nearest::nearest;
