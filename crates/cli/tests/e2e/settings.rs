//! Settings from flags, variables and config files, and what assay says of itself.

use crate::assay::{Bed, Ended, Running, text, trials};
use crate::over_ssh::Machine;
use assay_testkit::needs;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

const QUALIFY: [&str; 5] = [
    "qualify",
    "sim:emmc-8gb-hs400",
    "--quick",
    "--only",
    "rand-read-4k",
];

/// A user's home with a project in it.
struct Home {
    bed: Bed,
    home: PathBuf,
    project: PathBuf,
}

impl Home {
    fn new() -> Self {
        let bed = Bed::new();
        let home = bed.folder_named("home");
        let project = home.join("project");
        fs::create_dir_all(home.join(".config/assay")).expect("a file of ours");
        fs::create_dir(&project).expect("a file of ours");
        Self { bed, home, project }
    }

    fn user(&self, text: &str) {
        fs::write(self.home.join(".config/assay/config.toml"), text).expect("a file of ours");
    }

    fn project(&self, text: &str) -> PathBuf {
        let file = self.project.join("assay.toml");
        fs::write(&file, text).expect("a file of ours");
        file
    }

    /// The command in the project.
    fn at_home(&self, mut command: Command) -> Command {
        command.current_dir(&self.project).env("HOME", &self.home);
        command
    }

    fn command(&self, words: &[&str]) -> Command {
        self.at_home(self.bed.command_without_store(words))
    }

    fn run(&self, words: &[&str]) -> Ended {
        Running::start(&mut self.command(words)).end()
    }

    fn run_as_nobody(&self, words: &[&str]) -> Ended {
        let command = self.bed.command_of_nobody_without_store(words);
        Running::start(&mut self.at_home(command)).end()
    }
}

/// Number of trials of the newest run in a store.
fn trials_in(home: &Home, store: &Path) -> usize {
    let ended = home.run(&["report", "last", "--json", "--store", text(store)]);
    ended.assert_code(0);
    trials(&ended.json(), "rand-read-4k").len()
}

fn setting<'a>(shown: &'a Value, key: &str) -> [&'a Value; 3] {
    let settings = shown["settings"].as_array().expect("settings");
    let found = settings.iter().find(|setting| setting["key"] == key);
    let found = found.unwrap_or_else(|| panic!("no {key}: {shown:#}"));
    ["value", "from", "file"].map(|field| &found[field])
}

#[test]
fn a_flag_precedes_the_environment_the_project_the_user_and_the_default() {
    let home = Home::new();
    let measured = |variables: &[(&str, &str)], flags: &[&str]| {
        let mut command = home.command(&[&QUALIFY[..], flags].concat());
        command.envs(variables.iter().copied());
        let ended = Running::start(&mut command).end();
        ended.assert_code(0);
        ended
    };
    let kept = |store: &str| trials_in(&home, &home.home.join(store));
    measured(&[], &[]);
    assert_eq!(kept(".local/share/assay/runs.sqlite"), 4);
    home.user("store = \"~/user.sqlite\"\ntrials = 2");
    measured(&[], &[]);
    assert_eq!(kept("user.sqlite"), 2);
    home.project("store = \"project.sqlite\"\ntrials = 3");
    let shown = measured(&[], &[]).out;
    assert_eq!(kept("project/project.sqlite"), 3);
    assert!(shown.contains("trials: 3 completed"), "{shown}");
    let variables = [("ASSAY_STORE", "../variable.sqlite"), ("ASSAY_TRIALS", "5")];
    measured(&variables, &[]);
    assert_eq!(kept("variable.sqlite"), 5);
    let flag = home.bed.join("flag.sqlite");
    measured(&variables, &["--trials", "1", "--store", text(&flag)]);
    assert_eq!(trials_in(&home, &flag), 1);
    for store in ["user.sqlite", "project/project.sqlite", "variable.sqlite"] {
        let path = home.home.join(store);
        let list = home.run(&["list", "--json", "--store", text(&path)]).json();
        assert_eq!(list["runs"].as_array().map(Vec::len), Some(1), "{store}");
    }
}

#[test]
fn the_command_shows_each_setting_with_its_source() {
    let home = Home::new();
    home.user("trials = 2\nmargin = 2.5\n[targets]\nold = \"ssh://root@10.0.0.7\"");
    let file = home.project("margin = 3\nstore = \"runs.sqlite\"");
    let mut command = home.command(&["lab", "config", "--json", "--trials", "7", "--lang", "zh"]);
    command.env("ASSAY_UNIT", "board 7");
    let ended = Running::start(&mut command).end();
    ended.assert_code(0);
    let shown = ended.json();
    assert_eq!(shown["schema"], 1);
    let store = home.project.join("runs.sqlite");
    let null = Value::Null;
    for (key, expected) in [
        ("store", [text(&store), "project"]),
        ("language", ["zh", "flag"]),
        ("trials", ["7", "flag"]),
        ("margin", ["3", "project"]),
        ("unit", ["board 7", "environment"]),
        ("targets.old", ["ssh://root@10.0.0.7", "user"]),
    ] {
        assert_eq!(setting(&shown, key)[..2], expected, "{key}");
    }
    assert_eq!(setting(&shown, "margin")[2], text(&file));
    assert_eq!(
        setting(&shown, "part"),
        [&null, &Value::from("default"), &null]
    );
    let people = home.run(&["lab", "config"]);
    people.assert_code(0);
    for words in ["Settings in force", "project file", "user file", ": read"] {
        assert!(people.out.contains(words), "{words}: {}", people.out);
    }
    let targets = home.run(&["lab", "targets"]);
    assert!(
        targets.out.contains("ssh://root@10.0.0.7 (old, user)"),
        "{}",
        targets.out
    );
    let near = home.run(&["doctor", "--on", "odl"]).refusal();
    assert!(near.contains("did you mean old?"), "{near}");
}

#[test]
fn a_mistake_ends_every_command_but_those_that_show_it() {
    let home = Home::new();
    let file = home.project("\ntrails = 3");
    let mistake = format!(
        "assay: {}: line 2: there is no key trails (did you mean trials?)",
        text(&file)
    );
    for words in [&QUALIFY[..], &["list"]] {
        let refusal = home.run(words).refusal();
        assert!(refusal.starts_with(&mistake), "{words:?}: {refusal}");
    }
    for words in [
        &["dd", "if=/dev/null", "of=copy"][..],
        &["fio", "--version"],
    ] {
        let tool = home.run(words);
        tool.assert_code(0);
        assert!(
            tool.says(&["did you mean trials?", "goes on without it"]),
            "{tool:#?}"
        );
    }
    home.run(&["--help"]).assert_code(0);
    let shown = home.run(&["lab", "config", "--json"]);
    shown.assert_code(2);
    let problem = shown.json()["problems"][0].to_string();
    assert!(
        problem.contains("line 2: there is no key trails"),
        "{problem}"
    );
    let doctor = home.run(&["doctor", "--self"]);
    doctor.assert_code(1);
    assert!(
        doctor.out.contains("line 2: there is no key"),
        "{}",
        doctor.out
    );
    let mut without = home.command(&["lab", "config"]);
    Running::start(without.env("ASSAY_CONFIG", ""))
        .end()
        .assert_code(0);
}

#[test]
fn pages_of_the_manual_know_no_settings_and_the_doctor_changes_no_store() {
    const OLD: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../store/tests/stored/v1.sqlite"
    );
    let home = Home::new();
    let (pages, store) = (home.project.join("pages"), home.project.join("old.sqlite"));
    let mut command = home.command(&["--generate", "man", text(&pages)]);
    Running::start(command.env("ASSAY_TRIALS", "77"))
        .end()
        .assert_code(0);
    let page = fs::read_to_string(pages.join("assay-ping.1")).expect("a page");
    assert!(!page.contains("77"), "{page}");
    fs::copy(OLD, &store).expect("a store");
    let mut command = home.command(&["doctor", "--self"]);
    Running::start(command.env("ASSAY_STORE", &store))
        .end()
        .assert_code(0);
    assert!(fs::read(&store).expect("a store") == fs::read(OLD).expect("a store"));
}

#[test]
fn a_file_that_cannot_be_read_or_that_others_own_is_named_and_not_used() {
    needs!(root, "setpriv");
    let home = Home::new();
    let file = home.project("trials = 3");
    let as_root = home.run(&["list"]);
    assert!(!as_root.says(&["assay.toml"]), "{as_root:#?}");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let refusal = home.run_as_nobody(&["list"]).refusal();
    let words = format!("{}: Permission denied", text(&file));
    assert!(refusal.contains(&words), "{refusal}");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    for owner in [4321, 65534] {
        chown(&file, Some(owner), Some(owner)).unwrap();
        let words = format!("it belongs to another user (uid {owner})");
        let refusal = home.run(&["list"]).refusal();
        assert!(refusal.contains(&words), "{refusal}");
        let theirs = home.run_as_nobody(&["lab", "config", "--json"]);
        let is_refused = theirs.json()["problems"].to_string().contains(&words);
        assert_eq!(is_refused, owner == 4321, "{theirs:#?}");
    }
    chown(&file, Some(0), Some(4321)).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
    let refusal = home.run(&["list"]).refusal();
    assert!(refusal.contains("other users can write it"), "{refusal}");
    let mut trusted = home.command(&["lab", "config", "--json"]);
    let trusted = Running::start(trusted.env("ASSAY_CONFIG", &file)).end();
    trusted.assert_code(0);
    assert_eq!(setting(&trusted.json(), "trials")[..2], ["3", "named"]);
}

#[test]
fn a_drop_in_takes_the_store_and_nothing_that_changes_what_it_measures() {
    let home = Home::new();
    home.project("store = \"runs.sqlite\"\ntrials = 3\nlanguage = \"zh\"");
    fs::write(home.project.join("data"), [7; 8192]).unwrap();
    let copy = home.run(&["dd", "if=data", "of=copy", "bs=4k"]);
    copy.assert_code(0);
    copy.assert_says(&["2+0 records in"]);
    assert_eq!(fs::read(home.project.join("copy")).unwrap(), [7; 8192]);
    let store = home.project.join("runs.sqlite");
    let shown = home.run(&["report", "last", "--json", "--store", text(&store)]);
    shown.assert_code(0);
    assert_eq!(shown.json()["trials"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_margin_of_the_settings_is_that_of_a_comparison_and_shown() {
    let home = Home::new();
    home.project("store = \"runs.sqlite\"\ntrials = 6");
    for name in ["a", "b"] {
        home.run(&[&QUALIFY[..], &["--name", name]].concat())
            .assert_code(0);
    }
    let compare = |margin: &str, words: &[&str]| {
        let mut command = home.command(&[&["compare", "a", "b"], words].concat());
        Running::start(command.env("ASSAY_MARGIN", margin)).end()
    };
    let shown = compare("20", &[]);
    assert!(shown.out.contains("within 20 %"), "{}", shown.out);
    assert_eq!(compare("2.5", &["--json"]).json()["margin_pct"], 2.5);
    let flag = compare("2.5", &["--json", "--margin", "7"]);
    assert_eq!(flag.json()["margin_pct"], 7.000_000_000_000_001);
}

#[test]
fn several_targets_by_their_names_share_the_settings_of_the_command() {
    needs!(root, "unshare");
    let machine = Machine::with_boards();
    let folder = machine.bed.folder();
    let project = machine.bed.folder_named("project");
    let file = project.join("assay.toml");
    fs::write(
        &file,
        "trials = 2\n[targets]\na = \"ssh://one\"\nb = \"ssh://two\"",
    )
    .unwrap();
    let words = ["--size", "1M", "--only", "read-cached", "--json"];
    let words = [
        &["qualify", text(&folder), "--on", "a", "--on", "b"],
        &words[..],
    ]
    .concat();
    let mut command = machine.command(&words);
    let mut running = Running::start(command.current_dir(&project));
    running.await_words("[1/2]");
    // It is not read again.
    fs::write(&file, "trials = 9").unwrap();
    let ended = running.end();
    ended.assert_code(0);
    let runs = ended.json();
    for (run, target) in [(&runs[0], "ssh://one"), (&runs[1], "ssh://two")] {
        assert_eq!(run["run"]["target"], target);
        assert_eq!(trials(run, "read-cached").len(), 2);
    }
    machine.assert_clean();
}

#[test]
fn the_doctor_describes_this_assay_in_a_few_lines() {
    let home = Home::new();
    let store = home.project.join("runs.sqlite");
    home.project("store = \"runs.sqlite\"");
    let mut command = home.command(&["doctor", "--self", "--json"]);
    let agents = home.bed.folder_named("agents");
    fs::write(agents.join("assay-agent-riscv64"), "").unwrap();
    command.env("ASSAY_AGENTS", &agents);
    let ended = Running::start(&mut command).end();
    ended.assert_code(0);
    let shown = ended.json();
    let found = &shown["installation"];
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(found["store"]["path"], text(&store));
    assert_eq!(found["store"]["writable"], true, "{found:#}");
    let all = found["agents"].as_array().expect("agents");
    let riscv = all.iter().find(|agent| agent["machine"] == "riscv64");
    let file = agents.join("assay-agent-riscv64");
    assert_eq!(riscv.expect("it is known")["small"], text(&file));
    assert!(!store.exists(), "nothing is written");
    let people = home.run(&["doctor", "--self"]);
    people.assert_code(0);
    let lines = people.out.lines().count();
    assert!(lines <= 10, "{lines}: {}", people.out);
    for words in [
        "Build",
        "Agents",
        "Store",
        "runs.sqlite, writable",
        "assay.toml: read",
    ] {
        assert!(people.out.contains(words), "{words}: {}", people.out);
    }
    home.run(&["doctor", "--self", "/tmp"]).assert_code(2);
}

#[test]
fn a_folder_of_agents_that_is_not_there_is_an_error_of_what_needs_agents() {
    let machine = Machine::with_honest_agent();
    let folder = machine.bed.folder();
    let file = machine.bed.join("agents");
    fs::write(&file, "").unwrap();
    let on = ["--on", "ssh://a", "--on", "ssh://b"];
    let qualify = [
        "qualify",
        text(&folder),
        "--size",
        "1M",
        "--quick",
        "--only",
        "read-cached",
    ];
    let run = |agents: &str, words: &[&str]| {
        let mut command = machine.command(words);
        Running::start(command.env("ASSAY_AGENTS", agents)).end()
    };
    let doctor = |agents: &str| {
        let mut command = machine.bed.command_without_store(&["doctor", "--self"]);
        Running::start(command.env("ASSAY_AGENTS", agents))
            .end()
            .out
    };
    for (agents, why) in [
        ("/nonexistent", "No such file"),
        (text(&file), "Not a directory"),
    ] {
        let found = format!("ASSAY_AGENTS={agents}: {why}");
        for on in [&on[..2], &on] {
            let refusal = run(agents, &[&qualify, on].concat()).refusal();
            assert!(refusal.contains(&found), "{refusal}");
            assert!(refusal.contains("name a folder with agents"), "{refusal}");
        }
        run(agents, &qualify).assert_code(0);
        let doctor = doctor(agents);
        assert!(doctor.contains(&found), "{doctor}");
    }
    let doctor = doctor("");
    assert!(!doctor.contains("ASSAY_AGENTS="), "{doctor}");
}

#[test]
fn the_doctor_goes_on_without_an_agent_and_says_so() {
    needs!("bash");
    let home = Home::new();
    let copy = home.project.join("assay-copy");
    // Its own file is gone: it cannot start itself as an agent.
    let script = format!(
        "exec 9<{0} && rm {0} && exec /proc/self/fd/9 doctor --self \"$@\"",
        text(&copy)
    );
    let run = |words: &[&str]| {
        assay_testkit::copy_program(env!("CARGO_BIN_EXE_assay"), &copy).expect("a copy");
        let mut command = home.at_home(assay_testkit::command("bash"));
        command.args(["-c", &script, "bash"]).args(words);
        Running::start(&mut command).end()
    };
    let people = run(&[]);
    people.assert_code(1);
    for words in [
        "nothing can be measured on this machine: ",
        "runs.sqlite, writable",
        "unknown, because the agent does not start",
    ] {
        assert!(people.out.contains(words), "{words}: {people:#?}");
    }
    let shown = run(&["--json"]).json();
    let problem = shown["installation"]["agent_problem"].as_str();
    assert!(
        problem.is_some_and(|why| why.contains("assay-copy")),
        "{shown:#}"
    );
    assert_eq!(shown["system"], Value::Null);
}

#[test]
fn a_variable_that_nothing_reads_is_named_once_and_is_no_mistake() {
    let home = Home::new();
    let with_variables = |words: &[&str]| {
        let mut command = home.command(words);
        command.envs([
            ("ASSAY_TRAILS", "3"),
            ("ASSAY_QQQQ", "1"),
            ("ASSAY_WORDS", "x"),
        ]);
        let ended = Running::start(command.env("ASSAY_STROE", "")).end();
        ended.assert_code(0);
        ended
    };
    for command in [&["lab", "config"][..], &["doctor", "--self"]] {
        let out = with_variables(command).out;
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = "ASSAY_TRAILS is set, and assay reads no variable of that name";
        assert_eq!(out.matches(line).count(), 1, "{out}");
        assert!(out.contains("(did you mean ASSAY_TRIALS?)"), "{out}");
        assert!(out.contains("ASSAY_QQQQ is set"), "{out}");
        for known in ["ASSAY_WORDS", "ASSAY_STROE", "ASSAY_JOURNAL_DIR"] {
            assert!(!out.contains(&format!("{known} is set")), "{out}");
        }
    }
    let shown = with_variables(&["lab", "config", "--json"]).json();
    assert_eq!(
        shown["warnings"].as_array().map(Vec::len),
        Some(2),
        "{shown:#}"
    );
}

#[test]
fn a_part_that_is_not_known_is_named_with_the_nearest_one_where_settings_are_shown() {
    let home = Home::new();
    let file = home.project("part = \"emmc-8gb-hs40\"");
    let shown = home.run(&["lab", "config"]);
    shown.assert_code(2);
    let words = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(did you mean emmc-8gb-hs400?)"), "{words}");
    let json = home.run(&["lab", "config", "--json"]).json();
    let problem = json["problems"][0].as_str().expect("a problem");
    assert!(
        problem.starts_with(&format!("{}: part: emmc-8gb-hs40: ", text(&file))),
        "{problem}"
    );
    home.run(&["doctor", "--self"]).assert_code(1);
    let mut variable = home.command(&["lab", "config", "--json"]);
    let shown = Running::start(variable.env("ASSAY_PART", "nope")).end();
    shown.assert_code(2);
    let problem = shown.json()["problems"][0].to_string();
    assert!(problem.contains("ASSAY_PART: nope: no part"), "{problem}");
    home.run(&["lab", "targets"]).assert_code(0);
}

#[test]
fn the_help_has_the_usual_number_of_trials_whatever_the_settings_are() {
    let home = Home::new();
    for command in ["run", "ping", "scenario", "androbench", "qualify"] {
        let mut help = home.command(&[command, "--help"]);
        let help = Running::start(help.env("ASSAY_TRIALS", "77")).end().out;
        assert!(help.contains("[default: 5"), "{command}: {help}");
        assert!(!help.contains("77"), "{command}: {help}");
    }
}

#[test]
fn the_doctor_says_that_a_store_cannot_be_written_and_what_to_do() {
    needs!(root, "setpriv");
    let home = Home::new();
    home.project("store = \"kept/runs.sqlite\"");
    let kept = home.project.join("kept");
    fs::create_dir(&kept).unwrap();
    let ended = home.run_as_nobody(&["doctor", "--self"]);
    ended.assert_code(1);
    for words in [
        "runs.sqlite, not writable",
        "runs cannot be kept",
        "ASSAY_STORE",
        "not run as root",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    let shown = home.run_as_nobody(&["doctor", "--self", "--json"]).json();
    let store = &shown["installation"]["store"];
    assert_eq!(store["writable"], false);
    let problem = store["problem"].as_str().expect("a reason");
    assert!(problem.contains(text(&kept)), "{problem}");
    assert!(
        home.run(&["doctor", "--self"])
            .out
            .contains("runs.sqlite, writable")
    );
}
