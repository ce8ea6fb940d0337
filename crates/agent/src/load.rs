//! Running a load: what it may write, the evidence around its waves, and what
//! the host is told.

mod admit;
mod disks;
mod replay;
mod watch;

use crate::frame::FrameError;
use crate::outbox::Outbox;
use assay_engine::load::Controls;
use assay_model::load::Load;
use assay_model::load::report::LoadReport;
use assay_model::wire::FromAgent;
use assay_probe::roots::Roots;
use watch::Watch;

/// Runs a load and tells the host all about it, its refusal included. The files
/// of a load are its user's: none is removed unless the load says so.
pub(crate) fn run(
    roots: &Roots,
    outbox: &Outbox,
    load: &Load,
    controls: &Controls,
) -> Result<(), FrameError> {
    if let Err(refusal) = admit::admit(roots, load) {
        return outbox.send(&FromAgent::Refused(refusal));
    }
    let mut watch = Watch::new(roots, outbox, load);
    let report = assay_engine::load::run(load, controls, &mut watch);
    watch.close(report)
}

/// Sends a report, stream by stream.
fn send_report(outbox: &Outbox, mut report: LoadReport) -> Result<(), FrameError> {
    for stream in std::mem::take(&mut report.streams) {
        outbox.send(&FromAgent::LoadStream(Box::new(stream)))?;
    }
    outbox.send(&FromAgent::LoadReport(Box::new(report)))
}
