//! The server of the real program: asked by curl, its pages in a browser and judged by axe.

use crate::assay::{Bed, text};
use crate::browser::framed;
use assay_testkit::{Postgres, Process, needs, or_skip, skip};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A server over the store of a bed.
struct Serving {
    process: Process,
    url: String,
}

impl Serving {
    fn start(bed: &Bed, words: &[&str]) -> Self {
        Self::of(bed.command(&[&["store", "serve", "--listen", "127.0.0.1:0"], words].concat()))
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
            DEVICE,
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
    assert_eq!(json, bed.run(&["report", "before", "--json"]).out);
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
    bed.run(&["store", "push", "--all", "--to", &url])
        .assert_code(0);
    let of_database = |words: &[&str]| {
        let mut command = bed.command_without_store(words);
        command.args(["--store", &url]);
        command
    };
    let mut serving = Serving::of(of_database(&["store", "serve", "--listen", "127.0.0.1:0"]));
    for name in ["first", "second"] {
        let mut tag = of_database(&["store", "tag", "last", "--name", name]);
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
        std::thread::sleep(Duration::from_millis(100));
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
        "store",
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
    let refused = bed.refused(&["store", "serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.contains("no store at"), "{refused}");
    bed.short_run(&bed.folder());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = bed.run(&["store", "serve", "--listen", &address]);
    ended.assert_code(1);
    assert!(
        ended.err.concat().contains("cannot listen on"),
        "{:?}",
        ended.err
    );
}

/// Runs of every kind that pages show: of six units of a device, a sweep, and an import.
fn bed_with_all() -> Bed {
    let bed = Bed::new();
    let only = "rand-read-4k,rand-write-4k";
    for unit in ["1", "2", "3", "4", "5", "6"] {
        let words = [
            "qualify", DEVICE, "--quick", "--size", "16M", "--trials", "3",
        ];
        let named = [
            "--only", only, "--seed", unit, "--unit", unit, "--name", unit,
        ];
        bed.run(&[&words[..], &named].concat()).assert_code(0);
    }
    let (knob, folder) = (bed.join("knob"), bed.folder());
    fs::write(&knob, "1\n").expect("a file");
    let vary = format!("file:{}=5,6", text(&knob));
    let words = [
        "sweep",
        text(&folder),
        "--vary",
        &vary,
        "--quick",
        "--size",
        "1M",
    ];
    let named = ["--only", "read-cached", "--trials", "3", "--name", "swept"];
    bed.run(&[&words[..], &named].concat()).assert_code(0);
    let file = bed.join("fio.json");
    let job = json!({"jobname": "x", "error": 0, "read": {"io_bytes": 4096, "runtime": 1000, "bw": 4, "iops": 1.0, "total_ios": 1}});
    let result = json!({"fio version": "fio-3.33", "timestamp": 0, "jobs": [job]});
    fs::write(&file, result.to_string()).expect("a file");
    bed.run(&["store", "import", text(&file), "--name", "imported"])
        .assert_code(0);
    bed
}

const DEVICE: &str = "sim:emmc-8gb-hs400,noise=3";

/// Pages of every kind; `MODEL` and `SERIES` stand for those of the store.
const PAGES: [&str; 24] = [
    "/",
    "/runs",
    "/runs?text=swept",
    "/runs?text=nothing",
    "/devices",
    "/device?model=MODEL",
    "/unit?model=MODEL&unit=1",
    "/series",
    "/series?metrics=all",
    "/series/SERIES",
    "/changes",
    "/changes?state=all",
    "/runs/1",
    "/runs/1/series",
    "/runs/swept",
    "/runs/imported",
    "/compare",
    "/compare?run=1",
    "/compare?run=1&run=2&run=swept",
    "/compare?a=1&b=2",
    "/compare?a=1&a=2&a=3&b=4&b=5&b=6",
    "/compare?a=1&b=imported",
    "/nothing",
    "/runs?since=yesterday",
];

fn pages(serving: &Serving) -> Vec<String> {
    let series = || serving.json("/api/v1/series?device=emmc")["series"][0].clone();
    let mut tries = 0;
    while series().is_null() && tries < 200 {
        std::thread::sleep(Duration::from_millis(100));
        tries += 1;
    }
    let series = series();
    let word = |name: &str| series[name].as_str().expect("a series").replace(' ', "+");
    let (key, model) = (word("series"), word("model"));
    let pages = PAGES.iter();
    let pages = pages.map(|page| page.replace("SERIES", &key).replace("MODEL", &model));
    pages.collect()
}

#[test]
fn a_page_of_a_run_has_its_place_among_the_units_of_the_store() {
    needs!("curl");
    let bed = bed_with_all();
    let serving = Serving::start(&bed, &[]);
    pages(&serving);
    let page = serving.page("/runs/1");
    assert!(page.contains("of 5 units"), "{page}");
    assert!(!serving.page("/runs/swept").contains("of 5 units"));
    let shown = bed.run(&["report", "1", "--population", "store"]);
    let standing = shown.out.lines().find(|line| line.contains("of 5 units"));
    // The last column, which one blank may be before.
    let (_, standing) = standing
        .and_then(|line| line.rsplit_once(" P"))
        .expect("it");
    assert!(page.contains(&format!("P{standing}")), "{standing}");
    // Fewer units, and the page that a browser has is an older one.
    let tag = |words: &[&str]| serving.get("/runs/1", &[words, &["-D", "-"]].concat());
    let (head, _) = tag(&[]);
    let line = head.lines().find_map(|line| line.strip_prefix("etag: "));
    let had = format!("If-None-Match: {}", line.expect("a tag"));
    assert_eq!(tag(&["-H", &had]).1, 304);
    bed.run(&["store", "rm", "2"]).assert_code(0);
    let (page, status) = tag(&["-H", &had]);
    assert!(status == 200 && !page.contains("of 5 units"), "{page}");
}

/// A page as a file: with its style in it, so that it asks for nothing.
fn saved(serving: &Serving, page: &str) -> String {
    let (html, _) = serving.get(page, &[]);
    let (before, rest) = html
        .split_once("<link rel=\"stylesheet\" href=\"")
        .expect("a style");
    let (style, after) = rest.split_once("\">").expect("its end");
    let sheet = serving.page(style);
    format!("{before}<style>{sheet}</style>{after}")
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

/// Script that tells the page around it which elements are wider than the window, and what axe finds.
const JUDGE: &str = "
    document.querySelectorAll('details').forEach((part) => { part.open = true; });
    const wide = [...document.querySelectorAll('main *, header *, nav *')].filter((one) =>
      !one.closest('.scroll') && !one.closest('svg') && !one.closest('.skip') && one.getBoundingClientRect().right > window.innerWidth + 1);
    const said = wide.slice(0, 3).map((one) => 'wide: ' + one.outerHTML.slice(0, 120));
    // A telephone scrolls a table, a desk shows all of it.
    const cut = [...document.querySelectorAll('.scroll')].filter((one) => window.innerWidth > 1000 && one.scrollWidth > one.clientWidth);
    said.push(...cut.map((one) => 'cut: ' + one.getAttribute('aria-label') + ' ' + one.scrollWidth + ' > ' + one.clientWidth));
    const judged = window.axe ? axe.run(document, { resultTypes: ['violations'] }) : Promise.resolve({ violations: [] });
    judged.then((found) => {
      said.push(...found.violations.map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + ' ' + node.failureSummary).join(' | ')));
      const dark = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
      parent.postMessage([window.innerWidth + ' ' + dark, ...said].join(' '), '*');
    });";

#[test]
fn every_page_fits_a_telephone_and_a_desk_and_axe_finds_nothing() {
    needs!("chromium", "curl");
    let axe = axe().map(|axe| fs::read_to_string(axe).expect("a script"));
    let bed = bed_with_all();
    let serving = Serving::start(&bed, &[]);
    let script = axe.as_deref().unwrap_or_default();
    let scripts = [script, JUDGE];
    for page in pages(&serving) {
        let html = saved(&serving, &page);
        for (dark, name) in [("0", "dark"), ("1", "light")] {
            let scheme = format!("--blink-settings=preferredColorScheme={dark}");
            let said = framed(&bed, &[&scheme], &html, &scripts);
            let expected = ["1280", "375"].map(|width| format!("{width} {name}"));
            assert_eq!(said, expected, "{page}");
        }
    }
    if axe.is_none() {
        skip("axe is not installed: cargo xtask test does that");
    }
}
