//! fio checks what was written here, and the other way round.

use super::*;
use assay_testkit::needs;
use std::fs;
use std::path::{Path, PathBuf};

const BLOCK: usize = 4096;
const BLOCKS: usize = 8;

/// A way to check, and fio's options for it.
struct Case {
    name: String,
    spec: Verify,
    options: Vec<String>,
}

/// fio's name of a kind; `None`: without a counterpart there.
fn name_in_fio(kind: VerifyKind) -> Option<&'static str> {
    match kind {
        VerifyKind::Header => Some("meta"),
        VerifyKind::Null => None,
        // It is what a pattern without `verify` gives.
        VerifyKind::PatternHeader => Some(""),
        kind => Some(checksum_name(kind)),
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in KINDS {
        let Some(name) = name_in_fio(kind) else {
            continue;
        };
        for (interval, offset) in [(0, 0), (1024, 0), (0, 200), (1024, 200)] {
            let mut options = Vec::new();
            if !name.is_empty() {
                options.push(format!("--verify={name}"));
            }
            if interval > 0 {
                options.push(format!("--verify_interval={interval}"));
            }
            if offset > 0 {
                options.push(format!("--verify_offset={offset}"));
            }
            let spec = Verify {
                interval,
                offset,
                ..spec(kind)
            };
            if !spec.pattern.bytes.is_empty() {
                options.push("--verify_pattern=0xdead%o".to_owned());
            }
            cases.push(Case {
                name: format!("{kind:?}-{interval}-{offset}").to_lowercase(),
                spec,
                options,
            });
        }
    }
    cases
}

/// Runs fio over one file for each case. What it says, if it fails.
fn run_fio(folder: &Path, cases: &[Case], how: &[&str]) -> Result<(), String> {
    let mut fio = assay_testkit::command("fio");
    fio.args([
        "--ioengine=psync",
        "--bs=4k",
        "--thread",
        "--fallocate=none",
    ]);
    fio.arg(format!("--size={}", BLOCK * BLOCKS)).args(how);
    fio.current_dir(folder);
    for case in cases {
        fio.arg(format!("--name={}", case.name));
        fio.arg(format!("--filename={}", path(folder, case).display()));
        fio.args(&case.options);
    }
    let output = fio.output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stdout));
    Err(said)
}

fn path(folder: &Path, case: &Case) -> PathBuf {
    folder.join(format!("file-{}.", case.name))
}

fn write_file(folder: &Path, case: &Case) {
    let verifier = Verifier::new(&case.spec, 1);
    let mut file = vec![0; BLOCK * BLOCKS];
    for (i, block) in file.chunks_mut(BLOCK).enumerate() {
        let number = i as u64;
        let mark = BlockMark {
            offset: number * BLOCK as u64,
            seed: number + 77,
            number,
            time: (5, 6),
        };
        verifier.stamp(block, mark);
    }
    fs::write(path(folder, case), file).unwrap();
}

fn check_file(folder: &Path, case: &Case) -> Result<(), Mismatch> {
    let verifier = Verifier::new(&case.spec, 1);
    let mut file = fs::read(path(folder, case)).unwrap();
    assert_eq!(file.len(), BLOCK * BLOCKS);
    for (i, block) in file.chunks_mut(BLOCK).enumerate() {
        let expected = Expected {
            offset: (i * BLOCK) as u64,
            number: Some(i as u64),
            seed: None,
        };
        verifier.check(block, expected)?;
    }
    Ok(())
}

fn damage_file(folder: &Path, case: &Case) {
    let path = path(folder, case);
    let mut file = fs::read(&path).unwrap();
    file[5 * BLOCK + 1500] ^= 1;
    fs::write(path, file).unwrap();
}

/// SHA-512 is another thing there: see [`write_checksum`].
fn fio_accepts(case: &Case) -> bool {
    case.spec.kind != VerifyKind::Sha512
}

#[test]
fn fio_accepts_what_is_written_here() {
    needs!("fio");
    let folder = tempfile::tempdir().unwrap();
    let mut cases = cases();
    cases.retain(fio_accepts);
    for case in &cases {
        write_file(folder.path(), case);
    }
    run_fio(folder.path(), &cases, &["--rw=read"]).unwrap();
    run_fio(folder.path(), &cases, &["--rw=randread"]).unwrap();
    run_fio(folder.path(), &cases, &["--rw=write", "--verify_only"]).unwrap();

    for case in &cases {
        damage_file(folder.path(), case);
    }
    let said = run_fio(folder.path(), &cases, &["--rw=read"]).unwrap_err();
    for case in &cases {
        let file = path(folder.path(), case);
        assert!(said.contains(file.to_str().unwrap()), "{}", case.name);
    }
}

#[test]
fn what_fio_writes_is_accepted_here() {
    needs!("fio");
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    run_fio(folder.path(), &cases, &["--rw=write", "--do_verify=0"]).unwrap();
    for case in &cases {
        assert_eq!(check_file(folder.path(), case), Ok(()), "{}", case.name);
        damage_file(folder.path(), case);
        let is_found = check_file(folder.path(), case).is_err();
        // What fio did not store cannot be missed.
        assert_eq!(is_found, fio_accepts(case), "{}", case.name);
    }
}

#[test]
fn fio_rejects_sha512_that_is_computed() {
    needs!("fio");
    let folder = tempfile::tempdir().unwrap();
    let mut cases = cases();
    cases.retain(|case| !fio_accepts(case));
    for case in &cases {
        write_file(folder.path(), case);
    }
    let said = run_fio(folder.path(), &cases, &["--rw=read"]).unwrap_err();
    assert!(said.contains("sha512: verify failed"), "{said}");
}

/// fio checks as far as a state saved here says, and no further.
#[test]
fn fio_goes_by_the_states_saved_here() {
    needs!("fio");
    let folder = tempfile::tempdir().unwrap();
    let mut cases = cases();
    cases.retain(|case| case.name == "crc32c-0-0");
    write_file(folder.path(), &cases[0]);
    damage_file(folder.path(), &cases[0]);
    let state = VerifyState {
        name: cases[0].name.clone(),
        depth: 1,
        files: 1,
        issued: 5,
        completed: vec![(0, 4 * BLOCK as u64)],
        in_flight: Some(Vec::new()),
        ..VerifyState::default()
    };
    let path = VerifyState::path(folder.path(), &state.name, 0);
    state.save(&path).unwrap();
    let how = ["--rw=read", "--verify_state_load=1"];
    run_fio(folder.path(), &cases, &how).unwrap();

    let beyond = VerifyState { issued: 8, ..state };
    beyond.save(&path).unwrap();
    let said = run_fio(folder.path(), &cases, &how).unwrap_err();
    assert!(said.contains("verify failed"), "{said}");
}
