//! Stored runs in a file and in PostgreSQL: every command says the same of both.

use crate::assay::{Bed, Ended, Running, text, trials, with_store};
use crate::over_ssh::{Machine, write_program};
use crate::sweep::Knob;
use assay_store::{Location, ROLES, Store, StoredId};
use assay_testkit::{Postgres, or_skip, postgres};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const EMMC: &str = "sim:emmc-8gb-hs400,noise=5";

/// Standard output of a command, which must succeed.
fn printed(bed: &Bed, store: &str, words: &[&str]) -> String {
    let ended = with_store(bed, store, words);
    ended.assert_code(0);
    ended.out
}

/// Two named runs on a simulated device and an import, in the file of the bed.
fn measured() -> Bed {
    let bed = Bed::new();
    for (name, seed) in [("base", "1"), ("new", "2")] {
        let words = [
            "qualify",
            EMMC,
            "--quick",
            "--only",
            "rand-read-4k,seq-write-1m",
            "--seed",
            seed,
            "--name",
            name,
        ];
        bed.run(&words).assert_code(0);
    }
    let table = bed.join("governors.csv");
    let figures =
        "condition,metric,unit,n,mean,stdev\na,read,MB/s,3,65.28,0.77\nb,read,MB/s,3,75.47,0.43\n";
    fs::write(&table, figures).expect("a file");
    bed.run(&["store", "import", text(&table), "--name", "table"])
        .assert_code(0);
    bed
}

/// Copies all that the bed has into a store.
fn copy(bed: &Bed, store: &str) {
    bed.run(&["store", "push", "--all", "--to", store])
        .assert_code(0);
}

/// The body of both tests. Statements of users are asked as the one that `reader` gives.
fn every_command_says_the_same(bed: &Bed, store: &str, reader: impl FnOnce() -> String) {
    copy(bed, store);
    let file = bed.store();
    let file = text(&file);
    let base = printed(bed, file, &["report", "base", "--json"]);
    let id = serde_json::from_str::<Value>(&base).expect("JSON")["run"]["id"].clone();
    let id = id.as_str().expect("an id").to_owned();
    let beginning = &id[..id.len() - 1];
    for words in [
        &["list"][..],
        &["list", "--json"],
        &["list", "--limit", "1"],
        &["list", "--text", "BASE", "--command", "qualify"],
        &["list", "--device", "emmc", "--since", "1h", "--json"],
        &["report", &id, "--json"],
        &["report", beginning],
        &["report", "base"],
        &["report", "last"],
        &["report", "new", "--json"],
        &["compare", "base", "new"],
        &["compare", "base", "new", "--json"],
        &["compare", "table@a", "table@b", "--json"],
        &["rank", "table", "--json"],
        &["model", "power", "base"],
        &["model", "explain", "base", "--json"],
    ] {
        let [here, there] = [file, store].map(|store| printed(bed, store, words));
        assert_eq!(here, there, "{words:?}");
        assert!(!here.is_empty(), "{words:?}");
    }
    for words in [&["report", "nosuch"][..], &["compare", "base", "nosuch"]] {
        let [here, there] = [file, store].map(|store| with_store(bed, store, words).refusal());
        assert_eq!(here.replace(file, "STORE"), there.replace(store, "STORE"));
        assert!(there.contains("nosuch"), "{there}");
    }
    let pages = bed.join("pages");
    printed(bed, store, &["report", "--all", text(&pages)]);
    assert!(pages.join(format!("{id}.html")).exists());
    derived(bed, file, store, &reader());
    changes(bed, store, &id);
    campaign(bed, store);
    resumed(bed, store);
}

/// Series, views, exports, and all of it derived again.
fn derived(bed: &Bed, file: &str, store: &str, reader: &str) {
    let figures = "SELECT run, started, series, label, n, centre, samples FROM assay_figures \
                   ORDER BY run, series";
    let evidence = "SELECT * FROM assay_trial_evidence ORDER BY run, position, direction";
    let series = [
        &["series"][..],
        &["series", "--json"],
        &["series", "--gate", "--since", "1h"],
        &["series", "rand-read-4k iops"],
        &["series", "rand-read-4k iops", "--json"],
    ];
    let queries = [
        &["store", "query", figures, "--format", "csv"][..],
        &["store", "query", evidence, "--format", "json"],
        &[
            "store",
            "query",
            "SELECT name, tags, note FROM assay_runs ORDER BY run",
        ],
    ];
    let asked = |store: &str, reader: &str| -> Vec<String> {
        let series = series.iter().map(|words| printed(bed, store, words));
        let queries = queries.iter().map(|words| printed(bed, reader, words));
        let all: Vec<String> = series.chain(queries).collect();
        assert!(all.iter().all(|out| out.lines().count() > 1), "{all:#?}");
        all
    };
    let here = asked(file, file);
    assert_eq!(here, asked(store, reader));
    with_store(bed, store, &["store", "rebuild"]).assert_code(0);
    assert_eq!(here, asked(store, reader));
    let [here, there] = [(file, "tidy"), (reader, "tidy-there")].map(|(store, folder)| {
        let folder = bed.join(folder);
        printed(bed, store, &["store", "export", "--tidy", text(&folder)]);
        files(&folder)
    });
    assert_eq!(here, there);
    assert!(here.contains_key("trial_evidence.csv"), "{here:#?}");
}

/// Files of a folder, by their names.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let all = fs::read_dir(folder).expect("a folder");
    let all = all.map(|file| {
        let path = file.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        (name.into_owned(), fs::read_to_string(&path).expect("text"))
    });
    all.collect()
}

/// Names, removal and imports.
fn changes(bed: &Bed, store: &str, id: &str) {
    printed(
        bed,
        store,
        &["store", "tag", "base", "--name", "first", "--tag", "x=1"],
    );
    assert!(printed(bed, store, &["report", "first"]).contains(id));
    let taken = with_store(bed, store, &["store", "tag", "new", "--name", "first"]).refusal();
    assert!(taken.contains("is called 'first' already"), "{taken}");
    let table = bed.join("governors.csv");
    let imported = printed(
        bed,
        store,
        &["store", "import", text(&table), "--name", "again"],
    );
    assert!(imported.contains("Stored as import"), "{imported}");
    assert!(printed(bed, store, &["report", "last"]).contains("again"));
    with_store(bed, store, &["store", "rm", "first", "nosuch"]).assert_code(2);
    printed(bed, store, &["store", "rm", "first", "again"]);
    with_store(bed, store, &["report", id]).assert_code(2);
    let left = printed(bed, store, &["list", "--json"]);
    let left: Value = serde_json::from_str(&left).expect("JSON");
    assert_eq!(left["runs"].as_array().map(Vec::len), Some(2));
    let words = [
        "store",
        "tag",
        "new",
        "--tag",
        "y=2",
        "--note",
        "of the second card",
    ];
    printed(bed, store, &words);
    let noted = printed(bed, store, &["list", "--text", "second card", "--json"]);
    assert!(noted.contains("y=2"), "{noted}");
}

/// `assay WORDS` of somebody whose settings name that store.
fn command_of(bed: &Bed, store: &str, words: &[&str]) -> Command {
    let mut command = bed.command_without_store(words);
    command
        .env("ASSAY_STORE", store)
        .env("XDG_DATA_HOME", bed.join("data"));
    command
}

/// The file that these commands measure into.
fn measured_into(bed: &Bed, store: &str) -> PathBuf {
    match Location::parse(store.as_ref()) {
        Location::File(path) => path,
        Location::Server(_) => bed.join("data/assay/runs.sqlite"),
    }
}

fn status_of(bed: &Bed, store: &str, run: &str) -> Option<String> {
    let listed = printed(bed, store, &["list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let mut runs = listed["runs"].as_array().expect("a list").iter();
    let run = runs.find(|listed| listed["id"] == run)?;
    Some(run["status"].as_str().expect("a word").to_owned())
}

/// A campaign measures into the file, and what it measured is in the store at its end.
fn campaign(bed: &Bed, store: &str) {
    let file = bed.join("campaign.toml");
    let words = format!("[\"qualify\", \"{EMMC}\", \"--quick\", \"--only\", \"rand-read-4k\"]");
    let part = "[[part]]\nname = \"card\"\ntargets = [\"local\"]\n";
    fs::write(&file, format!("command = {words}\n{part}")).expect("a file");
    let ended = Running::start(&mut command_of(
        bed,
        store,
        &["lab", "campaign", text(&file)],
    ))
    .end();
    ended.assert_code(0);
    let local = measured_into(bed, store);
    let [here, there] = [text(&local), store].map(|store| {
        let run = printed(bed, store, &["report", "last", "--json"]);
        serde_json::from_str::<Value>(&run).expect("JSON")
    });
    assert_eq!(here, there);
    assert_eq!(there["run"]["status"], "finished");
    let ended = Running::start(&mut command_of(bed, store, &["store", "push"])).end();
    ended.assert_says(&["nothing waits to be pushed"]);
}

/// A sweep that was stopped is in the file trial by trial, and in the store when it is whole.
fn resumed(bed: &Bed, store: &str) {
    let knob = Knob::new(bed);
    let folder = bed.folder();
    let words = [
        &[
            "sweep",
            text(&folder),
            "--vary",
            &knob.vary,
            "--rounds",
            "4",
        ][..],
        &["--idle", "300ms", "--quick", "--size", "1M"],
        &["--only", "read-cached", "--name", "stopped"],
    ];
    let mut running = Running::start(&mut command_of(bed, store, &words.concat()));
    running.await_trials(3);
    running.signal(Signal::INT);
    running.end().assert_code(130);
    let local = measured_into(bed, store);
    let run = |store: &str| -> Value {
        let shown = printed(bed, store, &["report", "stopped", "--json"]);
        serde_json::from_str(&shown).expect("JSON")
    };
    let stopped = run(text(&local));
    assert!(trials(&stopped, "read-cached").len() >= 3);
    let id = stopped["run"]["id"].as_str().expect("an id").to_owned();
    let is_file = text(&local) == store;
    let expected = is_file.then(|| "interrupted".to_owned());
    assert_eq!(status_of(bed, store, &id), expected);
    let resume = ["sweep", "--resume", "stopped"];
    let ended = Running::start(&mut command_of(bed, store, &resume)).end();
    ended.assert_code(0);
    assert_eq!(status_of(bed, store, &id), Some("finished".to_owned()));
    let whole = run(store);
    assert_eq!(whole, run(text(&local)));
    assert_eq!(trials(&whole, "read-cached").len(), 10);
    // One that has ended is never made longer.
    let ended = Running::start(&mut command_of(bed, store, &resume)).end();
    ended.assert_says(&["nothing is missing of run"]);
    assert_eq!(run(store), whole);
}

#[test]
fn runs_of_a_killed_campaign_wait_to_be_pushed() {
    let machine = Machine::with_honest_agent();
    let bed = &machine.bed;
    // The second board never answers.
    write_program(&machine.folder.join("ssh"), "#!/bin/sh\nexec sleep 5\n");
    let nowhere = "postgres://ann@127.0.0.1:1/lab";
    let file = bed.join("campaign.toml");
    let folder = bed.folder();
    let words = [
        &["qualify", text(&folder), "--quick", "--size", "1M"][..],
        &["--trials", "1", "--only", "read-cached"],
    ];
    let part = "at_once = 1\n[[part]]\nname = \"a\"\ntargets = [\"local\", \"ssh://board\"]\n";
    fs::write(&file, format!("command = {:?}\n{part}", words.concat())).expect("a file");
    let mut command = machine.command(&["lab", "campaign", text(&file)]);
    let path = command.get_envs().find(|(name, _)| *name == "PATH");
    let path = path.and_then(|(_, path)| path).expect("a path").to_owned();
    command = command_of(bed, nowhere, &["lab", "campaign", text(&file)]);
    let mut running = Running::start(command.env("PATH", path));
    running.await_words("1 of 2");
    running.kill(false);
    let local = measured_into(bed, nowhere);
    let waiting = with_store(bed, text(&local), &["list"]);
    waiting.assert_says(&["1 run waits to be pushed to", nowhere]);
}

#[test]
fn every_command_says_the_same_of_another_file() {
    let bed = measured();
    let store = bed.join("shared.sqlite");
    every_command_says_the_same(&bed, text(&store), || text(&store).to_owned());
}

#[test]
fn every_command_says_the_same_of_a_database() {
    let server = or_skip!(Postgres::shared());
    let database = server.database().expect("a database");
    let reader = || reader(&server, &database);
    every_command_says_the_same(&measured(), &server.url(&database), reader);
}

/// Address of a new user who may only read; the store is there.
pub fn reader(server: &Postgres, database: &str) -> String {
    let name = format!("reader_of_{database}");
    server.sql(database, ROLES).expect("roles");
    let role = format!("CREATE ROLE {name} LOGIN IN ROLE assay_reader");
    server.sql(database, &role).expect("a role");
    server.url_of(&name, database)
}

/// A list of a store by TCP, with settings that the test makes.
fn list_by_tcp(bed: &Bed, url: &str, set: impl FnOnce(&mut Command)) -> Ended {
    let mut command = bed.command_without_store(&["list"]);
    command.args(["--store", url]).env("HOME", bed.join(""));
    set(&mut command);
    Running::start(&mut command).end()
}

#[test]
fn the_password_comes_from_where_psql_has_it_and_is_never_shown() {
    let server = or_skip!(Postgres::shared());
    let database = server.database().expect("a database");
    drop(Store::open(Location::parse(server.url(&database).as_ref())).expect("a store"));
    let bed = Bed::new();
    let url = server.tcp_url(&database);
    let none = list_by_tcp(&bed, &url, |_| {}).refusal();
    assert!(none.contains("refuses the user"), "{none}");
    let ended = list_by_tcp(&bed, &url, |command| {
        command.env("PGPASSWORD", postgres::PASSWORD);
    });
    ended.assert_code(0);
    // Of the password file, only a colon and a backslash are special.
    let secret = postgres::PASSWORD.replace(':', "\\:");
    let file = bed.join(".pgpass");
    let line = format!(
        "127.0.0.1:{}:*:{}:{secret}\n",
        server.port(),
        postgres::OWNER
    );
    fs::write(&file, format!("# ours\nother:*:*:*:no\n{line}")).expect("a file");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("ours");
    list_by_tcp(&bed, &url, |_| {}).assert_code(0);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("ours");
    let exposed = list_by_tcp(&bed, &url, |_| {}).refusal();
    assert!(exposed.contains("chmod 600"), "{exposed}");
    assert!(!exposed.contains(postgres::PASSWORD), "{exposed}");
}

#[test]
fn a_measuring_command_keeps_to_the_local_file_and_hides_the_password() {
    let server = or_skip!(Postgres::shared());
    let database = server.database().expect("a database");
    let bed = Bed::new();
    let with_secret = server.url(&database).replacen('@', ":s3cr3t@", 1);
    let data = bed.join("data");
    let mut command = bed.command_without_store(&["qualify", EMMC, "--quick"]);
    command.args(["--only", "rand-read-4k", "--store", &with_secret]);
    command.env("XDG_DATA_HOME", &data);
    let ended = Running::start(&mut command).end();
    ended.assert_code(0);
    let local = Store::open_existing(&data.join("assay/runs.sqlite")).expect("the local file");
    let StoredId::Run(id) = local.find("last").expect("a run") else {
        panic!("an import");
    };
    let stored = local.load(&id).expect("a run").run.header.command.join(" ");
    assert!(stored.contains(&server.url(&database)), "{stored}");
    for text in [&stored, &ended.out, &ended.err.join("\n")] {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
    let mut command = bed.command_without_store(&["lab", "config"]);
    command.env("ASSAY_STORE", &with_secret);
    let config = Running::start(&mut command).end();
    config.assert_code(0);
    assert!(
        config.out.contains(&server.url(&database)),
        "{}",
        config.out
    );
    assert!(!config.out.contains("s3cr3t"), "{}", config.out);
}

#[test]
fn a_database_is_named_by_variable_and_config_file_and_read_by_readers() {
    let server = or_skip!(Postgres::shared());
    let database = server.database().expect("a database");
    let bed = measured();
    let url = server.url(&database);
    copy(&bed, &url);
    let url = reader(&server, &database);
    let mut by_variable = bed.command_without_store(&["report", "base"]);
    by_variable.env("ASSAY_STORE", &url);
    let mut by_file = bed.command_without_store(&["report", "base"]);
    let file = bed.join("settings.toml");
    fs::write(&file, format!("store = \"{url}\"\n")).expect("a file");
    by_file.env("ASSAY_CONFIG", &file);
    for command in [&mut by_variable, &mut by_file] {
        let shown = Running::start(command).end();
        shown.assert_code(0);
        assert!(shown.out.contains("base"), "{}", shown.out);
    }
    for words in [
        &["store", "tag", "base", "--tag", "x"][..],
        &["store", "rm", "base"],
    ] {
        let refused = with_store(&bed, &url, words).refusal();
        assert!(refused.contains("right to write"), "{refused}");
    }
    let gone = with_store(&bed, "postgres://ann@127.0.0.1:1/lab", &["list"]);
    gone.assert_code(1);
    assert!(
        gone.err.join(" ").contains("cannot reach the server"),
        "{:?}",
        gone.err
    );
}
