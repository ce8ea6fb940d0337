//! Frame of pages that a server sends: links to its other pages, and neither script nor data.

use super::page::{STYLE, anchors, contents, opening, sections};
use crate::charts::draw::svg;
use crate::document::Document;
use assay_lang::{current, tr};
use maud::{DOCTYPE, Markup, html};

const OWN: &str = include_str!("site.css");

/// Link to another page of the server.
#[derive(Clone, Debug)]
pub struct SiteLink {
    /// Text of the link.
    pub text: String,
    /// Address of the page.
    pub target: String,
    /// True on the linked page and on pages below it.
    pub here: bool,
}

/// Frame of a page that a server sends.
#[derive(Clone, Debug)]
pub struct Site {
    /// Address of [`style_sheet`].
    pub style: String,
    /// Links to other pages.
    pub links: Vec<SiteLink>,
    /// Markup directly below the title.
    pub lead: Markup,
    /// Source of the data, shown at the end of the page.
    pub source: String,
}

/// Returns the style sheet of all pages of a server.
pub fn style_sheet() -> String {
    [&svg::variables(), svg::STYLE, STYLE, OWN].concat()
}

impl Site {
    /// Renders a page of a title and its sections.
    pub fn page(&self, title: &str, main: &Markup) -> Markup {
        let header = html! { h1 { (title) } (self.lead) };
        self.whole(title, &header, main)
    }

    /// Renders a document as a page.
    pub fn document(&self, document: &Document) -> Markup {
        let anchors = anchors(document);
        let header =
            html! { (opening(document)) (self.lead) (contents(document, &anchors, false)) };
        self.whole(&document.title, &header, &sections(document, &anchors))
    }

    /// Renders head, links to other pages, contents and foot.
    fn whole(&self, title: &str, header: &Markup, main: &Markup) -> Markup {
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
