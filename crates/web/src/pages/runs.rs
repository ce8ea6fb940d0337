//! Page of all runs, with filters, a search, and boxes that choose runs for a comparison; page of
//! one run or import; page that compares runs: two with each other, or several on two sides.

use super::{Here, numbers, reply, section, site, table, time, whole, words};
use crate::asked::{
    Asked, Query, STATUSES, Stored, address, after_run, found, listed, load, runs_filter, segment,
};
use crate::reply::{Problem, Reply};
use assay_lang::{counted, tr, translated};
use assay_model::annotation::Annotation;
use assay_model::run::{Run, RunStatus};
use assay_report::words::clean;
use assay_report::{facts, html as pages, labels};
use assay_series::standings;
use assay_store::{ImportSummary, ListFilter, ListPage, Listed, RunSummary, SomeTrials, StoredId};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Rows of a page.
const ROWS: u32 = 50;

/// Renders the page.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let query = &asked.query;
    let page = listed(asked, &runs_filter(query)?, after_run(query)?, ROWS)?;
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

/// Number of newest runs of other units that a run is compared with. Reading them takes some
/// hundredths of a second.
const NEWEST: u32 = 250;

/// Renders the page.
pub fn run_page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let found = found(asked)?;
    let stored = load(asked, &found)?;
    let site = site(asked.served, Here::Runs, lead(found.id.id()));
    let page = match &stored {
        Stored::Run(run) => {
            let standings = standings(asked.store, &facts::of(run), NEWEST)?;
            let is_placed = standings.figures.iter().any(|placed| placed.primary);
            pages::markup_in(&site, run, is_placed.then_some(&standings))
        }
        Stored::Import(import) => {
            let verdicts = asked.served.program.verdicts(import);
            pages::import_in(&site, import, verdicts.as_ref())
        }
    };
    // The tag is made of the rendered page: the rank among other runs changes with the store.
    Ok(reply(&page))
}

/// Renders links to a comparison, the series and the files of a run.
fn lead(id: &str) -> Markup {
    let file = |ending: &str| format!("/runs/{}/run.{ending}", segment(id));
    html! {
        ul.ways aria-label=(tr!("This run")) {
            li { a href=(address("/compare", [("run", id)])) { (tr!("Compare with another run")) } }
            li { a href={ "/runs/" (segment(id)) "/series" } { (tr!("Its series")) } }
            li { a href=(file("json")) { (tr!("Download as JSON")) } }
            li { a href=(file("csv")) { (tr!("Download as CSV")) } }
            li { a href=(file("xlsx")) { (tr!("Download for Excel")) } }
        }
    }
}

/// Maximum number of sources in a comparison.
const MOST: usize = 40;
/// Number of runs to choose from if the request has too few.
const OFFERED: u32 = 25;

/// Source chosen for a comparison.
struct Chosen {
    /// Id in the store.
    id: String,
    /// Name given by the user.
    name: Option<String>,
    /// The run without its trials; `None` for an import.
    run: Option<Run>,
}

/// Renders the page.
pub fn compare_page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let query = &asked.query;
    let words =
        |name: &str| -> Vec<String> { query.all(name).into_iter().map(str::to_owned).collect() };
    let runs = words("run");
    let (mut a, mut b) = (words("a"), words("b"));
    for id in &runs {
        let condition = query.get(&format!("condition.{id}"));
        let source = condition.map_or_else(|| id.clone(), |name| format!("{id}@{name}"));
        match query.get(&format!("side.{id}")) {
            Some("a") => a.push(source),
            Some("b") => b.push(source),
            _ => {}
        }
    }
    if runs.len().max(a.len() + b.len()) > MOST {
        return Err(Problem::Wrong(tr!(
            "At most {n} runs can be compared.",
            n = MOST
        )));
    }
    if a.is_empty()
        && b.is_empty()
        && query.get("choose").is_none()
        && let [first, second] = runs.as_slice()
    {
        (a, b) = in_order(asked, first, second)?;
    }
    match a.is_empty() || b.is_empty() {
        true => choose_sides(asked, &runs, None),
        false => compared(asked, [&a, &b], &runs),
    }
}

/// Puts two runs in order of time: the older one is the baseline.
fn in_order(
    asked: &Asked<'_>,
    first: &str,
    second: &str,
) -> Result<(Vec<String>, Vec<String>), Problem> {
    let start = |word: &str| {
        Ok::<_, Problem>(
            load_chosen(asked, word)?
                .run
                .map(|run| run.header.started_unix_ms),
        )
    };
    let (a, b) = match start(first)? > start(second)? {
        true => (second, first),
        false => (first, second),
    };
    Ok((vec![a.to_owned()], vec![b.to_owned()]))
}

/// Renders the verdicts, or the form with the reason why there are none.
fn compared(asked: &Asked<'_>, sides: [&[String]; 2], runs: &[String]) -> Result<Reply, Problem> {
    let [a, b] = sides;
    let pairs = |a: &[String], b: &[String]| {
        let a = a.iter().map(|word| ("a", word.as_str()));
        let pairs: Vec<(&str, &str)> = a.chain(b.iter().map(|word| ("b", word.as_str()))).collect();
        address("/compare", pairs)
    };
    let ids: BTreeSet<&str> = a.iter().chain(b).map(|word| id_of(word)).collect();
    let others = address(
        "/compare",
        ids.iter().map(|id| ("run", *id)).chain([("choose", "1")]),
    );
    let lead = html! {
        ul.ways aria-label=(tr!("This comparison")) {
            li { a href=(pairs(b, a)) { (tr!("Swap the sides")) } }
            li { a href=(others) { (tr!("Choose other sides")) } }
            @for id in &ids { li { a href={ "/runs/" (segment(id)) } { (clean(id)) } } }
        }
    };
    let site = site(asked.served, Here::Runs, lead);
    // A later request may get a verdict where this one does not: do not cache the page.
    asked.passing.set(true);
    match asked.served.program.compare(asked.store, sides, &site) {
        Ok(page) => Ok(reply(&page)),
        Err(why) => {
            let known: Vec<String> = match runs.is_empty() {
                true => ids.iter().map(|id| (*id).to_owned()).collect(),
                false => runs.to_vec(),
            };
            choose_sides(asked, &known, Some(&why))
        }
    }
}

/// Returns the id of a source without its condition.
fn id_of(word: &str) -> &str {
    word.split_once('@').map_or(word, |(id, _)| id)
}

/// Renders a form that asks for the side of each run.
fn choose_sides(asked: &Asked<'_>, runs: &[String], why: Option<&str>) -> Result<Reply, Problem> {
    let chosen: Vec<Chosen> = runs
        .iter()
        .map(|word| load_chosen(asked, word))
        .collect::<Result<_, Problem>>()?;
    let sides = html! {
        @if let Some(why) = why { p.note role="alert" { (clean(why)) } }
        @match chosen.as_slice() {
            [] => { p { (tr!("Choose at least two runs.")) } }
            [one] => { p { (tr!("Choose a run to compare {run} with.", run = clean(one.name.as_ref().unwrap_or(&one.id)))) } }
            several => { (form(several)) }
        }
    };
    let main = html! {
        (section("sides", tr!("Sides"), &sides))
        @if chosen.len() < 2 { (section("runs", tr!("Runs"), &offered(asked, &chosen)?)) }
    };
    let site = site(asked.served, Here::Runs, Markup::default());
    Ok(reply(&site.page(tr!("Compare runs"), &main)))
}

/// Loads the header of a chosen source, without its trials.
fn load_chosen(asked: &Asked<'_>, word: &str) -> Result<Chosen, Problem> {
    let found = asked.store.find(id_of(word))?;
    let id = found.id().to_owned();
    Ok(match found {
        StoredId::Import(_) => Chosen {
            name: asked.store.annotation(&id)?.name,
            run: None,
            id,
        },
        StoredId::Run(_) => {
            let run = asked.store.load_some(&id, |_| SomeTrials::Last)?.run;
            Chosen {
                name: run.annotation.name.clone(),
                run: Some(run),
                id,
            }
        }
    })
}

/// Renders the form; by default the oldest run is on side A, all others on side B.
fn form(chosen: &[Chosen]) -> Markup {
    let oldest = chosen
        .iter()
        .min_by_key(|one| one.run.as_ref().map(|run| run.header.started_unix_ms));
    let oldest = oldest.map(|one| one.id.as_str());
    html! {
        p { (tr!("With three or more on each side the verdict holds for the parts, otherwise for these devices alone.")) }
        form action="/compare" method="get" {
            @for one in chosen {
                input type="hidden" name="run" value=(one.id);
                (sides_of(one, oldest == Some(&one.id)))
            }
            div.actions { button { (tr!("Compare")) } }
        }
    }
}

fn sides_of(one: &Chosen, is_baseline: bool) -> Markup {
    let side = |value: &str, label: &str, checked: bool| {
        html! {
            label {
                input type="radio" name={ "side." (one.id) } value=(value) checked[checked];
                " " (label)
            }
        }
    };
    html! {
        fieldset.sides {
            legend { (clean(one.name.as_ref().unwrap_or(&one.id))) }
            @if let Some(run) = &one.run {
                div.soft { (labels::name(&run.header.storage)) ", " (time(run.header.started_unix_ms)) }
            }
            (side("a", tr!("A, the baseline"), is_baseline))
            (side("b", tr!("B, judged against it"), !is_baseline))
            (side("", tr!("neither"), false))
            (conditions(one))
        }
    }
}

/// Renders a choice of conditions if a run has several.
fn conditions(one: &Chosen) -> Markup {
    let known = one
        .run
        .as_ref()
        .map_or(&[][..], |run| &run.header.plan.conditions);
    if known.len() < 2 {
        return Markup::default();
    }
    html! {
        label {
            (tr!("Condition")) " "
            select name={ "condition." (one.id) } {
                @for condition in known { option value=(condition.name) { (clean(&condition.name)) } }
            }
        }
    }
}

/// Renders the newest runs as further choices.
fn offered(asked: &Asked<'_>, chosen: &[Chosen]) -> Result<Markup, Problem> {
    let page = listed(asked, &ListFilter::default(), None, OFFERED)?;
    let others = page.entries.into_iter();
    let id = |entry: &Listed| match entry {
        Listed::Run(run) => run.id.clone(),
        Listed::Import(import) => import.id.clone(),
    };
    let others = others.filter(|entry| chosen.iter().all(|one| one.id != id(entry)));
    let others: Vec<_> = others.collect();
    Ok(html! {
        form action="/compare" method="get" {
            @for one in chosen { input type="hidden" name="run" value=(one.id); }
            (of_runs(tr!("Runs, newest first"), &others, true))
            div.actions {
                button { (tr!("Compare the chosen runs")) }
                a href="/runs" { (tr!("All runs")) }
            }
        }
    })
}
