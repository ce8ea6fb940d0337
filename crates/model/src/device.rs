//! Result of inspecting a path that may be measured; list of the block devices of a machine; and
//! the ceilings of their buses: the nominal rate, and the rate after framing.
//!
//! A ceiling includes everything between the data on the wire (start and end bits, checksums,
//! headers). It does not include commands, interrupts or the device: a measured rate below the
//! ceiling shows those ([`Placed`]).
//!
//! To add a bus: add a line with its framing, formula and source.

pub mod register;

use crate::job::{Direction, EngineKind};
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
        DeviceKind::Simulated => find_ceiling(raw("bus")?),
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

/// Bytes of a block: the unit of addresses and transfers in MMC and SD.
pub const BLOCK_BYTES: u64 = 512;

/// The ceiling of one mode of a bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// Family: `eMMC`, `SD`, `UFS`, `USB`, `SATA`, `NVMe`.
    pub bus: &'static str,
    /// Name of the mode, such as `hs400` or `nvme-gen3x4`.
    pub mode: String,
    /// Bytes per second without framing, as advertised.
    pub nominal: f64,
    /// Bytes per second that reads can reach.
    pub read: f64,
    /// Bytes per second that writes can reach.
    pub write: f64,
    /// Microseconds of a command and its response on the wire, if the bus has a separate line for
    /// them.
    pub command_us: Option<f64>,
    /// Derivation of the ceiling, with numbers.
    pub formula: String,
    /// Standard that defines the mode.
    pub source: &'static str,
}

/// Returns all known ceilings, in order of families.
pub fn all_ceilings() -> Vec<Ceiling> {
    let mut all = card_modes();
    all.extend(ufs_gears());
    all.extend(serial_links());
    all
}

/// Finds the mode of this name; case and the characters `-`, `_`, `.` and blank are ignored.
pub fn find_ceiling(word: &str) -> Option<Ceiling> {
    let wanted = plain_name(word);
    all_ceilings()
        .into_iter()
        .find(|ceiling| plain_name(&ceiling.mode) == wanted)
}

fn plain_name(word: &str) -> String {
    let kept = word.chars().filter(|c| !matches!(c, '-' | '_' | '.' | ' '));
    kept.collect::<String>().to_ascii_lowercase()
}

/// A measured rate in relation to a ceiling, for transfers in separate requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Measured rate divided by the ceiling.
    pub share: f64,
    /// Microseconds per request.
    pub request_us: f64,
    /// Microseconds per request in which data is on the wire.
    pub wire_us: f64,
}

impl Ceiling {
    /// Returns the bytes per second of one direction.
    pub const fn rate(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Read => self.read,
            Direction::Write => self.write,
        }
    }
}

impl Placed {
    /// Relates a measured rate above 0 to a ceiling, for requests of `request_bytes`, one at a
    /// time. Returns `None` when an argument is not a positive number.
    pub fn of(measured: f64, ceiling: f64, request_bytes: u64) -> Option<Self> {
        let bytes = request_bytes as f64;
        let sound = measured.is_finite() && measured > 0.0 && ceiling > 0.0 && bytes > 0.0;
        sound.then(|| Self {
            share: measured / ceiling,
            request_us: bytes / measured * 1e6,
            wire_us: bytes / ceiling * 1e6,
        })
    }

    /// Returns the microseconds of a request without data on the wire: commands, interrupts,
    /// driver, the device itself. Negative above the ceiling.
    pub fn other_us(self) -> f64 {
        self.request_us - self.wire_us
    }
}

/// Clocks around the data of a block on each line: start bit, CRC-16, end bit.
const FRAME_CLOCKS: f64 = 1.0 + 16.0 + 1.0;
/// Clocks between two blocks of a multi-block read.
const GAP_CLOCKS: f64 = 8.0;
/// Clocks of the CRC status that answers a written block: 2 before it (`N_CRC`), 5 of the token, 1
/// for the bus turnaround.
const STATUS_CLOCKS: f64 = 8.0;
/// Clocks of a command of 48 bits and its response, with the shortest distances (`N_CR` 2, `N_RC`
/// 8) and the bus turnaround: 0.58 µs at 208 MHz.
pub const COMMAND_CLOCKS: f64 = 48.0 + 2.0 + 48.0 + 8.0 + 14.0;

const EMMC: &str = "JESD84-B51, 6.15 and 10.3 (block and bus timing)";
const SD: &str = "SD Physical Layer Simplified Specification 6.00, 3.6 and 4.12";
const UHS2: &str = "SD UHS-II Simplified Addendum 1.02, 5.2 (packets)";

/// A mode of the parallel bus.
struct CardBusMode {
    bus: &'static str,
    name: &'static str,
    mhz: f64,
    lines: f64,
    /// Bits per line and clock.
    edges: f64,
}

const fn card_mode(
    bus: &'static str,
    name: &'static str,
    mhz: f64,
    lines: f64,
    edges: f64,
) -> CardBusMode {
    CardBusMode {
        bus,
        name,
        mhz,
        lines,
        edges,
    }
}

const CARD_MODES: [CardBusMode; 11] = [
    card_mode("eMMC", "hs26", 26.0, 8.0, 1.0),
    card_mode("eMMC", "hs52", 52.0, 8.0, 1.0),
    card_mode("eMMC", "ddr52", 52.0, 8.0, 2.0),
    card_mode("eMMC", "hs200", 200.0, 8.0, 1.0),
    card_mode("eMMC", "hs400", 200.0, 8.0, 2.0),
    // The strobe makes sampling more reliable, not faster.
    card_mode("eMMC", "hs400es", 200.0, 8.0, 2.0),
    card_mode("SD", "sd-ds", 25.0, 4.0, 1.0),
    card_mode("SD", "sd-hs", 50.0, 4.0, 1.0),
    card_mode("SD", "sdr50", 100.0, 4.0, 1.0),
    card_mode("SD", "ddr50", 50.0, 4.0, 2.0),
    card_mode("SD", "sdr104", 208.0, 4.0, 1.0),
];

/// Returns the ceilings of all modes.
fn card_modes() -> Vec<Ceiling> {
    let mut all: Vec<Ceiling> = CARD_MODES.iter().map(parallel).collect();
    all.push(uhs2("uhs2-fd156", 156e6));
    all.push(uhs2("uhs2-hd312", 312e6));
    all
}

fn parallel(mode: &CardBusMode) -> Ceiling {
    card_ceiling(mode.bus, mode.name, mode.mhz * 1e6, mode.lines * mode.edges)
}

/// Returns the ceiling of a parallel bus with `bits` bits per clock over all lines.
pub(crate) fn card_ceiling(bus: &'static str, name: &str, hz: f64, bits: f64) -> Ceiling {
    let block = BLOCK_BYTES as f64;
    let data = block * 8.0 / bits;
    let read = data + FRAME_CLOCKS + GAP_CLOCKS;
    let write = read + STATUS_CLOCKS;
    Ceiling {
        bus,
        mode: name.to_owned(),
        nominal: hz * bits / 8.0,
        read: block * hz / read,
        write: block * hz / write,
        command_us: Some(COMMAND_CLOCKS / hz * 1e6),
        formula: format!(
            "512 B / ({data} + {FRAME_CLOCKS} frame + {GAP_CLOCKS} gap [+ {STATUS_CLOCKS} CRC \
             status of a write]) clocks x {} MHz",
            hz / 1e6
        ),
        source: if bus == "SD" { SD } else { EMMC },
    }
}

/// Returns the ceiling of the serial lanes of UHS-II, where a block is a packet.
fn uhs2(mode: &str, nominal: f64) -> Ceiling {
    // Start and end of packet of two symbols each, header and CRC of two bytes each. Messages of
    // flow control are not counted, since the card determines their number.
    let share = 512.0 / (512.0 + 8.0);
    Ceiling {
        bus: "SD",
        mode: mode.to_owned(),
        nominal,
        read: nominal * share,
        write: nominal * share,
        command_us: None,
        formula: format!("{} MB/s after 8b/10b x 512 / (512 + 8)", nominal / 1e6),
        source: UHS2,
    }
}

/// Megabits per second of a lane in gear 1, series A.
pub(crate) const UFS_SERIES_A: f64 = 1248.0;
/// Megabits per second of a lane in gear 1, series B.
pub(crate) const UFS_SERIES_B: f64 = 1457.6;
/// Bytes of data in a frame of UniPro (`T_MTU`).
const UNIPRO_DATA: f64 = 272.0;
/// Bytes around the data: start, end and CRC of two bytes each, and the short headers of layers 3
/// and 4. Acknowledgements and the headers of UPIUs, one for many frames, are not counted.
const UNIPRO_FRAME: f64 = 6.0 + 2.0;
/// Number of gears with 8b/10b symbols, whose rates double from gear to gear.
pub(crate) const UFS_GEARS: u32 = 5;

/// Returns the ceilings of all gears with one and two lanes.
fn ufs_gears() -> Vec<Ceiling> {
    let gears = 1..=UFS_GEARS;
    gears
        .flat_map(|gear| {
            [1, 2]
                .map(|lanes| ufs_lanes(&format!("ufs-g{gear}x{lanes}"), UFS_SERIES_B, gear, lanes))
        })
        .collect()
}

/// Returns the ceiling of the lanes of a gear; `first` is the rate of a lane in gear 1.
pub(crate) fn ufs_lanes(mode: &str, first: f64, gear: u32, lanes: u32) -> Ceiling {
    let line = first * f64::from(1_u32 << (gear.clamp(1, UFS_GEARS) - 1)) * f64::from(lanes);
    let nominal = line * 1e6 / 10.0;
    let rate = nominal * UNIPRO_DATA / (UNIPRO_DATA + UNIPRO_FRAME);
    Ceiling {
        bus: "UFS",
        mode: mode.to_owned(),
        nominal,
        read: rate,
        write: rate,
        command_us: None,
        formula: format!(
            "{line:.1} Mb/s x 8/10 (8b/10b) / 8 x {UNIPRO_DATA} / ({UNIPRO_DATA} + {UNIPRO_FRAME})"
        ),
        source: "MIPI M-PHY; MIPI UniPro 1.8 (DL frame, T_MTU 272)",
    }
}

/// Returns the ceilings of all modes.
fn serial_links() -> Vec<Ceiling> {
    let mut all = usb_links();
    all.extend(sata_links());
    all.extend(nvme_links());
    all
}

fn usb_links() -> Vec<Ceiling> {
    let links = [
        ("usb-2.0", 480.0),
        ("usb-5g", 5e3),
        ("usb-10g", 10e3),
        ("usb-20g", 20e3),
    ];
    let all = links.map(|(mode, megabits)| usb_link(mode, megabits));
    all.into_iter().flatten().collect()
}

/// Returns the ceiling of a link in Mbit/s; `None` below the speeds of storage.
pub(crate) fn usb_link(mode: &str, megabits: f64) -> Option<Ceiling> {
    match megabits {
        speed if speed < 12.0 => None,
        speed if speed < 480.0 => Some(bulk(mode, 1.5e6, (19.0, 64.0, 1000.0), "frames")),
        speed if speed < 5_000.0 => Some(bulk(mode, 60e6, (13.0, 512.0, 8000.0), "microframes")),
        speed => Some(superspeed(mode, speed)),
    }
}

/// Returns the ceiling from the bulk packets that fit into a frame, their size, and the frames per
/// second.
fn bulk(
    mode: &str,
    nominal: f64,
    (packets, bytes, frames): (f64, f64, f64),
    name: &str,
) -> Ceiling {
    let rate = packets * bytes * frames;
    Ceiling {
        bus: "USB",
        mode: mode.to_owned(),
        nominal,
        read: rate,
        write: rate,
        command_us: None,
        formula: format!("{packets} bulk packets x {bytes} B x {frames} {name}/s"),
        source: "USB 2.0, 5.8.4 (tables 5-9 and 5-10)",
    }
}

fn superspeed(mode: &str, megabits: f64) -> Ceiling {
    // The second generation uses another line code.
    let (of, bits) = if megabits < 10_000.0 {
        (8.0, 10.0)
    } else {
        (128.0, 132.0)
    };
    let nominal = megabits * 1e6 / 8.0 * of / bits;
    // A header packet of 20 bytes and the framing and CRC-32 of the payload, 12.
    let rate = nominal * 1024.0 / (1024.0 + 32.0);
    Ceiling {
        bus: "USB",
        mode: mode.to_owned(),
        nominal,
        read: rate,
        write: rate,
        command_us: None,
        formula: format!(
            "{} Gb/s x {of}/{bits} / 8 x 1024 / (1024 + 32); link commands not counted",
            megabits / 1e3
        ),
        source: "USB 3.2, 7.2.1 (packets), 6.3 (encoding)",
    }
}

fn sata_links() -> impl Iterator<Item = Ceiling> {
    [("sata-1.5g", 1.5), ("sata-3g", 3.0), ("sata-6g", 6.0)]
        .into_iter()
        .map(|(mode, gigabits)| sata_link(mode, gigabits))
}

/// Returns the ceiling of a link in Gbit/s.
pub(crate) fn sata_link(mode: &str, gigabits: f64) -> Ceiling {
    let nominal = gigabits * 1e9 / 10.0;
    // Start, header, CRC and end of four bytes each around 8 KiB.
    let rate = nominal * 8192.0 / (8192.0 + 16.0);
    Ceiling {
        bus: "SATA",
        mode: mode.to_owned(),
        nominal,
        read: rate,
        write: rate,
        command_us: None,
        formula: format!(
            "{} MB/s after 8b/10b x 8192 / (8192 + 16); handshakes not counted",
            nominal / 1e6
        ),
        source: "Serial ATA 3.5, 10.5 (data FIS)",
    }
}

fn nvme_links() -> impl Iterator<Item = Ceiling> {
    let generations = [(1, 2.5), (2, 5.0), (3, 8.0), (4, 16.0), (5, 32.0)];
    generations.into_iter().flat_map(|(generation, rate)| {
        [1, 2, 4].map(|lanes| {
            pcie_link(
                &format!("nvme-gen{generation}x{lanes}"),
                rate,
                f64::from(lanes),
            )
        })
    })
}

/// Returns the ceiling of lanes in GT/s.
pub(crate) fn pcie_link(mode: &str, rate: f64, lanes: f64) -> Ceiling {
    // Ratio of data bits to line bits of the encoding.
    let (of, bits) = if rate > 5.0 {
        (128.0, 130.0)
    } else {
        (8.0, 10.0)
    };
    let nominal = rate * 1e9 * of / bits / 8.0 * lanes;
    // Data of 256 bytes after a header: 16 bytes when the drive writes to memory (a read), 12 when
    // it receives an answer (a write), and 8 of sequence, framing and LCRC.
    let share = |header: f64| 256.0 / (256.0 + header + 8.0);
    Ceiling {
        bus: "NVMe",
        mode: mode.to_owned(),
        nominal,
        read: nominal * share(16.0),
        write: nominal * share(12.0),
        command_us: None,
        formula: format!(
            "{rate} GT/s x {of}/{bits} / 8 x {lanes} x 256 / (256 + 24 [read], + 20 [write]); \
             payload of 256 B, acknowledgements not counted"
        ),
        source: "PCI Express 5.0, 2.2 (TLP), 3.6 (LCRC), 4.2 (encoding)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::three_digits;

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

    /// MB/s with three digits.
    fn shown(rate: f64) -> String {
        three_digits(rate / 1e6)
    }

    fn known_ceiling(word: &str) -> Ceiling {
        find_ceiling(word).unwrap_or_else(|| panic!("{word} is not known"))
    }

    #[test]
    fn wire_limits_are_those_of_the_reference() {
        for (mode, read, write) in [
            ("sd-hs", "24.4", "24.2"),
            ("sdr50", "48.8", "48.4"),
            ("sdr104", "101", "101"),
            ("ddr52", "94.4", "91.8"),
            ("hs200", "190", "188"),
            ("hs400", "363", "353"),
        ] {
            let ceiling = known_ceiling(mode);
            let found = (shown(ceiling.read), shown(ceiling.write));
            assert_eq!(found, (read.to_owned(), write.to_owned()), "{mode}");
        }
        let sdr104 = known_ceiling("sdr104");
        assert_eq!(format!("{:.1}", sdr104.read / 1e6), "101.4");
        assert_eq!(format!("{:.1}", sdr104.write / 1e6), "100.7");
    }

    #[test]
    fn nominal_rates_are_those_of_the_reference() {
        for (mode, nominal) in [
            ("hs26", "26.0"),
            ("hs52", "52.0"),
            ("ddr52", "104"),
            ("hs200", "200"),
            ("hs400", "400"),
            ("hs400es", "400"),
            ("sd-ds", "12.5"),
            ("sd-hs", "25.0"),
            ("sdr50", "50.0"),
            ("ddr50", "50.0"),
            ("sdr104", "104"),
            ("uhs2-fd156", "156"),
            ("uhs2-hd312", "312"),
            ("ufs-g1x1", "146"),
            ("ufs-g2x1", "292"),
            ("ufs-g3x1", "583"),
            ("ufs-g4x1", "1166"),
            ("usb-5g", "500"),
        ] {
            assert_eq!(shown(known_ceiling(mode).nominal), nominal, "{mode}");
        }
        assert_eq!(format!("{:.0}", known_ceiling("usb-2.0").read / 1e6), "53");
    }

    #[test]
    fn no_ceiling_is_above_its_nominal_rate_and_no_name_is_there_twice() {
        let all = all_ceilings();
        for ceiling in &all {
            for rate in [ceiling.read, ceiling.write] {
                assert!(rate > 0.0 && rate < ceiling.nominal, "{ceiling:?}");
            }
            assert!(!ceiling.formula.is_empty() && !ceiling.source.is_empty());
        }
        let mut names: Vec<String> = all
            .iter()
            .map(|ceiling| plain_name(&ceiling.mode))
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn names_may_be_written_as_one_likes() {
        for word in ["HS400", "hs-400", "HS 400"] {
            assert_eq!(known_ceiling(word).mode, "hs400");
        }
        assert_eq!(find_ceiling("hs800"), None);
    }

    /// The i.MX8M board of the reference: 275 MiB/s with HS400, requests of 512 KiB.
    #[test]
    fn a_measured_rate_is_placed_and_the_rest_of_its_time_told() {
        let placed = Placed::of(275.0 * 1_048_576.0, known_ceiling("hs400").read, 512 << 10);
        let placed = placed.expect("it is a rate");
        assert!((placed.share - 0.794).abs() < 0.001, "{placed:?}");
        assert!((placed.other_us() - 374.3).abs() < 0.5, "{placed:?}");
        for (rate, bytes) in [(0.0, 512), (f64::NAN, 512), (1.0, 0)] {
            assert_eq!(Placed::of(rate, 1.0, bytes), None);
        }
    }

    #[test]
    fn a_command_takes_little_of_the_wire() {
        assert_eq!(format!("{:.2}", COMMAND_CLOCKS / 208.0), "0.58");
    }
}
