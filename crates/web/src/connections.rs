//! Accepts connections, limits their time, and shuts the server down.

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

/// Time limit for receiving the head of a request, and for waiting for the next request.
const HEAD: Duration = Duration::from_secs(15);
/// Time limit of a whole connection. Clients reconnect after it.
const WHOLE: Duration = Duration::from_secs(600);
/// Maximum number of header lines of a request.
const HEADERS: usize = 64;
/// Maximum number of open connections; further ones wait in the kernel's accept queue.
const CONNECTIONS: usize = 1000;
/// Threads that read the store and render.
const THREADS: usize = 16;
/// Stack of each of these threads, in bytes.
const STACK_BYTES: usize = 8 << 20;
/// Pause after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(50);
/// Time limit at shutdown for work under way; its answers are not sent any more.
const GRACE: Duration = Duration::from_secs(2);

/// Handle that stops a server from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Stops the server that was started with this handle.
    pub fn now(&self) {
        self.0.notify_one();
    }
}

/// Answers requests until `stop` is triggered.
///
/// # Errors
/// If the system provides no event queue or timer.
pub fn serve(listener: Listener, served: Served, stop: &Stop) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(THREADS)
        .thread_stack_size(STACK_BYTES)
        .build()?;
    // Dropped after the runtime: a connection to a database cannot be closed within it.
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
        // The semaphore is never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        // A client above its limit: dropping the stream closes the connection.
        let Some(share) = clients.place(peer.ip()) else {
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            let (_place, _share) = (place, share);
            // A disconnecting client is not an error.
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
