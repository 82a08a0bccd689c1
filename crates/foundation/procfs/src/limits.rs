//! `/proc/PID/limits`: resource limits.

use std::fmt::Display;

use crate::{Reading, Root, SELF};

/// The resource limits of one process.
#[derive(Clone, Debug)]
pub struct Limits {
    pub reading: Reading,
}

/// No limit: `RLIM_INFINITY` of `getrlimit(2)`.
pub const UNLIMITED: u64 = u64::MAX;

impl Limits {
    /// Limits of this process.
    pub fn read(root: &Root) -> Self {
        Self::of(root, SELF)
    }

    pub fn of(root: &Root, process: impl Display) -> Self {
        Self { reading: root.reading(format!("/proc/{process}/limits")) }
    }

    /// The soft limit of a resource such as `Max locked memory`.
    ///
    /// Source: `proc_pid_limits(5)`; names contain spaces; the numbers follow.
    pub fn soft(&self, name: &str) -> Option<u64> {
        self.column(name, 0)
    }

    /// The hard limit, up to which the soft limit may be raised without privilege.
    pub fn hard(&self, name: &str) -> Option<u64> {
        self.column(name, 1)
    }

    fn column(&self, name: &str, column: usize) -> Option<u64> {
        let rest = self.reading.text()?.lines().find_map(|line| line.strip_prefix(name))?;
        match rest.split_whitespace().nth(column)? {
            "unlimited" => Some(UNLIMITED),
            number => number.parse().ok(),
        }
    }

    /// The line of one resource as evidence.
    pub fn evidence(&self, name: &str) -> Reading {
        self.reading.lines(|line| line.starts_with(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_a_number_or_none() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max locked memory         8388608              unlimited            bytes     \n\
                    Max nice priority         unlimited            0                              ";
        let limits =
            Limits { reading: Reading { path: "/proc/self/limits".into(), content: Ok(text.into()) } };
        assert_eq!(limits.soft("Max locked memory"), Some(8_388_608));
        assert_eq!(limits.soft("Max nice priority"), Some(UNLIMITED));
        assert_eq!(
            (limits.hard("Max locked memory"), limits.hard("Max nice priority")),
            (Some(UNLIMITED), Some(0))
        );
        assert_eq!(limits.soft("Max else"), None);
        assert!(limits.evidence("Max nice priority").text().is_some_and(|line| line.starts_with("Max nice")));
    }
}
