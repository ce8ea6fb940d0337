//! What is refused before anything is written. The host has looked already, at a file
//! with lines; this side does not rely on it.

use super::scene::is_inside;
use crate::WorkError;
use assay_model::work::scenario::{Act, DEVICE, Deed, Scenario};
use std::collections::HashSet;

/// The most acts at the same time: each has a thread.
const MOST_TOGETHER: usize = 64;
/// The largest block.
const MOST_BLOCK: u64 = 256 << 20;

/// Refuses what cannot be carried out.
pub(super) fn check(work: &Scenario) -> Result<(), WorkError> {
    let mut names = HashSet::new();
    for stage in &work.stages {
        let foreground = stage.acts.iter().filter(|act| !act.background).count();
        if foreground == 0 || stage.acts.len() > MOST_TOGETHER {
            return Err(refused(&format!(
                "a stage has 1 to {MOST_TOGETHER} acts, one of them in the foreground"
            )));
        }
        let alone = |act: &Act| matches!(act.deed, Deed::Format { .. });
        if stage.acts.len() > 1 && stage.acts.iter().any(alone) {
            return Err(refused("a file system is made by itself"));
        }
        for act in &stage.acts {
            check_act(act, work)?;
            if !names.insert(&act.job.name) {
                return Err(refused(&format!("{} is there twice", act.job.name)));
            }
        }
    }
    match names.is_empty() {
        true => Err(refused("there is nothing to do")),
        false => Ok(()),
    }
}

fn check_act(act: &Act, work: &Scenario) -> Result<(), WorkError> {
    let name = &act.job.name;
    for file in files_of(&act.deed) {
        if file != DEVICE && !is_inside(file) {
            return Err(refused(&format!(
                "{name}: {file} is not a path inside the scenario's own folder"
            )));
        }
    }
    let block = block_of(&act.deed);
    if block.is_some_and(|block| !(1..=MOST_BLOCK).contains(&block)) {
        return Err(refused(&format!(
            "{name}: a block has 1 byte to {} MiB",
            MOST_BLOCK >> 20
        )));
    }
    match act.deed {
        Deed::Command(_) if !work.allow_commands => Err(refused(&format!(
            "{name} runs a program: a scenario with commands is code that runs as this user; \
             read it, then add --allow-commands"
        ))),
        Deed::Format { .. } if !work.on_device => Err(refused(&format!(
            "{name} makes a file system: give a scratch device, and --destroy-data"
        ))),
        _ => Ok(()),
    }
}

fn files_of(deed: &Deed) -> Vec<&str> {
    match deed {
        Deed::Write(spec) => vec![&spec.file],
        Deed::Read(spec) => vec![&spec.file],
        Deed::Copy(spec) => vec![&spec.from, &spec.to],
        Deed::Verify(spec) => vec![&spec.file],
        Deed::Tree(spec) => vec![&spec.folder],
        Deed::Discard { file } | Deed::Delete { file } => vec![file],
        Deed::Database(_)
        | Deed::Inflate { .. }
        | Deed::Format { .. }
        | Deed::Fill(_)
        | Deed::Command(_)
        | Deed::Pause { .. }
        | Deed::DropCaches => Vec::new(),
    }
}

fn block_of(deed: &Deed) -> Option<u64> {
    match deed {
        Deed::Write(spec) => Some(spec.block),
        Deed::Read(spec) => Some(spec.block),
        Deed::Copy(spec) => Some(spec.block),
        Deed::Verify(spec) => Some(spec.block),
        Deed::Tree(spec) => Some(spec.block),
        _ => None,
    }
}

fn refused(problem: &str) -> WorkError {
    WorkError::Refused(problem.to_owned())
}
