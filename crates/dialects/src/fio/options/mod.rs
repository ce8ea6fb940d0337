//! Table of options: each row gives the name, the kind of value, the default,
//! the help text, the level of support and the setter of an option.
//!
//! The table drives the parser, `--cmdhelp`, `--enghelp`, the search for the
//! nearest name and `docs/compat/fio.md`.
//!
//! To add an option: add a row of `options!` in the module of its kind; `fio::resolve` settles what
//! depends on other options. Add its field in `assay_model::load` and its code in
//! `assay_engine::load`: behind `hindered` if it can delay an I/O, behind `attentive` if it needs
//! completions. Then run `UPDATE_COMPAT=1 cargo test -p assay-dialects`.

mod blocks;
mod buffers;
mod define;
mod engines;
mod files;
mod length;
mod logs;
mod make;
mod other;
mod pace;
mod priorities;
mod reader;
mod schedule;
mod stats;
mod table;
mod trace;
mod verify;

pub(super) use define::OptionType;
#[cfg(test)]
pub(super) use define::Set;
pub use define::{OptionDef, Support};
pub(super) use engines::{ENGINES, engine};
pub(super) use reader::OptionReader;
pub(super) use verify::HEADER_BYTES;

use std::collections::HashMap;
use std::sync::OnceLock;

/// Every option, in groups with headings.
pub static GROUPS: &[(&str, &[&[OptionDef]])] = &[
    ("Jobs and their order", &[schedule::OPTIONS]),
    ("Files", &[files::OPTIONS]),
    ("Pattern, sizes and offsets", &[blocks::OPTIONS]),
    ("Engine, depth, caches and flushes", &[length::ENGINE]),
    ("How much and how long", &[length::OPTIONS]),
    ("Pace", &[pace::OPTIONS]),
    ("Verification and trims", &[verify::OPTIONS]),
    ("Buffers", &[buffers::OPTIONS]),
    ("Recording and replaying", &[trace::OPTIONS]),
    ("Logs", &[logs::OPTIONS]),
    ("Statistics and errors", &[stats::OPTIONS]),
    ("Processes, processors and zoned devices", &[other::OPTIONS]),
    ("Options of newer versions", &[other::LATER]),
    (
        "Options of single engines",
        &[engines::OPTIONS, engines::ABSENT],
    ),
];

/// Returns every option.
pub fn all() -> impl Iterator<Item = &'static OptionDef> {
    let parts = GROUPS.iter().flat_map(|(_, parts)| *parts);
    parts.flat_map(|options| *options)
}

/// Returns every name and alias.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(OptionDef::names)
}

/// Finds an option by name or alias.
pub(super) fn find(name: &str) -> Option<&'static OptionDef> {
    static INDEX: OnceLock<HashMap<&'static str, &'static OptionDef>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        all()
            .flat_map(|option| option.names().map(move |name| (name, option)))
            .collect()
    });
    index.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nearest;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name} is there twice");
        }
    }

    #[test]
    fn the_nearest_name_is_found() {
        assert_eq!(nearest("iodpeth", names()), Some("iodepth"));
        assert_eq!(nearest("ioengin", names()), Some("ioengine"));
        assert_eq!(nearest("qqqqqqqq", names()), None);
    }

    #[test]
    fn every_name_leads_to_its_option() {
        for option in all() {
            for name in option.names() {
                assert!(find(name).is_some_and(|found| found.name == option.name));
            }
        }
    }
}
