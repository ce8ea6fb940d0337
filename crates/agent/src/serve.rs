//! A session: requests in, records out.

#[cfg(feature = "works")]
use crate::act;
use crate::conditions;
use crate::exit_watchdog::ExitWatchdog;
use crate::frame::FrameError;
use crate::inspect::{checkup, inspect, is_simulated, list_devices};
use crate::messages::{Ending, EndingSignals, Event, Inbox, Outbox};
use crate::permission::{Inspected, refuse};
use crate::plan::Runner;
use crate::siblings::end_abandoned;
use crate::workspace::sweep;
use assay_engine::load::Controls;
use assay_engine::registers::loop_file;
use assay_model::condition::Subject;
use assay_model::plan::Plan;
use assay_model::wire::{Feature, FromAgent, Greeting, Refusal, ToAgent};
use assay_probe::roots::Roots;
use assay_probe::stack;
use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

/// Refusal of acts by an agent that was built without them.
#[cfg(not(feature = "works"))]
const PLANS_ONLY: &str = "this agent measures the jobs of a plan and nothing else: \
                       the larger one does (assay-agent-MACHINE-sqlite)";

/// Returns the greeting of this agent.
pub(crate) fn greeting() -> Greeting {
    let is_own = |feature: &Feature| match feature {
        Feature::Works | Feature::Loads => cfg!(feature = "works"),
        Feature::Sqlite | Feature::Composed | Feature::Arrivals => cfg!(feature = "sqlite"),
        Feature::Sim => cfg!(feature = "sim"),
    };
    Greeting::with(Feature::ALL.into_iter().filter(is_own))
}

/// Serves a host until it closes the stream. A failed or closed stream, or a signal that
/// ends the process, stops the current trial and removes the test files. If a load does
/// not end, the whole process exits: some seconds after the stream was closed, or at the
/// next signal.
///
/// # Errors
/// If a stream fails, or the host sends something else than a message. The error is sent
/// to the host first, if possible.
pub fn serve(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> Result<(), FrameError> {
    serve_from(reader, writer, None)
}

/// Serves like [`serve`], with the agent's private folder, if it has one.
pub(crate) fn serve_from(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    folder: Option<PathBuf>,
) -> Result<(), FrameError> {
    serve_until(reader, writer, folder, EndingSignals::catch)
}

/// Serves like [`serve`], for an agent that was started in the foreground of a terminal
/// and communicates over two inherited descriptors. Ctrl-C also reaches the host, so the
/// agent catches and ignores it: the host handles it.
///
/// # Errors
/// As in [`serve`], and if one of the descriptors is not open.
pub fn serve_in_foreground(requests: RawFd, answers: RawFd) -> Result<(), FrameError> {
    let reader = assay_engine::inherited(requests)?;
    let writer = assay_engine::inherited(answers)?;
    serve_until(reader, writer, None, EndingSignals::catch_but_interrupts)
}

fn serve_until(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    folder: Option<PathBuf>,
    catch: fn(Ending) -> io::Result<EndingSignals>,
) -> Result<(), FrameError> {
    assay_probe::hindrances::watch_for_stops();
    // Users send SIGUSR1 to a copying program to see its progress. The signal must not
    // end an agent that has no progress to report.
    assay_engine::handle_sigusr1()?;
    let (inbox, ending) = Inbox::open(reader)?;
    let exit_watchdog = ending.exit_watchdog();
    let signals = catch(ending.clone())?;
    let outbox = Outbox::open(writer, ending)?;
    let mut session = Session {
        outbox,
        inbox,
        exit_watchdog: exit_watchdog.clone(),
        roots: Roots {
            loop_file,
            ..Roots::default()
        },
        inspected: Inspected::default(),
        folder,
    };
    let ended = session.run().and_then(|()| session.inbox.close());
    if let Err(error) = &ended {
        // The host may no longer receive this last message.
        let message = format!("the agent ends: {error}");
        let usage = false;
        let _ = session
            .outbox
            .send(&FromAgent::Refused(Refusal { usage, message }));
    }
    // Waits until all messages are written.
    drop(session.outbox);
    exit_watchdog.session_over();
    drop(signals);
    ended
}

struct Session {
    outbox: Outbox,
    inbox: Inbox,
    exit_watchdog: ExitWatchdog,
    roots: Roots,
    inspected: Inspected,
    /// Folder to which the agent was pushed.
    folder: Option<PathBuf>,
}

impl Session {
    fn run(&mut self) -> Result<(), FrameError> {
        while let Some(event) = self.inbox.next() {
            match event {
                Event::Run(plan, controls) => self.runner(&plan, &controls).jobs()?,
                #[cfg(feature = "works")]
                Event::RunActs(order, controls) => {
                    let exit_watchdog = self.exit_watchdog.clone();
                    let _under_way = exit_watchdog.acts_begin(&order);
                    act::run(self.runner(&order.plan, &controls), &order)?;
                }
                Event::Request(request) => self.answer(&request)?,
            }
        }
        Ok(())
    }

    fn runner<'a>(&'a mut self, plan: &'a Plan, controls: &'a Controls) -> Runner<'a> {
        Runner {
            roots: &self.roots,
            inspected: &self.inspected,
            outbox: &self.outbox,
            inbox: &mut self.inbox,
            plan,
            restore: plan.restore,
            controls,
            earlier: None,
            handed_over: 0,
        }
    }

    fn answer(&mut self, request: &ToAgent) -> Result<(), FrameError> {
        let answer = match request {
            ToAgent::Hello(_) => FromAgent::Hello(greeting()),
            ToAgent::Inspect { path } => match inspect(&self.roots, path) {
                Ok(inspection) => {
                    self.inspected.record(&inspection);
                    FromAgent::Inspected(Box::new(inspection))
                }
                Err(refusal) => FromAgent::Refused(refusal),
            },
            ToAgent::Sweep { directory } => FromAgent::Swept {
                leftovers: sweep(directory),
            },
            ToAgent::Undo => FromAgent::Undone {
                // Agents are ended first, because they restore their own settings.
                agents: self.folder.as_deref().map_or(0, end_abandoned),
                settings: conditions::undo_abandoned(
                    &self.roots,
                    &conditions::journals(),
                    conditions::ENDING,
                ),
            },
            ToAgent::Devices => FromAgent::Devices(Box::new(list_devices(&self.roots))),
            ToAgent::Checkup { path } => match checkup(&self.roots, path.as_deref()) {
                Ok(checkup) => FromAgent::Checkup(Box::new(checkup)),
                Err(refusal) => FromAgent::Refused(refusal),
            },
            ToAgent::Offers { path, subjects } => self.offers(path, subjects),
            ToAgent::Rehearse {
                run_id,
                path,
                conditions,
                restore,
            } => match conditions::rehearse(&self.roots, run_id, path, conditions, restore) {
                Ok(place) => FromAgent::Rehearsed { place },
                Err(message) => FromAgent::Refused(refuse(message)),
            },
            #[cfg(not(feature = "works"))]
            ToAgent::RunActs { .. } => FromAgent::Refused(refuse(PLANS_ONLY.to_owned())),
            // `Event::Run` handles Run; the others have no effect when no run is in progress.
            ToAgent::Run { .. } | ToAgent::Stored { .. } | ToAgent::ReportNow | ToAgent::Cancel => {
                return Ok(());
            }
            #[cfg(feature = "works")]
            ToAgent::RunActs { .. } => return Ok(()),
        };
        self.outbox.send(&answer)
    }

    fn offers(&self, path: &Path, subjects: &[Subject]) -> FromAgent {
        if is_simulated(path) {
            let why = "a simulated device has no kernel settings to vary: to compare, measure two simulated devices";
            return FromAgent::Refused(refuse(why.to_owned()));
        }
        let offered = stack::resolve(&self.roots, path)
            .map_err(|error| error.to_string())
            .and_then(|storage| conditions::offers(&self.roots, &storage, subjects));
        match offered {
            Ok(offered) => FromAgent::Offers { offered },
            Err(message) => FromAgent::Refused(refuse(message)),
        }
    }
}
