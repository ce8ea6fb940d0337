//! Lists in pages.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_store::{ListFilter, ListKey, Listed, Store};
use common::{Bed, header, import, owner};

on_both!(
    pages_have_all_once_newest_first,
    a_filter_finds_words_wherever_they_stand,
);

fn id(entry: &Listed) -> &str {
    match entry {
        Listed::Run(run) => &run.id,
        Listed::Import(import) => &import.id,
    }
}

fn ids(entries: &[Listed]) -> Vec<&str> {
    entries.iter().map(id).collect()
}

fn fill(store: &mut Store) {
    for (id, started) in [("r1", 1_000), ("r3", 3_000), ("r2", 2_000), ("r2b", 2_000)] {
        store.begin_run(&header(id, started), &owner()).unwrap();
    }
    for (id, at) in [("i2", 2_000), ("i2b", 2_000), ("i4", 4_000)] {
        store.save_import(&import(id, at)).unwrap();
    }
}

fn pages_have_all_once_newest_first(bed: &Bed) {
    let mut store = bed.open();
    let all = ListFilter::default();
    assert_eq!(store.page(&all, None, 5).unwrap().entries, []);
    fill(&mut store);
    let order = ["i4", "r3", "r2b", "r2", "i2b", "i2", "r1"];
    for limit in 1..=8 {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = store.page(&all, after, limit).unwrap();
            assert!(page.entries.len() <= limit as usize);
            found.extend(ids(&page.entries).into_iter().map(str::to_owned));
            let Some(next) = page.next else { break };
            // As it stands in an address.
            let text = next.to_string();
            after = Some(text.parse::<ListKey>().unwrap());
        }
        assert_eq!(found, order, "{limit}");
    }
    assert_eq!(store.count(&all).unwrap(), 7);
    for wrong in ["", "1", "1-2-3", "a-0-1", "1-0-x"] {
        assert!(wrong.parse::<ListKey>().is_err(), "{wrong}");
    }
}

fn a_filter_finds_words_wherever_they_stand(bed: &Bed) {
    let mut store = bed.open();
    fill(&mut store);
    store
        .annotate("r1", |noted| noted.note = Some("100 % Cold_".to_owned()))
        .unwrap();
    store
        .annotate("i4", |noted| noted.add_tag("nightly"))
        .unwrap();
    let found = |filter: &ListFilter| {
        let page = store.page(filter, None, 10).unwrap();
        assert_eq!(store.count(filter).unwrap(), page.entries.len() as u64);
        ids(&page.entries).join(" ")
    };
    let text = |text: &str| ListFilter {
        text: Some(text.to_owned()),
        ..ListFilter::default()
    };
    let device = |text: &str| ListFilter {
        device: Some(text.to_owned()),
        ..ListFilter::default()
    };
    let command = |text: &str| ListFilter {
        command: Some(text.to_owned()),
        ..ListFilter::default()
    };
    assert_eq!(found(&command("qualify")), "r3 r2b r2 r1");
    assert_eq!(found(&command("import")), "i4 i2b i2");
    assert_eq!(found(&command("sweep")), "");
    assert_eq!(found(&device("dg4032")), "r3 r2b r2 r1");
    assert_eq!(found(&device("FIO-3")), "i4 i2b i2");
    for (wanted, ids) in [
        ("cold_", "r1"),
        ("c_ld", ""),
        ("100 %", "r1"),
        ("%", "r1"),
        ("NIGHT", "i4"),
        ("quoted", "i4 i2b i2"),
        ("r2b", "r2b"),
        ("'", ""),
        ("/mnt", "r3 r2b r2 r1"),
    ] {
        assert_eq!(found(&text(wanted)), ids, "{wanted}");
    }
    let recent = ListFilter {
        since_unix_ms: Some(2_000),
        ..device("sandisk")
    };
    assert_eq!(found(&recent), "r3 r2b r2");
}
