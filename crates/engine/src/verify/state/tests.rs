use super::*;
use assay_testkit::needs;

fn state() -> VerifyState {
    VerifyState {
        name: "job".to_owned(),
        stream: 2,
        depth: 2,
        files: 1,
        issued: 10,
        completed: vec![(0, 36864), (0, 32768)],
        in_flight: Some(vec![InFlight {
            number: 3,
            file: 0,
            offset: 12288,
            length: 4096,
        }]),
    }
}

fn block(number: u64) -> Range<u64> {
    number * 4096..(number + 1) * 4096
}

#[test]
fn a_state_is_read_as_it_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = VerifyState::path(folder.path(), "a/b", 2);
    assert!(path.ends_with("local-a.b-2-verify.state"));
    for state in [
        state(),
        VerifyState::default(),
        VerifyState {
            in_flight: None,
            ..state()
        },
    ] {
        state.save(&path).unwrap();
        assert_eq!(VerifyState::load(&path).unwrap(), state);
    }
}

#[test]
fn any_damage_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = VerifyState::path(folder.path(), "job", 0);
    assert!(VerifyState::load(&path).is_err());
    state().save(&path).unwrap();
    let good = fs::read(&path).unwrap();
    for i in 0..good.len() {
        let mut bad = good.clone();
        bad[i] ^= 1;
        assert!(VerifyState::decode(&bad).is_err(), "byte {i}");
        assert!(VerifyState::decode(&good[..i]).is_err(), "cut at {i}");
    }
    fs::write(&path, &good[..50]).unwrap();
    let error = VerifyState::load(&path).unwrap_err().to_string();
    assert!(error.contains("local-job-0-verify.state"), "{error}");
}

#[test]
fn a_write_that_was_overtaken_is_not_expected() {
    let state = state();
    let known = |number| state.should_verify(number, 0, &block(number));
    let not_known: Vec<u64> = (0..12).filter(|&number| !known(number)).collect();
    assert_eq!(not_known, [3, 10, 11]);
    // An earlier write to the place of one in flight may be half gone.
    assert!(!state.should_verify(1, 0, &(12287..12289)));
    assert!(state.should_verify(1, 1, &block(3)));
}

#[test]
fn a_state_of_fio_tells_the_last_writes_by_their_offsets() {
    let state = VerifyState {
        in_flight: None,
        ..state()
    };
    let known = |number, place| state.should_verify(number, 0, &block(place));
    assert!(known(7, 0));
    assert!(!known(8, 0));
    assert!(known(8, 8));
    assert!(known(9, 9));
    assert!(!known(10, 9));
}

#[test]
fn fio_reads_the_states_saved_here() {
    needs!("fio-verify-state");
    let folder = tempfile::tempdir().unwrap();
    let path = VerifyState::path(folder.path(), "job", 2);
    state().save(&path).unwrap();
    let output = assay_testkit::command("fio-verify-state")
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    for wanted in [
        "Name:\t\tjob",
        "Completions:\t2",
        "Depth:\t\t2",
        "Number IOs:\t10",
        "Index:\t\t2",
        "(file= 0) 36864",
        "(file= 0) 32768",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

/// fio saves its state when its trigger fires, here before the end of a slow
/// run.
#[test]
fn states_that_fio_saves_are_read_here() {
    needs!("fio");
    let folder = tempfile::tempdir().unwrap();
    let status = assay_testkit::command("fio")
        .args(["--name=a/b", "--filename=file", "--size=1m", "--bs=4k"])
        .args(["--rw=write", "--verify=crc32c", "--rate_iops=50"])
        .args(["--trigger-timeout=1", "--trigger=true", "--thread"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let state = VerifyState::load(&VerifyState::path(folder.path(), "a/b", 0)).unwrap();
    assert_eq!((&*state.name, state.stream), ("a/b", 0), "{status:?}");
    assert_eq!((state.depth, state.files), (1, 1));
    assert!((1..256).contains(&state.issued), "{state:?}");
    assert_eq!(state.completed.len(), 1);
    assert_eq!(state.in_flight, None);
    let last = state.issued - 1;
    assert!(state.should_verify(last - 1, 0, &block(last - 1)));
    assert!(!state.should_verify(last + 1, 0, &block(last + 1)));
}
