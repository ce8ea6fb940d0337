//! Tables of the server's own pages. They look like those of reports, and their cells may contain
//! links and check boxes.

use maud::{Markup, html};

/// Heading of a column.
#[derive(Clone, Debug)]
pub struct Head {
    text: String,
    class: Option<&'static str>,
}

/// Returns the heading of a column of text.
pub fn words(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: None,
    }
}

/// Returns the heading of a column of numbers.
pub fn numbers(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: Some("n"),
    }
}

/// Returns the heading of a column of text that does not wrap.
pub fn whole(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: Some("nowrap"),
    }
}

/// Renders a table with a caption; the first cell of each row is the row's heading.
pub fn table(caption: &str, heads: &[Head], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.scroll.stack tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for head in heads { th scope="col" class=[head.class] { (head.text) } } } }
                tbody {
                    @for cells in rows {
                        tr { @for (at, (head, cell)) in heads.iter().zip(cells).enumerate() { (one(at, head, cell)) } }
                    }
                }
            }
        }
    }
}

fn one(at: usize, head: &Head, cell: &Markup) -> Markup {
    match at {
        0 => html! { th scope="row" { (cell) } },
        _ => html! { td class=[head.class] data-name=(head.text) { (cell) } },
    }
}
