//! `assay doctor`: what would spoil a measurement here, and what to do.

use crate::config;
use crate::driver::host::Host;
use crate::exit::{DONE, Failure, MISSED};
use crate::sharing::queue;
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::StoreArgs;
use crate::targets::on::{OnArgs, this_program};
use assay_lang::in_english;
use assay_model::checkup::{Checkup, Finding, Severity};
use assay_model::storage::folder_of;
use assay_model::text::clean;
use assay_report::checkup::{findings, words};
use assay_report::document::{Block, Document, Section};
use assay_report::{json, views};
use assay_store::{Location, Queued, Store, StoreError};
use assay_target::{InstalledAgent, Target, installed_agents};
use clap::Args;
use rustix::fs::{Access, access};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env::consts::{ARCH, OS};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Observes the machine for a second; nothing is written or changed. A finding spoils
figures (they would measure something else, or nothing), disturbs them (they vary, or
are below the device's best), or is a note to be published with them.
docs/devices.md describes the JSON.

Examples:
  assay doctor /mnt/sd
  assay doctor --strict --on ssh://root@board

Exit codes: 0 done, whatever was found, 3 with --strict when something spoils or
disturbs, 1 failed, 2 wrong usage, 5 target lost.";

/// `assay doctor`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct DoctorArgs {
    /// Directory, file or block device to be measured; without it only the machine is checked.
    pub path: Option<PathBuf>,
    /// Exit with 3 if something spoils or disturbs a measurement.
    #[arg(long)]
    pub strict: bool,
    /// Check assay itself on this machine: its build, agents, store and config files, and which of
    /// its features would not work.
    #[arg(long = "self", conflicts_with_all = ["path", "strict", "on"])]
    pub itself: bool,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Looks and tells.
pub fn run(args: &DoctorArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let mut host = Host::start(target)?;
    let checkup = host.checkup(args.path.as_deref())?;
    if args.itself {
        let installation = Installation::find(&checkup)?;
        args.output
            .present(|| installation.value(&checkup), || installation.document())?;
        return Ok(DONE);
    }
    let findings = findings(&checkup);
    args.output.present(
        || json::doctor(&checkup, &findings, host.target()),
        || views::checkup::document(&checkup, &findings, host.target()),
    )?;
    let matters = |severity: Severity| severity >= Severity::Disturbs;
    let ill = findings.iter().any(|finding| matters(finding.severity()));
    Ok(match args.strict && ill {
        true => ExitCode::from(MISSED),
        false => DONE,
    })
}

/// This assay: what it consists of, and what it cannot do on this machine.
struct Installation {
    program: PathBuf,
    agents: Vec<InstalledAgent>,
    store: Result<Location, String>,
    /// Reason why nothing can be kept in the store.
    store_problem: Option<String>,
    /// Runs that are still to be pushed.
    waiting: Vec<Queued>,
    findings: Vec<Finding>,
}

impl Installation {
    fn find(checkup: &Checkup) -> Result<Self, Failure> {
        let store = StoreArgs::default()
            .location()
            .map_err(|failure| failure.to_string());
        let mut findings = findings(checkup);
        findings.retain(limits_features);
        Ok(Self {
            program: this_program()?,
            agents: installed_agents(),
            store_problem: match &store {
                Ok(location) => store_problem(location).err(),
                Err(why) => Some(why.clone()),
            },
            store,
            waiting: queue::waiting(&StoreArgs::default()),
            findings,
        })
    }

    fn value(&self, checkup: &Checkup) -> Value {
        let agents = self.agents.iter().map(|agent| {
            json!({
                "machine": agent.machine,
                "small": agent.small,
                "larger": agent.larger,
            })
        });
        let mut value = json::doctor(checkup, &self.findings, None);
        value["installation"] = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "commit": option_env!("ASSAY_COMMIT"),
            "build": build(),
            "program": self.program,
            "agents": agents.collect::<Vec<_>>(),
            "store": {
                "path": self.store.as_ref().ok().map(ToString::to_string),
                "writable": self.store_problem.is_none(),
                "problem": self.store_problem,
            },
            "waiting": queue::json(&self.waiting),
            "config": {
                "files": config::current().files_json(),
                "problems": config::current().problems,
            },
        });
        value
    }

    /// The build, agents, store and config files, then what does not work, with remedies.
    fn document(&self) -> Document {
        let version = env!("CARGO_PKG_VERSION");
        let commit = option_env!("ASSAY_COMMIT").unwrap_or("commit unknown");
        let mut document = Document::new(format!("assay {version} ({commit})"));
        let mut section = Section::new("installation", "");
        let store = match (&self.store, &self.store_problem) {
            (Ok(file @ Location::File(_)), None) => format!("{file}, writable"),
            (Ok(file @ Location::File(_)), Some(_)) => format!("{file}, not writable"),
            (Ok(server), None) => format!("{server}, reachable"),
            (Ok(server), Some(_)) => format!("{server}, not reachable"),
            (Err(_), _) => "none".to_owned(),
        };
        let mut facts = vec![
            ("Build", format!("{}, {}", build(), self.program.display())),
            ("Agents", self.agents_in_words()),
            ("Store", store),
        ];
        let waiting = in_english(|| queue::in_words(&self.waiting));
        if !waiting.is_empty() {
            facts.push(("Waiting", waiting.join("; ")));
        }
        let states = config::current().file_states();
        facts.push((
            "Config",
            match states.is_empty() {
                true => "no file is read".to_owned(),
                false => states.join("; "),
            },
        ));
        section.facts(facts.into_iter().map(|(name, text)| (name, clean(&text))));
        section.blocks.extend(self.problems());
        in_english(|| section.blocks.extend(self.findings.iter().map(limit)));
        document.push(section);
        document
    }

    /// Machines whose agents are there by their folders, then those without one.
    fn agents_in_words(&self) -> String {
        let mut folders: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
        let mut missing = Vec::new();
        for agent in &self.agents {
            match agent.small.as_ref().or(agent.larger.as_ref()) {
                Some(file) => folders
                    .entry(folder_of(file))
                    .or_default()
                    .push(agent.machine),
                None => missing.push(agent.machine),
            }
        }
        let there = folders.iter();
        let there =
            there.map(|(folder, all)| format!("{} in {}", all.join(", "), folder.display()));
        let mut words: Vec<String> = there.collect();
        if !missing.is_empty() {
            words.push(format!("none for {}", missing.join(", ")));
        }
        words.join("; ")
    }

    /// Warnings about files of assay.
    fn problems(&self) -> Vec<Block> {
        let severe = |message: &str, remedy: &str| Block::Warning {
            message: clean(message),
            remedy: Some(remedy.to_owned()),
            severe: true,
        };
        let store = self.store_problem.iter().map(|why| {
            severe(
                &format!("runs cannot be kept: {why}"),
                "make the store writable, or name another one with --store or ASSAY_STORE",
            )
        });
        let settings = config::current().problems.iter().map(|why| {
            let remedy = "correct it: other commands refuse to run until then";
            severe(why, remedy)
        });
        let mut all: Vec<Block> = store.chain(settings).collect();
        if self
            .agents
            .iter()
            .all(|agent| agent.small.is_none() && agent.larger.is_none())
        {
            all.push(Block::Warning {
                message: "no agent for other machines is installed: --on reaches none".to_owned(),
                remedy: Some(
                    "put agents beside the program, or name their folder in ASSAY_AGENTS \
                     (docs/boards.md)"
                        .to_owned(),
                ),
                severe: false,
            });
        }
        all
    }
}

/// Machine, C library and optimization of this program.
fn build() -> String {
    let libc = if cfg!(target_env = "musl") {
        "static (musl)"
    } else {
        "glibc"
    };
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    format!("{ARCH} {OS}, {libc}, {profile}")
}

/// Returns true for what keeps features of assay from working, whatever is measured.
const fn limits_features(finding: &Finding) -> bool {
    matches!(
        finding,
        Finding::NoRoot
            | Finding::OldKernel { .. }
            | Finding::MissingFacility { .. }
            | Finding::Container { .. }
    )
}

fn limit(finding: &Finding) -> Block {
    let words = words(finding);
    Block::Warning {
        message: clean(&format!("{}: {}", words.what, words.why)),
        remedy: Some(clean(&words.remedy)),
        severe: false,
    }
}

/// Checks that a run could be kept in the store. Nothing is written.
fn store_problem(location: &Location) -> Result<(), String> {
    let Location::File(path) = location else {
        // The first that is copied there makes the tables.
        return match Store::open_to_read(location) {
            Ok(_) | Err(StoreError::NotMade { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
    };
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    if path.exists() {
        Store::open_to_read(&path).map_err(|error| error.to_string())?;
    }
    // SQLite makes files beside the store.
    let folder = path.ancestors().skip(1).find(|folder| folder.exists());
    let needed = folder
        .into_iter()
        .chain(path.exists().then_some(path.as_path()));
    for file in needed {
        access(file, Access::WRITE_OK).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}
