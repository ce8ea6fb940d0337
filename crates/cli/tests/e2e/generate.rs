//! Manual pages and completions, as packages ship them and shells load them.

use crate::assay::{Bed, Ended, Running, text};
use assay_testkit::{needs, search_path};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_assay");
/// Shells are asked for at most this many seconds.
const HANG: &str = "60";

fn generate(bed: &Bed, words: &[&str]) -> Ended {
    let mut command = bed.command_without_store(&["--generate"]);
    command.args(words).env("SOURCE_DATE_EPOCH", "1795500000");
    Running::start(&mut command).end()
}

/// The pages, in a folder.
fn manual(bed: &Bed) -> PathBuf {
    let folder = bed.join("man");
    generate(bed, &["man", text(&folder)]).assert_code(0);
    folder
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let pages = fs::read_dir(folder).expect("pages");
    pages.map(|page| page.expect("a page").path()).collect()
}

/// A program of the system with assay on its search path, and a default store in this bed.
fn command(bed: &Bed, program: &str) -> Command {
    let mut command = assay_testkit::command(program);
    let folder = Path::new(PROGRAM).parent().expect("a folder").display();
    command.env("PATH", format!("{folder}:{}", search_path()));
    command.env("XDG_DATA_HOME", bed.join("data"));
    command.envs([("HOME", text(&bed.join("home"))), ("LC_ALL", "C.UTF-8")]);
    command.envs([("TERM", "dumb"), ("HISTFILE", "")]);
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said.into_owned()
}

#[test]
fn each_command_has_a_page_with_all_sections() {
    let bed = Bed::new();
    let folder = manual(&bed);
    for name in [
        "assay",
        "assay-qualify",
        "assay-lab-agent-push",
        "assay-fio",
        "assay-dd",
    ] {
        let page = fs::read_to_string(folder.join(format!("{name}.1"))).expect(name);
        for section in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "\"EXIT STATUS\"",
            "ENVIRONMENT",
            "FILES",
            "EXAMPLES",
            "\"SEE ALSO\"",
        ] {
            let heading = format!("\n.SH {section}\n");
            assert_eq!(page.matches(&heading).count(), 1, "{name}: {section}");
        }
        assert!(page.contains(" 1 2026-11-24 "), "{page}");
    }
    let listed = bed.run(&["--help"]).out;
    let commands = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.contains("--"));
    let names = commands.filter_map(|line| line.split_whitespace().next());
    let mut count = 0;
    let is_name = |name: &&str| name.chars().all(|c| c.is_alphabetic() || c == '-');
    for name in names.filter(is_name) {
        count += usize::from(folder.join(format!("assay-{name}.1")).exists());
    }
    assert_eq!(count, 30);
    let again = bed.join("again");
    generate(&bed, &["man", text(&again)]).assert_code(0);
    for page in pages(&folder) {
        let other = again.join(page.file_name().expect("a name"));
        assert_eq!(fs::read(&page).unwrap(), fs::read(other).unwrap());
    }
}

#[test]
fn pages_follow_no_link_that_somebody_put_in_their_place() {
    needs!(root);
    let bed = Bed::new();
    let folder = bed.folder_named("man");
    let other = bed.join("other");
    fs::write(&other, "kept").expect("a file");
    symlink(&other, folder.join("assay-dd.1")).expect("a link");
    let line = generate(&bed, &["man", text(&folder)]).refusal();
    assert!(line.contains("assay-dd.1 is a link"), "{line}");
    assert_eq!(fs::read_to_string(&other).expect("a file"), "kept");
    // Another user's folder, with a link to one of root's.
    let theirs = bed.folder_named("theirs");
    let target = bed.folder_named("target");
    symlink(&target, theirs.join("man")).expect("a link");
    chown(&theirs, Some(65534), Some(65534)).expect("as root");
    for folder in [theirs.join("man"), theirs.join("man/new")] {
        let line = generate(&bed, &["man", text(&folder)]).refusal();
        assert!(line.contains("another user can change"), "{line}");
    }
    assert!(pages(&target).is_empty());
}

#[test]
fn mandoc_and_man_have_no_complaint_about_a_page() {
    needs!("man", "mandoc");
    let bed = Bed::new();
    let pages = pages(&manual(&bed));
    let mut mandoc = command(&bed, "mandoc");
    let said = output(mandoc.args(["-Tlint", "-Wwarning"]).args(&pages));
    assert_eq!(said, "");
    for page in &pages {
        let shown = output(command(&bed, "man").args(["-l", "--warnings"]).arg(page));
        assert!(shown.contains("SEE ALSO"), "{}: {shown}", page.display());
        assert!(!shown.contains("warning:"), "{}: {shown}", page.display());
    }
}

#[test]
fn an_unknown_word_after_generate_is_refused_with_the_known_ones() {
    let bed = Bed::new();
    for words in [
        &["man"][..],
        &["complete-tcsh"],
        &["complete-bash", "x"],
        &["x"],
    ] {
        let line = generate(&bed, words).refusal();
        assert!(line.contains("man DIR, complete-bash"), "{line}");
    }
}

#[test]
fn scripts_of_completions_call_the_program_on_the_search_path() {
    let bed = Bed::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = generate(&bed, &[&format!("complete-{shell}")]);
        script.assert_code(0);
        assert!(script.out.contains("ASSAY_COMPLETE"), "{}", script.out);
        assert!(!script.out.contains(PROGRAM), "{}", script.out);
    }
}

/// A bed whose default store has a run that is called `base-run`, its id, and the script of a
/// shell.
fn measured(shell: &str) -> (Bed, String, PathBuf) {
    let bed = Bed::new();
    fs::create_dir_all(bed.join("home/.ssh")).expect("a folder");
    fs::write(bed.join("home/.ssh/config"), "Host board-7\n").expect("a file");
    let script = generate(&bed, &[&format!("complete-{shell}")]).out;
    let file = bed.join("script");
    fs::write(&file, script).expect("a file");
    let folder = bed.folder();
    let words = [
        "--quick",
        "--size",
        "1M",
        "--trials",
        "1",
        "--only",
        "read-cached",
    ];
    let mut qualify = command(&bed, PROGRAM);
    qualify.arg("qualify").arg(&folder).args(words);
    let ended = Running::start(qualify.args(["--name", "base-run"])).end();
    ended.assert_code(0);
    let id = ended.run_id().expect("an id").to_owned();
    (bed, id, file)
}

/// Types lines in an interactive shell on a terminal, and returns all that it shows.
fn typed(bed: &Bed, shell: &str, lines: &str) -> String {
    let mut command = command(bed, "timeout");
    command.args([HANG, "script", "--quiet", "--command", shell, "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    drop(input);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn bash_completes_a_run_a_setting_and_a_target_on_a_terminal() {
    needs!("bash", "script");
    let (bed, id, script) = measured("bash");
    output(command(&bed, "bash").arg("-n").arg(&script));
    let script = script.display();
    let shown = typed(
        &bed,
        "bash --norc --noprofile -i",
        &format!(
            "source {script}\nassay report ba\t\nassay sweep --vary rq\t1 x\n\
             assay devices --on ssh://bo\t --x\nexit\n"
        ),
    );
    assert!(shown.contains(&id), "{shown}");
    assert!(shown.contains("--vary rq_affinity=1 x"), "{shown}");
    assert!(shown.contains("--on ssh://board-7  --x"), "{shown}");
}

#[test]
fn zsh_completes_a_run_whether_the_script_is_sourced_or_loaded() {
    needs!("zsh", "script");
    let (bed, id, script) = measured("zsh");
    let functions = bed.folder_named("functions");
    fs::copy(&script, functions.join("_assay")).expect("a copy");
    let sourced = format!(
        "autoload -U compinit; compinit -u -D; source {}",
        script.display()
    );
    let path = functions.display();
    let loaded = format!("fpath=({path} $fpath); autoload -U compinit; compinit -u -D");
    for setup in [sourced, loaded] {
        let shown = typed(
            &bed,
            "zsh -f -i",
            &format!("{setup}\nassay report ba\t\nexit\n"),
        );
        assert!(shown.contains(&id), "{shown}");
    }
}

#[test]
fn fish_completes_a_run_with_what_it_is() {
    needs!("fish");
    let (bed, _, script) = measured("fish");
    let ask = "source $argv[1]; complete -C 'assay report ba'";
    let shown = output(
        command(&bed, "fish")
            .args(["--no-config", "-c", ask])
            .arg(&script),
    );
    assert!(shown.starts_with("base-run\tqualify, "), "{shown}");
}

/// As a shell asks; nothing may be said on standard error.
fn candidates(bed: &Bed, words: &[&str]) -> Vec<String> {
    let mut command = command(bed, PROGRAM);
    command
        .env("ASSAY_COMPLETE", "fish")
        .args(["--", "assay"])
        .args(words);
    let output = command.output().expect("it starts");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let lines = String::from_utf8_lossy(&output.stdout);
    lines.lines().map(str::to_owned).collect()
}

#[test]
fn candidates_without_a_store_or_with_a_damaged_one_make_and_say_nothing() {
    let bed = Bed::new();
    let of_runs = ["report", ""];
    assert!(
        candidates(&bed, &of_runs)
            .iter()
            .all(|line| line.starts_with('-'))
    );
    assert!(!bed.join("data").exists());
    let store = bed.join("data/assay/runs.sqlite");
    fs::create_dir_all(store.parent().expect("a folder")).expect("a folder");
    fs::write(&store, "no store").expect("a file");
    assert!(
        candidates(&bed, &of_runs)
            .iter()
            .all(|line| line.starts_with('-'))
    );
    assert_eq!(fs::read(&store).expect("a file"), b"no store");
    assert!(candidates(&bed, &["sweep", "--vary", "sched"]).contains(&"scheduler=".to_owned()));
    assert!(
        candidates(&bed, &["qualify", ".", "--only", "seq-read-1m,app"])
            .contains(&"seq-read-1m,append-4k-fsync".to_owned())
    );
}

#[test]
fn names_that_a_shell_would_run_are_not_offered_but_the_id_of_the_run_is() {
    let bed = Bed::new();
    let ended = bed.short_run(&bed.folder());
    let id = ended.run_id().expect("an id").to_owned();
    bed.run(&["store", "tag", &id, "--name", "$(reboot)"])
        .assert_code(0);
    let store = format!("--store={}", bed.store().display());
    let shown = candidates(&bed, &["report", &store, ""]);
    assert!(shown.iter().any(|line| line.starts_with(&id)), "{shown:?}");
    assert!(!shown.iter().any(|line| line.starts_with('$')), "{shown:?}");
}
