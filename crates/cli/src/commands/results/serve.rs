//! `assay store serve`: shows stored results in a browser, and provides them to programs.

use crate::exit::{DONE, Failure, Interrupt};
use crate::judging::{
    Judged, NamedSide, RankedConditions, Terms, earlier_runs, verdicts_of_import,
};
use crate::output::{print, say};
use crate::stored;
use crate::stored::lookup::{FigureSource, StoreArgs};
use assay_lang::tr;
use assay_model::figures::Import;
use assay_model::run::Run;
use assay_model::text::clean;
use assay_report::html::{Site, comparison_in};
use assay_report::sweep::Verdicts;
use assay_report::xlsx;
use assay_series::refresh;
use assay_store::{Location, Owner, Store, StoreError};
use assay_web::{Program, Served, ServedParts, Stop, Token, is_loopback, serve};
use clap::Args;
use maud::Markup;
use std::convert::identity;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const AFTER_HELP: &str = "\
The first line of output is the address. Runs are only read; there is no login:
whoever reaches the address reads all results. docs/serve.md shows how a reverse proxy
asks people who they are.

Examples:
  assay store serve
  assay store serve --store team.sqlite --listen 127.0.0.1:9000
  assay store serve --listen '[::]:8080' --token-file /etc/assay/token
  curl -s http://127.0.0.1:8080/api/v1/runs?device=DG4032 | jq '.runs[].id'

Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 failed, 2 wrong usage.";

/// `assay store serve`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ServeArgs {
    /// Address and port to listen on; by default only this machine can reach it. Port 0: any that
    /// is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Name under which a reverse proxy passes requests on; may be given several times. Without
    /// it, a server on this machine alone answers to localhost and its address only.
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// File with a token of at least 16 characters, which scripts must send for /api and /metrics
    /// (Authorization: Bearer TOKEN).
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay store serve`.
pub fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    // Report a problem with the store before the server starts.
    let location = args.store.open_existing()?.location().clone();
    let token = args.token_file.as_deref().map(token).transpose()?;
    let listener = TcpListener::bind(args.listen).map_err(|error| {
        Failure::failed(format!(
            "cannot listen on {}: {error}: choose another address or port with --listen",
            args.listen
        ))
    })?;
    let address = listener.local_addr().map_err(Failure::failed)?;
    let stop = Stop::default();
    keep_up(location.clone())?;
    let _interrupt = Interrupt::catch({
        let stop = stop.clone();
        move || stop.now()
    })?;
    warn(address, token.is_some());
    print(|out| writeln!(out, "http://{address}/"))?;
    let served = Served::new(ServedParts {
        source: location.to_string(),
        open: Box::new(move || Store::open_existing(&location)),
        address,
        names: args.allow_host.clone(),
        token,
        program: Box::new(ThisProgram),
    });
    serve(listener, served, &stop)
        .map_err(|error| Failure::failed(format!("the server failed: {error}")))?;
    Ok(DONE)
}

/// Pause between two checks for new runs.
const REFRESH_INTERVAL: Duration = Duration::from_secs(20);

/// Adds new runs to series while the server runs. Prints a message once if the store is read-only,
/// and one for each new failure.
fn keep_up(location: Location) -> Result<(), Failure> {
    let keep = move || {
        let mut told = None;
        loop {
            let refreshed = Store::open_existing(&location)
                .and_then(|mut store| refresh(&mut store, |_, _| ControlFlow::Continue(())));
            let words = refreshed.err().map(|error| match error {
                StoreError::ReadOnly { .. } | StoreError::Forbidden { .. } => {
                    tr!("The store may only be read: series are as those who write it leave them.")
                        .to_owned()
                }
                error => {
                    let why = clean(&error.to_string());
                    tr!("Warning: series are not up to date: {why}", why)
                }
            });
            if let Some(words) = &words
                && told.as_ref() != Some(words)
            {
                say(words);
            }
            told = words;
            std::thread::sleep(REFRESH_INTERVAL);
        }
    };
    std::thread::Builder::new()
        .spawn(keep)
        .map_err(Failure::no_thread)?;
    Ok(())
}

fn warn(address: SocketAddr, has_token: bool) {
    if is_loopback(address.ip()) {
        return;
    }
    say(tr!(
        "Warning: whoever reaches this address can read all results: put a reverse proxy before it that asks who they are."
    ));
    if !has_token {
        say(tr!(
            "/api and /metrics need no token: --token-file sets one."
        ));
    }
}

/// Maximum size of a token file, in bytes.
const TOKEN_BYTES: u64 = 4096;

fn token(path: &Path) -> Result<Token, Failure> {
    let mut contents = String::new();
    let read =
        File::open(path).and_then(|file| file.take(TOKEN_BYTES).read_to_string(&mut contents));
    read.map_err(|error| Failure::in_file(path, format_args!("cannot read the token: {error}")))?;
    Token::of(&contents).ok_or_else(|| {
        let why =
            "a token is one word of at least 16 characters, such as openssl rand -hex 32 prints";
        Failure::in_file(path, why)
    })
}

/// Functions of this program for the server: comparisons, and the processes of this machine.
struct ThisProgram;

impl Program for ThisProgram {
    fn compare(&self, store: &Store, sides: [&[String]; 2], site: &Site) -> Result<Markup, String> {
        let judged = judged(store, sides).map_err(|failure| failure.to_string())?;
        let (a, b) = (judged.a.runs(), judged.b.runs());
        let [a, b] = judged.sides([&a, &b]);
        Ok(comparison_in(site, &judged.compared(), &a, &b))
    }

    fn verdicts(&self, import: &Import) -> Option<Verdicts> {
        verdicts_of_import(import, None)
    }

    fn workbook(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        match RankedConditions::of_run(run, None) {
            Some(judged) => xlsx::write_sweep(run, &judged.ranked(), out),
            None => xlsx::write(run, out),
        }
    }

    fn is_alive(&self, owner: &Owner) -> bool {
        stored::is_alive(owner)
    }
}

/// Compares sources in the store only: a name from a browser must never open a file.
fn judged(store: &Store, sides: [&[String]; 2]) -> Result<Judged, Failure> {
    let side = |words: &[String]| {
        let units = words
            .iter()
            .map(|word| FigureSource::find_stored(word, store)?.single());
        Ok::<_, Failure>(NamedSide {
            name: clean(&words.join(", ")),
            units: units.collect::<Result<_, Failure>>()?,
        })
    };
    let [a, b] = sides;
    let (a, b) = (side(a)?, side(b)?);
    Judged::of((a, b), &Terms::default(), identity, |sides| {
        Ok(earlier_runs(store, sides)?)
    })
}
