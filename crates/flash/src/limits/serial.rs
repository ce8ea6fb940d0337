//! USB, SATA and NVMe.

use super::Ceiling;

/// All of them.
pub fn all() -> Vec<Ceiling> {
    let mut all = usb();
    all.extend(sata());
    all.extend(nvme());
    all
}

fn usb() -> Vec<Ceiling> {
    // Thirteen bulk packets of 512 bytes fit into a microframe of 125 µs.
    let bulk = 13.0 * 512.0 * 8000.0;
    let mut all = vec![Ceiling {
        bus: "USB",
        mode: "usb-2.0".to_owned(),
        nominal: 60e6,
        read: bulk,
        write: bulk,
        formula: "13 bulk packets x 512 B x 8000 microframes/s".to_owned(),
        source: "USB 2.0, 5.8.4 (table 5-10)",
    }];
    let superspeed = [
        ("usb-5g", 500e6, "5 Gb/s x 8/10 / 8"),
        (
            "usb-10g",
            10e9 / 8.0 * 128.0 / 132.0,
            "10 Gb/s x 128/132 / 8",
        ),
        (
            "usb-20g",
            20e9 / 8.0 * 128.0 / 132.0,
            "2 x 10 Gb/s x 128/132 / 8",
        ),
    ];
    all.extend(superspeed.map(|(mode, nominal, line)| {
        // A header packet of 20 bytes and the framing and CRC-32 of the payload, 12.
        let rate = nominal * 1024.0 / (1024.0 + 32.0);
        Ceiling {
            bus: "USB",
            mode: mode.to_owned(),
            nominal,
            read: rate,
            write: rate,
            formula: format!("{line} x 1024 / (1024 + 32); link commands not counted"),
            source: "USB 3.2, 7.2.1 (packets), 6.3 (encoding)",
        }
    }));
    all
}

fn sata() -> impl Iterator<Item = Ceiling> {
    [("sata-1.5g", 150e6), ("sata-3g", 300e6), ("sata-6g", 600e6)]
        .into_iter()
        .map(|(mode, nominal)| {
            // Start, header, CRC and end of four bytes each around 8 KiB.
            let rate = nominal * 8192.0 / (8192.0 + 16.0);
            Ceiling {
                bus: "SATA",
                mode: mode.to_owned(),
                nominal,
                read: rate,
                write: rate,
                formula: format!(
                    "{} MB/s after 8b/10b x 8192 / (8192 + 16); handshakes not counted",
                    nominal / 1e6
                ),
                source: "Serial ATA 3.5, 10.5 (data FIS)",
            }
        })
}

fn nvme() -> impl Iterator<Item = Ceiling> {
    // GT/s of a lane, and the bits that the encoding leaves.
    let generations = [
        (1, 2.5, 8.0, 10.0),
        (2, 5.0, 8.0, 10.0),
        (3, 8.0, 128.0, 130.0),
        (4, 16.0, 128.0, 130.0),
        (5, 32.0, 128.0, 130.0),
    ];
    generations
        .into_iter()
        .flat_map(|(generation, rate, of, bits)| {
            [1, 2, 4].map(move |lanes| pcie(generation, lanes, (rate, of, bits)))
        })
}

fn pcie(generation: u32, lanes: u32, (rate, of, bits): (f64, f64, f64)) -> Ceiling {
    let nominal = rate * 1e9 * of / bits / 8.0 * f64::from(lanes);
    // Data of 256 bytes behind a header: 16 bytes when the drive writes to memory (a read),
    // 12 when it is answered (a write), and 8 of sequence, framing and LCRC.
    let share = |header: f64| 256.0 / (256.0 + header + 8.0);
    Ceiling {
        bus: "NVMe",
        mode: format!("nvme-gen{generation}x{lanes}"),
        nominal,
        read: nominal * share(16.0),
        write: nominal * share(12.0),
        formula: format!(
            "{rate} GT/s x {of}/{bits} / 8 x {lanes} x 256 / (256 + 24 [read], + 20 [write]); \
             payload of 256 B, acknowledgements not counted"
        ),
        source: "PCI Express 5.0, 2.2 (TLP), 3.6 (LCRC), 4.2 (encoding)",
    }
}
