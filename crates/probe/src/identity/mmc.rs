//! eMMC and SD cards.

use super::{Raw, life_time, pre_eol};
use crate::attr;
use crate::device::Device;
use assay_model::device::bus::CardMode;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use std::path::Path;

/// Attributes of a card (drivers/mmc/core/{mmc,sd}.c) that can distinguish two cards or two states.
const ATTRIBUTES: [&str; 27] = [
    "cid",
    "cmdq_en",
    "csd",
    "date",
    "enhanced_area_offset",
    "enhanced_area_size",
    "enhanced_rpmb_supported",
    "erase_size",
    "ffu_capable",
    "fwrev",
    "hwrev",
    "life_time",
    "manfid",
    "name",
    "ocr",
    "oemid",
    "pre_eol_info",
    "preferred_erase_size",
    "prv",
    "raw_rpmb_size_mult",
    "rca",
    "rel_sectors",
    "rev",
    "scr",
    "serial",
    "ssr",
    "type",
];

/// Returns the identity of a card. `card` is its folder, for example `mmc0:0001`.
pub(super) fn identity(device: &Device, card: &Path) -> DeviceIdentity {
    let mut raw = Raw::default();
    raw.take(card, &ATTRIBUTES);
    let kind = match raw.get("type") {
        Some("MMC") => DeviceKind::Emmc,
        Some("SD" | "SDcombo") => DeviceKind::Sd,
        _ => DeviceKind::Other,
    };
    let ios = ios(device, card);
    if let Some(ios) = &ios {
        raw.put("ios", ios.as_str());
    }
    let life: Vec<Option<u64>> = raw
        .get("life_time")
        .map(|both| both.split_whitespace().map(attr::parse_hex).collect())
        .unwrap_or_default();
    let estimate = |at: usize| life.get(at).copied().flatten();
    DeviceIdentity {
        model: raw.text("name"),
        vendor: vendor(&kind, &raw),
        serial: raw.text("serial"),
        firmware: firmware(&kind, &raw),
        date: raw.text("date"),
        cid: raw.text("cid"),
        life_time: life_time(estimate(0), estimate(1)),
        pre_eol: raw
            .get("pre_eol_info")
            .and_then(attr::parse_hex)
            .map(pre_eol),
        bus: ios.as_deref().and_then(bus_mode),
        kind,
        raw: raw.0,
        ..DeviceIdentity::default()
    }
}

/// Returns the firmware revision of an eMMC, or the product revision n.m of an SD card, which the
/// kernel shows as hwrev and fwrev.
fn firmware(kind: &DeviceKind, raw: &Raw) -> Option<String> {
    let firmware = raw.text("fwrev")?;
    if *kind != DeviceKind::Sd {
        return Some(firmware);
    }
    let minor = attr::parse_hex(&firmware)?;
    let major = raw.get("hwrev").and_then(attr::parse_hex)?;
    Some(format!("{major}.{minor}"))
}

/// Returns the manufacturer by its id; eMMC and SD have separate registries of ids. Sources:
/// mmc-utils' lsmmc and the quirk tables of the kernel (drivers/mmc/core/card.h).
fn vendor(kind: &DeviceKind, raw: &Raw) -> Option<String> {
    let id = raw.get("manfid").and_then(attr::parse_hex)?;
    let known = match (kind, id) {
        (DeviceKind::Emmc, 0x02 | 0x45) => "SanDisk",
        (DeviceKind::Emmc, 0x11) => "Toshiba/Kioxia",
        (DeviceKind::Emmc, 0x13 | 0xfe) => "Micron",
        (DeviceKind::Emmc, 0x15) => "Samsung",
        (DeviceKind::Emmc, 0x2c | 0x70) => "Kingston",
        (DeviceKind::Emmc, 0x44) => "ATP",
        (DeviceKind::Emmc, 0x88 | 0xd6) => "Longsys/Foresee",
        (DeviceKind::Emmc, 0x90) => "SK hynix",
        (DeviceKind::Emmc, 0xf4) => "Biwin",
        (DeviceKind::Sd, 0x01) => "Panasonic",
        (DeviceKind::Sd, 0x02) => "Toshiba/Kioxia",
        (DeviceKind::Sd, 0x03) => "SanDisk",
        (DeviceKind::Sd, 0x09) => "ATP",
        (DeviceKind::Sd, 0x1b) => "Samsung",
        (DeviceKind::Sd, 0x1d) => "ADATA",
        (DeviceKind::Sd, 0x27) => "Phison",
        (DeviceKind::Sd, 0x28 | 0xad) => "Lexar",
        (DeviceKind::Sd, 0x31) => "Silicon Power",
        (DeviceKind::Sd, 0x41 | 0x9f) => "Kingston",
        (DeviceKind::Sd, 0x5d) => "Swissbit",
        (DeviceKind::Sd, 0x74) => "Transcend",
        (DeviceKind::Sd, 0x76) => "Patriot",
        (DeviceKind::Sd, 0x82) => "Sony",
        _ => return Some(unknown_vendor(id, raw.get("oemid"))),
    };
    Some(known.to_owned())
}

/// Formats the id, with the two letters that an OEM id often encodes.
fn unknown_vendor(id: u64, oem: Option<&str>) -> String {
    let letters = oem.and_then(attr::parse_hex).and_then(|oem| {
        let [.., high, low] = oem.to_be_bytes();
        let printable = high.is_ascii_alphanumeric() && low.is_ascii_alphanumeric();
        printable.then(|| format!("{}{}", char::from(high), char::from(low)))
    });
    match letters {
        Some(letters) => format!("id {id:#04x} ({letters})"),
        None => format!("id {id:#04x}"),
    }
}

/// Reads `/sys/kernel/debug/mmcN/ios` of the card's host; root only.
fn ios(device: &Device, card: &Path) -> Option<String> {
    let card_name = card.file_name()?.to_str()?;
    let (host, _address) = card_name.split_once(':')?;
    attr::text(&device.sys().join("kernel/debug").join(host).join("ios"))
}

/// Formats the ios text, such as `HS400 enhanced strobe, 8 bit, 200 MHz`.
fn bus_mode(ios: &str) -> Option<String> {
    let mode = CardMode::parse(ios)?;
    let megahertz = megahertz(mode.hertz);
    Some(format!(
        "{}, {} bit, {megahertz} MHz",
        mode.timing, mode.bits
    ))
}

/// Formats a frequency in megahertz, with one decimal if needed.
fn megahertz(hz: u64) -> String {
    let tenths = (hz + 50_000) / 100_000;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        tenth => format!("{}.{tenth}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_shown_with_one_decimal_at_most() {
        let ios = "clock:\t\t52000000 Hz\nactual clock:\t49500000 Hz\nbus width:\t3 (8 bits)\ntiming spec:\t8 (mmc DDR52)\n";
        assert_eq!(bus_mode(ios).unwrap(), "DDR52, 8 bit, 49.5 MHz");
    }

    #[test]
    fn unknown_makers_keep_their_id() {
        assert_eq!(unknown_vendor(0x9b, Some("0x5957")), "id 0x9b (YW)");
        assert_eq!(unknown_vendor(0x05, Some("0x0100")), "id 0x05");
    }
}
