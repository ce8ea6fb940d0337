//! Over a link as ssh makes it, without a board: a script stands in place of ssh
//! and carries out here what it would have carried out there. What an agent may
//! say, and what it may not.

use crate::assay::{Bed, Ended, Running, test_folders, text, until};
use crate::lab::AS_BOARD;
use assay_testkit::Scratch;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the last of its arguments as a login shell would (on all hosts but `dead`), but in
/// a session of its own: the shell lives on when the group of this one is killed, and only
/// its streams end. What it starts finds the host's name in `BOARD`.
const SSH: &str = "\
#!/bin/sh
for last; do :; done
case \"$*\" in *' -- dead '*) echo 'connect to host dead: No route to host' >&2; exit 255; esac
host=\"$*\"
host=\"${host#* -- }\"
export BOARD=\"${host%% *}\"
export TMPDIR=\"${0%/*}/there\"
mkfifo \"$0.$$.in\" \"$0.$$.out\"
setsid sh -c \"$last\" <\"$0.$$.in\" >\"$0.$$.out\" &
cat <\"$0.$$.out\" &
exec cat >\"$0.$$.in\"
";

/// A machine that is reached by that ssh, with an agent of its own.
pub struct Machine {
    pub bed: Bed,
    /// Folder of the programs of the machine.
    pub folder: Scratch,
}

impl Machine {
    /// One whose agents both are that script.
    pub fn new(agent: &str) -> Self {
        let folder = Scratch::new().expect("a folder");
        fs::create_dir(folder.join("there")).expect("a folder");
        write_program(&folder.join("ssh"), SSH);
        let bed = Bed::new();
        let machine = Self { bed, folder };
        machine.put_agent("", agent);
        machine.put_agent("-sqlite", agent);
        machine
    }

    /// Adds an agent of a flavour.
    pub fn put_agent(&self, flavour: &str, agent: &str) {
        let machine = rustix::system::uname();
        let machine = machine.machine().to_string_lossy();
        let name = format!("assay-agent-{machine}{flavour}");
        write_program(&self.folder.join(&name), &format!("#!/bin/sh\n{agent}\n"));
    }

    /// One that does its work: this program, as an agent.
    pub fn with_honest_agent() -> Self {
        let program = env!("CARGO_BIN_EXE_assay");
        Self::new(&format!("exec '{program}' --serve-as-assay-agent \"$@\""))
    }

    /// The same for several hosts, each of which is a machine that was started by itself.
    pub fn with_boards() -> Self {
        let program = env!("CARGO_BIN_EXE_assay");
        Self::new(&format!(
            "{AS_BOARD} \"$BOARD\" '{program}' --serve-as-assay-agent \"$@\""
        ))
    }

    pub fn command(&self, words: &[&str]) -> Command {
        self.reached_by(self.bed.command(words))
    }

    pub fn run(&self, words: &[&str]) -> Ended {
        Running::start(&mut self.command(words)).end()
    }

    /// `assay lab agent` there.
    pub fn agent(&self, order: &str) -> Ended {
        let words = ["lab", "agent", order, "--on", "ssh://board"];
        let command = self.bed.command_without_store(&words);
        Running::start(&mut self.reached_by(command)).end()
    }

    fn reached_by(&self, mut command: Command) -> Command {
        let path = assay_testkit::search_path();
        command
            .env("PATH", format!("{}:{path}", text(self.folder.path())))
            .env("ASSAY_AGENTS", self.folder.path());
        command
    }

    /// `assay qualify` there, of a folder of its own.
    pub fn qualify(&self, folder: &Path, when_lost: &str) -> Ended {
        let words = ["--size", "1M", "--trials", "1", "--only", "read-cached"];
        let on = ["qualify", "--on", "ssh://board", "--when-lost", when_lost];
        self.run(&[&on[..], &[text(folder)], &words].concat())
    }

    /// From now on nobody gets there.
    pub fn shut(&self) {
        write_program(&self.folder.join("ssh"), "#!/bin/sh\nexit 255\n");
    }

    /// Folders of agents that are there.
    pub fn agents(&self) -> usize {
        let there = fs::read_dir(self.folder.join("there"));
        there.expect("a folder").count()
    }

    pub fn assert_clean(&self) {
        until("its folder is removed", || self.agents() == 0);
    }
}

pub fn write_program(path: &Path, text: &str) {
    assay_testkit::write_program(path, text).expect("a program");
}

/// Frames as an agent sends them, in words of `printf`.
pub fn say(message: &str) -> String {
    let length = u32::try_from(message.len())
        .expect("a short one")
        .to_le_bytes();
    let length = length.map(|byte| format!("\\{byte:03o}")).concat();
    format!("printf '{length}%s' '{message}'")
}

/// The start of an agent that is believed so far.
fn greeting() -> String {
    let hello = r#"{"type":"hello","version":12,"oldest":2,"newest":2}"#;
    let undone = r#"{"type":"undone","agents":0,"settings":[]}"#;
    format!("{}\n{}", say(hello), say(undone))
}

#[test]
fn a_run_over_a_link_is_as_one_here_and_says_where_it_was() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    for when_lost in ["wait", "stop"] {
        let ended = machine.qualify(&folder, when_lost);
        ended.assert_code(0);
        let run = machine.bed.stored(ended.run_id().unwrap());
        assert_eq!(run["run"]["target"], "ssh://board");
        assert_eq!(run["run"]["status"], "finished");
        assert!(ended.out.contains("ssh://board"), "{}", ended.out);
        assert!(!ended.says(&["connection lost"]), "{:#?}", ended.err);
        assert!(test_folders(&folder).is_empty());
        machine.assert_clean();
    }
}

#[test]
fn works_and_job_files_run_over_a_link() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let data = folder.join("data");
    let job = machine.bed.join("j.fio");
    fs::write(
        &job,
        format!(
            "[j]\nrw=write\nbs=4k\nsize=64k\nfilename={}\n",
            data.display()
        ),
    )
    .unwrap();
    let board = "ssh://board";
    for words in [
        vec![
            "iozone",
            "--on",
            board,
            "-f",
            text(&data),
            "-s",
            "64",
            "-r",
            "4",
            "-i",
            "0",
        ],
        vec![
            "disks",
            "--on",
            board,
            text(&folder),
            "--size",
            "4M",
            "--samples",
            "2",
            "--sample-size",
            "64K",
            "--access-samples",
            "2",
        ],
        vec!["run", "--on", board, text(&job), "--trials", "1"],
        vec![
            "capacity",
            "--on",
            board,
            text(&folder),
            "--limit",
            "1M",
            "--remove",
        ],
    ] {
        let ended = machine.run(&words);
        ended.assert_code(0);
        let run = machine.bed.stored("last");
        assert_eq!(run["run"]["target"], board, "{words:?}");
    }
    machine.assert_clean();
}

#[test]
fn what_needs_this_machine_is_refused_elsewhere() {
    for (words, expected) in [
        (
            vec!["dd", "--on", "ssh://board", "of=b"],
            "on ssh://board dd copies between files and devices that are there",
        ),
        (
            vec!["watch", "--on=ssh://board", "--", "true"],
            "start it on ssh://board by hand",
        ),
        (
            vec!["qualify", "--on", "board", "/"],
            "write ssh://user@host:port",
        ),
        (vec!["list", "--on", "ssh://board"], "unknown argument"),
    ] {
        let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
        let refusal = Running::start(command.args(&words)).end().refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn a_sweep_goes_on_only_where_it_began() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let words = [
        "sweep",
        "--on",
        "ssh://board",
        text(&folder),
        "--vary",
        "affinity=0",
    ];
    let more = [
        "--rounds",
        "1",
        "--size",
        "1M",
        "--quick",
        "--only",
        "read-cached",
    ];
    machine.run(&[&words[..], &more].concat()).assert_code(0);
    let refusal = machine.run(&["sweep", "--resume", "last"]).refusal();
    assert!(refusal.contains("add --on ssh://board"), "{refusal}");
}

#[test]
fn a_link_that_is_cut_leaves_nothing_there() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let words = [
        "--size",
        "1M",
        "--trials",
        "500",
        "--only",
        "read-cached",
        "--quick",
    ];
    let words = [
        &["qualify", "--on", "ssh://board", text(&folder)][..],
        &["--when-lost", "stop"],
        &words[..],
    ]
    .concat();
    let mut running = Running::start(&mut machine.command(&words));
    running.await_trials(2);
    let link = i32::try_from(running.agent()).ok().and_then(Pid::from_raw);
    kill_process_group(link.unwrap(), Signal::KILL).unwrap();
    let ended = running.end();
    ended.assert_code(5);
    let run = machine.bed.stored(ended.run_id().unwrap());
    assert!(run["trials"].as_array().unwrap().len() >= 2);
    until("the agent has cleaned up", || {
        test_folders(&folder).is_empty()
    });
    machine.assert_clean();
}

/// Paths of one machine mean nothing on another.
#[test]
fn what_a_run_left_on_another_machine_is_not_looked_for_here() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let words = ["--size", "1M", "--trials", "500", "--only", "read-cached"];
    let words = [
        &["qualify", "--on", "ssh://board", text(&folder)][..],
        &["--when-lost", "stop"],
        &words[..],
    ]
    .concat();
    let mut running = Running::start(&mut machine.command(&words));
    running.await_trials(1);
    let killed = running.kill(false);
    until("the agent has cleaned up", || {
        test_folders(&folder).is_empty()
    });
    let next = machine.bed.short_run(&folder);
    let id = killed.run_id().unwrap();
    next.assert_says(&["run", id, "was on ssh://board"]);
    assert!(!next.says(&["no test file", id]), "{:#?}", next.err);
}

/// Whatever an agent says, its host ends with one line, and keeps nothing of it.
#[test]
fn a_hostile_agent_neither_fills_nor_holds_its_host() {
    let trial = r#"{"type":"keep_trials","position":4294967295}"#;
    let stored = r#"{"type":"stored","position":1}"#;
    for (agent, expected) in [
        ("exit 0", "the agent ended unexpectedly"),
        (
            "echo 'Segmentation fault' >&2; sleep 1",
            "(Segmentation fault)",
        ),
        ("yes", "at most 67108864 are taken"),
        ("cat /dev/zero", "not a message of this version"),
        (
            "printf '\\377\\377\\377\\003'; sleep 1",
            "the connection was lost",
        ),
        (
            &say(r#"{"type":"hello","version":1}"#),
            "from before protocol 1",
        ),
        (&say(&"[".repeat(100_000)), "not a message of this version"),
        (
            &format!("{}; {}", greeting(), say(trial)),
            "unexpected KeepTrials",
        ),
        (
            &format!("{}; {}", greeting(), say(stored)),
            "not a message of this version",
        ),
        (
            &format!("{}; while :; do {}; done", greeting(), say(trial)),
            "unexpected",
        ),
    ] {
        let machine = Machine::new(agent);
        let ended = machine.qualify(&machine.bed.folder(), "stop");
        assert_ne!(ended.code, Some(0), "{agent}");
        assert_eq!(ended.err.len(), 1, "one line: {:#?}", ended.err);
        ended.assert_says(&["assay: ", expected]);
        assert!(!machine.bed.store().exists(), "{agent}");
        machine.assert_clean();
    }
}

/// Escape sequences of another machine are not carried out by this terminal.
#[test]
fn what_another_machine_complains_about_cannot_steer_a_terminal() {
    let machine = Machine::new("printf '\\033]0;owned\\007\\n' >&2; sleep 1");
    let ended = machine.qualify(&machine.bed.folder(), "stop");
    ended.assert_code(5);
    assert!(
        !ended.err.iter().any(|line| line.contains('\u{1b}')),
        "{:?}",
        ended.err
    );
}

#[test]
fn a_machine_without_an_agent_is_refused() {
    let machine = Machine::with_honest_agent();
    write_program(&machine.folder.join("uname"), "#!/bin/sh\necho s390x\n");
    let refusal = machine
        .run(&["qualify", "--on", "ssh://board", "/"])
        .refusal();
    assert!(refusal.contains("there is no agent for it"), "{refusal}");
}
