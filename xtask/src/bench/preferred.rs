//! This process and those that it starts before all others, where that is allowed: what else
//! the machine does is no part of what a bench compares.

use rustix::process::nice;
use std::fs;

/// Groups of processes that the scheduler weighs against each other.
const GROUP: &str = "/proc/self/autogroup";
const FIRST: i32 = -20;

/// Until it is dropped, as far as the group goes: a terminal's is that of its shell, too.
pub struct Preferred {
    group: Option<String>,
}

impl Preferred {
    /// As much as is allowed.
    pub fn now() -> Self {
        let group = fs::read_to_string(GROUP).ok().and_then(|group| {
            // Such as `/autogroup-12 nice 0`.
            let nice = group.split_whitespace().last()?.to_owned();
            fs::write(GROUP, FIRST.to_string()).ok().map(|()| nice)
        });
        let own = nice(FIRST).is_ok();
        if !own && group.is_none() {
            eprintln!("what else this machine does takes part: only root may be preferred");
        }
        Self { group }
    }
}

impl Drop for Preferred {
    fn drop(&mut self) {
        if let Some(nice) = &self.group
            && fs::write(GROUP, nice).is_err()
        {
            eprintln!("{GROUP} could not be set back to {nice}");
        }
    }
}
