//! Options for the pace of a stream, and for the priorities of single I/Os (`cmdprio`).

use super::table::{OptionReader, TimeUnit, options};
use crate::fio::value::time::duration;
use crate::fio::{CommandPriorities, Each, JobDraft, SizeShare};
use assay_model::job::{EngineKind, QueueMode};
use assay_model::load::{IoPriority, PerDirection, PriorityShare};
use std::collections::BTreeMap;

options! {
    pub(super) static OPTIONS:

    each_bytes("rate", "", "Most bytes per second; of reads, writes and trims") [stream.pace.rate];
    each_bytes("rate_min", "", "Least bytes per second, or the job fails") [stream.pace.rate_min]
        .alias(&["ratemin"]);
    each_bytes("rate_iops", "", "Most I/Os per second") [stream.pace.rate_iops];
    each_bytes("rate_iops_min", "", "Least I/Os per second, or the job fails")
        [stream.pace.rate_iops_min];
    time("rate_cycle", TimeUnit::Millis, "1000", "Time over which least rates are looked at (ms)")
        [stream.pace.rate_cycle].alias(&["ratecycle"]);
    choice("rate_process", "linear", "How I/Os come under a rate") [stream.pace.poisson] {
        "linear": "I/Os come evenly" => false,
        "poisson": "I/Os come as a Poisson process" => true,
    };
    flag("rate_ignore_thinktime", "0", "Pauses do not count against the rate")
        [stream.pace.ignore_think_time];
    time("thinktime", TimeUnit::Micros, "0", "Pause after some blocks") [think.pause];
    time("thinktime_spin", TimeUnit::Micros, "0",
        "Keep the processor busy for that part of a pause") [think.spin];
    count("thinktime_blocks", (0, u32::MAX as u64), "1", "Blocks between two pauses")
        [think.blocks];
    choice("thinktime_blocks_type", "complete", "Which blocks count") [think.count_issued] {
        "complete": "completed blocks" => false,
        "issue": "issued blocks" => true,
    };
    time("thinktime_iotime", TimeUnit::Seconds, "0", "Time of I/O between two pauses")
        [think.io_time];
    text("max_latency", "time, one to three times (microseconds)", "",
        "A slower I/O ends the job with an error")
        [stream.pace.max_latency = |reader, value| {
            reader.each(value, |_, text| duration(text, TimeUnit::Micros))
        }];
    time("latency_target", TimeUnit::Micros, "0", "Look for the depth that keeps this latency")
        [latency.target];
    time("latency_window", TimeUnit::Micros, "0", "Time over which the latency is looked at")
        [latency.window];
    text("latency_percentile", "percent", "100", "Share of I/Os that must keep the latency")
        [latency.percentile = |reader, value| match reader.float(value)? {
            percent if percent > 0.0 && percent <= 100.0 => Ok(percent),
            _ => Err(format!("'{value}' is not within 0 and 100 percent")),
        }];
    flag("latency_run", "0", "Go on at the depth that was found") [latency.run];
    signed("flow_id", (i64::MIN, i64::MAX as u64), "0", "Jobs of the same number keep step")
        [flow.id];
    count("flow", (0, 1000), "0", "Share of this job among those of its flow_id") [flow.weight];
    time("flow_sleep", TimeUnit::Micros, "0", "Pause of a job that is ahead") [flow.sleep];
    no_effect("flow_watermark", "number", "Not used any more", "fio dropped it");
}

/// Largest number of entries in a list.
const MOST_ENTRIES: usize = 256;
const REAL_TIME: u8 = 1;

/// Parses a number up to `most` for each direction.
pub(super) fn each_up_to(
    reader: &mut OptionReader<'_>,
    value: &str,
    most: u8,
) -> Result<Each<u8>, String> {
    reader.each(value, |reader, text| up_to(reader, text, most))
}

/// Parses `4k/25/1/0:64k/10`, for reads and writes. (fio also accepts a list for trims, but
/// does not use it.)
pub(super) fn by_size(
    job: &mut JobDraft,
    r: &mut OptionReader<'_>,
    value: &str,
) -> Result<(), String> {
    let lists: Vec<&str> = value.split(',').collect();
    if lists.len() > 3 {
        return Err(format!(
            "'{value}': write one or two lists, for reads and writes"
        ));
    }
    for direction in 0..2 {
        let list = lists[direction.min(lists.len() - 1)];
        let entries = list.split(':').take_while(|entry| !entry.trim().is_empty());
        let shares = entries
            .map(|entry| size_share(r, entry))
            .collect::<Result<Vec<_>, _>>()?;
        if shares.len() > MOST_ENTRIES {
            return Err(format!("more than {MOST_ENTRIES} entries"));
        }
        check_sums(&shares)?;
        job.priorities.by_size[direction] = shares;
    }
    Ok(())
}

/// Parses `size`, `size/percent` or `size/percent/class/level`.
fn size_share(reader: &mut OptionReader<'_>, entry: &str) -> Result<SizeShare, String> {
    let parts: Vec<&str> = entry.split('/').map(str::trim).collect();
    let (size, percent, priority) = match parts.as_slice() {
        [size] | [size, ""] => (size, 0, None),
        [size, percent] => (size, up_to(reader, percent, 100)?, None),
        [size, percent, class, level] => {
            let class = up_to(reader, class, 3)?;
            let priority = IoPriority::new(class, up_to(reader, level, 7)?);
            (size, up_to(reader, percent, 100)?, Some(priority))
        }
        _ => {
            return Err(format!(
                "'{entry}': write size/percent or size/percent/class/level"
            ));
        }
    };
    let size = reader.count(size)?;
    Ok(SizeShare {
        size: u32::try_from(size).map_err(|_| format!("'{size}' is too large"))?,
        percent,
        priority,
    })
}

fn check_sums(shares: &[SizeShare]) -> Result<(), String> {
    let mut sums: BTreeMap<u32, u32> = BTreeMap::new();
    for share in shares {
        *sums.entry(share.size).or_default() += u32::from(share.percent);
    }
    match sums.into_iter().find(|(_, sum)| *sum > 100) {
        Some((size, sum)) => Err(format!(
            "the shares of {size} bytes add up to {sum} percent"
        )),
        None => Ok(()),
    }
}

fn up_to(reader: &mut OptionReader<'_>, text: &str, most: u8) -> Result<u8, String> {
    let number = u8::try_from(reader.count(text)?).ok();
    number
        .filter(|number| *number <= most)
        .ok_or_else(|| format!("'{text}' is not within 0 and {most}"))
}

impl CommandPriorities {
    /// Returns the priorities for I/Os of `engine`; empty if the engine cannot set
    /// priorities.
    ///
    /// # Errors
    /// If `cmdprio_percentage` and `cmdprio_bssplit` are both used.
    pub(in crate::fio) fn shares(
        &self,
        engine: EngineKind,
    ) -> Result<PerDirection<Vec<PriorityShare>>, String> {
        let mut shares = PerDirection::default();
        if engine.properties().queue != QueueMode::Kernel {
            return Ok(shares);
        }
        (shares.read, shares.write) = (self.of(0)?, self.of(1)?);
        Ok(shares)
    }

    fn of(&self, direction: usize) -> Result<Vec<PriorityShare>, String> {
        // Without a class, the highest one applies, as in fio.
        let class = self.class[direction].filter(|class| *class > 0);
        let level = self.level[direction].unwrap_or(0);
        let priority = IoPriority::new(class.unwrap_or(REAL_TIME), level);
        let mut shares: Vec<PriorityShare> = self.by_size[direction]
            .iter()
            .map(|share| PriorityShare {
                size: Some(share.size),
                percent: share.percent,
                priority: share.priority.unwrap_or(priority),
            })
            .collect();
        if let Some(percent) = self.percent[direction].filter(|percent| *percent > 0) {
            if !shares.is_empty() {
                return Err(
                    "cmdprio_percentage and cmdprio_bssplit exclude each other: leave one out"
                        .to_owned(),
                );
            }
            shares.push(PriorityShare {
                size: None,
                percent,
                priority,
            });
        }
        shares.retain(|share| share.percent > 0);
        Ok(shares)
    }
}
