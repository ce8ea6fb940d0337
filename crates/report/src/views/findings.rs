//! Findings of trials: capacity, memory, soak, power cuts, replays.

use crate::document::{Block, Section};
pub(super) use crate::results::findings::answer;
use crate::results::findings::topics;
use crate::results::summary::Summary;

/// A section for each kind of finding.
#[must_use]
pub fn sections(summary: &Summary<'_>) -> Vec<Section> {
    let topics = topics(summary).into_iter();
    let sections = topics.map(|topic| Section {
        id: topic.id,
        title: topic.title.to_owned(),
        blocks: vec![Block::Findings(topic.findings)],
    });
    sections.collect()
}
