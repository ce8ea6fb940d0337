//! Jobs and their order.

use super::define::{OptionDef, TimeUnit};
use super::make::{choice, count, no_effect, refused, switch, text};
use crate::fio::value::time::duration;
use assay_model::load::pace::Range;
use assay_model::load::schedule::ExitWhat;

pub(super) static OPTIONS: &[OptionDef] = &[
    text(
        "name",
        "text",
        "",
        "Name of the job; on the command line it begins one",
        |job, _, name| {
            name.clone_into(&mut job.stream.name);
            Ok(())
        },
    ),
    text(
        "description",
        "text",
        "",
        "Free text about the job",
        |job, _, text| {
            job.stream.description = Some(text.to_owned());
            Ok(())
        },
    ),
    count(
        "numjobs",
        (1, u32::MAX as u64),
        "1",
        "Run this many copies of the job",
        |job, n| {
            job.copies = n;
        },
    ),
    switch(
        "stonewall",
        "Start when all jobs above have ended",
        |job, on| job.stonewall = on,
    )
    .alias(&["wait_for_previous"]),
    switch(
        "new_group",
        "Start a new group for the report",
        |job, on| job.new_group = on,
    ),
    switch(
        "group_reporting",
        "Report the jobs of a group as one",
        |job, on| {
            job.stream.stats.group_reporting = on;
        },
    ),
    text(
        "wait_for",
        "name of a job",
        "",
        "Start when the job of that name has ended",
        |job, _, name| {
            job.stream.schedule.wait_for = Some(name.to_owned());
            Ok(())
        },
    ),
    text(
        "startdelay",
        "time, or two with - between (seconds)",
        "0",
        "Wait that long before the start",
        |job, _, value| {
            let (low, high) = value.split_once('-').unwrap_or((value, value));
            let low = duration(low, TimeUnit::Seconds)?.0;
            let high = duration(high, TimeUnit::Seconds)?.0;
            job.stream.schedule.start_delay = Some(Range {
                min: low.min(high),
                max: low.max(high),
            });
            Ok(())
        },
    ),
    switch(
        "exitall",
        "When a job has ended, end the others",
        |job, on| job.exit_all = on,
    ),
    choice(
        "exit_what",
        &[
            ("group", "the jobs of its group"),
            ("stonewall", "the jobs of its wave"),
            ("all", "all jobs"),
        ],
        "group",
        "Which others exitall ends",
        |job, what| {
            job.exit_what = match what {
                "stonewall" => ExitWhat::Stonewall,
                "all" => ExitWhat::All,
                _ => ExitWhat::Group,
            };
        },
    ),
    switch(
        "exitall_on_error",
        "When the job has failed, end the others",
        |job, on| {
            job.stream.schedule.exit_all_on_error = on;
        },
    ),
    text(
        "exec_prerun",
        "shell command",
        "",
        "Run this before the job",
        |job, _, command| {
            job.stream.schedule.exec_before = Some(command.to_owned());
            Ok(())
        },
    ),
    text(
        "exec_postrun",
        "shell command",
        "",
        "Run this after the job",
        |job, _, command| {
            job.stream.schedule.exec_after = Some(command.to_owned());
            Ok(())
        },
    ),
    switch("thread", "Use a thread instead of a process", |job, on| {
        job.stream.process.forked = !on;
    })
    .differs("every job is a thread, with and without this"),
    refused(
        "profile",
        "name",
        "",
        "Use a built-in workload",
        "fio's profiles (act, tiobench) are programs within fio; write their jobs down",
    ),
    no_effect(
        "threads",
        "number",
        "Number of threads of fio's tiobench profile",
        "fio too ignores it without that profile; did you mean thread?",
    ),
    no_effect(
        "create_serialize",
        "0 or 1",
        "Lay out the files of one job after the other",
        "files are always laid out one job after the other",
    ),
];
