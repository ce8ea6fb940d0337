//! Values that the kernel offers, and the knobs behind the settings of conditions.

use assay_model::condition::{Condition, Knob, Offer, Offered, Setting, Subject};
use assay_model::storage::Storage;
use assay_probe::conditions::{self as kernel, ConditionError, knobs};
use assay_probe::roots::Roots;
use std::collections::HashMap;
use std::path::Path;

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
pub(super) fn knobs_of(
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
    for Setting { subject, value } in all.iter().flat_map(|c| &c.settings) {
        if !offered.contains_key(subject) {
            let offer = offer(roots, storage, subject, made.is_some()).map_err(words)?;
            offered.insert(subject, offer.offer);
            let knobs = match (subject, &made) {
                (Subject::Mkfs, Some(made)) => vec![made.clone()],
                (Subject::Mount, Some(Knob::FileSystem { point, .. })) => vec![Knob::Mount {
                    point: point.clone(),
                }],
                _ => knobs(roots, storage, subject).map_err(words)?,
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
    let found = knobs(roots, storage, &Subject::Mkfs)?.into_iter();
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
