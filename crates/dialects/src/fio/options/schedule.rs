//! Jobs and their order.

use super::table::{TimeUnit, options};
use crate::fio::value::time::duration;
use assay_model::load::{ExitWhat, Range};

options! {
    pub(super) static OPTIONS:

    text("name", "text", "", "Name of the job; on the command line it begins one") [stream.name];
    text("description", "text", "", "Free text about the job") [stream.description];
    count("numjobs", (1, u32::MAX as u64), "1", "Run this many copies of the job") [copies];
    switch("stonewall", "Start when all jobs above have ended") [stonewall]
        .alias(&["wait_for_previous"]);
    switch("new_group", "Start a new group for the report") [new_group];
    switch("group_reporting", "Report the jobs of a group as one") [stream.stats.group_reporting];
    text("wait_for", "name of a job", "", "Start when the job of that name has ended")
        [stream.schedule.wait_for];
    text("startdelay", "time, or two with - between (seconds)", "0",
        "Wait that long before the start")
        [stream.schedule.start_delay = |_, value| {
            let (low, high) = value.split_once('-').unwrap_or((value, value));
            let low = duration(low, TimeUnit::Seconds)?.0;
            let high = duration(high, TimeUnit::Seconds)?.0;
            Ok(Range { min: low.min(high), max: low.max(high) })
        }];
    switch("exitall", "When a job has ended, end the others") [exit_all];
    choice("exit_what", "group", "Which others exitall ends") [exit_what] {
        "group": "the jobs of its group" => ExitWhat::Group,
        "stonewall": "the jobs of its wave" => ExitWhat::Stonewall,
        "all": "all jobs" => ExitWhat::All,
    };
    switch("exitall_on_error", "When the job has failed, end the others")
        [stream.schedule.exit_all_on_error];
    text("exec_prerun", "shell command", "", "Run this before the job")
        [stream.schedule.exec_before];
    text("exec_postrun", "shell command", "", "Run this after the job")
        [stream.schedule.exec_after];
    switch("thread", "Use a thread instead of a process") [!stream.process.forked]
        .differs("every job is a thread, with and without this");
    refused("profile", "name", "", "Use a built-in workload",
        "fio's profiles (act, tiobench) are programs within fio; write their jobs down");
    no_effect("threads", "number", "Number of threads of fio's tiobench profile",
        "fio too ignores it without that profile; did you mean thread?");
    no_effect("create_serialize", "0 or 1", "Lay out the files of one job after the other",
        "files are always laid out one job after the other");
}
