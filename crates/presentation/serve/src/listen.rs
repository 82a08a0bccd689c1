//! Where clients come to, as it is typed.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::error::ServeError;

/// Where no other exporter of metrics is by default:
/// <https://github.com/prometheus/prometheus/wiki/Default-port-allocations>.
const USUAL_PORT: u16 = 9_840;

/// A machine's address or name, and a port of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    host: String,
    port: u16,
}

impl Listen {
    /// The address or the name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address that it stands for.
    ///
    /// # Errors
    ///
    /// When it is a name that nobody knows.
    pub fn address(&self) -> Result<SocketAddr, ServeError> {
        let unknown = |source| ServeError::NoAddress { host: self.host.clone(), source };
        let mut found = (self.host.as_str(), self.port).to_socket_addrs().map_err(unknown)?;
        found.next().ok_or_else(|| unknown(std::io::ErrorKind::NotFound.into()))
    }
}

impl FromStr for Listen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str =
            "write an address, with or without a port, such as `0.0.0.0:9840`, `[::1]:9840` or `myhost`";
        let at = |host: &str, port| Ok(Self { host: host.to_owned(), port });
        if let Ok(address) = text.parse::<SocketAddr>() {
            return at(&address.ip().to_string(), address.port());
        }
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if bare.parse::<Ipv6Addr>().is_ok() || text.parse::<IpAddr>().is_ok() {
            return at(bare, USUAL_PORT);
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| WANTED)?),
            None => (text, USUAL_PORT),
        };
        // A bare number would be taken for an address.
        let is_name = host.contains(char::is_alphabetic)
            && host.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter));
        if is_name { at(host, port) } else { Err(WANTED) }
    }
}

impl Display for Listen {
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
        for (typed, meant) in [
            ("127.0.0.1", "127.0.0.1:9840"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("::1", "[::1]:9840"),
            ("[::]", "[::]:9840"),
            ("[::]:0", "[::]:0"),
            ("localhost", "localhost:9840"),
            ("rt-7.lab:1234", "rt-7.lab:1234"),
        ] {
            assert_eq!(typed.parse::<Listen>().map(|one| one.to_string()), Ok(meant.to_owned()));
        }
        for wrong in ["", ":9840", "9840", "host:", "host:99999", "[::1", "http://host/", "a b", "1.2.3:80"] {
            assert!(wrong.parse::<Listen>().is_err(), "{wrong}");
        }
    }
}
