//! Pages for people, and their frame: navigation, with the current page marked.

pub mod changes;
pub mod compare;
pub mod devices;
pub mod overview;
pub mod run;
pub mod runs;
pub mod series;
mod table;

use crate::access::Served;
use crate::asked::{Asked, address};
use crate::reply::{HTML, Problem, Reply};
use crate::stored::listed;
use assay_lang::tr;
use assay_report::html::{Site, SiteLink};
use assay_report::json::rfc3339;
use assay_report::words::{clean, utc};
use assay_store::{DeviceSummary, ListFilter, RunsFilter, SeriesFilter};
use devices::named;
use maud::{Markup, html};
use runs::of_runs as table_of_runs;
use series::of_series;
use table::{numbers, table, whole};

/// Renders the page of a problem.
pub fn page(served: &Served, problem: &Problem) -> String {
    let title = match problem {
        Problem::Missing(_) => tr!("Nothing is here"),
        Problem::Wrong(_) => tr!("This cannot be shown"),
        _ => tr!("The results cannot be read now"),
    };
    let contents = html! {
        p { (words(problem)) }
        p { a href="/runs" { (tr!("All runs")) } }
    };
    let main = section("problem", title, &contents);
    let page = site(served, Here::Elsewhere, Markup::default()).page(title, &main);
    page.into_string()
}

/// Describes a problem in a sentence.
pub fn words(problem: &Problem) -> String {
    match problem {
        Problem::Missing(what) => tr!("There is no {what}.", what = clean(what)),
        Problem::Wrong(why) => clean(why),
        Problem::Store(error) => tr!(
            "The store failed: {error}",
            error = clean(&error.to_string())
        ),
        Problem::Busy => tr!("Too many requests wait: try again in a few seconds.").to_owned(),
        Problem::Broken | Problem::Unchanged(_) => {
            tr!("assay failed on this request: the other pages still work.").to_owned()
        }
    }
}

/// Current page in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Here {
    /// The first page.
    Overview,
    /// List of runs, and pages of single runs.
    Runs,
    /// Devices.
    Devices,
    /// Series.
    Series,
    /// Changes of series.
    Changes,
    /// A page outside the navigation.
    Elsewhere,
}

/// Returns the frame of a page.
fn site(served: &Served, here: Here, lead: Markup) -> Site {
    let link = |text: &str, target: &str, page: Here| SiteLink {
        text: text.to_owned(),
        target: target.to_owned(),
        here: here == page,
    };
    let (_, tag) = &served.style;
    Site {
        style: format!("/style.css?v={tag}"),
        links: vec![
            link(tr!("Overview"), "/", Here::Overview),
            link(tr!("Runs"), "/runs", Here::Runs),
            link(tr!("Devices"), "/devices", Here::Devices),
            link(tr!("Series"), "/series", Here::Series),
            link(tr!("Changes"), "/changes", Here::Changes),
        ],
        lead,
        source: tr!(
            "Store: {store}. assay {version}, read only.",
            store = clean(&served.source),
            version = env!("CARGO_PKG_VERSION")
        ),
    }
}

/// Returns a page as an answer.
fn reply(page: &Markup) -> Reply {
    Reply::new(HTML, page.0.as_bytes())
}

/// Renders a time as text with a machine-readable attribute.
fn time(unix_ms: u64) -> Markup {
    html! { time datetime=(rfc3339(unix_ms)) { (utc(unix_ms)) } }
}

/// Renders a section with a heading.
fn section(id: &str, title: &str, contents: &Markup) -> Markup {
    html! { section id=(id) aria-labelledby={ (id) "-title" } { h2 id={ (id) "-title" } { (title) } (contents) } }
}

/// Number of runs, series and units on a page, newest first.
const ROWS: u32 = 25;

/// Renders the page of a model.
pub fn model(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let model = parameter(asked, "model")?;
    let units = asked.store.units_of(model, ROWS)?;
    if units.rows.is_empty() {
        return Err(Problem::Missing(tr!("device {model}", model)));
    }
    let filter = SeriesFilter {
        model: Some(model.to_owned()),
        only_primary: true,
        ..SeriesFilter::default()
    };
    let series = asked.store.series_page(&filter, None, ROWS)?;
    let main = html! {
        (section("units", tr!("Units"), &of_units(model, &units.rows)))
        (section("series", tr!("Series"), &html! {
            @if series.rows.is_empty() { p { (tr!("No series yet.")) } }
            @else { (of_series(tr!("Series of metrics that decide"), &series.rows)) }
            p { a href=(address("/series", [("device", model)])) { (tr!("All series of this device")) } }
        }))
        (section("runs", tr!("Latest runs"), &runs(asked, model, None)?))
    };
    let site = site(asked.served, Here::Devices, Markup::default());
    Ok(reply(&site.page(&clean(model), &main)))
}

/// Renders the page of a unit.
pub fn unit(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let (model, unit) = (parameter(asked, "model")?, parameter(asked, "unit")?);
    let contents = html! {
        p { (tr!("A unit of ")) (named(model)) }
        (runs(asked, model, Some(unit))?)
    };
    let main = section("runs", tr!("Latest runs"), &contents);
    let site = site(asked.served, Here::Devices, Markup::default());
    Ok(reply(&site.page(&clean(unit), &main)))
}

fn parameter<'a>(asked: &'a Asked<'_>, name: &str) -> Result<&'a str, Problem> {
    let value = asked.query.get(name);
    value.ok_or_else(|| Problem::Wrong(tr!("The address lacks {name}.", name)))
}

fn of_units(model: &str, units: &[DeviceSummary]) -> Markup {
    let rows = units.iter().map(|unit| {
        let name = unit.name.as_str();
        vec![
            html! {
                @if name.is_empty() { (tr!("not told apart")) }
                @else { a href=(address("/unit", [("model", model), ("unit", name)])) { (clean(name)) } }
            },
            html! { (unit.runs) },
            time(unit.newest_unix_ms),
        ]
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    let heads = [
        table::words(tr!("Unit")),
        numbers(tr!("Runs")),
        whole(tr!("Newest run")),
    ];
    table(tr!("Units, the one measured last first"), &heads, &rows)
}

fn runs(asked: &Asked<'_>, model: &str, unit: Option<&str>) -> Result<Markup, Problem> {
    let of_runs = RunsFilter {
        model: Some(model.to_owned()),
        unit: unit.map(str::to_owned),
        ..RunsFilter::default()
    };
    let filter = ListFilter {
        of_runs,
        ..ListFilter::default()
    };
    let page = listed(asked, &filter, None, ROWS)?;
    if page.entries.is_empty()
        && let Some(unit) = unit
    {
        return Err(Problem::Missing(tr!("unit {unit}", unit)));
    }
    let all = [("model", model), ("unit", unit.unwrap_or_default())];
    Ok(html! {
        form action="/compare" method="get" {
            (table_of_runs(tr!("Runs, newest first"), &page.entries, true))
            div.actions {
                button { (tr!("Compare the chosen runs")) }
                @if page.next.is_some() { a href=(address("/runs", all)) { (tr!("All runs")) } }
            }
        }
    })
}
