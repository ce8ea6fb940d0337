//! `assay devices`: the disks of a machine, and those that may be tested.

use crate::driver::Host;
use crate::exit::{DONE, Failure};
use crate::stored::formats::DocumentArgs;
use crate::targets::OnArgs;
use assay_model::device::{DeviceList, ListedDevice};
use assay_report::words::{clean, enumerate};
use assay_report::{json, views};
use assay_target::Target;
use clap::Args;
use std::path::Path;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Nothing is written. As root it shows more: modes of card buses, registers, wear.
docs/devices.md describes the JSON.

Examples:
  assay devices
  assay devices mmcblk0 --on ssh://root@board

Exit codes: 0 done, 1 failed, 2 wrong usage,
5 target lost.";

/// `assay devices`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct DevicesArgs {
    /// Show all details of these disks (mmcblk0, /dev/sda) instead of the list.
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Include unused RAM disks.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Lists the disks of a target.
pub fn run(args: &DevicesArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let mut host = Host::start(target)?;
    let mut list = host.devices()?;
    if !args.devices.is_empty() {
        list.devices = chosen(&list, &args.devices)?;
    }
    let document = || match args.devices.is_empty() {
        true => views::devices::list(&list, host.target(), args.all),
        false => views::devices::details(&list.devices, &list.system, host.target()),
    };
    args.output
        .present(|| json::devices(&list, host.target()), document)?;
    Ok(DONE)
}

/// Selects the named devices, in the order of the names.
fn chosen(list: &DeviceList, names: &[String]) -> Result<Vec<ListedDevice>, Failure> {
    names
        .iter()
        .map(|name| {
            let bare = Path::new(name).strip_prefix("/dev");
            let bare = bare.map_or(name.as_str(), |path| path.to_str().unwrap_or(name));
            let fits = |device: &&ListedDevice| {
                device.layer.name == bare || device.partitions.iter().any(|part| part == bare)
            };
            list.devices.iter().find(fits).cloned().ok_or_else(|| {
                let known = list.devices.iter().map(|device| clean(&device.layer.name));
                let known: Vec<String> = known.collect();
                Failure::usage(format!(
                    "there is no disk {name}; there are {}",
                    enumerate(&known)
                ))
            })
        })
        .collect()
}
