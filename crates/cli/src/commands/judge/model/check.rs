//! `assay model check`: what a policy can break, and how.

use super::CheckArgs;
use crate::exit::{DONE, Failure, MISSED};
use assay_flash::check::{Checked, Hole, Rule, check};
use assay_flash::policy::Policy;
use assay_report::document::{Document, Section};
use assay_report::words::Tone;
use serde_json::{Value, json};
use std::process::ExitCode;

const USUAL: [Policy; 5] = [
    Policy::Closed,
    Policy::SetCount,
    Policy::OPEN,
    Policy::OPEN_SAFE,
    Policy::OPEN_AFTER_TWO,
];

/// Searches for rules that the policies can break, and shows the results.
pub fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let policies: &[Policy] = match args.policies.as_slice() {
        [] => &USUAL,
        given => given,
    };
    if policies.contains(&Policy::Queued) {
        return Err(Failure::usage(
            "queued transfers end by themselves: there is nothing to check",
        ));
    }
    let checked: Result<Vec<Checked>, _> = policies.iter().map(|policy| check(*policy)).collect();
    let checked = checked.map_err(Failure::usage)?;
    let policies = || checked.iter().map(value).collect::<Vec<_>>();
    args.output.present(
        || json!({ "schema": 1, "policies": policies() }),
        || document(&checked),
    )?;
    let sound = checked
        .iter()
        .all(|checked| checked.complete && checked.holes.is_empty());
    Ok(if sound { DONE } else { ExitCode::from(MISSED) })
}

/// Returns the result for one policy as JSON: rules, states, and steps that break a rule.
pub fn value(checked: &Checked) -> Value {
    let rules = Rule::ALL.map(|rule| {
        json!({
            "rule": rule.name(),
            "meaning": rule.sentence(),
            "holds": checked.holds(rule),
            "trace": checked.hole(rule).map(trace),
        })
    });
    json!({
        "policy": checked.policy.to_string(),
        "states": checked.states,
        "open_states": checked.open_states,
        "complete": checked.complete,
        "rules": rules,
    })
}

fn trace(hole: &Hole) -> Vec<Value> {
    let steps = hole.steps.iter();
    steps
        .map(|step| json!({ "event": step.event.to_string(), "sent": step.did }))
        .collect()
}

/// Makes the document: the result for each policy, then its rules.
fn document(checked: &[Checked]) -> Document {
    let mut document = Document::new("What each policy can break".to_owned());
    let mut summary = Section::new("summary", "");
    let answer = |checked: &Checked| {
        let (said, tone) = match (checked.holes.len(), checked.complete) {
            (0, true) => ("all rules hold".to_owned(), Tone::Good),
            (0, false) => ("open: not all states were searched".to_owned(), Tone::Care),
            (broken, _) => (
                format!("{broken} of {} rules can be broken", Rule::ALL.len()),
                Tone::Bad,
            ),
        };
        (checked.policy.to_string(), said, Some(tone))
    };
    summary.toned_facts(checked.iter().map(answer).collect());
    document.push(summary);
    checked.iter().for_each(|one| document.push(section(one)));
    document
}

/// Makes the section on a policy: its rules, each with the steps that break it.
pub fn section(checked: &Checked) -> Section {
    let all = if checked.complete { "all" } else { "the first" };
    let title = format!(
        "{} ({all} {} states, {} with an open transfer)",
        checked.policy, checked.states, checked.open_states
    );
    let mut section = Section::new("policy", title);
    for rule in Rule::ALL {
        let hole = checked.hole(rule);
        let (word, tone) = match (hole, checked.complete) {
            (Some(_), _) => ("BROKEN", Some(Tone::Bad)),
            (None, true) => ("holds", None),
            (None, false) => ("open", Some(Tone::Care)),
        };
        section.toned_facts(vec![(
            format!("{word:<6}"),
            rule.sentence().to_owned(),
            tone,
        )]);
        let steps = hole.iter().flat_map(|hole| &hole.steps);
        let steps = steps.map(|step| match step.did.as_slice() {
            [] => step.event.to_string(),
            did => format!("{}: {}", step.event, did.join(", ")),
        });
        section.list(steps.collect());
    }
    section
}
