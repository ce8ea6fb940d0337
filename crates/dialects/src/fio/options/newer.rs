//! Options that came with versions of fio after 3.33.

use super::define::OptionDef;
use super::make::{choice, refused};

const NEWER: &str = "it came after fio 3.33";

pub(super) static OPTIONS: &[OptionDef] = &[
    choice(
        "log_window_value",
        &[("average", "the mean"), ("max", "the largest")],
        "average",
        "What is logged of an interval",
        |job, what| {
            job.stream.logs.max_value = what == "max";
        },
    ),
    refused(
        "log_issue_time",
        "0 or 1",
        "0",
        "Log when an I/O was issued",
        NEWER,
    ),
    refused(
        "ramp_size",
        "bytes",
        "0",
        "Run that many bytes before measuring",
        "it came after fio 3.33; use ramp_time",
    ),
    refused(
        "verify_write_sequence",
        "0 or 1",
        "1",
        "Check the order of writes",
        NEWER,
    ),
    refused(
        "verify_header_seed",
        "0 or 1",
        "1",
        "Check the seed in headers",
        NEWER,
    ),
    refused(
        "job_start_clock_id",
        "number",
        "0",
        "Clock of the JSON's job_start",
        NEWER,
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
