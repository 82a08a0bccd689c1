//! Why nothing is served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::listen::Listen;
use crate::token::NoToken;

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Nobody knows the name.
    #[error("{} is no address here: {source}", listen.host())]
    NoAddress {
        /// What was asked for.
        listen: Listen,
        /// What the resolver says.
        source: io::Error,
    },
    /// The kernel refuses.
    #[error("cannot listen to {address}: {source}")]
    Port {
        /// What was asked for.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// Others could read what is served, and nobody said that they may.
    #[error("whoever can reach {address} could read what is served there")]
    Unprotected {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The token's file cannot be read.
    #[error("cannot read the token in {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// Every user of this machine knows the token.
    #[error("every user of this machine can read the token in {}", path.display())]
    Known {
        /// The file.
        path: PathBuf,
    },
    /// What the file holds is none.
    #[error("there is no token in {}: {reason}", path.display())]
    NoToken {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: NoToken,
    },
    /// A pipe is gone once it was read.
    #[error("{} is no file or folder, which could be read each time that it changes", path.display())]
    NotAgain {
        /// What was named.
        path: PathBuf,
    },
}

/// How a token is made.
const MAKE_ONE: &str = "make one with `(umask 077; openssl rand -hex 32 > howlate.token)`, and give it with `--token-file howlate.token`";

impl ServeError {
    /// What to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoAddress { .. } => {
                "give an address of this machine, such as `--listen 0.0.0.0`".to_owned()
            }
            Self::Port { source, .. } => return port_hint(source).map(str::to_owned),
            Self::Unprotected { .. } => {
                format!("demand a token: {MAKE_ONE}; or let everybody read it with `--open`")
            }
            Self::Known { path } => {
                format!("make it yours alone: `chmod 600 {}`", howlate_model::shell_path(path))
            }
            Self::Unreadable { .. } | Self::NoToken { .. } => MAKE_ONE.to_owned(),
            Self::NotAgain { .. } => "save the recording with `--out`, and serve that".to_owned(),
        })
    }
}

fn port_hint(source: &io::Error) -> Option<&'static str> {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            Some("another program has that port; `--listen 127.0.0.1:0` takes one that is free")
        }
        io::ErrorKind::PermissionDenied => {
            Some("ports below 1024 are root's: choose a higher one, such as `--listen 127.0.0.1:9840`")
        }
        io::ErrorKind::AddrNotAvailable => {
            Some("that is not an address of this machine; `0.0.0.0` stands for all of them")
        }
        _ => None,
    }
}
