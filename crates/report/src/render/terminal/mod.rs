//! The summary of a run that a person reads in ten seconds, and the list of
//! stored runs. Plain lines within the given width; labels are words, colour
//! only repeats them.

mod compared;
mod course;
mod devices;
mod digest;
mod doctor;
mod extent;
mod found;
mod import;
mod ladder;
mod list;
mod mark;
mod ranked;
mod recordings;
pub(crate) mod results;
mod scenario;
mod style;
mod sweep;
pub(crate) mod table;
mod tails;
mod warned;

use assay_lang::{counted, tr};
pub use compared::{write_comparison, write_qualification};
pub use devices::{write_device, write_devices};
pub use doctor::write_checkup;
pub use import::write_import;
pub use list::{ListRow, write_list};
pub use mark::{CheckedClass, write_class, write_marks, write_rounds};
pub use ranked::{write_power, write_ranking};
pub use recordings::write_recordings;
pub use style::Style;

use crate::results::key_figures::Digest;
use crate::results::ladder::Ladder;
use crate::results::stopping;
use crate::results::summary::{Group, Summary};
use crate::results::sweep::{Sweep, by_condition};
use crate::results::warnings;
use crate::words::identity;
use crate::words::text::{clean, width, wrap};
use assay_model::plan::Place;
use assay_model::run::Run;
use assay_model::storage::Backing;
use std::io::{self, Write};
use style::Tone;

/// Writes the summary. `closing` lines come last: where the run is stored, how
/// to see more.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_summary(
    run: &Run,
    style: Style,
    closing: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let summary = Summary::of(run);
    let mut page = Page { style, out };
    page.heading(&summary)?;
    if !run.header.plan.conditions.is_empty() {
        sweep::write(&Sweep::of(run), &mut page)?;
        // Trials of one job differ between conditions: each is a job of its own.
        let apart = by_condition(run.clone());
        let warnings = warnings::collect(&Summary::of(&apart));
        warned::write(&warnings, &mut page)?;
        return page.closing(closing);
    }
    for ladder in Ladder::ALL {
        ladder::write(ladder, &summary, &mut page)?;
    }
    scenario::write(&summary, &mut page)?;
    results::write(&summary, &mut page)?;
    placed(&summary, &mut page)?;
    tails::write(&summary, &mut page)?;
    extent::write(&summary, &mut page)?;
    found::write(&summary, &mut page)?;
    for job in summary.group(Group::Sustained) {
        course::write(job, &mut page)?;
    }
    let warnings = warnings::collect(&summary);
    warned::write(&warnings, &mut page)?;
    // Its lines are about storage.
    if !summary.is_of_memory() {
        digest::write(&Digest::of(&summary, &warnings), &mut page)?;
    }
    page.closing(closing)
}

/// Rates beside the bus and a datasheet.
fn placed(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let sentences = crate::results::reference::sentences(summary);
    if sentences.is_empty() {
        return Ok(());
    }
    page.title(tr!("Beside what can be"))?;
    sentences
        .iter()
        .try_for_each(|line| page.paragraph("  ".into(), line, None))
}

/// Where lines go.
pub(crate) struct Page<'a> {
    pub(crate) style: Style,
    pub(crate) out: &'a mut dyn Write,
}

/// What stands before a paragraph.
#[derive(Clone, Copy)]
pub(crate) struct Mark<'a> {
    text: &'a str,
    tone: Option<Tone>,
}

impl<'a> From<&'a str> for Mark<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, tone: None }
    }
}

impl Page<'_> {
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end())
    }

    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.line("")
    }

    pub(crate) fn title(&mut self, text: &str) -> io::Result<()> {
        self.blank()?;
        let text = self.style.paint(Tone::Strong, text);
        self.line(&text)
    }

    /// The last lines.
    fn closing(&mut self, lines: &[String]) -> io::Result<()> {
        if !lines.is_empty() {
            self.blank()?;
        }
        for line in lines {
            self.line(&clean(line))?;
        }
        Ok(())
    }

    /// Wrapped text: `first` before the first line, as many spaces before the
    /// others.
    pub(crate) fn paragraph(
        &mut self,
        first: Mark<'_>,
        text: &str,
        tone: Option<Tone>,
    ) -> io::Result<()> {
        let indent = width(first.text);
        let lines = wrap(text, self.style.columns().saturating_sub(indent));
        let paint = |text: &str, tone: Option<Tone>| match tone {
            Some(tone) => self.style.paint(tone, text),
            None => text.to_owned(),
        };
        let mut start = paint(first.text, first.tone);
        for line in lines {
            writeln!(self.out, "{start}{}", paint(&line, tone))?;
            start = " ".repeat(indent);
        }
        Ok(())
    }

    /// What was measured, where, and when.
    fn heading(&mut self, summary: &Summary<'_>) -> io::Result<()> {
        let run = summary.run;
        let storage = &run.header.storage;
        let name = identity::name(storage);
        self.paragraph("".into(), &name, Some(Tone::Strong))?;
        if let Some(device) = identity::device(storage) {
            let facts = identity::device_facts(device);
            let wanted = [
                tr!("bus"),
                tr!("firmware"),
                tr!("made"),
                tr!("life time used"),
                tr!("file behind it"),
            ];
            let words = facts.iter().filter(|(name, _)| wanted.contains(name));
            let words: Vec<String> = words
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            self.paragraph("  ".into(), &words.join("; "), None)?;
        }
        self.paragraph("  ".into(), &place(summary), None)?;
        self.paragraph("  ".into(), &machine(run), None)?;
        let trials = tr!("trials: {trials}", trials = identity::trials(summary));
        let took = identity::took(run).map_or(String::new(), |took| tr!(", in {took}", took));
        let when = crate::words::format::utc(run.header.started_unix_ms);
        let id = clean(&run.header.id);
        self.paragraph(
            "  ".into(),
            &tr!("run {id}, {when}, {trials}{took}", id, when, trials, took),
            None,
        )?;
        for sentence in stopping::sentences(run) {
            self.paragraph("  ".into(), &clean(&sentence), None)?;
        }
        Ok(())
    }
}

/// Path, file system, device node.
fn place(summary: &Summary<'_>) -> String {
    let storage = &summary.run.header.storage;
    let path = clean(&storage.path.to_string_lossy());
    match &storage.mount {
        _ if storage.backing == Backing::MainMemory => tr!("no storage takes part").to_owned(),
        Some(mount) => tr!(
            "{path} on {file_system} ({options}), {source}",
            path,
            file_system = clean(&mount.fs_type),
            options = clean(&mount.options.join(",")),
            source = clean(&mount.source)
        ),
        None if matches!(summary.run.header.plan.place, Place::Device { .. }) => {
            tr!("{path}, the device itself", path)
        }
        None if matches!(summary.run.header.plan.place, Place::Simulated { .. }) => {
            tr!("{path}: figures are computed, not measured", path)
        }
        None => tr!("{path}, mount not known", path),
    }
}

fn machine(run: &Run) -> String {
    let system = &run.header.system;
    let board = system.board.as_ref().or(system.hostname.as_ref());
    let mut words: Vec<String> = board.map(|board| clean(board)).into_iter().collect();
    words.push(format!(
        "Linux {} {}",
        clean(&system.kernel),
        clean(&system.machine)
    ));
    words.push(counted!(system.cpus, "{n} CPU", "{n} CPUs"));
    words.push(tr!("{memory} RAM", memory = system.memory));
    words.extend(run.header.target.as_deref().map(clean));
    words.join(", ")
}

#[cfg(test)]
mod tests;
