//! Disks of a machine, their testable parts, and causes that would spoil a measurement; in English,
//! like the output of their commands.

use crate::document::{Block, Document, Section};
use crate::results::checkup::{is_idle_memory, lines, words};
use crate::words::labels::{device_facts, maker_and_model};
use crate::words::{NameValue, Tone, clean, labels, registers};
use assay_lang::{counted, in_english};
use assay_model::checkup::{Checkup, Finding, Severity};
use assay_model::device::{DeviceList, ListedDevice};
use assay_model::storage::System;

/// Lists the disks of a machine. Unused RAM disks are only counted unless `all`.
pub fn list(list: &DeviceList, target: Option<&str>, all: bool) -> Document {
    in_english(|| {
        let mut document = Document::new(machine(&list.system, target));
        let (hidden, shown): (Vec<&ListedDevice>, Vec<&ListedDevice>) = list
            .devices
            .iter()
            .partition(|device| !all && is_idle_memory(device));
        for device in &shown {
            let mut section = Section::new("device", title(device));
            section.toned_facts(toned(device, lines(device)));
            document.sections.push(section);
        }
        let mut notes = Section::new("notes", "Notes");
        if shown.is_empty() {
            notes.say("no block device", None);
        }
        if !hidden.is_empty() {
            let disks = counted!(hidden.len(), "{n} RAM disk", "{n} RAM disks");
            let text = format!("{disks} that nobody uses: --all shows them");
            notes.say(text, Some(Tone::Soft));
        }
        without_root(&list.system, &mut notes);
        document.push(notes);
        document
    })
}

/// Returns all known facts about devices, a section for each.
pub fn details(devices: &[ListedDevice], system: &System, target: Option<&str>) -> Document {
    in_english(|| {
        let mut document = Document::new(machine(system, target));
        for device in devices {
            let mut facts: Vec<NameValue> = device_facts(&device.layer);
            if !device.partitions.is_empty() {
                facts.push(("partitions", clean(&device.partitions.join(", "))));
            }
            let known: Vec<&str> = facts.iter().map(|(name, _)| *name).collect();
            let more = lines(device).into_iter();
            facts.extend(more.filter(|(name, _)| !known.contains(name)));
            let mut section = Section::new("device", clean(&device.layer.name));
            section.toned_facts(toned(device, facts));
            document.push(section);
        }
        let mut notes = Section::new("notes", "Notes");
        without_root(system, &mut notes);
        document.push(notes);
        document
    })
}

/// Returns the facts with emphasis if a device is worn.
fn toned(device: &ListedDevice, facts: Vec<NameValue>) -> Vec<(String, String, Option<Tone>)> {
    let worn = !registers::problems(&device.layer.identity).is_empty();
    let facts = facts.into_iter().map(|(name, text)| {
        let tone = (worn && name == "health").then_some(Tone::Bad);
        (name.to_owned(), text, tone)
    });
    facts.collect()
}

/// Names a machine: `emulated-board (ssh://root@board), Linux 6.1.0-41-arm64 aarch64`.
pub(super) fn machine(system: &System, target: Option<&str>) -> String {
    let host = system.hostname.as_deref().map(clean);
    let target = target.map(|target| match &host {
        Some(_) => format!(" ({})", clean(target)),
        None => clean(target),
    });
    format!(
        "{}{}, Linux {} {}",
        host.unwrap_or_default(),
        target.unwrap_or_default(),
        clean(&system.kernel),
        clean(&system.machine)
    )
}

/// Lists the facts that cannot be read without root.
fn without_root(system: &System, section: &mut Section) {
    if !system.root {
        let text = "without root: modes of card buses, registers and logs, and who keeps a \
                    device open are not seen";
        section.say(text, Some(Tone::Soft));
    }
}

/// Names a device: `mmcblk0, 512 MiB, SD card, SanDisk SC16G`.
fn title(device: &ListedDevice) -> String {
    let layer = &device.layer;
    let mut words = vec![clean(&layer.name)];
    words.extend(layer.size.map(|size| size.to_string()));
    words.push(layer.identity.kind.to_string());
    words.extend(maker_and_model(&layer.identity));
    let file = layer.backing_file.as_deref();
    words.extend(file.map(|file| clean(&file.to_string_lossy())));
    words.join(", ")
}

/// Returns the answer, then the findings, the worst first, each with its effect and its remedy.
pub fn doctor(checkup: &Checkup, findings: &[Finding], target: Option<&str>) -> Document {
    in_english(|| {
        let mut document = Document::new(machine(&checkup.system, target));
        let mut answer = Section::new("summary", "");
        answer.say(count_findings(findings), Some(Tone::Strong));
        let place = checkup.place.as_deref().map(|place| {
            let name = labels::name(&place.storage);
            format!("{}: {name}", clean(&place.path.to_string_lossy()))
        });
        let alone = "the machine alone: give a path to look at its storage too";
        answer.say(place.unwrap_or(alone.to_owned()), None);
        document.push(answer);
        for (severity, title) in [
            (Severity::Spoils, "Spoils figures"),
            (Severity::Disturbs, "Disturbs figures"),
            (Severity::Note, "To be noted"),
        ] {
            let mut section = Section::new(severity.name(), title);
            let these = findings.iter().filter(|one| one.severity() == severity);
            section.blocks.extend(these.map(finding_block));
            document.push(section);
        }
        document
    })
}

fn finding_block(finding: &Finding) -> Block {
    let words = words(finding);
    Block::Warning {
        message: clean(&words.what),
        remedy: Some(format!("{}; {}", words.why, clean(&words.remedy))),
        severe: finding.severity() == Severity::Spoils,
    }
}

/// Counts the findings: `2 findings spoil figures, 1 finding disturbs figures`.
fn count_findings(findings: &[Finding]) -> String {
    let of = |severity| {
        let fits = findings.iter().filter(|f| f.severity() == severity);
        u64::try_from(fits.count()).unwrap_or(u64::MAX)
    };
    let verb = |n: u64, one: &'static str, many: &'static str| if n == 1 { one } else { many };
    match [Severity::Spoils, Severity::Disturbs, Severity::Note].map(of) {
        [0, 0, 0] => "nothing was found that would spoil a measurement".to_owned(),
        [0, 0, notes] => format!(
            "nothing was found that would spoil a measurement; {} to be noted",
            counted!(notes, "{n} thing", "{n} things")
        ),
        [spoils, disturbs, _] => {
            let count = |n: u64, verb: &str| {
                (n > 0).then(|| {
                    format!(
                        "{} {verb} figures",
                        counted!(n, "{n} finding", "{n} findings")
                    )
                })
            };
            let spoils = count(spoils, verb(spoils, "spoils", "spoil"));
            let disturbs = count(disturbs, verb(disturbs, "disturbs", "disturb"));
            let parts: Vec<String> = [spoils, disturbs].into_iter().flatten().collect();
            parts.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal::{Style, write};
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
                other_parents: Vec::new(),
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
        write(&super::list(&list(), target, all), PLAIN, &[], &mut out).unwrap();
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

        mmcblk0, 512 MiB, SD card, SanDisk SC16G
          bus    high-speed, 4 bit, 50 MHz; at most 24.4 MB/s read, 24.2 MB/s written
          files  /mnt/sd (ext4, 466 MiB free); /boot (ext4, 466 MiB free, read-only)
          whole  no: mmcblk0p1 is mounted on /mnt/sd, /boot

        nvme0n1, 512 MiB, block device
          whole  may be overwritten (--destroy-data)

        Notes
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
        let document = details(&[card()], &list().system, None);
        write(&document, PLAIN, &[], &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r"
        board, Linux 6.1.0 aarch64

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

        Notes
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
        let documents = [
            super::list(&list, Some("\u{1b}"), true),
            details(&list.devices, &list.system, None),
        ];
        for document in documents {
            write(&document, PLAIN, &[], &mut out).unwrap();
        }
        assert!(!out.contains(&0x1b));
    }
}
