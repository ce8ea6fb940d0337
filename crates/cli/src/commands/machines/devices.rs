//! `assay devices`: the disks of a machine, and those that may be tested. `assay doctor`: findings
//! that would spoil or disturb a measurement, with remedies; `--self` describes this installation of
//! assay in about ten lines, and the features that do not work on this machine.

use crate::driver::Host;
use crate::exit::{DONE, FAILED, Failure, MISSED};
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::StoreArgs;
use crate::targets::{OnArgs, this_program};
use crate::{config, sharing};
use assay_lang::in_english;
use assay_model::checkup::{Checkup, Finding, Severity};
use assay_model::device::{DeviceList, ListedDevice};
use assay_model::storage::folder_of;
use assay_model::text::{clean, meant};
use assay_report::checkup::{findings, words};
use assay_report::document::{Block, Document, Section};
use assay_report::words::enumerate;
use assay_report::{json, views};
use assay_store::{Location, Queued, Store, StoreError};
use assay_target::{InstalledAgent, Target, check_agents, installed_agents};
use clap::Args;
use rustix::fs::{Access, access};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env::consts::{ARCH, OS};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const DEVICES_HELP: &str = "\
Nothing is written. As root it shows more: modes of card buses, registers, wear.
docs/devices.md describes the JSON.

Examples:
  assay devices
  assay devices mmcblk0 --on ssh://root@board

Exit codes: 0 done, 1 failed, 2 wrong usage,
5 target lost.";

/// `assay devices`.
#[derive(Args, Debug)]
#[command(after_help = DEVICES_HELP)]
pub struct DevicesArgs {
    /// Show all details of these disks (mmcblk0, /dev/sda) instead of the list.
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Include unused RAM disks.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Lists the disks of a target.
pub fn list_devices(args: &DevicesArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let mut host = Host::start(target)?;
    let mut list = host.devices()?;
    if !args.devices.is_empty() {
        list.devices = chosen(&list, &args.devices)?;
    }
    let document = || match args.devices.is_empty() {
        true => views::devices::list(&list, host.target(), args.all),
        false => views::devices::details(&list.devices, &list.system, host.target()),
    };
    args.output
        .present(|| json::devices(&list, host.target()), document)?;
    Ok(DONE)
}

/// Selects the named devices, in the order of the names.
fn chosen(list: &DeviceList, names: &[String]) -> Result<Vec<ListedDevice>, Failure> {
    names
        .iter()
        .map(|name| {
            let bare = Path::new(name).strip_prefix("/dev");
            let bare = bare.map_or(name.as_str(), |path| path.to_str().unwrap_or(name));
            let fits = |device: &&ListedDevice| {
                device.layer.name == bare || device.partitions.iter().any(|part| part == bare)
            };
            list.devices.iter().find(fits).cloned().ok_or_else(|| {
                let known = list.devices.iter().map(|device| clean(&device.layer.name));
                let known: Vec<String> = known.collect();
                Failure::usage(format!(
                    "there is no disk {name}{}; there are {}",
                    meant(bare, known.iter().map(String::as_str)),
                    enumerate(&known)
                ))
            })
        })
        .collect()
}

const DOCTOR_HELP: &str = "\
Observes the machine for a second; nothing is written or changed. A finding spoils
figures (they would measure something else, or nothing), disturbs them (they vary, or
are below the device's best), or is a note to be published with them.
docs/devices.md describes the JSON.

Examples:
  assay doctor /mnt/sd
  assay doctor --strict --on ssh://root@board

Exit codes: 0 done, whatever was found; 1 failed (with --self: settings, store or agent
cannot be used); 2 wrong usage; 3 with --strict: something spoils or disturbs; 5 target lost.";

/// `assay doctor`.
#[derive(Args, Debug)]
#[command(after_help = DOCTOR_HELP)]
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

/// Checks the target and shows the findings.
pub fn examine_machine(args: &DoctorArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if args.itself {
        return check_itself(&args.output, target);
    }
    let mut host = Host::start(target)?;
    let checkup = host.checkup(args.path.as_deref())?;
    let findings = findings(&checkup);
    args.output.present(
        || json::doctor(Some(&checkup), &findings, host.target()),
        || views::devices::doctor(&checkup, &findings, host.target()),
    )?;
    let matters = |severity: Severity| severity >= Severity::Disturbs;
    let ill = findings.iter().any(|finding| matters(finding.severity()));
    Ok(match args.strict && ill {
        true => ExitCode::from(MISSED),
        false => DONE,
    })
}

/// Describes this installation. A problem in one part does not hide the others.
fn check_itself(output: &DocumentArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let checkup = Host::start(target).and_then(|mut host| host.checkup(None));
    let installation = Installation::find(checkup)?;
    output.present(|| installation.value(), || installation.document())?;
    Ok(match installation.faults().is_empty() {
        true => DONE,
        false => ExitCode::from(FAILED),
    })
}

/// This installation: its parts, and their problems on this machine.
struct Installation {
    program: PathBuf,
    agents: Vec<InstalledAgent>,
    /// Reason why agents are not searched in the configured folder.
    agents_problem: Option<String>,
    store: Result<Location, String>,
    /// Reason why nothing can be stored.
    store_problem: Option<String>,
    /// Runs that are queued for a push.
    waiting: Vec<Queued>,
    /// Reasons why settings cannot be used.
    setting_problems: Vec<String>,
    /// State of this machine, or the error of the local agent.
    checkup: Result<Checkup, String>,
    findings: Vec<Finding>,
}

impl Installation {
    fn find(checkup: Result<Checkup, Failure>) -> Result<Self, Failure> {
        let store = StoreArgs::default()
            .location()
            .map_err(|failure| failure.to_string());
        let checkup = checkup.map_err(|failure| failure.to_string());
        let mut findings = checkup.as_ref().map(findings).unwrap_or_default();
        findings.retain(limits_features);
        Ok(Self {
            program: this_program()?,
            agents: installed_agents(),
            agents_problem: check_agents().err().map(|error| error.to_string()),
            store_problem: match &store {
                Ok(location) => store_problem(location).err(),
                Err(why) => Some(why.clone()),
            },
            store,
            setting_problems: config::current().all_problems(),
            checkup,
            waiting: sharing::waiting(&StoreArgs::default()),
            findings,
        })
    }

    fn value(&self) -> Value {
        let agents = self.agents.iter().map(|agent| {
            json!({
                "machine": agent.machine,
                "small": agent.small,
                "larger": agent.larger,
            })
        });
        let mut value = json::doctor(self.checkup.as_ref().ok(), &self.findings, None);
        value["installation"] = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "commit": option_env!("ASSAY_COMMIT"),
            "build": build(),
            "program": self.program,
            "agent_problem": self.checkup.as_ref().err(),
            "agents": agents.collect::<Vec<_>>(),
            "agents_problem": self.agents_problem,
            "store": {
                "path": self.store.as_ref().ok().map(ToString::to_string),
                "writable": self.store_problem.is_none(),
                "problem": self.store_problem,
            },
            "waiting": sharing::json(&self.waiting),
            "config": {
                "files": config::current().files_json(),
                "problems": self.setting_problems,
                "warnings": config::current().warnings,
            },
        });
        value
    }

    /// Makes the document: a line each for the build, agents, store, config files and limits, then faults.
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
        let states = config::current().file_states();
        let config = match states.is_empty() {
            true => "no file is read".to_owned(),
            false => states.join("; "),
        };
        let mut facts = vec![
            ("Build", format!("{}, {}", build(), self.program.display())),
            ("Agents", self.agents_in_words()),
            ("Store", store),
            ("Config", config),
            ("Limits", self.limits()),
        ];
        let waiting = in_english(|| sharing::waiting_in_words(&self.waiting));
        if !waiting.is_empty() {
            facts.push(("Waiting", waiting.join("; ")));
        }
        section.facts(facts.into_iter().map(|(name, text)| (name, clean(&text))));
        section.blocks.extend(self.faults());
        let warnings = config::current().warnings.iter();
        section.blocks.extend(warnings.map(|one| Block::Warning {
            message: clean(one),
            remedy: None,
            severe: false,
        }));
        document.push(section);
        document
    }

    /// Lists the machines with an agent by folder, then those without one.
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
        if folders.is_empty() {
            return "none, so --on reaches no other machine (ASSAY_AGENTS, docs/boards.md)"
                .to_owned();
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

    /// Lists the features that do not work here. `assay doctor` has the reasons and remedies.
    fn limits(&self) -> String {
        let limits = in_english(|| {
            let limits = self.findings.iter().map(|finding| words(finding).what);
            limits.collect::<Vec<_>>().join("; ")
        });
        match (&self.checkup, limits.is_empty()) {
            (Err(_), _) => "unknown, because the agent does not start".to_owned(),
            (Ok(_), true) => "none".to_owned(),
            (Ok(_), false) => format!("{limits} (assay doctor says why, and what to do)"),
        }
    }

    /// Returns warnings about problems that keep assay from measuring.
    fn faults(&self) -> Vec<Block> {
        let severe = |message: String, remedy: &str| Block::Warning {
            message: clean(&message),
            remedy: Some(remedy.to_owned()),
            severe: true,
        };
        let agent = self.checkup.as_ref().err().map(|why| {
            severe(
                format!("nothing can be measured on this machine: {why}"),
                "repair or reinstall assay: it starts itself as the agent",
            )
        });
        let store = self.store_problem.iter().map(|why| {
            severe(
                format!("runs cannot be kept: {why}"),
                "make the store writable, or name another one with --store or ASSAY_STORE",
            )
        });
        let settings = self.setting_problems.iter().map(|why| {
            let remedy = "correct it: commands that need it refuse to run until then";
            severe(why.clone(), remedy)
        });
        let agents = self.agents_problem.iter().map(|why| {
            let remedy = "correct it: commands with --on refuse to run until then";
            severe(why.clone(), remedy)
        });
        let agent = agent.into_iter();
        agent.chain(store).chain(settings).chain(agents).collect()
    }
}

/// Describes machine, C library and optimization of this program.
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

/// Returns `true` for findings that disable features of assay, independent of the measured path.
const fn limits_features(finding: &Finding) -> bool {
    matches!(
        finding,
        Finding::NoRoot
            | Finding::OldKernel { .. }
            | Finding::MissingFacility { .. }
            | Finding::Container { .. }
    )
}

/// Checks that a run could be stored. Nothing is written.
fn store_problem(location: &Location) -> Result<(), String> {
    let Location::File(path) = location else {
        // A store without tables is usable: the first push creates them.
        return match Store::open_to_read(location) {
            Ok(_) | Err(StoreError::NotMade { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
    };
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    if path.exists() {
        Store::open_to_read(&path).map_err(|error| error.to_string())?;
    }
    // SQLite creates files beside the store.
    let folder = path.ancestors().skip(1).find(|folder| folder.exists());
    let needed = folder
        .into_iter()
        .chain(path.exists().then_some(path.as_path()));
    for file in needed {
        access(file, Access::WRITE_OK).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}
