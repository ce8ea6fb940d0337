//! Used life of a device and problems with its health.

use crate::words::registers::smart_of;
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use std::ops::RangeInclusive;

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
