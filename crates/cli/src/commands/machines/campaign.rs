//! `assay lab campaign FILE`: a command on many boards, and one comparison at the end.
//!
//! `Campaign` is the parsed file. `CampaignPart` holds the runs that are still to be made and the
//! boards to try. `Running` executes them.

use crate::checks::input;
use crate::checks::input::{parse_toml, read_time};
use crate::commands::{Command, repeated};
use crate::driver::{Reached, describe_reached, reach, reached_in_words};
use crate::exit::{DATA_MISMATCH, DONE, Failure, LOST, MISSED};
use crate::judging::VerdictArgs;
use crate::output::{print, print_json, say};
use crate::targets::On;
use crate::targets::pool::{Crew, EndedTask, Event, Task, ended_in_words};
use crate::{commands, judging, sharing, targets};
use assay_dialects::iozone;
use assay_model::text::{clean, meant};
use assay_store::Store;
use assay_target::labgrid::{Lab, LabError, LabPlace};
use clap::Args;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Version of the JSON of a dry run; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;
/// Time between two checks of boards that others hold.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

const AFTER_HELP: &str = "\
A file such as
  command = [\"qualify\", \"/mnt/sd\", \"--quick\"]
  limit = \"30m\"                         # of one run
  [[part]]
  name = \"old\"
  tags = { media = \"sd\", part = \"a\" }   # places of a labgrid
  boards = 5
  [[part]]
  name = \"new\"
  targets = [\"ssh://root@10.0.0.7\", \"ssh://root@10.0.0.8\"]
docs/boards.md describes all keys.

Examples:
  assay lab campaign cards.toml --dry-run
  assay lab campaign cards.toml --gate -o cards.html

Exit codes: 0 done; 2 wrong usage, or --gate judged nothing; 3 --gate found something slower.
If runs are missing: the highest of their exit codes (5: no board was left).
130 or 143 stopped by Ctrl-C or SIGTERM. What was measured is kept.";

/// `assay lab campaign`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CampaignArgs {
    /// File that names the command and the boards.
    pub file: PathBuf,
    /// Check the command's flags, list the boards of each part with who holds them, and check that
    /// targets answer; measure nothing. With --json as JSON (docs/boards.md).
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub shown: VerdictArgs,
}

/// Runs a campaign.
pub fn run(args: &CampaignArgs) -> Result<ExitCode, Failure> {
    let campaign = Campaign::read(&args.file)?;
    check_flags(&campaign.command)?;
    let format = judging::wanted(&args.shown)?.filter(|_| !(args.dry_run && args.shown.json));
    let asks = format.is_some() || args.shown.gate || args.shown.terms.replace;
    if asks && campaign.parts.len() < 2 {
        return Err(Failure::usage(
            "a campaign with one part compares nothing: -o, --format, --json, --gate and --replace \
             need two parts",
        ));
    }
    let lab = campaign.needs_lab().then(targets::open_lab).transpose()?;
    let places = lab.as_ref().map_or(Ok(Vec::new()), |lab| lab.places())?;
    let parts = parts(&campaign, &places)?;
    if args.dry_run {
        return list(&campaign, &parts, &places, args.shown.json);
    }
    let store_path = std::path::absolute(args.shown.store.local_file()?)
        .map_err(|error| Failure::usage(format!("cannot find the store: {error}")))?;
    let store = Store::open(&store_path)?;
    let mut running = Running::new(&campaign, lab, parts, store)?;
    running.all()?;
    running.conclude(&args.shown)
}

/// Returns the parts of the campaign, each with its boards.
fn parts(
    campaign: &Campaign,
    places: &[LabPlace],
) -> Result<Vec<(CampaignPart, Vec<Board>)>, Failure> {
    let mut seen: Vec<(Board, &str)> = Vec::new();
    let mut parts = Vec::new();
    for part in &campaign.parts {
        let boards = boards(part, places)?;
        for board in &boards {
            if let Some((_, other)) = seen.iter().find(|(known, _)| known == board) {
                return Err(Failure::usage(format!(
                    "{board} is in part {other} and in part {}: a board is one unit of one part",
                    part.name
                )));
            }
            seen.push((board.clone(), &part.name));
        }
        let wanted = part.boards.unwrap_or(boards.len());
        let planned = CampaignPart::new(&part.name, boards.clone(), wanted, campaign.attempts);
        parts.push((planned, boards));
    }
    Ok(parts)
}

fn boards(part: &PartOfFile, places: &[LabPlace]) -> Result<Vec<Board>, Failure> {
    let mut boards = part.named();
    if let Some(tags) = &part.tags {
        let fitting = places.iter().filter(|place| place.has(tags));
        let mut fitting: Vec<&LabPlace> = fitting.collect();
        // Free places come first.
        fitting.sort_by_key(|place| (!place.acquired.is_empty(), place.name.clone()));
        boards.extend(
            fitting
                .into_iter()
                .map(|place| Board::Place(place.name.clone())),
        );
    }
    // Without `boards`, a part uses all its boards; it needs at least one.
    let wanted = part.boards.unwrap_or(1);
    match boards.len() < wanted {
        true => Err(Failure::usage(format!(
            "part {}: {} boards are needed, and there are {}",
            part.name,
            wanted,
            boards.len()
        ))),
        false => Ok(boards),
    }
}

/// Checks the arguments of the command as the processes on the boards will parse them.
fn check_flags(words: &[String]) -> Result<(), Failure> {
    let wrong = |why: &dyn fmt::Display| Failure::usage(format!("the command: {why}"));
    if let [tool, own @ ..] = words
        && tool == "iozone"
    {
        let parsed = iozone::parse(own).map(drop);
        return parsed.map_err(|error| wrong(&error));
    }
    let all = ["assay"]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    let parsed = commands::parse(all.map(OsString::from)).map_err(|failure| wrong(&failure))?;
    match parsed.and_then(|cli| cli.command) {
        Some(Command::Sweep(sweep)) if !sweep.command.is_empty() => {
            let path = sweep.path.unwrap_or_default();
            let read = repeated::parse(&sweep.command, &path);
            read.map(drop).map_err(|failure| wrong(&failure))
        }
        Some(_) => Ok(()),
        None => Err(Failure::usage("the command measures nothing")),
    }
}

/// Board that would be used: its holder, and whether it answers, if that was checked.
struct ListedBoard<'a> {
    board: &'a Board,
    holder: &'a str,
    reached: Option<Reached>,
}

/// Lists the boards that would be used, and whether targets answer; places are not acquired.
fn list(
    campaign: &Campaign,
    parts: &[(CampaignPart, Vec<Board>)],
    places: &[LabPlace],
    json: bool,
) -> Result<ExitCode, Failure> {
    let listed: Vec<Vec<ListedBoard<'_>>> = parts
        .iter()
        .map(|(_, boards)| list_boards(boards, places))
        .collect();
    let rows = parts.iter().map(|(part, _)| part).zip(&listed);
    if json {
        let parts: Vec<Value> = rows.map(|(part, boards)| part_json(part, boards)).collect();
        let command = &campaign.command;
        print_json(&json!({"schema": SCHEMA, "command": command, "parts": parts}))?;
    } else {
        print(|out| {
            rows.into_iter()
                .try_for_each(|(part, boards)| write_part(part, boards, out))
        })?;
    }
    let lost = |board: &ListedBoard<'_>| board.reached.as_ref().is_some_and(Result::is_err);
    Ok(match listed.iter().flatten().any(lost) {
        true => ExitCode::from(LOST),
        false => DONE,
    })
}

fn list_boards<'a>(boards: &'a [Board], places: &'a [LabPlace]) -> Vec<ListedBoard<'a>> {
    let targets = boards.iter().filter_map(|board| match board {
        Board::Target(on) => Some(on),
        Board::Place(_) => None,
    });
    let mut reached = reach(&targets.collect::<Vec<_>>()).into_iter();
    let listed = boards.iter().map(|board| match board {
        Board::Target(_) => ListedBoard {
            board,
            holder: "",
            reached: reached.next().flatten(),
        },
        Board::Place(name) => {
            let place = places.iter().find(|place| place.name == *name);
            ListedBoard {
                board,
                holder: place.map_or("", |place| place.acquired.as_str()),
                reached: None,
            }
        }
    });
    listed.collect()
}

fn write_part(
    part: &CampaignPart,
    boards: &[ListedBoard<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let (name, wanted) = (clean(&part.name), part.wanted);
    writeln!(out, "{name}: {wanted} of {} boards", boards.len())?;
    boards.iter().try_for_each(|listed| {
        let words = match (listed.holder, &listed.reached) {
            ("", None) => String::new(),
            ("", Some(reached)) => format!("  {}", reached_in_words(reached)),
            (holder, _) => format!("  held by {holder}"),
        };
        writeln!(out, "  {}", clean(&format!("{}{words}", listed.board)))
    })
}

fn part_json(part: &CampaignPart, boards: &[ListedBoard<'_>]) -> Value {
    let boards = boards.iter().map(|listed| {
        let holder = Some(listed.holder).filter(|holder| !holder.is_empty());
        let mut value = json!({"target": listed.board.to_string(), "held_by": holder});
        describe_reached(&mut value, listed.reached.as_ref());
        value
    });
    json!({
        "name": part.name,
        "wanted": part.wanted,
        "boards": boards.collect::<Vec<_>>(),
    })
}

/// A campaign under way.
struct Running<'a> {
    campaign: &'a Campaign,
    words: Vec<OsString>,
    lab: Option<Arc<Lab>>,
    store: Store,
    crew: Crew,
    parts: Vec<CampaignPart>,
    /// Part and run of each task under way.
    tasks: BTreeMap<usize, (usize, PendingRun)>,
    last_check: Instant,
}

impl<'a> Running<'a> {
    fn new(
        campaign: &'a Campaign,
        lab: Option<Arc<Lab>>,
        parts: Vec<(CampaignPart, Vec<Board>)>,
        store: Store,
    ) -> Result<Self, Failure> {
        Ok(Self {
            words: campaign.words(store.path()),
            campaign,
            lab,
            store,
            crew: Crew::new()?,
            parts: parts.into_iter().map(|(part, _)| part).collect(),
            tasks: BTreeMap::new(),
            last_check: Instant::now(),
        })
    }

    /// Runs until every run is stored or given up. A signal ends the tasks under way.
    fn all(&mut self) -> Result<(), Failure> {
        loop {
            if self.crew.signalled().is_none() {
                self.start_what_can_be();
            }
            let idle =
                self.crew.signalled().is_some() || self.parts.iter().all(CampaignPart::is_idle);
            if idle && self.crew.under_way() == 0 {
                return Ok(());
            }
            self.crew.block.title = self.title();
            if let Event::Ended(ended) = self.crew.next(RECHECK_INTERVAL) {
                self.ended(&ended)?;
            }
            self.recheck_busy();
        }
    }

    fn start_what_can_be(&mut self) {
        for index in 0..self.parts.len() {
            while self.has_room()
                && let Some((pending, board)) = self.parts[index].next()
            {
                self.start(index, pending, &board);
            }
        }
    }

    fn has_room(&self) -> bool {
        let most = self.campaign.at_once;
        most.is_none_or(|most| self.crew.under_way() < most)
    }

    fn start(&mut self, index: usize, pending: PendingRun, board: &Board) {
        let task = match self.task(board) {
            Ok(task) => task,
            Err(LabError::Busy(why)) => {
                let part = &mut self.parts[index];
                if part.is_busy(pending, board.clone(), Instant::now()) {
                    let line = format!("part {} waits for {board}: {why}", part.name);
                    self.crew.block.say(&clean(&line));
                }
                return;
            }
            Err(error) => return self.not_started(index, pending, board, &error.into()),
        };
        match self.crew.start(task) {
            Ok(number) => {
                self.parts[index].got_board();
                self.tasks.insert(number, (index, pending));
            }
            Err(failure) => self.not_started(index, pending, board, &failure),
        }
    }

    fn not_started(&mut self, index: usize, pending: PendingRun, board: &Board, failure: &Failure) {
        let why = format!("{board}: {failure}");
        self.failed(index, pending, failure.number(), &why);
    }

    fn task(&self, board: &Board) -> Result<Task, LabError> {
        let limit = self.campaign.limit;
        match (board, &self.lab) {
            (Board::Place(place), Some(lab)) => {
                let lease = lab.acquire(place)?;
                Ok(Task::on_board(lease, &self.words, limit))
            }
            _ => Ok(Task::on_target(board.to_string(), &self.words, limit)),
        }
    }

    fn ended(&mut self, ended: &EndedTask) -> Result<(), Failure> {
        let Some((index, pending)) = self.tasks.remove(&ended.number) else {
            return Ok(());
        };
        let part = &mut self.parts[index];
        match (ended.code, self.store.runs_of(&ended.process)?.pop()) {
            (0 | MISSED, Some(_)) if ended.board_lost => {
                self.failed(index, pending, LOST, &ended_in_words(ended));
            }
            (0 | MISSED, Some(run)) => {
                part.runs.push(run.clone());
                sharing::wait_for_database(&mut self.store, &run);
                let (there, wanted) = (part.runs.len(), part.wanted);
                let line = format!(
                    "part {}: {} is run {run}, {there} of {wanted}",
                    part.name, ended.name
                );
                self.crew.block.say(&clean(&line));
            }
            // The failure is a result; a run on another board must not replace it.
            (DATA_MISMATCH, run) => {
                part.given_up.push(DATA_MISMATCH);
                if let Some(run) = run {
                    sharing::wait_for_database(&mut self.store, &run);
                }
                self.crew
                    .block
                    .say(&clean(&format!("assay: {}", ended_in_words(ended))));
            }
            (_, _) if self.crew.signalled().is_some() => part.given_up.push(ended.code),
            (code, _) => {
                let code = if ended.too_late { LOST } else { code.max(1) };
                self.failed(index, pending, code, &ended_in_words(ended));
            }
        }
        Ok(())
    }

    fn failed(&mut self, index: usize, pending: PendingRun, code: u8, why: &str) {
        let part = &mut self.parts[index];
        let next = match part.failed(pending, code) {
            true => "it is tried on another board",
            false => "there is no other board for it",
        };
        let line = format!("assay: part {}: {why}; {next}", part.name);
        self.crew.block.say(&clean(&line));
    }

    /// Checks if others have released boards, and gives up parts that have waited too long.
    fn recheck_busy(&mut self) {
        let now = Instant::now();
        if now < self.last_check + RECHECK_INTERVAL {
            return;
        }
        self.last_check = now;
        let wait = self.campaign.wait.unwrap_or(Duration::MAX);
        let (has_room, free) = (self.has_room(), self.free());
        for part in &mut self.parts {
            // While `at_once` blocks the part, it cannot ask for a board, so that its wait does not end.
            if has_room && part.waited_for(wait, now) {
                part.give_up();
                let line = format!("assay: part {}: no board became free in time", part.name);
                self.crew.block.say(&clean(&line));
            }
            part.recheck_busy(|board| match (board, &free) {
                (Board::Place(name), Some(free)) => free.contains(name),
                _ => true,
            });
        }
    }

    /// Returns the free places; `None` if they are not known, or no part waits for one.
    fn free(&self) -> Option<BTreeSet<String>> {
        if !self.parts.iter().any(CampaignPart::is_waiting) {
            return None;
        }
        let places = self.lab.as_ref()?.places().ok()?;
        let free = places.into_iter().filter(|place| place.acquired.is_empty());
        Some(free.map(|place| place.name).collect())
    }

    fn title(&self) -> String {
        let parts = self
            .parts
            .iter()
            .map(|part| format!("{} {} of {}", part.name, part.runs.len(), part.wanted));
        let parts: Vec<String> = parts.collect();
        clean(&format!(
            "{}; {} under way",
            parts.join(", "),
            self.crew.under_way()
        ))
    }

    /// Ends the session with the lab, and shows the results.
    fn conclude(self, shown: &VerdictArgs) -> Result<ExitCode, Failure> {
        let Self {
            mut crew,
            parts,
            lab,
            store,
            ..
        } = self;
        crew.block.clear();
        drop(lab);
        for part in parts.iter().filter(|part| part.runs.len() < part.wanted) {
            let (there, wanted) = (part.runs.len(), part.wanted);
            say(&clean(&format!(
                "assay: part {} has {there} of {wanted} runs",
                part.name
            )));
        }
        let lacking = parts.iter().flat_map(|part| &part.given_up).max().copied();
        let worst = crew.signalled().or(lacking);
        let compared = match (parts.as_slice(), crew.signalled()) {
            ([a, b], None) if !a.runs.is_empty() && !b.runs.is_empty() => judging::of_units(
                [a, b].map(|part| (part.name.as_str(), part.runs.as_slice())),
                shown,
            )?,
            (parts, _) => {
                say_how_to_compare(parts, store.path());
                DONE
            }
        };
        Ok(worst.map_or(compared, ExitCode::from))
    }
}

/// Prints the runs, so that the user can compare them by hand.
fn say_how_to_compare(parts: &[CampaignPart], store: &Path) {
    for part in parts.iter().filter(|part| !part.runs.is_empty()) {
        say(&clean(&format!(
            "part {}: runs {}",
            part.name,
            part.runs.join(" ")
        )));
    }
    if let [a, b] = parts
        && !a.runs.is_empty()
        && !b.runs.is_empty()
    {
        let side = |flag: &str, part: &CampaignPart| {
            let units = part.runs.iter().map(|run| format!(" {flag} {run}"));
            units.collect::<String>()
        };
        say(&clean(&format!(
            "assay compare{}{} --store {}",
            side("--a", a),
            side("--b", b),
            store.display()
        )));
    }
}

/// A board that may be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Board {
    /// A place of a labgrid.
    Place(String),
    /// A machine that need not be acquired.
    Target(On),
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => write!(f, "labgrid:{place}"),
            Self::Target(on) => on.fmt(f),
        }
    }
}

/// Run that is still to be made.
#[derive(Debug, PartialEq, Eq)]
struct PendingRun {
    /// Number of boards on which it failed.
    failures: u32,
    /// Exit code of the last failure.
    code: u8,
}

/// Part of a campaign. Each board is used once: a second run on it would not be a second unit.
#[derive(Debug)]
struct CampaignPart {
    /// Name of the part.
    pub name: String,
    attempts: u32,
    /// Number of wanted runs.
    pub wanted: usize,
    open: Vec<PendingRun>,
    /// Boards that were not tried yet.
    boards: VecDeque<Board>,
    /// Boards that others hold.
    busy: Vec<Board>,
    busy_since: Option<Instant>,
    /// Ids of the finished runs.
    pub runs: Vec<String>,
    /// Exit codes of the runs that were given up.
    pub given_up: Vec<u8>,
}

impl CampaignPart {
    /// Makes a part with `wanted` runs on different boards; each is tried on at most `attempts` boards.
    pub fn new(name: &str, boards: Vec<Board>, wanted: usize, attempts: u32) -> Self {
        let pending = || PendingRun {
            failures: 0,
            code: LOST,
        };
        Self {
            name: name.to_owned(),
            attempts,
            wanted,
            open: (0..wanted).map(|_| pending()).collect(),
            boards: boards.into(),
            busy: Vec::new(),
            busy_since: None,
            runs: Vec::new(),
            given_up: Vec::new(),
        }
    }

    /// `true` if no board is left to try; runs under way may still fail.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the next run to try, and its board.
    pub fn next(&mut self) -> Option<(PendingRun, Board)> {
        let board = match self.open.is_empty() {
            true => None,
            false => self.boards.pop_front(),
        }?;
        Some((self.open.pop()?, board))
    }

    /// Notes that another user holds the board; returns `true` if the part did not wait before.
    pub fn is_busy(&mut self, pending: PendingRun, board: Board, now: Instant) -> bool {
        self.open.push(pending);
        self.busy.push(board);
        let first = self.busy_since.is_none();
        self.busy_since.get_or_insert(now);
        first
    }

    /// Returns boards that may be free now to those to try.
    pub fn recheck_busy(&mut self, may_be_free: impl Fn(&Board) -> bool) {
        let (free, busy) = self.busy.drain(..).partition(may_be_free);
        self.busy = busy;
        self.boards.extend::<Vec<Board>>(free);
    }

    /// `true` if others hold boards that the part could use.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty() && !self.busy.is_empty()
    }

    /// Notes that a board was acquired, which ends the wait.
    pub fn got_board(&mut self) {
        self.busy_since = None;
    }

    /// `true` if the wait for boards that others hold has reached its limit.
    pub fn waited_for(&self, limit: Duration, now: Instant) -> bool {
        let since = self.busy_since.filter(|_| !self.open.is_empty());
        since.is_some_and(|since| now.duration_since(since) >= limit)
    }

    /// Gives up all open runs.
    pub fn give_up(&mut self) {
        self.given_up
            .extend(self.open.drain(..).map(|pending| pending.code));
    }

    /// Notes that a run failed on a board; returns `true` if it will be tried on another one.
    pub fn failed(&mut self, mut pending: PendingRun, code: u8) -> bool {
        pending.failures += 1;
        pending.code = code;
        let elsewhere = self.boards.len() + self.busy.len() > self.open.len();
        let again = pending.failures < self.attempts && elsewhere;
        match again {
            true => self.open.push(pending),
            false => self.given_up.push(code),
        }
        again
    }
}

/// Commands that measure on other machines.
const COMMANDS: [&str; 10] = [
    "androbench",
    "capacity",
    "check",
    "disks",
    "iozone",
    "mark",
    "qualify",
    "run",
    "scenario",
    "sweep",
];
/// Options that the campaign sets itself.
const OWN: [&str; 4] = ["--on", "--store", "--json", "--unit"];

/// A campaign.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Campaign {
    /// Arguments after `assay`.
    pub command: Vec<String>,
    /// Time limit of one run.
    #[serde(default, deserialize_with = "time")]
    pub limit: Option<Duration>,
    /// Maximum number of boards on which one run is tried.
    #[serde(default = "three")]
    pub attempts: u32,
    /// Number of simultaneous runs; all by default.
    pub at_once: Option<usize>,
    /// Time limit for waiting on boards that others hold.
    #[serde(default = "an_hour", deserialize_with = "time")]
    pub wait: Option<Duration>,
    /// One part, or two that are compared.
    #[serde(rename = "part")]
    pub parts: Vec<PartOfFile>,
}

/// Boards with one kind of storage.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartOfFile {
    /// Name of the part in the comparison.
    pub name: String,
    /// Tags of labgrid places; exclusive with `targets`.
    pub tags: Option<BTreeMap<String, String>>,
    /// Targets, as `--on` takes them; exclusive with `tags`.
    #[serde(default, deserialize_with = "targets")]
    pub targets: Vec<On>,
    /// Number of boards to use; all by default.
    pub boards: Option<usize>,
}

fn three() -> u32 {
    3
}

fn an_hour() -> Option<Duration> {
    Some(Duration::from_secs(3600))
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    read_time(from).map(|nanos: u64| Some(Duration::from_nanos(nanos)))
}

fn targets<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<On>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    let targets = texts.iter().map(|text| targets::parse(text));
    targets
        .collect::<Result<_, _>>()
        .map_err(serde::de::Error::custom)
}

impl Campaign {
    /// Reads a file. The boards are not looked up yet.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        parse(&input::text(path)?).map_err(|why| Failure::in_file(path, why))
    }

    /// Returns the arguments of a run. The store is inserted after the command's name, because options
    /// after a `--` in the file belong to another command.
    pub fn words(&self, store: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.command.iter().map(OsString::from).collect();
        words.splice(1..1, ["--store".into(), store.as_os_str().to_owned()]);
        words
    }

    /// `true` if the campaign needs boards of a labgrid.
    pub fn needs_lab(&self) -> bool {
        self.parts.iter().any(|part| part.tags.is_some())
    }
}

impl PartOfFile {
    /// Returns the boards that the file names; those of a labgrid are found by their tags.
    pub fn named(&self) -> Vec<Board> {
        self.targets.iter().cloned().map(Board::Target).collect()
    }

    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        match (&self.tags, self.targets.as_slice()) {
            (Some(_), [_, ..]) => {
                return Err(format!(
                    "part {name} has tags and targets: one of them says which boards"
                ));
            }
            (None, []) => return Err(format!("part {name} has neither tags nor targets")),
            (Some(tags), _) if tags.is_empty() => {
                return Err(format!("part {name} has no tag: every board would do"));
            }
            _ => {}
        }
        let is_lab = |on: &&On| matches!(on, On::Labgrid(_) | On::File(_));
        if let Some(on) = self.targets.iter().find(is_lab) {
            return Err(format!(
                "part {name}: {on} is not a single machine; select boards of a labgrid by their tags"
            ));
        }
        match self.boards {
            Some(0) => Err(format!("part {name} asks for no board")),
            _ => Ok(()),
        }
    }
}

fn parse(text: &str) -> Result<Campaign, String> {
    let campaign: Campaign = parse_toml(text).map_err(|mistake| mistake.to_string())?;
    check_command(&campaign.command)?;
    if campaign.attempts == 0 || campaign.at_once == Some(0) {
        return Err("attempts and at_once are 1 or more: else nothing is measured".to_owned());
    }
    match campaign.parts.as_slice() {
        [_] => {}
        [a, b] if a.name != b.name => {}
        [a, _] => return Err(format!("both parts are called {}", a.name)),
        _ => return Err("a campaign has one part, or two that are compared".to_owned()),
    }
    campaign.parts.iter().try_for_each(PartOfFile::check)?;
    Ok(campaign)
}

fn check_command(words: &[String]) -> Result<(), String> {
    let name = words.first().map_or("", String::as_str);
    if !COMMANDS.contains(&name) {
        let meant = meant(name, COMMANDS);
        let all = COMMANDS.join(", ");
        return Err(format!("the command is one of {all}{meant}"));
    }
    let own = words.iter().take_while(|word| *word != "--");
    let mut names = own.map(|word| word.split('=').next().unwrap_or_default());
    match names.find(|word| OWN.contains(word)) {
        Some(word) => Err(format!(
            "{word} of the command is up to the campaign: leave it out"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(boards: usize, wanted: usize, attempts: u32) -> CampaignPart {
        let boards = (0..boards).map(|n| Board::Place(format!("b{n}"))).collect();
        CampaignPart::new("p", boards, wanted, attempts)
    }

    #[test]
    fn a_dead_board_is_replaced_while_there_are_others() {
        let mut part = part(3, 2, 3);
        let (first, dead) = part.next().unwrap();
        let (second, _) = part.next().unwrap();
        assert!(part.next().is_none(), "two are wanted");
        assert!(part.failed(first, 5));
        let (again, other) = part.next().unwrap();
        assert_ne!(dead, other);
        part.runs.push("r1".to_owned());
        assert!(!part.failed(again, 1), "no board is left");
        assert!(!part.failed(second, 5));
        assert_eq!((part.runs.len(), &part.given_up[..]), (1, &[1, 5][..]));
        assert!(part.is_idle());
    }

    #[test]
    fn a_run_is_tried_so_often_and_not_more() {
        let mut part = part(10, 1, 2);
        let (pending, _) = part.next().unwrap();
        assert!(part.failed(pending, 5));
        let (pending, _) = part.next().unwrap();
        assert!(!part.failed(pending, 5));
        assert!(part.next().is_none());
    }

    #[test]
    fn a_board_that_somebody_has_is_waited_for_but_not_for_ever() {
        let mut part = part(1, 1, 1);
        let (start, hour) = (Instant::now(), Duration::from_secs(3600));
        let (pending, board) = part.next().unwrap();
        assert!(part.is_busy(pending, board, start));
        assert!(part.next().is_none(), "not at once again");
        part.recheck_busy(|_| true);
        let (pending, board) = part.next().unwrap();
        assert!(
            !part.is_busy(pending, board, start + hour / 2),
            "told already"
        );
        assert!(!part.waited_for(hour, start + hour / 2));
        assert!(part.waited_for(hour, start + hour));
        part.give_up();
        assert_eq!(part.given_up, [LOST]);
        assert!(!part.waited_for(hour, start + hour));
    }

    const TWO: &str = r#"
command = ["qualify", "/mnt/sd", "--quick"]
limit = "30m"
[[part]]
name = "old"
tags = { media = "sd", part = "a" }
boards = 5
[[part]]
name = "new"
targets = ["ssh://root@10.0.0.7", "adb:0123"]
"#;

    #[test]
    fn a_campaign_is_read() {
        let campaign = parse(TWO).unwrap();
        assert_eq!(campaign.limit, Some(Duration::from_secs(1800)));
        assert_eq!((campaign.attempts, campaign.wait), (3, an_hour()));
        assert!(campaign.needs_lab());
        let words = campaign.words(Path::new("/s"));
        assert_eq!(words, ["qualify", "--store", "/s", "/mnt/sd", "--quick"]);
        let [old, new] = &campaign.parts[..] else {
            panic!("two parts");
        };
        assert_eq!((old.boards, new.boards), (Some(5), None));
        assert_eq!(new.named().len(), 2);
    }

    #[test]
    fn the_example_is_one() {
        parse(include_str!("../../../../../examples/campaign.toml")).unwrap();
    }

    #[test]
    fn an_invalid_campaign_file_is_refused_with_the_line() {
        for (from, to, expected) in [
            ("qualify", "list", "the command is one of"),
            ("--quick", "--on=local", "--on of the command"),
            ("30m", "30 days", "line 3: "),
            (
                "limit",
                "limits",
                "line 3: there is no key limits (did you mean limit?)",
            ),
            ("boards = 5", "boards = 0", "asks for no board"),
            (
                "tags =",
                "targets = [\"local\"]\ntags =",
                "tags and targets",
            ),
            ("tags = { media = \"sd\", part = \"a\" }", "", "neither"),
            ("adb:0123", "labgrid:sd1", "not a single machine"),
            ("adb:0123", "phone", "no machine is called so"),
            ("\"new\"", "\"old\"", "both parts"),
            ("limit", "attempts = 0\nlimit", "1 or more"),
            ("limit", "at_once = 0\nlimit", "1 or more"),
        ] {
            let why = parse(&TWO.replace(from, to)).unwrap_err();
            assert!(why.contains(expected), "{to}: {why}");
        }
    }
}
