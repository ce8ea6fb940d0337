//! fio and assay on the same job file, and what each said of it.

use crate::assay::{Ended, Running};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who runs a job file.
#[derive(Clone, Copy)]
pub enum Program {
    Fio,
    Assay,
}

impl Program {
    pub const BOTH: [Self; 2] = [Self::Fio, Self::Assay];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Assay => "assay",
        }
    }

    /// The program in that folder, with those words.
    pub fn command(self, folder: &Path, words: &[&str]) -> Command {
        let mut command = match self {
            Self::Fio => assay_testkit::command("fio"),
            Self::Assay => {
                let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
                command.arg("fio");
                command
            }
        };
        command.args(words).current_dir(folder);
        command
    }

    /// How the program ended with those words.
    pub fn run(self, folder: &Path, words: &[&str]) -> Ended {
        Running::start(&mut self.command(folder, words)).end()
    }
}

/// What a program made of a job file.
pub struct Outcome {
    pub code: Option<i32>,
    pub json: Value,
    /// Lines of the terse output.
    pub terse: Vec<String>,
    /// Lines of the normal output.
    pub normal: Vec<String>,
    /// Where it worked.
    pub folder: PathBuf,
}

impl Outcome {
    pub fn jobs(&self) -> &[Value] {
        self.json["jobs"].as_array().expect("a list of jobs")
    }

    /// The first job of that name.
    pub fn job(&self, name: &str) -> &Value {
        let mut jobs = self.jobs().iter();
        jobs.find(|job| job["jobname"] == name)
            .unwrap_or_else(|| panic!("no job {name}: {}", self.json))
    }
}

/// Runs `jobs` with a program, in a new folder within `parent`.
pub fn outcome(program: Program, parent: &Path, jobs: &str, device: Option<&str>) -> Outcome {
    let folder = parent.join(program.name());
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("job.fio"), jobs).expect("a job file");
    let words = [
        "--output-format=normal,json,terse",
        "--output=out",
        "--eta=never",
        "job.fio",
    ];
    let mut command = program.command(&folder, &words);
    if let Some(device) = device {
        command.env("DEVICE", device);
    }
    let ended = Running::start(&mut command).end();
    let text = fs::read_to_string(folder.join("out")).unwrap_or_default();
    let (Some(begin), Some(end)) = (text.find("\n{\n"), text.find("\n}\n")) else {
        panic!("{}: no JSON: {ended:#?}\n{text}", program.name());
    };
    let (begin, end) = (begin + 1, end + 3);
    let json = &text[begin..end];
    let json = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let lines = text[..begin].lines().chain(text[end..].lines());
    let (terse, normal): (Vec<_>, Vec<_>) = lines
        .map(str::to_owned)
        .partition(|line| line.starts_with("3;fio-"));
    Outcome {
        code: ended.code,
        json,
        terse,
        normal,
        folder,
    }
}

/// The same with both, one after the other.
pub fn outcomes(parent: &Path, jobs: &str, device: Option<&str>) -> [Outcome; 2] {
    Program::BOTH.map(|program| outcome(program, parent, jobs, device))
}
