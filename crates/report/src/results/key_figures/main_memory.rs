//! Key figures of main memory: its copy rate and the latency of a load.

use super::{KeyFigure, Over, View, line, views};
use crate::results::findings::memory::{latency_set, threads_of_copy};
use crate::results::summary::{JobSummary, Summary};
use crate::results::warnings::Doubt;
use assay_lang::{counted, tr};
use assay_model::units::Bytes;

/// Returns every line that the run has figures for.
pub fn all(summary: &Summary<'_>) -> Vec<KeyFigure> {
    let views = views(summary);
    let lines = [bandwidth(&views), latency(&views)];
    lines.into_iter().flatten().collect()
}

/// Describes copies with the fewest and with the most threads.
fn bandwidth(views: &[View<'_>]) -> Option<KeyFigure> {
    let words = ends(views, threads_of_copy)
        .into_iter()
        .filter_map(|threads| {
            let copied = |job: &&JobSummary<'_>| threads_of_copy(job) == Some(threads);
            let found = Over::of(views, |view| {
                view.jobs.iter().find(copied)?.figure("memory_bw")
            })?;
            Some(tr!(
                "copy {rate} with {threads}",
                rate = told(&found),
                threads = counted!(threads, "{n} thread", "{n} threads")
            ))
        });
    line(tr!("Bandwidth"), &words.collect::<Vec<_>>())
}

/// Describes loads from the smallest and from the largest working set.
fn latency(views: &[View<'_>]) -> Option<KeyFigure> {
    let words = ends(views, latency_set).into_iter().filter_map(|set| {
        let loaded = |job: &&JobSummary<'_>| latency_set(job) == Some(set);
        let found = Over::of(views, |view| {
            view.jobs.iter().find(loaded)?.figure("memory_lat")
        })?;
        Some(tr!(
            "{latency} in a working set of {set}",
            latency = told(&found),
            set = Bytes(set)
        ))
    });
    line(tr!("Latency"), &words.collect::<Vec<_>>())
}

/// Returns the smallest and the largest value of the jobs, once if they are equal.
fn ends<T: Copy + Ord>(views: &[View<'_>], of: impl Fn(&JobSummary<'_>) -> Option<T>) -> Vec<T> {
    let jobs = views.iter().flat_map(|view| &view.jobs);
    let values: Vec<T> = jobs.filter_map(of).collect();
    let (least, most) = (values.iter().min(), values.iter().max());
    let most = most.filter(|most| Some(*most) != least);
    least.into_iter().chain(most).copied().collect()
}

/// Formats a figure with its label.
fn told(found: &Over<'_>) -> String {
    format!("{} ({}){}", found.value(), found.labels(), found.under())
}

/// Returns the doubt about rates of arrays that fit into a processor's caches.
pub fn doubt(summary: &Summary<'_>) -> Option<Doubt> {
    let rates = summary
        .jobs
        .iter()
        .filter_map(|job| job.figure("memory_bw"));
    let cached = rates.filter(|rate| rate.labels.has("cpu-cache")).count();
    let why = tr!("the caches of the processor can hold the arrays of the rates");
    (cached > 0).then(|| Doubt::Some(why.to_owned()))
}
