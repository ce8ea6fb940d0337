//! The server of the real program: asked by curl, its pages in a browser and judged by axe.

use crate::assay::{Bed, text};
use crate::browser::probed;
use assay_testkit::{Postgres, Process, needs, or_skip, skip};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A server over the store of a bed.
struct Serving {
    process: Process,
    url: String,
}

impl Serving {
    fn start(bed: &Bed, words: &[&str]) -> Self {
        Self::of(bed.command(&[&["serve", "--listen", "127.0.0.1:0"], words].concat()))
    }

    fn of(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command).expect("a server");
        let out = process.child().stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(out)
            .read_line(&mut line)
            .expect("its address");
        let url = line.trim_end().trim_end_matches('/').to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        Self { process, url }
    }

    /// Body and status of the answer that curl gets.
    fn get(&self, target: &str, words: &[&str]) -> (String, u16) {
        let mut curl = assay_testkit::command("curl");
        curl.args(["-s", "-w", "\n%{http_code}", "--max-time", "60"])
            .args(words);
        let ended = curl
            .arg(format!("{}{target}", self.url))
            .output()
            .expect("curl");
        let out = String::from_utf8_lossy(&ended.stdout).into_owned();
        let (body, status) = out.rsplit_once('\n').expect("a status");
        (body.to_owned(), status.parse().expect("a status"))
    }

    fn page(&self, target: &str) -> String {
        let (body, status) = self.get(target, &[]);
        assert_eq!(status, 200, "{target}: {body}");
        body
    }

    fn json(&self, target: &str) -> Value {
        serde_json::from_str(&self.page(target)).expect("JSON")
    }
}

/// Two short runs on a simulated device.
fn bed_with_runs() -> Bed {
    let bed = Bed::new();
    for (name, seed) in [("before", "1"), ("after", "2")] {
        let words = [
            "qualify",
            "sim:emmc-8gb-hs400,noise=3",
            "--quick",
            "--size",
            "16M",
            "--trials",
            "3",
            "--only",
            "rand-read-4k,rand-write-4k",
            "--seed",
            seed,
            "--name",
            name,
        ];
        bed.run(&words).assert_code(0);
    }
    bed
}

#[test]
fn a_store_is_served_and_the_server_ends_when_asked() {
    needs!("curl");
    let bed = bed_with_runs();
    let mut serving = Serving::start(&bed, &[]);
    let runs = serving.json("/api/v1/runs");
    let ids: Vec<&str> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 2);
    // The judge is that of the command.
    let page = serving.page("/compare?a=before&b=after");
    let file = bed.join("compared.html");
    bed.run(&["compare", "before", "after", "-o", text(&file)])
        .assert_code(0);
    let said = fs::read_to_string(file).unwrap();
    let (_, said) = said
        .split_once("<p class=\"conclusion\">")
        .expect("a conclusion");
    let (conclusion, _) = said.split_once("</p>").expect("its end");
    assert!(page.contains(conclusion), "{conclusion}");
    assert!(
        serving
            .page(&format!("/compare?run={}&run={}", ids[0], ids[1]))
            .contains(conclusion)
    );
    let (swept, _) = serving.get("/compare?a=before&b=before", &[]);
    assert!(swept.contains("the same results"), "{swept}");
    // Data are those of the command, too.
    let json = serving.page("/runs/before/run.json");
    assert_eq!(json, bed.run(&["show", "before", "--json"]).out);
    let csv = bed.join("run.csv");
    bed.run(&["report", "before", "-o", text(&csv)])
        .assert_code(0);
    assert_eq!(
        serving.page("/runs/before/run.csv"),
        fs::read_to_string(csv).unwrap()
    );
    assert!(serving.page("/metrics").contains("assay_runs 2"));
    serving.process.signal(Signal::INT);
    assert_eq!(serving.process.wait().unwrap().code(), Some(0));
}

#[test]
fn a_database_is_served_and_the_server_ends_when_asked() {
    needs!("curl");
    let server = or_skip!(Postgres::shared());
    let url = server.url(&server.database().expect("a database"));
    let bed = bed_with_runs();
    bed.run(&["push", "--all", "--to", &url]).assert_code(0);
    let of_database = |words: &[&str]| {
        let mut command = bed.command_without_store(words);
        command.args(["--store", &url]);
        command
    };
    let mut serving = Serving::of(of_database(&["serve", "--listen", "127.0.0.1:0"]));
    for name in ["first", "second"] {
        let mut tag = of_database(&["tag", "last", "--name", name]);
        assert!(tag.status().expect("tag").success());
        let page = serving.page("/");
        assert!(page.contains(name), "{page}");
        assert_eq!(serving.page("/"), page);
    }
    serving.process.signal(Signal::INT);
    assert_eq!(serving.process.wait().unwrap().code(), Some(0));
}

#[test]
fn new_runs_become_points_of_series_while_it_runs() {
    needs!("curl");
    let bed = bed_with_runs();
    let serving = Serving::start(&bed, &[]);
    let series = || {
        serving.json("/api/v1/series?metrics=all")["series"]
            .as_array()
            .unwrap()
            .clone()
    };
    let mut tries = 0;
    while series().is_empty() && tries < 200 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        tries += 1;
    }
    let found = series();
    let key = found[0]["series"].as_str().expect("a series");
    let points = serving.json(&format!("/api/v1/series/{key}/points"));
    assert_eq!(points["points"].as_array().unwrap().len(), 2);
    let page = serving.page(&format!("/series/{key}"));
    assert!(
        page.contains("<svg") && page.contains("No change was found"),
        "{page}"
    );
    let model = found[0]["model"].as_str().unwrap();
    assert!(serving.page("/devices").contains(model));
    assert!(serving.page("/runs/before/series").contains(key));
}

#[test]
fn a_token_is_asked_for_and_a_bad_one_is_refused() {
    needs!("curl");
    let bed = bed_with_runs();
    let file = bed.join("token");
    fs::write(&file, "short\n").unwrap();
    let refused = bed.refused(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--token-file",
        text(&file),
    ]);
    assert!(refused.contains("at least 16 characters"), "{refused}");
    fs::write(&file, "0123456789abcdef\n").unwrap();
    let serving = Serving::start(&bed, &["--token-file", text(&file)]);
    assert_eq!(serving.get("/api/v1/runs", &[]).1, 401);
    let header = "Authorization: Bearer 0123456789abcdef";
    assert_eq!(serving.get("/api/v1/runs", &["-H", header]).1, 200);
    assert_eq!(serving.get("/", &["-H", "Host: evil.example"]).1, 403);
}

#[test]
fn a_store_that_is_missing_or_a_port_that_is_taken_is_said_at_once() {
    let bed = Bed::new();
    let refused = bed.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.contains("no store at"), "{refused}");
    bed.short_run(&bed.folder());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = bed.run(&["serve", "--listen", &address]);
    ended.assert_code(1);
    assert!(
        ended.err.concat().contains("cannot listen on"),
        "{:?}",
        ended.err
    );
}

/// Pages of every kind.
fn pages(serving: &Serving) -> Vec<String> {
    let series = serving.json("/api/v1/series?metrics=all");
    let key = series["series"][0]["series"].as_str().map(str::to_owned);
    let mut pages: Vec<String> = [
        "/",
        "/runs",
        "/runs?text=nothing",
        "/devices",
        "/series",
        "/changes?state=all",
        "/runs/before",
        "/runs/before/series",
        "/compare?run=before",
        "/compare?a=before&b=after",
        "/nothing",
    ]
    .map(str::to_owned)
    .into();
    pages.extend(key.map(|key| format!("/series/{key}")));
    pages
}

/// A page as a file: with its style in it, so that it asks for nothing.
fn saved(bed: &Bed, serving: &Serving, page: &str) -> PathBuf {
    let (html, _) = serving.get(page, &[]);
    let (before, rest) = html
        .split_once("<link rel=\"stylesheet\" href=\"")
        .expect("a style");
    let (style, after) = rest.split_once("\">").expect("its end");
    let sheet = serving.page(style);
    let file = bed.join("page.html");
    fs::write(&file, format!("{before}<style>{sheet}</style>{after}")).expect("a page");
    file
}

#[test]
fn pages_fit_a_telephone_and_a_desk() {
    needs!("chromium", "curl");
    let bed = bed_with_runs();
    let serving = Serving::start(&bed, &[]);
    for page in pages(&serving) {
        let file = saved(&bed, &serving, &page);
        for width in [375, 1280] {
            let script = format!(
                "const frame = document.createElement('iframe');
                 document.documentElement.style.width = '{width}px';
                 document.body.style.width = '{width}px';
                 const wide = [...document.querySelectorAll('main *, header *, nav *')].filter((one) =>
                   !one.closest('.scroll') && !one.closest('svg') && !one.closest('.skip') && one.getBoundingClientRect().right > {width} + 1);
                 say('wide: ' + wide.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)).join(' | '));"
            );
            assert_eq!(
                probed(&bed, &file, &script),
                ["wide: "],
                "{page} at {width}"
            );
        }
    }
}

/// axe: that of ASSAY_AXE, else the one that `cargo xtask test` installs.
fn axe() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("ASSAY_AXE") {
        return Some(path.into());
    }
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let packages = program.ancestors().nth(2)?.join("python");
    let axe = packages.join("axe_core_python/axe.min.js");
    axe.exists().then_some(axe)
}

#[test]
fn axe_finds_nothing() {
    needs!("chromium", "curl");
    let Some(axe) = axe() else {
        skip("axe is not installed: cargo xtask test does that");
        return;
    };
    let axe = fs::read_to_string(axe).expect("a script");
    let bed = bed_with_runs();
    let serving = Serving::start(&bed, &[]);
    for page in pages(&serving) {
        let file = saved(&bed, &serving, &page);
        let html = fs::read_to_string(&file).unwrap();
        let run = format!(
            "<script>{axe}</script><script>
             document.querySelectorAll('details').forEach((part) => {{ part.open = true; }});
             axe.run(document, {{ resultTypes: ['violations'] }}).then((found) => {{
               const lines = document.createElement('pre'); lines.id = 'said';
               lines.textContent = 'axe ran\\n' + found.violations.map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + ' ' + node.failureSummary).join(' | ')).join('\\n');
               document.body.append(lines);
             }});</script></body>"
        );
        fs::write(&file, html.replace("</body>", &run)).unwrap();
        let said = crate::browser::dumped(&bed, &file);
        assert_eq!(said, ["axe ran"], "{page}");
    }
}
