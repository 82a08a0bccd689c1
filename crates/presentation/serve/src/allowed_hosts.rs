//! Host names of this server.
//!
//! A foreign page can point its own name to this address (DNS rebinding), and the browser would let it
//! read the response. Such requests carry the foreign name in `Host`, so only our names are accepted.
//! IP addresses cannot be rebound.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Accepted names; addresses are always accepted.
#[derive(Clone, Debug)]
pub struct HostNames(Vec<String>);

impl HostNames {
    /// `localhost` and `names`.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(std::iter::once("localhost".to_owned()).chain(names).collect())
    }

    /// Whether `host` is accepted. Ports are ignored: `ssh -L` may change them.
    pub(crate) fn accept(&self, host: &str) -> bool {
        is_address(host) || self.0.iter().any(|name| name.eq_ignore_ascii_case(name_in(host)))
    }
}

fn is_address(host: &str) -> bool {
    let bracketed = || host.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    host.parse::<SocketAddr>().is_ok() || host.parse::<IpAddr>().is_ok() || bracketed().is_some()
}

/// The name without port and trailing dot.
fn name_in(host: &str) -> &str {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_our_own_names_are_meant_and_no_others() {
        let names = HostNames::new(["rt7".to_owned()]);
        for ours in [
            "localhost",
            "LOCALHOST:9000",
            "localhost.:80",
            "127.0.0.1:9840",
            "10.0.0.7",
            "[::1]",
            "[::1]:80",
            "rt7:1",
        ] {
            assert!(names.accept(ours), "{ours}");
        }
        for other in [
            "",
            ":80",
            "evil.example:9840",
            "localhost.evil.example",
            "rt7.evil.example",
            "127.0.0.1.evil.example",
            "[x]",
            "xlocalhost",
        ] {
            assert!(!names.accept(other), "{other}");
        }
    }
}
