//! TLS to a database, by rustls.
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Stream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{self, CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Where systems keep the certificates they trust.
const SYSTEM_ROOTS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// Which servers are believed.
#[derive(Clone, Debug)]
pub(super) enum Trust {
    /// Any: what is sent is encrypted, and the one who answers gets it.
    Anything,
    /// Those with a certificate for their name by an authority in this file, or in the system's.
    Roots(Option<String>),
}

/// Makes connections that are encrypted.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// # Errors
    /// A sentence, where the certificates cannot be read.
    pub(super) fn new(trust: &Trust) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match trust {
            Trust::Anything => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))).with_no_client_auth()
            }
            Trust::Roots(file) => builder.with_root_certificates(roots(file.as_deref())?).with_no_client_auth(),
        };
        Ok(Tls(Arc::new(config)))
    }
}

fn roots(file: Option<&str>) -> Result<RootCertStore, String> {
    let file = match file.filter(|&file| file != "system") {
        Some(file) => file,
        None => SYSTEM_ROOTS
            .into_iter()
            .find(|file| std::path::Path::new(file).exists())
            .ok_or("this system has no file of trusted certificates; name one with sslrootcert=FILE")?,
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file)
        .map_err(|error| format!("{file}: {}", powerband_record::system_words(&error)))?;
    roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    if roots.is_empty() { Err(format!("{file} has no certificate")) } else { Ok(roots) }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Secured;
    type TlsConnect = Handshake;
    type Error = Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, Error> {
        // A Unix socket has no name, and needs none as nothing is encrypted on it.
        let name = ServerName::try_from(domain.to_owned()).ok();
        Ok(Handshake { connector: TlsConnector::from(Arc::clone(&self.0)), name })
    }
}

/// What makes one connection encrypted.
pub(super) struct Handshake {
    connector: TlsConnector,
    name: Option<ServerName<'static>>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Secured;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let name = self.name.ok_or_else(|| io::Error::other("TLS needs the name or the address of the server"))?;
            Ok(Secured(self.connector.connect(name, stream).await?))
        })
    }
}

/// An encrypted connection.
pub(super) struct Secured(Stream<Socket>);

impl TlsStream for Secured {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Secured {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Takes any certificate whose key signed the handshake.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
