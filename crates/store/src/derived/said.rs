//! Opinion of a user on a change, as it is stored and copied between stores.

use crate::clock::now_unix_ms;
use assay_model::annotation::parse_note;
use assay_model::series::OpinionState;
use assay_model::text::clean;
use serde::{Deserialize, Serialize};

/// Maximum length of an author's name, in bytes.
const LONGEST_NAME: usize = 256;
/// Maximum difference between the clocks of two machines, in milliseconds.
const CLOCKS_MS: u64 = 86_400_000;

/// Opinion of a user on the change of a series at a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidOfChange {
    /// Key of the series.
    pub series: String,
    /// First run after the change.
    pub run: String,
    /// The opinion; `None` if it was withdrawn.
    pub state: Option<OpinionState>,
    /// Reason, in the user's words.
    pub note: String,
    /// Name of the user.
    pub author: String,
    /// Time of the opinion, milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
}

impl SaidOfChange {
    /// Returns true if assay could have written this opinion. Its text must be safe to print on
    /// terminals, and its time must not be in the far future, where no later opinion could replace
    /// it.
    pub(crate) fn is_sound(&self) -> bool {
        let is_key = self.series.len() == 12 && self.series.bytes().all(|b| b.is_ascii_hexdigit());
        let is_note = parse_note(&self.note).is_ok_and(|note| note == self.note);
        let author = &self.author;
        let is_author = author.len() <= LONGEST_NAME && clean(author) == *author;
        let is_past = self.at_unix_ms <= now_unix_ms().saturating_add(CLOCKS_MS);
        is_key && is_note && is_author && is_past
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_in_the_far_future() {
        let mut said = SaidOfChange {
            series: "0123456789ab".to_owned(),
            run: "k3v9".to_owned(),
            state: None,
            note: String::new(),
            author: "ann".to_owned(),
            at_unix_ms: now_unix_ms(),
        };
        assert!(said.is_sound());
        said.at_unix_ms = u64::MAX;
        assert!(!said.is_sound());
    }
}
