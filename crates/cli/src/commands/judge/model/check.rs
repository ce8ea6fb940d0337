//! `assay model check`: what a policy can break, and how.

use super::args::CheckArgs;
use crate::exit::{DONE, Failure, MISSED};
use crate::output::print;
use crate::ui::paragraph;
use assay_flash::check::{Checked, Hole, Rule, check};
use assay_flash::policy::Policy;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;

const USUAL: [Policy; 5] = [
    Policy::Closed,
    Policy::SetCount,
    Policy::OPEN,
    Policy::OPEN_SAFE,
    Policy::OPEN_AFTER_TWO,
];

/// Searches, and shows what was found.
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
    let checked = checked.map_err(|error| Failure::usage(error.to_string()))?;
    if args.json {
        let values: Vec<Value> = checked.iter().map(value).collect();
        let value = json!({ "schema": 1, "policies": values });
        print(|out| writeln!(out, "{value:#}"))?;
    } else {
        print(|out| checked.iter().try_for_each(|checked| write(checked, out)))?;
    }
    let sound = checked
        .iter()
        .all(|checked| checked.complete && checked.holes.is_empty());
    Ok(if sound { DONE } else { ExitCode::from(MISSED) })
}

/// Rules, states and ways.
pub fn value(checked: &Checked) -> Value {
    let rules = Rule::ALL.map(|rule| {
        json!({
            "rule": rule.name(),
            "meaning": rule.to_string(),
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

/// The same for people.
pub fn write(checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
    let all = if checked.complete { "all" } else { "the first" };
    writeln!(
        out,
        "{} ({all} {} states, {} with an open transfer)",
        checked.policy, checked.states, checked.open_states
    )?;
    for rule in Rule::ALL {
        let word = match (checked.hole(rule), checked.complete) {
            (Some(_), _) => "BROKEN",
            (None, true) => "holds",
            (None, false) => "open",
        };
        writeln!(out, "  {word:<6}  {rule}")?;
        let Some(hole) = checked.hole(rule) else {
            continue;
        };
        for step in &hole.steps {
            let sent = match step.did.as_slice() {
                [] => String::new(),
                did => format!(": {}", did.join(", ")),
            };
            paragraph(&format!("{}{sent}", step.event), 12, out)?;
        }
    }
    Ok(())
}
