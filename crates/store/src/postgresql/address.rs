//! Where a database is and how it is reached: the URL, with what libpq's environment and files add to it.
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::password;
use super::tls::Trust;
use crate::{StoreError, without_password};

/// How long a connection may take: an experiment waits for it.
pub(super) const CONNECT: Duration = Duration::from_secs(3);

/// Where Debian and others have the server's socket.
const SOCKETS: &str = "/var/run/postgresql";

/// A database, as it was named.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) trust: Trust,
    /// For people: the URL without its password.
    pub(super) place: String,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Address, StoreError> {
        let place = without_password(url);
        let bad = |why: String| StoreError::BadUrl { place: place.clone(), why };
        let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut others) = ("prefer", None, Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = value,
                Some(("sslrootcert", value)) => roots = Some(value.replace("%2F", "/").replace("%2f", "/")),
                _ => others.push(parameter),
            }
        }
        let (mode, trust) = match mode {
            "disable" => (SslMode::Disable, Trust::Anything),
            "prefer" | "allow" => (SslMode::Prefer, Trust::Anything),
            "require" if roots.is_none() => (SslMode::Require, Trust::Anything),
            "require" | "verify-ca" | "verify-full" => (SslMode::Require, Trust::Roots(roots)),
            other => return Err(bad(format!("sslmode={other} is none of disable, prefer, require, verify-full"))),
        };
        let plain = if others.is_empty() { address.to_owned() } else { format!("{address}?{}", others.join("&")) };
        let mut config: Config = plain.parse().map_err(|error| bad(words(&error)))?;
        config.ssl_mode(mode).application_name("powerband").connect_timeout(CONNECT);
        config.tcp_user_timeout(Duration::from_secs(10)).keepalives_idle(Duration::from_secs(30));
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host_path(SOCKETS);
        }
        if let (None, Ok(user)) = (config.get_user(), std::env::var("PGUSER")) {
            config.user(user);
        }
        if config.get_password().is_none()
            && let Some(password) = std::env::var("PGPASSWORD").ok().or_else(|| password::of(&config))
        {
            config.password(password);
        }
        Ok(Address { config, trust, place })
    }
}

/// An error with what caused it, in one line.
pub(super) fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    powerband_record::system_words(&text)
}
