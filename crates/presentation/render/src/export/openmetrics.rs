//! OpenMetrics 1.0: <https://prometheus.io/docs/specs/om/open_metrics_spec/>.
//!
//! Names, labels and values are those of the Prometheus format. Bounds are formatted as Go does, and the end is marked, so that truncated output is detected.

/// Start of the `le` label, the last label of a bucket.
const BOUND: &str = "le=\"";
/// Suffix of a counter's samples.
const TOTAL: &str = "_total";
/// Go formats smaller numbers with an exponent.
const SMALLEST_WITHOUT_EXPONENT: f64 = 1e-4;

/// Converts the output of [`crate::prometheus`] to OpenMetrics.
pub fn openmetrics(prometheus: &str) -> String {
    let mut text = String::with_capacity(prometheus.len() + prometheus.len() / 16);
    for line in prometheus.lines() {
        match (bound(line), counter_comment(line)) {
            (Some((before, bound, after)), _) => text.extend([before, &canonical(bound), after]),
            (_, Some((before, after))) => text.extend([before, after]),
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text + "# EOF\n"
}

/// The parts of a bucket's line before, in and after the bound.
fn bound(line: &str) -> Option<(&str, &str, &str)> {
    let is_bucket = !line.starts_with('#') && line.split('{').next()?.ends_with("_bucket");
    let at = line.rfind(BOUND).filter(|_| is_bucket)? + BOUND.len();
    let length = line.get(at..)?.find('"')?;
    Some((&line[..at], &line[at..at + length], &line[at + length..]))
}

/// The parts of a counter's `HELP` or `TYPE` line around the suffix, which only its samples have in OpenMetrics.
fn counter_comment(line: &str) -> Option<(&str, &str)> {
    let name = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# TYPE "))?.split(' ').next()?;
    let at = "# HELP ".len() + name.strip_suffix(TOTAL)?.len();
    Some((&line[..at], &line[at + TOTAL.len()..]))
}

/// `1` → `1.0`, `0.00001` → `1e-05`; `+Inf` is unchanged.
fn canonical(bound: &str) -> String {
    match bound.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 && value < SMALLEST_WITHOUT_EXPONENT => {
            let text = format!("{value:e}");
            let (digits, exponent) = text.split_once("e-").unwrap_or((&text, "0"));
            format!("{digits}e-{exponent:0>2}")
        }
        Ok(value) if value.is_finite() && !bound.contains('.') => format!("{bound}.0"),
        _ => bound.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_canonical_and_the_end_is_marked() {
        for (bound, expected) in [
            ("0.000001", "1e-06"),
            ("0.0000125", "1.25e-05"),
            ("0.0001", "0.0001"),
            ("0.25", "0.25"),
            ("1", "1.0"),
            ("10", "10.0"),
            ("+Inf", "+Inf"),
        ] {
            assert_eq!(canonical(bound), expected);
        }
        let text = "# HELP a_bucket{le=\"1\"} b\na_bucket{c=\"le=\\\"7\",le=\"1\"} 3\nb{le=\"1\"} 1\n";
        assert_eq!(
            openmetrics(text),
            "# HELP a_bucket{le=\"1\"} b\na_bucket{c=\"le=\\\"7\",le=\"1.0\"} 3\nb{le=\"1\"} 1\n# EOF\n"
        );
    }

    #[test]
    fn a_counter_is_called_what_its_samples_are_but_for_their_ending() {
        let text = "# HELP a_total b_total\n# TYPE a_total counter\na_total{x=\"y\"} 1\n";
        let expected = "# HELP a b_total\n# TYPE a counter\na_total{x=\"y\"} 1\n# EOF\n";
        assert_eq!(openmetrics(text), expected);
    }
}
