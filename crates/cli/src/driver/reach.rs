//! Reachability of targets, and descriptions of their machines.

use crate::driver::host::Host;
use crate::exit::Failure;
use crate::targets::{On, target};
use assay_model::storage::System;
use assay_target::WhenLost;
use serde_json::Value;
use std::path::Path;
use std::thread::Builder;

/// Maximum number of targets that are reached at the same time.
const AT_A_TIME: usize = 8;

/// Reason for a target whose thread panicked; the panic's own message is on standard error.
const PANICKED: &str =
    "assay failed while it asked (a defect of assay: please report the message above)";

/// Result of reaching a target: the machine, or the reason of the failure.
pub type Reached = Result<System, String>;

/// Starts an agent on each target and queries the machine. Returns `None` for boards of a labgrid,
/// because they would have to be acquired.
pub fn reach(targets: &[&On]) -> Vec<Option<Reached>> {
    let mut reached = Vec::new();
    for group in targets.chunks(AT_A_TIME) {
        reached.extend(std::thread::scope(|scope| {
            let start = |on| Builder::new().spawn_scoped(scope, move || ask(on));
            let asking = group.iter().map(|on| start(on).map_err(Failure::no_thread));
            let asking: Vec<_> = asking.collect();
            let answers = asking.into_iter().map(|thread| match thread {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|_| Some(Err(PANICKED.to_owned()))),
                Err(failure) => Some(Err(failure.to_string())),
            });
            answers.collect::<Vec<_>>()
        }));
    }
    reached
}

fn ask(on: &On) -> Option<Reached> {
    if matches!(on, On::Labgrid(_)) {
        return None;
    }
    let asked = target(on, WhenLost::Stop).and_then(|mut there| {
        let mut host = Host::start(there.as_mut())?;
        Ok(host.inspect(Path::new("/"))?.system)
    });
    Some(asked.map_err(|failure| failure.to_string()))
}

/// Formats a machine such as `aarch64, Linux 6.1.0, root`, or the reason why it was not reached.
pub fn reached_in_words(reached: &Reached) -> String {
    let system = match reached {
        Ok(system) => system,
        Err(why) => return format!("not reached: {why}"),
    };
    let board = system.board.as_ref().or(system.hostname.as_ref());
    let user = if system.root { "root" } else { "not root" };
    let mut words: Vec<&str> = board.map(String::as_str).into_iter().collect();
    let kernel = format!("Linux {}", system.kernel);
    words.extend([system.machine.as_str(), kernel.as_str(), user]);
    words.join(", ")
}

/// Adds the result of reaching a target to its JSON; `reached` is `None` if it was not tried.
pub fn describe(value: &mut Value, reached: Option<&Reached>) {
    let system = reached.and_then(|reached| reached.as_ref().ok());
    value["reached"] = reached.map(Result::is_ok).into();
    value["error"] = reached.and_then(|reached| reached.clone().err()).into();
    value["machine"] = system.map(|system| system.machine.clone()).into();
    value["kernel"] = system.map(|system| system.kernel.clone()).into();
    value["board"] = system.and_then(|system| system.board.clone()).into();
    value["root"] = system.map(|system| system.root).into();
}
