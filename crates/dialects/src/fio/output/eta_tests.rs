//! Tests of the progress line on a terminal.

use super::*;
use assay_model::load::Length;
use assay_model::units::Nanos;

fn load(names: &[&str]) -> Load {
    Load {
        streams: names.iter().map(|name| Stream::new(name)).collect(),
        ..Load::default()
    }
}

/// 55 blocks of 1 MiB in each second.
fn at(seconds: u64, states: &[StreamState]) -> LoadProgress {
    let stream = |state: &StreamState| {
        let mut stream = StreamProgress {
            state: *state,
            elapsed_ns: seconds * SECOND_NS,
            open_files: 1,
            goal_ns: 10 * SECOND_NS,
            ..StreamProgress::default()
        };
        if runs(*state) {
            stream.ios.read = 55 * seconds;
            stream.bytes.read = (55 * seconds) << 20;
        } else {
            stream.open_files = 0;
        }
        stream
    };
    LoadProgress {
        elapsed_ns: seconds * SECOND_NS,
        streams: states.iter().map(stream).collect(),
    }
}

#[test]
fn a_running_load_shows_rates_and_time_left() {
    let mut load = load(&["a"]);
    load.streams[0].length.time_based = true;
    let mut eta = Eta::new(&load);
    eta.update(&at(1, &[StreamState::Running]));
    assert_eq!(eta.line(None), "Jobs: 1 (f=1)");
    assert_eq!(eta.seconds_left(), UNKNOWN_S);
    eta.update(&at(4, &[StreamState::Running]));
    let line = "Jobs: 1 (f=1): [R(1)][40.0%][r=55.0MiB/s][r=55 IOPS][eta 00m:06s]";
    assert_eq!(eta.line(None), line);
    assert_eq!(eta.seconds_left(), 6);
    eta.update(&at(10, &[StreamState::Running]));
    assert!(eta.line(None).contains("[100.0%]"));
}

#[test]
fn waves_that_wait_add_their_time() {
    let mut load = load(&["a", "b", "c"]);
    for stream in &mut load.streams {
        stream.length = Length {
            runtime: Some(Nanos(10 * SECOND_NS)),
            ..Length::default()
        };
    }
    load.streams[2].wave = 1;
    load.streams[2].blocks.rw.random = true;
    let mut eta = Eta::new(&load);
    use StreamState::{Done, Running, Waiting};
    eta.update(&at(4, &[Done, Running, Waiting]));
    assert_eq!(eta.seconds_left(), 16);
    assert!(eta.line(None).contains(": [_(1),R(1),P(1)][20.0%]"));
}

#[test]
fn a_narrow_terminal_cuts_the_line_and_a_shorter_line_covers_the_last() {
    let load = load(&["a"]);
    let mut eta = Eta::new(&load);
    eta.update(&at(4, &[StreamState::Running]));
    assert_eq!(eta.line(Some(20)).chars().count(), 20);
    eta.update(&at(5, &[StreamState::Done]));
    assert_eq!(eta.line(Some(20)), "Jobs: 0 (f=0)       ");
    assert_eq!(eta.line(Some(20)), "Jobs: 0 (f=0)");
}

#[test]
fn limits_are_shown_as_fio_does() {
    let mut load = load(&["a", "b", "c"]);
    load.streams
        .iter_mut()
        .for_each(|stream| stream.pace.rate = PerDirection::all(10 << 20));
    let mut eta = Eta::new(&load);
    eta.update(&at(1, &[StreamState::Running; 3]));
    assert_eq!(eta.line(None), "Jobs: 3 (f=3), 0B/s-30.0MiB/s");
}

#[test]
fn bytes_still_to_move_give_the_time_left() {
    let load = load(&["a"]);
    let mut progress = at(5, &[StreamState::Running]);
    progress.streams[0].goal_ns = 0;
    progress.streams[0].goal_bytes = (55 * 20) << 20;
    let mut eta = Eta::new(&load);
    eta.update(&progress);
    assert_eq!(eta.seconds_left(), 15);
}

#[test]
fn durations_grow_to_days() {
    assert_eq!(duration(5), "00m:05s");
    assert_eq!(duration(3_665), "01h:01m:05s");
    assert_eq!(duration(180_000), "02d:02h:00m:00s");
}

/// The line of fio 3.33 for the same load.
#[test]
fn a_mixed_load_with_rates_of_ios() {
    let mut load = load(&["a"]);
    let stream = &mut load.streams[0];
    stream.length.time_based = true;
    stream.blocks.rw.write = true;
    stream.blocks.rw.random = true;
    stream.pace.rate_iops = PerDirection::all(1000);
    let at = |seconds: u64| {
        let mut progress = at(seconds, &[StreamState::Running]);
        let stream = &mut progress.streams[0];
        stream.goal_ns = 5 * SECOND_NS;
        stream.ios = PerDirection::all(1000 * seconds);
        stream.bytes = PerDirection::all(4_096_000 * seconds);
        (stream.ios.trim, stream.bytes.trim) = (0, 0);
        progress
    };
    let mut eta = Eta::new(&load);
    eta.update(&at(2));
    assert_eq!(eta.line(None), "Jobs: 1 (f=1), 0-2000 IOPS");
    eta.update(&at(3));
    assert_eq!(
        eta.line(None),
        "Jobs: 1 (f=1), 0-2000 IOPS: [m(1)][60.0%][r=4000KiB/s,w=4000KiB/s][r=1000,w=1000 IOPS][eta 00m:02s]"
    );
}

#[test]
fn a_ramp_has_no_share_yet() {
    let load = load(&["a"]);
    let mut eta = Eta::new(&load);
    eta.update(&at(4, &[StreamState::Ramp]));
    assert!(eta.line(None).starts_with("Jobs: 1 (f=1): [/(1)][-.-%]"));
}

#[test]
fn progress_that_is_not_later_changes_nothing() {
    let load = load(&["a"]);
    let mut eta = Eta::new(&load);
    eta.update(&at(4, &[StreamState::Running]));
    let line = eta.line(None);
    eta.update(&at(4, &[StreamState::Running]));
    eta.update(&at(2, &[StreamState::Done]));
    assert_eq!(eta.line(None), line);
}
