//! Files.

use super::define::OptionDef;
use super::make::{choice, count, flag, no_effect, refused, text};
use super::reader::OptionReader;
use crate::fio::job::JobDraft;
use crate::fio::names::split_list;
use assay_model::load::files::{Advice, Fallocate, FileLock, FileService};
use std::path::PathBuf;

pub(super) static OPTIONS: &[OptionDef] = &[
    text("filename", "paths, with : between", "", "Files or devices to use", |job, _, value| {
        job.names.named = split_list(value);
        match job.names.named.is_empty() {
            true => Err("it names no file".to_owned()),
            false => Ok(()),
        }
    }),
    text("directory", "paths, with : between", "", "Where files are put; copies take them in turn", |job, _, value| {
        job.names.directories = split_list(value);
        Ok(())
    }),
    text("filename_format", "text with $jobname, $jobnum, $filenum", "$jobname.$jobnum.$filenum", "How files are named that filename does not name", |job, _, value| {
        value.clone_into(&mut job.names.format);
        Ok(())
    }),
    no_effect("unique_filename", "0 or 1", "Put the client's address into names of files", "there are no clients"),
    text("opendir", "path", "", "Use all files below this directory", |job, _, value| {
        job.stream.files.opendir = Some(PathBuf::from(value));
        Ok(())
    }),
    choice(
        "lockfile",
        &[
            ("none", "no lock"),
            ("exclusive", "one user at a time"),
            ("readwrite", "many readers or one writer"),
        ],
        "none",
        "Lock the file around each I/O",
        |job, how| {
            job.stream.files.lock = match how {
                "exclusive" => FileLock::Exclusive,
                "readwrite" => FileLock::ReadWrite,
                _ => FileLock::None,
            };
        },
    ),
    count("nrfiles", (1, u32::MAX as u64), "1", "Number of files", |job, n| job.names.count = n)
        .alias(&["nr_files"]),
    count("openfiles", (0, u32::MAX as u64), "", "Files open at the same time; all without it", |job, n| {
        job.names.open = n;
    }),
    text("file_service_type", "random, roundrobin, sequential, zipf, pareto, normal or gauss, with :number", "roundrobin", "Which file is next", file_service),
    text("filesize", "bytes, or two with - between", "", "Size of each file, or from where to where it is drawn", |job, reader, value| {
        let range = reader.range(value)?;
        if range.min == 0 {
            return Err("a file needs at least one byte".to_owned());
        }
        job.stream.files.file_size = Some(range);
        Ok(())
    }),
    flag("file_append", "0", "Begin at the end of the file", |job, on| job.stream.files.append = on),
    choice(
        "fallocate",
        &[
            ("none", "write the file"),
            ("native", "fallocate(2), where the file system can"),
            ("posix", "posix_fallocate(3)"),
            ("keep", "fallocate(2) without a change of the length"),
            ("truncate", "set the length only"),
            ("0", "none"),
            ("1", "posix"),
        ],
        "native",
        "How a file that is laid out gets its blocks",
        |job, how| {
            job.stream.files.fallocate = match how {
                "none" | "0" => Fallocate::None,
                "posix" | "1" => Fallocate::Posix,
                "keep" => Fallocate::Keep,
                "truncate" => Fallocate::Truncate,
                _ => Fallocate::Native,
            };
        },
    ),
    choice(
        "fadvise_hint",
        &[
            ("0", "none"),
            ("1", "by the pattern"),
            ("none", "none"),
            ("random", "random access"),
            ("sequential", "sequential access"),
            ("noreuse", "data is used once"),
        ],
        "1",
        "What posix_fadvise(2) is told",
        |job, how| {
            job.stream.files.advice = match how {
                "0" | "none" => Advice::None,
                "random" => Advice::Random,
                "sequential" => Advice::Sequential,
                "noreuse" => Advice::NoReuse,
                _ => Advice::ByPattern,
            };
        },
    ),
    flag("overwrite", "0", "Lay the file out before it is written", |job, on| {
        job.stream.files.overwrite = on;
    }),
    flag("pre_read", "0", "Read the files into the cache first", |job, on| {
        job.stream.files.pre_read = on;
    }),
    flag("create_fsync", "1", "fsync a file that was laid out", |job, on| {
        job.stream.files.create_fsync = on;
    }),
    flag("create_on_open", "0", "Make files when they are first opened", |job, on| {
        job.stream.files.create_on_open = on;
    }),
    flag("create_only", "0", "Lay out the files and do nothing else", |job, on| {
        job.stream.files.create_only = on;
    }),
    flag("allow_file_create", "1", "Missing files may be made", |job, on| {
        job.stream.files.allow_create = on;
    }),
    flag("allow_mounted_write", "0", "Write to devices that are mounted", |_, _| {})
    .differs("a device that is in use, or whose partition or parent is, is refused with and without this"),
    flag("unlink", "0", "Remove the files at the end", |job, on| job.stream.files.unlink = on),
    flag("unlink_each_loop", "0", "Remove the files after each loop", |job, on| {
        job.stream.files.unlink_each_loop = on;
    }),
    refused("write_hint", "none, short, medium, long, extreme", "none", "How long written data will live", "current kernels ignore the hint of a file"),
    refused("lockmem", "bytes", "0", "Take that much memory away", "it would take memory from other programs; limit it with a cgroup"),
    refused("ioscheduler", "name", "", "Switch the device's I/O scheduler", "it would change a setting of the machine; make it a condition of an assay run"),
];

/// `roundrobin:4`, `zipf:1.2`.
fn file_service(
    job: &mut JobDraft,
    reader: &mut OptionReader<'_>,
    value: &str,
) -> Result<(), String> {
    let (kind, number) = match value.split_once(':') {
        Some((kind, number)) => (kind, Some(number)),
        None => (value, None),
    };
    let mut every = 1;
    let mut shape = |default: f64| number.map_or(Ok(default), |number| reader.float(number));
    let service = match kind {
        "zipf" => FileService::Zipf(super::blocks::zipf_theta(shape(1.1)?)?),
        "pareto" => FileService::Pareto(super::blocks::pareto_power(shape(0.2)?)?),
        "normal" | "gauss" => FileService::Normal(super::blocks::deviation(shape(0.0)?)?),
        "random" | "roundrobin" | "sequential" => {
            if let Some(number) = number {
                every = number
                    .trim()
                    .parse()
                    .ok()
                    .filter(|every| *every > 0)
                    .ok_or_else(|| format!("'{number}' is not a number of I/Os"))?;
            }
            match kind {
                "random" => FileService::Random,
                "sequential" => FileService::Sequential,
                _ => FileService::RoundRobin,
            }
        }
        _ => {
            let known = [
                "random",
                "roundrobin",
                "sequential",
                "zipf",
                "pareto",
                "normal",
            ];
            return Err(super::reader::not_one_of(kind, known.into_iter()));
        }
    };
    job.stream.files.service = service;
    job.stream.files.service_every = every;
    Ok(())
}
