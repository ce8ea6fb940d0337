//! Processes, processors and zoned devices.

use super::define::OptionDef;
use super::make::{bytes, choice, count, refused, signed, text};
use super::reader::{OptionReader, not_one_of};
use std::collections::BTreeSet;

const ZONED: &str = "zoned devices are not supported";
const NUMA: &str = "use numactl around assay";
const CGROUP: &str = "start assay in the cgroup instead";

pub(super) static OPTIONS: &[OptionDef] = &[
    signed("nice", (-20, 19), "0", "Nice value of the job", |job, n| {
        job.stream.process.nice = i32::try_from(n).unwrap_or(0);
    }),
    count(
        "prio",
        (0, 7),
        "",
        "I/O priority, 0 is the highest",
        |job, n| {
            job.stream.process.io_priority = u8::try_from(n).ok();
        },
    ),
    count(
        "prioclass",
        (0, 3),
        "",
        "Class of the I/O priority: 1 real time, 2 best effort, 3 idle",
        |job, n| {
            job.stream.process.io_class = u8::try_from(n).ok();
        },
    ),
    text(
        "cpus_allowed",
        "processors, as in 0,2-5",
        "",
        "Run on these processors",
        |job, reader, value| {
            job.stream.process.cpus = processors(reader, value)?;
            Ok(())
        },
    ),
    text(
        "cpumask",
        "number",
        "",
        "Run on the processors whose bits are set",
        |job, reader, value| {
            let mask = reader.count(value)?;
            let cpus = (0..64)
                .filter(|cpu| mask >> cpu & 1 == 1)
                .collect::<Vec<u32>>();
            check_processors(reader, cpus.iter().copied().max().unwrap_or(0))?;
            job.stream.process.cpus = cpus;
            Ok(())
        },
    ),
    choice(
        "cpus_allowed_policy",
        &[
            ("shared", "all copies on all of them"),
            ("split", "each copy on one of them"),
        ],
        "shared",
        "How copies share the processors",
        |job, how| job.stream.process.split_cpus = how == "split",
    ),
    refused(
        "numa_cpu_nodes",
        "nodes",
        "",
        "Run on these NUMA nodes",
        NUMA,
    ),
    refused(
        "numa_mem_policy",
        "policy",
        "",
        "Where memory is taken from",
        NUMA,
    ),
    refused("cgroup", "path", "", "Run in this cgroup", CGROUP),
    refused(
        "cgroup_weight",
        "number",
        "",
        "Weight of the cgroup",
        CGROUP,
    ),
    refused(
        "cgroup_nodelete",
        "0 or 1",
        "0",
        "Keep the cgroup afterwards",
        CGROUP,
    ),
    refused(
        "uid",
        "number",
        "",
        "Run as this user",
        "start assay as that user",
    ),
    refused(
        "gid",
        "number",
        "",
        "Run as this group",
        "start assay as that group",
    ),
    text(
        "zonemode",
        "none or strided",
        "none",
        "Work in a window, then step to the next",
        |job, _, mode| {
            job.strided = Some(match mode {
                "none" => false,
                "strided" => true,
                "zbd" => return Err(ZONED.to_owned()),
                other => return Err(not_one_of(other, ["none", "strided"].into_iter())),
            });
            Ok(())
        },
    )
    .differs("zbd, the zones of a zoned device, is refused"),
    bytes("zonesize", "0", "Bytes done in a zone", |job, n| {
        job.zones.size = n
    }),
    bytes("zonerange", "0", "Length of a zone", |job, n| {
        job.zones.range = n
    }),
    bytes("zoneskip", "0", "Gap between zones", |job, n| {
        job.zones.skip = n
    }),
    refused(
        "zonecapacity",
        "bytes",
        "0",
        "Usable bytes of a zone",
        ZONED,
    ),
    refused(
        "read_beyond_wp",
        "0 or 1",
        "0",
        "Read behind the write pointer",
        ZONED,
    ),
    refused("max_open_zones", "number", "0", "Most open zones", ZONED),
    refused(
        "job_max_open_zones",
        "number",
        "0",
        "Most open zones of a job",
        ZONED,
    ),
    refused(
        "ignore_zone_limits",
        "0 or 1",
        "0",
        "Do not ask the device for its limit",
        ZONED,
    ),
    refused(
        "zone_reset_threshold",
        "number",
        "",
        "When zones are reset",
        ZONED,
    ),
    refused(
        "zone_reset_frequency",
        "number",
        "",
        "How often zones are reset",
        ZONED,
    ),
];

/// `0,2-5`.
pub(super) fn processors(reader: &OptionReader<'_>, list: &str) -> Result<Vec<u32>, String> {
    let mut cpus = BTreeSet::new();
    for part in list.split(',').take_while(|part| !part.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.trim()
                .parse::<u32>()
                .map_err(|_| format!("'{text}' is not a number of a processor"))
        };
        let (first, last) = (number(first)?, number(last)?);
        check_processors(reader, last)?;
        cpus.extend(first..=last);
    }
    match cpus.is_empty() {
        true => Err(format!("'{list}' names no processor")),
        false => Ok(cpus.into_iter().collect()),
    }
}

fn check_processors(reader: &OptionReader<'_>, largest: u32) -> Result<(), String> {
    let there = reader.env.cpus();
    match largest < there {
        true => Ok(()),
        false => Err(format!(
            "there is no processor {largest}: the last is {}",
            there.saturating_sub(1)
        )),
    }
}

const NEWER: &str = "it came after fio 3.33";

/// Options that came with versions of fio after 3.33.
pub(super) static LATER: &[OptionDef] = &[
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
