//! Requests to servers, as a tracer sees them at their connections.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MonotonicTime;

/// Data arrived at a connection to a server, a thread took it up, and a thread began to send an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The thread that answers, and the one that read the data.
    pub tid: u32,
    pub reader: u32,
    /// When the data arrived; `None` where that was not seen.
    pub arrived: Option<MonotonicTime>,
    /// When it had been read.
    pub taken: MonotonicTime,
    /// When the answer was begun.
    pub answered: MonotonicTime,
    /// The server's end of the connection.
    pub socket: ServerSocket,
    /// Whether the connection was seen to be accepted; otherwise it may be one that the program made itself.
    pub accepted: bool,
    /// What is known of the number of requests in the data.
    pub number: RequestNumber,
}

/// The server's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerSocket {
    /// TCP, at this local port.
    Port(u16),
    /// A stream socket of the Unix domain.
    Unix,
}

impl fmt::Display for ServerSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => write!(f, "port {port}"),
            Self::Unix => f.write_str("Unix sockets"),
        }
    }
}

/// How many requests an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestNumber {
    /// One, as far as can be seen.
    One,
    /// Unknown: more data had arrived before the answer was begun.
    More,
    /// Unknown: HTTP/2 answers several requests at once.
    Http2,
}

/// Answers that are not counted, as it is unknown to which request they belong, or when that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmittedAnswers {
    /// More data had arrived before the answer was begun: the requests follow each other without waiting, or are long.
    #[serde(default)]
    pub more_data: u64,
    /// On connections of HTTP/2.
    #[serde(default)]
    pub http2: u64,
    /// It was not seen when the data arrived, as with the first request of a connection that was open before.
    #[serde(default)]
    pub arrival_not_seen: u64,
}

impl OmittedAnswers {
    /// Counts an answer, if it is one of these; otherwise returns when its request arrived.
    pub const fn unless_omitted(&mut self, request: &Request) -> Option<MonotonicTime> {
        let count = match (request.number, request.arrived) {
            (RequestNumber::Http2, _) => &mut self.http2,
            (RequestNumber::More, _) => &mut self.more_data,
            (RequestNumber::One, None) => &mut self.arrival_not_seen,
            (RequestNumber::One, Some(arrived)) => return Some(arrived),
        };
        *count = count.saturating_add(1);
        None
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.more_data.saturating_add(self.http2).saturating_add(self.arrival_not_seen)
    }

    /// Adds those of a later stretch of time.
    pub const fn merge(&mut self, later: &Self) {
        self.more_data = self.more_data.saturating_add(later.more_data);
        self.http2 = self.http2.saturating_add(later.http2);
        self.arrival_not_seen = self.arrival_not_seen.saturating_add(later.arrival_not_seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_only_where_its_request_is_known() {
        let at = MonotonicTime::from_nanos(1);
        let request = |number, arrived| Request {
            tid: 7,
            reader: 7,
            arrived,
            taken: at,
            answered: at,
            socket: ServerSocket::Port(80),
            accepted: true,
            number,
        };
        let mut omitted = OmittedAnswers::default();
        assert_eq!(omitted.unless_omitted(&request(RequestNumber::One, Some(at))), Some(at));
        for (number, arrived) in
            [(RequestNumber::Http2, Some(at)), (RequestNumber::More, Some(at)), (RequestNumber::One, None)]
        {
            assert_eq!(omitted.unless_omitted(&request(number, arrived)), None);
        }
        let mut both = omitted;
        both.merge(&omitted);
        assert_eq!(both, OmittedAnswers { more_data: 2, http2: 2, arrival_not_seen: 2 });
        assert_eq!((omitted.total(), both.total()), (3, 6));
    }
}
