//! Builds a load from sections: inheritance, copies, waves, groups.

use super::Environment;
use super::JobText;
use super::error::{FioError, OptionLocation};
use super::ini::{IniEntry, Section};
use super::job::JobDraft;
use super::names;
use super::options::{self, OptionDef, OptionReader, Support};
use super::resolve::resolve;
use super::substitute::substitute;
use crate::nearest;
use assay_model::load::Stream;
use assay_model::load::stats::SteadyCriterion;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Limit on the bytes of file names and option values, copied for all streams.
const MOST_BYTES: u64 = 64 << 20;

/// Builder of a load, filled while sections are read.
pub(super) struct Builder<'a> {
    env: &'a dyn Environment,
    /// Largest number of streams (`--max-jobs`).
    most_jobs: u64,
    /// Set if the jobs must not write (`--readonly`).
    readonly: bool,
    /// Set to check options without making streams.
    dry: bool,
    /// Options of the global sections read so far.
    pub(super) global: JobDraft,
    /// Streams made so far.
    pub(super) streams: Vec<Stream>,
    /// Options of each stream, as written.
    pub(super) texts: Vec<JobText>,
    /// Warnings about probable mistakes, in order.
    pub(super) warnings: Vec<String>,
    /// Parsed options, if they are to be shown.
    pub(super) parsing: Option<Vec<String>>,
    /// Notes on options without effect, in order.
    pub(super) notes: Vec<String>,
    /// Options without effect that were noted.
    noted: BTreeSet<&'static str>,
    /// Number of sections with each name; `wait_for` needs exactly one.
    sections: HashMap<String, u32>,
    /// Number of streams, including those not made because of `dry`.
    jobs: u64,
    /// Bytes of the names and values of the streams so far.
    bytes: u64,
    wave: u32,
    group: u32,
    report: Option<(u32, u32)>,
    exit_all: bool,
    stonewall_next: bool,
}

impl<'a> Builder<'a> {
    /// Makes a builder without streams.
    pub(super) fn new(env: &'a dyn Environment, most_jobs: u64, readonly: bool, dry: bool) -> Self {
        Self {
            env,
            most_jobs,
            readonly,
            dry,
            global: JobDraft::new(),
            streams: Vec::new(),
            texts: Vec::new(),
            warnings: Vec::new(),
            parsing: None,
            notes: Vec::new(),
            noted: BTreeSet::new(),
            sections: HashMap::new(),
            jobs: 0,
            bytes: 0,
            wave: 0,
            group: 0,
            report: None,
            exit_all: false,
            stonewall_next: false,
        }
    }

    /// Begins another job file: its jobs do not inherit the earlier files'
    /// global options, and start after the earlier files' jobs.
    pub(super) fn next_file(&mut self) {
        self.global = JobDraft::new();
        self.stonewall_next = true;
    }

    /// Adds a section of a job file.
    pub(super) fn section(&mut self, section: Section) -> Result<(), FioError> {
        let Section {
            name,
            place,
            mut entries,
        } = section;
        let within = |error: FioError| error.within(&name);
        let mut unset = Vec::new();
        for entry in &mut entries {
            for note in self.replace(entry).map_err(within)? {
                unset.push((entry.place.clone(), note));
            }
        }
        // The cause of a wrong value may be a variable that is not set.
        self.options(&name, &place, entries).map_err(|mut error| {
            for (_, note) in unset.iter().filter(|(place, _)| *place == error.place) {
                error.problem = format!("{}; {note}", error.problem);
            }
            error
        })
    }

    /// Applies the options of a section after substitution.
    pub(super) fn options(
        &mut self,
        name: &str,
        place: &OptionLocation,
        mut entries: Vec<IniEntry>,
    ) -> Result<(), FioError> {
        let within = |error: FioError| error.within(name);
        entries.sort_by_key(|entry| order(&entry.name));
        if super::ini::is_global(name) {
            let mut global = std::mem::replace(&mut self.global, JobDraft::new());
            let result = self.apply_all(&mut global, entries, name);
            global.engine_options.clear();
            self.global = global;
            return result.map_err(within);
        }
        // No job needs the texts of global sections, which may be many, so they
        // are not cloned.
        let texts = std::mem::take(&mut self.global.texts);
        let mut job = self.global.clone();
        self.global.texts = texts;
        name.clone_into(&mut job.section);
        self.apply_all(&mut job, entries, name).map_err(within)?;
        self.job(job, place).map_err(within)
    }

    /// Substitutes variables in a line of a file. Returns notes on variables
    /// that are not set.
    fn replace(&mut self, entry: &mut IniEntry) -> Result<Vec<String>, FioError> {
        let Some(value) = &mut entry.value else {
            return Ok(Vec::new());
        };
        let mut notes = Vec::new();
        *value = substitute(value, self.env, &mut notes)
            .map_err(|problem| at_option(entry.place.clone(), &entry.name, None, problem))?;
        for note in &notes {
            self.warnings
                .push(format!("{}: {}: {note}", entry.place, entry.name));
        }
        Ok(notes)
    }

    fn apply_all(
        &mut self,
        job: &mut JobDraft,
        entries: Vec<IniEntry>,
        name: &str,
    ) -> Result<(), FioError> {
        entries
            .into_iter()
            .try_for_each(|entry| self.apply(job, entry, name))
    }

    fn apply(
        &mut self,
        job: &mut JobDraft,
        entry: IniEntry,
        section: &str,
    ) -> Result<(), FioError> {
        let IniEntry { name, value, place } = entry;
        let option = options::find(&name).ok_or_else(|| FioError {
            option: None,
            ..FioError::at(place.clone(), unknown(&name))
        })?;
        let fail = |problem: String| at_option(place.clone(), &name, value.as_deref(), problem);
        self.check_support(option, value.as_deref(), &place)
            .map_err(fail)?;
        let mut reader = OptionReader {
            base_1000: job.stream.stats.kb_base_1000,
            env: self.env,
            notes: Vec::new(),
        };
        reader.apply(option, value.as_deref(), job).map_err(fail)?;
        for note in reader.notes {
            self.warnings
                .push(format!("{place}: [{section}] {name}: {note}"));
        }
        if let Some(parsing) = &mut self.parsing {
            parsing.push(shown(&place, &name, value.as_deref()));
            if option.name == "steadystate" {
                parsing.extend(job.steady.map(limit));
            }
        }
        if !option.engines.is_empty() {
            job.engine_options.push((option.name, place));
        }
        if !job.is_given(option.name) {
            job.given.push(option.name);
        }
        job.value_bytes += value.as_ref().map_or(0, String::len);
        job.texts.push((option.name.to_owned(), value));
        Ok(())
    }

    /// Refuses unsupported options. Adds one note for each option without
    /// effect.
    fn check_support(
        &mut self,
        option: &'static OptionDef,
        value: Option<&str>,
        place: &OptionLocation,
    ) -> Result<(), String> {
        match option.support {
            Support::Works | Support::Differs(_) => Ok(()),
            Support::NoEffect(why) => {
                if self.noted.insert(option.name) {
                    let name = option.name;
                    self.notes
                        .push(format!("{place}: {name} has no effect: {why}"));
                }
                Ok(())
            }
            Support::Refused(_) if value == Some(option.default) && !option.default.is_empty() => {
                Ok(())
            }
            Support::Refused(why) => Err(format!("fio's option is not supported: {why}")),
        }
    }

    /// Makes the streams of a job.
    fn job(&mut self, mut job: JobDraft, place: &OptionLocation) -> Result<(), FioError> {
        let fail = |problem: String| FioError::at(place.clone(), problem);
        check_engine_options(&job)?;
        let notes = resolve(&mut job, self.readonly).map_err(fail)?;
        let label = job.stream.name.clone();
        self.warnings.extend(
            notes
                .into_iter()
                .map(|note| format!("{place}: [{label}] {note}")),
        );
        self.check_wait_for(&job).map_err(fail)?;
        self.jobs = self.jobs.saturating_add(job.copies);
        if self.jobs > self.most_jobs {
            let most = self.most_jobs;
            return Err(fail(format!(
                "more than {most} jobs; --max-jobs=N allows more"
            )));
        }
        self.check_memory(&job).map_err(fail)?;
        *self.sections.entry(label).or_default() += 1;
        if self.dry {
            return Ok(());
        }
        self.exit_all |= job.exit_all;
        self.enter_group(&job);
        let special = job.names.named.is_empty()
            && job.names.count == 1
            && self.env.is_special(Path::new(&job.section));
        // fio makes the copies from the last to the first.
        for clone in std::iter::once(0).chain((1..job.copies).rev()) {
            self.stream(&job, clone, special).map_err(fail)?;
        }
        Ok(())
    }

    /// Refuses jobs that would use too much memory, before any stream is made.
    fn check_memory(&mut self, job: &JobDraft) -> Result<(), String> {
        const NEEDLESS: &str = "use fewer files (nrfiles) or copies (numjobs)";
        let size = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let path = size(size_of::<PathBuf>());
        let names = match job.names.named.len() {
            0 => {
                let directory = job.names.directories.iter().map(String::len).max();
                let name = names::made_up(job, 0, 0)?.len() + directory.unwrap_or(0);
                job.names.count.saturating_mul(path + size(name))
            }
            named => size(named).saturating_mul(path),
        };
        let patterns = job.verify.pattern.bytes.len() + job.buffer_pattern.bytes.len();
        let values = 2 * size(job.value_bytes) + size(patterns);
        let bytes = names.saturating_add(values).saturating_mul(job.copies);
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes <= MOST_BYTES {
            true => Ok(()),
            false => Err(format!(
                "names and values of the jobs take more than {} MiB of memory; {NEEDLESS}",
                MOST_BYTES >> 20
            )),
        }
    }

    fn check_wait_for(&self, job: &JobDraft) -> Result<(), String> {
        let Some(other) = &job.stream.schedule.wait_for else {
            return Ok(());
        };
        if *other == job.section {
            return Err("wait_for: a job cannot wait for itself".to_owned());
        }
        match self.sections.get(other) {
            None => Err(format!("wait_for: there is no job '{other}' above")),
            Some(1) => Ok(()),
            Some(_) => Err(format!(
                "wait_for: there are several jobs '{other}'; give them different names"
            )),
        }
    }

    /// Updates the wave and group for the next job.
    fn enter_group(&mut self, job: &JobDraft) {
        let stonewall = job.stonewall || std::mem::take(&mut self.stonewall_next);
        let first = self.streams.is_empty();
        if stonewall && !first {
            self.wave += 1;
        }
        if (stonewall || job.new_group) && !first {
            self.group += 1;
        }
    }

    /// Returns the number of the stream's line in the report. With
    /// `group_reporting`, a stream shares the line of the stream before it in
    /// the same group.
    fn report_of(&mut self, stream: &Stream) -> u32 {
        if !stream.stats.shown {
            return self.report.map_or(0, |(report, _)| report);
        }
        let report = match self.report {
            None => 0,
            Some((report, group)) if stream.stats.group_reporting && group == self.group => report,
            Some((report, _)) => report + 1,
        };
        self.report = Some((report, self.group));
        report
    }

    fn stream(&mut self, job: &JobDraft, clone: u64, special: bool) -> Result<(), String> {
        let mut stream = job.stream.clone();
        stream.number = u32::try_from(self.texts.len() + 1).unwrap_or(u32::MAX);
        stream.clone = u32::try_from(clone).unwrap_or(u32::MAX);
        stream.group = self.group;
        stream.wave = self.wave;
        stream.report = self.report_of(&stream);
        stream.files.named = !job.names.named.is_empty() || special;
        let no_names = stream.trace.read.is_some() || stream.files.opendir.is_some();
        if stream.files.named || !no_names {
            stream.files.paths = names::paths(job, clone, special)?;
        }
        let files = u64::try_from(stream.files.paths.len()).unwrap_or(u64::MAX);
        let open = if job.names.open < files {
            job.names.open
        } else {
            0
        };
        stream.files.open_at_once = u32::try_from(open).unwrap_or(0);
        stream.schedule.exit_all = Some(job.exit_what);
        if let Some(list) = stream.trace.read.take() {
            let list = names::split_list(&list.to_string_lossy());
            stream.trace.read = names::in_turn(&list, clone).map(PathBuf::from);
        }
        self.streams.push(stream);
        self.texts.push(JobText {
            options: job.texts.clone(),
        });
        Ok(())
    }

    /// Applies `exitall` of one job to all jobs, as in fio.
    pub(super) fn finish(&mut self) {
        if !self.exit_all {
            for stream in &mut self.streams {
                stream.schedule.exit_all = None;
            }
        }
    }
}

/// Refuses options of other engines than the job's. Global sections may contain
/// options for the engines of other jobs.
fn check_engine_options(job: &JobDraft) -> Result<(), FioError> {
    for (name, place) in &job.engine_options {
        let engines = options::find(name).map_or(&[][..], |option| option.engines);
        if !engines.contains(&job.engine.as_str()) {
            let problem = format!(
                "the engine {} has no such option; it belongs to {}",
                job.engine,
                engines.join(", ")
            );
            return Err(at_option(place.clone(), name, None, problem));
        }
    }
    Ok(())
}

/// Position in which an option is applied: some options decide how others are
/// parsed, regardless of their order in a file.
fn order(name: &str) -> u8 {
    match name {
        "kb_base" | "unit_base" => 0,
        "ioengine" => 1,
        _ => 2,
    }
}

/// Formats a parsed option: `command line: bs=4k`.
fn shown(place: &OptionLocation, name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{place}: {name}={value}"),
        None => format!("{place}: {name}"),
    }
}

/// Formats the limit of a steady state with the words that fio's own tests
/// search for.
fn limit((criterion, limit, percent): (SteadyCriterion, f64, bool)) -> String {
    match criterion {
        _ if percent => format!("set steady state threshold to {limit:.6}%"),
        SteadyCriterion::Iops | SteadyCriterion::IopsSlope => {
            format!("set steady state IOPS threshold to {limit:.6}")
        }
        SteadyCriterion::Bw | SteadyCriterion::BwSlope => {
            format!("set steady state BW threshold to {limit:.0}")
        }
        SteadyCriterion::Lat | SteadyCriterion::LatSlope => {
            format!("set steady state latency threshold to {limit:.6}")
        }
    }
}

fn at_option(place: OptionLocation, name: &str, value: Option<&str>, problem: String) -> FioError {
    let option = match value {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    };
    FioError {
        option: Some(option),
        ..FioError::at(place, problem)
    }
}

fn unknown(name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    match nearest(name, options::names()) {
        Some(near) => format!("there is no option '{shown}'; did you mean '{near}'?"),
        None => format!("there is no option '{shown}'; 'assay fio --cmdhelp' lists them"),
    }
}
