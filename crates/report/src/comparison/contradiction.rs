//! Where B is better at one kind of work and worse at another: no single word holds for
//! such a part, and the figure that is looked at first hides the other.

use super::Compared;
use super::words::{in_short, tallied};
use crate::text::enumerate;
use assay_lang::tr;
use assay_model::verdict::Verdict;
use assay_stats::verdict::line::Line;

/// Verdicts, as they are counted.
const WORDS: [&str; 4] = ["faster", "slower", "equivalent", "no conclusion"];
/// What says that the device was not measured.
const PAGE_CACHE: &str = "page-cache";

impl Compared<'_> {
    /// The conclusion in a few sentences; not yet safe to show.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let short = in_short(self.comparison);
        match self.contradiction() {
            Some(contradiction) => format!("{short} {contradiction}"),
            None => short,
        }
    }

    /// That B is faster at some work and slower at other; `None` when all that was found
    /// points one way. Figures of the page cache have no say.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let faster = self.kinds(|verdict| matches!(verdict, Verdict::Faster(_)));
        let slower = self.kinds(|verdict| matches!(verdict, Verdict::Slower(_)));
        // Within one kind of work the metrics say it themselves.
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

    /// Each kind of work with how many of its deciding metrics have which verdict, in
    /// reading order; empty where there is one kind only.
    #[must_use]
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

    /// The kinds of work with a metric of that verdict.
    fn kinds(&self, wanted: fn(&Verdict) -> bool) -> Vec<String> {
        let lines = self.comparison.lines.iter();
        let found = lines.filter(|line| line.primary && wanted(&line.verdict));
        let found = found.filter(|line| !self.is_of_page_cache(line));
        let kinds = self.jobs().grouped(found, |line| &line.metric);
        let kinds = kinds.into_iter();
        kinds.map(|(title, _)| format!("“{title}”")).collect()
    }

    fn is_of_page_cache(&self, line: &Line) -> bool {
        let sources = self.a_sources.iter().chain(&self.b_sources);
        let mut figures = sources.flat_map(|source| source.figures);
        figures.any(|figure| {
            figure.metric == line.metric && figure.measured.as_deref() == Some(PAGE_CACHE)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::sides::{Sides, repeated};

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

    #[test]
    fn the_page_cache_has_no_say() {
        let mut sides = Sides::new();
        assert!(sides.compared().contradiction().is_some());
        for figure in &mut sides.b_figures {
            figure.measured = Some("page-cache".to_owned());
        }
        assert_eq!(sides.compared().contradiction(), None);
    }
}
