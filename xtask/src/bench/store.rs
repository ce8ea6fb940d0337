//! `cargo xtask bench store`: measures a database with years of runs of a simulated lab (20 boards
//! with three devices each): the rate of new runs and the time of queries.

use super::median;
use crate::bench::report::save;
use crate::run::{Limits, output, shipped};
use anyhow::{Context, Result, anyhow, bail};
use assay_model::run::Run;
use assay_store::{Store, StoredId};
use assay_testkit::{Postgres, Process, Scratch, command};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

const FILL: &str = include_str!("store/fill.sql");
const SIZES: &str = include_str!("store/sizes.sql");
/// Repetitions of each query; the median counts.
const ROUNDS: usize = 11;
const LEAST_PUSHED: f64 = 200.0;
/// Time of the first run: 14 November 2023, in ms since the epoch.
const BEGIN: u64 = 1_700_000_000_000;
const TWO_YEARS: u64 = 2 * 365 * 86_400_000;
/// Last board, whose last device receives the newest run.
const PUSHED_LAST: &str = "board-19";

/// Program under test, and a folder for files.
pub struct Lab {
    assay: PathBuf,
    place: Scratch,
}

/// Fills a database, pushes runs into it and queries it. Returns an error if a limit is missed.
pub fn store(words: &[&str]) -> Result<()> {
    let options = FillOptions::parse(words)?;
    let lab = Lab {
        assay: match &options.assay {
            Some(path) => path.clone(),
            None => shipped()?,
        },
        place: Scratch::within(&super::scratch_parent()?)?,
    };
    let server = Server::of(options.server.as_deref())?;
    let like = of_each_device(&lab)?;
    let first = file(&lab, "seed.sqlite", &like, devices(), BEGIN)?;
    push(&lab, &first, server.url())?;
    fill(&server, &options)?;
    let mut limits = Limits::default();
    let new = file(&lab, "new.sqlite", &like, options.pushed, BEGIN + TWO_YEARS)?;
    pushes(&lab, &server, &new, &mut limits, &options)?;
    derivation(&lab, &server)?;
    answers(&lab, &server, &mut limits)?;
    pages(&lab, &server, &mut limits)?;
    println!("{}", server.sql(SIZES, &[])?.trim_end());
    limits.end()
}

/// Fills the database with copies of the runs in it, up to the requested number.
fn fill(server: &Server, options: &FillOptions) -> Result<()> {
    let begun = Instant::now();
    let copies = options.runs.div_ceil(devices());
    let copies = copies.saturating_sub(1).max(2);
    let values = [("copies", copies), ("begin", BEGIN), ("span", TWO_YEARS)];
    server.sql(FILL, &values)?;
    let counts = "SELECT (SELECT count(*) FROM runs) || ' runs, ' || (SELECT count(*) FROM points) \
                  || ' figures, ' || (SELECT count(*) FROM series) || ' series'";
    let counted = server.sql(counts, &[])?;
    println!(
        "filled within {:.0} s: {}",
        begun.elapsed().as_secs_f64(),
        counted.trim()
    );
    Ok(())
}

/// Measures pushes of new runs into the database, and into an empty file.
fn pushes(
    lab: &Lab,
    server: &Server,
    new: &Path,
    limits: &mut Limits,
    options: &FillOptions,
) -> Result<()> {
    let rate = |to: &str| -> Result<f64> {
        let begun = Instant::now();
        push(lab, new, to)?;
        Ok(options.pushed as f64 / begun.elapsed().as_secs_f64())
    };
    // Pushes to the file first: it computes the hashes of the new runs, which the second push
    // reuses.
    let file = rate(&lab.place.join("other.sqlite").to_string_lossy())?;
    let database = rate(server.url())?;
    limits.check(
        &format!("runs pushed in a second, at least {LEAST_PUSHED:.0}"),
        &format!(
            "{database:.0}, {:.2} of those into an empty file",
            database / file
        ),
        database >= LEAST_PUSHED,
    );
    Ok(())
}

/// Measures the first query of series after a push, which searches for changes, here of one
/// board.
fn derivation(lab: &Lab, server: &Server) -> Result<()> {
    let others =
        format!("UPDATE series SET checked = 0 WHERE checked < 0 AND NOT target = '{PUSHED_LAST}'");
    server.sql(&others, &[])?;
    let of_board = "SELECT count(*) FROM series WHERE checked < 0";
    let series = server.sql(of_board, &[])?;
    let took = seconds(lab, server, &["series", "--device", PUSHED_LAST])?;
    println!(
        "       series looked through for changes: {} in {took:.1} s",
        series.trim()
    );
    Ok(())
}

fn answers(lab: &Lab, server: &Server, limits: &mut Limits) -> Result<()> {
    let key = server.sql(
        "SELECT key FROM series WHERE decides = 1 ORDER BY key LIMIT 1",
        &[],
    )?;
    let key = key.trim();
    let cases: &[(&str, &[&str], f64)] = &[
        ("the newest 50 runs", &["list", "--limit", "50"], 50.0),
        (
            "those of a device",
            &["list", "--limit", "50", "--device", "ufs"],
            100.0,
        ),
        (
            "those with a frequent text",
            &["list", "--limit", "50", "--text", "BOARD-07"],
            100.0,
        ),
        (
            "one with a rare text",
            &["list", "--limit", "50", "--text", "needle"],
            100.0,
        ),
        (
            "a text that none has",
            &["list", "--limit", "50", "--text", "nowhere"],
            100.0,
        ),
        ("a run", &["report", "seed000000"], 100.0),
        (
            "series of a board",
            &["series", "--device", "board-07"],
            100.0,
        ),
        ("all series", &["series"], 100.0),
        ("a series and its changes", &["series", key], 100.0),
    ];
    for (what, words, most) in cases {
        let took: Result<Vec<f64>> = (0..ROUNDS).map(|_| seconds(lab, server, words)).collect();
        let took = median(took?) * 1e3;
        limits.check(
            &format!("{what}, within {most:.0} ms: assay {}", words.join(" ")),
            &format!("{took:.0} ms"),
            took <= *most,
        );
    }
    Ok(())
}

/// Returns the duration of a command, including its start and connection, in seconds.
fn seconds(lab: &Lab, server: &Server, words: &[&str]) -> Result<f64> {
    let mut command = Command::new(&lab.assay);
    command.args(words).args(["--store", server.url()]);
    let begun = Instant::now();
    output(&mut command)?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Size of the store, and the server and the program that are measured.
#[derive(Debug, PartialEq, Eq)]
struct FillOptions {
    /// Runs in the store.
    pub runs: u64,
    /// Runs that are pushed into it.
    pub pushed: u64,
    /// URL of an empty database; `None`: starts a private server.
    pub server: Option<String>,
    /// Path of the program; `None`: builds it.
    pub assay: Option<PathBuf>,
}

impl FillOptions {
    pub fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            runs: 100_000,
            pushed: 1_000,
            server: None,
            assay: None,
        };
        for pair in words.chunks(2) {
            let [name, value] = *pair else {
                bail!("{} takes a value", pair.join(" "));
            };
            let number = || value.parse().with_context(|| format!("{name} {value}"));
            match name {
                "--runs" => options.runs = number()?,
                "--push" => options.pushed = number()?,
                "--server" => options.server = Some(value.to_owned()),
                "--assay" => options.assay = Some(value.into()),
                _ => bail!("bench store knows no {name}: see cargo xtask help"),
            }
        }
        Ok(options)
    }
}

/// Concurrent readers.
const READERS: usize = 20;
/// Pages that each reader reads, one after the other.
const PAGES: usize = 25;
/// Largest median time of a page, in milliseconds.
const MOST_MS: f64 = 100.0;

/// Measures pages of a server over the database: each kind for the first time, where every reader
/// reads different pages, and again.
fn pages(lab: &Lab, server: &Server, limits: &mut Limits) -> Result<()> {
    let mut serve = command(&lab.assay);
    serve.args([
        "store",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        server.url(),
    ]);
    let mut serving = Process::start(serve.stdout(Stdio::piped()))?;
    let output = serving.child().stdout.take();
    let mut line = String::new();
    BufReader::new(output.context("a server without output")?).read_line(&mut line)?;
    let address = line.trim().trim_start_matches("http://");
    let address = address.trim_end_matches('/');
    for (what, paths) in kinds(server)? {
        for again in ["for the first time", "again"] {
            let took = read(address, &paths)?;
            let (middle, most) = (median(took.clone()), tenth(took));
            limits.check(
                &format!("{what} {again}, {READERS} readers, within {MOST_MS:.0} ms"),
                &format!("{middle:.0} ms, nine of ten within {most:.0} ms"),
                middle <= MOST_MS,
            );
        }
    }
    Ok(())
}

/// Returns the paths of the pages of each kind.
fn kinds(server: &Server) -> Result<[(&'static str, Vec<String>); 3]> {
    let number = READERS * PAGES;
    let keys = format!("SELECT key FROM series WHERE decides = 1 ORDER BY key LIMIT {number}");
    let keys = server.sql(&keys, &[])?;
    let series = keys.lines().map(|key| format!("/series/{key}"));
    // Days of the two years.
    let days = "SELECT to_char(DATE '2023-11-16' + number, 'YYYY-MM-DD') FROM generate_series(0, 699) \
                AS numbers (number) ORDER BY number";
    let days = server.sql(days, &[])?;
    let searches = days.lines().take(number).enumerate();
    let searches =
        searches.map(|(n, day)| format!("/runs?text=board-{:02}&until={day}", n % READERS));
    Ok([
        ("the overview", vec!["/".to_owned()]),
        ("series", series.collect()),
        ("searches", searches.collect()),
    ])
}

/// Lets all readers read at once. Returns the time of each page, in milliseconds.
fn read(address: &str, paths: &[String]) -> Result<Vec<f64>> {
    if paths.is_empty() {
        bail!("the store has no series to read");
    }
    let reader = |reader: usize| -> Result<Vec<f64>> {
        let own = paths.iter().cycle().skip(reader * PAGES).take(PAGES);
        own.map(|path| ms(address, path)).collect()
    };
    thread::scope(|scope| {
        let readers = (0..READERS).map(|number| scope.spawn(move || reader(number)));
        let readers: Vec<_> = readers.collect();
        let mut all = Vec::new();
        for reader in readers {
            let took = reader.join().map_err(|_| anyhow!("a reader failed"))?;
            all.extend(took?);
        }
        Ok(all)
    })
}

/// Returns the time until the whole page has arrived on a new connection, in milliseconds.
fn ms(address: &str, path: &str) -> Result<f64> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.starts_with("HTTP/1.1 200 ") && answer.contains("</html>") {
        true => Ok(begun.elapsed().as_secs_f64() * 1e3),
        false => bail!("{path}: {}", answer.lines().next().unwrap_or_default()),
    }
}

/// Returns the 90th percentile.
fn tenth(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = values.len() * 9 / 10;
    values.get(place).copied().unwrap_or_default()
}

/// Boards of the lab.
const BOARDS: u64 = 20;
/// Devices of each board.
const PARTS: [&str; 3] = ["emmc-8gb-hs400", "rtsx-sd-pro-plus-128", "ufs-128gb-g3x2"];
/// Jobs of a run, two trials each: together they give about 60 figures.
const JOBS: &str = "mixed-4k-70-30,append-4k-fsync,seq-read-1m,seq-write-1m,rand-read-4k,\
    rand-read-4k-qd32,rand-read-8k,rand-read-16k,rand-read-1m,rand-write-4k,\
    rand-write-4k-qd32,rand-write-8k,rand-write-16k";

/// Makes one run of each device with the program.
fn of_each_device(lab: &Lab) -> Result<Vec<Run>> {
    let path = lab.place.join("devices.sqlite");
    let mut runs = Vec::new();
    for part in PARTS {
        let mut qualify = Command::new(&lab.assay);
        qualify.args(["qualify", "--quick", "--trials", "2", "--only", JOBS]);
        qualify.arg(format!("sim:{part}"));
        qualify.arg("--store").arg(&path);
        output(&mut qualify)?;
        let store = Store::open_existing(path.as_path())?;
        let StoredId::Run(id) = store.find("last")? else {
            bail!("the run of {part} is not in its store");
        };
        runs.push(store.load(&id)?.run);
    }
    Ok(runs)
}

/// Writes a file with `number` runs, one of each device of each board in turn, a
/// second apart.
fn file(lab: &Lab, name: &str, like: &[Run], number: u64, begin: u64) -> Result<PathBuf> {
    let path = lab.place.join(name);
    let mut store = Store::open(path.as_path())?;
    for index in 0..number {
        let (board, device) = (
            index / like.len() as u64 % BOARDS,
            index % like.len() as u64,
        );
        let Some(like) = like.get(usize::try_from(device)?) else {
            bail!("there are no runs");
        };
        let mut run = like.clone();
        let start = begin + index * 1_000;
        let took = like.finished_unix_ms.unwrap_or_default() - like.header.started_unix_ms;
        run.header.id = format!("{}{index:06}", name.split('.').next().unwrap_or(name));
        run.header.target = Some(format!("board-{board:02}"));
        run.header.started_unix_ms = start;
        run.finished_unix_ms = Some(start + took);
        save(&mut store, &run)?;
    }
    Ok(path)
}

/// Number of devices in the lab.
fn devices() -> u64 {
    BOARDS * PARTS.len() as u64
}

/// Copies all runs of a file to another store, as a user would.
fn push(lab: &Lab, from: &Path, to: &str) -> Result<()> {
    let mut push = Command::new(&lab.assay);
    push.args(["store", "push", "--all", "--to", to, "--store"])
        .arg(from);
    output(&mut push).map(drop)
}

/// Database, and its server if it is private.
struct Server {
    url: String,
    _own: Option<Postgres>,
}

impl Server {
    /// Connects to the database of a URL, or else starts a private server that syncs its writes
    /// as in production.
    pub fn of(url: Option<&str>) -> Result<Self> {
        if let Some(url) = url {
            return Ok(Self {
                url: url.to_owned(),
                _own: None,
            });
        }
        let own = Postgres::start_durable()?;
        Ok(Self {
            url: own.url(&own.database()?),
            _own: Some(own),
        })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements, in which `:name` is replaced by a value. Returns the output of psql.
    pub fn sql(&self, sql: &str, values: &[(&str, u64)]) -> Result<String> {
        let mut psql = Command::new("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.arg("--set=ON_ERROR_STOP=1");
        for (name, value) in values {
            psql.arg(format!("--set={name}={value}"));
        }
        // psql replaces variables only in a script that it reads from a file.
        let script = tempfile::NamedTempFile::new()?;
        std::fs::write(script.path(), sql)?;
        psql.arg("--file").arg(script.path()).arg(&self.url);
        output(&mut psql)
    }
}
