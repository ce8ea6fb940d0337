//! Connections: who is accepted, how long they may take, and the end of the server.

use crate::clients::Clients;
use crate::patient::Patient;
use crate::routes;
use crate::served::Served;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::TcpListener as Listener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{sleep, timeout};

/// Time limit for the head of a request, and for the next request of a connection.
const HEAD: Duration = Duration::from_secs(15);
/// Time limit of a connection: its client makes another one.
const WHOLE: Duration = Duration::from_secs(600);
/// Header lines of a request.
const HEADERS: usize = 64;
/// Connections at a time; further ones wait in the queue of the system.
const CONNECTIONS: usize = 1000;
/// Threads that read the store and render.
const THREADS: usize = 16;
/// Stack of such a thread.
const STACK_BYTES: usize = 8 << 20;
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);
/// Time limit for reading and rendering under way when the server ends; no answer is sent any more.
const GRACE: Duration = Duration::from_secs(2);

/// Ends a server from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Ends the server that was given this.
    pub fn now(&self) {
        self.0.notify_one();
    }
}

/// Answers requests until it is stopped.
///
/// # Errors
/// When the system gives no event queue or timer.
pub fn serve(listener: Listener, served: Served, stop: &Stop) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(THREADS)
        .thread_stack_size(STACK_BYTES)
        .build()?;
    // Dropped after the runtime: within it, no connection to a database can be closed.
    let served = Arc::new(served);
    runtime
        .block_on(async {
            let listener = TcpListener::from_std(listener)?;
            let router = routes::router(Arc::clone(&served));
            let stopped = stop.0.notified();
            let mut stopped = std::pin::pin!(stopped);
            let mut accepted = std::pin::pin!(accept(&listener, &router));
            std::future::poll_fn(|context| {
                if stopped.as_mut().poll(context).is_ready() {
                    return std::task::Poll::Ready(());
                }
                accepted.as_mut().poll(context)
            })
            .await;
            Ok(())
        })
        .inspect(|()| runtime.shutdown_timeout(GRACE))
}

async fn accept(listener: &TcpListener, router: &Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let clients = Clients::default();
    loop {
        // Never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        // Else the connection is closed.
        let Some(share) = clients.place(peer.ip()) else {
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            let (_place, _share) = (place, share);
            // A client that hangs up is nobody's error.
            let _ = timeout(WHOLE, answer(stream, router)).await;
        });
    }
}

async fn answer(stream: TcpStream, router: Router) -> Result<(), hyper::Error> {
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(Patient::new(stream));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(routes::HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(io, TowerToHyperService::new(router))
        .await
}
