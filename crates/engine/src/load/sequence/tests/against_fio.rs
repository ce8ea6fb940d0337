//! The same pass by fio itself, where it is installed.

use super::*;
use assay_model::load::blocks::StridedZones;
use std::path::Path;
use std::process::Stdio;

/// What fio 3 does: direction, offset and length of each I/O. `None`: it is not
/// installed.
fn by_fio(options: &str, folder: &Path) -> Option<Vec<(u8, u64, u32)>> {
    let status = assay_testkit::command("fio")
        .args(["--name=j", "--ioengine=null", "--write_bw_log=l"])
        .args(["--log_offset=1", "--per_job_logs=0", "--output=/dev/null"])
        .args(options.split_whitespace())
        .current_dir(folder)
        .stderr(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return None;
    }
    let log = std::fs::read_to_string(folder.join("l_bw.log")).unwrap();
    let rows = log.lines().map(|line| {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        (
            fields[2].parse().unwrap(),
            fields[4].parse().unwrap(),
            fields[3].parse().unwrap(),
        )
    });
    Some(rows.collect())
}

fn ours(stream: &Stream, region: FilePart) -> Vec<(u8, u64, u32)> {
    pass(stream, region, 1)
        .iter()
        .map(|step| (step.ddir.number(), step.offset, step.length))
        .collect()
}

/// What is compared.
#[derive(Clone, Copy)]
enum Same {
    /// Every I/O.
    All,
    /// Their number and bytes.
    Sums,
    /// Their bytes.
    Bytes,
}

fn compare(options: &str, same: Same, region: FilePart, change: impl FnOnce(&mut Stream)) {
    let folder = tempfile::tempdir().unwrap();
    let Some(theirs) = by_fio(options, folder.path()) else {
        assay_testkit::skip("fio is not installed");
        return;
    };
    let ours = ours(&stream(change), region);
    let bytes = |ios: &[(u8, u64, u32)]| ios.iter().map(|io| u64::from(io.2)).sum::<u64>();
    match same {
        Same::All => assert_eq!(ours, theirs, "{options}"),
        Same::Sums => assert_eq!(
            (ours.len(), bytes(&ours)),
            (theirs.len(), bytes(&theirs)),
            "{options}"
        ),
        Same::Bytes => assert_eq!(bytes(&ours), bytes(&theirs), "{options}"),
    }
}

#[test]
fn sequential_offsets_are_those_of_fio() {
    let small = span(64 << 10);
    compare("--rw=read --bs=4k --size=64k", Same::All, small, |_| ());
    compare(
        "--rw=read --bs=4k --size=20000",
        Same::All,
        span(20_000),
        |_| (),
    );
    compare(
        "--rw=write:4k --bs=4k --size=64k",
        Same::All,
        small,
        |stream| {
            rw(stream, "write");
            stream.blocks.rw.skip_bytes = 4096;
        },
    );
    compare(
        "--rw=write:-8k --bs=4k --size=64k",
        Same::All,
        small,
        |stream| {
            rw(stream, "write");
            stream.blocks.rw.skip_bytes = -8192;
        },
    );
    compare(
        "--rw=read:512k --bs=1m --size=128m",
        Same::All,
        span(128 << 20),
        |stream| {
            sizes(stream, 1 << 20, 1 << 20, &[]);
            stream.blocks.rw.skip_bytes = 512 << 10;
        },
    );
    compare(
        "--rw=trimwrite --bs=4k --size=64k",
        Same::All,
        small,
        |stream| {
            rw(stream, "trimwrite");
        },
    );
    let zoned = "--rw=read --bs=4k --size=64k --zonemode=strided --zonesize=4k --zonerange=16k --zoneskip=4k";
    compare(zoned, Same::All, small, |stream| {
        stream.region.zones = Some(StridedZones {
            size: 4096,
            range: 16_384,
            skip: 4096,
        });
    });
    compare(
        "--rw=read --bs=4k --size=64k --zonemode=strided --zonesize=16k --zonerange=8k",
        Same::All,
        small,
        |stream| {
            stream.region.zones = Some(StridedZones {
                size: 16_384,
                range: 8192,
                skip: 0,
            });
        },
    );
}

#[test]
fn random_passes_have_the_size_of_those_of_fio() {
    let region = span(1 << 20);
    for name in [
        "randread",
        "randwrite",
        "randrw",
        "rw",
        "randtrim",
        "randtrimwrite",
    ] {
        compare(
            &format!("--rw={name} --bs=4k --size=1m"),
            Same::Sums,
            region,
            |stream| {
                rw(stream, name);
            },
        );
        compare(
            &format!("--rw={name} --bsrange=1k-4k --size=1m"),
            Same::Bytes,
            region,
            |stream| {
                rw(stream, name);
                sizes(stream, 1024, 4096, &[]);
            },
        );
    }
    compare(
        "--rw=randread --bs=4k --size=1m --norandommap",
        Same::Sums,
        region,
        |stream| {
            rw(stream, "randread");
            stream.blocks.no_map = true;
        },
    );
    compare(
        "--rw=randread:8 --bs=4k --size=1m",
        Same::Sums,
        region,
        |stream| {
            rw(stream, "randread");
            stream.blocks.rw.every = 8;
        },
    );
    compare(
        "--rw=randread --bs=4k --size=20000",
        Same::Sums,
        span(20_000),
        |stream| {
            rw(stream, "randread");
        },
    );
    compare(
        "--rw=randread --bsrange=1k-4k --size=20000",
        Same::Bytes,
        span(20_000),
        |stream| {
            rw(stream, "randread");
            sizes(stream, 1024, 4096, &[]);
        },
    );
}
