//! `cargo xtask stacks --media yes`: tests media that are unplugged during a command, or swapped
//! between a command and its resumption.
//!
//! The disks are slow, so that a command stays midway for seconds.

use anyhow::{Result, bail, ensure};
use assay_testkit::{Process, Scratch, run};
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SIZE_MIB: u8 = 128;
const SPEED: &str = "throttling.bps-total=24000000,throttling.iops-total=500";
const SHORT: Duration = Duration::from_millis(100);
const LIMIT: Duration = Duration::from_secs(180);
const TRACE: &str = "/tmp/trace.iolog";
const JOBS: &str = "/tmp/jobs.fio";
const SCENARIO: &str = "/tmp/scenario.toml";

/// Properties of each disk. Its SCSI target is its index in this list plus `FIRST`.
const DISKS: [&str; 6] = [
    "serial=one",
    "serial=two",
    "wwn=0x5000c50000000001",
    "wwn=0x5000c50000000002",
    // These two have no identifiers to distinguish them.
    "share-rw=off",
    "share-rw=off",
];
const FIRST: usize = 3;

/// Pairs of disks, with `true` if an identifier distinguishes them.
const PAIRS: [(&str, usize, bool); 3] = [
    ("serial numbers", FIRST, true),
    ("WWNs", FIRST + 2, true),
    ("no identifiers", FIRST + 4, false),
];

/// Texts that must not appear in the output about an unplugged medium.
const WRONG_WORDS: &[&str] = &[
    "Fake:",
    "FAKE",
    "dead:",
    "Dead:",
    "DEAD",
    "ERRORS",
    "efective",
    "LOST",
    "nreadable",
    "came back",
    "panicked",
];

macro_rules! table {
    ($($mib:literal $code:literal $words:literal)*) => { &[$(($words, $mib, $code)),*] };
    ($($mib:literal $signal:ident $words:literal)*) => { &[$(($words, $mib, Signal::$signal)),*] };
}

/// Command on the medium `@`, MiB after which the medium is removed, exit code.
type Unplugged = (&'static str, u64, i32);

const ON_DEVICE: &[Unplugged] = table! {
    24 5 "capacity @ --destroy-data"
    160 5 "capacity @ --destroy-data"
    1 5 "capacity @ --probe --destroy-data"
    24 5 "lab soak @ --passes 3 --destroy-data"
    300 5 "lab soak @ --passes 3 --destroy-data"
    96 5 "sweep @ --destroy-data --size 64M --vary read_ahead_kb=64,128 --only seq-*"
    64 5 "sweep @ --destroy-data --size 32M --vary mkfs=ext4,ext4:-b+1024 --only seq-*"
    24 5 "sweep @ --destroy-data --vary read_ahead_kb=64,128 -- iozone -f @ -i 0 -s 32m -r 64k"
    24 5 "qualify @ --destroy-data --size 64M"
    96 5 "qualify @ --destroy-data --size 64M"
    24 5 "run /tmp/jobs.fio"
    24 1 "fio --name=w --filename=@ --rw=write --bs=64k --size=120m --direct=1"
    1 1 "fio --name=r --filename=@ --rw=randread --bs=4k --size=120m --direct=1"
    24 5 "disks @ --write --destroy-data"
    24 5 "disks @"
    96 5 "mark @ --size 64M --destroy-data"
    24 5 "mark @ --steady-state --destroy-data"
    24 5 "replay /tmp/trace.iolog @ --speed max --destroy-data"
    24 5 "scenario /tmp/scenario.toml @ --destroy-data"
    24 5 "scenario flashing @ --scale 0.1 --destroy-data"
    24 5 "model traits @ --size 64M --destroy-data"
    1 5 "ping @ --count 1000 --interval 10ms"
    96 5 "compare --paired-on @ /dev/vda --size 64M --only seq-* --destroy-data"
    24 5 "iozone -f @ -i 0 -i 1 -s 120m -r 64k -e --destroy-data"
    24 1 "dd if=/dev/zero of=@ bs=1M count=100 conv=fsync"
    24 1 "dd if=/dev/zero of=@ bs=1M oflag=direct"
    24 0 "dd if=@ of=/dev/null bs=1M iflag=direct"
};

const ON_FILES: &[Unplugged] = table! {
    24 5 "capacity @"
    130 5 "capacity @"
    100 5 "lab soak @ --size 64M --passes 3"
    64 5 "sweep @ --size 32M --vary read_ahead_kb=64,128 --only seq-*"
    24 5 "qualify @ --size 32M"
    64 5 "qualify @ --size 32M"
    24 5 "run /tmp/jobs.fio"
    24 1 "fio --name=w --directory=@ --rw=write --bs=64k --size=90m --direct=1"
    96 5 "disks @ --size 64M"
    96 5 "mark @ --size 64M"
    24 5 "replay /tmp/trace.iolog @ --speed max"
    24 5 "scenario /tmp/scenario.toml @"
    8 5 "scenario app-install @ --scale 0.1"
    96 5 "model traits @ --size 64M"
    17 5 "ping @ --size 16M --count 1000 --interval 10ms"
    24 5 "iozone -f @/file -i 0 -i 1 -s 90m -r 64k -e"
    12 5 "androbench @ --size 8M"
    24 1 "dd if=/dev/zero of=@/file bs=1M oflag=direct"
};

/// Resumable command on `@`, MiB after which it is ended, and the signal that ends it.
type Resumed = (&'static str, u64, Signal);

const RESUMED: &[Resumed] = table! {
    60 KILL "lab soak @ --size 48M --passes 2 --checkpoint 1s --destroy-data"
    100 INT "sweep @ --size 16M --trials 2 --vary read_ahead_kb=64,128 --only seq-read-1m,seq-write-1m --destroy-data"
    60 KILL "sweep @ --trials 2 --vary read_ahead_kb=64,128 --destroy-data -- iozone -f @ -i 0 -s 16m -r 64k -e"
};

/// Returns arguments for QEMU that add the disks.
pub fn machine(folder: &Path) -> Result<String> {
    let mut words = String::new();
    for (place, properties) in DISKS.iter().enumerate() {
        let (id, file) = (format!("m{place}"), folder.join(format!("m{place}")));
        File::create(&file)?.set_len(u64::from(SIZE_MIB) << 20)?;
        words += &format!(
            " -drive if=none,id={id},format=raw,{SPEED},file={} -device scsi-hd,drive={id},{properties},scsi-id={}",
            file.display(),
            FIRST + place
        );
    }
    Ok(words)
}

/// Runs all cases whose name contains `only`; called in the guest.
pub fn inside(only: &str) -> Result<()> {
    make_files()?;
    let mut cases: Vec<(String, Box<dyn Fn() -> Faults>)> = Vec::new();
    for (table, folder) in [(ON_DEVICE, None), (ON_FILES, Some("/mnt"))] {
        for &(words, mib, code) in table {
            let place = if folder.is_some() {
                "file system"
            } else {
                "device"
            };
            let name = format!("unplug {place} after {mib} MiB: {words}");
            cases.push((name, Box::new(move || unplug(words, folder, mib, code))));
        }
    }
    for &(identity, first, is_told) in &PAIRS {
        for resumed in RESUMED {
            let name = format!("swap, {identity}: {}", resumed.0);
            cases.push((name, Box::new(move || swap(resumed, first, is_told))));
        }
    }
    let (mut right, mut wrong) = (0, 0);
    for (name, case) in cases
        .iter()
        .filter(|(name, _)| only.split('|').any(|part| name.contains(part)))
    {
        let faults = case().unwrap_or_else(|error| vec![format!("{error:#}")]);
        if faults.is_empty() {
            right += 1;
            println!("ok: {name}");
        } else {
            wrong += 1;
            println!("WRONG: {name}: {}", faults.join("; "));
        }
    }
    println!("media: {right} right, {wrong} wrong");
    ensure!(wrong == 0 && right > 0, "{wrong} cases are wrong");
    Ok(())
}

/// Faults found in a case, or an error if it cannot be set up.
type Faults = Result<Vec<String>>;

/// Removes the disk during a command on it or on its file system.
fn unplug(words: &str, folder: Option<&str>, mib: u64, code: i32) -> Faults {
    eject()?;
    let device = insert(FIRST)?;
    let node = format!("/dev/{device}");
    let jobs = if let Some(folder) = folder {
        run(&[
            "mkfs.ext4",
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            &node,
        ])?;
        run(&["mount", &node, folder])?;
        format!("directory={folder}")
    } else {
        format!("filename={node}")
    };
    fs::write(
        JOBS,
        format!("[w]\n{jobs}\nrw=write\nbs=64k\nsize=80m\ndirect=1\n"),
    )?;
    let before = moved(&device)?;
    let session = OwnStore::new()?;
    let mut running = session.start(&words.replace('@', folder.unwrap_or(&node)))?;
    let early = running.until(|| Ok(moved(&device)? >= before + (mib << 20)))?;
    fs::write(format!("/sys/block/{device}/device/delete"), "1")?;
    let ended = running.until(|| Ok(false))?;
    drop(running);
    let said = session.said()?;
    let mut faults = Vec::new();
    let mut expect = |is_right: bool, fault: &str| {
        if !is_right {
            faults.push(fault.to_owned());
        }
    };
    expect(early.is_none(), "it ended before the disk went");
    expect(
        ended == Some(code),
        &format!("exit {ended:?} instead of {code}"),
    );
    expect(
        said.contains("went away"),
        "it does not say that it went away",
    );
    let in_its_place = Path::new(&node).is_file();
    expect(!in_its_place, "a file is in its place");
    if in_its_place {
        fs::remove_file(&node)?;
    }
    let left = leftovers();
    expect(left.is_empty(), &format!("processes are left: {left:?}"));
    let mut told = said.clone();
    for asked in ["list", "report last"] {
        let (code, said) = session.run(asked)?;
        // These commands store no run, or had not begun their first step.
        let is_none = match words.split(' ').next() {
            Some("dd" | "fio") => said.contains("no store at"),
            Some("scenario") => said.contains("no runs or imports yet"),
            _ => false,
        };
        expect(
            code == Some(0) || is_none,
            &format!("{asked}: exit {code:?}: {}", end_of(&said)),
        );
        told += &said;
    }
    for word in WRONG_WORDS.iter().filter(|word| told.contains(*word)) {
        expect(
            false,
            &format!("it says {word}: {}", line_with(&told, word)),
        );
    }
    if !faults.is_empty() {
        faults.push(end_of(&said));
    }
    if let Some(folder) = folder {
        let _ = run(&["umount", folder]).or_else(|_| run(&["umount", "-l", folder]));
    }
    Ok(faults)
}

/// Swaps the disk between a command and its resumption.
fn swap(resumed: &Resumed, first: usize, is_told: bool) -> Faults {
    let &(begin, mib, signal) = resumed;
    let (command, _) = begin.split_once(" @").unwrap_or_default();
    let resume = format!("{command} --resume last");
    eject()?;
    fill(&insert(first + 1)?)?;
    eject()?;
    let device = insert(first)?;
    let node = format!("/dev/{device}");
    let before = moved(&device)?;
    let session = OwnStore::new()?;
    let mut running = session.start(&begin.replace('@', &node))?;
    let early = running.until(|| Ok(moved(&device)? >= before + (mib << 20)))?;
    ensure!(early.is_none(), "it ended: {}", end_of(&session.said()?));
    running.process.signal(signal);
    running.until(|| Ok(false))?;
    drop(running);
    let start = Instant::now();
    while !leftovers().is_empty() {
        ensure!(start.elapsed() < LIMIT, "it goes on after {signal:?}");
        sleep(SHORT);
    }
    eject()?;
    let other = insert(first + 1)?;
    ensure!(
        other == device,
        "the other disk is {other} instead of {device}"
    );
    let mut faults = Vec::new();
    let named = format!("{resume} --destroy-data={node}");
    let unnamed = format!("{resume} --destroy-data");
    for words in [&resume, &unnamed, &named] {
        // For disks without identifiers, a soak that names the device runs and finds other data.
        let may = !is_told && words == &named;
        let (code, said) = session.run(words)?;
        let is_kept = is_filled(&device)?;
        if may != matches!(code, Some(0 | 4)) || may == is_kept || (!may && code != Some(2)) {
            let kept = if is_kept { "kept" } else { "overwritten" };
            faults.push(format!("{words}: exit {code:?}, {kept}: {}", end_of(&said)));
        }
    }
    if is_told {
        eject()?;
        insert(first)?;
        let (code, said) = session.run(&unnamed)?;
        if code != Some(0) {
            faults.push(format!("on its own disk: exit {code:?}: {}", end_of(&said)));
        }
    }
    Ok(faults)
}

/// Private store, and the output of the last command.
struct OwnStore(Scratch);

impl OwnStore {
    fn new() -> Result<Self> {
        Ok(Self(Scratch::new()?))
    }

    fn start(&self, words: &str) -> Result<StartedCommand> {
        let said = File::create(self.0.join("said"))?;
        let mut command = Command::new("/assay");
        command
            .args(words.split(' '))
            .env("XDG_DATA_HOME", self.0.path());
        command
            .stdin(Stdio::null())
            .stdout(said.try_clone()?)
            .stderr(said);
        let process = Process::start(&mut command)?;
        Ok(StartedCommand { process })
    }

    fn said(&self) -> Result<String> {
        let said = fs::read(self.0.join("said"))?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    fn run(&self, words: &str) -> Result<(Option<i32>, String)> {
        let code = self.start(words)?.until(|| Ok(false))?;
        Ok((code, self.said()?))
    }
}

struct StartedCommand {
    process: Process,
}

impl StartedCommand {
    /// Waits until `is_so` holds and returns `None`, or until the command ends and returns its
    /// exit code, -1 if a signal ended it.
    fn until(&mut self, is_so: impl Fn() -> Result<bool>) -> Result<Option<i32>> {
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            if let Some(status) = self.process.child().try_wait()? {
                return Ok(Some(status.code().unwrap_or(-1)));
            }
            if is_so()? {
                return Ok(None);
            }
            sleep(SHORT);
        }
        bail!(
            "after {} s it has neither ended nor come that far",
            LIMIT.as_secs()
        )
    }
}

/// Makes the files that commands read.
fn make_files() -> Result<()> {
    let mut trace = String::from("fio version 2 iolog\nf add\nf open\n");
    for block in 0..1600 {
        trace += &format!("f write {} 65536\n", block * 65536);
    }
    fs::write(TRACE, trace + "f close\n")?;
    let scenario = "about = \"Writes\"\nreserve = \"8M\"\n[[step]]\nname = \"w\"\ndo = \"write\"\nfile = \"@device\"\nsize = \"48M\"\n\
                    direct = true\n";
    fs::write(SCENARIO, scenario)?;
    Ok(())
}

/// Returns the path of a disk in sysfs, on the adapter that has these disks.
fn address(target: usize) -> Result<PathBuf> {
    for entry in fs::read_dir("/sys/bus/scsi/devices")? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if let Some(host) = name.strip_suffix(":0:2:0") {
            return Ok(Path::new("/sys/bus/scsi/devices").join(format!("{host}:0:{target}:0")));
        }
    }
    bail!("the machine has no SCSI disks")
}

/// Removes all disks of the tests.
fn eject() -> Result<()> {
    for target in (FIRST..).take(DISKS.len()) {
        let delete = address(target)?.join("delete");
        if delete.exists() {
            fs::write(delete, "1")?;
        }
    }
    Ok(())
}

/// Adds a disk and returns its kernel name.
fn insert(target: usize) -> Result<String> {
    let address = address(target)?;
    let name = address.file_name().unwrap_or_default().to_string_lossy();
    let host = name.split(':').next().unwrap_or_default();
    fs::write(
        format!("/sys/class/scsi_host/host{host}/scan"),
        format!("0 {target} 0"),
    )?;
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(Ok(entry)) = fs::read_dir(address.join("block"))
            .into_iter()
            .flatten()
            .next()
        {
            let name = entry.file_name().into_string().unwrap_or_default();
            if Path::new("/dev").join(&name).exists() {
                // Wait until the kernel's own reads have ended.
                sleep(10 * SHORT);
                return Ok(name);
            }
        }
        sleep(SHORT);
    }
    bail!("the disk at {} does not appear", address.display())
}

/// Returns the bytes that a disk has read and written, as the kernel counts them.
fn moved(device: &str) -> Result<u64> {
    let stat = fs::read_to_string(format!("/sys/block/{device}/stat"))?;
    let numbers: Vec<u64> = stat.split_whitespace().flat_map(str::parse).collect();
    Ok((numbers[2] + numbers[6]) * 512)
}

/// Returns the content of a MiB, which is different for each.
fn pattern(mib: u8) -> Vec<u8> {
    vec![mib + 1; 1 << 20]
}

fn fill(device: &str) -> Result<()> {
    let mut file = File::options().write(true).open(format!("/dev/{device}"))?;
    for mib in 0..SIZE_MIB {
        file.write_all(&pattern(mib))?;
    }
    Ok(file.sync_all()?)
}

fn is_filled(device: &str) -> Result<bool> {
    let mut file = File::open(format!("/dev/{device}"))?;
    let mut block = pattern(0);
    for mib in 0..SIZE_MIB {
        file.read_exact(&mut block)?;
        if block != pattern(mib) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Lists running processes of assay; ended ones have no program.
fn leftovers() -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path());
    let of_assay = names.filter(|path| {
        fs::read_link(path.join("exe")).is_ok_and(|program| program.starts_with("/assay"))
    });
    of_assay.map(|path| path.display().to_string()).collect()
}

/// Returns the last six lines of a text that are not empty, joined into one.
fn end_of(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(6)..].join(" | ")
}

fn line_with<'a>(said: &'a str, word: &str) -> &'a str {
    said.lines()
        .find(|line| line.contains(word))
        .unwrap_or_default()
}
