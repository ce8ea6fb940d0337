//! Runs with filters and search, from which some are chosen to be compared.

use super::site::{Here, reply, section, site, time};
use super::table::{Head, numbers, table, whole, words};
use crate::asked::{Asked, Query, segment};
use crate::reply::{Problem, Reply};
use crate::wanted::{STATUSES, after, runs as wanted};
use assay_lang::{tr, translated};
use assay_model::run::RunStatus;
use assay_report::text::clean;
use assay_store::{ImportSummary, Owner, Page, RunSummary};
use maud::{Markup, html};

/// Rows of a page.
const ROWS: u32 = 50;
/// Imports above the runs.
const IMPORTS: u32 = 20;

/// The page.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let query = &asked.query;
    let filter = wanted(query)?;
    let after = after(query)?;
    let alive = |owner: &Owner| asked.served.program.is_alive(owner);
    let runs = asked.store.run_page(&filter, after.as_ref(), ROWS, alive)?;
    let imports = match filter.is_all() && after.is_none() {
        true => asked.store.import_page(None, IMPORTS)?.rows,
        false => Vec::new(),
    };
    let main = html! {
        (section("filter", tr!("Search"), &filters(query)))
        (section("runs", tr!("Runs"), &chosen(query, &runs)))
        @if !imports.is_empty() {
            (section("imports", tr!("Results made elsewhere"), &of_imports(&imports)))
        }
    };
    let title = tr!("Runs");
    Ok(reply(&site(asked.served, Here::Runs, Markup::default()).page(title, &main)))
}

fn filters(query: &Query) -> Markup {
    let field = |name: &str, label: &str, kind: &str| {
        html! { label { (label) input type=(kind) name=(name) value=[query.get(name)]; } }
    };
    let status = query.get("status").unwrap_or_default();
    html! {
        form.filters action="/runs" method="get" role="search" {
            (field("text", tr!("Text in id, name, path, device, tag or note"), "search"))
            (field("device", tr!("Device"), "search"))
            (field("target", tr!("Machine"), "search"))
            label {
                (tr!("Status"))
                select name="status" {
                    option value="" { (tr!("any")) }
                    @for word in STATUSES {
                        option value=(word) selected[word == status] { (translated(word)) }
                    }
                }
            }
            (field("since", tr!("From day (UTC)"), "date"))
            (field("until", tr!("To day"), "date"))
            div.actions {
                button { (tr!("Search")) }
                a href="/runs" { (tr!("Show all")) }
            }
        }
    }
}

/// Runs to choose from, and the way to older ones.
fn chosen(query: &Query, page: &Page<RunSummary>) -> Markup {
    if page.rows.is_empty() {
        return html! { p { (tr!("No run matches.")) } };
    }
    let older = page.next.as_ref().map(|key| query.with("/runs", "after", &key.to_string()));
    html! {
        form action="/compare" method="get" {
            (of_runs(tr!("Runs, newest first"), &page.rows, true))
            div.actions {
                button { (tr!("Compare the chosen runs")) }
                @if query.get("after").is_some() { a href=(query.with("/runs", "after", "")) { (tr!("Newest runs")) } }
                @if let Some(older) = older { a rel="next" href=(older) { (tr!("Older runs")) } }
            }
        }
    }
}

/// A table of runs; with boxes if some can be chosen.
pub fn of_runs(caption: &str, runs: &[RunSummary], choose: bool) -> Markup {
    let heads = [
        words(tr!("Run")),
        whole(tr!("Started")),
        words(tr!("Device")),
        words(tr!("Path")),
        words(tr!("Status")),
        numbers(tr!("Trials")),
        words(tr!("Tags")),
    ];
    let rows: Vec<Vec<Markup>> = runs.iter().map(|run| row(run, choose)).collect();
    table(caption, &heads, &rows)
}

fn row(run: &RunSummary, choose: bool) -> Vec<Markup> {
    let place = format!("{}{}", run.target.as_deref().unwrap_or_default(), run.path);
    let trials = match run.trials_planned > run.trials_done {
        true => tr!("{done} of {planned}", done = run.trials_done, planned = run.trials_planned),
        false => run.trials_done.to_string(),
    };
    vec![
        named(&run.id, run.annotation.name.as_deref(), choose),
        time(run.started_unix_ms),
        html! { (clean(&run.device)) },
        html! { (clean(&place)) },
        status(run),
        html! { (trials) },
        html! { @for tag in &run.annotation.tags { span.tag { (clean(tag)) } } },
    ]
}

/// A link to the page of a run, with its name, behind a box to choose it.
fn named(id: &str, name: Option<&str>, choose: bool) -> Markup {
    let id_shown = clean(id);
    let name = name.map(clean);
    let label = tr!("Choose {run}", run = name.as_ref().unwrap_or(&id_shown));
    html! {
        @if choose { input.pick type="checkbox" name="run" value=(id) aria-label=(label); }
        a href={ "/runs/" (segment(id)) } { (name.as_ref().unwrap_or(&id_shown)) }
        @if name.is_some() { div.soft { (id_shown) } }
    }
}

fn status(run: &RunSummary) -> Markup {
    let word = run.status.word();
    html! {
        (translated(word))
        @if run.data_lost { " " strong { (tr!("data lost")) } }
        @if let RunStatus::Failed { error } = &run.status { div.soft { (clean(error)) } }
    }
}

fn of_imports(imports: &[ImportSummary]) -> Markup {
    let heads: [Head; 5] = [
        words(tr!("Import")),
        whole(tr!("Taken in")),
        words(tr!("Tool")),
        words(tr!("Files")),
        numbers(tr!("Figures")),
    ];
    let rows = imports.iter().map(|import| {
        vec![
            named(&import.id, import.annotation.name.as_deref(), false),
            time(import.imported_unix_ms),
            html! { (clean(&import.tool)) },
            html! { (clean(&import.files.join(", "))) },
            html! { (import.figures) },
        ]
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    table(tr!("Imports, newest first"), &heads, &rows)
}
