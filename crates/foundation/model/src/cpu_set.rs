//! Sets of CPUs, as the kernel writes them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of CPU numbers; written as the kernel writes them, `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct CpuSet(BTreeSet<u32>);

/// More CPUs than any Linux supports; a larger number is a typing error.
const MOST_CPUS: u32 = 8192;

impl CpuSet {
    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// The CPU numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPUs of this set that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// The lowest CPU of this set that `allowed` does not hold.
    pub fn first_outside(&self, allowed: &Self) -> Option<u32> {
        self.0.difference(&allowed.0).next().copied()
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let texts: Vec<String> = ranges
            .iter()
            .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
            .collect();
        f.pad(&texts.join(","))
    }
}

/// Why a text is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a list of CPUs; write numbers and ranges, such as `0-1,3`")]
pub struct CpuSetError {
    /// What was typed.
    pub found: String,
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    /// Reads `0-3,8`. An empty text is the empty set, as in the kernel's files.
    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        let wrong = || CpuSetError { found: text.trim().to_owned() };
        let number =
            |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu < MOST_CPUS).ok_or_else(wrong);
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;
    fn try_from(text: String) -> Result<Self, CpuSetError> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_and_written() {
        for (text, cpus) in
            [("", vec![]), ("0", vec![0]), ("0-2,5", vec![0, 1, 2, 5]), ("3,1-2", vec![1, 2, 3])]
        {
            let set: CpuSet = text.parse().unwrap();
            assert_eq!(set.iter().collect::<Vec<_>>(), cpus);
        }
        for wrong in ["a", "1-", "2-1", "0,,1", "99999", "-1"] {
            assert!(wrong.parse::<CpuSet>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_set_survives_its_text(cpus in proptest::collection::btree_set(0..200u32, 0..40)) {
            let set = CpuSet::from_iter(cpus);
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }
    }
}
