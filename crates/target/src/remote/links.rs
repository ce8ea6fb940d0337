//! Successive connections to an agent that outlives them.

use super::{PARTING, Program, Remote};
use crate::boot::Fault;
use crate::kept::{Complaint, Kept};
use crate::session::AgentSession;
use assay_link::{Broken, Link, NotOfThisVersion, Times, link};
use assay_model::text::no_thread;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Time limit of one attempt to reconnect.
const ATTEMPT: Duration = Duration::from_secs(60);
/// Shortest and longest pause between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(8);

/// Connects to the agent in the folder of that name over the session `first`, and
/// reconnects whenever the connection is lost.
pub(super) fn over<P: Program>(
    remote: &Remote<P>,
    folder: String,
    grace: Duration,
    first: AgentSession,
) -> io::Result<AgentSession> {
    let times = Times::within(grace);
    let (link, reader, writer) = link(times);
    let complaint = Complaint::default();
    let links = Links {
        remote: remote.clone(),
        folder,
        times,
        link: link.clone(),
        complaint: Arc::clone(&complaint),
    };
    let links = Builder::new()
        .spawn(move || links.follow(first))
        .map_err(no_thread)?;
    let kept = Kept {
        link,
        complaint,
        links: Some(links),
    };
    Ok(AgentSession::kept(reader, writer, kept, PARTING))
}

/// Reconnects to the agent.
struct Links<P> {
    remote: Remote<P>,
    /// Name of the agent's folder.
    folder: String,
    times: Times,
    link: Link,
    complaint: Complaint,
}

impl<P: Program> Links<P> {
    fn follow(self, mut session: AgentSession) {
        loop {
            match self.carry(session) {
                Err(error) => {
                    let why = format!("{error}: update the older of agent and program");
                    return self.link.give_up(Some(why));
                }
                Ok(Broken::Done) => return self.link.give_up(None),
                Ok(Broken::Off) if self.link.is_given_up() => return,
                Ok(Broken::Off) => {}
            }
            match self.go_again() {
                Some(next) => session = next,
                None => return,
            }
        }
    }

    /// Carries the link over one connection until that ends.
    fn carry(&self, mut session: AgentSession) -> Result<Broken, NotOfThisVersion> {
        let (reader, writer) = session.take_streams();
        let (ended, link) = (AtomicBool::new(false), &self.link);
        let since = Instant::now();
        let carried = std::thread::scope(|threads| {
            let carrying = Builder::new().spawn_scoped(threads, || {
                let carried = link.carry(reader, writer);
                ended.store(true, Ordering::Relaxed);
                link.wake();
                carried
            });
            let Ok(carrying) = carrying else {
                return Ok(Broken::Off);
            };
            if link.await_silence(since, || !ended.load(Ordering::Relaxed)) {
                session.cut();
            }
            // The thread does not panic; if it did, the connection would be down as well.
            carrying.join().unwrap_or(Ok(Broken::Off))
        });
        if carried != Ok(Broken::Done) {
            session.give_up();
        }
        let complaint = session.complaint();
        *self
            .complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = complaint;
        carried
    }

    /// Opens another connection; `None` if the link was given up.
    fn go_again(&self) -> Option<AgentSession> {
        let target = self.remote.program.target();
        let grace = self.times.grace.as_secs();
        self.tell(&format!(
            "{target}: connection lost; reconnecting for at most {grace} s"
        ));
        let mut pause = FIRST_PAUSE;
        let mut why = String::new();
        while self.link.silent_for() < self.times.grace {
            if self.link.await_end(pause) {
                return None;
            }
            match self.remote.reach_again(&self.folder, ATTEMPT) {
                Ok(session) => {
                    self.tell(&format!("{target}: connected again"));
                    return Some(session);
                }
                Err(failed) if matches!(failed.fault, Fault::Gone) => {
                    let gone = "the agent there has ended, or the machine was restarted";
                    self.link.give_up(Some(gone.to_owned()));
                    return None;
                }
                Err(failed) => why = failed.into_error(&self.remote.program).to_string(),
            }
            pause = LAST_PAUSE.min(pause * 2);
        }
        let why = format!("no new connection within {grace} s ({why})");
        self.link.give_up(Some(why));
        None
    }

    fn tell(&self, line: &str) {
        (self.remote.tell)(line);
    }
}
