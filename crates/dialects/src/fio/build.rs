//! Builds a load from the sections of job files: inheritance, copies, waves, groups. A section
//! consists of `name=value` lines, in which `${VARIABLE}`, `$ncpus`, `$mb_memory` and `$pagesize`
//! are substituted.

use super::options::{OptionDef, OptionReader, Support, resolve};
use super::value::Domain;
use super::{Environment, FioError, JobDraft, JobText, OptionLocation, options, shortened, value};
use assay_model::load::Stream;
use assay_model::load::report::SteadyCriterion;
use assay_model::text::nearest;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
        if is_global(name) {
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
                let name = super::made_up(job, 0, 0)?.len() + directory.unwrap_or(0);
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
            stream.files.paths = super::paths(job, clone, special)?;
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
            let list = super::split_list(&list.to_string_lossy());
            stream.trace.read = super::in_turn(&list, clone).map(PathBuf::from);
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

/// Option as written.
#[derive(Clone, Debug)]
pub(super) struct IniEntry {
    /// Name of the option.
    pub(super) name: String,
    /// Text after the `=`; `None` without one.
    pub(super) value: Option<String>,
    /// Position of the entry.
    pub(super) place: OptionLocation,
}

/// Section of a job file.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Text between the brackets.
    pub(super) name: String,
    /// Position of the section's start.
    pub(super) place: OptionLocation,
    /// Lines of the section, including those of included files.
    pub(super) entries: Vec<IniEntry>,
}

impl Section {
    /// Returns true if the options apply to the jobs below.
    pub(super) fn is_global(&self) -> bool {
        is_global(&self.name)
    }
}

/// Returns true for a global section. fio takes any name with this prefix as
/// global.
pub(super) fn is_global(name: &str) -> bool {
    name.starts_with("global")
}

/// Largest depth of nested include files.
const DEEPEST: usize = 16;
/// Largest number of included files in a section.
const MOST_INCLUDES: usize = 256;

/// Reads a job file and calls `each` with its sections in order. Skips sections
/// for which `wanted` returns false, without checking their options.
pub(super) fn read(
    path: &Path,
    env: &dyn Environment,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(Section) -> Result<(), FioError>,
) -> Result<(), FioError> {
    let text = contents(path, env, &OptionLocation::command_line())?;
    let mut file = File {
        env,
        path: path.to_owned(),
        label: label(path),
        includes: 0,
    };
    let mut current: Option<Section> = None;
    let mut skipping = false;
    for (line, place) in file.lines(&text) {
        readable(line, &place)?;
        if let Some(header) = line.strip_prefix('[') {
            if let Some(section) = current.take() {
                each(section)?;
            }
            let name = header.strip_suffix(']').ok_or_else(|| {
                let shown = shortened(header);
                FioError::at(place.clone(), format!("'[{shown}' has no closing ']'"))
            })?;
            file.includes = 0;
            skipping = !wanted(name);
            current = (!skipping).then(|| Section {
                name: name.to_owned(),
                place,
                entries: Vec::new(),
            });
        } else if let Some(section) = &mut current {
            let open = vec![path.to_owned()];
            file.option(line, place, &open, &mut section.entries)
                .map_err(|error| error.within(&section.name))?;
        } else if !skipping {
            return Err(FioError::at(
                place,
                format!(
                    "'{}' is outside of any section: begin one with [name]",
                    shortened(line)
                ),
            ));
        }
    }
    current.map_or(Ok(()), each)
}

/// Job file being read.
struct File<'a> {
    env: &'a dyn Environment,
    path: PathBuf,
    label: Arc<str>,
    includes: usize,
}

fn label(path: &Path) -> Arc<str> {
    match path.to_str() {
        Some("-") => "standard input".into(),
        _ => path.display().to_string().into(),
    }
}

impl File<'_> {
    /// Returns lines without comments and surrounding blanks, with their
    /// positions. Skips empty lines.
    fn lines<'t>(
        &self,
        text: &'t str,
    ) -> impl Iterator<Item = (&'t str, OptionLocation)> + use<'t> {
        let label = Arc::clone(&self.label);
        text.lines().zip(1_u32..).filter_map(move |(line, number)| {
            let line = line.split([';', '#']).next().unwrap_or("");
            let line = line.trim_matches(|c: char| c.is_whitespace() || c.is_control());
            (!line.is_empty()).then(|| {
                let file = Some(Arc::clone(&label));
                (line, OptionLocation { file, line: number })
            })
        })
    }

    /// Adds an option, or the options of an included file. `open` lists the
    /// files being read, each included by the one before.
    fn option(
        &mut self,
        line: &str,
        place: OptionLocation,
        open: &[PathBuf],
        into: &mut Vec<IniEntry>,
    ) -> Result<(), FioError> {
        let included = line
            .strip_prefix("include")
            .filter(|rest| rest.starts_with(char::is_whitespace));
        if let Some(name) = included {
            return self.include(Path::new(name.trim()), &place, open, into);
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        into.push(IniEntry {
            name: name.to_owned(),
            value,
            place,
        });
        Ok(())
    }

    /// Reads an included file. A relative name is tried as it is, then in the
    /// folder of the including file.
    fn include(
        &mut self,
        name: &Path,
        place: &OptionLocation,
        open: &[PathBuf],
        into: &mut Vec<IniEntry>,
    ) -> Result<(), FioError> {
        self.includes += 1;
        if open.len() > DEEPEST || self.includes > MOST_INCLUDES {
            return Err(FioError::at(
                place.clone(),
                "too many files include each other",
            ));
        }
        let including = open.last().unwrap_or(&self.path);
        let beside = including.parent().map(|parent| parent.join(name));
        let (path, text) = match (contents(name, self.env, place), beside) {
            (Ok(text), _) => (name.to_owned(), text),
            (Err(error), None) => return Err(error),
            (Err(_), Some(beside)) => {
                let text = contents(&beside, self.env, place)?;
                (beside, text)
            }
        };
        if open.contains(&path) {
            let problem = format!("'{}' includes itself", path.display());
            return Err(FioError::at(place.clone(), problem));
        }
        let outer = std::mem::replace(&mut self.label, label(&path));
        let mut open = open.to_vec();
        open.push(path);
        let result = self.included(&text, &open, into);
        self.label = outer;
        result
    }

    fn included(
        &mut self,
        text: &str,
        open: &[PathBuf],
        into: &mut Vec<IniEntry>,
    ) -> Result<(), FioError> {
        for (line, place) in self.lines(text) {
            readable(line, &place)?;
            if line.starts_with('[') {
                return Err(FioError::at(
                    place,
                    "an included file may not begin sections",
                ));
            }
            self.option(line, place, open, into)?;
        }
        Ok(())
    }
}

/// Refuses a line that is not UTF-8, whose lossy conversion could name another
/// file, or that contains a NUL.
fn readable(line: &str, place: &OptionLocation) -> Result<(), FioError> {
    let problem = if line.contains(char::REPLACEMENT_CHARACTER) {
        "is not UTF-8"
    } else if line.contains('\0') {
        "holds a NUL character"
    } else {
        return Ok(());
    };
    let problem = format!("'{}' {problem}", shortened(line));
    Err(FioError::at(place.clone(), problem))
}

/// Returns the text of a file without a byte order mark. Bytes that are not
/// UTF-8 are accepted here, because they are harmless in comments.
fn contents(
    path: &Path,
    env: &dyn Environment,
    place: &OptionLocation,
) -> Result<String, FioError> {
    let bytes = env.read(path).map_err(|error| {
        FioError::at(
            place.clone(),
            format!("cannot read '{}': {error}", path.display()),
        )
    })?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// Longest line after substitution; fio's limit is 64 KiB.
const LONGEST: usize = 1 << 16;

/// Substitutes all variables and keywords in a value.
///
/// Variables that are not set are replaced by nothing, as in fio, and noted.
pub(super) fn substitute(
    value: &str,
    env: &dyn Environment,
    notes: &mut Vec<String>,
) -> Result<String, String> {
    if !value.contains('$') {
        return Ok(value.to_owned());
    }
    let value = variables(value, env, notes);
    let replaced = keywords(&value, env);
    if replaced.len() > LONGEST {
        return Err("the line is too long after its variables were put in".to_owned());
    }
    if replaced == value || !is_formula(&replaced) {
        return Ok(replaced);
    }
    let number = value::evaluate(&replaced, Domain::Size)?.integer()?;
    Ok(number.to_string())
}

fn variables(value: &str, env: &dyn Environment, notes: &mut Vec<String>) -> String {
    let mut result = String::new();
    let mut rest = value;
    while let Some(start) = rest.find("${") {
        let (before, at) = rest.split_at(start);
        result.push_str(before);
        let Some(end) = at.find('}') else {
            rest = at;
            break;
        };
        let name = &at[2..end];
        match env.var(name) {
            Some(text) => result.push_str(&text),
            None => notes.push(format!(
                "the variable {name} is not set and counts as empty"
            )),
        }
        rest = &at[end + 1..];
    }
    result + rest
}

fn keywords(value: &str, env: &dyn Environment) -> String {
    value
        .replace("$pagesize", &env.page_bytes().to_string())
        .replace("$mb_memory", &env.memory_mib().to_string())
        .replace("$ncpus", &env.cpus().to_string())
}

/// Returns true for a formula. After a keyword, formulas need no parentheses:
/// `size=$mb_memory*2`.
fn is_formula(value: &str) -> bool {
    value.contains(['+', '-', '*', '/'])
        && value
            .chars()
            .all(|c| c.is_ascii_digit() || " +-*/%^().".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::tests::TestEnvironment;

    #[test]
    fn variables_and_keywords_are_replaced() {
        let env = TestEnvironment::default().with_var("DEV", "/dev/sdx");
        let mut notes = Vec::new();
        let mut read = |value| substitute(value, &env, &mut notes).expect("a value");
        assert_eq!(read("${DEV}1"), "/dev/sdx1");
        assert_eq!(read("$ncpus*2"), "8");
        assert_eq!(read("$pagesize"), "4096");
        assert_eq!(read("${DEV"), "${DEV");
        assert_eq!(read("/a$ncpus/b"), "/a4/b");
        assert_eq!(read("a${MISSING}b"), "ab");
        assert_eq!(notes.len(), 1);
    }
}
