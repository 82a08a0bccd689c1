//! Access control: a token, or local names.

use std::net::SocketAddr;

use crate::allowed_hosts::HostNames;
use crate::error::ServeError;
use crate::request::Request;
use crate::response::Refusal;
use crate::token::Token;

/// Access control: a token, or local names.
#[derive(Clone)]
pub enum Admission {
    /// Any client whose `Host` is one of ours.
    WithoutToken(HostNames),
    /// Clients with the token, under any host name: a foreign page does not know the token.
    WithToken(Token),
}

impl Admission {
    /// Access rule for `address`: with the `token`; without one all local clients, or all clients if it `is_open`.
    ///
    /// # Errors
    ///
    /// When other machines could read it without `--no-auth`.
    pub fn at(
        address: SocketAddr,
        token: Option<Token>,
        is_open: bool,
        names: HostNames,
    ) -> Result<Self, ServeError> {
        match token {
            Some(token) => Ok(Self::WithToken(token)),
            None if is_open || address.ip().is_loopback() => Ok(Self::WithoutToken(names)),
            None => Err(ServeError::Unprotected { address }),
        }
    }

    pub(crate) fn admits(&self, request: &Request) -> Result<(), Refusal> {
        match self {
            Self::WithoutToken(names) if names.accept(&request.host) => Ok(()),
            Self::WithoutToken(_) => Err(Refusal::WrongHost),
            Self::WithToken(token)
                if request.token.as_ref().is_some_and(|token_sent| token.is(token_sent)) =>
            {
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
            Admission::at(address.parse().unwrap(), token, is_open, HostNames::new([]))
        };
        let token = Some("0123456789abcdef");
        for local in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"] {
            assert!(matches!(at(local, None, false), Ok(Admission::WithoutToken(_))), "{local}");
            assert!(matches!(at(local, token, false), Ok(Admission::WithToken(_))), "{local}");
        }
        for other in ["0.0.0.0:1", "10.0.0.7:1", "[::]:1", "[fe80::1]:1"] {
            assert!(matches!(at(other, None, false), Err(ServeError::Unprotected { .. })), "{other}");
            assert!(matches!(at(other, None, true), Ok(Admission::WithoutToken(_))), "{other}");
            assert!(matches!(at(other, token, false), Ok(Admission::WithToken(_))), "{other}");
        }
    }
}
