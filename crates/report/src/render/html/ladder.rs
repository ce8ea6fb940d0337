//! The ladders: one transfer in several ways, with what each one measured.

use super::charts::share;
use super::parts;
use crate::results::ladder::Ladder;
use crate::results::summary::{JobSummary, Summary};
use crate::results::write_mode::WriteMode;
use crate::words::format::{percent, quantity, range};
use assay_lang::tr;
use assay_model::metric::Unit;
use maud::{Markup, html};

pub fn markup(ladder: Ladder, summary: &Summary<'_>) -> Option<Markup> {
    let mut jobs = summary.group(ladder.group()).peekable();
    jobs.peek()?;
    Some(html! {
        p { (introduction(ladder)) }
        div.scroll.narrow.stack tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { (tr!("Way to write")) }
                        th.n scope="col" { (tr!("Median")) }
                        th.n scope="col" { (tr!("Lowest .. highest")) }
                        th scope="col" { (share_header(ladder)) }
                        th scope="col" { (tr!("Measured")) }
                        th scope="col" { (tr!("What that means")) }
                    }
                }
                tbody { @for job in jobs { (step(ladder, job)) } }
            }
        }
    })
}

fn introduction(ladder: Ladder) -> &'static str {
    match ladder {
        Ladder::Write => {
            tr!(
                "The same transfer, written in the ways that dd offers. They differ because they measure different things."
            )
        }
        Ladder::Read => {
            tr!(
                "The same file, read from the page cache, through it, and past it. They differ because they measure \
             different things."
            )
        }
    }
}

fn share_header(ladder: Ladder) -> &'static str {
    match ladder {
        Ladder::Write => tr!("On the device when the clock stopped"),
        Ladder::Read => tr!("From the device"),
    }
}

fn step(ladder: Ladder, job: &JobSummary<'_>) -> Markup {
    let way = WriteMode::of(job.job);
    let labels = job.labels(Some(ladder.direction()));
    let shares = ladder.device_shares(job);
    html! {
        tr {
            th scope="row" { (way.name()) }
            @match job.figure(ladder.metric()) {
                Some(figure) => {
                    td.n.main data-name=(tr!("Median")) { (quantity(figure.unit, figure.stats.median)) }
                    td.n data-name=(tr!("Lowest .. highest")) { (parts::spread(&figure)) }
                }
                None => {
                    td.n.main data-name=(tr!("Median")) { (tr!("no result")) }
                    td {}
                }
            }
            td.whole data-name=(ladder.share_header()) {
                @match shares {
                    Some((low, high)) => {
                        (share::draw(ladder.direction(), low)) " "
                        @if percent(low) == percent(high) { (percent(low)) }
                        @else { (range(Unit::Ratio, low, high)) }
                    }
                    None => { (tr!("not known")) }
                }
            }
            td data-name=(tr!("Measured")) { (parts::labels(&labels)) }
            td { (ladder.meaning(way, &labels, shares)) }
        }
    }
}
