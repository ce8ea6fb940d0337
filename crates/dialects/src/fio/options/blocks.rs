//! Options for files, for patterns, sizes and offsets of blocks, and for verification and trims.

use super::schedule::processors;
use super::table::{OptionReader, not_one_of, options};
use crate::fio::value::{self, pattern};
use crate::fio::{JobDraft, split_list};
use assay_model::load::PerDirection;
use assay_model::load::blocks::{
    Advice, Distribution, Fallocate, FileLock, FileService, Generator, RwPattern, SaveState,
    Sequencer, VerifyKind,
};

options! {
    pub(super) static BLOCKS:

    text("rw",
        "read, write, trim, randread, randwrite, randtrim, rw, randrw, trimwrite or randtrimwrite, \
         with :number", "read", "Directions and order", rw)
        .alias(&["readwrite"]);
    choice("rw_sequencer", "sequential", "Offsets between two random ones of rw=rand...:N")
        [stream.blocks.rw.sequencer]
    {
        "sequential": "offsets go on after the last" => Sequencer::Sequential,
        "identical": "the same offset again" => Sequencer::Identical,
    };
    each_bytes("bs", "4096", "Block size; of reads, writes and trims") [sizes.fixed]
        .alias(&["blocksize"]);
    text("bsrange", "from-to, one to three times", "", "Block sizes are drawn from this range",
        bs_range)
        .alias(&["blocksize_range"]);
    text("bssplit", "size/percent, with : between, one to three times", "",
        "Block sizes and their shares", bs_split);
    switch("bs_unaligned", "Block sizes need not be multiples of the smallest")
        [stream.blocks.unaligned].alias(&["blocksize_unaligned"]);
    flag("bs_is_seq_rand", "0",
        "The sizes are for sequential and random I/O instead of reads and writes")
        [stream.blocks.sizes_by_order];
    each_bytes("ba", "", "Random offsets are multiples of this") [sizes.align]
        .alias(&["blockalign"]);
    count("rwmixread", (0, 100), "50", "Share of reads in percent") [stream.blocks.read_percent];
    count("rwmixwrite", (0, 100), "50", "Share of writes in percent")
        [stream.blocks.read_percent = |percent| 100 - percent];
    refused("rwmixcycle", "number", "", "Not used any more", "fio dropped it");
    extent("size", "", "Bytes to work on, over all files; or percent of them") [stream.region.size];
    extent("offset", "0", "Begin here in each file") [stream.region.offset].alias(&["fileoffset"]);
    bytes("offset_align", "0", "An offset in percent becomes a multiple of this")
        [stream.region.offset_align];
    extent("offset_increment", "0", "Added to the offset for each copy of numjobs")
        [stream.region.offset_increment];
    flag("randrepeat", "1", "The same random order in each run") [stream.blocks.repeat]
        .alias(&["allrandrepeat"]);
    text("randseed", "number", "1", "Seed of what is random") [stream.blocks.seed = seed]
        .differs("the same seed gives other offsets than in fio: assay has its own generator");
    switch("norandommap", "A block may come twice in a pass") [stream.blocks.no_map];
    no_effect("softrandommap", "0 or 1", "Go on without a map if there is no memory for it",
        "assay needs no memory for a map");
    choice("random_generator", "tausworthe", "Generator of random offsets")
        [stream.blocks.generator]
    {
        "tausworthe": "random draws" => Generator::Tausworthe,
        "lfsr": "each block once by construction" => Generator::Lfsr,
        "tausworthe64": "random draws for large devices" => Generator::Tausworthe64,
    }.differs("what each promises is kept; the numbers come from assay's own generator");
    text("random_distribution",
        "random, zipf:theta, pareto:power, normal:deviation (each with :center), \
         zoned:access/size:..., zoned_abs:access/bytes:...", "random",
        "How random offsets are spread", distribution);
    text("percentage_random", "percent, one to three times", "100,100,100",
        "Share of random offsets")
        [stream.blocks.percentage_random = |reader, value| reader.each(value, random_percent)];
    refused("percentage_sequential", "percent", "", "Not used any more",
        "fio dropped it; use percentage_random");
}

fn seed(reader: &mut OptionReader<'_>, value: &str) -> Result<u64, String> {
    let number = value::amount(value, reader.base_1000)?.value;
    u64::try_from(number).map_err(|_| format!("'{value}' is not within 0 and 2^64"))
}

fn random_percent(reader: &mut OptionReader<'_>, text: &str) -> Result<u8, String> {
    match u8::try_from(reader.count(text)?) {
        Ok(percent) if percent <= 100 => Ok(percent),
        _ => Err(format!("'{text}' is above 100 percent")),
    }
}

/// Parses `randread:8`, `write:4k`.
fn rw(job: &mut JobDraft, reader: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
    const NAMES: [&str; 11] = [
        "read",
        "write",
        "trim",
        "randread",
        "randwrite",
        "randtrim",
        "rw",
        "readwrite",
        "randrw",
        "trimwrite",
        "randtrimwrite",
    ];
    let (name, rest) = match value.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (value, None),
    };
    if !NAMES.contains(&name) {
        return Err(not_one_of(name, NAMES.into_iter()));
    }
    let (random, plain) = match name.strip_prefix("rand") {
        Some(plain) => (true, plain),
        None => (false, name),
    };
    let mixed = matches!(plain, "rw" | "readwrite");
    let mut pattern = RwPattern {
        read: mixed || plain == "read",
        write: mixed || plain == "write" || plain == "trimwrite",
        trim: plain.starts_with("trim"),
        random,
        trim_then_write: plain == "trimwrite",
        sequencer: job.stream.blocks.rw.sequencer,
        ..RwPattern::default()
    };
    match rest {
        None => {}
        Some(every) if random => {
            pattern.every = u32::try_from(reader.count(every)?)
                .ok()
                .filter(|every| *every > 0)
                .ok_or_else(|| format!("'{every}' is not a number of I/Os"))?;
        }
        Some(skip) => pattern.skip_bytes = reader.signed(skip)?,
    }
    job.stream.blocks.rw = pattern;
    Ok(())
}

/// Parses `1k-4k,2k-8k`. Text after a second number is ignored, as in fio.
fn bs_range(job: &mut JobDraft, reader: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
    let value = value.strip_suffix(',').unwrap_or(value);
    let each = reader.each(value, |reader, text| {
        let (low, high) = text
            .split_once('-')
            .or_else(|| text.split_once(':'))
            .ok_or_else(|| format!("'{text}' is not a range: write as in 1k-4k"))?;
        let (low, high) = (
            first_number(reader, text, low)?,
            first_number(reader, text, high)?,
        );
        Ok((low.min(high), low.max(high)))
    })?;
    for (field, value) in job.sizes.range.iter_mut().zip(each) {
        *field = value.or(*field);
    }
    Ok(())
}

/// Parses the leading number in `part` of a range.
fn first_number(reader: &mut OptionReader<'_>, whole: &str, part: &str) -> Result<u64, String> {
    let end = part.find([':', '/', '-']).unwrap_or(part.len());
    if end < part.len() {
        reader.notes.push(format!(
            "'{whole}' is read as fio does: '{}' is ignored; shares belong into bssplit",
            &part[end..]
        ));
    }
    reader.count(&part[..end])
}

/// Parses `4k/10:64k/50:32k/40`, for each direction.
fn bs_split(job: &mut JobDraft, reader: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
    let parts: Vec<&str> = value.split(',').collect();
    if parts.len() > 3 {
        return Err(format!(
            "'{value}': write one to three lists, for reads, writes and trims"
        ));
    }
    for direction in 0..3 {
        let list = parts[direction.min(parts.len() - 1)];
        let Some(split) = split_shares(reader, list)? else {
            continue;
        };
        let sizes = split
            .iter()
            .map(|(size, percent)| {
                let size = u32::try_from(*size).map_err(|_| format!("'{size}' is too large"))?;
                match size {
                    0 => Err("a block needs at least one byte".to_owned()),
                    _ => Ok((size, *percent)),
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let low = sizes.iter().map(|(size, _)| *size).min().unwrap_or(0);
        let high = sizes.iter().map(|(size, _)| *size).max().unwrap_or(0);
        job.sizes.range[direction] = Some((u64::from(low), u64::from(high)));
        job.sizes.split[direction] = sizes;
    }
    Ok(())
}

/// Largest number of entries in a list of shares.
const MOST_SHARES: usize = 256;

/// Parses `value/percent` entries separated by `:`. Missing shares, or shares
/// of 0, get equal parts of the remainder, as in fio.
fn split_shares(
    reader: &mut OptionReader<'_>,
    list: &str,
) -> Result<Option<Vec<(u64, u8)>>, String> {
    let mut shares: Vec<(u64, Option<u8>)> = Vec::new();
    for entry in list.split(':').take_while(|entry| !entry.trim().is_empty()) {
        let (value, share) = entry.split_once('/').unwrap_or((entry, ""));
        let share = match share.trim() {
            "" | "0" => None,
            text => Some(percent(text)?),
        };
        shares.push((reader.count(value)?, share));
        if shares.len() > MOST_SHARES {
            return Err(format!("more than {MOST_SHARES} entries"));
        }
    }
    if shares.is_empty() {
        return Ok(None);
    }
    let said: u32 = shares
        .iter()
        .filter_map(|(_, share)| *share)
        .map(u32::from)
        .sum();
    let open = u32::try_from(shares.iter().filter(|(_, share)| share.is_none()).count())
        .map_err(|_| "too many entries")?;
    if said > 100 {
        return Err(format!("the shares add up to {said} percent"));
    }
    if open == 0 && said < 100 {
        reader.notes.push(format!(
            "the shares add up to {said} percent only: the largest gets the rest, as in fio"
        ));
        if let Some((_, Some(share))) = shares.iter_mut().max_by_key(|(_, share)| *share) {
            *share += u8::try_from(100 - said).unwrap_or(0);
        }
    }
    let (each, mut extra) = match open {
        0 => (0, 0),
        open => ((100 - said) / open, (100 - said) % open),
    };
    let fill = |share: Option<u8>| {
        share.unwrap_or_else(|| {
            let one_more = u32::from(extra > 0);
            extra = extra.saturating_sub(1);
            u8::try_from(each + one_more).unwrap_or(100)
        })
    };
    let filled: Vec<u8> = shares.iter().map(|(_, share)| *share).map(fill).collect();
    Ok(Some(
        shares.iter().map(|(value, _)| *value).zip(filled).collect(),
    ))
}

fn percent(text: &str) -> Result<u8, String> {
    text.trim_end_matches('%')
        .parse::<u8>()
        .ok()
        .filter(|percent| *percent <= 100)
        .ok_or_else(|| format!("'{text}' is not a percentage"))
}

/// Parses `zipf:1.2:0.5`, `zoned:60/10:30/20:...`.
fn distribution(
    job: &mut JobDraft,
    reader: &mut OptionReader<'_>,
    value: &str,
) -> Result<(), String> {
    let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
    let into = &mut job.stream.blocks.distribution;
    *into = match kind {
        "random" => PerDirection::all(Distribution::Uniform),
        "zoned" | "zoned_abs" => zones(reader, rest, kind == "zoned_abs")?,
        "zipf" | "pareto" | "normal" => PerDirection::all(shape(reader, kind, rest)?),
        _ => {
            let known = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];
            return Err(not_one_of(kind, known.into_iter()));
        }
    };
    Ok(())
}

fn shape(reader: &mut OptionReader<'_>, kind: &str, rest: &str) -> Result<Distribution, String> {
    let (number, center) = match rest.split_once(':') {
        Some((number, center)) => (number, Some(reader.float(center)?)),
        None => (rest, None),
    };
    if center.is_some_and(|center| !(0.0..=1.0).contains(&center)) {
        return Err("the centre is not within 0 and 1".to_owned());
    }
    let mut number = |default: f64| match number {
        "" => Ok(default),
        text => reader.float(text),
    };
    Ok(match kind {
        "zipf" => Distribution::Zipf {
            theta: zipf_theta(number(1.1)?)?,
            center,
        },
        "pareto" => Distribution::Pareto {
            power: pareto_power(number(0.2)?)?,
            center,
        },
        _ => Distribution::Normal {
            deviation: deviation(number(0.0)?)?,
            center,
        },
    })
}

/// Checks the exponent of Zipf's law.
fn zipf_theta(theta: f64) -> Result<f64, String> {
    match theta > 0.0 && theta != 1.0 {
        true => Ok(theta),
        false => Err("zipf needs a theta above 0 that is not 1".to_owned()),
    }
}

/// Checks the power of a Pareto distribution.
fn pareto_power(power: f64) -> Result<f64, String> {
    match power > 0.0 && power < 1.0 {
        true => Ok(power),
        false => Err("pareto needs a power between 0 and 1".to_owned()),
    }
}

/// Checks a standard deviation in percent.
fn deviation(deviation: f64) -> Result<f64, String> {
    match (0.0..100.0).contains(&deviation) {
        true => Ok(deviation),
        false => Err("a deviation is at least 0 and below 100 percent".to_owned()),
    }
}

/// Parses `60/10:30/20:10/70`, for each direction: share of the I/Os, and share
/// of the file in percent or bytes.
fn zones(
    reader: &mut OptionReader<'_>,
    value: &str,
    absolute: bool,
) -> Result<PerDirection<Distribution>, String> {
    let parts: Vec<&str> = value.split(',').collect();
    if parts.len() > 3 {
        return Err("write one to three lists, for reads, writes and trims".to_owned());
    }
    let mut lists = Vec::new();
    for part in &parts {
        lists.push(match absolute {
            true => zone_bytes(reader, part)?,
            false => zone_shares(part)?,
        });
    }
    let list = |direction: usize| lists[direction.min(lists.len() - 1)].clone();
    Ok(PerDirection {
        read: list(0),
        write: list(1),
        trim: list(2),
    })
}

fn zone_entries(list: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    list.split(':')
        .take_while(|entry| !entry.trim().is_empty())
        .take(MOST_SHARES)
        .map(|entry| match entry.split_once('/') {
            Some((access, size)) => (access, Some(size)),
            None => (entry, None),
        })
}

fn zone_shares(list: &str) -> Result<Distribution, String> {
    let mut zones = Vec::new();
    for (access, size) in zone_entries(list) {
        let size = match size.map(str::trim) {
            None | Some("" | "0") => None,
            Some(text) => Some(percent(text)?),
        };
        zones.push((percent(access)?, size));
    }
    check_access(zones.iter().map(|(access, _)| *access))?;
    let said: u32 = zones
        .iter()
        .filter_map(|(_, size)| *size)
        .map(u32::from)
        .sum();
    let open = u32::try_from(zones.iter().filter(|(_, size)| size.is_none()).count())
        .map_err(|_| "too many zones")?;
    if said > 100 {
        return Err("the sizes of the zones add up to more than 100 percent".to_owned());
    }
    let rest = u8::try_from((100 - said).checked_div(open).unwrap_or(0)).unwrap_or(0);
    let filled = zones
        .iter()
        .map(|(access, size)| (*access, size.unwrap_or(rest)));
    Ok(Distribution::Zoned(filled.collect()))
}

fn zone_bytes(reader: &mut OptionReader<'_>, list: &str) -> Result<Distribution, String> {
    let mut zones = Vec::new();
    for (access, size) in zone_entries(list) {
        let bytes = size.map_or(Ok(0), |size| reader.count(size))?;
        zones.push((percent(access)?, bytes));
    }
    check_access(zones.iter().map(|(access, _)| *access))?;
    Ok(Distribution::ZonedAbsolute(zones))
}

fn check_access(shares: impl Iterator<Item = u8>) -> Result<(), String> {
    match shares.map(u32::from).sum() {
        100 => Ok(()),
        sum => Err(format!(
            "the zones' shares of the I/Os add up to {sum}, not to 100 percent"
        )),
    }
}

options! {
    pub(super) static FILES:

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
        "zipf" => FileService::Zipf(zipf_theta(shape(1.1)?)?),
        "pareto" => FileService::Pareto(pareto_power(shape(0.2)?)?),
        "normal" | "gauss" => FileService::Normal(deviation(shape(0.0)?)?),
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
            return Err(not_one_of(kind, known.into_iter()));
        }
    };
    job.stream.files.service = service;
    job.stream.files.service_every = every;
    Ok(())
}

/// Names of checks. (`header` and `pattern_hdr` exist in newer versions.)
const CHECKS: [(&str, Option<VerifyKind>); 22] = [
    ("0", None),
    ("none", None),
    ("md5", Some(VerifyKind::Md5)),
    ("crc64", Some(VerifyKind::Crc64)),
    ("crc32", Some(VerifyKind::Crc32)),
    ("crc32c-intel", Some(VerifyKind::Crc32c)),
    ("crc32c", Some(VerifyKind::Crc32c)),
    ("crc16", Some(VerifyKind::Crc16)),
    ("crc7", Some(VerifyKind::Crc7)),
    ("sha1", Some(VerifyKind::Sha1)),
    ("sha256", Some(VerifyKind::Sha256)),
    ("sha512", Some(VerifyKind::Sha512)),
    ("sha3-224", Some(VerifyKind::Sha3224)),
    ("sha3-256", Some(VerifyKind::Sha3256)),
    ("sha3-384", Some(VerifyKind::Sha3384)),
    ("sha3-512", Some(VerifyKind::Sha3512)),
    ("xxhash", Some(VerifyKind::Xxhash)),
    ("meta", Some(VerifyKind::Header)),
    ("header", Some(VerifyKind::Header)),
    ("pattern", Some(VerifyKind::Pattern)),
    ("pattern_hdr", Some(VerifyKind::PatternHeader)),
    ("null", Some(VerifyKind::Null)),
];

options! {
    pub(super) static VERIFY:

    text("verify",
        "0, crc7, crc16, crc32, crc32c, crc64, md5, sha1, sha256, sha512, sha3-224 to sha3-512, \
         xxhash, meta, pattern, pattern_hdr or null", "0", "Check what was written, by this")
        [verify_kind = check_kind].differs("a mismatch of data is never exit code 0");
    flag("do_verify", "1", "Read back what was written and check it") [verify.read_back];
    switch("verify_only", "Write nothing; check what an earlier run wrote") [verify.only];
    text("verify_interval", "bytes", "", "A header every so many bytes")
        [verify.interval = |reader, value| match header_number(reader, value)? {
            bytes if bytes >= 2 * HEADER_BYTES => Ok(bytes),
            _ => Err(format!("use at least {} bytes: two headers", 2 * HEADER_BYTES)),
        }];
    text("verify_offset", "bytes", "", "Where in the interval the header lies")
        [verify.offset = |reader, value| match header_number(reader, value)? {
            1..HEADER_BYTES => Err(format!("use at least {HEADER_BYTES} bytes: a header")),
            bytes => Ok(bytes),
        }];
    text("verify_pattern", "bytes as 0xdeadbeef, \"text\", 42, %o, 'file', one after another", "",
        "Fill blocks with this and check it")
        [verify.pattern = |reader, value| pattern(value, true, reader.env)];
    text("verify_pattern_interval", "bytes", "0", "Begin the pattern anew every so many bytes")
        [verify_pattern_interval = header_number];
    flag("verify_write_sequence", "1", "A block must be of the write that was last there")
        [verify.check_number];
    flag("verify_header_seed", "1", "A header must have the seed of its write") [verify.check_seed]
        .differs("seeds of what another job has written are not known");
    flag("verify_fatal", "0", "End at the first mismatch") [verify.fatal];
    flag("verify_dump", "0", "Write blocks that differ to files") [verify.dump];
    count("verify_async", (0, 1024), "0", "Threads that check") [verify.threads];
    text("verify_async_cpus", "processors", "", "Where those threads run")
        [verify.thread_cpus = processors];
    count("verify_backlog", (0, u64::MAX), "0", "Check after that many written blocks")
        [verify.backlog];
    count("verify_backlog_batch", (0, u64::MAX), "0", "That many of them at once")
        [verify.backlog_batch];
    flag("experimental_verify", "0", "Generate offsets anew for checking instead of keeping them",
        |_, _| {})
        .differs("offsets are kept nevertheless: what is checked is the same");
    flag("verify_state_load", "0", "Check up to where a state file says") [verify.load_state];
    flag("verify_state_save", "1", "Save a state file")
        [verify.save_state = |on| if on { SaveState::Always } else { SaveState::Never }]
        .differs("where it is not given, only a job that is stopped saves one");
    flag("verifysort", "1", "Check in the order of offsets") [verify.sort];
    no_effect("verifysort_nr", "number", "Not used any more", "fio dropped it");
    count("trim_percentage", (0, 100), "0", "Share of written blocks that are trimmed")
        [stream.trim.percent];
    flag("trim_verify_zero", "1", "Trimmed blocks must read as zeroes") [stream.trim.verify_zero];
    count("trim_backlog", (0, u64::MAX), "0", "Trim after that many written blocks")
        [stream.trim.backlog];
    count("trim_backlog_batch", (0, u64::MAX), "0", "That many of them at once")
        [stream.trim.backlog_batch];
}

/// Size of fio's header before each checked block, in bytes.
pub(in crate::fio) const HEADER_BYTES: u32 = 40;

fn check_kind(_: &mut OptionReader<'_>, name: &str) -> Result<Option<VerifyKind>, String> {
    match CHECKS.iter().find(|(known, _)| *known == name) {
        Some((_, kind)) => Ok(*kind),
        None => Err(not_one_of(name, CHECKS.iter().map(|(known, _)| *known))),
    }
}

fn header_number(reader: &mut OptionReader<'_>, value: &str) -> Result<u32, String> {
    let bytes = reader.count(value)?;
    u32::try_from(bytes).map_err(|_| format!("{bytes} is too large"))
}
