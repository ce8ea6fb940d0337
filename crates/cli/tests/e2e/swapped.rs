//! Root measures in a folder of another user, who renames assay's private folder, or the
//! folder itself, and puts a link in its place: nothing outside of it changes.

use crate::assay::{Bed, Ended, Running, test_folders, text, until};
use crate::scenario::BUILT_IN;
use assay_testkit::needs;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

const NOBODY: u32 = 65_534;
/// Names that assay gives files in its folders.
const NAMES: [&str; 19] = [
    "owner.json",
    "data",
    "fresh",
    "file-0",
    "file-1",
    "file-7",
    "testing.db",
    "testing.db-journal",
    "testing.db-wal",
    "testing.db-shm",
    "scene/keep",
    "database-x/testing.db",
    "1.h2w",
    "assay-soak.dat",
    "iozone.tmp",
    "f",
    "f.0.0",
    "f.0.1",
    "out",
];

/// Everything that is told of a file: where it is, what it holds, what the kernel says.
type Look = BTreeMap<PathBuf, (Vec<u8>, [i64; 8])>;

/// When the owner of the folder swaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swap {
    /// As soon as there is a folder, and for good.
    AtOnce,
    /// There and back, all the time.
    Always,
    /// After this many lines on finished trials or steps, for good.
    After(usize),
}

/// A folder of another user, files of root elsewhere, and who swaps.
struct Theirs {
    folder: PathBuf,
    victim: PathBuf,
    before: Look,
}

impl Theirs {
    fn new(bed: &Bed) -> Self {
        let victim = bed.folder_named("victim");
        for name in NAMES {
            let path = victim.join(name);
            fs::create_dir_all(path.parent().expect("a file of the test"))
                .expect("a file of the test");
            fs::write(&path, "precious\n".repeat(1000)).expect("a file of the test");
        }
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o700))
            .expect("a file of the test");
        let folder = bed.folder_named("theirs");
        chown(&folder, Some(NOBODY), Some(NOBODY)).expect("a file of the test");
        Self {
            before: look(&victim),
            folder,
            victim,
        }
    }

    /// Swaps in a thread until the command has ended.
    fn swapper(&self, swap: Swap) -> Swapper {
        let (folder, victim) = (self.folder.clone(), self.victim.clone());
        let over = Arc::new(AtomicBool::new(
            swap != Swap::AtOnce && swap != Swap::Always,
        ));
        let (ends, swaps) = (Arc::clone(&over), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&swaps);
        let thread = spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                for one in test_folders(&folder) {
                    if swap_one(&one, &victim).is_some() {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                    if swap == Swap::Always {
                        sleep(Duration::from_millis(3));
                        let _ = fs::remove_file(&one);
                        let _ = fs::rename(moved(&one), &one);
                    }
                }
                sleep(Duration::from_millis(3));
            }
        });
        Swapper {
            over,
            swaps,
            thread: Some(thread),
        }
    }

    /// Runs a command under swaps, and sees to it that nothing else changed.
    fn bears(&self, bed: &Bed, words: &[&str], swap: Swap) -> Ended {
        self.bears_within(bed, words, swap, 3)
    }

    /// Runs a command under swaps, up to `runs` times: on a busy machine a short run may end before a
    /// folder was swapped.
    fn bears_within(&self, bed: &Bed, words: &[&str], swap: Swap, runs: u32) -> Ended {
        let swapper = self.swapper(swap);
        let mut running = bed.start(words);
        if let Swap::After(count) = swap {
            running.await_lines("steps", count, |line| line.contains(" #1"));
            // None is there any more if that was the last line.
            for one in test_folders(&self.folder) {
                if swap_one(&one, &self.victim).is_some() {
                    swapper.swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        let ended = running.end();
        let swaps = swapper.swaps.load(Ordering::Relaxed);
        drop(swapper);
        let said = format!("{words:?}, {swap:?}: {} {:?}", ended.out, ended.err);
        assert!(look(&self.victim) == self.before, "{said}");
        // Steps of an act are shown when they are stored, which may be at its end.
        let came = swaps > 0 || matches!(swap, Swap::After(_));
        if !came && runs > 1 && ended.code == Some(0) {
            return self.bears_within(bed, words, swap, runs - 1);
        }
        assert!(came, "never swapped: {said}");
        assert!(!said.contains("self/fd"), "{said}");
        if ended.code == Some(0) && swap != Swap::Always {
            self.tidy(&said);
        } else {
            self.put_back(&ended);
        }
        ended
    }

    /// The same, and the run comes to its end, unless the swap came between making and
    /// opening the folder: then it cannot begin, and says so.
    fn withstands(&self, bed: &Bed, words: &[&str], swap: Swap) {
        let ended = self.bears(bed, words, swap);
        let at_any_time = matches!(swap, Swap::AtOnce | Swap::Always);
        if !(at_any_time && ended.err.concat().contains("cannot make test files")) {
            ended.assert_code(0);
        }
    }

    /// A run that could not begin may leave the folder that its owner held away from it.
    fn put_back(&self, ended: &Ended) {
        assert!(ended.code == Some(0) || !ended.err.is_empty(), "no reason");
        for left in test_folders(&self.folder) {
            let done = match left.is_symlink() {
                true => fs::remove_file(left),
                false => fs::remove_dir_all(left),
            };
            done.expect("a file of the test");
        }
    }

    /// Only links are left: what the owner put there. A folder that the owner moved in the moment
    /// of its removal is empty.
    fn tidy(&self, said: &str) {
        for entry in fs::read_dir(&self.folder).expect("a file of the test") {
            let path = entry.expect("a file of the test").path();
            let removed = match path.is_symlink() {
                true => fs::remove_file(&path),
                false => fs::remove_dir(&path),
            };
            assert!(removed.is_ok(), "{} is left: {said}", path.display());
        }
    }
}

/// Swaps until this is dropped.
struct Swapper {
    over: Arc<AtomicBool>,
    swaps: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it does not panic");
        }
    }
}

/// Renames a folder and puts a link in its place; `None` when it is none, or gone.
fn swap_one(folder: &Path, victim: &Path) -> Option<()> {
    if folder.is_symlink() {
        return None;
    }
    fs::rename(folder, moved(folder)).ok()?;
    symlink(victim, folder).ok()
}

fn moved(folder: &Path) -> PathBuf {
    let name = folder
        .file_name()
        .expect("a file of the test")
        .to_string_lossy();
    folder.with_file_name(format!("moved{name}"))
}

fn look(folder: &Path) -> Look {
    let mut all = Look::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(path) = folders.pop() {
        let meta = fs::symlink_metadata(&path).expect("a file of the test");
        let content = match meta.is_dir() {
            true => {
                folders.extend(
                    fs::read_dir(&path)
                        .expect("a file of the test")
                        .map(|entry| entry.expect("a file of the test").path()),
                );
                Vec::new()
            }
            false => fs::read(&path).expect("a file of the test"),
        };
        let numbers = [
            i64::try_from(meta.ino()).expect("a file of the test"),
            i64::from(meta.mode()),
            i64::from(meta.uid()),
            i64::from(meta.gid()),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ];
        all.insert(path, (content, numbers));
    }
    all
}

#[test]
fn a_swap_at_any_stage_of_a_plan_leads_nowhere() {
    needs!(root);
    let bed = Bed::new();
    let theirs = Theirs::new(&bed);
    let jobs = "ladder-*,read-cached,rand-write-4k,append-4k-fsync";
    let words = ["--quick", "--size", "4M", "--trials", "3", "--only", jobs];
    let words = [&["qualify", text(&theirs.folder)], &words[..]].concat();
    for swap in [Swap::AtOnce, Swap::After(1), Swap::After(5), Swap::Always] {
        theirs.withstands(&bed, &words, swap);
    }
}

#[test]
fn a_swap_under_a_database_leads_neither_it_nor_its_journals_away() {
    needs!(root);
    let bed = Bed::new();
    let theirs = Theirs::new(&bed);
    let words = ["--size", "1M", "--transactions", "30", "--trials", "1"];
    for journal in ["delete", "truncate", "persist", "memory", "off", "wal"] {
        let words = [&words[..], &["--journal", journal]].concat();
        let words = [&["androbench", text(&theirs.folder)], &words[..]].concat();
        for swap in [Swap::AtOnce, Swap::After(3), Swap::After(6), Swap::Always] {
            theirs.withstands(&bed, &words, swap);
        }
    }
}

#[test]
fn a_swap_under_a_scenario_or_samples_leads_nowhere() {
    needs!(root);
    let bed = Bed::new();
    let theirs = Theirs::new(&bed);
    let path = text(&theirs.folder);
    for scenario in BUILT_IN.map(|(name, _)| name) {
        let words = [
            "scenario", scenario, path, "--trials", "1", "--scale", "0.001",
        ];
        for swap in [Swap::AtOnce, Swap::Always] {
            theirs.withstands(&bed, &words, swap);
        }
    }
    let words = ["disks", path, "--size", "32M", "--sample-size", "1M"];
    for swap in [Swap::AtOnce, Swap::Always] {
        theirs.withstands(&bed, &words, swap);
    }
}

#[test]
fn a_link_in_the_place_of_the_next_folder_ends_the_run() {
    needs!(root);
    let bed = Bed::new();
    let theirs = Theirs::new(&bed);
    let words = ["--size", "1M", "--transactions", "20", "--trials", "2"];
    let words = [&["androbench", text(&theirs.folder)], &words[..]].concat();
    let ended = theirs.bears(&bed, &words, Swap::AtOnce);
    ended.assert_code(2);
    ended.assert_says(&["is there, and not of this run"]);
}

/// An iolog in which a file is opened, written and closed again and again for half a second.
fn iolog(bed: &Bed, file: &Path) -> PathBuf {
    let mut log = format!("fio version 3 iolog\n0 {0} add\n", file.display());
    for at_us in (0..500_000).step_by(10_000) {
        for action in ["open", "write 0 4096", "close"] {
            writeln!(log, "{at_us} {} {action}", file.display()).expect("written");
        }
    }
    let trace = bed.join("trace");
    fs::write(&trace, log).expect("a file of the test");
    trace
}

/// Commands that write files which their user named, in a folder.
fn writers(bed: &Bed, folder: &Path) -> Vec<Vec<String>> {
    let trace = iolog(bed, &folder.join("f"));
    let trace = trace.display();
    let file = |name: &str| folder.join(name).display().to_string();
    let path = folder.display();
    let of = format!("of={}", file("out"));
    let job = bed.join("job.fio");
    let text = format!("[f]\nrw=write\nsize=4m\nfilename={}\n", file("f"));
    fs::write(&job, text).expect("a file of the test");
    [
        format!("capacity {path} --limit 64M"),
        format!(
            "iozone -i 0 -i 1 -i 2 -s 20000 -r 16 -f {}",
            file("iozone.tmp")
        ),
        format!("lab soak {path} --size 8M --passes 2"),
        format!("fio --name=f --directory={path} --rw=randrw --size=4m --nrfiles=2 --unlink=1"),
        format!(
            "fio --name=f --filename={} --rw=write --size=4m --loops=4",
            file("f")
        ),
        format!("dd if=/dev/zero {of} bs=64k count=500"),
        format!("dd --ladder if=/dev/zero {of} bs=64k count=100"),
        format!("qualify {path} --quick --size 1M --trials 2 --only ladder-*"),
        format!("fio --name=f --read_iolog={trace}"),
        format!(
            "fio --name=f --read_iolog={trace} --replay_redirect={}",
            file("out")
        ),
        format!("replay {trace} {} --buffered", file("f")),
        format!("run {} --trials 2", job.display()),
        format!("sweep {path} --vary read_ahead_kb=128 --size 1M --trials 2 --only seq-*"),
        format!("sweep {path} --vary read_ahead_kb=128 --trials 2 -- dd if=/dev/zero of=out bs=64k count=100"),
        format!("compare --paired-on {path} {path} --size 1M --trials 2 --only seq-write-1m"),
    ]
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .to_vec()
}

#[test]
fn a_swap_of_the_folder_itself_leads_no_named_file_away() {
    needs!(root);
    let bed = Bed::new();
    let theirs = Theirs::new(&bed);
    let inner = theirs.folder.join("inner");
    // Some hit the start of the agent, its first file, and what comes later.
    for millis in [0, 60, 120, 250, 500] {
        for line in writers(&bed, &inner) {
            fs::create_dir(&inner).expect("a file of the test");
            chown(&inner, Some(NOBODY), Some(NOBODY)).expect("a file of the test");
            let words: Vec<&str> = line.iter().map(String::as_str).collect();
            let has_store = !matches!(words[0], "fio" | "dd" | "iozone");
            let mut command = match has_store {
                true => bed.command(&words),
                false => bed.command_without_store(&words),
            };
            let running = Running::start(&mut command);
            sleep(Duration::from_millis(millis));
            swap_one(&inner, &theirs.victim).expect("a file of the test");
            let ended = running.end();
            let said = format!("{words:?} after {millis} ms: {:?}", ended.err);
            assert!(look(&theirs.victim) == theirs.before, "{said}");
            assert!(!said.contains("self/fd"), "{said}");
            fs::remove_file(&inner).expect("a file of the test");
            fs::remove_dir_all(moved(&inner)).expect("a file of the test");
        }
    }
}

#[test]
fn a_link_of_another_user_is_not_followed_by_root() {
    needs!(root);
    let bed = Bed::new();
    let theirs = Theirs::new(&bed);
    let inner = theirs.folder.join("inner");
    for line in writers(&bed, &inner) {
        symlink(&theirs.victim, &inner).expect("a file of the test");
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        let ended = Running::start(&mut bed.command_without_store(&words)).end();
        assert_ne!(ended.code, Some(0), "{words:?}");
        assert!(
            look(&theirs.victim) == theirs.before,
            "{words:?}: {:?}",
            ended.err
        );
        fs::remove_file(&inner).expect("a file of the test");
    }
    // Nor a link in the place of the file.
    fs::create_dir(&inner).expect("a file of the test");
    chown(&inner, Some(NOBODY), Some(NOBODY)).expect("a file of the test");
    for name in ["f", "out", "iozone.tmp", "1.h2w", "f.0.0", "f.0.1"] {
        symlink(theirs.victim.join(name), inner.join(name)).expect("a file of the test");
    }
    for line in writers(&bed, &inner) {
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        Running::start(&mut bed.command_without_store(&words)).end();
        assert!(look(&theirs.victim) == theirs.before, "{words:?}");
    }
}

#[test]
fn a_trace_of_what_was_done_names_files_as_the_user_did() {
    needs!(root);
    let bed = Bed::new();
    let theirs = Theirs::new(&bed);
    let (file, log) = (theirs.folder.join("f"), bed.join("log"));
    let (filename, write) = (
        format!("--filename={}", text(&file)),
        format!("--write_iolog={}", text(&log)),
    );
    let words = [
        "fio",
        "--name=f",
        &filename,
        "--rw=write",
        "--size=64k",
        &write,
    ];
    Running::start(&mut bed.command_without_store(&words))
        .end()
        .assert_code(0);
    let log = fs::read_to_string(log).expect("a log");
    let named = |line: &str| line.split(' ').nth(1) == Some(text(&file));
    assert!(log.lines().skip(1).all(named), "{log}");
    assert!(log.lines().count() > 16, "{log}");
}

#[test]
fn engines_of_names_leave_what_is_behind_a_link_alone() {
    needs!(root);
    let bed = Bed::new();
    let mut theirs = Theirs::new(&bed);
    for name in ["f.0.2", "f.0.3"] {
        fs::create_dir(theirs.victim.join(name)).expect("a file of the test");
    }
    theirs.before = look(&theirs.victim);
    let deep = theirs.folder.join("deep");
    let directory = format!("--directory={}", text(&deep));
    // A folder that is not there yet, below the one that is held; files as they are laid out.
    for (engine, formats) in [
        ("filestat", "f.0.$filenum"),
        ("filedelete", "f.0.$filenum"),
        ("filecreate", "new.0.$filenum"),
        ("dirstat", "f.0.$filenum"),
        ("dirdelete", "f.0.$filenum"),
        ("dircreate", "new.0.$filenum"),
    ] {
        let (engine, format) = (
            format!("--ioengine={engine}"),
            format!("--filename_format={formats}"),
        );
        let words = [
            "fio",
            "--name=f",
            &directory,
            &engine,
            &format,
            "--nrfiles=4",
            "--filesize=4k",
            "--bs=4k",
            "--rw=write",
            "--unlink=1",
            "--startdelay=1",
        ];
        let running = Running::start(&mut bed.command_without_store(&words));
        until("the folder", || deep.exists());
        // All is laid out by then, and the engine has not begun.
        sleep(Duration::from_millis(500));
        swap_one(&deep, &theirs.victim).expect("a file of the test");
        let ended = running.end();
        let said = format!("{words:?}: {:?}", ended.err);
        assert!(look(&theirs.victim) == theirs.before, "{said}");
        assert!(!said.contains("self/fd"), "{said}");
        assert_ne!(ended.code, Some(0), "{said}");
        fs::remove_file(&deep).expect("a file of the test");
        fs::remove_dir_all(moved(&deep)).expect("a file of the test");
    }
}
