//! Frame of every page: head, sections in reading order, foot.

use super::blocks::blocks;
use super::data::Archive;
use crate::charts::draw::svg;
use crate::document::{Document, Section};
use crate::words::text::clean;
use assay_lang::{current, tr};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::io::{self, Write};

/// Style sheet of all pages, without that of charts.
pub const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// Content security policy: the page loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Page with optional data.
pub struct Page<'a> {
    /// Title and sections.
    pub document: &'a Document,
    /// Data that can be downloaded.
    pub data: Option<Archive>,
    /// Version of assay that measured the results.
    pub version: &'a str,
}

impl Page<'_> {
    /// Writes the page.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.markup().into_string().as_bytes())
    }

    fn markup(&self) -> Markup {
        let document = self.document;
        let anchors = anchors(document);
        html! {
            (DOCTYPE)
            html lang=(current().tag()) {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { "assay: " (document.title) }
                    style { (PreEscaped(svg::variables())) (PreEscaped(svg::STYLE)) (PreEscaped(STYLE)) }
                }
                body data-filter=(tr!("Filter rows")) data-shown=(tr!("shown")) data-csv=(tr!("Data of this chart as CSV"))
                    data-turn=(tr!("Surface: arrow keys turn it, plus and minus zoom, 0 puts it back")) {
                    header { (opening(document)) (contents(document, &anchors, self.data.is_some())) }
                    main {
                        (sections(document, &anchors))
                        @if let Some(data) = &self.data {
                            section #take-away { h2 { (tr!("Data")) } (data.markup()) }
                        }
                    }
                    footer { p { (tr!("Made by assay {version}.", version = clean(self.version))) } }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }
}

/// Renders the title and the blocks directly below it.
pub fn opening(document: &Document) -> Markup {
    html! { h1 { (document.title) } (blocks(&document.header)) }
}

/// Renders links to the sections, and to the data if the page has any.
pub fn contents(document: &Document, anchors: &[String], has_data: bool) -> Markup {
    html! {
        nav aria-label=(tr!("Sections")) {
            @for (anchor, section) in anchors.iter().zip(&document.sections) {
                a href={ "#" (anchor) } { (title(section)) }
                " "
            }
            @if has_data { a href="#take-away" { (tr!("Data")) } }
        }
    }
}

/// Renders the sections in reading order.
pub fn sections(document: &Document, anchors: &[String]) -> Markup {
    html! {
        @for (anchor, section) in anchors.iter().zip(&document.sections) {
            section id=(anchor) {
                h2 { (title(section)) }
                (blocks(&section.blocks))
            }
        }
    }
}

/// Returns the heading of a section; an untitled section, directly below the title, is "Summary".
fn title(section: &Section) -> &str {
    match section.title.is_empty() {
        true => tr!("Summary"),
        false => &section.title,
    }
}

/// Returns the ids of sections; repeated ids get a number.
pub fn anchors(document: &Document) -> Vec<String> {
    let ids = document.sections.iter().map(|section| section.id);
    let ids = ids.enumerate().map(|(at, id)| {
        let before = document.sections[..at].iter();
        match before.filter(|section| section.id == id).count() {
            0 => id.to_owned(),
            n => format!("{id}-{}", n + 1),
        }
    });
    ids.collect()
}
