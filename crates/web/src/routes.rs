//! Table of all addresses, and the checks around each handler.
//!
//! To add a page or an address: add a row of the table with a function from `Asked` to `Reply`.
//! JSON has a type in `described!`, whose fields and schema are one. A query is a method of `Store`
//! in `store::pages`, in pages behind a `PageKey`.

use crate::access::{Names, Served};
use crate::asked::{Asked, Query, is_text};
use crate::pool::{Connection, KeptPages};
use crate::reply::{HTML, JSON, Problem, Reply, short};
use crate::{api, pages};
use assay_lang::{current, in_english, tr};
use assay_report::json::Described;
use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HOST, HeaderName,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::get;
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Maximum size of the head of a request, in bytes.
pub const HEAD_BYTES: usize = 32 << 10;

const fn parameter(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about }
}

const PAGE: Parameter = parameter("after", "`next` of the page before");
const RUNS: &[Parameter] = &[
    parameter("text", "text within id, name, path, device, tag or note"),
    parameter("device", "text within the description of the device"),
    parameter(
        "command",
        "command that made the run, such as qualify; import for imports",
    ),
    parameter("target", "text within the name of the machine"),
    parameter("status", "running, finished, interrupted or failed"),
    parameter("since", "first day, such as 2026-03-14 (UTC)"),
    parameter("until", "last day"),
    PAGE,
];

const SERIES: &[Parameter] = &[DEVICE, JOB, METRIC, PROJECT, METRICS, SINCE, PAGE];
const CHANGES: &[Parameter] = &[STATE, DEVICE, JOB, METRIC, PROJECT, METRICS, PAGE];
const STATE: Parameter = parameter("state", "open: only slowdowns that nobody accepted");
const DEVICE: Parameter = parameter("device", "text within model, unit or machine");
const JOB: Parameter = parameter("job", "name of a job; a final * matches any ending");
const METRIC: Parameter = parameter("metric", "name of a metric, likewise");
const PROJECT: Parameter = parameter("project", "name of a project");
const METRICS: Parameter = parameter("metrics", "all: also metrics that do not decide");
const SINCE: Parameter = parameter(
    "since",
    "day of the newest run or an earlier one, such as 2026-03-14 (UTC)",
);

/// Returns the route of a page for people.
const fn page(path: &'static str, make: fn(&Asked<'_>) -> Result<Reply, Problem>) -> Route {
    Route {
        path,
        about: "",
        access: Access::Page,
        parameters: &[],
        answer: Answer::Page,
        make,
    }
}

/// Returns the route of JSON data for programs.
const fn data<T: Described>(
    path: &'static str,
    about: &'static str,
    parameters: &'static [Parameter],
    make: fn(&Asked<'_>) -> Result<Reply, Problem>,
) -> Route {
    Route {
        path,
        about,
        access: Access::Data,
        parameters,
        answer: Answer::Json(T::schema),
        make,
    }
}

/// Addresses of the server, for the router and the OpenAPI document.
static ROUTES: &[Route] = &[
    page("/", pages::overview),
    page("/runs", pages::runs::page),
    page("/runs/{id}", pages::runs::run_page),
    page("/runs/{id}/run.json", api::json_file),
    page("/runs/{id}/run.csv", api::csv_file),
    page("/runs/{id}/run.xlsx", api::xlsx_file),
    page("/runs/{id}/series", pages::series::of_run),
    page("/devices", pages::devices::page),
    page("/device", pages::devices::model),
    page("/unit", pages::devices::unit),
    page("/series", pages::series::list),
    page("/series/{key}", pages::series::page),
    page("/changes", pages::series::changes_page),
    page("/compare", pages::runs::compare_page),
    page("/style.css", style),
    Route {
        path: "/healthz",
        about: "ok, if the store can be read.",
        access: Access::Page,
        parameters: &[],
        answer: Answer::Text("text/plain"),
        make: health,
    },
    Route {
        path: "/metrics",
        about: "State of the server and its store as OpenMetrics text.",
        access: Access::Data,
        parameters: &[],
        answer: Answer::Text("application/openmetrics-text"),
        make: metrics,
    },
    data::<Value>(
        "/api/v1/openapi.json",
        "This description.",
        &[],
        openapi_document,
    ),
    data::<api::RunPage>(
        "/api/v1/runs",
        "Runs and imports, newest first.",
        RUNS,
        api::list_runs,
    ),
    data::<Value>(
        "/api/v1/runs/{id}",
        "A run or import with all its trials, as assay report --json has it.",
        &[],
        api::one_run,
    ),
    data::<api::SeriesPage>(
        "/api/v1/series",
        "Series, the one with the newest run first.",
        SERIES,
        api::list_series,
    ),
    data::<api::PointList>(
        "/api/v1/series/{key}/points",
        "A series with all its runs, the oldest first.",
        &[],
        api::list_points,
    ),
    data::<api::ChangePage>(
        "/api/v1/changes",
        "Changes of series, newest first.",
        CHANGES,
        api::list_changes,
    ),
];

/// Returns a router of all addresses.
pub fn router(served: Arc<Served>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let answer = move |State(served): State<Arc<Served>>,
                           path: RawPathParams,
                           request: Request| async move {
            let (head, _) = request.into_parts();
            answer(&served, route, &path, &head).await
        };
        router = router.route(route.path, get(answer).fallback(only_read));
    }
    let around = from_fn_with_state(Arc::clone(&served), around);
    router.fallback(nowhere).layer(around).with_state(served)
}

/// Checks the host name and the size of the head; adds the headers that every response has.
async fn around(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response<Body> {
    let (head, uri) = (request.headers(), request.uri());
    let lines = head.iter();
    let lines = lines.map(|(name, value)| name.as_str().len() + value.len() + 4);
    // The HTTP server's buffer can accept more than its limit at once.
    let is_too_long = uri.to_string().len() + lines.sum::<usize>() > HEAD_BYTES;
    let plain = |status, text: String| short(status, "text/plain; charset=utf-8", text);
    let mut response = match is_called_right(&served.names, head, uri) {
        _ if is_too_long => plain(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            format!("The head of a request has at most {} KiB.\n", HEAD_BYTES >> 10),
        ),
        true => next.run(request).await,
        false => plain(
            StatusCode::FORBIDDEN,
            "This server is not called by that name: assay store serve --allow-host NAME permits another one.\n"
                .to_owned(),
        ),
    };
    served.counts.add(response.status().as_u16());
    for (name, value) in ALWAYS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// Pages have no scripts, load nothing from other sites, and cannot be embedded in other pages.
/// Inline styles are allowed: attributes hold the lengths of bars.
const POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const ALWAYS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "same-origin"),
    (CACHE_CONTROL, "private, no-cache"),
    (VARY, "Authorization"),
];

/// Returns true if the server may answer under the request's host name. A request with several
/// `Host` headers is refused; the host of an absolute address must be allowed too.
fn is_called_right(names: &Names, headers: &HeaderMap, uri: &Uri) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (host, another) = (hosts.next(), hosts.next());
    let host = host.map(|host| host.to_str().unwrap_or_default());
    let whole = uri
        .authority()
        .is_none_or(|host| names.allow(Some(host.as_str())));
    another.is_none() && names.allow(host) && whole
}

/// Runs the handler of a route.
async fn answer(
    served: &Arc<Served>,
    route: &'static Route,
    path: &RawPathParams,
    head: &Parts,
) -> Response<Body> {
    let text = |name| head.headers.get(name)?.to_str().ok();
    if route.access == Access::Data
        && let Some(token) = &served.token
        && !token.is_in(text(AUTHORIZATION))
    {
        return without_token();
    }
    let path: BTreeMap<String, String> = path
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let has = text(IF_NONE_MATCH).map(str::to_owned);
    let server = Arc::clone(served);
    let address = head.uri.to_string();
    let made = served.pool.with(move |connection| {
        let Connection { store, kept } = connection;
        let mut make = || {
            let asked = Asked {
                store,
                served: &server,
                path: path.clone(),
                query: Query::read(&query)?,
                has: has.clone(),
                passing: Cell::new(false),
            };
            check(route, &asked)?;
            match route.access {
                Access::Page => page_at(&asked, route, &address, kept),
                Access::Data => made(&asked, route),
            }
        };
        match route.access {
            Access::Page => make(),
            Access::Data => in_english(make),
        }
    });
    match made.await {
        Ok(reply) => sent(served, route.access, reply),
        Err(problem) => refused(served, route.access, &problem),
    }
}

/// Refuses path parts that no id can contain, and unknown query parameters of data: an answer that
/// ignores a parameter would not be the requested one.
fn check(route: &Route, asked: &Asked<'_>) -> Result<(), Problem> {
    if let Some(part) = asked.path.values().find(|part| !is_text(part)) {
        return Err(Problem::Missing(part.replace('\0', "")));
    }
    if route.access == Access::Page {
        return Ok(());
    }
    let is_known = |name: &str| route.parameters.iter().any(|known| known.name == name);
    match asked.query.names().find(|name| !is_known(name)) {
        Some(name) => Err(Problem::Wrong(tr!(
            "There is no parameter {name} here.",
            name
        ))),
        None => Ok(()),
    }
}

/// Returns a page from the cache, or renders it.
fn page_at(
    asked: &Asked<'_>,
    route: &Route,
    address: &str,
    kept: &mut KeptPages,
) -> Result<Reply, Problem> {
    let address = format!("{} {address}", current().tag());
    if let Some(page) = kept.find(asked.store.revision()?, &address) {
        asked.unless_had(page.tag())?;
        return Ok(page);
    }
    let page = tagged(asked, route)?;
    if page.kind == HTML && !asked.passing.get() {
        kept.keep(address, &page);
    }
    asked.unless_had(page.tag())?;
    Ok(page)
}

/// Makes an answer with its tag, unless the client has these contents.
fn made(asked: &Asked<'_>, route: &Route) -> Result<Reply, Problem> {
    let reply = tagged(asked, route)?;
    asked.unless_had(reply.tag())?;
    Ok(reply)
}

/// Makes an answer with its tag. The tag is computed on this thread because the other one does the
/// network I/O of all connections.
fn tagged(asked: &Asked<'_>, route: &Route) -> Result<Reply, Problem> {
    let reply = (route.make)(asked)?;
    let tag = reply.tag();
    Ok(reply.tagged(tag))
}

fn sent(served: &Served, access: Access, reply: Reply) -> Response<Body> {
    let lasts = reply.lasts;
    let Some(mut response) = served.room.response(reply) else {
        return refused(served, access, &Problem::Busy);
    };
    if lasts {
        let value = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(CACHE_CONTROL, value);
    }
    response
}

fn unchanged(tag: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

fn without_token() -> Response<Body> {
    let text =
        json!({ "error": "the token is missing or wrong: send Authorization: Bearer TOKEN" });
    let mut response = short(StatusCode::UNAUTHORIZED, JSON, text.to_string());
    let scheme = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    response
}

fn refused(served: &Served, access: Access, problem: &Problem) -> Response<Body> {
    if let Problem::Unchanged(tag) = problem {
        return unchanged(tag);
    }
    let status = problem.status();
    match access {
        Access::Page => short(status, HTML, pages::problem_page(served, problem)),
        Access::Data => {
            let why = in_english(|| pages::describe_problem(problem));
            short(status, JSON, json!({ "error": why }).to_string())
        }
    }
}

/// Refuses methods other than GET and HEAD: the server changes nothing.
async fn only_read() -> Response<Body> {
    let text = "Only GET and HEAD: nothing can be changed here.\n".to_owned();
    let kind = "text/plain; charset=utf-8";
    let mut response = short(StatusCode::METHOD_NOT_ALLOWED, kind, text);
    let methods = HeaderValue::from_static("GET, HEAD");
    response.headers_mut().insert(ALLOW, methods);
    response
}

async fn nowhere(State(served): State<Arc<Served>>, request: Request) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let access = match path.starts_with("/api/") {
        true => Access::Data,
        false => Access::Page,
    };
    refused(&served, access, &Problem::Missing(path))
}

fn style(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let (text, tag) = &asked.served.style;
    let mut reply = Reply::new("text/css; charset=utf-8", text.as_str());
    reply.lasts = asked.query.get("v") == Some(tag);
    Ok(reply)
}

fn health(asked: &Asked<'_>) -> Result<Reply, Problem> {
    asked.store.newest_start()?;
    Ok(Reply::new("text/plain; charset=utf-8", "ok\n"))
}

fn openapi_document(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let document = describe_routes(ROUTES, asked.served.token.is_some());
    Ok(Reply::new(JSON, format!("{document:#}\n")))
}

/// Kind of client that an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Person with a browser.
    Page,
    /// Script; needs the token if the server has one.
    Data,
}

/// Query parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Meaning of its value.
    pub about: &'static str,
}

/// Contents of an answer, for the OpenAPI document.
#[derive(Clone, Copy)]
pub enum Answer {
    /// Page or file for people; not in the document.
    Page,
    /// JSON that matches a schema.
    Json(fn() -> Value),
    /// Text of a media type.
    Text(&'static str),
}

/// Address with its parameters and handler.
pub struct Route {
    /// Path with its variable parts in braces.
    pub path: &'static str,
    /// Description of the address in one line.
    pub about: &'static str,
    /// Kind of client that may read it.
    pub access: Access,
    /// Query parameters.
    pub parameters: &'static [Parameter],
    /// Contents of the answer.
    pub answer: Answer,
    /// Handler that makes the answer.
    pub make: fn(&Asked<'_>) -> Result<Reply, Problem>,
}

/// Media type of OpenMetrics text (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).
pub const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers with the metrics.
pub fn metrics(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let totals = asked.store.totals()?;
    let mut text = String::new();
    let mut gauge = |name: &str, unit: &str, about: &str, value: u64| {
        let unit = match unit {
            "" => String::new(),
            unit => format!("# UNIT {name} {unit}\n"),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "# TYPE {name} gauge\n{unit}# HELP {name} {about}\n{name} {value}\n"
        );
    };
    gauge("assay_runs", "", "Runs in the store.", totals.runs);
    gauge("assay_imports", "", "Imports in the store.", totals.imports);
    gauge(
        "assay_devices",
        "",
        "Different models of devices.",
        totals.devices,
    );
    let open = asked.store.open_changes()?;
    gauge(
        "assay_open_changes",
        "",
        "Slowdowns that nobody accepted.",
        open,
    );
    if let Some(newest) = totals.newest_unix_ms {
        let about = "Start of the newest run, seconds since 1970.";
        gauge("assay_newest_run_seconds", "seconds", about, newest / 1000);
    }
    text.push_str(
        "# TYPE assay_http_answers counter\n# HELP assay_http_answers Answers by status.\n",
    );
    for (class, count) in asked.served.counts.by_class().enumerate() {
        let _ = writeln!(
            text,
            "assay_http_answers_total{{status=\"{}xx\"}} {count}",
            class + 1
        );
    }
    text.push_str("# EOF\n");
    Ok(Reply::new(KIND, text))
}

/// Returns the OpenAPI document of all routes for programs.
pub fn describe_routes(routes: &[Route], has_token: bool) -> Value {
    let mut paths = Map::new();
    for route in routes {
        if let Some(content) = content(&route.answer) {
            paths.insert(
                route.path.to_owned(),
                json!({ "get": operation(route, &content, has_token) }),
            );
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "assay",
            "description": "Stored results of assay, read only.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn content(answer: &Answer) -> Option<Value> {
    match answer {
        Answer::Page => None,
        Answer::Json(schema) => Some(json!({ "application/json": { "schema": schema() } })),
        Answer::Text(kind) => Some(json!({ *kind: { "schema": { "type": "string" } } })),
    }
}

fn operation(route: &Route, content: &Value, has_token: bool) -> Value {
    let in_path = names_in(route.path).map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let in_query = route.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name, "in": "query", "required": false,
            "description": parameter.about, "schema": { "type": "string" },
        })
    });
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let refused = |about: &str| json!({ "description": about });
    let mut responses = json!({
        "200": { "description": route.about, "content": content },
        "304": refused("The contents have the tag that the client sent."),
        "400": refused("A parameter makes no sense."),
        "404": refused("Nothing is at that address."),
        "503": refused("The store cannot be read, or too many requests wait."),
    });
    if has_token
        && route.access == Access::Data
        && let Some(responses) = responses.as_object_mut()
    {
        responses.insert("401".to_owned(), refused("The token is missing or wrong."));
    }
    let mut operation = json!({
        "operationId": id(route.path), "summary": route.about,
        "parameters": parameters, "responses": responses,
    });
    if has_token && route.access == Access::Data {
        operation["security"] = json!([{ "token": [] }]);
    }
    operation
}

/// Returns the names of the variable parts of a path.
fn names_in(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('/');
    parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// Returns the operation id of a path: `/api/v1/runs/{id}` is `runs_id`.
fn id(path: &str) -> String {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let words = path.split(['/', '{', '}', '.', '-']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("_")
}
