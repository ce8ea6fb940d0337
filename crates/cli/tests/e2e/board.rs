//! On a board: emulated, but with the kernel's real driver of SD cards, reached by
//! the system's ssh.

use crate::assay::{Bed, Ended, Running, figure, label, until};
use crate::explain::{assert_claims_no_flash, explained};
use assay_testkit::{Board, or_skip, signal_to};
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;

/// The card of the board.
pub const CARD: &str = "/mnt/sd";

/// `assay WORDS --on` the board.
pub fn on(board: &Board, bed: &Bed, words: &[&str]) -> Command {
    reaching(
        board,
        bed.command(&[words, &["--on", &board.url()]].concat()),
    )
}

fn reaching(board: &Board, mut command: Command) -> Command {
    command
        .env("PATH", board.search_path())
        .env("ASSAY_AGENTS", Board::agents());
    command
}

pub fn run(board: &Board, bed: &Bed, words: &[&str]) -> Ended {
    Running::start(&mut on(board, bed, words)).end()
}

/// The same of a command that has no store.
fn run_without_store(board: &Board, bed: &Bed, words: &[&str]) -> Ended {
    let mut command = reaching(board, bed.command_without_store(words));
    command.args(["--on", &board.url()]);
    Running::start(&mut command).end()
}

/// Nothing of assay's is on the board any more.
pub fn assert_clean(board: &Board) {
    let look = format!("ls -d {CARD}/.assay-* /dev/shm/assay-* /tmp/assay-* 2>/dev/null; true");
    until("the board is clean", || {
        board.run(&look).is_ok_and(|found| found.is_empty())
    });
    let agents = "ps | grep assay-agent- | grep -v grep; true";
    until("no agent runs", || {
        board.run(agents).is_ok_and(|found| found.is_empty())
    });
}

#[test]
fn a_card_on_a_board_is_qualified() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let words = [
        "qualify", CARD, "--quick", "--size", "8M", "--trials", "1", "--json",
    ];
    let mut running = Running::start(&mut on(&board, &bed, &words));
    // All together may take long where much else runs; none of them does.
    (1..=10).for_each(|trials| running.await_trials(trials));
    let ended = running.end();
    ended.assert_code(0);
    let run = ended.json();
    assert_eq!(run["run"]["status"], "finished");
    assert_eq!(run["run"]["target"], board.url());
    assert_eq!(run["system"]["machine"], "aarch64");
    let card = &run["device"]["layers"][0];
    assert_eq!(card["name"], "mmcblk0", "{card:#}");
    assert_eq!(card["kind"], "sd", "{card:#}");
    let bus = card["bus"].as_str().expect("a bus");
    assert!(bus.contains("high-speed") && bus.contains("4 bit"), "{bus}");
    // The kernel's own words for what happened: caches dropped, flushes counted.
    assert_eq!(label(&run, "seq-read-1m", "read").0, "device");
    assert_eq!(label(&run, "read-cached", "read").0, "page-cache");
    let shown = bed.run(&["report", run["run"]["id"].as_str().unwrap()]);
    assert!(shown.out.contains(&board.url()), "{}", shown.out);
    assert_clean(&board);
}

/// The registers of the emulated devices, asked for over their real drivers.
#[test]
fn the_disks_of_a_board_are_listed_with_what_they_say_of_themselves() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let list = run_without_store(&board, &bed, &["devices", "--json"]);
    list.assert_code(0);
    let list = list.json();
    assert_eq!(list["target"], board.url());
    let devices = list["devices"].as_array().unwrap();
    let device = |name: &str| {
        let found = devices.iter().find(|device| device["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {list:#}"))
    };
    let card = device("mmcblk0");
    // 26 MHz or less, 4 bits, less the framing of blocks.
    let ceiling = card["ceiling"]["read_bytes_per_sec"].as_f64().unwrap();
    assert!((5e6..26e6).contains(&ceiling), "{ceiling}");
    assert_eq!(card["mounted"][0]["point"], CARD);
    assert_eq!(card["in_use"][0], format!("mmcblk0 is mounted on {CARD}"));
    let registers = &card["registers"];
    assert!(registers["SD version"].is_string(), "{registers}");
    // The kernel has only zeros; this was asked of the card.
    assert_eq!(registers["speed classes"], "none", "{registers}");

    let drive = device("nvme0n1");
    assert_eq!(drive["in_use"].as_array().unwrap().len(), 0, "{drive:#}");
    let registers = &drive["registers"];
    assert!(registers["NVMe version"].is_string(), "{registers}");
    assert!(registers["spare blocks"].is_string(), "{registers}");
    assert!(
        drive["health"].as_str().unwrap().contains("spare"),
        "{drive:#}"
    );
    let stick = device("sda");
    assert_eq!(stick["kind"], "usb", "{stick:#}");
    assert!(stick["registers"]["USB ids"].is_string(), "{stick:#}");
    assert!(stick["ceiling"]["read_bytes_per_sec"].is_f64(), "{stick:#}");
    assert_clean(&board);
}

#[test]
fn a_board_is_looked_over_before_it_is_measured() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let checkup = run_without_store(&board, &bed, &["doctor", CARD, "--json"]);
    checkup.assert_code(0);
    let checkup = checkup.json();
    let findings = checkup["findings"].as_array().unwrap();
    let has = |kind: &str| findings.iter().any(|finding| finding["kind"] == kind);
    assert!(has("virtual_machine"), "{checkup:#}");
    assert!(has("no_discard"), "{checkup:#}");
    assert!(!has("no_root"), "{checkup:#}");
    let strict = run_without_store(&board, &bed, &["doctor", CARD, "--strict"]);
    strict.assert_code(3);
    assert_clean(&board);
}

#[test]
fn a_device_of_a_board_is_measured_at_the_users_word_only() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let device = "/dev/nvme0n1";
    let refusal = run(&board, &bed, &["qualify", device]).refusal();
    assert!(refusal.contains("--destroy-data"), "{refusal}");
    let refusal = run(&board, &bed, &["qualify", "/dev/mmcblk0", "--destroy-data"]).refusal();
    assert!(refusal.contains("is mounted on /mnt/sd"), "{refusal}");
    let words = [
        "--destroy-data",
        "--quick",
        "--size",
        "4M",
        "--trials",
        "1",
        "--json",
    ];
    let words = [&["qualify", device, "--only", "rand-write-4k"][..], &words].concat();
    let ended = run(&board, &bed, &words);
    ended.assert_code(0);
    let run = ended.json();
    assert_eq!(run["device"]["layers"][0]["kind"], "nvme");
    assert!(
        label(&run, "rand-write-4k", "write")
            .0
            .starts_with("device")
    );
    assert_clean(&board);
}

#[test]
fn schedulers_of_a_board_are_swept_and_restored() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let scheduler = "cat /sys/block/mmcblk0/queue/scheduler";
    let before = board.run(scheduler).unwrap();
    let words = [
        "sweep",
        CARD,
        "--vary",
        "scheduler=bfq,none",
        "--only",
        "seq-read-1m",
    ];
    let more = ["--rounds", "1", "--size", "4M", "--quick", "--json"];
    let ended = run(&board, &bed, &[&words[..], &more].concat());
    ended.assert_code(0);
    let run = ended.json();
    let trials = run["trials"].as_array().unwrap();
    for scheduler in ["bfq", "none"] {
        let name = format!("scheduler={scheduler}");
        assert!(
            trials
                .iter()
                .any(|trial| trial["condition"] == name.as_str()),
            "{run:#}"
        );
    }
    assert_eq!(board.run(scheduler).unwrap(), before);
    assert_clean(&board);
}

/// What an emulated card shows of itself: what its I/Os cost, if the machine is quiet enough to
/// tell, and no flash, as it has none. How near the costs predict the rates of other sizes is
/// told by `cargo xtask bench traits`.
#[test]
fn an_emulated_card_shows_costs_and_no_traits_of_flash() {
    const OF_FLASH: [&str; 6] = [
        "boundaries",
        "map-unit",
        "open-units",
        "map-span",
        "slc",
        "recovery",
    ];
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let only = [&["read-costs", "break"], &OF_FLASH[..]].concat().join(",");
    let words = [
        "model", "traits", CARD, "--only", &only, "--size", "64M", "--trials", "2", "--json",
    ];
    let mut running = Running::start(&mut on(&board, &bed, &words));
    // Each begins anew to be waited for.
    (1..=26).for_each(|trials| running.await_trials(trials));
    let ended = running.end();
    ended.assert_code(0);
    let found = ended.json();
    let all = found["traits"].as_array().expect("a list");
    assert_eq!(all.len(), 11);
    for one in all {
        let what = one["trait"].as_str().expect("a name");
        println!("{what}: {}", one["sentence"]);
        let status = one["status"].as_str().expect("a word");
        let reason = one["sentence"].as_str().expect("a sentence");
        match what {
            what if OF_FLASH.contains(&what) => {
                assert_eq!(status, "not-claimed", "{one}");
                assert!(reason.contains("is emulated: it has no flash"), "{one}");
            }
            "read-costs" | "break" => {
                assert!(["seen", "not-visible"].contains(&status), "{one}");
                let points = one["series"][0]["points"].as_array().expect("a list");
                assert!(points.iter().all(|point| point["us"][1].is_f64()), "{one}");
            }
            _ => assert_eq!(status, "not-asked", "{one}"),
        }
    }
    let explained = explained(&bed, &["last"]);
    let why = explained["not_flash"].as_str().expect("a reason");
    assert!(why.contains("is emulated: it has no flash"), "{why}");
    let results = explained["results"].as_array().expect("a list");
    assert!(results.len() > 8, "{explained}");
    assert_claims_no_flash(&bed);
    assert_clean(&board);
}

/// What assay and fio do, in options of fio.
const RATE_JOB: &str = "rw=read\nbs=1M\nsize=8M\ndirect=1";
/// Rounds in which they and dd take turns.
const ROUNDS: usize = 5;

/// Prints how near they are. That is no condition of the test: an emulated card, on a
/// machine where other things run, varies fivefold between two readings.
#[test]
fn the_agents_rate_is_told_beside_those_of_the_boards_own_tools() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    // Without it, the rates are compared with dd's alone.
    let fio = board.program("fio");
    let bed = Bed::new();
    let file = format!("{CARD}/rate");
    let write = format!("dd if=/dev/urandom of={file} bs=1M count=8 2>/dev/null; sync");
    board.run(&write).unwrap();
    let (mut by_agent, mut by_dd, mut by_fio) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        by_dd.push(dd_rate(&board, &file));
        by_agent.push(agent_rate(&board, &bed, &file));
        if let Ok(fio) = &fio {
            by_fio.push(fio_rate(&board, fio, &file));
        }
    }
    board.run(&format!("rm {file}")).unwrap();
    println!("{}", beside("dd", &by_agent, &by_dd));
    match fio {
        Ok(_) => {
            println!("{}", beside("fio", &by_agent, &by_fio));
            board.remove_program("fio").unwrap();
        }
        Err(why) => println!("not compared with fio: {why}"),
    }
    assert_clean(&board);
}

fn beside(tool: &str, by_agent: &[f64], by_tool: &[f64]) -> String {
    let ratio = median(by_agent.to_vec()) / median(by_tool.to_vec());
    format!("agent / {tool} = {ratio:.3} (agent {by_agent:.0?} B/s, {tool} {by_tool:.0?} B/s)")
}

/// Bytes per second of a direct read of 8 MiB by assay.
fn agent_rate(board: &Board, bed: &Bed, file: &str) -> f64 {
    let job = bed.join("rate.fio");
    let text = format!("[rate]\nfilename={file}\n{RATE_JOB}\n");
    std::fs::write(&job, text).expect("a job file");
    let words = ["run", crate::assay::text(&job), "--trials", "1", "--json"];
    let ended = run(board, bed, &words);
    ended.assert_code(0);
    let run = ended.json();
    assert_eq!(label(&run, "rate", "read").0, "device");
    figure(&run, "rate", "read_bw")
}

/// The same by Debian's fio.
fn fio_rate(board: &Board, fio: &str, file: &str) -> f64 {
    let options = RATE_JOB.lines().map(|option| format!("--{option}"));
    let options: Vec<String> = options.collect();
    let said = board.run(&format!(
        "{fio} --name=rate --filename={file} {} --output-format=json",
        options.join(" ")
    ));
    let said: serde_json::Value = serde_json::from_str(&said.expect("fio reads it")).expect("JSON");
    said["jobs"][0]["read"]["bw_bytes"]
        .as_f64()
        .expect("a rate")
}

/// Bytes per second of a direct read of 8 MiB by busybox's dd, which tells no time: by the
/// board's clock, in hundredths of a second.
fn dd_rate(board: &Board, file: &str) -> f64 {
    const BYTES: f64 = 8_388_608.0;
    let now = "cut -d ' ' -f 1 /proc/uptime";
    let read = format!("dd if={file} of=/dev/null bs=1M iflag=direct 2>/dev/null");
    let said = board.run(&format!("{now}; {read} && {now}"));
    let said = said.expect("dd reads it");
    let times: Vec<f64> = said.lines().filter_map(|time| time.parse().ok()).collect();
    let [before, after] = times[..] else {
        panic!("no two times: {said}");
    };
    BYTES / (after - before)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[test]
fn dd_copies_between_files_of_a_board() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let words = |operands: &[&str]| -> Vec<String> {
        let url = board.url();
        let all = [&["dd", "--on", &url], operands].concat();
        all.iter().map(ToString::to_string).collect()
    };
    let copy = |operands: &[&str]| {
        let words = words(operands);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = bed.command_without_store(&words);
        command.arg(format!("--store={}", bed.store().display()));
        Running::start(&mut reaching(&board, command)).end()
    };
    let file = format!("of={CARD}/copied");
    let ended = copy(&["if=/dev/zero", &file, "bs=64k", "count=4", "conv=fsync"]);
    ended.assert_code(0);
    ended.assert_says(&["4+0 records out"]);
    let size = board.run(&format!("wc -c <{CARD}/copied")).unwrap();
    assert_eq!(size, "262144");

    let refusal = copy(&["--ladder", &file, "bs=64k", "count=4"]).refusal();
    assert!(refusal.contains("holds data"), "{refusal}");
    board.run(&format!("rm {CARD}/copied")).unwrap();
    let ended = copy(&["--ladder", &file, "bs=64k", "count=4"]);
    ended.assert_code(0);
    assert!(ended.out.contains("fdatasync"), "{}", ended.out);
    let left = board.run(&format!("ls {CARD}")).unwrap();
    assert!(!left.contains("copied"), "{left}");
    assert_clean(&board);
}

#[test]
fn an_agent_stays_on_a_board_until_it_is_removed() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let agent = |order: &str| {
        let ended = run_without_store(&board, &bed, &["lab", "agent", order]);
        ended.assert_code(0);
        ended
    };
    agent("remove");
    assert!(agent("push").out.contains("put there, stays"));
    assert!(agent("push").out.contains("is that of this program"));
    let list = agent("list").out;
    assert!(list.contains("/.assay-agent/agent: stays"), "{list}");
    assert!(list.contains("/.assay-agent/larger: stays"), "{list}");
    let listed = run_without_store(&board, &bed, &["devices"]);
    listed.assert_code(0);
    let checked = run_without_store(&board, &bed, &["lab", "targets", "--check"]);
    checked.assert_code(0);
    assert!(checked.out.contains("aarch64"), "{}", checked.out);
    assert!(agent("remove").out.contains("removed"));
    let left = board.run("ls -a /root | grep assay; true").unwrap();
    assert_eq!(left, "");
    assert_clean(&board);
}

#[test]
fn a_cut_link_keeps_what_ended_and_leaves_nothing_on_the_board() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let words = ["qualify", CARD, "--quick", "--size", "4M"];
    let endless = ["--trials", "500", "--only", "seq-read-1m,rand-read-4k"];
    let words = [&words[..], &endless, &["--when-lost", "stop"]].concat();
    let mut running = Running::start(&mut on(&board, &bed, &words));
    running.await_trials(2);
    signal_to(running.agent(), Signal::KILL);
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["assay:", &board.url(), "agent"]);
    let stored = bed.stored(ended.run_id().unwrap());
    assert_eq!(stored["run"]["status"], "failed");
    assert!(stored["trials"].as_array().unwrap().len() >= 2);
    assert_clean(&board);

    let mut running = Running::start(&mut on(&board, &bed, &words));
    running.await_trials(1);
    running.kill(false);
    assert_clean(&board);
}

#[test]
fn a_run_on_a_board_goes_on_when_its_link_comes_back() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let words = ["qualify", CARD, "--quick", "--size", "4M", "--trials", "4"];
    let words = [&words[..], &["--only", "read-cached", "--json"]].concat();
    let mut running = Running::start(&mut on(&board, &bed, &words));
    running.await_trials(1);
    signal_to(running.agent(), Signal::KILL);
    let ended = running.end();
    ended.assert_code(0);
    ended.assert_says(&[&board.url(), "connected again"]);
    assert_eq!(ended.json()["trials"].as_array().map(Vec::len), Some(4));
    assert_clean(&board);
}

#[test]
fn a_name_on_a_board_is_nothing_but_a_name() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let name = "/mnt/sd/a  b'\";$(touch owned)`touch owned`\nrm *";
    let quoted = name.replace('\'', "'\\''");
    board.run(&format!("mkdir -p '{quoted}'")).unwrap();
    let words = [
        "--quick",
        "--size",
        "1M",
        "--trials",
        "1",
        "--only",
        "read-cached",
        "--json",
    ];
    let ended = run(&board, &bed, &[&["qualify", name][..], &words].concat());
    ended.assert_code(0);
    assert_eq!(ended.json()["run"]["path"], name);
    let owned = board.run("ls -d /root/owned owned /mnt/sd/owned 2>/dev/null; true");
    assert_eq!(owned.unwrap(), "");
    board.run(&format!("rmdir '{quoted}'")).unwrap();
}

#[test]
fn a_board_with_another_host_key_is_not_talked_to() {
    let board = or_skip!(Board::shared());
    let bed = Bed::new();
    let mut command = on(&board, &bed, &["qualify", CARD]);
    let ended = Running::start(command.env("PATH", board.search_path_with_wrong_host_key())).end();
    ended.assert_code(5);
    assert_eq!(ended.err.len(), 1, "{:#?}", ended.err);
    ended.assert_says(&["its host key has changed", "ssh-keygen -R"]);
    assert!(!Path::new(&bed.store()).exists());
}

#[test]
fn a_command_line_of_fio_runs_on_a_board() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let output = bed.join("result.json");
    let file = format!("{CARD}/of fio");
    let url = board.url();
    let job = bed.join("there.fio");
    let text = format!(
        "[there]\nfilename={file}\nrw=write\nbs=64k\nsize=1m\nnumjobs=$ncpus\n\
         group_reporting\nend_fsync=1\n"
    );
    std::fs::write(&job, text).unwrap();
    let words = [
        "fio",
        "--on",
        &url,
        crate::assay::text(&job),
        "--output-format=json",
        &format!("--output={}", crate::assay::text(&output)),
    ];
    let mut command = reaching(&board, bed.command_without_store(&words));
    Running::start(&mut command).end().assert_code(0);
    let result: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
    let written = &result["jobs"][0]["write"]["io_bytes"];
    // The board has two processors.
    assert_eq!(written, 2 << 20, "{result:#}");
    let length = board.run(&format!("stat -c %s '{file}'; rm '{file}'"));
    assert_eq!(length.unwrap(), "1048576");
    assert_clean(&board);
}

#[test]
fn a_board_is_looked_on() {
    let board = or_skip!(Board::shared());
    or_skip!(board.agent());
    let bed = Bed::new();
    let words = ["watch", "--samples=2", "--interval=100ms", "--json"];
    let ended = run_without_store(
        &board,
        &bed,
        &[words.as_slice(), &["--device", CARD]].concat(),
    );
    ended.assert_code(0);
    assert_eq!(ended.json()["samples"].as_array().unwrap().len(), 2);
    let mut command = reaching(&board, bed.command_without_store(&["watch"]));
    command.args(["--on", &board.url(), "--", "true"]);
    let ended = Running::start(&mut command).end();
    ended.assert_code(2);
    assert!(ended.err[0].contains("by hand"), "{:?}", ended.err);
    assert_clean(&board);
}
