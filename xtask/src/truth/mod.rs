//! `cargo xtask truth`: compares labels of assay with the kernel's own record of events.
//!
//! The program `assay` measures each cell of a table (topology, job, engine) while two private
//! instances of the kernel's tracer record the system calls of its process tree, and the requests,
//! flushes and cached pages of the device. The right label follows from these, FIEMAP and the
//! queue's settings. None of assay's own readings or judgements is used.

mod claim;
mod jobs;
mod judge;
mod operations;
pub mod stacks;
mod table;
mod topology;
mod trace;

use crate::run::{build_folder, cargo, run};
use anyhow::{Context, Result, bail};
use assay_testkit::{Scratch, text};
use claim::{Claim, claims};
use jobs::{Cached, FILE_MIB, JOBS, Neighbour, On, TruthJob};
use judge::{Scene, truth};
use operations::{MeasuredPhase, operations};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use stacks::lowest;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use table::{TruthRow, TruthTable};
use topology::{Storage, TOPOLOGIES, Topology};
use trace::Tracer;

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
                let mut truth = lowest::truth(claim, phase, &all, &device, flushed)?;
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
