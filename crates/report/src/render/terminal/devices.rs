//! The list of a machine's disks, and all that is known of one.

use super::{Page, Style};
use crate::results::devices::{is_idle_memory, lines};
use crate::words::health;
use crate::words::identity::{device_facts, maker_and_model};
use crate::words::style::Tone;
use crate::words::text::Fact;
use crate::words::text::clean;
use assay_lang::{counted, in_english};
use assay_model::device::{DeviceList, ListedDevice};
use assay_model::system::System;
use std::io::{self, Write};

/// Columns of a device's first line: its name, its size, what it is.
const HEADS: [&str; 3] = ["DEVICE", "SIZE", "WHAT"];
const GAP: &str = "  ";

/// Writes the list; unless `all`, RAM disks that nobody uses are only counted.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_devices(
    list: &DeviceList,
    target: Option<&str>,
    all: bool,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    in_english(|| list_devices(list, target, all, style, out))
}

fn list_devices(
    list: &DeviceList,
    target: Option<&str>,
    all: bool,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::to(style, out);
    let hidden = |device: &&ListedDevice| !all && is_idle_memory(device);
    let idle = list.devices.iter().filter(hidden).count();
    let shown: Vec<&ListedDevice> = list.devices.iter().filter(|d| !hidden(d)).collect();
    heading(&list.system, target, &mut page)?;
    page.blank()?;
    if shown.is_empty() {
        page.line("no block device")?;
    } else {
        table(&shown, &mut page)?;
    }
    let mut notes = Vec::new();
    if idle > 0 {
        let disks = counted!(idle, "{n} RAM disk", "{n} RAM disks");
        notes.push(format!("{disks} that nobody uses: --all shows them"));
    }
    notes.extend(without_root(&list.system));
    for note in notes {
        page.blank()?;
        page.paragraph("".into(), &note, Some(Tone::Soft))?;
    }
    Ok(())
}

/// Writes all that is known of one device.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_device(
    device: &ListedDevice,
    system: &System,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    in_english(|| show_device(device, system, style, out))
}

fn show_device(
    device: &ListedDevice,
    system: &System,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::to(style, out);
    page.paragraph("".into(), &clean(&device.layer.name), Some(Tone::Strong))?;
    let mut facts: Vec<Fact> = device_facts(&device.layer);
    if !device.partitions.is_empty() {
        facts.push(("partitions", clean(&device.partitions.join(", "))));
    }
    let known = facts.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let more = lines(device).into_iter();
    facts.extend(more.filter(|(name, _)| !known.contains(name)));
    let width = facts.iter().map(|(name, _)| name.chars().count()).max();
    for (name, value) in &facts {
        let mark = format!("  {name:<width$}  ", width = width.unwrap_or(0));
        let worn = *name == "health" && !health::problems(&device.layer.identity).is_empty();
        page.paragraph(mark.as_str().into(), value, worn.then_some(Tone::Bad))?;
    }
    if let Some(note) = without_root(system) {
        page.blank()?;
        page.paragraph("".into(), &note, Some(Tone::Soft))?;
    }
    Ok(())
}

/// `emulated-board (ssh://root@board), Linux 6.1.0-41-arm64 aarch64`.
pub(super) fn heading(
    system: &System,
    target: Option<&str>,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let host = system.hostname.as_deref().map(clean);
    let target = target.map(|target| match &host {
        Some(_) => format!(" ({})", clean(target)),
        None => clean(target),
    });
    let words = format!(
        "{}{}, Linux {} {}",
        host.unwrap_or_default(),
        target.unwrap_or_default(),
        clean(&system.kernel),
        clean(&system.machine)
    );
    page.paragraph("".into(), &words, Some(Tone::Strong))
}

/// What is missing for want of permission.
fn without_root(system: &System) -> Option<String> {
    (!system.root).then(|| {
        "without root: modes of card buses, registers and logs, and who keeps a device open are \
         not seen"
            .to_owned()
    })
}

fn table(devices: &[&ListedDevice], page: &mut Page<'_>) -> io::Result<()> {
    let rows: Vec<[String; 3]> = devices.iter().map(|device| row(device)).collect();
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.max().unwrap_or(0).max(HEADS[at].len())
    };
    let widths = [width(0), width(1)];
    let line = |cells: &[String; 3]| {
        let [name, size, what] = cells;
        let [first, second] = widths;
        format!("{name:<first$}{GAP}{size:<second$}{GAP}{what}")
    };
    let heads = page.style.soft(&line(&HEADS.map(str::to_owned)));
    page.line(&heads)?;
    let indent = " ".repeat(widths[0] + GAP.len());
    for (device, row) in devices.iter().zip(&rows) {
        let strong = page.style.strong(&line(row));
        page.line(&strong)?;
        for (name, words) in lines(device) {
            let worn = name == "health" && !health::problems(&device.layer.identity).is_empty();
            let mark = format!("{indent}{name:<7}");
            page.paragraph(mark.as_str().into(), &words, worn.then_some(Tone::Bad))?;
        }
    }
    Ok(())
}

fn row(device: &ListedDevice) -> [String; 3] {
    let layer = &device.layer;
    let mut what = vec![layer.identity.kind.to_string()];
    what.extend(maker_and_model(&layer.identity));
    let file = layer.backing_file.as_deref();
    what.extend(file.map(|file| clean(&file.to_string_lossy())));
    [
        clean(&layer.name),
        layer.size.map(|size| size.to_string()).unwrap_or_default(),
        what.join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::device::MountedPart;
    use assay_model::storage::{DeviceIdentity, DeviceKind, Layer, LayerRole, Mount};
    use assay_model::units::Bytes;

    const PLAIN: Style = Style {
        color: false,
        width: 80,
        ascii: false,
    };

    fn disk(name: &str, identity: DeviceIdentity) -> ListedDevice {
        ListedDevice {
            layer: Layer {
                name: name.to_owned(),
                major: 179,
                minor: 0,
                role: LayerRole::Top,
                parent: None,
                size: Some(Bytes::mib(512)),
                backing_file: None,
                identity,
            },
            mounted: Vec::new(),
            partitions: Vec::new(),
            in_use: Vec::new(),
        }
    }

    fn card() -> ListedDevice {
        let ios = "clock: 50000000 Hz\nbus width: 2 (4 bits)\ntiming spec: 2 (sd high-speed)\n";
        let mut identity = DeviceIdentity {
            kind: DeviceKind::Sd,
            model: Some("SC16G".to_owned()),
            vendor: Some("SanDisk".to_owned()),
            bus: Some("high-speed, 4 bit, 50 MHz".to_owned()),
            ..DeviceIdentity::default()
        };
        identity.raw.insert("ios".to_owned(), ios.to_owned());
        let mount = |point: &str, options: &[&str]| Mount {
            point: point.into(),
            fs_type: "ext4".to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            ..Mount::default()
        };
        let part = |mount, writable| MountedPart {
            device: "mmcblk0p1".to_owned(),
            available: Some(Bytes::mib(466)),
            writable,
            mount,
        };
        ListedDevice {
            mounted: vec![
                part(mount("/mnt/sd", &["rw"]), true),
                part(mount("/boot", &["ro"]), false),
            ],
            partitions: vec!["mmcblk0p1".to_owned()],
            in_use: vec!["mmcblk0p1 is mounted on /mnt/sd, /boot".to_owned()],
            ..disk("mmcblk0", identity)
        }
    }

    fn list() -> DeviceList {
        let ram = DeviceIdentity {
            kind: DeviceKind::Ram,
            ..DeviceIdentity::default()
        };
        DeviceList {
            system: System {
                hostname: Some("board".to_owned()),
                kernel: "6.1.0".to_owned(),
                machine: "aarch64".to_owned(),
                ..System::default()
            },
            devices: vec![
                card(),
                disk("nvme0n1", DeviceIdentity::default()),
                disk("ram0", ram),
            ],
        }
    }

    fn written(all: bool, target: Option<&str>) -> String {
        let mut out = Vec::new();
        write_devices(&list(), target, all, PLAIN, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_list_says_what_may_be_tested_and_why_not() {
        let text = written(false, Some("ssh://root@board"));
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        insta::assert_snapshot!(text, @r"
        board (ssh://root@board), Linux 6.1.0 aarch64

        DEVICE   SIZE     WHAT
        mmcblk0  512 MiB  SD card, SanDisk SC16G
                 bus    high-speed, 4 bit, 50 MHz; at most 24.4 MB/s read, 24.2 MB/s
                        written
                 files  /mnt/sd (ext4, 466 MiB free); /boot (ext4, 466 MiB free,
                        read-only)
                 whole  no: mmcblk0p1 is mounted on /mnt/sd, /boot
        nvme0n1  512 MiB  block device
                 whole  may be overwritten (--destroy-data)

        1 RAM disk that nobody uses: --all shows them

        without root: modes of card buses, registers and logs, and who keeps a device
        open are not seen
        ");
    }

    #[test]
    fn idle_memory_is_shown_when_it_is_asked_for() {
        assert!(!written(false, None).contains("ram0"));
        assert!(written(true, None).contains("ram0"));
    }

    #[test]
    fn one_device_is_shown_with_all_that_is_known() {
        let mut out = Vec::new();
        write_device(&card(), &list().system, PLAIN, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r"
        mmcblk0
          kernel name          mmcblk0
          kind                 SD card
          maker                SanDisk
          model                SC16G
          capacity             512 MiB
          bus                  high-speed, 4 bit, 50 MHz
          bus carries at most  24.4 MB/s read, 24.2 MB/s written
          partitions           mmcblk0p1
          files                /mnt/sd (ext4, 466 MiB free); /boot (ext4, 466 MiB free,
                               read-only)
          whole                no: mmcblk0p1 is mounted on /mnt/sd, /boot

        without root: modes of card buses, registers and logs, and who keeps a device
        open are not seen
        ");
    }

    #[test]
    fn a_hostile_name_cannot_steer_the_terminal() {
        let mut list = list();
        list.devices[0].layer.name = "\u{1b}[2Jx".to_owned();
        list.devices[0].layer.identity.model = Some("a\nb\u{1b}".to_owned());
        list.devices[0].in_use = vec!["\u{1b}[31m".to_owned()];
        let mut out = Vec::new();
        write_devices(&list, Some("\u{1b}"), true, PLAIN, &mut out).unwrap();
        write_device(&list.devices[0], &list.system, PLAIN, &mut out).unwrap();
        assert!(!out.contains(&0x1b));
    }
}
