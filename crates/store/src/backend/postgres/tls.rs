//! Encryption, with the meaning that PostgreSQL's clients give to `sslmode`
//! (<https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-PROTECTION>).

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Value of `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// `disable`.
    Off,
    /// `prefer`: encrypted if the server offers it; does not detect an impostor.
    IfOffered,
    /// `require`: encrypted; the server's certificate is not checked.
    Always,
    /// `verify-ca`: encrypted, and the certificate is signed by a trusted authority.
    Signed,
    /// `verify-full`: like `verify-ca`, and the certificate is valid for the host name.
    Named,
}

impl Protection {
    /// Parses a value; the default is `prefer`. `require` with its own root certificates checks
    /// them.
    pub fn parse(text: Option<&str>, has_roots: bool) -> Result<Self, String> {
        Ok(match text {
            None | Some("prefer" | "allow") => Self::IfOffered,
            Some("disable") => Self::Off,
            Some("require") if has_roots => Self::Signed,
            Some("require") => Self::Always,
            Some("verify-ca") => Self::Signed,
            Some("verify-full") => Self::Named,
            Some(other) => {
                return Err(format!(
                    "sslmode is '{other}', not disable, prefer, require, verify-ca or verify-full"
                ));
            }
        })
    }
}

/// Returns a TLS connector for the mode.
pub fn connector(mode: Protection, roots: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    let checker = match mode {
        Protection::Signed | Protection::Named => Some(Checker::new(roots, Arc::clone(&provider))?),
        Protection::Off | Protection::IfOffered | Protection::Always => None,
    };
    let verifier = Verifier {
        checker,
        checks_name: mode == Protection::Named,
        provider: Arc::clone(&provider),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Trusted certificates and the verifier that uses them.
#[derive(Debug)]
struct Checker {
    verifier: Arc<WebPkiServerVerifier>,
    /// Certificates from a file. The server's own certificate may be one of them.
    named: Vec<CertificateDer<'static>>,
}

impl Checker {
    /// Loads the certificates of a file, or the system's.
    fn new(roots: Option<&Path>, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let mut named = Vec::new();
        let mut store = RootCertStore::empty();
        match roots {
            Some(path) if path != Path::new("system") => {
                let wrong = |error: &dyn std::fmt::Display| {
                    format!("cannot read certificates of {}: {error}", path.display())
                };
                let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))?;
                for certificate in all {
                    let certificate = certificate.map_err(|error| wrong(&error))?;
                    named.push(certificate.clone());
                    store.add(certificate).map_err(|error| wrong(&error))?;
                }
            }
            _ => {
                let system = rustls_native_certs::load_native_certs();
                store.add_parsable_certificates(system.certs);
            }
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider);
        let verifier = verifier.build().map_err(|error| {
            format!("no certificates to check it with ({error}): name a file with sslrootcert")
        })?;
        Ok(Self { verifier, named })
    }
}

/// Certificate verifier: checks what the mode requires, and always the signatures of the handshake.
#[derive(Debug)]
struct Verifier {
    checker: Option<Checker>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(checker) = &self.checker else {
            return Ok(ServerCertVerified::assertion());
        };
        if checker.named.iter().any(|named| named == end) {
            // A self-signed certificate is often marked as an authority, which the verifier refuses
            // as a server's.
            if self.checks_name {
                verify_server_name(&ParsedCertificate::try_from(end)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        let verifier = &checker.verifier;
        match verifier.verify_server_cert(end, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
