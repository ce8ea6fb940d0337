//! Labels: those that are right according to the kernel's events, and counts and tables of assay's
//! labels against them.

use super::trace::{MeasuredPhase, Micros, Operation, Range, SyscallEvent, What};
use super::{Claim, Direction, TruthCell};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Smallest share for the label of the device, and largest for that of the page cache
/// (docs/evidence.md).
const DEVICE: f64 = 0.95;
const CACHE: f64 = 0.05;
/// Distance from a limit within which both labels are right, because the clocks of the trace and of
/// the job differ.
const NEAR: f64 = 0.015;
/// Difference in time within which events may come in either order, in microseconds.
const SLACK: Micros = 5;
/// Bytes that a file system may write besides the file if the sectors of the file are unknown.
const METADATA: u64 = 64 << 10;
const SECTOR: u64 = 512;
const PAGE: u64 = 4096;

/// Facts about the storage and the job; none of them comes from assay.
pub struct Scene<'a> {
    pub device: &'a [SyscallEvent],
    /// Inode of the file; `None`: any file of the file system.
    pub inode: Option<u64>,
    /// Sectors of the file; `None`: all requests except metadata.
    pub extents: Option<Vec<Range>>,
    pub is_volatile: bool,
    pub is_memory: bool,
    /// Set if a program serves the file, so that pages and requests belong to different files.
    pub has_program: bool,
    pub is_direct: bool,
    pub is_random: bool,
    pub is_mapped: bool,
    /// Set if another process used the file or the device.
    pub has_neighbour: bool,
}

/// Labels that are right.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    pub label: Vec<&'static str>,
    /// Correct labels of the latency; empty if it is not checked.
    pub latency: Vec<&'static str>,
    pub share: f64,
}

pub fn truth(claim: &Claim, phase: &MeasuredPhase, scene: &Scene<'_>) -> Truth {
    if scene.is_memory {
        let label = vec!["page-cache"];
        return Truth {
            latency: label.clone(),
            label,
            share: 0.0,
        };
    }
    match claim.direction {
        Direction::Read => {
            let share = scene.read_share(claim, phase);
            Truth {
                label: by_share(share, &["device"]),
                latency: Vec::new(),
                share,
            }
        }
        Direction::Write => {
            let (share, left) = scene.write_share(claim, phase);
            let is_safe = left == 0.0 && scene.is_durable(phase);
            let safe: &[_] = match is_safe {
                true => &["device"],
                // A tail of less than a thousandth may come from a difference of the clocks.
                false if left > 0.0 && left < 0.001 => &["device", "device-unflushed"],
                false => &["device-unflushed"],
            };
            Truth {
                label: by_share(share, safe),
                latency: scene.write_latency(phase),
                share,
            }
        }
    }
}

/// Returns the labels of a share; `reached` are the labels for a share near 1.
pub fn by_share(share: f64, reached: &[&'static str]) -> Vec<&'static str> {
    let mut labels = Vec::new();
    if share >= DEVICE - NEAR {
        labels.extend(reached);
    }
    if share > CACHE - NEAR && share < DEVICE + NEAR {
        labels.push("mixed");
    }
    if share <= CACHE + NEAR {
        labels.push("page-cache");
    }
    // Two labels are right only near a limit.
    if share >= DEVICE + NEAR {
        labels.retain(|label| *label != "mixed");
    }
    labels
}

impl Scene<'_> {
    /// Share of the bytes of a read that the device moved for the job.
    fn read_share(&self, claim: &Claim, phase: &MeasuredPhase) -> f64 {
        let within = |event: &&SyscallEvent| {
            event.at + SLACK >= phase.start && event.at <= phase.stop + SLACK
        };
        let events = || self.device.iter().filter(within);
        if self.is_direct && self.has_neighbour {
            let own = |event: &&SyscallEvent| {
                event.is_ring_worker || phase.threads.contains(&event.thread)
            };
            let bytes: u64 = events()
                .filter(own)
                .map(|event| self.queued(event, 'R'))
                .sum();
            return share(bytes, claim.bytes);
        }
        let moved: u64 = events().map(|event| self.done(event, 'R')).sum();
        if self.is_direct || self.has_program {
            return share(moved, claim.bytes);
        }
        let fetched = self.pages(phase).device;
        share(fetched.min(moved), claim.bytes)
    }

    /// Counts the pages that the job read by their source. A page counts as the device's at its
    /// first use after it was fetched within the measured time.
    fn pages(&self, phase: &MeasuredPhase) -> Pages {
        let mut cache: HashMap<(u64, u64), bool> = HashMap::new();
        let mut pages = Pages::default();
        let mut last_read: HashMap<u32, (u64, u64)> = HashMap::new();
        for event in self.device {
            if event.at > phase.stop + SLACK {
                break;
            }
            let is_timed = event.at + SLACK >= phase.start;
            match event.what {
                What::PageAdded { inode, bytes } if self.is_of(inode) => {
                    for page in numbers(bytes) {
                        // The event of a fault precedes the fetch of its page.
                        let is_used = cache.get(&(inode, page)) == Some(&false);
                        cache.insert((inode, page), is_timed && !is_used);
                        pages.fetched += if is_timed { PAGE } else { 0 };
                    }
                }
                What::PageDropped { inode, bytes } if self.is_of(inode) => {
                    for page in numbers(bytes) {
                        cache.remove(&(inode, page));
                    }
                }
                What::PagesRead { inode, bytes } if is_timed && self.is_of(inode) => {
                    let (first, end) = (bytes.0, bytes.0 + bytes.1);
                    // The rest of a read whose first pages were already counted.
                    let before = last_read.insert(event.thread, (first, end));
                    if before.is_some_and(|(begun, until)| until == end && begun < first) {
                        continue;
                    }
                    for page in numbers(bytes) {
                        pages.used(cache.insert((inode, page), false));
                    }
                }
                What::Fault { inode, bytes } if is_timed && self.is_of(inode) => {
                    for page in numbers(bytes) {
                        pages.used(cache.insert((inode, page), false));
                    }
                }
                _ => {}
            }
        }
        if self.is_mapped && !self.is_random {
            // Mapped pages around a fault are used without a further event.
            pages.device = pages.fetched;
        }
        pages
    }

    /// Returns the share of a write's bytes that had reached the device when the clock stopped, and
    /// the share that reached it later.
    fn write_share(&self, claim: &Claim, phase: &MeasuredPhase) -> (f64, f64) {
        let (mut reached, mut later) = (0, 0);
        for event in self.device.iter().filter(|event| event.at >= phase.start) {
            if self.is_direct && self.has_neighbour {
                let is_own = event.is_ring_worker || phase.threads.contains(&event.thread);
                reached += if is_own { self.queued(event, 'W') } else { 0 };
                continue;
            }
            let bytes = self.done(event, 'W');
            if event.at <= phase.stop + SLACK {
                reached += bytes;
            } else {
                later += bytes;
            }
        }
        if self.extents.is_none() {
            // Not all metadata requests are flagged as such.
            later -= METADATA.min(later);
        }
        let later = later.min(claim.bytes);
        (
            share(reached.min(claim.bytes - later), claim.bytes),
            share(later, claim.bytes),
        )
    }

    /// Returns true if the device completed a flush, issued after the last write that reached it,
    /// before the clock stopped, or if it cannot lose data.
    fn is_durable(&self, phase: &MeasuredPhase) -> bool {
        if !self.is_volatile {
            return true;
        }
        let timed = || {
            let within =
                |event: &&SyscallEvent| event.at >= phase.start && event.at <= phase.stop + SLACK;
            self.device.iter().filter(within)
        };
        // Writes of a neighbour need no flush.
        let is_data = |event: &&SyscallEvent| match self.is_direct && self.has_neighbour {
            true => phase.threads.contains(&event.thread) && self.queued(event, 'W') > 0,
            false => self.done(event, 'W') > 0,
        };
        let last = timed().filter(is_data).map(|event| event.at).max();
        let is_flush = |flags: &str| flags.starts_with("FF");
        let mut issued = None;
        for event in timed().filter(|event| last.is_none_or(|last| event.at >= last)) {
            match &event.what {
                What::Issued { flags, .. } if is_flush(flags) => issued = Some(event.at),
                What::Done { flags, .. } if is_flush(flags) && issued.is_some() => return true,
                _ => {}
            }
        }
        false
    }

    /// Returns the labels of a write's latency, by the share of writes whose data was on the device
    /// when the call returned.
    fn write_latency(&self, phase: &MeasuredPhase) -> Vec<&'static str> {
        let all = phase.operations.len();
        if all == 0 || self.has_program {
            return Vec::new();
        }
        let done: Vec<(Micros, u64)> = self
            .device
            .iter()
            .map(|event| (event.at, self.done(event, 'W')))
            .filter(|(_, bytes)| *bytes > 0)
            .collect();
        let reached = |one: &&Operation| {
            let from = done.partition_point(|(at, _)| *at < one.begin);
            let mut within = done[from..]
                .iter()
                .take_while(|(at, _)| *at <= one.end + SLACK);
            within.next().is_some()
        };
        let count = phase.operations.iter().filter(reached).count();
        by_share(
            share(count as u64, all as u64),
            &["device", "device-unflushed"],
        )
    }

    fn is_of(&self, inode: u64) -> bool {
        self.inode.is_none_or(|own| own == inode)
    }

    fn done(&self, event: &SyscallEvent, direction: char) -> u64 {
        match &event.what {
            What::Done { flags, sectors } => self.of_file(flags, *sectors, direction),
            _ => 0,
        }
    }

    fn queued(&self, event: &SyscallEvent, direction: char) -> u64 {
        match &event.what {
            What::Queued { flags, sectors } => self.of_file(flags, *sectors, direction),
            _ => 0,
        }
    }

    /// Bytes of a request that belong to the file.
    fn of_file(&self, flags: &str, (first, count): Range, direction: char) -> u64 {
        // A leading F requests a flush before the data.
        if !flags.trim_start_matches('F').starts_with(direction) {
            return 0;
        }
        let sectors = match &self.extents {
            None if flags.contains('M') => 0,
            None => count,
            Some(extents) => extents
                .iter()
                .map(|(begin, length)| {
                    let end = (first + count).min(begin + length);
                    end.saturating_sub(first.max(*begin))
                })
                .sum(),
        };
        sectors * SECTOR
    }
}

/// Bytes of pages that were used from the device, and that were fetched.
#[derive(Default)]
struct Pages {
    device: u64,
    fetched: u64,
}

impl Pages {
    /// Counts the use of a page. `is_fresh` is its previous state: `Some(false)` if it was used
    /// before.
    fn used(&mut self, is_fresh: Option<bool>) {
        if is_fresh != Some(false) {
            self.device += PAGE;
        }
    }
}

fn numbers((first, length): Range) -> std::ops::Range<u64> {
    first / PAGE..(first + length).div_ceil(PAGE)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    (part as f64 / whole as f64).min(1.0)
}

/// Largest share of labels that may be unknown.
const UNKNOWN: f64 = 0.15;
/// Largest error of a reported share.
const SHARE_OFF: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Right,
    Unknown,
    Wrong,
}

/// Result of one direction of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct TruthRow {
    pub topology: String,
    pub job: String,
    pub engine: String,
    pub direction: &'static str,
    pub label: String,
    pub latency_label: String,
    pub share: Option<f64>,
    pub because: String,
    pub truth: Truth,
}

impl TruthCell {
    pub fn row(&self, claim: &Claim, truth: &Truth) -> TruthRow {
        TruthRow {
            topology: self.topology.name.to_owned(),
            job: self.job.title(),
            engine: self.engine.to_owned(),
            direction: claim.direction.name(),
            label: claim.label.clone(),
            latency_label: claim.latency_label.clone(),
            share: claim.share,
            because: claim.because.clone(),
            truth: truth.clone(),
        }
    }
}

impl TruthRow {
    fn verdict(&self) -> Verdict {
        let of = |label: &str, right: &[&str]| match label {
            _ if right.is_empty() || right.contains(&label) => Verdict::Right,
            "unknown" => Verdict::Unknown,
            _ => Verdict::Wrong,
        };
        let is_off = |share: f64| (share - self.truth.share).abs() > SHARE_OFF;
        if self.label == "mixed" && self.share.is_some_and(is_off) {
            return Verdict::Wrong;
        }
        let latency = of(&self.latency_label, &self.truth.latency);
        of(&self.label, &self.truth.label).max(latency)
    }

    fn name(&self) -> String {
        let Self {
            topology,
            job,
            engine,
            direction,
            ..
        } = self;
        format!("{topology} / {job} / {engine} / {direction}")
    }

    fn says(&self) -> String {
        let mut text = format!("{}: {}", self.name(), self.label);
        if self.latency_label != self.label {
            let _ = write!(text, " (latency {})", self.latency_label);
        }
        let _ = write!(text, "; truth: {}", self.truth.label.join(" or "));
        if !self.truth.latency.is_empty() {
            let _ = write!(text, " (latency {})", self.truth.latency.join(" or "));
        }
        let _ = write!(
            text,
            ", {:.1} % reached; {}",
            self.truth.share * 100.0,
            self.because
        );
        text
    }
}

/// Rows of the table, and cells without a result.
#[derive(Default)]
pub struct TruthTable {
    rows: Vec<TruthRow>,
    /// Cells whose storage is unavailable here, by name, number and reason.
    skipped: Vec<(String, usize, String)>,
    /// Cells without a verdict, with the reason.
    failed: Vec<String>,
}

impl TruthTable {
    pub fn add(&mut self, rows: Vec<TruthRow>, forced: Option<&str>) {
        for mut row in rows {
            if let Some(label) = forced {
                (row.label, row.latency_label) = (label.to_owned(), label.to_owned());
            }
            if row.verdict() != Verdict::Right {
                println!("{:?}: {}", row.verdict(), row.says());
            }
            self.rows.push(row);
        }
    }

    pub fn skip(&mut self, name: &str, cells: usize, why: &str) {
        println!("Skipped: {name}: {why}");
        self.skipped.push((name.to_owned(), cells, why.to_owned()));
    }

    /// Records a cell without a verdict: assay failed, or its calls are not in the
    /// trace.
    pub fn fail(&mut self, name: &str, why: &str) {
        println!("Failed: {name}: {why}");
        self.failed.push(format!("{name}: {why}"));
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.rows
            .iter()
            .filter(|row| row.verdict() == verdict)
            .count()
    }

    pub fn print(&self) {
        let skipped: usize = self.skipped.iter().map(|(_, cells, _)| cells).sum();
        println!(
            "truth: {} cells: {} right, {} unknown, {} wrong; {} not judged; {skipped} skipped",
            self.rows.len(),
            self.count(Verdict::Right),
            self.count(Verdict::Unknown),
            self.count(Verdict::Wrong),
            self.failed.len(),
        );
    }

    /// Returns an error if a label is wrong, too many are unknown, a cell has no
    /// verdict, or a label that was known `before` is unknown.
    pub fn verdict(&self, before: Option<&Labels>) -> Result<()> {
        let mut failures = Vec::new();
        let (wrong, unknown) = (self.count(Verdict::Wrong), self.count(Verdict::Unknown));
        if wrong > 0 {
            failures.push(format!("{wrong} labels are wrong"));
        }
        if unknown as f64 > self.rows.len() as f64 * UNKNOWN {
            failures.push(format!(
                "{unknown} of {} labels are unknown",
                self.rows.len()
            ));
        }
        failures.extend(self.failed.iter().map(|cell| format!("not judged: {cell}")));
        if self.rows.is_empty() {
            failures.push("nothing was measured".to_owned());
        }
        for row in before.iter().flat_map(|before| self.lost(before)) {
            failures.push(format!("known before and unknown now: {}", row.says()));
        }
        if !failures.is_empty() {
            bail!("{}", failures.join("\n"));
        }
        Ok(())
    }

    fn lost<'t>(&'t self, before: &'t Labels) -> impl Iterator<Item = &'t TruthRow> {
        let was_known = |row: &&TruthRow| {
            before
                .get(&row.name())
                .is_some_and(|label| label != "unknown")
        };
        self.rows
            .iter()
            .filter(|row| row.label == "unknown")
            .filter(was_known)
    }

    pub fn json(&self) -> Result<String> {
        let rows: Vec<Value> = self.rows.iter().map(TruthRow::json).collect();
        Ok(serde_json::to_string_pretty(&rows)?)
    }

    /// Reads labels of an earlier table, by the names of their rows.
    pub fn read(path: &Path) -> Result<Labels> {
        let text = fs::read_to_string(path).context("the earlier rows cannot be read")?;
        let rows: Vec<Value> = serde_json::from_str(&text)?;
        let entry = |row: &Value| {
            let text = |key: &str| row[key].as_str().map(str::to_owned);
            Some((text("name")?, text("label")?))
        };
        Ok(rows.iter().filter_map(entry).collect())
    }

    /// Replaces the text between the marks of a page.
    pub fn write(&self, page: &Path) -> Result<()> {
        let text = fs::read_to_string(page)?;
        let (head, rest) = text
            .split_once(BEGIN)
            .context("the page has no mark of the table")?;
        let (_, tail) = rest
            .split_once(END)
            .context("the page has no mark of its end")?;
        fs::write(
            page,
            format!("{head}{BEGIN}\n{}{END}{tail}", self.markdown()),
        )?;
        Ok(())
    }

    /// Formats the rows as Markdown tables: by topology, and by job.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "\n{} cells: {} right, {} unknown, {} wrong.\n",
            self.rows.len(),
            self.count(Verdict::Right),
            self.count(Verdict::Unknown),
            self.count(Verdict::Wrong),
        );
        let _ = writeln!(
            text,
            "\n| topology | right | unknown | wrong |\n|---|---|---|---|"
        );
        text += &self.counts(|row| format!("| {}", row.topology));
        let _ = writeln!(
            text,
            "\n| job | engine | right | unknown | wrong |\n|---|---|---|---|---|"
        );
        text += &self.counts(|row| format!("| {} | {}", row.job, row.engine));
        let _ = writeln!(text, "\nUnknown:\n");
        for row in self
            .rows
            .iter()
            .filter(|row| row.verdict() == Verdict::Unknown)
        {
            let _ = writeln!(text, "- {}: {}", row.name(), row.because);
        }
        text.push('\n');
        text
    }

    fn counts(&self, key: impl Fn(&TruthRow) -> String) -> String {
        let mut order = Vec::new();
        let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        for row in &self.rows {
            let key = key(row);
            if !counts.contains_key(&key) {
                order.push(key.clone());
            }
            counts.entry(key).or_default()[row.verdict() as usize] += 1;
        }
        let line = |key: &String| {
            let [right, unknown, wrong] = counts[key];
            format!("{key} | {right} | {unknown} | {wrong} |\n")
        };
        order.iter().map(line).collect()
    }
}

/// Labels by the names of their rows.
pub type Labels = BTreeMap<String, String>;

const BEGIN: &str = "<!-- truth: written by `cargo xtask truth --write` -->";
const END: &str = "<!-- truth: end -->";

impl TruthRow {
    fn json(&self) -> Value {
        json!({
            "name": self.name(),
            "label": self.label,
            "latency_label": self.latency_label,
            "share": self.share,
            "because": self.because,
            "truth": self.truth.label,
            "truth_latency": self.truth.latency,
            "truth_share": self.truth.share,
            "verdict": format!("{:?}", self.verdict()).to_lowercase(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, latency_label: &str) -> TruthRow {
        TruthRow {
            topology: "ext4".to_owned(),
            job: "write".to_owned(),
            engine: "psync".to_owned(),
            direction: "write",
            label: label.to_owned(),
            latency_label: latency_label.to_owned(),
            share: Some(1.0),
            because: String::new(),
            truth: Truth {
                label: vec!["device"],
                latency: vec!["page-cache"],
                share: 1.0,
            },
        }
    }

    fn table(rows: &[TruthRow]) -> TruthTable {
        TruthTable {
            rows: rows.to_vec(),
            ..TruthTable::default()
        }
    }

    #[test]
    fn a_wrong_label_or_many_unknown_ones_fail() {
        let right = row("device", "page-cache");
        assert!(table(std::slice::from_ref(&right)).verdict(None).is_ok());
        assert!(table(&[]).verdict(None).is_err());
        for wrong in [
            row("device-unflushed", "page-cache"),
            row("device", "device"),
        ] {
            let error = table(&[right.clone(), wrong]).verdict(None).unwrap_err();
            assert!(error.to_string().contains("1 labels are wrong"), "{error}");
        }
        let mut failed = table(std::slice::from_ref(&right));
        failed.fail("ext4 / write", "assay failed");
        let error = failed.verdict(None).unwrap_err().to_string();
        assert_eq!(error, "not judged: ext4 / write: assay failed");
        let unknown = row("unknown", "unknown");
        let mut rows = vec![right; 9];
        rows.push(unknown.clone());
        assert!(table(&rows).verdict(None).is_ok());
        rows.push(unknown);
        assert!(table(&rows).verdict(None).is_err());
    }

    #[test]
    fn a_label_that_was_known_may_not_become_unknown() {
        let mut rows = vec![row("device", "page-cache"); 9];
        rows.push(row("unknown", "unknown"));
        let mut before = Labels::from([(rows[9].name(), "unknown".to_owned())]);
        assert!(table(&rows).verdict(Some(&before)).is_ok());
        before.insert(rows[9].name(), "device".to_owned());
        assert!(table(&rows).verdict(Some(&before)).is_err());
    }
}
