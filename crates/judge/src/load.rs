//! Labels for each stream of a load.
//!
//! The streams of a wave run in one process, so the kernel's counters cover all of them together:
//! streams on one storage are a [`StorageGroup`], judged as one trial. The meaning of the group's
//! share for one stream depends on whether the streams do the same: copies of one job have the
//! same share. Any other stream gets the range between two extremes: all unknown bytes count for
//! it, or all count against it.

mod group;
mod order;
mod stop;
#[cfg(test)]
mod tests;
mod trims;
mod ways;

use super::{CallEnd, DirectionEvidence, Judgement, Measured, simulated, uncounted};
use assay_lang::tr;
use assay_model::job::DataPath;
use assay_model::load::report::{LoadReport, StreamReport, WaveRecord};
use assay_model::load::{Ddir, Load, Stream};
use group::StorageGroup;

/// Judges the streams of a load, in the order of the load; `None` for a stream that moved nothing.
pub fn judge_load(load: &Load, report: &LoadReport) -> Vec<Option<Judgement>> {
    let mut judged: Vec<Option<Judgement>> = load
        .streams
        .iter()
        .zip(&report.streams)
        .map(|(stream, came)| without_evidence(stream, came))
        .collect();
    for wave in &report.evidence {
        let group = StorageGroup::new(load, report, wave);
        for (index, judgement) in group.judge() {
            if let Some(place) = judged.get_mut(index) {
                *place = judgement;
            }
        }
    }
    judged
}

/// Returns the judgement of a stream around which no counters were taken.
fn without_evidence(stream: &Stream, came: &StreamReport) -> Option<Judgement> {
    let engine = stream.engine.kind;
    let why = uncounted(engine);
    let why = why.unwrap_or_else(|| tr!("no counters were taken around it").to_owned());
    let unknown = |direction: Ddir| {
        let bytes = came.directions[direction].bytes;
        if engine.properties().data == DataPath::Simulated {
            return simulated::direction(bytes);
        }
        (bytes > 0)
            .then(|| DirectionEvidence::saying(Measured::unknown(why.clone()), why.clone(), bytes))
    };
    let judgement = Judgement {
        read: unknown(Ddir::Read),
        write: unknown(Ddir::Write),
        trim: unknown(Ddir::Trim),
        ..Judgement::default()
    };
    judgement.moved_something().then_some(judgement)
}

/// Judges together the streams of a wave that make up one trial.
pub(super) fn judge_members(wave: &WaveRecord) -> Option<Judgement> {
    let all = judge_load(&wave.load, &wave.report);
    let members = wave.members.iter();
    let judged: Vec<&Judgement> = members
        .filter_map(|&index| all.get(usize::try_from(index).ok()?)?.as_ref())
        .collect();
    Some(Judgement {
        read: as_one(judged.iter().filter_map(|j| j.read.as_ref())),
        write: as_one(judged.iter().filter_map(|j| j.write.as_ref())),
        trim: as_one(judged.iter().filter_map(|j| j.trim.as_ref())),
        foreign: judged.first()?.foreign.clone(),
        hindrances: judged.first()?.hindrances.clone(),
    })
}

/// Merges the evidence of several streams in one direction. The label is `unknown` if theirs
/// differ.
fn as_one<'a>(mut parts: impl Iterator<Item = &'a DirectionEvidence>) -> Option<DirectionEvidence> {
    let mut one = parts.next()?.clone();
    for part in parts {
        one.job_bytes = one.job_bytes.saturating_add(part.job_bytes);
        if part.measured != one.measured {
            let why = tr!("the copies of this job did not all measure the same");
            one.measured = Measured::unknown(why);
            one.because = why.to_owned();
            one.device_share = None;
        }
        if part.calls != one.calls {
            one.calls = CallEnd::Unclear;
        }
    }
    Some(one)
}
