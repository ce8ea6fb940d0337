//! Charts of matrices of file and record sizes, as maps and as surfaces, with the edge of the page
//! cache.

use crate::charts::draw::{Body, Chart, Form, Grid, GridCell, Measure, slug};
use crate::results::cache_edge;
use crate::results::matrix::{Matrix, matrices};
use assay_lang::tr;
use assay_model::run::Run;
use assay_model::units::Bytes;

/// Draws a map and a surface for each test.
pub fn charts(run: &Run) -> Vec<Chart> {
    matrices(run)
        .iter()
        .flat_map(|matrix| [Form::Map, Form::Surface].map(|form| chart(matrix, form)))
        .collect()
}

/// Draws the matrix of one test.
pub fn chart(matrix: &Matrix, form: Form) -> Chart {
    let title = matrix
        .title
        .strip_suffix(" report")
        .unwrap_or(&matrix.title);
    let (word, kind) = match form {
        Form::Map => ("map", tr!("map")),
        Form::Surface => ("surface", tr!("surface")),
    };
    Chart {
        name: format!("{word}-{}", slug(title)),
        title: tr!(
            "{title}: {kind} of rates by file and record size",
            title,
            kind
        ),
        description: cache_edge::sentence(matrix),
        body: Body::Grid(Grid {
            form,
            rows: (tr!("file size").to_owned(), sizes(&matrix.rows)),
            columns: (tr!("record size").to_owned(), sizes(&matrix.columns)),
            values: (
                tr!("rate").to_owned(),
                Measure::Foreign(matrix.unit.name().to_owned()),
            ),
            cells: matrix
                .cells
                .iter()
                .map(|cells| {
                    cells
                        .iter()
                        .map(|cell| {
                            cell.as_ref().map(|cell| GridCell {
                                value: cell.value,
                                label: cell.label.clone().unwrap_or_else(|| "unknown".to_owned()),
                            })
                        })
                        .collect()
                })
                .collect(),
            edge: cache_edge::edge(matrix)
                .map(|row| (row, tr!("the page cache ends here").to_owned())),
        }),
    }
}

fn sizes(kib: &[u64]) -> Vec<String> {
    let sizes = kib
        .iter()
        .map(|kib| Bytes(kib.saturating_mul(1024)).to_string());
    sizes.collect()
}
