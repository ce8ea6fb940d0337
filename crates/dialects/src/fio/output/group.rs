//! Totals of all entries of a group ("Run status group").

use super::entry::{EntryDirection, JobEntry, per_second};
use super::number::NumberScale;
use std::io::{self, Write};

/// Group of jobs.
#[derive(Debug)]
pub(super) struct RunGroup {
    pub number: u32,
    scale: NumberScale,
    lines: Vec<(EntryDirection, GroupRates)>,
}

#[derive(Clone, Copy, Debug)]
struct GroupRates {
    bytes: u64,
    /// Rate of all entries together over the longest run time, in bytes per
    /// second.
    bytes_per_s: u64,
    least_bytes_per_s: u64,
    most_bytes_per_s: u64,
    shortest_ms: u64,
    longest_ms: u64,
}

impl RunGroup {
    /// Makes the group with this number from all entries.
    pub(super) fn of(number: u32, entries: &[JobEntry<'_>]) -> Self {
        let members = || entries.iter().filter(move |e| e.stream.group == number);
        let scale = members()
            .next_back()
            .map(|entry| NumberScale::of(entry.stats()));
        let lines = EntryDirection::ALL.into_iter().filter_map(|way| {
            let traffic = members().filter_map(|entry| entry.way(way));
            let ran = traffic.filter(|traffic| traffic.runtime_ms > 0);
            let lines = ran.map(|traffic| GroupRates {
                bytes: traffic.bytes,
                bytes_per_s: 0,
                least_bytes_per_s: traffic.bytes_per_s(),
                most_bytes_per_s: traffic.bytes_per_s(),
                shortest_ms: traffic.runtime_ms,
                longest_ms: traffic.runtime_ms,
            });
            Some((way, lines.reduce(GroupRates::with)?.rated()))
        });
        Self {
            number,
            scale: scale.unwrap_or(NumberScale {
                digits: 4,
                binary: true,
                bits: false,
            }),
            lines: lines.collect(),
        }
    }

    /// Bytes per second of all entries together in a scope.
    pub(super) fn bytes_per_s(&self, wanted: EntryDirection) -> u64 {
        let line = self.lines.iter().find(|(way, _)| *way == wanted);
        line.map_or(0, |(_, line)| line.bytes_per_s)
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\nRun status group {} (all jobs):", self.number)?;
        for (way, line) in &self.lines {
            let (bw, bw_other) = self.scale.rates(line.bytes_per_s);
            let (least, least_other) = self.scale.rates(line.least_bytes_per_s);
            let (most, most_other) = self.scale.rates(line.most_bytes_per_s);
            let (io, io_other) = self.scale.sizes(line.bytes);
            let GroupRates {
                shortest_ms,
                longest_ms,
                ..
            } = line;
            writeln!(
                out,
                "{:>7}: bw={bw} ({bw_other}), {least}-{most} ({least_other}-{most_other}), \
                 io={io} ({io_other}), run={shortest_ms}-{longest_ms}msec",
                way.name().to_uppercase()
            )?;
        }
        Ok(())
    }
}

impl GroupRates {
    fn with(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            bytes_per_s: 0,
            least_bytes_per_s: self.least_bytes_per_s.min(other.least_bytes_per_s),
            most_bytes_per_s: self.most_bytes_per_s.max(other.most_bytes_per_s),
            shortest_ms: self.shortest_ms.min(other.shortest_ms),
            longest_ms: self.longest_ms.max(other.longest_ms),
        }
    }

    fn rated(self) -> Self {
        Self {
            bytes_per_s: per_second(self.bytes, self.longest_ms),
            ..self
        }
    }
}
