//! Results as text for the documentation.

use super::examples::{Example, Refusal};
use super::programs::{ProgramResult, Verdict};
use crate::run::{cargo, run};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Source of the results in `docs/compat/fio.md`.
const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/dialects/src/fio/compat_tests.md"
);

/// Formats counts and a table of the test programs.
pub(super) fn programs(outcomes: &[ProgramResult]) -> String {
    let count = |verdict: fn(&Verdict) -> bool| {
        let of_kind = outcomes.iter().filter(|outcome| verdict(&outcome.verdict));
        of_kind.count()
    };
    let passed = count(|verdict| matches!(verdict, Verdict::Passed));
    let failed = count(|verdict| matches!(verdict, Verdict::Failed(_)));
    let left_out = outcomes.len() - passed - failed;
    let mut text = format!(
        "{passed} of {} test programs pass, {failed} fail; {left_out} are left out.\n\n\
         | number | program | result |\n|---|---|---|\n",
        passed + failed
    );
    for ProgramResult {
        number,
        name,
        verdict,
    } in outcomes
    {
        let result = match verdict {
            Verdict::Passed => "passes".to_owned(),
            Verdict::Failed(why) => format!("fails: {}", cell(why)),
            Verdict::LeftOut(why) => format!("left out: {}", cell(why)),
        };
        let _ = writeln!(text, "| {number} | `{name}` | {result} |");
    }
    text
}

/// Formats counts of the example jobs, and the refused options with the jobs
/// that use them.
pub(super) fn examples(examples: &[Example]) -> String {
    let mut refused: BTreeMap<&Refusal, Vec<String>> = BTreeMap::new();
    for Example { name, refusal } in examples {
        if let Some(refusal) = refusal {
            let names = refused.entry(refusal).or_default();
            names.push(format!("`{name}`"));
        }
    }
    let count: usize = refused.values().map(Vec::len).sum();
    let mut text = format!(
        "{} of {} example jobs are read, {count} are refused.\n\n\
         | refused | reason | in |\n|---|---|---|\n",
        examples.len() - count,
        examples.len()
    );
    for (Refusal { option, why }, names) in refused {
        let option = match option.as_str() {
            "" => String::new(),
            option => format!("`{}`", cell(option)),
        };
        let why = cell(why);
        let _ = writeln!(text, "| {option} | {why} | {} |", names.join(", "));
    }
    text
}

/// Returns the version of a source tree, for example `fio-3.33`.
pub(super) fn version(source: &Path) -> Result<String> {
    let path = source.join("FIO-VERSION-GEN");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("DEF_VER="));
    line.map(str::to_owned)
        .with_context(|| format!("{} names no version", path.display()))
}

/// Writes the results into the documentation.
pub(super) fn write(
    version: &str,
    outcomes: &[ProgramResult],
    of_examples: &[Example],
) -> Result<()> {
    let text = format!(
        "\n## Results of fio's own test programs\n\n\
         Of `t/run-fio-tests.py` and `examples/` of {version}, by\n\
         `cargo xtask fio-tests SOURCE --write`.\n\n{}\n{}",
        programs(outcomes),
        examples(of_examples)
    );
    fs::write(FILE, text).with_context(|| format!("cannot write {FILE}"))?;
    let mut update = cargo();
    update.args(["test", "--quiet", "--package", "assay-dialects"]);
    update.arg("the_document_is_what_the_table_says");
    run(update.env("UPDATE_COMPAT", "1"))
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_counted_and_told() {
        let outcome = |number, verdict| ProgramResult {
            number,
            name: "t.fio".to_owned(),
            verdict,
        };
        let text = programs(&[
            outcome(1, Verdict::Passed),
            outcome(2, Verdict::Failed("a | b".to_owned())),
            outcome(3, Verdict::LeftOut("no".to_owned())),
        ]);
        assert!(text.starts_with("1 of 2 test programs pass, 1 fail; 1 are left out."));
        assert!(text.contains("| 2 | `t.fio` | fails: a \\| b |"), "{text}");
    }

    #[test]
    fn only_refused_examples_are_listed() {
        let example = |name: &str, refused: bool| Example {
            name: name.to_owned(),
            refusal: refused.then(|| Refusal {
                option: "a=b".to_owned(),
                why: "no".to_owned(),
            }),
        };
        let all = [example("a", false), example("b", true), example("c", true)];
        let text = examples(&all);
        assert!(text.starts_with("1 of 3 example jobs are read, 2 are refused."));
        assert!(text.ends_with("|\n| `a=b` | no | `b`, `c` |\n"), "{text}");
    }
}
