//! How slow the slowest I/Os were: of random I/O and of flushes, over all trials.

use super::Page;
use super::table::{Column, Row, Table};
use crate::results::describe;
use crate::results::summary::{Group, JobSummary, Summary};
use crate::results::tails::{JobTail, Operation, of_run};
use crate::words::format::quantity;
use crate::words::text::{clean, shorten};
use assay_lang::tr;
use assay_model::metric::Unit;
use std::io;

const LONGEST_NAME: usize = 20;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let tails = of_run(summary.run);
    let rows: Vec<Row> = summary
        .jobs
        .iter()
        .flat_map(|job| rows(job, &tails))
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    page.title(tr!("Tail latency"))?;
    let column = |head, right| Column { head, right };
    Table {
        columns: [
            column("", false),
            column(tr!("pooled"), true),
            column(tr!("trial mean"), true),
            column(tr!("worst trial"), true),
        ],
        rows,
    }
    .write(page)
}

/// The farthest percentile of each operation that all trials know, else that they
/// know together; of one trial there is nothing more to say than among the results.
fn rows(job: &JobSummary<'_>, tails: &[JobTail<'_>]) -> Vec<Row> {
    let of = |operation: Operation| {
        let own = tails
            .iter()
            .filter(|t| t.job == job.job.name && t.operation == operation);
        own.max_by_key(|t| (t.tail.each.is_some(), t.tail.percentile))
            .filter(|t| t.tail.trials > 1)
    };
    let operations: &[Operation] = match job.group {
        Group::RandomRead | Group::RandomWrite | Group::Mixed => {
            &[Operation::Read, Operation::Write]
        }
        Group::Fsync if of(Operation::DurableWrite).is_some() => &[Operation::DurableWrite],
        Group::Fsync => &[Operation::Flush],
        _ => &[],
    };
    operations
        .iter()
        .filter_map(|operation| of(*operation))
        .map(|tail| row(job, tail))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
fn row(job: &JobSummary<'_>, found: &JobTail<'_>) -> Row {
    let time = |ns: f64| quantity(Unit::Nanos, ns);
    let tail = &found.tail;
    let mut name = shorten(&clean(found.job), LONGEST_NAME);
    if job.group == Group::Mixed {
        name = format!("{name} {}", describe::operation(found.operation.word()));
    }
    let metric = match found.operation {
        Operation::Read => "read_lat_p99",
        Operation::Write => "write_lat_p99",
        Operation::Flush => "flush_lat_p99",
        Operation::DurableWrite => "durable_write_lat_p99",
    };
    let each = tail.each.map_or_else(Default::default, |each| {
        [time(each.geometric_mean_ns), time(each.worst_ns as f64)]
    });
    let [mean, worst] = each;
    Row {
        cells: vec![
            format!("{name} {}", tail.percentile),
            time(tail.pooled_ns as f64),
            mean,
            worst,
        ],
        labels: job.labels_of(metric),
        sentence: None,
    }
}
