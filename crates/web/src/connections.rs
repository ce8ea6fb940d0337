//! Accepts connections, limits their time, and shuts the server down.

use crate::access::Served;
use crate::routes;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::HashMap;
use std::io;
use std::io::{ErrorKind, IoSlice};
use std::net::{IpAddr, Ipv6Addr, TcpListener as Listener};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Sleep, sleep, timeout};

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
                    return Poll::Ready(());
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

/// Maximum number of connections of one client; all users behind a reverse proxy count as one.
const MOST: usize = 500;

/// Number of open connections by client address.
#[derive(Clone, Default)]
pub struct Clients(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// Place of one connection; dropping it returns the place.
pub struct Place {
    clients: Clients,
    client: IpAddr,
}

impl Clients {
    /// Takes a place for a connection from an address; `None` if its client has reached the limit.
    pub fn place(&self, address: IpAddr) -> Option<Place> {
        let client = client(address);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = all.entry(client).or_default();
        if *connections >= MOST {
            return None;
        }
        *connections += 1;
        Some(Place {
            clients: self.clone(),
            client,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self
            .clients
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(connections) = all.get_mut(&self.client) else {
            return;
        };
        *connections = connections.saturating_sub(1);
        if *connections == 0 {
            all.remove(&self.client);
        }
    }
}

/// Returns the address that stands for a client: an IPv6 client owns a whole /64 network.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() >> 64 << 64).into(),
        four => four,
    }
}

/// Time limit for a client that does not read.
const LIMIT: Duration = Duration::from_secs(30);

/// TCP stream whose writes fail when the client reads nothing for [`LIMIT`].
pub struct Patient {
    stream: TcpStream,
    /// Timer of a blocked write.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    /// Wraps a connection.
    pub const fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            waiting: None,
        }
    }

    /// Fails a write that has been blocked for [`LIMIT`].
    fn limited<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let timer = self.waiting.get_or_insert_with(|| Box::pin(sleep(LIMIT)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limited(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.limited(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_only_its_share_of_places() {
        let clients = Clients::default();
        let of = |text: &str| clients.place(text.parse().unwrap());
        let mut places: Vec<_> = (0..MOST).map(|_| of("2001:db8::1").unwrap()).collect();
        assert!(of("2001:db8::2").is_none());
        assert!(of("2001:db8:0:1::1").is_some());
        assert!(of("192.0.2.1").is_some());
        places.pop();
        assert!(of("2001:db8::2").is_some());
        drop(places);
        assert!(clients.0.lock().unwrap().is_empty());
    }
}
