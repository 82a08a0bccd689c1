//! HTTP responses.

use std::sync::Arc;

/// Content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServedContent {
    /// A self-contained page with its own policy.
    Page(Arc<str>),
    /// Metrics in Prometheus' text format.
    Metrics(Arc<str>),
    OpenMetrics(Arc<str>),
    /// Metrics in the draft of OpenMetrics 2.
    OpenMetrics2(Arc<str>),
    /// Metrics as Prometheus' protobuf messages, each preceded by its length.
    Protobuf(Arc<[u8]>),
    /// Temporarily unavailable, with the reason.
    Unavailable(String),
    NotFound,
}

/// A request for content.
#[derive(Clone, Copy, Debug)]
pub struct ContentRequest<'a> {
    pub path: &'a str,
    /// Whether OpenMetrics is preferred to Prometheus' older text format.
    pub as_openmetrics: bool,
    /// Whether the draft of OpenMetrics 2.0 is preferred to all other formats.
    pub as_openmetrics2: bool,
    /// Whether protobuf is preferred to all text formats.
    pub as_protobuf: bool,
}

/// Returns the content of each path.
pub type ContentSource = dyn Fn(&ContentRequest<'_>) -> ServedContent + Send + Sync;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotHttp,
    TooLong,
    TooSlow,
    NoToken,
    WrongHost,
    /// A method other than GET and HEAD.
    WrongMethod,
    TooMany,
}

/// Status, headers and body.
pub(crate) struct HttpResponse {
    status: &'static str,
    kind: &'static str,
    /// An additional header, with its line end.
    extra_header: &'static str,
    pub(crate) body: Arc<[u8]>,
}

const PLAIN: &str = "text/plain; charset=utf-8";
/// The text format of Prometheus, <https://prometheus.io/docs/instrumenting/exposition_formats/>.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Its version 2, a draft as of August 2026: <https://prometheus.io/docs/specs/om/open_metrics_spec_2_0/>.
const OPEN_METRICS_2: &str = "application/openmetrics-text; version=2.0.0; charset=utf-8";
const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
/// Directives that a page's own `<meta>` policy cannot contain.
const PAGE_POLICY: &str =
    "Content-Security-Policy: frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n";
const TEXT_POLICY: &str = "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";

impl HttpResponse {
    /// Status line and headers.
    pub(crate) fn head(&self) -> String {
        let Self { status, kind, extra_header, body } = self;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             {extra_header}\r\n",
            body.len()
        )
    }

    /// Response of the health check.
    pub(crate) fn healthy() -> Self {
        Self::text("200 OK", TEXT_POLICY, "ok")
    }

    const fn of_metrics(kind: &'static str, body: Arc<[u8]>) -> Self {
        Self { status: "200 OK", kind, extra_header: TEXT_POLICY, body }
    }

    fn text(status: &'static str, extra_header: &'static str, text: &str) -> Self {
        Self { status, kind: PLAIN, extra_header, body: format!("{text}\n").into_bytes().into() }
    }
}

impl From<ServedContent> for HttpResponse {
    fn from(answer: ServedContent) -> Self {
        match answer {
            ServedContent::Page(body) => Self {
                status: "200 OK",
                kind: "text/html; charset=utf-8",
                extra_header: PAGE_POLICY,
                body: body.into(),
            },
            ServedContent::Metrics(body) => Self::of_metrics(METRICS, body.into()),
            ServedContent::OpenMetrics(body) => Self::of_metrics(OPEN_METRICS, body.into()),
            ServedContent::OpenMetrics2(body) => Self::of_metrics(OPEN_METRICS_2, body.into()),
            ServedContent::Protobuf(body) => Self::of_metrics(PROTOBUF, body),
            ServedContent::Unavailable(reason) => Self::text("503 Service Unavailable", TEXT_POLICY, &reason),
            ServedContent::NotFound => Self::text(
                "404 Not Found",
                TEXT_POLICY,
                "There is a page at /, metrics at /metrics, and /health.",
            ),
        }
    }
}

impl From<Refusal> for HttpResponse {
    fn from(refusal: Refusal) -> Self {
        let (status, extra_header, text) = match refusal {
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
            Refusal::WrongHost => (
                "421 Misdirected Request",
                "",
                "This server does not go by that name: use its address, or give the name to `howlate serve --listen`.",
            ),
            Refusal::WrongMethod => {
                ("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "Only GET and HEAD are answered.")
            }
            Refusal::TooMany => {
                ("503 Service Unavailable", "Retry-After: 5\r\n", "Too many are being answered already.")
            }
        };
        Self::text(status, extra_header, text)
    }
}
