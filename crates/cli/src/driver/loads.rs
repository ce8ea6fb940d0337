//! Host's side of a load: sending it, and receiving its messages until it has ended.

use crate::driver::host::Host;
use crate::driver::trials::Listener;
use crate::exit::Failure;
use assay_model::load::Load;
use assay_model::load::report::LoadReport;
use assay_model::wire::FromAgent;

/// Permits the load of a job file to overwrite the devices that it names, as in fio. A device in use
/// is refused nevertheless.
pub fn at_its_word(load: Load) -> Load {
    Load {
        destroy_data: true,
        ..load
    }
}

/// Runs a load; returns its last report.
pub fn execute(
    host: &mut Host,
    load: &Load,
    listener: &mut dyn Listener,
) -> Result<LoadReport, Failure> {
    host.run_load(load)?;
    let mut streams = Vec::new();
    loop {
        match host.hear()? {
            FromAgent::LoadNote(note) => listener.note(&note)?,
            FromAgent::LoadProgress(progress) => listener.load_progress(&progress)?,
            FromAgent::LoadStream(_) if streams.len() >= load.streams.len() => {
                return Err(Failure::lost(
                    "the agent reports more streams than it was given",
                ));
            }
            FromAgent::LoadStream(stream) => streams.push(*stream),
            FromAgent::LoadReport(rest) => {
                let report = LoadReport {
                    streams: std::mem::take(&mut streams),
                    ..*rest
                };
                if !report.interim {
                    return Ok(report);
                }
                listener.interim(&report)?;
            }
            stray => host.pass_over(&stray)?,
        }
    }
}
