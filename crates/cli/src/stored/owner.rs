//! Identity of the process that makes a run, to find out later if it is still alive.

use assay_store::Owner;
use std::fs;

/// Returns the identity of this process.
pub fn this_process() -> Owner {
    of(std::process::id())
}

/// Returns the identity of a running process on this machine.
pub fn of(pid: u32) -> Owner {
    Owner {
        pid,
        boot_id: boot_id(),
        start_ticks: start_ticks(pid).unwrap_or(0),
    }
}

/// `true` if the process still runs. A process on another machine, or from before the last boot,
/// does not run here.
pub fn is_alive(owner: &Owner) -> bool {
    owner.boot_id == boot_id() && start_ticks(owner.pid) == Some(owner.start_ticks)
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Returns field 22 of `/proc/PID/stat`. The name in field 2 may contain anything, so fields are
/// counted after its closing bracket. A zombie counts as ended.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_a_reused_number_does_not() {
        let mut owner = this_process();
        assert!(is_alive(&owner));
        owner.start_ticks += 1;
        assert!(!is_alive(&owner));
    }

    #[test]
    fn a_process_before_the_last_boot_is_gone() {
        let mut owner = this_process();
        owner.boot_id = "another".to_owned();
        assert!(!is_alive(&owner));
    }
}
