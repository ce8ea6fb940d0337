//! Running a script with either dd, and comparing what came of it.

use crate::assay::pattern;
use assay_testkit::Scratch;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What came of a script.
#[derive(Debug)]
pub struct Came {
    /// Exit code, or the negative number of the signal.
    pub code: i32,
    pub stdout: Vec<u8>,
    /// Lines of standard error, times and rates left out.
    pub stderr: Vec<String>,
    /// Contents, length and blocks of files.
    files: BTreeMap<String, (Vec<u8>, u64)>,
}

/// A folder for each of both, with programs that are called `dd`.
pub struct Both {
    scratch: Scratch,
}

impl Both {
    pub fn new() -> Self {
        let scratch = Scratch::new().expect("a folder");
        for (name, program) in [
            ("gnu", "/usr/bin/dd"),
            ("assay", env!("CARGO_BIN_EXE_assay")),
        ] {
            let bin = scratch.join(&format!("{name}.bin"));
            fs::create_dir(&bin).expect("a folder");
            symlink(program, bin.join("dd")).expect("a link");
        }
        Self { scratch }
    }

    /// Runs the same script with each, in a new folder; the lines that only
    /// assay has are given too.
    pub fn compare(&self, script: &str) -> Vec<String> {
        let gnu = self.run("gnu", script);
        let mut assay = self.run("assay", script);
        let mut own = Vec::new();
        let last = assay.stderr.last().map_or("", String::as_str);
        assert!(!is_evidence(last), "scripts take dd's last line: {last}");
        assay.stderr.retain(|line| {
            let is_own = is_evidence(line);
            if is_own {
                own.push(line.clone());
            }
            !is_own
        });
        assert_same(&assay, &gnu, script);
        own
    }

    pub fn run(&self, name: &str, script: &str) -> Came {
        let folder = self.folder(name);
        let output = self.command(name, script, &folder).output();
        self.came(output.expect("a shell"), &folder)
    }

    /// A new folder with something to copy.
    pub fn folder(&self, name: &str) -> std::path::PathBuf {
        let folder = self.scratch.join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("room");
        write("in", &pattern(3000));
        write("big", &pattern(300_000));
        write("old", &[b'#'; 2000]);
        write("lines", b"one\nthree\nseventeen\n\nlast");
        write("records", b"one  three   x    ");
        write("all", &(0..=255).collect::<Vec<u8>>());
        let mut holes = vec![0; 200_000];
        holes[70_000] = 1;
        write("holes", &holes);
        folder
    }

    pub fn command(&self, name: &str, script: &str, folder: &Path) -> Command {
        let bin = self.scratch.join(&format!("{name}.bin"));
        let mut command = assay_testkit::command("timeout");
        command
            .args(["60", "sh", "-c", script])
            .current_dir(folder)
            .env("LC_ALL", "C")
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("XDG_DATA_HOME", self.scratch.join("data"))
            .stdin(Stdio::null());
        command
    }

    pub fn came(&self, output: Output, folder: &Path) -> Came {
        let status = output.status;
        let text = String::from_utf8(output.stderr).expect("text");
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let meta = fs::metadata(&path).expect("it is there");
            if meta.is_file() {
                let blocks = if name.starts_with("sparse") {
                    meta.blocks()
                } else {
                    0
                };
                let bytes = fs::read(&path).expect("it can be read");
                files.insert(name.into_owned(), (bytes, blocks));
            }
        }
        Came {
            code: status
                .code()
                .unwrap_or_else(|| -status.signal().unwrap_or(0)),
            stdout: output.stdout,
            stderr: text.lines().map(without_time).collect(),
            files,
        }
    }
}

/// Panics with what differs, and only that.
pub fn assert_same(assay: &Came, gnu: &Came, script: &str) {
    assert_eq!(assay.stderr, gnu.stderr, "{script}");
    assert_eq!(assay.code, gnu.code, "{script}");
    assert!(
        assay.stdout == gnu.stdout,
        "standard output differs: {script}"
    );
    let names = |came: &Came| came.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(assay), names(gnu), "{script}");
    for (name, (bytes, blocks)) in &gnu.files {
        let (own, own_blocks) = &assay.files[name];
        assert_eq!(own.len(), bytes.len(), "length of {name}: {script}");
        assert!(own == bytes, "{name} differs: {script}");
        assert_eq!(own_blocks, blocks, "blocks of {name}: {script}");
    }
}

/// `1 byte copied, 0.1 s, 2 kB/s` without what differs each time.
fn without_time(line: &str) -> String {
    let one = |part: &str| match part.split_once(" copied, ") {
        Some((bytes, _)) => format!("{bytes} copied"),
        None => part.to_owned(),
    };
    line.split('\r').map(one).collect::<Vec<_>>().join("\r")
}

/// Whether a line is the one that dd does not have.
fn is_evidence(line: &str) -> bool {
    let begins = [
        "device: ",
        "device, not safe yet: ",
        "page cache: ",
        "mixed: ",
        "unknown: ",
        "nothing reached a device",
        "nothing was written",
        "no device: ",
    ];
    begins.iter().any(|begin| line.starts_with(begin))
}
