//! Features of a server alone: users, passwords, encryption, an end in between.
#![cfg(feature = "postgres")]
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

mod common;

use assay_model::run::RunStatus;
use assay_store::{Location, ROLES, Store, StoreError};
use assay_testkit::{Postgres, or_skip, postgres};
use common::{header, owner, trial};
use std::ffi::OsStr;

fn at(url: &str) -> Location {
    Location::parse(OsStr::new(url))
}

/// The URL with the right password.
fn with_password(url: &str) -> String {
    let password: String = postgres::PASSWORD
        .bytes()
        .map(|byte| format!("%{byte:02x}"))
        .collect();
    url.replacen('@', &format!(":{password}@"), 1)
}

fn said(error: &StoreError) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    assert!(!text.contains(postgres::PASSWORD), "{text}");
    text
}

#[test]
fn a_password_is_needed_and_never_shown() {
    let server = or_skip!(Postgres::shared());
    let name = server.database().unwrap();
    let url = server.tcp_url(&name);
    let without = Store::open(at(&url)).unwrap_err();
    assert!(matches!(without, StoreError::Denied { .. }), "{without:?}");
    assert!(said(&without).contains("PGPASSWORD"), "{without}");
    let wrong = Store::open(at(&url.replacen('@', ":not-it@", 1))).unwrap_err();
    assert!(matches!(wrong, StoreError::Denied { .. }), "{wrong:?}");
    assert!(!said(&wrong).contains("not-it"));
    assert!(!format!("{wrong:?}").contains("not-it"));
    let store = Store::open(at(&with_password(&url))).unwrap();
    assert!(store.runs().unwrap().is_empty());
    assert_eq!(store.location().to_string(), url);
    assert!(!format!("{store:?}").contains(postgres::PASSWORD));
}

#[test]
fn what_cannot_be_opened_is_named() {
    let server = or_skip!(Postgres::shared());
    let name = server.database().unwrap();
    let none = Store::open_existing(at(&server.url(&name))).unwrap_err();
    assert!(matches!(none, StoreError::NotMade { .. }), "{none:?}");
    let missing = Store::open(at(&server.url("nowhere"))).unwrap_err();
    assert!(
        matches!(missing, StoreError::NoDatabase { .. }),
        "{missing:?}"
    );
    assert!(said(&missing).contains("createdb"), "{missing}");
    let nobody = Store::open(at(&server.url_of("nobody", &name))).unwrap_err();
    assert!(matches!(nobody, StoreError::Denied { .. }), "{nobody:?}");
    let gone = Store::open(at("postgres://ann@127.0.0.1:1/lab")).unwrap_err();
    assert!(matches!(gone, StoreError::Unreachable { .. }), "{gone:?}");
    let unknown = Store::open(at("postgres://ann@no-such-host.invalid/lab")).unwrap_err();
    assert!(
        matches!(unknown, StoreError::Unreachable { .. }),
        "{unknown:?}"
    );
    for wrong in [
        "postgres://h/d?colour=red",
        "postgres://h:x/d",
        "postgres://h/d?sslmode=maybe",
    ] {
        let error = Store::open(at(wrong)).unwrap_err();
        assert!(matches!(error, StoreError::BadAddress { .. }), "{error:?}");
        said(&error);
    }
    let options = format!("{}&options=-cfoo%3Dbar", server.url(&name));
    let error = Store::open(at(&options)).unwrap_err();
    assert!(matches!(error, StoreError::BadAddress { .. }), "{error:?}");
    let unencrypted = with_password(&server.tcp_url(&name)) + "?sslmode=require";
    let error = Store::open(at(&unencrypted)).unwrap_err();
    assert!(matches!(error, StoreError::Insecure { .. }), "{error:?}");
    said(&error);
}

#[test]
fn tables_of_another_program_and_of_a_newer_assay_are_refused() {
    let server = or_skip!(Postgres::shared());
    let name = server.database().unwrap();
    server.sql(&name, "CREATE TABLE trials (x text)").unwrap();
    let foreign = Store::open(at(&server.url(&name))).unwrap_err();
    assert!(matches!(foreign, StoreError::Foreign { .. }), "{foreign:?}");
    let tables = server.sql(
        &name,
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'",
    );
    assert_eq!(
        tables.unwrap(),
        "1",
        "what was made before the failure stayed"
    );

    let name = server.database().unwrap();
    drop(Store::open(at(&server.url(&name))).unwrap());
    server
        .sql(&name, "UPDATE assay_store SET version = 99")
        .unwrap();
    let newer = Store::open_existing(at(&server.url(&name))).unwrap_err();
    assert!(
        matches!(newer, StoreError::Newer { found: 99, .. }),
        "{newer:?}"
    );
}

#[test]
fn a_reader_reads_a_writer_writes_and_neither_changes_tables() {
    let server = or_skip!(Postgres::shared());
    let name = server.database().unwrap();
    let mut store = Store::open(at(&server.url(&name))).unwrap();
    store.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    server.sql(&name, ROLES).unwrap();
    server.sql(&name, ROLES).unwrap();
    server
        .sql(&name, "CREATE ROLE rea LOGIN IN ROLE assay_reader; CREATE ROLE wri LOGIN IN ROLE assay_writer; CREATE ROLE out LOGIN")
        .unwrap();
    let reader = at(&server.url_of("rea", &name));
    let mut reading = Store::open(&reader).unwrap();
    assert_eq!(reading.load("abc1").unwrap().run.header.id, "abc1");
    let refused = reading.annotate("abc1", |a| a.add_tag("x")).unwrap_err();
    assert!(
        matches!(refused, StoreError::Forbidden { .. }),
        "{refused:?}"
    );
    assert!(said(&refused).contains("right to write"), "{refused}");
    let mut only = Store::open_to_read(at(&server.url(&name))).unwrap();
    let refused = only.annotate("abc1", |a| a.add_tag("x")).unwrap_err();
    assert!(
        matches!(refused, StoreError::Forbidden { .. }),
        "{refused:?}"
    );
    let mut writing = Store::open(at(&server.url_of("wri", &name))).unwrap();
    writing.begin_run(&header("abd2", 2_000), &owner()).unwrap();
    writing.save_trial("abd2", &trial(0)).unwrap();
    assert_eq!(reading.runs().unwrap().len(), 2);
    let out = Store::open(at(&server.url_of("out", &name))).unwrap_err();
    assert!(matches!(out, StoreError::Forbidden { .. }), "{out:?}");

    server
        .sql(&name, "UPDATE assay_store SET version = 3")
        .unwrap();
    let older = Store::open(at(&server.url_of("wri", &name))).unwrap_err();
    assert!(
        matches!(older, StoreError::Older { found: 3, .. }),
        "{older:?}"
    );
    said(&older);
}

#[test]
fn a_server_that_was_restarted_is_found_again() {
    let server = or_skip!(Postgres::start());
    let name = server.database().unwrap();
    let mut store = Store::open(at(&server.url(&name))).unwrap();
    store.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    server.halt();
    let gone = store.runs().unwrap_err();
    assert!(
        matches!(
            gone,
            StoreError::Unreachable { .. } | StoreError::Lost { .. }
        ),
        "{gone:?}"
    );
    said(&gone);
    server.go_on().unwrap();
    assert_eq!(store.runs().unwrap().len(), 1, "reading goes on");
    server.halt();
    server.go_on().unwrap();
    store.save_trial("abc1", &trial(0)).unwrap();
    store
        .finish_run("abc1", &RunStatus::Finished, 2_000)
        .unwrap();
    assert_eq!(store.load("abc1").unwrap().run.trials.len(), 1);
}

#[test]
fn many_rows_are_stored_at_once() {
    let server = or_skip!(Postgres::shared());
    let name = server.database().unwrap();
    let mut store = Store::open(at(&server.url(&name))).unwrap();
    store.begin_run(&header("abc1", 1_000), &owner()).unwrap();
    let trials: Vec<_> = (0..2_000).map(trial).collect();
    store.save_trials("abc1", &trials).unwrap();
    assert!(store.expect_trials("abc1", 2_000).is_ok());
}

#[test]
fn encryption_means_what_psqls_users_expect() {
    let server = or_skip!(Postgres::start_encrypted());
    let name = server.database().unwrap();
    let by_address = with_password(&server.tcp_url(&name));
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let other = or_skip!(Postgres::start_encrypted());
    let [own, others] = [&server, &other].map(|server| server.certificate().display().to_string());
    let open = |url: &str, parameters: &str| Store::open(at(&format!("{url}?{parameters}")));
    for (url, parameters) in [
        (&by_address, "sslmode=prefer".to_owned()),
        (&by_address, "sslmode=require".to_owned()),
        (&by_name, format!("sslmode=verify-full&sslrootcert={own}")),
        (&by_address, format!("sslmode=verify-ca&sslrootcert={own}")),
        (&by_address, format!("sslmode=require&sslrootcert={own}")),
    ] {
        open(url, &parameters).unwrap_or_else(|error| panic!("{parameters}: {error}"));
    }
    for (url, parameters) in [
        (&by_address, "sslmode=disable".to_owned()),
        (&by_name, "sslmode=verify-full".to_owned()),
        (
            &by_address,
            format!("sslmode=verify-full&sslrootcert={own}"),
        ),
        (
            &by_name,
            format!("sslmode=verify-full&sslrootcert={others}"),
        ),
        (&by_name, format!("sslmode=require&sslrootcert={others}")),
        (
            &by_name,
            "sslmode=verify-ca&sslrootcert=/nowhere".to_owned(),
        ),
    ] {
        let error = open(url, &parameters).expect_err(&parameters);
        assert!(
            matches!(error, StoreError::Insecure { .. }),
            "{parameters}: {error:?}"
        );
        said(&error);
    }
}
