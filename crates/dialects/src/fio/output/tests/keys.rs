//! Every key of fio 3.33's JSON is there and of the same type.
//!
//! The lists were made by running fio: a path and a type for each key, names
//! of options, percentiles and bins as `*`.

use super::*;
use serde_json::Value;
use std::collections::BTreeMap;

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "flag",
        Value::Number(number) if number.is_f64() => "real",
        Value::Number(_) => "whole",
        Value::String(_) => "text",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn walk(value: &Value, path: &str, found: &mut BTreeMap<String, &'static str>) {
    let name = if path.is_empty() { "/" } else { path };
    found.entry(name.to_owned()).or_insert(kind(value));
    let free = ["options", "percentile", "bins"]
        .iter()
        .any(|end| path.ends_with(end));
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let key = if free { "*" } else { key };
            walk(value, &format!("{path}/{key}"), found);
        }),
        Value::Array(list) => list
            .iter()
            .for_each(|value| walk(value, &format!("{path}/[]"), found)),
        _ => {}
    }
}

/// What fio has and the value has not, or has in another type.
fn missing(fio: &str, value: &Value) -> Vec<String> {
    let mut found = BTreeMap::new();
    walk(value, "", &mut found);
    let of_fio = fio.lines().filter_map(|line| line.split_once('\t'));
    of_fio
        .filter(|(path, kind)| found.get(*path) != Some(kind))
        .map(|(path, kind)| format!("{path}: {kind} in fio, {:?} here", found.get(path)))
        .collect()
}

#[test]
fn a_plain_job() {
    let fio = include_str!("fio-3.33-plain.keys");
    assert_eq!(missing(fio, &plain().json(false)), [""; 0]);
}

#[test]
fn a_job_with_everything() {
    let fio = include_str!("fio-3.33-full.keys");
    assert_eq!(missing(fio, &full().json(true)), [""; 0]);
}

#[test]
fn all_directions_as_one() {
    let fio = include_str!("fio-3.33-mixed.keys");
    let mut case = unified(Unified::Mixed);
    case.report.disks = vec![disk("vda", &[])];
    let value = case.json(true);
    assert_eq!(missing(fio, &value), [""; 0]);
    assert!(value["jobs"][0].get("read").is_none());
}

#[test]
fn each_direction_and_all_as_one() {
    let fio = include_str!("fio-3.33-both.keys");
    let mut case = unified(Unified::Both);
    case.report.disks = vec![disk("vda", &[])];
    let value = case.json(false);
    assert_eq!(missing(fio, &value), [""; 0]);
    assert_eq!(value["jobs"][0]["mixed"]["total_ios"], 1000);
}

/// The order is fio's too: some readers look for text.
#[test]
fn the_keys_of_a_job_are_in_fios_order() {
    let text = full().json_text(true);
    let ours: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    let mut ours = ours.iter();
    let fio = include_str!("fio-3.33-full.keys").lines();
    let of_job = fio.filter_map(|line| line.split('\t').next()?.strip_prefix("/jobs/[]/"));
    for key in of_job.filter(|key| !key.contains('/')) {
        assert!(
            ours.any(|ours| *ours == key),
            "{key} is not where fio has it"
        );
    }
}
