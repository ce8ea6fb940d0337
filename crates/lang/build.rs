//! Converts each catalogue of `po` to a sorted table in Rust, so that the
//! program needs no parser at run time. A text that is missing, empty or fuzzy
//! has no entry and stays English. A translation with wrong placeholders fails
//! the build, because it would lose a value.

use polib::po_file;
use std::collections::BTreeSet;
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

/// Returns `&[("English", "translation"), ...]`, sorted by the English texts.
fn table(catalogue: &Path) -> Result<String, Box<dyn Error>> {
    let catalogue = po_file::parse(catalogue)?;
    let mut entries = Vec::new();
    for message in catalogue.messages().filter(|message| !message.is_fuzzy()) {
        let translation = match message.is_plural() {
            true => message
                .msgstr_plural()?
                .first()
                .cloned()
                .unwrap_or_default(),
            false => message.msgstr()?.to_owned(),
        };
        let english = message.msgid().to_owned();
        if translation.trim().is_empty() {
            continue;
        }
        if placeholders(&translation) != placeholders(&english) {
            return Err(
                format!("placeholders of {translation:?} are not those of {english:?}").into(),
            );
        }
        entries.push((english, translation));
    }
    entries.sort();
    let mut table = String::from("&[\n");
    for (english, translation) in entries {
        writeln!(table, "({english:?}, {translation:?}),")?;
    }
    table.push(']');
    Ok(table)
}

/// Returns the names in braces.
fn placeholders(text: &str) -> BTreeSet<&str> {
    let after = text.split('{').skip(1);
    let names = after.filter_map(|rest| rest.split_once('}'));
    names.map(|(name, _)| name).collect()
}
