//! `assay iozone`: the same text as iozone 3.489 where programs read it, and
//! what each cell measured.

use crate::assay::{Bed, Running};
use crate::machine;
use assay_testkit::{Volume, needs, or_skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What iozone writes from its banner's flags on, with figures replaced by `N`:
/// rows as places of figures; without the blanks at the ends of other lines.
fn shape(text: &str) -> Vec<String> {
    let flags = text.find("\tRun began").expect("a banner");
    let lines = text[flags..].lines().skip(1);
    let lines = lines.filter(|line| !is_incidental(line));
    let mut shapes: Vec<String> = lines.map(line_shape).collect();
    while shapes.last().is_some_and(String::is_empty) {
        shapes.pop();
    }
    shapes
}

/// The command has another store; iozone warns of timers as it pleases.
fn is_incidental(line: &str) -> bool {
    let incidental = [
        "\tCommand line used:",
        "Timer resolution",
        "reported inaccurate",
    ];
    incidental.iter().any(|start| line.starts_with(start))
}

fn line_shape(line: &str) -> String {
    if is_row(line) {
        let mut ends: Vec<usize> = Vec::new();
        let mut start = 24;
        for (at, byte) in line.bytes().enumerate().skip(24) {
            if byte == b' ' {
                start = at + 1;
            } else if line.as_bytes().get(at + 1).is_none_or(|&next| next == b' ') {
                // Figures of 9 digits fill their columns and touch.
                let touching = (at + 1 - start - 1) / 9;
                ends.extend((0..=touching).rev().map(|figure| at - 9 * figure));
            }
        }
        let ends: Vec<String> = ends.iter().map(usize::to_string).collect();
        return format!("{} {} {}", &line[..24], ends.join(" "), line.len());
    }
    if line.starts_with("\tChild[") {
        let words = line
            .split_whitespace()
            .map(|word| match word.parse::<f64>() {
                Ok(_) => "N",
                Err(_) => word,
            });
        return words.collect::<Vec<_>>().join(" ");
    }
    let Some((start, figures)) = line.rsplit_once(['=', '"']) else {
        return line.trim_end().to_owned();
    };
    if line.contains("\"  \"") || line.contains("cache") || line.contains("Resolution") {
        return line.trim_end().to_owned();
    }
    let words = figures.split_whitespace().map(|word| {
        if word.parse::<f64>().is_ok() {
            "N"
        } else {
            word
        }
    });
    format!("{start} {}", words.collect::<Vec<_>>().join(" "))
}

fn is_row(line: &str) -> bool {
    let sizes = line.get(..24).map(str::split_whitespace);
    sizes.is_some_and(|words| {
        let words: Vec<&str> = words.collect();
        words.len() == 2 && words.iter().all(|word| word.parse::<u64>().is_ok())
    })
}

fn in_folder(command: Command, folder: &Path) -> String {
    both_in_folder(command, folder).0
}

/// Standard output and standard error.
fn both_in_folder(mut command: Command, folder: &Path) -> (String, String) {
    let output = command.current_dir(folder).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}\n{said}");
    (text, said.into_owned())
}

#[test]
fn the_text_is_that_of_iozone() {
    needs!("iozone");
    let _alone = machine::alone();
    for line in [
        "-Rab out.xlsx -g 16M -n 1M -w -e -C",
        "-i0 -i1 -s 64M -r 4k -I",
        "-t 2 -s 16M -r 64k",
        "-az -n 64 -g 256",
        "-s 1M -r 64 -r 128 -s 2m -O -+n -i0 -i1 -i2",
        "-s 64 -r 16 -E -i 0 -i 4 -i 10",
        "-A -g 64 -n 64",
        "-l 1 -u 2 -T -s 1M -r 64k -i 0 -R -C -O",
        "-a -n 16m -g 32m -i 0 -R",
        "-B -G -s 64 -r 16",
        "-B -s 64 -r 16 -i0 -i7",
        "-B -a -n 64 -g 64 -i0 -i6",
        "-N -+u -s 128 -r 16 -i0 -i3 -i5",
        "-J 1 -s 64 -r 16 -i0 -i1",
        "-t 2 -J 1 -s 64 -r 16 -i0 -i1",
        "-Q -s 64 -r 16 -i0 -i1 -i2",
        "-W -s 64 -r 16 -i0 -i1",
        "-W -t 2 -s 64 -r 16 -i0",
        "-m -p -c -s 64 -r 16 -i0 -i1",
        "-o -j 3 -s 64 -r 4 -i0 -i5",
        "-+D -V 7 -s 64 -r 4 -i0 -i1",
        "-+r -+d -s 64 -r 4 -i0 -i1",
        "-B -D -e -s 64 -r 16 -i0 -i1",
        "-x -t 2 -s 64 -r 16 -i0 -i2",
        "-t 2 -+p 50 -s 64 -r 16 -i0 -i8",
        "-t 2 -+p 50 -+B -s 64 -r 16 -i0 -i8",
        "-t 2 -s 64 -r 16 -i0 -i6 -i7 -F one two",
        "-a -n 64 -g 256 -+x 4 -i0",
        "-a -n 64 -g 128 -y 8 -q 32 -i0 -i1 -L 64 -S 512",
    ] {
        let bed = Bed::new();
        let words: Vec<&str> = line.split(' ').collect();
        let folder = bed.folder();
        let mut theirs = assay_testkit::command("iozone");
        theirs.args(&words);
        let theirs = in_folder(theirs, &folder);
        for left in ["iozone.tmp", "out.xlsx"] {
            let _ = fs::remove_file(folder.join(left));
        }
        let ours = [&["iozone"], words.as_slice()].concat();
        let ours = in_folder(bed.command(&ours), &folder);
        assert_eq!(shape(&ours), shape(&theirs), "iozone {line}");
        let kept = folder.join("iozone.tmp").exists();
        assert_eq!(kept, line.contains(" -w"), "iozone {line}");
    }
}

#[test]
fn a_workbook_is_written_and_an_old_name_gets_an_x() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = ["iozone", "-ab", "w.xls", "-n", "64", "-g", "128", "-i0"];
    let text = in_folder(bed.command(&words), &folder);
    assert!(text.contains("\"Writer report\""), "{text}");
    let workbook = fs::read(folder.join("w.xlsx")).expect("a workbook");
    assert!(workbook.starts_with(b"PK"));
}

#[test]
fn files_that_hold_something_are_left_alone_and_missing_ones_named() {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = folder.join("mine");
    fs::write(&file, vec![7; 1 << 20]).expect("a file");
    let path = file.to_str().expect("UTF-8");
    let ended = bed.run(&["iozone", "-i", "0", "-s", "64", "-f", path]);
    assert_eq!(ended.code, Some(2), "{:?}", ended.err);
    assert!(
        ended.err.join("\n").contains("is not overwritten"),
        "{:?}",
        ended.err
    );
    // It may be read, and is still there afterwards.
    let ended = bed.run(&["iozone", "-i", "1", "-s", "64", "-f", path]);
    assert_eq!(ended.code, Some(0), "{:?}", ended.err);
    assert_eq!(fs::read(&file).expect("a file"), vec![7; 1 << 20]);
    let none = folder.join("none");
    let none = none.to_str().expect("UTF-8");
    let ended = bed.run(&["iozone", "-i", "1", "-s", "64", "-f", none]);
    assert_eq!(ended.code, Some(2), "{:?}", ended.err);
    assert!(ended.err.join("\n").contains("-i 0 -w"), "{:?}", ended.err);
    assert!(ended.out.is_empty(), "{}", ended.out);
}

#[test]
fn children_that_cannot_be_started_end_the_run_and_hold_up_nobody() {
    needs!(root, "setpriv", "prlimit");
    let bed = Bed::new();
    let nobody = bed.command_of_nobody(&["iozone", "-t", "200", "-i", "0", "-s", "64k", "-f"]);
    let mut command = assay_testkit::command("prlimit");
    // Of all that the user runs: enough for the two processes of assay.
    command.arg("--nproc=60").arg(nobody.get_program());
    let file = bed.join("children");
    for word in nobody.get_args() {
        command.arg(word);
        if word == "-f" {
            command.arg(&file);
        }
    }
    let ended = Running::start(&mut command).end();
    assert_eq!(ended.code, Some(1), "{:?}", ended.err);
    assert!(
        ended.err.join("\n").contains("cannot start child"),
        "{:?}",
        ended.err
    );
}

#[test]
fn a_pattern_that_is_not_there_ends_with_4() {
    let bed = Bed::new();
    let file = bed.folder().join("f");
    let path = file.to_str().expect("UTF-8");
    let write = ["iozone", "-i0", "-s64", "-r16", "-w", "-V7", "-f", path];
    assert_eq!(bed.run(&write).code, Some(0));
    let read = [
        "iozone", "-i1", "-i2", "-s64", "-r16", "-w", "-V7", "-f", path,
    ];
    let ended = bed.run(&read);
    assert_eq!(ended.code, Some(0), "{:?}", ended.err);
    let mut bytes = fs::read(&file).expect("it was kept");
    bytes[40_000] ^= 1;
    fs::write(&file, bytes).expect("it is ours");
    let ended = bed.run(&["iozone", "-i1", "-s64", "-r16", "-w", "-V7", "-f", path]);
    assert_eq!(ended.code, Some(4), "{:?}", ended.err);
    assert!(
        ended.err.join("\n").contains("byte 40000"),
        "{:?}",
        ended.err
    );
}

#[test]
fn direct_cells_measure_the_device_and_small_buffered_reads_the_cache() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 96));
    let bed = Bed::new();
    let file = volume.point().join("f");
    let path = file.to_str().expect("UTF-8");
    let line = ["iozone", "-i0", "-i1", "-s", "16m", "-r", "1m", "-f", path];
    let direct = bed.run(&[line.as_slice(), &["-I"]].concat());
    assert_eq!(direct.code, Some(0), "{:?}", direct.err);
    let said = direct.err.join("\n");
    let every = "Reader, Re-Reader: Every figure measured the device";
    assert!(said.contains(every), "{said}");
    // Scripts take rows by their position.
    assert!(!direct.out.contains('#'), "{}", direct.out);
    let caveat = format!("# {} is a loop device over", volume.device().name());
    assert!(said.contains(&caveat), "{said}");
    let buffered = bed.run(&line);
    let (said, every) = (
        buffered.err.join("\n"),
        "Every figure measured the page cache",
    );
    assert!(said.contains(every), "{said}");
}

/// A group of processes with a limit of memory; gone with its value.
struct MemoryLimit(PathBuf);

impl MemoryLimit {
    fn new(bytes: u64) -> Option<Self> {
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let v2 = Path::new("/sys/fs/cgroup");
        let (root, limit) = if v1.join("memory.limit_in_bytes").exists() {
            (v1, "memory.limit_in_bytes")
        } else {
            (v2, "memory.max")
        };
        let group = Self(root.join(format!("assay-test-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join(limit), bytes.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// The letters of a test in the block of marks, by file size in KiB.
fn letters(text: &str, test: &str) -> Vec<(u64, String)> {
    let marks = text.lines().filter_map(|line| line.strip_prefix("# "));
    let mut lines = marks.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let head = lines.find(|words| words.first() == Some(&"kB"));
    let head = head.expect("a head");
    let column = head.iter().position(|word| *word == test).expect(test);
    let rows = lines.filter_map(|words| Some((words.first()?.parse().ok()?, words)));
    rows.map(|(file, words)| (file, words[column].to_owned()))
        .collect()
}

/// Reads of files that the memory has room for find them there; larger ones ask
/// the device, as an iozone of twice the memory does on a board.
#[test]
fn the_page_cache_ends_where_memory_does() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 320));
    let Some(limit) = MemoryLimit::new(64 << 20) else {
        assay_testkit::skip("no group of processes can be given a limit of memory here");
        return;
    };
    let bed = Bed::new();
    let file = volume.point().join("f");
    let words = [
        "iozone", "-a", "-i0", "-i1", "-n", "8m", "-g", "256m", "-r", "1m", "-f",
    ];
    let command = bed.command(&[words.as_slice(), &[file.to_str().expect("UTF-8")]].concat());
    let mut limited = assay_testkit::command("sh");
    limited.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
    limited.arg(limit.0.join("cgroup.procs"));
    limited.arg(command.get_program()).args(command.get_args());
    let (_, text) = both_in_folder(limited, &bed.folder());
    for test in ["read", "reread"] {
        let letters = letters(&text, test);
        let cached = letters
            .iter()
            .take_while(|(_, letter)| letter == "P")
            .count();
        let last = letters[..cached].last().map(|(file, _)| *file);
        assert!(last.is_some_and(|kib| kib < 64 << 10), "{test}: {text}");
        let beyond = letters[cached..].iter().map(|(_, letter)| letter.as_str());
        let beyond: Vec<&str> = beyond.collect();
        assert!(
            !beyond.is_empty() && !beyond.contains(&"P"),
            "{test}: {text}"
        );
        assert_eq!(beyond.last(), Some(&"D"), "{test}: {text}");
    }
    assert!(
        text.contains("per file, the page cache was measured"),
        "{text}"
    );
}

#[test]
fn what_must_fail_in_the_end_is_refused_before() {
    let bed = Bed::new();
    let folder = bed.folder();
    let refused = |words: &[&str]| {
        let file = folder.join("f");
        let all = [&["iozone", "-f", file.to_str().unwrap()], words].concat();
        let line = bed.refused(&all);
        assert!(!file.exists() && !bed.store().exists());
        line
    };
    let line = refused(&["-i", "0", "-s", "99999g", "-r", "1m"]);
    assert!(line.contains("not enough space for 1 file"), "{line}");
    let line = refused(&["-i", "0", "-s", "64k", "-b", "/no/such/folder/o.xls"]);
    assert!(line.contains("no folder /no/such/folder"), "{line}");
}

/// Both would be called iozone.tmp.
#[test]
fn two_runs_in_one_folder_do_not_share_a_file() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = ["iozone", "-i0", "-s", "4g", "-r", "64k"];
    let start = |words: &[&str]| Running::start(bed.command(words).current_dir(&folder));
    let first = start(&words);
    let file = folder.join("iozone.tmp");
    crate::assay::until("it writes", || {
        fs::metadata(&file).is_ok_and(|file| file.len() > 1 << 20)
    });
    let second = start(&["iozone", "-i0", "-s", "64k"]).end();
    assert_eq!(second.code, Some(2), "{:?}", second.err);
    let said = second.err.join("\n");
    assert!(
        said.contains("iozone.tmp now") && said.contains("-f"),
        "{said}"
    );
    let third = start(&["iozone", "-i0", "-s", "64k", "-f", "other"]).end();
    assert_eq!(third.code, Some(0), "{:?}", third.err);
    first.signal(rustix::process::Signal::INT);
    assert_eq!(first.end().code, Some(130));
    assert!(!file.exists());
    let again = start(&["iozone", "-i0", "-s", "64k"]).end();
    assert_eq!(again.code, Some(0), "{:?}", again.err);
}

/// Not so iozone's own: a sheet with notes of its user's would be lost.
#[test]
fn a_workbook_is_written_over_one_of_assays_only() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = ["iozone", "-i0", "-s", "64k", "-b", "w.xlsx"];
    let run = || Running::start(bed.command(&words).current_dir(&folder)).end();
    let workbook = folder.join("w.xlsx");
    fs::write(&workbook, "").expect("room");
    assert_eq!(run().code, Some(0), "an empty file holds nothing");
    assert_eq!(run().code, Some(0), "its own");
    assert!(fs::read(&workbook).expect("it is there").starts_with(b"PK"));
    fs::write(&workbook, "of somebody").expect("room");
    let refusal = run().refusal();
    assert!(
        refusal.contains("w.xlsx is no workbook of assay's"),
        "{refusal}"
    );
    assert_eq!(fs::read(&workbook).expect("it is there"), b"of somebody");
}

/// Names of the files of latencies, and the offsets and lengths in them.
fn latency_files(folder: &Path) -> Vec<(String, Vec<[String; 2]>)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let record = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [offset, latency, bytes] => {
                // Less than nothing where iozone takes off too much for its clock.
                latency.parse::<i128>().ok()?;
                Some([offset, bytes].map(str::to_owned))
            }
            _ => None,
        }
    };
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "dat"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("text");
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.into_owned(), text.lines().filter_map(record).collect())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn files_of_latencies_are_those_of_iozone() {
    needs!("iozone");
    let _alone = machine::alone();
    for line in [
        "-Q -s 64 -r 16 -i0 -i1 -i2 -i3",
        // To the end: where children stop each other is chance.
        "-x -Q -t 2 -s 64 -r 16 -i0 -i1 -i2 -i3 -i5 -i9",
    ] {
        let bed = Bed::new();
        let words: Vec<&str> = line.split(' ').collect();
        let mut theirs = assay_testkit::command("iozone");
        theirs.args(&words);
        let (folder, other) = (bed.folder(), bed.folder_named("theirs"));
        in_folder(theirs, &other);
        let ours = [&["iozone"], words.as_slice()].concat();
        in_folder(bed.command(&ours), &folder);
        let (ours, theirs) = (latency_files(&folder), latency_files(&other));
        assert!(!theirs.is_empty(), "iozone {line}");
        // Of strides iozone's children leave some out at the end, by chance.
        for (name, records) in &theirs {
            let same = ours.iter().find(|(own, _)| own == name);
            let same = same.is_some_and(|(_, own)| own.starts_with(records));
            assert!(same, "iozone {line}: {name} {records:?}\n{ours:#?}");
        }
        // Its own are known, and may be written over.
        in_folder(
            bed.command(&[&["iozone"], words.as_slice()].concat()),
            &other,
        );
    }
}

/// What was written is in no page cache after that.
#[test]
fn mounting_again_empties_the_page_cache() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 192));
    let bed = Bed::new();
    let file = volume.point().join("f");
    let file = file.to_str().expect("UTF-8");
    let point = volume.point().to_str().expect("UTF-8");
    let words = [
        "iozone", "-i0", "-i1", "-s", "128m", "-r", "1m", "-f", file, "-U", point,
    ];
    let ended = bed.run(&words);
    assert_eq!(ended.code, Some(0), "{:?}", ended.err);
    let said = ended.err.join("\n");
    let letters = |test| letters(&said, test)[0].1.clone();
    assert_eq!(letters("read"), "D", "{said}");
    let rereads = bed.run(&words[..9]).err.join("\n");
    assert!(
        rereads.contains("Every figure measured the page cache"),
        "{rereads}"
    );
}
