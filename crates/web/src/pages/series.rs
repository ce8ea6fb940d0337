//! Pages of series: one metric of a job on a device over many runs.

use super::changes::{of_changes, turn};
use super::table::{numbers, table, whole, words};
use super::{Here, reply, section, site, time};
use crate::asked::{Asked, Query, address, segment};
use crate::reply::{Problem, Reply};
use crate::wanted::{self, after};
use assay_lang::{tr, translated};
use assay_model::figures::{SeriesChange, SeriesPoint, StoredSeries};
use assay_report::changes::{device, name};
use assay_report::charts::course;
use assay_report::document::Block;
use assay_report::html::markup;
use assay_report::words::{clean, quantity};
use assay_store::SeriesFilter;
use maud::{Markup, html};

/// Rows of a page.
const ROWS: u32 = 50;
/// Number of newest runs in the chart.
const DRAWN: u32 = 400;
/// Number of newest runs in the table.
const RUNS: usize = 50;

/// Renders a page of the series that match the search.
pub fn list(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let query = &asked.query;
    let page = asked
        .store
        .series_page(&wanted::series(query)?, after(query)?.as_ref(), ROWS)?;
    let older = page
        .next
        .map(|key| query.with("/series", "after", &key.to_string()));
    let contents = html! {
        @if page.rows.is_empty() { p { (tr!("No series matches. Runs become points of series soon after they ended.")) } }
        @else { (of_series(tr!("Series, the one with the newest run first"), &page.rows)) }
        @if let Some(older) = older { p { a rel="next" href=(older) { (tr!("Further series")) } } }
    };
    let main = html! {
        (section("filter", tr!("Search"), &filters(query)))
        (section("series", tr!("Series"), &contents))
    };
    Ok(reply(
        &site(asked.served, Here::Series, Markup::default()).page(tr!("Series"), &main),
    ))
}

fn filters(query: &Query) -> Markup {
    let field = |name: &str, label: &str| {
        html! { label { (label) input type="search" name=(name) value=[query.get(name)]; } }
    };
    html! {
        form.filters action="/series" method="get" role="search" {
            (field("device", tr!("Device or machine")))
            (field("job", tr!("Job (* at the end: any end)")))
            (field("metric", tr!("Metric (* at the end: any end)")))
            (field("project", tr!("Project")))
            label {
                (tr!("Metrics"))
                select name="metrics" {
                    option value="" { (tr!("that decide")) }
                    option value="all" selected[query.get("metrics") == Some("all")] { (tr!("all")) }
                }
            }
            div.actions { button { (tr!("Search")) } a href="/series" { (tr!("Show all")) } }
        }
    }
}

/// Renders a table of series.
pub fn of_series(caption: &str, all: &[StoredSeries]) -> Markup {
    let heads = [
        words(tr!("Series")),
        words(tr!("Device")),
        words(tr!("Measured")),
        numbers(tr!("Runs")),
        numbers(tr!("Newest figure")),
        whole(tr!("Newest run")),
    ];
    let rows = all.iter().map(|series| {
        vec![
            html! { a href={ "/series/" (segment(&series.key)) } { (name(series)) } },
            html! { (device(series)) },
            label(series),
            html! { (series.runs) },
            html! { (quantity(series.unit_of_measure, series.last_centre)) },
            time(series.last_unix_ms),
        ]
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    table(caption, &heads, &rows)
}

/// Renders the page of one series with its changes and runs.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let series = one(asked)?;
    let points = asked.store.newest_points(&series.key, u64::MAX, DRAWN)?;
    let changes = asked.store.changes_of(&series.key)?;
    let drawn = course::draw_trend(&series, &points, &shown(&points, &changes));
    let newest_first = changes.iter().rev().map(|change| (&series, change));
    let main = html! {
        (section("about", tr!("Series"), &facts(asked, &series)))
        (section("course", tr!("Over time"), &html! {
            @if points.is_empty() { p { (tr!("It has no runs.")) } }
            @else { (markup(&[Block::Chart(Box::new(drawn))])) }
            @if series.runs > u64::from(DRAWN) { p.soft { (tr!("The newest {n} runs are drawn.", n = DRAWN)) } }
        }))
        (section("changes", tr!("Changes"), &html! {
            @if changes.is_empty() { p { (tr!("No change was found.")) } }
            @else { (of_changes(tr!("Changes, newest first"), newest_first, false)) }
        }))
        (section("runs", tr!("Runs"), &of_points(&series, &points, &changes)))
    };
    let title = format!("{} ({})", name(&series), device(&series));
    Ok(reply(
        &site(asked.served, Here::Series, Markup::default()).page(&title, &main),
    ))
}

/// Returns the changes at the runs that the chart shows.
fn shown(points: &[SeriesPoint], changes: &[SeriesChange]) -> Vec<SeriesChange> {
    let is_drawn = |change: &&SeriesChange| points.iter().any(|point| point.run == change.run);
    changes.iter().filter(is_drawn).cloned().collect()
}

/// Loads the series whose key is in the path.
///
/// # Errors
/// [`Problem::Missing`] if the store has no such series.
pub fn one(asked: &Asked<'_>) -> Result<StoredSeries, Problem> {
    let key = asked.part("key");
    let filter = SeriesFilter {
        key: Some(key.to_owned()),
        ..SeriesFilter::default()
    };
    let found = asked.store.series_page(&filter, None, 1)?.rows.into_iter();
    let mut found = found.filter(|series| series.key == key);
    found
        .next()
        .ok_or_else(|| Problem::Missing(tr!("series {key}", key)))
}

fn label(series: &StoredSeries) -> Markup {
    let label = clean(&series.label);
    html! { span class={ "label " (label) } { (translated(&label)) } }
}

fn facts(asked: &Asked<'_>, series: &StoredSeries) -> Markup {
    let of_model = address("/device", [("model", series.model.as_str())]);
    html! {
        dl {
            dt { (tr!("Device")) } dd { a href=(of_model) { (device(series)) } }
            dt { (tr!("Machine")) } dd { a href=(address("/runs", [("target", series.target.as_str())])) { (clean(&series.target)) } }
            dt { (tr!("Project")) } dd { (clean(&series.project)) }
            dt { (tr!("Measured")) } dd { (label(series)) }
            dt { (tr!("Key")) } dd { code { (clean(&series.key)) } }
            // The data needs the token, which a browser does not send: link to it only without one.
            @if asked.served.token.is_none() {
                dt { (tr!("Data")) } dd { a href={ "/api/v1/series/" (segment(&series.key)) "/points" } { (tr!("all runs as JSON")) } }
            }
        }
    }
}

fn of_points(series: &StoredSeries, points: &[SeriesPoint], changes: &[SeriesChange]) -> Markup {
    let heads = [
        whole(tr!("Started")),
        words(tr!("Run")),
        numbers(tr!("Figure")),
        numbers(tr!("Trials")),
        words(tr!("Change")),
    ];
    let rows = points.iter().rev().take(RUNS).map(|point| {
        let change = changes.iter().find(|change| change.run == point.run);
        vec![
            time(point.started_unix_ms),
            html! { a href={ "/runs/" (segment(&point.run)) } { (clean(&point.run)) } },
            html! { (quantity(series.unit_of_measure, point.centre)) },
            html! { (point.n) },
            html! { @if let Some(change) = change { (turn(change)) } },
        ]
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    table(tr!("The newest runs"), &heads, &rows)
}

/// Renders the series that have a point from this run.
pub fn of_run(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let found = asked.store.find(asked.part("id"))?;
    let id = found.id();
    let all = asked.store.series_of_run(id)?;
    let contents = html! {
        p { a href={ "/runs/" (segment(id)) } { (tr!("Back to run {id}", id = clean(id))) } }
        @if all.is_empty() { p { (tr!("No series has this run. Runs become points of series soon after they ended.")) } }
        @else { (of_series(tr!("Series with this run; those that decide come first"), &all)) }
    };
    let title = tr!("Series of run {id}", id = clean(id));
    let main = section("series", tr!("Series"), &contents);
    Ok(reply(
        &site(asked.served, Here::Series, Markup::default()).page(&title, &main),
    ))
}
