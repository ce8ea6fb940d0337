//! Data of a page as an embedded ZIP archive: every chart as CSV, and the whole as JSON. The link
//! works without scripts; the script extracts single files.

use crate::charts::draw::{Chart, csv};
use crate::words::text::sentence;
use assay_lang::tr;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use std::io::{self, BufWriter, Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Maximum size of the archive: browsers follow links of up to 2 MiB, and base64 enlarges it by a
/// third.
const LARGEST: usize = 1_500_000;

/// Archive of a page's data.
pub struct Archive {
    /// File name when the archive is saved.
    pub name: String,
    bytes: Vec<u8>,
    /// Description of the omitted contents, and of where to get them.
    pub note: Option<String>,
}

/// Document with variants that omit parts of it.
pub struct ArchivedDocument<'a> {
    /// Name of the document in the archive.
    pub name: &'a str,
    /// Variants, the most complete first.
    pub ways: Vec<Way<'a>>,
}

/// Writes a document as a whole.
pub type WriteWhole<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

/// Variant of a document.
pub struct Way<'a> {
    /// Writes the variant.
    pub write: Box<WriteWhole<'a>>,
    /// Description of the contents that this variant omits.
    pub note: Option<String>,
}

impl Archive {
    /// Packs charts and a document into an archive. The document is the most complete variant that
    /// fits.
    ///
    /// # Errors
    /// If a part cannot be written.
    pub fn of(
        name: String,
        charts: &[&Chart],
        document: &ArchivedDocument<'_>,
    ) -> io::Result<Self> {
        for way in &document.ways {
            let bytes = packed(charts, Some((document.name, way)))?;
            if bytes.len() <= LARGEST {
                let note = way.note.clone();
                return Ok(Self { name, bytes, note });
            }
        }
        let bytes = packed(charts, None)?;
        let note = Some(tr!("{name} is too large to be in it", name = document.name));
        Ok(Self { name, bytes, note })
    }

    /// Renders the link.
    pub fn markup(&self) -> Markup {
        let kilobytes = self.bytes.len().div_ceil(1000);
        html! {
            p {
                a #data download=(self.name) href={ "data:application/zip;base64," (STANDARD.encode(&self.bytes)) } {
                    (tr!("Download the data of this page"))
                }
                (tr!(" (ZIP, {kilobytes} kB): every chart as CSV, and all of it as JSON.", kilobytes))
                @if let Some(note) = &self.note { " " (sentence(note)) }
            }
        }
    }
}

fn packed(charts: &[&Chart], document: Option<(&str, &Way<'_>)>) -> io::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for chart in charts {
        let name = format!("{}.csv", chart.name);
        add(&mut archive, &name, |out| csv::write(chart, out))?;
    }
    if let Some((name, way)) = document {
        add(&mut archive, name, |out| (way.write)(out))?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Adds a file. The compressor clears a buffer of 32 KiB for each write, and serde writes a few
/// bytes at a time: a buffer makes the writes large.
fn add(
    archive: &mut ZipWriter<Cursor<Vec<u8>>>,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    const PIECE: usize = 64 << 10;
    /// Compression level; takes less than half the time of the default (6) for a sixth more bytes.
    const LEVEL: i64 = 2;
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .last_modified_time(DateTime::default());
    archive.start_file(name, options)?;
    let mut pieces = BufWriter::with_capacity(PIECE, archive);
    write(&mut pieces)?;
    pieces.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::data::Gallery;
    use crate::testing::samples;
    use std::io::Read;
    use zip::ZipArchive;

    fn way(bytes: usize, note: Option<&str>) -> Way<'static> {
        Way {
            // Incompressible data, so that every byte counts.
            write: Box::new(move |out| {
                let mut state = 1_u64;
                let noise = (0..bytes).map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 56) as u8
                });
                out.write_all(&noise.collect::<Vec<u8>>())
            }),
            note: note.map(str::to_owned),
        }
    }

    #[test]
    fn what_does_not_fit_is_written_with_less_and_says_so() {
        let document = |ways| ArchivedDocument {
            name: "run.json",
            ways,
        };
        let archive = |ways| Archive::of("x".to_owned(), &[], &document(ways)).unwrap();
        let small = archive(vec![way(10, None), way(5, Some("less"))]);
        assert_eq!(small.note, None);
        let large = archive(vec![way(LARGEST + 1, None), way(5, Some("less"))]);
        assert_eq!(large.note.as_deref(), Some("less"));
        let none = archive(vec![way(LARGEST + 1, None)]);
        assert!(none.note.is_some() && none.bytes.len() < 100);
    }

    #[test]
    fn every_chart_is_there_as_a_table() {
        let run = samples::with_sustained();
        let gallery = Gallery::of(&run);
        let document = ArchivedDocument {
            name: "run.json",
            ways: vec![way(1, None)],
        };
        let archive = Archive::of(
            "x".to_owned(),
            &gallery.iter().collect::<Vec<_>>(),
            &document,
        )
        .unwrap();
        let mut zip = ZipArchive::new(Cursor::new(archive.bytes)).unwrap();
        assert_eq!(zip.len(), gallery.iter().count() + 1);
        let mut text = String::new();
        let mut file = zip.by_name("rate-sustained-write-1.csv").unwrap();
        file.read_to_string(&mut text).unwrap();
        assert!(
            text.starts_with("panel,series,time (s),y,unit,low,high,note\n"),
            "{text}"
        );
    }
}
