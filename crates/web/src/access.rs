//! Access to a server: the bearer token of scripts, the host names under which it answers, and its
//! state ([`Served`]: its store, its access rules, and the code of its program).

use crate::pool::{Open, Pool};
use crate::reply::{AnswerRoom, tag_of};
use assay_model::figures::Import;
use assay_model::run::Run;
use assay_report::html::{Site, style_sheet};
use assay_report::sweep::Verdicts;
use assay_store::{Owner, Store};
use maud::Markup;
use sha2::{Digest, Sha256};
use std::io;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Minimum length of a token, in characters: 64 bits in hexadecimal digits.
const SHORTEST: usize = 16;

/// Bearer token of scripts. Stores only the SHA-256 digest of the secret.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// Reads a token from the contents of a file. Returns `None` if it is shorter than 16
    /// characters or contains characters other than printable ASCII.
    pub fn of(contents: &str) -> Option<Self> {
        let secret = contents.trim();
        let is_word = secret.bytes().all(|byte| byte.is_ascii_graphic());
        (is_word && secret.len() >= SHORTEST).then(|| Self(digest(secret)))
    }

    /// Returns true if an `Authorization` header carries the token. Compares all bytes of the
    /// digests, so that the time does not depend on the secret.
    pub fn is_in(&self, header: Option<&str>) -> bool {
        let given = header.and_then(|header| header.split_once(' '));
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let given = digest(given.map_or("", |(_, secret)| secret.trim()));
        let pairs = self.0.iter().zip(given);
        pairs.fold(0, |differing, (own, other)| differing | (own ^ other)) == 0
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Host names under which the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// Any name: every client that reaches the address may read.
    Any,
    /// These names, in lower case, without a port.
    These(Vec<String>),
}

impl Names {
    /// Returns the allowed names. A server on a loopback address allows only loopback names and the
    /// `further` ones: a page of another site could otherwise point its own name here and read the
    /// results (DNS rebinding).
    pub fn of(address: SocketAddr, further: &[String]) -> Self {
        let loopback = is_loopback(address.ip());
        if !loopback && further.is_empty() {
            return Self::Any;
        }
        let own = [
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "::1".to_owned(),
            address.ip().to_string(),
        ];
        let further = further.iter();
        let further = further.map(|name| bare(name).unwrap_or(name).to_ascii_lowercase());
        Self::These(own.into_iter().chain(further).collect())
    }

    /// Returns true if the server answers under this name; `None` stands for a request without a
    /// name.
    pub fn allow(&self, host: Option<&str>) -> bool {
        match (self, host.map(bare)) {
            (Self::Any, None | Some(Some(_))) => true,
            (Self::These(names), Some(Some(host))) => names.contains(&host.to_ascii_lowercase()),
            (Self::These(_), None) | (_, Some(None)) => false,
        }
    }
}

/// Returns true for loopback addresses, which only this machine reaches.
pub fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// Returns a host without its port, and an IPv6 address without brackets; `None` if the text is not
/// a host (<https://www.rfc-editor.org/rfc/rfc9110#section-7.2>).
fn bare(host: &str) -> Option<&str> {
    let (name, port, is_host) = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            (address, port, address.parse::<Ipv6Addr>().is_ok())
        }
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            (name, port, !name.is_empty() && name.bytes().all(is_plain))
        }
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let is_port = port.is_empty()
        || port.len() > digits.len() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_host && is_port).then_some(name)
}

/// Functions that the serving program provides: comparisons, and the state of local processes.
pub trait Program: Send + Sync {
    /// Compares sources of the store, each a name or an id, optionally with a condition after an
    /// `@`. Returns the rendered page.
    ///
    /// # Errors
    /// The reason why there is no verdict: a source is not in the store, or the sides cannot be
    /// compared.
    fn compare(&self, store: &Store, sides: [&[String]; 2], site: &Site) -> Result<Markup, String>;

    /// Returns the verdicts on the conditions of an import.
    fn verdicts(&self, import: &Import) -> Option<Verdicts>;

    /// Writes the workbook of a run.
    ///
    /// # Errors
    /// If `out` cannot be written.
    fn workbook(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;

    /// Returns true if the process that makes a run is alive.
    fn is_alive(&self, owner: &Owner) -> bool;
}

/// Parts from which a server is made.
pub struct ServedParts {
    /// Opens the store.
    pub open: Box<Open>,
    /// Display name of the store, without a password.
    pub source: String,
    /// Address on which the server listens.
    pub address: SocketAddr,
    /// Additional host names under which the server answers.
    pub names: Vec<String>,
    /// Token of scripts; `None` lets every client read the data.
    pub token: Option<Token>,
    /// Functions of the serving program.
    pub program: Box<dyn Program>,
}

/// State shared by all requests.
pub struct Served {
    /// Connections to the store.
    pub(crate) pool: Arc<Pool>,
    /// Display name of the store, without a password.
    pub(crate) source: String,
    /// Host names under which the server answers.
    pub(crate) names: Names,
    /// Token of scripts.
    pub(crate) token: Option<Token>,
    /// Functions of the serving program.
    pub(crate) program: Box<dyn Program>,
    /// Memory for answers being sent.
    pub(crate) room: AnswerRoom,
    /// Numbers of answers.
    pub(crate) counts: Counts,
    /// The style sheet, and its tag without quotes.
    pub(crate) style: (String, String),
    /// Identifies this build of the program: another build may render the same data differently.
    pub(crate) build: String,
}

impl Served {
    /// Returns a server that has not answered any request yet.
    pub fn new(parts: ServedParts) -> Self {
        let style = style_sheet();
        let tag = tag_of([style.as_bytes()]).replace('"', "");
        Self {
            pool: Pool::new(parts.open),
            source: parts.source,
            names: Names::of(parts.address, &parts.names),
            token: parts.token,
            program: parts.program,
            room: AnswerRoom::default(),
            counts: Counts::default(),
            style: (style, tag),
            build: this_build(),
        }
    }
}

/// Returns the size and the modification time of the executable, which change with every build.
fn this_build() -> String {
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let told = program.and_then(|file| Ok(format!("{} {:?}", file.len(), file.modified()?)));
    told.unwrap_or_default()
}

/// Number of answers by class of status, from 1xx to 5xx.
#[derive(Debug, Default)]
pub struct Counts([AtomicU64; 5]);

impl Counts {
    /// Counts an answer.
    pub fn add(&self, status: u16) {
        let class = usize::from(status / 100).wrapping_sub(1);
        if let Some(count) = self.0.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of answers of each class, from 1xx to 5xx.
    pub fn by_class(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|count| count.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_long_word_and_fits_itself_alone() {
        let token = Token::of(" 0123456789abcdef\n").unwrap();
        assert!(token.is_in(Some("Bearer 0123456789abcdef")));
        assert!(token.is_in(Some("bearer  0123456789abcdef")));
        for wrong in [
            None,
            Some(""),
            Some("0123456789abcdef"),
            Some("Basic 0123456789abcdef"),
            Some("Bearer 0123456789abcdeF"),
            Some("Bearer 0123456789abcdef0"),
        ] {
            assert!(!token.is_in(wrong), "{wrong:?}");
        }
        assert!(Token::of("short").is_none());
        assert!(Token::of("0123456789 abcdef").is_none());
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_taken() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let local = Names::of(address("127.0.0.1:8080"), &[]);
        for host in ["localhost:8080", "127.0.0.1", "[::1]:8080", "LOCALHOST"] {
            assert!(local.allow(Some(host)), "{host}");
        }
        let others = ["evil.example", "localhost.evil.example:8080", "", "[::2]"];
        let odd = [
            "[localhost]",
            "[::1]evil.example",
            "[::1",
            "localhost:80:80",
            "localhost:evil",
        ];
        let odder = [
            "localhost:80@evil",
            "localhost:+80",
            "localhost ",
            "::1",
            "[::1]8080",
        ];
        for host in others.into_iter().chain(odd).chain(odder) {
            assert!(!local.allow(Some(host)), "{host}");
        }
        assert!(!local.allow(None));
        let behind = Names::of(address("[::1]:80"), &["Results.example:443".to_owned()]);
        assert!(behind.allow(Some("results.example")));
        let any = Names::of(address("192.0.2.1:80"), &[]);
        assert_eq!(any, Names::Any);
        assert!(any.allow(None) && any.allow(Some("results.example:")) && !any.allow(Some("a b")));
        let mapped = Names::of(address("[::ffff:127.0.0.1]:80"), &[]);
        assert!(!mapped.allow(Some("evil.example")));
    }
}
