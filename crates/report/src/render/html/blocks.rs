//! Converts the blocks of a document to markup.

use crate::charts::draw::{Body, Chart, Form, Grid, svg};
use crate::document::{Block, Cell, Column, Fact, Keep, Table, TableRow, shares};
use crate::results::findings::{Finding, Sentence};
use crate::words::labels::{self, Labels};
use crate::words::style::Tone;
use crate::words::text::sentence;
use assay_lang::{counted, tr, translated};
use maud::{Markup, html};
use serde_json::json;

/// Renders blocks in their order; consecutive charts are side by side.
pub fn blocks(blocks: &[Block]) -> Markup {
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    let groups = blocks.chunk_by(|a, b| is_chart(a) && is_chart(b));
    html! {
        @for group in groups {
            @match group {
                [Block::Chart(one)] => { div.charts.wide { (figure(one, svg::WIDE)) } }
                [Block::Chart(_), ..] => {
                    div.charts {
                        @for one in group {
                            @if let Block::Chart(chart) = one { (figure(chart, svg::NARROW)) }
                        }
                    }
                }
                others => { @for one in others { (block(one)) } }
            }
        }
    }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Paragraph { text, tone } => paragraph(text, *tone),
        Block::Heading(title) => html! { h3 { (title) } },
        Block::Facts(facts) => self::facts(facts),
        Block::List(points) => html! { ul { @for point in points { li { (point) } } } },
        Block::Lines(lines) => html! { pre { @for line in lines { (line) "\n" } } },
        Block::Findings(findings) => html! { @for one in findings { (finding(one)) } },
        Block::Table(rows) => table(rows),
        Block::Chart(chart) => figure(chart, svg::WIDE),
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

/// Renders facts. The answer, which has an emphasis, is set apart together with the facts above it.
fn facts(facts: &[Fact]) -> Markup {
    let tone = |fact: &Fact| match fact.tone {
        Some(Tone::Good) => Some("good"),
        Some(Tone::Care) => Some("care"),
        Some(Tone::Bad) => Some("bad"),
        Some(Tone::Strong | Tone::Soft) | None => None,
    };
    let digest = facts.iter().any(|fact| tone(fact).is_some());
    html! {
        dl.digest[digest] {
            @for fact in facts { dt { (fact.name) } dd class=[tone(fact)] { (fact.text) } }
        }
    }
}

/// Length of a chart's description, in characters, above which it is folded.
const LONG: usize = 260;

/// Renders a chart with its title, its description, and the data with which the script rotates it.
fn figure(chart: &Chart, width: f64) -> Markup {
    html! {
        figure data-chart=(chart.name) data-surface=[surface(chart)] {
            (svg::in_page(chart, width))
            figcaption {
                @if chart.description.len() > LONG {
                    b { (chart.title) }
                    details { summary { (tr!("In words")) } (chart.description) }
                } @else {
                    b { (chart.title) } ": " (chart.description)
                }
            }
        }
    }
}

/// Returns the data from which the script draws a surface.
fn surface(chart: &Chart) -> Option<String> {
    let Body::Grid(
        grid @ Grid {
            form: Form::Surface,
            ..
        },
    ) = &chart.body
    else {
        return None;
    };
    let rows = grid.cells.iter().map(|row| {
        let values = row.iter().map(|cell| Some(cell.as_ref()?.value));
        values.collect()
    });
    let cells: Vec<Vec<Option<f64>>> = rows.collect();
    let value = json!({
        "rows": grid.rows.1,
        "columns": grid.columns.1,
        "rowName": grid.rows.0,
        "columnName": grid.columns.0,
        "cells": cells,
        "edge": grid.edge.as_ref().map(|(row, _)| row),
    });
    Some(value.to_string())
}

fn paragraph(text: &str, tone: Option<Tone>) -> Markup {
    match tone {
        Some(Tone::Strong) => html! { p.conclusion { (text) } },
        Some(Tone::Soft) => html! { p.soft { (text) } },
        Some(Tone::Care | Tone::Bad) => html! { p.note { (text) } },
        Some(Tone::Good) | None => html! { p { (text) } },
    }
}

/// Renders a finding, with its conclusion first.
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

/// Renders a warning with its remedy.
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
    let shown: Vec<(usize, &Column)> = table.shown(|keep| keep != Keep::Workbook).collect();
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    let matrix = cells.any(|cell| matches!(cell, Cell::Measured { .. }));
    html! {
        div.scroll.stack[!matrix] tabindex="0" {
            table.matrix[matrix] {
                thead {
                    tr {
                        @for (_, column) in &shown {
                            @if column.head.is_empty() { td {} }
                            @else { th.n[column.right].beside[column.keep == Keep::Screen] scope="col" { (column.head) } }
                        }
                    }
                }
                // Rows are sorted within the group below their heading.
                @for group in table.rows.chunk_by(|_, next| !next.is_heading()) {
                    tbody { @for one in group { (row(one, &shown, table.columns.len())) } }
                }
            }
        }
    }
}

fn row(row: &TableRow, shown: &[(usize, &Column)], columns: usize) -> Markup {
    if let [title] = row.cells.as_slice() {
        return html! {
            tr.group { th scope="rowgroup" colspan=(shown.len()) { (title.text()) } }
        };
    }
    let short = row.cells.len() < columns;
    let cells = shown
        .iter()
        .enumerate()
        .filter_map(|(index, (at, column))| {
            let at = if short { index } else { *at };
            Some((*column, row.cells.get(at)?))
        });
    let cells: Vec<(&Column, &Cell)> = cells.collect();
    let Some(((_, first), others)) = cells.split_first() else {
        return Markup::default();
    };
    // Text that replaces figures spans the rest of the row.
    let missing = shown.len().saturating_sub(others.len() + 1);
    let last = others.len().saturating_sub(1);
    html! {
        tr {
            th scope="row" { (cell(first)) }
            @for (at, (column, one)) in others.iter().enumerate() {
                td class=[class(one, column, missing == 0, at == last && row.note.is_some())]
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

/// Length of a text, in characters, above which its column is not narrowed to the minimum.
const LONG_TEXT: usize = 30;

/// Returns the classes of a cell; a cell of a matrix is shaded by its label.
fn class(cell: &Cell, column: &Column, figures: bool, noted: bool) -> Option<String> {
    let mut classes = Vec::new();
    if column.right && figures {
        classes.push("n");
    }
    if column.keep == Keep::Screen {
        classes.push("beside");
    }
    if noted {
        classes.push("words");
    }
    match cell {
        Cell::Measured { label, .. } => classes.extend(["cell", label]),
        Cell::Text(text) if text.len() > LONG_TEXT => classes.push("long"),
        _ => {}
    }
    (!classes.is_empty()).then(|| classes.join(" "))
}

fn cell(cell: &Cell) -> Markup {
    match cell {
        // A sign precedes the word: colour alone must not distinguish verdicts.
        Cell::Verdict(word) => {
            let class = match *word {
                "faster" | "pass" => "faster",
                "slower" | "fail" => "slower",
                "equivalent" => "equivalent",
                _ => "open",
            };
            html! { span class={ "verdict " (class) } { (translated(word)) } }
        }
        Cell::Labels(labels) => self::labels(labels),
        Cell::Unknown => html! { "\u{2013}" },
        Cell::Shares(low, high) => html! {
            span.share style={ "--share: " (100.0 * low.clamp(0.0, 1.0)) "%" } {}
            " " (shares(*low, *high).replace(' ', "\u{a0}"))
        },
        Cell::Link { text, target } => html! { a href=(target) { (text) } },
        Cell::Measured {
            value,
            digits,
            label,
        } => html! {
            (format!("{value:.digits$}"))
            br;
            span.soft title=[labels::meaning(label)] { (translated(label)) }
        },
        other => html! { (other.text()) },
    }
}

/// Renders the labels of several trials: a single one if all agree, otherwise each with its number
/// of trials. Borders distinguish them as well as colours.
fn labels(labels: &Labels) -> Markup {
    let counts = labels.counts();
    html! {
        @for (name, n) in &counts {
            span class={ "label " (name) } {
                (labels.describe(name))
                @if counts.len() > 1 { ", " (counted!(*n, "{n} trial", "{n} trials")) }
            }
            " "
        }
    }
}
