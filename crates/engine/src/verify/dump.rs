//! Files with the content of a damaged block (`verify_dump`).

use super::{BlockMark, Expected, Header, Mismatch, Verifier, header, header_bytes};
use crate::error::EngineError;
use crate::held::{self, HeldFolder};
use assay_model::load::verify::VerifyKind;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

impl Verifier {
    /// Writes the mismatching interval of `block` to `<name of file>.<offset>.received` in
    /// `folder`, and its expected content to `….expected`, if that is known: see
    /// [`Verifier::expected_block`]. Replaces existing files of these names, without following
    /// links. Returns the paths of the files written.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn dump(
        &self,
        folder: &Path,
        file: &Path,
        block: &[u8],
        expected: Expected,
        mismatch: &Mismatch,
    ) -> Result<Vec<PathBuf>, EngineError> {
        let held = HeldFolder::if_open_to_others(folder)
            .map_err(|source| EngineError::file("open", folder, source))?;
        let folder = held.as_ref().map_or(folder, HeldFolder::path);
        let skip = usize::try_from(mismatch.offset.saturating_sub(expected.offset));
        let skip = skip.unwrap_or(usize::MAX).min(block.len());
        let end = skip.saturating_add(mismatch.length as usize);
        let interval = skip..end.min(block.len());

        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}", mismatch.offset));
        let path = |what: &str| {
            let mut name = name.clone();
            name.push(what);
            folder.join(name)
        };
        let mut written = vec![save(&path(".received"), &block[interval.clone()])?];
        if let Some(wanted) = self.expected_block(block, skip, expected) {
            written.push(save(&path(".expected"), &wanted[interval])?);
        }
        Ok(written)
    }

    /// Returns the content that `block` should have held, as far as it is known: patterns always
    /// are, and random content if its seed is known or is given by the intact header `skip` bytes
    /// into the block (unless another program made it). Unknown header fields, such as the time of
    /// writing, are zero.
    fn expected_block(&self, block: &[u8], skip: usize, expected: Expected) -> Option<Vec<u8>> {
        let header = self.header_at(block, skip);
        let told = header.filter(|header| self.content_is_ours(block.len(), *header, block, skip));
        let seed = expected.seed.or(told.map(|header| header.seed));
        let is_pattern = !self.pattern.bytes.is_empty();
        if seed.is_none() && !is_pattern {
            return None;
        }
        let number = header.map(|header| header.number.into());
        let mut wanted = vec![0; block.len()];
        let mark = BlockMark {
            offset: expected.offset,
            seed: seed.or(header.map(|header| header.seed)).unwrap_or(0),
            number: expected.number.or(number).unwrap_or(0),
            time: header.map_or((0, 0), |header| header.time),
        };
        self.stamp(&mut wanted, mark);
        Some(wanted)
    }

    fn header_at(&self, block: &[u8], skip: usize) -> Option<Header> {
        let from = block.get(skip + self.place..)?;
        Header::decode(from.get(..header::BYTES)?).ok()
    }

    /// Returns true if content generated from the header's seed has the checksum stored after the
    /// header.
    fn content_is_ours(&self, length: usize, header: Header, block: &[u8], skip: usize) -> bool {
        if matches!(self.kind, VerifyKind::Header | VerifyKind::PatternHeader) {
            return false;
        }
        let mut made = vec![0; length];
        let mark = BlockMark {
            offset: header.offset.saturating_sub(skip as u64),
            seed: header.seed,
            number: header.number.into(),
            time: header.time,
        };
        self.stamp(&mut made, mark);
        let place = skip + self.place;
        let sum = place + header::BYTES..place + header_bytes(self.kind);
        made.get(sum.clone()) == block.get(sum)
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<PathBuf, EngineError> {
    let written = match held::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => held::create_new(path)
            .map_err(io::Error::from)
            .and_then(|mut file| file.write_all(bytes)),
    };
    written.map_err(|source| EngineError::file("write", path, source))?;
    Ok(held::named(path).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::content::ContentPattern;
    use assay_model::load::verify::Verify;
    use std::fs;

    const MARK: BlockMark = BlockMark {
        offset: 8192,
        seed: 5,
        number: 3,
        time: (1, 2),
    };

    /// Returns the dumps of a block after changing a byte at each of its places.
    fn dumped(spec: &Verify, place: usize, expected: Expected) -> (Vec<u8>, Vec<Vec<u8>>) {
        let folder = tempfile::tempdir().unwrap();
        let verifier = Verifier::new(spec, 0);
        let mut block = vec![0; 4096];
        verifier.stamp(&mut block, MARK);
        let written = block.clone();
        block[place] ^= 1;
        let mismatch = verifier.check(&mut block, expected).unwrap_err();
        let paths = verifier
            .dump(
                folder.path(),
                Path::new("/x/disk"),
                &block,
                expected,
                &mismatch,
            )
            .unwrap();
        let skip = usize::try_from(mismatch.offset - MARK.offset).unwrap();
        let interval = skip..skip + mismatch.length as usize;
        let received = format!("disk.{}.received", mismatch.offset);
        assert_eq!(paths[0].file_name().unwrap().to_str(), Some(&*received));
        assert_eq!(fs::read(&paths[0]).unwrap(), block[interval.clone()]);
        let files = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        (written[interval].to_vec(), files)
    }

    #[test]
    fn damaged_data_is_dumped_next_to_what_it_was() {
        for offset in [0, 1024] {
            let spec = Verify {
                interval: 2048,
                offset,
                ..Verify::new(VerifyKind::Crc32c)
            };
            let expected = Expected {
                offset: MARK.offset,
                ..Expected::default()
            };
            let (written, files) = dumped(&spec, 3000, expected);
            assert_eq!(files[1..], [written]);
        }
    }

    #[test]
    fn a_dump_replaces_a_link_and_leaves_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, link) = (folder.path().join("precious"), folder.path().join("link"));
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        save(&link, b"dumped").unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert!(!link.is_symlink());
        assert_eq!(fs::read(&link).unwrap(), b"dumped");
    }

    #[test]
    fn a_damaged_header_leaves_what_was_there_unknown() {
        let expected = Expected {
            offset: MARK.offset,
            ..Expected::default()
        };
        let (_, files) = dumped(&Verify::new(VerifyKind::Md5), 20, expected);
        assert_eq!(files.len(), 1);
        let known = Expected {
            seed: Some(MARK.seed),
            ..expected
        };
        let (written, files) = dumped(&Verify::new(VerifyKind::Md5), 20, known);
        assert_eq!(files[1][56..], written[56..]);
    }

    #[test]
    fn patterns_are_always_known() {
        let spec = Verify {
            pattern: ContentPattern {
                bytes: b"abc".to_vec(),
                offsets_at: Vec::new(),
                interval: 0,
            },
            ..Verify::new(VerifyKind::Pattern)
        };
        let expected = Expected {
            offset: MARK.offset,
            ..Expected::default()
        };
        let (written, files) = dumped(&spec, 20, expected);
        assert_eq!(files[1..], [written]);
    }
}
