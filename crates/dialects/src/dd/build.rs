//! Converts operands to a copy; numbers may have suffixes: `64k`, `1MiB`, `2x1M`, `100B`. Lists of
//! symbols follow `conv=`, `iflag=`, `oflag=` and `status=`.

use super::{ASCII_TO_EBCDIC, ASCII_TO_IBM, DdError, EBCDIC_TO_ASCII, Invocation};
use crate::OwnOptions;
use assay_model::act::copy::{Conversion, Extent, FileCopy, Flags, Records, Treatment};
use assay_model::text::quoted_c;
use std::path::PathBuf;

/// Default size of a block, in bytes.
const BLOCK: u64 = 512;
/// Largest block that a single call can move, in bytes.
const LARGEST_BLOCK: u64 = MAX - 1;

/// Parsed operands.
#[derive(Default)]
struct Operands {
    input: Option<PathBuf>,
    output: Option<PathBuf>,
    both_blocks: Option<u64>,
    input_block: Option<u64>,
    output_block: Option<u64>,
    record: u64,
    skip: Number,
    seek: Number,
    count: Option<Number>,
    conv: Conv,
    input_flags: EndFlags,
    output_flags: EndFlags,
    status: Status,
    warnings: Vec<String>,
}

/// Number of blocks or bytes.
#[derive(Clone, Copy, Default)]
struct Number {
    number: u64,
    in_bytes: bool,
}

impl Number {
    fn extent(self, block: u64, in_bytes: bool) -> Extent {
        if self.in_bytes || in_bytes {
            Extent {
                blocks: self.number / block,
                bytes: self.number % block,
            }
        } else {
            Extent {
                blocks: self.number,
                bytes: 0,
            }
        }
    }
}

pub(super) fn invocation(words: &[&String], own: OwnOptions) -> Result<Invocation, DdError> {
    let mut operands = Operands::default();
    let read = words.iter().try_for_each(|word| operands.read(word));
    if let Err(error) = read.and_then(|()| operands.check()) {
        return Err(error.after(operands.warnings));
    }
    let copy = operands.copy();
    if copy.output_flags.append && !copy.treatment.keep_length {
        let text = "you probably want conv=notrunc with oflag=append";
        operands.warnings.push(text.to_owned());
    }
    Ok(Invocation {
        copy,
        status: operands.status,
        warnings: operands.warnings,
        own,
    })
}

impl Operands {
    fn read(&mut self, word: &str) -> Result<(), DdError> {
        let unknown = || DdError::with_help(format!("unrecognized operand {}", quoted_c(word)));
        let (name, value) = word.split_once('=').ok_or_else(unknown)?;
        match name {
            "if" => self.input = Some(PathBuf::from(value)),
            "of" => self.output = Some(PathBuf::from(value)),
            "conv" => parse_conversions(value, &mut self.conv)?,
            "iflag" => parse_end_flags(value, "input flag", &mut self.input_flags)?,
            "oflag" => parse_end_flags(value, "output flag", &mut self.output_flags)?,
            "status" => parse_status(value, &mut self.status)?,
            "bs" => self.both_blocks = Some(self.number(value, 1, LARGEST_BLOCK)?),
            "ibs" => self.input_block = Some(self.number(value, 1, LARGEST_BLOCK)?),
            "obs" => self.output_block = Some(self.number(value, 1, LARGEST_BLOCK)?),
            "cbs" => self.record = self.number(value, 1, MAX)?,
            "skip" | "iseek" => self.skip = self.extent(value)?,
            "seek" | "oseek" => self.seek = self.extent(value)?,
            "count" => self.count = Some(self.extent(value)?),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn number(&mut self, value: &str, least: u64, most: u64) -> Result<u64, DdError> {
        parse(value, least, most, &mut self.warnings)
    }

    fn extent(&mut self, value: &str) -> Result<Number, DdError> {
        Ok(Number {
            number: self.number(value, 0, MAX)?,
            in_bytes: value.contains('B'),
        })
    }

    /// Checks for mutually exclusive operands, in dd's order.
    fn check(&self) -> Result<(), DdError> {
        if self.output_flags.flags.full_block {
            let text = "invalid output flag: 'fullblock'";
            return Err(DdError::with_help(text.to_owned()));
        }
        let conv = &self.conv;
        let treatment = conv.treatment;
        let sets = [conv.ascii, conv.ebcdic, conv.ibm];
        let nocache = |end: &EndFlags| end.flags.direct && end.flags.nocache;
        let clash = if sets.iter().filter(|&&set| set).count() > 1 {
            "any two of {ascii,ebcdic,ibm}"
        } else if self.block() && self.unblock() {
            "block and unblock"
        } else if conv.lcase && conv.ucase {
            "lcase and ucase"
        } else if treatment.exclusive && treatment.must_exist {
            "excl and nocreat"
        } else if nocache(&self.input_flags) || nocache(&self.output_flags) {
            "direct and nocache"
        } else {
            return Ok(());
        };
        Err(DdError::new(format!("cannot combine {clash}")))
    }

    /// Returns true if records are padded to a fixed length, as `block` and the
    /// EBCDIC conversions do. Without a record length they do not.
    const fn block(&self) -> bool {
        self.record > 0 && (self.conv.block || self.conv.ebcdic || self.conv.ibm)
    }

    const fn unblock(&self) -> bool {
        self.record > 0 && (self.conv.unblock || self.conv.ascii)
    }

    fn copy(&self) -> FileCopy {
        let input_block = self.both_blocks.or(self.input_block).unwrap_or(BLOCK);
        let output_block = self.both_blocks.or(self.output_block).unwrap_or(BLOCK);
        let [input, output] = [&self.input_flags, &self.output_flags];
        // Such a flag has no effect at the other end.
        let (count_bytes, skip_bytes) = (input.count_bytes, input.skip_bytes);
        let seek_bytes = output.seek_bytes;
        FileCopy {
            input: self.input.clone(),
            output: self.output.clone(),
            input_block,
            output_block,
            record: self.record,
            reblock: self.both_blocks.is_none() || self.converts(),
            skip: self.skip.extent(input_block, skip_bytes),
            seek: self.seek.extent(output_block, seek_bytes),
            count: self
                .count
                .map(|count| count.extent(input_block, count_bytes)),
            conversion: self.conversion(),
            treatment: self.conv.treatment,
            input_flags: input.flags,
            output_flags: output.flags,
            progress: self.status == Status::Progress,
            quiet: self.status == Status::None,
            ..FileCopy::default()
        }
    }

    /// Returns true if bytes are converted, or would be with a record length.
    const fn converts(&self) -> bool {
        let Conv {
            ascii,
            ebcdic,
            ibm,
            block,
            unblock,
            lcase,
            ucase,
            swab,
            treatment: _,
        } = self.conv;
        ascii || ebcdic || ibm || block || unblock || lcase || ucase || swab
    }

    fn conversion(&self) -> Conversion {
        let to = if self.conv.ebcdic {
            Some(&ASCII_TO_EBCDIC)
        } else {
            self.conv.ibm.then_some(&ASCII_TO_IBM)
        };
        let translated = |byte: u8| to.map_or(byte, |table| table[usize::from(byte)]);
        let records = match (self.block(), self.unblock()) {
            (true, _) => Some(Records::Block),
            (false, true) => Some(Records::Unblock),
            (false, false) => None,
        };
        let changes = self.conv.ascii || to.is_some() || self.conv.lcase || self.conv.ucase;
        let byte = |byte: u8| translated(self.cased(self.out_of_ebcdic(byte)));
        Conversion {
            table: match changes {
                true => (0..=u8::MAX).map(byte).collect(),
                false => Vec::new(),
            },
            swap_pairs: self.conv.swab,
            records,
            newline: translated(b'\n'),
            space: translated(b' '),
        }
    }

    const fn out_of_ebcdic(&self, byte: u8) -> u8 {
        if self.conv.ascii {
            EBCDIC_TO_ASCII[byte as usize]
        } else {
            byte
        }
    }

    const fn cased(&self, byte: u8) -> u8 {
        if self.conv.lcase {
            byte.to_ascii_lowercase()
        } else if self.conv.ucase {
            byte.to_ascii_uppercase()
        } else {
            byte
        }
    }
}

/// Largest accepted number, the largest file offset.
pub(super) const MAX: u64 = i64::MAX.unsigned_abs();

/// Parses a number of at least `least` and at most `most`. Warnings about unusual
/// forms go to `warnings`.
pub(super) fn parse(
    text: &str,
    least: u64,
    most: u64,
    warnings: &mut Vec<String>,
) -> Result<u64, DdError> {
    match product(text, warnings) {
        Ok(number) if number < least => Err(invalid(text, false)),
        Ok(number) if number <= most => Ok(number),
        Ok(_) | Err(Invalid::TooLarge) => Err(invalid(text, true)),
        Err(Invalid::Words) => Err(invalid(text, false)),
    }
}

enum Invalid {
    TooLarge,
    Words,
}

fn invalid(text: &str, too_large: bool) -> DdError {
    let why = if too_large {
        ": Value too large for defined data type"
    } else {
        ""
    };
    DdError::new(format!("invalid number: {}{why}", quoted_c(text)))
}

fn product(text: &str, warnings: &mut Vec<String>) -> Result<u64, Invalid> {
    let (number, rest) = term(text)?;
    // A trailing B denotes bytes, or has no effect.
    let rest = match rest.strip_prefix('B') {
        Some(after) if !text[..text.len() - rest.len()].ends_with('B') => after,
        _ => rest,
    };
    if rest.is_empty() {
        return Ok(number);
    }
    let factor = rest.strip_prefix('x').ok_or(Invalid::Words)?;
    let factor = product(factor, warnings)?;
    if text.starts_with("0x") {
        warnings
            .push("warning: '0x' is a zero multiplier; use '00x' if that is intended".to_owned());
    }
    number.checked_mul(factor).ok_or(Invalid::TooLarge)
}

/// Parses a number with a suffix, or a suffix alone. Returns the remaining text, too.
fn term(text: &str) -> Result<(u64, &str), Invalid> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (signed, text) = match text.strip_prefix('+') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(digits);
    let suffix = suffix(rest);
    if digits.is_empty() {
        return match suffix {
            Some((factor, after)) if !signed => Ok((factor.ok_or(Invalid::TooLarge)?, after)),
            _ => Err(Invalid::Words),
        };
    }
    let number: Option<u64> = digits.parse().ok();
    let Some((factor, after)) = suffix else {
        return Ok((number.ok_or(Invalid::TooLarge)?, rest));
    };
    let product = number.zip(factor).and_then(|(n, f)| n.checked_mul(f));
    // Zero fits in any unit, even one that is too large.
    let product = if number == Some(0) { Some(0) } else { product };
    Ok((product.ok_or(Invalid::TooLarge)?, after))
}

/// Parses a suffix: returns its factor, `None` when too large, and the remaining text.
fn suffix(text: &str) -> Option<(Option<u64>, &str)> {
    let letter = text.chars().next()?;
    let after = &text[letter.len_utf8()..];
    let power = match letter {
        'c' => return Some((Some(1), after)),
        'w' => return Some((Some(2), after)),
        'b' => return Some((Some(512), after)),
        'k' | 'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        'E' => 6,
        'Z' => 7,
        'Y' => 8,
        _ => return None,
    };
    let (base, after) = if let Some(after) = after.strip_prefix("iB") {
        (1024_u64, after)
    } else if let Some(after) = after.strip_prefix('B') {
        (1000, after)
    } else {
        (1024, after)
    };
    Some((base.checked_pow(power), after))
}

/// Conversions of `conv=`.
#[derive(Clone, Copy, Debug, Default)]
struct Conv {
    ascii: bool,
    ebcdic: bool,
    ibm: bool,
    block: bool,
    unblock: bool,
    lcase: bool,
    ucase: bool,
    swab: bool,
    treatment: Treatment,
}

/// Flags of one end, and the units of `count=`, `skip=` and `seek=`.
#[derive(Clone, Copy, Debug, Default)]
struct EndFlags {
    flags: Flags,
    count_bytes: bool,
    skip_bytes: bool,
    seek_bytes: bool,
}

/// Amount of output that dd writes to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Records and rate at the end.
    #[default]
    All,
    /// Records only.
    NoRate,
    /// Errors only.
    None,
    /// Also the progress, once a second.
    Progress,
}

/// Passes each word of a list to `set`, which returns false for an unknown one.
fn set_each(list: &str, what: &str, mut set: impl FnMut(&str) -> bool) -> Result<(), DdError> {
    for word in list.split(',') {
        if !set(word) {
            let word = quoted_c(word);
            return Err(DdError::with_help(format!("invalid {what}: {word}")));
        }
    }
    Ok(())
}

fn parse_conversions(list: &str, conv: &mut Conv) -> Result<(), DdError> {
    set_each(list, "conversion", |word| {
        let treatment = &mut conv.treatment;
        let place = match word {
            "ascii" => &mut conv.ascii,
            "ebcdic" => &mut conv.ebcdic,
            "ibm" => &mut conv.ibm,
            "block" => &mut conv.block,
            "unblock" => &mut conv.unblock,
            "lcase" => &mut conv.lcase,
            "ucase" => &mut conv.ucase,
            "swab" => &mut conv.swab,
            "sparse" => &mut treatment.sparse,
            "sync" => &mut treatment.pad,
            "excl" => &mut treatment.exclusive,
            "nocreat" => &mut treatment.must_exist,
            "notrunc" => &mut treatment.keep_length,
            "noerror" => &mut treatment.go_on,
            "fdatasync" => &mut treatment.fdatasync,
            "fsync" => &mut treatment.fsync,
            _ => return false,
        };
        *place = true;
        true
    })
}

/// Parses `iflag=` or `oflag=`. `what` is `input flag` or `output flag`, for
/// errors.
fn parse_end_flags(list: &str, what: &str, end: &mut EndFlags) -> Result<(), DdError> {
    set_each(list, what, |word| {
        let flags = &mut end.flags;
        let place = match word {
            "append" => &mut flags.append,
            "direct" => &mut flags.direct,
            "directory" => &mut flags.directory,
            "dsync" => &mut flags.dsync,
            "sync" => &mut flags.sync,
            "fullblock" => &mut flags.full_block,
            "nonblock" => &mut flags.nonblock,
            "noatime" => &mut flags.noatime,
            "nocache" => &mut flags.nocache,
            "noctty" => &mut flags.noctty,
            "nofollow" => &mut flags.nofollow,
            "count_bytes" => &mut end.count_bytes,
            "skip_bytes" => &mut end.skip_bytes,
            "seek_bytes" => &mut end.seek_bytes,
            _ => return false,
        };
        *place = true;
        true
    })
}

/// Parses `status=`; the last word counts.
fn parse_status(list: &str, status: &mut Status) -> Result<(), DdError> {
    set_each(list, "status level", |word| {
        *status = match word {
            "none" => Status::None,
            "noxfer" => Status::NoRate,
            "progress" => Status::Progress,
            _ => return false,
        };
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(words: &str) -> FileCopy {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let words: Vec<&String> = words.iter().collect();
        invocation(&words, OwnOptions::default())
            .expect("it is understood")
            .copy
    }

    #[test]
    fn numbers_that_end_in_b_count_bytes() {
        let bytes = |blocks, bytes| Extent { blocks, bytes };
        let copy = copy("bs=100 skip=250B seek=2 count=1kB");
        assert_eq!(copy.skip, bytes(2, 50));
        assert_eq!(copy.seek, bytes(2, 0));
        assert_eq!(copy.count, Some(bytes(10, 0)));
        assert_eq!(copy.limit_bytes(), Some(1000));
    }

    #[test]
    fn one_buffer_is_enough_for_bs_without_a_conversion() {
        assert!(!copy("bs=1M conv=sync,noerror,sparse,fsync").reblock);
        assert!(copy("ibs=1M obs=1M").reblock);
        assert!(copy("bs=1M conv=swab").reblock);
        // Without a record length there are no records, but blocks are rebuilt.
        let blocked = copy("bs=1M conv=block");
        assert!(blocked.reblock && blocked.conversion.records.is_none());
    }

    #[test]
    fn other_character_sets_have_records_and_their_own_spaces() {
        let ebcdic = copy("conv=ebcdic,ucase cbs=80").conversion;
        assert_eq!(ebcdic.records, Some(Records::Block));
        assert_eq!((ebcdic.newline, ebcdic.space), (0x25, 0x40));
        assert_eq!(ebcdic.table[usize::from(b'a')], 0xc1, "an A");
        let ascii = copy("conv=ascii cbs=80").conversion;
        assert_eq!(ascii.records, Some(Records::Unblock));
        assert_eq!((ascii.newline, ascii.space), (b'\n', b' '));
    }

    fn read(text: &str) -> Result<u64, String> {
        parse(text, 1, MAX, &mut Vec::new()).map_err(|error| error.to_string())
    }

    #[test]
    fn suffixes_and_products_are_understood() {
        for (text, number) in [
            ("5", 5),
            ("+5", 5),
            (" 5", 5),
            ("1c", 1),
            ("3w", 6),
            ("2b", 1024),
            ("1kB", 1000),
            ("1KB", 1000),
            ("1k", 1024),
            ("1KiB", 1024),
            ("2MB", 2_000_000),
            ("2M", 2 << 20),
            ("1G", 1 << 30),
            ("7E", 7 << 60),
            ("5B", 5),
            ("1bB", 512),
            ("2x1M", 2 << 20),
            ("2x3x4", 24),
            ("2x3B", 6),
            ("1xM", 1 << 20),
            ("M", 1 << 20),
        ] {
            assert_eq!(read(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_named() {
        let words = [
            "", "0", "0B", "-1", "x", "1x", "1xx", "B", "5BB", "5kb", "1Ki", "1KBB", "1Q", "bs",
            "1 ",
        ];
        for text in words {
            assert_eq!(
                read(text),
                Err(format!("invalid number: '{text}'")),
                "{text}"
            );
        }
        for text in [
            "9223372036854775808",
            "99999999999999999999",
            "8E",
            "1Z",
            "1Ex1E",
        ] {
            let why = "Value too large for defined data type";
            assert_eq!(read(text), Err(format!("invalid number: '{text}': {why}")));
        }
    }

    #[test]
    fn a_product_of_nothing_is_worth_a_warning() {
        let mut warnings = Vec::new();
        assert!(matches!(parse("0x10", 0, MAX, &mut warnings), Ok(0)));
        assert_eq!(warnings.len(), 1);
        assert!(matches!(parse("00x10", 0, MAX, &mut warnings), Ok(0)));
        assert_eq!(warnings.len(), 1);
    }
}
