//! Progress line on a terminal.

use super::text::{NumberScale, count};
use assay_model::load::report::{LoadProgress, StreamProgress, StreamState, Unified};
use assay_model::load::{Ddir, Load, PerDirection, Stream};

const SECOND_NS: u64 = 1_000_000_000;
/// Time before which fio does not estimate the end.
const SILENCE_NS: u64 = 3 * SECOND_NS;
/// Value in fio's JSON for an unknown remaining time, in seconds.
const UNKNOWN_S: u64 = 2_147_483_647;

/// Maker of progress lines from successive reports of progress.
#[derive(Clone, Debug)]
pub struct Eta<'a> {
    load: &'a Load,
    now: LoadProgress,
    /// Bytes and I/Os per second between the last two reports.
    rates: PerDirection<Rate>,
    /// Length of the line before, which the next must overwrite.
    shown: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    bytes: u64,
    ios: u64,
}

impl<'a> Eta<'a> {
    /// Makes the state before the first report.
    pub fn new(load: &'a Load) -> Self {
        Self {
            load,
            now: LoadProgress::default(),
            rates: PerDirection::default(),
            shown: 0,
        }
    }

    /// Takes a report of progress and computes rates since the one before.
    /// Ignores a report that is not later.
    pub fn update(&mut self, progress: &LoadProgress) {
        let between_ns = progress.elapsed_ns.saturating_sub(self.now.elapsed_ns);
        if between_ns == 0 {
            return;
        }
        let before = std::mem::replace(&mut self.now, progress.clone());
        let sum = |progress: &LoadProgress, get: fn(&StreamProgress, Ddir) -> u64, ddir| {
            progress.streams.iter().map(|s| get(s, ddir)).sum::<u64>()
        };
        self.rates = PerDirection::from_fn(|ddir| {
            let rate = |get| {
                let more = sum(progress, get, ddir).saturating_sub(sum(&before, get, ddir));
                let per_second = u128::from(more) * u128::from(SECOND_NS) / u128::from(between_ns);
                u64::try_from(per_second).unwrap_or(u64::MAX)
            };
            Rate {
                bytes: rate(|stream, ddir| stream.bytes[ddir]),
                ios: rate(|stream, ddir| stream.ios[ddir]),
            }
        });
        self.unite_rates();
    }

    /// Adds up the rates as reads if all directions are reported together.
    fn unite_rates(&mut self) {
        let mut streams = self.load.streams.iter();
        if streams.any(|stream| stream.stats.unified == Unified::Mixed) {
            let all = Ddir::ALL.map(|ddir| self.rates[ddir]);
            self.rates = PerDirection::default();
            for rate in all {
                self.rates.read.bytes += rate.bytes;
                self.rates.read.ios += rate.ios;
            }
        }
    }

    /// Seconds until the load ends; 2147483647 while this is unknown.
    pub fn seconds_left(&self) -> u64 {
        self.left_s().unwrap_or(UNKNOWN_S)
    }

    /// Estimates the remaining time: waves run one after another, the streams
    /// of a wave in parallel.
    fn left_s(&self) -> Option<u64> {
        if self.now.elapsed_ns < SILENCE_NS {
            return None;
        }
        let mut waves: Vec<(u32, u64)> = Vec::new();
        for (stream, progress) in self.streams() {
            let left_ns = left_ns(stream, progress);
            match waves.iter_mut().find(|(wave, _)| *wave == stream.wave) {
                Some((_, longest)) => *longest = left_ns.max(*longest),
                None => waves.push((stream.wave, left_ns)),
            }
        }
        let left_ns = waves
            .iter()
            .map(|(_, ns)| ns)
            .fold(0, |sum: u64, ns| sum.saturating_add(*ns));
        Some(left_ns / SECOND_NS)
    }

    fn streams(&self) -> impl Iterator<Item = (&'a Stream, &StreamProgress)> {
        self.load.streams.iter().zip(&self.now.streams)
    }

    /// Returns the line without a line end, cut to `width` characters if given,
    /// and padded with spaces to overwrite a longer line before.
    pub fn line(&mut self, width: Option<usize>) -> String {
        let mut line = self.text();
        if let Some(width) = width {
            line = line.chars().take(width).collect();
        }
        let length = line.chars().count();
        let covered = self.shown.min(width.unwrap_or(usize::MAX));
        line.extend(std::iter::repeat_n(' ', covered.saturating_sub(length)));
        self.shown = length;
        line
    }

    fn text(&self) -> String {
        let running = self.streams().filter(|(_, progress)| runs(progress.state));
        let jobs = running.count();
        let files: u64 = self
            .now
            .streams
            .iter()
            .map(|s| u64::from(s.open_files))
            .sum();
        let mut text = format!("Jobs: {jobs} (f={files}){}", self.limits());
        let Some(left_s) = self.left_s().filter(|_| jobs > 0) else {
            return text;
        };
        let elapsed_s = self.now.elapsed_ns.div_ceil(SECOND_NS);
        let share = 100.0 * elapsed_s as f64 / elapsed_s.saturating_add(left_s) as f64;
        let mut states = self.streams().filter(|(_, progress)| runs(progress.state));
        let share = match states.all(|(_, progress)| progress.state == StreamState::Ramp) {
            true => "-.-".to_owned(),
            false => format!("{share:.1}"),
        };
        text += &format!(": [{}][{share}%]", self.letters());
        text += &self.rates_text();
        text += &format!("[eta {}]", duration(left_s));
        text
    }

    /// Formats the lowest and highest rates configured for the running jobs.
    fn limits(&self) -> String {
        let running = || self.streams().filter(|(_, progress)| runs(progress.state));
        let sum = |get: fn(&Stream) -> &PerDirection<u64>| {
            let limits = running().map(|(stream, _)| of_its_directions(stream, get(stream)));
            limits.fold(0, u64::saturating_add)
        };
        let (least, most) = (sum(|s| &s.pace.rate_min), sum(|s| &s.pace.rate));
        let (least_iops, most_iops) = (sum(|s| &s.pace.rate_iops_min), sum(|s| &s.pace.rate_iops));
        if least + most > 0 {
            let scale = NumberScale {
                bits: false,
                ..self.scale()
            };
            format!(", {}-{}", scale.rates(least).0, scale.rates(most).0)
        } else if least_iops + most_iops > 0 {
            format!(", {least_iops}-{most_iops} IOPS")
        } else {
            String::new()
        }
    }

    fn scale(&self) -> NumberScale {
        let stats = self.load.streams.last().map(|stream| &stream.stats);
        stats.map_or_else(|| NumberScale::of(&Default::default()), NumberScale::of)
    }

    fn rates_text(&self) -> String {
        let scale = self.scale();
        let moving = self
            .rates
            .iter()
            .filter(|(_, rate)| rate.bytes + rate.ios > 0);
        let (bytes, ios): (Vec<String>, Vec<String>) = moving
            .map(|(ddir, rate)| {
                let letter = &ddir.name()[..1];
                let bytes = format!("{letter}={}", scale.rates(rate.bytes).0);
                (bytes, format!("{letter}={}", count(rate.ios, 4)))
            })
            .unzip();
        match bytes.is_empty() {
            true => String::new(),
            false => format!("[{}][{} IOPS]", bytes.join(","), ios.join(",")),
        }
    }

    /// Formats the states of the streams, neighbours with the same state
    /// together: `m(1),P(3)`.
    fn letters(&self) -> String {
        let mut runs: Vec<(char, u32)> = Vec::new();
        for (stream, progress) in self.streams() {
            let letter = letter(stream, progress.state);
            match runs.last_mut() {
                Some((last, count)) if *last == letter => *count += 1,
                _ => runs.push((letter, 1)),
            }
        }
        let texts: Vec<String> = runs.iter().map(|(c, n)| format!("{c}({n})")).collect();
        texts.join(",")
    }
}

/// Returns true if fio counts the state among the running jobs.
const fn runs(state: StreamState) -> bool {
    use StreamState::{Flushing, PreReading, Ramp, Running, Verifying};
    matches!(state, Running | Verifying | Flushing | PreReading | Ramp)
}

fn letter(stream: &Stream, state: StreamState) -> char {
    match state {
        StreamState::Waiting => 'P',
        StreamState::SettingUp => 'I',
        StreamState::Ramp => '/',
        StreamState::PreReading => 'p',
        StreamState::Flushing => 'F',
        StreamState::Verifying => 'V',
        StreamState::Done => '_',
        StreamState::Failed => 'X',
        StreamState::Running => {
            let rw = &stream.blocks.rw;
            let letter = match (rw.read, rw.write) {
                (true, true) => match stream.blocks.read_percent {
                    100 => 'R',
                    0 => 'W',
                    _ => 'M',
                },
                (true, false) => 'R',
                (false, true) => 'W',
                (false, false) => 'D',
            };
            if rw.random {
                letter.to_ascii_lowercase()
            } else {
                letter
            }
        }
    }
}

/// Estimates the remaining time of a stream. A running one continues at its
/// mean rate; one that has not started uses all its time, or its configured
/// rate.
fn left_ns(stream: &Stream, progress: &StreamProgress) -> u64 {
    use StreamState::{Done, Failed, Flushing, Running, Verifying};
    let length = &stream.length;
    match progress.state {
        Done | Failed | Flushing => 0,
        Running | Verifying => {
            let by_time = progress.goal_ns.saturating_sub(progress.elapsed_ns);
            if length.time_based {
                return by_time;
            }
            let by_bytes = by_pace(progress);
            match (progress.goal_ns, by_bytes) {
                (0, bytes) => bytes.unwrap_or(0),
                (_, Some(bytes)) => bytes.min(by_time),
                (_, None) => by_time,
            }
        }
        _ => {
            let time = length.runtime.map(|runtime| {
                let ramp = length.ramp_time.0.saturating_sub(progress.elapsed_ns);
                runtime.0.saturating_add(ramp)
            });
            let rate = of_its_directions(stream, &stream.pace.rate);
            let paced = u128::from(progress.goal_bytes) * u128::from(SECOND_NS);
            let paced = paced.checked_div(u128::from(rate));
            let paced = paced.map(|ns| u64::try_from(ns).unwrap_or(u64::MAX));
            let paced = paced.filter(|ns| *ns > 0);
            time.into_iter().chain(paced).min().unwrap_or(0)
        }
    }
}

/// Sums a limit over the job's directions; it is also given for directions that
/// the job does not have.
fn of_its_directions(stream: &Stream, limits: &PerDirection<u64>) -> u64 {
    let rw = &stream.blocks.rw;
    let done = PerDirection {
        read: rw.read,
        write: rw.write,
        trim: rw.trim,
    };
    let limits = limits.iter().filter(|(ddir, _)| done[*ddir]);
    limits.fold(0, |sum, (_, limit)| sum.saturating_add(*limit))
}

/// Estimates the remaining time from the bytes moved; `None` if no byte has
/// moved yet, or if only time limits the job.
fn by_pace(progress: &StreamProgress) -> Option<u64> {
    if progress.goal_bytes == 0 {
        return None;
    }
    let done: u64 = progress.bytes.iter().map(|(_, bytes)| *bytes).sum();
    let left = u128::from(progress.goal_bytes.saturating_sub(done));
    let left_ns = (left * u128::from(progress.elapsed_ns)).checked_div(u128::from(done))?;
    Some(u64::try_from(left_ns).unwrap_or(u64::MAX))
}

/// Formats `01m:05s`, `02d:03h:04m:05s`.
fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60 % 60, seconds / 3600 % 24, seconds / 86_400);
    let mut text = String::new();
    if days > 0 {
        text += &format!("{days:02}d:");
    }
    if days > 0 || hours > 0 {
        text += &format!("{hours:02}h:");
    }
    text + &format!("{minutes:02}m:{:02}s", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::Length;
    use assay_model::units::Nanos;

    fn load(names: &[&str]) -> Load {
        Load {
            streams: names.iter().map(|name| Stream::new(name)).collect(),
            ..Load::default()
        }
    }

    /// 55 blocks of 1 MiB in each second.
    fn at(seconds: u64, states: &[StreamState]) -> LoadProgress {
        let stream = |state: &StreamState| {
            let mut stream = StreamProgress {
                state: *state,
                elapsed_ns: seconds * SECOND_NS,
                open_files: 1,
                goal_ns: 10 * SECOND_NS,
                ..StreamProgress::default()
            };
            if runs(*state) {
                stream.ios.read = 55 * seconds;
                stream.bytes.read = (55 * seconds) << 20;
            } else {
                stream.open_files = 0;
            }
            stream
        };
        LoadProgress {
            elapsed_ns: seconds * SECOND_NS,
            streams: states.iter().map(stream).collect(),
        }
    }

    #[test]
    fn a_running_load_shows_rates_and_time_left() {
        let mut load = load(&["a"]);
        load.streams[0].length.time_based = true;
        let mut eta = Eta::new(&load);
        eta.update(&at(1, &[StreamState::Running]));
        assert_eq!(eta.line(None), "Jobs: 1 (f=1)");
        assert_eq!(eta.seconds_left(), UNKNOWN_S);
        eta.update(&at(4, &[StreamState::Running]));
        let line = "Jobs: 1 (f=1): [R(1)][40.0%][r=55.0MiB/s][r=55 IOPS][eta 00m:06s]";
        assert_eq!(eta.line(None), line);
        assert_eq!(eta.seconds_left(), 6);
        eta.update(&at(10, &[StreamState::Running]));
        assert!(eta.line(None).contains("[100.0%]"));
    }

    #[test]
    fn waves_that_wait_add_their_time() {
        let mut load = load(&["a", "b", "c"]);
        for stream in &mut load.streams {
            stream.length = Length {
                runtime: Some(Nanos(10 * SECOND_NS)),
                ..Length::default()
            };
        }
        load.streams[2].wave = 1;
        load.streams[2].blocks.rw.random = true;
        let mut eta = Eta::new(&load);
        use StreamState::{Done, Running, Waiting};
        eta.update(&at(4, &[Done, Running, Waiting]));
        assert_eq!(eta.seconds_left(), 16);
        assert!(eta.line(None).contains(": [_(1),R(1),P(1)][20.0%]"));
    }

    #[test]
    fn a_narrow_terminal_cuts_the_line_and_a_shorter_line_covers_the_last() {
        let load = load(&["a"]);
        let mut eta = Eta::new(&load);
        eta.update(&at(4, &[StreamState::Running]));
        assert_eq!(eta.line(Some(20)).chars().count(), 20);
        eta.update(&at(5, &[StreamState::Done]));
        assert_eq!(eta.line(Some(20)), "Jobs: 0 (f=0)       ");
        assert_eq!(eta.line(Some(20)), "Jobs: 0 (f=0)");
    }

    #[test]
    fn limits_are_shown_as_fio_does() {
        let mut load = load(&["a", "b", "c"]);
        load.streams
            .iter_mut()
            .for_each(|stream| stream.pace.rate = PerDirection::all(10 << 20));
        let mut eta = Eta::new(&load);
        eta.update(&at(1, &[StreamState::Running; 3]));
        assert_eq!(eta.line(None), "Jobs: 3 (f=3), 0B/s-30.0MiB/s");
    }

    #[test]
    fn bytes_still_to_move_give_the_time_left() {
        let load = load(&["a"]);
        let mut progress = at(5, &[StreamState::Running]);
        progress.streams[0].goal_ns = 0;
        progress.streams[0].goal_bytes = (55 * 20) << 20;
        let mut eta = Eta::new(&load);
        eta.update(&progress);
        assert_eq!(eta.seconds_left(), 15);
    }

    #[test]
    fn durations_grow_to_days() {
        assert_eq!(duration(5), "00m:05s");
        assert_eq!(duration(3_665), "01h:01m:05s");
        assert_eq!(duration(180_000), "02d:02h:00m:00s");
    }

    /// The line of fio 3.33 for the same load.
    #[test]
    fn a_mixed_load_with_rates_of_ios() {
        let mut load = load(&["a"]);
        let stream = &mut load.streams[0];
        stream.length.time_based = true;
        stream.blocks.rw.write = true;
        stream.blocks.rw.random = true;
        stream.pace.rate_iops = PerDirection::all(1000);
        let at = |seconds: u64| {
            let mut progress = at(seconds, &[StreamState::Running]);
            let stream = &mut progress.streams[0];
            stream.goal_ns = 5 * SECOND_NS;
            stream.ios = PerDirection::all(1000 * seconds);
            stream.bytes = PerDirection::all(4_096_000 * seconds);
            (stream.ios.trim, stream.bytes.trim) = (0, 0);
            progress
        };
        let mut eta = Eta::new(&load);
        eta.update(&at(2));
        assert_eq!(eta.line(None), "Jobs: 1 (f=1), 0-2000 IOPS");
        eta.update(&at(3));
        assert_eq!(
            eta.line(None),
            "Jobs: 1 (f=1), 0-2000 IOPS: [m(1)][60.0%][r=4000KiB/s,w=4000KiB/s][r=1000,w=1000 IOPS][eta 00m:02s]"
        );
    }

    #[test]
    fn a_ramp_has_no_share_yet() {
        let load = load(&["a"]);
        let mut eta = Eta::new(&load);
        eta.update(&at(4, &[StreamState::Ramp]));
        assert!(eta.line(None).starts_with("Jobs: 1 (f=1): [/(1)][-.-%]"));
    }

    #[test]
    fn progress_that_is_not_later_changes_nothing() {
        let load = load(&["a"]);
        let mut eta = Eta::new(&load);
        eta.update(&at(4, &[StreamState::Running]));
        let line = eta.line(None);
        eta.update(&at(4, &[StreamState::Running]));
        eta.update(&at(2, &[StreamState::Done]));
        assert_eq!(eta.line(None), line);
    }
}
