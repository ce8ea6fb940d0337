//! `assay campaign FILE`: a command on many boards, and one comparison at the end.

mod file;
mod part;

use crate::commands::{Command, repeated, usage};
use crate::driver::reach::{Reached, describe, reach, reached_in_words};
use crate::exit::{DATA_MISMATCH, DONE, Failure, LOST, MISSED};
use crate::judging::args::VerdictArgs;
use crate::judging::written;
use crate::output::{print, print_json, say};
use crate::sharing::queue;
use crate::targets::pool::{Crew, EndedTask, Event, Task};
use crate::targets::{lab, several};
use assay_dialects::iozone;
use assay_model::text::clean;
use assay_store::Store;
use assay_target::labgrid::{Lab, LabError, LabPlace};
use clap::Args;
use file::{Campaign, PartOfFile};
use part::{Board, CampaignPart, Wish};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Version of the JSON of a dry run; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;
/// Time between two checks of boards that others hold.
const LOOK: Duration = Duration::from_secs(1);

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
  assay campaign cards.toml --dry-run
  assay campaign cards.toml --gate -o cards.html

Exit codes: 0 done, 2 wrong usage, or with --gate: nothing was judged; 3 with --gate:
something is slower; else the highest code of the missing runs (5: no board was
left), 130 or 143 stopped by Ctrl-C or SIGTERM. What was measured is kept.";

/// `assay campaign`.
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
    let format = written::wanted(&args.shown)?.filter(|_| !(args.dry_run && args.shown.json));
    let asks = format.is_some() || args.shown.gate || args.shown.terms.qualify;
    if asks && campaign.parts.len() < 2 {
        return Err(Failure::usage(
            "a campaign with one part compares nothing: -o, --format, --json, --gate and --qualify \
             are asked of two",
        ));
    }
    let lab = campaign.needs_lab().then(lab::open).transpose()?;
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
    let parsed = usage::parse(all.map(OsString::from)).map_err(|failure| wrong(&failure))?;
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

/// Lists the boards that would be used, and checks that those answer that need not be acquired.
fn list(
    campaign: &Campaign,
    parts: &[(CampaignPart, Vec<Board>)],
    places: &[LabPlace],
    json: bool,
) -> Result<ExitCode, Failure> {
    let listed: Vec<Vec<ListedBoard<'_>>> = parts
        .iter()
        .map(|(_, boards)| look_at(boards, places))
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

fn look_at<'a>(boards: &'a [Board], places: &'a [LabPlace]) -> Vec<ListedBoard<'a>> {
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
        describe(&mut value, listed.reached.as_ref());
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
    tasks: BTreeMap<usize, (usize, Wish)>,
    looked: Instant,
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
            looked: Instant::now(),
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
            if let Event::Ended(ended) = self.crew.next(LOOK) {
                self.ended(&ended)?;
            }
            self.look_again();
        }
    }

    fn start_what_can_be(&mut self) {
        for index in 0..self.parts.len() {
            while self.has_room()
                && let Some((wish, board)) = self.parts[index].next()
            {
                self.start(index, wish, &board);
            }
        }
    }

    fn has_room(&self) -> bool {
        let most = self.campaign.at_once;
        most.is_none_or(|most| self.crew.under_way() < most)
    }

    fn start(&mut self, index: usize, wish: Wish, board: &Board) {
        let task = match self.task(board) {
            Ok(task) => task,
            Err(LabError::Busy(why)) => {
                let part = &mut self.parts[index];
                if part.is_busy(wish, board.clone(), Instant::now()) {
                    let line = format!("part {} waits for {board}: {why}", part.name);
                    self.crew.block.say(&clean(&line));
                }
                return;
            }
            Err(error) => return self.not_started(index, wish, board, &error.into()),
        };
        match self.crew.start(task) {
            Ok(number) => {
                self.parts[index].got_board();
                self.tasks.insert(number, (index, wish));
            }
            Err(failure) => self.not_started(index, wish, board, &failure),
        }
    }

    fn not_started(&mut self, index: usize, wish: Wish, board: &Board, failure: &Failure) {
        let why = format!("{board}: {failure}");
        self.failed(index, wish, failure.number(), &why);
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
        let Some((index, wish)) = self.tasks.remove(&ended.number) else {
            return Ok(());
        };
        let part = &mut self.parts[index];
        match (ended.code, self.store.runs_of(&ended.process)?.pop()) {
            (0 | MISSED, Some(_)) if ended.board_lost => {
                self.failed(index, wish, LOST, &several::ended_in_words(ended));
            }
            (0 | MISSED, Some(run)) => {
                part.runs.push(run.clone());
                queue::wait_for_database(&mut self.store, &run);
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
                    queue::wait_for_database(&mut self.store, &run);
                }
                self.crew.block.say(&clean(&format!(
                    "assay: {}",
                    several::ended_in_words(ended)
                )));
            }
            (_, _) if self.crew.signalled().is_some() => part.given_up.push(ended.code),
            (code, _) => {
                let code = if ended.too_late { LOST } else { code.max(1) };
                self.failed(index, wish, code, &several::ended_in_words(ended));
            }
        }
        Ok(())
    }

    fn failed(&mut self, index: usize, wish: Wish, code: u8, why: &str) {
        let part = &mut self.parts[index];
        let next = match part.failed(wish, code) {
            true => "it is tried on another board",
            false => "there is no other board for it",
        };
        let line = format!("assay: part {}: {why}; {next}", part.name);
        self.crew.block.say(&clean(&line));
    }

    /// Checks if others have released boards, and gives up parts that have waited too long.
    fn look_again(&mut self) {
        let now = Instant::now();
        if now < self.looked + LOOK {
            return;
        }
        self.looked = now;
        let wait = self.campaign.wait.unwrap_or(Duration::MAX);
        let (has_room, free) = (self.has_room(), self.free());
        for part in &mut self.parts {
            // While `at_once` blocks the part, it cannot ask for a board, so that its wait does not end.
            if has_room && part.waited_for(wait, now) {
                part.give_up();
                let line = format!("assay: part {}: no board became free in time", part.name);
                self.crew.block.say(&clean(&line));
            }
            part.look_again(|board| match (board, &free) {
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
            ([a, b], None) if !a.runs.is_empty() && !b.runs.is_empty() => written::of_units(
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
