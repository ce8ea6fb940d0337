//! Registers and logs of flash devices as text.

use crate::words::{NameValue, celsius, clean};
use assay_lang::{counted, tr};
use assay_model::device::register::{
    CSD, Controller, Csd, EXT_CSD, ExtCsd, NVME_IDENTIFY, NVME_SMART, SCR, SD_STATUS, Scr,
    SdStatus, SmartLog, from_hex,
};
use assay_model::device::{Ceiling, ceiling};
use assay_model::storage::{DeviceIdentity, DeviceKind};
use assay_model::units::{Bytes, BytesPerSec};
use std::ops::RangeInclusive;

/// Returns all facts from the registers of a device; empty without registers.
pub fn facts(identity: &DeviceIdentity) -> Vec<NameValue> {
    let mut all = Vec::new();
    if let Some(ceiling) = ceiling(identity) {
        all.push((tr!("bus carries at most"), at_most(&ceiling)));
    }
    all.extend(ext_csd_of(identity, emmc).unwrap_or_default());
    if identity.kind == DeviceKind::Sd {
        let scr = read(identity, SCR, |bytes| Some(scr(&Scr::parse(bytes)?)));
        all.extend(scr.unwrap_or_default());
        let status = read(identity, SD_STATUS, |bytes| {
            Some(sd(&SdStatus::parse(bytes)?))
        });
        all.extend(status.unwrap_or_default());
    }
    let protected = read(identity, CSD, |bytes| Csd::parse(bytes)?.write_protected());
    all.extend(protected.map(|how| ("write-protected", how.to_owned())));
    all.extend(controller_of(identity, controller).unwrap_or_default());
    all.extend(smart_of(identity, smart).unwrap_or_default());
    all.extend(usb_ids(identity));
    all
}

/// Returns the lowest rate of sequential writes that the speed class of an SD card promises.
pub fn promised_write(identity: &DeviceIdentity) -> Option<f64> {
    let promised = read(identity, SD_STATUS, |bytes| {
        SdStatus::parse(bytes)?.promised_write()
    });
    promised.map(|rate| rate as f64)
}

/// Formats a ceiling: `24.4 MB/s`, or for both directions `363 MB/s read, 353 MB/s written`.
pub fn at_most(ceiling: &Ceiling) -> String {
    let [read, write] = [ceiling.read, ceiling.write].map(|rate| BytesPerSec(rate).to_string());
    match read == write {
        true => read,
        false => tr!("{read} read, {write} written", read, write),
    }
}

/// Decodes a register, if the identity has it and it is valid.
fn read<T>(
    identity: &DeviceIdentity,
    name: &str,
    parse: impl FnOnce(&[u8]) -> Option<T>,
) -> Option<T> {
    parse(&from_hex(identity.raw.get(name)?)?)
}

/// Decodes the EXT_CSD of an identity.
pub(crate) fn ext_csd_of<T>(
    identity: &DeviceIdentity,
    ask: impl FnOnce(&ExtCsd<'_>) -> T,
) -> Option<T> {
    read(identity, EXT_CSD, |bytes| Some(ask(&ExtCsd::parse(bytes)?)))
}

/// Decodes the SMART log of an identity.
pub(crate) fn smart_of<T>(
    identity: &DeviceIdentity,
    ask: impl FnOnce(&SmartLog<'_>) -> T,
) -> Option<T> {
    read(identity, NVME_SMART, |bytes| {
        Some(ask(&SmartLog::parse(bytes)?))
    })
}

/// Applies `ask` to the identify data of an NVMe controller.
pub(crate) fn controller_of<T>(
    identity: &DeviceIdentity,
    ask: impl FnOnce(&Controller<'_>) -> T,
) -> Option<T> {
    read(identity, NVME_IDENTIFY, |bytes| {
        Some(ask(&Controller::parse(bytes)?))
    })
}

fn on(is_on: bool) -> &'static str {
    if is_on { tr!("on") } else { tr!("off") }
}

fn yes(is_so: bool) -> String {
    if is_so { tr!("yes") } else { tr!("no") }.to_owned()
}

fn emmc(register: &ExtCsd<'_>) -> Vec<NameValue> {
    let cache = register.cache().map_or(tr!("none").to_owned(), |cache| {
        let size = Bytes::kib(cache.kib.into());
        format!("{size}, {}", on(cache.on))
    });
    let queue = register
        .command_queue()
        .map_or(tr!("none").to_owned(), |(depth, is_on)| {
            format!(
                "{}, {}",
                counted!(depth, "{n} command", "{n} commands"),
                on(is_on)
            )
        });
    let mut all = vec![(tr!("eMMC version"), register.version().to_owned())];
    let fastest = register.fastest();
    all.extend(fastest.map(|mode| (tr!("fastest mode"), mode.to_owned())));
    all.extend([
        (tr!("volatile cache"), cache),
        (tr!("command queue"), queue),
    ]);
    let background = register.background_operations();
    all.push((tr!("background operations"), background.to_owned()));
    all.push((tr!("reliable writes"), yes(register.reliable_writes())));
    if register.enhanced() {
        all.push((tr!("enhanced area"), tr!("yes").to_owned()));
    }
    all.extend(
        register
            .firmware()
            .map(|text| (tr!("firmware version"), text)),
    );
    all
}

fn scr(register: &Scr<'_>) -> Vec<NameValue> {
    let mut all = vec![(tr!("SD version"), register.version().to_owned())];
    all.push(("CMD23", yes(register.counts_blocks())));
    all
}

fn sd(register: &SdStatus<'_>) -> Vec<NameValue> {
    let classes = register.classes();
    let classes = match classes.is_empty() {
        true => tr!("none").to_owned(),
        false => classes.join(" "),
    };
    let mut all = vec![(tr!("speed classes"), classes)];
    let promised = register.promised_write();
    all.extend(promised.map(|rate| {
        let rate = BytesPerSec(rate as f64);
        (
            tr!("promised write"),
            tr!("{rate}, sequential, in whole units", rate),
        )
    }));
    let unit = register.allocation_unit();
    all.extend(unit.map(|unit| (tr!("allocation unit"), unit.to_string())));
    let depth = register.command_queue();
    all.extend(depth.map(|depth| {
        (
            tr!("command queue"),
            counted!(depth, "{n} command", "{n} commands"),
        )
    }));
    all.push((tr!("discard"), yes(register.can_discard())));
    all
}

fn controller(structure: &Controller<'_>) -> Vec<NameValue> {
    let version = structure
        .version()
        .map(|version| (tr!("NVMe version"), version));
    let mut all: Vec<NameValue> = version.into_iter().collect();
    all.push((tr!("volatile cache"), yes(structure.has_volatile_cache())));
    let states = structure.power_states();
    let saves = match structure.saves_power_by_itself() {
        true => tr!("{states}, changed by the drive itself (APST)", states),
        false => states.to_string(),
    };
    all.push((tr!("power states"), saves));
    let warns = structure.warning_millicelsius();
    all.extend(warns.map(|warns| (tr!("warns from"), celsius(warns))));
    all
}

fn smart(log: &SmartLog<'_>) -> Vec<NameValue> {
    let warnings: Vec<&str> = log.warnings().collect();
    let (spare, threshold) = log.spare_percent();
    let mut all = Vec::new();
    if !warnings.is_empty() {
        all.push((tr!("warns"), warnings.join("; ")));
    }
    all.push((tr!("life used"), format!("{} %", log.used_percent())));
    all.push((
        tr!("spare blocks"),
        tr!("{spare} % (warns below {threshold} %)", spare, threshold),
    ));
    let warmth = log.millicelsius();
    all.extend(warmth.map(|warmth| (tr!("temperature"), celsius(warmth))));
    all.extend([
        (tr!("read in all"), log.read().to_string()),
        (tr!("written in all"), log.written().to_string()),
        (tr!("hours of operation"), log.power_on_hours().to_string()),
        (tr!("power cycles"), log.power_cycles().to_string()),
        (tr!("power cuts"), log.unsafe_shutdowns().to_string()),
        (tr!("media errors"), log.media_errors().to_string()),
    ]);
    all
}

fn usb_ids(identity: &DeviceIdentity) -> Option<NameValue> {
    let get = |name: &str| identity.raw.get(name).map(|text| clean(text));
    let of_usb = identity.kind == DeviceKind::Usb;
    let ids = format!("{}:{}", get("idVendor")?, get("idProduct")?);
    of_usb.then_some((tr!("USB ids"), ids))
}

/// Values of JEDEC's life time estimates that are problems (eMMC 5.0 `DEVICE_LIFE_TIME_EST`, UFS
/// `bDeviceLifeTimeEst`): 0x09 is 80 to 90 % of the life used, 0x0b is exceeded; others are
/// reserved.
const LIFE_USED: RangeInclusive<u64> = 0x09..=0x0b;
/// Used life of an NVMe device that is a problem, in percent.
const PERCENT_USED: u8 = 80;

/// Returns the problems of the device: wear, reserves, errors; one clause each.
pub fn problems(identity: &DeviceIdentity) -> Vec<String> {
    let mut found = Vec::new();
    if life_used(identity) {
        found.push(match &identity.life_time {
            Some(words) => tr!("life time {words}", words = clean(words)),
            None => tr!("more than 80 % of its life time is used").to_owned(),
        });
    }
    let reserves = identity.pre_eol.as_deref();
    if let Some(level @ ("warning" | "urgent")) = reserves {
        found.push(tr!("reserved blocks: {level}", level));
    }
    found.extend(nvme(identity).unwrap_or_default());
    found
}

/// Describes the device's remaining life in a few words; `None` if the device reports nothing.
pub fn wear_in_words(identity: &DeviceIdentity) -> Option<String> {
    let life = identity.life_time.as_deref().map(clean);
    let reserves = identity.pre_eol.as_deref().map(clean);
    let reserves = reserves.map(|level| tr!("reserved blocks {level}", level));
    let smart = smart_of(identity, |log| {
        let (spare, _) = log.spare_percent();
        tr!(
            "{used} % of its life used, {spare} % spare",
            used = log.used_percent(),
            spare
        )
    });
    let words: Vec<String> = [life, reserves, smart].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn nvme(identity: &DeviceIdentity) -> Option<Vec<String>> {
    if identity.kind != DeviceKind::Nvme {
        return None;
    }
    smart_of(identity, |log| {
        let mut found: Vec<String> = log.warnings().map(str::to_owned).collect();
        let used = log.used_percent();
        if used > PERCENT_USED {
            found.push(tr!("{used} % of its life is used", used));
        }
        match log.media_errors() {
            0 => {}
            errors => found.push(tr!("media errors: {errors}", errors)),
        }
        found
    })
}

fn life_used(identity: &DeviceIdentity) -> bool {
    let estimates = identity
        .raw
        .iter()
        .filter(|(key, _)| key.contains("life_time"));
    estimates
        .flat_map(|(_, value)| value.split_whitespace())
        .filter_map(|estimate| u64::from_str_radix(estimate.trim_start_matches("0x"), 16).ok())
        .any(|estimate| LIFE_USED.contains(&estimate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::device::register::{NVME_SMART, to_hex};

    fn with(kind: DeviceKind, registers: &[(&str, &[u8])]) -> DeviceIdentity {
        let registers = registers.iter();
        DeviceIdentity {
            kind,
            raw: registers
                .map(|(name, bytes)| ((*name).to_owned(), to_hex(bytes)))
                .collect(),
            ..DeviceIdentity::default()
        }
    }

    fn words(identity: &DeviceIdentity) -> String {
        let facts = facts(identity).into_iter();
        let lines: Vec<String> = facts
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        lines.join("\n")
    }

    #[test]
    fn an_emmc_is_told_in_words() {
        let mut ext_csd = [0; 512];
        for (at, value) in [
            (192, 8),
            (196, 0x57),
            (251, 8),
            (33, 1),
            (308, 1),
            (307, 31),
        ] {
            ext_csd[at] = value;
        }
        let mut csd = [0; 16];
        csd[14] = 0x10;
        let identity = with(DeviceKind::Emmc, &[(EXT_CSD, &ext_csd), (CSD, &csd)]);
        insta::assert_snapshot!(words(&identity), @r"
        eMMC version: 5.1
        fastest mode: HS400
        volatile cache: 64 MiB, on
        command queue: 32 commands, off
        background operations: none
        reliable writes: no
        write-protected: for now
        ");
    }

    #[test]
    fn an_nvme_drive_is_told_in_words() {
        let mut smart = [0; 512];
        smart[0] = 1;
        smart[1..6].copy_from_slice(&[0x43, 0x01, 5, 10, 97]);
        smart[48] = 2;
        let identity = with(DeviceKind::Nvme, &[(NVME_SMART, &smart)]);
        insta::assert_snapshot!(words(&identity), @r"
        warns: too few spare blocks are left
        life used: 97 %
        spare blocks: 5 % (warns below 10 %)
        temperature: 50.0 °C
        read in all: 0 B
        written in all: 1000 KiB
        hours of operation: 0
        power cycles: 0
        power cuts: 0
        media errors: 0
        ");
    }

    #[test]
    fn damaged_registers_say_nothing() {
        let mut identity = with(DeviceKind::Emmc, &[(EXT_CSD, &[1, 2]), (CSD, &[])]);
        identity
            .raw
            .insert(NVME_SMART.to_owned(), "none".to_owned());
        assert_eq!(words(&identity), "");
    }

    #[test]
    fn a_worn_drive_says_why() {
        let mut log = [0; 512];
        log[3..6].copy_from_slice(&[100, 10, 12]);
        let mut identity = DeviceIdentity {
            kind: DeviceKind::Nvme,
            ..DeviceIdentity::default()
        };
        identity.raw.insert(NVME_SMART.to_owned(), to_hex(&log));
        assert!(problems(&identity).is_empty());
        assert_eq!(
            wear_in_words(&identity).unwrap(),
            "12 % of its life used, 100 % spare"
        );
        log[0] = 0b1000;
        log[5] = 90;
        log[160] = 3;
        identity.raw.insert(NVME_SMART.to_owned(), to_hex(&log));
        assert_eq!(
            problems(&identity),
            [
                "it is read-only",
                "90 % of its life is used",
                "media errors: 3"
            ]
        );
    }

    #[test]
    fn a_device_that_says_nothing_is_not_well_nor_worn() {
        let identity = DeviceIdentity::default();
        assert_eq!(wear_in_words(&identity), None);
        assert!(problems(&identity).is_empty());
    }
}
