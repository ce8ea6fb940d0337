//! Complaints of adb, explained in plain words.

use super::AdbDevice;
use crate::complaint::Complaints;

/// Words of adb, and what they mean for whoever reads them.
const MEANINGS: [(&str, &str); 7] = [
    (
        "unauthorized",
        "it does not let adb in: unlock it and allow debugging from this machine on its screen",
    ),
    (
        "more than one device",
        "there are several: name one of those that adb devices lists (adb:SERIAL)",
    ),
    (
        "no devices",
        "there is none: is its cable in, and debugging switched on? adb devices lists what there is",
    ),
    (
        "not found",
        "adb does not know it: adb devices lists what there is; a device on the network needs \
         adb connect first",
    ),
    (
        "offline",
        "it does not answer adb: is it up? adb reconnect, or its cable out and in again, may help",
    ),
    (
        "no permissions",
        "this user may not use it: install the rules of udev for adb, or add the user to their group",
    ),
    (
        "doesn't support",
        "its adb daemon is too old for 8-bit streams: Android 7 is the first that has them",
    ),
];

/// Prefix of adb's messages about its own server, which are no complaints.
const OWN_AFFAIRS: &str = "* ";

/// Why a device cannot be reached, and what to do.
pub(super) fn of(complaints: &Complaints, device: &AdbDevice) -> String {
    let known = MEANINGS
        .iter()
        .find(|(words, _)| complaints.with(words).is_some());
    if let Some((_, meaning)) = known {
        return (*meaning).to_owned();
    }
    let last = complaints
        .last()
        .filter(|line| !line.starts_with(OWN_AFFAIRS));
    last.unwrap_or_else(|| {
        let by_hand = device.by_hand();
        format!("adb ended without a word; does {by_hand} work?")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_adb_says_is_one_line_with_a_remedy() {
        for (stderr, expected) in [
            (
                "* daemon not running; starting now at tcp:5037\n* daemon started successfully\n\
                 adb: no devices/emulators found\n",
                "is its cable in",
            ),
            ("adb: device '0123' not found\n", "adb connect first"),
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
                "does adb -s 0123 shell work?",
            ),
        ] {
            let said = of(&Complaints::of(stderr), &"adb:0123".parse().unwrap());
            assert!(said.contains(expected), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
}
