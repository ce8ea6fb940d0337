//! `assay lab powercut PATH --cut METHOD`: checks that every acknowledged write survives a power cut.
//!
//! Each cycle uses two agents. The one before the cut carries out an act that reports each write
//! before it begins and when it is acknowledged, and never ends by itself. The one after the cut
//! receives these reports from the host, and checks the data. The host's journal is authoritative:
//! a message is recorded before it has an effect. A new boot id proves the cut, and a cycle is
//! stored before the next one begins.

mod cycle;
mod journal;

use crate::checks::admission::{DestroyArgs, Need, admit, can_be_stored, is_that_of};
use crate::commands::{Command, LabGroup, resume};
use crate::driver::acts::MeasureArgs;
use crate::driver::announce::{held, tell};
use crate::driver::plans::interleaved;
use crate::driver::runs::{Done, Ending, header, unix_ms};
use crate::driver::{Host, clear_leftovers, runs};
use crate::exit::{Failure, Interrupt};
use crate::output::say;
use crate::stored;
use crate::stored::lookup::{run_id, whole_run};
use crate::ui::progress::Messages;
use crate::ui::{one_of, parse_time};
use assay_lang::tr;
use assay_model::act::StepDetail;
use assay_model::act::powercut::{CutStep, DurabilityKind, Mounting, Powercut, Task};
use assay_model::job::{Job, Rw};
use assay_model::plan::{Place, Plan, PlannedJob};
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::storage::Storage;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, RunEnd};
use assay_report::findings::powercut::{in_brief, total};
use assay_store::Store;
use assay_target::Target;
use clap::Args;
use cycle::{Argv, Cycles, Method, Switch, argv};
use journal::{Journal, Planned, UnfinishedCycle};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Cuts the power of a target in cycles and checks the data after each.
///
/// # Errors
/// If acknowledged data is lost (exit code 4), or a cycle cannot be completed.
pub fn run(args: &PowercutArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if let Some(run) = &args.resume {
        return resume_powercut(args, run, target);
    }
    let to = args.path()?;
    can_be_stored(to)?;
    let name = named(target)?;
    let switch = Switch::new(args.cut()?, args.restore.as_ref(), &name)?;
    target.needs(Feature::Sqlite);
    let path = args.shared.store.path()?;
    let mut host = Host::start(target)?;
    let mut inspection = host.inspect(to)?;
    let agreed = args
        .destroy
        .allow(&inspection.path, |name| host.inspect(name))?;
    let place = admit(&inspection, Need::written(agreed))?;
    tell(&Vec::from_iter(held(&inspection)));
    if let Some(mount) = &args.mount {
        // The file system under test does not exist at the path before it is mounted.
        inspection = host.inspect(&mount.device)?;
    }
    let work = work(args, &place)?;
    let seed = args.shared.seed.unwrap_or_else(runs::random);
    let header = header(plan(args, place, seed), inspection, host.origin());
    let mut store = args.shared.store.open(&path)?;
    store.begin_run(&header, &stored::this_process())?;
    let journal = Journal::create(&path, &header.id, work.kinds.len())?;
    let session = Session {
        cycles: cycles(args, target, work, switch, &header.id),
        destroy: args.destroy.clone(),
        journal,
        store,
        header,
        trials: Vec::new(),
    };
    session.run(args, args.shared.json, host)
}

/// Returns the name of a target other than this machine.
fn named(target: &dyn Target) -> Result<String, Failure> {
    target.name().ok_or_else(|| {
        Failure::usage("this machine cannot cut its own power: name a board with --on")
    })
}

/// Returns the parameters that all cycles share.
fn cycles<'a>(
    args: &PowercutArgs,
    target: &'a mut dyn Target,
    work: Powercut,
    switch: Switch,
    run_id: &str,
) -> Cycles<'a> {
    Cycles {
        target,
        work,
        switch,
        off_time: Duration::from_nanos(args.off_time.0),
        boot_timeout: Duration::from_nanos(args.boot_timeout.0),
        atomic: args.atomic.parse().unwrap_or(512),
        destroy_data: args.destroy.destroy_data.is_some(),
        run_id: run_id.to_owned(),
    }
}

/// Returns the act that writes.
fn work(args: &PowercutArgs, place: &Place) -> Result<Powercut, Failure> {
    let device = matches!(place, Place::Device { .. });
    let fits = |way: &DurabilityKind| !device || way.on_device();
    let mut ways = args.ways.clone();
    if ways.is_empty() {
        ways = DurabilityKind::ALL.into_iter().filter(fits).collect();
    }
    ways.sort_by_key(|way| DurabilityKind::ALL.iter().position(|known| known == way));
    ways.dedup();
    if let Some(way) = ways.iter().find(|way| !fits(way)) {
        return Err(Failure::usage(format!(
            "{} needs a file system, and {} is a device",
            way.name(),
            place.path().display()
        )));
    }
    if device && args.mount.is_some() {
        return Err(Failure::usage(
            "--mount is for a folder, and PATH is a device",
        ));
    }
    Ok(Powercut {
        path: place.path().to_owned(),
        device,
        kinds: ways,
        mount: args.mount.clone(),
        task: Task::Write,
    })
}

/// Makes the plan of a run: a cycle is a trial of one job.
fn plan(args: &PowercutArgs, place: Place, seed: u64) -> Plan {
    let job = Job::new("cut", Rw::RandWrite, Bytes(4096), Bytes(0));
    let trials = args.cycles;
    interleaved(seed, place, Bytes(0), vec![PlannedJob { job, trials }])
}

const AFTER_HELP: &str = "\
Examples:
  assay lab powercut --on ssh://root@board /mnt/sd --cut ask --cycles 5
  assay lab powercut --on labgrid:board-3 /mnt/sd --cut labgrid --cycles 200
  assay lab powercut --on ssh://root@board /mnt/sd \\
      --mount /dev/mmcblk1p1:ext4:noatime \\
      --cut command:'relay off 3' --restore 'relay on 3' --cycles 200
  assay lab powercut --on ssh://root@board /dev/sda --destroy-data \\
      --cut command:'relay cycle 3'
  assay lab powercut --on ssh://root@board --resume   after a kill

Exit codes: 0 every acknowledged write was there, 1 failed, 2 wrong usage, 4 an acknowledged
write was lost or torn, 5 the board did not come back,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished cycles are kept in every case.";

/// `assay lab powercut`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct PowercutArgs {
    /// A folder of the board's (one is made in it and removed), or a block device that is
    /// overwritten (needs --destroy-data).
    #[arg(required_unless_present = "resume")]
    pub path: Option<PathBuf>,
    /// Way to cut the power: ask (by hand), labgrid (the power driver of the place that is
    /// measured), or command:'WORDS', run without a shell.
    #[arg(long, value_name = "METHOD", required_unless_present = "resume")]
    pub cut: Option<Method>,
    /// Command that restores the power [default: the command of --cut does].
    #[arg(long, value_name = "WORDS", value_parser = argv)]
    pub restore: Option<Argv>,
    /// Number of cycles.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub cycles: u32,
    /// Range of the random time from the start of the writes to the cut.
    #[arg(long, value_name = "FROM..TO", default_value = "1s..8s", value_parser = between)]
    pub after: (Nanos, Nanos),
    /// Time that the power is off.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time)]
    pub off_time: Nanos,
    /// Time that the board may take to be reachable again.
    #[arg(long, value_name = "TIME", default_value = "3min", value_parser = parse_time)]
    pub boot_timeout: Nanos,
    /// Mount this at PATH, before the writes and after each cut [default: the boot mounts it].
    #[arg(long, value_name = "DEVICE:TYPE[:OPTIONS]", value_parser = mounting)]
    pub mount: Option<Mounting>,
    /// Ways of making writes durable, separated by commas, used at the same time [default: all that
    /// the path supports].
    #[arg(long, value_name = "WAYS", value_delimiter = ',', value_parser = one_of(&DurabilityKind::ALL, DurabilityKind::name))]
    pub ways: Vec<DurabilityKind>,
    /// Size that the device guarantees to write completely or not at all.
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = ["512", "4096"])]
    pub atomic: String,
    /// Resume a run that was stopped or killed: last, or the first letters of its id.
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "last",
        conflicts_with_all = [
            "path", "cut", "restore", "cycles", "after", "off_time", "boot_timeout", "mount",
            "ways", "atomic", "seed", "name", "tag", "note",
        ]
    )]
    pub resume: Option<String>,
    #[command(flatten)]
    pub destroy: DestroyArgs,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl PowercutArgs {
    /// Returns the path that is written.
    pub fn path(&self) -> Result<&Path, Failure> {
        let path = self.path.as_deref();
        path.ok_or_else(|| Failure::usage("give a folder or a block device of the board"))
    }

    /// Returns the method of cutting the power.
    pub fn cut(&self) -> Result<&Method, Failure> {
        let cut = self.cut.as_ref();
        cut.ok_or_else(|| Failure::usage("--cut METHOD is missing"))
    }
}

fn between(text: &str) -> Result<(Nanos, Nanos), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (parse_time(from)?, parse_time(to)?);
    match from <= to {
        true => Ok((from, to)),
        false => Err("FROM must not exceed TO".to_owned()),
    }
}

fn mounting(text: &str) -> Result<Mounting, String> {
    let mut parts = text.splitn(3, ':');
    match (parts.next(), parts.next()) {
        (Some(device), Some(fs_type)) if device.starts_with('/') && !fs_type.is_empty() => {
            Ok(Mounting {
                device: device.into(),
                fs_type: fs_type.to_owned(),
                options: parts.next().unwrap_or_default().to_owned(),
            })
        }
        _ => Err(
            "write DEVICE:TYPE or DEVICE:TYPE:OPTIONS, such as /dev/sda1:ext4:noatime".to_owned(),
        ),
    }
}

/// A run under way.
struct Session<'a> {
    /// Parameters that all cycles share.
    pub cycles: Cycles<'a>,
    /// `--destroy-data` as given. If the device has no identifier, the option must name it.
    pub destroy: DestroyArgs,
    /// Journal of the cycle under way.
    pub journal: Journal,
    /// Store for the cycles.
    pub store: Store,
    /// The run.
    pub header: RunHeader,
    /// Finished cycles.
    pub trials: Vec<TrialRecord>,
}

/// Returns all planned cycles, in their order.
fn planned(args: &PowercutArgs, seed: u64) -> impl Iterator<Item = Planned> {
    let (from, to) = (args.after.0.0, args.after.1.0);
    let mut random = SplitMix64::new(seed);
    (1..=args.cycles).map(move |number| Planned {
        number,
        seed: random.next_u64(),
        delay: Duration::from_nanos(from + random.below(to - from + 1)),
    })
}

impl Session<'_> {
    /// Carries out the missing cycles, and closes the run.
    pub fn run(mut self, args: &PowercutArgs, json: bool, host: Host) -> Result<ExitCode, Failure> {
        let interrupt = Interrupt::catch(|| {
            say(
                "stopping after this cycle; finished cycles are kept, and --resume continues (press again to stop at once; the power stays as it is)",
            );
        })?;
        let ended = self.all(args, host, &interrupt);
        let signal = interrupt.exit_code();
        let ending = match (ended, signal) {
            (Err(failure), _) => Ending::of_failure(failure),
            (Ok(()), Some(_)) => Ending::of(RunEnd::Cancelled, signal),
            (Ok(()), None) => Ending::of(RunEnd::Finished, None),
        };
        let none = self.trials.is_empty();
        let store = Some(&mut self.store);
        let mut done = Done::close(store, self.header, self.trials, ending, none)?;
        // After a failure the journal is needed to resume the cycle.
        if none || done.ending.failure.is_none() {
            self.journal.remove();
        }
        // Lost data is the main result, even if the session failed later.
        if let Some(lost) = total(&done.run).and_then(|total| total.failure()) {
            let (lost, rest) = (Failure::mismatch(lost), done.ending.failure.take());
            done.ending.failure = Some(match rest {
                Some(rest) => lost.and(&rest),
                None => lost,
            });
        }
        done.present(json)
    }

    /// Runs all cycles that are not stored yet.
    fn all(
        &mut self,
        args: &PowercutArgs,
        mut host: Host,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let messages = Messages::new();
        for planned in planned(args, self.header.plan.seed).skip(self.trials.len()) {
            if interrupt.exit_code().is_some() {
                break;
            }
            let number = planned.number;
            let text = tr!("cycle {number}: writing until the power is cut", number);
            match self.cycles.switch {
                // A question needs its own line: a live line would be redrawn over it.
                Switch::Hand => say(&text),
                Switch::Commands { .. } => {
                    messages.show(number as usize - 1, args.cycles as usize, &text);
                }
            }
            self.is_same_device(&mut host)?;
            let started = unix_ms();
            let came = self.cycle(host, &planned);
            messages.clear();
            let (again, step) = came?;
            host = again;
            self.keep(args, &planned, started, step)?;
        }
        Ok(())
    }

    /// Runs a cycle; returns the agent on the restarted board, and the result.
    fn cycle(&mut self, host: Host, planned: &Planned) -> Result<(Host, CutStep), Failure> {
        let (mut host, boot_id, moment) = self.cycles.cut(host, planned, &mut self.journal)?;
        // Data missing on another medium would not be a loss.
        self.is_same_device(&mut host)?;
        let cut = (boot_id.as_deref(), moment);
        let judged = self
            .cycles
            .judge(&mut host, planned, &mut self.journal, cut)?;
        match judged {
            Some(step) => Ok((host, step)),
            None => Err(Failure::failed(
                "the power was not cut: the board runs since before (same boot id); try the \
                 command of --cut by hand",
            )),
        }
    }

    /// Checks that the storage is the one on which the run began: names may change when a board boots. A
    /// missing file system is not an error here, but a finding.
    fn is_same_device(&self, host: &mut Host) -> Result<(), Failure> {
        let (place, mount) = (&self.header.plan.place, &self.cycles.work.mount);
        let path = mount.as_ref().map_or(place.path(), |mount| &mount.device);
        let now = match host.inspect(path) {
            Err(failure) if matches!(place, Place::Directory { .. }) && !failure.is_lost() => {
                return Ok(());
            }
            now => now?,
        };
        let point = |storage: &Storage| storage.mount.as_ref().map(|mount| mount.point.clone());
        match point(&now.storage) == point(&self.header.storage) {
            true => is_that_of(&self.header, &now, &self.destroy),
            false => Ok(()),
        }
    }

    /// Stores a cycle and prints its result.
    pub fn keep(
        &mut self,
        args: &PowercutArgs,
        planned: &Planned,
        started: u64,
        step: CutStep,
    ) -> Result<(), Failure> {
        let (number, cycles) = (planned.number, args.cycles);
        let told = format!("[{number}/{cycles}] {}", in_brief(&step));
        let outcome = match step.is_bad() {
            true => Outcome::Failed {
                error: in_brief(&step),
            },
            false => Outcome::Completed,
        };
        let job = self.header.plan.jobs[0].job.clone();
        let record = TrialRecord {
            started_unix_ms: started,
            detail: Some(Box::new(StepDetail::Powercut(Box::new(step)))),
            ..TrialRecord::new(job, number, number - 1, planned.seed, outcome)
        };
        let saved = self.store.save_trial(&self.header.id, &record);
        self.trials.push(record);
        saved.map_err(Failure::failed)?;
        say(&told);
        Ok(())
    }
}

/// Resumes a run with the cycle that was under way.
fn resume_powercut(
    args: &PowercutArgs,
    name: &str,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let mut store = args.shared.store.store.open_local()?;
    let id = run_id(&store, name)?;
    let run = whole_run(&store, &id)?;
    let began = began(&run)?;
    let there = named(target)?;
    resume::is_on(&run, Some(&there))?;
    if run.status == RunStatus::Finished {
        return resume::nothing_missing(&run, args.shared.json);
    }
    if !is_free(&store, &run)? {
        return Err(resume::still_under_way(&id));
    }
    target.needs(Feature::Sqlite);
    let switch = Switch::new(began.cut()?, began.restore.as_ref(), &there)?;
    let written_to = run.header.plan.place.clone();
    let work = work(&began, &written_to)?;
    let (journal, left) = Journal::reopen(store.path(), &id, work.kinds.len())?;
    let mut cycles = cycles(&began, target, work, switch, &id);
    announce_resumed(&run, began.cycles);
    // The killed process may have left the power off.
    if left.as_ref().is_some_and(|left| left.cut.is_some()) {
        cycles.switch.on()?;
    }
    let mut host = cycles.reach()?;
    clear_leftovers(&mut host, &mut store, &written_to)?;
    let inspection = host.inspect(written_to.path())?;
    let path = &inspection.path;
    let agreed = began.destroy.allow(path, |name| host.inspect(name))?
        | args.destroy.allow(path, |name| host.inspect(name))?;
    admit(&inspection, Need::anything(agreed))?;
    let inspection = match &began.mount {
        Some(mount) => host.inspect(&mount.device)?,
        None => inspection,
    };
    is_that_of(&run.header, &inspection, &args.destroy)?;
    store.reopen_run(&id, &stored::this_process(), run.trials.len())?;
    let mut session = Session {
        cycles,
        // The value of this command, not of the one that began the run: the check above used it.
        destroy: args.destroy.clone(),
        journal,
        store,
        header: run.header,
        trials: run.trials,
    };
    if let Some(left) = left {
        session.finish(&began, &left, &mut host)?;
    }
    session.run(&began, args.shared.json, host)
}

impl Session<'_> {
    /// Completes the unfinished cycle if its power was cut and its data was not checked yet, because
    /// the check removes the data. Otherwise the cycle is repeated.
    fn finish(
        &mut self,
        args: &PowercutArgs,
        left: &UnfinishedCycle,
        host: &mut Host,
    ) -> Result<(), Failure> {
        let next = self.trials.len();
        let next: Option<Planned> = planned(args, self.header.plan.seed).nth(next);
        let (Some(planned), Some(moment)) = (next, left.cut) else {
            return Ok(());
        };
        // The unfinished cycle is stored already.
        if planned.number != left.number || left.check_began {
            return Ok(());
        }
        let boot_id = left.boot_id.as_deref();
        let judged = self
            .cycles
            .judge(host, &planned, &mut self.journal, (boot_id, moment))?;
        match judged {
            Some(step) => {
                let started = moment.unix_ms.saturating_sub(moment.after_ns / 1_000_000);
                self.keep(args, &planned, started, step)
            }
            None => Ok(()),
        }
    }
}

/// Returns the arguments that the run was begun with.
fn began(run: &Run) -> Result<PowercutArgs, Failure> {
    match resume::began(run)? {
        Some(Command::Lab(LabGroup::Powercut(began))) => Ok(*began),
        _ => Err(Failure::usage(format!(
            "run {} cut no power: assay list shows the runs",
            run.header.id
        ))),
    }
}

/// `true` if no process carries out the run.
fn is_free(store: &Store, run: &Run) -> Result<bool, Failure> {
    if run.status != RunStatus::Running {
        return Ok(true);
    }
    let abandoned = store.abandoned_runs(stored::is_alive)?;
    Ok(abandoned.iter().any(|gone| gone.id == run.header.id))
}

fn announce_resumed(run: &Run, cycles: u32) {
    say(&format!(
        "assay: resumes run {} after {} of {cycles} cycles",
        run.header.id,
        run.trials.len()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_mounts_are_read() {
        let (from, to) = between("500ms..2s").unwrap();
        assert_eq!((from.0, to.0), (500_000_000, 2_000_000_000));
        assert!(between("2s..1s").is_err() && between("x").is_err());
        let mount = mounting("/dev/sda1:ext4:noatime,data=ordered").unwrap();
        assert_eq!(
            (mount.fs_type.as_str(), mount.options.as_str()),
            ("ext4", "noatime,data=ordered")
        );
        assert_eq!(mounting("/dev/sda1:xfs").unwrap().options, "");
        assert!(mounting("sda1:xfs").is_err() && mounting("/dev/sda1").is_err());
        assert_eq!(argv("relay 'off 3'").unwrap().0, ["relay", "off 3"]);
        assert!(argv("").is_err() && argv("'").is_err());
    }
}
