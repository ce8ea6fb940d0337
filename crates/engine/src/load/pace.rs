//! When the next I/O may go.
#![allow(unused, clippy::all)]
use assay_model::load::Ddir;
use assay_model::load::pace::{Flow, LatencyTarget, Pace};
#[derive(Debug)]
pub(crate) struct Pacing;
impl Pacing {
    pub(crate) fn new(pace: &Pace, start_ns: u64, seed: u64) -> Option<Self> {
        None
    }
    pub(crate) fn delay_ns(&mut self, ddir: Ddir, now_ns: u64) -> u64 {
        0
    }
    pub(crate) fn issued(&mut self, ddir: Ddir, bytes: u32, now_ns: u64) {}
    pub(crate) fn completed(&mut self, bytes: u32, now_ns: u64) {}
    pub(crate) fn too_slow(&mut self, now_ns: u64) -> Option<String> {
        None
    }
    pub(crate) fn restart(&mut self, now_ns: u64) {}
}
#[derive(Debug)]
pub(crate) struct DepthSearch;
impl DepthSearch {
    pub(crate) fn new(target: &LatencyTarget, depth: u32) -> Self {
        Self
    }
    pub(crate) fn depth(&self) -> u32 {
        1
    }
    pub(crate) fn completed(&mut self, latency_ns: u64, now_ns: u64) {}
    pub(crate) fn is_done(&self) -> bool {
        false
    }
    pub(crate) fn found(&self) -> u32 {
        1
    }
}
#[derive(Debug, Default)]
pub(crate) struct FlowTable;
#[derive(Debug)]
pub(crate) struct FlowShare;
impl FlowShare {
    pub(crate) fn join(table: &FlowTable, flow: &Flow) -> Self {
        Self
    }
    pub(crate) fn may_go(&mut self) -> bool {
        true
    }
    pub(crate) fn sleep_ns(&self) -> u64 {
        0
    }
    pub(crate) fn issued(&mut self) {}
}
