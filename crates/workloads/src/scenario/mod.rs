//! Scenarios: stages of acts, each act a step with separate evidence.
//!
//! An act is a [`Play`]: prepared outside the clock, then run on a separate thread. Acts
//! of one stage begin together; background acts continue until all foreground acts have
//! ended.
//!
//! All files of a scenario are in one folder, `scene`. Their contents follow from a seed and the
//! offset, so that `verify` knows a digest without a copy. Acts that run at the same time share one
//! evidence (`Observer::ended_together`).

mod file;
mod stage;
mod tree;

use crate::androbench::database::{Database, ThreadIo, Transaction, detail, keys};
use crate::write_back;
use crate::{ActError, Context};
use assay_engine::held::{self, shown};
use assay_model::act::ActReport;
use assay_model::act::androbench::{DatabasePhase, Statement};
use assay_model::act::scenario::{Action, Command as Wanted, DEVICE, SCENE, Scenario, ScenarioAct};
use assay_model::rng::SplitMix64;
use assay_model::trial::DirectionTotals;
use assay_model::units::{Bytes, Nanos};
use assay_stats::histogram::Histogram;
use file::{Copier, Deletion, Discarding, FileReader, FileWriter, Recipe, Verifier};
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_slice_iter_to_slice;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process_group};
use stage::Turn;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tree::Filler;

/// An act that is ready to run.
trait Play: Send {
    /// Returns the files or devices whose storage and cached pages are evidence.
    fn paths(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the total amount of work, in the unit of its progress; `None` if unknown.
    fn total(&self) -> Option<u64> {
        None
    }

    /// Runs the act, while the clock of the turn runs.
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError>;
}

/// Carries out a scenario.
///
/// # Errors
/// If it cannot be carried out here, an act fails, or it is stopped. Its files are in the
/// private folder, which is removed, or on the scratch device.
pub(crate) fn run(work: &Scenario, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    check(work)?;
    let scene = Scene::new(work, context)?;
    let mut steps_done = 0;
    for (number, stage) in work.stages.iter().enumerate() {
        if context.stopped() {
            return Err(ActError::Stopped);
        }
        stage::run(stage, &scene, (number as u64, steps_done), context)?;
        let steps = stage.acts.iter().filter(|act| !act.unmeasured).count();
        steps_done += u32::try_from(steps).unwrap_or(u32::MAX);
        context.observer.keep();
    }
    Ok(ActReport::Steps)
}

/// Prepares the state that an act requires; nothing is measured yet.
///
/// # Errors
/// If the state cannot be prepared.
fn prepare<'a>(
    act: &'a ScenarioAct,
    scene: &'a Scene,
    number: u64,
) -> Result<Box<dyn Play + 'a>, ActError> {
    Ok(match &act.action {
        Action::Write(spec) => Box::new(FileWriter::new(spec, scene, number)?),
        Action::Read(spec) => Box::new(FileReader::new(spec, scene)?),
        Action::Copy(spec) => Box::new(Copier::new(spec, scene)?),
        Action::Verify(spec) => Box::new(Verifier::new(spec, scene)?),
        Action::Tree(spec) => tree::prepare(spec, scene, number)?,
        Action::Database(phase) => Box::new(Transactions::new(phase, &act.job.name, scene)?),
        Action::Inflate { bytes } => Box::new(Inflating::new(*bytes, scene)),
        Action::Discard { file } => Box::new(Discarding::new(file, scene)?),
        Action::Delete { file } => Box::new(Deletion::new(file, scene)?),
        Action::Fill(spec) => Box::new(Filler::new(spec, &act.job.name, scene)?),
        Action::Command(spec) => Box::new(Program::new(spec, scene)?),
        Action::Pause { time_ns } => Box::new(Pause(Duration::from_nanos(*time_ns))),
        Action::DropCaches => Box::new(DropCaches::new(scene)),
        // Formatting is left to the observer and handled before.
        Action::Format { .. } => {
            return Err(ActError::Refused(
                "making a file system must be the only act of its stage".to_owned(),
            ));
        }
    })
}

/// An act that only waits.
struct Pause(Duration);

impl Play for Pause {
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        turn.sleep(self.0)
    }
}

/// File that makes the kernel drop clean caches: 1 for pages, 2 for dentries and inodes,
/// 3 for both.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Writes back all data, then drops the caches.
struct DropCaches<'a> {
    scene: &'a Scene,
}

impl<'a> DropCaches<'a> {
    const fn new(scene: &'a Scene) -> Self {
        Self { scene }
    }
}

impl Play for DropCaches<'_> {
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let began_ns = turn.meter.now_ns();
        self.scene.settle()?;
        turn.meter.flushed(began_ns);
        // Only root may do this; pages that stay cached appear in the evidence.
        let _ = fs::write(DROP_CACHES, "3");
        Ok(())
    }
}

/// Drops unused dentries and inodes, if this user may.
fn drop_entries() {
    let _ = fs::write(DROP_CACHES, "2");
}

/// Decompressed size of a block in bytes.
const INFLATED_BLOCK: usize = 256 << 10;
/// Compression level; gzip's default.
const COMPRESSION_LEVEL: u8 = 6;
/// Number of different words in the text.
const DIFFERENT_WORDS: u64 = 4096;

/// A compressed block, and a buffer for its content.
///
/// CPU load: inflating (RFC 1951), as installers do between reading and writing. The same text-
/// like block is inflated repeatedly, because the purpose is the processor's share of the time,
/// not a format.
struct Inflater {
    packed: Vec<u8>,
    out: Vec<u8>,
    /// Requested bytes that are less than a block.
    owed: u64,
}

impl Inflater {
    fn new(seed: u64) -> Self {
        Self {
            packed: compress_to_vec(&compressible_text(seed), COMPRESSION_LEVEL),
            out: vec![0; INFLATED_BLOCK],
            owed: 0,
        }
    }

    /// Inflates `bytes`, in whole blocks on average; returns the bytes inflated now.
    fn inflate(&mut self, bytes: u64) -> u64 {
        self.owed += bytes;
        let mut done = 0;
        while self.owed >= INFLATED_BLOCK as u64 {
            let packed = std::iter::once(self.packed.as_slice());
            let came = decompress_slice_iter_to_slice(&mut self.out, packed, false, true);
            debug_assert_eq!(came, Ok(INFLATED_BLOCK));
            std::hint::black_box(&self.out);
            self.owed -= INFLATED_BLOCK as u64;
            done += INFLATED_BLOCK as u64;
        }
        done
    }
}

/// Returns text in an order derived from the seed, which compresses to about a third.
fn compressible_text(seed: u64) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let mut text = Vec::with_capacity(INFLATED_BLOCK + 16);
    while text.len() < INFLATED_BLOCK {
        // Small numbers are frequent, like some words in a text.
        let most = 1 + rng.below(DIFFERENT_WORDS);
        let number = rng.below(most);
        text.extend_from_slice(format!("w{:x} ", number * 2_654_435_761 % 16_777_213).as_bytes());
    }
    text.truncate(INFLATED_BLOCK);
    text
}

/// CPU load without I/O.
struct Inflating {
    inflater: Inflater,
    bytes: u64,
}

impl Inflating {
    fn new(bytes: u64, scene: &Scene) -> Self {
        Self {
            inflater: Inflater::new(scene.seed),
            bytes: bytes.next_multiple_of(INFLATED_BLOCK as u64),
        }
    }
}

impl Play for Inflating {
    fn total(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let mut left = self.bytes;
        while left > 0 {
            let Some(due_ns) = turn.due()? else {
                break;
            };
            let done = self.inflater.inflate(INFLATED_BLOCK as u64);
            turn.step.inflated_bytes += done;
            turn.over(due_ns);
            turn.add_progress(done);
            if !turn.again() {
                left = left.saturating_sub(done);
            }
        }
        Ok(())
    }
}

/// A database that is ready for its transactions.
struct Transactions<'a> {
    phase: &'a DatabasePhase,
    folder: PathBuf,
    database: Database,
    rng: SplitMix64,
}

impl<'a> Transactions<'a> {
    fn new(phase: &'a DatabasePhase, name: &str, scene: &Scene) -> Result<Self, ActError> {
        let folder = scene.root()?.join(format!("database-{name}"));
        held::make_folders(&folder, Mode::RWXU)
            .map_err(|error| ActError::io("make", &folder, &error))?;
        let database = Database::make(phase, &folder)?;
        let mut rng = SplitMix64::new(scene.seed);
        if phase.statements.first() != Some(&Statement::Insert) {
            database.fill(phase, &mut rng)?;
        }
        Ok(Self {
            phase,
            folder,
            database,
            rng,
        })
    }

    fn run(
        &mut self,
        statement: Statement,
        latencies: &mut Histogram,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        let mut transaction = Transaction::prepare(&self.database, statement)?;
        for key in keys(self.phase, statement, &mut self.rng) {
            transaction.choose(key, &mut self.rng);
            let Some(due_ns) = turn.due()? else {
                return Ok(());
            };
            let began_ns = turn.meter.now_ns();
            transaction.run()?;
            turn.over(due_ns);
            latencies.record(turn.meter.now_ns().saturating_sub(began_ns));
        }
        Ok(())
    }
}

impl Play for Transactions<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        Database::files(&self.folder, self.phase.journal)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let before = ThreadIo::read();
        let mut latencies = Histogram::new();
        let mut done = Ok(());
        for &statement in &self.phase.statements {
            done = self.run(statement, &mut latencies, turn);
            if done.is_err() {
                break;
            }
        }
        // Writes that SQLite passed to the kernel; their latencies are unknown.
        if let (Some(before), Some(after)) = (before, ThreadIo::read()) {
            let io = after.since(before);
            turn.meter.wrote_beside(&DirectionTotals {
                ios: io.calls,
                bytes: io.bytes,
                ..DirectionTotals::default()
            });
        }
        let statement = self.phase.statements.first().copied().unwrap_or_default();
        turn.step.database = Some(detail(self.phase, statement, latencies.to_record(), None));
        done
    }
}

/// Simultaneous acts, at most: each has a thread.
const MOST_TOGETHER: usize = 64;
/// Bytes of a block, at most.
const MOST_BLOCK: u64 = 256 << 20;

/// Refuses a scenario that cannot be carried out. The host has already checked it, in a file with
/// line numbers; this side does not rely on that. The checks run before anything is written.
fn check(work: &Scenario) -> Result<(), ActError> {
    let mut names = HashSet::new();
    for stage in &work.stages {
        let foreground = stage.acts.iter().filter(|act| !act.background).count();
        if foreground == 0 || stage.acts.len() > MOST_TOGETHER {
            return Err(refused(&format!(
                "a stage must have 1 to {MOST_TOGETHER} acts, one of them in the foreground"
            )));
        }
        let alone = |act: &ScenarioAct| matches!(act.action, Action::Format { .. });
        if stage.acts.len() > 1 && stage.acts.iter().any(alone) {
            return Err(refused(
                "making a file system must be the only act of its stage",
            ));
        }
        for act in &stage.acts {
            check_act(act, work)?;
            if !names.insert(&act.job.name) {
                return Err(refused(&format!(
                    "two acts are called {}: give each its own name",
                    act.job.name
                )));
            }
        }
    }
    match names.is_empty() {
        true => Err(refused("the scenario has no step")),
        false => Ok(()),
    }
}

fn check_act(act: &ScenarioAct, work: &Scenario) -> Result<(), ActError> {
    let name = &act.job.name;
    for file in act.action.files() {
        if file != DEVICE && !is_inside(file) {
            return Err(refused(&format!(
                "{name}: {file} is not a path inside the scenario's own folder"
            )));
        }
    }
    let block = act.action.block();
    if block.is_some_and(|block| !(1..=MOST_BLOCK).contains(&block)) {
        return Err(refused(&format!(
            "{name}: a block must have 1 byte to {} MiB",
            MOST_BLOCK >> 20
        )));
    }
    match act.action {
        Action::Command(_) if !work.allow_commands => Err(refused(&format!(
            "{name} runs a program: a scenario with commands is code that runs as this user; \
             read it, then add --allow-commands"
        ))),
        Action::Format { .. } if !work.on_device => Err(refused(&format!(
            "{name} makes a file system: give a scratch device, and --destroy-data"
        ))),
        _ => Ok(()),
    }
}

fn refused(problem: &str) -> ActError {
    ActError::Refused(problem.to_owned())
}

/// Interval at which the program is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Maximum number of bytes kept of the program's standard error.
const STDERR_MOST: u64 = 4096;

/// A program to run. It runs without a shell, in the folder of the scenario, with a time limit, and
/// is killed together with its children.
struct Program<'a> {
    wanted: &'a Wanted,
    root: PathBuf,
    said: File,
}

impl<'a> Program<'a> {
    fn new(wanted: &'a Wanted, scene: &Scene) -> Result<Self, ActError> {
        let root = scene.root()?;
        let path = scene.path("command.stderr")?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let said = held::open(&path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| ActError::io("make", &path, &errno.into()))?;
        let said = File::from(said);
        Ok(Self { wanted, root, said })
    }

    fn failed(&self, why: &str) -> ActError {
        let name = self.wanted.words.first().map_or("", String::as_str);
        ActError::failed(format!("{name}: {why}{}", self.complaint()))
    }

    /// Returns the last line of its standard error.
    fn complaint(&self) -> String {
        let mut text = Vec::new();
        let file = held::open_to_read(&self.root.join("command.stderr"));
        let read = file.and_then(|file| file.take(STDERR_MOST).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        match (read, text.trim().lines().last()) {
            (Ok(_), Some(line)) => format!(": {line}"),
            _ => String::new(),
        }
    }

    fn start(&self) -> Result<Running, ActError> {
        let Some((program, arguments)) = self.wanted.words.split_first() else {
            return Err(self.failed("names no program to start"));
        };
        let said = self.said.try_clone();
        let said = said.map_err(|error| self.failed(&error.to_string()))?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .process_group(0)
            .spawn();
        child
            .map(Running)
            .map_err(|error| self.failed(&format!("cannot be started: {error}")))
    }

    fn wait(&self, running: &mut Running, turn: &mut Turn<'_>) -> Result<ExitStatus, ActError> {
        let began = Instant::now();
        let limit = Duration::from_nanos(self.wanted.limit_ns);
        loop {
            match running.0.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => return Err(self.failed(&error.to_string())),
            }
            if began.elapsed() >= limit {
                let limit = Nanos(self.wanted.limit_ns);
                return Err(self.failed(&format!("was killed because it still ran after {limit}")));
            }
            turn.sleep(POLL_INTERVAL)?;
        }
    }
}

impl Play for Program<'_> {
    /// Returns the folder alone, because the files that the program writes are unknown and not
    /// counted.
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.root.clone()]
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        while let Some(due_ns) = turn.due()? {
            let mut running = self.start()?;
            let status = self.wait(&mut running, turn)?;
            turn.over(due_ns);
            if !status.success() {
                return Err(self.failed(&status.to_string()));
            }
            if !turn.again() {
                break;
            }
        }
        Ok(())
    }
}

/// A running program with its children; dropping it kills them.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(number) = i32::try_from(self.0.id())
            && let Some(group) = Pid::from_raw(number)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// File that replaces the scratch device in a folder.
const STAND_IN: &str = "device.img";

/// Location of a scenario, shared by concurrent acts. It is a folder, a scratch device, and the
/// information about the files.
struct Scene {
    /// Name of the scenario.
    name: String,
    device: Option<PathBuf>,
    seed: u64,
    /// Space that must remain free, in bytes.
    reserve: u64,
    known: Mutex<SceneFiles>,
}

/// Information about the files.
#[derive(Default)]
struct SceneFiles {
    /// Folder of all files; `None` while there is no file system.
    root: Option<PathBuf>,
    /// Contents of files, by their names in the scenario.
    recipes: BTreeMap<String, Recipe>,
    /// Files of folders that acts have made.
    trees: BTreeMap<String, Planted>,
}

/// Many files in a folder.
#[derive(Clone, Debug, Default)]
struct Planted {
    /// Sizes of the files in bytes.
    sizes: Vec<u64>,
    /// Number of files removed, counted from the first.
    removed: usize,
}

impl Scene {
    /// Prepares the folder, if there is a file system already.
    fn new(work: &Scenario, context: &Context<'_>) -> Result<Self, ActError> {
        let scene = Self {
            name: work.name.clone(),
            device: work.on_device.then(|| work.path.clone()),
            seed: context.seed,
            reserve: work.reserve.0,
            known: Mutex::default(),
        };
        if let Some(folder) = context.folder {
            scene.settle_in(folder)?;
        }
        Ok(scene)
    }

    /// Sets the folder for files; earlier files are gone.
    fn settle_in(&self, folder: &Path) -> Result<(), ActError> {
        let root = folder.join(SCENE);
        held::make_folders(&root, Mode::RWXU)
            .map_err(|error| ActError::io("make", &root, &error))?;
        *self.known() = SceneFiles {
            root: Some(root),
            ..SceneFiles::default()
        };
        Ok(())
    }

    /// Returns the device, if the scenario runs on one.
    const fn device(&self) -> Option<&PathBuf> {
        self.device.as_ref()
    }

    /// Returns the folder of all files.
    fn root(&self) -> Result<PathBuf, ActError> {
        self.known().root.clone().ok_or_else(|| {
            ActError::Refused(
                "there is no file system on the device yet: put a step that formats it before"
                    .to_owned(),
            )
        })
    }

    /// Writes back all dirty data in the file system, if there is one.
    fn settle(&self) -> Result<(), ActError> {
        let root = self.known().root.clone();
        root.map_or(Ok(()), |root| write_back(&root))
    }

    /// Returns the path of a file, and creates the folders above it.
    fn path(&self, name: &str) -> Result<PathBuf, ActError> {
        if name == DEVICE {
            return match &self.device {
                Some(device) => Ok(device.clone()),
                None => Ok(self.root()?.join(STAND_IN)),
            };
        }
        let path = self.root()?.join(name);
        if let Some(folder) = path.parent() {
            held::make_folders(folder, Mode::RWXU)
                .map_err(|error| ActError::io("make", folder, &error))?;
        }
        Ok(path)
    }

    /// Returns the content of a file; `None` if unknown.
    fn recipe(&self, name: &str) -> Option<Recipe> {
        self.known().recipes.get(name).cloned()
    }

    /// Records the content of a file; `None` if it is unknown.
    fn holds(&self, name: &str, recipe: Option<Recipe>) {
        let mut known = self.known();
        match recipe {
            Some(recipe) => drop(known.recipes.insert(name.to_owned(), recipe)),
            None => drop(known.recipes.remove(name)),
        }
    }

    /// Returns the files of a folder that an act has made.
    fn planted(&self, folder: &str) -> Option<Planted> {
        self.known().trees.get(folder).cloned()
    }

    /// Records the files of a folder.
    fn plant(&self, folder: &str, planted: Planted) {
        self.known().trees.insert(folder.to_owned(), planted);
    }

    /// Records that a file or folder is removed.
    fn forget(&self, name: &str) {
        let mut known = self.known();
        let within = |other: &String| other == name || Path::new(other).starts_with(name);
        known.recipes.retain(|file, _| !within(file));
        known.trees.retain(|folder, _| !within(folder));
    }

    fn known(&self) -> MutexGuard<'_, SceneFiles> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if a path stays in the folder that it is relative to.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Size and free space of a file system.
#[derive(Clone, Copy, Debug)]
struct FreeSpace {
    /// Size in bytes, without the part reserved for root.
    size: u64,
    /// Bytes that this user may still write.
    free: u64,
}

impl FreeSpace {
    /// Determines the free space of a path's file system.
    fn of(path: &Path) -> Result<Self, ActError> {
        let stat = rustix::fs::statvfs(path)
            .map_err(|errno| ActError::call(format!("cannot look at {}", shown(path)), errno))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let used = stat.f_blocks.saturating_sub(stat.f_bfree);
        Ok(Self {
            // As in df: the part reserved for root is neither used nor free.
            size: bytes(used.saturating_add(stat.f_bavail)),
            free: bytes(stat.f_bavail),
        })
    }

    /// Returns the used part in percent.
    fn percent(self) -> u8 {
        let used = self.size.saturating_sub(self.free);
        let percent = u128::from(used) * 100 / u128::from(self.size.max(1));
        u8::try_from(percent).unwrap_or(100)
    }
}

/// Refuses to write `bytes` more if less than the reserve would remain free.
fn check_free_space(scene: &Scene, path: &Path, bytes: u64) -> Result<(), ActError> {
    let Some(folder) = path
        .parent()
        .filter(|_| scene.device().is_none_or(|d| d != path))
    else {
        return Ok(());
    };
    let room = FreeSpace::of(folder)?;
    if bytes.saturating_add(scene.reserve) <= room.free {
        return Ok(());
    }
    Err(ActError::failed(format!(
        "{} needs {} more and {} stay free as a reserve, but only {} are free: use a smaller \
             --scale, or a larger file system",
        shown(path),
        Bytes(bytes),
        Bytes(scene.reserve),
        Bytes(room.free)
    )))
}

#[cfg(test)]
mod tests;
