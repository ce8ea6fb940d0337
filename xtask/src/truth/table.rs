//! Counts and tables of labels against the truth.

use super::judge::Truth;
use super::{Claim, TruthCell};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

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
