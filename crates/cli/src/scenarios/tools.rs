//! Programs that a scenario needs where it is played, looked for before anything is
//! written: half of a factory reset is an empty device.

use crate::driver::host::Host;
use crate::exit::Failure;
use assay_model::condition::{FileSystem, Offer, Subject};
use assay_model::work::scenario::{Act, Action, Scenario};

/// Refuses a work whose file systems cannot be made there.
///
/// # Errors
/// Programs and permissions that are missing.
pub fn are_there(host: &mut Host, scenario: &Scenario) -> Result<(), Failure> {
    let kinds: Vec<String> = scenario.acts().filter_map(file_system).collect();
    if kinds.is_empty() {
        return Ok(());
    }
    let offered = host.offers(&scenario.path, vec![Subject::Mkfs])?;
    let there = match offered.first().map(|offered| &offered.offer) {
        Some(Offer::FileSystems { kinds }) => kinds.as_slice(),
        _ => &[],
    };
    match kinds.iter().find(|kind| !there.contains(kind)) {
        None => Ok(()),
        Some(kind) => Err(Failure::usage(format!(
            "{}: it makes a file system, and there is no mkfs.{kind} on {}{}: install that there, \
             or give a folder",
            scenario.name,
            host.target().unwrap_or("this machine"),
            instead(there)
        ))),
    }
}

fn file_system(act: &Act) -> Option<String> {
    match &act.action {
        Action::Format { kind } => FileSystem::parse(kind).map(|asked| asked.kind),
        _ => None,
    }
}

/// Returns a hint at the file systems that could be made instead.
fn instead(there: &[String]) -> String {
    match there {
        [] => String::new(),
        there => format!(" (there is one for {})", there.join(", ")),
    }
}
