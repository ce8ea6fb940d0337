//! Result of inspecting a path that may be measured; list of the block devices of a machine, and the
//! ceilings of their buses.

pub mod register;

use crate::job::EngineKind;
use crate::limits::{
    Ceiling, UFS_GEARS, UFS_SERIES_A, UFS_SERIES_B, card_ceiling, find, pcie_link, sata_link,
    ufs_lanes, usb_link,
};
use crate::storage::{DeviceIdentity, DeviceKind, Layer, Mount, Storage, System};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Storage behind a path, and permitted operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// Absolute path without links.
    pub path: PathBuf,
    /// Kind of the path.
    pub kind: PathKind,
    /// The machine.
    pub system: System,
    /// The storage.
    pub storage: Storage,
    /// Reasons why the device may not be written, one clause each ("sda1 is mounted on /home");
    /// empty if it may be written. Only for block devices.
    pub in_use: Vec<String>,
    /// Contents of a block device and its partitions, used or unused: file systems, members of
    /// arrays, partition tables, each with its article.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// Asynchronous engines that work here.
    pub async_engines: Vec<EngineKind>,
}

/// Kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PathKind {
    /// A directory.
    Directory {
        /// `true` if this user may create files in the directory.
        writable: bool,
    },
    /// A regular file.
    File {
        /// Length of the file.
        length: Bytes,
        /// `true` if every block was written: no holes, no fallocated extents. `None` when unknown.
        written: Option<bool>,
    },
    /// A simulated device.
    Simulated {
        /// Size of the simulated device.
        size: Bytes,
    },
    /// A block device.
    Device {
        /// Size of the block device.
        size: Bytes,
    },
}

/// Block devices of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceList {
    /// The machine.
    pub system: System,
    /// Disks of the machine, by name; each holds its partitions.
    pub devices: Vec<ListedDevice>,
}

/// One disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedDevice {
    /// The device itself.
    pub layer: Layer,
    /// File systems on it and on its partitions that are mounted here.
    pub mounted: Vec<MountedPart>,
    /// Partitions of the device, by name.
    pub partitions: Vec<String>,
    /// Reasons why it may not be written as a whole, one clause each ("sda1 is mounted on /home");
    /// empty if it may be written.
    pub in_use: Vec<String>,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountedPart {
    /// Kernel name of the disk or its partition.
    pub device: String,
    /// Mount point and mount options.
    pub mount: Mount,
    /// Space available for a new file of this user.
    pub available: Option<Bytes>,
    /// `true` if this user may create files in the root folder of the file system.
    pub writable: bool,
}

/// Returns the ceiling of the current mode of a device's bus; `None` if the mode is not known, or
/// if there is no such bus. A rate close to the ceiling is limited by the bus, and a higher rate
/// was not moved by the bus.
pub fn ceiling(identity: &DeviceIdentity) -> Option<Ceiling> {
    let raw = |name: &str| identity.raw.get(name).map(|text| text.trim());
    match identity.kind {
        DeviceKind::Emmc => CardMode::parse(raw("ios")?)?.ceiling("eMMC"),
        DeviceKind::Sd => CardMode::parse(raw("ios")?)?.ceiling("SD"),
        DeviceKind::Usb => usb_link("USB", raw("speed")?.parse().ok()?),
        DeviceKind::Nvme => pcie(raw("current_link_speed")?, raw("current_link_width")?),
        DeviceKind::Sata => sata(identity.bus.as_deref()?),
        DeviceKind::Ufs => lanes(
            raw("power_info/gear")?,
            raw("power_info/rate")?,
            raw("power_info/lane")?,
        ),
        DeviceKind::Simulated => find(raw("bus")?),
        _ => None,
    }
}

/// Bus mode of a card's host, from the text of `/sys/kernel/debug/mmcN/ios`
/// (drivers/mmc/core/debugfs.c).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardMode {
    /// Name in the kernel, without the kind of card: `HS400`, `high-speed`, `SDR104`.
    pub timing: String,
    /// Number of data lines.
    pub bits: u32,
    /// Clock frequency. The actual frequency is preferred to the requested one, which dividers
    /// rarely reach.
    pub hertz: u64,
}

impl CardMode {
    /// Parses the text; `None` when it has another form, or the host is off.
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

    /// `true` if data is moved at both edges of the clock.
    fn is_double(&self) -> bool {
        self.timing.contains("DDR") || self.timing.starts_with("HS400")
    }

    fn ceiling(&self, bus: &'static str) -> Option<Ceiling> {
        if self.bits == 0 || self.timing.contains("UHS-II") {
            return None;
        }
        let bits = f64::from(self.bits) * if self.is_double() { 2.0 } else { 1.0 };
        let hz = self.hertz as f64;
        Some(card_ceiling(bus, &self.timing, hz, bits))
    }
}

fn pcie(speed: &str, width: &str) -> Option<Ceiling> {
    let transfers: f64 = speed.split_once(" GT/s")?.0.parse().ok()?;
    Some(pcie_link("PCIe", transfers, width.parse().ok()?))
}

/// Parses a link such as `SATA 6.0 Gb/s`.
fn sata(bus: &str) -> Option<Ceiling> {
    let speed = bus.strip_prefix("SATA ")?.strip_suffix(" Gb/s")?;
    Some(sata_link("SATA", speed.parse().ok()?))
}

fn lanes(gear: &str, rate: &str, lanes: &str) -> Option<Ceiling> {
    let number: u32 = gear.strip_prefix("HS_GEAR")?.parse().ok()?;
    let first = match rate {
        "HS_RATE_A" => UFS_SERIES_A,
        "HS_RATE_B" => UFS_SERIES_B,
        _ => return None,
    };
    let known = (1..=UFS_GEARS).contains(&number);
    known.then_some(())?;
    Some(ufs_lanes(gear, first, number, lanes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(timing: &str, bits: u32, hertz: u64) -> (f64, f64) {
        let ios = format!(
            "clock:\t\t{hertz} Hz\nbus width:\t3 ({bits} bits)\ntiming spec:\t9 ({timing})\n"
        );
        let ceiling = CardMode::parse(&ios).unwrap().ceiling("eMMC").unwrap();
        let rounded = |rate: f64| (rate / 1e5).round() / 10.0;
        (rounded(ceiling.read), rounded(ceiling.write))
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
        let rate = ceiling(&identity)?.read;
        Some((rate / 1e6).round())
    }

    #[test]
    fn links_carry_what_their_line_code_leaves() {
        let usb = |speed| of(DeviceKind::Usb, None, &[("speed", speed)]);
        assert_eq!(usb("12"), Some(1.0));
        assert_eq!(usb("480"), Some(53.0));
        assert_eq!(usb("5000"), Some(485.0));
        assert_eq!(usb("10000"), Some(1175.0));
        assert_eq!(usb("fast"), None);
        let pcie = |speed, width| {
            let raw = [("current_link_speed", speed), ("current_link_width", width)];
            of(DeviceKind::Nvme, None, &raw)
        };
        assert_eq!(pcie("8.0 GT/s PCIe", "4"), Some(3601.0));
        assert_eq!(pcie("2.5 GT/s", "1"), Some(229.0));
        assert_eq!(pcie("Unknown", "0"), None);
        assert_eq!(
            of(DeviceKind::Sata, Some("SATA 6.0 Gb/s"), &[]),
            Some(599.0)
        );
        let ufs = |gear, rate| {
            let raw = [
                ("power_info/gear", gear),
                ("power_info/rate", rate),
                ("power_info/lane", "2"),
            ];
            of(DeviceKind::Ufs, None, &raw)
        };
        assert_eq!(ufs("HS_GEAR4", "HS_RATE_B"), Some(2266.0));
        assert_eq!(ufs("HS_GEAR1", "HS_RATE_A"), Some(242.0));
        assert_eq!(ufs("PWM_GEAR1", "HS_RATE_A"), None);
        assert_eq!(ufs("HS_GEAR0", "HS_RATE_A"), None);
        assert_eq!(of(DeviceKind::Virtio, None, &[]), None);
    }
}
