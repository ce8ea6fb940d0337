//! The frame of every page: head, sections in reading order, foot.

use super::data::Archive;
use crate::charts::draw::svg;
use crate::words::text::clean;
use assay_lang::{current, tr};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing may be asked for, from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// A page.
pub struct Page {
    /// Title of the page.
    pub title: String,
    /// A line under it.
    pub subtitle: Markup,
    /// Sections of the page.
    pub sections: Vec<Section>,
    /// Data that can be downloaded.
    pub data: Option<Archive>,
    /// Version of assay that made what it shows.
    pub version: String,
}

/// One section: its anchor, its heading, what is in it.
pub struct Section {
    /// Anchor of the section.
    pub anchor: String,
    /// Heading of the chart.
    pub title: String,
    /// Content of the section; `None` if there is nothing to show.
    pub body: Option<Markup>,
}

impl Section {
    /// A section.
    pub fn new(anchor: impl Into<String>, title: impl Into<String>, body: Option<Markup>) -> Self {
        Self {
            anchor: anchor.into(),
            title: title.into(),
            body,
        }
    }
}

impl Page {
    /// The whole document; sections without anything are left out.
    pub fn markup(&self) -> Markup {
        let data = self.data.as_ref().map(Archive::markup);
        let data = data.map(|body| Section::new("take-away", tr!("Data"), Some(body)));
        let sections = self.sections.iter().chain(&data);
        let sections: Vec<&Section> = sections.filter(|s| s.body.is_some()).collect();
        html! {
            (DOCTYPE)
            html lang=(current().tag()) {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { "assay: " (self.title) }
                    style { (PreEscaped(svg::variables())) (PreEscaped(svg::STYLE)) (PreEscaped(STYLE)) }
                }
                body data-filter=(tr!("Filter rows")) data-shown=(tr!("shown")) data-csv=(tr!("Data of this chart as CSV"))
                    data-turn=(tr!("Surface: arrow keys turn it, plus and minus zoom, 0 puts it back")) {
                    header {
                        h1 { (self.title) }
                        p.soft { (self.subtitle) }
                        nav aria-label=(tr!("Sections")) {
                            @for section in &sections {
                                a href={ "#" (section.anchor) } { (section.title) }
                                " "
                            }
                        }
                    }
                    main {
                        @for section in &sections {
                            section id=(section.anchor) {
                                h2 { (section.title) }
                                @if let Some(body) = &section.body { (body) }
                            }
                        }
                    }
                    footer { p { (tr!("Made by assay {version}.", version = clean(&self.version))) } }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }
}
