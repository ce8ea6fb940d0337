//! Simulates people who read pages of `assay serve` at the same time.

use super::Lab;
use super::server::Server;
use crate::bench::median;
use crate::limits::Limits;
use anyhow::{Context, Result, anyhow, bail};
use assay_testkit::{Process, command};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

/// Concurrent readers.
const READERS: usize = 20;
/// Pages that each reader reads, one after the other.
const PAGES: usize = 25;
/// Largest median time of a page, in milliseconds.
const MOST_MS: f64 = 100.0;

/// Measures pages of a server over the database: each kind for the first time, where every reader
/// reads different pages, and again.
pub fn pages(lab: &Lab, server: &Server, limits: &mut Limits) -> Result<()> {
    let mut serve = command(&lab.assay);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--store", server.url()]);
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
