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
mod engines;
mod schedule;
mod stats;
mod table;

pub(super) use blocks::HEADER_BYTES;
pub(super) use engines::{ENGINES, engine};
pub use table::{OptionDef, Support};
pub(super) use table::{OptionReader, OptionType};

use crate::fio::JobDraft;
use crate::fio::value::pattern;
use assay_model::load::DedupeMode;
use std::collections::HashMap;
use std::sync::OnceLock;
use table::{not_one_of, options};

#[cfg(test)]
pub(super) use table::Set;

/// Every option, in groups with headings.
pub static GROUPS: &[(&str, &[&[OptionDef]])] = &[
    ("Jobs and their order", &[schedule::ORDER]),
    ("Files", &[blocks::FILES]),
    ("Pattern, sizes and offsets", &[blocks::BLOCKS]),
    ("Engine, depth, caches and flushes", &[engines::SUBMISSION]),
    ("How much and how long", &[schedule::LENGTH]),
    ("Pace", &[schedule::PACE]),
    ("Verification and trims", &[blocks::VERIFY]),
    ("Buffers", &[OPTIONS]),
    ("Recording and replaying", &[schedule::TRACE]),
    ("Logs", &[stats::LOGS]),
    ("Statistics and errors", &[stats::STATS]),
    (
        "Processes, processors and zoned devices",
        &[schedule::PROCESSES],
    ),
    ("Options of newer versions", &[schedule::LATER]),
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

options! {
    static OPTIONS:

    switch("zero_buffers", "Write zeroes") [stream.content.zero];
    switch("refill_buffers", "New content for each write") [stream.content.refill];
    flag("scramble_buffers", "1", "Change the content a little for each write")
        [stream.content.scramble];
    text("buffer_pattern", "bytes as 0xdeadbeef, \"text\", 42, 'file', one after another", "",
        "Fill buffers with this")
        [buffer_pattern = |reader, value| pattern(value, false, reader.env)];
    count("buffer_compress_percentage", (0, 100), "", "How far a block can be compressed")
        [stream.content.compress_percent];
    bytes("buffer_compress_chunk", "512", "In pieces of that size")
        [stream.content.compress_chunk = |n| u32::try_from(n).unwrap_or(0)];
    count("dedupe_percentage", (0, 100), "", "Share of blocks that came before")
        [stream.content.dedupe_percent];
    choice("dedupe_mode", "repeat", "Which block comes again") [stream.content.dedupe_mode] {
        "repeat": "the block before" => DedupeMode::Repeat,
        "working_set": "any of a set" => DedupeMode::WorkingSet,
    };
    count("dedupe_working_set_percentage", (0, 100), "5", "Size of the set, in percent of size")
        [stream.content.dedupe_set_percent];
    flag("dedupe_global", "0", "Blocks of other jobs count too") [stream.content.dedupe_global];
    text("mem", "malloc, shm, mmap or mmapshared", "malloc", "What memory buffers are in", memory)
        .alias(&["iomem"]).differs("all of them are private memory that begins at a page");
    no_effect("iomem_align", "bytes", "Alignment of buffers", "buffers always begin at a page")
        .alias(&["mem_align"]);
    no_effect("hugepage-size", "bytes", "Size of a huge page", "buffers are not in huge pages");
    refused("gpu_dev_id", "number", "0", "GPU for mem=cudamalloc", "it needs a GPU's library");
}

fn memory(_: &mut JobDraft, _: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
    match value.split(':').next().unwrap_or("") {
        "malloc" | "shm" | "mmap" | "mmapshared" => Ok(()),
        huge @ ("shmhuge" | "mmaphuge" | "mmaphugefile") => Err(format!(
            "'{huge}' is not supported: huge pages need to be set up by the administrator"
        )),
        "cudamalloc" => Err("'cudamalloc' is not supported: it needs a GPU's library".to_owned()),
        other => {
            let known = ["malloc", "shm", "mmap", "mmapshared"];
            Err(not_one_of(other, known.into_iter()))
        }
    }
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
