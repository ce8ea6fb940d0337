//! Pages of a device model and of one unit.

use super::devices::named;
use super::runs::of_runs as table_of_runs;
use super::series::of_series;
use super::site::{Here, reply, section, site, time};
use super::table::{numbers, table, whole, words};
use crate::asked::{Asked, address};
use crate::reply::{Problem, Reply};
use crate::stored::listed;
use assay_lang::tr;
use assay_report::text::clean;
use assay_store::{DeviceSummary, ListFilter, RunsFilter, SeriesFilter};
use maud::{Markup, html};

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
