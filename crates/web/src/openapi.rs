//! The OpenAPI document, made from the table of routes.

use crate::route::{Access, Answer, Route};
use serde_json::{Map, Value, json};

/// Returns the OpenAPI document of all routes for programs.
pub fn document(routes: &[Route], has_token: bool) -> Value {
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
