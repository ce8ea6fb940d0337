//! What is documented and listed agrees with the table.

use crate::fio::{compat_table, options};
use std::collections::BTreeSet;
use std::path::Path;

/// Write the file anew with `UPDATE_COMPAT=1 cargo test -p assay-dialects`.
#[test]
fn the_document_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compat/fio.md");
    let table = compat_table();
    if std::env::var_os("UPDATE_COMPAT").is_some() {
        std::fs::write(&path, &table).expect("docs/compat/fio.md can be written");
    }
    let document = std::fs::read_to_string(&path).expect("docs/compat/fio.md is there");
    assert!(
        document == table,
        "docs/compat/fio.md is old: see this test's comment"
    );
}

/// First words of the lines of `fio` with this argument, if fio is there.
fn fio(argument: &str) -> Option<Vec<String>> {
    let output = match assay_testkit::command("fio").arg(argument).output() {
        Ok(output) => output,
        Err(error) => {
            assay_testkit::skip(&format!("fio cannot be run: {error}"));
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.lines().filter_map(|line| {
        let name = line.split(':').next()?.trim();
        Some(name.to_owned()).filter(|name| !name.is_empty())
    });
    Some(words.collect())
}

#[test]
fn every_option_that_fio_lists_is_in_the_table() {
    let Some(listed) = fio("--cmdhelp=all") else {
        return;
    };
    assert!(listed.len() > 200, "fio lists its options");
    let missing: Vec<_> = listed
        .iter()
        .filter(|name| options::find(name).is_none())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_engine_that_fio_lists_and_its_options_are_in_the_table() {
    let Some(listed) = fio("--enghelp") else {
        return;
    };
    for engine in &listed[1..] {
        assert!(options::engine(engine).is_some(), "{engine}");
        let own = fio(&format!("--enghelp={engine}")).unwrap_or_default();
        for option in own.iter().filter(|line| !line.contains("has no options")) {
            let known = options::find(option);
            assert!(
                known.is_some_and(|known| known.engines.contains(&engine.as_str())),
                "{option} of {engine}"
            );
        }
    }
}

/// The names are those of the table's own functions, so that what works sets
/// something and what is refused does not.
#[test]
fn every_supported_option_has_a_setter() {
    let mut without = BTreeSet::new();
    for option in options::all() {
        let works = matches!(
            option.support,
            options::Support::Works | options::Support::Differs(_)
        );
        if works == matches!(option.set, options::Set::Nothing) {
            without.insert(option.name);
        }
    }
    assert!(without.is_empty(), "{without:?}");
}
