//! Rates compared with the ceiling of the bus and the typical rates of a datasheet.

use crate::results::summary::{Group, JobSummary, Summary};
use crate::words::clean;
use assay_lang::tr;
use assay_model::device::{Ceiling, ceiling, find_ceiling};
use assay_model::job::Direction;
use assay_model::run::DatasheetFigure;
use assay_model::units::{BytesPerSec, Iops, three_digits};
use serde::Serialize;

/// Ceiling of a run's bus, with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// The ceiling.
    pub ceiling: Ceiling,
    /// True if the user named it; false if it was read from the system.
    pub given: bool,
}

/// Figure with the values for comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    /// Name of the job.
    pub job: String,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Median, in bytes per second or I/Os per second.
    pub measured: f64,
    /// `bytes_per_s` or `iops`.
    pub unit: &'static str,
    /// Label of the figure.
    pub label: &'static str,
    /// Ceiling of the bus, for rates in bytes.
    pub ceiling: Option<f64>,
    /// Measured rate divided by the ceiling.
    pub share: Option<f64>,
    /// Figure of the datasheet.
    pub typical: Option<f64>,
    /// Measured rate divided by the datasheet's.
    pub typical_share: Option<f64>,
}

/// Returns the ceiling of a run's bus; `None` if neither the system nor the user names the mode.
pub fn bus(summary: &Summary<'_>) -> Option<Bus> {
    let header = &summary.run.header;
    if let Some(word) = header
        .claims
        .as_ref()
        .and_then(|claims| claims.bus.as_deref())
    {
        return find_ceiling(word).map(|ceiling| Bus {
            ceiling,
            given: true,
        });
    }
    let identity = &header.storage.device()?.identity;
    ceiling(identity).map(|ceiling| Bus {
        ceiling,
        given: false,
    })
}

/// Returns all figures of one direction past the page cache that have a ceiling or a figure in a
/// datasheet.
pub fn all(summary: &Summary<'_>) -> Vec<Placed> {
    let bus = bus(summary);
    let jobs = summary.jobs.iter();
    jobs.filter(|job| job.job.direct || job.group == Group::Sustained)
        .filter_map(|job| of_job(summary, bus.as_ref(), job))
        .filter(|placed| placed.ceiling.is_some() || placed.typical.is_some())
        .collect()
}

fn of_job(summary: &Summary<'_>, bus: Option<&Bus>, job: &JobSummary<'_>) -> Option<Placed> {
    let direction = match job.group {
        Group::Mixed | Group::Transactions | Group::Fsync => return None,
        _ if job.job.rw.writes() => Direction::Write,
        _ => Direction::Read,
    };
    let sequential = !job.job.rw.is_random();
    let (figure, unit) = if sequential {
        (job.figure(&format!("{direction}_bw"))?, "bytes_per_s")
    } else {
        (job.figure(&format!("{direction}_iops"))?, "iops")
    };
    let measured = figure.stats.median;
    let ceiling = bus.filter(|_| sequential).map(|bus| match direction {
        Direction::Read => bus.ceiling.read,
        Direction::Write => bus.ceiling.write,
    });
    let typical = datasheet(summary, direction, sequential, job);
    Some(Placed {
        job: job.job.name.clone(),
        direction,
        measured,
        unit,
        label: figure.labels.agreed().unwrap_or("differs"),
        ceiling,
        share: ceiling.map(|most| measured / most),
        typical,
        typical_share: typical.map(|typical| measured / typical),
    })
}

/// Returns the datasheet's figure for a job; figures for random I/O apply to 4 KiB.
fn datasheet(
    summary: &Summary<'_>,
    direction: Direction,
    sequential: bool,
    job: &JobSummary<'_>,
) -> Option<f64> {
    let sheet = summary.run.header.claims.as_ref()?.datasheet.as_ref()?;
    let wanted = match (direction, sequential) {
        (Direction::Read, true) => DatasheetFigure::SeqRead,
        (Direction::Write, true) => DatasheetFigure::SeqWrite,
        (Direction::Read, false) => DatasheetFigure::RandRead,
        (Direction::Write, false) => DatasheetFigure::RandWrite,
    };
    let comparable = sequential || job.job.bs.0 == 4096;
    comparable.then(|| sheet.value(wanted)).flatten()
}

/// Returns a sentence for the bus and one for each figure; empty without values for comparison.
pub fn sentences(summary: &Summary<'_>) -> Vec<String> {
    let placed = all(summary);
    if placed.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = bus(summary).iter().map(of_bus).collect();
    let claims = summary.run.header.claims.as_ref();
    if let Some(sheet) = claims.and_then(|claims| claims.datasheet.as_ref()) {
        lines.push(tr!(
            "Typical figures: {part} ({source})",
            part = clean(&sheet.part),
            source = clean(&sheet.source)
        ));
    }
    lines.extend(placed.iter().map(of_figure));
    lines
}

/// Describes the ceiling in a sentence.
pub fn of_bus(bus: &Bus) -> String {
    let ceiling = &bus.ceiling;
    let (read, write) = (BytesPerSec(ceiling.read), BytesPerSec(ceiling.write));
    let name = format!("{} {}", ceiling.bus, clean(&ceiling.mode));
    match bus.given {
        true => tr!(
            "{name} (as given) carries at most {read} read, {write} written",
            name,
            read,
            write
        ),
        false => tr!(
            "{name} (as the system runs it) carries at most {read} read, {write} written",
            name,
            read,
            write
        ),
    }
}

fn of_figure(placed: &Placed) -> String {
    let job = clean(&placed.job);
    let rate = |value: f64| match placed.unit {
        "iops" => Iops(value).to_string(),
        _ => BytesPerSec(value).to_string(),
    };
    let measured = rate(placed.measured);
    if !matches!(placed.label, "device" | "device-unflushed" | "simulated") {
        return tr!(
            "{job}: {measured} is not the device's ({label}), and says nothing about the bus",
            job,
            measured,
            label = placed.label
        );
    }
    let percent = |share: f64| format!("{} %", three_digits(share * 100.0));
    let mut parts = Vec::new();
    if let (Some(most), Some(share)) = (placed.ceiling, placed.share) {
        parts.push(match share > 1.0 {
            true => tr!(
                "more than the bus carries ({most}): it was not moved by it in this mode",
                most = rate(most)
            ),
            false => tr!("{share} of the ceiling", share = percent(share)),
        });
    }
    if let (Some(typical), Some(share)) = (placed.typical, placed.typical_share) {
        parts.push(tr!(
            "{share} of the typical {typical}",
            share = percent(share),
            typical = rate(typical)
        ));
    }
    format!("{job}: {measured}, {}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use assay_model::run::{Claims, Datasheet};

    fn lines(claims: Option<Claims>) -> Vec<String> {
        let mut run = fixture::run();
        run.header.claims = claims;
        sentences(&Summary::of(&run))
    }

    #[test]
    fn figures_stand_beside_the_bus_and_the_datasheet() {
        let claims = Claims {
            bus: Some("hs400".to_owned()),
            datasheet: Some(Datasheet {
                part: "X".to_owned(),
                source: "its maker".to_owned(),
                seq_read_mb_s: Some(332.0),
                ..Datasheet::default()
            }),
        };
        let lines = lines(Some(claims));
        assert!(
            lines[0].contains("363 MB/s read, 353 MB/s written"),
            "{lines:?}"
        );
        let read = lines.iter().find(|line| line.starts_with("seq-read-1m"));
        let read = read.expect("it was measured");
        assert!(read.contains("45.8 % of the ceiling"), "{read}");
        assert!(read.contains("of the typical 332 MB/s"), "{read}");
    }

    #[test]
    fn nothing_is_said_where_nothing_is_known() {
        let mut run = fixture::run();
        run.header.storage.layers.clear();
        assert!(sentences(&Summary::of(&run)).is_empty());
    }
}
