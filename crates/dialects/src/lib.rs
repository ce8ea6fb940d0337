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

/// Length to which longer words are cut before the comparison.
const LONGEST_WORD: usize = 64;

/// Returns the known word that was probably intended: the one with the fewest typing mistakes, if
/// they are at most one in three letters. Leading dashes are not letters.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(LONGEST_WORD).collect();
    let letters = word.trim_start_matches('-').chars().count();
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&word, known), known))
        .min()
        .filter(|(mistakes, _)| *mistakes <= (letters / 3).max(1))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_with_few_mistakes_is_offered() {
        let known = ["read_ahead_kb", "scheduler", "size", "--trials"];
        for (word, expected) in [
            ("read_ahaed_kb", Some("read_ahead_kb")),
            ("read_kb", None),
            ("header", None),
            ("sice", Some("size")),
            ("side", Some("size")),
            ("time", None),
            ("--trails", Some("--trials")),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest("size", []), None);
    }
}
