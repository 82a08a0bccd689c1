//! `/proc/loadavg`: load averages.

use std::fmt;

use crate::Root;

/// The file as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadAverage {
    text: String,
}

impl LoadAverage {
    /// Empty where the file cannot be read.
    pub fn read(root: &Root) -> Self {
        Self { text: root.read("/proc/loadavg").unwrap_or_default() }
    }

    /// Average over the last minute.
    pub fn last_minute(&self) -> Option<f64> {
        self.text.split(' ').next()?.parse().ok()
    }

    /// The whole line, as the kernel wrote it.
    pub fn line(&self) -> &str {
        &self.text
    }
}

/// The averages over 1, 5 and 15 minutes: `0.10 0.20 0.30`.
impl fmt::Display for LoadAverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text.split(' ').take(3).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_are_averages_and_the_rest_is_not() {
        let load = LoadAverage { text: "2.42 1.57 0.70 3/187 4711".into() };
        assert_eq!(load.to_string(), "2.42 1.57 0.70");
        assert!(load.last_minute().is_some_and(|load| (2.41..2.43).contains(&load)));
        assert_eq!(LoadAverage::default().last_minute(), None);
    }
}
