//! Results of test programs, parsed from the output of `cargo test` and summed over all
//! programs.

use std::collections::{BTreeMap, BTreeSet};

/// Results of all test programs so far.
#[derive(Debug, Default)]
pub struct TestTally {
    passed: usize,
    /// Tests that failed, as `PROGRAM: TEST`, and programs that ended without a result.
    failed: Vec<String>,
    /// Output lines of the failed tests.
    why: Vec<String>,
    /// Number of tests skipped for each reason.
    skipped: BTreeMap<String, usize>,
    /// Name of the running test program.
    program: String,
    /// Set until the running program has printed its result.
    is_open: bool,
    /// Number of tests that the running program announced.
    announced: usize,
    /// Names in the latest list of failures.
    names: Vec<String>,
    /// First output lines of failed tests, by name.
    said: BTreeMap<String, Vec<String>>,
    /// Failed test whose output is being read.
    speaker: Option<String>,
}

/// Number of output lines of a failed test that the summary repeats.
const SHOWN: usize = 8;

impl TestTally {
    /// Reads the next line of `cargo test`, with both outputs in one stream.
    pub fn read(&mut self, line: &str) {
        let line = line.trim_end();
        self.listen(line);
        if let Some(program) = program(line) {
            self.close();
            (self.program, self.is_open) = (program, true);
            self.announced = 0;
        } else if let Some(count) = announced(line) {
            // A failed test that runs its own program repeats such lines.
            self.announced = self.announced.max(count);
        } else if line == "failures:" {
            self.names.clear();
        } else if let Some(name) = line.strip_prefix("    ") {
            self.names.push(name.to_owned());
        } else if let Some(why) = ignored(line) {
            self.skip(why);
        } else if let Some(counts) = ResultCounts::read(line)
            && counts.all() == self.announced
        {
            self.add(&counts);
        }
    }

    fn listen(&mut self, line: &str) {
        let name = line.strip_prefix("---- ");
        if let Some(name) = name.and_then(|line| line.strip_suffix(" stdout ----")) {
            self.said.insert(name.to_owned(), Vec::new());
            self.speaker = Some(name.to_owned());
        } else if line == "stack backtrace:" || line == "failures:" {
            self.speaker = None;
        } else if let Some(said) = self
            .speaker
            .as_ref()
            .and_then(|name| self.said.get_mut(name))
            && !line.is_empty()
            && said.len() < SHOWN
        {
            said.push(line.to_owned());
        }
    }

    fn add(&mut self, counts: &ResultCounts) {
        self.passed += counts.passed;
        let names = self
            .names
            .split_off(self.names.len().saturating_sub(counts.failed));
        let program = &self.program;
        self.failed
            .extend(names.iter().map(|name| format!("{program}: {name}")));
        self.why.extend(names.iter().filter_map(|name| {
            let said = self.said.get(name)?.join("\n  ");
            Some(format!("{program}: {name}\n  {said}"))
        }));
        self.said.clear();
        self.names.clear();
        self.announced = 0;
        self.is_open = false;
    }

    /// Ends the running program. A program that was killed by a signal prints no result.
    pub fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.failed
                .push(format!("{}: ended without a result", self.program));
        }
        self.names.clear();
    }

    /// Reads skips that tests have noted, a line of program, test and reason each. The test
    /// program counted each of these tests as passed.
    pub fn note_skips(&mut self, lines: &str) {
        let mut seen = BTreeSet::new();
        for line in lines.lines() {
            let Some((test, why)) = line.rsplit_once('\t') else {
                continue;
            };
            if seen.insert(test) {
                self.passed = self.passed.saturating_sub(1);
                self.skip(why);
            }
        }
    }

    fn skip(&mut self, why: &str) {
        *self.skipped.entry(why.to_owned()).or_default() += 1;
    }

    /// Returns the number of failed tests and of programs that ended without a result.
    pub fn failed(&self) -> usize {
        self.failed.len()
    }

    /// Returns the summary: the output of each failed test, and a line with the counts of
    /// passed, failed and skipped tests, with the reasons.
    pub fn closing(&self) -> String {
        let reasons: Vec<String> = self
            .skipped
            .iter()
            .map(|(why, count)| format!("{count}: {why}"))
            .collect();
        let skipped: usize = self.skipped.values().sum();
        let mut why = self.why.join("\n");
        if !why.is_empty() {
            why.push('\n');
        }
        let mut line = format!(
            "{why}{} passed, {} failed, {skipped} skipped",
            self.passed,
            self.failed.len()
        );
        if !self.failed.is_empty() {
            line.push_str(&format!("; failed: {}", self.failed.join(", ")));
        }
        if !reasons.is_empty() {
            line.push_str(&format!("; skipped: {}", reasons.join("; ")));
        }
        line
    }
}

/// Counts of one `test result:` line.
#[derive(Debug, Default, PartialEq, Eq)]
struct ResultCounts {
    passed: usize,
    failed: usize,
    ignored: usize,
    measured: usize,
}

impl ResultCounts {
    fn read(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut found = Self::default();
        for part in counts.split("; ") {
            let (count, word) = part.split_once(' ')?;
            let place = match word {
                "passed" => &mut found.passed,
                "failed" => &mut found.failed,
                "ignored" => &mut found.ignored,
                "measured" => &mut found.measured,
                _ => continue,
            };
            *place = count.parse().ok()?;
        }
        Some(found)
    }

    fn all(&self) -> usize {
        self.passed + self.failed + self.ignored + self.measured
    }
}

/// Returns the name of a test program that cargo starts.
fn program(line: &str) -> Option<String> {
    if let Some(package) = line.strip_prefix("   Doc-tests ") {
        return Some(format!("documentation of {package}"));
    }
    let path = line.strip_prefix("     Running ")?.strip_suffix(')')?;
    let file = path.rsplit(['/', '(']).next()?;
    let (name, _) = file.rsplit_once('-')?;
    Some(name.to_owned())
}

/// Returns the number of tests that a program announces.
fn announced(line: &str) -> Option<usize> {
    let (count, word) = line.strip_prefix("running ")?.split_once(' ')?;
    matches!(word, "test" | "tests")
        .then(|| count.parse().ok())
        .flatten()
}

/// Returns the reason why a test is ignored.
fn ignored(line: &str) -> Option<&str> {
    let (_, end) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    Some(end.strip_prefix(", ").unwrap_or("ignored"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> TestTally {
        let mut tally = TestTally::default();
        text.lines().for_each(|line| tally.read(line));
        tally.close();
        tally
    }

    #[test]
    fn all_programs_count_also_behind_one_that_fails_or_dies() {
        let mut tally = read(
            "     Running unittests src/lib.rs (target/debug/deps/assay_model-0a1b)\n\
             \nrunning 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\
             test a::d ... ignored, takes minutes\n\
             \nfailures:\n\n---- a::c stdout ----\n    left: 1\n\nfailures:\n    a::c\n\n\
             test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
             \x20    Running tests/dies.rs (target/debug/deps/dies-0a1b)\n\nrunning 2 tests\n\
             error: test failed, to rerun pass `-p x --test dies`\n\
             \x20    Running tests/e2e/main.rs (target/debug/deps/e2e-0a1b)\n\nrunning 2 tests\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 2s\n\
             \x20  Doc-tests assay_model\n\nrunning 1 test\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2s\n",
        );
        tally.note_skips("e2e\tx\tno fio\ne2e\tx\tno fio either\n");
        assert_eq!(tally.failed(), 2);
        assert_eq!(
            tally.closing(),
            "assay_model: a::c\n      left: 1\n3 passed, 2 failed, 2 skipped; failed: assay_model: a::c, dies: ended without a \
             result; skipped: 1: no fio; 1: takes minutes"
        );
    }

    #[test]
    fn what_a_failed_test_shows_of_its_own_program_does_not_count() {
        let tally = read(
            "     Running unittests src/lib.rs (target/debug/deps/kit-0a1b)\n\
             \nrunning 2 tests\ntest a ... FAILED\ntest b ... ok\n\nfailures:\n\n---- a stdout ----\n\
             running 1 test\n\nfailures:\n    a\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 1 filtered out\n\
             \nfailures:\n    a\n\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(
            tally.closing(),
            "kit: a\n  running 1 test\n1 passed, 1 failed, 0 skipped; failed: kit: a"
        );
    }
}
