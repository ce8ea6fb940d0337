//! `assay model`: ceilings of buses, and models of storage devices.

mod fit;
mod policies;

use crate::checks::input::{bus_mode, device_model};
use crate::exit::{DONE, Failure};
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::StoreArgs;
use crate::ui::one_of;
use assay_explain::on_bus::{OnBus, parse_rate};
use assay_flash::BLOCK_BYTES;
use assay_flash::device::{Device, RequestPhase};
use assay_flash::experiment::{SimulatedJob, Timed, run as run_job};
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_model::device::{self, Ceiling};
use assay_model::job::{Direction, Rw};
use assay_model::units::{Bytes, BytesPerSec, Iops, three_digits};
use assay_report::document::{Column, Document, Section, Table, TableRow};
use assay_report::words::{Tone, clean};
use clap::{Args, Subcommand, value_parser};
use policies::{check_policies, compare_policies};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the subcommand.
pub fn run(command: &ModelCommand) -> Result<ExitCode, Failure> {
    match command {
        ModelCommand::Limits(args) => show_limits(args),
        ModelCommand::Compare(args) => compare_policies(args),
        ModelCommand::Check(args) => check_policies(args),
        ModelCommand::Fit(args) => fit::run(args),
        ModelCommand::Simulate(args) => simulate(args),
    }
}

/// Available commands.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Show the payload ceiling of each bus, and compare a measured rate with it.
    Limits(LimitsArgs),
    /// Compare transfer policies with the figures published with a patch (mmc: rtsx, v3, 2021).
    Compare(CompareArgs),
    /// Search the state space of a policy for lost data, stale reads and open transfers.
    Check(CheckArgs),
    /// Estimate the parameters of a part from measured rates or a stored run, with their
    /// errors.
    Fit(FitArgs),
    /// Run a job on a simulated part, in virtual time.
    Simulate(SimulateArgs),
}

const LIMITS_HELP: &str = "\
Examples:
  assay model limits
  assay model limits --bus hs400 --read 275MiB/s --write 54.3MiB/s

Exit codes: 0 done, 2 wrong usage.";

/// `assay model limits`.
#[derive(Args, Debug)]
#[command(after_help = LIMITS_HELP)]
pub struct LimitsArgs {
    /// Only this mode, such as hs400, sdr104, ufs-g3x2, usb-2.0, sata-6g or nvme-gen3x4.
    #[arg(long, value_name = "MODE")]
    pub bus: Option<String>,
    /// Measured read rate, such as 275MiB/s or 288MB/s.
    #[arg(long, value_name = "RATE", value_parser = parse_rate, requires = "bus")]
    pub read: Option<BytesPerSec>,
    /// Measured write rate.
    #[arg(long, value_name = "RATE", value_parser = parse_rate, requires = "bus")]
    pub write: Option<BytesPerSec>,
    /// Size of the requests into which the host splits larger I/Os.
    #[arg(long, value_name = "SIZE", default_value = "512k")]
    pub request: Bytes,
    #[command(flatten)]
    pub output: DocumentArgs,
}

const COMPARE_HELP: &str = "\
Examples:
  assay model compare --policy closed --policy open

Policies: closed (CMD12 after each transfer), open (as in the patch: transfers stay open),
open-safe (open, rule violations fixed), open-after-N (open-safe after N requests in a row).

Exit codes: 0 done, 2 wrong usage.";

/// `assay model compare`.
#[derive(Args, Debug)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// A policy; the others are compared with the first [default: closed, open].
    #[arg(long = "policy", value_name = "POLICY")]
    pub policies: Vec<Policy>,
    #[command(flatten)]
    pub output: DocumentArgs,
}

const CHECK_HELP: &str = "\
Examples:
  assay model check
  assay model check --policy open-after-4

Exit codes: 0 all rules hold, 2 wrong usage, 3 a rule can be broken.";

/// `assay model check`.
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub struct CheckArgs {
    /// A policy [default: closed, cmd23, open, open-safe, open-after-2].
    #[arg(long = "policy", value_name = "POLICY")]
    pub policies: Vec<Policy>,
    #[command(flatten)]
    pub output: DocumentArgs,
}

const FIT_HELP: &str = "\
Examples:
  assay model fit rates.csv
  assay model fit last
  assay model fit 3f2a@none --write-part mine.toml
  assay qualify sim:mine.toml          measures the part that was fitted

A line of a file is a pattern, a size and a rate, such as
  randread,8k,16.5MiB/s
with read, write, randread or randwrite, one I/O after the other. Empty lines and those that
begin with # are skipped. From a run, only direct reads and writes with depth 1 and label device
or simulated are fitted.

Exit codes: 0 done, 2 wrong usage.";

/// `assay model fit`.
#[derive(Args, Debug)]
#[command(after_help = FIT_HELP)]
pub struct FitArgs {
    /// A file of rates, or a stored run: `last`, or the first letters of its id; for a sweep
    /// followed by @ and one of its conditions.
    #[arg(value_name = "FILE|RUN")]
    pub source: String,
    /// Only these jobs of a run, separated by commas; a name may end in *.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// The initial part: a known one, or a file. Parameters that are not fitted keep its values
    /// [default: the part nearest to the run's device; for a file the SD card].
    #[arg(long, value_name = "PART|FILE")]
    pub part: Option<String>,
    /// Transfer policy of the host [default: closed, or that of the simulation].
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<Policy>,
    /// Write the fitted part into this file, which can be simulated as sim:FILE.toml.
    #[arg(long, value_name = "FILE.toml")]
    pub write_part: Option<PathBuf>,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

const SIMULATE_HELP: &str = "\
Examples:
  assay model simulate --part emmc-8gb-hs400 --rw randread --bs 4k
  assay model simulate --part mine.toml --rw write --bs 1m --policy open

The form of a part's file is in docs/model.md.

Exit codes: 0 done, 2 wrong usage.";

/// `assay model simulate`.
#[derive(Args, Debug)]
#[command(after_help = SIMULATE_HELP)]
pub struct SimulateArgs {
    /// A known part, or a file.
    #[arg(long, value_name = "PART|FILE", required_unless_present = "parts")]
    pub part: Option<String>,
    /// List the parts that assay knows.
    #[arg(long)]
    pub parts: bool,
    /// Transfer policy of the host: closed, cmd23, queued, open, open-safe or open-after-N.
    #[arg(long, value_name = "POLICY", default_value = "closed")]
    pub policy: Policy,
    /// Pattern of the I/Os.
    #[arg(long, value_name = "PATTERN", value_parser = one_of(&PATTERNS, Rw::name), default_value = "read")]
    pub rw: Rw,
    /// Size of an I/O, a multiple of 512.
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    pub bs: Bytes,
    /// Number of timed I/Os; a tenth of that runs as a warm-up.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u64).range(1..=100_000_000))]
    pub ios: u64,
    /// Size of the region that I/Os fall on.
    #[arg(long, value_name = "SIZE", default_value = "1g")]
    pub span: Bytes,
    /// Seed of the offsets of random I/Os.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub output: DocumentArgs,
}

/// Patterns that can be simulated.
const PATTERNS: [Rw; 5] = [Rw::Read, Rw::Write, Rw::RandRead, Rw::RandWrite, Rw::RandRw];

/// Shows the ceilings, and measured rates.
fn show_limits(args: &LimitsArgs) -> Result<ExitCode, Failure> {
    let ceilings = match &args.bus {
        Some(word) => vec![bus_mode(word)?],
        None => device::all_ceilings(),
    };
    let measured = measured_on_bus(args, &ceilings)?;
    let values = || {
        let limits: Vec<Value> = ceilings.iter().map(ceiling_value).collect();
        let measured: Vec<Value> = measured.iter().map(OnBus::value).collect();
        json!({ "schema": 1, "limits": limits, "measured": measured })
    };
    args.output
        .present(values, || limits_document(&ceilings, &measured))?;
    Ok(DONE)
}

fn measured_on_bus(args: &LimitsArgs, ceilings: &[Ceiling]) -> Result<Vec<OnBus>, Failure> {
    let [ceiling] = ceilings else {
        return Ok(Vec::new());
    };
    let given = [(Direction::Read, args.read), (Direction::Write, args.write)];
    let given = given
        .into_iter()
        .filter_map(|(direction, rate)| Some((direction, rate?)));
    let flash = ["eMMC", "SD", "UFS"].contains(&ceiling.bus);
    let of = |rate| {
        OnBus::of(rate, ceiling, args.request, flash)
            .ok_or_else(|| Failure::usage("--request must not be 0"))
    };
    given.map(of).collect()
}

fn ceiling_value(ceiling: &Ceiling) -> Value {
    json!({
        "bus": ceiling.bus,
        "mode": ceiling.mode,
        "nominal_bytes_per_s": ceiling.nominal,
        "read_bytes_per_s": ceiling.read,
        "write_bytes_per_s": ceiling.write,
        "command_us": ceiling.command_us,
        "formula": ceiling.formula,
        "source": ceiling.source,
    })
}

/// Makes the document: measured rates first, then the ceilings.
fn limits_document(ceilings: &[Ceiling], measured: &[OnBus]) -> Document {
    // Below 1000 MB/s a decimal matters: 101.4 and 100.7 are two figures.
    let mb = |rate: f64| match rate / 1e6 {
        rate if rate < 1000.0 => format!("{rate:.1}").into(),
        rate => format!("{rate:.0}").into(),
    };
    let row = |ceiling: &Ceiling| {
        TableRow::new(vec![
            ceiling.bus.into(),
            ceiling.mode.clone().into(),
            mb(ceiling.nominal),
            mb(ceiling.read),
            mb(ceiling.write),
        ])
    };
    let mut section = Section::new("limits", "");
    for measured in measured {
        section.say(measured.sentence(), None);
    }
    section.table(Table {
        columns: ["bus", "mode"]
            .map(Column::text)
            .into_iter()
            .chain(["nominal", "read", "write"].map(Column::number))
            .collect(),
        rows: ceilings.iter().map(row).collect(),
    });
    if let [ceiling] = ceilings {
        section.say(ceiling.formula.as_str(), None);
        section.say(ceiling.source, None);
    } else {
        let note = "A ceiling is the bus rate minus the framing of data. Time for commands, interrupts and the \
                    device is not subtracted. --bus MODE shows a formula and its source, --json all of them.";
        section.say(note, None);
    }
    let title = "Payload ceilings of buses in MB/s (1 MB is 1000000 bytes)";
    let mut document = Document::new(title.to_owned());
    document.push(section);
    document
}

/// Simulates a job, and shows its figures; or lists the known parts.
fn simulate(args: &SimulateArgs) -> Result<ExitCode, Failure> {
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
    let job = simulated_job(args)?;
    let device = Device::new(&part, args.policy);
    let mut device = device.map_err(Failure::usage)?;
    let timed = run_job(&mut device, &job);
    let figures = SimulatedFigures::of(&timed, args);
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

fn simulated_job(args: &SimulateArgs) -> Result<SimulatedJob, Failure> {
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
struct SimulatedFigures {
    timed: Timed,
    iops: f64,
    rate: f64,
}

impl SimulatedFigures {
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

    fn value(&self, part: &DeviceModel, args: &SimulateArgs, device: &Device) -> Value {
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
