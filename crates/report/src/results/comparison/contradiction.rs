//! Contradictions: B is better at one kind of work and worse at another. No single word applies to
//! such a part, and the first figure would hide the other.

use super::Compared;
use super::words::{in_short, tallied};
use crate::words::text::enumerate;
use assay_lang::tr;
use assay_model::verdict::Verdict;

/// Verdicts, in the order in which they are counted.
const WORDS: [&str; 4] = ["faster", "slower", "equivalent", "no conclusion"];

impl Compared<'_> {
    /// Returns the conclusion in a few sentences; not yet safe to display.
    pub fn conclusion(&self) -> String {
        let short = in_short(self.comparison);
        match self.contradiction() {
            Some(contradiction) => format!("{short} {contradiction}"),
            None => short,
        }
    }

    /// Reports that B is faster at some work and slower at other work; `None` without such a
    /// contradiction.
    pub fn contradiction(&self) -> Option<String> {
        let faster = self.kinds(|verdict| matches!(verdict, Verdict::Faster(_)));
        let slower = self.kinds(|verdict| matches!(verdict, Verdict::Slower(_)));
        // Within one kind of work the verdicts of the metrics show it already.
        if faster.is_empty() || slower.is_empty() || faster == slower && faster.len() == 1 {
            return None;
        }
        Some(tr!(
            "No one word holds for B: it is faster in {faster}, but slower in {slower}; which of \
             them matters is for the product to say.",
            faster = enumerate(&faster),
            slower = enumerate(&slower)
        ))
    }

    /// Counts the verdicts of the deciding metrics for each kind of work, in reading order; empty
    /// if there is only one kind.
    pub fn dimensions(&self) -> Vec<(String, String)> {
        let lines = self.comparison.lines.iter().filter(|line| line.primary);
        let kinds = self.jobs().grouped(lines, |line| &line.metric);
        if kinds.len() < 2 {
            return Vec::new();
        }
        let told = kinds.into_iter().map(|(title, lines)| {
            let words = lines.iter().map(|line| line.verdict.word());
            (title, tallied(words, &WORDS))
        });
        told.collect()
    }

    /// Returns the kinds of work with a metric of that verdict.
    fn kinds(&self, wanted: fn(&Verdict) -> bool) -> Vec<String> {
        let lines = self.comparison.lines.iter();
        let found = lines.filter(|line| line.primary && wanted(&line.verdict));
        let kinds = self.jobs().grouped(found, |line| &line.metric);
        let kinds = kinds.into_iter();
        kinds.map(|(title, _)| format!("“{title}”")).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::comparison_fixture::{Sides, repeated};
    use assay_model::verdict::Verdict;

    fn of(factor: fn(&str) -> f64) -> Option<String> {
        let sides = Sides::of(repeated(2, |_| 1.0), repeated(2, factor));
        sides.compared().contradiction()
    }

    #[test]
    fn kinds_of_work_that_point_both_ways_are_named() {
        let said = of(|job| match job {
            "seq-read-1m" => 1.4,
            "rand-rw-4k" => 0.7,
            _ => 1.0,
        });
        let said = said.expect("a contradiction");
        assert!(said.contains("faster in “Mixed”, but slower in"), "{said}");
        assert!(said.contains("slower in “Sequential”"), "{said}");
    }

    #[test]
    fn one_direction_is_none() {
        assert_eq!(of(|_| 1.4), None);
        assert_eq!(of(|_| 1.0), None);
    }

    /// Nor in the conclusion: `dd-plain` measured the page cache on both sides.
    #[test]
    fn the_page_cache_has_no_say() {
        let slower = |factor: fn(&str) -> f64| Sides::of(repeated(2, |_| 1.0), repeated(2, factor));
        let sides = slower(|job| if job == "dd-plain" { 1.4 } else { 1.0 });
        let lines = sides.comparison.lines.iter();
        let mut plain = lines.filter(|line| line.metric == "dd-plain: write_bw");
        let plain = plain.next().expect("it is shown");
        assert!(matches!(plain.verdict, Verdict::Slower(_)), "{plain:#?}");
        assert!(!plain.primary);
        assert!(
            plain.notes[0].to_string().contains("page-cache"),
            "{plain:#?}"
        );
        let concluded = sides.compared().conclusion();
        assert!(!concluded.contains("dd-plain"), "{concluded}");
        let mixed = slower(|job| match job {
            "dd-plain" => 1.4,
            "rand-rw-4k" => 0.7,
            _ => 1.0,
        });
        assert_eq!(mixed.compared().contradiction(), None);
    }
}
