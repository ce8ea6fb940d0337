//! Page of the changes of all series.

use super::table::{numbers, table, whole, words};
use super::{Here, reply, section, site, time};
use crate::asked::{Asked, address, segment};
use crate::reply::{Problem, Reply};
use crate::wanted::{self, after};
use assay_lang::{tr, translated};
use assay_model::figures::{CircumstanceChange, SeriesChange, StoredSeries};
use assay_report::changes::{self, device, name};
use assay_report::words::{clean, quantity};
use maud::{Markup, html};

/// Rows of a page.
const ROWS: u32 = 50;

/// Renders the page.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let query = &asked.query;
    let open = wanted::only_open(query, true)?;
    let filter = wanted::series(query)?;
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
        p { (tr!("A change is open while it is a slowdown that nobody accepted. assay trend accepts one, or marks it as false.")) }
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
        whole(tr!("First run after it")),
        words(tr!("Change")),
        numbers(tr!("Before")),
        numbers(tr!("After")),
        words(tr!("Changed with it")),
        words(tr!("State")),
        words(tr!("Runs")),
    ];
    if with_series {
        heads.insert(1, words(tr!("Series")));
        heads.insert(2, words(tr!("Device")));
    }
    let rows = all.map(|(series, change)| row(series, change, with_series));
    let rows: Vec<Vec<Markup>> = rows.collect();
    table(caption, &heads, &rows)
}

fn row(series: &StoredSeries, change: &SeriesChange, with_series: bool) -> Vec<Markup> {
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
