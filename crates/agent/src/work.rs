//! Execution of a work: admission, its private folder, and its end. The module [`steps`] collects
//! the evidence for its steps.

mod admission;
mod claim;
mod hold;
#[cfg(feature = "sqlite")]
mod memory;
mod scratch;
#[cfg(feature = "sqlite")]
mod soak;
mod steps;
mod together;
mod under;

use crate::fatal::Fatal;
use crate::frame::FrameError;
use crate::held_by_name;
use crate::inbox::Inbox;
use crate::inspect::storage_of;
use crate::inspected::Inspected;
use crate::outbox::Outbox;
use crate::permission::refuse;
use crate::watching::{self, WatchMessage};
use crate::workspace::Folder;
use admission::admit;
use assay_engine::load::Controls;
use assay_model::condition::Condition;
use assay_model::storage::Storage;
use assay_model::wire::{FromAgent, NoteWeight, Refusal, RunEnd};
use assay_model::work::watch::Watch;
use assay_model::work::{Work, WorkOrder, WorkReport, WorkSpec};
use assay_probe::roots::Roots;
use assay_workloads::{Context, WorkError};
use claim::files_of;
use hold::devices_of;
use scratch::{Scratch, kinds_of};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::Ordering;
use steps::{InForceNow, Steps};

/// Runs a work and sends messages about it to the host, including a refusal.
pub(crate) fn run(
    roots: &Roots,
    inspected: &Inspected,
    outbox: &Outbox,
    inbox: &mut Inbox,
    order: &WorkOrder,
    controls: &Controls,
) -> Result<(), FrameError> {
    let mut order = order.clone();
    // Held until the work has ended.
    let _held = match held_by_name::of_work(order.work.spec_mut()) {
        Ok(held) => held,
        Err(refusal) => return outbox.send(&FromAgent::Refused(refusal)),
    };
    let mut workshop = Workshop {
        roots,
        inspected,
        outbox,
        inbox,
        order: &order,
        controls,
    };
    let done = match &order.under {
        Some(under) => under::run(&mut workshop, under)?,
        None => workshop.carry_out(InForceNow::NOTHING)?,
    };
    outbox.send(&done)
}

/// Environment in which a work is carried out.
struct Workshop<'a> {
    roots: &'a Roots,
    inspected: &'a Inspected,
    outbox: &'a Outbox,
    inbox: &'a mut Inbox,
    order: &'a WorkOrder,
    controls: &'a Controls,
}

impl Workshop<'_> {
    /// Runs the work under the conditions in force; returns the last message to the host.
    fn carry_out(&mut self, under: InForceNow<'_>) -> Result<FromAgent, FrameError> {
        let Self {
            roots,
            inspected,
            order,
            controls,
            ..
        } = *self;
        let work = order.work.spec();
        let admitted = admit(roots, order).and_then(|warnings| {
            let held = held(work)?;
            inspected.check_all(roots, &work.writes())?;
            Ok((warnings, held, folder(order)?))
        });
        // Devices and files are held until the work has ended.
        let (warnings, _held, folder) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => return Ok(FromAgent::Refused(refusal)),
        };
        for text in warnings {
            self.outbox.warn(text)?;
        }
        let before = storages(roots, order);
        let kinds = kinds_of(order.work.spec());
        let mut steps = self.steps(under, &kinds);
        let mut context = Context {
            seed: order.seed,
            folder: folder.as_ref().map(Folder::path),
            stop: &controls.stop,
            report_now: &controls.report_now,
            observer: &mut steps,
        };
        let came = match &order.work {
            Work::Watch(watch) => look_on(roots, watch, &mut context),
            #[cfg(feature = "sqlite")]
            Work::Memory(work) => {
                assay_workloads::memory::run(work, &memory::Here(roots), &mut context)
            }
            #[cfg(feature = "sqlite")]
            Work::Soak(work) => {
                let path = &work.path;
                let behind = soak::Behind { roots, path };
                assay_workloads::soak::run(work, &behind, &mut context)
            }
            work => assay_workloads::run(work, &mut context),
        };
        steps.close()?;
        if let Some(problem) = folder.and_then(Folder::clear) {
            self.outbox.warn(problem)?;
        }
        Ok(self.last_word(came, &before))
    }

    fn steps<'s>(&'s mut self, under: InForceNow<'s>, kinds: &'s [Condition]) -> Steps<'s> {
        let scratch = Scratch::new(self.roots, self.order, kinds);
        let (outbox, inbox) = (self.outbox, &mut *self.inbox);
        Steps::new(self.roots, (outbox, inbox), self.order, under, scratch)
    }

    fn last_word(&self, came: Result<WorkReport, WorkError>, before: &[Storage]) -> FromAgent {
        let stopped = self.controls.stop.load(Ordering::Relaxed);
        match came {
            Ok(report) => FromAgent::Done {
                end: if stopped {
                    RunEnd::Cancelled
                } else {
                    RunEnd::Finished
                },
                report: Some(Box::new(report)),
            },
            Err(WorkError::Refused(message)) => FromAgent::Refused(refuse(message)),
            Err(error) => FromAgent::Done {
                end: end_of(&error, self.roots, self.order, before),
                report: None,
            },
        }
    }
}

/// Opens and locks everything that no other program may use meanwhile.
fn held(work: &dyn WorkSpec) -> Result<(Vec<OwnedFd>, Vec<UnixListener>), Refusal> {
    Ok((devices_of(work)?, files_of(work)?))
}

/// Observes a command; each sample is sent as progress.
fn look_on(
    roots: &Roots,
    watch: &Watch,
    context: &mut Context<'_>,
) -> Result<WorkReport, WorkError> {
    let observer = &mut *context.observer;
    let mut tell = |told| match told {
        WatchMessage::Remark(text) => observer.note(NoteWeight::Info, text),
        WatchMessage::Sample(sample) => observer.stands(WorkReport::Watching(sample)),
    };
    watching::run(roots, watch, context.stop, &mut tell).map(WorkReport::Watch)
}

/// Returns the storage that a work reads or writes, looked up before it begins, as a device may be
/// gone afterwards. Empty for a filter (`assay dd`), which reports errors of its files itself.
fn storages(roots: &Roots, order: &WorkOrder) -> Vec<Storage> {
    let work = order.work.spec();
    let folder = work.private_folder_in().map(Path::to_owned);
    let paths = work.touches().into_iter().chain(folder);
    let paths = paths.filter(|_| !work.is_filter() && work.measures_storage());
    paths.map(|path| storage_of(roots, &path)).collect()
}

/// Converts an error into the end of the run; `before` is the storage at its begin.
fn end_of(error: &WorkError, roots: &Roots, order: &WorkOrder, before: &[Storage]) -> RunEnd {
    if matches!(error, WorkError::Stopped) {
        return RunEnd::Cancelled;
    }
    let text = error.to_string();
    if order.work.spec().is_filter() {
        return RunEnd::Failed { error: text };
    }
    if matches!(error, WorkError::Gone { .. }) {
        let device = before.first().map(Storage::words).unwrap_or_default();
        let error = format!("{device}: {text}");
        return RunEnd::DeviceLost { error };
    }
    let mut storages = before.iter();
    let fatal = storages.find_map(|storage| Fatal::of(&text, error.errno(), roots, storage));
    fatal.map_or(RunEnd::Failed { error: text }, RunEnd::from)
}

/// Makes the private folder of a work, if it needs one.
fn folder(order: &WorkOrder) -> Result<Option<Folder>, Refusal> {
    let Some(parent) = order.work.spec().private_folder_in() else {
        return Ok(None);
    };
    let made = Folder::new(parent, &order.run_id);
    made.map(Some).map_err(|error| {
        refuse(format!(
            "cannot make test files in {}: {error}",
            parent.display()
        ))
    })
}
