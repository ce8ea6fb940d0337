//! Warnings about environment variables named like those of assay that assay does not know.

use super::{SETTINGS, VARIABLES};
use assay_dialects::nearest;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Prefix of the names of assay's variables.
const PREFIX: &str = "ASSAY_";

/// Suffixes of known variables that are no settings: completion scripts set the first,
/// `contrib/labgrid` reads the others.
const OF_OTHERS: [&str; 3] = ["COMPLETE", "PATH", "WORDS"];

/// Returns a sentence for each variable with assay's prefix that nothing reads. An empty variable
/// counts as not set.
pub(super) fn warnings(set: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<String> {
    let settings = SETTINGS.iter().map(|setting| setting.variable);
    let others = VARIABLES.iter().map(|(name, _, _)| *name);
    let known = settings.chain(others);
    let known = known.filter_map(|name| name.strip_prefix(PREFIX));
    let known: Vec<&str> = known.chain(OF_OTHERS).collect();
    let set = set.into_iter().filter(|(_, value)| !value.is_empty());
    let names: BTreeSet<String> = set
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    let unknown = names.iter().filter_map(|name| {
        let rest = name.strip_prefix(PREFIX)?;
        (!known.contains(&rest)).then(|| {
            let meant = nearest(rest, known.iter().copied());
            let meant = meant.map_or_else(String::new, |known| {
                format!(" (did you mean {PREFIX}{known}?)")
            });
            format!("{name} is set, and assay reads no variable of that name{meant}")
        })
    });
    unknown.collect()
}
