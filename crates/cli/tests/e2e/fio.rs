//! `assay fio`: fio's words on assay's engine, with evidence on top.

use crate::assay::{Bed, Ended, Running, is_pure, lives, text, undisturbed, until};
use assay_testkit::{
    LoopDevice, Mount, Scratch, Volume, copy_program, make_file_system, needs, or_skip,
};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const PROGRAM: &str = env!("CARGO_BIN_EXE_assay");

fn start(folder: &Path, words: &[&str]) -> Running {
    let mut command = assay_testkit::command(PROGRAM);
    command.arg("fio").args(words).current_dir(folder);
    Running::start(&mut command)
}

fn fio(folder: &Path, words: &[&str]) -> Ended {
    start(folder, words).end()
}

/// The first job of a JSON output.
fn job(ended: &Ended) -> Value {
    ended.json()["jobs"][0].clone()
}

/// A job that ran in `folder`, as JSON.
fn measured(folder: &Path, words: &[&str]) -> Value {
    let mut all = vec!["--name=job", "--output-format=json"];
    all.extend_from_slice(words);
    let ended = fio(folder, &all);
    ended.assert_code(0);
    job(&ended)
}

#[track_caller]
fn assert_label(job: &Value, direction: &str, label: &str) {
    let judged = &job["assay"][direction];
    assert_eq!(judged["label"], label, "{judged}");
}

#[test]
fn json_is_alone_on_standard_output() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = [
        "--name=a",
        "--size=1M",
        "--rw=write",
        "--output-format=json",
    ];
    let ended = fio(&folder, &words);
    ended.assert_code(0);
    let all = ended.json();
    assert!(all["fio version"].as_str().unwrap().starts_with("fio-3."));
    assert_eq!(all["jobs"][0]["write"]["io_bytes"], 1 << 20);
    assert_eq!(all["jobs"][0]["job options"]["rw"], "write");
    // Programs that run fio take words on standard error for a failure.
    assert!(ended.err.is_empty(), "{:#?}", ended.err);
    assert_eq!(fs::metadata(folder.join("a.0.0")).unwrap().len(), 1 << 20);
}

#[test]
fn normal_output_opens_with_the_jobs_and_has_no_colour() {
    let bed = Bed::new();
    let words = ["--name=a", "--size=1M", "--rw=write", "--bs=64k"];
    let ended = fio(&bed.folder(), &words);
    ended.assert_code(0);
    assert!(ended.out.starts_with("a: (g=0): rw=write"), "{}", ended.out);
    for part in [
        "\nfio-3.",
        "\na: Laying out IO file",
        "err= 0",
        "write: IOPS=",
        "write=page-cache",
        "WRITE: bw=",
    ] {
        assert!(ended.out.contains(part), "no '{part}': {}", ended.out);
    }
    assert!(!ended.out.contains('\u{1b}'), "{}", ended.out);
}

#[test]
fn results_go_to_the_file_of_output_in_all_formats() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = [
        "--name=a",
        "--size=1M",
        "--output-format=normal,json",
        "--output=out",
    ];
    let ended = fio(&folder, &words);
    ended.assert_code(0);
    assert_eq!(ended.out, "");
    let out = fs::read_to_string(folder.join("out")).unwrap();
    let begin = out.find("\n{").expect("JSON") + 1;
    let end = out.find("\n}").expect("its end") + 2;
    let json: Value = serde_json::from_str(&out[begin..end]).unwrap();
    assert_eq!(json["jobs"][0]["jobname"], "a");
    assert!(out[..begin].starts_with("a: (g=0)"));
    assert!(out[end..].contains("READ: bw="));
}

#[test]
fn warnings_are_said_but_never_among_results() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = "--name=a --size=1M --iodepth=4 --output-format=json";
    let mut words: Vec<&str> = words.split_whitespace().collect();
    let ended = fio(&folder, &words);
    ended.assert_code(0);
    ended.assert_says(&["warning", "iodepth=4"]);
    assert_eq!(job(&ended)["error"], 0);
    // With the results in a file, standard error is left to failures.
    words.push("--output=out");
    let ended = fio(&folder, &words);
    ended.assert_code(0);
    assert!(ended.err.is_empty(), "{:#?}", ended.err);
    assert!(ended.out.contains("iodepth=4"), "{}", ended.out);
    let out = fs::read_to_string(folder.join("out")).unwrap();
    serde_json::from_str::<Value>(&out).expect("JSON and nothing else");
    words.push("--warnings-fatal");
    let ended = fio(&folder, &words);
    ended.assert_code(2);
    ended.assert_says(&["--warnings-fatal"]);
}

#[test]
fn what_has_no_effect_is_said_and_is_no_failure() {
    let bed = Bed::new();
    let folder = bed.folder();
    let mut words = vec!["--alloc-size=1000", "--name=a", "--size=1M"];
    let ended = fio(&folder, &words);
    ended.assert_code(0);
    assert!(ended.out.contains("alloc-size"), "{}", ended.out);
    assert!(ended.err.is_empty(), "{:#?}", ended.err);
    words.push("--output-format=json");
    let ended = fio(&folder, &words);
    ended.json();
    assert!(ended.err.is_empty(), "{:#?}", ended.err);
}

#[test]
fn a_link_named_fio_is_fio() {
    let bed = Bed::new();
    let folder = bed.folder();
    let link = bed.join("fio");
    symlink(PROGRAM, &link).unwrap();
    let run = |words: &[&str]| {
        Running::start(
            assay_testkit::command(&link)
                .args(words)
                .current_dir(&folder),
        )
        .end()
    };
    let version = run(&["--version"]);
    version.assert_code(0);
    assert!(version.out.starts_with("fio-3."), "{}", version.out);
    // Single dashes, as the field writes them.
    let words = "-filename=f -numjobs=1 -thread -group_reporting -ioengine=psync -iodepth=1 \
                 -size=1M -name=mytest -bs=8k -rw=randread -output-format=json";
    let words: Vec<&str> = words.split_whitespace().collect();
    let ended = run(&words);
    ended.assert_code(0);
    assert_eq!(job(&ended)["read"]["total_ios"], 128);
    // The same program under that name.
    fs::remove_file(&link).unwrap();
    copy_program(PROGRAM, &link).unwrap();
    assert_eq!(job(&run(&words))["read"]["total_ios"], 128);
    // Neither is read by the parser of assay's own commands.
    assert!(run(&["--help"]).out.contains("--output-format"));
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is() {
    let bed = Bed::new();
    let folder = bed.folder();
    for (words, expected) in [
        (
            &["--name=a", "--size=1M", "--blokcsize=4k"][..],
            "blocksize",
        ),
        (&["--name=a", "--size=1M", "--ioengine=rbd"], "rbd"),
        (&["no-such.fio"], "no-such.fio"),
        (&[], "job"),
    ] {
        let line = fio(&folder, words).refusal();
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn names_that_are_no_text_are_refused_or_shown_as_well_as_can_be() {
    let bed = Bed::new();
    let folder = bed.folder();
    let strange = OsStr::from_bytes(b"f\xff");
    let mut option = OsString::from("--filename=");
    option.push(strange);
    let mut command = assay_testkit::command(PROGRAM);
    let words = ["fio", "--name=a", "--size=1M", "--rw=write"];
    command.args(words).arg(option).current_dir(&folder);
    let line = Running::start(&mut command).end().refusal();
    assert!(line.contains("UTF-8"), "{line}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);

    fs::create_dir(folder.join("many")).unwrap();
    fs::write(folder.join("many").join(strange), vec![1; 8192]).unwrap();
    let job = measured(&folder, &["--opendir=many", "--rw=read"]);
    assert_eq!(job["read"]["io_bytes"], 8192);
}

#[test]
fn ctrl_c_ends_a_load_with_its_results() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = "--name=a --size=1M --rw=read --time_based --runtime=1000 --output-format=json";
    let words: Vec<&str> = words.split_whitespace().collect();
    let running = start(&folder, &words);
    until("the file is laid out", || {
        let meta = fs::metadata(folder.join("a.0.0"));
        meta.is_ok_and(|meta| meta.len() == 1 << 20)
    });
    running.signal(Signal::INT);
    let ended = running.end();
    ended.assert_code(128);
    assert_eq!(job(&ended)["error"], 0);
    ended.assert_says(&["stopping"]);
}

#[test]
fn a_killed_host_takes_its_load_with_it() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = "--name=a --size=1M --rw=write --time_based --runtime=1000";
    let words: Vec<&str> = words.split_whitespace().collect();
    let running = start(&folder, &words);
    until("the load runs", || folder.join("a.0.0").exists());
    let agent = running.agent();
    running.kill(false);
    until("the agent ends", || !lives(agent));
}

#[test]
fn a_report_can_be_asked_for_meanwhile() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = "--name=a --size=1M --time_based --runtime=1000 --output-format=json --output=out";
    let words: Vec<&str> = words.split_whitespace().collect();
    let running = start(&folder, &words);
    until("the load runs", || folder.join("a.0.0").exists());
    let out = folder.join("out");
    until("it reports", || {
        running.signal(Signal::USR1);
        fs::metadata(&out).is_ok_and(|meta| meta.len() > 0)
    });
    running.signal(Signal::INT);
    running.end().assert_code(128);
    let text = fs::read_to_string(&out).unwrap();
    let reports: Vec<Value> = serde_json::Deserializer::from_str(&text)
        .into_iter()
        .map(|report| report.expect("JSON and nothing else"))
        .collect();
    assert!(reports.len() >= 2, "{}", reports.len());
    let ios = |report: &Value| report["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
    assert!(ios(&reports[0]) <= ios(&reports[reports.len() - 1]));
}

#[test]
fn engines_that_move_no_data_write_as_well() {
    let bed = Bed::new();
    let folder = bed.folder();
    for engine in ["null", "filecreate", "ftruncate", "falloc"] {
        let words = format!("--ioengine={engine} --rw=write --size=64k --filename={engine}");
        let words: Vec<&str> = words.split_whitespace().collect();
        let job = measured(&folder, &words);
        assert!(job["write"]["total_ios"].as_u64() >= Some(1), "{job}");
    }
}

#[test]
fn a_job_that_fails_is_counted_in_the_exit_code() {
    let bed = Bed::new();
    let words = "--filename=/proc/version --size=1M --rw=write --name=a --name=b";
    let words: Vec<&str> = words.split_whitespace().collect();
    fio(&bed.folder(), &words).assert_code(2);
}

#[test]
fn damaged_data_is_never_a_success() {
    let bed = Bed::new();
    let folder = bed.folder();
    let verify = ["--name=v", "--filename=f", "--size=1M", "--verify=crc32c"];
    let with = |more: &[&'static str]| [&verify[..], more].concat();
    fio(&folder, &with(&["--rw=write"])).assert_code(0);
    fio(&folder, &with(&["--rw=read"])).assert_code(0);
    let mut data = fs::read(folder.join("f")).unwrap();
    data[70_000] ^= 1;
    fs::write(folder.join("f"), data).unwrap();
    let ended = fio(&folder, &with(&["--rw=read"]));
    assert_ne!(ended.code, Some(0), "{}", ended.out);
    let go_on = with(&["--rw=read", "--continue_on_error=verify"]);
    let ended = fio(&folder, &go_on);
    assert_ne!(ended.code, Some(0), "{}", ended.out);
}

/// Refused with exit 2, one line that names the reason, and nothing written.
fn assert_left_alone(node: &Path, words: &[&str]) {
    let bed = Bed::new();
    let file = format!("--filename={}", text(node));
    for rw in ["--rw=write", "--rw=randtrim"] {
        let line = fio(&bed.folder_named(rw), &["--name=a", &file, rw, "--size=1M"]).refusal();
        for word in words {
            assert!(line.contains(word), "no '{word}': {line}");
        }
    }
}

#[test]
fn the_file_behind_a_mounted_loop_device_is_left_alone() {
    needs!(root, "mkfs.ext4");
    let scratch = or_skip!(Scratch::new());
    let disk = or_skip!(LoopDevice::new(&scratch, "disk.img", 8));
    let image = scratch.join("disk.img");
    let link = scratch.join("link.img");
    fs::hard_link(&image, &link).unwrap();
    or_skip!(make_file_system("ext4", disk.node()));
    let mount = or_skip!(Mount::new(
        &[],
        disk.node().to_str().unwrap(),
        &scratch.join("mnt")
    ));
    for path in [&image, &link] {
        let file = format!("--filename={}", text(path));
        let words = ["--name=a", &file, "--rw=write", "--size=1M"];
        let line = fio(scratch.path(), &words).refusal();
        for part in [disk.name(), "mounted on", text(mount.point())] {
            assert!(line.contains(part), "no '{part}': {line}");
        }
        fio(scratch.path(), &["--name=a", &file, "--rw=read"]).assert_code(0);
    }
    or_skip!(mount.unmount());
    let file = format!("--filename={}", text(&image));
    let ended = fio(
        scratch.path(),
        &["--name=a", &file, "--rw=write", "--size=1M"],
    );
    ended.assert_code(0);
    ended.assert_says(&["warning", disk.name()]);
}

#[test]
fn names_cannot_steer_the_terminal() {
    let bed = Bed::new();
    let folder = bed.folder();
    let jobs = "[a\u{1b}[31mb]\nioengine=null\nsize=64k\nfilename=x\nrw=randrw\nrwmixread=1\nrwmixwrite=1\n";
    fs::write(folder.join("job.fio"), jobs).unwrap();
    for format in ["normal", "terse", "json"] {
        let ended = fio(&folder, &["job.fio", &format!("--output-format={format}")]);
        ended.assert_code(0);
        ended.assert_says(&["warning", "a\\u{1b}[31mb"]);
        let said = ended.err.concat() + &ended.out;
        assert!(!said.contains('\u{1b}'), "{format}: {said}");
    }
}

#[test]
fn what_copies_have_in_common_is_said_once() {
    let bed = Bed::new();
    let words = [
        "--name=a",
        "--numjobs=5",
        "--exec_prerun=false",
        "--filename=x",
        "--rw=read",
        "--size=4k",
    ];
    let ended = fio(&bed.folder(), &words);
    ended.assert_code(5);
    let about: Vec<_> = (ended.err.iter().filter(|line| line.contains("exec_prerun"))).collect();
    assert_eq!(about.len(), 2, "{about:#?}");
    assert!(about[1].ends_with("(and 4 more times)"), "{about:#?}");
}

#[test]
fn a_file_without_an_end_is_no_job_file() {
    let bed = Bed::new();
    let line = fio(&bed.folder(), &["/dev/zero", "--parse-only"]).refusal();
    assert!(line.contains("longer than 64 MiB"), "{line}");
}

#[test]
fn a_file_is_not_trimmed() {
    let bed = Bed::new();
    let folder = bed.folder();
    let data = vec![7; 1 << 20];
    fs::write(folder.join("file"), &data).unwrap();
    let words = ["--name=a", "--filename=file", "--rw=trim", "--size=1M"];
    let line = fio(&folder, &words).refusal();
    assert!(line.contains("block device"), "{line}");
    assert_eq!(fs::read(folder.join("file")).unwrap(), data);
}

#[test]
fn a_mounted_device_and_its_parent_are_left_alone() {
    needs!(root, "mkfs.ext4", "addpart");
    let scratch = or_skip!(Scratch::new());
    let disk = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let (partition, _known) = or_skip!(disk.partition(1, 1, 60));
    or_skip!(make_file_system("ext4", &partition));
    let mount = or_skip!(Mount::new(&[], text(&partition), &scratch.join("mnt")));
    let reasons = ["in use", "mounted on", text(mount.point())];
    assert_left_alone(&partition, &reasons);
    assert_left_alone(disk.node(), &reasons);
    // A link changes nothing.
    let link = scratch.join("link");
    symlink(disk.node(), &link).unwrap();
    assert_left_alone(&link, &reasons);
    // Reading is free.
    let file = format!("--filename={}", text(disk.node()));
    let job = measured(
        scratch.path(),
        &[&file, "--rw=read", "--size=1M", "--direct=1"],
    );
    assert_label(&job, "read", "device");
}

#[test]
fn the_device_of_a_replayed_trace_is_left_alone_too() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let bed = Bed::new();
    let folder = bed.folder();
    let node = text(volume.device().node());
    let log = format!("fio version 2 iolog\n{node} add\n{node} open\n{node} write 0 4096\n");
    fs::write(folder.join("log"), log).unwrap();
    let line = fio(&folder, &["--name=a", "--read_iolog=log"]).refusal();
    assert!(line.contains("in use") && line.contains(node), "{line}");
}

#[test]
fn a_free_device_is_written_without_further_words() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 32));
    let file = format!("--filename={}", text(device.node()));
    let words = [
        &file,
        "--rw=write",
        "--size=1M",
        "--direct=1",
        "--end_fsync=1",
    ];
    let job = measured(scratch.path(), &words);
    assert_label(&job, "write", "device");
    let image = fs::read(scratch.join("disk.img")).unwrap();
    assert!(image[..1 << 20].iter().any(|&byte| byte != 0));
    assert!(
        image[1 << 20..].iter().all(|&byte| byte == 0),
        "more was written"
    );
}

#[test]
fn labels_on_a_file_system_of_its_own() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 128));
    let job = |words: &str| {
        let mut all = vec!["--filename=f", "--size=32M", "--bs=64k"];
        all.extend(words.split_whitespace());
        measured(volume.point(), &all)
    };
    // A sync(2) of others writes the page cache back.
    let plain = || job("--rw=write");
    let plain = undisturbed(plain, |job| is_pure(&job["assay"]["write"]));
    assert_label(&plain, "write", "page-cache");
    assert_label(&job("--rw=write --end_fsync=1"), "write", "device");
    assert_label(&job("--rw=write --direct=1"), "write", "device-unflushed");
    assert_label(&job("--rw=read --invalidate=1"), "read", "device");
    let cached = "--rw=read --invalidate=0 --pre_read=1";
    assert_label(&job(cached), "read", "page-cache");
    let copies = job("--rw=randread --direct=1 --numjobs=3 --group_reporting");
    assert_label(&copies, "read", "device");
    assert_eq!(copies["read"]["total_ios"], 3 * 512);
    let disk = job("--rw=read --direct=1");
    assert_eq!(disk["jobname"], "job");
}

#[test]
fn disks_are_shown_with_what_the_load_did() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let words = [
        "--name=a",
        "--size=8M",
        "--rw=read",
        "--direct=1",
        "--output-format=json",
    ];
    let ended = fio(volume.point(), &words);
    ended.assert_code(0);
    let disks = ended.json()["disk_util"].clone();
    let disks = disks.as_array().unwrap();
    let disk = disks
        .iter()
        .find(|disk| disk["name"] == volume.device().name());
    let read = disk.expect("the disk")["read_ios"].as_u64().unwrap();
    assert!(read >= 2048, "{read} reads");
}

#[test]
fn a_run_repeats_a_job_file_and_keeps_the_trials() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 128));
    let bed = Bed::new();
    let file = bed.join("job.fio");
    let lines = [
        "[global]".to_owned(),
        format!("directory={}", text(volume.point())),
        "size=8M\nbs=64k\nfilename=f".to_owned(),
        "[cached]\nrw=write".to_owned(),
        "[durable]\nstonewall\nrw=write\nend_fsync=1".to_owned(),
        "[direct]\nstonewall\nrw=randread\ndirect=1\nnumjobs=2\ngroup_reporting".to_owned(),
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    let ended = bed.run(&["run", text(&file), "--trials", "2", "--json"]);
    ended.assert_code(0);
    let run = ended.json();
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6);
    for (name, direction, label) in [
        ("cached", "write", "page-cache"),
        ("durable", "write", "device"),
        ("direct", "read", "device"),
    ] {
        let of_job = || trials.iter().filter(|trial| trial["job"]["name"] == name);
        assert_eq!(of_job().count(), 2, "{name}");
        for trial in of_job() {
            assert_eq!(trial["outcome"], "completed");
            assert_eq!(trial["evidence"][direction]["label"], label, "{trial}");
        }
    }
    // It is stored: the same comes back.
    assert_eq!(bed.stored("last")["trials"], run["trials"]);
}

#[test]
fn a_run_that_is_refused_is_not_stored() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let bed = Bed::new();
    let file: PathBuf = bed.join("job.fio");
    let node = text(volume.device().node());
    fs::write(&file, format!("[a]\nfilename={node}\nrw=write\n")).unwrap();
    let line = bed.refused(&["run", text(&file)]);
    assert!(line.contains("in use"), "{line}");
    let listed = bed.run(&["list"]);
    assert!(!listed.out.contains(node), "{}", listed.out);
    assert!(File::open(&file).is_ok(), "job files stay");
}

/// A loop device of 64 MiB over a file in a tmpfs of 4 MiB: it takes no more.
#[test]
fn a_loop_device_in_memory_is_no_device_and_failed_writes_prove_nothing() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let bed = Bed::new();
    let folder = bed.folder();
    let tmpfs = or_skip!(Mount::tmpfs(4, &scratch.join("ram")));
    let image = tmpfs.point().join("image");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    let node = format!("--filename={}", text(device.node()));
    let words = [&node, "--bs=1M", "--direct=1"].map(str::to_owned);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let read = measured(&folder, &[&words[..], &["--size=2M"]].concat());
    assert_label(&read, "read", "page-cache");
    let more = [
        "--name=job",
        "--output-format=json",
        "--rw=write",
        "--size=32M",
        "--continue_on_error=all",
    ];
    let written = fio(&folder, &[&more[..], &words].concat());
    assert_label(&job(&written), "write", "unknown");
}

#[test]
fn trims_of_a_loop_device_are_counted() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let bed = Bed::new();
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    let node = format!("--filename={}", text(device.node()));
    let trimmed = measured(&bed.folder(), &[&node, "--rw=trim", "--bs=1M"]);
    assert_label(&trimmed, "trim", "device");
}

/// A short file holds entries without end: they are printed as they are read.
#[test]
fn a_compressed_log_needs_little_memory() {
    needs!("prlimit");
    let scratch = or_skip!(Scratch::new());
    let log = scratch.join("log.fz");
    let mut stored = ZlibEncoder::new(File::create(&log).unwrap(), Compression::fast());
    (0..256).for_each(|_| stored.write_all(&vec![0; 1 << 20]).unwrap());
    stored.finish().unwrap();
    assert!(fs::metadata(&log).unwrap().len() < 4 << 20);
    let mut command = assay_testkit::command("prlimit");
    command.args(["--data=100000000", PROGRAM, "fio"]);
    command.arg(format!("--inflate-log={}", text(&log)));
    let mut running = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 16];
    let read = running.stdout.take().unwrap().read_exact(&mut first);
    // The command ends when the pipe has no reader.
    assert!(running.wait().unwrap().success());
    read.unwrap();
    assert_eq!(&first, b"0, 0, 0, 0, 0\n0,");
}
