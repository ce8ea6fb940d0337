//! Pages for people, and their frame: navigation, with the current page marked. The first page is
//! here: totals of the store, and its newest runs, devices and machines.
//!
//! Tables of the server's own pages look like those of reports, and their cells may contain links
//! and check boxes.

pub mod devices;
pub mod runs;
pub mod series;

use crate::access::Served;
use crate::asked::{Asked, address, listed};
use crate::reply::{HTML, Problem, Reply};
use assay_lang::tr;
use assay_report::html::{Site, SiteLink};
use assay_report::json::rfc3339;
use assay_report::words::{clean, utc};
use assay_store::{ListFilter, SeriesFilter, Totals};
use devices::of_devices;
use maud::{Markup, html};
use runs::of_runs;
use series::of_changes;

/// Renders the page of a problem.
pub fn problem_page(served: &Served, problem: &Problem) -> String {
    let title = match problem {
        Problem::Missing(_) => tr!("Nothing is here"),
        Problem::Wrong(_) => tr!("This cannot be shown"),
        _ => tr!("The results cannot be read now"),
    };
    let contents = html! {
        p { (describe_problem(problem)) }
        p { a href="/runs" { (tr!("All runs")) } }
    };
    let main = section("problem", title, &contents);
    let page = site(served, Here::Elsewhere, Markup::default()).page(title, &main);
    page.into_string()
}

/// Describes a problem in a sentence.
pub fn describe_problem(problem: &Problem) -> String {
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

/// Heading of a column.
#[derive(Clone, Debug)]
struct Head {
    text: String,
    class: Option<&'static str>,
}

/// Returns the heading of a column of text.
fn words(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: None,
    }
}

/// Returns the heading of a column of numbers.
fn numbers(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: Some("n"),
    }
}

/// Returns the heading of a column of text that does not wrap.
fn whole(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: Some("nowrap"),
    }
}

/// Renders a table with a caption; the first cell of each row is the row's heading.
fn table(caption: &str, heads: &[Head], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.scroll.stack tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for head in heads { th scope="col" class=[head.class] { (head.text) } } } }
                tbody {
                    @for cells in rows {
                        tr { @for (at, (head, cell)) in heads.iter().zip(cells).enumerate() { (table_cell(at, head, cell)) } }
                    }
                }
            }
        }
    }
}

fn table_cell(at: usize, head: &Head, cell: &Markup) -> Markup {
    match at {
        0 => html! { th scope="row" { (cell) } },
        _ => html! { td class=[head.class] data-name=(head.text) { (cell) } },
    }
}

/// Number of newest runs shown.
const RUNS: u32 = 10;
/// Number of open changes shown.
const CHANGES: u32 = 10;
/// Number of devices and machines shown.
const DEVICES: u32 = 10;

/// Renders the page.
pub fn overview(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let totals = asked.store.totals()?;
    let open = asked.store.open_changes()?;
    let runs = listed(asked, &ListFilter::default(), None, RUNS)?;
    let main = html! {
        (section("totals", tr!("At a glance"), &tiles(&totals, open)))
        (section("changes", tr!("Open changes"), &open_changes(asked)?))
        (section("latest", tr!("Latest runs"), &latest(&of_runs(tr!("The newest runs"), &runs.entries, false), totals.runs + totals.imports)))
        (section("devices", tr!("Devices"), &newest_devices(asked)?))
        (section("machines", tr!("Machines"), &newest_machines(asked)?))
    };
    let title = tr!("Overview");
    Ok(reply(
        &site(asked.served, Here::Overview, Markup::default()).page(title, &main),
    ))
}

fn tiles(totals: &Totals, open: u64) -> Markup {
    html! {
        dl.tiles {
            div { dt { (tr!("Runs")) } dd { (totals.runs) } }
            div { dt { (tr!("Imports")) } dd { (totals.imports) } }
            div { dt { (tr!("Devices")) } dd { (totals.devices) } }
            div { dt { (tr!("Open changes")) } dd { (open) } }
        }
        @if let Some(newest) = totals.newest_unix_ms {
            p.soft { (tr!("Newest run: ")) (time(newest)) }
        }
    }
}

fn latest(runs: &Markup, of: u64) -> Markup {
    html! {
        @if of == 0 {
            p { (tr!("The store has no runs yet: assay qualify makes one.")) }
        } @else {
            (runs)
            p { a href="/runs" { (tr!("All runs")) } }
        }
    }
}

/// Renders the open slowdowns of primary metrics.
fn open_changes(asked: &Asked<'_>) -> Result<Markup, Problem> {
    let filter = SeriesFilter {
        only_primary: true,
        ..SeriesFilter::default()
    };
    let page = asked.store.change_page(&filter, true, None, CHANGES)?;
    Ok(html! {
        @if page.rows.is_empty() { p { (tr!("No open slowdowns.")) } }
        @else { (of_changes(tr!("Slowdowns that nobody accepted, newest first"), page.rows.iter().map(|(series, change)| (series, change)), true)) }
        p { a href="/changes" { (tr!("All changes")) } }
    })
}

fn newest_devices(asked: &Asked<'_>) -> Result<Markup, Problem> {
    let devices = asked.store.device_page(None, DEVICES)?;
    Ok(html! {
        (of_devices(tr!("Devices that were measured last"), &devices.rows))
        @if devices.next.is_some() { p { a href="/devices" { (tr!("All devices")) } } }
    })
}

fn newest_machines(asked: &Asked<'_>) -> Result<Markup, Problem> {
    let machines = asked.store.machine_page(None, DEVICES)?.rows;
    let rows = machines.iter().map(|machine| {
        let link = address("/runs", [("target", machine.name.as_str())]);
        vec![
            html! { a href=(link) { (clean(&machine.name)) } },
            html! { (machine.runs) },
            time(machine.newest_unix_ms),
        ]
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    let heads = [
        words(tr!("Machine")),
        numbers(tr!("Runs")),
        whole(tr!("Newest run")),
    ];
    Ok(table(
        tr!("Machines that were measured last"),
        &heads,
        &rows,
    ))
}
