//! Page of the devices in the store, by model.

use super::table::{numbers, table, whole, words};
use super::{Here, reply, section, site, time};
use crate::asked::{Asked, address};
use crate::reply::{Problem, Reply};
use crate::wanted::after;
use assay_lang::tr;
use assay_report::words::clean;
use assay_store::DeviceSummary;
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
