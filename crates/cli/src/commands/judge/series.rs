//! `assay series`: lists series and their changes, checks for slowdowns (`--gate`), writes a mail.
//! `assay series SERIES` draws one series over its runs, with its changes.

use crate::exit::{DONE, Failure, MISSED};
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::StoreArgs;
use crate::stored::series;
use crate::stored::series::OpinionArgs;
use crate::ui::parse_since;
use assay_lang::tr;
use assay_model::annotation::parse_tag;
use assay_model::figures::{SeriesChange, StoredSeries};
use assay_report::changes::ListedSeries;
use assay_report::{json, views};
use assay_store::SeriesFilter;
use clap::Args;
use std::collections::HashMap;
use std::process::ExitCode;

const SERIES_HELP: &str = "\
A series has the runs of one job on devices of one model on one machine, under one condition,
with one label (docs/series.md). Only metrics that decide are listed and judged, unless --all.

Examples:
  assay series
  assay series --device DG4032 --job 'rand-*' --since 30d
  assay series 3fa9 -o trend.html           one of them, with its changes
  assay series 'board-7 rand-read-4k'
  assay series 3fa9 --accept nightly-12 --note 'firmware 3.2'
  assay series --gate --since 24h
  assay series --job 'rand-*' --accept last --note 'firmware 3.2'
  assay series --news --since 24h --format text | sendmail lab@example.org
  assay series --news --since 24h --json | curl -d @- https://chat.example.org/h

Exit codes: 0 done; 1 failed; 2 wrong usage, or --gate checked no series;
3 a new slowdown that nobody accepted (--gate).";

/// `assay series`.
#[derive(Args, Debug)]
#[command(after_help = SERIES_HELP)]
pub struct SeriesArgs {
    /// Draw this series with its changes and what changed with them: its key as it is listed, at
    /// least the first four digits; or words that occur in its device, machine, job, condition and
    /// metric.
    #[arg(conflicts_with_all = ["project", "device", "job", "metric", "since", "all", "gate", "news"])]
    pub series: Option<String>,
    /// List only series of this project.
    #[arg(long, value_name = "NAME", value_parser = parse_tag)]
    pub project: Option<String>,
    /// List only series whose device, unit or machine contains this text.
    #[arg(long, value_name = "TEXT")]
    pub device: Option<String>,
    /// List only series of this job; a name may end in *.
    #[arg(long, value_name = "JOB")]
    pub job: Option<String>,
    /// List only series of this metric, also an exploratory one, such as read_bw or read_lat_*.
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// List only series with runs since a day (2026-03-14, UTC) or within a time (7d, 12h). A
    /// change is new if the run that made it detectable started since then.
    #[arg(long, value_name = "DATE|TIME", value_parser = parse_since)]
    pub since: Option<u64>,
    /// Also series of exploratory metrics.
    #[arg(long)]
    pub all: bool,
    /// Exit with 3 if there is a slowdown that nobody accepted; with --since, a new one.
    #[arg(long, conflicts_with = "opinion")]
    pub gate: bool,
    /// Let --gate pass where it checked no series (without it: exit code 2).
    #[arg(long, requires = "gate")]
    pub allow_unjudged: bool,
    /// Show only changes new since --since, as text for a mail; with --json, for a webhook.
    #[arg(long, conflicts_with = "opinion")]
    pub news: bool,
    #[command(flatten)]
    pub opinion: OpinionArgs,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Lists series, draws one, acts as a gate, or stores an opinion.
pub fn list_series(args: &SeriesArgs) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.series {
        return draw(args, name);
    }
    let mut store = match args.gate {
        true => series::open_for_gate(&args.store)?,
        false => series::open(&args.store)?,
    };
    let wanted = filter(args);
    // An opinion on a run concerns all metrics of a job.
    let everything = SeriesFilter {
        only_primary: false,
        ..wanted.clone()
    };
    if args.opinion.apply(&mut store, &everything)? {
        return Ok(DONE);
    }
    let all = store.series(&wanted)?;
    let changes = store.changes(&wanted)?;
    let mut new = changes.clone();
    new.retain(|(_, change)| is_new(change, args.since));
    let was_judged = !args.gate || args.allow_unjudged || all.iter().any(|series| series.primary);
    match args.news {
        true => args.output.present(
            || json::news(&new, args.since),
            || views::series::news(&new, args.since),
        )?,
        false => {
            let listed = listed(all, &changes, args.since);
            args.output.present(
                || json::series(&listed),
                || views::series::list(&listed, args.since),
            )?;
        }
    }
    if !was_judged {
        return Err(Failure::usage(tr!(
            "nothing was judged: --gate checked no series; to let it pass: --allow-unjudged"
        )));
    }
    let alarming =
        // A slowdown that a user accepted is not open.
        |(series, change): &(StoredSeries, SeriesChange)| series.primary && change.is_open();
    Ok(match args.gate && new.iter().any(alarming) {
        true => ExitCode::from(MISSED),
        false => DONE,
    })
}

fn filter(args: &SeriesArgs) -> SeriesFilter {
    SeriesFilter {
        project: args.project.clone(),
        device: args.device.clone(),
        model: None,
        job: args.job.clone(),
        metric: args.metric.clone(),
        key: None,
        since_unix_ms: args.since,
        only_primary: !args.all && args.metric.is_none(),
    }
}

/// Returns `true` if the run that made a change detectable started since that time.
fn is_new(change: &SeriesChange, since: Option<u64>) -> bool {
    since.is_none_or(|since| change.found_unix_ms >= since)
}

/// Combines series with their newest changes; `changes` has the newest first.
fn listed(
    all: Vec<StoredSeries>,
    changes: &[(StoredSeries, SeriesChange)],
    since: Option<u64>,
) -> Vec<ListedSeries> {
    let mut newest: HashMap<&str, &SeriesChange> = HashMap::new();
    for (series, change) in changes {
        newest.entry(&series.key).or_insert(change);
    }
    let listed = all.into_iter().map(|series| {
        let change = newest.get(series.key.as_str()).copied();
        let is_alarm = |change: &SeriesChange| change.is_open() && is_new(change, since);
        ListedSeries {
            is_new: series.primary && change.is_some_and(is_alarm),
            change: change.cloned(),
            series,
        }
    });
    listed.collect()
}

/// Draws one series, or stores an opinion on one of its changes.
fn draw(args: &SeriesArgs, name: &str) -> Result<ExitCode, Failure> {
    let mut store = series::open(&args.store)?;
    let series = series::find(&store, name)?;
    let only = SeriesFilter {
        key: Some(series.key.clone()),
        ..SeriesFilter::default()
    };
    if args.opinion.apply(&mut store, &only)? {
        return Ok(DONE);
    }
    let points = store.points(&series.key)?;
    let changes = store.changes_of(&series.key)?;
    let opinions = store.opinions(Some(&series.key))?;
    args.output.present(
        || json::trend(&series, &points, &changes, &opinions),
        || views::series::trend(&series, &points, &changes, &opinions),
    )?;
    Ok(DONE)
}
