//! Capacity test: checks that storage has its announced capacity.
//!
//! The data to write are the sectors of H2testw and f3 ([`fill`], [`classify`]). A *sector* here
//! has [`SECTOR_BYTES`], independent of the device's sector size. Word 0 of a sector is its offset
//! in the sequence of all written data, in bytes; each further word is `4294967311` times the
//! previous one, plus 17. Words have 64 bits in native byte order, as in f3.

use crate::act::ActSpec;
use crate::job::{Job, Rw};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Bytes of a sector of H2testw and f3, as a length in memory.
pub const SECTOR: usize = 512;
/// Bytes of a sector of H2testw and f3.
pub const SECTOR_BYTES: u64 = SECTOR as u64;
/// Bytes of a full file of H2testw and f3.
pub const FILE_BYTES: u64 = 1 << 30;

/// A capacity test: storage to fill, check or probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Folder or device.
    pub path: PathBuf,
    /// Task to carry out.
    pub task: Task,
}

/// Task of a capacity test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Fill the storage, and check all data.
    Fill(Fill),
    /// Find out with few writes if a device is smaller than announced, and restore its data.
    Probe,
    /// Find out with few writes if the free space of a folder holds data. They go to one file, for
    /// which the file system allocates that space at once.
    ProbeFree,
}

/// File systems that allocate space at once, without writing it, and write to it in place: name and
/// magic number (statfs(2)). ext2 and ext3 have ext4's number, and do not allocate.
pub const ALLOCATING: [(&str, u64); 3] = [
    ("ext4", 0xef53),
    ("xfs", 0x5846_5342),
    ("btrfs", 0x9123_683e),
];

impl Task {
    /// Returns the steps in their order; the agent completes them.
    pub fn steps(&self) -> Vec<Job> {
        let step = |name, rw| Job::new(name, rw, Bytes::mib(1), Bytes(0));
        match self {
            Self::Probe | Self::ProbeFree => vec![step("probe", Rw::RandRw)],
            Self::Fill(fill) => [
                fill.write.then(|| step("write", Rw::Write)),
                fill.verify.then(|| step("verify", Rw::Read)),
            ]
            .into_iter()
            .flatten()
            .collect(),
        }
    }
}

impl Default for Task {
    fn default() -> Self {
        Self::Fill(Fill::default())
    }
}

crate::defaults! {
    /// Extent of a folder or device to fill and check.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Fill {
        /// `true` to write; else the data of an earlier run is checked.
        pub write: bool = true,
        /// `true` to read and check.
        pub verify: bool = true,
        /// Number of the first file, from 1. For folders only.
        pub first_file: u32 = 1,
        /// Number of the last file; `None`: until the folder is full, or the last existing file.
        pub last_file: Option<u32>,
        /// Most bytes to write, or to check on a device.
        pub limit_bytes: Option<u64>,
        /// `true` to remove the files that this run wrote after all of them were verified.
        pub remove: bool,
    }
}

impl ActSpec for Capacity {
    fn writes(&self) -> Vec<PathBuf> {
        let writes = match &self.task {
            Task::Fill(fill) => fill.write,
            Task::Probe | Task::ProbeFree => true,
        };
        writes.then(|| self.path.clone()).into_iter().collect()
    }

    fn touches(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn claims(&self) -> Vec<PathBuf> {
        self.touches()
    }

    fn named_folder(&mut self) -> Option<&mut PathBuf> {
        Some(&mut self.path)
    }
}

/// Results of a step that filled, checked or probed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityStep {
    /// Announced capacity: the size of a device, or the free space of a folder before it was
    /// filled.
    pub announced_bytes: Option<u64>,
    /// Written or checked parts, file by file; a device is one part.
    pub parts: Vec<CapacityPart>,
    /// Names of the first files that are missing between others.
    pub missing: Vec<String>,
    /// Number of missing files; 0 in older runs, which have only their names.
    #[serde(default)]
    pub missing_files: u64,
    /// Files that are shorter than the data written to them.
    #[serde(default)]
    pub short: Vec<Short>,
    /// Result of probing.
    pub probed: Option<Probed>,
}

impl CapacityStep {
    /// Returns the results of all parts together; `None` where none was checked.
    pub fn total(&self) -> Option<Tally> {
        let mut found = self.parts.iter().filter_map(|part| part.found.as_ref());
        let first = found.next()?;
        Some(Tally::total([first].into_iter().chain(found)))
    }

    /// `true` if some storage does not hold the data written to it.
    pub fn differs(&self) -> bool {
        let found = self.total().is_some_and(|found| !found.all_ok());
        let probed = self.probed.as_ref();
        let incomplete = !self.missing.is_empty() || !self.short.is_empty();
        found || incomplete || probed.is_some_and(|probed| !probed.is_good())
    }
}

/// A file that is shorter than the data written to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Short {
    /// Name, such as `3.h2w`.
    pub name: String,
    /// Bytes that the file holds.
    pub bytes: u64,
    /// Lower bound of the bytes that the file held before.
    pub least_bytes: u64,
}

/// A file of a folder, or a whole device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityPart {
    /// Name, such as `3.h2w`, or that of the device.
    pub name: String,
    /// Offset of the part in the sequence of all written data, in bytes.
    pub offset: u64,
    /// Bytes written or checked.
    pub bytes: u64,
    /// Duration of the write or check, in nanoseconds.
    pub elapsed_ns: u64,
    /// Result of the check; `None` if the part was written.
    pub found: Option<Tally>,
}

/// Results that are only known after all steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityReport {
    /// Names of files that were written and kept.
    pub kept: Vec<String>,
    /// `true` if some storage does not hold the data written to it.
    pub differs: bool,
}

/// Bytes of a word.
const WORD: usize = size_of::<u64>();
/// Most wrong words of a sector that is "changed"; a sector with more is "corrupted" (f3read's
/// tolerance).
const TOLERANCE: usize = 2;

/// Content of a sector, in the classes of f3read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The data written there.
    Ok,
    /// The data written there, except for one or two words.
    Changed,
    /// Data written elsewhere, except for at most two words: a sign of storage that wraps around.
    Overwritten {
        /// Offset that it was written to.
        belongs_to: u64,
    },
    /// Any other content.
    Corrupted,
}

/// Returns the word after `word`.
const fn following(word: u64) -> u64 {
    word.wrapping_mul(4_294_967_311).wrapping_add(17)
}

/// Fills whole sectors, the first of which has this offset. The remainder of `buffer` is unchanged.
pub fn fill(buffer: &mut [u8], offset: u64) {
    let mut at = offset;
    for sector in buffer.chunks_exact_mut(SECTOR) {
        let mut value = at;
        for word in sector.chunks_exact_mut(WORD) {
            word.copy_from_slice(&value.to_ne_bytes());
            value = following(value);
        }
        at = at.wrapping_add(SECTOR_BYTES);
    }
}

/// Returns the class of the sector that was written to this offset.
pub fn classify(sector: &[u8], offset: u64) -> Class {
    let mut words = sector
        .chunks_exact(WORD)
        .filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)));
    let Some(said) = words.next() else {
        return Class::Corrupted;
    };
    let mut expected = said;
    let wrong = words
        .filter(|&word| {
            expected = following(expected);
            word != expected
        })
        .take(TOLERANCE + 1)
        .count();
    match wrong {
        0 if said == offset => Class::Ok,
        0..=TOLERANCE if said == offset => Class::Changed,
        0..=TOLERANCE => Class::Overwritten { belongs_to: said },
        _ => Class::Corrupted,
    }
}

/// Behaviour of a device at addresses without memory behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProbedKind {
    /// There are no such addresses: every probed block held the data written to it.
    Good,
    /// Data written beyond the real size is lost.
    Limbo {
        /// Real size of the device, in bytes.
        real_bytes: u64,
    },
    /// Data written beyond the real size goes to the start of the device.
    Wraparound {
        /// Real size of the device, in bytes.
        real_bytes: u64,
    },
    /// Addresses repeat after `wraps_at`; of those before it, the ones beyond the real size are
    /// lost.
    Chain {
        /// Real size of the device, in bytes.
        real_bytes: u64,
        /// Distance after which addresses repeat.
        wraps_at: u64,
    },
    /// Single blocks are lost, as by wear: it is not a known kind of fake.
    Damaged,
    /// No written block could be read back.
    Dead,
}

impl ProbedKind {
    /// `true` if such a device has memory for an address.
    pub const fn holds(self, address: u64) -> bool {
        match self {
            Self::Good | Self::Wraparound { .. } | Self::Damaged => true,
            Self::Limbo { real_bytes } => address < real_bytes,
            Self::Chain {
                real_bytes,
                wraps_at,
            } => address % wraps_at < real_bytes,
            Self::Dead => false,
        }
    }
}

/// Result of probing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// Kind of the device.
    pub kind: ProbedKind,
    /// Announced size of the device, or the space of a folder that was probed, in bytes.
    pub announced_bytes: u64,
    /// `true` if the free space of a folder was probed. Offsets are then those of one file, and the
    /// kind is good, damaged or dead: no real size is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_free_space: bool,
    /// Number of blocks that held the data written to another block.
    #[serde(default)]
    pub displaced: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Number of blocks that were written at least once.
    pub blocks_written: u64,
    /// Blocks that could not be read before, and were therefore not written.
    pub unreadable: Vec<u64>,
    /// Number of blocks that did not hold the data written to them.
    pub lost: u64,
    /// Offset of the first lost block.
    pub first_lost: Option<u64>,
    /// Blocks whose old content could not be restored, although they hold written data.
    pub not_restored: Vec<u64>,
}

impl Probed {
    /// `true` if every probed block held the data written to it, and its old content was restored.
    pub fn is_good(&self) -> bool {
        self.kind == ProbedKind::Good && self.unreadable.is_empty() && self.not_restored.is_empty()
    }

    /// Returns the real size, if it was found.
    pub const fn real_bytes(&self) -> Option<u64> {
        match self.kind {
            _ if self.of_free_space => None,
            ProbedKind::Good => Some(self.announced_bytes),
            ProbedKind::Limbo { real_bytes }
            | ProbedKind::Wraparound { real_bytes }
            | ProbedKind::Chain { real_bytes, .. } => Some(real_bytes),
            ProbedKind::Damaged => None,
            ProbedKind::Dead => Some(0),
        }
    }
}

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

    fn sector(offset: u64) -> Vec<u8> {
        let mut sector = vec![0; SECTOR];
        fill(&mut sector, offset);
        sector
    }

    #[test]
    fn the_words_are_those_of_f3write() {
        let words = |bytes: &[u8]| -> Vec<u64> {
            let words = bytes.chunks_exact(WORD);
            words
                .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
                .collect()
        };
        let mut two = vec![0; 2 * SECTOR];
        fill(&mut two, 0);
        let found = words(&two);
        assert_eq!(found[..4], [0, 0x11, 0x11_0000_0110, 0x020f_0000_1001]);
        assert_eq!(found[64], 512);
        assert_eq!(found[65], 0x0200_0000_1e11);
        assert_eq!(two[SECTOR..], sector(512)[..]);
    }

    #[test]
    fn up_to_two_wrong_words_are_a_change() {
        let mut spoilt = sector(4_096);
        assert_eq!(classify(&spoilt, 4_096), Class::Ok);
        for (word, class) in [
            (63, Class::Changed),
            (7, Class::Changed),
            (1, Class::Corrupted),
        ] {
            spoilt[word * WORD] ^= 1;
            assert_eq!(classify(&spoilt, 4_096), class, "word {word}");
        }
    }

    #[test]
    fn what_belongs_elsewhere_says_where() {
        let mut other = sector(1 << 30);
        let overwritten = Class::Overwritten {
            belongs_to: 1 << 30,
        };
        assert_eq!(classify(&other, 0), overwritten);
        other[WORD] ^= 1;
        other[9 * WORD] ^= 1;
        assert_eq!(classify(&other, 0), overwritten);
        other[20 * WORD] ^= 1;
        assert_eq!(classify(&other, 0), Class::Corrupted);
        assert_eq!(classify(&[0; SECTOR], 0), Class::Corrupted);
        assert_eq!(classify(&[], 0), Class::Corrupted);
    }

    #[test]
    fn a_wrong_first_word_leaves_nothing_that_follows() {
        let mut spoilt = sector(512);
        spoilt[1] ^= 1;
        assert_eq!(classify(&spoilt, 512), Class::Corrupted);
    }

    #[test]
    fn a_device_whose_blocks_could_not_be_put_back_is_not_good() {
        let good = Probed {
            kind: ProbedKind::Good,
            announced_bytes: 1 << 20,
            of_free_space: false,
            displaced: 0,
            block_bytes: 4_096,
            blocks_written: 256,
            unreadable: Vec::new(),
            lost: 0,
            first_lost: None,
            not_restored: Vec::new(),
        };
        assert!(good.is_good());
        let unrestored = Probed {
            not_restored: vec![8_192],
            ..good
        };
        assert!(!unrestored.is_good());
    }

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
