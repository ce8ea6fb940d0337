//! Priorities of single I/Os.

use super::grammar::{file, refusal};
use assay_model::load::{IoPriority, PriorityShare};

fn share(size: Option<u32>, percent: u8, class: u8, level: u8) -> PriorityShare {
    PriorityShare {
        size,
        percent,
        priority: IoPriority::new(class, level),
    }
}

fn shares(options: &str) -> [Vec<PriorityShare>; 2] {
    let load = file(&format!("[a]\n{options}")).load;
    let priorities = load.streams[0].engine.priorities.clone();
    assert!(priorities.trim.is_empty());
    [priorities.read, priorities.write]
}

#[test]
fn a_share_of_the_ios_is_real_time_unless_a_class_is_given() {
    let high = vec![share(None, 50, 1, 0)];
    assert_eq!(
        shares("ioengine=libaio\ncmdprio_percentage=50"),
        [high.clone(), high.clone()]
    );
    assert_eq!(
        shares("ioengine=io_uring\ncmdprio_percentage=50,20\ncmdprio_class=0,2\ncmdprio=0,5"),
        [high, vec![share(None, 20, 2, 5)]]
    );
    let none = [Vec::new(), Vec::new()];
    assert_eq!(shares("ioengine=libaio\ncmdprio_class=2"), none);
}

#[test]
fn each_block_size_has_shares_of_its_own() {
    let of_reads = vec![
        share(Some(65536), 25, 1, 1),
        share(Some(65536), 75, 3, 2),
        share(Some(4096), 10, 2, 7),
    ];
    assert_eq!(
        shares(
            "ioengine=libaio\ncmdprio=7\ncmdprio_class=2\n\
             cmdprio_bssplit=64k/25/1/1:64k/75/3/2:1024k/0:4k/10:8k/,8k/1"
        ),
        [of_reads, vec![share(Some(8192), 1, 2, 7)]]
    );
}

#[test]
fn contradicting_priority_options_are_refused() {
    for (options, why) in [
        ("cmdprio_percentage=101", "not within 0 and 100"),
        ("cmdprio_class=4", "not within 0 and 3"),
        ("cmdprio=8", "not within 0 and 7"),
        ("cmdprio_bssplit=4k/10/1", "size/percent/class/level"),
        ("cmdprio_bssplit=4k/60:4k/50", "add up to 110 percent"),
        (
            "cmdprio_percentage=1\ncmdprio_bssplit=4k/60",
            "exclude each other",
        ),
    ] {
        let error = refusal(&format!("[a]\nioengine=libaio\n{options}"));
        assert!(error.contains(why), "{options}: {error}");
    }
    let error = refusal("[a]\nioengine=psync\ncmdprio_percentage=1");
    assert!(error.contains("belongs to libaio"), "{error}");
}

#[test]
fn an_engine_without_priorities_gets_none_of_the_global_ones() {
    let text = "[global]\ncmdprio_percentage=50\n[a]\nioengine=psync\n[b]\nioengine=libaio";
    let load = file(text).load;
    assert!(load.streams[0].engine.priorities.read.is_empty());
    assert_eq!(load.streams[1].engine.priorities.read.len(), 1);
}
