//! The dialogue with a real shell, and with things that only look like one. In
//! place of ssh stands a script that runs the command here.

use super::*;
use assay_testkit::{Scratch, signal_to};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Instant;

/// Runs the last of its arguments, as a login shell would.
const SSH: &str = "for last; do :; done\nexec sh -c \"$last\"\n";
/// Says what it hears, and where it runs.
const AGENT: &str = "#!/bin/sh\necho \"$0\"\ncat\n";

/// A machine that is this one, with a folder of its own for programs.
struct Machine {
    scratch: Scratch,
    ssh: Ssh,
}

impl Machine {
    /// `before`: what the login does; `temporary`: a name of its `TMPDIR`.
    fn new(before: &str, temporary: &str) -> Self {
        let scratch = Scratch::new().unwrap();
        let folder = scratch.join(temporary);
        fs::create_dir(&folder).unwrap();
        // In double quotes these mean something to a shell.
        let quoted = folder.display().to_string().replace('\'', "'\\''");
        let program = scratch.join("ssh");
        let script = format!("#!/bin/sh\nexport TMPDIR='{quoted}'\n{before}\n{SSH}");
        write_program(&program, &script);
        let mut ssh = Ssh::new("ssh://board".parse().unwrap());
        ssh.program = program.into();
        Self { scratch, ssh }
    }

    fn with_agent(self, agent: &str) -> Self {
        let machine = rustix::system::uname();
        let name = format!("assay-agent-{}", machine.machine().to_string_lossy());
        fs::create_dir(self.scratch.join("agents")).unwrap();
        write_program(&self.scratch.join("agents").join(name), agent);
        self
    }

    fn start(&mut self) -> Result<Session, TargetError> {
        self.ssh.agents.folders = vec![self.scratch.join("agents")];
        self.ssh.start()
    }

    fn left(&self, temporary: &str) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.scratch.join(temporary)).unwrap();
        folder.map(|entry| entry.unwrap().path()).collect()
    }
}

fn write_program(path: &std::path::Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn why(outcome: Result<Session, TargetError>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn the_agent_runs_in_a_private_folder_that_goes_with_it() {
    for temporary in [
        "t",
        "a b",
        "it's",
        "x;touch y",
        "$(touch y)",
        "two\nlines",
        "\"q\"",
    ] {
        let mut machine = Machine::new("echo welcome", temporary).with_agent(AGENT);
        let mut session = machine.start().unwrap();
        let there = machine.left(temporary);
        assert_eq!(there.len(), 1, "{there:?}");
        let mode = fs::metadata(&there[0]).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        session
            .writer
            .take()
            .unwrap()
            .write_all(b"\0hi\xff")
            .unwrap();
        let mut heard = Vec::new();
        session.reader.read_to_end(&mut heard).unwrap();
        let mut expected = format!("{}/agent\n", there[0].display()).into_bytes();
        expected.extend(b"\0hi\xff");
        assert_eq!(heard, expected);
        drop(session);
        assert!(machine.left(temporary).is_empty(), "{temporary:?}");
    }
}

#[test]
fn a_killed_link_leaves_nothing() {
    let mut machine = Machine::new("", "t").with_agent(AGENT);
    // The shell lives on, as it does over there; only its streams end.
    let script = "#!/bin/sh\nfor last; do :; done\nexport TMPDIR=\"${0%/ssh}/t\"\n\
                  mkfifo \"$0.in\"\nsetsid sh -c \"$last\" <\"$0.in\" &\nexec cat >\"$0.in\"\n";
    write_program(&machine.scratch.join("ssh"), script);
    let session = machine.start().unwrap();
    assert_eq!(machine.left("t").len(), 1);
    signal_to(session.pid(), Signal::KILL);
    drop(session);
    let since = Instant::now();
    while !machine.left("t").is_empty() && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(machine.left("t").is_empty());
}

#[test]
fn what_went_wrong_is_said_in_one_line() {
    for (before, expected) in [
        (
            "echo 'Host key verification failed.' >&2; exit 255",
            "look at it (ssh board)",
        ),
        ("exit 255", "ssh ended without a word"),
        (
            "echo assay-boot 2 x86_64; exit",
            "its shell answers '2 x86_64'",
        ),
        (
            "echo assay-boot 1 pdp11; exit",
            "board is pdp11, and there is no agent",
        ),
        ("yes", "it talks without end"),
        ("tr '\\0' x </dev/zero", "it talks without end"),
        (
            "echo assay-boot 1 $(uname -m); read x; echo assay-boot nowhere",
            "noexec",
        ),
        (
            "echo assay-boot 1 $(uname -m); read x; echo rm -rf /",
            "answers 'rm -rf /'",
        ),
        (
            "echo assay-boot 1 $(uname -m); read x; echo assay-boot send; echo assay-boot got 3; cat >/dev/null",
            "not all arrived",
        ),
    ] {
        let mut machine = Machine::new(&format!("{before}\nexit"), "t").with_agent(AGENT);
        let said = why(machine.start());
        assert!(said.contains(expected), "{before}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(machine.left("t").is_empty());
    }
}

#[test]
fn an_agent_that_changed_on_its_way_does_not_run() {
    let before = "sha256sum() { echo 0123; }";
    let mut machine = Machine::new("", "t").with_agent(AGENT);
    let script = format!(
        "#!/bin/sh\nexport TMPDIR=\"${{0%/ssh}}/t\"\nfor last; do :; done\nlast=${{last#exec sh -c }}\n\
         eval \"script=$last\"\n{before}\neval \"$script\"\n"
    );
    write_program(&machine.scratch.join("ssh"), &script);
    let said = why(machine.start());
    assert!(said.contains("not all arrived"), "{said}");
    assert!(machine.left("t").is_empty());
}

#[test]
fn there_is_nothing_in_front_of_this_terminal() {
    let mut machine = Machine::new("", "t");
    let error = machine.ssh.start_in_front().unwrap_err();
    assert!(error.is_usage(), "{error}");
}

#[test]
fn the_command_survives_any_login_shell() {
    assert_eq!(boot::command().matches('\'').count(), 2);
    assert!(!boot::command().contains(['\n', '!']));
}
