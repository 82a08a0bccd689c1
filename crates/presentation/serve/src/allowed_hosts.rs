//! What this server may be called.
//!
//! A page from elsewhere can make its own name stand for this machine's address (DNS rebinding), and a browser would let it read
//! what is answered. Its requests say what name they were sent to, so names that are not ours are not answered. A request that was
//! sent to an address was not sent to a name.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Names that are ours; addresses always are.
#[derive(Clone, Debug)]
pub struct Names(Vec<String>);

impl Names {
    /// `localhost`, and these.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(std::iter::once("localhost".to_owned()).chain(names).collect())
    }

    /// Whether a request with this `Host` was meant for us. The port is not compared: `ssh -L` may have changed it.
    pub(crate) fn are_meant_by(&self, host: &str) -> bool {
        is_address(host) || self.0.iter().any(|name| name.eq_ignore_ascii_case(name_in(host)))
    }
}

fn is_address(host: &str) -> bool {
    let bracketed = || host.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    host.parse::<SocketAddr>().is_ok() || host.parse::<IpAddr>().is_ok() || bracketed().is_some()
}

/// Without the port, and without the dot that a full name may end with.
fn name_in(host: &str) -> &str {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_our_own_names_are_meant_and_no_others() {
        let names = Names::new(["rt7".to_owned()]);
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
            assert!(names.are_meant_by(ours), "{ours}");
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
            assert!(!names.are_meant_by(other), "{other}");
        }
    }
}
