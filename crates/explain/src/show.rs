//! Output of an explanation, as a document and as JSON.

use crate::costs::Costs;
use crate::fit_input::{parameters, say_parameters};
use crate::kinds::{Kind, Share};
use crate::on_bus::OnBus;
use crate::words::{nothing, percent, time, title};
use crate::{Explained, Explanation, Group};
use assay_lang::{counted, tr};
use assay_report::describe;
use assay_report::document::{Cell, Column, Document, Keep, Section, Table, TableRow};
use assay_report::reference::of_bus;
use assay_report::text::clean;
use assay_report::words::style::Tone;
use serde_json::{Value, json};

impl Explained<'_> {
    /// Returns the explanation as a document, with the largest part of each result's time first.
    pub fn document(&self) -> Document {
        let header = &self.run.header;
        let device = clean(&header.storage.words());
        let mut document = Document::new(tr!("Run {id}: {device}", id = header.id, device));
        document.push(self.summary());
        let flash = self.no_flash.is_none();
        for group in &self.groups {
            document.push(group.explained(flash));
            document.push(group.section());
        }
        let mut without = Section::new("without", tr!("Without an explanation"));
        let jobs = self.without.iter();
        let jobs = jobs.map(|one| format!("{}: {}", clean(&one.job.name), nothing(one.why)));
        without.list(jobs.collect());
        document.push(without);
        let mut warnings = Section::new("warnings", tr!("What else held it up"));
        warnings.warnings(&self.warnings);
        document.push(warnings);
        document
    }

    fn summary(&self) -> Section {
        let mut section = Section::new("summary", "");
        let flash = self.no_flash.is_none();
        let results = self.groups.iter().flat_map(|group| &group.results);
        section.facts(results.filter_map(|one| one.answer(flash)));
        let bus = self.bus.as_ref().map(of_bus).unwrap_or_else(|| {
            let why = tr!(
                "The ceiling of the bus cannot be told: the system does not say how it runs, and --bus was not given"
            );
            why.to_owned()
        });
        section.say(bus, None);
        if let Some(why) = &self.no_flash {
            let said = tr!(
                "Nothing is said about erase units, mapping or garbage collection: {why}",
                why
            );
            section.say(said, None);
        }
        section
    }

    /// Returns the explanation as JSON.
    pub fn value(&self) -> Value {
        let bus = self.bus.as_ref().map(|bus| {
            json!({
                "mode": bus.ceiling.mode, "given": bus.given,
                "read_bytes_per_s": bus.ceiling.read, "write_bytes_per_s": bus.ceiling.write,
            })
        });
        let results = self.groups.iter().flat_map(|group| &group.results);
        let fits = self.groups.iter().map(Group::value);
        let without = self.without.iter();
        let without = without.map(|one| json!({"job": one.job.name, "why": nothing(one.why)}));
        let warnings = self.warnings.iter();
        let warnings = warnings.map(
            |warning| json!({"message": warning.message(usize::MAX), "remedy": warning.remedy()}),
        );
        json!({
            "schema": 1,
            "run": self.run.header.id,
            "device": self.run.header.storage.words(),
            "bus": bus,
            "not_flash": self.no_flash,
            "fits": fits.collect::<Vec<_>>(),
            "results": results.map(Explanation::value).collect::<Vec<_>>(),
            "without": without.collect::<Vec<_>>(),
            "warnings": warnings.collect::<Vec<_>>(),
        })
    }
}

impl Group<'_> {
    /// Explains each result under its own heading.
    fn explained(&self, flash: bool) -> Section {
        let title = match self.condition {
            Some(condition) => tr!("Results under {condition}", condition = clean(condition)),
            None => tr!("Results").to_owned(),
        };
        let mut section = Section::new("result", title);
        let results = self.results.iter();
        results.for_each(|one| one.explain(flash, &mut section));
        section
    }

    /// Describes the source of the costs of requests.
    fn section(&self) -> Section {
        let title = match self.condition {
            Some(condition) => tr!("Costs under {condition}", condition = clean(condition)),
            None => tr!("Costs of requests").to_owned(),
        };
        let mut section = Section::new("costs", title);
        match &self.costs {
            Costs::Truth(part, policy) => section.say(
                tr!(
                    "Simulated: the time of each phase is that of the model of {part} (policy {policy})",
                    part = clean(&part.name),
                    policy
                ),
                None,
            ),
            Costs::Given(part) => section.say(
                tr!(
                    "Costs of requests: those of the part {part}, as it was named",
                    part = clean(&part.name)
                ),
                None,
            ),
            Costs::Unknown(why) => section.say(tr!("No fit: {why}", why), None),
            Costs::Fitted(fitted) => {
                let lines = fitted.measured.lines.len() as u64;
                section.say(
                    counted!(lines, "Fit of {n} result:", "Fit of {n} results:"),
                    None,
                );
                say_parameters(&fitted.parameters(), &mut section);
            }
        }
        if let Some(said) = self.scheduler() {
            section.say(said, None);
        }
        section
    }

    fn value(&self) -> Value {
        let (status, why) = match &self.costs {
            Costs::Truth(..) => ("model", None),
            Costs::Given(_) => ("part", None),
            Costs::Fitted(_) => ("fit", None),
            Costs::Unknown(why) => ("refused", Some(why)),
        };
        let fitted = match &self.costs {
            Costs::Fitted(fitted) => Some(fitted),
            _ => None,
        };
        let left_out = fitted.map(|fitted| {
            let all = fitted.measured.left_out.iter();
            all.map(|one| json!({"job": one.job, "why": one.why}))
                .collect::<Vec<_>>()
        });
        json!({
            "condition": self.condition,
            "status": status,
            "why": why,
            "parameters": fitted.map(|fitted| parameters(&fitted.parameters())),
            "left_out": left_out,
        })
    }
}

impl Explanation<'_> {
    /// Returns the parts of at least 0.05 %, the largest first.
    fn largest(&self) -> Vec<&Share> {
        let parts = self.account.shares.iter();
        let mut parts: Vec<&Share> = parts.filter(|one| self.part(one).abs() >= 0.0005).collect();
        parts.sort_by(|a, b| b.us.total_cmp(&a.us));
        parts
    }

    fn part(&self, share: &Share) -> f64 {
        share.us / self.account.total_us
    }

    fn title(&self, share: &Share, flash: bool) -> &'static str {
        title(share.kind, flash, self.account.of_kind(Kind::Bus) > 0.0)
    }

    /// Returns the name of the job and a sentence about the largest part of its time.
    fn answer(&self, flash: bool) -> Option<(String, String)> {
        let largest = *self.largest().first()?;
        let said = tr!(
            "{percent} of {time} for each {direction}: {part}",
            percent = percent(self.part(largest)),
            time = time(self.account.total_us),
            direction = describe::direction(self.of.direction),
            part = self.title(largest, flash)
        );
        Some((clean(&self.of.name()), said))
    }

    fn explain(&self, flash: bool, section: &mut Section) {
        let one = &self.of;
        let head = tr!(
            "{job}: {time} for each {direction} ({label})",
            job = clean(&one.name()),
            time = time(self.account.total_us),
            direction = describe::direction(one.direction),
            label = one.label.map_or(tr!("differs"), assay_lang::translated)
        );
        section.heading(head);
        let about = counted!(
            one.trials as u64,
            "{what}; {ios} I/Os in {n} trial, latency {mean} on average, {median} in the median",
            "{what}; {ios} I/Os in {n} trials, latency {mean} on average, {median} in the median",
            what = clean(&describe::job(one.job)),
            ios = one.ios,
            mean = time(one.mean_us),
            median = time(one.median_us)
        );
        section.say(about, None);
        section.table(self.shares(flash));
        let untold = self.account.untold.iter();
        let untold = untold.map(|what| tr!("Cannot be told: {what}", what));
        let said = self.on_bus.as_ref().map(OnBus::sentence).into_iter();
        said.chain(self.facts.iter().cloned())
            .chain(untold)
            .for_each(|said| section.say(said, None));
        if !self.helps.is_empty() {
            section.say(tr!("What would help most"), Some(Tone::Strong));
        }
        section.list(
            self.helps
                .iter()
                .map(|help| help.sentence.clone())
                .collect(),
        );
    }

    fn shares(&self, flash: bool) -> Table {
        let row = |share: &Share| {
            TableRow::new(vec![
                self.title(share, flash).into(),
                time(share.us).into(),
                percent(self.part(share)).into(),
                Cell::Text(share.basis.clone()),
            ])
        };
        Table {
            columns: vec![
                Column::text(tr!("part of the time")),
                Column::number(tr!("time")),
                Column::number(tr!("share")),
                Column::text(tr!("basis")).keep(Keep::IfRoom),
            ],
            rows: self.largest().into_iter().map(row).collect(),
        }
    }

    fn value(&self) -> Value {
        let one = &self.of;
        let share = |share: &Share| {
            json!({
                "part": share.kind.name(),
                "us": share.us,
                "share": share.us / self.account.total_us,
                "known": share.known.name(),
                "basis": share.basis,
            })
        };
        let helps = self.helps.iter();
        let helps = helps.map(|help| json!({"share": help.share, "sentence": help.sentence}));
        json!({
            "job": one.job.name,
            "condition": one.condition,
            "direction": one.direction.to_string(),
            "label": one.label.unwrap_or("differs"),
            "because": one.because,
            "trials": one.trials,
            "ios": one.ios,
            "block_size": one.job.bs.0,
            "in_flight": one.depth,
            "latency_us": one.mean_us,
            "latency_median_us": one.median_us,
            "flush_us": one.flush_us,
            "total_us": self.account.total_us,
            "parts": self.account.shares.iter().map(share).collect::<Vec<_>>(),
            "bus": self.on_bus.as_ref().map(OnBus::value),
            "facts": self.facts,
            "cannot_tell": self.account.untold,
            "helps": helps.collect::<Vec<_>>(),
        })
    }
}
