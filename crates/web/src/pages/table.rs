//! Tables of the server's own pages, which look like those of reports. Their cells may have links
//! and boxes to tick.

use maud::{Markup, html};

/// A column.
#[derive(Clone, Debug)]
pub struct Head {
    text: String,
    class: Option<&'static str>,
}

/// A column of words.
pub fn words(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: None,
    }
}

/// A column of numbers.
pub fn numbers(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: Some("n"),
    }
}

/// A column of words that are not broken.
pub fn whole(text: &str) -> Head {
    Head {
        text: text.to_owned(),
        class: Some("nowrap"),
    }
}

/// Rows below their heads, with a caption; the first cell of each names its row.
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
