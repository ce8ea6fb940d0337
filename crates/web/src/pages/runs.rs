//! Page of all runs, with filters, a search, and boxes that choose runs for a comparison.

use super::table::{numbers, table, whole, words};
use super::{Here, reply, section, site, time};
use crate::asked::{Asked, Query, segment};
use crate::reply::{Problem, Reply};
use crate::stored::listed;
use crate::wanted::{self, STATUSES};
use assay_lang::{counted, tr, translated};
use assay_model::annotation::Annotation;
use assay_model::run::RunStatus;
use assay_report::words::clean;
use assay_store::{ImportSummary, ListPage, Listed, RunSummary};
use maud::{Markup, html};

/// Rows of a page.
const ROWS: u32 = 50;

/// Renders the page.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let query = &asked.query;
    let page = listed(
        asked,
        &wanted::runs(query)?,
        wanted::after_run(query)?,
        ROWS,
    )?;
    let main = html! {
        (section("filter", tr!("Search"), &filters(query)))
        (section("runs", tr!("Runs and imports"), &chosen(query, &page)))
    };
    let title = tr!("Runs");
    Ok(reply(
        &site(asked.served, Here::Runs, Markup::default()).page(title, &main),
    ))
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
            (field("command", tr!("Command, such as qualify"), "search"))
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

/// Renders the runs to choose from, and a link to older ones.
fn chosen(query: &Query, page: &ListPage) -> Markup {
    if page.entries.is_empty() {
        return html! { p { (tr!("No run matches.")) } };
    }
    let older = page
        .next
        .map(|key| query.with("/runs", "after", &key.to_string()));
    html! {
        form action="/compare" method="get" {
            (of_runs(tr!("Newest first"), &page.entries, true))
            div.actions {
                button { (tr!("Compare the chosen runs")) }
                @if query.get("after").is_some() { a href=(query.with("/runs", "after", "")) { (tr!("Newest runs")) } }
                @if let Some(older) = older { a rel="next" href=(older) { (tr!("Older runs")) } }
            }
        }
    }
}

/// Renders a table of runs and imports; with check boxes if `choose`.
pub fn of_runs(caption: &str, entries: &[Listed], choose: bool) -> Markup {
    let heads = [
        words(tr!("Run")),
        whole(tr!("Started")),
        words(tr!("Device")),
        words(tr!("Path")),
        words(tr!("Status")),
        numbers(tr!("Trials")),
        words(tr!("Tags")),
    ];
    let rows: Vec<Vec<Markup>> = entries.iter().map(|entry| row(entry, choose)).collect();
    table(caption, &heads, &rows)
}

fn row(entry: &Listed, choose: bool) -> Vec<Markup> {
    match entry {
        Listed::Run(run) => row_of_run(run, choose),
        Listed::Import(import) => row_of_import(import, choose),
    }
}

fn row_of_run(run: &RunSummary, choose: bool) -> Vec<Markup> {
    let place = format!("{}{}", run.target.as_deref().unwrap_or_default(), run.path);
    let trials = match run.trials_planned > run.trials_done {
        true => tr!(
            "{done} of {planned}",
            done = run.trials_done,
            planned = run.trials_planned
        ),
        false => run.trials_done.to_string(),
    };
    vec![
        named(&run.id, run.annotation.name.as_deref(), choose),
        time(run.started_unix_ms),
        html! { (clean(&run.device)) },
        html! { (clean(&place)) },
        status(run),
        html! { (trials) },
        tags(&run.annotation),
    ]
}

fn row_of_import(import: &ImportSummary, choose: bool) -> Vec<Markup> {
    vec![
        named(&import.id, import.annotation.name.as_deref(), choose),
        time(import.imported_unix_ms),
        html! { (clean(&import.tool)) },
        html! { (clean(&import.files.join(", "))) },
        html! { (tr!("imported")) },
        html! { (counted!(import.figures, "{n} figure", "{n} figures")) },
        tags(&import.annotation),
    ]
}

fn tags(of: &Annotation) -> Markup {
    html! { @for tag in &of.tags { span.tag { (clean(tag)) } } }
}

/// Renders a link to the page of a run, after a check box if `choose`.
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
