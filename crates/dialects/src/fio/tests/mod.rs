//! Whole job files and command lines.

mod command_line;
mod compat;
mod environment;
mod examples;
mod fuzz;
mod grammar;
mod mistakes;
mod priorities;

pub(super) use environment::TestEnvironment;

use super::*;

fn job() -> JobDraft {
    let mut job = JobDraft::new();
    job.section = "a".to_owned();
    job
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

#[test]
fn lists_are_split_at_colons_that_are_not_escaped() {
    assert_eq!(split_list("/dev/a:/dev/b"), ["/dev/a", "/dev/b"]);
    assert_eq!(split_list(r"/dev/x\:1:b"), ["/dev/x:1", "b"]);
    assert_eq!(split_list(":a"), ["a"]);
    assert_eq!(split_list(""), [""; 0]);
}

#[test]
fn names_are_made_from_job_copy_and_number() {
    let mut job = job();
    job.names.count = 2;
    assert_eq!(
        shown(&paths(&job, 3, false).expect("names")),
        ["a.3.0", "a.3.1"]
    );
    job.names.format = "x$filenum/$JOBNAME-$other".to_owned();
    assert_eq!(
        shown(&paths(&job, 0, false).expect("names")),
        ["x0/a-$other", "x1/a-$other"]
    );
}

#[test]
fn names_do_not_grow_without_end() {
    let mut job = job();
    job.section = "a".repeat(100_000);
    job.names.format = "$jobname".repeat(100_000);
    assert!(paths(&job, 0, false).is_err());
}

#[test]
fn copies_take_directories_in_turn_and_named_files_the_first() {
    let mut job = job();
    job.names.directories = vec!["/d0".to_owned(), "/d1".to_owned()];
    assert_eq!(shown(&paths(&job, 1, false).expect("names")), ["/d1/a.1.0"]);
    job.names.named = vec!["f".to_owned()];
    assert_eq!(shown(&paths(&job, 1, false).expect("names")), ["/d0/f"]);
}
