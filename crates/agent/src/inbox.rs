//! Input of the agent: requests, and the end of the session.

use crate::frame::{FrameError, receive_small};
use crate::last_resort::LastResort;
use crate::stops::Stops;
use assay_engine::load::Controls;
#[cfg(feature = "works")]
use assay_model::act::ActOrder;
use assay_model::plan::Plan;
use assay_model::text::no_thread;
use assay_model::wire::ToAgent;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

/// Event of a session.
pub(crate) enum Event {
    Request(ToAgent),
    /// A plan, and the controls to stop it.
    Run(Box<Plan>, Arc<Controls>),
    /// Acts, and what can be asked of them meanwhile.
    #[cfg(feature = "works")]
    RunActs(Box<ActOrder>, Arc<Controls>),
}

/// End of a session: the host closed the stream or a signal arrived (`Ok`), or one of the
/// streams failed.
type End = Result<(), FrameError>;

/// Queue of events.
pub(crate) struct Inbox {
    events: Receiver<Result<Event, End>>,
    ended: Option<End>,
}

/// Handle that ends the session.
#[derive(Clone)]
pub(crate) struct Ending {
    events: Sender<Result<Event, End>>,
    stops: Stops,
    last_resort: LastResort,
}

impl Inbox {
    /// Reads requests on a new thread, so that a cancel or the end of the stream takes effect
    /// while a trial runs.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn open(mut reader: impl Read + Send + 'static) -> io::Result<(Self, Ending)> {
        let (events, receiver) = channel();
        let ending = Ending {
            events,
            stops: Stops::default(),
            last_resort: LastResort::default(),
        };
        let at_end = ending.clone();
        let read = move || {
            at_end.end(listen(&mut reader, &at_end));
            at_end.last_resort.host_gone();
        };
        Builder::new().spawn(read).map_err(no_thread)?;
        let inbox = Self {
            events: receiver,
            ended: None,
        };
        Ok((inbox, ending))
    }

    /// Waits for the next event; `None` if the session is over.
    pub(crate) fn next(&mut self) -> Option<Event> {
        if self.ended.is_some() {
            return None;
        }
        match self.events.recv() {
            Ok(Ok(event)) => return Some(event),
            Ok(Err(end)) => self.ended = Some(end),
            Err(_) => self.ended = Some(Ok(())),
        }
        None
    }

    /// Returns the end of the session.
    pub(crate) fn close(self) -> End {
        self.ended.unwrap_or(Ok(()))
    }
}

impl Ending {
    /// Stops all runs, and ends the session.
    pub(crate) fn end(&self, how: End) {
        self.last_resort.ending();
        self.stops.end();
        // Without a receiver, the session is over already.
        let _ = self.events.send(Err(how));
    }

    /// Returns the last resort, which ends the process if the session does not end.
    pub(crate) fn last_resort(&self) -> LastResort {
        self.last_resort.clone()
    }
}

fn listen(reader: &mut impl Read, session: &Ending) -> End {
    let stops = &session.stops;
    while let Some(request) = receive_small::<ToAgent>(reader)? {
        let event = match request {
            ToAgent::Run { plan } => Event::Run(plan, stops.of_new_run()),
            #[cfg(feature = "works")]
            ToAgent::RunActs { order } => Event::RunActs(order, stops.of_new_run()),
            request => {
                match request {
                    ToAgent::Cancel => {
                        stops.cancel();
                        session.last_resort.cancelled();
                    }
                    ToAgent::ReportNow => stops.report_now(),
                    _ => {}
                }
                Event::Request(request)
            }
        };
        if session.events.send(Ok(event)).is_err() {
            break;
        }
    }
    Ok(())
}
