//! `assay explain`: where the time of an I/O went, and what would help.

mod account;
pub mod args;
mod costs;
mod facts;
mod helps;
mod imported;
mod kinds;
pub mod observed;
mod requests;
mod show;
#[cfg(test)]
mod tests;
mod words;

use crate::exit::{DONE, Failure};
use crate::figures::split_condition;
use crate::model::fit::stored::{Chosen, most_kib};
use crate::model::limits::known;
use crate::model::on_bus::OnBus;
use crate::model::simulate::find;
use crate::nature::no_flash;
use crate::output::print;
use crate::stored::{Stored, load};
use account::{Account, Context};
use args::ExplainArgs;
use assay_flash::part::Part;
use assay_lang::{in_english, tr};
use assay_model::job::Direction;
use assay_model::limits::Ceiling;
use assay_model::run::Run;
use assay_model::units::Bytes;
use assay_report::reference::{self, Bus};
use assay_report::summary::Summary;
use assay_report::text::clean;
use assay_report::warnings::{Warning, collect};
use costs::Costs;
use helps::Help;
use observed::{Observed, Unexplained, all};
use std::collections::BTreeSet;
use std::process::ExitCode;

/// The requests that hosts make of larger I/Os unless something else is known.
const USUAL_REQUEST: Bytes = Bytes::kib(512);

/// `assay explain`.
pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let asked = Asked::of(args)?;
    let (name, condition) = split_condition(&args.run);
    let stored = load(&args.store, name)?;
    let explain = || match &stored {
        Stored::Run(run) => of_run(run, condition, &asked, args.json),
        Stored::Import(import) => imported::explain(import, condition, &asked, args.json),
    };
    match args.json {
        true => in_english(explain),
        false => explain(),
    }?;
    Ok(DONE)
}

/// What the user says of the device.
pub struct Asked {
    only: Vec<String>,
    ceiling: Option<Ceiling>,
    part: Option<Part>,
    request: Option<Bytes>,
}

impl Asked {
    fn of(args: &ExplainArgs) -> Result<Self, Failure> {
        if args.request == Some(Bytes(0)) {
            return Err(Failure::usage("--request must not be 0"));
        }
        Ok(Self {
            only: args.only.clone(),
            ceiling: args.bus.as_deref().map(known).transpose()?,
            part: args.part.as_deref().map(find).transpose()?,
            request: args.request,
        })
    }
}

fn of_run(run: &Run, condition: Option<&str>, asked: &Asked, json: bool) -> Result<(), Failure> {
    let summary = Summary::of(run);
    let explained = Explained::of(&summary, condition, asked)?;
    match json {
        true => print(|out| writeln!(out, "{:#}", explained.value())),
        false => print(|out| explained.write(out)),
    }
}

/// A run, explained.
pub struct Explained<'a> {
    run: &'a Run,
    bus: Option<Bus>,
    /// Why nothing may be said about flash.
    no_flash: Option<String>,
    groups: Vec<Group<'a>>,
    without: Vec<Unexplained<'a>>,
    warnings: Vec<Warning>,
}

/// The results under one condition.
struct Group<'a> {
    condition: Option<&'a str>,
    costs: Costs,
    results: Vec<Explanation<'a>>,
}

/// A result, explained.
struct Explanation<'a> {
    of: Observed<'a>,
    account: Account,
    on_bus: Option<OnBus>,
    facts: Vec<String>,
    helps: Vec<Help>,
}

impl<'a> Explained<'a> {
    fn of(summary: &Summary<'a>, wanted: Option<&str>, asked: &Asked) -> Result<Self, Failure> {
        let run = summary.run;
        let given = |ceiling: &Ceiling| Bus {
            ceiling: ceiling.clone(),
            given: true,
        };
        let bus = asked
            .ceiling
            .as_ref()
            .map(given)
            .or_else(|| reference::bus(summary));
        let (mut results, mut without) = all(summary);
        let chosen = Chosen {
            condition: wanted,
            only: &asked.only,
        };
        if let Some(name) = chosen.unknown(&results) {
            let id = &run.header.id;
            let why = format!("--only {name}: run {id} has no results of such a job");
            return Err(Failure::usage(why));
        }
        without.retain(|one| chosen.has(&one.job.name));
        if let Some(wanted) = wanted {
            results.retain(|one| one.condition == Some(wanted));
            if results.is_empty() {
                return Err(no_condition(run, wanted));
            }
        }
        let no_flash = no_flash(&run.header.storage);
        let groups = groups(run, &results, (bus.as_ref(), no_flash.is_none(), asked));
        Ok(Self {
            run,
            no_flash,
            groups,
            without,
            warnings: collect(summary).into_iter().filter(holds_up).collect(),
            bus,
        })
    }
}

/// The results by condition.
fn groups<'a>(
    run: &Run,
    results: &[Observed<'a>],
    known: (Option<&Bus>, bool, &Asked),
) -> Vec<Group<'a>> {
    let mut conditions: Vec<Option<&str>> = results.iter().map(|one| one.condition).collect();
    conditions.sort_unstable();
    conditions.dedup();
    let group = |condition| {
        let own = |one: &&Observed<'a>| one.condition == condition;
        let own: Vec<Observed<'a>> = results.iter().filter(own).cloned().collect();
        Group::of(run, condition, &own, known)
    };
    conditions.into_iter().map(group).collect()
}

fn no_condition(run: &Run, wanted: &str) -> Failure {
    Failure::usage(format!(
        "run {} has no results under a condition {}",
        run.header.id,
        clean(wanted)
    ))
}

/// Warnings about what makes I/O slower, or figures fewer.
const fn holds_up(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::Unfinished { .. }
            | Warning::IoErrors { .. }
            | Warning::ForeignIo { .. }
            | Warning::Spread { .. }
            | Warning::Stalls { .. }
            | Warning::Governor { .. }
            | Warning::Throttled { .. }
            | Warning::Loop { .. }
            | Warning::Worn { .. }
            | Warning::SlowBus { .. }
    )
}

impl<'a> Group<'a> {
    fn of(
        run: &Run,
        condition: Option<&'a str>,
        own: &[Observed<'a>],
        (bus, flash, asked): (Option<&Bus>, bool, &Asked),
    ) -> Self {
        let storage = &run.header.storage;
        let costs = Costs::of(own, storage, asked.part.as_ref());
        let of_run = || most_kib(own, storage).map(Bytes::kib);
        let request = asked.request.or_else(of_run).unwrap_or(USUAL_REQUEST);
        let explained = |one: &Observed<'a>| {
            let context = Context {
                bus,
                costs: &costs,
                others: own,
            };
            let account = Account::of(one, context);
            Explanation {
                helps: helps::of(one, &account, own),
                on_bus: facts::on_bus(one, bus, request, flash),
                facts: facts::of(one),
                of: one.clone(),
                account,
            }
        };
        let mut results: Vec<Explanation<'_>> = own.iter().map(explained).collect();
        let chosen = Chosen {
            condition,
            only: &asked.only,
        };
        results.retain(|one| chosen.has(&one.of.job.name));
        keep_fastest_on_bus(&mut results);
        Self {
            condition,
            results,
            costs,
        }
    }
}

/// The sentence about the bus stands beside the fastest result of each direction alone: of the
/// others the parts of their time say the same.
fn keep_fastest_on_bus(results: &mut [Explanation<'_>]) {
    for direction in [Direction::Read, Direction::Write] {
        let placed = results.iter().enumerate();
        let placed =
            placed.filter(|(_, one)| one.of.direction == direction && one.on_bus.is_some());
        let fastest = placed.max_by(|(_, a), (_, b)| a.of.rate().total_cmp(&b.of.rate()));
        let Some(fastest) = fastest.map(|(at, _)| at) else {
            continue;
        };
        for (at, one) in results.iter_mut().enumerate() {
            if one.of.direction == direction && at != fastest {
                one.on_bus = None;
            }
        }
    }
}

impl Group<'_> {
    /// What a scheduler did cannot be told: what is counted has it in it.
    fn scheduler(&self) -> Option<String> {
        let counted = self.results.iter().filter(|one| one.of.requests.is_ok());
        let names: BTreeSet<String> = counted
            .flat_map(|one| facts::schedulers(&one.of))
            .filter(|name| name != "none")
            .collect();
        let names: Vec<String> = names.into_iter().collect();
        (!names.is_empty()).then(|| {
            tr!(
                "Scheduler {names}: the kernel counts the time of a request from its making to its end, so that its wait in the scheduler cannot be told apart.",
                names = names.join(", ")
            )
        })
    }
}
