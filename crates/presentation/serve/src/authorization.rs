//! Who is answered.

use std::net::SocketAddr;

use crate::allowed_hosts::Names;
use crate::error::ServeError;
use crate::request::Request;
use crate::response::Refusal;
use crate::token::Token;

/// Who is answered.
#[derive(Clone)]
pub enum Admission {
    /// Whoever reaches the port, and was sent here under a name that is ours.
    Everybody(Names),
    /// Who knows the token, whatever name they use: a page from elsewhere does not know it.
    WithToken(Token),
}

impl Admission {
    /// Who is answered at `address`: whoever knows the `token`; without one everybody, who must be of this machine unless it `is_open`.
    ///
    /// # Errors
    ///
    /// When others could read what is served, and nobody said that they may.
    pub fn at(
        address: SocketAddr,
        token: Option<Token>,
        is_open: bool,
        names: Names,
    ) -> Result<Self, ServeError> {
        match token {
            Some(token) => Ok(Self::WithToken(token)),
            None if is_open || address.ip().is_loopback() => Ok(Self::Everybody(names)),
            None => Err(ServeError::Unprotected { address }),
        }
    }

    /// Whether a request is answered.
    pub(crate) fn admits(&self, request: &Request) -> Result<(), Refusal> {
        match self {
            Self::Everybody(names) if names.are_meant_by(&request.host) => Ok(()),
            Self::Everybody(_) => Err(Refusal::OtherName),
            Self::WithToken(token) if request.token.as_ref().is_some_and(|offered| token.is(offered)) => {
                Ok(())
            }
            Self::WithToken(_) => Err(Refusal::NoToken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_reach_takes_a_token_or_is_said_to_be_open() {
        let at = |address: &str, token: Option<&str>, is_open| {
            let token = token.map(|text| Token::new(text).unwrap());
            Admission::at(address.parse().unwrap(), token, is_open, Names::new([]))
        };
        let token = Some("0123456789abcdef");
        for local in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"] {
            assert!(matches!(at(local, None, false), Ok(Admission::Everybody(_))), "{local}");
            assert!(matches!(at(local, token, false), Ok(Admission::WithToken(_))), "{local}");
        }
        for other in ["0.0.0.0:1", "10.0.0.7:1", "[::]:1", "[fe80::1]:1"] {
            assert!(matches!(at(other, None, false), Err(ServeError::Unprotected { .. })), "{other}");
            assert!(matches!(at(other, None, true), Ok(Admission::Everybody(_))), "{other}");
            assert!(matches!(at(other, token, false), Ok(Admission::WithToken(_))), "{other}");
        }
    }
}
