//! Values that the kernel offers for a subject.

use super::{ConditionError, file_system, knobs, read};
use crate::attr;
use crate::roots::Roots;
use assay_model::condition::{Knob, Offer, Offered, Subject};
use assay_model::storage::Storage;
use std::fs::OpenOptions;
use std::path::Path;

/// Lists the settings of a subject and their possible values, without changing anything.
///
/// # Errors
/// If the subject cannot be set here: it does not exist, or permission is missing.
pub fn offers(
    roots: &Roots,
    storage: &Storage,
    subject: &Subject,
) -> Result<Offered, ConditionError> {
    let knobs = knobs(roots, storage, subject)?;
    let mut current = Vec::new();
    let mut offer: Option<Offer> = None;
    for knob in &knobs {
        let value = read(roots, knob)?;
        may_be_set(knob)?;
        let own = offer_of(knob, subject, value.as_deref());
        offer = Some(match offer {
            Some(others) => others.and(own),
            None => own,
        });
        current.extend(value);
    }
    current.sort();
    current.dedup();
    Ok(Offered {
        subject: subject.clone(),
        knobs: knobs.iter().map(ToString::to_string).collect(),
        current,
        offer: offer.unwrap_or(Offer::Text),
    })
}

/// Checks that a knob may be set, by opening it for writing without a write.
fn may_be_set(knob: &Knob) -> Result<(), ConditionError> {
    let opened = match knob {
        Knob::File { path } => OpenOptions::new().write(true).open(path).map(drop),
        Knob::Mount { .. } | Knob::FileSystem { .. } if !rustix::process::geteuid().is_root() => {
            Err(std::io::ErrorKind::PermissionDenied.into())
        }
        Knob::Mount { .. } | Knob::FileSystem { .. } | Knob::Command { .. } | Knob::Affinity => {
            Ok(())
        }
    };
    opened.map_err(|error| ConditionError::NotWritable {
        knob: knob.to_string(),
        error,
    })
}

fn offer_of(knob: &Knob, subject: &Subject, current: Option<&str>) -> Offer {
    match knob {
        Knob::File { path } => offer_of_file(path, subject, current),
        Knob::Affinity => Offer::Cpus {
            allowed: current
                .and_then(assay_model::condition::parse_cpus)
                .unwrap_or_default(),
        },
        Knob::Mount { .. } => Offer::Options {
            shown: current
                .unwrap_or_default()
                .split(',')
                .map(str::to_owned)
                .collect(),
        },
        Knob::FileSystem { .. } => Offer::FileSystems {
            kinds: file_system::kinds(),
        },
        Knob::Command { .. } => Offer::Text,
    }
}

fn offer_of_file(path: &Path, subject: &Subject, current: Option<&str>) -> Offer {
    let beside = |name: &str| attr::text(&path.with_file_name(name));
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect();
    match subject {
        Subject::Governor => {
            if let Some(text) = beside("scaling_available_governors") {
                return Offer::Choice {
                    values: words(text),
                };
            }
        }
        Subject::CpufreqMin | Subject::CpufreqMax => {
            let number = |name: &str| attr::number(&path.with_file_name(name));
            return Offer::Number {
                least: number("cpuinfo_min_freq"),
                most: number("cpuinfo_max_freq"),
            };
        }
        _ => {}
    }
    let text = attr::text(path).unwrap_or_default();
    if attr::bracketed(&text).is_some() {
        let bare = text.replace(['[', ']'], "");
        return Offer::Choice {
            values: words(bare),
        };
    }
    match current.is_some_and(|value| value.parse::<u64>().is_ok()) {
        true => Offer::Number {
            least: None,
            most: None,
        },
        false => Offer::Text,
    }
}
