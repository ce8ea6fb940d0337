//! How boards are asked for, and what an exporter may say.

use super::*;

#[test]
fn a_board_is_asked_for_by_place_or_by_tags() {
    for (text, tags) in [
        ("labgrid:sd001", 0),
        ("labgrid:reserve?media=sd", 1),
        ("labgrid:reserve?board=rk3588&media=sd", 2),
    ] {
        let wanted: BoardFilter = text.parse().unwrap();
        assert_eq!(wanted.to_string(), text);
        match wanted {
            BoardFilter::Place(place) => assert_eq!((place.as_str(), tags), ("sd001", 0)),
            BoardFilter::Any(all) => assert_eq!(all.len(), tags),
        }
    }
    for text in [
        "labgrid:",
        "labgrid:reserve",
        "labgrid:reserve?",
        "labgrid:reserve?media",
        "labgrid:reserve?media=",
        "labgrid:reserve?a=1&a=2",
        "sd001",
    ] {
        assert!(text.parse::<BoardFilter>().is_err(), "{text}");
    }
}

#[test]
fn what_an_exporter_says_is_no_more_than_an_address() {
    let reached = |host, user, port| address(host, user, port).map(|found| found.to_string());
    let known = |text: &str| Ok(text.to_owned());
    assert_eq!(
        reached(Some("10.0.0.7"), "root", 2222),
        known("ssh://root@10.0.0.7:2222")
    );
    assert_eq!(reached(Some("board"), "", 0), known("ssh://board"));
    assert_eq!(
        reached(Some("fe80::1%eth0"), "root", 22),
        known("ssh://root@[fe80::1%eth0]:22")
    );
    for host in [
        None,
        Some(""),
        Some("-oProxyCommand=x"),
        Some("a;b"),
        Some("a/b"),
    ] {
        assert!(reached(host, "root", 22).is_err(), "{host:?}");
    }
    assert!(reached(Some("board"), "$(x)", 22).is_err());
}
