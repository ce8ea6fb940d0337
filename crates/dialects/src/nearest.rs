//! Suggestion for a mistyped word.

/// Length to which longer words are cut before the comparison.
const LONGEST: usize = 64;

/// Returns the known word that was probably intended: the one with the fewest typing mistakes, if
/// they are at most one in three letters. Leading dashes are not letters.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(LONGEST).collect();
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
