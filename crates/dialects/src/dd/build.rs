//! Converts operands to a copy.

use super::DdError;
use super::Invocation;
use super::charsets::{ASCII_TO_EBCDIC, ASCII_TO_IBM, EBCDIC_TO_ASCII};
use super::number::{self, MAX};
use super::symbols::{self, Conv, EndFlags, Status};
use crate::OwnOptions;
use assay_model::gnu::quoted_c;
use assay_model::work::copy::{Conversion, Extent, FileCopy, Records};
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
            "conv" => symbols::conv(value, &mut self.conv)?,
            "iflag" => symbols::flags(value, "input flag", &mut self.input_flags)?,
            "oflag" => symbols::flags(value, "output flag", &mut self.output_flags)?,
            "status" => symbols::status(value, &mut self.status)?,
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
        number::parse(value, least, most, &mut self.warnings)
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
}
