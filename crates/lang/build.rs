//! Turns each catalogue of `po` into a sorted table in Rust, so that a program
//! carries its languages without a parser, and a broken catalogue does not build.

use polib::po_file;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let language = "zh";
    let catalogue = Path::new("po").join(format!("{language}.po"));
    println!("cargo::rerun-if-changed={}", catalogue.display());
    fs::write(out.join(format!("{language}.rs")), table(&catalogue)?)?;
    Ok(())
}

/// `&[("English", "translation"), ...]` in the order of the English texts.
fn table(catalogue: &Path) -> Result<String, Box<dyn Error>> {
    let catalogue = po_file::parse(catalogue)?;
    let mut entries = Vec::new();
    for message in catalogue.messages() {
        let translation = match message.is_plural() {
            true => message
                .msgstr_plural()?
                .first()
                .cloned()
                .unwrap_or_default(),
            false => message.msgstr()?.to_owned(),
        };
        if !translation.is_empty() {
            entries.push((message.msgid().to_owned(), translation));
        }
    }
    entries.sort();
    let mut table = String::from("&[\n");
    for (english, translation) in entries {
        writeln!(table, "({english:?}, {translation:?}),")?;
    }
    table.push(']');
    Ok(table)
}
