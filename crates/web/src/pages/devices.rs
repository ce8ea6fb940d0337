//! Pages of the devices in the store: all models, one model, one unit.

use super::runs::of_runs as table_of_runs;
use super::series::of_series;
use super::{Here, numbers, reply, section, site, table, time, whole, words};
use crate::asked::{Asked, address, after, listed};
use crate::reply::{Problem, Reply};
use assay_lang::tr;
use assay_report::words::clean;
use assay_store::{DeviceSummary, ListFilter, RunsFilter, SeriesFilter};
use maud::{Markup, html};

/// Rows of a page.
const ROWS: u32 = 100;

/// Renders the page.
pub fn page(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let devices = asked
        .store
        .device_page(after(&asked.query)?.as_ref(), ROWS)?;
    let next = devices
        .next
        .map(|key| asked.query.with("/devices", "after", &key.to_string()));
    let contents = html! {
        @if devices.rows.is_empty() { p { (tr!("The store has no runs yet.")) } }
        @else { (of_devices(tr!("Devices, the one measured last first"), &devices.rows)) }
        @if let Some(next) = next { p { a rel="next" href=(next) { (tr!("Further devices")) } } }
    };
    let main = section("devices", tr!("Devices"), &contents);
    Ok(reply(
        &site(asked.served, Here::Devices, Markup::default()).page(tr!("Devices"), &main),
    ))
}

/// Renders a link to the page of a model.
pub fn named(model: &str) -> Markup {
    html! { a href=(address("/device", [("model", model)])) { (clean(model)) } }
}

/// Renders a table of devices.
pub fn of_devices(caption: &str, devices: &[DeviceSummary]) -> Markup {
    let rows = devices.iter().map(|device| {
        vec![
            named(&device.name),
            html! { (device.runs) },
            time(device.newest_unix_ms),
        ]
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    let heads = [
        words(tr!("Device")),
        numbers(tr!("Runs")),
        whole(tr!("Newest run")),
    ];
    table(caption, &heads, &rows)
}

/// Number of runs, series and units on a page, newest first.
const NEWEST_SHOWN: u32 = 25;

/// Renders the page of a model.
pub fn model(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let model = parameter(asked, "model")?;
    let units = asked.store.units_of(model, NEWEST_SHOWN)?;
    if units.rows.is_empty() {
        return Err(Problem::Missing(tr!("device {model}", model)));
    }
    let filter = SeriesFilter {
        model: Some(model.to_owned()),
        only_primary: true,
        ..SeriesFilter::default()
    };
    let series = asked.store.series_page(&filter, None, NEWEST_SHOWN)?;
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
                @if name.is_empty() { (tr!("unit unknown")) }
                @else { a href=(address("/unit", [("model", model), ("unit", name)])) { (clean(name)) } }
            },
            html! { (unit.runs) },
            time(unit.newest_unix_ms),
        ]
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    let heads = [
        words(tr!("Unit")),
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
    let page = listed(asked, &filter, None, NEWEST_SHOWN)?;
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
