//! Options that came with versions of fio after 3.33.

use super::define::OptionDef;
use super::make::{refused, signed};

const NEWER: &str = "it came after fio 3.33";

pub(super) static OPTIONS: &[OptionDef] = &[
    signed(
        "job_start_clock_id",
        (0, i32::MAX as u64),
        "0",
        "Number of the clock of the JSON's job_start",
        |job, id| {
            job.stream.schedule.start_clock = i32::try_from(id).unwrap_or(0);
        },
    ),
    refused(
        "ramp_size",
        "bytes",
        "0",
        "Run that many bytes before measuring",
        "it came after fio 3.33; use ramp_time",
    ),
    refused(
        "priohint",
        "number",
        "0",
        "Hint beside the I/O priority",
        NEWER,
    ),
    refused("num_range", "number", "1", "Ranges of one trim", NEWER),
    refused(
        "sprandom",
        "0 or 1",
        "0",
        "Precondition a solid state drive",
        NEWER,
    ),
    refused("fdp", "0 or 1", "0", "Place data by hints", NEWER),
    refused(
        "dataplacement",
        "none, fdp, streams",
        "none",
        "Place data by hints",
        NEWER,
    ),
];
