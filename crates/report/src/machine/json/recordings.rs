//! Properties of recordings as JSON: `docs/json.md` describes it.

use assay_trace::describe::Description;
use serde_json::{Value, json};

/// Version of this document.
const SCHEMA: u32 = 1;

/// Recordings with their names.
#[must_use]
pub fn recordings(all: &[(String, Description)]) -> Value {
    let traces = all.iter().map(|(name, description)| {
        let mut value = json!(description);
        value["trace"] = json!(name);
        value
    });
    json!({ "schema": SCHEMA, "traces": traces.collect::<Vec<_>>() })
}
