//! Recording and replaying.

use super::table::{OptionReader, not_one_of, options};
use crate::fio::JobDraft;

options! {
    pub(super) static OPTIONS:

    text("write_iolog", "path", "", "Record each I/O there (version 3)") [stream.trace.write];
    text("read_iolog", "paths, with : between for copies", "",
        "Replay an iolog (version 2 or 3) or a trace of blktrace") [stream.trace.read];
    flag("read_iolog_chunked", "0", "Read the iolog piece by piece") [stream.trace.read_chunked];
    flag("replay_no_stall", "0", "Replay as fast as possible") [stream.trace.no_stall];
    count("replay_time_scale", (1, 1_000_000), "100", "Times in percent: 200 is half as fast")
        [stream.trace.time_scale_percent];
    text("replay_redirect", "path", "", "Replay everything there") [stream.trace.redirect];
    count("replay_scale", (0, u32::MAX as u64), "1", "Divide offsets by this") [stream.trace.scale];
    text("replay_align", "bytes, a power of 2", "", "Round offsets down to this")
        [stream.trace.align = |reader, value| match u32::try_from(reader.count(value)?) {
            Ok(align) if align.is_power_of_two() => Ok(align),
            _ => Err(format!("'{value}' is not a power of 2")),
        }];
    text("replay_skip", "read, write, trim, sync, with , between", "", "Leave these out", skip);
    refused("merge_blktrace_file", "path", "", "Merge traces into this file", MERGE);
    refused("merge_blktrace_scalars", "numbers, with : between", "",
        "Scale the times of merged traces", MERGE);
    refused("merge_blktrace_iters", "numbers, with : between", "", "Repeat merged traces", MERGE);
}

const MERGE: &str = "traces are not merged; merge them with blkparse or fio first";

/// Parses `read,sync`.
fn skip(job: &mut JobDraft, _: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
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
}
