//! A server over a real socket: who is answered, with what, and that nobody else has to wait.
#![allow(
    clippy::unwrap_used,
    reason = "bodies of tests, where a panic is a failure"
)]

#[path = "../../store/tests/common/mod.rs"]
mod common;

use assay_model::annotation::Annotation;
use assay_model::figures::Import;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_report::html::Site;
use assay_report::sweep::Verdicts;
use assay_report::xlsx;
use assay_store::{Owner, Store};
use assay_web::{Program, Served, ServedParts, Stop, Token, serve};
use maud::{Markup, html};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// A judge that only shows what it was asked.
struct Echo;

impl Program for Echo {
    fn compare(&self, _: &Store, [a, b]: [&[String]; 2], site: &Site) -> Result<Markup, String> {
        match a == b {
            true => Err(format!("{HOSTILE} on both sides")),
            false => Ok(site.page("Compared", &html! { p { (format!("{a:?} {b:?}")) } })),
        }
    }

    fn verdicts(&self, _: &Import) -> Option<Verdicts> {
        None
    }

    fn workbook(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        xlsx::write(run, out)
    }

    fn is_alive(&self, _: &Owner) -> bool {
        false
    }
}

/// A server over a store of its own.
struct Bed {
    folder: TempDir,
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.stop.now();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()), "it panicked");
    }
}

/// An answer: status, head, body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

fn finished(id: &str, started_unix_ms: u64, edit: impl FnOnce(&mut RunHeader)) -> RunHeader {
    let mut header = common::header(id, started_unix_ms);
    edit(&mut header);
    header
}

fn fill(store: &mut Store, header: &RunHeader, annotation: Annotation) {
    store.annotate_next(annotation).unwrap();
    store.begin_run(header, &common::owner()).unwrap();
    store.save_trial(&header.id, &common::trial(0)).unwrap();
    let ended = RunStatus::Finished;
    store
        .finish_run(&header.id, &ended, header.started_unix_ms + 1)
        .unwrap();
}

impl Bed {
    fn start(token: Option<&str>, names: &[&str], fill: impl FnOnce(&mut Store)) -> Self {
        let (folder, mut store) = common::store();
        fill(&mut store);
        drop(store);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let path = common::path(&folder);
        let served = Served::new(ServedParts {
            open: Box::new(move || Store::open_existing(&path)),
            source: "runs.sqlite".to_owned(),
            address,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            token: token.map(|token| Token::of(token).unwrap()),
            program: Box::new(Echo),
        });
        let stop = Stop::default();
        let until = stop.clone();
        let thread = Some(spawn(move || serve(listener, served, &until).unwrap()));
        Self {
            folder,
            address,
            stop,
            thread,
        }
    }

    fn with_run() -> Self {
        Self::start(None, &[], |store| {
            fill(store, &common::header("one", 1_000), Annotation::default());
        })
    }

    fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, "Host: localhost\r\n")
    }

    fn ask(&self, method: &str, target: &str, headers: &str) -> Answer {
        let request = format!("{method} {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        self.send(request.as_bytes())
    }

    fn send(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        Answer {
            status: status.expect("a status"),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }
}

#[test]
fn a_page_is_sent_again_until_the_store_changes() {
    let bed = Bed::with_run();
    let first = bed.get("/runs");
    assert!(first.body.contains("/runs/one"), "{}", first.body);
    assert_eq!(bed.get("/runs").body, first.body);
    let mut store = Store::open_existing(common::path(&bed.folder).as_path()).unwrap();
    for (id, at) in [("two", 2_000), ("three", 3_000)] {
        fill(&mut store, &common::header(id, at), Annotation::default());
        let page = bed.get("/runs").body;
        assert!(page.contains(&format!("/runs/{id}")), "{page}");
    }
}

#[test]
fn pages_of_a_store_are_shown_and_have_no_script() {
    let bed = Bed::with_run();
    let pages = ["/", "/runs", "/runs/one", "/devices", "/compare?run=one"];
    for page in pages {
        let answer = bed.get(page);
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        assert!(!answer.body.contains("<script"), "{page}");
        assert!(answer.body.contains("<h1>"), "{page}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src"),
            "{policy}"
        );
        assert!(!policy.contains("script-src"), "{policy}");
        let style = answer
            .body
            .split_once("rel=\"stylesheet\" href=\"")
            .unwrap()
            .1;
        let style = style.split_once('"').unwrap().0;
        let sheet = bed.get(style);
        assert_eq!(
            sheet.header("content-type"),
            Some("text/css; charset=utf-8")
        );
        assert!(sheet.header("cache-control").unwrap().contains("immutable"));
    }
    assert!(bed.get("/").body.contains("DG4032"));
}

#[test]
fn hostile_names_are_shown_and_not_obeyed() {
    let bed = Bed::start(None, &[], |store| {
        let header = finished("hostile", 1_000, |header| {
            header.storage.layers[0].identity.model = Some(HOSTILE.to_owned());
            header.target = Some(format!("ssh://{HOSTILE}"));
            header.plan.jobs[0].job.name = HOSTILE.to_owned();
        });
        let annotation = Annotation {
            name: Some("x' OR 1=1 --".to_owned()),
            tags: vec![HOSTILE.to_owned()],
            note: Some(HOSTILE.to_owned()),
        };
        fill(store, &header, annotation);
    });
    let escaped: String = form_urlencoded(HOSTILE);
    let pages = [
        "/".to_owned(),
        "/runs".to_owned(),
        "/devices".to_owned(),
        "/runs/hostile".to_owned(),
        "/compare?run=hostile".to_owned(),
        "/compare?a=hostile&b=hostile".to_owned(),
        format!("/runs?text={escaped}&device={escaped}"),
        format!("/runs/{escaped}"),
        format!("/compare?run={escaped}"),
        format!("/runs?status={escaped}"),
        format!("/runs?after={escaped}"),
        format!("/{escaped}"),
    ];
    for page in pages {
        let answer = bed.get(&page);
        assert!(!answer.body.contains("<script"), "{page}: {}", answer.body);
        assert!(!answer.body.contains("<img"), "{page}: {}", answer.body);
    }
    assert!(bed.get("/runs").body.contains("&lt;script&gt;alert(1)"));
}

fn form_urlencoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[test]
fn a_search_is_text_and_no_pattern_or_statement() {
    let bed = Bed::start(None, &[], |store| {
        for (id, name) in [("aa", "100%_real"), ("bb", "100 percent")] {
            let annotation = Annotation {
                name: Some(name.to_owned()),
                ..Annotation::default()
            };
            fill(store, &common::header(id, 1_000), annotation);
        }
    });
    let found = |text: &str| {
        let answer = bed.get(&format!("/api/v1/runs?text={}", form_urlencoded(text)));
        assert_eq!(answer.status, 200, "{}", answer.body);
        ["aa", "bb"].map(|id| answer.body.contains(&format!("\"id\": \"{id}\"")))
    };
    assert_eq!(found("100%"), [true, false]);
    assert_eq!(found("%_r"), [true, false]);
    assert_eq!(found("PERCENT"), [false, true]);
    assert_eq!(found("' OR '1'='1"), [false, false]);
    assert_eq!(found("\\"), [false, false]);
    assert_eq!(found("dg4032"), [true, true]);
}

#[test]
fn pages_go_on_where_the_one_before_ended_whatever_is_added() {
    let bed = Bed::start(None, &[], |store| {
        for number in 0..250_u64 {
            // Several of one moment.
            let header = common::header(&format!("run-{number:03}"), number / 3);
            store.begin_run(&header, &common::owner()).unwrap();
        }
    });
    let mut seen: Vec<String> = Vec::new();
    let mut after = String::new();
    loop {
        let answer = bed.get(&format!("/api/v1/runs?after={after}"));
        let page: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        let runs = page["runs"].as_array().unwrap();
        seen.extend(
            runs.iter()
                .map(|run| run["id"].as_str().unwrap().to_owned()),
        );
        assert_eq!(runs[0]["status"], "interrupted", "its process is gone");
        let Some(next) = page["next"].as_str() else {
            break;
        };
        after = next.to_owned();
        let mut store = Store::open(&common::path(&bed.folder)).unwrap();
        let id = format!("new-{}", seen.len());
        store
            .begin_run(&common::header(&id, 9_999), &common::owner())
            .unwrap();
    }
    let mut expected: Vec<String> = (0..250).map(|number| format!("run-{number:03}")).collect();
    expected.reverse();
    assert_eq!(seen, expected);
}

#[test]
fn an_unchanged_run_is_not_sent_again_and_a_renamed_one_is() {
    let bed = Bed::with_run();
    for target in [
        "/runs/one",
        "/api/v1/runs/one",
        "/runs/one/run.xlsx",
        "/api/v1/runs",
        "/",
    ] {
        let first = bed.get(target);
        assert_eq!(first.status, 200, "{target}");
        let tag = first.header("etag").expect("a tag").to_owned();
        let headers = format!("Host: localhost\r\nIf-None-Match: {tag}\r\n");
        let again = bed.ask("GET", target, &headers);
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{target}");
    }
    let tag = bed.get("/runs/one").header("etag").unwrap().to_owned();
    let mut store = Store::open(&common::path(&bed.folder)).unwrap();
    let rename = |annotation: &mut Annotation| annotation.name = Some("renamed".to_owned());
    store.annotate("one", rename).unwrap();
    let headers = format!("Host: localhost\r\nIf-None-Match: {tag}\r\n");
    assert_eq!(bed.ask("GET", "/runs/one", &headers).status, 200);
    assert_eq!(bed.get("/runs/renamed").status, 200);
}

#[test]
fn files_of_a_run_are_what_assay_writes() {
    let bed = Bed::with_run();
    let json = bed.get("/runs/one/run.json");
    let value: serde_json::Value = serde_json::from_str(&json.body).unwrap();
    assert_eq!(
        value["run"]["id"].as_str().or(value["id"].as_str()),
        Some("one")
    );
    let name = "attachment; filename=\"assay-one.json\"";
    assert_eq!(json.header("content-disposition"), Some(name));
    assert!(bed.get("/runs/one/run.csv").body.contains("rand-read-4k"));
    assert!(bed.get("/runs/one/run.xlsx").body.starts_with("PK"));
    assert_eq!(
        bed.get("/api/v1/runs/one").header("content-disposition"),
        None
    );
}

#[test]
fn no_address_leads_to_a_file() {
    let bed = Bed::with_run();
    let secret = bed.folder.path().join("secret.csv");
    std::fs::write(&secret, "the secret").unwrap();
    let path = secret.to_str().unwrap();
    for target in [
        path.to_owned(),
        format!("/{}", form_urlencoded(path)),
        format!("/runs/{}", form_urlencoded(path)),
        format!("/runs/..%2f..%2f{}", form_urlencoded(path)),
        format!("/compare?run={}", form_urlencoded(path)),
        "/../../../etc/passwd".to_owned(),
        "/style.css/../../etc/passwd".to_owned(),
    ] {
        let answer = bed.get(&target);
        assert!(
            matches!(answer.status, 400 | 404),
            "{target}: {}",
            answer.status
        );
        assert!(!answer.body.contains("the secret") && !answer.body.contains("root:"));
    }
}

#[test]
fn a_name_that_leads_here_is_not_ours() {
    let bed = Bed::with_run();
    for headers in [
        "Host: evil.example\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "",
    ] {
        let answer = bed.ask("GET", "/runs", headers);
        assert!(
            matches!(answer.status, 400 | 403),
            "{headers:?}: {}",
            answer.status
        );
        assert!(!answer.body.contains("DG4032"));
    }
    assert_eq!(bed.ask("GET", "/", "Host: [::1]:80\r\n").status, 200);
    let behind = Bed::start(None, &["results.example"], |_| ());
    assert_eq!(
        behind.ask("GET", "/", "Host: results.example\r\n").status,
        200
    );
    assert_eq!(behind.ask("GET", "/", "Host: evil.example\r\n").status, 403);
}

#[test]
fn odd_hosts_and_whole_addresses_of_others_are_refused() {
    let bed = Bed::with_run();
    for host in [
        "[localhost]",
        "[::1]x",
        "localhost:80:80",
        "localhost:x",
        "user@localhost",
    ] {
        let answer = bed.ask("GET", "/runs", &format!("Host: {host}\r\n"));
        assert!(
            matches!(answer.status, 400 | 403),
            "{host}: {}",
            answer.status
        );
    }
    let whole = bed.get("http://evil.example/runs");
    assert_eq!(whole.status, 403);
    assert_eq!(bed.get("http://localhost/runs").status, 200);
}

#[test]
fn a_head_is_as_long_as_the_page_of_documentation_says() {
    let bed = Bed::with_run();
    let with = |bytes: usize| {
        let padding = "x".repeat(bytes);
        bed.ask(
            "GET",
            "/healthz",
            &format!("Host: localhost\r\nX-A: {padding}\r\n"),
        )
    };
    assert_eq!(with(24 << 10).status, 200);
    assert_eq!(with(40 << 10).status, 431);
}

#[test]
fn a_store_that_is_removed_or_replaced_is_not_shown_as_it_was() {
    let bed = Bed::with_run();
    let path = common::path(&bed.folder);
    let kept = bed.folder.path().join("kept");
    assert!(bed.get("/runs").body.contains("/runs/one"));
    let data = "/api/v1/runs";
    assert!(bed.get(data).body.contains("\"one\""));
    std::fs::rename(&path, &kept).unwrap();
    for target in ["/healthz", "/runs", data, "/metrics"] {
        let answer = bed.get(target);
        assert_eq!(answer.status, 503, "{target}: {}", answer.body);
        assert!(
            answer.body.contains("no store at"),
            "{target}: {}",
            answer.body
        );
    }
    let mut other = Store::open(path.as_path()).unwrap();
    fill(
        &mut other,
        &common::header("two", 2_000),
        Annotation::default(),
    );
    for target in ["/runs", data] {
        let answer = bed.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.body);
        assert!(
            answer.body.contains("two") && !answer.body.contains("/runs/one"),
            "{target}"
        );
    }
    // Replaced between two requests.
    drop(other);
    std::fs::rename(&kept, &path).unwrap();
    assert_eq!(bed.get("/healthz").status, 200);
    assert!(bed.get("/runs").body.contains("/runs/one"));
    std::fs::write(&kept, "not a store at all").unwrap();
    std::fs::rename(&kept, &path).unwrap();
    let answer = bed.get("/healthz");
    assert_eq!(answer.status, 503);
    assert!(
        answer.body.contains("not an SQLite database"),
        "{}",
        answer.body
    );
}

#[test]
fn scripts_need_the_token_where_there_is_one() {
    let bed = Bed::start(Some("0123456789abcdef"), &[], |_| ());
    let with = |target: &str, token: &str| {
        let headers = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
        bed.ask("GET", target, &headers).status
    };
    for target in [
        "/api/v1/runs",
        "/api/v1/runs/x",
        "/api/v1/openapi.json",
        "/metrics",
    ] {
        assert_eq!(bed.get(target).status, 401, "{target}");
        assert_eq!(with(target, "0123456789abcdeX"), 401, "{target}");
        assert!(
            matches!(with(target, "0123456789abcdef"), 200 | 404),
            "{target}"
        );
    }
    assert_eq!(bed.get("/healthz").status, 200);
    assert_eq!(bed.get("/").status, 200, "people are the proxy's matter");
}

#[test]
fn nothing_can_be_written() {
    let bed = Bed::with_run();
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let headers = "Host: localhost\r\nContent-Length: 0\r\n";
        let answer = bed.ask(method, "/api/v1/runs/one", headers);
        assert_eq!(answer.status, 405, "{method}");
    }
    let head = bed.ask("HEAD", "/runs/one", "Host: localhost\r\n");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn slow_and_huge_clients_stop_nobody() {
    let bed = Bed::with_run();
    let mut slow: Vec<TcpStream> = Vec::new();
    for number in 0..200 {
        let mut stream = bed.connect();
        // Half a head, or a whole one whose answer nobody reads.
        let request = match number % 2 {
            0 => "GET /runs HTTP/1.1\r\nHost: loc",
            _ => "GET /runs/one HTTP/1.1\r\nHost: localhost\r\n\r\n",
        };
        stream.write_all(request.as_bytes()).unwrap();
        slow.push(stream);
    }
    let started = Instant::now();
    assert_eq!(bed.get("/healthz").status, 200);
    assert!(started.elapsed() < Duration::from_secs(30));
    let long = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let mut stream = bed.connect();
    // It may hang up before it has read all of that.
    let _ = stream.write_all(long.as_bytes());
    let mut head = String::new();
    let _ = stream.read_to_string(&mut head);
    assert!(head.is_empty() || head.starts_with("HTTP/1.1 4"), "{head}");
    let many: String = (0..200)
        .map(|number| format!("X-{number}: x\r\n"))
        .collect();
    let answer = bed.ask("GET", "/", &format!("Host: localhost\r\n{many}"));
    assert_eq!(answer.status, 431);
}

#[test]
fn errors_have_the_requested_format() {
    let bed = Bed::with_run();
    let page = bed.get("/runs/nothing");
    assert_eq!(page.status, 404);
    assert!(page.body.contains("<h1>Nothing is here</h1>"));
    for (target, status) in [
        ("/api/v1/runs/nothing", 404),
        ("/api/v1/nothing", 404),
        ("/api/v1/runs?since=yesterday", 400),
        ("/api/v1/runs?status=odd", 400),
        ("/api/v1/runs?after=odd", 400),
    ] {
        let answer = bed.get(target);
        assert_eq!(answer.status, status, "{target}");
        let error: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert!(error["error"].is_string(), "{target}");
    }
}

#[test]
fn the_description_has_every_address_for_programs() {
    let bed = Bed::with_run();
    let document: serde_json::Value =
        serde_json::from_str(&bed.get("/api/v1/openapi.json").body).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let parameters = |path: &str| paths[path]["get"]["parameters"].as_array().unwrap().len();
    assert_eq!(parameters("/api/v1/runs/{id}"), 1);
    assert!(parameters("/api/v1/runs") > 5);
    assert!(paths.contains_key("/metrics") && !paths.contains_key("/runs"));
    for (path, route) in paths {
        let operation = &route["get"];
        let schema = &operation["responses"]["200"]["content"];
        assert!(schema.is_object(), "{path}");
        let target = path.replace("{id}", "one");
        // The run of this store is in no series.
        let expected = if path.contains("{key}") { 404 } else { 200 };
        assert_eq!(bed.get(&target).status, expected, "{target}");
    }
    let runs: serde_json::Value = serde_json::from_str(&bed.get("/api/v1/runs").body).unwrap();
    let schema =
        &paths["/api/v1/runs"]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
    let known = &schema["properties"]["runs"]["items"]["properties"];
    let known: Vec<&String> = known.as_object().unwrap().keys().collect();
    let written: Vec<&String> = runs["runs"][0].as_object().unwrap().keys().collect();
    assert_eq!(written, known);
}

#[test]
fn metrics_are_openmetrics() {
    let bed = Bed::with_run();
    bed.get("/nothing");
    let answer = bed.get("/metrics");
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text"));
    assert!(answer.body.contains("\nassay_runs 1\n"));
    assert!(
        answer
            .body
            .contains("assay_http_answers_total{status=\"4xx\"} 1\n")
    );
    assert!(answer.body.ends_with("# EOF\n"));
}
