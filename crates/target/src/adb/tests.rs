//! A script stands in place of adb.

use super::*;
use crate::Target;
use assay_testkit::{Scratch, write_program};
use std::fs;

fn started(device: &str, script: &str) -> (Scratch, Adb, String) {
    let scratch = Scratch::new().unwrap();
    let program = scratch.join("adb");
    let log = scratch.join("words");
    let script = format!(
        "#!/bin/sh\nprintf '%s|' \"$@\" >>'{}'\n{script}",
        log.display()
    );
    write_program(&program, &script).unwrap();
    let mut adb = Adb::new(device.parse().unwrap());
    adb.program.program = program.into();
    adb.agents.folders = Vec::new();
    let why = adb.start().unwrap_err().to_string();
    assert_eq!(why.lines().count(), 1, "{why}");
    let words = fs::read_to_string(log).unwrap();
    (scratch, adb, format!("{words}\n{why}"))
}

#[test]
fn a_device_is_named_to_adb_by_its_serial() {
    let (_scratch, _, seen) = started("adb:0123", "echo assay-boot 3 pdp11; echo assay-boot which");
    assert!(seen.starts_with("-s|0123|shell|-T|exec sh -c '"), "{seen}");
    assert!(seen.contains("adb:0123 is pdp11"), "{seen}");
}

#[test]
fn the_only_device_gets_its_name() {
    let script =
        "[ $1 = get-serialno ] && echo 0123 || { echo assay-boot 3 pdp11; echo assay-boot which; }";
    let (_scratch, adb, seen) = started("adb:", script);
    assert!(seen.starts_with("get-serialno|-s|0123|shell|"), "{seen}");
    assert_eq!(adb.name().as_deref(), Some("adb:0123"));
}

#[test]
fn without_adb_it_is_said_what_to_do() {
    for device in ["adb:", "adb:0123"] {
        let mut adb = Adb::new(device.parse().unwrap());
        adb.program.program = "/no/such/adb".into();
        let why = adb.start().unwrap_err().to_string();
        assert!(why.contains("/no/such/adb cannot be started here"), "{why}");
        assert!(why.contains("install it"), "{why}");
    }
}

#[test]
fn without_the_only_device_nothing_is_tried() {
    for (script, expected) in [
        (
            "echo 'error: no devices/emulators found' >&2; exit 1",
            "check its cable",
        ),
        (
            "echo 'error: more than one device/emulator' >&2; exit 1",
            "several devices are connected",
        ),
        ("echo '$(touch x)'", "that is not a serial"),
        ("echo 0123; echo 4567", "that is not a serial"),
        ("yes", "adb ended without an error message"),
        (
            "exit 0",
            "adb ended without an error message: try adb shell by hand",
        ),
    ] {
        let (_scratch, _, seen) = started("adb:", script);
        assert!(seen.starts_with("get-serialno|\n"), "{seen}");
        assert!(seen.contains(expected), "{seen}");
    }
}

#[test]
fn devices_are_listed_with_their_state() {
    let text = "* daemon started successfully\nList of devices attached\n\
                0123ABC\tdevice\n127.0.0.1:5555\toffline\na b\tdevice\n\n";
    let found = parse(text);
    let words: Vec<String> = found
        .iter()
        .map(|(device, state)| format!("{device} {state}"))
        .collect();
    assert_eq!(words, ["adb:0123ABC device", "adb:127.0.0.1:5555 offline"]);
}

#[test]
fn a_device_is_read_and_shown() {
    for (text, serial) in [
        ("adb:", None),
        ("adb:0123456789ABCDEF", Some("0123456789ABCDEF")),
        ("adb:127.0.0.1:5555", Some("127.0.0.1:5555")),
        ("adb:[fe80::1%eth0]:5555", Some("[fe80::1%eth0]:5555")),
        (
            "adb:adb-R58M1-Ab_c9d._adb-tls-connect._tcp",
            Some("adb-R58M1-Ab_c9d._adb-tls-connect._tcp"),
        ),
    ] {
        let device: AdbDevice = text.parse().unwrap();
        assert_eq!(device.serial(), serial);
        assert_eq!(device.to_string(), text);
    }
}

#[test]
fn a_serial_that_adb_or_a_shell_could_misread_is_refused() {
    for text in [
        "adb:-a",
        "adb:a b",
        "adb:a;b",
        "adb:a\nb",
        "adb:$(touch x)",
        "adb:`x`",
        "adb:a'b",
        "adb:a\"b",
        "adb:a/b",
        "adb:\u{e9}",
        "adb",
        "ssh://board",
    ] {
        assert!(text.parse::<AdbDevice>().is_err(), "{text}");
    }
}

#[test]
fn a_message_of_adb_becomes_one_line_with_a_remedy() {
    for (stderr, expected) in [
        (
            "* daemon not running; starting now at tcp:5037\n* daemon started successfully\n\
                 adb: no devices/emulators found\n",
            "check its cable",
        ),
        ("adb: device '0123' not found\n", "adb connect"),
        (
            "adb: device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\n\
                 Try 'adb kill-server' if that seems wrong.\n",
            "on its screen",
        ),
        ("adb: more than one device/emulator\n", "(adb:SERIAL)"),
        ("adb: device offline\n", "adb reconnect"),
        ("error: target doesn't support PTY args -Tt\n", "Android 7"),
        ("error: closed\n", "error: closed"),
        (
            "* daemon started successfully\n",
            "try adb -s 0123 shell by hand",
        ),
    ] {
        let said = of(&Complaints::of(stderr), &"adb:0123".parse().unwrap());
        assert!(said.contains(expected), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
