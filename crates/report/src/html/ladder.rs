//! The ladders: one transfer in several ways, with what each one measured.

use super::charts::share;
use super::parts;
use crate::format::{percent, quantity, range};
use crate::ladder::Ladder;
use crate::summary::{JobSummary, Summary};
use crate::way::Way;
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
                        th scope="col" { "Way" }
                        th.n scope="col" { "Median" }
                        th.n scope="col" { "Lowest .. highest" }
                        th scope="col" { (share_header(ladder)) }
                        th scope="col" { "Measured" }
                        th scope="col" { "What that means" }
                    }
                }
                tbody { @for job in jobs { (step(ladder, job)) } }
            }
        }
    })
}

const fn introduction(ladder: Ladder) -> &'static str {
    match ladder {
        Ladder::Write => {
            "The same transfer, written in the ways that dd offers. They differ because they measure different things."
        }
        Ladder::Read => {
            "The same file, read from the page cache, through it, and past it. They differ because they measure \
             different things."
        }
    }
}

const fn share_header(ladder: Ladder) -> &'static str {
    match ladder {
        Ladder::Write => "On the device when the clock stopped",
        Ladder::Read => "From the device",
    }
}

fn step(ladder: Ladder, job: &JobSummary<'_>) -> Markup {
    let way = Way::of(job.job);
    let labels = job.labels(Some(ladder.direction()));
    let shares = ladder.device_shares(job);
    html! {
        tr {
            th scope="row" { (way.name()) }
            @match job.figure(ladder.metric()) {
                Some(figure) => {
                    td.n.main data-name="Median" { (quantity(figure.unit, figure.stats.median)) }
                    td.n data-name="Lowest .. highest" { (parts::spread(&figure)) }
                }
                None => {
                    td.n.main data-name="Median" { "no result" }
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
                    None => { "not known" }
                }
            }
            td data-name="Measured" { (parts::labels(&labels)) }
            td { (ladder.meaning(way, &labels, shares)) }
        }
    }
}
