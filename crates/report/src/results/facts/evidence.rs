//! Evidence of each trial of a run, for searches over many runs.

use assay_judge::{DirectionEvidence, Measured, Quantity, judge};
use assay_model::figures::TrialEvidence;
use assay_model::run::Run;
use assay_model::trial::TrialRecord;

/// Returns the evidence of every trial with I/O, by trial and direction.
pub(super) fn of(run: &Run) -> Vec<TrialEvidence> {
    let device = run.header.storage.device();
    let device = device.map(|layer| layer.name.as_str());
    let trials = run.trials.iter();
    trials.flat_map(|trial| of_trial(trial, device)).collect()
}

fn of_trial(trial: &TrialRecord, device: Option<&str>) -> Vec<TrialEvidence> {
    let Some(judgement) = judge(trial) else {
        return unjudged(trial);
    };
    let foreign = judgement.foreign.as_ref();
    let read = foreign.map(|foreign| foreign.read_bytes);
    let write = foreign.map(|foreign| foreign.write_bytes);
    let directions = [
        ("read", judgement.read, read),
        ("write", judgement.write, write),
        ("trim", judgement.trim, None),
    ];
    let judged = directions.into_iter();
    let judged = judged.filter_map(|(direction, judged, foreign_bytes)| {
        let judged = judged?;
        let device_bytes = of_device(&judged, device);
        Some(TrialEvidence {
            label: judged.measured.label().to_owned(),
            latency_label: judged.of(Quantity::Call).label().to_owned(),
            because: judged.because,
            device_bytes,
            device_share: judged.device_share,
            flushes: judged.flushes,
            volatile_cache: judged.volatile_cache,
            dirty_bytes: judged.dirty_bytes_at_stop,
            foreign_bytes,
            ..unknown(trial, direction, judged.job_bytes)
        })
    });
    judged.collect()
}

/// Returns the bytes of the device under test, or those of the last layer with counters.
fn of_device(judged: &DirectionEvidence, device: Option<&str>) -> Option<u64> {
    let layers = &judged.layers;
    let under_test = layers.iter().find(|(name, _)| Some(&**name) == device);
    under_test.or(layers.last()).map(|(_, bytes)| *bytes)
}

/// Returns rows for a trial without evidence.
fn unjudged(trial: &TrialRecord) -> Vec<TrialEvidence> {
    let moved = trial.measured.iter().flat_map(|measured| {
        [
            ("read", measured.read.bytes),
            ("write", measured.write.bytes),
        ]
    });
    let moved = moved.filter(|(_, bytes)| *bytes > 0);
    moved
        .map(|(direction, bytes)| unknown(trial, direction, bytes))
        .collect()
}

/// Returns a row of bytes without evidence.
fn unknown(trial: &TrialRecord, direction: &str, job_bytes: u64) -> TrialEvidence {
    let why = "the trial has no evidence".to_owned();
    let label = Measured::Unknown { why: why.clone() }.label();
    TrialEvidence {
        position: trial.position,
        condition: trial.condition.clone().unwrap_or_default(),
        direction: direction.to_owned(),
        label: label.to_owned(),
        latency_label: label.to_owned(),
        because: why,
        job_bytes,
        device_bytes: None,
        device_share: None,
        flushes: None,
        volatile_cache: None,
        dirty_bytes: None,
        foreign_bytes: None,
    }
}
