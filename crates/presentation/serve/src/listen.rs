//! Listening address on the command line.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::error::ServeError;

/// A port that is not allocated to another exporter:
const DEFAULT_PORT: u16 = 9_840;

/// Host name or IP address, and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    host: String,
    port: u16,
}

impl ListenAddress {
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Resolves the host.
    ///
    /// # Errors
    ///
    /// When the name cannot be resolved.
    pub fn address(&self) -> Result<SocketAddr, ServeError> {
        let unknown = |source| ServeError::NoAddress { host: self.host.clone(), source };
        let mut found = (self.host.as_str(), self.port).to_socket_addrs().map_err(unknown)?;
        found.next().ok_or_else(|| unknown(std::io::ErrorKind::NotFound.into()))
    }
}

impl FromStr for ListenAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str =
            "write an address, with or without a port, such as `0.0.0.0:9840`, `[::1]:9840` or `myhost`";
        let at = |host: &str, port| Ok(Self { host: host.to_owned(), port });
        if let Ok(address) = text.parse::<SocketAddr>() {
            return at(&address.ip().to_string(), address.port());
        }
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if bare.parse::<Ipv6Addr>().is_ok() || text.parse::<IpAddr>().is_ok() {
            return at(bare, DEFAULT_PORT);
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| EXPECTED)?),
            None => (text, DEFAULT_PORT),
        };
        // A bare number would be parsed as an address.
        let is_name = host.contains(char::is_alphabetic)
            && host.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter));
        if is_name { at(host, port) } else { Err(EXPECTED) }
    }
}

impl Display for ListenAddress {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_read_with_or_without_a_port() {
        for (text, expected) in [
            ("127.0.0.1", "127.0.0.1:9840"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("::1", "[::1]:9840"),
            ("[::]", "[::]:9840"),
            ("[::]:0", "[::]:0"),
            ("localhost", "localhost:9840"),
            ("rt-7.lab:1234", "rt-7.lab:1234"),
        ] {
            assert_eq!(
                text.parse::<ListenAddress>().map(|address| address.to_string()),
                Ok(expected.to_owned())
            );
        }
        for wrong in ["", ":9840", "9840", "host:", "host:99999", "[::1", "http://host/", "a b", "1.2.3:80"] {
            assert!(wrong.parse::<ListenAddress>().is_err(), "{wrong}");
        }
    }
}
