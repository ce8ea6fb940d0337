//! Explanations of adb's error messages.

use super::AdbDevice;
use crate::complaint::Complaints;

/// Parts of adb's error messages, each with an explanation for the user.
const MEANINGS: [(&str, &str); 7] = [
    (
        "unauthorized",
        "adb is not authorized: unlock the device and allow debugging from this machine on its screen",
    ),
    (
        "more than one device",
        "several devices are connected: name one that adb devices lists (adb:SERIAL)",
    ),
    (
        "no devices",
        "no device found: check its cable and that debugging is switched on; adb devices lists all",
    ),
    (
        "not found",
        "adb does not know this device: adb devices lists all; one on the network needs adb connect \
         first",
    ),
    (
        "offline",
        "the device is offline: wait until it has booted, try adb reconnect, or reconnect its cable",
    ),
    (
        "no permissions",
        "no permission to use the device: install adb's udev rules, or add this user to their group",
    ),
    (
        "doesn't support",
        "its adb daemon is too old for 8-bit streams: they need Android 7 or later",
    ),
];

/// Prefix of adb's messages about its own server, which are not errors.
const OWN_AFFAIRS: &str = "* ";

/// Returns why a device cannot be reached, and a remedy.
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
        format!("adb ended without an error message: try {by_hand} by hand")
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
}
