//! The most that a bus can carry in the mode it runs in.
//!
//! What a device moves is compared with this: a figure near the ceiling is that of
//! the bus, one above it was not moved by it.

use crate::storage::{DeviceIdentity, DeviceKind};
use serde::{Deserialize, Serialize};

/// The most payload that a bus carries in each direction, bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// From the device.
    pub read_bytes_per_sec: f64,
    /// To the device.
    pub write_bytes_per_sec: f64,
}

impl Ceiling {
    /// The same in both directions.
    const fn both(bytes_per_sec: f64) -> Self {
        Self {
            read_bytes_per_sec: bytes_per_sec,
            write_bytes_per_sec: bytes_per_sec,
        }
    }
}

/// The ceiling of the mode in which the bus of a device runs; `None` where the mode is
/// not known, or where there is no such bus.
#[must_use]
pub fn ceiling(identity: &DeviceIdentity) -> Option<Ceiling> {
    let raw = |name: &str| identity.raw.get(name).map(|text| text.trim());
    match identity.kind {
        DeviceKind::Emmc | DeviceKind::Sd => CardMode::parse(raw("ios")?)?.ceiling(),
        DeviceKind::Usb => usb(raw("speed")?),
        DeviceKind::Nvme => pcie(raw("current_link_speed")?, raw("current_link_width")?),
        DeviceKind::Sata => sata(identity.bus.as_deref()?),
        DeviceKind::Ufs => ufs(
            raw("power_info/gear")?,
            raw("power_info/rate")?,
            raw("power_info/lane")?,
        ),
        _ => None,
    }
}

/// How a card's host drives the bus: the text of `/sys/kernel/debug/mmcN/ios`
/// (drivers/mmc/core/debugfs.c).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardMode {
    /// As the kernel calls it, without the kind of card: `HS400`, `high-speed`, `SDR104`.
    pub timing: String,
    /// Data lines.
    pub bits: u32,
    /// Of the clock. The actual one is preferred to that which was asked for: dividers
    /// rarely hit it.
    pub hertz: u64,
}

impl CardMode {
    /// Reads the text; `None` when it is no such text, or the host is off.
    #[must_use]
    pub fn parse(ios: &str) -> Option<Self> {
        let after = |key: &str| {
            let line = ios.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.trim_start_matches([':', '\t', ' ']).trim_end())
        };
        let in_brackets = |key| after(key)?.split_once('(')?.1.strip_suffix(')');
        let hertz = |key| -> Option<u64> {
            let clock = after(key)?.strip_suffix(" Hz")?;
            clock.parse().ok().filter(|hertz| *hertz > 0)
        };
        let timing = in_brackets("timing spec")?;
        let kinds = ["mmc ", "sd uhs ", "sd "];
        let bare = kinds.iter().find_map(|kind| timing.strip_prefix(kind));
        Some(Self {
            timing: bare.unwrap_or(timing).to_owned(),
            bits: in_brackets("bus width")?
                .strip_suffix(" bits")?
                .parse()
                .ok()?,
            hertz: hertz("actual clock").or_else(|| hertz("clock"))?,
        })
    }

    /// Whether data moves at both edges of the clock.
    fn is_double(&self) -> bool {
        self.timing.contains("DDR") || self.timing.starts_with("HS400")
    }

    /// A block of 512 bytes has its clocks of data, and around them (on every line):
    /// start bit, 16 bits of CRC, end bit, and the 8 clocks of N_AC or N_WR at least;
    /// after a write also the 5 bits and 3 clocks of its CRC status (JESD84-B51, 6.10
    /// and 6.15).
    fn ceiling(&self) -> Option<Ceiling> {
        const AROUND_READ: f64 = 26.0;
        const AROUND_WRITE: f64 = 34.0;
        if self.bits == 0 || self.timing.contains("UHS-II") {
            return None;
        }
        let bits_per_clock = f64::from(self.bits) * if self.is_double() { 2.0 } else { 1.0 };
        let data_clocks = 512.0 * 8.0 / bits_per_clock;
        #[expect(clippy::cast_precision_loss, reason = "clocks are far below 2^53 Hz")]
        let nominal = self.hertz as f64 * bits_per_clock / 8.0;
        let with = |around| nominal * data_clocks / (data_clocks + around);
        Some(Ceiling {
            read_bytes_per_sec: with(AROUND_READ),
            write_bytes_per_sec: with(AROUND_WRITE),
        })
    }
}

/// Bulk transfers of a link of so many Mbit/s: 19 packets of 64 bytes in a frame of
/// 1 ms, 13 of 512 in a microframe of 125 µs (USB 2.0, tables 5-9 and 5-10); above that
/// the line code, 8b/10b at 5 Gbit/s and 128b/132b from 10 on (USB 3.2, 3.2).
fn usb(megabits: &str) -> Option<Ceiling> {
    let bytes_per_sec = match megabits.parse::<f64>().ok()? {
        speed if speed < 12.0 => return None, // No storage.
        speed if speed < 480.0 => 19.0 * 64.0 * 1_000.0,
        speed if speed < 5_000.0 => 13.0 * 512.0 * 8_000.0,
        speed if speed < 10_000.0 => speed * 1e6 / 10.0,
        speed => speed * 1e6 / 8.0 * 128.0 / 132.0,
    };
    Some(Ceiling::both(bytes_per_sec))
}

/// Lanes of so many GT/s: 8b/10b up to 5, 128b/130b from 8 on (PCIe base
/// specification, 4.2). What packets cost besides is not taken off.
fn pcie(speed: &str, width: &str) -> Option<Ceiling> {
    let transfers: f64 = speed.split_once(" GT/s")?.0.parse().ok()?;
    let lanes: f64 = width.parse().ok()?;
    let code = if transfers > 5.0 { 128.0 / 130.0 } else { 0.8 };
    Some(Ceiling::both(transfers * 1e9 * code / 8.0 * lanes))
}

/// `SATA 6.0 Gb/s`, coded as 8b/10b.
fn sata(bus: &str) -> Option<Ceiling> {
    let speed = bus.strip_prefix("SATA ")?.strip_suffix(" Gb/s")?;
    Some(Ceiling::both(speed.parse::<f64>().ok()? * 1e9 / 10.0))
}

/// Lanes of a gear, coded as 8b/10b: 1248 Mbit/s in gear 1 at rate A, 1457.6 at rate B,
/// and twice as much with each gear (MIPI M-PHY; the same to gear 5).
fn ufs(gear: &str, rate: &str, lanes: &str) -> Option<Ceiling> {
    let gear: i32 = gear.strip_prefix("HS_GEAR")?.parse().ok()?;
    let first = match rate {
        "HS_RATE_A" => 1248.0,
        "HS_RATE_B" => 1457.6,
        _ => return None,
    };
    let lanes: f64 = lanes.parse().ok()?;
    let megabits = first * f64::from(2_i32.checked_pow(u32::try_from(gear - 1).ok()?)?);
    Some(Ceiling::both(megabits * 1e6 / 10.0 * lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(timing: &str, bits: u32, hertz: u64) -> (f64, f64) {
        let ios = format!(
            "clock:\t\t{hertz} Hz\nbus width:\t3 ({bits} bits)\ntiming spec:\t9 ({timing})\n"
        );
        let ceiling = CardMode::parse(&ios).unwrap().ceiling().unwrap();
        let rounded = |rate: f64| (rate / 1e5).round() / 10.0;
        (
            rounded(ceiling.read_bytes_per_sec),
            rounded(ceiling.write_bytes_per_sec),
        )
    }

    #[test]
    fn cards_carry_what_framing_leaves() {
        assert_eq!(card("sd high-speed", 4, 50_000_000), (24.4, 24.2));
        assert_eq!(card("sd uhs SDR50", 4, 100_000_000), (48.8, 48.4));
        assert_eq!(card("sd uhs DDR50", 4, 50_000_000).0, 47.6);
        assert_eq!(card("sd uhs SDR104", 4, 208_000_000), (101.4, 100.7));
        assert_eq!(card("mmc DDR52", 8, 52_000_000), (94.4, 91.8));
        assert_eq!(card("mmc HS200", 8, 200_000_000), (190.3, 187.5));
        assert_eq!(card("mmc HS400", 8, 200_000_000), (363.1, 353.1));
        assert_eq!(
            card("mmc HS400 enhanced strobe", 8, 200_000_000),
            card("mmc HS400", 8, 200_000_000)
        );
    }

    #[test]
    fn the_actual_clock_counts_not_the_requested_one() {
        let ios = "clock:\t\t52000000 Hz\nactual clock:\t49500000 Hz\nbus width:\t3 (8 bits)\ntiming spec:\t8 (mmc DDR52)\n";
        let mode = CardMode::parse(ios).unwrap();
        assert_eq!((mode.hertz, mode.bits), (49_500_000, 8));
        assert_eq!(mode.timing, "DDR52");
    }

    #[test]
    fn a_host_that_is_off_has_no_mode() {
        let ios = "clock:\t\t0 Hz\nbus width:\t0 (1 bits)\ntiming spec:\t0 (legacy)\n";
        assert_eq!(CardMode::parse(ios), None);
        assert_eq!(CardMode::parse(""), None);
    }

    fn of(kind: DeviceKind, bus: Option<&str>, raw: &[(&str, &str)]) -> Option<f64> {
        let pairs = raw.iter();
        let identity = DeviceIdentity {
            kind,
            bus: bus.map(str::to_owned),
            raw: pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..DeviceIdentity::default()
        };
        let rate = ceiling(&identity)?.read_bytes_per_sec;
        Some((rate / 1e6).round())
    }

    #[test]
    fn links_carry_what_their_line_code_leaves() {
        let usb = |speed| of(DeviceKind::Usb, None, &[("speed", speed)]);
        assert_eq!(usb("12"), Some(1.0));
        assert_eq!(usb("480"), Some(53.0));
        assert_eq!(usb("5000"), Some(500.0));
        assert_eq!(usb("10000"), Some(1212.0));
        assert_eq!(usb("fast"), None);
        let pcie = |speed, width| {
            let raw = [("current_link_speed", speed), ("current_link_width", width)];
            of(DeviceKind::Nvme, None, &raw)
        };
        assert_eq!(pcie("8.0 GT/s PCIe", "4"), Some(3938.0));
        assert_eq!(pcie("2.5 GT/s", "1"), Some(250.0));
        assert_eq!(pcie("Unknown", "0"), None);
        assert_eq!(
            of(DeviceKind::Sata, Some("SATA 6.0 Gb/s"), &[]),
            Some(600.0)
        );
        let ufs = |gear, rate| {
            let raw = [
                ("power_info/gear", gear),
                ("power_info/rate", rate),
                ("power_info/lane", "2"),
            ];
            of(DeviceKind::Ufs, None, &raw)
        };
        assert_eq!(ufs("HS_GEAR4", "HS_RATE_B"), Some(2332.0));
        assert_eq!(ufs("HS_GEAR1", "HS_RATE_A"), Some(250.0));
        assert_eq!(ufs("PWM_GEAR1", "HS_RATE_A"), None);
        assert_eq!(ufs("HS_GEAR0", "HS_RATE_A"), None);
        assert_eq!(of(DeviceKind::Virtio, None, &[]), None);
    }
}
