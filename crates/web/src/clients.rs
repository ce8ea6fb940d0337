//! Limit on the connections of each client, so that no client takes all places.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

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
