//! Execution of one command on several targets at the same time.

use crate::exit::{Failure, LOST};
use crate::output::{print, say};
use crate::targets::On;
use crate::targets::pool::{Crew, EndedTask, Event, Task};
use assay_model::text::clean;
use assay_target::labgrid::{BoardFilter, Lab, Lease, Reservation};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Time between two checks of reservations.
const LOOK: Duration = Duration::from_millis(500);

/// Runs a command on each target; returns the highest of their exit codes.
pub fn run(targets: &[On], words: &[OsString], json: bool) -> Result<ExitCode, Failure> {
    let mut several = Several::new(targets, words)?;
    // Start named boards first, so that a reservation does not get one of them.
    let mut order: Vec<(usize, &On)> = targets.iter().enumerate().collect();
    order.sort_by_key(|(_, target)| matches!(target, On::Labgrid(BoardFilter::Any(_))));
    for (place, target) in order {
        several.begin(place, target);
    }
    several.finish();
    let Several { mut crew, done, .. } = several;
    crew.block.clear();
    print(|out| write_results(done.values(), json, out))?;
    let signalled = crew.signalled();
    if signalled.is_none() {
        say_failures(&done);
    }
    let worst = done.values().map(|result| result.code).max().unwrap_or(0);
    Ok(ExitCode::from(signalled.unwrap_or(worst)))
}

/// Outcome of a target.
struct TargetOutcome {
    name: String,
    code: u8,
    out: Vec<u8>,
    /// Description of the failure.
    trouble: Option<String>,
}

/// Command under way. Targets are known by their indices in the list.
struct Several<'a> {
    words: &'a [OsString],
    crew: Crew,
    lab: Option<Arc<Lab>>,
    /// Indices of the targets of the tasks under way, by task number.
    places: BTreeMap<usize, usize>,
    /// Targets that wait for a board.
    waiting: Vec<(usize, &'a On, Reservation)>,
    done: BTreeMap<usize, TargetOutcome>,
}

impl<'a> Several<'a> {
    /// Prepares the command; nothing is started yet.
    fn new(targets: &[On], words: &'a [OsString]) -> Result<Self, Failure> {
        let in_lab = |on: &On| matches!(on, On::Labgrid(_));
        let lab = targets
            .iter()
            .any(in_lab)
            .then(super::open_lab)
            .transpose()?;
        Ok(Self {
            words,
            crew: Crew::new()?,
            lab,
            places: BTreeMap::new(),
            waiting: Vec::new(),
            done: BTreeMap::new(),
        })
    }

    fn begin(&mut self, place: usize, target: &'a On) {
        let (On::Labgrid(wanted), Some(lab)) = (target, &self.lab) else {
            let task = Task::on_target(target.to_string(), self.words, None);
            self.start(place, target, task);
            return;
        };
        match wanted {
            BoardFilter::Place(name) => match lab.acquire(name) {
                Ok(lease) => self.start_on_board(place, target, lease),
                Err(error) => self.fail(place, target, &error.into()),
            },
            BoardFilter::Any(tags) => match lab.reserve(tags) {
                Ok(reservation) => {
                    self.crew.block.say(&super::waiting_for(wanted));
                    self.waiting.push((place, target, reservation));
                }
                Err(error) => self.fail(place, target, &error.into()),
            },
        }
    }

    fn start_on_board(&mut self, place: usize, target: &On, lease: Lease) {
        self.start(place, target, Task::on_board(lease, self.words, None));
    }

    fn start(&mut self, place: usize, target: &On, task: Task) {
        match self.crew.start(task) {
            Ok(number) => drop(self.places.insert(number, place)),
            Err(failure) => self.fail(place, target, &failure),
        }
    }

    /// Notes that a target could not be used; the other targets continue.
    fn fail(&mut self, place: usize, target: &On, failure: &Failure) {
        let outcome = TargetOutcome {
            name: target.to_string(),
            code: failure.number(),
            out: Vec::new(),
            trouble: Some(format!("{target}: {failure}")),
        };
        self.done.insert(place, outcome);
    }

    /// Waits until all tasks have ended. A signal ends the wait for boards.
    fn finish(&mut self) {
        while self.crew.under_way() + self.waiting.len() > 0 {
            self.crew.block.title = self.title();
            match self.crew.next(LOOK) {
                Event::Ended(ended) => {
                    let place = self.places.remove(&ended.number).unwrap_or(usize::MAX);
                    self.done.insert(place, outcome(ended));
                }
                Event::Stopping => self.waiting.clear(),
                Event::Nothing => {}
            }
            self.look_at_reservations();
        }
    }

    fn look_at_reservations(&mut self) {
        for (place, target, mut reservation) in std::mem::take(&mut self.waiting) {
            match reservation.take() {
                Ok(None) => self.waiting.push((place, target, reservation)),
                Ok(Some(lease)) => self.start_on_board(place, target, lease),
                Err(error) => self.fail(place, target, &error.into()),
            }
        }
    }

    fn title(&self) -> String {
        let failed = self.done.values().filter(|done| done.code != 0).count();
        let mut title = format!(
            "{} under way, {} done, {failed} failed",
            self.crew.under_way(),
            self.done.len() - failed
        );
        if !self.waiting.is_empty() {
            title.push_str(&format!(", {} waiting for a board", self.waiting.len()));
        }
        title
    }
}

fn outcome(ended: EndedTask) -> TargetOutcome {
    TargetOutcome {
        trouble: (ended.code != 0).then(|| ended_in_words(&ended)),
        name: ended.name,
        code: ended.code,
        out: ended.out,
    }
}

/// Writes the output of each target, in the order of the targets; JSON documents go into one array.
fn write_results<'a>(
    all: impl Iterator<Item = &'a TargetOutcome>,
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let wrote = all.filter(|done| !done.out.trim_ascii().is_empty());
    if !json {
        for done in wrote {
            writeln!(out, "--- {}", clean(&done.name))?;
            out.write_all(&done.out)?;
        }
        return Ok(());
    }
    out.write_all(b"[")?;
    for (index, done) in wrote.enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        out.write_all(done.out.trim_ascii())?;
    }
    out.write_all(b"\n]\n")
}

fn say_failures(done: &BTreeMap<usize, TargetOutcome>) {
    let troubles = done.values().filter_map(|done| done.trouble.as_ref());
    let mut failed = 0;
    for trouble in troubles {
        say(&format!("assay: {}", clean(trouble)));
        failed += 1;
    }
    if failed > 0 {
        say(&format!("assay: {failed} of {} targets failed", done.len()));
    }
}

/// Describes which target failed, how, and why.
pub fn ended_in_words(ended: &EndedTask) -> String {
    let why = match (&ended.complaint, ended.too_late) {
        _ if ended.board_lost => "somebody else had its board meanwhile",
        (_, true) => "its time was over",
        (Some(complaint), _) => complaint,
        (None, _) if ended.code == LOST => "the target was lost",
        (None, _) => "see what it said above",
    };
    format!("{} ended with {}: {why}", ended.name, ended.code)
}
