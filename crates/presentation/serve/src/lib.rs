//! HTTP server for browsers and Prometheus, with a few fixed paths.
//!
//! Clients may send anything, so everything is bounded: connections, the size of a request, and the time to send one
//! and to read the response. Each connection has one request and one response. Paths are compared with the known ones
//! and never become file names.

mod accept;
mod allowed_hosts;
mod authorization;
mod connection;
mod error;
mod file_cache;
mod listen;
mod request;
mod response;
mod server;
mod token;

pub use allowed_hosts::HostNames;
pub use authorization::Admission;
pub use error::{ServeError, TokenError};
pub use file_cache::FileCache;
pub use listen::ListenAddress;
pub use response::{ContentRequest, ContentSource, ServedContent};
pub use server::Server;
pub use token::Token;
