//! Frame of all pages: navigation, with the current page marked.

use crate::reply::{HTML, Reply};
use crate::served::Served;
use assay_lang::tr;
use assay_report::format::utc;
use assay_report::html::{Site, SiteLink};
use assay_report::json::rfc3339;
use assay_report::text::clean;
use maud::{Markup, html};

/// Current page in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
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
pub fn site(served: &Served, here: Here, lead: Markup) -> Site {
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
pub fn reply(page: &Markup) -> Reply {
    Reply::new(HTML, page.0.as_bytes())
}

/// Renders a time as text with a machine-readable attribute.
pub fn time(unix_ms: u64) -> Markup {
    html! { time datetime=(rfc3339(unix_ms)) { (utc(unix_ms)) } }
}

/// Renders a section with a heading.
pub fn section(id: &str, title: &str, contents: &Markup) -> Markup {
    html! { section id=(id) aria-labelledby={ (id) "-title" } { h2 id={ (id) "-title" } { (title) } (contents) } }
}
