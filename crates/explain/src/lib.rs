//! Explains how the time of each I/O of a stored run is spent, and which changes would help: `assay
//! explain`.

mod account;
mod costs;
pub mod fit_input;
pub mod observed;
pub mod on_bus;
mod show;
#[cfg(test)]
mod tests;

use crate::fit_input::{Chosen, most_kib};
use crate::on_bus::OnBus;
use account::{Account, Context};
use assay_flash::part::DeviceModel;
use assay_lang::tr;
use assay_model::device::Ceiling;
use assay_model::job::Direction;
use assay_model::run::Run;
use assay_model::units::{Bytes, as_f64};
use assay_report::reference::{self, Bus};
use assay_report::summary::Summary;
use assay_report::warnings::{Warning, collect};
use assay_report::words::clean;
use costs::Costs;
use observed::{Observed, Unexplained, all};
pub use on_bus::Explained as ExplainedImport;
use on_bus::no_flash;
use show::Help;
use std::collections::BTreeSet;

/// Request size into which hosts divide larger I/Os, if nothing else is known.
const USUAL_REQUEST: Bytes = Bytes::kib(512);

/// Facts about the device from the user.
pub struct DeviceFacts {
    /// Names of jobs to explain, or prefixes followed by `*`; empty for all jobs.
    pub only: Vec<String>,
    /// Ceiling of the bus mode.
    pub ceiling: Option<Ceiling>,
    /// Model of the part.
    pub part: Option<DeviceModel>,
    /// Largest request of the host; `None` if it is not known.
    pub request: Option<Bytes>,
}

/// Explanation of a run.
pub struct Explained<'a> {
    run: &'a Run,
    bus: Option<Bus>,
    /// Reason why explanations must not mention flash.
    no_flash: Option<String>,
    groups: Vec<Group<'a>>,
    without: Vec<Unexplained<'a>>,
    warnings: Vec<Warning>,
}

/// Results under one condition.
struct Group<'a> {
    condition: Option<&'a str>,
    costs: Costs,
    results: Vec<Explanation<'a>>,
}

/// Explanation of a result.
struct Explanation<'a> {
    of: Observed<'a>,
    account: Account,
    on_bus: Option<OnBus>,
    facts: Vec<String>,
    helps: Vec<Help>,
}

impl<'a> Explained<'a> {
    /// Explains the results of a run, or those under one condition.
    ///
    /// # Errors
    /// If the run has no results of that job or condition.
    pub fn of(
        summary: &Summary<'a>,
        wanted: Option<&str>,
        asked: &DeviceFacts,
    ) -> Result<Self, String> {
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
        chosen.check(&results, &run.header.id)?;
        without.retain(|one| chosen.has(&one.job.name));
        if let Some(wanted) = wanted {
            results.retain(|one| one.condition == Some(wanted));
            if results.is_empty() {
                return Err(format!(
                    "run {} has no results under a condition {}",
                    run.header.id,
                    clean(wanted)
                ));
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

/// Groups the results by condition.
fn groups<'a>(
    run: &Run,
    results: &[Observed<'a>],
    known: (Option<&Bus>, bool, &DeviceFacts),
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

/// Returns true for warnings about causes of slow I/O or of missing figures.
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
        (bus, flash, asked): (Option<&Bus>, bool, &DeviceFacts),
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
                helps: show::of(one, &account, context),
                on_bus: account::on_bus(one, bus, request, flash),
                facts: account::of(one),
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

/// Keeps the comparison with the bus only at the fastest result of each direction. The parts of the
/// time already show the same for the others.
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
    /// Explains that the time in the scheduler cannot be separated: the counted request times
    /// include it.
    fn scheduler(&self) -> Option<String> {
        let counted = self.results.iter().filter(|one| one.of.requests.is_ok());
        let names: BTreeSet<String> = counted
            .flat_map(|one| account::schedulers(&one.of))
            .filter(|name| name != "none")
            .collect();
        let names: Vec<String> = names.into_iter().collect();
        (!names.is_empty()).then(|| {
            tr!(
                "Scheduler {names}: the kernel counts the time of a request from its creation to its end, which includes its wait in the scheduler.",
                names = names.join(", ")
            )
        })
    }
}
