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

const SIDE_TIMES: Times = Times {
    grace: Duration::from_secs(120),
    sign: Duration::from_secs(5),
    silence: Duration::from_secs(30),
};

/// Carries packets between two sides until there is nothing to do, or `most` packets
/// were carried; the remainder is lost.
fn carry_packets(a: &mut LinkSide, b: &mut LinkSide, most: usize) {
    let now = Instant::now();
    a.connect();
    b.connect();
    let mut carried = 0;
    loop {
        let mut idle = true;
        for turn in [true, false] {
            let (from, to) = match turn {
                true => (&mut *a, &mut *b),
                false => (&mut *b, &mut *a),
            };
            if let LinkTask::Send(packet) = from.task(SIDE_TIMES, now) {
                if carried == most {
                    return;
                }
                carried += 1;
                idle = false;
                to.take(packet, now).unwrap();
            }
        }
        if idle {
            return;
        }
    }
}

fn read_all(state: &mut LinkSide) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 20];
    let count = state.read(&mut bytes).unwrap_or_default();
    bytes.truncate(count);
    bytes
}

#[test]
fn what_is_written_arrives_once_wherever_a_connection_breaks() {
    let text: Vec<u8> = (0..=250).cycle().take(3 * LONGEST + 17).collect();
    for broken_after in 0..8 {
        let (mut a, mut b) = (LinkSide::new(), LinkSide::new());
        a.write(&text);
        b.write(b"answer");
        b.end();
        carry_packets(&mut a, &mut b, broken_after);
        let mut got = read_all(&mut b);
        a.write(b"more");
        a.end();
        carry_packets(&mut a, &mut b, broken_after + 1);
        carry_packets(&mut a, &mut b, usize::MAX);
        got.extend(read_all(&mut b));
        let all = [text.as_slice(), b"more"].concat();
        assert!(
            got == all,
            "broken after {broken_after}: {} bytes",
            got.len()
        );
        assert_eq!(read_all(&mut a), b"answer");
        assert!(a.is_done() && b.is_done(), "{broken_after}: {a:?} {b:?}");
        assert_eq!(a.read(&mut [0]), Some(0));
    }
}

#[test]
fn who_says_what_cannot_be_is_not_believed() {
    let now = Instant::now();
    let connected = || {
        let mut state = LinkSide::new();
        state.write(b"abc");
        state.connect();
        assert_eq!(state.task(SIDE_TIMES, now), LinkTask::Send(Packet::Seen(0)));
        state
    };
    assert_eq!(connected().take(Packet::Seen(3), now), Ok(()));
    assert_eq!(
        connected().take(Packet::Seen(4), now),
        Err(NotOfThisVersion)
    );
    let mut state = connected();
    state.end();
    state.take(Packet::Seen(4), now).unwrap();
    assert!(state.is_delivered());
    assert_eq!(state.take(Packet::Seen(2), now), Err(NotOfThisVersion));
    state.take(Packet::End, now).unwrap();
    for more in [Packet::End, Packet::Data(vec![1])] {
        assert_eq!(state.take(more, now), Err(NotOfThisVersion));
    }
    let mut fresh = LinkSide::new();
    assert_eq!(
        fresh.take(Packet::Data(vec![1]), now),
        Err(NotOfThisVersion)
    );
}

#[test]
fn a_side_that_has_nothing_to_say_gives_a_sign_now_and_then() {
    let now = Instant::now();
    let mut state = LinkSide::new();
    state.connect();
    assert_eq!(state.task(SIDE_TIMES, now), LinkTask::Send(Packet::Seen(0)));
    assert_eq!(
        state.task(SIDE_TIMES, now),
        LinkTask::WaitUntil(now + SIDE_TIMES.sign)
    );
    let later = now + SIDE_TIMES.sign;
    assert_eq!(
        state.task(SIDE_TIMES, later),
        LinkTask::Send(Packet::Seen(0))
    );
}

#[test]
fn packets_survive_a_connection() {
    let packets = [
        Packet::Seen(u64::MAX),
        Packet::Data(vec![7; LONGEST]),
        Packet::End,
    ];
    let mut wire = Vec::new();
    for packet in &packets {
        packet.send(&mut wire).unwrap();
    }
    let mut reader = wire.as_slice();
    for packet in packets {
        assert_eq!(Packet::receive(&mut reader), Ok(Some(packet)));
    }
    assert_eq!(Packet::receive(&mut reader), Ok(None));
}

#[test]
fn what_is_no_packet_is_refused_and_a_cut_one_is_the_end() {
    for wire in [&[b'S'; 3][..], b"", b"D\x02\0\0\0\0\0\0\0x"] {
        assert_eq!(Packet::receive(&mut &*wire), Ok(None), "{wire:?}");
    }
    for wire in [
        &[0; 9][..],
        b"yyyyyyyyy",
        b"D\0\0\0\0\0\0\0\0",
        b"D\x01\0\x01\0\0\0\0\0",
        &[255; 9],
        b"E\x01\0\0\0\0\0\0\0",
    ] {
        assert_eq!(
            Packet::receive(&mut &*wire),
            Err(NotOfThisVersion),
            "{wire:?}"
        );
    }
}
