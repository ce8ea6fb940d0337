//! Recording and replaying.

use super::define::OptionDef;
use super::make::{count, flag, refused, text};
use super::reader::not_one_of;
use std::path::PathBuf;

pub(super) static OPTIONS: &[OptionDef] = &[
    text(
        "write_iolog",
        "path",
        "",
        "Record each I/O there (version 3)",
        |job, _, value| {
            job.stream.trace.write = Some(PathBuf::from(value));
            Ok(())
        },
    ),
    text(
        "read_iolog",
        "paths, with : between for copies",
        "",
        "Replay an iolog (version 2 or 3) or a trace of blktrace",
        |job, _, value| {
            job.stream.trace.read = Some(PathBuf::from(value));
            Ok(())
        },
    ),
    flag(
        "read_iolog_chunked",
        "0",
        "Read the iolog piece by piece",
        |job, on| {
            job.stream.trace.read_chunked = on;
        },
    ),
    flag(
        "replay_no_stall",
        "0",
        "Replay as fast as possible",
        |job, on| {
            job.stream.trace.no_stall = on;
        },
    ),
    count(
        "replay_time_scale",
        (1, 1_000_000),
        "100",
        "Times in percent: 200 is half as fast",
        |job, n| {
            job.stream.trace.time_scale_percent = u32::try_from(n).unwrap_or(100);
        },
    ),
    text(
        "replay_redirect",
        "path",
        "",
        "Replay everything there",
        |job, _, value| {
            job.stream.trace.redirect = Some(PathBuf::from(value));
            Ok(())
        },
    ),
    count(
        "replay_scale",
        (0, u32::MAX as u64),
        "1",
        "Divide offsets by this",
        |job, n| {
            job.stream.trace.scale = u32::try_from(n).unwrap_or(0);
        },
    ),
    text(
        "replay_align",
        "bytes, a power of 2",
        "",
        "Round offsets down to this",
        |job, reader, value| {
            let align = u32::try_from(reader.count(value)?).unwrap_or(0);
            if !align.is_power_of_two() {
                return Err(format!("'{value}' is not a power of 2"));
            }
            job.stream.trace.align = align;
            Ok(())
        },
    ),
    text(
        "replay_skip",
        "read, write, trim, sync, with , between",
        "",
        "Leave these out",
        |job, _, value| {
            for word in value.split(',') {
                match word.trim() {
                    "read" => job.stream.trace.skip.read = true,
                    "write" => job.stream.trace.skip.write = true,
                    "trim" => job.stream.trace.skip.trim = true,
                    "sync" => job.stream.trace.skip_sync = true,
                    other => {
                        let known = ["read", "write", "trim", "sync"];
                        return Err(not_one_of(other, known.into_iter()));
                    }
                }
            }
            Ok(())
        },
    ),
    refused(
        "merge_blktrace_file",
        "path",
        "",
        "Merge traces into this file",
        MERGE,
    ),
    refused(
        "merge_blktrace_scalars",
        "numbers, with : between",
        "",
        "Scale the times of merged traces",
        MERGE,
    ),
    refused(
        "merge_blktrace_iters",
        "numbers, with : between",
        "",
        "Repeat merged traces",
        MERGE,
    ),
];

const MERGE: &str = "traces are not merged; merge them with blkparse or fio first";
