//! Connections of each client: none may have all places.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Connections of one client at a time; all people behind a reverse proxy are one.
const MOST: usize = 500;

/// Clients that are connected, by address.
#[derive(Clone, Default)]
pub struct Clients(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// The place of a connection; given back when it is dropped.
pub struct Place {
    clients: Clients,
    client: IpAddr,
}

impl Clients {
    /// A place for a connection from an address; `None` if its client has as many as it may.
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

/// The address that stands for a client: one of IPv6 has a whole network of 64 bits.
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
