//! Several runs at the same time, each in a separate process that measures on one target, with one
//! display for all.
//!
//! A process for each: the output, storage and clean-up of a command are the same as if it ran
//! alone, and a failure does not affect the others. All processes write to one store, which
//! supports that.
//!
//! A child's standard input is a pipe that ends with this process; the child then ends as by
//! SIGTERM. Children do not talk to a lab: this process holds the lease of a place as long as its
//! child measures.

use crate::child::Claim;
use crate::exit::{FAILED, Failure, Interrupt, LOST, code_of_signal};
use crate::output::{print, say};
use crate::targets::{On, this_program};
use crate::ui::progress::{LiveBlock, Reported};
use crate::{child, config, stored};
use assay_model::text::clean;
use assay_store::Owner;
use assay_target::check_agents;
use assay_target::labgrid::{BoardFilter, Lab, Lease, Reservation, Trouble};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Time limit for a member to end in good order after a request to end.
const GRACE: Duration = Duration::from_secs(90);
/// Minimum time between two updates of the display.
const FRAME: Duration = Duration::from_millis(100);

/// A command on a target.
pub struct Task {
    /// User's name of the target.
    pub name: String,
    /// Address of the target.
    pub address: String,
    /// Arguments of the command.
    pub words: Vec<OsString>,
    /// Time limit of the task.
    pub limit: Option<Duration>,
    /// Lease of a board, released when the task has ended.
    pub lease: Option<Lease>,
}

impl Task {
    /// Makes a task on a board of a lab.
    pub fn on_board(lease: Lease, words: &[OsString], limit: Option<Duration>) -> Self {
        Self {
            name: lease.name(),
            address: lease.address().to_string(),
            words: words.to_vec(),
            limit,
            lease: Some(lease),
        }
    }

    /// Makes a task on a machine that is reached by its name.
    pub fn on_target(name: String, words: &[OsString], limit: Option<Duration>) -> Self {
        Self {
            address: name.clone(),
            name,
            words: words.to_vec(),
            limit,
            lease: None,
        }
    }
}

/// Task that has ended.
#[derive(Debug)]
pub struct EndedTask {
    /// Number that [`Crew::start`] returned.
    pub number: usize,
    /// Name of the target.
    pub name: String,
    /// Exit code of the task; 128 plus the number of a signal.
    pub code: u8,
    /// Standard output of the task.
    pub out: Vec<u8>,
    /// Reason of the failure, as the task printed it.
    pub complaint: Option<String>,
    /// Identity of the process, as in the store.
    pub process: Owner,
    /// `true` if the task was stopped at its time limit.
    pub too_late: bool,
    /// `true` if another user acquired the board meanwhile: the figures may be of two jobs at a time.
    pub board_lost: bool,
}

/// Event of a crew.
#[derive(Debug)]
pub enum Event {
    /// A task ended.
    Ended(EndedTask),
    /// A signal requests the end; all tasks were asked to stop.
    Stopping,
    /// The time limit was reached before anything happened.
    Nothing,
}

/// Message of a member's thread, or of the signal handler.
enum TaskMessage {
    Line(usize, String),
    Ended {
        number: usize,
        code: u8,
        out: Vec<u8>,
    },
    Signal,
}

/// Tasks under way.
pub struct Crew {
    program: PathBuf,
    members: BTreeMap<usize, Member>,
    /// Claims, each with the number and the name of its member.
    claims: Vec<(usize, String, Claim)>,
    next: usize,
    told: Receiver<TaskMessage>,
    sender: Sender<TaskMessage>,
    interrupt: Interrupt,
    /// Display of the tasks.
    pub block: LiveBlock,
    drawn: Instant,
}

impl Crew {
    /// Makes an empty crew; from now on signals end its tasks.
    pub fn new() -> Result<Self, Failure> {
        // Check here, because each member would print the same error.
        check_agents()?;
        let (sender, told) = channel();
        let on_signal = sender.clone();
        let interrupt = Interrupt::catch(move || {
            // A failed send means that all tasks have ended.
            let _ = on_signal.send(TaskMessage::Signal);
        })?;
        Ok(Self {
            program: this_program()?,
            members: BTreeMap::new(),
            claims: Vec::new(),
            next: 0,
            told,
            sender,
            interrupt,
            block: LiveBlock::new(),
            drawn: Instant::now(),
        })
    }

    /// Returns the exit code for the signal; `None` if there was none.
    pub fn signalled(&self) -> Option<u8> {
        self.interrupt.exit_code()
    }

    /// Returns the number of tasks under way.
    pub fn under_way(&self) -> usize {
        self.members.len()
    }

    /// Starts a task; returns its number.
    pub fn start(&mut self, task: Task) -> Result<usize, Failure> {
        let live = self.block.is_live;
        let words = child::words(&task.name, &task.address, live, &task.words);
        let number = self.next;
        self.block.add(number, &clean(&task.name));
        let member = Member::start(&self.program, &words, task, number, &self.sender)?;
        self.next += 1;
        self.members.insert(number, member);
        Ok(number)
    }

    /// Waits for an event, at most for `patience`.
    pub fn next(&mut self, patience: Duration) -> Event {
        let deadline = Instant::now() + patience;
        loop {
            self.end_the_late();
            self.answer_claims();
            let now = Instant::now();
            if now >= self.drawn + FRAME {
                self.block.draw();
                self.drawn = now;
            }
            if now >= deadline {
                return Event::Nothing;
            }
            match self.told.recv_timeout(FRAME.min(deadline - now)) {
                Ok(TaskMessage::Line(number, line)) => self.receive(number, &line),
                Ok(TaskMessage::Ended { number, code, out }) => {
                    if let Some(ended) = self.ended(number, code, out) {
                        return Event::Ended(ended);
                    }
                }
                Ok(TaskMessage::Signal) => {
                    self.block.say("stopping all; finished trials are kept");
                    self.members.values().for_each(Member::stop);
                    return Event::Stopping;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn receive(&mut self, number: usize, line: &str) {
        if let Some(reported) = Reported::read(line) {
            self.block.show(number, &reported);
            return;
        }
        let Some(member) = self.members.get_mut(&number) else {
            return;
        };
        if let Some(claim) = Claim::read(line) {
            self.claims
                .push((number, member.name.clone(), claim.clone()));
            member.claims(claim);
            return;
        }
        let line = member.receive(line);
        let line = format!("{}: {line}", member.name);
        self.block.say(&clean(&line));
    }

    fn ended(&mut self, number: usize, code: u8, out: Vec<u8>) -> Option<EndedTask> {
        let mut member = self.members.remove(&number)?;
        self.block.remove(number);
        let mut board_lost = false;
        if let Some(Err(trouble)) = member.lease.take().map(Lease::release) {
            board_lost = trouble == Trouble::Taken;
            self.block
                .say(&clean(&format!("{}: {trouble}", member.name)));
        }
        Some(EndedTask {
            board_lost,
            ..member.into_ended(number, code, out)
        })
    }

    /// Answers claims once all members have made one: a member waits no longer, but is refused if
    /// another one measures the same storage.
    fn answer_claims(&mut self) {
        if self.members.values().any(|member| member.claim().is_none()) {
            return;
        }
        for (&number, member) in &mut self.members {
            if let Some(claim) = member.claim().filter(|_| member.waits) {
                let mut others = self.claims.iter().filter(|(other, ..)| *other != number);
                let same = others.find(|(_, _, other)| claim.is_of_the_same(other));
                let refusal = same.map(|(_, name, _)| doubled(&member.name, name, claim));
                member.answer(refusal);
            }
        }
    }

    /// Requests the end of tasks whose time is over, and later kills them.
    fn end_the_late(&mut self) {
        let now = Instant::now();
        let late = self.members.values_mut();
        for member in late.filter(|member| member.deadline.is_some_and(|at| at <= now)) {
            if member.too_late {
                member.kill();
            } else {
                member.stop();
            }
            member.too_late = true;
            member.deadline = Some(now + GRACE);
        }
    }

    /// Waits until all tasks have ended, at most for `patience`.
    fn see_them_end(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while !self.members.is_empty() && Instant::now() < deadline {
            self.next(deadline.saturating_duration_since(Instant::now()));
        }
        self.block.clear();
    }
}

fn doubled(name: &str, other: &str, claim: &Claim) -> String {
    let device = match claim.devices.as_str() {
        "" => "the same storage".to_owned(),
        devices => format!("the same device ({devices})"),
    };
    format!(
        "{name} and {other} are {device} of one machine (same boot id): two runs at a time \
         would measure each other, and two runs are no two units; name it once"
    )
}

/// Ends all members before their boards are released, even after a failure: nothing may measure on
/// a released board.
impl Drop for Crew {
    fn drop(&mut self) {
        for end in [Member::stop, Member::kill] {
            self.members.values().for_each(end);
            self.see_them_end(GRACE);
        }
    }
}

/// Maximum length of a line of a process, in bytes.
const LONGEST_LINE: u64 = 64 << 10;
/// Prefix of a failure's line.
const COMPLAINT: &str = "assay: ";

/// Child process under way.
struct Member {
    pub name: String,
    /// Time at which the process is stopped, and later killed.
    pub deadline: Option<Instant>,
    pub too_late: bool,
    process: Owner,
    /// Lease of a board, released when the process has ended.
    pub lease: Option<Lease>,
    /// Recipient of signals; `None` once the process has ended, because the number may be reused.
    pid: Arc<Mutex<Option<Pid>>>,
    complaint: Option<String>,
    /// Device that the member is about to measure, or measures.
    claim: Option<Claim>,
    /// `true` while the process waits for the answer to its claim.
    pub waits: bool,
    /// Standard input of the process; it ends when this closes, even if this process is killed.
    lifeline: Option<ChildStdin>,
}

impl Member {
    pub fn start(
        program: &Path,
        words: &[OsString],
        task: Task,
        number: usize,
        sender: &Sender<TaskMessage>,
    ) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .args(words)
            .envs(config::current().variables())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Own process group: a Ctrl-C on the terminal reaches only this process, which stops all.
            .process_group(0)
            .spawn()
            .map_err(|error| {
                Failure::failed(format!("cannot start {}: {error}", program.display()))
            })?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = Arc::new(Mutex::new(pid));
        let process = stored::owner_of(child.id());
        let lifeline = child.stdin.take();
        let (sender, known) = (sender.clone(), Arc::clone(&pid));
        let following = Builder::new().spawn(move || follow(child, number, &known, &sender));
        following.map_err(Failure::no_thread)?;
        Ok(Self {
            name: task.name,
            deadline: task.limit.map(|limit| Instant::now() + limit),
            too_late: false,
            process,
            lease: task.lease,
            pid,
            complaint: None,
            claim: None,
            waits: false,
            lifeline,
        })
    }

    /// Notes the storage that the process is about to measure.
    pub fn claims(&mut self, claim: Claim) {
        self.claim = Some(claim);
        self.waits = true;
    }

    /// Returns the member's claim; `None` if it has not made one yet.
    pub fn claim(&self) -> Option<&Claim> {
        self.claim.as_ref()
    }

    /// Permits the measurement, or refuses it with a reason.
    pub fn answer(&mut self, refusal: Option<String>) {
        self.waits = false;
        if let Some(lifeline) = &mut self.lifeline {
            // A process that has ended meanwhile needs no answer.
            let _ = writeln!(lifeline, "{}", clean(&refusal.unwrap_or_default()));
        }
    }

    /// Requests an orderly end.
    pub fn stop(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills the process; its agent cleans up by itself.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.pid.lock().unwrap_or_else(PoisonError::into_inner) {
            // The process may have ended by itself.
            let _ = kill_process(pid, signal);
        }
    }

    /// Returns a line as it is to be shown. If it is that of a failure, the reason is kept.
    pub fn receive<'a>(&mut self, line: &'a str) -> &'a str {
        let Some(failure) = child::read_failure(line) else {
            return line;
        };
        let complaint = failure.strip_prefix(COMPLAINT).unwrap_or(failure);
        self.complaint = Some(clean(complaint));
        failure
    }

    pub fn into_ended(self, number: usize, code: u8, out: Vec<u8>) -> EndedTask {
        EndedTask {
            number,
            name: self.name,
            code,
            out,
            complaint: self.complaint,
            process: self.process,
            too_late: self.too_late,
            board_lost: false,
        }
    }
}

/// Forwards the lines of a process to standard error, and its end with its standard output.
fn follow(mut child: Child, number: usize, pid: &Mutex<Option<Pid>>, sender: &Sender<TaskMessage>) {
    let out = child.stdout.take().and_then(|mut stdout| {
        let read = move || {
            let mut out = Vec::new();
            // Keep the output from before a read error.
            let _ = stdout.read_to_end(&mut out);
            out
        };
        // Without a thread the pipe is closed, so that the process gets a write error.
        Builder::new().spawn(read).ok()
    });
    if let Some(stderr) = child.stderr.take() {
        send_lines(stderr, number, sender);
    }
    let status = wait(&mut child, pid);
    let out = out
        .and_then(|reader| reader.join().ok())
        .unwrap_or_default();
    let code = status.map_or(FAILED, code);
    // A failed send means that the program is ending.
    let _ = sender.send(TaskMessage::Ended { number, code, out });
}

fn send_lines(stderr: impl Read, number: usize, sender: &Sender<TaskMessage>) {
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(LONGEST_LINE);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_suffix('\n').unwrap_or(&line).to_owned();
        if sender.send(TaskMessage::Line(number, line)).is_err() {
            return;
        }
    }
}

/// Waits for the end of a process; its pid is reaped only after it is no longer used for signals.
fn wait(child: &mut Child, pid: &Mutex<Option<Pid>>) -> Option<ExitStatus> {
    assay_target::await_end(child);
    *pid.lock().unwrap_or_else(PoisonError::into_inner) = None;
    child.wait().ok()
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.or_else(|| status.signal().map(code_of_signal))
        .unwrap_or(FAILED)
}

/// Time between two checks of reservations.
const RECHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Runs a command on each target; returns the highest of their exit codes.
pub fn run_on_several(targets: &[On], words: &[OsString], json: bool) -> Result<ExitCode, Failure> {
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
            match self.crew.next(RECHECK_INTERVAL) {
                Event::Ended(ended) => {
                    let place = self.places.remove(&ended.number).unwrap_or(usize::MAX);
                    self.done.insert(place, outcome(ended));
                }
                Event::Stopping => self.waiting.clear(),
                Event::Nothing => {}
            }
            self.check_reservations();
        }
    }

    fn check_reservations(&mut self) {
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
