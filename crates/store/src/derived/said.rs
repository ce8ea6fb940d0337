//! What users said of changes, as it is stored and travels.

use assay_model::annotation::parse_note;
use assay_model::series::OpinionState;
use assay_model::text::clean;
use serde::{Deserialize, Serialize};

/// Longest name of an author.
const LONGEST_NAME: usize = 256;

/// What a user said of the change of a series at a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidOfChange {
    /// Key of the series.
    pub series: String,
    /// First run after the change.
    pub run: String,
    /// The opinion; `None`: it was withdrawn.
    pub state: Option<OpinionState>,
    /// Reason, in the user's words.
    pub note: String,
    /// Name of the user.
    pub author: String,
    /// When it was said, milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
}

impl SaidOfChange {
    /// Returns true for what a user of assay could have said: it is shown on terminals.
    pub(crate) fn is_sound(&self) -> bool {
        let is_key = self.series.len() == 12 && self.series.bytes().all(|b| b.is_ascii_hexdigit());
        let is_note = parse_note(&self.note).is_ok_and(|note| note == self.note);
        let author = &self.author;
        is_key && is_note && author.len() <= LONGEST_NAME && clean(author) == *author
    }
}
