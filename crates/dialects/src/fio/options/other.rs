//! Processes, processors and zoned devices.

use super::table::{OptionReader, not_one_of, options};
use std::collections::BTreeSet;

const ZONED: &str = "zoned devices are not supported";
const NUMA: &str = "use numactl around assay";
const CGROUP: &str = "start assay in the cgroup instead";

options! {
    pub(super) static OPTIONS:

    signed("nice", (-20, 19), "0", "Nice value of the job") [stream.process.nice];
    count("prio", (0, 7), "", "I/O priority, 0 is the highest") [stream.process.io_priority];
    count("prioclass", (0, 3), "", "Class of the I/O priority: 1 real time, 2 best effort, 3 idle")
        [stream.process.io_class];
    text("cpus_allowed", "processors, as in 0,2-5", "", "Run on these processors")
        [stream.process.cpus = processors];
    text("cpumask", "number", "", "Run on the processors whose bits are set")
        [stream.process.cpus = masked_processors];
    choice("cpus_allowed_policy", "shared", "How copies share the processors")
        [stream.process.split_cpus]
    {
        "shared": "all copies on all of them" => false,
        "split": "each copy on one of them" => true,
    };
    refused("numa_cpu_nodes", "nodes", "", "Run on these NUMA nodes", NUMA);
    refused("numa_mem_policy", "policy", "", "Where memory is taken from", NUMA);
    refused("cgroup", "path", "", "Run in this cgroup", CGROUP);
    refused("cgroup_weight", "number", "", "Weight of the cgroup", CGROUP);
    refused("cgroup_nodelete", "0 or 1", "0", "Keep the cgroup afterwards", CGROUP);
    refused("uid", "number", "", "Run as this user", "start assay as that user");
    refused("gid", "number", "", "Run as this group", "start assay as that group");
    text("zonemode", "none or strided", "none", "Work in a window, then step to the next")
        [strided = |_, mode| match mode {
            "none" => Ok(false),
            "strided" => Ok(true),
            "zbd" => Err(ZONED.to_owned()),
            other => Err(not_one_of(other, ["none", "strided"].into_iter())),
        }]
        .differs("zbd, the zones of a zoned device, is refused");
    bytes("zonesize", "0", "Bytes done in a zone") [zones.size];
    bytes("zonerange", "0", "Length of a zone") [zones.range];
    bytes("zoneskip", "0", "Gap between zones") [zones.skip];
    refused("zonecapacity", "bytes", "0", "Usable bytes of a zone", ZONED);
    refused("read_beyond_wp", "0 or 1", "0", "Read behind the write pointer", ZONED);
    refused("max_open_zones", "number", "0", "Most open zones", ZONED);
    refused("job_max_open_zones", "number", "0", "Most open zones of a job", ZONED);
    refused("ignore_zone_limits", "0 or 1", "0", "Do not ask the device for its limit", ZONED);
    refused("zone_reset_threshold", "number", "", "When zones are reset", ZONED);
    refused("zone_reset_frequency", "number", "", "How often zones are reset", ZONED);
}

/// Parses a list of processors: `0,2-5`.
pub(super) fn processors(reader: &mut OptionReader<'_>, list: &str) -> Result<Vec<u32>, String> {
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

fn masked_processors(reader: &mut OptionReader<'_>, mask: &str) -> Result<Vec<u32>, String> {
    let mask = reader.count(mask)?;
    let cpus = Vec::from_iter((0..64).filter(|cpu| mask >> cpu & 1 == 1));
    check_processors(reader, cpus.last().copied().unwrap_or(0))?;
    Ok(cpus)
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

options! {
    /// Options that were added after fio 3.33.
    pub(super) static LATER:

    signed("job_start_clock_id", (0, i32::MAX as u64), "0",
        "Number of the clock of the JSON's job_start") [stream.schedule.start_clock];
    refused("ramp_size", "bytes", "0", "Run that many bytes before measuring",
        "it came after fio 3.33; use ramp_time");
    refused("priohint", "number", "0", "Hint beside the I/O priority", NEWER);
    refused("num_range", "number", "1", "Ranges of one trim", NEWER);
    refused("sprandom", "0 or 1", "0", "Precondition a solid state drive", NEWER);
    refused("fdp", "0 or 1", "0", "Place data by hints", NEWER);
    refused("dataplacement", "none, fdp, streams", "none", "Place data by hints", NEWER);
}
