//! What is sent back.

use std::sync::Arc;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A page that holds all it needs, and its own policy.
    Page(Arc<str>),
    /// Metrics, as Prometheus reads them.
    Metrics(Arc<str>),
    /// The same as OpenMetrics, for those who would rather have them so.
    OpenMetrics(Arc<str>),
    /// The same in the draft of its version 2.
    OpenMetrics2(Arc<str>),
    /// The same as Prometheus' own messages, each behind its length.
    Protobuf(Arc<[u8]>),
    /// What should be there cannot be had now, and why.
    NotNow(String),
    /// There is nothing.
    Nothing,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What comes before a question mark.
    pub path: &'a str,
    /// Whether metrics are wanted as OpenMetrics rather than in Prometheus' older text.
    pub as_openmetrics: bool,
    /// Whether they are wanted in the draft of OpenMetrics 2.0 rather than in any other form: then it is taken where there is any.
    pub as_openmetrics2: bool,
    /// Whether they are wanted as protobuf rather than in any text: then it is taken where there is any.
    pub as_protobuf: bool,
}

/// What is at each path.
pub type Contents = dyn Fn(&Wanted<'_>) -> Answer + Send + Sync;

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotHttp,
    TooLong,
    TooSlow,
    NoToken,
    OtherName,
    /// Nothing here can be changed.
    NotToRead,
    TooMany,
}

/// An answer as it is sent, without its head.
pub(crate) struct Sent {
    status: &'static str,
    kind: &'static str,
    /// A header of this answer alone, with its end of line.
    own: &'static str,
    pub(crate) body: Arc<[u8]>,
}

const PLAIN: &str = "text/plain; charset=utf-8";
/// The text format of Prometheus, <https://prometheus.io/docs/instrumenting/exposition_formats/>.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// OpenMetrics, <https://prometheus.io/docs/specs/om/open_metrics_spec/>.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Its version 2, a draft as of August 2026: <https://prometheus.io/docs/specs/om/open_metrics_spec_2_0/>.
const OPEN_METRICS_2: &str = "application/openmetrics-text; version=2.0.0; charset=utf-8";
/// Prometheus' messages, <https://prometheus.io/docs/instrumenting/exposition_formats/#protobuf-format>.
const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
/// What a page's own policy cannot say of it: nobody shows it in theirs.
const PAGE_POLICY: &str =
    "Content-Security-Policy: frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n";
const TEXT_POLICY: &str = "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";

impl Sent {
    /// The head, and nothing of the body.
    pub(crate) fn head(&self) -> String {
        let Self { status, kind, own, body } = self;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             {own}\r\n",
            body.len()
        )
    }

    /// That whoever answers is alive.
    pub(crate) fn healthy() -> Self {
        Self::text("200 OK", TEXT_POLICY, "ok")
    }

    const fn of_metrics(kind: &'static str, body: Arc<[u8]>) -> Self {
        Self { status: "200 OK", kind, own: TEXT_POLICY, body }
    }

    fn text(status: &'static str, own: &'static str, text: &str) -> Self {
        Self { status, kind: PLAIN, own, body: format!("{text}\n").into_bytes().into() }
    }
}

impl From<Answer> for Sent {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Page(body) => Self {
                status: "200 OK",
                kind: "text/html; charset=utf-8",
                own: PAGE_POLICY,
                body: body.into(),
            },
            Answer::Metrics(body) => Self::of_metrics(METRICS, body.into()),
            Answer::OpenMetrics(body) => Self::of_metrics(OPEN_METRICS, body.into()),
            Answer::OpenMetrics2(body) => Self::of_metrics(OPEN_METRICS_2, body.into()),
            Answer::Protobuf(body) => Self::of_metrics(PROTOBUF, body),
            Answer::NotNow(why) => Self::text("503 Service Unavailable", TEXT_POLICY, &why),
            Answer::Nothing => Self::text(
                "404 Not Found",
                TEXT_POLICY,
                "There is a page at /, metrics at /metrics, and /health.",
            ),
        }
    }
}

impl From<Refusal> for Sent {
    fn from(refusal: Refusal) -> Self {
        let (status, own, text) = match refusal {
            Refusal::NotHttp => ("400 Bad Request", "", "This is no HTTP request."),
            Refusal::TooLong => {
                ("431 Request Header Fields Too Large", "", "The head of the request is too long.")
            }
            Refusal::TooSlow => ("408 Request Timeout", "", "The request took too long to come."),
            Refusal::NoToken => (
                "401 Unauthorized",
                "WWW-Authenticate: Bearer realm=\"howlate\"\r\n",
                "Send the token: curl --oauth2-bearer \"$(cat TOKEN-FILE)\" URL",
            ),
            Refusal::OtherName => (
                "421 Misdirected Request",
                "",
                "This server does not go by that name: use its address, or give the name to `howlate serve --listen`.",
            ),
            Refusal::NotToRead => {
                ("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "Only GET and HEAD are answered.")
            }
            Refusal::TooMany => {
                ("503 Service Unavailable", "Retry-After: 5\r\n", "Too many are being answered already.")
            }
        };
        Self::text(status, own, text)
    }
}
