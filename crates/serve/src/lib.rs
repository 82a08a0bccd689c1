//! Answers browsers and Prometheus: a few paths over HTTP, and nothing else.
//!
//! Whoever can reach the port may send anything. So everything is bounded: connections, the head of a request, and the time that
//! a client may take to send one and to read the answer. A connection is answered once and closed. What is asked for is compared
//! with the paths that there are, and never becomes the name of a file.

mod admission;
mod answer;
mod connection;
mod error;
mod fresh;
mod listen;
mod names;
mod request;
mod server;
mod token;

pub use admission::Admission;
pub use answer::{Answer, Contents, Wanted};
pub use error::{NoToken, ServeError};
pub use fresh::Fresh;
pub use listen::Listen;
pub use names::Names;
pub use server::Server;
pub use token::Token;
