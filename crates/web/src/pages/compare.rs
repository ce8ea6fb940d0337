//! Page that compares runs: two with each other, or several on two sides.

use super::runs::of_runs;
use super::{Here, reply, section, site, time};
use crate::asked::{Asked, address, segment};
use crate::reply::{Problem, Reply};
use crate::stored::listed;
use assay_lang::tr;
use assay_model::run::Run;
use assay_report::labels;
use assay_report::words::clean;
use assay_store::{ListFilter, Listed, SomeTrials, StoredId};
use maud::{Markup, html};
use std::collections::BTreeSet;

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
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
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
        true => choose(asked, &runs, None),
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
            chosen(asked, word)?
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
            choose(asked, &known, Some(&why))
        }
    }
}

/// Returns the id of a source without its condition.
fn id_of(word: &str) -> &str {
    word.split_once('@').map_or(word, |(id, _)| id)
}

/// Renders a form that asks for the side of each run.
fn choose(asked: &Asked<'_>, runs: &[String], why: Option<&str>) -> Result<Reply, Problem> {
    let chosen: Vec<Chosen> = runs
        .iter()
        .map(|word| chosen(asked, word))
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
fn chosen(asked: &Asked<'_>, word: &str) -> Result<Chosen, Problem> {
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
