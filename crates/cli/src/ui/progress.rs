//! Progress display of a run: one live line on a terminal, a plain line per step elsewhere.
//! Everything goes to standard error.

pub mod block;
mod forecast;
pub mod live;

use assay_judge::{Judgement, judge};
use assay_lang::tr;
use assay_model::job::Job;
use assay_model::metric::{Metric, Unit};
use assay_model::plan::{Plan, Slot};
use assay_model::text::clean;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, BytesPerSec, Iops, Nanos};
use assay_report::describe;
use assay_report::format::quantity;
use assay_report::text::{numbered, pad_left};
use assay_stats::derive::{self, label_of, measured_of};
use assay_stats::figures::measured_in_words;
pub use forecast::Forecast;
pub use live::Voice;
use std::time::Instant;

/// Display of a run's progress.
pub struct Progress {
    /// Output for other messages during the run.
    pub voice: Voice,
    forecast: Forecast,
    /// Names of the trials, in their order.
    names: Vec<String>,
    /// Index of the current trial.
    place: usize,
    began: Instant,
    pace: RateMeter,
    /// Bytes written of the test file under preparation.
    prepared: Option<Bytes>,
}

/// Trial that is to come.
pub struct Step {
    /// Name of the trial.
    pub name: String,
    /// Kind: trials of one kind take equally long.
    pub kind: usize,
    /// Expected duration.
    pub expected: Nanos,
}

/// Returns the trials of a plan; `expected` is the duration of each, in the plan's order.
pub fn steps(plan: &Plan, expected: &[Nanos]) -> Vec<Step> {
    let slots = plan.order.iter().zip(expected);
    let step = |(slot, expected): (&Slot, &Nanos)| Step {
        name: name(plan, slot),
        kind: slot.job,
        expected: *expected,
    };
    slots.map(step).collect()
}

/// Progress of a trial.
#[derive(Clone, Copy, Default)]
pub struct SoFar {
    /// Time since the start of the trial, on its clock.
    pub elapsed: Nanos,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
}

impl Progress {
    /// Creates the display for all trials, in the order in which they come.
    pub fn new(steps: Vec<Step>) -> Self {
        let kinds: Vec<usize> = steps.iter().map(|step| step.kind).collect();
        let expected: Vec<Nanos> = steps.iter().map(|step| step.expected).collect();
        Self {
            voice: Voice::new(),
            forecast: Forecast::new(&kinds, &expected),
            names: steps.into_iter().map(|step| step.name).collect(),
            place: 0,
            began: Instant::now(),
            pace: RateMeter::default(),
            prepared: None,
        }
    }

    /// Shows that the test file is being written.
    pub fn preparing(&mut self, done: Bytes, total: Bytes) {
        let before = self.prepared.replace(done);
        if before.is_none() {
            self.begins();
        }
        let spent = self.spent();
        let rate = self.pace.at(spent, done.0).map(BytesPerSec);
        let rate = rate.map_or_else(String::new, |rate| rate.to_string());
        let rest = Forecast::rest(done.0, total.0, spent);
        let left = time_left(Nanos(rest.0 + self.forecast.left(self.place, Nanos(0)).0));
        let what = tr!("writing the test file, {done} of {total}", done, total);
        let text = format!("{}  {rate:>11}  {what}", pad_left(&left, 10));
        self.voice.show(self.place, self.names.len(), &text);
        if done == total && !self.voice.is_live() && before != Some(total) {
            self.voice.say(&tr!("wrote the test file, {total}", total));
        }
    }

    /// Notes that the trial at `place` begins.
    pub fn started(&mut self, place: u32) {
        self.place = place as usize;
        self.prepared = None;
        self.begins();
        self.tell("");
    }

    fn begins(&mut self) {
        self.began = Instant::now();
        self.pace = RateMeter::default();
    }

    /// Shows the progress of a trial.
    pub fn under_way(&mut self, job: &Job, so_far: SoFar) {
        let names = derive::primary_metrics(job);
        let is_bw = names.iter().any(|name| name.ends_with("_bw"));
        let amount = if is_bw { so_far.bytes } else { so_far.ios };
        let rate = self.pace.at(so_far.elapsed, amount);
        let rate = rate.map(|rate| match is_bw {
            true => BytesPerSec(rate).to_string(),
            false => Iops(rate).to_string(),
        });
        self.tell(&rate.unwrap_or_default());
    }

    fn tell(&self, rate: &str) {
        let spent = self.spent();
        let left = time_left(self.forecast.left(self.place, spent));
        let name = self.names.get(self.place).map_or("", String::as_str);
        let text = format!("{left:>10}  {rate:>11}  {name}");
        self.voice.show(self.place, self.names.len(), &text);
    }

    /// Shows the result of the trial at `place`.
    pub fn ended(&mut self, place: u32, record: &TrialRecord) {
        let spent = self.spent();
        self.forecast.took(place as usize, spent);
        if self.voice.is_live() && record.outcome == Outcome::Completed {
            return;
        }
        let trials = self.names.len();
        let digits = trials.to_string().len();
        self.voice.say(&format!(
            "[{:>digits$}/{trials}] {}: {}",
            place + 1,
            self.names.get(place as usize).map_or("", String::as_str),
            in_brief(record)
        ));
    }

    /// Returns the time since the trial, or the writing of the file, began.
    fn spent(&self) -> Nanos {
        let spent = self.began.elapsed().as_nanos();
        Nanos(u64::try_from(spent).unwrap_or(u64::MAX))
    }
}

/// Minimum interval of a rate: a shorter one gives no meaningful value.
const SHORTEST_INTERVAL: Nanos = Nanos::millis(50);

/// Meter of the rate since the last reading.
#[derive(Clone, Copy, Default)]
struct RateMeter {
    at: Nanos,
    amount: u64,
}

impl RateMeter {
    /// Returns the rate per second for `amount` at time `at`; `None` before the first interval, before
    /// anything is done, and in a ramp, where the clock stands still.
    fn at(&mut self, at: Nanos, amount: u64) -> Option<f64> {
        let interval = Nanos(at.0.saturating_sub(self.at.0));
        if at >= self.at && interval < SHORTEST_INTERVAL {
            return None;
        }
        let seconds = interval.as_secs_f64();
        let moved = amount.saturating_sub(self.amount) as f64;
        *self = Self { at, amount };
        (seconds > 0.0 && amount > 0).then(|| moved / seconds)
    }
}

fn name(plan: &Plan, slot: &Slot) -> String {
    let condition = plan.condition_of(slot).map(|found| found.name.as_str());
    let job = plan.jobs.get(slot.job).map(|planned| &planned.job);
    job.map_or_else(String::new, |job| name_of(&job.name, slot.trial, condition))
}

/// Formats a name such as `rand-read-4k #2`, with the condition if there is one.
pub fn name_of(job: &str, trial: u32, condition: Option<&str>) -> String {
    let number = numbered(trial);
    let under = condition.map_or_else(String::new, |name| tr!(" under {name}", name));
    clean(&format!("{job} {number}{under}"))
}

/// Formats a remaining time, such as `4:07 left` or `1:02:03 left`.
pub fn time_left(left: Nanos) -> String {
    let secs = left.0.div_ceil(1_000_000_000);
    let (hours, minutes, secs) = (secs / 3600, secs / 60 % 60, secs % 60);
    match hours {
        0 => tr!(
            "{minutes}:{secs} left",
            minutes,
            secs = format_args!("{secs:02}")
        ),
        _ => tr!(
            "{hours}:{minutes}:{secs} left",
            hours,
            minutes = format_args!("{minutes:02}"),
            secs = format_args!("{secs:02}")
        ),
    }
}

/// Formats the deciding figures of a trial with their labels, or the reason why it did not complete.
pub fn in_brief(record: &TrialRecord) -> String {
    match &record.outcome {
        Outcome::Completed => {}
        Outcome::Skipped { reasons } => {
            return clean(&tr!("skipped: {reasons}", reasons = reasons.join("; ")));
        }
        Outcome::Failed { error } => return clean(&tr!("failed: {error}", error)),
        Outcome::Interrupted => return tr!("interrupted").to_owned(),
    }
    let metrics = derive::metrics(record);
    let judgement = judge(record);
    let has = |name: &str| metrics.iter().any(|metric| metric.name == name);
    let figures: Vec<&Metric> = derive::deciding_metrics(&record.job, has)
        .into_iter()
        .filter_map(|name| metrics.iter().find(|metric| metric.name == name))
        .collect();
    let several = figures.len() > 1;
    let words: Vec<String> = figures
        .into_iter()
        .map(|metric| figure(metric, several, judgement.as_ref()))
        .collect();
    words.join("; ")
}

fn figure(metric: &Metric, several: bool, judgement: Option<&Judgement>) -> String {
    let value = quantity(metric.unit, metric.value);
    let is_rate = matches!(metric.unit, Unit::BytesPerSec | Unit::Iops);
    let subject = if several || !is_rate {
        format!("{} ", describe::metric(&metric.name))
    } else {
        String::new()
    };
    let sides = judgement.map_or_else(Vec::new, |judgement| measured_of(&metric.name, judgement));
    let label = match &sides[..] {
        [side] => side.to_string(),
        _ => measured_in_words(&label_of(&metric.name, judgement)),
    };
    format!("{subject}{value}, {label}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_time_since_it_was_last_asked_for() {
        let mut pace = RateMeter::default();
        let rates = [
            pace.at(Nanos(0), 0),
            pace.at(Nanos::secs(1), 0),
            pace.at(Nanos::secs(2), 200),
            pace.at(Nanos::secs(3), 200),
            pace.at(Nanos::secs(4), 250),
            pace.at(Nanos::secs(4), 300),
            pace.at(Nanos(4_000_000_001), 300),
            pace.at(Nanos::secs(5), 350),
        ];
        let expected = [
            None,
            None,
            Some(200.0),
            Some(0.0),
            Some(50.0),
            None,
            None,
            Some(100.0),
        ];
        assert_eq!(rates, expected);
    }

    #[test]
    fn time_left_is_minutes_and_seconds() {
        assert_eq!(time_left(Nanos::millis(61_200)), "1:02 left");
        assert_eq!(time_left(Nanos(0)), "0:00 left");
        assert_eq!(time_left(Nanos::secs(750)), "12:30 left");
        assert_eq!(time_left(Nanos::secs(3723)), "1:02:03 left");
    }
}
