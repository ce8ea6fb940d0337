//! The blocks of a document as markup.

use super::page::{Page, Section};
use super::{figure, parts};
use crate::document::{Block, Cell, Column, Document, Keep, Table, TableRow};
use crate::results::findings::{Finding, Sentence};
use crate::words::style::Tone;
use crate::words::text::sentence;
use assay_lang::{tr, translated};
use maud::{Markup, html};

/// A page of a document alone. The section below the title has no heading of its own.
pub fn page(document: &Document) -> Page {
    let sections = document.sections.iter().enumerate().map(|(at, section)| {
        let title = match section.title.is_empty() {
            true => tr!("Summary"),
            false => section.title.as_str(),
        };
        // Sections of one kind share an id.
        Section::new(
            format!("{}-{at}", section.id),
            title,
            Some(blocks(&section.blocks)),
        )
    });
    Page {
        title: document.title.clone(),
        subtitle: Markup::default(),
        sections: sections.collect(),
        data: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Blocks in their order.
pub fn blocks(blocks: &[Block]) -> Markup {
    html! { @for one in blocks { (block(one)) } }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Paragraph { text, tone } => paragraph(text, *tone),
        Block::Heading(title) => html! { h3 { (title) } },
        Block::Facts(facts) => {
            html! { dl { @for fact in facts { dt { (fact.name) } dd { (fact.text) } } } }
        }
        Block::List(points) => html! { ul { @for point in points { li { (point) } } } },
        Block::Lines(lines) => html! { pre { @for line in lines { (line) "\n" } } },
        Block::Findings(findings) => html! { @for one in findings { (finding(one)) } },
        Block::Table(rows) => table(rows),
        Block::Chart(chart) => html! { div.charts.wide { (figure::wide(chart)) } },
        Block::Warning {
            message,
            remedy,
            severe,
        } => warning(message, remedy.as_deref(), *severe),
        Block::Curve { .. } => Markup::default(),
        Block::Details(section) => html! {
            details { summary { (section.title) } (blocks(&section.blocks)) }
        },
    }
}

fn paragraph(text: &str, tone: Option<Tone>) -> Markup {
    match tone {
        Some(Tone::Strong) => html! { p.conclusion { (text) } },
        Some(Tone::Soft) => html! { p.soft { (text) } },
        Some(Tone::Care | Tone::Bad) => html! { p.note { (text) } },
        Some(Tone::Good) | None => html! { p { (text) } },
    }
}

/// The conclusion about a trial stands before the rest.
fn finding(finding: &Finding) -> Markup {
    let (conclusion, rest) = match (&finding.subject, finding.sentences.split_first()) {
        (Some(_), Some((first, rest))) => (Some(first), rest),
        _ => (None, finding.sentences.as_slice()),
    };
    let said = |one: &Sentence| {
        html! { @if one.bad { strong { (one.text) } } @else { (one.text) } }
    };
    html! {
        @if let Some(subject) = &finding.subject {
            p { b { (subject) ": " } @if let Some(one) = conclusion { (said(one)) } }
        }
        @if !rest.is_empty() { ul { @for one in rest { li { (said(one)) } } } }
    }
}

/// A warning with its remedy.
pub fn warning(message: &str, remedy: Option<&str>, severe: bool) -> Markup {
    let (class, kind) = match severe {
        true => ("severe", tr!("Warning")),
        false => ("note", tr!("Note")),
    };
    html! {
        ul.warnings {
            li class=(class) {
                strong { (kind) ": " }
                (sentence(message))
                @if let Some(remedy) = remedy {
                    span.remedy { (tr!("What to do: ")) (sentence(remedy)) }
                }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    let columns = table.columns.iter().enumerate();
    let shown: Vec<(usize, &Column)> = columns
        .filter(|(_, column)| column.keep != Keep::Workbook)
        .collect();
    html! {
        div.scroll.narrow.stack tabindex="0" {
            table {
                thead {
                    tr {
                        @for (_, column) in &shown {
                            th.n[column.right] scope="col" { (column.head) }
                        }
                    }
                }
                tbody { @for one in &table.rows { (row(one, &shown)) } }
            }
        }
    }
}

fn row(row: &TableRow, shown: &[(usize, &Column)]) -> Markup {
    let Some(first) = row.cells.first() else {
        return Markup::default();
    };
    if row.is_heading() {
        return html! {
            tr.group { th scope="rowgroup" colspan=(shown.len()) { (first.text()) } }
        };
    }
    let others = shown.iter().skip(1);
    let others: Vec<(&Column, &Cell)> = others
        .filter_map(|(at, column)| Some((*column, row.cells.get(*at)?)))
        .collect();
    // Words in the place of figures reach to the end of the row.
    let missing = shown.len().saturating_sub(others.len() + 1);
    let last = others.len().saturating_sub(1);
    html! {
        tr {
            th scope="row" { (first.text()) }
            @for (at, (column, one)) in others.iter().enumerate() {
                td.n[column.right && missing == 0].words[at == last && row.note.is_some()]
                    colspan=[(at == last && missing > 0).then_some(missing + 1)]
                    data-name=(column.head) {
                    (cell(one))
                    @if at == last {
                        @if let Some(note) = &row.note { div.soft { (note) } }
                    }
                }
            }
        }
    }
}

fn cell(cell: &Cell) -> Markup {
    match cell {
        // A sign stands before the word: none is told by its colour alone.
        Cell::Verdict(word) => {
            let class = match *word {
                "faster" | "pass" => "faster",
                "slower" | "fail" => "slower",
                "equivalent" => "equivalent",
                _ => "open",
            };
            html! { span class={ "verdict " (class) } { (translated(word)) } }
        }
        Cell::Labels(labels) => parts::labels(labels),
        Cell::Unknown => html! { "\u{2013}" },
        other => html! { (other.text()) },
    }
}
