//! What the user sees while a run is under way: one live line on a terminal, a
//! plain line per step elsewhere. All on standard error.

use crate::output::{colour_wanted, say};
use assay_model::job::Job;
use assay_model::label::judge;
use assay_model::plan::Plan;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, BytesPerSec, Iops, Nanos};
use assay_stats::derive;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shows how a run goes.
pub struct Progress {
    view: View,
    /// What each trial of the plan is expected to take, in its order.
    expected: Vec<Nanos>,
    trials: usize,
    last: Rate,
}

enum View {
    Live(ProgressBar),
    Plain,
}

/// Where the last rate was taken.
#[derive(Clone, Copy)]
struct Rate {
    at: Instant,
    bytes: u64,
}

impl Progress {
    /// `expected`: how long each trial takes, in the plan's order.
    pub fn new(plan: &Plan, expected: Vec<Nanos>) -> Self {
        let view = if std::io::stderr().is_terminal() {
            View::Live(live_bar(plan.order.len()))
        } else {
            View::Plain
        };
        Self {
            view,
            expected,
            trials: plan.order.len(),
            last: Rate {
                at: Instant::now(),
                bytes: 0,
            },
        }
    }

    /// The test file is being written.
    pub fn preparing(&mut self, done: Bytes, total: Bytes) {
        let rate = self.rate(done.0);
        match &self.view {
            View::Live(bar) => {
                bar.set_message(format!("writing the test file: {done} of {total}  {rate}"));
            }
            View::Plain if done == total => say(&format!("wrote the test file, {total}")),
            View::Plain => {}
        }
    }

    /// A trial begins.
    pub fn started(&mut self, position: u32, job: &Job, trial: u32) {
        self.last = Rate {
            at: Instant::now(),
            bytes: 0,
        };
        if let View::Live(bar) = &self.view {
            bar.set_position(position.into());
            bar.set_message(format!("{} #{trial}", job.name));
        }
    }

    /// A trial is under way.
    pub fn under_way(&mut self, position: u32, job: &Job, elapsed: Nanos, bytes: u64) {
        let rate = self.rate(bytes);
        if let View::Live(bar) = &self.view {
            let left = self.left(position, elapsed);
            bar.set_message(format!("{}  {rate}  {left} left", job.name));
        }
    }

    /// A trial ended.
    pub fn ended(&self, record: &TrialRecord) {
        let place = format!("[{}/{}]", record.position + 1, self.trials);
        let line = format!(
            "{place} {} #{}: {}",
            record.job.name,
            record.trial,
            in_brief(record)
        );
        match &self.view {
            View::Plain => say(&line),
            View::Live(bar) => {
                bar.set_position(u64::from(record.position) + 1);
                if record.outcome != Outcome::Completed {
                    bar.println(line);
                }
            }
        }
    }

    /// Takes the live line away.
    pub fn clear(&self) {
        if let View::Live(bar) = &self.view {
            bar.finish_and_clear();
        }
    }

    /// Rate since the last call.
    fn rate(&mut self, bytes: u64) -> BytesPerSec {
        let since = Rate {
            at: Instant::now(),
            bytes,
        };
        let seconds = since
            .at
            .duration_since(self.last.at)
            .as_secs_f64()
            .max(1e-3);
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let moved = bytes.saturating_sub(self.last.bytes) as f64;
        self.last = since;
        BytesPerSec(moved / seconds)
    }

    /// Time left, to the second.
    fn left(&self, position: u32, elapsed: Nanos) -> String {
        let rest = self.expected.get(position as usize..).unwrap_or_default();
        let planned: u64 = rest.iter().map(|span| span.0).sum();
        let secs = planned.saturating_sub(elapsed.0).div_ceil(1_000_000_000);
        format!("{}:{:02}", secs / 60, secs % 60)
    }
}

fn live_bar(trials: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(trials as u64), ProgressDrawTarget::stderr());
    let template = if colour_wanted() {
        "{pos:>3}/{len} {bar:20.cyan} {wide_msg}"
    } else {
        "{pos:>3}/{len} {bar:20} {wide_msg}"
    };
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// The deciding figures of a trial with what they measured, or how it ended.
fn in_brief(record: &TrialRecord) -> String {
    match &record.outcome {
        Outcome::Completed => {}
        Outcome::Skipped { reasons } => return format!("skipped: {}", reasons.join("; ")),
        Outcome::Failed { error } => return format!("failed: {error}"),
        Outcome::Interrupted => return "interrupted".to_owned(),
    }
    let metrics = derive::metrics(record);
    let mut brief = String::new();
    for name in derive::primary_metrics(&record.job) {
        let Some(metric) = metrics.iter().find(|metric| metric.name == name) else {
            continue;
        };
        let _ = write!(brief, "{}{}", separator(&brief), quantity(metric));
    }
    if let Some(judged) = judge(record) {
        for side in [judged.read, judged.write].into_iter().flatten() {
            let _ = write!(brief, "{}{}", separator(&brief), side.measured);
        }
    }
    brief
}

const fn separator(so_far: &str) -> &'static str {
    if so_far.is_empty() { "" } else { ", " }
}

fn quantity(metric: &assay_model::metric::Metric) -> String {
    use assay_model::metric::Unit;
    match metric.unit {
        Unit::BytesPerSec => BytesPerSec(metric.value).to_string(),
        Unit::Iops => Iops(metric.value).to_string(),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a latency in whole nanoseconds"
        )]
        Unit::Nanos => Nanos(metric.value as u64).to_string(),
        Unit::Ratio | Unit::Count => metric.value.to_string(),
    }
}
