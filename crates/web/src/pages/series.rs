//! Pages of series (one metric of a job on a device over many runs), and of the changes of all
//! series.

use super::{Here, numbers, reply, section, site, table, time, whole, words};
use crate::asked::{Asked, Query, address, after, only_open, segment, series_filter};
use crate::reply::{Problem, Reply};
use assay_lang::{tr, translated};
use assay_model::figures::{CircumstanceChange, SeriesChange, SeriesPoint, StoredSeries};
use assay_report::changes;
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
        .series_page(&series_filter(query)?, after(query)?.as_ref(), ROWS)?;
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
            (field("job", tr!("Job (a final * matches any ending)")))
            (field("metric", tr!("Metric (a final * matches any ending)")))
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

/// Renders the page.
pub fn changes_page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let query = &asked.query;
    let open = only_open(query, true)?;
    let filter = series_filter(query)?;
    let page = asked
        .store
        .change_page(&filter, open, after(query)?.as_ref(), ROWS)?;
    let older = page
        .next
        .map(|key| query.with("/changes", "after", &key.to_string()));
    let (title, other, label) = match open {
        true => (tr!("Open changes"), "all", tr!("Show all changes")),
        false => (tr!("All changes"), "", tr!("Show open changes only")),
    };
    let contents = html! {
        p { (tr!("A change is open while it is a slowdown that nobody accepted. assay series accepts one, or marks it as false.")) }
        p { a href=(address("/changes", [("state", other)])) { (label) } }
        @if page.rows.is_empty() { p { (tr!("There is none.")) } }
        @else { (of_changes(tr!("Changes, newest first"), page.rows.iter().map(|(series, change)| (series, change)), true)) }
        @if let Some(older) = older { p { a rel="next" href=(older) { (tr!("Older changes")) } } }
    };
    let main = section("changes", title, &contents);
    Ok(reply(
        &site(asked.served, Here::Changes, Markup::default()).page(title, &main),
    ))
}

/// Renders a table of changes; it has a column for the series if they differ.
pub fn of_changes<'a>(
    caption: &str,
    all: impl Iterator<Item = (&'a StoredSeries, &'a SeriesChange)>,
    with_series: bool,
) -> Markup {
    let mut heads = vec![
        whole(tr!("First run after the change")),
        words(tr!("Change")),
        numbers(tr!("Before")),
        numbers(tr!("After")),
        words(tr!("Changed at the same time")),
        words(tr!("State")),
        words(tr!("Runs")),
    ];
    if with_series {
        heads.insert(1, words(tr!("Series")));
        heads.insert(2, words(tr!("Device")));
    }
    let rows = all.map(|(series, change)| change_row(series, change, with_series));
    let rows: Vec<Vec<Markup>> = rows.collect();
    table(caption, &heads, &rows)
}

fn change_row(series: &StoredSeries, change: &SeriesChange, with_series: bool) -> Vec<Markup> {
    let compare = [
        ("a", change.before_run.as_str()),
        ("b", change.run.as_str()),
    ];
    let centre = |centre: f64| html! { (quantity(series.unit_of_measure, centre)) };
    let mut cells = vec![
        time(change.started_unix_ms),
        turn(change),
        centre(change.before.centre),
        centre(change.after.centre),
        events(&change.events),
        html! { @if change.accepted { (tr!("accepted")) } @else if change.is_open() { strong { (tr!("open")) } } },
        html! {
            a href={ "/runs/" (segment(&change.run)) } { (clean(&change.run)) }
            div { a href=(address("/compare", compare)) { (tr!("Compare with the run before")) } }
        },
    ];
    if with_series {
        let link = html! { a href={ "/series/" (segment(&series.key)) } { (name(series)) } };
        cells.insert(1, link);
        cells.insert(2, html! { (device(series)) });
    }
    cells
}

/// Renders the kind of a change with its size.
pub fn turn(change: &SeriesChange) -> Markup {
    let word = change.turn.name();
    html! {
        span class={ "verdict " (word) } { (translated(word)) }
        @if let Some(percent) = change.effect_percent { " " (format!("{percent:+.1} %")) }
        @if let Some((low, high)) = change.effect_interval {
            div.soft { (tr!("{low} to {high} %", low = format!("{low:+.1}"), high = format!("{high:+.1}"))) }
        }
    }
}

fn events(events: &[CircumstanceChange]) -> Markup {
    html! { @for event in events { div { (changes::event(event)) } } }
}
