//! Places held in a lab, released when dropped.

use super::{Lab, LabError};
use crate::ssh::SshAddress;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Problem found when a place was released.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    /// Others had released or acquired it meanwhile.
    #[error(
        "somebody else released or acquired it meanwhile: another job may have run during the measurement"
    )]
    Taken,
    /// It could not be released.
    #[error("it could not be released ({0}); assay targets --release-stale does so later")]
    Held(LabError),
}

/// A place that this process has acquired. Dropping the lease releases the place.
pub struct Lease {
    lab: Arc<Lab>,
    place: String,
    address: SshAddress,
    /// Cancelled after the place is released.
    reservation: Option<Reservation>,
    is_held: bool,
}

impl Lease {
    pub(super) fn new(lab: Arc<Lab>, place: String, address: SshAddress) -> Self {
        Self {
            lab,
            place,
            address,
            reservation: None,
            is_held: true,
        }
    }

    /// Returns the name of the target, as a user writes it.
    pub fn name(&self) -> String {
        format!("labgrid:{}", self.place)
    }

    /// Returns the address of the board.
    pub fn address(&self) -> &SshAddress {
        &self.address
    }

    /// Releases the place.
    ///
    /// # Errors
    /// [`Trouble::Taken`] if others changed it meanwhile; [`Trouble::Held`] if it could
    /// not be released: then it remains in the journal.
    pub fn release(mut self) -> Result<(), Trouble> {
        self.is_held = false;
        match self.lab.release(&self.place) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Trouble::Taken),
            Err(error) => Err(Trouble::Held(error)),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.is_held {
            // A place that could not be released remains in the journal.
            let _ = self.lab.release(&self.place);
        }
        drop(self.reservation.take());
    }
}

/// A pending reservation. Dropping it cancels the reservation.
pub struct Reservation {
    lab: Arc<Lab>,
    tags: BTreeMap<String, String>,
    /// `None` once the reservation belongs to a lease.
    token: Option<String>,
}

impl Reservation {
    pub(super) fn new(lab: Arc<Lab>, tags: &BTreeMap<String, String>, token: String) -> Self {
        Self {
            lab,
            tags: tags.clone(),
            token: Some(token),
        }
    }

    /// Acquires the allocated place; `None` if no place is allocated yet. If another
    /// command of the same user has acquired the place by name, the reservation is
    /// replaced by a new one.
    ///
    /// # Errors
    /// If the coordinator no longer knows the reservation, and as in [`Lab::acquire`].
    pub fn take(&mut self) -> Result<Option<Lease>, LabError> {
        let Some(place) = self.place()? else {
            return Ok(None);
        };
        match self.lab.acquire(&place) {
            Ok(mut lease) => {
                lease.reservation = Some(Self {
                    lab: Arc::clone(&self.lab),
                    tags: BTreeMap::new(),
                    token: self.token.take(),
                });
                Ok(Some(lease))
            }
            Err(LabError::Busy(_)) => {
                *self = self.lab.reserve(&self.tags)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn place(&self) -> Result<Option<String>, LabError> {
        #[derive(Deserialize)]
        struct ReservationState {
            place: Option<String>,
        }
        let state: ReservationState = self.lab.ask(&json!({"do": "poll", "token": self.token}))?;
        Ok(state.place)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            // A reservation that is not polled expires.
            let _: Result<Value, LabError> = self.lab.ask(&json!({"do": "cancel", "token": token}));
        }
    }
}
