//! The page of results that were made elsewhere: what was handed down, and what is not
//! known of it.

use super::data::{Archive, ArchivedDocument, Way};
use super::page::{Page, Section};
use super::{blocks, figure, method};
use crate::charts::data::Gallery;
use crate::charts::draw::Chart;
use crate::machine::import::write_json;
use crate::results::sweep::Verdicts;
use crate::views;
use crate::words::format::utc;
use crate::words::text::clean;
use assay_lang::{counted, tr};
use assay_model::figures::{Figure, Import};
use maud::{Markup, html};
use std::io;

/// Charts of trials that are drawn.
const DRAWN: usize = 40;

/// The page of an import; `verdicts` where it has several conditions.
///
/// # Errors
/// When its data cannot be packed.
pub fn page(import: &Import, verdicts: Option<&Verdicts>) -> io::Result<Page> {
    let gallery = Gallery::of_import(import, verdicts);
    let results = &import.results;
    let new = Section::new;
    Ok(Page {
        title: clean(&format!("{}: {}", results.tool, import.files.join(", "))),
        subtitle: subtitle(import),
        sections: vec![
            new(
                "verdict",
                tr!("Conditions against each other"),
                verdicts.map(|verdicts| {
                    blocks::blocks(&views::ranking::page_blocks(verdicts, &gallery))
                }),
            ),
            new("results", tr!("Results"), Some(table(import))),
            new(
                "trials",
                tr!("Trials and intervals"),
                drawn(&gallery.trials),
            ),
            new(
                "circumstances",
                tr!("What the results tell"),
                list(&results.circumstances),
            ),
            new("notes", tr!("Not known, or left out"), list(&results.notes)),
            new("method", tr!("Method and limits"), Some(limits())),
        ],
        data: Some(archive(import, &gallery)?),
        version: import.assay_version.clone(),
    })
}

fn subtitle(import: &Import) -> Markup {
    let (id, when) = (clean(&import.id), utc(import.imported_unix_ms));
    html! { (tr!("import {id}, {when}", id, when)) }
}

fn table(import: &Import) -> Markup {
    let figures: Vec<&Figure> = import.results.figures.iter().collect();
    html! {
        p.soft {
            (tr!("Made elsewhere, and taken in as it was: assay measured nothing of this and has no evidence of what \
             reached the device. What a figure measured stands in the last column where the results tell it."))
        }
        (blocks::blocks(&views::import::results(&figures, "").blocks))
    }
}

fn drawn(charts: &[Chart]) -> Option<Markup> {
    let left_out = charts.len().saturating_sub(DRAWN);
    (!charts.is_empty()).then(|| {
        html! {
            p.soft {
                (tr!("Every trial that was handed down is a mark; the bar is the 95 % interval of the geometric mean, its long \
                 tick the median."))
            }
            @if left_out > 0 {
                p { (counted!(left_out, "{n} more metric have no chart here; the data of this page has them all.", "{n} more metrics have no chart here; the data of this page has them all.")) }
            }
            div.charts { @for chart in charts.iter().take(DRAWN) { (figure::of(chart)) } }
        }
    })
}

fn list(lines: &[String]) -> Option<Markup> {
    (!lines.is_empty()).then(|| html! { ul { @for line in lines { li { (clean(line)) } } } })
}

fn limits() -> Markup {
    html! {
        ul {
            li { (tr!("In the results a mean is arithmetic, and a standard deviation that of the trials (n - 1), as they were handed down or follow from the trials. Conditions are judged by geometric means.")) }
            li { (tr!("Whether a figure is the device's or the page cache's is only known where the results say so.")) }
            li { (tr!("Conditions that others varied may differ in more than their names tell: heat, wear, fill and order are not known.")) }
        }
        h3 { (tr!("Labels")) }
        (method::labels())
    }
}

fn archive(import: &Import, gallery: &Gallery) -> io::Result<Archive> {
    let document = ArchivedDocument {
        name: "import.json",
        ways: vec![Way {
            write: Box::new(|out| write_json(import, out)),
            note: None,
        }],
    };
    let charts: Vec<&Chart> = gallery.iter().collect();
    let name = format!("assay-{}.zip", crate::charts::draw::slug(&import.id));
    Archive::of(name, &charts, &document)
}
