//! The dialogue with a real shell, and with things that only look like one. In
//! place of ssh stands a script that runs the command here.

use super::*;
use crate::{AgentOrder, AgentSession, AgentState, Target, TargetError};
use assay_model::wire::Feature;
use assay_testkit::{Scratch, write_program};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
        write_program(&program, &script).unwrap();
        let mut ssh = Ssh::new("ssh://board".parse().unwrap());
        ssh.program.program = program.into();
        Self { scratch, ssh }
    }

    fn with_agent(self, agent: &str) -> Self {
        fs::create_dir(self.scratch.join("agents")).unwrap();
        write_program(&self.own_agent(), agent).unwrap();
        self
    }

    fn own_agent(&self) -> PathBuf {
        let machine = rustix::system::uname();
        let name = format!("assay-agent-{}", machine.machine().to_string_lossy());
        self.scratch.join("agents").join(name)
    }

    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.ssh.agents.folders = vec![self.scratch.join("agents")];
        self.ssh.start()
    }

    fn left(&self, temporary: &str) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.scratch.join(temporary)).unwrap();
        folder.map(|entry| entry.unwrap().path()).collect()
    }
}

fn why(outcome: Result<AgentSession, TargetError>) -> String {
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
        let mut received = Vec::new();
        session.reader.read_to_end(&mut received).unwrap();
        let mut expected = format!("{}/agent\n", there[0].display()).into_bytes();
        expected.extend(b"\0hi\xff");
        assert_eq!(received, expected);
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
    write_program(&machine.scratch.join("ssh"), script).unwrap();
    let session = machine.start().unwrap();
    assert_eq!(machine.left("t").len(), 1);
    session.cut();
    drop(session);
    let since = Instant::now();
    while !machine.left("t").is_empty() && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(machine.left("t").is_empty());
}

#[test]
fn a_failed_connection_is_reported_in_one_line() {
    for (before, expected) in [
        (
            "echo 'Host key verification failed.' >&2; exit 255",
            "confirm it (ssh board)",
        ),
        ("exit 255", "ssh ended without an error message"),
        (
            "echo assay-boot 2 x86_64; exit",
            "unexpected answer of its shell: '2 x86_64'",
        ),
        (
            "echo assay-boot 3 pdp11; echo assay-boot which; exit",
            "board is pdp11, and there is no agent",
        ),
        ("yes", "its login shell prints output without end"),
        (
            "tr '\\0' x </dev/zero",
            "its login shell prints output without end",
        ),
        (
            "echo assay-boot 3 $(uname -m); echo assay-boot which; read x; echo assay-boot nowhere",
            "noexec",
        ),
        (
            "echo assay-boot 3 $(uname -m); echo assay-boot which; read x; echo rm -rf /",
            "unexpected answer of its shell: 'rm -rf /'",
        ),
        (
            "echo assay-boot 3 $(uname -m); echo assay-boot which; read x; echo assay-boot made; echo assay-boot got 3; cat >/dev/null",
            "of the agent arrived",
        ),
        (
            "echo assay-boot 3 $(uname -m); yes assay-boot stays",
            "lists agents without end",
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
    write_program(&machine.scratch.join("ssh"), &script).unwrap();
    let said = why(machine.start());
    assert!(said.contains("of the agent arrived"), "{said}");
    assert!(machine.left("t").is_empty());
}

#[test]
fn an_agent_of_ssh_cannot_start_in_foreground() {
    let mut machine = Machine::new("", "t");
    let error = machine.ssh.start_in_foreground().unwrap_err();
    assert!(error.is_usage(), "{error}");
}

/// The machine has a home of its own.
fn with_home() -> Machine {
    let own = "export HOME=\"$TMPDIR/../home\" PATH=\"$TMPDIR/../bin:$PATH\"";
    let machine = Machine::new(own, "t").with_agent(AGENT);
    fs::create_dir(machine.scratch.join("home")).unwrap();
    machine
}

fn agents(machine: &mut Machine, order: AgentOrder) -> Vec<(String, AgentState)> {
    machine.ssh.agents.folders = vec![machine.scratch.join("agents")];
    let found = machine.ssh.agents(order).unwrap().into_iter();
    // Others may run tests of their own on this machine.
    let home = machine.scratch.path().to_string_lossy().into_owned();
    let of_test = found.filter(|agent| agent.path.contains(&home));
    of_test
        .map(|agent| {
            let name = agent.path.rsplit('/').next().unwrap_or_default();
            (name.to_owned(), agent.state)
        })
        .collect()
}

#[test]
fn an_agent_that_stays_is_used_as_long_as_it_is_the_same() {
    let mut machine = with_home();
    let there = |state| vec![("agent".to_owned(), state)];
    assert!(agents(&mut machine, AgentOrder::List).is_empty());
    assert_eq!(
        agents(&mut machine, AgentOrder::Push),
        there(AgentState::Pushed)
    );
    assert_eq!(
        agents(&mut machine, AgentOrder::Push),
        there(AgentState::Kept)
    );
    assert!(machine.left("t").is_empty(), "only the kept one stays");
    let kept = machine.scratch.join("home/.assay-agent/agent");
    assert_eq!(
        kept.metadata().unwrap().permissions().mode() & 0o7777,
        0o700
    );

    // Only what is sent goes through `head`.
    let head = "#!/bin/sh\n: >\"${0%/bin/head}/sent\"\nPATH=${PATH#*:}\nexec head \"$@\"\n";
    fs::create_dir(machine.scratch.join("bin")).unwrap();
    write_program(&machine.scratch.join("bin/head"), head).unwrap();
    let is_sent = |machine: &mut Machine| {
        let mut session = machine.start().unwrap();
        drop(session.writer.take());
        let mut said = String::new();
        session.reader.read_to_string(&mut said).unwrap();
        assert!(!said.contains("evil"), "{said}");
        fs::remove_file(machine.scratch.join("sent")).is_ok()
    };
    assert!(!is_sent(&mut machine));
    assert!(machine.left("t").is_empty(), "its copy is gone");

    // Whoever changes it does not get it run.
    fs::write(&kept, "#!/bin/sh\necho evil\n").unwrap();
    assert!(is_sent(&mut machine));
    assert_eq!(
        agents(&mut machine, AgentOrder::List),
        there(AgentState::Other)
    );
    assert_eq!(
        agents(&mut machine, AgentOrder::Remove),
        there(AgentState::Removed)
    );
    assert!(!machine.scratch.join("home/.assay-agent").exists());
    assert!(is_sent(&mut machine), "again");
}

/// An agent that says its name, under the greeting of a later build with these features.
fn later_agent(features: &str) -> String {
    format!(
        "#!/bin/sh\n[ \"$*\" = --version ] && echo asked >>\"${{0%/*}}/../asked\" && \
         exec echo assay-agent 9.0.0 protocol 1..2 features {features}\necho installed\n"
    )
}

#[test]
fn an_installed_agent_is_used_if_it_can_do_what_is_needed() {
    let mut machine = with_home();
    let folder = machine.scratch.join("home/.assay-agent");
    fs::create_dir(&folder).unwrap();
    let installed = folder.join("agent");
    write_program(&installed, &later_agent("works of_tomorrow")).unwrap();
    let said = |machine: &mut Machine| {
        let mut session = machine.start().unwrap();
        drop(session.writer.take());
        let mut said = String::new();
        session.reader.read_to_string(&mut said).unwrap();
        said
    };
    assert_eq!(said(&mut machine), "installed\n");
    machine.ssh.needs(Feature::Works);
    assert_eq!(said(&mut machine), "installed\n");
    machine.ssh.agents.needs = None;
    let listed = agents(&mut machine, AgentOrder::List);
    assert_eq!(listed, [("agent".to_owned(), AgentState::Other)]);

    // With its own agent this program needs no other that can do less.
    write_program(&installed, &later_agent("")).unwrap();
    let own = format!("{}-sqlite", machine.own_agent().display());
    fs::copy(machine.own_agent(), own).unwrap();
    machine.ssh.needs(Feature::Works);
    assert!(said(&mut machine).ends_with("/agent\n"));
    fs::remove_dir_all(machine.scratch.join("agents")).unwrap();
    assert_eq!(said(&mut machine), "installed\n", "better than none");
    assert!(machine.left("t").is_empty());
}

/// Root must not run what another user put in the place of an agent.
#[test]
fn an_installed_agent_that_others_can_replace_is_not_started() {
    let mut machine = with_home();
    let folder = machine.scratch.join("home/.assay-agent");
    fs::create_dir(&folder).unwrap();
    write_program(&folder.join("agent"), &later_agent("")).unwrap();
    let asked = machine.scratch.join("home/asked");
    for (path, mode) in [
        (folder.join("agent"), 0o757),
        (folder.clone(), 0o770),
        (machine.scratch.join("home"), 0o777),
    ] {
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        drop(machine.start().unwrap());
        let listed = agents(&mut machine, AgentOrder::List);
        assert_eq!(listed, [("agent".to_owned(), AgentState::Foreign)]);
        assert!(!asked.exists(), "{}", path.display());
        fs::set_permissions(&path, before).unwrap();
    }
    // In a sticky folder of root others cannot replace it; a link leads to what is looked at.
    let home = machine.scratch.join("home");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::rename(folder.join("agent"), home.join("real")).unwrap();
    std::os::unix::fs::symlink("../real", folder.join("agent")).unwrap();
    drop(machine.start().unwrap());
    assert_eq!(
        fs::exists(machine.scratch.join("asked")).unwrap(),
        rustix::process::geteuid().is_root()
    );
}

#[test]
fn the_folder_of_a_killed_link_is_removed_but_not_that_of_a_running_agent() {
    let mut machine = with_home();
    let folder = machine.scratch.join("t/assay-agent-0123456789abcdef");
    fs::create_dir(&folder).unwrap();
    write_program(&folder.join("agent"), AGENT).unwrap();
    let theirs = machine.scratch.join("t/assay-agent-notes");
    fs::create_dir(&theirs).unwrap();
    let name = "assay-agent-0123456789abcdef".to_owned();
    let expected = vec![(name.clone(), AgentState::Left)];
    assert_eq!(agents(&mut machine, AgentOrder::List), expected);
    let expected = vec![(name, AgentState::Removed)];
    assert_eq!(agents(&mut machine, AgentOrder::Remove), expected);
    assert!(!folder.exists());
    assert!(theirs.exists(), "a name of somebody else's");

    // One that is being sent has no agent to run yet.
    fs::create_dir(&folder).unwrap();
    let found = agents(&mut machine, AgentOrder::Remove);
    assert_eq!(found[0].1, AgentState::Running);
    assert!(folder.exists());
}

#[test]
fn an_agent_cannot_stay_where_no_folder_takes_it() {
    let mut machine = Machine::new("export HOME=/proc/none", "t").with_agent(AGENT);
    machine.ssh.agents.folders = vec![machine.scratch.join("agents")];
    if std::path::Path::new("/data/local/tmp").exists() {
        return; // A phone.
    }
    let error = machine.ssh.agents(AgentOrder::Push).unwrap_err();
    assert!(
        error.to_string().contains("no folder there can keep"),
        "{error}"
    );
    assert!(machine.left("t").is_empty());
}

#[test]
fn a_machine_that_is_silent_is_given_up_and_nothing_of_its_link_stays() {
    // As ssh with a command that goes over another machine: a child in its group.
    let mut machine = Machine::new("", "t").with_agent(AGENT);
    let script = "#!/bin/sh\nsleep 1000 &\necho $! >\"$0.child\"\nwait\n";
    write_program(&machine.scratch.join("ssh"), script).unwrap();
    let began = Instant::now();
    machine.ssh.silence = Duration::from_secs(1);
    let said = why(machine.start());
    assert!(
        said.contains("no answer") && said.contains("ssh board"),
        "{said}"
    );
    let child = fs::read_to_string(machine.scratch.join("ssh.child")).unwrap();
    // A killed one goes in a moment, ours would sleep on.
    while is_running(child.trim()) {
        std::thread::sleep(Duration::from_millis(10));
        assert!(began.elapsed() < Duration::from_secs(500));
    }
}

/// Whether a process is there and is no zombie.
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn hosts_are_those_without_patterns() {
    let config = "# Host old\nHost board1 board2\n  HostName 10.0.0.1\nhost=\"pi\"\n\
                  Host *.lan !x board1\nHost a;b\nMatch host y\n  HostKeyAlias z\n";
    let names: Vec<String> = configured(config).iter().map(ToString::to_string).collect();
    assert_eq!(names, ["ssh://board1", "ssh://board2", "ssh://pi"]);
}

#[test]
fn an_address_is_read_and_shown() {
    for (text, words) in [
        ("ssh://board", "-- board"),
        ("ssh://root@10.0.0.7:2222", "-p 2222 -l root -- 10.0.0.7"),
        (
            "ssh://root@[fe80::1%eth0]:22",
            "-p 22 -l root -- fe80::1%eth0",
        ),
        ("ssh://[::1]", "-- ::1"),
        ("ssh://me@home@board", "-l me@home -- board"),
    ] {
        let address: SshAddress = text.parse().unwrap();
        assert_eq!(address.words().join(" "), words);
        assert_eq!(address.to_string(), text);
    }
    let slash: SshAddress = "ssh://board/".parse().unwrap();
    assert_eq!(slash.to_string(), "ssh://board");
}

#[test]
fn an_address_that_ssh_or_a_shell_could_misread_is_refused() {
    for text in [
        "ssh://-oProxyCommand=touch x",
        "ssh://-l@host",
        "ssh://a b",
        "ssh://a;b",
        "ssh://a\nb",
        "ssh://$(touch x)@host",
        "ssh://`x`@host",
        "ssh://a'b@host",
        "ssh://a\"b",
        "ssh://",
        "ssh://@host",
        "ssh://host:",
        "ssh://host:0",
        "ssh://host:65536",
        "ssh://fe80::1",
        "ssh://[fe80::1",
        "ssh://[fe80::1]x",
        "ssh://host/path",
        "ssh://user:secret@host",
        "host",
        "adb:1",
    ] {
        assert!(text.parse::<SshAddress>().is_err(), "{text}");
    }
}

fn words(stderr: &str) -> String {
    let address = "ssh://root@board:2222".parse().unwrap();
    of(&Complaints::of(stderr), &address)
}

#[test]
fn a_long_message_of_ssh_becomes_one_line_with_a_remedy() {
    for (stderr, expected) in [
        (
            "@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@\nHost key \
                 verification failed.\n",
            "ssh-keygen -R '[board]:2222'",
        ),
        (
            "No ED25519 host key is known\r\nHost key verification failed.\r\n",
            "(ssh -p 2222 root@board)",
        ),
        (
            "root@board: Permission denied (publickey).\n",
            "does not ask for passwords",
        ),
        (
            "ssh: connect to host board port 2222: Connection refused\n",
            "port 2222: Connection refused",
        ),
        ("", "without an error message"),
    ] {
        let said = words(stderr);
        assert!(said.contains(expected), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
