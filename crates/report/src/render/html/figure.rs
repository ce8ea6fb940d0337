//! A chart in a page: the drawing, what it shows in words, and what the page's
//! script needs to turn it and to hand out its data.

use crate::charts::draw::{Body, Chart, Form, Grid, svg};
use assay_lang::tr;
use maud::{Markup, html};
use serde_json::json;

/// Longer words stand folded under a chart.
const LONG: usize = 260;

/// A figure with the chart's title and words under it.
pub fn of(chart: &Chart) -> Markup {
    drawn(chart, svg::NARROW)
}

/// The same for a chart that has the width of the page.
pub fn wide(chart: &Chart) -> Markup {
    drawn(chart, svg::WIDE)
}

fn drawn(chart: &Chart, width: f64) -> Markup {
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
    let row = |cells: &Vec<_>| -> Vec<Option<f64>> {
        let values = cells
            .iter()
            .map(|cell: &Option<crate::charts::draw::GridCell>| Some(cell.as_ref()?.value));
        values.collect()
    };
    let cells: Vec<Vec<Option<f64>>> = grid.cells.iter().map(row).collect();
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
