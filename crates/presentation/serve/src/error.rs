//! Errors of the server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Minimum characters; shorter tokens can be guessed.
pub(crate) const SHORTEST: usize = 16;
/// Maximum characters, as the request head is limited.
pub(crate) const LONGEST: usize = 1_024;

/// Why a text is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Too short or too long.
    #[error("a token has {SHORTEST} to {LONGEST} characters; found {found}")]
    Length { found: usize },
    /// Not a single word of printable ASCII.
    #[error("a token is one word of ASCII letters, digits and signs")]
    NotOneWord,
}

/// Errors of the server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The name cannot be resolved.
    #[error("{host} is no address here: {source}")]
    NoAddress { host: String, source: io::Error },
    /// `bind` failed.
    #[error("cannot listen to {address}: {source}")]
    Port { address: SocketAddr, source: io::Error },
    /// Other machines could read it without `--no-auth`.
    #[error("whoever can reach {address} could read what is served there")]
    Unprotected { address: SocketAddr },
    /// The token's file cannot be read.
    #[error("cannot read the token in {}: {source}", path.display())]
    Unreadable {
        /// The file, as named with `--token-file`.
        path: PathBuf,
        source: io::Error,
    },
    /// Every user can read the token's file.
    #[error("every user of this machine can read the token in {}", path.display())]
    ReadableByAll {
        /// The file, as named with `--token-file`.
        path: PathBuf,
    },
    /// Another user owns the token's file.
    #[error("the token in {} is user {uid}'s", path.display())]
    ForeignOwner {
        /// The file, as named with `--token-file`.
        path: PathBuf,
        /// Owner of the file.
        uid: u32,
    },
    /// The file contains no valid token.
    #[error("there is no token in {}: {reason}", path.display())]
    NoToken {
        /// The file, as named with `--token-file`.
        path: PathBuf,
        /// What is wrong with it.
        reason: TokenError,
    },
    /// A pipe cannot be read repeatedly.
    #[error("{} is no file or folder, which could be read each time that it changes", path.display())]
    NotAgain {
        /// The path on the command line.
        path: PathBuf,
    },
    /// Metadata of a file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The recording to be shown.
        path: PathBuf,
        source: io::Error,
    },
}

/// Advice on creating a token.
const MAKE_ONE: &str = "make one with `(umask 077; openssl rand -hex 32 > howlate.token)`, and give it with `--token-file howlate.token`";

impl ServeError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoAddress { .. } => {
                "give an address of this machine, such as `--listen 0.0.0.0`".to_owned()
            }
            Self::Port { source, .. } => return port_hint(source).map(str::to_owned),
            Self::Unprotected { .. } => {
                format!("demand a token: {MAKE_ONE}; or let everybody read it with `--no-auth`")
            }
            Self::ReadableByAll { path } => {
                format!("make it yours alone: `chmod 600 {}`", howlate_model::shell_path(path))
            }
            Self::Unreadable { .. } | Self::ForeignOwner { .. } | Self::NoToken { .. } => MAKE_ONE.to_owned(),
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
