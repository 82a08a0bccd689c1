//! In which form metrics are wanted: `Accept`, <https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1>.

/// A form of metrics, or any other content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    OpenMetrics,
    /// The draft of its version 2.
    OpenMetrics2,
    Protobuf,
    Else,
}

/// What is accepted, each with how much it is wanted.
#[derive(Debug)]
pub(crate) struct Accepts(Vec<(Form, f64)>);

impl Accepts {
    pub(crate) fn read(request: &httparse::Request<'_, '_>) -> Self {
        let accepts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("accept"));
        let text = accepts.map(|header| String::from_utf8_lossy(header.value)).collect::<Vec<_>>().join(",");
        Self::parsed(&text)
    }

    fn parsed(text: &str) -> Self {
        Self(text.split(',').filter_map(accepted).collect())
    }

    fn most(&self, of: impl Fn(Form) -> bool) -> f64 {
        self.0.iter().filter(|(form, _)| of(*form)).map(|(_, quality)| *quality).fold(0.0, f64::max)
    }

    /// Whether a form is accepted, and no less than every other text; protobuf and the draft are not for all, so they stand beside them.
    pub(crate) fn prefer(&self, form: Form) -> bool {
        let wanted = self.most(|one| one == form);
        let others = match form {
            Form::Protobuf | Form::OpenMetrics2 => self.most(|one| one != form),
            _ => self.most(|one| one == Form::Else),
        };
        wanted > 0.0 && wanted >= others
    }
}

/// One part, and how much it is wanted; `None` of a version, or of messages, that are not written.
fn accepted(part: &str) -> Option<(Form, f64)> {
    let mut words = part.split(';').map(str::trim);
    let mut form = match words.next()? {
        "application/openmetrics-text" => Form::OpenMetrics,
        "application/vnd.google.protobuf" => Form::Protobuf,
        _ => Form::Else,
    };
    let mut quality = 1.0;
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        match (name.trim(), value.trim(), form) {
            ("q", value, _) => quality = value.parse().ok()?,
            ("version", "2.0.0", Form::OpenMetrics) => form = Form::OpenMetrics2,
            ("version", value, Form::OpenMetrics) if value != "1.0.0" => return None,
            ("proto", value, Form::Protobuf) if value != "io.prometheus.client.MetricFamily" => return None,
            ("encoding", value, Form::Protobuf) if value != "delimited" => return None,
            _ => {}
        }
    }
    Some((form, quality))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_come_as_they_are_wanted() {
        let wants = |accept: &str| Accepts::parsed(accept).prefer(Form::OpenMetrics);
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
            let accepts = Accepts::parsed(accept);
            (accepts.prefer(Form::OpenMetrics2), accepts.prefer(Form::OpenMetrics))
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
            let accepts = Accepts::parsed(accept);
            (accepts.prefer(Form::Protobuf), accepts.prefer(Form::OpenMetrics))
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
