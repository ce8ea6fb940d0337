//! An explanation for people and for programs.

use crate::costs::Costs;
use crate::fit_input::parameters;
use crate::kinds::{Kind, Share};
use crate::on_bus::OnBus;
use crate::table::{paragraph, write_parameters};
use crate::words::{known, nothing, percent, time, title, word};
use crate::{Explained, Explanation, Group};
use assay_lang::{counted, tr};
use assay_report::describe;
use assay_report::reference::of_bus;
use assay_report::text::{clean, pad, pad_left, width, wrap};
use serde_json::{Value, json};
use std::io::{self, Write};

impl Explained<'_> {
    /// Writes the explanation for people, in lines of at most `columns` columns where words allow.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, columns: usize, out: &mut dyn Write) -> io::Result<()> {
        self.write_head(columns, out)?;
        for group in &self.groups {
            group.write((self.no_flash.is_none(), columns), out)?;
        }
        for one in &self.without {
            writeln!(out)?;
            paragraph(
                &format!("{}: {}", clean(&one.job.name), nothing(one.why)),
                0,
                columns,
                out,
            )?;
        }
        if !self.warnings.is_empty() {
            writeln!(out, "\n{}", tr!("What else held it up"))?;
        }
        for warning in &self.warnings {
            paragraph(
                &format!("{}: {}", warning.message(4), warning.remedy()),
                2,
                columns,
                out,
            )?;
        }
        Ok(())
    }

    fn write_head(&self, columns: usize, out: &mut dyn Write) -> io::Result<()> {
        let storage = &self.run.header.storage;
        writeln!(
            out,
            "{}",
            tr!(
                "Run {id}: {device}",
                id = self.run.header.id,
                device = clean(&storage.words())
            )
        )?;
        if let Some(bus) = &self.bus {
            paragraph(&of_bus(bus), 2, columns, out)?;
        } else {
            paragraph(
                tr!(
                    "The ceiling of the bus cannot be told: the system does not say how it runs, and --bus was not given"
                ),
                2,
                columns,
                out,
            )?;
        }
        if let Some(why) = &self.no_flash {
            let said = tr!(
                "Nothing is said about erase units, mapping or garbage collection: {why}",
                why
            );
            paragraph(&said, 2, columns, out)?;
        }
        Ok(())
    }

    /// The explanation for programs.
    #[must_use]
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
    fn write(&self, (flash, columns): (bool, usize), out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        if let Some(condition) = self.condition {
            writeln!(
                out,
                "{}",
                tr!("Under {condition}", condition = clean(condition))
            )?;
        }
        match &self.costs {
            Costs::Truth(part, policy) => {
                let said = tr!(
                    "Simulated: the time of each phase is that of the model of {part} (policy {policy})",
                    part = clean(&part.name),
                    policy
                );
                paragraph(&said, 0, columns, out)?;
            }
            Costs::Given(part) => {
                let said = tr!(
                    "Costs of requests: those of the part {part}, as it was named",
                    part = clean(&part.name)
                );
                paragraph(&said, 0, columns, out)?;
            }
            Costs::Unknown(why) => paragraph(&tr!("No fit: {why}", why), 0, columns, out)?,
            Costs::Fitted(fitted) => {
                let lines = fitted.measured.lines.len() as u64;
                let said = counted!(lines, "Fit of {n} result:", "Fit of {n} results:");
                writeln!(out, "{said}")?;
                write_parameters(&fitted.parameters(), columns, out)?;
            }
        }
        if let Some(said) = self.scheduler() {
            paragraph(&said, 0, columns, out)?;
        }
        self.results
            .iter()
            .try_for_each(|one| one.write((flash, columns), out))
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
    fn write(&self, (flash, columns): (bool, usize), out: &mut dyn Write) -> io::Result<()> {
        let one = &self.of;
        let head = tr!(
            "{job}: {time} for each {direction} ({label})",
            job = clean(&one.name()),
            time = time(self.account.total_us),
            direction = describe::direction(one.direction),
            label = one.label.map_or(tr!("differs"), assay_lang::translated)
        );
        writeln!(out, "\n{head}")?;
        let about = counted!(
            one.trials as u64,
            "{what}; {ios} I/Os in {n} trial, latency {mean} on average, {median} in the median",
            "{what}; {ios} I/Os in {n} trials, latency {mean} on average, {median} in the median",
            what = clean(&describe::job(one.job)),
            ios = one.ios,
            mean = time(one.mean_us),
            median = time(one.median_us)
        );
        paragraph(&about, 2, columns, out)?;
        self.write_shares((flash, columns), out)?;
        if let Some(on_bus) = &self.on_bus {
            paragraph(&on_bus.sentence(), 2, columns, out)?;
        }
        for fact in &self.facts {
            paragraph(fact, 2, columns, out)?;
        }
        for untold in &self.account.untold {
            paragraph(
                &tr!("Cannot be told: {what}", what = untold),
                2,
                columns,
                out,
            )?;
        }
        for (number, help) in self.helps.iter().enumerate() {
            if number == 0 {
                writeln!(out, "  {}", tr!("What would help most"))?;
            }
            paragraph(
                &format!("{}. {}", number + 1, help.sentence),
                4,
                columns,
                out,
            )?;
        }
        Ok(())
    }

    fn write_shares(&self, (flash, columns): (bool, usize), out: &mut dyn Write) -> io::Result<()> {
        let on_bus = self.account.of_kind(Kind::Bus) > 0.0;
        let titles = self
            .account
            .shares
            .iter()
            .map(|share| title(share.kind, flash, on_bus));
        let widest = titles.map(width).max().unwrap_or_default();
        for share in &self.account.shares {
            let part = share.us / self.account.total_us;
            if part.abs() < 0.0005 {
                continue;
            }
            let line = format!(
                "  {}  {}  {}  ",
                pad(title(share.kind, flash, on_bus), widest),
                pad_left(&time(share.us), 9),
                pad_left(&percent(part), 7)
            );
            let room = columns.saturating_sub(width(&line)).max(20);
            let mut before = line;
            for basis in wrap(&share.basis, room) {
                writeln!(out, "{before}{basis}")?;
                before = " ".repeat(width(&before));
            }
        }
        Ok(())
    }

    fn value(&self) -> Value {
        let one = &self.of;
        let share = |share: &Share| {
            json!({
                "part": word(share.kind),
                "us": share.us,
                "share": share.us / self.account.total_us,
                "known": known(share.known),
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
