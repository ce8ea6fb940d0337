//! Conditions of a plan: set, read back, and undone on every way out.
//!
//! Before a change, a journal records the old value. If the process is killed, the next
//! one restores all settings from the journal ([`undo_abandoned`]).
//!
//! A condition is set when it differs from the one in force, and read back before every trial.
//! Settings are restored in reverse order; a setting that the kernel changes along with another one
//! is recorded before it, and so restored after it. Restored values are checked only at the end,
//! because the kernel may accept one only after another.
//!
//! A file system is a setting too: it is made and mounted, and undone by unmounting it.

mod abandoned;
mod journal;
mod offered;
mod put_back;
mod restore;

pub(crate) use abandoned::{ENDING, undo_abandoned};
pub(crate) use journal::folder as journals;
pub(crate) use offered::offers;
pub(crate) use restore::{before_trial, can_restore};

use crate::permission::is_free;
use assay_model::condition::{Condition, InForce, Knob, Restore, Setting, Subject};
use assay_model::storage::Storage;
use assay_probe::conditions::{self as kernel, companions, holds, read};
use assay_probe::roots::Roots;
use assay_probe::stack;
use journal::{Journal, KnobChange};
use offered::knobs_of;
use put_back::put_back;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(test)]
mod tests;

/// Sets each condition once and undoes it. Returns the path where a run under them would
/// work.
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
    // No stop is possible here: the end of the host ends the session afterwards.
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
    turned: Vec<Turned>,
    journal: Option<Journal>,
    /// Folder of the journals.
    journals: PathBuf,
    in_force: Option<usize>,
}

/// A knob that was changed, directly or by a change of another knob.
#[derive(Clone, Debug)]
struct Turned {
    knob: Knob,
    /// Value before the change; `None` for a command.
    old: Option<String>,
    /// Value last set; `None` if the knob was not set itself.
    last: Option<String>,
    /// The last attempt to set it was successful.
    made: bool,
}

impl Turned {
    /// Creates the entry of a knob that is not changed yet.
    fn new(knob: Knob, old: Option<String>) -> Self {
        Self {
            knob,
            old,
            last: None,
            made: false,
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
            turned: Vec::new(),
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
        let mut made = Ok(());
        for condition in self.all {
            let settings = condition.settings.iter();
            let quiet: Vec<&Setting> = settings.filter(|s| !is_command(s)).collect();
            made = self.make(&quiet).and_then(|()| self.look(&quiet).map(drop));
            if made.is_err() || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let problems = self.put_all_back();
        if problems.is_empty() {
            return made;
        }
        let first = made.err().into_iter();
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
        if !known || self.look(&settings).is_err() {
            self.in_force = None;
            self.make(&settings)?;
            self.in_force = Some(index);
        }
        self.look(&settings)
    }

    /// Reads the settings in force, and compares them with the condition.
    fn look(&self, settings: &[&Setting]) -> Result<Vec<InForce>, String> {
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
    fn make(&mut self, settings: &[&Setting]) -> Result<(), String> {
        let wanted = self.wanted(settings);
        self.note(&wanted)?;
        for (knob, value) in wanted {
            self.turn(&knob, &value)?;
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
    fn note(&mut self, wanted: &[(Knob, String)]) -> Result<(), String> {
        let mut entries = Vec::new();
        for (knob, value) in wanted.iter().filter(|(knob, _)| *knob != Knob::Affinity) {
            if !self.turned.iter().any(|turned| turned.knob == *knob) {
                for with in companions(knob) {
                    // A value that cannot be read cannot be restored either.
                    if let Ok(old @ Some(_)) = read(self.roots, &with) {
                        entries.push(KnobChange::beside(with, old, knob));
                    }
                }
            }
            let known = self.turned.iter().find(|turned| turned.knob == *knob);
            let old = match known {
                Some(turned) => turned.old.clone(),
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
            if !self.turned.iter().any(|turned| turned.knob == entry.knob) {
                self.turned.push(Turned::new(entry.knob, entry.old));
            }
        }
        Ok(())
    }

    fn turn(&mut self, knob: &Knob, value: &str) -> Result<(), String> {
        let roots = self.roots;
        let known = self.turned.iter().position(|turned| turned.knob == *knob);
        let at = match known {
            Some(at) => at,
            // Only the CPU affinity is not in the journal: it ends with this process.
            None => {
                let old = read(roots, knob).map_err(|error| error.to_string())?;
                self.turned.push(Turned::new(knob.clone(), old));
                self.turned.len() - 1
            }
        };
        let turned = &mut self.turned[at];
        // Other knobs have a single value; these have an effect that must be undone
        // before the next one.
        let adds_up = matches!(
            knob,
            Knob::Command { .. } | Knob::Mount { .. } | Knob::FileSystem { .. }
        );
        if let (true, Some(last)) = (adds_up, &turned.last) {
            if turned.made && last == value {
                return Ok(());
            }
            kernel::undo(roots, knob, turned.old.as_deref(), last)
                .map_err(|error| error.to_string())?;
        }
        turned.made = false;
        if let Knob::FileSystem { device, .. } = knob {
            is_free(roots, device).map_err(|refusal| refusal.message)?;
        }
        turned.last = Some(value.to_owned());
        let made = kernel::set(roots, knob, value).map(drop);
        turned.made = made.is_ok();
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
        let turned = std::mem::take(&mut self.turned);
        put_back(self.roots, &turned)
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
        let held = self.look(&settings).map(drop);
        held.map_err(|error| format!("the condition changed during the trial: {error}"))
    }
}

/// Restores the settings after a panic or an error; problems cannot be reported here.
impl Drop for Conditions<'_> {
    fn drop(&mut self) {
        let _ = self.leave();
    }
}
