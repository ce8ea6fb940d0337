//! Names of cases for programs that take few characters in them.

use super::{Case, Suite};
use std::collections::HashSet;

/// An id for each case: job, condition and metric as segments of letters, digits, `_` and `-`,
/// joined by a full stop. Each is there once.
pub(super) fn ids(suite: &Suite) -> Vec<String> {
    let mut taken = HashSet::new();
    let ids = suite.cases.iter().map(|case: &Case| {
        let id = path(&case.names());
        let numbered = |n: u32| match n {
            1 => id.clone(),
            n => format!("{id}-{n}"),
        };
        let free = (1..).map(numbered).find(|id| taken.insert(id.clone()));
        free.unwrap_or_default()
    });
    ids.collect()
}

fn path(names: &[&str]) -> String {
    let segments = names.iter().filter(|name| !name.is_empty());
    let segments: Vec<String> = segments.map(|name| segment(name)).collect();
    segments.join(".")
}

/// Replaces each run of disallowed characters by one `-`.
fn segment(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts = name.split(|c| !allowed(c)).filter(|part| !part.is_empty());
    match parts.collect::<Vec<_>>().join("-") {
        empty if empty.is_empty() => "unnamed".to_owned(),
        segment => segment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_have_only_what_farms_take() {
        assert_eq!(
            path(&["rand-read-4k", "read_iops"]),
            "rand-read-4k.read_iops"
        );
        assert_eq!(path(&["seq read 10M", ""]), "seq-read-10M");
        assert_eq!(
            path(&["under scheduler=bfq", "µs"]),
            "under-scheduler-bfq.s"
        );
        assert_eq!(path(&["µ"]), "unnamed");
    }
}
