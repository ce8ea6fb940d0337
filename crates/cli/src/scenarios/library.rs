//! Built-in scenarios. They have the format of users' files, and serve as templates (`--show`).

use super::file::ScenarioFile;
use crate::checks::input;
use crate::checks::toml_file::meant;
use crate::exit::Failure;
use std::path::Path;

/// Names and texts of the built-in scenarios.
pub const BUILT_IN: [(&str, &str); 12] = [
    ("ota-ab", include_str!("library/ota-ab.toml")),
    ("ota-files", include_str!("library/ota-files.toml")),
    ("flashing", include_str!("library/flashing.toml")),
    ("factory-reset", include_str!("library/factory-reset.toml")),
    ("app-install", include_str!("library/app-install.toml")),
    ("boot", include_str!("library/boot.toml")),
    ("camera-burst", include_str!("library/camera-burst.toml")),
    ("video", include_str!("library/video.toml")),
    ("database-log", include_str!("library/database-log.toml")),
    ("log-writer", include_str!("library/log-writer.toml")),
    ("low-space", include_str!("library/low-space.toml")),
    (
        "background-write",
        include_str!("library/background-write.toml"),
    ),
];

/// Scenario that was found.
#[derive(Debug)]
pub struct LibraryScenario {
    /// Name of the scenario, or of its file.
    pub name: String,
    /// Path of the file, the prefix of messages about it.
    pub place: String,
    /// Content of the file.
    pub file: ScenarioFile,
}

/// Finds a scenario by its name, or reads its file.
///
/// # Errors
/// If it does not exist, or its file has a mistake, with its line.
pub fn find(wanted: &str) -> Result<LibraryScenario, Failure> {
    let path = Path::new(wanted);
    let is_file = wanted.contains('/') || path.extension().is_some_and(|end| end == "toml");
    let text = match (built_in(wanted), is_file) {
        (Some(text), false) => text.to_owned(),
        (_, true) => input::text(path)?,
        (None, false) => return Err(unknown(wanted)),
    };
    let file = super::file::parse(&text).map_err(|mistake| Failure::in_file(path, mistake))?;
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    Ok(LibraryScenario {
        name: stem.unwrap_or_else(|| wanted.to_owned()),
        place: wanted.to_owned(),
        file,
    })
}

/// Returns the text of a built-in scenario.
pub fn built_in(name: &str) -> Option<&'static str> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// Failure for the name of an unknown scenario.
pub fn unknown(wanted: &str) -> Failure {
    let names = BUILT_IN.map(|(name, _)| name);
    let meant = meant(wanted, names);
    Failure::usage(format!(
        "no scenario is called {wanted}{meant}; there is {}, and any FILE.toml",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Wanted, resolve};
    use super::*;

    #[test]
    fn each_built_in_one_is_without_mistakes() {
        for (name, text) in BUILT_IN {
            let file = super::super::file::parse(text);
            assert!(file.is_ok(), "{name}: {file:?}");
        }
    }

    #[test]
    fn the_example_is_one_and_a_small_scale_leaves_little() {
        let text = include_str!("../../../../examples/scenario.toml");
        let file = super::super::file::parse(text).unwrap();
        let resolved = |scale| {
            let wanted = Wanted {
                name: "example",
                scale,
                path: Path::new("/mnt"),
                on_device: false,
                allow_commands: false,
            };
            resolve(&file, &wanted).unwrap()
        };
        let (whole, little) = (resolved(1.0), resolved(0.001));
        assert!(whole.and_more && whole.written.0 > 1 << 30);
        assert!(little.written.0 < whole.written.0 / 100);
        let acts: Vec<_> = little.scenario.acts().collect();
        assert_eq!(acts.len(), 4);
        assert!(acts[0].unmeasured && acts[2].background);
        assert_eq!(acts[1].pace.every_ns, Some(50_000_000));
        assert_eq!(acts[1].job.size.0, 2 << 20, "whole blocks");
    }

    /// A repetition took 1.1 to 2.9 s on a loop device over a virtual disk, nearly all of it making
    /// files and dropping caches.
    #[test]
    fn the_time_of_a_scenario_is_also_that_of_its_preparation_and_longer_on_slow_storage() {
        let text = built_in("boot").expect("it is built in");
        let wanted = Wanted {
            name: "boot",
            scale: 0.04,
            path: Path::new("/mnt"),
            on_device: false,
            allow_commands: false,
        };
        let resolved = resolve(&super::super::file::parse(text).unwrap(), &wanted).unwrap();
        let [usual, slow] = resolved.times.map(|time| time.0 as f64 / 1e9);
        assert!((1.0..2.9).contains(&usual), "{usual} s");
        assert!(slow > 1.5 * usual, "{slow} s");
    }

    #[test]
    fn a_name_that_is_not_known_is_nearly_one() {
        let why = find("ota-bb").unwrap_err().to_string();
        assert!(why.contains("did you mean ota-ab?"), "{why}");
    }
}
