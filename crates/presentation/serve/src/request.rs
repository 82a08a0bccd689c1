//! Parsing of requests.

use crate::accept::{Accepts, MetricsFormat};
use crate::response::Refusal;

/// Maximum bytes of the head.
pub(crate) const LONGEST: usize = 8 * 1_024;
/// Maximum headers, more than any browser sends.
const MOST_HEADERS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Other,
}

/// A request; its body is never read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// `Host` header.
    pub(crate) host: String,
    pub(crate) token: Option<Vec<u8>>,
    /// Whether OpenMetrics is preferred to other text.
    pub(crate) as_openmetrics: bool,
    /// Whether the draft of version 2 is preferred to all others.
    pub(crate) as_openmetrics2: bool,
    /// Whether protobuf is preferred to all text.
    pub(crate) as_protobuf: bool,
}

impl Request {
    /// Parses a head; `None` if it is incomplete.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Self>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => Self::from_head(&request).map(Some),
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST => Ok(None),
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => Err(Refusal::TooLong),
            Err(_) => Err(Refusal::NotHttp),
        }
    }

    fn from_head(request: &httparse::Request<'_, '_>) -> Result<Self, Refusal> {
        let target = request.path.filter(|target| target.starts_with('/')).ok_or(Refusal::NotHttp)?;
        // HTTP/1.0 does not require it, but browsers and Prometheus send it.
        let host = only(request, "host")?.ok_or(Refusal::NotHttp)?;
        let accepts = Accepts::read(request);
        Ok(Self {
            method: match request.method {
                Some("GET") => Method::Get,
                Some("HEAD") => Method::Head,
                _ => Method::Other,
            },
            path: target.split('?').next().unwrap_or(target).to_owned(),
            host: String::from_utf8_lossy(host).into_owned(),
            token: only(request, "authorization")?.and_then(bearer).map(<[u8]>::to_vec),
            as_openmetrics: accepts.prefer(MetricsFormat::OpenMetrics),
            as_openmetrics2: accepts.prefer(MetricsFormat::OpenMetrics2),
            as_protobuf: accepts.prefer(MetricsFormat::Protobuf),
        })
    }
}

/// Value of a header that must not be repeated.
fn only<'a>(request: &httparse::Request<'_, 'a>, name: &str) -> Result<Option<&'a [u8]>, Refusal> {
    let mut values = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    let first = values.next().map(|header| header.value);
    if values.next().is_some() { Err(Refusal::NotHttp) } else { Ok(first) }
}

/// `Bearer TOKEN`: <https://www.rfc-editor.org/rfc/rfc6750#section-2.1>.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Request>, Refusal> {
        Request::read(text.as_bytes())
    }

    #[test]
    fn a_request_is_read_once_it_is_whole() {
        let text = "GET /metrics?x=1 HTTP/1.1\r\nhost: localhost:9840\r\nAuthorization: bearer  abc \r\n\r\n";
        let expected = Request {
            method: Method::Get,
            path: "/metrics".to_owned(),
            host: "localhost:9840".to_owned(),
            token: Some(b"abc".to_vec()),
            as_openmetrics: false,
            as_openmetrics2: false,
            as_protobuf: false,
        };
        assert_eq!(read(text), Ok(Some(expected)));
        for end in 0..text.len() {
            assert_eq!(read(&text[..end]), Ok(None), "{end}");
        }
        let method = |text: &str| read(text).unwrap().unwrap().method;
        assert_eq!(method("HEAD / HTTP/1.0\r\nHost: x\r\n\r\n"), Method::Head);
        assert_eq!(method("POST / HTTP/1.1\r\nHost: x\r\n\r\n"), Method::Other);
        assert_eq!(method("get / HTTP/1.1\r\nHost: x\r\n\r\n"), Method::Other);
    }

    #[test]
    fn what_is_no_request_or_too_much_is_refused() {
        for wrong in [
            "\x16\x03\x01\x02\x00",
            "GET\r\n\r\n",
            "GET /\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
            "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            assert_eq!(read(wrong), Err(Refusal::NotHttp), "{wrong:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(MOST_HEADERS + 1));
        assert_eq!(read(&many), Err(Refusal::TooLong));
        let long = format!("GET /{}", "x".repeat(LONGEST));
        assert_eq!(read(&long[..LONGEST]), Err(Refusal::TooLong));
    }

    #[test]
    fn only_a_bearer_offers_a_token() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        for other in ["Basic YWJj", "abc", "Bearer", ""] {
            assert_eq!(bearer(other.as_bytes()), None, "{other}");
        }
    }
}
