//! Targets that this machine knows.

use crate::checks::input;
use crate::targets::On;
use crate::{config, targets};
use assay_model::text::clean;
use assay_target::{adb, ssh};
use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// Target, and the source that knows it.
pub struct KnownTarget {
    /// Address, as `--on` takes it.
    pub on: On,
    /// Name of the target in the settings, which `--on` takes as well.
    pub name: Option<String>,
    /// Source of the target, and its description there.
    pub from: String,
}

/// Returns the targets of the settings, of `~/.ssh/config`, of adb and of the labgrid in the
/// environment, and a sentence for each source that cannot be queried.
pub fn all() -> (Vec<KnownTarget>, Vec<String>) {
    let mut found = of_files();
    let mut problems = Vec::new();
    if on_search_path("adb") {
        match adb::devices() {
            Ok(devices) => found.extend(devices.into_iter().map(|(device, state)| KnownTarget {
                on: On::Adb(device),
                name: None,
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

/// Returns the targets that files name: those of the settings and of `~/.ssh/config`.
pub fn of_files() -> Vec<KnownTarget> {
    let mut found = of_settings();
    found.extend(of_ssh());
    found
}

fn of_settings() -> Vec<KnownTarget> {
    let named = config::values().targets.iter();
    let named = named.map(|(name, on)| {
        let found = config::current().find(&format!("targets.{name}"));
        let from = found.map_or("settings", |(_, layer)| layer.kind);
        KnownTarget {
            on: on.clone(),
            name: Some(name.clone()),
            from: format!("{name}, {from}"),
        }
    });
    named.collect()
}

fn of_ssh() -> Vec<KnownTarget> {
    let home = env::var_os("HOME").unwrap_or_default();
    let config = input::small_text(&Path::new(&home).join(".ssh/config")).unwrap_or_default();
    let hosts = ssh::configured(&config).into_iter();
    hosts
        .map(|address| KnownTarget {
            on: On::Ssh(address),
            name: None,
            from: "~/.ssh/config".to_owned(),
        })
        .collect()
}

fn of_lab() -> Result<Vec<KnownTarget>, String> {
    let lab = targets::open_lab().map_err(|failure| failure.to_string())?;
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
            name: None,
            from: from.collect::<Vec<_>>().join(", "),
        })
    });
    Ok(places.collect())
}

fn on_search_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(OsStr::new(program)).is_file())
}
