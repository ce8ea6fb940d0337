//! USB, SATA and NVMe.

use super::Ceiling;

/// Returns the ceilings of all modes.
pub fn all() -> Vec<Ceiling> {
    let mut all = usb();
    all.extend(sata());
    all.extend(nvme());
    all
}

fn usb() -> Vec<Ceiling> {
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

fn sata() -> impl Iterator<Item = Ceiling> {
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

fn nvme() -> impl Iterator<Item = Ceiling> {
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
