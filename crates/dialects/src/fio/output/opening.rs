//! Text that fio prints before the first I/O.

use super::number::NumberScale;
use assay_model::load::blocks::RwPattern;
use assay_model::load::{Ddir, Load, Stream};
use std::io::{self, Write};

/// Writes a line for each job, the version and the number of streams. Used only
/// for the normal output.
///
/// # Errors
/// When `out` cannot be written.
pub fn opening(load: &Load, version: &str, out: &mut dyn Write) -> io::Result<()> {
    for stream in &load.streams {
        match stream.clone {
            0 => write_job(stream, out)?,
            1 => writeln!(out, "...")?,
            _ => {}
        }
    }
    writeln!(out, "{version}")?;
    let processes = load.streams.iter().filter(|s| s.process.forked).count();
    let threads = load.streams.len() - processes;
    let counts = [(threads, "thread", "s"), (processes, "process", "es")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {one}{}", if *count > 1 { many } else { "" }))
        .collect();
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out, "Starting {}", counts.join(" and "))
}

fn write_job(stream: &Stream, out: &mut dyn Write) -> io::Result<()> {
    let scale = NumberScale {
        bits: false,
        ..NumberScale::of(&stream.stats)
    };
    let range = |ddir: Ddir| {
        let sizes = &stream.blocks.sizes[ddir];
        let size = |bytes: u32| scale.sizes(u64::from(bytes)).0;
        format!("{}-{}", size(sizes.min), size(sizes.max.max(sizes.min)))
    };
    // With sizes by order, the third pair is unused.
    let last = match stream.blocks.sizes_by_order {
        true => "bs_is_seq_rand".to_owned(),
        false => format!("(T) {}", range(Ddir::Trim)),
    };
    writeln!(
        out,
        "{}: (g={}): rw={}, bs=(R) {}, (W) {}, {last}, ioengine={}, iodepth={}",
        stream.name,
        stream.group,
        rw_name(&stream.blocks.rw),
        range(Ddir::Read),
        range(Ddir::Write),
        stream.engine.kind.name(),
        stream.engine.iodepth
    )
}

fn rw_name(rw: &RwPattern) -> String {
    let what = match rw {
        RwPattern {
            trim_then_write: true,
            ..
        } => "trimwrite",
        RwPattern {
            read: true,
            write: true,
            ..
        } => "rw",
        RwPattern { write: true, .. } => "write",
        RwPattern { trim: true, .. } => "trim",
        _ => "read",
    };
    format!("{}{what}", if rw.random { "rand" } else { "" })
}
