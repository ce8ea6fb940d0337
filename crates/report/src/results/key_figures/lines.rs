//! Lines of key figures: the speed of the device at common tasks.

use super::KeyFigure;
use super::over::{Over, View, views};
use crate::results::describe;
use crate::results::findings::{losses, scenario};
use crate::results::summary::{Figure, Group, JobSummary, JudgedTrial, Summary};
use crate::results::write_mode::WriteMode;
use crate::words::format::quantity;
use crate::words::labels::Labels;
use crate::words::text::clean;
use assay_lang::{counted, tr};
use assay_model::job::{Job, Rw};
use assay_model::units::{Bytes, Nanos};
use assay_stats::course::Course;
use std::cmp::Reverse;

/// Returns every line that the run has figures for.
pub fn all(summary: &Summary<'_>) -> Vec<KeyFigure> {
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
                told(&found)
            ))
        });
        line(&clean(name), &words.collect::<Vec<_>>())
    });
    told_of.collect()
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
    words.extend(read.map(|read| tr!("read {figure}", figure = told(&read))));
    words.extend(written.map(|written| tr!("write {figure}", figure = told(&written))));
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
            Group::RandomRead => tr!("read {figure}", figure = told(&found)),
            _ => tr!("write {figure}", figure = told(&found)),
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
    let totals = scenario::totals(summary);
    let all: Vec<String> = totals
        .iter()
        .map(|(name, total)| format!("{name} {}", quantity(total.unit, total.stats.median)))
        .collect();
    let late = scenario::late(summary);
    let mut words: Vec<String> = (!all.is_empty())
        .then(|| all.join(", "))
        .into_iter()
        .collect();
    if !late.is_empty() {
        words.push(tr!("late in {steps}", steps = late.join(", ")));
    }
    line(tr!("Scenarios"), &words)
}

pub(super) fn line(subject: &str, words: &[String]) -> Option<KeyFigure> {
    (!words.is_empty()).then(|| KeyFigure {
        subject: subject.to_owned(),
        text: words.join("; "),
    })
}

/// Formats a figure with its label: `15.9 MB/s flushed`.
fn told(found: &Over<'_>) -> String {
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
