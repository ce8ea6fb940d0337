//! Matrices of file and record sizes: each figure with what it measured.

use super::figure;
use crate::charts::data::Gallery;
use crate::charts::draw::Chart;
use crate::results::cache_edge;
use crate::results::matrix::{Cell, Matrix, matrices};
use crate::results::summary::Summary;
use crate::words::labels;
use crate::words::text::clean;
use assay_lang::{tr, translated};
use assay_model::units::Bytes;
use assay_model::work::iozone::RateUnit;
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>, gallery: &Gallery) -> Option<Markup> {
    let matrices = matrices(summary.run);
    if matrices.is_empty() {
        return None;
    }
    Some(html! {
        p.soft {
            (tr!("Down: size of the file. Across: size of a record. Under each figure stands what it measured; \
             the shaded ones measured the page cache. An empty cell was not measured. A surface can be turned: drag it, or \
             choose it with Tab and use the arrow keys; + and - zoom."))
        }
        @for (matrix, charts) in matrices.iter().zip(gallery.matrices.chunks(2)) { (one(matrix, charts)) }
    })
}

/// The table, and the map and the surface that the gallery has of it.
fn one(matrix: &Matrix, charts: &[Chart]) -> Markup {
    html! {
        h3 { (clean(&matrix.title)) ", " (matrix.unit.name()) }
        p { (cache_edge::sentence(matrix)) }
        div.charts { @for chart in charts { (figure::of(chart)) } }
        div.scroll.narrow tabindex="0" {
            table.matrix {
                thead {
                    tr {
                        th scope="col" { (tr!("File")) }
                        @for kib in &matrix.columns { th.n scope="col" { (size(*kib)) } }
                    }
                }
                tbody {
                    @for (kib, cells) in matrix.rows.iter().zip(&matrix.cells) {
                        tr {
                            th scope="row" { (size(*kib)) }
                            @for cell in cells { (figure(matrix.unit, cell.as_ref())) }
                        }
                    }
                }
            }
        }
    }
}

fn figure(unit: RateUnit, cell: Option<&Cell>) -> Markup {
    let Some(cell) = cell else {
        return html! { td {} };
    };
    let label = cell.label.as_deref().unwrap_or("unknown");
    let digits = match unit {
        RateUnit::MicrosPerOp => 2,
        RateUnit::KibPerSec | RateUnit::OpsPerSec => 0,
    };
    html! {
        td class={ "n cell " (clean(label)) } title=[labels::meaning(label)] {
            (format!("{:.digits$}", cell.value))
            br;
            span.soft { (clean(translated(label))) }
        }
    }
}

fn size(kib: u64) -> Bytes {
    Bytes(kib.saturating_mul(1024))
}
