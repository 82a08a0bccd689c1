//! Why nothing is served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A shorter token can be guessed.
pub(crate) const SHORTEST: usize = 16;
/// A longer one would not fit the head of a request beside the rest.
pub(crate) const LONGEST: usize = 1_024;

/// Why a text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoToken {
    /// It can be guessed, or is not to be sent.
    #[error("a token has {SHORTEST} to {LONGEST} characters; found {found}")]
    Length {
        /// How many it has.
        found: usize,
    },
    /// A header could not carry it.
    #[error("a token is one word of ASCII letters, digits and signs")]
    NotOneWord,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Nobody knows the name.
    #[error("{host} is no address here: {source}")]
    NoAddress {
        /// What was asked for.
        host: String,
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
        /// The file, as named with `--token-file`.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// Every user of this machine knows the token.
    #[error("every user of this machine can read the token in {}", path.display())]
    Known {
        /// The file, as named with `--token-file`.
        path: PathBuf,
    },
    /// Another user knows the token, and can change it.
    #[error("the token in {} is user {uid}'s", path.display())]
    Theirs {
        /// The file, as named with `--token-file`.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// What the file holds is none.
    #[error("there is no token in {}: {reason}", path.display())]
    NoToken {
        /// The file, as named with `--token-file`.
        path: PathBuf,
        /// Why that text cannot be one.
        reason: NoToken,
    },
    /// A pipe is gone once it was read.
    #[error("{} is no file or folder, which could be read each time that it changes", path.display())]
    NotAgain {
        /// What was named.
        path: PathBuf,
    },
    /// A file cannot be looked at.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The recording that was to be shown.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
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
                format!("demand a token: {MAKE_ONE}; or let everybody read it with `--no-auth`")
            }
            Self::Known { path } => {
                format!("make it yours alone: `chmod 600 {}`", howlate_model::shell_path(path))
            }
            Self::Unreadable { .. } | Self::Theirs { .. } | Self::NoToken { .. } => MAKE_ONE.to_owned(),
            Self::NotAgain { .. } => "save the recording with `--out`, and serve that".to_owned(),
            Self::File { .. } => {
                "give the path of a recording made with `--out`, or of a folder that `howlate record` has written".to_owned()
            },
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
