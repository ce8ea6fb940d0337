//! Progress display of a run: one live line on a terminal, a plain line per step elsewhere.
//! Everything goes to standard error.
//!
//! - [`Progress`]: the display of one run.
//! - [`LiveBlock`]: live lines at the end of a terminal, one for each run under way.
//! - [`Forecast`]: the remaining time of a run.
//! - [`Messages`]: messages that keep the live line intact.
//!
//! A live line never fills the terminal's width. `indicatif` (0.18) pads each of its lines to the
//! last column, independent of the template (`DrawState::draw_to_term`); the `^C` that a terminal
//! echoes then wraps, and the line is left behind. It would save some 100 lines here: most of this
//! file is names, forecasts and reports between processes.

use crate::child;
use crate::output::{colour_wanted, say, talk_columns, talk_rows};
use assay_judge::{Judgement, judge};
use assay_lang::tr;
use assay_model::act::{ActProgress, ProgressUnit};
use assay_model::figures::{Metric, Unit};
use assay_model::job::Job;
use assay_model::plan::{Plan, Slot};
use assay_model::text::clean;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, BytesPerSec, Iops, Nanos, as_u64};
use assay_report::describe;
use assay_report::words::{beginning, numbered, pad_left, quantity};
use assay_stats::derive;
use assay_stats::derive::{label_of, measured_of};
use assay_stats::figures::measured_in_words;
use std::collections::BTreeMap;
use std::io;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Display of a run's progress.
pub struct Progress {
    /// Output for other messages during the run.
    pub messages: Messages,
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
            messages: Messages::new(),
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
        self.messages.show(self.place, self.names.len(), &text);
        if done == total && !self.messages.is_live() && before != Some(total) {
            self.messages
                .say(&tr!("wrote the test file, {total}", total));
        }
    }

    /// Notes that the trial at `place` begins.
    pub fn started(&mut self, place: u32) {
        self.place = place as usize;
        self.prepared = None;
        self.begins();
        self.show_rate("");
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
        self.show_rate(&rate.unwrap_or_default());
    }

    /// Shows the progress of a step of an act.
    pub fn step(&mut self, progress: &ActProgress) {
        let &ActProgress { done, unit, .. } = progress;
        let rate = self.pace.at(Nanos(progress.elapsed_ns), done);
        let rate = rate.filter(|_| unit == ProgressUnit::Bytes);
        let rate = rate.map(|rate| BytesPerSec(rate).to_string());
        match progress.total.filter(|_| done > 0) {
            Some(total) => {
                let later = self.forecast.left(self.place + 1, Nanos(0));
                let rest = Forecast::rest(done, total, Nanos(progress.elapsed_ns));
                self.show(Nanos(rest.0 + later.0), &rate.unwrap_or_default());
            }
            None => self.show_rate(&rate.unwrap_or_default()),
        }
    }

    fn show_rate(&self, rate: &str) {
        self.show(self.forecast.left(self.place, self.spent()), rate);
    }

    fn show(&self, left: Nanos, rate: &str) {
        let left = time_left(left);
        let name = self.names.get(self.place).map_or("", String::as_str);
        let text = format!("{left:>10}  {rate:>11}  {name}");
        self.messages.show(self.place, self.names.len(), &text);
    }

    /// Shows the result of the trial at `place`.
    pub fn ended(&mut self, place: u32, record: &TrialRecord) {
        let spent = self.spent();
        self.forecast.took(place as usize, spent);
        if self.messages.is_live() && record.outcome == Outcome::Completed {
            return;
        }
        let trials = self.names.len();
        let digits = trials.to_string().len();
        self.messages.say(&format!(
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

/// Default number of columns.
const COLUMNS: usize = 78;
/// Default number of rows.
const ROWS: usize = 24;
/// Maximum length of a target's name in front of its line, in characters.
const NAME: usize = 28;

/// Lines that are redrawn. If the output is no terminal that can redraw them, only messages are
/// written.
pub struct LiveBlock {
    /// `true` if lines are redrawn.
    pub is_live: bool,
    /// Line above all others.
    pub title: String,
    rows: BTreeMap<usize, TargetRow>,
    /// Lines that are on the terminal now.
    shown: Vec<String>,
}

struct TargetRow {
    name: String,
    reported: Reported,
}

impl LiveBlock {
    /// Makes an empty block, which is live on a terminal that can move the cursor.
    pub fn new() -> Self {
        Self {
            is_live: is_live(),
            title: String::new(),
            rows: BTreeMap::new(),
            shown: Vec::new(),
        }
    }

    /// Adds a line for a run.
    pub fn add(&mut self, number: usize, name: &str) {
        let name = name.chars().take(NAME).collect();
        let reported = Reported::default();
        self.rows.insert(number, TargetRow { name, reported });
    }

    /// Updates the progress of a run.
    pub fn show(&mut self, number: usize, reported: &Reported) {
        if let Some(row) = self.rows.get_mut(&number) {
            row.reported.clone_from(reported);
        }
    }

    /// Removes the line of a run that has ended.
    pub fn remove(&mut self, number: usize) {
        self.rows.remove(&number);
    }

    /// Prints a line above the live ones.
    pub fn say(&mut self, line: &str) {
        let shown = std::mem::take(&mut self.shown);
        draw(&erase(shown.len()));
        say(line);
        self.put(shown);
    }

    /// Redraws the lines that have changed.
    pub fn draw(&mut self) {
        if !self.is_live {
            return;
        }
        let lines = self.lines(
            talk_columns().unwrap_or(COLUMNS),
            talk_rows().unwrap_or(ROWS),
        );
        if lines != self.shown {
            draw(&erase(self.shown.len()));
            self.put(lines);
        }
    }

    /// Removes the lines from the terminal.
    pub fn clear(&mut self) {
        draw(&erase(self.shown.len()));
        self.shown.clear();
    }

    fn put(&mut self, lines: Vec<String>) {
        draw(&lines.join("\n"));
        self.shown = lines;
    }

    /// Returns as many lines as fit: the oldest runs first.
    fn lines(&self, columns: usize, rows: usize) -> Vec<String> {
        let width = self.rows.values().map(|row| row.name.chars().count()).max();
        let width = width.unwrap_or(0).min(columns / 3);
        let titles = usize::from(!self.title.is_empty());
        // Two rows stay free: one for typed input, and one for the number of hidden lines.
        let room = rows.saturating_sub(titles + 2).max(1);
        let fit = |text: &str| text.chars().take(columns.saturating_sub(1)).collect();
        let mut lines: Vec<String> = Vec::new();
        lines.extend((titles > 0).then(|| fit(&self.title)));
        lines.extend(self.rows.values().take(room).map(|row| {
            let Reported { done, of, text } = &row.reported;
            let rest = columns.saturating_sub(width + 1);
            let rest = line(*done, *of, text, rest, colour_wanted());
            format!("{:<width$.width$} {rest}", row.name)
        }));
        if self.rows.len() > room {
            lines.push(fit(&format!("and {} more", self.rows.len() - room)));
        }
        lines
    }
}

/// Returns the sequence that erases lines, with the cursor in the last of them.
fn erase(lines: usize) -> String {
    match lines {
        0 => String::new(),
        // ECMA-48: cursor up, for all but the first.
        _ => CLEAR.to_owned() + &format!("\u{1b}[1A{CLEAR}").repeat(lines - 1),
    }
}

/// Forecast from the planned and the actual durations of trials. A job's trials take as long as its
/// last one, and jobs that have not run yet deviate from the plan as the others did.
pub struct Forecast {
    /// Job and planned time of each trial, in the plan's order.
    trials: Vec<(usize, Nanos)>,
    /// Duration of each job's last trial.
    last: Vec<Option<Nanos>>,
    /// Sums over the trials that have ended.
    planned: Nanos,
    spent: Nanos,
}

/// Share of the plan, as one part in this many, that counts as if it had gone as planned, so that
/// the first trials do not dominate.
const TRUST_IN_PLAN: u64 = 10;

impl Forecast {
    /// Makes a forecast; `jobs` and `expected` are in the plan's order.
    pub fn new(jobs: &[usize], expected: &[Nanos]) -> Self {
        let count = jobs.iter().max().map_or(0, |last| last + 1);
        Self {
            trials: jobs.iter().copied().zip(expected.iter().copied()).collect(),
            last: vec![None; count],
            planned: Nanos(0),
            spent: Nanos(0),
        }
    }

    /// Notes the duration of a trial that has ended, including its overhead.
    pub fn took(&mut self, position: usize, spent: Nanos) {
        if let Some((job, planned)) = self.trials.get(position) {
            self.last[*job] = Some(spent);
            self.planned.0 += planned.0;
            self.spent.0 += spent.0;
        }
    }

    /// Returns the remaining time if the trial at `position` has been running for `spent`.
    pub fn left(&self, position: usize, spent: Nanos) -> Nanos {
        let mut rest = self
            .trials
            .iter()
            .skip(position)
            .map(|trial| self.guess(trial));
        let current = rest.next().unwrap_or_default();
        let later: u64 = rest.map(|guess| guess.0).sum();
        Nanos(later + current.0.saturating_sub(spent.0))
    }

    fn guess(&self, (job, planned): &(usize, Nanos)) -> Nanos {
        if let Some(last) = self.last[*job] {
            return last;
        }
        let whole: u64 = self.trials.iter().map(|(_, planned)| planned.0).sum();
        let trust = (whole / TRUST_IN_PLAN).max(1);
        let pace = (self.spent.0 + trust) as f64 / (self.planned.0 + trust) as f64;
        Nanos(as_u64(planned.0 as f64 * pace))
    }

    /// Returns the remaining time at the mean pace so far; `done` and `total` are in any unit.
    pub fn rest(done: u64, total: u64, spent: Nanos) -> Nanos {
        let rest = u128::from(total.saturating_sub(done));
        let left = rest * u128::from(spent.0) / u128::from(done.max(1));
        Nanos(u64::try_from(left).unwrap_or(u64::MAX))
    }
}

/// Number of columns left free at the end of the line.
const FREE: usize = 3;
/// Minimum width of a terminal that has space for a bar, in columns.
const WIDE: usize = 78;
/// Width of the bar, in characters.
const BAR: usize = 20;
/// Carriage return and ECMA-48 "erase in line" for the whole line.
pub const CLEAR: &str = "\r\u{1b}[2K";

/// Prefix of a live line for the parent process: a character that [`clean`] removes.
const REPORT: char = '\u{1e}';
/// Separator between the fields of such a line.
const BETWEEN: char = '\u{1f}';

/// Output of messages on standard error that keeps the live line intact. The live line exists only
/// on a terminal, or in a child process, whose parent shows it. Can be used from several threads.
#[derive(Clone)]
pub struct Messages {
    /// Live line; `None` if it cannot be redrawn.
    shown: Option<Arc<Mutex<String>>>,
    /// `true` if the parent process shows the line.
    is_reported: bool,
}

/// Content of a live line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Number of finished steps.
    pub done: usize,
    /// Number of all steps.
    pub of: usize,
    /// Description of the step under way.
    pub text: String,
}

impl Reported {
    /// Formats the line for the parent process.
    fn write(&self) -> String {
        let Self { done, of, text } = self;
        format!("{REPORT}{done}{BETWEEN}{of}{BETWEEN}{text}")
    }

    /// Parses such a line; `None` for lines for the user.
    pub fn read(line: &str) -> Option<Self> {
        let mut parts = line.strip_prefix(REPORT)?.splitn(3, BETWEEN);
        Some(Self {
            done: parts.next()?.parse().ok()?,
            of: parts.next()?.parse().ok()?,
            text: clean(parts.next()?),
        })
    }
}

/// `true` if standard error is a terminal that can draw over its last lines.
pub fn is_live() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !dumb
}

impl Messages {
    /// Makes the output, with a live line if the terminal can redraw its last line, or the parent shows it.
    pub fn new() -> Self {
        let is_reported = child::this().is_some_and(|part| part.live);
        Self {
            shown: (is_reported || is_live()).then(Arc::default),
            is_reported,
        }
    }

    /// `true` if there is a live line.
    pub fn is_live(&self) -> bool {
        self.shown.is_some()
    }

    /// Prints a message above the live line.
    pub fn say(&self, line: &str) {
        match self.lock() {
            None => say(line),
            Some(_) if self.is_reported => say(line),
            Some(shown) => draw(&format!("{CLEAR}{line}\n{shown}", shown = *shown)),
        }
    }

    /// Replaces the live line: the number of finished steps, that of all steps, and the current step.
    pub fn show(&self, done: usize, of: usize, text: &str) {
        let Some(mut shown) = self.lock() else { return };
        if self.is_reported {
            let text = text.to_owned();
            say(&Reported { done, of, text }.write());
            return;
        }
        let line = line(
            done,
            of,
            text,
            talk_columns().unwrap_or(WIDE),
            colour_wanted(),
        );
        if *shown != line {
            draw(&format!("{CLEAR}{line}"));
            *shown = line;
        }
    }

    /// Removes the live line.
    pub fn clear(&self) {
        if let Some(mut shown) = self.lock() {
            shown.clear();
            if !self.is_reported {
                draw(CLEAR);
            }
        }
    }

    fn lock(&self) -> Option<MutexGuard<'_, String>> {
        let shown = self.shown.as_ref()?;
        Some(shown.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes to standard error; a failed write is ignored, because the run must continue.
pub fn draw(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// Formats the line, with a bar if there is space for one.
pub fn line(done: usize, of: usize, text: &str, columns: usize, colour: bool) -> String {
    let start = format!("{done:>3}/{of} ");
    let bar = (columns >= WIDE).then(|| bar(done, of, colour));
    let taken = start.len() + FREE + bar.as_ref().map_or(0, |_| BAR + 1);
    let text = beginning(text, columns.saturating_sub(taken));
    match bar {
        Some(bar) => format!("{start}{bar} {text}"),
        None => format!("{start}{text}"),
    }
}

fn bar(done: usize, of: usize, colour: bool) -> String {
    let filled = done.min(of) * BAR / of.max(1);
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled));
    if colour {
        format!("\u{1b}[36m{bar}\u{1b}[0m")
    } else {
        bar
    }
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

    fn block(rows: usize) -> LiveBlock {
        let mut block = LiveBlock::new();
        for number in 0..rows {
            block.add(number, &format!("ssh://board-{number}"));
            let text = "0:07 left  rand-read-4k #2".to_owned();
            let (done, of) = (3, 45);
            block.show(number, &Reported { done, of, text });
        }
        block
    }

    #[test]
    fn each_run_has_a_line_that_fits() {
        let mut block = block(2);
        block.title = "2 under way".to_owned();
        let lines = block.lines(60, 24);
        assert_eq!(lines[0], "2 under way");
        assert_eq!(lines[1], "ssh://board-0   3/45 0:07 left  rand-read-4k #2");
        assert_eq!(lines.len(), 3);
        for columns in [10, 30, 80, 200] {
            for line in block.lines(columns, 24) {
                // The bar's colours take no room.
                let line = line.replace("\u{1b}[36m", "").replace("\u{1b}[0m", "");
                let width = line.chars().count();
                assert!(width < columns.max(20), "{columns}: {line}");
            }
        }
    }

    #[test]
    fn more_runs_than_rows_are_counted() {
        let lines = block(50).lines(80, 24);
        assert_eq!(lines.len(), 23);
        assert_eq!(lines[22], "and 28 more");
        assert_eq!(block(1).lines(80, 1).len(), 1);
    }

    fn forecast() -> Forecast {
        Forecast::new(&[0, 1, 0, 1], &[Nanos::secs(10); 4])
    }

    #[test]
    fn at_first_the_plan_is_all_there_is() {
        assert_eq!(forecast().left(0, Nanos(0)), Nanos::secs(40));
        assert_eq!(forecast().left(0, Nanos::secs(3)), Nanos::secs(37));
        assert_eq!(forecast().left(3, Nanos::secs(99)), Nanos(0));
        assert_eq!(forecast().left(9, Nanos(0)), Nanos(0));
    }

    #[test]
    fn a_job_takes_as_long_as_its_last_trial() {
        let mut forecast = forecast();
        forecast.took(0, Nanos::secs(2));
        forecast.took(1, Nanos::secs(30));
        assert_eq!(forecast.left(2, Nanos(0)), Nanos::secs(32));
    }

    #[test]
    fn slow_trials_make_the_unknown_ones_slow_too() {
        let mut forecast = forecast();
        forecast.took(0, Nanos::secs(80));
        // (80 + 4) / (10 + 4) = 6 times the plan.
        assert_eq!(forecast.left(1, Nanos(0)), Nanos::secs(60 + 80 + 60));
    }

    #[test]
    fn a_file_is_written_on_at_the_pace_so_far() {
        let rest = Forecast::rest(64 << 20, 256 << 20, Nanos::secs(2));
        assert_eq!(rest, Nanos::secs(6));
    }

    #[test]
    fn the_line_never_reaches_the_last_columns() {
        for columns in [40, 50, 77, 78, 80, 200] {
            let line = line(12, 61, &"x".repeat(300), columns, false);
            assert_eq!(line.chars().count(), columns - FREE, "{columns}: {line}");
        }
    }

    #[test]
    fn a_progress_report_of_a_child_is_not_a_line_for_the_user() {
        let text = "0:07 left".to_owned();
        let (done, of) = (3, 45);
        let reported = Reported { done, of, text };
        assert_eq!(Reported::read(&reported.write()), Some(reported));
        for line in [
            "",
            "[ 3/45] rand-read-4k",
            "\u{1e}3\u{1f}x\u{1f}y",
            "\u{1e}3",
        ] {
            assert_eq!(Reported::read(line), None, "{line:?}");
        }
    }

    #[test]
    fn narrow_terminals_have_no_bar() {
        assert_eq!(line(3, 45, "0:07 left", 50, true), "  3/45 0:07 left");
        let wide = line(15, 60, "0:07 left", 80, false);
        assert_eq!(wide, " 15/60 █████░░░░░░░░░░░░░░░ 0:07 left");
    }

    #[test]
    fn a_bar_of_nothing_is_empty() {
        assert!(bar(0, 0, false).starts_with('░'));
    }
}
