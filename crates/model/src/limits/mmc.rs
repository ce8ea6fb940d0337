//! eMMC and SD: parallel lines, a clock, blocks of 512 bytes.

use super::{BLOCK_BYTES, Ceiling};

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
struct Mode {
    bus: &'static str,
    name: &'static str,
    mhz: f64,
    lines: f64,
    /// Bits per line and clock.
    edges: f64,
}

const fn mode(bus: &'static str, name: &'static str, mhz: f64, lines: f64, edges: f64) -> Mode {
    Mode {
        bus,
        name,
        mhz,
        lines,
        edges,
    }
}

const MODES: [Mode; 11] = [
    mode("eMMC", "hs26", 26.0, 8.0, 1.0),
    mode("eMMC", "hs52", 52.0, 8.0, 1.0),
    mode("eMMC", "ddr52", 52.0, 8.0, 2.0),
    mode("eMMC", "hs200", 200.0, 8.0, 1.0),
    mode("eMMC", "hs400", 200.0, 8.0, 2.0),
    // The strobe makes sampling more reliable, not faster.
    mode("eMMC", "hs400es", 200.0, 8.0, 2.0),
    mode("SD", "sd-ds", 25.0, 4.0, 1.0),
    mode("SD", "sd-hs", 50.0, 4.0, 1.0),
    mode("SD", "sdr50", 100.0, 4.0, 1.0),
    mode("SD", "ddr50", 50.0, 4.0, 2.0),
    mode("SD", "sdr104", 208.0, 4.0, 1.0),
];

/// Returns the ceilings of all modes.
pub fn all() -> Vec<Ceiling> {
    let mut all: Vec<Ceiling> = MODES.iter().map(parallel).collect();
    all.push(uhs2("uhs2-fd156", 156e6));
    all.push(uhs2("uhs2-hd312", 312e6));
    all
}

fn parallel(mode: &Mode) -> Ceiling {
    card(mode.bus, mode.name, mode.mhz * 1e6, mode.lines * mode.edges)
}

/// Returns the ceiling of a parallel bus with `bits` bits per clock over all lines.
pub(crate) fn card(bus: &'static str, name: &str, hz: f64, bits: f64) -> Ceiling {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_takes_little_of_the_wire() {
        assert_eq!(format!("{:.2}", COMMAND_CLOCKS / 208.0), "0.58");
    }
}
