//! Negotiation of the metrics format: `Accept`, <https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1>.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsFormat {
    OpenMetrics,
    /// The draft of version 2.
    OpenMetrics2,
    Protobuf,
    Other,
}

/// Accepted media types with their quality values.
#[derive(Debug)]
pub(crate) struct Accepts(Vec<(MetricsFormat, f64)>);

impl Accepts {
    pub(crate) fn read(request: &httparse::Request<'_, '_>) -> Self {
        let accepts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("accept"));
        let text = accepts.map(|header| String::from_utf8_lossy(header.value)).collect::<Vec<_>>().join(",");
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        Self(text.split(',').filter_map(parse_media_type).collect())
    }

    fn max_quality(&self, matches: impl Fn(MetricsFormat) -> bool) -> f64 {
        self.0.iter().filter(|(format, _)| matches(*format)).map(|(_, quality)| *quality).fold(0.0, f64::max)
    }

    /// Whether a format is accepted with at least the quality of plain text; protobuf and the draft, which only some
    /// clients read, must be at least equal to all others.
    pub(crate) fn prefer(&self, format: MetricsFormat) -> bool {
        let quality = self.max_quality(|other| other == format);
        let other_quality = match format {
            MetricsFormat::Protobuf | MetricsFormat::OpenMetrics2 => {
                self.max_quality(|other| other != format)
            }
            _ => self.max_quality(|other| other == MetricsFormat::Other),
        };
        quality > 0.0 && quality >= other_quality
    }
}

/// One media type with its quality; `None` for unsupported versions and messages.
fn parse_media_type(part: &str) -> Option<(MetricsFormat, f64)> {
    let mut parameters = part.split(';').map(str::trim);
    let mut format = match parameters.next()? {
        "application/openmetrics-text" => MetricsFormat::OpenMetrics,
        "application/vnd.google.protobuf" => MetricsFormat::Protobuf,
        _ => MetricsFormat::Other,
    };
    let mut quality = 1.0;
    for (name, value) in parameters.filter_map(|word| word.split_once('=')) {
        match (name.trim(), value.trim(), format) {
            ("q", value, _) => quality = value.parse().ok()?,
            ("version", "2.0.0", MetricsFormat::OpenMetrics) => format = MetricsFormat::OpenMetrics2,
            ("version", value, MetricsFormat::OpenMetrics) if value != "1.0.0" => return None,
            ("proto", value, MetricsFormat::Protobuf) if value != "io.prometheus.client.MetricFamily" => {
                return None;
            }
            ("encoding", value, MetricsFormat::Protobuf) if value != "delimited" => return None,
            _ => {}
        }
    }
    Some((format, quality))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_come_as_they_are_wanted() {
        let wants = |accept: &str| Accepts::parse(accept).prefer(MetricsFormat::OpenMetrics);
        // Prometheus 2.49 to 3.
        assert!(wants(
            "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
        ));
        assert!(wants("application/openmetrics-text"));
        assert!(wants("text/plain;q=0.5, application/openmetrics-text; version=1.0.0; charset=utf-8"));
        for other in [
            "",
            "*/*",
            "text/plain;version=0.0.4",
            "application/openmetrics-text;version=0.0.1,text/plain;q=0.2",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=0.1,text/plain;q=0.9",
            "application/openmetrics-text;q=much",
        ] {
            assert!(!wants(other), "{other:?}");
        }
    }

    #[test]
    fn the_draft_of_version_2_comes_only_where_it_is_wanted_most() {
        let wants = |accept: &str| {
            let accepts = Accepts::parse(accept);
            (accepts.prefer(MetricsFormat::OpenMetrics2), accepts.prefer(MetricsFormat::OpenMetrics))
        };
        let both = "application/openmetrics-text;version=2.0.0;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5";
        assert_eq!(wants(both), (true, true));
        assert_eq!(wants(&both.replace("q=0.6", "q=0.4")), (false, true));
        assert_eq!(wants("application/openmetrics-text; version=2.0.0; charset=utf-8"), (true, false));
        assert_eq!(wants("application/openmetrics-text"), (false, true));
    }

    #[test]
    fn protobuf_comes_only_where_it_is_wanted_most() {
        let wants = |accept: &str| {
            let accepts = Accepts::parse(accept);
            (accepts.prefer(MetricsFormat::Protobuf), accepts.prefer(MetricsFormat::OpenMetrics))
        };
        // Prometheus with native histograms: 2.40 to 3. What has no protobuf is then asked for as OpenMetrics.
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
             application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.3";
        assert_eq!(wants(native), (true, true));
        assert_eq!(wants(&native.replace("q=0.6", "q=0.1")), (false, true));
        assert_eq!(wants(&native.replace("delimited", "text")), (false, true));
        assert_eq!(wants(&native.replace("MetricFamily", "Other")), (false, true));
        assert_eq!(wants("*/*"), (false, false));
    }
}
