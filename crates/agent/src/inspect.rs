//! Inspection of a path: its storage, and the permitted operations; simulated devices, in agents
//! that support them; disks of the machine, and registers that a device reports only on request;
//! state of the machine, and the activity of other processes on it.

use assay_engine::held::check_way;
use assay_engine::registers::{ext_csd, nvme_controller, nvme_smart, sd_status};
use assay_engine::{page_cache, usable};
use assay_model::act::watch::Processor;
use assay_model::checkup::{Checkup, DiskUse, Facility, MissingFacility, Others};
use assay_model::device::register::{
    EXT_CSD, ExtCsd, NVME_IDENTIFY, NVME_SMART, SD_STATUS, SdStatus, from_hex, to_hex,
};
use assay_model::device::{DeviceList, ListedDevice};
use assay_model::evidence::DeviceCounters;
use assay_model::job::EngineKind;
use assay_model::run::{FILE_ID, FS_UUID};
use assay_model::storage::{self, DeviceIdentity, DeviceKind, Layer, Storage, folder_of};
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind, Refusal};
use assay_probe::counters::device_counters;
use assay_probe::devices::{self, node};
use assay_probe::identity::{file_id, life_time, pre_eol};
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::{checkup, counters, safety, stack, system};
use rustix::fs::{Access, Mode, OFlags, access};
use rustix::process::geteuid;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, process, thread};

/// Inspects a path, without writing.
pub(crate) fn inspect(roots: &Roots, path: &Path) -> Result<Inspection, Refusal> {
    if is_simulated(path) {
        return inspect_simulated(roots, path).map_err(refuse);
    }
    check_way(path).map_err(|error| cannot_look(path, error))?;
    let path = fs::canonicalize(path).map_err(|error| cannot_look(path, error))?;
    let mut storage = stack::resolve(roots, &path).map_err(|error| refuse(error.to_string()))?;
    for layer in &mut storage.layers {
        ask_registers(roots, layer);
    }
    let kind = kind_of(&path, storage.total)?;
    identify(roots, &path, &mut storage);
    let (in_use, holds) = match (&kind, storage.top()) {
        (PathKind::Device { .. }, Some(top)) => (
            uses(roots, &path, &top.name)?,
            safety::on_disk(roots, &top.name),
        ),
        _ => Default::default(),
    };
    Ok(Inspection {
        path,
        kind,
        system: system::system(roots),
        storage,
        in_use,
        holds,
        async_engines: [EngineKind::IoUring, EngineKind::Libaio]
            .into_iter()
            .filter(|&engine| usable(engine).is_ok())
            .collect(),
    })
}

/// Adds identifiers of the file system and the file at a path, which distinguish it from others of
/// the same name.
fn identify(roots: &Roots, path: &Path, storage: &mut Storage) {
    let (Ok(meta), Some(top)) = (fs::metadata(path), storage.layers.first_mut()) else {
        return;
    };
    if meta.file_type().is_block_device() {
        return;
    }
    let id = meta.is_file().then(|| file_id(&meta)).flatten();
    let mut found = safety::of(roots, &top.name).into_iter().flatten();
    let uuid = found.find_map(|one| one.uuid);
    for (name, value) in [(FILE_ID, id), (FS_UUID, uuid)] {
        put_identifier(&mut top.identity, name, value);
    }
}

/// Returns every reason against writing a device.
///
/// # Errors
/// If no use was found, but this user may not open the device.
pub(crate) fn uses(roots: &Roots, node: &Path, name: &str) -> Result<Vec<String>, Refusal> {
    let mut reasons = safety::in_use(roots, name);
    if reasons.is_empty() {
        match is_held(node, name) {
            Ok(reason) => reasons.extend(reason),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(cannot_look(node, error));
            }
            Err(error) => reasons.push(not_opened(name, &error)),
        }
    }
    Ok(reasons)
}

fn kind_of(path: &Path, total: Option<Bytes>) -> Result<PathKind, Refusal> {
    let meta = fs::metadata(path).map_err(|error| cannot_look(path, error))?;
    if meta.is_dir() {
        let writable = access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok();
        return Ok(PathKind::Directory { writable });
    }
    if meta.file_type().is_block_device() {
        let size = total.unwrap_or(Bytes(0));
        return Ok(PathKind::Device { size });
    }
    let file = File::open(path).map_err(|error| cannot_look(path, error))?;
    Ok(PathKind::File {
        length: Bytes(meta.len()),
        written: assay_engine::layout::is_written(&file),
    })
}

/// Returns the storage of a file; if it does not exist, of its folder.
pub(crate) fn storage_of(roots: &Roots, path: &Path) -> Storage {
    if let Some(Ok(storage)) = is_simulated(path).then(|| simulated_storage(path)) {
        return storage;
    }
    let found = match stack::resolve(roots, path) {
        Err(stack::ResolveError::NotFound(_)) => stack::resolve(roots, folder_of(path)),
        found => found,
    };
    found.unwrap_or_else(|error| Storage::unknown(path.to_owned(), error.to_string()))
}

fn cannot_look(path: &Path, error: io::Error) -> Refusal {
    refuse(stack::ResolveError::new(path, error).to_string())
}

/// Returns a refusal because of the path.
fn refuse(message: String) -> Refusal {
    Refusal {
        usage: true,
        message,
    }
}

/// Returns true if a path names a simulated device.
pub(crate) fn is_simulated(path: &Path) -> bool {
    storage::simulated(path).is_some()
}

/// Returns the simulated storage at a path.
///
/// # Errors
/// The reason why the path is not valid.
#[cfg(feature = "sim")]
pub(crate) fn simulated_storage(path: &Path) -> Result<Storage, String> {
    assay_engine::sim::storage(path).map_err(|why| format!("{}: {why}", path.display()))
}

/// Refuses a simulated device: agents for boards support none.
#[cfg(not(feature = "sim"))]
pub(crate) fn simulated_storage(path: &Path) -> Result<Storage, String> {
    Err(format!(
        "{}: simulated devices are a part of assay on its own machine: leave --on out",
        path.display()
    ))
}

/// Inspects the simulated device at a path.
///
/// # Errors
/// As in [`simulated_storage()`].
fn inspect_simulated(roots: &Roots, path: &Path) -> Result<Inspection, String> {
    let storage = simulated_storage(path)?;
    Ok(Inspection {
        path: path.to_owned(),
        kind: PathKind::Simulated {
            size: storage.total.unwrap_or(Bytes(0)),
        },
        system: system::system(roots),
        storage,
        in_use: Vec::new(),
        holds: Vec::new(),
        async_engines: vec![EngineKind::Sim],
    })
}

/// Lists all disks, without writing anything.
pub(crate) fn list_devices(roots: &Roots) -> DeviceList {
    let mut devices = devices::list(roots);
    for device in &mut devices {
        ask_registers(roots, &mut device.layer);
        add_uses_by_opening(roots, device);
    }
    DeviceList {
        system: system::system(roots),
        devices,
    }
}

/// Adds the uses that only opening the device shows.
fn add_uses_by_opening(roots: &Roots, device: &mut ListedDevice) {
    if device.in_use.is_empty() {
        let name = &device.layer.name;
        let held = is_held(&node(roots, name), name);
        device
            .in_use
            .extend(held.unwrap_or_else(|error| Some(not_opened(name, &error))));
    }
}

/// Opens a device, and returns a reason against writing it, if opening shows one.
fn is_held(node: &Path, name: &str) -> io::Result<Option<String>> {
    let reason = || format!("{name} is held by another program or mounted in another namespace");
    Ok(safety::held_exclusively(node)?.then(reason))
}

/// Returns the message for a device that cannot be opened.
fn not_opened(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("no permission to open /dev/{name}: run as root")
        }
        _ => format!("{name} cannot be opened: {error}"),
    }
}

/// Adds registers and logs that the kernel does not keep. This sends commands to the device,
/// so it must not run during a measurement. Registers that the device does not report are
/// left out.
pub(crate) fn ask_registers(roots: &Roots, layer: &mut Layer) {
    let name = layer.name.as_str();
    let identity = &mut layer.identity;
    match identity.kind {
        DeviceKind::Emmc => {
            let register = devices::ext_csd(roots, name).or_else(|| {
                let asked = ext_csd(&open_disk(roots, name).ok()?).ok()?;
                Some(to_hex(&asked))
            });
            put_identifier(identity, EXT_CSD, register);
            fill_in_wear(identity);
        }
        // The kernel reads the register of a card once, in some versions before the card
        // provides it: all zeros.
        DeviceKind::Sd if !has_status(identity) => {
            let disk = open_disk(roots, name);
            let asked = disk.and_then(|disk| sd_status(&disk)).ok();
            put_identifier(identity, SD_STATUS, asked.map(|bytes| to_hex(&bytes)));
        }
        DeviceKind::Nvme => {
            let Ok(disk) = open_disk(roots, name) else {
                return;
            };
            let hex = |asked: io::Result<Vec<u8>>| asked.ok().map(|bytes| to_hex(&bytes));
            put_identifier(identity, NVME_IDENTIFY, hex(nvme_controller(&disk)));
            put_identifier(identity, NVME_SMART, hex(nvme_smart(&disk)));
        }
        _ => {}
    }
}

fn has_status(identity: &DeviceIdentity) -> bool {
    let bytes = identity.raw.get(SD_STATUS).and_then(|text| from_hex(text));
    bytes.as_deref().and_then(SdStatus::parse).is_some()
}

/// Keeps a register or another raw attribute, if there is one.
fn put_identifier(identity: &mut DeviceIdentity, name: &str, register: Option<String>) {
    if let Some(register) = register {
        identity.raw.insert(name.to_owned(), register);
    }
}

/// Fills in the fields of EXT_CSD that the kernel did not report (it reports life times since
/// 4.16).
fn fill_in_wear(identity: &mut DeviceIdentity) {
    let bytes = identity.raw.get(EXT_CSD).and_then(|text| from_hex(text));
    let Some(register) = bytes.as_deref().and_then(ExtCsd::parse) else {
        return;
    };
    if let (None, Some([a, b])) = (&identity.life_time, register.life_time()) {
        identity.life_time = life_time(Some(a.into()), Some(b.into()));
    }
    if let (None, Some(info)) = (&identity.pre_eol, register.pre_eol()) {
        identity.pre_eol = Some(pre_eol(info.into()));
    }
}

fn open_disk(roots: &Roots, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let disk = rustix::fs::open(node(roots, name), flags, Mode::empty())?;
    Ok(File::from(disk))
}

/// Duration for which other processes are observed.
const OBSERVED: Duration = Duration::from_secs(1);
/// Processes that are reported, at most.
const MOST_PROCESSES: usize = 8;

/// Checks the machine, and the storage behind a path. Takes a second for observation and
/// writes nothing.
pub(crate) fn checkup(roots: &Roots, path: Option<&Path>) -> Result<Checkup, Refusal> {
    let place = path.map(|path| inspect(roots, path)).transpose()?;
    let storage = place.as_ref().map(|place| &place.storage);
    let mut checkup = checkup::take(roots, storage);
    checkup.others = Some(other_activity(roots, storage));
    checkup.missing = missing_facilities(roots);
    checkup.place = place.map(Box::new);
    Ok(checkup)
}

/// Tries each facility of the kernel.
fn missing_facilities(roots: &Roots) -> Vec<MissingFacility> {
    let engine = |engine| usable(engine).err().map(|error| error.to_string());
    let file = |path: PathBuf, how| {
        let answer = access(&path, how).err();
        answer.map(|error| format!("{}: {error}", path.display()))
    };
    // For files of other users, the kernel answers only root.
    let user = geteuid();
    let is_own = |meta: Metadata| user.is_root() || meta.uid() == user.as_raw();
    let program = File::open("/proc/self/exe").ok();
    let program = program.filter(|file| file.metadata().is_ok_and(is_own));
    let no_cachestat = program.is_some_and(|file| page_cache::cached_range(&file, 0, 0).is_none());
    let answers = [
        (Facility::IoUring, engine(EngineKind::IoUring)),
        (Facility::Libaio, engine(EngineKind::Libaio)),
        (
            Facility::Cachestat,
            no_cachestat.then(|| "cachestat(2) fails".to_owned()),
        ),
        (
            Facility::DropCaches,
            file(roots.proc.join("sys/vm/drop_caches"), Access::WRITE_OK),
        ),
        (
            Facility::BlockEvents,
            file(
                roots.sys.join("kernel/tracing/events/block"),
                Access::READ_OK,
            ),
        ),
    ];
    let missing = answers.into_iter().filter_map(|(facility, answer)| {
        Some(MissingFacility {
            facility,
            answer: answer?,
        })
    });
    missing.collect()
}

fn other_activity(roots: &Roots, storage: Option<&Storage>) -> Others {
    let disks = match storage {
        Some(storage) => storage.leaves().map(|layer| layer.name.clone()).collect(),
        None => counters::disks(roots),
    };
    let look = || ActivityLook::at(roots, &disks);
    let (begin, before) = (Instant::now(), look());
    thread::sleep(OBSERVED);
    let after = look();
    let disks = before.disks.iter().zip(&after.disks);
    Others {
        elapsed_ns: u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
        disks: disks
            .map(|(before, after)| disk_use(before, after))
            .collect(),
        processes: busiest(&before.processes, &after.processes, MOST_PROCESSES),
        cpu_share: before
            .cpu
            .zip(after.cpu)
            .and_then(|(a, b)| used_cpu(&a, &b)),
    }
}

/// Counters at one point in time.
struct ActivityLook {
    disks: Vec<DeviceCounters>,
    processes: ProcessIoTable,
    cpu: Option<Processor>,
}

impl ActivityLook {
    fn at(roots: &Roots, disks: &[String]) -> Self {
        let own = [process::id(), parent_id()];
        Self {
            disks: disks
                .iter()
                .map(|name| {
                    device_counters(roots, name).unwrap_or_else(|| DeviceCounters {
                        name: name.clone(),
                        ..DeviceCounters::default()
                    })
                })
                .collect(),
            processes: ProcessIoTable::take(roots, &own),
            cpu: counters::processor(roots),
        }
    }
}

fn disk_use(before: &DeviceCounters, after: &DeviceCounters) -> DiskUse {
    DiskUse {
        name: after.name.clone(),
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
    }
}

/// Returns the share of all processors' time that was not idle. Guest time is already
/// included in user time.
fn used_cpu(before: &Processor, after: &Processor) -> Option<f64> {
    let passed = |of: fn(&Processor) -> u64| of(after).saturating_sub(of(before));
    let idle = passed(|cpu| cpu.idle) + passed(|cpu| cpu.iowait);
    let busy = passed(|cpu| cpu.user)
        + passed(|cpu| cpu.nice)
        + passed(|cpu| cpu.system)
        + passed(|cpu| cpu.irq)
        + passed(|cpu| cpu.softirq)
        + passed(|cpu| cpu.steal);
    let share = busy as f64 / (busy + idle) as f64;
    (busy + idle > 0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_not_replaced() {
        let mut bytes = [0; 512];
        bytes[192] = 8;
        bytes[267] = 3;
        bytes[268] = 4;
        let mut identity = DeviceIdentity {
            pre_eol: Some("normal".to_owned()),
            ..DeviceIdentity::default()
        };
        put_identifier(&mut identity, EXT_CSD, Some(to_hex(&bytes)));
        fill_in_wear(&mut identity);
        assert_eq!(identity.pre_eol.as_deref(), Some("normal"));
        let life = identity.life_time.unwrap();
        assert_eq!(life, "30-40 % used (type A), not defined (type B)");
    }

    #[test]
    fn a_status_of_zeros_is_none() {
        let mut identity = DeviceIdentity::default();
        assert!(!has_status(&identity));
        put_identifier(&mut identity, SD_STATUS, Some("00".repeat(64)));
        assert!(!has_status(&identity));
        put_identifier(&mut identity, SD_STATUS, Some("80".repeat(64)));
        assert!(has_status(&identity));
    }

    #[test]
    fn a_damaged_register_fills_in_nothing() {
        let mut identity = DeviceIdentity::default();
        put_identifier(&mut identity, EXT_CSD, Some("00zz".to_owned()));
        fill_in_wear(&mut identity);
        assert_eq!((identity.life_time, identity.pre_eol), (None, None));
    }

    #[test]
    fn a_share_is_of_what_passed() {
        let before = Processor {
            user: 100,
            idle: 1_000,
            ..Processor::default()
        };
        let after = Processor {
            user: 130,
            system: 20,
            idle: 1_030,
            iowait: 20,
            ..Processor::default()
        };
        assert_eq!(used_cpu(&before, &after), Some(0.5));
        assert_eq!(used_cpu(&before, &before), None);
    }
}
