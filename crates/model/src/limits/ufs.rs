//! UFS: gears and lanes of M-PHY, frames of UniPro.

use super::Ceiling;

/// Megabits per second of a lane in gear 1, series A.
pub(crate) const SERIES_A: f64 = 1248.0;
/// Megabits per second of a lane in gear 1, series B.
pub(crate) const SERIES_B: f64 = 1457.6;
/// Bytes of data in a frame of UniPro (`T_MTU`).
const DATA: f64 = 272.0;
/// Bytes around the data: start, end and CRC of two bytes each, and the short headers of layers 3
/// and 4. Acknowledgements and the headers of UPIUs, one for many frames, are not counted.
const FRAME: f64 = 6.0 + 2.0;
/// Number of gears with 8b/10b symbols, whose rates double from gear to gear.
pub(crate) const GEARS: u32 = 5;

/// Returns the ceilings of all gears with one and two lanes.
pub fn all() -> Vec<Ceiling> {
    let gears = 1..=GEARS;
    gears
        .flat_map(|gear| {
            [1, 2].map(|lanes| lanes_of(&format!("ufs-g{gear}x{lanes}"), SERIES_B, gear, lanes))
        })
        .collect()
}

/// Returns the ceiling of the lanes of a gear; `first` is the rate of a lane in gear 1.
pub(crate) fn lanes_of(mode: &str, first: f64, gear: u32, lanes: u32) -> Ceiling {
    let line = first * f64::from(1_u32 << (gear.clamp(1, GEARS) - 1)) * f64::from(lanes);
    let nominal = line * 1e6 / 10.0;
    let rate = nominal * DATA / (DATA + FRAME);
    Ceiling {
        bus: "UFS",
        mode: mode.to_owned(),
        nominal,
        read: rate,
        write: rate,
        command_us: None,
        formula: format!("{line:.1} Mb/s x 8/10 (8b/10b) / 8 x {DATA} / ({DATA} + {FRAME})"),
        source: "MIPI M-PHY; MIPI UniPro 1.8 (DL frame, T_MTU 272)",
    }
}
