//! Comparison of a measured rate with the ceiling of a bus, and the causes of the distance.

use assay_lang::tr;
use assay_model::job::Direction;
use assay_model::limits::{Ceiling, Placed};
use assay_model::units::{Bytes, BytesPerSec, three_digits};
use assay_report::describe;
use serde_json::{Value, json};

/// Measured rate with its ceiling.
pub struct OnBus {
    direction: Direction,
    rate: BytesPerSec,
    ceiling: BytesPerSec,
    command_us: Option<f64>,
    request: Bytes,
    placed: Placed,
    flash: bool,
}

impl OnBus {
    /// Compares a rate at depth 1 with requests of that size. `flash` is true if the device is
    /// known to be flash. Returns `None` if the rate cannot be compared.
    pub fn of(
        (direction, rate): (Direction, BytesPerSec),
        ceiling: &Ceiling,
        request: Bytes,
        flash: bool,
    ) -> Option<Self> {
        let limit = ceiling.rate(direction);
        Some(Self {
            direction,
            rate,
            ceiling: BytesPerSec(limit),
            command_us: ceiling.command_us,
            request,
            placed: Placed::of(rate.0, limit, request.0)?,
            flash,
        })
    }

    /// Returns the comparison as JSON.
    pub fn value(&self) -> Value {
        json!({
            "direction": self.direction.to_string(),
            "measured_bytes_per_s": self.rate.0,
            "ceiling_bytes_per_s": self.ceiling.0,
            "share": self.placed.share,
            "request_bytes": self.request.0,
            "request_us": self.placed.request_us,
            "wire_us": self.placed.wire_us,
            "other_us": self.placed.other_us(),
            "command_wire_us": self.command_us,
        })
    }

    /// Explains the distance to the ceiling, as far as one rate determines it.
    pub fn sentence(&self) -> String {
        let placed = &self.placed;
        let percent = format!("{:.1}", placed.share * 100.0);
        let head = tr!(
            "{direction}: {rate} is {percent} % of {ceiling}.",
            direction = describe::direction(self.direction),
            rate = self.rate,
            percent,
            ceiling = self.ceiling
        );
        if placed.share > 1.0 {
            let above = tr!(
                "More than the bus carries: it was not this bus, not in this mode, or not the device that was measured."
            );
            return format!("{head} {above}");
        }
        let told = tr!(
            "Of each request of {request}, {wire} µs are its data on the wire and {other} µs are not: {rest}.",
            request = self.request,
            wire = three_digits(placed.wire_us),
            other = three_digits(placed.other_us()),
            rest = self.rest()
        );
        let parts = [Some(head), Some(told), self.of_commands(), Some(untold())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn rest(&self) -> &'static str {
        match (self.direction, self.flash) {
            (Direction::Read, true) => tr!(
                "commands, interrupts, the host driver and the card's reading, which did not overlap with the data"
            ),
            (Direction::Write, true) => tr!(
                "commands, interrupts, the host driver and the card's programming, which the host waits for"
            ),
            (_, false) => tr!(
                "commands, interrupts, the host driver and the device's own work, which did not overlap with the data"
            ),
        }
    }

    /// Explains that the transfer of a command on the wire is a small part of its cost.
    fn of_commands(&self) -> Option<String> {
        let us = self.command_us?;
        Some(tr!(
            "A command and its response are on the wire for {us} µs: what they cost beyond that is the host's and the card's.",
            us = three_digits(us)
        ))
    }
}

fn untold() -> String {
    tr!("Which of them cannot be told from one rate: rates of several sizes can.").to_owned()
}

/// Units of rates, in bytes per second.
const RATES: [(&str, f64); 7] = [
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("B/s", 1.0),
];

/// Reads a rate such as `275MiB/s`.
pub fn parse_rate(text: &str) -> Result<BytesPerSec, String> {
    let of = |(unit, bytes): &(&str, f64)| {
        let number = text.strip_suffix(unit)?.trim();
        let number: f64 = number.parse().ok()?;
        (number.is_finite() && number > 0.0).then_some(BytesPerSec(number * bytes))
    };
    let rate = RATES.iter().find_map(of);
    rate.ok_or_else(|| "give a number and its unit, such as 275MiB/s or 288MB/s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_their_units() {
        assert_eq!(parse_rate("54.3MiB/s"), Ok(BytesPerSec(54.3 * 1_048_576.0)));
        assert_eq!(parse_rate("5866 KiB/s"), Ok(BytesPerSec(5866.0 * 1024.0)));
        assert_eq!(parse_rate("100B/s"), Ok(BytesPerSec(100.0)));
        for bad in [
            "",
            "275",
            "MB/s",
            "-1MB/s",
            "0MB/s",
            "nanMB/s",
            "infMB/s",
            "3 parsecs",
        ] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
    }
}
