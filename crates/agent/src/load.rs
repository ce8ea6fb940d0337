//! Execution of a load: admission, evidence for its waves, and messages to the host.

mod admit;
mod disks;
mod stops;
mod watch;

use crate::frame::FrameError;
use crate::held_by_name;
use crate::outbox::Outbox;
use crate::permission::refuse;
use crate::plan::{Abort, Runner, refused};
use crate::workspace::Workspace;
use assay_engine::held::named;
use assay_engine::load::adopt;
use assay_model::act::ActReport;
use assay_model::load::Load;
use assay_model::load::report::LoadReport;
use assay_model::plan::Place;
use assay_model::wire::{FromAgent, Refusal, RunEnd};
use std::borrow::Cow;
use std::path::PathBuf;
use watch::LoadWatch;

/// Runs streams, and sends their report to the host. Their files are the user's: none is removed
/// unless the job file says so.
pub(crate) fn run(
    runner: &Runner<'_>,
    mut load: Load,
) -> Result<(RunEnd, Option<ActReport>), Abort> {
    let Runner {
        roots,
        inspected,
        outbox,
        controls,
        ..
    } = *runner;
    let folder = private_folder(&mut load).map_err(Abort::Refused)?;
    let warnings = admit::admit(roots, &load).map_err(Abort::Refused)?;
    for stream in &load.streams {
        let named = stream.trace.redirect.iter().chain(&stream.files.paths);
        inspected.check_all(roots, named).map_err(Abort::Refused)?;
    }
    for text in warnings {
        outbox.warn(text)?;
    }
    adopt(&mut load).map_err(|error| refused(error.to_string()))?;
    // Until all is over.
    let _held = held_by_name::of_load(&mut load).map_err(Abort::Refused)?;
    let mut watch = LoadWatch::new(roots, outbox, &load);
    let report = assay_engine::load::run(&load, controls, &mut watch);
    if let Some(problem) = folder.and_then(Workspace::clear) {
        outbox.warn(problem)?;
    }
    let end = match (watch.lost(), runner.is_stopped()) {
        (Some(error), _) => RunEnd::DeviceLost { error },
        (None, true) => RunEnd::Cancelled,
        (None, false) => RunEnd::Finished,
    };
    watch.close(report)?;
    Ok((end, None))
}

/// Makes the folder for a file that the load makes. After a kill, the next start finds and
/// removes it.
fn private_folder(load: &mut Load) -> Result<Option<Workspace>, Refusal> {
    let mut redirected = load.streams.iter_mut();
    let file = redirected.find_map(|stream| stream.trace.redirect.as_mut());
    let (Some(run_id), Some(file)) = (&load.made_for, file) else {
        return Ok(None);
    };
    let path = file.clone();
    let made = Workspace::new(&Place::Directory { path }, run_id);
    let made = made.map_err(|error| refuse(format!("{}: {error}", file.display())))?;
    *file = made.data();
    Ok(Some(made))
}

/// Sends a report, one message per stream.
fn send_report(outbox: &Outbox, mut report: LoadReport) -> Result<(), FrameError> {
    for evidence in &mut report.evidence {
        sayable(&mut evidence.evidence.storage.path);
    }
    for mut stream in std::mem::take(&mut report.streams) {
        for (path, _) in &mut stream.files {
            sayable(path);
        }
        outbox.send(&FromAgent::LoadStream(Box::new(stream)))?;
    }
    outbox.send(&FromAgent::LoadReport(Box::new(report)))
}

/// Converts a name that is not valid UTF-8 (a directory may hold any bytes), as messages are
/// text. Otherwise a name could prevent the report of hours of measurement.
fn sayable(path: &mut PathBuf) {
    if let Cow::Owned(name) = named(path) {
        *path = name;
    }
    if let Cow::Owned(shown) = path.to_string_lossy() {
        *path = shown.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn any_name_can_be_said() {
        let mut path = PathBuf::from("/a/é");
        sayable(&mut path);
        assert_eq!(path, PathBuf::from("/a/é"));
        let mut path = PathBuf::from(OsStr::from_bytes(b"/a/\xff"));
        sayable(&mut path);
        assert_eq!(path.to_str(), Some("/a/\u{fffd}"));
    }
}
