//! Result of checking, counted by class.

use super::SECTOR_BYTES;
use super::content::Class;
use serde::{Deserialize, Serialize};

/// Most runs of displaced sectors that are stored in detail; all are counted.
const ALIASES_KEPT: usize = 16;

/// Sectors by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Sectors with the written data.
    pub ok: u64,
    /// Sectors in which one or two words differ.
    pub changed: u64,
    /// Sectors with data that was written elsewhere.
    pub overwritten: u64,
    /// Sectors with other content.
    pub corrupted: u64,
    /// Sectors that could not be read.
    pub unreadable: u64,
}

impl Counts {
    /// Returns the number of sectors.
    pub const fn all(&self) -> u64 {
        self.ok + self.bad()
    }

    /// Returns the number of sectors without the written data.
    pub const fn bad(&self) -> u64 {
        self.changed + self.overwritten + self.corrupted + self.unreadable
    }
}

/// A run of sectors that hold data written elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// Offset of the run.
    pub offset: u64,
    /// Offset to which its first sector was written.
    pub belongs_to: u64,
    /// Length of the run, in bytes.
    pub bytes: u64,
}

impl Alias {
    /// Returns the distance between the two places, in bytes.
    pub const fn distance(&self) -> u64 {
        self.offset.abs_diff(self.belongs_to)
    }
}

/// Result of checking a file, a device or all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Number of sectors of each class.
    pub sectors: Counts,
    /// Offset of the first sector without the written data.
    pub first_bad: Option<u64>,
    /// First runs of sectors that hold data written elsewhere.
    pub aliases: Vec<Alias>,
    /// Shortest distance of a displaced sector to the offset that it was written to.
    pub shortest_alias: Option<u64>,
}

impl Tally {
    /// Counts one sector.
    pub fn count(&mut self, class: Class, offset: u64) {
        let sectors = &mut self.sectors;
        match class {
            Class::Ok => {
                sectors.ok += 1;
                return;
            }
            Class::Changed => sectors.changed += 1,
            Class::Corrupted => sectors.corrupted += 1,
            Class::Overwritten { belongs_to } => {
                sectors.overwritten += 1;
                self.displaced(Alias {
                    offset,
                    belongs_to,
                    bytes: SECTOR_BYTES,
                });
            }
        }
        self.bad_at(offset);
    }

    /// Counts sectors that could not be read.
    pub fn unreadable(&mut self, offset: u64, sectors: u64) {
        self.sectors.unreadable += sectors;
        self.bad_at(offset);
    }

    fn bad_at(&mut self, offset: u64) {
        self.first_bad = Some(self.first_bad.map_or(offset, |first| first.min(offset)));
    }

    fn displaced(&mut self, alias: Alias) {
        let shortest = self.shortest_alias.unwrap_or(u64::MAX);
        self.shortest_alias = Some(shortest.min(alias.distance()));
        let goes_on = |last: &&mut Alias| {
            last.offset.wrapping_add(last.bytes) == alias.offset
                && last.belongs_to.wrapping_add(last.bytes) == alias.belongs_to
        };
        if let Some(last) = self.aliases.last_mut().filter(goes_on) {
            last.bytes += alias.bytes;
        } else if self.aliases.len() < ALIASES_KEPT {
            self.aliases.push(alias);
        }
    }

    /// Sums tallies in order.
    pub fn total<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut total = Self::default();
        for one in all {
            total.add(one);
        }
        total
    }

    /// Adds the result of a later part.
    pub fn add(&mut self, other: &Self) {
        let (sum, more) = (&mut self.sectors, &other.sectors);
        sum.ok += more.ok;
        sum.changed += more.changed;
        sum.overwritten += more.overwritten;
        sum.corrupted += more.corrupted;
        sum.unreadable += more.unreadable;
        if let Some(offset) = other.first_bad {
            self.bad_at(offset);
        }
        for alias in &other.aliases {
            self.displaced(*alias);
        }
        if let Some(distance) = other.shortest_alias {
            let shortest = self.shortest_alias.unwrap_or(u64::MAX);
            self.shortest_alias = Some(shortest.min(distance));
        }
    }

    /// `true` if every sector holds the written data.
    pub const fn all_ok(&self) -> bool {
        self.sectors.bad() == 0
    }

    /// Returns the number of checked bytes.
    pub const fn bytes(&self) -> u64 {
        self.sectors.all() * SECTOR_BYTES
    }

    /// Returns the number of bytes that hold the written data.
    pub const fn held_bytes(&self) -> u64 {
        self.sectors.ok * SECTOR_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_the_same_distance_are_one_run() {
        let mut tally = Tally::default();
        for at in [0, 512, 1_024, 2_048] {
            let belongs_to = at + 8_192;
            tally.count(Class::Overwritten { belongs_to }, at);
        }
        tally.count(Class::Overwritten { belongs_to: 0 }, 2_560);
        let runs: Vec<(u64, u64)> = tally.aliases.iter().map(|a| (a.offset, a.bytes)).collect();
        assert_eq!(runs, [(0, 1_536), (2_048, 512), (2_560, 512)]);
        assert_eq!(tally.shortest_alias, Some(2_560));
        assert_eq!(tally.sectors.overwritten, 5);
    }

    #[test]
    fn a_run_goes_on_in_the_next_file() {
        let part = |at: u64| {
            let mut tally = Tally::default();
            let belongs_to = at + 4_096;
            tally.count(Class::Overwritten { belongs_to }, at);
            tally
        };
        let mut total = part(0);
        total.add(&part(512));
        assert_eq!(total.aliases.len(), 1);
        assert_eq!(total.aliases[0].bytes, 1_024);
    }

    #[test]
    fn runs_beyond_the_first_are_counted_but_not_kept() {
        let mut tally = Tally::default();
        for number in 0..100 {
            let belongs_to = 1 << 30;
            tally.count(Class::Overwritten { belongs_to }, number * 1_024);
        }
        assert_eq!(tally.aliases.len(), ALIASES_KEPT);
        assert_eq!(tally.sectors.overwritten, 100);
        assert_eq!(tally.first_bad, Some(0));
    }

    #[test]
    fn only_what_is_as_it_was_written_is_held() {
        let mut tally = Tally::default();
        tally.count(Class::Ok, 0);
        assert!(tally.all_ok());
        tally.count(Class::Changed, 512);
        tally.count(Class::Corrupted, 1_024);
        tally.unreadable(1_536, 8);
        assert!(!tally.all_ok());
        assert_eq!(tally.held_bytes(), 512);
        assert_eq!(tally.sectors.all(), 11);
        assert_eq!(tally.first_bad, Some(512));
    }
}
