//! The files of `contrib/` for labs and CI servers: their steps, run as these run them, on
//! simulated devices.

use crate::assay::{Bed, Ended, Running, text};
use crate::lab::{Desk, places};
use crate::simulated::half_as_fast;
use assay_testkit::{Lab, needs, or_skip};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const CONTRIB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib");
const GITHUB: &str = "github/action.yml";
const GITLAB: &str = "gitlab/assay.gitlab-ci.yml";
const LAVA: &str = "lava/assay.yaml";
const PYTHON: &str = "/usr/bin/python3";

const FAST: &str = "sim:emmc-8gb-hs400";
const ONE_JOB: &str = "--quick --only seq-read-1m";
/// Files by which a step of GitHub hands something on.
const HANDED_ON: [&str; 3] = ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH"];

/// The baseline does not have the second job.
const UNSURE: &str = "--quick --only seq-read-1m,rand-read-4k";
/// One trial gives no verdict.
const UNJUDGED: &str = "--quick --only seq-read-1m --trials 1";

fn python(script: &str, words: &[&Path]) -> String {
    let mut python = assay_testkit::command(PYTHON);
    let ended = python.args(["-c", script]).args(words).output();
    let ended = ended.expect("python");
    let failed = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{failed}");
    String::from_utf8(ended.stdout).expect("text")
}

fn contrib(file: &str) -> PathBuf {
    Path::new(CONTRIB).join(file)
}

/// A file of `contrib/`.
fn yaml(file: &str) -> Value {
    let script = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
    serde_json::from_str(&python(script, &[&contrib(file)])).expect("JSON")
}

fn words(list: &Value) -> String {
    let list = list.as_array().expect("a list").iter();
    let list: Vec<&str> = list.map(|word| word.as_str().expect("text")).collect();
    list.join("\n")
}

/// A folder where a job runs, with programs that its machine has.
struct Worker {
    bed: Bed,
    folder: PathBuf,
    bin: PathBuf,
    slow: String,
}

impl Worker {
    fn new() -> Self {
        let bed = Bed::new();
        let (folder, bin) = (bed.folder(), bed.folder_named("bin"));
        let part = bed.join("slow.toml");
        fs::write(&part, half_as_fast()).expect("a part");
        let slow = format!("sim:{}", text(&part));
        let worker = Self {
            bed,
            folder,
            bin,
            slow,
        };
        worker.stub("assay", &assay_script());
        worker
    }

    fn stub(&self, name: &str, script: &str) {
        assay_testkit::write_program(&self.bin.join(name), script).expect("a program");
    }

    /// Runs a script with these variables.
    fn run(&self, shell: &[&str], script: &str, variables: &Map<String, Value>) -> Ended {
        let file = self.bed.join("script");
        fs::write(&file, script).expect("a file");
        let mut command = assay_testkit::command(shell[0]);
        let path = format!("{}:{}", text(&self.bin), "/usr/bin:/bin");
        command.env("PATH", path);
        command.env("ASSAY_JOURNAL_DIR", self.bed.join("journals"));
        for (name, value) in variables {
            command.env(name, value.as_str().expect("text"));
        }
        let command = command.args(&shell[1..]).arg(&file);
        Running::start(command.current_dir(&self.folder)).end()
    }

    fn read(&self, file: &str) -> String {
        let path = self.folder.join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

fn assay_script() -> String {
    let program = env!("CARGO_BIN_EXE_assay");
    format!("#!/bin/sh\nexec '{program}' \"$@\"\n")
}

/// A CI server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Server {
    GitHub,
    GitLab,
}

impl Server {
    const ALL: [Self; 2] = [Self::GitHub, Self::GitLab];

    /// A job of it, with these inputs.
    fn job(self, worker: &Worker, inputs: &[(&str, &str)]) -> Ended {
        match self {
            Self::GitHub => github(worker, inputs),
            Self::GitLab => gitlab(worker, inputs),
        }
    }

    /// The first line that people read of the last job.
    fn first_line(self, worker: &Worker, ended: &Ended) -> String {
        let text = match self {
            Self::GitHub => worker.read("GITHUB_STEP_SUMMARY"),
            Self::GitLab => worker.read("assay-summary.md"),
        };
        assert!(self == Self::GitHub || ended.out.contains(&text));
        text.lines().next().unwrap_or_default().to_owned()
    }
}

/// Runs the steps of the action as GitHub does: each in a shell of its own, with files for what
/// it hands on. An expression that is not known here is a mistake of the action.
fn github(worker: &Worker, inputs: &[(&str, &str)]) -> Ended {
    let action = yaml(GITHUB);
    for (name, _) in inputs {
        assert!(action["inputs"].get(name).is_some(), "no input {name}");
    }
    let input = |name: &str| {
        let given = inputs.iter().find(|(input, _)| *input == name);
        let default = || action["inputs"][name]["default"].as_str();
        let value = given.map(|(_, value)| *value).or_else(default);
        value
            .unwrap_or_else(|| panic!("no input {name}"))
            .to_owned()
    };
    let value = |text: &str| match text
        .strip_prefix("${{ ")
        .and_then(|t| t.strip_suffix(" }}"))
    {
        None => text.to_owned(),
        Some("github.token") => "secret".to_owned(),
        Some("github.event.pull_request.number") => "7".to_owned(),
        Some("github.repository") => "lab/board".to_owned(),
        Some(other) => input(other.strip_prefix("inputs.").expect("an input")),
    };
    for file in HANDED_ON {
        fs::write(worker.folder.join(file), "").expect("a file");
    }
    let passed = |last: &Option<Ended>| last.as_ref().is_none_or(|last| last.code == Some(0));
    let mut last = None;
    for step in action["runs"]["steps"].as_array().expect("steps") {
        let runs = match step["if"].as_str() {
            None => passed(&last),
            Some("inputs.archive != ''") => !input("archive").is_empty(),
            Some("always()") => true,
            Some("always() && inputs.comment == 'true' && github.event.pull_request") => {
                input("comment") == "true"
            }
            Some(other) => panic!("not known: {other}"),
        };
        let (Some(script), true) = (step["run"].as_str(), runs) else {
            continue;
        };
        assert!(!script.contains("${{"), "an input in the text of {script}");
        assert_eq!(step["shell"], "bash");
        let mut variables = Map::new();
        for (name, text) in step["env"].as_object().expect("variables") {
            variables.insert(name.clone(), value(text.as_str().expect("text")).into());
        }
        let ended = github_step(worker, script, variables);
        // What follows a failed step does not mend the job.
        if passed(&last) {
            last = Some(ended);
        }
    }
    last.expect("a step has run")
}

/// Runs a step with the variables that each step has.
fn github_step(worker: &Worker, script: &str, mut variables: Map<String, Value>) -> Ended {
    for file in HANDED_ON {
        variables.insert(file.to_owned(), text(&worker.folder.join(file)).into());
    }
    for (name, value) in [
        ("GITHUB_RUN_ID", "1"),
        ("GITHUB_RUN_ATTEMPT", "1"),
        ("GITHUB_JOB", "storage"),
        ("RUNNER_TEMP", text(&worker.folder)),
    ] {
        variables.insert(name.to_owned(), value.into());
    }
    let added = worker.read("GITHUB_PATH");
    let added = added
        .lines()
        .fold(String::new(), |path, line| format!("{line}:{path}"));
    let script = format!("PATH={added}$PATH\n{script}");
    let bash = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"];
    worker.run(&bash, &script, &variables)
}

/// Runs the job of the template as a runner of GitLab does: all of `script` in one shell.
fn gitlab(worker: &Worker, inputs: &[(&str, &str)]) -> Ended {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let job = &yaml(GITLAB)[".assay-compare"];
    let mut variables = job["variables"].as_object().expect("variables").clone();
    for (input, value) in inputs {
        let name = format!("COMPARE_{}", input.to_uppercase().replace('-', "_"));
        let old = variables.insert(name, (*value).into());
        assert!(old.is_some(), "no variable for {input}");
    }
    let id = JOBS.fetch_add(1, Ordering::Relaxed).to_string();
    variables.insert("CI_JOB_ID".to_owned(), id.into());
    for (name, value) in [
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_PROJECT_ID", "3"),
        ("CI_API_V4_URL", "https://gitlab/api/v4"),
    ] {
        variables.insert(name.to_owned(), value.into());
    }
    worker.run(&["sh", "-e"], &words(&job["script"]), &variables)
}

/// Builds the script of a test definition as LAVA's dispatcher does, and runs it.
fn lava(worker: &Worker, parameters: &[(&str, &str)]) -> Ended {
    let definition = yaml(LAVA);
    let mut script = String::new();
    let defaults = definition["params"].as_object().expect("parameters");
    for (name, value) in defaults {
        script += &format!("{name}='{}'\n", value.as_str().expect("text"));
    }
    for (name, value) in parameters {
        assert!(defaults.contains_key(*name), "no parameter {name}");
        script += &format!("{name}='{value}'\n");
    }
    script += &format!("set -e\n{}\n", words(&definition["run"]["steps"]));
    let ended = worker.run(&["sh"], &script, &Map::new());
    ended.assert_code(0);
    ended
}

#[test]
fn schemas_take_the_files() {
    needs!("/usr/lib/python3/dist-packages/lava_common");
    let validate = "
import sys, yaml
from lava_common.schemas.test import definition, testdef
from voluptuous import Schema
testdef.validate(yaml.safe_load(open(sys.argv[1])))
for action in yaml.safe_load(open(sys.argv[2])):
    Schema(definition.schema())(action['test'])
";
    python(validate, &[&contrib(LAVA), &contrib("lava/job.yaml")]);

    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let build_folder = program.ancestors().nth(2).expect("a build folder");
    let packages = build_folder.join("python");
    if !packages.join("check_jsonschema").exists() {
        assay_testkit::skip("check-jsonschema is not installed: cargo xtask test does that");
        return;
    }
    let schemas = [(GITHUB, "github-actions"), (GITLAB, "gitlab-ci")];
    for (file, schema) in schemas {
        let mut check = assay_testkit::command(PYTHON);
        check.env("PYTHONPATH", &packages);
        check.args(["-m", "check_jsonschema", "--builtin-schema"]);
        check.arg(format!("vendor.{schema}")).arg(contrib(file));
        let ended = Running::start(&mut check).end();
        ended.assert_code(0);
    }
}

#[test]
fn shellcheck_finds_no_mistake_in_their_steps() {
    needs!("shellcheck", "/usr/lib/python3/dist-packages/yaml");
    let worker = Worker::new();
    let action = yaml(GITHUB);
    let steps = action["runs"]["steps"].as_array().expect("steps").iter();
    let steps = steps.filter_map(|step| step["run"].as_str());
    let mut scripts: Vec<(&str, String)> = steps.map(|run| ("bash", run.to_owned())).collect();
    scripts.push(("sh", words(&yaml(GITLAB)[".assay-compare"]["script"])));
    scripts.push(("sh", words(&yaml(LAVA)["run"]["steps"])));
    for (shell, script) in scripts {
        let check = ["shellcheck", "--severity", "warning", "--shell", shell];
        let ended = worker.run(&check, &script, &Map::new());
        assert_eq!(ended.code, Some(0), "{}\n{script}", ended.out);
    }
}

#[test]
fn a_job_ends_as_the_verdict_says() {
    needs!("/usr/lib/python3/dist-packages/yaml");
    for server in Server::ALL {
        let worker = Worker::new();
        let job = |path: &str, arguments: &str, more: &[(&str, &str)], code: i32, line: &str| {
            let inputs = [&[("path", path), ("arguments", arguments)], more].concat();
            let ended = server.job(&worker, &inputs);
            assert_eq!(ended.code, Some(code), "{server:?} {line}: {ended:#?}");
            if !line.is_empty() {
                assert_eq!(server.first_line(&worker, &ended), format!("**{line}**"));
            }
            ended
        };
        let main = [("becomes-base", "true")];
        job(FAST, ONE_JOB, &[], 2, "").assert_says(&["'base'"]);
        job(FAST, ONE_JOB, &main, 0, "no baseline");
        job(FAST, ONE_JOB, &[], 0, "passed");
        // What is slower does not become the baseline, so it stays slower.
        for _ in 0..2 {
            job(&worker.slow, ONE_JOB, &main, 3, "slower");
            assert!(worker.read("assay.xml").contains("<failure"));
        }
        job(FAST, UNJUDGED, &[], 2, "nothing judged");
        job(FAST, UNSURE, &[], 0, "no conclusion");
        job(
            FAST,
            UNSURE,
            &[("no-conclusion", "fail")],
            1,
            "no conclusion",
        );
        job(FAST, ONE_JOB, &main, 0, "passed");
        let mut list = worker.bed.command_without_store(&["list", "--store"]);
        let store = worker.folder.join("assay.sqlite");
        let listed = Running::start(list.arg(store)).end();
        let named = listed.out.lines().filter(|line| line.contains(" base"));
        assert_eq!(named.count(), 1, "{}", listed.out);
    }
}

#[test]
fn an_input_is_never_run() {
    needs!("/usr/lib/python3/dist-packages/yaml");
    let inputs = [
        "path",
        "arguments",
        "base",
        "store",
        "margin",
        "no-conclusion",
    ];
    let evils = ["$(touch pwned); touch pwned", "\"; touch pwned; \""];
    for (server, input) in Server::ALL
        .into_iter()
        .flat_map(|s| inputs.map(|input| (s, input)))
    {
        let worker = Worker::new();
        for evil in evils {
            let mut inputs = vec![
                ("path", FAST),
                ("arguments", ONE_JOB),
                ("becomes-base", "true"),
            ];
            inputs.retain(|(name, _)| *name != input);
            inputs.push((input, evil));
            server.job(&worker, &inputs);
            let there = worker.folder.join("pwned").exists();
            assert!(!there, "{server:?} {input}");
        }
    }
}

#[test]
fn an_archive_is_used_only_if_its_sum_is_right() {
    needs!("curl", "/usr/lib/python3/dist-packages/yaml");
    for server in Server::ALL {
        let worker = Worker::new();
        let program = worker.bed.folder_named("assay-1").join("bin");
        fs::create_dir(&program).expect("a folder");
        fs::rename(worker.bin.join("assay"), program.join("assay")).expect("a program");
        let archive = worker.bed.join("assay-1.tar.gz");
        let mut tar = assay_testkit::command("tar");
        tar.args([
            "-czf",
            text(&archive),
            "-C",
            text(&worker.bed.join("")),
            "assay-1",
        ]);
        Running::start(&mut tar).end().assert_code(0);
        let mut sum = assay_testkit::command("sha256sum");
        let sum = Running::start(sum.arg(&archive)).end().out;
        let sum = sum.split(' ').next().expect("a sum");
        let wrong = sum.chars().rev().collect::<String>();
        let url = format!("file://{}", text(&archive));
        for (sum, code) in [(wrong.as_str(), 1), (sum, 0)] {
            let inputs = [
                ("path", FAST),
                ("arguments", ONE_JOB),
                ("becomes-base", "true"),
                ("archive", &url),
                ("sha256", sum),
            ];
            let ended = server.job(&worker, &inputs);
            assert_eq!(ended.code, Some(code), "{server:?}: {ended:#?}");
            let measured = worker.folder.join("assay.sqlite").exists();
            assert_eq!(measured, code == 0, "{server:?}");
        }
    }
}

#[test]
fn a_merge_request_gets_the_verdict_as_a_comment() {
    needs!("/usr/lib/python3/dist-packages/yaml");
    let comments = [
        (
            Server::GitHub,
            "gh",
            ("comment", "true"),
            "pr comment 7 --repo lab/board",
        ),
        (
            Server::GitLab,
            "curl",
            ("note-token", "secret"),
            "https://gitlab/api/v4/projects/3/merge_requests/7/notes",
        ),
    ];
    for (server, program, input, said) in comments {
        let worker = Worker::new();
        worker.stub(program, "#!/bin/sh\necho \"$*\" >told\n");
        let inputs = [
            ("path", FAST),
            ("arguments", ONE_JOB),
            ("becomes-base", "true"),
            input,
        ];
        server.job(&worker, &inputs).assert_code(0);
        let told = worker.read("told");
        assert!(told.contains(said), "{told}");
        assert!(told.contains("assay-summary.md"), "{told}");
    }
}

#[test]
fn lava_gets_a_case_for_the_gate() {
    needs!("/usr/lib/python3/dist-packages/yaml");
    let worker = Worker::new();
    worker.stub("lava-test-case", "#!/bin/sh\necho \"case $*\"\n");
    worker.stub("lava-test-set", "#!/bin/sh\necho \"set $*\"\n");
    let fast = ["qualify", FAST, "--quick", "--only", "seq-read-1m"];
    let base = [&fast[..], &["--name", "base"]].concat();
    worker.bed.run(&base).assert_code(0);
    let store = worker.bed.store();
    worker.stub(
        "wget",
        &format!("#!/bin/sh\ncp '{}' \"$3\"\n", text(&store)),
    );

    let alone = lava(&worker, &[("MEASURED", FAST), ("ARGUMENTS", ONE_JOB)]);
    assert!(
        alone.out.contains("case assay-qualify --result pass\n"),
        "{}",
        alone.out
    );
    let signal = "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=seq-read-1m.read_bw RESULT=pass";
    assert!(alone.out.contains(signal), "{}", alone.out);
    assert!(!alone.out.contains("assay-gate"), "{}", alone.out);

    for (measured, arguments, qualified, gate) in [
        (
            FAST,
            ONE_JOB,
            "pass",
            Some(["pass", "seq-read-1m.read_bw RESULT=pass"]),
        ),
        (
            &worker.slow,
            ONE_JOB,
            "pass",
            Some(["fail", "seq-read-1m.read_bw RESULT=fail"]),
        ),
        (
            FAST,
            UNSURE,
            "pass",
            Some(["skip", "rand-read-4k.read_iops RESULT=skip"]),
        ),
        (
            FAST,
            UNJUDGED,
            "pass",
            Some(["fail", "comparison RESULT=fail"]),
        ),
        ("/no/such", ONE_JOB, "fail", None),
    ] {
        let parameters = [
            ("MEASURED", measured),
            ("ARGUMENTS", arguments),
            ("BASE_STORE", "https://lab/base.sqlite"),
        ];
        let ended = lava(&worker, &parameters);
        let cases = ended
            .out
            .lines()
            .filter_map(|line| line.strip_prefix("case "));
        let mut expected = vec![format!("assay-qualify --result {qualified}")];
        expected.extend(gate.map(|[gate, _]| format!("assay-gate --result {gate}")));
        assert_eq!(cases.collect::<Vec<_>>(), expected, "{}", ended.out);
        if let Some([_, signal]) = gate {
            assert!(ended.out.contains(signal), "{}", ended.out);
        }
    }
}

#[test]
fn a_pytest_of_a_labgrid_ends_as_the_verdict_says() {
    let lab = or_skip!(Lab::new(&places(1, "a")));
    let desk = Desk::new(&lab, "desk");
    let worker = Worker::new();
    let fast = ["qualify", FAST, "--quick", "--only", "seq-read-1m"];
    let base = [&fast[..], &["--name", "base"]].concat();
    desk.bed.run(&base).assert_code(0);
    lab.client_as("desk/tester", &["-p", "a00", "acquire"]);
    for (path, words, code, outcome) in [
        (FAST, ONE_JOB, 0, "1 passed"),
        (&worker.slow, ONE_JOB, 1, "slower"),
        (FAST, UNJUDGED, 1, "nothing was judged"),
    ] {
        let mut pytest = assay_testkit::command("python3");
        pytest.args(["-m", "pytest", "-rs", "-p", "no:cacheprovider", "--lg-env"]);
        pytest
            .arg(contrib("labgrid/env.yaml"))
            .arg(contrib("labgrid"));
        pytest
            .env("PATH", format!("{}:/usr/bin:/bin", text(&worker.bin)))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LG_PLACE", "a00")
            .env("LG_ASSAY_STORE", desk.bed.store())
            .env("ASSAY_PATH", path)
            .env("ASSAY_WORDS", words);
        let ended = Running::start(&mut desk.near(&mut pytest)).end();
        assert_eq!(ended.code, Some(code), "{outcome}: {}", ended.out);
        assert!(ended.out.contains(outcome), "{}", ended.out);
    }
    lab.client_as("desk/tester", &["-p", "a00", "release"]);
}

/// The dashboards ask the data source that is provisioned; their statements are tested on the views
/// by `assay-store`.
#[test]
fn grafana_has_one_data_source_for_all_panels() {
    needs!("/usr/lib/python3/dist-packages/yaml");
    let source = yaml("grafana/provisioning/datasources/assay.yaml");
    let source = &source["datasources"][0];
    assert_eq!(source["type"], "grafana-postgresql-datasource");
    assert!(source["secureJsonData"]["password"].is_string());
    let provider = yaml("grafana/provisioning/dashboards/assay.yaml");
    assert_eq!(provider["providers"][0]["type"], "file");
    let dashboards = fs::read_dir(contrib("grafana/dashboards")).expect("a folder");
    let mut titles = Vec::new();
    for file in dashboards {
        let path = file.expect("an entry").path();
        let dashboard: Value =
            serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
        titles.push(dashboard["title"].as_str().expect("a title").to_owned());
        let mut ids = Vec::new();
        for panel in dashboard["panels"].as_array().expect("panels") {
            assert_eq!(panel["datasource"]["uid"], source["uid"], "{panel}");
            for target in panel["targets"].as_array().expect("targets") {
                assert_eq!(target["datasource"]["uid"], source["uid"], "{target}");
            }
            ids.push(panel["id"].as_u64().expect("a number"));
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{}", path.display());
        let notes = dashboard["annotations"]["list"].as_array().expect("a list");
        assert!(notes.iter().any(|note| note["name"] == "Changes"));
    }
    titles.sort();
    assert_eq!(titles, ["assay: overview", "assay: series"]);
}
