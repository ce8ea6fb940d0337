//! Buffers.

use super::define::OptionDef;
use super::make::{bytes, choice, count, flag, no_effect, refused, switch, text};
use crate::fio::value::pattern::pattern;
use assay_model::load::content::DedupeMode;

pub(super) static OPTIONS: &[OptionDef] = &[
    switch("zero_buffers", "Write zeroes", |job, on| {
        job.stream.content.zero = on
    }),
    switch("refill_buffers", "New content for each write", |job, on| {
        job.stream.content.refill = on;
    }),
    flag(
        "scramble_buffers",
        "1",
        "Change the content a little for each write",
        |job, on| {
            job.stream.content.scramble = on;
        },
    ),
    text(
        "buffer_pattern",
        "bytes as 0xdeadbeef, \"text\", 42, 'file', one after another",
        "",
        "Fill buffers with this",
        |job, reader, value| {
            job.buffer_pattern = pattern(value, false, reader.env)?;
            Ok(())
        },
    ),
    count(
        "buffer_compress_percentage",
        (0, 100),
        "",
        "How far a block can be compressed",
        |job, n| {
            job.stream.content.compress_percent = u8::try_from(n).ok();
        },
    ),
    bytes(
        "buffer_compress_chunk",
        "512",
        "In pieces of that size",
        |job, n| {
            job.stream.content.compress_chunk = u32::try_from(n).unwrap_or(0);
        },
    ),
    count(
        "dedupe_percentage",
        (0, 100),
        "",
        "Share of blocks that came before",
        |job, n| {
            job.stream.content.dedupe_percent = u8::try_from(n).unwrap_or(100);
        },
    ),
    choice(
        "dedupe_mode",
        &[
            ("repeat", "the block before"),
            ("working_set", "any of a set"),
        ],
        "repeat",
        "Which block comes again",
        |job, how| {
            job.stream.content.dedupe_mode = match how {
                "working_set" => DedupeMode::WorkingSet,
                _ => DedupeMode::Repeat,
            };
        },
    ),
    count(
        "dedupe_working_set_percentage",
        (0, 100),
        "5",
        "Size of the set, in percent of size",
        |job, n| {
            job.stream.content.dedupe_set_percent = u8::try_from(n).unwrap_or(100);
        },
    ),
    flag(
        "dedupe_global",
        "0",
        "Blocks of other jobs count too",
        |job, on| {
            job.stream.content.dedupe_global = on;
        },
    ),
    text(
        "mem",
        "malloc, shm, mmap or mmapshared",
        "malloc",
        "What memory buffers are in",
        |_, _, value| match value.split(':').next().unwrap_or("") {
            "malloc" | "shm" | "mmap" | "mmapshared" => Ok(()),
            huge @ ("shmhuge" | "mmaphuge" | "mmaphugefile") => Err(format!(
                "'{huge}' is not supported: huge pages need to be set up by the administrator"
            )),
            "cudamalloc" => {
                Err("'cudamalloc' is not supported: it needs a GPU's library".to_owned())
            }
            other => Err(super::reader::not_one_of(
                other,
                ["malloc", "shm", "mmap", "mmapshared"].into_iter(),
            )),
        },
    )
    .alias(&["iomem"])
    .differs("all of them are private memory that begins at a page"),
    no_effect(
        "iomem_align",
        "bytes",
        "Alignment of buffers",
        "buffers always begin at a page",
    )
    .alias(&["mem_align"]),
    no_effect(
        "hugepage-size",
        "bytes",
        "Size of a huge page",
        "buffers are not in huge pages",
    ),
    refused(
        "gpu_dev_id",
        "number",
        "0",
        "GPU for mem=cudamalloc",
        "it needs a GPU's library",
    ),
];
