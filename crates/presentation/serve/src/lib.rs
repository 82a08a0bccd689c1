//! Answers browsers and Prometheus: a few paths over HTTP, and nothing else.
//!
//! Whoever can reach the port may send anything. So everything is bounded: connections, the head of a request, and the time that
//! a client may take to send one and to read the answer. A connection is answered once and closed. What is asked for is compared
//! with the paths that there are, and never becomes the name of a file.

mod accept;
mod allowed_hosts;
mod authorization;
mod connection;
mod error;
mod fresh;
mod listen;
mod request;
mod response;
mod server;
mod token;

pub use allowed_hosts::Names;
pub use authorization::Admission;
pub use error::{NoToken, ServeError};
pub use fresh::Fresh;
pub use listen::Listen;
pub use response::{Answer, Contents, Wanted};
pub use server::Server;
pub use token::Token;
