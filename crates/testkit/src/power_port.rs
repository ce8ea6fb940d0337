//! Power port that is switched over HTTP, like a socket of a rack PDU.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// Serves a power port until the process ends and returns its address. A request of
/// `ADDRESS/0` runs `switch off`, `ADDRESS/1` runs `switch on`.
///
/// # Errors
/// Without a port to listen on.
pub fn serve(switch: &Path) -> io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = format!("http://{}/power", listener.local_addr()?);
    let switch = switch.to_owned();
    std::thread::spawn(move || {
        // A client that disconnects early is ignored.
        for client in listener.incoming().flatten() {
            let _ = answer(&switch, client);
        }
    });
    Ok(address)
}

fn answer(switch: &PathBuf, mut client: TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(client.try_clone()?).lines();
    let asked = lines.next().transpose()?.unwrap_or_default();
    let path = asked.split(' ').nth(1).unwrap_or_default();
    // Read all headers: closing a connection with unread data resets it.
    while lines
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    let word = if path.ends_with("/0") { "off" } else { "on" };
    let status = crate::command(switch).arg(word).status()?;
    let code = if status.success() {
        "200 OK"
    } else {
        "500 Failed"
    };
    write!(
        client,
        "HTTP/1.1 {code}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}
