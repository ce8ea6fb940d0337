//! Other kept agents on this machine whose host is gone: their settings in force, and a trial
//! that they may still run, would disturb the measurement of the next host.

mod address;

pub(crate) use address::{ASK_AGAIN, ENDS, GOES_ON, Purpose, connect, is_ours, listen};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Prefix of the names of agents' folders (`assay_target::boot`).
const PREFIX: &str = "assay-agent-";
/// Time limit for an agent to end a trial, undo settings and remove test files.
const ENDING: Duration = Duration::from_secs(60);
const LOOKS: Duration = Duration::from_millis(50);
/// Time limit for the answer of another agent.
const ANSWER: Duration = Duration::from_secs(5);

/// Ends other agents beside this folder that have lost their host; returns their number.
pub(crate) fn end_abandoned(folder: &Path) -> usize {
    let Some(entries) = folder.parent().and_then(|parent| fs::read_dir(parent).ok()) else {
        return 0;
    };
    let others = entries.flatten().map(|entry| entry.path());
    let others = others.filter(|path| path != folder && is_agents(path));
    others.filter(|path| end(path)).count()
}

fn is_agents(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(PREFIX)
}

/// Requests an agent to end, and waits for it; `true` if it has ended.
fn end(folder: &Path) -> bool {
    if !is_ending(folder) {
        return false;
    }
    let since = Instant::now();
    while connect(folder).is_ok() {
        if since.elapsed() > ENDING {
            return false;
        }
        sleep(LOOKS);
    }
    true
}

/// Returns `true` if the agent answers that it ends; repeats the request while it waits for its
/// host to reconnect.
fn is_ending(folder: &Path) -> bool {
    loop {
        match ask(folder) {
            Ok(ASK_AGAIN) => sleep(LOOKS),
            answer => return answer.is_ok_and(|answer| answer == ENDS),
        }
    }
}

fn ask(folder: &Path) -> io::Result<u8> {
    let mut agent = connect(folder)?;
    agent.set_read_timeout(Some(ANSWER))?;
    agent.write_all(&[Purpose::End.byte()])?;
    let mut answer = [0];
    agent.read_exact(&mut answer)?;
    Ok(answer[0])
}
