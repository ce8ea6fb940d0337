//! Files.

use super::table::{OptionReader, options};
use crate::fio::{JobDraft, split_list};
use assay_model::load::blocks::{Advice, Fallocate, FileLock, FileService};

options! {
    pub(super) static OPTIONS:

    text("filename", "paths, with : between", "", "Files or devices to use")
        [names.named = |_, value| match split_list(value) {
            names if names.is_empty() => Err("it names no file".to_owned()),
            names => Ok(names),
        }];
    text("directory", "paths, with : between", "", "Where files are put; copies take them in turn")
        [names.directories = |_, value| Ok(split_list(value))];
    text("filename_format", "text with $jobname, $jobnum, $filenum", "$jobname.$jobnum.$filenum",
        "How files are named that filename does not name") [names.format];
    no_effect("unique_filename", "0 or 1", "Put the client's address into names of files",
        "there are no clients");
    text("opendir", "path", "", "Use all files below this directory") [stream.files.opendir];
    choice("lockfile", "none", "Lock the file around each I/O") [stream.files.lock] {
        "none": "no lock" => FileLock::None,
        "exclusive": "one user at a time" => FileLock::Exclusive,
        "readwrite": "many readers or one writer" => FileLock::ReadWrite,
    };
    count("nrfiles", (1, u32::MAX as u64), "1", "Number of files") [names.count]
        .alias(&["nr_files"]);
    count("openfiles", (0, u32::MAX as u64), "", "Files open at the same time; all without it")
        [names.open];
    text("file_service_type",
        "random, roundrobin, sequential, zipf, pareto, normal or gauss, with :number", "roundrobin",
        "Which file is next", file_service);
    text("filesize", "bytes, or two with - between", "",
        "Size of each file, or from where to where it is drawn")
        [stream.files.file_size = |reader, value| match reader.range(value)? {
            range if range.min == 0 => Err("a file needs at least one byte".to_owned()),
            range => Ok(range),
        }];
    flag("file_append", "0", "Begin at the end of the file") [stream.files.append];
    choice("fallocate", "native", "How a file that is laid out gets its blocks")
        [stream.files.fallocate]
    {
        "none": "write the file" => Fallocate::None,
        "native": "fallocate(2), where the file system can" => Fallocate::Native,
        "posix": "posix_fallocate(3)" => Fallocate::Posix,
        "keep": "fallocate(2) without a change of the length" => Fallocate::Keep,
        "truncate": "set the length only" => Fallocate::Truncate,
        "0": "none" => Fallocate::None,
        "1": "posix" => Fallocate::Posix,
    };
    choice("fadvise_hint", "1", "What posix_fadvise(2) is told") [stream.files.advice] {
        "0": "none" => Advice::None,
        "1": "by the pattern" => Advice::ByPattern,
        "none": "none" => Advice::None,
        "random": "random access" => Advice::Random,
        "sequential": "sequential access" => Advice::Sequential,
        "noreuse": "data is used once" => Advice::NoReuse,
    };
    flag("overwrite", "0", "Lay the file out before it is written") [stream.files.overwrite];
    flag("pre_read", "0", "Read the files into the cache first") [stream.files.pre_read];
    flag("create_fsync", "1", "fsync a file that was laid out") [stream.files.create_fsync];
    flag("create_on_open", "0", "Make files when they are first opened")
        [stream.files.create_on_open];
    flag("create_only", "0", "Lay out the files and do nothing else") [stream.files.create_only];
    flag("allow_file_create", "1", "Missing files may be made") [stream.files.allow_create];
    flag("allow_mounted_write", "0", "Write to devices that are mounted", |_, _| {})
        .differs("a device that is in use, or whose partition or parent is, is refused with and \
         without this");
    flag("unlink", "0", "Remove the files at the end") [stream.files.unlink];
    flag("unlink_each_loop", "0", "Remove the files after each loop")
        [stream.files.unlink_each_loop];
    refused("write_hint", "none, short, medium, long, extreme", "none",
        "How long written data will live", "current kernels ignore the hint of a file");
    refused("lockmem", "bytes", "0", "Take that much memory away",
        "it would take memory from other programs; limit it with a cgroup");
    refused("ioscheduler", "name", "", "Switch the device's I/O scheduler",
        "it would change a setting of the machine; make it a condition of an assay run");
}

/// Parses `roundrobin:4`, `zipf:1.2`.
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
            return Err(super::table::not_one_of(kind, known.into_iter()));
        }
    };
    job.stream.files.service = service;
    job.stream.files.service_every = every;
    Ok(())
}
