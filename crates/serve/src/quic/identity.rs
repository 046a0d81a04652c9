//! The server's certificate: the user's, or one generated at the start.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::PublicKeyData;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// TLS's settings, and a secret that follows from the key, for [`Tokens`](crate::quic::tokens::Tokens).
#[derive(Clone)]
pub struct Tls {
    pub config: Arc<ServerConfig>,
    pub secret: [u8; 32],
}

pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// Base64 of the SHA-256 of the public key, which Chromium takes in place of a certificate authority's word.
    pub spki: String,
}

impl Identity {
    /// Generate a key and a self-signed certificate for `names`. Errors: a name that is not valid in a certificate.
    pub fn made(names: &[String]) -> Result<Identity, String> {
        let made = rcgen::generate_simple_self_signed(names).map_err(|error| format!("certificate: {error}"))?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
        let spki = fingerprint(&made.signing_key.subject_public_key_info());
        Ok(Identity { chain: vec![made.cert.der().clone()], key, spki })
    }

    /// Load a certificate chain and a key from PEM files; RSA, ECDSA or Ed25519 keys in PKCS #1, SEC 1 or PKCS #8 form. Errors: one
    /// line.
    pub fn load(certificate: &Path, key: &Path) -> Result<Identity, String> {
        let is_wrong = |file: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| is_wrong(certificate, &error))?;
        if chain.is_empty() {
            return Err(is_wrong(certificate, &"no certificate in PEM form"));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
            Error::NoItemsFound => is_wrong(key, &"no private key in PEM form that is not encrypted"),
            error => is_wrong(key, &error),
        })?;
        let signing = ring::sign::any_supported_type(&private).map_err(|error| is_wrong(key, &error))?;
        let public = signing.public_key().ok_or_else(|| is_wrong(key, &"a key without a public one"))?;
        let spki = fingerprint(&public);
        Ok(Identity { chain, key: private, spki })
    }

    /// TLS 1.3 for HTTP/3. Errors: certificate and key do not belong together.
    pub fn into_tls(self) -> Result<Tls, String> {
        self.into_tls_for(&["h3"])
    }

    /// TLS 1.3 for the protocols of these names, best first (RFC 7301). Errors as of [`into_tls`](Self::into_tls).
    pub fn into_tls_for(self, protocols: &[&str]) -> Result<Tls, String> {
        let secret = Sha256::digest([b"playpath tokens", self.key.secret_der()].concat()).into();
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| error.to_string())?;
        let config = builder.with_no_client_auth().with_single_cert(self.chain, self.key);
        let mut config = config.map_err(|error| format!("certificate and key: {error}"))?;
        // 0-RTT: a ticket is valid for one connection, so early data cannot be replayed (RFC 8446 §8.1; RFC 9001 §4.6.1 for the value).
        config.max_early_data_size = u32::MAX;
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Tls { config: Arc::new(config), secret })
    }
}

fn fingerprint(public_key_info: &[u8]) -> String {
    STANDARD.encode(Sha256::digest(public_key_info))
}
