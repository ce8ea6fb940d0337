//! Two sides, and connections between them that are cut.

use super::*;
use std::io::{PipeReader, PipeWriter, pipe};
use std::thread::{JoinHandle, spawn};

const TIMES: Times = Times {
    grace: Duration::from_secs(1000),
    sign: Duration::from_millis(5),
    silence: Duration::from_secs(500),
};

/// A connection under way; dropping the ends that a test holds cuts it.
fn connect(a: &Link, b: &Link) -> [JoinHandle<Result<Broken, NotOfThisVersion>>; 2] {
    let (from_a, to_b) = pipe().unwrap();
    let (from_b, to_a) = pipe().unwrap();
    let (a, b) = (a.clone(), b.clone());
    [
        spawn(move || a.carry(from_b, to_b)),
        spawn(move || b.carry(from_a, to_a)),
    ]
}

/// Carries at most so many bytes in one direction, and then breaks off.
fn through(bytes: u64, from: PipeReader, mut to: PipeWriter) -> JoinHandle<()> {
    spawn(move || {
        let _ = io::copy(&mut from.take(bytes), &mut to);
    })
}

#[test]
fn both_sides_hear_all_over_one_connection() {
    let (a, mut read_a, mut write_a) = link(TIMES);
    let (b, mut read_b, mut write_b) = link(TIMES);
    let ends = connect(&a, &b);
    write_a.write_all(b"question").unwrap();
    drop(write_a);
    let mut received = String::new();
    read_b.read_to_string(&mut received).unwrap();
    assert_eq!(received, "question");
    write_b.write_all(b"answer").unwrap();
    drop(write_b);
    let mut received = String::new();
    read_a.read_to_string(&mut received).unwrap();
    assert_eq!(received, "answer");
    b.await_delivery();
    assert!(!b.is_given_up());
    // Nobody hangs up by itself: that is up to who has made the connection.
    a.change(|state| state.connection += 1);
    drop(ends);
}

#[test]
fn a_stream_goes_on_over_the_next_connection() {
    let (a, _read_a, mut write_a) = link(TIMES);
    let (b, mut read_b, _write_b) = link(TIMES);
    let text: Vec<u8> = (0..=250).cycle().take(5 << 20).collect();
    let written = text.clone();
    let writing = spawn(move || write_a.write_all(&written).unwrap());
    let reading = spawn(move || {
        let mut received = Vec::new();
        read_b.read_to_end(&mut received).unwrap();
        received
    });
    // Each connection carries a bit more than the one before; the last one all.
    for bytes in [0, 5, 9, 100, 70_000, 1 << 20, 3 << 20, u64::MAX] {
        let (from_a, out_of_a) = pipe().unwrap();
        let (into_b, to_b) = pipe().unwrap();
        let (from_b, to_a) = pipe().unwrap();
        let cut = through(bytes, from_a, to_b);
        let (a, b) = (a.clone(), b.clone());
        let at_a = spawn(move || a.carry(from_b, out_of_a));
        if bytes == u64::MAX {
            spawn(move || b.carry(into_b, to_a));
            break;
        }
        assert_eq!(b.carry(into_b, to_a), Ok(Broken::Off));
        assert_eq!(at_a.join().unwrap(), Ok(Broken::Off));
        cut.join().unwrap();
    }
    writing.join().unwrap();
    assert!(reading.join().unwrap() == text);
}

#[test]
fn who_is_given_up_is_read_to_the_end_of_what_arrived() {
    let (a, mut read_a, mut write_a) = link(TIMES);
    let (b, _read_b, mut write_b) = link(TIMES);
    let _ends = connect(&a, &b);
    write_b.write_all(b"word").unwrap();
    let mut received = [0; 4];
    read_a.read_exact(&mut received).unwrap();
    a.give_up(Some("gone".to_owned()));
    a.give_up(None);
    assert_eq!(read_a.read(&mut received).unwrap_err().to_string(), "gone");
    assert!(write_a.write(b"x").is_err());
}

#[test]
fn silence_is_noticed_and_ends_a_link_at_last() {
    let times = Times {
        grace: Duration::from_millis(20),
        silence: Duration::from_millis(10),
        ..TIMES
    };
    let (link, mut reader, _writer) = link(times);
    assert!(link.await_silence(Instant::now(), || true));
    assert!(!link.await_silence(Instant::now(), || false));
    link.watch();
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}

/// However long there was none before.
#[test]
fn a_new_connection_has_its_time() {
    let (link, _reader, _writer) = link(TIMES);
    link.change(|state| state.received -= TIMES.silence);
    let looks = std::cell::Cell::new(0);
    let silent = link.await_silence(Instant::now(), || {
        looks.set(looks.get() + 1);
        looks.get() < 2 && {
            let link = link.clone();
            spawn(move || link.wake());
            true
        }
    });
    assert!(!silent);
    assert!(link.await_silence(Instant::now() - TIMES.silence, || true));
}

#[test]
fn what_is_no_link_is_told_from_one_that_breaks() {
    let (link, _reader, _writer) = link(TIMES);
    let carried = link.carry(io::repeat(b'y'), io::sink());
    assert_eq!(carried, Err(NotOfThisVersion));
    assert_eq!(link.carry(io::empty(), io::sink()), Ok(Broken::Off));
}
