//! `assay model simulate`: a job on a simulated part.

use super::SimulateArgs;
use crate::checks::input::device_model;
use crate::exit::{DONE, Failure};
use assay_flash::BLOCK_BYTES;
use assay_flash::device::{Device, RequestPhase};
use assay_flash::experiment::{SimulatedJob, Timed, run as run_job};
use assay_flash::part::DeviceModel;
use assay_model::units::{BytesPerSec, Iops, three_digits};
use assay_report::document::{Column, Document, Section, Table, TableRow};
use assay_report::words::{Tone, clean};
use serde_json::json;
use std::process::ExitCode;

/// Simulates a job, and shows its figures; or lists the known parts.
pub fn run(args: &SimulateArgs) -> Result<ExitCode, Failure> {
    let Some(word) = args.part.as_deref().filter(|_| !args.parts) else {
        let part = |part: DeviceModel| json!({ "name": part.name, "about": part.about, "source": part.source });
        let parts = || {
            DeviceModel::known()
                .into_iter()
                .map(part)
                .collect::<Vec<_>>()
        };
        let values = || json!({ "schema": 1, "parts": parts() });
        args.output.present(values, known_parts)?;
        return Ok(DONE);
    };
    let part = device_model(word)?;
    let job = job(args)?;
    let device = Device::new(&part, args.policy);
    let mut device = device.map_err(Failure::usage)?;
    let timed = run_job(&mut device, &job);
    let figures = Figures::of(&timed, args);
    args.output.present(
        || figures.value(&part, args, &device),
        || figures.document(&part, args),
    )?;
    Ok(DONE)
}

fn known_parts() -> Document {
    let mut document = Document::new("Parts that assay knows".to_owned());
    for part in DeviceModel::known() {
        let mut section = Section::new("part", part.name);
        section.say(part.about, None);
        section.say(format!("Figures: {}.", part.source), None);
        document.push(section);
    }
    document
}

fn job(args: &SimulateArgs) -> Result<SimulatedJob, Failure> {
    let (bytes, span) = (args.bs.0, args.span.0);
    if bytes == 0 || bytes % BLOCK_BYTES != 0 || bytes > 1 << 30 {
        return Err(Failure::usage("--bs must be a multiple of 512, up to 1g"));
    }
    if span < bytes {
        return Err(Failure::usage("--span is smaller than --bs"));
    }
    let read_percent = match (args.rw.reads(), args.rw.writes()) {
        (true, true) => 50,
        (true, false) => 100,
        (false, _) => 0,
    };
    Ok(SimulatedJob {
        read_percent,
        random: args.rw.is_random(),
        blocks: bytes / BLOCK_BYTES,
        span: span / BLOCK_BYTES,
        warm: args.ios / 10,
        ios: args.ios,
        seed: args.seed,
    })
}

/// Figures of a simulation.
struct Figures {
    timed: Timed,
    iops: f64,
    rate: f64,
}

impl Figures {
    fn of(timed: &Timed, args: &SimulateArgs) -> Self {
        // A part whose costs are all 0 takes no time.
        let iops = 1e6 / timed.mean_us().max(1e-6);
        let rate = iops * args.bs.0 as f64;
        Self {
            timed: *timed,
            iops,
            rate,
        }
    }

    /// Returns the microseconds of a phase per I/O; I/Os in flight at the same time are added up.
    fn phase_us(&self, phase: RequestPhase) -> f64 {
        self.timed.spent.of(phase).as_us() / self.timed.ios.max(1) as f64
    }

    fn value(&self, part: &DeviceModel, args: &SimulateArgs, device: &Device) -> serde_json::Value {
        let phases =
            RequestPhase::ALL.map(|phase| (phase.name().to_owned(), self.phase_us(phase).into()));
        json!({
            "schema": 1,
            "part": part.name,
            "source": part.source.trim(),
            "policy": args.policy.to_string(),
            "block_size": args.bs.0,
            "ios": self.timed.ios,
            "seed": args.seed.to_string(),
            "iops": self.iops,
            "bytes_per_s": self.rate,
            "io_us": self.timed.mean_us(),
            "phases_us": serde_json::Map::from_iter(phases),
            "left_us": self.timed.left.as_us(),
            "commands_while_busy": device.sent_while_busy(),
            "digest": format!("{:016x}", self.timed.digest),
        })
    }

    fn document(&self, part: &DeviceModel, args: &SimulateArgs) -> Document {
        let title = format!("{}: simulated, {}", clean(&part.name), args.policy);
        let (iops, rate) = (Iops(self.iops), BytesPerSec(self.rate));
        let mean = three_digits(self.timed.mean_us());
        let mut section = Section::new("simulation", "");
        let answer = format!("{iops}, {rate}, {mean} µs for an I/O of {}", args.bs);
        section.say(answer, Some(Tone::Strong));
        let spent = RequestPhase::ALL.map(|phase| (phase, self.phase_us(phase)));
        let rows = spent.into_iter().filter(|(_, us)| *us > 0.0);
        let row = |(phase, us): (RequestPhase, f64)| {
            TableRow::new(vec![phase.name().into(), three_digits(us).into()])
        };
        section.table(Table {
            columns: vec![Column::text("phase"), Column::number("µs")],
            rows: rows.map(row).collect(),
        });
        let left = self.timed.left.as_us();
        if left > 0.0 {
            let left = three_digits(left);
            let said = format!("{left} µs of programming are left when the clock stops");
            section.say(said, None);
        }
        section.say(format!("Figures: {}.", clean(&part.source)), None);
        let mut document = Document::new(title);
        document.push(section);
        document
    }
}
