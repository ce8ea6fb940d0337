//! The numbers behind each part of the time.

use super::super::kinds::Known;
use super::super::observed::Observed;
use super::time;
use assay_flash::experiment::Parameter;
use assay_lang::{counted, tr};
use assay_model::units::{BytesPerSec, three_digits};
use assay_report::reference::Bus;
use assay_report::text::clean;

/// Returns the basis of the total time.
pub fn latency(one: &Observed<'_>) -> String {
    counted!(one.ios, "mean of {n} I/O", "mean of {n} I/Os")
}

/// The ceiling of the bus.
pub fn wire(one: &Observed<'_>, bus: Option<&Bus>) -> String {
    let Some(bus) = bus else {
        return String::new();
    };
    let rate = BytesPerSec(bus.ceiling.rate(one.direction));
    tr!(
        "{bytes} at {rate}, the ceiling of {bus}",
        bytes = one.job.bs,
        rate,
        bus = clean(&bus.ceiling.mode)
    )
}

/// Slow I/Os.
pub fn stalls(one: &Observed<'_>) -> String {
    tr!(
        "mean {mean} less median {median}",
        mean = time(one.mean_us),
        median = time(one.median_us)
    )
}

/// The same I/O alone.
pub fn alone(like: &Observed<'_>) -> String {
    tr!(
        "{job} takes {time}, one at a time",
        job = clean(&like.job.name),
        time = time(like.typical_us())
    )
}

/// From one completion to the next.
pub fn interval(one: &Observed<'_>) -> String {
    tr!("one ended every {time}", time = time(one.interval_us))
}

/// Returns the basis of the remainder of a command's cost.
pub fn less_software(fitted: &str, software_us: f64) -> String {
    tr!(
        "{fitted}, less {software} above the block layer",
        fitted,
        software = time(software_us)
    )
}

/// Above the block layer.
pub fn software(one: &Observed<'_>) -> String {
    let Ok(requests) = &one.requests else {
        return String::new();
    };
    tr!(
        "mean {mean} less {request} of a request ({count} counted by the kernel)",
        mean = time(one.mean_us),
        request = time(requests.mean_us),
        count = requests.count
    )
}

/// The kernel's processor time.
pub fn kernel(one: &Observed<'_>) -> String {
    let kernel = time(one.cpu_us.1);
    tr!(
        "{kernel} of processor time in the kernel for each I/O",
        kernel
    )
}

/// Flushes of the device.
pub fn device_flush(count: u64, ms: u64) -> String {
    counted!(
        count,
        "{n} flush in {ms} ms, counted by the kernel",
        "{n} flushes in {ms} ms, counted by the kernel",
        ms
    )
}

/// Flush calls.
pub fn flush(one: &Observed<'_>) -> String {
    counted!(
        one.flush_calls,
        "{n} call for {ios} writes",
        "{n} calls for {ios} writes",
        ios = one.ios
    )
}

/// Returns the basis of a remainder.
pub fn rest() -> String {
    tr!("what is left").to_owned()
}

/// Parameters of a fit with their errors, or whose they are.
pub fn parameters<'p>(known: Known, own: impl Iterator<Item = &'p Parameter>) -> String {
    let own = own.map(|parameter| {
        let value = three_digits(parameter.value);
        match parameter.error {
            Some(error) => format!(
                "{} {value} ± {} {}",
                parameter.name,
                three_digits(error),
                parameter.unit
            ),
            None => format!("{} {value} {}", parameter.name, parameter.unit),
        }
    });
    let own: Vec<String> = own.collect();
    match (known, own.is_empty()) {
        (Known::Model, _) => tr!("the model, simulated again").to_owned(),
        (Known::Given, _) => tr!("the part that was named").to_owned(),
        (_, true) => tr!("fit").to_owned(),
        (_, false) => tr!("fit: {parameters}", parameters = own.join(", ")),
    }
}
