//! The four ways of dd with what each one measured.

use super::charts::share;
use super::parts;
use crate::describe;
use crate::format::{percent, quantity, range};
use crate::summary::{Group, JobSummary, Summary, Way};
use assay_model::job::Direction;
use assay_model::metric::Unit;
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let jobs: Vec<&JobSummary<'_>> = summary.group(Group::Ladder).collect();
    let first = jobs.first()?;
    Some(html! {
        p {
            "The same " (first.job.size) ", written in the four ways that dd offers. They differ because \
             they measure different things."
        }
        div.scroll.narrow.stack tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { "Way" }
                        th.n scope="col" { "Rate" }
                        th scope="col" { "On the device when the clock stopped" }
                        th scope="col" { "Measured" }
                        th scope="col" { "What that means" }
                    }
                }
                tbody { @for job in jobs { (step(job)) } }
            }
        }
    })
}

fn step(job: &JobSummary<'_>) -> Markup {
    let way = Way::of(job.job);
    let labels = job.labels(Some(Direction::Write));
    let shares = describe::device_shares(job);
    let rate = job.figure("write_bw");
    html! {
        tr {
            th scope="row" { (way.name()) }
            td.n.main data-name="Rate" {
                @match rate {
                    Some(figure) => { (quantity(figure.unit, figure.stats.median)) }
                    None => { "no result" }
                }
            }
            td data-name="On the device when the clock stopped" {
                @match shares {
                    Some((low, high)) => {
                        (share::draw(low)) " "
                        @if percent(low) == percent(high) { (percent(low)) }
                        @else { (range(Unit::Ratio, low, high)) }
                    }
                    None => { "not known" }
                }
            }
            td data-name="Measured" { (parts::labels(&labels)) }
            td { (describe::ladder_step(way, &labels, shares)) }
        }
    }
}
