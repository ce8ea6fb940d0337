//! The targets that this machine knows of, and whether they are reached.

use crate::driver::host::Host;
use crate::targets::lab;
use crate::targets::on::{On, target};
use assay_model::system::System;
use assay_model::text::clean;
use assay_target::{WhenLost, adb, ssh};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// Reached at the same time at most.
const AT_A_TIME: usize = 8;

/// A target and where it is known from.
pub struct KnownTarget {
    /// As `--on` takes it.
    pub on: On,
    /// Source that knows the target, and its description there.
    pub from: String,
}

/// Result of reaching a target: the machine, or the reason why not.
pub type Reached = Result<System, String>;

/// Returns the targets of `~/.ssh/config`, of adb and of the labgrid that the environment names;
/// and a sentence for each source that could not be asked.
pub fn all() -> (Vec<KnownTarget>, Vec<String>) {
    let mut found = of_ssh();
    let mut problems = Vec::new();
    if on_search_path("adb") {
        match adb::devices() {
            Ok(devices) => found.extend(devices.into_iter().map(|(device, state)| KnownTarget {
                on: On::Adb(device),
                from: format!("adb, {}", clean(&state)),
            })),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if env::var_os("LG_COORDINATOR").is_some_and(|name| !name.is_empty()) {
        match of_lab() {
            Ok(places) => found.extend(places),
            Err(why) => problems.push(why),
        }
    }
    (found, problems)
}

fn of_ssh() -> Vec<KnownTarget> {
    let home = env::var_os("HOME").unwrap_or_default();
    let config = fs::read_to_string(Path::new(&home).join(".ssh/config")).unwrap_or_default();
    let hosts = ssh::configured(&config).into_iter();
    hosts
        .map(|address| KnownTarget {
            on: On::Ssh(address),
            from: "~/.ssh/config".to_owned(),
        })
        .collect()
}

fn of_lab() -> Result<Vec<KnownTarget>, String> {
    let lab = lab::open().map_err(|failure| failure.to_string())?;
    let places = lab.places().map_err(|error| error.to_string())?;
    let places = places.into_iter().filter_map(|place| {
        let wanted = format!("labgrid:{}", place.name).parse().ok()?;
        let tags: Vec<String> = place
            .tags
            .iter()
            .map(|(name, value)| clean(&format!("{name}={value}")))
            .collect();
        let held = match place.acquired.is_empty() {
            true => "free".to_owned(),
            false => format!("held by {}", clean(&place.acquired)),
        };
        let from = std::iter::once("labgrid".to_owned())
            .chain(std::iter::once(held))
            .chain(tags);
        Some(KnownTarget {
            on: On::Labgrid(wanted),
            from: from.collect::<Vec<_>>().join(", "),
        })
    });
    Ok(places.collect())
}

fn on_search_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(OsStr::new(program)).is_file())
}

/// Starts an agent on each and asks what the machine is. A board of a labgrid would have
/// to be acquired for that: it is left to those who need it.
pub fn reach(known: &[KnownTarget]) -> Vec<Option<Reached>> {
    let mut reached = Vec::new();
    for group in known.chunks(AT_A_TIME) {
        reached.extend(std::thread::scope(|scope| {
            let asking = group.iter().map(|known| scope.spawn(|| ask(&known.on)));
            let asking: Vec<_> = asking.collect();
            let answers = asking.into_iter().map(|thread| thread.join());
            answers
                .map(|answer| answer.unwrap_or_else(|_| Some(Err("it panicked".to_owned()))))
                .collect::<Vec<_>>()
        }));
    }
    reached
}

fn ask(on: &On) -> Option<Reached> {
    if matches!(on, On::Labgrid(_)) {
        return None;
    }
    let asked = target(on, WhenLost::Stop).and_then(|mut there| {
        let mut host = Host::start(there.as_mut())?;
        Ok(host.inspect(Path::new("/"))?.system)
    });
    Some(asked.map_err(|failure| failure.to_string()))
}
