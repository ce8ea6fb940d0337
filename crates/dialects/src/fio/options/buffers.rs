//! Buffers.

use super::reader::{OptionReader, not_one_of};
use super::table::options;
use crate::fio::job::JobDraft;
use crate::fio::value::pattern::pattern;
use assay_model::load::content::DedupeMode;

options! {
    pub(super) static OPTIONS:

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
