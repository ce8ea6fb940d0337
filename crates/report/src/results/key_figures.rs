//! Key figures of a run in a few lines: the actual speed of the device, and whether the figures are
//! trustworthy. They use only figures, labels and warnings. In a sweep, a figure is a range over
//! the conditions, with the conditions of its ends.

use crate::results::findings::losses;
use crate::results::findings::memory::{latency_set, threads_of_copy};
use crate::results::summary::WriteMode;
use crate::results::summary::{Figure, Group, JobSummary, JudgedTrial, Summary};
use crate::results::sweep::{Verdicts, plain_name};
use crate::results::warnings::{Doubt, Warning};
use crate::results::{describe, findings};
use crate::words::labels::Labels;
use crate::words::{clean, quantity, range};
use assay_lang::{counted, tr};
use assay_model::job::{Job, Rw};
use assay_model::units::{Bytes, Nanos};
use assay_stats::course::Course;
use std::cmp::Reverse;
use std::rc::Rc;

/// Line with a subject and its figures. Safe to display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFigure {
    /// Subject, for example `Sequential`.
    pub subject: String,
    /// Figures, for example `read 166 MB/s; write 15.9 MB/s not flushed`.
    pub text: String,
}

/// Trustworthiness of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// Reliable: the evidence raises no doubt.
    Yes,
    /// Less exact than they look.
    WithCare,
    /// Partly missing or misleading.
    InPart,
    /// None of the figures is the device's.
    No,
}

/// Key figures of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFigures {
    /// Lines of figures, one per subject.
    pub lines: Vec<KeyFigure>,
    /// Trustworthiness of the figures.
    pub belief: Belief,
    /// Reason in one sentence that begins with the answer.
    pub because: String,
}

/// Maximum number of reasons; the warnings contain all.
const REASONS: usize = 3;

impl KeyFigures {
    /// Derives the key figures of a run with its warnings.
    pub fn of(summary: &Summary<'_>, warnings: &[Warning]) -> Self {
        let mut doubts: Vec<Doubt> = warnings.iter().filter_map(Warning::doubt).collect();
        if summary.jobs.iter().any(JobSummary::is_cuts) {
            return Self::of_cuts();
        }
        let is_of_memory = summary.is_of_memory();
        doubts.extend(is_of_memory.then(|| main_memory_doubt(summary)).flatten());
        let belief = belief(summary, &doubts);
        Self {
            lines: match is_of_memory {
                true => main_memory_lines(summary),
                false => all(summary),
            },
            belief,
            because: because(belief, &doubts, summary),
        }
    }

    /// Returns the key figures of power cuts, which have a separate verdict and no figures.
    fn of_cuts() -> Self {
        let because = tr!(
            "yes: each cut is proved by another start of the kernel, and what was checked was read after it"
        );
        Self {
            lines: Vec::new(),
            belief: Belief::Yes,
            because: because.to_owned(),
        }
    }
}

fn belief(summary: &Summary<'_>, doubts: &[Doubt]) -> Belief {
    let has = |wanted: fn(&Doubt) -> bool| doubts.iter().any(wanted);
    let seen = summary.jobs.iter().any(|job| match summary.is_of_memory() {
        true => job.completed().next().is_some(),
        false => {
            let labels = job.labels(None);
            labels.has("device") || labels.has("device-unflushed")
        }
    });
    if !seen || has(|doubt| matches!(doubt, Doubt::All(_))) {
        Belief::No
    } else if has(|doubt| matches!(doubt, Doubt::Some(_))) {
        Belief::InPart
    } else if doubts.is_empty() {
        Belief::Yes
    } else {
        Belief::WithCare
    }
}

/// Returns true if all figures come from a model.
fn is_simulated(summary: &Summary<'_>) -> bool {
    let mut labels = summary.jobs.iter().map(|job| job.labels(None));
    labels.any(|labels| labels.agreed() == Some("simulated"))
}

fn is_repeated(summary: &Summary<'_>) -> bool {
    summary.jobs.iter().any(|job| job.completed().count() > 1)
}

fn because(belief: Belief, doubts: &[Doubt], summary: &Summary<'_>) -> String {
    let mut doubts: Vec<&Doubt> = doubts.iter().collect();
    doubts.sort_by_key(|doubt| match doubt {
        Doubt::All(_) => 0,
        Doubt::Some(_) => 1,
        Doubt::Exactness(_) => 2,
    });
    let reasons: Vec<&str> = doubts
        .iter()
        .map(|doubt| match doubt {
            Doubt::All(why) | Doubt::Some(why) | Doubt::Exactness(why) => why.as_str(),
        })
        .take(REASONS)
        .collect();
    let reasons = match doubts.len().saturating_sub(REASONS) {
        0 => reasons.join("; "),
        more => tr!("{reasons}; {more} more", reasons = reasons.join("; "), more),
    };
    match belief {
        Belief::Yes if summary.is_of_memory() => {
            tr!("yes: nothing in the evidence speaks against it").to_owned()
        }
        Belief::No if summary.is_of_memory() && reasons.is_empty() => {
            tr!("no: nothing was measured").to_owned()
        }
        Belief::Yes if !is_repeated(summary) => {
            tr!("yes: these bytes were seen at the device").to_owned()
        }
        Belief::Yes => tr!("yes: these bytes were seen at the device, and trials agree").to_owned(),
        Belief::WithCare => tr!("with care: {reasons}", reasons),
        Belief::InPart => tr!("in part: {reasons}", reasons),
        Belief::No if is_simulated(summary) => {
            tr!("no: a model of a device computed them, nothing was measured").to_owned()
        }
        Belief::No if reasons.is_empty() => tr!("no: nothing was seen at a device").to_owned(),
        Belief::No => tr!("no: {reasons}", reasons),
    }
}

/// Returns every line that the run has figures for.
fn all(summary: &Summary<'_>) -> Vec<KeyFigure> {
    let views = views(summary);
    let mut lines: Vec<KeyFigure> = lost(summary).into_iter().collect();
    lines.extend(sequential(&views));
    lines.extend(small_random(&views, false));
    lines.extend(small_random(&views, true));
    lines.extend(durable_append(&views));
    lines.extend(sustained(&views));
    lines.extend(scenarios(summary));
    lines.extend(others(&views));
    lines
}

/// Number of jobs up to which each job of a run has a line.
const FEW_JOBS: usize = 6;

/// Returns lines for the remaining jobs of a run with few jobs, which the user selected by name.
fn others<'a>(views: &[View<'a>]) -> Vec<KeyFigure> {
    if views.iter().any(|view| view.jobs.len() > FEW_JOBS) {
        return Vec::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for view in views {
        let shown = [
            direct(view, Rw::Read),
            direct(view, Rw::Write),
            smallest(view, Group::RandomRead, false),
            smallest(view, Group::RandomRead, true),
            smallest(view, Group::RandomWrite, false),
            smallest(view, Group::RandomWrite, true),
            append(view),
            group(view, Group::Sustained).next(),
        ];
        for job in &view.jobs {
            let name = view.name_of(job);
            let flushed = flushed_write(view).is_some_and(|figure| figure.job == job.job.name);
            let mut shown = shown.iter().flatten();
            let has_line = flushed || shown.any(|shown| shown.job.name == job.job.name);
            let is_other = !has_line && job.group != Group::Act && !job.is_cell() && !job.is_soak();
            if is_other && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let told_of = names.into_iter().filter_map(|name| {
        let job = |view: &'_ View<'a>| view.jobs.iter().position(|job| view.name_of(job) == name);
        let figures = views
            .iter()
            .find_map(|view| Some(view.jobs[job(view)?].headlines()))?;
        let words = figures.iter().filter_map(|figure| {
            let own = |view: &View<'a>| view.jobs[job(view)?].figure(&figure.name);
            let found = Over::of(views, own)?;
            Some(format!(
                "{} {}",
                describe::metric(&figure.name),
                with_label(&found)
            ))
        });
        line(&clean(name), &words.collect::<Vec<_>>())
    });
    told_of.collect()
}

/// Returns the figures of the lines of a run, each with its name; all figures of the first jobs if no
/// line has any. Empty for a run under several conditions, and for main memory.
pub fn scaled(summary: &Summary<'_>) -> Vec<(String, Figure)> {
    let views = views(summary);
    let [view] = views.as_slice() else {
        return Vec::new();
    };
    if summary.is_of_memory() {
        return Vec::new();
    }
    let mut found: Vec<(String, Figure)> = Vec::new();
    let mut add = |subject: &str, figure: Option<Figure>| {
        found.extend(figure.map(|figure| {
            let name = format!("{subject} {}", describe::metric(&figure.name));
            (name, figure)
        }));
    };
    let read = direct(view, Rw::Read).and_then(|job| job.figure("read_bw"));
    add(tr!("Sequential"), read);
    add(tr!("Sequential"), direct_write(view));
    add(tr!("Flushed"), flushed_write(view));
    let sustained = group(view, Group::Sustained).next();
    add(
        tr!("Sustained"),
        sustained.and_then(|job| job.figure("write_bw")),
    );
    for deep in [false, true] {
        for group in [Group::RandomRead, Group::RandomWrite] {
            let job = smallest(view, group, deep);
            let figure = job.and_then(|job| job.headlines().into_iter().next());
            add(
                &job.map_or_else(String::new, |job| random_subject(job.job)),
                figure,
            );
        }
    }
    if let Some(job) = append(view) {
        let name = format!("{}_lat_p50", describe::DURABLE_WRITE);
        let figure = job.figure(&name).or_else(|| job.figure("flush_lat_p50"));
        let append = tr!("Append {block}", block = job.job.bs);
        found.extend(figure.map(|figure| (append, figure)));
    }
    if found.is_empty() {
        let jobs = view.jobs.iter().filter(|job| !job.is_cell());
        let few = jobs.take(FEW_JOBS).flat_map(|job| {
            let name = clean(&job.job.name);
            let figures = job.headlines().into_iter();
            figures
                .map(move |figure| (format!("{name} {}", describe::metric(&figure.name)), figure))
        });
        found.extend(few);
    }
    found
}

/// Reports lost data, which precedes any rate.
fn lost(summary: &Summary<'_>) -> Option<KeyFigure> {
    let losses = losses(summary);
    let first = &losses.first()?.first;
    line(tr!("Data kept?"), &[tr!("no: {first}", first)])
}

/// Returns the jobs of one group, in reading order.
fn group<'v, 'a>(view: &'v View<'a>, group: Group) -> impl Iterator<Item = &'v JobSummary<'a>> {
    view.jobs.iter().filter(move |job| job.group == group)
}

/// Describes direct sequential transfers; if writes are not flushed, also the ladder's rate with a
/// flush at the end.
fn sequential(views: &[View<'_>]) -> Option<KeyFigure> {
    let read = Over::of(views, |view| direct(view, Rw::Read)?.figure("read_bw"));
    let written = Over::of(views, direct_write);
    let flushed = Over::of(views, flushed_write);
    let mut words: Vec<String> = Vec::new();
    words.extend(read.map(|read| tr!("read {figure}", figure = with_label(&read))));
    words.extend(written.map(|written| tr!("write {figure}", figure = with_label(&written))));
    words.extend(flushed.map(|flushed| {
        let figure = flushed.value() + &flushed.under();
        tr!("write with one flush at the end {figure}", figure)
    }));
    line(tr!("Sequential"), &words)
}

fn direct<'v, 'a>(view: &'v View<'a>, rw: Rw) -> Option<&'v JobSummary<'a>> {
    let jobs = view.jobs.iter();
    let apart = |group| matches!(group, Group::Sustained | Group::Act);
    let found = jobs.filter(|job| job.job.rw == rw && job.job.direct && !apart(job.group));
    found.max_by_key(|job| (job.group != Group::WriteLadder, job.job.bs))
}

fn direct_write(view: &View<'_>) -> Option<Figure> {
    direct(view, Rw::Write)?.figure("write_bw")
}

/// Returns the ladder's rate with a flush at the end, unless the direct write includes one.
fn flushed_write(view: &View<'_>) -> Option<Figure> {
    let is_durable = |figure: &Figure| figure.labels.agreed() == Some("device");
    let flushed = group(view, Group::WriteLadder)
        .find(|job| WriteMode::of(job.job) == WriteMode::FlushAtEnd)?
        .figure("write_bw")?;
    let is_news = !direct_write(view).is_some_and(|written| is_durable(&written));
    (is_durable(&flushed) && is_news).then_some(flushed)
}

/// Describes random I/O of the smallest blocks, at depth 1 or at the largest depth. Reads and
/// writes share a line if block size and depth are the same.
fn small_random(views: &[View<'_>], deep: bool) -> Vec<KeyFigure> {
    let mut told_of: Vec<(String, Vec<String>)> = Vec::new();
    for group in [Group::RandomRead, Group::RandomWrite] {
        let figure = |view: &View<'_>| smallest(view, group, deep)?.headlines().into_iter().next();
        let job = views.iter().find_map(|view| smallest(view, group, deep));
        let (Some(job), Some(found)) = (job, Over::of(views, figure)) else {
            continue;
        };
        let words = match group {
            Group::RandomRead => tr!("read {figure}", figure = with_label(&found)),
            _ => tr!("write {figure}", figure = with_label(&found)),
        };
        let subject = random_subject(job.job);
        match told_of.iter_mut().find(|(known, _)| *known == subject) {
            Some((_, all)) => all.push(words),
            None => told_of.push((subject, vec![words])),
        }
    }
    let lines = told_of.iter();
    lines
        .filter_map(|(subject, words)| line(subject, words))
        .collect()
}

fn smallest<'v, 'a>(view: &'v View<'a>, of: Group, deep: bool) -> Option<&'v JobSummary<'a>> {
    let jobs = group(view, of).filter(|job| (job.job.iodepth > 1) == deep);
    jobs.min_by_key(|job| (job.job.bs, Reverse(job.job.iodepth)))
}

fn random_subject(job: &Job) -> String {
    match job.iodepth {
        1 => tr!("Random {bs}", bs = job.bs),
        depth => tr!("{bs}, depth {depth}", bs = job.bs, depth),
    }
}

fn append<'v, 'a>(view: &'v View<'a>) -> Option<&'v JobSummary<'a>> {
    group(view, Group::Fsync).next()
}

fn durable_append(views: &[View<'_>]) -> Option<KeyFigure> {
    let of = |percentile: &str| {
        // Runs of older versions only measured the flush itself.
        let found = |subject: &str| {
            let name = format!("{subject}_lat_{percentile}");
            Over::of(views, |view| append(view)?.figure(&name))
        };
        found(describe::DURABLE_WRITE).or_else(|| found("flush"))
    };
    let median = of("p50")?;
    let p99 = of("p99");
    let labels = median.labels();
    let text = if labels.agreed() == Some("device") {
        let p99 = p99.map_or_else(String::new, |p99| format!(" (p99 {})", p99.value()));
        tr!(
            "{flush} until it is flushed{p99}",
            flush = median.value(),
            p99
        )
    } else {
        tr!(
            "{flush} a flush{measured}",
            flush = median.value(),
            measured = space(measured(&labels))
        )
    };
    let block = views.iter().find_map(append)?.job.bs;
    line(&tr!("Append {block}", block), &[text + &median.under()])
}

/// Describes one long write, or the median of several, with the longest stall.
fn sustained(views: &[View<'_>]) -> Option<KeyFigure> {
    let jobs = views
        .iter()
        .flat_map(|view| group(view, Group::Sustained).next());
    let trials: Vec<&JudgedTrial<'_>> = jobs.flat_map(JobSummary::completed).collect();
    let timed = trials
        .iter()
        .filter_map(|trial| Some((*trial, trial.course()?)));
    let timed: Vec<(&JudgedTrial<'_>, &Course)> = timed.collect();
    let written = Over::of(views, |view| {
        group(view, Group::Sustained).next()?.figure("write_bw")
    })?;
    let rate = match (trials.as_slice(), timed.as_slice()) {
        ([_], [(_, course)]) if course.levels.len() > 1 => describe::levels(&course.levels),
        ([one], [_]) => {
            let measured = one.measured()?;
            let (bytes, elapsed) = (Bytes(measured.write.bytes), Nanos(measured.elapsed_ns));
            tr!(
                "{rate} over {bytes} in {elapsed}",
                rate = written.value(),
                bytes,
                elapsed
            )
        }
        _ => {
            let trials = counted!(timed.len(), "{n} trial", "{n} trials");
            tr!("{rate}, median of {trials}", rate = written.value(), trials)
        }
    };
    let longest = |(_, course): &&(_, &Course)| course.longest_stall().map(|stall| stall.length);
    let (worst, course) = timed.iter().max_by_key(longest)?;
    let condition = worst
        .record
        .condition
        .as_deref()
        .filter(|_| views.len() > 1);
    let whose = condition.map_or_else(String::new, |name| format!(" ({})", clean(name)));
    let how = measured(&written.labels());
    let stalls = describe::stalls(course) + &whose;
    let words = [format!("{rate}, {how}{}", written.under()), stalls];
    line(tr!("Sustained"), &words)
}

/// Describes the total duration of scenarios, and missed deadlines.
fn scenarios(summary: &Summary<'_>) -> Option<KeyFigure> {
    let totals = findings::totals(summary);
    let all: Vec<String> = totals
        .iter()
        .map(|(name, total)| format!("{name} {}", quantity(total.unit, total.stats.median)))
        .collect();
    let late = findings::late(summary);
    let mut words: Vec<String> = (!all.is_empty())
        .then(|| all.join(", "))
        .into_iter()
        .collect();
    if !late.is_empty() {
        words.push(tr!("late in {steps}", steps = late.join(", ")));
    }
    line(tr!("Scenarios"), &words)
}

fn line(subject: &str, words: &[String]) -> Option<KeyFigure> {
    (!words.is_empty()).then(|| KeyFigure {
        subject: subject.to_owned(),
        text: words.join("; "),
    })
}

/// Formats a figure with its label: `15.9 MB/s flushed`.
fn with_label(found: &Over<'_>) -> String {
    let (value, labels) = (found.value(), found.labels());
    let how = match labels.agreed() {
        Some("device") if found.is_read() => String::new(),
        _ => space(measured(&labels)),
    };
    format!("{value}{how}{}", found.under())
}

fn space(words: String) -> String {
    if words.is_empty() {
        words
    } else {
        format!(" {words}")
    }
}

/// Returns the label of writes as a word or two next to a figure.
fn measured(labels: &Labels) -> String {
    match labels.agreed() {
        Some("device") => tr!("flushed").to_owned(),
        Some("device-unflushed") => tr!("not flushed").to_owned(),
        Some("page-cache") => tr!("in memory").to_owned(),
        Some("simulated") => tr!("simulated").to_owned(),
        Some("mixed") => labels.to_string(),
        Some(_) => tr!("(what it measured is unknown)").to_owned(),
        None if labels.is_empty() => String::new(),
        None => tr!("(trials measured different things)").to_owned(),
    }
}

/// Jobs of a run with their trials under one condition.
#[derive(Debug)]
struct View<'a> {
    /// The condition; `None` if all trials ran under the same one.
    condition: Option<&'a str>,
    /// Jobs with such trials, in reading order.
    pub jobs: Vec<JobSummary<'a>>,
    /// Verdicts on all conditions.
    verdicts: Option<Rc<Verdicts>>,
}

impl<'a> View<'a> {
    /// Returns the name of a job without the condition.
    pub fn name_of(&self, job: &JobSummary<'a>) -> &'a str {
        plain_name(&job.job.name, self.condition.unwrap_or_default())
    }
}

/// Returns a view for each condition, in the order of the plan; a single view for a run without
/// conditions, or with trials under only one.
fn views<'a>(summary: &Summary<'a>) -> Vec<View<'a>> {
    let planned = &summary.run.header.plan.conditions;
    let verdicts = Verdicts::of(summary.run).map(Rc::new);
    let under = |condition: &'a str| {
        let jobs = summary.jobs.iter().map(|job| job.under(condition));
        View {
            condition: Some(condition),
            jobs: jobs.filter(|job| !job.trials.is_empty()).collect(),
            verdicts: verdicts.clone(),
        }
    };
    let each = planned.iter().map(|condition| under(&condition.name));
    let mut views: Vec<View<'a>> = each.filter(|view| !view.jobs.is_empty()).collect();
    if views.len() < 2 {
        views = vec![View {
            condition: None,
            jobs: summary.jobs.clone(),
            verdicts: None,
        }];
    }
    views
}

/// Figure under a condition.
type ConditionFigure<'a> = (Option<&'a str>, Figure);

/// Figure under each condition that has it.
#[derive(Debug)]
struct Over<'a> {
    figures: Vec<ConditionFigure<'a>>,
    views: usize,
    verdicts: Option<Rc<Verdicts>>,
}

impl<'a> Over<'a> {
    /// Collects a figure; `None` if no condition has it.
    pub fn of(views: &[View<'a>], figure: impl Fn(&View<'a>) -> Option<Figure>) -> Option<Self> {
        let found = views
            .iter()
            .filter_map(|view| Some((view.condition, figure(view)?)));
        let figures: Vec<_> = found.collect();
        let verdicts = views.first().and_then(|view| view.verdicts.clone());
        let views = views.len();
        (!figures.is_empty()).then_some(Self {
            figures,
            views,
            verdicts,
        })
    }

    /// Returns the median, or the range of medians: `110 .. 166 MB/s`.
    pub fn value(&self) -> String {
        let (low, high) = self.ends();
        range(low.1.unit, low.1.stats.median, high.1.stats.median)
    }

    /// Returns true if the figure is about reads.
    pub fn is_read(&self) -> bool {
        self.figures
            .iter()
            .any(|(_, figure)| figure.name.starts_with("read"))
    }

    /// Returns the labels over all conditions.
    pub fn labels(&self) -> Labels {
        let labels = self
            .figures
            .iter()
            .flat_map(|(_, figure)| figure.labels.iter());
        labels.cloned().collect()
    }

    /// Names the conditions of the ends in brackets, if a verdict shows that they differ; empty if
    /// there is one condition.
    pub fn under(&self) -> String {
        if self.views < 2 {
            return String::new();
        }
        let (low, high) = self.ends();
        let name = |(condition, _): &ConditionFigure<'_>| clean(condition.unwrap_or_default());
        let alike = |(_, figure): &ConditionFigure<'_>| quantity(figure.unit, figure.stats.median);
        if self.figures.len() == 1 {
            format!(" ({})", name(low))
        } else if alike(low) == alike(high) {
            format!(
                " ({})",
                counted!(self.figures.len(), "{n} condition", "{n} conditions")
            )
        } else if !self.are_apart(low, high) {
            tr!(" (no difference found)").to_owned()
        } else {
            tr!(
                " (least {low}, most {high})",
                low = name(low),
                high = name(high)
            )
        }
    }

    fn are_apart(&self, low: &ConditionFigure<'_>, high: &ConditionFigure<'_>) -> bool {
        let conditions = [low.0.unwrap_or_default(), high.0.unwrap_or_default()];
        let verdicts = self.verdicts.as_ref();
        verdicts.is_some_and(|found| found.tells_apart((&low.1.job, &low.1.name), conditions))
    }

    /// Returns the smallest and the largest figure; a single figure is both.
    fn ends(&self) -> (&ConditionFigure<'a>, &ConditionFigure<'a>) {
        let median = |at: &usize| self.figures[*at].1.stats.median;
        let by_median = |a: &usize, b: &usize| median(a).total_cmp(&median(b));
        let places = 0..self.figures.len();
        let low = places.clone().min_by(by_median).unwrap_or(0);
        let high = places.max_by(by_median).unwrap_or(0);
        (&self.figures[low], &self.figures[high])
    }
}

/// Returns every line that the run has figures for.
fn main_memory_lines(summary: &Summary<'_>) -> Vec<KeyFigure> {
    let views = views(summary);
    let lines = [memory_bandwidth(&views), memory_latency(&views)];
    lines.into_iter().flatten().collect()
}

/// Describes copies with the fewest and with the most threads.
fn memory_bandwidth(views: &[View<'_>]) -> Option<KeyFigure> {
    let words = extremes_of_jobs(views, threads_of_copy)
        .into_iter()
        .filter_map(|threads| {
            let copied = |job: &&JobSummary<'_>| threads_of_copy(job) == Some(threads);
            let found = Over::of(views, |view| {
                view.jobs.iter().find(copied)?.figure("memory_bw")
            })?;
            Some(tr!(
                "copy {rate} with {threads}",
                rate = value_with_label(&found),
                threads = counted!(threads, "{n} thread", "{n} threads")
            ))
        });
    line(tr!("Bandwidth"), &words.collect::<Vec<_>>())
}

/// Describes loads from the smallest and from the largest working set.
fn memory_latency(views: &[View<'_>]) -> Option<KeyFigure> {
    let words = extremes_of_jobs(views, latency_set)
        .into_iter()
        .filter_map(|set| {
            let loaded = |job: &&JobSummary<'_>| latency_set(job) == Some(set);
            let found = Over::of(views, |view| {
                view.jobs.iter().find(loaded)?.figure("memory_lat")
            })?;
            Some(tr!(
                "{latency} in a working set of {set}",
                latency = value_with_label(&found),
                set = Bytes(set)
            ))
        });
    line(tr!("Latency"), &words.collect::<Vec<_>>())
}

/// Returns the smallest and the largest value of the jobs, once if they are equal.
fn extremes_of_jobs<T: Copy + Ord>(
    views: &[View<'_>],
    of: impl Fn(&JobSummary<'_>) -> Option<T>,
) -> Vec<T> {
    let jobs = views.iter().flat_map(|view| &view.jobs);
    let values: Vec<T> = jobs.filter_map(of).collect();
    let (least, most) = (values.iter().min(), values.iter().max());
    let most = most.filter(|most| Some(*most) != least);
    least.into_iter().chain(most).copied().collect()
}

/// Formats a figure with its label.
fn value_with_label(found: &Over<'_>) -> String {
    format!("{} ({}){}", found.value(), found.labels(), found.under())
}

/// Returns the doubt about rates of arrays that fit into a processor's caches.
fn main_memory_doubt(summary: &Summary<'_>) -> Option<Doubt> {
    let rates = summary
        .jobs
        .iter()
        .filter_map(|job| job.figure("memory_bw"));
    let cached = rates.filter(|rate| rate.labels.has("cpu-cache")).count();
    let why = tr!("the caches of the processor can hold the arrays of the rates");
    (cached > 0).then(|| Doubt::Some(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::warnings::collect;
    use crate::testing::{fixture, samples};
    use assay_model::run::Run;
    use assay_model::storage::Backing;

    fn digest(run: &Run) -> KeyFigures {
        let summary = Summary::of(run);
        KeyFigures::of(&summary, &collect(&summary))
    }

    fn text_of<'d>(digest: &'d KeyFigures, subject: &str) -> Option<&'d str> {
        let line = digest.lines.iter().find(|line| line.subject == subject)?;
        Some(&line.text)
    }

    /// Only jobs with nothing to complain about.
    fn calm() -> Run {
        let mut run = fixture::run();
        run.trials.retain(|trial| trial.job.name == "seq-read-1m");
        let planned = &mut run.header.plan.jobs;
        planned.retain(|planned| planned.job.name == "seq-read-1m");
        run
    }

    #[test]
    fn a_write_is_told_flushed_and_not_flushed() {
        let digest = digest(&fixture::run());
        assert_eq!(
            text_of(&digest, "Sequential"),
            Some(
                "read 166 MB/s; write 15.9 MB/s not flushed; write with one flush at the end 15.9 MB/s"
            )
        );
    }

    #[test]
    fn the_answer_begins_with_yes_only_without_any_doubt() {
        let answer = digest(&calm());
        assert_eq!(answer.belief, Belief::Yes);
        assert!(answer.because.starts_with("yes: "), "{}", answer.because);
        let mut two = calm();
        two.trials.pop();
        assert_eq!(digest(&two).belief, Belief::WithCare);
        assert_eq!(digest(&fixture::run()).belief, Belief::InPart);
        assert_eq!(digest(&samples::empty()).belief, Belief::No);
    }

    #[test]
    fn memory_is_never_believed() {
        let mut run = calm();
        let backing = Backing::Memory {
            fs_type: "tmpfs".to_owned(),
        };
        run.header.storage.layers.clear();
        run.header.storage.backing = backing;
        for trial in &mut run.trials {
            trial.evidence.as_mut().unwrap().storage = run.header.storage.clone();
        }
        let digest = digest(&run);
        assert_eq!(digest.belief, Belief::No);
        assert!(digest.because.contains("tmpfs"), "{}", digest.because);
        let sequential = text_of(&digest, "Sequential");
        assert_eq!(sequential, Some("read 166 MB/s in memory"));
    }

    #[test]
    fn a_sustained_write_tells_its_cliff_and_its_longest_stall() {
        let digest = digest(&samples::with_sustained());
        let text = text_of(&digest, "Sustained").unwrap();
        assert!(text.contains("until 1.0 GiB, then 36.5 MB/s"), "{text}");
        assert!(text.contains("2 stalls, the longest 1.31 s"), "{text}");
    }

    /// `bfq` takes so many times as long; trials vary by up to 4 %.
    fn swept(factor: u64) -> Run {
        let mut run = samples::swept();
        for (trial, noise) in run
            .trials
            .iter_mut()
            .zip([0, 3, 1, 4, 2, 0, 4].into_iter().cycle())
        {
            let bfq = trial.condition.as_deref() == Some("scheduler=bfq");
            if let Some(measured) = &mut trial.measured {
                let times = if bfq { factor } else { 1 };
                measured.elapsed_ns = measured.elapsed_ns * times * (100 + noise) / 100;
            }
        }
        run
    }

    #[test]
    fn of_a_sweep_each_figure_is_a_range_whose_ends_are_named_where_a_verdict_tells_them_apart() {
        let run = swept(2);
        for run in [&run, &crate::results::sweep::by_condition(run.clone())] {
            let digest = digest(run);
            let text = text_of(&digest, "Sequential").unwrap();
            assert!(text.starts_with("read 8"), "{text}");
            let named = "MB/s (least scheduler=bfq, most scheduler=none)";
            assert!(text.contains(named), "{text}");
        }
        let mut alone = run;
        alone
            .trials
            .retain(|trial| trial.condition.as_deref() != Some("scheduler=bfq"));
        let text = digest(&alone);
        let text = text_of(&text, "Sequential").unwrap();
        assert!(text.starts_with("read 16") && !text.contains('('), "{text}");
    }

    #[test]
    fn no_condition_is_least_without_a_verdict() {
        let run = swept(1);
        for run in [&run, &crate::results::sweep::by_condition(run.clone())] {
            for line in digest(run).lines {
                assert!(!line.text.contains("least"), "{}", line.text);
            }
            let digest = digest(run);
            let text = text_of(&digest, "Sequential").unwrap();
            assert!(
                text.contains(" .. ") && text.contains("(no difference found)"),
                "{text}"
            );
        }
    }

    #[test]
    fn each_job_of_a_few_that_were_asked_for_has_a_line() {
        let mut run = samples::with_read_ladder();
        let few = ["read-cached", "seq-read-1m", "rand-read-4k"];
        run.trials
            .retain(|trial| few.contains(&trial.job.name.as_str()));
        let planned = &mut run.header.plan.jobs;
        planned.retain(|planned| few.contains(&planned.job.name.as_str()));
        let larger = |job: &Job| Job {
            name: "rand-read-16k".to_owned(),
            bs: Bytes::kib(16),
            ..job.clone()
        };
        for mut trial in run.trials.clone() {
            trial.job = larger(&trial.job);
            run.trials
                .extend((trial.job.rw == Rw::RandRead).then_some(trial));
        }
        let digest = digest(&run);
        for (subject, words) in [
            ("Sequential", "read 166 MB/s"),
            ("Random 4 KiB", "read "),
            ("rand-read-16k", "read "),
            ("read-cached", "in memory"),
        ] {
            let text = text_of(&digest, subject).unwrap_or_else(|| panic!("{subject}: {digest:?}"));
            assert!(text.contains(words), "{subject}: {text}");
        }
        let all = self::digest(&samples::with_read_ladder());
        assert_eq!(text_of(&all, "read-cached"), None, "many are in short");
    }
}
