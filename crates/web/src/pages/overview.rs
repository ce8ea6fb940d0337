//! First page: totals of the store, and its newest runs, devices and machines.

use super::changes::of_changes;
use super::devices::of_devices;
use super::runs::of_runs;
use super::table::{numbers, table, whole, words};
use super::{Here, reply, section, site, time};
use crate::asked::{Asked, address};
use crate::reply::{Problem, Reply};
use crate::stored::listed;
use assay_lang::tr;
use assay_report::words::clean;
use assay_store::{ListFilter, SeriesFilter, Totals};
use maud::{Markup, html};

/// Number of newest runs shown.
const RUNS: u32 = 10;
/// Number of open changes shown.
const CHANGES: u32 = 10;
/// Number of devices and machines shown.
const DEVICES: u32 = 10;

/// Renders the page.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let totals = asked.store.totals()?;
    let open = asked.store.open_changes()?;
    let runs = listed(asked, &ListFilter::default(), None, RUNS)?;
    let main = html! {
        (section("totals", tr!("At a glance"), &tiles(&totals, open)))
        (section("changes", tr!("Open changes"), &changes(asked)?))
        (section("latest", tr!("Latest runs"), &latest(&of_runs(tr!("The newest runs"), &runs.entries, false), totals.runs + totals.imports)))
        (section("devices", tr!("Devices"), &devices(asked)?))
        (section("machines", tr!("Machines"), &machines(asked)?))
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
fn changes(asked: &Asked<'_>) -> Result<Markup, Problem> {
    let filter = SeriesFilter {
        only_primary: true,
        ..SeriesFilter::default()
    };
    let page = asked.store.change_page(&filter, true, None, CHANGES)?;
    Ok(html! {
        @if page.rows.is_empty() { p { (tr!("No slowdown is open.")) } }
        @else { (of_changes(tr!("Slowdowns that nobody accepted, newest first"), page.rows.iter().map(|(series, change)| (series, change)), true)) }
        p { a href="/changes" { (tr!("All changes")) } }
    })
}

fn devices(asked: &Asked<'_>) -> Result<Markup, Problem> {
    let devices = asked.store.device_page(None, DEVICES)?;
    Ok(html! {
        (of_devices(tr!("Devices that were measured last"), &devices.rows))
        @if devices.next.is_some() { p { a href="/devices" { (tr!("All devices")) } } }
    })
}

fn machines(asked: &Asked<'_>) -> Result<Markup, Problem> {
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
