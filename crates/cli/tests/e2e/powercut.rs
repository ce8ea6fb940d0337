//! `assay lab powercut`: a board is killed while it writes to a drive with a write-back cache.
//! A drive that honours flushes loses nothing that was acknowledged; one that drops them
//! does, and so does a file system that asks for none.

use crate::assay::{Bed, Ended, Running, text, until};
use crate::lab::AS_BOARD;
use crate::over_ssh::Machine;
use assay_testkit::lab::Place;
use assay_testkit::{
    Board, Flushes, Lab, LoopDevice, Mount, Scratch, SwitchedBoard, Unavailable, VolatileDrive,
    board, needs, or_skip, run,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const MKFS: [&str; 4] = [
    "mkfs.ext4",
    "-q",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0",
];

/// A board with a drive, and what is needed to cut its power.
struct Bench {
    bed: Bed,
    board: SwitchedBoard,
    drive: VolatileDrive,
    _scratch: Scratch,
}

impl Bench {
    fn new(flushes: Flushes) -> Result<Self, Unavailable> {
        let scratch = Scratch::new()?;
        let image = scratch.image("drive", 64)?;
        run(&[MKFS.as_slice(), &[text(&image)]].concat())?;
        let drive = VolatileDrive::serve(&scratch, &image, flushes, 1)?;
        let board = SwitchedBoard::start(&drive)?;
        Ok(Self {
            bed: Bed::new(),
            board,
            drive,
            _scratch: scratch,
        })
    }

    /// Its power is cut so often.
    fn cut(&self, cycles: &str, words: &[&str]) -> Ended {
        self.start(cycles, words).end()
    }

    fn start(&self, cycles: &str, words: &[&str]) -> Running {
        self.start_with(&self.switch("on"), cycles, words)
    }

    /// The same with another command that gives the power back.
    fn start_with(&self, on: &str, cycles: &str, words: &[&str]) -> Running {
        let (cut, url) = (format!("command:{}", self.switch("off")), self.board.url());
        let all = [
            "lab",
            "powercut",
            "--on",
            &url,
            "--cut",
            &cut,
            "--restore",
            on,
            "--cycles",
            cycles,
            "--after",
            "1s..4s",
            "--off-time",
            "500ms",
            "--seed",
            "1",
            "--json",
        ];
        self.reach(&[&all, words].concat())
    }

    fn resume(&self) -> Ended {
        let words = [
            "lab",
            "powercut",
            "--resume",
            "--on",
            &self.board.url(),
            "--json",
        ];
        self.reach(&words).end()
    }

    fn reach(&self, words: &[&str]) -> Running {
        let mut command = self.bed.command(words);
        command
            .env("PATH", self.board.search_path())
            .env("ASSAY_AGENTS", Board::agents());
        Running::start(&mut command)
    }

    /// What hosts noted beside the store.
    fn journals(&self) -> Vec<PathBuf> {
        let folder = self.bed.store().parent().expect("a folder").to_owned();
        let entries = fs::read_dir(folder).expect("it can be read").flatten();
        let paths = entries.map(|entry| entry.path());
        paths
            .filter(|path| path.to_string_lossy().contains("-powercut-"))
            .collect()
    }

    fn switch(&self, what: &str) -> String {
        format!("{} {what}", self.board.switch().display())
    }
}

fn on_ext4(options: &str) -> [String; 3] {
    let mount = format!("/dev/sda:ext4:{options}");
    ["/mnt/usb".to_owned(), "--mount".to_owned(), mount]
}

fn on_file_system(bench: &Bench, cycles: &str, options: &str) -> Ended {
    let words = on_ext4(options);
    bench.cut(cycles, &words.each_ref().map(String::as_str))
}

/// The sum of a figure over all streams of all cycles.
fn sum(run: &Value, figure: &str) -> u64 {
    let trials = run["trials"].as_array().expect("trials").iter();
    let streams = trials.flat_map(|trial| {
        let streams = trial["detail"]["found"]["streams"].as_array();
        streams.expect("streams")
    });
    streams
        .map(|stream| stream[figure].as_u64().expect("a count"))
        .sum()
}

/// What a run on a drive that keeps its word found.
fn assert_all_there(run: &Value, cycles: u64) {
    assert_eq!(
        run["trials"].as_array().expect("trials").len() as u64,
        cycles
    );
    for figure in ["lost", "torn", "misordered", "garbage"] {
        assert_eq!(sum(run, figure), 0, "{figure}");
    }
    // How many there are is up to the machine.
    assert!(sum(run, "acknowledged") > 0, "{run:#}");
    assert!(sum(run, "checked") > 0);
}

#[test]
fn a_drive_that_honours_flushes_keeps_what_it_acknowledged() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Honoured));
    let ended = on_file_system(&bench, "2", "");
    ended.assert_code(0);
    let run = ended.json();
    assert_all_there(&run, 2);
    let (cuts, lost) = bench.drive.losses();
    assert!(cuts >= 2, "{cuts} cuts");
    // Where in its work a drive is cut is chance: two cuts may find its cache empty.
    println!("its cache lost {lost} sectors");
    let found = &run["trials"][0]["detail"]["found"];
    let said = found["said"].to_string();
    assert!(said.contains("recovery complete"), "{said}");
    assert_eq!(found["check"]["exit_code"], 0, "{found:#}");
    let shown = bench
        .bed
        .run(&["report", run["run"]["id"].as_str().expect("an id")]);
    let shown = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("every one is there"), "{shown}");
    assert!(shown.contains("95 % confidence"), "{shown}");
    assert!(shown.contains("was checked 2 times"), "{shown}");
    assert_eq!(bench.journals(), Vec::<PathBuf>::new());
}

/// The host is killed while the power is off: what it had received is checked by the next one.
#[test]
fn a_killed_host_leaves_a_cycle_that_counts() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Honoured));
    let at = |name| bench.bed.join(name);
    let (restore, held, waiting) = (at("restore"), at("held"), at("waiting"));
    let script = format!(
        "#!/bin/sh\n: >'{}'\nwhile [ -e '{}' ]; do sleep 0.1; done\nexec {}\n",
        waiting.display(),
        held.display(),
        bench.switch("on")
    );
    assay_testkit::write_program(&restore, &script).expect("a script");
    fs::write(&held, "").expect("a file");
    let words = on_ext4("");
    let words = words.each_ref().map(String::as_str);
    let running = bench.start_with(text(&restore), "2", &words);
    // The link is cut by then, and all words have come.
    until("the power is off", || waiting.exists());
    let journal = bench.journals().into_iter().map(fs::read_to_string);
    let received: String = journal.map(|text| text.expect("a journal")).collect();
    assert!(received.contains("\ncut "), "{received}");
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    fs::remove_file(&held).expect("it is there");

    let ended = bench.resume();
    ended.assert_code(0);
    ended.assert_says(&["after 0 of 2 cycles"]);
    let run = ended.json();
    assert_all_there(&run, 2);
    let first = run["trials"][0]["detail"]["found"]["streams"].as_array();
    for (number, stream) in first.expect("streams").iter().enumerate() {
        let start = format!("a {number} ");
        let mut lines = received
            .lines()
            .filter_map(|line| line.strip_prefix(&start));
        let last = lines.next_back().unwrap_or("0");
        assert_eq!(stream["acknowledged"].to_string(), last, "{stream:#}");
    }
    assert_eq!(bench.journals(), Vec::<PathBuf>::new());
    bench.resume().assert_says(&["nothing is missing"]);
}

/// labgrid's own client talks to the power port of the place.
#[test]
fn a_board_of_a_labgrid_is_cut_by_its_power_port() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Honoured));
    let port = board::serve(&bench.board.switch()).expect("it listens");
    let place = Place::new("bench", "media", "usb");
    let place = place.at("127.0.0.1", bench.board.port());
    let lab = or_skip!(Lab::here(&[place.powered_by(&port)]));
    let words = on_ext4("");
    let [path, mount, what] = words.each_ref().map(String::as_str);
    let words = [
        "lab",
        "powercut",
        "--on",
        "labgrid:bench",
        path,
        mount,
        what,
    ];
    let cut = ["--cut", "labgrid", "--cycles", "1", "--after", "1s..4s"];
    let mut command = bench.bed.command(&[&words[..], &cut, &["--json"]].concat());
    command
        .env("PATH", bench.board.search_path())
        .env("ASSAY_AGENTS", Board::agents())
        .env("XDG_DATA_HOME", bench.bed.join("data"));
    let ended = Running::start(&mut lab.near(&command)).end();
    ended.assert_code(0);
    assert_eq!(bench.drive.losses().0, 1);
    let run = ended.json();
    assert_eq!(run["run"]["target"], "labgrid:bench");
    assert_all_there(&run, 1);
    assert_eq!(lab.acquired(), Vec::<String>::new());
}

#[test]
fn a_drive_that_drops_flushes_is_found_out() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Dropped));
    // A USB disk may have no serial number.
    let words = ["/dev/sda", "--destroy-data=/dev/sda"];
    let refused = bench.cut("1", &words[..1]);
    refused.assert_code(2);
    let ended = bench.cut("1", &words);
    ended.assert_code(4);
    ended.assert_says(&["NOT SAFE"]);
    let run = ended.json();
    assert!(sum(&run, "lost") > 0);
    let streams = run["trials"][0]["detail"]["found"]["streams"].to_string();
    assert!(
        streams.contains("was acknowledged and is lost"),
        "{streams}"
    );
}

/// A machine that is reached by a script, with a command that has it start again as another one.
struct Restarted {
    machine: Machine,
    restore: PathBuf,
}

impl Restarted {
    /// `script` is carried out in between.
    fn new(script: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_assay");
        let scratch = Machine::new("");
        let boot = scratch.folder.join("boot");
        let agent = format!(
            "{AS_BOARD} \"$(cat '{}')\" '{program}' --serve-as-assay-agent \"$@\"",
            boot.display()
        );
        for flavour in ["", "-sqlite"] {
            scratch.put_agent(flavour, &agent);
        }
        fs::write(&boot, "first\n").expect("a file");
        let restore = scratch.folder.join("restore");
        let script = format!("#!/bin/sh\necho second >'{}'\n{script}\n", boot.display());
        assay_testkit::write_program(&restore, &script).expect("a script");
        Self {
            machine: scratch,
            restore,
        }
    }

    fn cut(&self, words: &[&str]) -> Ended {
        let all = [
            "lab",
            "powercut",
            "--on",
            "ssh://board",
            "--cut",
            "command:true",
            "--restore",
            text(&self.restore),
            "--cycles",
            "1",
            "--after",
            "500ms",
            "--off-time",
            "100ms",
        ];
        self.machine.run(&[&all[..], words].concat())
    }
}

/// Names of disks may change when a board starts.
#[test]
fn another_disk_of_the_same_name_has_lost_nothing() {
    needs!(root, "losetup", "unshare", "mkfs.ext4");
    for kind in ["device", "--mount", "folder"] {
        let scratch = or_skip!(Scratch::new());
        let [first, other] = ["first.img", "other.img"].map(|name| scratch.image(name, 64));
        let (first, other) = (or_skip!(first), or_skip!(other));
        for image in [&first, &other] {
            or_skip!(run(&[MKFS.as_slice(), &[text(image)]].concat()));
        }
        let device = or_skip!(LoopDevice::over(&first));
        let node = text(device.node());
        let point = scratch.join("mnt");
        let exchange = format!(
            "losetup --detach {node}\nuntil losetup {node} '{}'; do sleep 0.1; done",
            text(&other)
        );
        let (point, mount) = (text(&point), format!("{node}:ext4"));
        let remount = format!("umount '{point}'\n{exchange}\nmount {node} '{point}'");
        let mounted = match kind {
            "folder" => Some(or_skip!(Mount::new(&[], node, Path::new(point)))),
            _ => None,
        };
        let board = Restarted::new(if mounted.is_some() {
            &remount
        } else {
            &exchange
        });
        let folder = board.machine.bed.folder();
        let ended = match kind {
            "device" => board.cut(&[node, "--destroy-data"]),
            "--mount" => board.cut(&[text(&folder), "--mount", &mount]),
            _ => board.cut(&[point]),
        };
        ended.assert_code(2);
        ended.assert_says(&["other storage than run", "file behind the loop device"]);
        assert!(!ended.says(&["NOT SAFE"]), "{kind}: {:#?}", ended.err);
    }
}

/// A loop device whose image file is removed has no identifier.
#[test]
fn a_device_that_nothing_tells_from_others_is_named() {
    needs!(root, "losetup", "unshare");
    let scratch = or_skip!(Scratch::new());
    let image = or_skip!(scratch.image("disk.img", 64));
    let device = or_skip!(LoopDevice::over(&image));
    fs::remove_file(&image).expect("an image");
    let node = text(device.node());
    let board = Restarted::new("");
    let ended = board.cut(&[node, "--destroy-data"]);
    ended.assert_code(2);
    ended.assert_says(&["nothing tells whether", "add --destroy-data="]);
    board
        .cut(&[node, &format!("--destroy-data={node}")])
        .assert_code(0);
}

/// What is lost without barriers depends on the moment of the cut.
#[test]
#[ignore = "ten cuts take minutes"]
fn a_file_system_without_barriers_is_found_out() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Honoured));
    let ended = on_file_system(&bench, "10", "barrier=0");
    ended.assert_code(4);
    let run = ended.json();
    let unmounted = run["trials"].to_string().contains("cannot mount");
    assert!(unmounted || sum(&run, "lost") > 0, "{run:#}");
}

/// Some half an hour: `cargo test --test e2e -- --ignored --nocapture fifty`.
#[test]
#[ignore = "half an hour"]
fn fifty_cuts_lose_nothing_on_a_drive_that_honours_flushes() {
    needs!("mkfs.ext4");
    let bench = or_skip!(Bench::new(Flushes::Honoured));
    let words = on_ext4("");
    let mut running = bench.start("50", &words.each_ref().map(String::as_str));
    (1..=50).for_each(|cycle| running.await_words(&format!("[{cycle}/50]")));
    let ended = running.end();
    let (cuts, lost) = bench.drive.losses();
    let shown = bench.bed.run(&["report", "last"]);
    println!("{cuts} cuts, {lost} sectors lost with them\n{}", shown.out);
    ended.assert_code(0);
    assert_all_there(&ended.json(), 50);
}
