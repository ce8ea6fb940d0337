//! Every command that measures on this machine, in a small way.

use crate::assay::{Bed, text};
use assay_testkit::{LoopDevice, Scratch, Unavailable, Volume};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// Storage for all of them.
pub struct Stage {
    pub volume: Volume,
    /// A device without a file system.
    pub spare: LoopDevice,
    _scratch: Scratch,
}

impl Stage {
    pub fn new() -> Result<Self, Unavailable> {
        let scratch = Scratch::new()?;
        Ok(Self {
            volume: Volume::new("ext4", 512)?,
            spare: LoopDevice::new(&scratch, "spare", 64)?,
            _scratch: scratch,
        })
    }
}

/// A command that measures.
pub struct Kind {
    pub name: &'static str,
    words: String,
    /// Repetitions with which it ends soon, and with which it does not.
    times: (&'static str, &'static str),
}

impl Kind {
    /// Words with which it ends soon.
    pub fn brief(&self) -> Vec<String> {
        self.with(self.times.0)
    }

    /// Words with which it does not end by itself.
    pub fn endless(&self) -> Vec<String> {
        self.with(self.times.1)
    }

    fn with(&self, times: &str) -> Vec<String> {
        let words = self.words.split_whitespace();
        words.map(|word| word.replace("TIMES", times)).collect()
    }
}

const JOBS: &str = "[first]\nrw=write\nbs=4k\nsize=256k\nfilename=FOLDER/run.out\n\
                    [second]\nstonewall\nrw=randread\nbs=4k\nsize=256k\nfilename=FOLDER/run.out\n";

const STEPS: &str = "about = \"Some steps\"\n\
                     [[step]]\nname = \"write\"\ndo = \"write\"\nfile = \"a\"\nsize = \"256K\"\nblock = \"4K\"\nsync = \"end\"\n\
                     [[step]]\nname = \"read\"\ndo = \"read\"\nfile = \"a\"\nblock = \"4K\"\n\
                     [[step]]\nname = \"again\"\ndo = \"read\"\nfile = \"a\"\nblock = \"64K\"\n";

/// A second of small reads and writes.
pub fn trace() -> String {
    let mut log = "fio version 3 iolog\n0 /recorded add\n0 /recorded open\n".to_owned();
    for n in 0..200_u64 {
        let (at_us, offset) = (n * 5_000, n * 7_919 % 500 * 4_096);
        let what = if n % 3 == 0 { "write" } else { "read" };
        writeln!(log, "{at_us} /recorded {what} {offset} 4096").expect("written");
    }
    log
}

/// Makes the files that they need, in a bed.
pub fn all(bed: &Bed, stage: &Stage) -> Vec<Kind> {
    let folder = text(stage.volume.point());
    let written = |name: &str, content: &str| -> PathBuf {
        let path = bed.join(name);
        fs::write(&path, content.replace("FOLDER", folder)).expect("room");
        path
    };
    let steps: Vec<&str> = STEPS.split("[[step]]").collect();
    let one = format!("{}[[step]]{}", steps[0], steps[1]);
    let files = [
        ("jobs.fio", JOBS),
        ("trace", &trace()),
        ("three.toml", STEPS),
        ("one.toml", &one),
        ("knob", "1\n"),
    ];
    let [jobs, trace, three, one, knob] = files.map(|(name, content)| written(name, content));
    for name in ["a", "b"] {
        let _ = fs::create_dir(stage.volume.point().join(name));
    }
    let [jobs, trace, three, one, knob] =
        [&jobs, &trace, &three, &one, &knob].map(|path| path.display());
    let node = stage.spare.node().display();
    let quick = "--quick --size 1M --only";
    let kind = |name, words: String| Kind {
        name,
        words,
        times: ("2", "900"),
    };
    let mut all = vec![
        kind(
            "qualify",
            format!(
                "qualify {folder} {quick} ladder-dsync,seq-read-1m,rand-read-4k --trials TIMES"
            ),
        ),
        kind(
            "profile",
            format!(
                "qualify {folder} --quick --profile usb --size 8M --only seq-read-1m --trials TIMES"
            ),
        ),
        kind(
            "check",
            format!("check {folder} --for usb --seconds 1 --trials TIMES"),
        ),
        kind(
            "mark",
            format!("mark {folder} --size 8M --seconds 1 --trials TIMES"),
        ),
        kind(
            "ping",
            format!("ping {folder} --size 1M --interval 1ms --count 5 --trials TIMES"),
        ),
        kind(
            "load-curve",
            format!("load-curve {folder} --size 1M --rates 500 --seconds 1 --trials TIMES"),
        ),
        kind(
            "sweep",
            format!(
                "sweep {folder} --vary file:{knob}=5,6 --vary read_ahead_kb=64,512 --vary mount=noatime,nodiratime {quick} read-cached --trials TIMES"
            ),
        ),
        kind(
            "sweep mkfs",
            format!(
                "sweep {node} --destroy-data --vary mkfs=ext4,ext2 {quick} read-cached --trials TIMES"
            ),
        ),
        kind(
            "sweep of a scenario",
            format!("sweep {folder} --vary file:{knob}=5,6 --trials TIMES -- scenario {three}"),
        ),
        kind(
            "sweep of dd",
            format!(
                "sweep {folder} --vary file:{knob}=5,6 --trials TIMES -- dd if=/dev/zero of=dd.out bs=64k count=16 conv=fsync"
            ),
        ),
        kind(
            "sweep of iozone",
            format!(
                "sweep {folder} --vary read_ahead_kb=64,512 --trials TIMES -- iozone -i 0 -i 1 -s 64 -r 4 -f iozone.tmp"
            ),
        ),
        kind(
            "sweep mkfs of androbench",
            format!(
                "sweep {node} --destroy-data --vary mkfs=ext4,ext2 --trials TIMES -- androbench --only sqlite-insert --transactions 5"
            ),
        ),
        kind(
            "androbench",
            format!(
                "androbench {folder} --only seq-write,sqlite-insert,sqlite-update --size 1M --transactions 5 --trials TIMES"
            ),
        ),
        kind(
            "disks",
            format!(
                "disks {folder} --size 4M --samples 20 --sample-size 64K --access-samples 20 --trials TIMES"
            ),
        ),
        kind(
            "mem",
            "mem bandwidth latency --size 1M --passes 2 --largest-set 16K --trials TIMES"
                .to_owned(),
        ),
        kind(
            "iozone",
            format!("iozone -i 0 -i 1 -s 64 -s 128 -r 4 -f {folder}/iozone.tmp --trials TIMES"),
        ),
        kind(
            "dd",
            format!("dd if=/dev/zero of={folder}/dd.out bs=64k count=16 conv=fsync --trials TIMES"),
        ),
        kind("run", format!("run {jobs} --trials TIMES")),
        kind("replay", format!("replay {trace} {folder} --trials TIMES")),
        kind(
            "scenario",
            format!("scenario {three} {folder} --trials TIMES"),
        ),
        kind(
            "scenario of one act",
            format!("scenario {one} {folder} --trials TIMES"),
        ),
        kind(
            "capacity",
            format!("capacity {folder} --limit 2M --trials TIMES"),
        ),
        kind(
            "traits",
            format!("model traits {folder} --size 32M --only read-costs --trials TIMES"),
        ),
    ];
    all.push(Kind {
        name: "soak",
        words: format!("lab soak {folder} --size 4M --passes TIMES --checkpoint 150ms"),
        times: ("3", "1000000"),
    });
    // A verdict takes two blocks.
    all.push(Kind {
        name: "paired",
        words: format!(
            "compare --paired-on {folder}/a {folder}/b {quick} read-cached --trials TIMES"
        ),
        times: ("4", "900"),
    });
    for (name, command) in [
        (
            "paired disks",
            "disks --size 1M --sample-size 64K --samples 2 --access-samples 0",
        ),
        (
            "paired androbench",
            "androbench --only sqlite-insert --transactions 5",
        ),
    ] {
        let words =
            format!("compare --paired-on {folder}/a {folder}/b --trials TIMES -- {command}");
        all.push(Kind {
            name,
            words,
            times: ("4", "900"),
        });
    }
    all
}
