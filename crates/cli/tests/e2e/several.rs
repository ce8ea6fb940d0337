//! One command on several targets at the same time.

use crate::assay::{Running, test_folders, text, until};
use crate::over_ssh::Machine;
use assay_testkit::{needs, signal_to};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

const SHORT: [&str; 6] = ["--size", "1M", "--trials", "1", "--only", "read-cached"];
const LONG: [&str; 6] = ["--size", "1M", "--trials", "500", "--only", "read-cached"];

/// `assay qualify` of a folder on some targets.
fn words<'a>(targets: &[&'a str], folder: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let on = targets.iter().flat_map(|target| ["--on", target]);
    let mut words = vec!["qualify"];
    words.extend(on);
    words.extend([text(folder), "--quick"]);
    words.extend(more);
    words
}

/// Targets of the stored runs and how these ended, in order.
fn stored(machine: &Machine) -> Vec<(String, String)> {
    let listed = machine.bed.run(&["list"]);
    listed.assert_code(0);
    let ids = listed.out.lines().skip(1);
    let runs = ids.filter_map(|line| line.split(' ').next());
    let word = |run: &Value, field: &str| run["run"][field].as_str().unwrap_or("local").to_owned();
    let mut all: Vec<_> = runs
        .map(|id| machine.bed.stored(id))
        .map(|run| (word(&run, "target"), word(&run, "status")))
        .collect();
    all.sort();
    all
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

#[test]
fn each_target_has_a_run_of_its_own() {
    needs!(root, "unshare");
    let machine = Machine::with_boards();
    let folder = machine.bed.folder();
    let list = machine.bed.join("boards");
    fs::write(&list, "# more of them\nssh://two\n").unwrap();
    let list = format!("@{}", list.display());
    let ended = machine.run(&words(&["ssh://one", "local", &list], &folder, &SHORT));
    ended.assert_code(0);
    for target in ["ssh://one", "local", "ssh://two"] {
        ended.assert_says(&[&format!("{target}: [1/1] read-cached #1")]);
    }
    // In the order in which they were given.
    let heads: Vec<&str> = ended
        .out
        .lines()
        .filter(|line| line.starts_with("--- "))
        .collect();
    assert_eq!(heads, ["--- ssh://one", "--- local", "--- ssh://two"]);
    let expected = [
        ("local", "finished"),
        ("ssh://one", "finished"),
        ("ssh://two", "finished"),
    ];
    assert_eq!(stored(&machine), pairs(&expected));
    assert!(test_folders(&folder).is_empty());
    machine.assert_clean();
}

#[test]
fn a_target_that_fails_is_named_and_takes_no_other_with_it() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let targets = ["ssh://dead", "ssh://one"];
    let more = [&SHORT[..], &["--json"]].concat();
    let ended = machine.run(&words(&targets, &folder, &more));
    ended.assert_code(5);
    ended.assert_says(&["assay: ssh://dead ended with 5: ", "No route to host"]);
    ended.assert_says(&["1 of 2 targets failed"]);
    let documents = ended.json();
    assert_eq!(documents.as_array().unwrap().len(), 1);
    assert_eq!(documents[0]["run"]["target"], "ssh://one");
    assert_eq!(stored(&machine), pairs(&[("ssh://one", "finished")]));
}

#[test]
fn tools_and_job_files_run_on_several_too() {
    needs!(root, "unshare");
    let machine = Machine::with_boards();
    let folder = machine.bed.folder();
    let job = machine.bed.join("j.fio");
    let data = folder.join("data");
    fs::write(&job, "[j]\nrw=read\nbs=4k\nsize=64k\nfilename=/dev/zero\n").unwrap();
    let both = ["--on", "ssh://one", "--on", "ssh://two"];
    let job = [&["run"], &both[..], &[text(&job), "--trials", "1"]].concat();
    machine.run(&job).assert_code(0);
    assert_eq!(stored(&machine).len(), 2);
    // Both are this machine: only one of them can write the file.
    let on = ["--on", "ssh://one", "--on", "ssh://dead"];
    let iozone = ["-f", text(&data), "-s", "64", "-r", "4", "-i", "0"];
    let iozone = [&["iozone"], &on[..], &iozone].concat();
    let ended = machine.run(&iozone);
    ended.assert_code(5);
    ended.assert_says(&["ssh://dead ended with 5"]);
    assert_eq!(stored(&machine).len(), 3);
    let refused = machine.run(&[&iozone[..], &["-b", "x.xls"]].concat());
    refused.assert_code(2);
    refused.assert_says(&["ssh://dead", "the same workbook"]);
}

#[test]
fn targets_that_are_one_device_of_one_machine_are_refused_before_they_measure() {
    needs!(root, "unshare");
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let targets = ["ssh://one", "ssh://two", "ssh://dead"];
    let ended = machine.run(&words(&targets, &folder, &SHORT));
    ended.assert_code(5);
    ended.assert_says(&["ssh://one ended with 2: ssh://one and ssh://two are the same"]);
    ended.assert_says(&["ssh://two ended with 2: ssh://two and ssh://one are the same"]);
    ended.assert_says(&["3 of 3 targets failed"]);
    assert!(!machine.bed.join("runs.sqlite").exists());
    assert!(test_folders(&folder).is_empty());
    machine.assert_clean();

    // Nor are they units of two parts; what was measured before the second one came is kept.
    let file = machine.bed.join("campaign.toml");
    for (at_once, there) in [(2, 0), (1, 1)] {
        let head =
            format!("at_once = {at_once}\ncommand = [\"qualify\", {folder:?}, \"--quick\", ");
        let words = SHORT.map(|word| format!("{word:?}")).join(", ");
        let part = |name| format!("[[part]]\nname = \"{name}\"\ntargets = [\"ssh://{name}\"]\n");
        let parts = ["one", "two"].map(part).concat();
        fs::write(&file, format!("{head}{words}]\n{parts}")).unwrap();
        let ended = machine.run(&["lab", "campaign", text(&file)]);
        ended.assert_code(2);
        ended.assert_says(&[
            "part two: ssh://two ended with 2",
            "same boot id",
            "no other board",
        ]);
        assert_eq!(stored(&machine).len(), there, "{:#?}", ended.err);
    }
    machine.assert_clean();
}

#[test]
fn what_names_no_targets_is_refused() {
    let machine = Machine::with_honest_agent();
    let empty = machine.bed.join("empty");
    fs::write(&empty, "# none yet\n").unwrap();
    let empty = format!("@{}", empty.display());
    for (targets, expected) in [
        (&["ssh://one", "ssh://one"][..], "given twice"),
        (&[&empty], "names no target"),
        (&["@/no/such/file"], "No such file"),
        (&["ssh://one", "two"], "write ssh://user@host:port"),
    ] {
        let refusal = machine
            .run(&words(targets, Path::new("/tmp"), &[]))
            .refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
}

fn assert_stopped(machine: &Machine, folder: &Path) {
    until("the agents have cleaned up", || {
        test_folders(folder).is_empty()
    });
    machine.assert_clean();
    let expected = [("ssh://one", "interrupted"), ("ssh://two", "interrupted")];
    until("both runs are known to be over", || {
        stored(machine) == pairs(&expected)
    });
}

/// A run that measures on two targets now, and would for long.
fn long_on_two(machine: &Machine, folder: &Path) -> Running {
    let targets = ["ssh://one", "ssh://two"];
    let mut running = Running::start(&mut machine.command(&words(&targets, folder, &LONG)));
    for target in targets {
        running.await_words(&format!("{target}: ["));
    }
    running
}

#[test]
fn an_interrupt_ends_all_in_good_order() {
    needs!(root, "unshare");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let machine = Machine::with_boards();
        let folder = machine.bed.folder();
        let running = long_on_two(&machine, &folder);
        running.signal(signal);
        let ended = running.end();
        ended.assert_code(code);
        ended.assert_says(&["stopping all"]);
        assert_stopped(&machine, &folder);
    }
}

#[test]
fn all_end_with_the_one_who_started_them() {
    needs!(root, "unshare");
    let machine = Machine::with_boards();
    let folder = machine.bed.folder();
    let running = long_on_two(&machine, &folder);
    signal_to(running.id(), Signal::KILL);
    running.end();
    assert_stopped(&machine, &folder);
}

/// On a terminal each target has a line that is drawn over.
#[test]
fn a_terminal_has_a_line_for_each_target() {
    needs!(root, "unshare", "script");
    let machine = Machine::with_boards();
    let folder = machine.bed.folder();
    let targets = ["ssh://one", "ssh://two"];
    let more = ["--size", "1M", "--trials", "40", "--only", "read-cached"];
    let command = machine.command(&words(&targets, &folder, &more));
    let quoted: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let mut script = assay_testkit::command("script");
    script.args([
        "--quiet",
        "--return",
        "--command",
        &quoted.join(" "),
        "/dev/null",
    ]);
    for (name, value) in command.get_envs() {
        script.env(name, value.unwrap_or_default());
    }
    script.env("TERM", "xterm").env("NO_COLOR", "1");
    let shown = Running::start(&mut script).end().out;
    let live: Vec<&str> = shown
        .split('\r')
        .filter(|line| line.contains("/40 "))
        .collect();
    for target in targets {
        assert!(live.iter().any(|line| line.contains(target)), "{live:?}");
    }
    assert!(
        shown.contains("\u{1b}[1A"),
        "two lines are drawn over: {shown:?}"
    );
    assert!(!shown.contains('\u{1e}'), "{shown:?}");
}
