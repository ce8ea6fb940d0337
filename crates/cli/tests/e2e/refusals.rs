//! Bad input gets one clear line and exit code 2, and changes nothing.

use crate::assay::{Bed, Running, text};
use crate::pages::root;
use assay_store::{Owner, Store};
use assay_testkit::{LoopDevice, Mount, Scratch, Volume, make_file_system, needs, or_skip};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Panics unless the line has all of these.
fn assert_has(line: &str, words: &[&str]) {
    assert!(line.starts_with("assay: "), "{line}");
    for word in words {
        assert!(line.contains(word), "no '{word}': {line}");
    }
}

#[test]
fn flags() {
    let bed = Bed::new();
    let folder = bed.folder();
    let path = text(&folder);
    for (words, expected) in [
        (&["--trials", "0"][..], &["--trials", "0"][..]),
        (&["--trials", "many"], &["--trials", "many"]),
        (&["--size", "3q"], &["--size", "3q"]),
        (&["--size", "0"], &["--size", "1 MiB"]),
        (&["--seed", "-1"], &["-1"]),
        (&["--trails", "3"], &["--trails", "--trials"]),
        (&["--quick", "--thorough"], &["--quick", "--thorough"]),
        (&["--only", "no-such"], &["no-such", "ladder-plain"]),
    ] {
        let mut all = vec!["qualify", path];
        all.extend_from_slice(words);
        assert_has(&bed.refused(&all), expected);
    }
    assert_has(&bed.refused(&["qualifi", path]), &["qualify"]);
    assert_has(&bed.refused(&["qualify"]), &["PATH"]);
    assert!(fs::read_dir(&folder).unwrap().next().is_none());
}

#[test]
fn paths() {
    let bed = Bed::new();
    assert_has(
        &bed.refused(&["qualify", "/no/such/path"]),
        &["/no/such/path", "does not exist"],
    );
    assert_has(&bed.refused(&["qualify", "/dev/null"]), &["/dev/null"]);
    assert_has(&bed.refused(&["qualify", ""]), &["PATH"]);
    assert_has(&bed.refused(&["qualify", "/proc"]), &["proc", "no storage"]);

    let empty = bed.join("empty");
    File::create(&empty).unwrap();
    assert_has(&bed.refused(&["qualify", text(&empty)]), &["empty"]);

    let holes = bed.join("holes");
    File::create(&holes).unwrap().set_len(64 << 20).unwrap();
    assert_has(&bed.refused(&["qualify", text(&holes)]), &["holes"]);
}

#[test]
fn a_folder_without_permission() {
    needs!(root, "setpriv");
    let bed = Bed::new();
    let folder = bed.folder();
    let refused = |path: &Path| {
        let mut command = bed.command_of_nobody(&["qualify", text(path)]);
        Running::start(&mut command).end().refusal()
    };
    assert_has(&refused(&folder), &["no permission", text(&folder)]);
    // Not even the way to it.
    let hidden = bed.join("hidden");
    fs::create_dir_all(hidden.join("in")).unwrap();
    std::os::unix::fs::chown(&hidden, Some(0), Some(0)).unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&hidden, closed).unwrap();
    assert_has(&refused(&hidden.join("in")), &["no permission"]);
}

/// It is not in use: only its owner may open it.
#[test]
fn a_device_without_permission() {
    needs!(root, "setpriv");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    let node = text(device.node());
    for words in [
        &["qualify", node][..],
        &["qualify", node, "--destroy-data"],
        &["mark", node, "--destroy-data"],
        &["lab", "soak", node, "--destroy-data"],
        &["model", "traits", node, "--destroy-data"],
        &["capacity", node, "--verify-only"],
        &["disks", node],
        &["ping", node],
    ] {
        let mut command = bed.command_of_nobody(words);
        let line = Running::start(&mut command).end().refusal();
        assert_has(&line, &["no permission", node]);
        assert!(!line.contains("in use"), "{line}");
    }
}

#[test]
fn a_read_only_mount() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::with("ext4", 64, &["-o", "ro"], |_| Ok(())));
    let line = Bed::new().refused(&["qualify", text(volume.point())]);
    assert_has(&line, &[text(volume.point()), "read-only"]);
}

#[test]
fn no_room() {
    needs!(root);
    let bed = Bed::new();
    let small = or_skip!(Mount::tmpfs(64, &bed.join("small")));
    let point = text(small.point());
    let line = bed.refused(&["qualify", point, "--size", "1G"]);
    assert_has(&line, &["not enough space for --size 1 GiB", point]);
    let full = or_skip!(Mount::tmpfs(8, &bed.join("full")));
    let line = bed.refused(&["qualify", text(full.point()), "--quick"]);
    assert_has(&line, &["is full", text(full.point())]);
}

#[test]
fn stores() {
    let bed = Bed::new();
    let folder = bed.folder();
    // No run yet, so no store.
    for words in [&["list"][..], &["report", "last"]] {
        assert_has(&bed.refused(words), &["no store", "assay qualify"]);
    }
    assert!(!bed.store().exists(), "a look makes no store");

    fs::write(bed.store(), "my notes, more than a few of them, to keep").unwrap();
    for words in [&["list"][..], &["qualify", text(&folder)]] {
        assert_has(&bed.refused(words), &["not an SQLite database"]);
    }
    let notes = fs::read_to_string(bed.store()).unwrap();
    assert!(notes.starts_with("my notes"), "it was overwritten");

    fs::remove_file(bed.store()).unwrap();
    fs::create_dir(bed.store()).unwrap();
    for words in [&["list"][..], &["qualify", text(&folder)]] {
        assert_has(&bed.refused(words), &["not a regular file"]);
    }
}

#[test]
fn a_store_from_a_newer_version() {
    // Where SQLite keeps `PRAGMA user_version`, the format's number.
    const USER_VERSION_AT: u64 = 60;
    let bed = Bed::new();
    let folder = bed.folder();
    bed.short_run(&folder);
    let mut store = File::options().write(true).open(bed.store()).unwrap();
    store.seek(SeekFrom::Start(USER_VERSION_AT)).unwrap();
    store.write_all(&999_u32.to_be_bytes()).unwrap();
    for words in [&["list"][..], &["qualify", text(&folder)]] {
        assert_has(&bed.refused(words), &["newer assay", "999", "update"]);
    }
}

#[test]
fn names_of_runs() {
    let bed = Bed::new();
    let ended = bed.short_run(&bed.folder());
    let id = ended.run_id().unwrap();
    assert_has(
        &bed.refused(&["report", "nosuchrun"]),
        &["nosuchrun", "assay list"],
    );
    assert_has(&bed.refused(&["report", ""]), &["no run or import ''"]);

    let mut store = Store::open(&bed.store()).unwrap();
    let mut header = store.load(id).unwrap().run.header;
    header.id = format!("{}other", &id[..3]);
    let owner = Owner {
        pid: 1,
        boot_id: String::new(),
        start_ticks: 0,
    };
    store.begin_run(&header, &owner).unwrap();
    let line = bed.refused(&["report", &id[..3]]);
    assert_has(&line, &["fits 2 runs or imports", id, &header.id]);
    bed.run(&["report", &id[..4]]).assert_code(0);
}

#[test]
fn report_files() {
    let bed = Bed::new();
    bed.short_run(&bed.folder());
    let report = |path: &Path| bed.refused(&["report", "last", "-o", text(path)]);
    assert_has(
        &report(&bed.join("out.xyz")),
        &["out.xyz", ".html", ".csv", ".xlsx"],
    );
    assert_has(&report(&bed.join("out")), &[".html"]);
    let nowhere = bed.join("no/such/out.html");
    assert_has(&report(&nowhere), &["cannot write", text(&nowhere)]);
    assert_has(&report(&bed.join("work.html/")), &["work.html"]);
    let taken = bed.join("taken.html");
    fs::create_dir(&taken).unwrap();
    assert_has(&report(&taken), &["cannot write", text(&taken)]);
}

#[test]
fn a_file_of_the_folder_that_holds_a_mounted_device_is_left_alone() {
    needs!(root, "mkfs.ext4");
    let bed = Bed::new();
    let scratch = or_skip!(Scratch::new());
    let image = or_skip!(scratch.image("1.h2w", 16));
    let device = or_skip!(LoopDevice::over(&image));
    or_skip!(make_file_system("ext4", device.node()));
    let point = scratch.join("mounted");
    let _mount = or_skip!(Mount::new(&[], text(device.node()), &point));
    let refusal = bed.refused(&["capacity", text(scratch.path()), "--limit", "1M"]);
    assert!(refusal.contains("1.h2w"), "{refusal}");
    assert!(refusal.contains("mounted"), "{refusal}");
    assert!(image.exists());
}

/// Each command line has one word that is not among those to choose from.
#[test]
fn a_misspelt_word_gets_its_suggestion_wherever_it_is_one_of_a_known_set() {
    let bed = Bed::new();
    let folder = bed.folder();
    let table = root().join("examples/governors.csv");
    bed.run(&["store", "import", text(&table), "--name", "governors"])
        .assert_code(0);
    bed.short_run(&folder);
    let (path, table) = (text(&folder), text(&table));
    let mut without = Vec::new();
    for (words, meant) in [
        (&["qualfy", path][..], "'qualify'"),
        (&["exprot"], "'store export'"),
        (&["lab", "camapign"], "'campaign'"),
        (&["list", "--devcie", "x"], "'--device'"),
        (&["sweep", path, "--vary", "schedular=none"], "scheduler?"),
        (
            &["sweep", path, "--vary", "vm.swapiness=1"],
            "vm.swappiness?",
        ),
        (
            &[
                "sweep",
                path,
                "--vary",
                "vm.swappiness=1",
                "--",
                "androbnch",
            ],
            "androbench?",
        ),
        (
            &["qualify", path, "--only", "rand-raed-4k"],
            "rand-read-4k?",
        ),
        (&["qualify", path, "--require", "mcp-12"], "mpc-12?"),
        (&["qualify", path, "--profile", "emmmc"], "emmc?"),
        (&["qualify", "sim:emmc-8gb-hs40"], "emmc-8gb-hs400?"),
        (&["qualify", "sim:emmc-8gb-hs400,policy=qeued"], "queued?"),
        (&["check", path, "--for", "camra"], "camera?"),
        (&["accept", path, path, "--plan", "emmmc"], "emmc?"),
        (&["scenario", "bot", path], "boot?"),
        (&["mark", path, "--class", "A11"], "A1?"),
        (&["androbench", path, "--journal", "wall"], "wal?"),
        (&["report", "last", "--metric", "raed_bw"], "read_bw?"),
        (
            &["model", "explain", "last", "--only", "raed-cached"],
            "read-cached?",
        ),
        (&["sweep", path, "--vary", "affinitty=0"], "affinity?"),
        (&["report", "last", "--format", "jsno"], "json?"),
        (
            &["report", "governors", "--chart", "trials-rand-raed"],
            "trials-rand-read?",
        ),
        (&["rank", table, "--baseline", "ondemnad"], "ondemand?"),
        (
            &["compare", "governors@ondemnad", "governors@interactive"],
            "ondemand?",
        ),
        (
            &["model", "explain", "governors", "--bus", "hs4000"],
            "hs400?",
        ),
        (
            &["model", "explain", "governors", "--part", "emmc-8gb-hs40"],
            "emmc-8gb-hs400?",
        ),
        (
            &["store", "import", table, "--format", "fio-jsn"],
            "fio-json?",
        ),
        (&["model", "traits", path, "--only", "scl"], "slc?"),
    ] {
        let line = bed.refused(words);
        if !line.contains(&format!("did you mean {meant}")) {
            without.push(format!("{words:?}: {line}"));
        }
    }
    assert!(without.is_empty(), "{without:#?}");
}
