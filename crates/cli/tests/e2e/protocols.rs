//! Hosts and agents of other builds. A script stands in for such an agent: it changes the greeting
//! of this program's agent, and passes all else on.

use crate::assay::{Ended, text};
use crate::over_ssh::{Machine, say, write_program};
use assay_testkit::needs;
use std::fs;

const OTHER_BUILD: &str = "9.0.0+abc";
/// The greeting of a later build.
const LATER: &str = r#"{"oldest": 2, "newest": 3, "build": "9.0.0+abc", "more": {"x": 1},
    "features": ["works", "loads", "of_tomorrow"]}"#;

/// An agent that does its work, under a greeting with these changes.
fn greeting_with(changes: &str) -> String {
    format!(
        r#"exec /usr/bin/python3 - "$@" 3<&0 <<'END'
import json, os, struct, subprocess, sys
changes, words = {changes}, sys.argv[1:]
if words == ["--version"]:
    print("assay-agent {{build}} protocol {{oldest}}..{{newest}} features".format(**changes), *changes["features"])
    sys.exit()
agent = subprocess.Popen(["{program}", "--serve-as-assay-agent", *words], stdin=3, stdout=subprocess.PIPE)
os.close(3)
answers, out = agent.stdout, sys.stdout.buffer
length, = struct.unpack("<I", answers.read(4))
hello = json.loads(answers.read(length)) | changes
body = json.dumps(hello).encode()
out.write(struct.pack("<I", len(body)) + body)
while True:
    out.flush()
    more = answers.read1(65536)
    if not more:
        break
    out.write(more)
END
"#,
        program = env!("CARGO_BIN_EXE_assay")
    )
}

/// A machine of a kind that this program has no agent for.
fn without_agent_here(machine: &Machine) {
    let uname = "#!/bin/sh\necho s390x\n";
    write_program(&machine.folder.join("uname"), uname);
}

fn install(machine: &Machine, agent: &str) {
    let path = machine.folder.join("assay-agent");
    write_program(&path, &format!("#!/bin/sh\n{agent}"));
}

/// `assay run` of a job file: a load.
fn run_file(machine: &Machine, when_lost: &str) -> Ended {
    let job = machine.bed.join("j.fio");
    let data = machine.bed.join("data");
    let lines = format!(
        "[j]\nrw=write\nbs=4k\nsize=64k\nfilename={}\n",
        data.display()
    );
    fs::write(&job, lines).expect("a file");
    let words = [text(&job), "--trials", "1", "--when-lost", when_lost];
    machine.run(&[&["run", "--on", "ssh://board"], &words[..]].concat())
}

#[test]
fn an_agent_of_a_later_build_works_and_is_a_note_on_its_runs() {
    needs!("/usr/bin/python3");
    let machine = Machine::new(&greeting_with(LATER));
    let folder = machine.bed.folder();
    let ended = machine.qualify(&folder, "stop");
    ended.assert_code(0);
    assert!(ended.out.contains(OTHER_BUILD), "{}", ended.out);
    let by_later = ended.run_id().expect("a run").to_owned();
    let run = machine.bed.stored(&by_later);
    assert_eq!(run["run"]["builds"]["agent"], OTHER_BUILD);
    assert_eq!(run["run"]["builds"]["host"], env!("CARGO_PKG_VERSION"));
    assert_eq!(run["run"]["builds"]["protocol"], 2);
    run_file(&machine, "stop").assert_code(0);

    let own = machine.bed.short_run(&folder);
    let by_own = own.run_id().expect("a run").to_owned();
    assert!(!own.out.contains("agent that measured"), "{}", own.out);
    let run = machine.bed.stored(&by_own);
    assert_eq!(run["run"]["builds"]["agent"], run["run"]["builds"]["host"]);
    let compared = machine.bed.run(&["compare", &by_own, &by_later]);
    compared.assert_code(0);
    let differs = format!(
        "the version of assay differs: {0} and {0} (agent {OTHER_BUILD})",
        env!("CARGO_PKG_VERSION")
    );
    assert!(compared.out.contains(&differs), "{}", compared.out);
    machine.assert_clean();
}

#[test]
fn what_an_agent_lacks_is_refused_before_anything_is_measured() {
    needs!("/usr/bin/python3");
    let greeting = r#"{"oldest": 2, "newest": 2, "build": "9.0.0+abc", "features": ["works"]}"#;
    let machine = Machine::new(&greeting_with(greeting));
    let refusal = run_file(&machine, "stop").refusal();
    let own = format!(
        "this is assay {} with protocol 2",
        env!("CARGO_PKG_VERSION")
    );
    for words in [
        "ssh://board: the agent has no 'loads'",
        "9.0.0+abc with protocol 2",
        &own,
        "assay lab agent push",
    ] {
        assert!(refusal.contains(words), "{words}: {refusal}");
    }
    assert!(!machine.bed.join("data").exists() && !machine.bed.store().exists());
    // A plan needs no feature.
    machine
        .qualify(&machine.bed.folder(), "stop")
        .assert_code(0);
    machine.assert_clean();
}

#[test]
fn without_a_common_protocol_both_sides_and_the_remedy_are_named() {
    let later = r#"{"type":"hello","version":12,"oldest":3,"newest":4,"build":"9.0.0+abc"}"#;
    let before = r#"{"type":"hello","version":11}"#;
    for (hello, expected) in [
        (
            later,
            [
                "of assay 9.0.0+abc with protocols 3 to 4",
                "update this assay",
            ],
        ),
        (
            before,
            [
                "from before protocol 1 (its version is 11)",
                "assay lab agent push",
            ],
        ),
    ] {
        let machine = Machine::new(&say(hello));
        let refusal = machine.qualify(&machine.bed.folder(), "stop").refusal();
        let own = format!(
            "this is assay {} with protocol 2",
            env!("CARGO_PKG_VERSION")
        );
        assert!(refusal.contains(&own), "{refusal}");
        assert!(
            expected.iter().all(|words| refusal.contains(words)),
            "{refusal}"
        );
        machine.assert_clean();
    }
}

#[test]
fn an_agent_of_a_package_is_used_on_a_machine_that_has_no_other() {
    needs!("/usr/bin/python3");
    let machine = Machine::with_honest_agent();
    without_agent_here(&machine);
    let folder = machine.bed.folder();
    let refusal = machine.qualify(&folder, "stop").refusal();
    assert!(refusal.contains("there is no agent for it"), "{refusal}");

    install(&machine, &greeting_with(LATER));
    let ended = machine.qualify(&folder, "stop");
    ended.assert_code(0);
    let run = machine.bed.stored(ended.run_id().expect("a run"));
    assert_eq!(run["run"]["builds"]["agent"], OTHER_BUILD);
    let words = ["androbench", "--on", "ssh://board", "--when-lost", "stop"];
    let refusal = machine
        .run(&[&words[..], &[text(&folder)]].concat())
        .refusal();
    assert!(refusal.contains("the agent has no 'sqlite'"), "{refusal}");
    let list = machine.agent("list");
    let said = format!("assay-agent {OTHER_BUILD} protocol 2..3 features works loads of_tomorrow");
    assert!(list.out.contains(&said), "{}", list.out);

    // One from before protocol 1 says nothing when it is asked for its version.
    install(
        &machine,
        &say(r#"{"type":"hello","version":11}"#).replace("printf", "[ $# = 1 ] || printf"),
    );
    let refusal = machine.qualify(&folder, "stop").refusal();
    assert!(refusal.contains("from before protocol 1"), "{refusal}");
    machine.assert_clean();
}

/// An agent that does its work, and says that it has no `loads`, also over links that it outlives:
/// no byte more or less goes through.
fn without_loads() -> String {
    format!(
        r#"exec /usr/bin/python3 - "$@" 3<&0 <<'END'
import os, subprocess, sys
agent = subprocess.Popen(["{program}", "--serve-as-assay-agent", *sys.argv[1:]], stdin=3, stdout=subprocess.PIPE)
os.close(3)
while more := agent.stdout.read1(65536):
    sys.stdout.buffer.write(more.replace(b'"loads"', b'"l0ads"'))
    sys.stdout.buffer.flush()
sys.exit(agent.wait())
END
"#,
        program = env!("CARGO_BIN_EXE_assay")
    )
}

#[test]
fn a_refused_agent_ends_with_the_command() {
    needs!("/usr/bin/python3");
    let machine = Machine::new(&without_loads());
    for when_lost in ["wait=1h", "stop"] {
        let refusal = run_file(&machine, when_lost).refusal();
        assert!(refusal.contains("the agent has no 'loads'"), "{refusal}");
        machine.assert_clean();
    }
}

/// Answer of an installed agent of another build that is asked what it is.
const ABLE: &str = "[ \"$*\" = --version ] && \
    exec echo assay-agent 9.0.0+abc protocol 2..2 features works loads sqlite\n";

/// The run was made by the agent of this program, and a note names the other one.
fn assert_replaced(machine: &Machine, when_lost: &str, why: &str) {
    let ended = machine.qualify(&machine.bed.folder(), when_lost);
    ended.assert_code(0);
    let path = machine.folder.join("assay-agent");
    ended.assert_says(&["assay: ssh://board: ", why, text(&path), "sends its own"]);
    let run = machine.bed.stored(ended.run_id().expect("a run"));
    assert_eq!(run["run"]["builds"]["agent"], run["run"]["builds"]["host"]);
    machine.assert_clean();
}

#[test]
fn an_installed_agent_that_does_not_work_is_replaced_by_the_own_one() {
    let later = r#"{"type":"hello","version":12,"oldest":3,"newest":4,"build":"9.0.0+abc"}"#;
    let hello = r#"{"type":"hello","version":12,"oldest":2,"newest":2,"build":"9.0.0+abc"}"#;
    for (agent, when_lost, why) in [
        ("exit 1", "stop", "the agent ended unexpectedly"),
        ("exit 1", "wait", "the agent there has ended"),
        (&say(later), "stop", "with protocols 3 to 4"),
        (&say(hello), "stop", "the agent ended unexpectedly"),
    ] {
        let machine = Machine::with_honest_agent();
        install(&machine, &format!("{ABLE}{agent}"));
        assert_replaced(&machine, when_lost, why);
    }
}

#[test]
fn an_installed_agent_that_hangs_is_replaced_and_ended() {
    let machine = Machine::with_honest_agent();
    install(&machine, &format!("{ABLE}while :; do sleep 1; done"));
    assert_replaced(&machine, "stop", "did not answer within 30 s");
}

/// Without another agent to send there is only the reason, and the path.
#[test]
fn an_installed_agent_that_does_not_work_and_is_the_only_one_is_named() {
    let machine = Machine::with_honest_agent();
    without_agent_here(&machine);
    install(&machine, &format!("{ABLE}exit 1"));
    let ended = machine.qualify(&machine.bed.folder(), "stop");
    ended.assert_code(5);
    let path = machine.folder.join("assay-agent");
    ended.assert_says(&["the agent ended unexpectedly", text(&path)]);
}
