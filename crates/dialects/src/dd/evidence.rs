//! The line that assay adds to dd's output: the label of the rate.

use assay_judge::{DirectionEvidence, Measured, judge};
use assay_model::gnu::{self, Base};
use assay_model::trial::TrialRecord;
use assay_model::work::StepDetail;
use assay_model::work::copy::{CopyReport, EndKind};

/// Returns the evidence for a copy's rate: one line without a line end.
///
/// `page cache: 0 % of 100 MiB had reached mmcblk0 when the clock stopped; 100 MiB were dirty`
pub fn evidence(trial: &TrialRecord) -> String {
    let Some(StepDetail::Copy(report)) = trial.detail.as_deref() else {
        return "unknown: the copy did not begin".to_owned();
    };
    let judged = judge(trial);
    if report.output.is_storage() {
        let write = judged.and_then(|judgement| judgement.write);
        return written(trial, report, write.as_ref());
    }
    let output = kind(report.output);
    if !report.input.is_storage() {
        let input = kind(report.input);
        return format!("no device: from {input} to {output}, no storage was measured");
    }
    let read = judged.and_then(|judgement| judgement.read);
    let said = match &read {
        Some(read) => labelled(read),
        None => "nothing was read".to_owned(),
    };
    format!("nothing reached a device, the output is {output}; of the input: {said}")
}

fn written(trial: &TrialRecord, report: &CopyReport, write: Option<&DirectionEvidence>) -> String {
    let holes = match report.hole_bytes {
        0 => String::new(),
        bytes => format!("; {} became holes, which are not written", size(bytes)),
    };
    let Some(write) = write else {
        let why = match (trial.evidence.is_some(), report.bytes) {
            (true, _) | (false, 0) => "nothing was written".to_owned(),
            (false, _) => "unknown: the storage behind the output cannot be told".to_owned(),
        };
        return format!("{why}{holes}");
    };
    let dirty = match (write.dirty_bytes_at_stop, system_dirty(trial)) {
        (Some(bytes), _) if bytes > 0 => format!("; {} were dirty", size(bytes)),
        (None, Some(bytes)) => format!("; {} were dirty in all of memory", size(bytes)),
        _ => String::new(),
    };
    format!("{}{dirty}{holes}", labelled(write))
}

/// Formats the label and its reason.
fn labelled(judged: &DirectionEvidence) -> String {
    let label = match judged.measured {
        Measured::Device => "device",
        Measured::DeviceUnflushed => "device, not safe yet",
        Measured::Simulated => "nothing, simulated",
        Measured::PageCache => "page cache",
        Measured::Mixed { .. } => "mixed",
        Measured::Memory => "memory",
        Measured::CpuCache => "processor cache",
        Measured::Unknown { .. } => "unknown",
    };
    let of_all = format!("of {}", size(judged.job_bytes));
    let because = judged.because.replacen("of the bytes", &of_all, 1);
    format!("{label}: {because}")
}

/// Dirty bytes of the whole machine at clock stop.
fn system_dirty(trial: &TrialRecord) -> Option<u64> {
    let memory = trial.evidence.as_ref()?.after.memory?;
    Some(memory.dirty_bytes + memory.writeback_bytes)
}

pub(super) fn size(bytes: u64) -> String {
    gnu::size(bytes, Base::Binary)
}

const fn kind(kind: EndKind) -> &'static str {
    match kind {
        EndKind::File => "a file",
        EndKind::Device => "a block device",
        EndKind::Pipe => "a pipe",
        EndKind::Socket => "a socket",
        EndKind::Terminal => "a terminal",
        EndKind::Character => "a character device",
        EndKind::Other => "no storage",
    }
}
