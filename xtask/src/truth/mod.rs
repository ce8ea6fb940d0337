//! `cargo xtask truth`: compares labels of assay with the kernel's own record of events.
//!
//! The program `assay` measures each cell of a table (topology, job, engine) while two private
//! instances of the kernel's tracer record the system calls of its process tree, and the requests,
//! flushes and cached pages of the device. The right label follows from these, FIEMAP and the
//! queue's settings. None of assay's own readings or judgements is used.

mod labels;
pub mod stacks;
mod topology;
mod trace;

pub use assay_model::job::Direction;

use crate::run::{build_folder, cargo, run};
use anyhow::{Context, Result, bail};
use assay_model::job::{EngineKind, QueueMode};
use assay_testkit::{Scratch, text};
use labels::{Scene, TruthRow, TruthTable, truth};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};
use topology::{Storage, TOPOLOGIES, Topology};
use trace::{MeasuredPhase, Tracer, operations};

/// Makes the table of all jobs: name, topologies, cached part, neighbour, engines, words.
macro_rules! jobs {
    ($($name:literal $on:ident $cached:ident $neighbour:ident $engines:ident $words:literal)*) => {
        &[$(TruthJob {
            name: $name,
            on: On::$on,
            engines: $engines,
            cached: Cached::$cached,
            neighbour: Neighbour::$neighbour,
            words: $words,
        }),*]
    };
}

const MIB: usize = 1 << 20;
/// Number of cells of `--subset`, spread evenly over all.
const SUBSET: usize = 40;
/// Pause between two writes of the process that dirties the file.
const PAUSE: Duration = Duration::from_millis(5);
/// Time after the start at which a job of one second is midway.
const MIDWAY: Duration = Duration::from_millis(600);
/// Offset on a device, outside the jobs' file, that another process reads.
const AWAY: u64 = 64 << 20;
/// Attempts to measure a cell; one fails if the machine was too busy for a complete trace.
const ATTEMPTS: usize = 3;

/// Command-line arguments.
#[derive(Default)]
struct Options {
    /// Set to measure a subset of the cells.
    subset: bool,
    /// Only cells whose name contains this.
    only: Option<String>,
    /// Program to test; `None`: the one built here.
    assay: Option<PathBuf>,
    /// File to write the rows to as JSON, for `--against`.
    json: Option<PathBuf>,
    /// File with the rows of an earlier program.
    against: Option<PathBuf>,
    /// Set to replace the table in docs/evidence.md.
    write: bool,
    /// Folder for the traces of the last cell.
    keep: Option<PathBuf>,
    /// Label that replaces all others, to test that the harness fails.
    force_label: Option<String>,
}

impl Options {
    fn new(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .with_context(|| format!("{word} needs a value"))
            };
            match *word {
                "--subset" => options.subset = true,
                "--write" => options.write = true,
                "--only" => options.only = Some((*value()?).to_owned()),
                "--assay" => options.assay = Some(value()?.into()),
                "--json" => options.json = Some(value()?.into()),
                "--against" => options.against = Some(value()?.into()),
                "--keep" => options.keep = Some(value()?.into()),
                "--force-label" => options.force_label = Some((*value()?).to_owned()),
                word => bail!("truth has no option {word}"),
            }
        }
        Ok(options)
    }
}

/// Measurement of a job on a topology with an engine.
struct TruthCell {
    topology: &'static Topology,
    job: &'static TruthJob,
    engine: &'static str,
}

/// Measures and prints the table. Returns an error if a label is wrong or too many are unknown.
pub fn check(words: &[&str]) -> Result<()> {
    let options = Options::new(words)?;
    let scratch = Scratch::new()?;
    let tracing = scratch.join("tracing");
    if let Some(why) = assay_testkit::missing(&["root", "mkfs.ext4", "filefrag"]) {
        assay_testkit::skip(&why);
        return Ok(());
    }
    let tracer = match Tracer::new(&tracing) {
        Ok(tracer) => tracer,
        Err(error) => {
            assay_testkit::skip(&format!("{error:#}"));
            return Ok(());
        }
    };
    let program = match &options.assay {
        Some(program) => fs::canonicalize(program).context("no such program")?,
        None => built()?,
    };
    let bench = Bench {
        tracer,
        program,
        scratch,
        contents: random()?,
        keep: options.keep.clone(),
    };
    let table = bench.measure(&cells(&options), options.force_label.as_deref());
    drop(bench);
    table.print();
    if let Some(path) = &options.json {
        fs::write(path, table.json()?).context("the rows cannot be written")?;
    }
    if options.write {
        table.write(Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../docs/evidence.md"
        )))?;
    }
    let before = options
        .against
        .as_deref()
        .map(TruthTable::read)
        .transpose()?;
    table.verdict(before.as_ref())
}

fn built() -> Result<PathBuf> {
    run(cargo().args(["build", "--quiet", "--package", "assay-cli"]))?;
    Ok(build_folder()?.join("debug/assay"))
}

fn cells(options: &Options) -> Vec<TruthCell> {
    let mut cells = Vec::new();
    for topology in &TOPOLOGIES {
        for job in JOBS.iter().filter(|job| runs_on(job, topology.name)) {
            let engines = job.engines().into_iter();
            cells.extend(engines.map(|engine| TruthCell {
                topology,
                job,
                engine,
            }));
        }
    }
    if options.subset {
        let every = cells.len().div_ceil(SUBSET);
        let mut index = 0;
        cells.retain(|_| {
            index += 1;
            index % every == 1
        });
    }
    if let Some(part) = &options.only {
        cells.retain(|cell| cell.name().contains(part.as_str()));
    }
    cells
}

fn runs_on(job: &TruthJob, topology: &str) -> bool {
    // A program's or journal's requests for a neighbour are indistinguishable from those for the
    // job.
    if job.neighbour != Neighbour::None && ["ntfs-3g", "ext4 data=journal"].contains(&topology) {
        return false;
    }
    // assay refuses a device that another process has open.
    if job.neighbour == Neighbour::DirtiesTheFile && topology == "loop device" {
        return false;
    }
    // A device has no holes.
    if matches!(job.cached, Cached::Hole | Cached::Unwritten) && topology == "loop device" {
        return false;
    }
    match job.on {
        On::All => true,
        On::Files => !["loop device", "loop device write-through", "partition"].contains(&topology),
        On::Main => ["ext4", "xfs", "btrfs", "loop device"].contains(&topology),
        On::Ext4 => topology == "ext4",
        On::OtherFiles => ["xfs", "btrfs"].contains(&topology),
        On::Shared => topology.ends_with("shared blocks"),
        On::Small => topology == "ext4 with 1 KiB blocks",
    }
}

impl TruthCell {
    fn name(&self) -> String {
        let TruthCell {
            topology,
            job,
            engine,
        } = self;
        format!("{} / {} / {engine}", topology.name, job.title())
    }
}

/// Tools and folders that all cells share.
struct Bench {
    tracer: Tracer,
    program: PathBuf,
    scratch: Scratch,
    contents: Vec<u8>,
    keep: Option<PathBuf>,
}

impl Bench {
    fn measure(&self, cells: &[TruthCell], forced: Option<&str>) -> TruthTable {
        let mut table = TruthTable::default();
        for of_one in cells.chunk_by(|a, b| a.topology.name == b.topology.name) {
            let storage = match (of_one[0].topology.make)() {
                Ok(storage) => storage,
                Err(why) => {
                    table.skip(of_one[0].topology.name, of_one.len(), &why.to_string());
                    continue;
                }
            };
            for cell in of_one {
                let mut rows = self.cell(cell, &storage);
                for _ in 1..ATTEMPTS {
                    if rows.is_err() {
                        rows = self.cell(cell, &storage);
                    }
                }
                match rows {
                    Ok(rows) => table.add(rows, forced),
                    Err(error) => table.fail(&cell.name(), &format!("{error:#}")),
                }
            }
        }
        table
    }

    /// Measures a cell. Returns one row for each direction that moved bytes.
    fn cell(&self, cell: &TruthCell, storage: &Storage) -> Result<Vec<TruthRow>> {
        let job = cell.job;
        self.prepare(job, storage)?;
        if storage.is_stack {
            self.tracer.listen_to_all()?;
        } else if let Some(files) = storage.file_system() {
            self.tracer.listen(&storage.devices(), files)?;
        }
        // Reads these before the job: some neighbours replace the file midway.
        let changes = job.neighbour.change().is_some();
        let earlier = changes.then(|| (storage.inode(), storage.extents()));
        self.tracer.begin()?;
        self.fill_cache(job, storage)?;
        let output = self.beside(job, storage, || {
            let words = self.words(cell, storage);
            self.tracer
                .traced(&self.program, &words)
                .env("ASSAY_JOURNAL_DIR", self.scratch.path())
                .output()
        })?;
        // Write out dirty pages now, so that the trace contains them.
        if let Ok(file) = File::open(&storage.real) {
            file.sync_all()?;
        }
        let (inode, extents) = earlier.unwrap_or_else(|| (storage.inode(), storage.extents()));
        let extents = extents.filter(|_| !job.has_own_file());
        let (calls, device) = self.tracer.end(self.keep.as_deref())?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!(
                "assay failed: {}",
                complaint.lines().next().unwrap_or_default()
            );
        }
        let scene = Scene {
            device: &device,
            inode: inode.filter(|_| storage.file_system().is_some()),
            extents,
            is_volatile: storage.is_volatile(),
            is_memory: storage.is_memory,
            has_program: storage.has_program,
            is_direct: job.is_direct(),
            is_random: job.words.contains("rand"),
            is_mapped: cell.engine == "mmap",
            has_neighbour: job.neighbour != Neighbour::None && !changes,
        };
        let all = operations(&calls);
        let judged = |claim: &Claim| {
            let phase = match cell.engine {
                "mmap" => MeasuredPhase::of_touches(claim, &device, scene.inode.unwrap_or(0)),
                _ => MeasuredPhase::of(claim, &all, job.words.contains("sync")),
            };
            let phase = phase.context("the calls of the job are not in the trace")?;
            if storage.is_stack {
                let flushed = job.words.contains("end_fsync");
                let mut truth = stacks::truth(claim, phase, &all, &device, flushed)?;
                if storage.is_opaque {
                    truth.label.push("unknown");
                }
                // The label of a network block device states that its server is not observed, so
                // both labels of the device are right, too.
                if claim.because.contains("beneath") {
                    truth.label.extend(["device", "device-unflushed"]);
                }
                return Ok(cell.row(claim, &truth));
            }
            Ok(cell.row(claim, &truth(claim, &phase, &scene)))
        };
        claims(&text)?.iter().map(judged).collect()
    }

    fn words(&self, cell: &TruthCell, storage: &Storage) -> Vec<String> {
        let (command, rest) = cell.job.words.split_once(' ').unwrap_or_default();
        let file = format!("={}", storage.file.display());
        let own = match command {
            "fio" => format!(
                "--name=j --output-format=json --filename{file} --ioengine={}",
                cell.engine
            ),
            _ => format!(
                "--json --store {}",
                self.scratch.join("runs.sqlite").display()
            ),
        };
        let rest = match command {
            "qualify" => {
                let folder = storage.file.parent().unwrap_or(&storage.file).display();
                format!("{folder} --quick --size 16M --trials 1 --only {rest}")
            }
            _ => rest.replace("=F", &file),
        };
        let all = format!("{command} {own} {rest}");
        all.split(' ').map(str::to_owned).collect()
    }

    /// Brings the file to the initial state of the job, with nothing cached.
    fn prepare(&self, job: &TruthJob, storage: &Storage) -> Result<()> {
        if job.cached == Cached::NoFile && !storage.is_device() {
            let _ = fs::remove_file(&storage.file);
            let folder = storage.file.parent().context("a file has a folder")?;
            rustix::fs::syncfs(File::open(folder)?)?;
        } else {
            let mut file = if storage.is_device() {
                File::options().write(true).open(&storage.file)?
            } else {
                File::create(&storage.file)?
            };
            match job.cached {
                Cached::Hole => file.set_len(self.contents.len() as u64)?,
                Cached::Unwritten => {
                    let length = self.contents.len() as u64;
                    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length)?;
                }
                _ => file.write_all(&self.contents)?,
            }
            file.sync_all()?;
        }
        if storage.is_shared && storage.file.exists() {
            let twin = storage.file.with_extension("twin");
            let words = ["--reflink=always", text(&storage.file), text(&twin)];
            run(Command::new("cp").args(words))?;
        }
        storage.drop_cache()?;
        Ok(())
    }

    fn fill_cache(&self, job: &TruthJob, storage: &Storage) -> Result<()> {
        let bytes = match job.cached {
            Cached::All => FILE_MIB * MIB,
            Cached::FirstHalf => FILE_MIB * MIB / 2,
            Cached::NoFile | Cached::Nothing | Cached::Hole | Cached::Unwritten => 0,
        };
        let mut file = match bytes {
            0 => return Ok(()),
            _ => File::open(&storage.file)?,
        };
        // Disable read-ahead, which would read further.
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random)?;
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut vec![0; bytes])?;
        Ok(())
    }

    /// Runs `act` with the job's neighbour, which is a thread of this process.
    fn beside<T>(&self, job: &TruthJob, storage: &Storage, act: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            match job.neighbour {
                Neighbour::None => {}
                Neighbour::DirtiesTheFile => {
                    scope.spawn(|| self.dirty_the_file(storage, &is_over));
                }
                Neighbour::WritesAnotherFile => {
                    scope.spawn(|| self.write_another_file(storage, &is_over));
                }
                Neighbour::ReadsTheDevice => {
                    scope.spawn(|| read_directly(storage, &is_over));
                }
                changes => {
                    let script = changes.change().unwrap_or_default();
                    scope.spawn(move || {
                        thread::sleep(MIDWAY);
                        run(Command::new("sh").args(["-c", script, text(&storage.file)]))
                    });
                }
            }
            let result = act();
            is_over.store(true, Ordering::Relaxed);
            result
        })
    }

    fn dirty_the_file(&self, storage: &Storage, is_over: &AtomicBool) {
        let Ok(file) = File::options().write(true).open(&storage.file) else {
            return;
        };
        while !is_over.load(Ordering::Relaxed) {
            let half = FILE_MIB * MIB / 2;
            let _ = file.write_all_at(&self.contents[half..], half as u64);
            thread::sleep(PAUSE);
        }
    }

    fn write_another_file(&self, storage: &Storage, is_over: &AtomicBool) {
        let Ok(file) = File::create(storage.file.with_file_name("another")) else {
            return;
        };
        while !is_over.load(Ordering::Relaxed) {
            let _ = file.write_all_at(&self.contents[..MIB], 0);
            let _ = file.sync_data();
        }
    }
}

fn read_directly(storage: &Storage, is_over: &AtomicBool) {
    // Direct reads need aligned memory, which the standard library does not provide safely. So the
    // loop reads through the page cache and drops the pages each time.
    let Some(node) = &storage.node else {
        return;
    };
    let Ok(file) = rustix::fs::open(node, OFlags::RDONLY, Mode::empty()) else {
        return;
    };
    let file = File::from(file);
    let mut block = vec![0; MIB];
    while !is_over.load(Ordering::Relaxed) {
        let _ = file.read_exact_at(&mut block, AWAY);
        let length = NonZeroU64::new(MIB as u64);
        let _ = rustix::fs::fadvise(&file, AWAY, length, rustix::fs::Advice::DontNeed);
    }
}

fn random() -> Result<Vec<u8>> {
    let mut contents = vec![0; FILE_MIB * MIB];
    File::open("/dev/urandom")?.read_exact(&mut contents)?;
    Ok(contents)
}

/// Figures of one direction of one job. Assay claims them in its JSON output, with their labels.
#[derive(Clone, Debug)]
pub struct Claim {
    pub direction: Direction,
    pub bytes: u64,
    pub ios: u64,
    /// Time over which the rate is measured, in microseconds.
    pub micros: u64,
    /// Label of the bandwidth.
    pub label: String,
    /// Label of the latency.
    pub latency_label: String,
    /// Share of the bytes that the device moved; `None` if unknown.
    pub share: Option<f64>,
    pub because: String,
}

/// Parses all claims in assay's output, which is fio's JSON or that of a run.
fn claims(text: &str) -> Result<Vec<Claim>> {
    let json: Value = serde_json::from_str(text).context("the output is not JSON")?;
    let (list, of): (_, fn(&Value, Direction) -> Option<Claim>) = match json.get("jobs") {
        Some(jobs) => (jobs, of_fio),
        None => (&json["trials"], of_run),
    };
    let entries = list
        .as_array()
        .context("the JSON has neither jobs nor trials")?;
    let both = |entry| Direction::ALL.map(|direction| of(entry, direction));
    Ok(entries.iter().flat_map(both).flatten().collect())
}

fn of_fio(job: &Value, direction: Direction) -> Option<Claim> {
    let figures = &job[direction.name()];
    let ios = figures["total_ios"].as_u64().filter(|ios| *ios > 0)?;
    Some(Claim {
        bytes: figures["io_bytes"].as_u64()?,
        ios,
        micros: figures["runtime"].as_u64()? * 1000,
        ..evidence(&job["assay"][direction.name()], direction)
    })
}

fn of_run(trial: &Value, direction: Direction) -> Option<Claim> {
    let totals = &trial["totals"][direction.name()];
    let ios = totals["ios"].as_u64().filter(|ios| *ios > 0)?;
    let mut claim = evidence(&trial["evidence"][direction.name()], direction);
    let latency = format!("{}_lat_p50", direction.name());
    let metrics = trial["metrics"].as_array()?;
    let of_latency = metrics.iter().find(|metric| metric["name"] == *latency);
    if let Some(label) = of_latency.and_then(|metric| metric["label"].as_str()) {
        claim.latency_label = label.to_owned();
    }
    Some(Claim {
        bytes: totals["bytes"].as_u64()?,
        ios,
        micros: trial["elapsed_ns"].as_u64()? / 1000,
        ..claim
    })
}

fn evidence(of: &Value, direction: Direction) -> Claim {
    let text = |name: &str| of[name].as_str().map(str::to_owned);
    let label = text("label").unwrap_or_else(|| "none".to_owned());
    Claim {
        direction,
        bytes: 0,
        ios: 0,
        micros: 0,
        latency_label: text("latency_label").unwrap_or_else(|| label.clone()),
        label,
        share: of["device_share"].as_f64(),
        because: text("because").unwrap_or_default(),
    }
}

/// Part of the file that is in the page cache when the command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cached {
    /// No file exists; on a device nothing is cached.
    NoFile,
    Nothing,
    FirstHalf,
    All,
    /// The file is one hole.
    Hole,
    /// The blocks of the file are allocated but were never written.
    Unwritten,
}

/// Activity of another process during the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbour {
    None,
    /// It rewrites the second half of the file repeatedly and flushes nothing.
    DirtiesTheFile,
    /// It writes and flushes another file repeatedly.
    WritesAnotherFile,
    /// It reads the device directly, repeatedly.
    ReadsTheDevice,
    /// It changes the file once, while the job runs.
    Unlinks,
    Renames,
    Replaces,
    Truncates,
    Punches,
}

impl Neighbour {
    /// Command that changes the file at the path `$0`.
    pub const fn change(self) -> Option<&'static str> {
        match self {
            Self::Unlinks => Some("rm $0"),
            Self::Renames => Some("mv $0 $0.moved"),
            Self::Replaces => Some("cp $0 $0.new && mv $0.new $0"),
            Self::Truncates => Some("truncate -s 1M $0"),
            Self::Punches => Some("fallocate --punch-hole -o 0 -l 4M $0"),
            _ => None,
        }
    }
}

/// Topologies on which a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// On all topologies.
    All,
    /// On those that have files.
    Files,
    /// On ext4, XFS, btrfs and a bare device.
    Main,
    /// On ext4 alone.
    Ext4,
    /// On XFS and btrfs.
    OtherFiles,
    /// On topologies where another file shares the blocks.
    Shared,
    /// On topologies with blocks smaller than a page.
    Small,
}

struct TruthJob {
    pub name: &'static str,
    pub on: On,
    /// Selects the engines, each of which makes a cell; a job without any makes one.
    engines: SelectsEngine,
    pub cached: Cached,
    pub neighbour: Neighbour,
    /// Arguments of `assay`: `F` is replaced by the file. `qualify` is followed by the name of
    /// its job.
    pub words: &'static str,
}

impl TruthJob {
    /// Returns the names of the engines.
    pub fn engines(&self) -> Vec<&'static str> {
        let own = EngineKind::ALL
            .into_iter()
            .filter(|kind| (self.engines)(*kind));
        let names: Vec<&str> = own.map(EngineKind::name).collect();
        if names.is_empty() { vec!["-"] } else { names }
    }

    /// Returns the name, with the neighbour if there is one.
    pub fn title(&self) -> String {
        let beside = match self.neighbour {
            Neighbour::None => "",
            Neighbour::DirtiesTheFile => "; another process dirties the file",
            Neighbour::WritesAnotherFile => "; another process writes a file",
            Neighbour::ReadsTheDevice => "; another process reads the device",
            Neighbour::Unlinks => "; the file is unlinked midway",
            Neighbour::Renames => "; the file is renamed midway",
            Neighbour::Replaces => "; the file is replaced midway",
            Neighbour::Truncates => "; the file is truncated midway",
            Neighbour::Punches => "; a hole is punched midway",
        };
        format!("{}{beside}", self.name)
    }

    pub fn is_direct(&self) -> bool {
        let buffered = ["plain", "fdatasync", "buffered", "cached", "fsync"];
        match self.words.strip_prefix("qualify ") {
            Some(name) => !buffered.iter().any(|word| name.ends_with(word)),
            None => ["direct=1", "flag=direct"]
                .iter()
                .any(|word| self.words.contains(word)),
        }
    }

    /// Returns true if assay makes and removes the file itself.
    pub fn has_own_file(&self) -> bool {
        self.words.starts_with("qualify")
    }
}

type SelectsEngine = fn(EngineKind) -> bool;
const PSYNC: SelectsEngine = |kind| kind == EngineKind::Psync;
const OTHERS: SelectsEngine = |kind| kind.moves_data_of_files() && !PSYNC(kind) && !MAPPED(kind);
const QUEUED: SelectsEngine = |kind| {
    matches!(
        kind.properties().queue,
        QueueMode::Kernel | QueueMode::SharedThreads
    )
};
const MAPPED: SelectsEngine = EngineKind::maps_memory;
const NONE: SelectsEngine = |_| false;

/// Size of prepared files; jobs use 8 MiB of it or all.
const FILE_MIB: usize = 16;

const JOBS: &[TruthJob] = jobs! {
    "write"                            All        NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m"
    "write, end_fsync"                 All        NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m --end_fsync=1"
    "write, fdatasync=32"              All        NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m --fdatasync=32"
    "write, direct"                    All        Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=8m --direct=1"
    "write, direct dsync"              All        Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync"
    "read, cold"                       All        Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=8m"
    "read, cached"                     All        All       None              PSYNC  "fio --rw=read --bs=64k --size=8m --invalidate=0"
    "randread 4k, direct"              All        Nothing   None              PSYNC  "fio --rw=randread --bs=4k --size=2m --direct=1"
    "randread 4k, cold"                Files      Nothing   None              PSYNC  "fio --rw=randread --bs=4k --size=2m"
    // Flushes.
    "write, fdatasync=1"               Main       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=2m --fdatasync=1"
    "write, fsync=1"                   Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=2m --fsync=1"
    "write, last blocks after a flush" Main       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m --fdatasync=31"
    "write, sync=dsync"                Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=2m --sync=dsync"
    "write, sync=sync"                 Ext4       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=2m --sync=sync"
    "write, direct fdatasync=1"        Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=2m --direct=1 --fdatasync=1"
    "write, direct end_fsync"          Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=8m --direct=1 --end_fsync=1"
    "write, direct, new file"          Ext4       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m --direct=1"
    "write 4k, fdatasync=1"            Ext4       Nothing   None              PSYNC  "fio --rw=randwrite --bs=4k --size=8m --io_size=256k --fdatasync=1"
    "randwrite, fsync=16"              Ext4       Nothing   None              PSYNC  "fio --rw=randwrite --bs=16k --size=8m --fsync=16"
    "write over a file"                Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=8m --overwrite=1"
    "write twice over"                 Ext4       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=4m --io_size=8m --end_fsync=1"
    "write, verify"                    Main       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=16m --verify=crc32c"
    "write, direct, verify"            Ext4       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=8m --verify=crc32c --direct=1"
    "write 64 MiB"                     Ext4       NoFile    None              PSYNC  "fio --rw=write --bs=1m --size=64m"
    // Partly or fully cached files.
    "read, half cached"                Main       FirstHalf None              PSYNC  "fio --rw=read --bs=64k --size=16m --invalidate=0"
    "randread 4k, half cached"         Main       FirstHalf None              PSYNC  "fio --rw=randread --bs=4k --size=16m --io_size=4m --invalidate=0"
    "randread 4k, cached"              Main       All       None              PSYNC  "fio --rw=randread --bs=4k --size=8m --invalidate=0"
    "read twice"                       Main       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=4m --io_size=8m"
    "read twice, file of 16 MiB"       Ext4       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=2m --io_size=4m"
    "read three times"                 Ext4       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=4m --loops=3"
    "read 4k, cold"                    Ext4       Nothing   None              PSYNC  "fio --rw=read --bs=4k --size=8m"
    "read, direct"                     Main       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=8m --direct=1"
    "read, direct, cached"             Ext4       All       None              PSYNC  "fio --rw=read --bs=64k --size=8m --direct=1 --invalidate=0"
    "read, pre_read"                   Ext4       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=8m --pre_read=1 --invalidate=0"
    "randread 64k, cold"               Ext4       Nothing   None              PSYNC  "fio --rw=randread --bs=64k --size=8m"
    "read backwards"                   Ext4       Nothing   None              PSYNC  "fio --rw=read:-128k --bs=64k --size=8m --io_size=2m"
    // Both directions.
    "rw, direct"                       Main       Nothing   None              PSYNC  "fio --rw=rw --bs=64k --size=4m --direct=1"
    "randrw 4k, cold"                  Ext4       Nothing   None              PSYNC  "fio --rw=randrw --bs=4k --size=4m"
    "randrw 4k, direct dsync"          Ext4       Nothing   None              PSYNC  "fio --rw=randrw --bs=4k --size=512k --direct=1 --sync=dsync"
    // Other engines.
    "write"                            Ext4       NoFile    None              OTHERS "fio --rw=write --bs=64k --size=8m"
    "write, end_fsync"                 Ext4       NoFile    None              OTHERS "fio --rw=write --bs=64k --size=8m --end_fsync=1"
    "write, direct dsync"              Ext4       Nothing   None              OTHERS "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync"
    "read, cold"                       Ext4       Nothing   None              OTHERS "fio --rw=read --bs=64k --size=8m"
    "read, cached"                     Ext4       All       None              OTHERS "fio --rw=read --bs=64k --size=8m --invalidate=0"
    "randread 4k, direct"              Ext4       Nothing   None              OTHERS "fio --rw=randread --bs=4k --size=2m --direct=1"
    "randread 4k, half cached"         Ext4       FirstHalf None              OTHERS "fio --rw=randread --bs=4k --size=16m --io_size=4m --invalidate=0"
    "randread 4k, direct qd16"         Main       Nothing   None              QUEUED "fio --rw=randread --bs=4k --size=4m --direct=1 --iodepth=16"
    "randwrite 4k, direct qd16 fsync"  Main       Nothing   None              QUEUED "fio --rw=randwrite --bs=4k --size=2m --direct=1 --iodepth=16 --end_fsync=1"
    "write"                            Ext4       Nothing   None              MAPPED "fio --rw=write --bs=64k --size=8m"
    "write, end_fsync"                 Ext4       Nothing   None              MAPPED "fio --rw=write --bs=64k --size=8m --end_fsync=1"
    "write, fdatasync=32"              Ext4       Nothing   None              MAPPED "fio --rw=write --bs=64k --size=8m --fdatasync=32"
    "read, cold"                       Ext4       Nothing   None              MAPPED "fio --rw=read --bs=64k --size=8m"
    "read, cached"                     Ext4       All       None              MAPPED "fio --rw=read --bs=64k --size=8m --invalidate=0"
    // Others.
    "write, direct dsync"              Files      Nothing   DirtiesTheFile    PSYNC  "fio --rw=write --bs=64k --size=4m --overwrite=1 --direct=1 --sync=dsync"
    "write, direct"                    Main       Nothing   DirtiesTheFile    PSYNC  "fio --rw=write --bs=64k --size=4m --overwrite=1 --direct=1"
    "write"                            Main       NoFile    WritesAnotherFile PSYNC  "fio --rw=write --bs=64k --size=8m"
    "write, direct dsync"              Ext4       Nothing   WritesAnotherFile PSYNC  "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync"
    "read, cached"                     Main       All       ReadsTheDevice    PSYNC  "fio --rw=read --bs=64k --size=8m --invalidate=0"
    "read, cold"                       Ext4       Nothing   ReadsTheDevice    PSYNC  "fio --rw=read --bs=64k --size=8m"
    "randread 4k, direct"              Ext4       Nothing   ReadsTheDevice    PSYNC  "fio --rw=randread --bs=4k --size=1m --direct=1"
    // Holes, and files that another process changes midway.
    "read, direct, hole"               Main       Hole      None              PSYNC  "fio --rw=read --bs=64k --size=8m --direct=1"
    "read, hole"                       Main       Hole      None              PSYNC  "fio --rw=read --bs=64k --size=8m"
    "randread 4k, direct, unwritten"   Main       Unwritten None              PSYNC  "fio --rw=randread --bs=4k --size=2m --direct=1"
    "write, end_fsync"                 Ext4       Nothing   Unlinks           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write, end_fsync"                 Ext4       Nothing   Renames           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write, end_fsync"                 Ext4       Nothing   Replaces          PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write, end_fsync"                 Ext4       Nothing   Truncates         PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write, end_fsync"                 Ext4       Nothing   Punches           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write"                            Ext4       Nothing   Unlinks           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "write"                            Ext4       Nothing   Renames           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "write"                            Ext4       Nothing   Replaces          PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "write"                            Ext4       Nothing   Truncates         PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "write"                            Ext4       Nothing   Punches           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "read, direct"                     Ext4       Nothing   Punches           PSYNC  "fio --rw=read --bs=64k --size=8m --rate=8m --direct=1"
    "write 512, direct end_fsync"      Shared     Nothing   None              PSYNC  "fio --rw=write --bs=512 --size=128k --direct=1 --end_fsync=1"
    "write 512, direct fdatasync=1"    Shared     Nothing   None              PSYNC  "fio --rw=randwrite --bs=512 --size=4m --io_size=64k --direct=1 --fdatasync=1"
    "read 1k, cold"                    Small      Nothing   None              PSYNC  "fio --rw=read --bs=1k --size=4m"
    "randwrite 1k, fsync=16"           Small      Nothing   None              PSYNC  "fio --rw=randwrite --bs=1k --size=4m --io_size=512k --fsync=16"
    "randwrite 1k"                     Small      Nothing   None              PSYNC  "fio --rw=randwrite --bs=1k --size=4m --io_size=512k --end_fsync=1"
    "randread 1k, direct"              Small      Nothing   None              PSYNC  "fio --rw=randread --bs=1k --size=4m --io_size=512k --direct=1"
    // The four ways of dd.
    "dd"                               Main       NoFile    None              NONE   "dd if=/dev/zero of=F bs=1M count=16"
    "dd conv=fdatasync"                Main       NoFile    None              NONE   "dd if=/dev/zero of=F bs=1M count=16 conv=fdatasync"
    "dd oflag=direct"                  Main       NoFile    None              NONE   "dd if=/dev/zero of=F bs=1M count=16 oflag=direct"
    "dd oflag=dsync"                   Main       NoFile    None              NONE   "dd if=/dev/zero of=F bs=1M count=8 oflag=dsync"
    "dd from the file"                 Main       Nothing   None              NONE   "dd if=F of=/dev/null bs=1M count=16"
    "dd from the file, cached"         Main       All       None              NONE   "dd if=F of=/dev/null bs=1M count=16"
    "dd from the file, direct"         Main       Nothing   None              NONE   "dd if=F of=/dev/null bs=1M count=16 iflag=direct"
    "dd oflag=direct, short last block" Main      NoFile    None              NONE   "dd if=/dev/zero of=F bs=64k count=4000000 iflag=count_bytes oflag=direct"
    "dd from the second half"          Main       FirstHalf None              NONE   "dd if=F of=/dev/null bs=1M skip=8 count=8"
    // The jobs of qualify, on the file that it makes.
    "qualify ladder-plain"             Ext4       NoFile    None              NONE   "qualify ladder-plain"
    "qualify ladder-fdatasync"         Ext4       NoFile    None              NONE   "qualify ladder-fdatasync"
    "qualify ladder-direct"            Ext4       NoFile    None              NONE   "qualify ladder-direct"
    "qualify ladder-dsync"             Ext4       NoFile    None              NONE   "qualify ladder-dsync"
    "qualify read-cached"              Ext4       NoFile    None              NONE   "qualify read-cached"
    "qualify read-buffered"            Ext4       NoFile    None              NONE   "qualify read-buffered"
    "qualify seq-read-1m"              Ext4       NoFile    None              NONE   "qualify seq-read-1m"
    "qualify seq-write-1m"             Ext4       NoFile    None              NONE   "qualify seq-write-1m"
    "qualify rand-read-4k"             Ext4       NoFile    None              NONE   "qualify rand-read-4k"
    "qualify rand-write-4k"            Ext4       NoFile    None              NONE   "qualify rand-write-4k"
    "qualify rand-read-1m"             Ext4       NoFile    None              NONE   "qualify rand-read-1m"
    "qualify rand-read-4k-qd32"        Ext4       NoFile    None              NONE   "qualify rand-read-4k-qd32"
    "qualify rand-write-4k-qd32"       Ext4       NoFile    None              NONE   "qualify rand-write-4k-qd32"
    "qualify mixed-4k-70-30"           Ext4       NoFile    None              NONE   "qualify mixed-4k-70-30"
    "qualify append-4k-fsync"          Ext4       NoFile    None              NONE   "qualify append-4k-fsync"
    "qualify ladder-plain"             OtherFiles NoFile    None              NONE   "qualify ladder-plain"
    "qualify ladder-fdatasync"         OtherFiles NoFile    None              NONE   "qualify ladder-fdatasync"
    "qualify ladder-dsync"             OtherFiles NoFile    None              NONE   "qualify ladder-dsync"
    "qualify read-cached"              OtherFiles NoFile    None              NONE   "qualify read-cached"
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the program that was built with this one; the command's tests start it, too.
    fn program() -> Option<String> {
        let own = std::env::current_exe().ok()?;
        let program = own.parent()?.parent()?.join("assay");
        let program = program
            .exists()
            .then(|| program.to_string_lossy().into_owned());
        if program.is_none() {
            assay_testkit::skip("assay is not built: cargo build --package assay-cli");
        }
        program
    }

    #[test]
    fn a_label_that_is_forced_wrong_is_found() {
        assay_testkit::needs!(root, "mkfs.ext4", "filefrag");
        let Some(program) = program() else { return };
        let cell = ["--only", "ext4 / write / psync", "--assay", &program];
        let forced = [&cell[..], &["--force-label", "device"]].concat();
        if Tracer::new(&Scratch::new().unwrap().join("tracing")).is_ok() {
            let error = check(&forced).unwrap_err();
            assert!(error.to_string().contains("labels are wrong"), "{error}");
        }
    }

    #[test]
    fn the_subset_has_forty_cells_on_all_kinds_of_storage() {
        let options = |words: &[&str]| Options::new(words).unwrap();
        let all = cells(&options(&[]));
        assert!(all.len() >= 200, "{}", all.len());
        let subset = cells(&options(&["--subset"]));
        assert!((35..=SUBSET).contains(&subset.len()), "{}", subset.len());
        let mut kinds: Vec<_> = subset.iter().map(|cell| cell.topology.name).collect();
        kinds.dedup();
        assert!(kinds.len() >= 15, "{kinds:?}");
    }
}
