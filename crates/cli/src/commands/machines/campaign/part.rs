//! State of a part: its open runs, and the boards to try next. Nothing is executed here.

use crate::exit::LOST;
use crate::targets::on::On;
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// A board that may be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Board {
    /// A place of a labgrid.
    Place(String),
    /// A machine that need not be acquired.
    Target(On),
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => write!(f, "labgrid:{place}"),
            Self::Target(on) => on.fmt(f),
        }
    }
}

/// Run that is still to be made.
#[derive(Debug, PartialEq, Eq)]
pub struct Wish {
    /// Number of boards on which it failed.
    failures: u32,
    /// Exit code of the last failure.
    code: u8,
}

/// Part of a campaign. Each board is used once: a second run on it would not be a second unit.
#[derive(Debug)]
pub struct CampaignPart {
    /// Name of the part.
    pub name: String,
    attempts: u32,
    /// Number of wanted runs.
    pub wanted: usize,
    open: Vec<Wish>,
    /// Boards that were not tried yet.
    boards: VecDeque<Board>,
    /// Boards that others hold.
    busy: Vec<Board>,
    busy_since: Option<Instant>,
    /// Ids of the finished runs.
    pub runs: Vec<String>,
    /// Exit codes of the runs that were given up.
    pub given_up: Vec<u8>,
}

impl CampaignPart {
    /// Makes a part with `wanted` runs on different boards; each is tried on at most `attempts` boards.
    pub fn new(name: &str, boards: Vec<Board>, wanted: usize, attempts: u32) -> Self {
        let wish = || Wish {
            failures: 0,
            code: LOST,
        };
        Self {
            name: name.to_owned(),
            attempts,
            wanted,
            open: (0..wanted).map(|_| wish()).collect(),
            boards: boards.into(),
            busy: Vec::new(),
            busy_since: None,
            runs: Vec::new(),
            given_up: Vec::new(),
        }
    }

    /// `true` if no board is left to try; runs under way may still fail.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the next run to try, and its board.
    pub fn next(&mut self) -> Option<(Wish, Board)> {
        let board = match self.open.is_empty() {
            true => None,
            false => self.boards.pop_front(),
        }?;
        Some((self.open.pop()?, board))
    }

    /// Notes that another user holds the board; returns `true` if the part did not wait before.
    pub fn is_busy(&mut self, wish: Wish, board: Board, now: Instant) -> bool {
        self.open.push(wish);
        self.busy.push(board);
        let first = self.busy_since.is_none();
        self.busy_since.get_or_insert(now);
        first
    }

    /// Returns boards that may be free now to those to try.
    pub fn look_again(&mut self, may_be_free: impl Fn(&Board) -> bool) {
        let (free, busy) = self.busy.drain(..).partition(may_be_free);
        self.busy = busy;
        self.boards.extend::<Vec<Board>>(free);
    }

    /// `true` if others hold boards that the part could use.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty() && !self.busy.is_empty()
    }

    /// Notes that a board was acquired, which ends the wait.
    pub fn got_board(&mut self) {
        self.busy_since = None;
    }

    /// `true` if the wait for boards that others hold has reached its limit.
    pub fn waited_for(&self, limit: Duration, now: Instant) -> bool {
        let since = self.busy_since.filter(|_| !self.open.is_empty());
        since.is_some_and(|since| now.duration_since(since) >= limit)
    }

    /// Gives up all open runs.
    pub fn give_up(&mut self) {
        self.given_up
            .extend(self.open.drain(..).map(|wish| wish.code));
    }

    /// Notes that a run failed on a board; returns `true` if it will be tried on another one.
    pub fn failed(&mut self, mut wish: Wish, code: u8) -> bool {
        wish.failures += 1;
        wish.code = code;
        let elsewhere = self.boards.len() + self.busy.len() > self.open.len();
        let again = wish.failures < self.attempts && elsewhere;
        match again {
            true => self.open.push(wish),
            false => self.given_up.push(code),
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(boards: usize, wanted: usize, attempts: u32) -> CampaignPart {
        let boards = (0..boards).map(|n| Board::Place(format!("b{n}"))).collect();
        CampaignPart::new("p", boards, wanted, attempts)
    }

    #[test]
    fn a_dead_board_is_replaced_while_there_are_others() {
        let mut part = part(3, 2, 3);
        let (first, dead) = part.next().unwrap();
        let (second, _) = part.next().unwrap();
        assert!(part.next().is_none(), "two are wanted");
        assert!(part.failed(first, 5));
        let (again, other) = part.next().unwrap();
        assert_ne!(dead, other);
        part.runs.push("r1".to_owned());
        assert!(!part.failed(again, 1), "no board is left");
        assert!(!part.failed(second, 5));
        assert_eq!((part.runs.len(), &part.given_up[..]), (1, &[1, 5][..]));
        assert!(part.is_idle());
    }

    #[test]
    fn a_run_is_tried_so_often_and_not_more() {
        let mut part = part(10, 1, 2);
        let (wish, _) = part.next().unwrap();
        assert!(part.failed(wish, 5));
        let (wish, _) = part.next().unwrap();
        assert!(!part.failed(wish, 5));
        assert!(part.next().is_none());
    }

    #[test]
    fn a_board_that_somebody_has_is_waited_for_but_not_for_ever() {
        let mut part = part(1, 1, 1);
        let (start, hour) = (Instant::now(), Duration::from_secs(3600));
        let (wish, board) = part.next().unwrap();
        assert!(part.is_busy(wish, board, start));
        assert!(part.next().is_none(), "not at once again");
        part.look_again(|_| true);
        let (wish, board) = part.next().unwrap();
        assert!(!part.is_busy(wish, board, start + hour / 2), "told already");
        assert!(!part.waited_for(hour, start + hour / 2));
        assert!(part.waited_for(hour, start + hour));
        part.give_up();
        assert_eq!(part.given_up, [LOST]);
        assert!(!part.waited_for(hour, start + hour));
    }
}
