//! The static agents that boards get, for other machines too: natively where this
//! processor can, else under an emulator of one process. `cargo xtask agents` builds
//! them.

use crate::assay::{Ended, text};
use crate::over_ssh::Machine;
use assay_agent::frame::{receive, send};
use assay_model::act::{Act, ActOrder};
use assay_model::condition::Restore;
use assay_model::job::{FileState, Job, Rw};
use assay_model::load::{Extent, Load, Stream};
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::trial::Outcome;
use assay_model::units::Bytes;
use assay_model::wire::{FromAgent, Greeting, ToAgent};
use assay_testkit::{Scratch, needs, or_skip, skip, static_agent};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

const GIB: u64 = 1 << 30;
/// Where a machine of 32 bits has to count further than its words do.
const OFFSET: u64 = 5 * GIB;
const LENGTH: usize = 64 << 10;
/// Where that would end that counts in 32 bits.
const CUT_OFF: u64 = OFFSET % (1 << 32);

/// A script that becomes that agent.
fn script(emulator: &str, agent: &Path) -> String {
    format!("exec {emulator} '{}' \"$@\"", text(agent))
}

/// On that machine, with an agent that starts no other: the kernel here does not know
/// that it takes an emulator.
const ON: [&str; 4] = ["--on", "ssh://board", "--when-lost", "stop"];

/// Writes beyond 4 GiB of a file, reads it back and checks it.
fn write_far(machine: &Machine, engine: &str) -> (Ended, PathBuf) {
    let data = machine.bed.join(&format!("data-{engine}"));
    let file = File::create(&data).expect("a file");
    file.set_len(OFFSET + LENGTH as u64).expect("a hole");
    let job = machine.bed.join("far.fio");
    let lines = format!(
        "[far]\nioengine={engine}\niodepth=4\nrw=write\nbs=4k\noffset=5g\nsize=64k\n\
         verify=crc32c\nfilename={}\n",
        data.display()
    );
    fs::write(&job, lines).expect("a file");
    let words = [text(&job), "--trials", "1", "--json"];
    let words = [&["run"], &ON[..], &words[..]].concat();
    (machine.run(&words), data)
}

/// What was to be written is there, and nowhere else.
fn assert_written_far(ended: &Ended, data: &Path, engine: &str) {
    ended.assert_code(0);
    assert_eq!(ended.json()["run"]["status"], "finished", "{engine}");
    let file = File::open(data).expect("the file");
    let mut block = vec![0; LENGTH];
    file.read_exact_at(&mut block, OFFSET).expect("data");
    assert!(block.iter().any(|&byte| byte != 0), "{engine}: not there");
    file.read_exact_at(&mut block, CUT_OFF).expect("a hole");
    assert!(block.iter().all(|&byte| byte == 0), "{engine}: elsewhere");
}

/// `assay qualify` of one job there.
fn qualify(machine: &Machine) -> Ended {
    let folder = machine.bed.join("qualified");
    fs::create_dir_all(&folder).expect("a folder");
    let few = ["--quick", "--size", "1M", "--trials", "1", "--json"];
    let only = ["--only", "read-cached"];
    machine.run(&[&["qualify", text(&folder)], &ON[..], &few[..], &only[..]].concat())
}

/// Jobs of a plan with the small agent, loads with the larger one.
fn assert_works(name: &str, emulator: &str, engines: &[&str]) {
    let small = or_skip!(static_agent(name));
    let larger = or_skip!(static_agent(&format!("{name}-sqlite")));
    let machine = Machine::new(&script(emulator, &small));
    machine.put_agent("-sqlite", &script(emulator, &larger));
    let ended = qualify(&machine);
    ended.assert_code(0);
    assert_eq!(ended.json()["system"]["machine"], name);
    for engine in engines {
        let (ended, data) = write_far(&machine, engine);
        assert_written_far(&ended, &data, engine);
        assert_eq!(ended.json()["system"]["machine"], name);
    }
    machine.assert_clean();
}

#[test]
fn the_agent_for_arm_does_a_job() {
    needs!("qemu-arm-static");
    assert_works("armv7l", "qemu-arm-static", &["psync"]);
}

#[test]
fn the_agent_for_riscv_does_a_job() {
    needs!("qemu-riscv64-static");
    assert_works("riscv64", "qemu-riscv64-static", &["psync"]);
}

#[test]
fn the_agent_of_32_bits_counts_further_with_every_engine() {
    needs!("setarch");
    if !cfg!(target_arch = "x86_64") {
        skip("programs of i686 run on x86_64 only");
        return;
    }
    let engines = [
        "psync", "sync", "pvsync", "pvsync2", "vsync", "libaio", "posixaio", "io_uring",
    ];
    assert_works("i686", "setarch i686", &engines);
}

/// What an agent takes besides the buffers of its streams; here there is one of 4 KiB.
const MOST_KIB: u64 = 4 << 10;

/// The most memory that a process has had so far.
fn peak_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    number.expect("a peak").parse().expect("a number")
}

/// An agent of this machine, what it is asked with, and what answers.
fn started(agent: &Path) -> (Child, ChildStdin, ChildStdout) {
    let mut process = assay_testkit::command(agent)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a program of this machine");
    let requests = process.stdin.take().expect("piped");
    let answers = process.stdout.take().expect("piped");
    (process, requests, answers)
}

/// Has an agent of this machine do something and end; the most memory that it had.
fn peak_kib_at(agent: &Path, work: ToAgent) -> u64 {
    let (mut process, mut requests, mut answers) = started(agent);
    let path = std::env::temp_dir();
    let hello = Greeting::of_host();
    for request in [ToAgent::Hello(hello), ToAgent::Inspect { path }, work] {
        send(&mut requests, &request).expect("it listens");
    }
    loop {
        match receive(&mut answers)
            .expect("a message")
            .expect("it goes on")
        {
            FromAgent::LoadReport(_) | FromAgent::Done { .. } => break,
            FromAgent::TrialDone(record) => assert_eq!(record.outcome, Outcome::Completed),
            FromAgent::KeepTrials { position, .. } => {
                send(&mut requests, &ToAgent::Stored { position }).expect("it listens");
            }
            FromAgent::Refused(refusal) => panic!("refused: {}", refusal.message),
            _ => {}
        }
    }
    let peak_kib = peak_kib(process.id());
    drop(requests);
    assert!(process.wait().expect("it ends").success());
    peak_kib
}

fn run_load(load: Load) -> ToAgent {
    let order = Box::new(ActOrder {
        plan: Plan::once("memory".to_owned(), Place::Memory),
        acts: vec![Act::Streams(Box::new(load))],
        seeds: vec![0],
        destroy_data: false,
    });
    ToAgent::RunActs { order }
}

#[test]
fn an_agent_takes_little_memory() {
    let small = or_skip!(static_agent(std::env::consts::ARCH));
    let folder = Scratch::new().expect("a folder");
    let mut job = Job::new("reader", Rw::Read, Bytes(4096), Bytes(1 << 20));
    job.file_state = FileState::Written;
    let plan = Box::new(Plan {
        run_id: "memory".to_owned(),
        seed: 1,
        place: Place::Directory {
            path: folder.path().to_owned(),
        },
        file_size: Bytes(1 << 20),
        jobs: vec![PlannedJob { job, trials: 1 }],
        conditions: Vec::new(),
        restore: Restore::default(),
        order: vec![Slot::plain(0, 1)],
    });
    let peak_kib = peak_kib_at(&small, ToAgent::Run { plan });
    assert!(peak_kib <= MOST_KIB, "{peak_kib} KiB");
}

#[test]
fn the_larger_agent_takes_little_memory_too() {
    let larger = or_skip!(static_agent(&format!("{}-sqlite", std::env::consts::ARCH)));
    let folder = Scratch::new().expect("a folder");
    let mut stream = Stream::new("reader");
    stream.files.paths = vec![folder.join("file")];
    stream.region.size = Some(Extent::Bytes(1 << 20));
    let load = Load {
        streams: vec![stream],
        ..Load::default()
    };
    let peak_kib = peak_kib_at(&larger, run_load(load));
    assert!(peak_kib <= MOST_KIB, "{peak_kib} KiB");
}

#[test]
fn the_small_agent_says_what_it_has_no_part_for() {
    let small = or_skip!(static_agent(std::env::consts::ARCH));
    let (mut process, mut requests, mut answers) = started(&small);
    let load = Load::default();
    send(&mut requests, &run_load(load)).expect("it listens");
    let answer = receive(&mut answers).expect("a message");
    let Some(FromAgent::Refused(refusal)) = answer else {
        panic!("it does as if it could: {answer:?}");
    };
    assert!(refusal.message.contains("larger"), "{}", refusal.message);
    drop(requests);
    assert!(process.wait().expect("it ends").success());
}

/// `assay androbench` there, of one step.
fn androbench(machine: &Machine, step: &str) -> Ended {
    let folder = machine.bed.join("databases");
    fs::create_dir_all(&folder).expect("a folder");
    let few = ["--trials", "1", "--transactions", "20", "--size", "1M"];
    let more = ["--only", step, "--json"];
    let words = [&["androbench", text(&folder)], &ON[..], &few[..], &more[..]].concat();
    machine.run(&words)
}

#[test]
fn jobs_of_a_plan_are_measured_by_the_small_agent_all_else_by_the_larger_one() {
    let program = env!("CARGO_BIN_EXE_assay");
    let honest = format!("exec '{program}' --serve-as-assay-agent \"$@\"");
    let machine = Machine::new("exit 1");
    machine.put_agent("-sqlite", &honest);
    androbench(&machine, "seq-read").assert_code(0);
    qualify(&machine).assert_code(5);
    let machine = Machine::new(&honest);
    machine.put_agent("-sqlite", "exit 1");
    androbench(&machine, "seq-read").assert_code(5);
    qualify(&machine).assert_code(0);
}

#[test]
fn the_larger_agent_does_transactions() {
    let agent = or_skip!(static_agent(&format!("{}-sqlite", std::env::consts::ARCH)));
    let machine = Machine::new("exit 1");
    machine.put_agent("-sqlite", &script("", &agent));
    let ended = androbench(&machine, "sqlite-insert");
    ended.assert_code(0);
    let detail = &ended.json()["trials"][0]["detail"];
    assert_eq!(detail["transactions"], 20);
}
