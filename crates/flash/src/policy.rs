//! Policies of a host driver for multi-block transfers.
//!
//! An *open* transfer is a CMD18 (read) or CMD25 (write) that was not ended: as long as requests
//! follow each other in one direction, they need no further command. The published policy (mmc:
//! rtsx, version 3, December 2021) opens a transfer at every request; [`crate::check`] shows its
//! flaws.
//!
//! To add a policy: add a variant of `Policy` and its behaviour in `Host`, which is both simulated
//! and searched. `crate::check` must find no violated rule, or a test names it.

use crate::FlashError;
use assay_model::job::Direction;
use assay_model::text::meant;
use std::fmt;
use std::str::FromStr;

/// A request of the block layer, at most as large as the host accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRequest {
    /// Direction of the request.
    pub direction: Direction,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u64,
}

/// Time at which transfers are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// CMD12 after every transfer, and CMD13 until the card is ready, for a host without CMD23.
    Closed,
    /// CMD23 with the length before each transfer.
    SetCount,
    /// Several requests at once in the card's queue, each with its length (eMMC 5.1 CMDQ).
    Queued,
    /// Transfers stay open for following requests.
    Open {
        /// Number of consecutive requests before a transfer is left open.
        after: u32,
        /// `true` if the host waits until the card has programmed before any other command: the
        /// corrected policy. The published one does not wait.
        waits: bool,
    },
}

impl Policy {
    /// The published policy.
    pub const OPEN: Self = Self::Open {
        after: 0,
        waits: false,
    };
    /// The published policy without its flaws.
    pub const OPEN_SAFE: Self = Self::Open {
        after: 0,
        waits: true,
    };
    /// Leaves a transfer open only after two consecutive requests; without the flaws.
    pub const OPEN_AFTER_TWO: Self = Self::Open {
        after: 2,
        waits: true,
    };
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed"),
            Self::SetCount => f.write_str("cmd23"),
            Self::Queued => f.write_str("queued"),
            Self::Open {
                after: 0,
                waits: false,
            } => f.write_str("open"),
            Self::Open { after: 0, .. } => f.write_str("open-safe"),
            Self::Open { after, .. } => write!(f, "open-after-{after}"),
        }
    }
}

impl FromStr for Policy {
    type Err = FlashError;

    fn from_str(word: &str) -> Result<Self, FlashError> {
        match word {
            "closed" => return Ok(Self::Closed),
            "cmd23" => return Ok(Self::SetCount),
            "queued" => return Ok(Self::Queued),
            "open" => return Ok(Self::OPEN),
            "open-safe" => return Ok(Self::OPEN_SAFE),
            _ => {}
        }
        let after = word.strip_prefix("open-after-").map(str::parse);
        match after {
            Some(Ok(after @ 1..=1000)) => Ok(Self::Open { after, waits: true }),
            _ => Err(FlashError(format!(
                "no policy is called '{word}'{}: there are closed, cmd23, queued, open (as \
                 in the patch of 2021), open-safe (rule violations fixed) and open-after-N \
                 (1 to 1000 requests in a row first)",
                meant(word, ["closed", "cmd23", "queued", "open", "open-safe"])
            ))),
        }
    }
}

/// End of an open transfer by CMD12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stop {
    /// Direction of the transfer.
    pub direction: Direction,
    /// `true` if the host waits until the card has programmed, and reads the result.
    pub waits: bool,
}

/// Actions of the host for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// Open transfer that must end first.
    pub before: Option<Stop>,
    /// `true` if a command opens a transfer; otherwise the data continue the open one.
    pub opens: bool,
    /// `true` if the transfer is ended after the data; the host then waits for the card and
    /// reads its status.
    pub closes: bool,
}

/// A transfer that was not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Transfer {
    direction: Direction,
    /// Block at which the transfer can continue.
    next: u64,
}

/// State of the driver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    policy: Policy,
    open: Option<Transfer>,
    /// Block after the last request, and its direction.
    last: Option<Transfer>,
    /// Number of consecutive requests before the last one.
    row: u32,
}

impl Host {
    /// Creates a driver that has sent nothing yet.
    pub const fn new(policy: Policy) -> Self {
        Self {
            policy,
            open: None,
            last: None,
            row: 0,
        }
    }

    /// Policy of the driver.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// `true` if a transfer is open.
    pub const fn has_open(&self) -> bool {
        self.open.is_some()
    }

    /// Plans the actions for `request` and updates the state.
    pub fn plan(&mut self, request: &BlockRequest) -> Plan {
        let here = Transfer {
            direction: request.direction,
            next: request.block,
        };
        let follows = self.last == Some(here);
        self.row = if follows {
            self.row.saturating_add(1)
        } else {
            0
        };
        let after = Transfer {
            next: request.block.saturating_add(request.blocks),
            ..here
        };
        self.last = Some(after);
        let Policy::Open { after: least, .. } = self.policy else {
            return Plan {
                before: None,
                opens: true,
                closes: true,
            };
        };
        let goes_on = self.open == Some(here);
        let before = if goes_on { None } else { self.stop() };
        let stays = goes_on || self.row >= least;
        self.open = stays.then_some(after);
        Plan {
            before,
            opens: !goes_on,
            closes: !stays,
        }
    }

    /// Ends the open transfer when its timer expires.
    pub fn expire(&mut self) -> Option<Stop> {
        self.stop()
    }

    /// Handles a flush. A card without a cache gets no flush command, so the published policy
    /// does not react. The corrected one reports to the block layer that flushes are necessary,
    /// and ends the transfer.
    pub fn flush(&mut self) -> Option<Stop> {
        match self.policy {
            Policy::Open { waits: false, .. } => None,
            _ => self.stop(),
        }
    }

    fn stop(&mut self) -> Option<Stop> {
        let waits = !matches!(self.policy, Policy::Open { waits: false, .. });
        self.open.take().map(|open| Stop {
            direction: open.direction,
            waits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Read, Write};

    fn plans(policy: Policy, requests: &[(Direction, u64)]) -> Vec<(bool, bool, bool)> {
        let mut host = Host::new(policy);
        let plan = |&(direction, block): &(Direction, u64)| {
            let plan = host.plan(&BlockRequest {
                direction,
                block,
                blocks: 8,
            });
            (plan.before.is_some(), plan.opens, plan.closes)
        };
        requests.iter().map(plan).collect()
    }

    #[test]
    fn names_are_read_back() {
        for word in [
            "closed",
            "cmd23",
            "queued",
            "open",
            "open-safe",
            "open-after-2",
        ] {
            assert_eq!(
                word.parse::<Policy>().map(|policy| policy.to_string()),
                Ok(word.to_owned())
            );
        }
        for bad in ["", "open-after-", "open-after-0", "open-after-1001", "Open"] {
            assert!(bad.parse::<Policy>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_open_transfer_goes_on_only_in_its_direction_at_its_next_block() {
        let requests = [(Read, 0), (Read, 8), (Write, 16), (Write, 24), (Write, 40)];
        let expected = [
            (false, true, false),
            (false, false, false),
            (true, true, false),
            (false, false, false),
            (true, true, false),
        ];
        assert_eq!(plans(Policy::OPEN, &requests), expected);
    }

    #[test]
    fn after_two_in_a_row_the_third_stays_open() {
        let requests = [(Read, 0), (Read, 8), (Read, 16), (Read, 24), (Read, 80)];
        let expected = [
            (false, true, true),
            (false, true, true),
            (false, true, false),
            (false, false, false),
            (true, true, true),
        ];
        assert_eq!(plans(Policy::OPEN_AFTER_TWO, &requests), expected);
    }

    #[test]
    fn the_published_policy_does_not_notice_a_flush() {
        for (policy, stops) in [(Policy::OPEN, false), (Policy::OPEN_SAFE, true)] {
            let mut host = Host::new(policy);
            let _ = host.plan(&BlockRequest {
                direction: Write,
                block: 0,
                blocks: 8,
            });
            assert_eq!(host.flush().is_some(), stops, "{policy}");
        }
    }
}
