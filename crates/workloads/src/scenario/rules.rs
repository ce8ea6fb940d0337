//! Checks that refuse a scenario before anything is written. The host has already checked it, in a
//! file with line numbers; this side does not rely on that.

use super::scene::is_inside;
use crate::WorkError;
use assay_model::work::scenario::{Act, Action, DEVICE, Scenario};
use std::collections::HashSet;

/// Simultaneous acts, at most: each has a thread.
const MOST_TOGETHER: usize = 64;
/// Bytes of a block, at most.
const MOST_BLOCK: u64 = 256 << 20;

/// Refuses a scenario that cannot be carried out.
pub(super) fn check(work: &Scenario) -> Result<(), WorkError> {
    let mut names = HashSet::new();
    for stage in &work.stages {
        let foreground = stage.acts.iter().filter(|act| !act.background).count();
        if foreground == 0 || stage.acts.len() > MOST_TOGETHER {
            return Err(refused(&format!(
                "a stage must have 1 to {MOST_TOGETHER} acts, one of them in the foreground"
            )));
        }
        let alone = |act: &Act| matches!(act.action, Action::Format { .. });
        if stage.acts.len() > 1 && stage.acts.iter().any(alone) {
            return Err(refused(
                "making a file system must be the only act of its stage",
            ));
        }
        for act in &stage.acts {
            check_act(act, work)?;
            if !names.insert(&act.job.name) {
                return Err(refused(&format!(
                    "two acts are called {}: give each its own name",
                    act.job.name
                )));
            }
        }
    }
    match names.is_empty() {
        true => Err(refused("the scenario has no step")),
        false => Ok(()),
    }
}

fn check_act(act: &Act, work: &Scenario) -> Result<(), WorkError> {
    let name = &act.job.name;
    for file in act.action.files() {
        if file != DEVICE && !is_inside(file) {
            return Err(refused(&format!(
                "{name}: {file} is not a path inside the scenario's own folder"
            )));
        }
    }
    let block = act.action.block();
    if block.is_some_and(|block| !(1..=MOST_BLOCK).contains(&block)) {
        return Err(refused(&format!(
            "{name}: a block must have 1 byte to {} MiB",
            MOST_BLOCK >> 20
        )));
    }
    match act.action {
        Action::Command(_) if !work.allow_commands => Err(refused(&format!(
            "{name} runs a program: a scenario with commands is code that runs as this user; \
             read it, then add --allow-commands"
        ))),
        Action::Format { .. } if !work.on_device => Err(refused(&format!(
            "{name} makes a file system: give a scratch device, and --destroy-data"
        ))),
        _ => Ok(()),
    }
}

fn refused(problem: &str) -> WorkError {
    WorkError::Refused(problem.to_owned())
}
