//! Registers and logs of flash. They are stored as the device returned them and decoded when they
//! are read, so that later versions can decode more of a stored identity.
//!
//! [`DeviceIdentity::raw`](crate::storage::DeviceIdentity::raw) holds them as hexadecimal, byte 0
//! of the specification's table first.
//!
//! To add a register: add its name and decoder here, request it in `assay_engine::registers` and
//! `assay_agent::devices`, and add its words in `assay_report::words::registers`.

pub mod ext_csd;
pub mod nvme;
pub mod sd;

/// EXT_CSD of an eMMC, 512 bytes.
pub const EXT_CSD: &str = "ext_csd";
/// SD Status of a card, 64 bytes; the kernel's name.
pub const SD_STATUS: &str = "ssr";
/// SD Configuration Register, 8 bytes; the kernel's name.
pub const SCR: &str = "scr";
/// Card-Specific Data of eMMC and SD, 16 bytes; the kernel's name.
pub const CSD: &str = "csd";
/// NVMe Identify Controller data, 4096 bytes.
pub const NVME_IDENTIFY: &str = "nvme_identify_controller";
/// SMART / Health Information of an NVMe drive, 512 bytes.
pub const NVME_SMART: &str = "nvme_smart_log";

/// Formats each byte as two digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses hexadecimal text; `None` for any other text.
///
/// ```
/// use assay_model::device::register::from_hex;
/// assert_eq!(from_hex("00fF"), Some(vec![0x00, 0xff]));
/// assert_eq!(from_hex("0"), None);
/// assert_eq!(from_hex("+1"), None);
/// ```
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs
        .iter()
        .map(|[high, low]| u8::try_from(high * 16 + low).ok());
    rest.is_empty().then(|| bytes.collect()).flatten()
}

/// Returns bits `high` to `low` of a register whose first byte has the highest bits, numbered as in
/// the specifications of cards.
fn bits(register: &[u8], high: usize, low: usize) -> u64 {
    let last = register.len() * 8;
    (low..=high).rev().fold(0, |value, bit| {
        let at = last.checked_sub(bit + 1);
        let byte = at.and_then(|at| register.get(at / 8));
        let set = byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        value << 1 | u64::from(set)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_end() {
        let register = [0x12, 0x34, 0x56, 0x78];
        assert_eq!(bits(&register, 31, 28), 0x1);
        assert_eq!(bits(&register, 27, 16), 0x234);
        assert_eq!(bits(&register, 3, 0), 0x8);
        assert_eq!(bits(&register, 40, 28), 0x1, "what is not there is 0");
    }

    #[test]
    fn hexadecimal_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!(from_hex("0x12"), None);
    }
}
