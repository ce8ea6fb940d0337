//! Template and catalogue of translations: `cargo xtask words`.

use crate::run::{cargo, run};
use anyhow::{Context, Result};
use std::process::Command;

const TEMPLATE: &str = "crates/lang/po/assay.pot";
const CATALOGUE: &str = "crates/lang/po/zh.po";

/// Writes the template from the sources and merges it into the catalogue. A new text has no
/// translation yet. A changed text keeps its former translation marked as fuzzy, which is
/// not used until a translator removes the mark.
pub fn update() -> Result<()> {
    let test = ["test", "--quiet", "--package", "assay-cli", "--bin=assay"];
    let only = ["write_the_template", "--", "--ignored"];
    run(cargo().args(test).args(only))?;
    let merge = ["--update", "--backup=none", "--no-wrap", "--quiet"];
    run(Command::new("msgmerge")
        .args(merge)
        .args([CATALOGUE, TEMPLATE]))
    .context("gettext is needed (apt: gettext)")?;
    let count = ["--statistics", "--output-file=/dev/null"];
    run(Command::new("msgfmt").args(count).arg(CATALOGUE))
}
