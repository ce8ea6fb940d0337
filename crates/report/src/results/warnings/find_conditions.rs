//! Finds warnings about the conditions of the trials: other processes, CPU speed, heat, and the
//! agent.

use super::Warning;
use crate::results::summary::{JudgedTrial, Summary};
use crate::words::{clean, numbered};
use assay_judge::ForeignIo;
use assay_lang::tr;
use assay_model::condition::Subject;
use assay_model::evidence::{Evidence, ProcessIo, Snapshot};
use assay_model::units::{Bytes, MIB};
use std::cmp::Reverse;

/// Bytes of foreign I/O up to which it is normal system activity.
const FOREIGN_FLOOR: u64 = MIB;
/// Divisor of a trial's bytes: more foreign I/O is a warning.
const FOREIGN_SHARE: u64 = 100;
/// Divisor of the foreign I/O: a process that moved less is not named.
const GOOD_PART: u64 = 10;
/// Share of its frequency that the fastest CPU must keep during a trial; boost clocks vary by less.
const FREQUENCY_KEPT_PERCENT: u64 = 80;

/// Returns all warnings about the conditions.
pub fn all(summary: &Summary<'_>) -> Vec<Warning> {
    let mut found = Vec::new();
    found.extend(foreign_io(summary));
    found.extend(hindered(summary));
    found.extend(governor(summary));
    found.extend(throttled(summary));
    found.extend(other_agent(summary));
    found
}

fn other_agent(summary: &Summary<'_>) -> Option<Warning> {
    let builds = summary.run.header.builds.as_ref()?;
    (builds.agent != builds.host).then(|| Warning::OtherAgent {
        agent: clean(&builds.agent),
        host: clean(&builds.host),
    })
}

fn trials<'s, 'a>(summary: &'s Summary<'a>) -> impl Iterator<Item = &'s JudgedTrial<'a>> {
    summary.jobs.iter().flat_map(|job| &job.trials)
}

fn evidence<'s, 'a>(
    summary: &'s Summary<'a>,
) -> impl Iterator<Item = (&'s JudgedTrial<'a>, &'a Evidence)> {
    trials(summary).filter_map(|trial| Some((trial, trial.record.evidence.as_ref()?)))
}

/// Adds a trial to those of its job: `seq-read-1m #1 #3`.
fn name(named: &mut Vec<(String, String)>, trial: &JudgedTrial<'_>) {
    let (job, number) = (&trial.record.job.name, numbered(trial.record.trial));
    match named.last_mut() {
        Some((last, text)) if last == job => text.push_str(&format!(" {number}")),
        _ => named.push((job.clone(), format!("{} {number}", clean(job)))),
    }
}

fn texts(named: Vec<(String, String)>) -> Vec<String> {
    named.into_iter().map(|(_, text)| text).collect()
}

fn foreign_io(summary: &Summary<'_>) -> Option<Warning> {
    let (mut read, mut written) = (0u64, 0u64);
    let (mut concerned, mut busy) = (Vec::new(), Vec::new());
    for trial in trials(summary) {
        let Some(foreign) = disturbing(trial) else {
            continue;
        };
        read = read.saturating_add(foreign.read_bytes);
        written = written.saturating_add(foreign.write_bytes);
        name(&mut concerned, trial);
        busy.extend(foreign.processes);
    }
    let device = summary.run.header.storage.device();
    (!concerned.is_empty()).then(|| Warning::ForeignIo {
        device: device.map_or_else(|| tr!("the device").to_owned(), |layer| clean(&layer.name)),
        read: Bytes(read),
        written: Bytes(written),
        trials: texts(concerned),
        processes: busiest(&busy, read.saturating_add(written)),
    })
}

fn hindered(summary: &Summary<'_>) -> Option<Warning> {
    let (mut all, mut concerned) = (Vec::new(), Vec::new());
    for trial in trials(summary) {
        let judgement = trial.derived.judgement.as_ref();
        let found = judgement.map_or(&[][..], |judgement| &judgement.hindrances);
        if !found.is_empty() {
            name(&mut concerned, trial);
        }
        all.extend(found);
    }
    // Keeps the longest hindrance of each kind that took time in several trials.
    all.sort_by_key(|hindrance| (hindrance.kind, Reverse(hindrance.time_ns), &hindrance.words));
    all.dedup_by(|a, b| a.kind == b.kind && (a.time_ns > 0 || a.words == b.words));
    (!all.is_empty()).then(|| Warning::Hindered {
        what: all.iter().map(|found| clean(&found.words)).collect(),
        trials: texts(concerned),
    })
}

/// Names the processes that may have done a good part of the I/O, the busiest first. Several
/// processes of a program (`dd [7]`, `dd [9]`) count as one.
fn busiest(busy: &[ProcessIo], bytes: u64) -> Vec<String> {
    let mut programs: Vec<(String, u64)> = Vec::new();
    for process in busy {
        let moved = process.read_bytes.saturating_add(process.write_bytes);
        let name = clean(&process.name);
        match programs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum = sum.saturating_add(moved),
            None => programs.push((name, moved)),
        }
    }
    programs.retain(|(_, moved)| *moved >= bytes / GOOD_PART);
    programs.sort_by_key(|(_, moved)| Reverse(*moved));
    programs.into_iter().map(|(name, _)| name).collect()
}

/// Returns the foreign I/O of a trial, if it is enough to disturb.
fn disturbing(trial: &JudgedTrial<'_>) -> Option<ForeignIo> {
    let foreign = trial.derived.judgement.as_ref()?.foreign.clone()?;
    let measured = trial.measured()?;
    let own = measured.read.bytes.saturating_add(measured.write.bytes);
    let others = foreign.read_bytes.saturating_add(foreign.write_bytes);
    (others > FOREIGN_FLOOR.max(own / FOREIGN_SHARE)).then_some(foreign)
}

fn governor(summary: &Summary<'_>) -> Option<Warning> {
    let conditions = summary.run.header.plan.conditions.iter();
    let mut settings = conditions.flat_map(|condition| &condition.settings);
    if settings.any(|setting| setting.subject == Subject::Governor) {
        // The run asked for these settings.
        return None;
    }
    let mut governors = Vec::new();
    for (_, evidence) in evidence(summary) {
        for cpu in &evidence.before.cpus {
            let Some(governor) = &cpu.governor else {
                continue;
            };
            let governor = clean(governor);
            if governor != "performance" && !governors.contains(&governor) {
                governors.push(governor);
            }
        }
    }
    (!governors.is_empty()).then_some(Warning::Governor { governors })
}

/// Warns about a falling frequency, only under the governor `performance`: others change it by
/// design, and have another warning.
fn throttled(summary: &Summary<'_>) -> Option<Warning> {
    let (mut concerned, mut hottest) = (Vec::new(), None);
    for (trial, evidence) in evidence(summary) {
        if has_slowed(evidence) {
            name(&mut concerned, trial);
            let zones = evidence.after.thermal.iter();
            hottest = hottest.max(zones.map(|zone| zone.millicelsius).max());
        }
    }
    (!concerned.is_empty()).then_some(Warning::Throttled {
        trials: texts(concerned),
        hottest_millicelsius: hottest,
    })
}

fn has_slowed(evidence: &Evidence) -> bool {
    let fixed = evidence
        .before
        .cpus
        .iter()
        .all(|cpu| cpu.governor.as_deref() == Some("performance"));
    match (fastest(&evidence.before), fastest(&evidence.after)) {
        (Some(before), Some(after)) => fixed && after < before / 100 * FREQUENCY_KEPT_PERCENT,
        _ => false,
    }
}

fn fastest(snapshot: &Snapshot) -> Option<u64> {
    snapshot.cpus.iter().filter_map(|cpu| cpu.khz).max()
}
