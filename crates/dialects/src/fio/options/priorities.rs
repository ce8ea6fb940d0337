//! Priorities of single I/Os: the `cmdprio` options and their combination.

use super::reader::OptionReader;
use crate::fio::job::{CommandPriorities, Each, JobDraft, SizeShare};
use assay_model::job::{EngineKind, QueueMode};
use assay_model::load::PerDirection;
use assay_model::load::priority::{IoPriority, PriorityShare};
use std::collections::BTreeMap;

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
