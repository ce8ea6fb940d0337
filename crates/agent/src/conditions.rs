//! Conditions of a plan: set, read back, and undone on every way out.
//!
//! Before a change, a journal records the old value. If the process is killed, the next
//! one restores all settings from the journal ([`undo_abandoned`]).
//!
//! A condition is set when it differs from the one in force, and read back before every trial.
//! Settings are restored in reverse order; a setting that the kernel changes along with another one
//! is recorded before it, and so restored after it. Restored values are checked after the last one
//! is written: the kernel may reset or reject one until another is restored (`vm.dirty_bytes`).
//!
//! A file system is a setting too: it is made and mounted, and undone by unmounting it.
//!
//! [`before_trial`] prepares a trial, so that it does not inherit state from the previous one.

mod journal;

pub(crate) use journal::folder as journals;

use crate::permission::is_free;
use assay_model::condition::{
    Condition, InForce, Knob, Offer, Offered, Restore, Setting, Subject, TEMPERATURE,
    TemperatureWindow, Undone, celsius,
};
use assay_model::storage::Storage;
use assay_probe::conditions::{ConditionError, companions, holds, read};
use assay_probe::roots::Roots;
use assay_probe::system::Thermometer;
use assay_probe::{conditions, conditions as kernel, stack};
use journal::{Journal, JournalLine, KnobChange, abandoned, boot_id, lines, orphaned};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Sets each condition once and undoes it. Returns the path to measure: the mount point that a
/// condition makes, else `path`.
///
/// # Errors
/// The first condition that cannot be set, in one line.
pub(crate) fn rehearse(
    roots: &Roots,
    run_id: &str,
    path: &Path,
    conditions: &[Condition],
    restore: &Restore,
) -> Result<PathBuf, String> {
    let storage = stack::resolve(roots, path).map_err(|error| error.to_string())?;
    can_restore(roots, &storage, restore)?;
    let mut conditions = Conditions::new(roots, &storage, run_id, conditions, journals())?;
    // A rehearsal on request cannot be stopped; if the host ends, the session ends after it.
    conditions.rehearse(&AtomicBool::new(false))?;
    Ok(conditions.mount_point().unwrap_or(path).to_owned())
}

/// Conditions of a plan, and the index of the one in force.
pub(crate) struct Conditions<'a> {
    roots: &'a Roots,
    run_id: &'a str,
    all: &'a [Condition],
    knobs: HashMap<Subject, Vec<Knob>>,
    /// Changed knobs, restored in reverse order.
    changed: Vec<ChangedKnob>,
    journal: Option<Journal>,
    /// Folder of the journals.
    journals: PathBuf,
    in_force: Option<usize>,
}

/// A knob that was changed, directly or by a change of another knob.
#[derive(Clone, Debug)]
struct ChangedKnob {
    knob: Knob,
    /// Value before the change; `None` for a command.
    old: Option<String>,
    /// Value last set; `None` if the knob was not set itself.
    last: Option<String>,
    /// The last attempt to set it was successful.
    is_set: bool,
}

impl ChangedKnob {
    /// Creates the entry of a knob that is not changed yet.
    fn new(knob: Knob, old: Option<String>) -> Self {
        Self {
            knob,
            old,
            last: None,
            is_set: false,
        }
    }
}

impl<'a> Conditions<'a> {
    /// Checks the values again, which the host has checked before; changes nothing.
    ///
    /// # Errors
    /// A value that this machine does not offer, in one line.
    pub(crate) fn new(
        roots: &'a Roots,
        storage: &Storage,
        run_id: &'a str,
        all: &'a [Condition],
        journals: PathBuf,
    ) -> Result<Self, String> {
        let knobs = knobs_of(roots, storage, all, &journals)?;
        Ok(Self {
            roots,
            run_id,
            all,
            knobs,
            changed: Vec::new(),
            journal: None,
            journals,
            in_force: None,
        })
    }

    /// Returns the mount point of the file system that the conditions make.
    pub(crate) fn mount_point(&self) -> Option<&Path> {
        match self.knobs.get(&Subject::Mkfs)?.first() {
            Some(Knob::FileSystem { point, .. }) => Some(point),
            _ => None,
        }
    }

    /// Sets each condition once and undoes it, except commands. This finds values that
    /// the kernel rounds or rejects before anything is measured. A stop takes effect
    /// between two conditions, because making a file system takes time. The journal
    /// remains until [`Self::leave`], so that no other run changes the same settings
    /// meanwhile.
    ///
    /// # Errors
    /// The first condition that cannot be set, in one line.
    pub(crate) fn rehearse(&mut self, stop: &AtomicBool) -> Result<(), String> {
        let is_command = |setting: &&Setting| matches!(setting.subject, Subject::Command { .. });
        let mut outcome = Ok(());
        for condition in self.all {
            let settings = condition.settings.iter();
            let others: Vec<&Setting> = settings.filter(|s| !is_command(s)).collect();
            let set = self.set_all(&others);
            outcome = set.and_then(|()| self.verify(&others).map(drop));
            if outcome.is_err() || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let problems = self.put_all_back();
        if problems.is_empty() {
            return outcome;
        }
        let first = outcome.err().into_iter();
        Err(first.chain(problems).collect::<Vec<_>>().join("; "))
    }

    /// Puts a condition into force, unless it is, and reads it back.
    ///
    /// # Errors
    /// The reason why it cannot be set, in one line.
    pub(crate) fn enter(&mut self, index: Option<usize>) -> Result<Vec<InForce>, String> {
        let Some(index) = index else {
            return Ok(Vec::new());
        };
        let all = self.all;
        let condition = all.get(index).ok_or("the plan has no such condition")?;
        let settings: Vec<&Setting> = condition.settings.iter().collect();
        let known = self.in_force == Some(index);
        // Settings that another program has changed since the last trial are set again.
        if !known || self.verify(&settings).is_err() {
            self.in_force = None;
            self.set_all(&settings)?;
            self.in_force = Some(index);
        }
        self.verify(&settings)
    }

    /// Reads the settings in force, and compares them with the condition.
    fn verify(&self, settings: &[&Setting]) -> Result<Vec<InForce>, String> {
        let mut found = Vec::new();
        for setting in settings {
            for knob in self.knobs_of(setting) {
                let value = read(self.roots, knob).map_err(|error| error.to_string())?;
                let holds = match &value {
                    Some(now) => holds(knob, &setting.value, now),
                    // A command has no value; another knob without a value no longer
                    // exists.
                    None => matches!(knob, Knob::Command { .. }),
                };
                if !holds {
                    return Err(format!(
                        "{knob} is '{}' although it was set to '{}': another setting or another \
                         program has changed it",
                        value.unwrap_or_default(),
                        setting.value
                    ));
                }
                found.push(InForce {
                    subject: setting.subject.to_string(),
                    knob: knob.to_string(),
                    value,
                });
            }
        }
        Ok(found)
    }

    fn knobs_of(&self, setting: &Setting) -> &[Knob] {
        self.knobs.get(&setting.subject).map_or(&[], Vec::as_slice)
    }

    /// Writes the journal, then changes the settings in their order.
    fn set_all(&mut self, settings: &[&Setting]) -> Result<(), String> {
        let wanted = self.wanted(settings);
        self.record(&wanted)?;
        for (knob, value) in wanted {
            self.set_knob(&knob, &value)?;
        }
        Ok(())
    }

    /// Returns each knob with its value. Making a file system also mounts it, so its
    /// value includes the mount options.
    fn wanted(&self, settings: &[&Setting]) -> Vec<(Knob, String)> {
        let makes = settings.iter().any(|s| s.subject == Subject::Mkfs);
        let mount = settings.iter().find(|s| s.subject == Subject::Mount);
        let mut wanted = Vec::new();
        for setting in settings {
            let value = match (&setting.subject, mount) {
                (Subject::Mount, _) if makes => continue,
                (Subject::Mkfs, Some(mount)) => format!("{} {}", setting.value, mount.value),
                _ => setting.value.clone(),
            };
            let knobs = self.knobs_of(setting).iter();
            wanted.extend(knobs.map(|knob| (knob.clone(), value.clone())));
        }
        wanted
    }

    /// Records changes in the journal. A knob that changes together with another is
    /// recorded before it, and thus restored after it.
    fn record(&mut self, wanted: &[(Knob, String)]) -> Result<(), String> {
        let mut entries = Vec::new();
        // The CPU affinity ends with this process, so it needs no journal.
        for (knob, value) in wanted.iter().filter(|(knob, _)| *knob != Knob::Affinity) {
            if !self.changed.iter().any(|known| known.knob == *knob) {
                for with in companions(knob) {
                    // A value that cannot be read cannot be restored either.
                    if let Ok(old @ Some(_)) = read(self.roots, &with) {
                        entries.push(KnobChange::beside(with, old, knob));
                    }
                }
            }
            let known = self.changed.iter().find(|known| known.knob == *knob);
            let old = match known {
                Some(changed) => changed.old.clone(),
                None => read(self.roots, knob).map_err(|error| error.to_string())?,
            };
            entries.push(KnobChange::new(knob.clone(), old, value.clone()));
        }
        if entries.is_empty() {
            return Ok(());
        }
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => none.insert(Journal::create(&self.journals, self.run_id)?),
        };
        let new = entries.iter().filter(|entry| !journal.claims(&entry.knob));
        let new: Vec<KnobChange> = new.cloned().collect();
        journal.add(&entries)?;
        for KnobChange { knob, old, .. } in new {
            // Another run may have restored it between reading and claiming.
            let now = read(self.roots, &knob).map_err(|error| error.to_string())?;
            if now != old {
                return Err(format!("{knob} has just been changed by another program"));
            }
        }
        for entry in entries {
            if !self.changed.iter().any(|known| known.knob == entry.knob) {
                self.changed.push(ChangedKnob::new(entry.knob, entry.old));
            }
        }
        Ok(())
    }

    fn set_knob(&mut self, knob: &Knob, value: &str) -> Result<(), String> {
        let roots = self.roots;
        let known = self.changed.iter().position(|one| one.knob == *knob);
        let at = match known {
            Some(at) => at,
            None => {
                let old = read(roots, knob).map_err(|error| error.to_string())?;
                self.changed.push(ChangedKnob::new(knob.clone(), old));
                self.changed.len() - 1
            }
        };
        let changed = &mut self.changed[at];
        // Commands, mounts and file systems accumulate: undo the last value before the next is
        // set. A file knob is only overwritten.
        let accumulates = matches!(
            knob,
            Knob::Command { .. } | Knob::Mount { .. } | Knob::FileSystem { .. }
        );
        if let (true, Some(last)) = (accumulates, &changed.last) {
            if changed.is_set && last == value {
                return Ok(());
            }
            kernel::undo(roots, knob, changed.old.as_deref(), last)
                .map_err(|error| error.to_string())?;
        }
        changed.is_set = false;
        if let Knob::FileSystem { device, .. } = knob {
            is_free(roots, device).map_err(|refusal| refusal.message)?;
        }
        changed.last = Some(value.to_owned());
        let made = kernel::set(roots, knob, value).map(drop);
        changed.is_set = made.is_ok();
        made.map_err(|error| error.to_string())
    }

    /// Restores all settings, the last change first. Returns one line for each setting
    /// that could not be restored; the journal then remains for the next start.
    pub(crate) fn leave(&mut self) -> Vec<String> {
        let problems = self.put_all_back();
        if let Some(journal) = self.journal.take()
            && problems.is_empty()
        {
            journal.remove();
        }
        problems
    }
}

impl Conditions<'_> {
    fn put_all_back(&mut self) -> Vec<String> {
        self.in_force = None;
        let changed = std::mem::take(&mut self.changed);
        put_back(self.roots, &changed)
    }

    /// Checks that the condition of a trial that just ended is still in force.
    ///
    /// # Errors
    /// The setting that has changed, in one line.
    pub(crate) fn still(&self) -> Result<(), String> {
        let Some(condition) = self.in_force.and_then(|index| self.all.get(index)) else {
            return Ok(());
        };
        let settings: Vec<&Setting> = condition.settings.iter().collect();
        let held = self.verify(&settings).map(drop);
        held.map_err(|error| format!("the condition changed during the trial: {error}"))
    }
}

/// Restores the settings after a panic or an error; problems cannot be reported here.
impl Drop for Conditions<'_> {
    fn drop(&mut self) {
        let _ = self.leave();
    }
}

/// A knob in a journal, with all values that the run set.
struct Left {
    changed: ChangedKnob,
    all: Vec<String>,
    with: Option<Knob>,
}

/// Time limit for an agent whose host was killed to undo its own settings.
pub(crate) const ENDING: Duration = Duration::from_secs(30);
/// Interval between two checks of the journals of such agents.
const RECHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Undoes the settings of killed runs, newest change first, and removes their journals. An agent
/// whose host was killed undoes its own settings; those still in force after `limit` are
/// reported. Settings that other programs have changed meanwhile remain. After a reboot there is
/// nothing to undo.
pub(crate) fn undo_abandoned(roots: &Roots, folder: &Path, limit: Duration) -> Vec<Undone> {
    let since = Instant::now();
    let mut held = orphaned(roots, folder);
    while !held.is_empty() && since.elapsed() < limit {
        sleep(RECHECK_INTERVAL);
        held = orphaned(roots, folder);
    }
    let mut all: Vec<Undone> = held
        .into_iter()
        .flat_map(|lines| undo(roots, lines, true))
        .collect();
    let boot = boot_id();
    for (path, file) in abandoned(folder) {
        let lines = lines(&file);
        if lines.iter().all(|line| line.boot_id == boot) {
            all.extend(undo(roots, lines, false));
        }
        // Each problem is reported once.
        let _ = fs::remove_file(path);
    }
    all
}

fn knobs(lines: Vec<JournalLine>) -> Vec<Left> {
    let mut all: Vec<Left> = Vec::new();
    for entry in lines.into_iter().map(|line| line.entry) {
        let index = match all.iter().position(|left| left.changed.knob == entry.knob) {
            Some(index) => index,
            None => {
                all.push(Left {
                    changed: ChangedKnob::new(entry.knob, None),
                    all: Vec::new(),
                    with: entry.with,
                });
                all.len() - 1
            }
        };
        let left = &mut all[index];
        // The last entry counts: after a rehearsal everything was restored.
        left.changed.old = entry.old;
        left.changed.last.clone_from(&entry.new);
        left.all.extend(entry.new);
    }
    all
}

/// Undoes the changes of a journal. If a process still holds it, that process has to.
fn undo(roots: &Roots, lines: Vec<JournalLine>, is_held: bool) -> Vec<Undone> {
    let Some((run_id, pid)) = lines.first().map(|line| (line.run_id.clone(), line.pid)) else {
        return Vec::new();
    };
    let knobs = knobs(lines);
    let mut undone = Vec::new();
    let mut kept: Vec<&Knob> = Vec::new();
    for left in knobs.iter().rev() {
        let knob = &left.changed.knob;
        // If another program has changed a knob, it also owns the knobs that change with it.
        if left.with.as_ref().is_some_and(|with| kept.contains(&with)) {
            continue;
        }
        let problem = match state(roots, left) {
            KnobState::AsBefore | KnobState::Gone => continue,
            KnobState::AsSet if is_held => Some(format!(
                "its agent, process {pid}, has set it and does not end: end it, then measure again"
            )),
            KnobState::AsSet => put_one_back(roots, &left.changed).err(),
            KnobState::Changed(now) => {
                kept.push(knob);
                Some(format!("it is '{now}' now, which assay had not set"))
            }
        };
        undone.push(Undone {
            run_id: run_id.clone(),
            knob: knob.to_string(),
            old: left.changed.old.clone(),
            problem,
        });
    }
    // A value may be accepted only after another one was restored.
    let is_back = |undone: &Undone| {
        let left = knobs
            .iter()
            .find(|left| left.changed.knob.to_string() == undone.knob);
        left.is_some_and(|left| matches!(state(roots, left), KnobState::AsBefore))
    };
    for undone in undone.iter_mut().filter(|undone| undone.problem.is_some()) {
        if is_back(undone) {
            undone.problem = None;
        }
    }
    undone
}

/// State of a knob.
enum KnobState {
    AsBefore,
    AsSet,
    Changed(String),
    /// The knob no longer exists, for example because its device is gone.
    Gone,
}

fn state(roots: &Roots, left: &Left) -> KnobState {
    let ChangedKnob { knob, old, .. } = &left.changed;
    match knob {
        Knob::Command { .. } => return KnobState::AsSet,
        // The file system may exist, mounted or not; any file system mounted there is assay's.
        Knob::FileSystem { point, .. } if point.exists() => return KnobState::AsSet,
        _ => {}
    }
    let Ok(Some(now)) = read(roots, knob) else {
        return KnobState::Gone;
    };
    // A plain file is empty for a moment before its new value is written.
    let being_set = now.is_empty();
    if old.as_ref() == Some(&now) {
        KnobState::AsBefore
    } else if left.with.is_some() || being_set || left.all.iter().any(|set| holds(knob, set, &now))
    {
        KnobState::AsSet
    } else {
        KnobState::Changed(now)
    }
}

/// Lists the values that the kernel offers for subjects, without changing anything.
pub(crate) fn offers(
    roots: &Roots,
    storage: &Storage,
    subjects: &[Subject],
) -> Result<Vec<Offered>, String> {
    let is_made = subjects.contains(&Subject::Mkfs);
    let offer = |subject| offer(roots, storage, subject, is_made);
    let offered: Result<Vec<Offered>, ConditionError> = subjects.iter().map(offer).collect();
    offered.map_err(|error| error.to_string())
}

/// Lists the values that the kernel offers for a subject. A file system that `is_made` is mounted
/// with its options right away, because only the mount shows which of them it accepts.
fn offer(
    roots: &Roots,
    storage: &Storage,
    subject: &Subject,
    is_made: bool,
) -> Result<Offered, ConditionError> {
    if *subject == Subject::Mount && is_made {
        return Ok(Offered {
            subject: subject.clone(),
            knobs: Vec::new(),
            current: Vec::new(),
            offer: Offer::Text,
        });
    }
    kernel::offers(roots, storage, subject)
}

/// Returns the knobs of all settings of these conditions; changes nothing.
///
/// # Errors
/// A value that this machine does not offer, in one line.
fn knobs_of(
    roots: &Roots,
    storage: &Storage,
    all: &[Condition],
    journals: &Path,
) -> Result<HashMap<Subject, Vec<Knob>>, String> {
    let words = |error: ConditionError| error.to_string();
    let made = match all.iter().any(Condition::makes_file_system) {
        true => Some(file_system(roots, storage, journals).map_err(words)?),
        false => None,
    };
    let mut found = HashMap::new();
    let mut offered = HashMap::new();
    let settings = all.iter().flat_map(|condition| &condition.settings);
    for Setting { subject, value } in settings.filter(|set| !set.subject.is_of_job()) {
        if !offered.contains_key(subject) {
            let offer = offer(roots, storage, subject, made.is_some()).map_err(words)?;
            offered.insert(subject, offer.offer);
            let knobs = match (subject, &made) {
                (Subject::Mkfs, Some(made)) => vec![made.clone()],
                (Subject::Mount, Some(Knob::FileSystem { point, .. })) => vec![Knob::Mount {
                    point: point.clone(),
                }],
                _ => conditions::knobs(roots, storage, subject).map_err(words)?,
            };
            found.insert(subject.clone(), knobs);
        }
        let offer = &offered[subject];
        if !offer.takes(value) {
            return Err(format!(
                "{subject}={value} is not offered here; the kernel offers {offer}"
            ));
        }
    }
    Ok(found)
}

/// Returns the file system on the device under test, with a mount point in the folder of the
/// journals, which other users cannot read.
fn file_system(roots: &Roots, storage: &Storage, journals: &Path) -> Result<Knob, ConditionError> {
    let found = conditions::knobs(roots, storage, &Subject::Mkfs)?.into_iter();
    let mut placed = found.map(|knob| match knob {
        Knob::FileSystem { device, point } => Knob::FileSystem {
            device,
            point: journals.join(point),
        },
        other => other,
    });
    placed.next().ok_or_else(|| ConditionError::NotADevice {
        path: storage.path.clone(),
    })
}

/// Restores knobs from the last to the first, then checks all of them: a value may be
/// accepted only after another one (`vm.dirty_bytes` rejects 0; setting `vm.dirty_ratio`
/// resets it).
fn put_back(roots: &Roots, changed: &[ChangedKnob]) -> Vec<String> {
    let mut problems: HashMap<&Knob, String> = HashMap::new();
    for changed in changed.iter().rev() {
        if let Err(problem) = put_one_back(roots, changed) {
            problems.insert(&changed.knob, problem);
        }
    }
    let is_back = |one: &ChangedKnob| match (&one.knob, &one.old, read(roots, &one.knob)) {
        (Knob::Command { .. } | Knob::FileSystem { .. }, _, _) => !problems.contains_key(&one.knob),
        (_, Some(old), Ok(Some(now))) => *old == now,
        // There is nothing to compare, or the device and its settings are gone.
        _ => true,
    };
    let missed = changed.iter().filter(|changed| !is_back(changed));
    let words = missed.map(|changed| {
        let old = changed.old.as_deref().unwrap_or("what it was");
        let why = problems.get(&changed.knob).map_or("", String::as_str);
        format!("{} could not be put back to '{old}': {why}", changed.knob)
    });
    words.collect()
}

fn put_one_back(roots: &Roots, changed: &ChangedKnob) -> Result<(), String> {
    let ChangedKnob {
        knob, old, last, ..
    } = changed;
    if let (Knob::Command { .. } | Knob::FileSystem { .. }, None) = (knob, last) {
        return Ok(());
    }
    let now = read(roots, knob).map_err(|error| error.to_string())?;
    if old.is_some() && now == *old {
        return Ok(());
    }
    let last = last.as_deref().unwrap_or_default();
    kernel::undo(roots, knob, old.as_deref(), last).map_err(|error| error.to_string())
}

/// Interval at which a stop is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Interval at which the temperature is read.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// Checks that every preparation is possible, without performing it.
///
/// # Errors
/// The preparation that is not possible, in one line.
pub(crate) fn can_restore(
    roots: &Roots,
    storage: &Storage,
    restore: &Restore,
) -> Result<(), String> {
    match restore.temperature {
        Some(_) => thermometer(roots, storage).map(drop),
        None => Ok(()),
    }
}

/// Discards free blocks, drops the page cache, then waits for the idle time and for the
/// temperature. Returns the temperature, if one was requested.
///
/// # Errors
/// The preparation that failed, in one line.
pub(crate) fn before_trial(
    roots: &Roots,
    storage: &Storage,
    restore: &Restore,
    stop: &AtomicBool,
) -> Result<Option<InForce>, String> {
    if restore.trim {
        let mount = storage.mount.as_ref();
        let mount = mount.ok_or("free blocks can be discarded only of a mounted file system")?;
        trim(&mount.point)?;
    }
    if restore.drop_caches {
        drop_caches(roots)?;
    }
    wait_unless_stopped(Duration::from_nanos(restore.idle.0), stop);
    let window = restore.temperature.as_ref();
    window
        .map(|window| await_temperature(roots, storage, window, stop))
        .transpose()
}

fn wait_unless_stopped(span: Duration, stop: &AtomicBool) {
    let end = Instant::now() + span;
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        sleep(LOOK_AGAIN.min(end.saturating_duration_since(Instant::now())));
    }
}

fn thermometer(roots: &Roots, storage: &Storage) -> Result<Thermometer, String> {
    let found = Thermometer::of(roots, storage);
    found.ok_or_else(|| {
        "no sensor reports a temperature, neither of the device nor of the board: leave out \
         --temperature"
            .to_owned()
    })
}

/// Waits until the temperature is within the window. A sensor may fail to answer for a
/// while.
fn await_temperature(
    roots: &Roots,
    storage: &Storage,
    window: &TemperatureWindow,
    stop: &AtomicBool,
) -> Result<InForce, String> {
    let thermometer = thermometer(roots, storage)?;
    let began = Instant::now();
    loop {
        let read = thermometer.read();
        let is_over = stop.load(Ordering::Relaxed);
        if is_over || read.is_some_and(|now| window.holds(now)) {
            return Ok(InForce {
                subject: TEMPERATURE.to_owned(),
                knob: thermometer.name,
                value: read.map(celsius),
            });
        }
        if began.elapsed() >= Duration::from_nanos(window.limit.0) {
            let now = read.map_or_else(
                || "does not answer".to_owned(),
                |now| format!("has {} °C", celsius(now)),
            );
            return Err(format!(
                "{} {now}, and did not come within {window} in {}: cool it, or give a wider \
                 --temperature",
                thermometer.name, window.limit
            ));
        }
        wait_unless_stopped(READ_AGAIN, stop);
    }
}

fn trim(point: &Path) -> Result<(), String> {
    let mut command = Command::new("fstrim");
    command.arg(point).stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| format!("cannot run fstrim: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("cannot discard free blocks: {}", said.trim())),
    }
}

/// Dirty pages cannot be dropped, so they are written first. The value 3 drops the page
/// cache, dentries and inodes (Documentation/admin-guide/sysctl/vm.rst).
fn drop_caches(roots: &Roots) -> Result<(), String> {
    rustix::fs::sync();
    let path = roots.proc.join("sys/vm/drop_caches");
    fs::write(&path, "3\n").map_err(|error| {
        format!(
            "cannot empty the page cache: {}: {error} (it needs root)",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests;
