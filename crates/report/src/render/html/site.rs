//! Pages that a server sends: ways to its other pages, and neither script nor data.

use super::blocks;
use super::page::Page;
use crate::charts::draw::svg;
use crate::document::{Block, Document};
use assay_lang::{current, tr};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
const OWN: &str = include_str!("site.css");

/// A way to another page of the server.
#[derive(Clone, Debug)]
pub struct SiteLink {
    /// Text of the link.
    pub text: String,
    /// Address of the page.
    pub target: String,
    /// True on that page and those below it.
    pub here: bool,
}

/// Frame of a page that a server sends.
#[derive(Clone, Debug)]
pub struct Site {
    /// Address of [`style_sheet`].
    pub style: String,
    /// Ways to other pages.
    pub links: Vec<SiteLink>,
    /// Markup directly below the title.
    pub lead: Markup,
    /// Source of the data, for the end of the page.
    pub source: String,
}

/// The style sheet of all pages of a server.
pub fn style_sheet() -> String {
    [&svg::variables(), svg::STYLE, STYLE, OWN].concat()
}

/// Markup of blocks, as every page has them.
pub fn markup(of: &[Block]) -> Markup {
    blocks::blocks(of)
}

impl Site {
    /// A page of a title and its sections.
    pub fn page(&self, title: &str, main: &Markup) -> Markup {
        let header = html! { h1 { (title) } (self.lead) };
        self.whole(title, &header, main)
    }

    /// A document as a page.
    pub fn document(&self, document: &Document) -> Markup {
        let page = Page {
            document,
            data: None,
            version: env!("CARGO_PKG_VERSION"),
        };
        page.in_site(self)
    }

    /// Head, ways to other pages, contents, foot.
    pub(super) fn whole(&self, title: &str, header: &Markup, main: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang=(current().tag()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { "assay: " (title) }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href=(self.style);
                }
                body.site {
                    a.skip href="#content" { (tr!("Skip to the content")) }
                    (self.ways())
                    header { (header) }
                    main #content tabindex="-1" { (main) }
                    footer { p { (self.source) } }
                }
            }
        }
    }

    fn ways(&self) -> Markup {
        html! {
            nav.pages aria-label=(tr!("Pages")) {
                ul {
                    @for link in &self.links {
                        li { a href=(link.target) aria-current=[link.here.then_some("page")] { (link.text) } }
                    }
                }
            }
        }
    }
}

/// A style that is part of a page.
pub(super) fn inline_style() -> Markup {
    html! { style { (PreEscaped(svg::variables())) (PreEscaped(svg::STYLE)) (PreEscaped(STYLE)) } }
}
