//! What JSON of several programs has in common.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::error::ImportError;

/// Counts by the names of their buckets, which are numbers.
pub(crate) type Buckets = BTreeMap<String, u64>;

/// What is said of the machine.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct SystemInfo {
    pub(crate) release: String,
    pub(crate) version: String,
    pub(crate) machine: String,
}

/// What programs of rt-tests say of a run; two of the keys really end in a colon.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct RtTestsRun {
    #[serde(rename = "cmdline:")]
    pub(crate) command_line: String,
    #[serde(rename = "rt_test_version:")]
    pub(crate) version: String,
    pub(crate) start_time: String,
    pub(crate) sysinfo: SystemInfo,
}

/// The object as what `program` writes.
pub(crate) fn read<'a, T: Deserialize<'a>>(
    object: &'a Value,
    program: &'static str,
) -> Result<T, ImportError> {
    T::deserialize(object).map_err(|error| ImportError::Damaged { program, what: error.to_string() })
}

/// Buckets as numbers, ascending.
pub(crate) fn buckets(named: &Buckets, program: &'static str) -> Result<Vec<(u64, u64)>, ImportError> {
    let number = |(name, count): (&String, &u64)| {
        let wrong =
            |_| ImportError::Damaged { program, what: format!("`{name}` is no bucket of its histogram") };
        name.parse().map(|value| (value, *count)).map_err(wrong)
    };
    let mut buckets: Vec<(u64, u64)> = named.iter().map(number).collect::<Result<_, _>>()?;
    buckets.sort_unstable();
    Ok(buckets)
}

/// Threads or CPUs by number: as texts, 10 would come before 2.
pub(crate) fn by_number<'a, T>(
    named: &'a BTreeMap<String, T>,
    program: &'static str,
) -> Result<Vec<(u32, &'a T)>, ImportError> {
    let number = |(name, item): (&String, &'a T)| {
        let wrong =
            |_| ImportError::Damaged { program, what: format!("`{name}` is no number of a thread or CPU") };
        name.parse().map(|number| (number, item)).map_err(wrong)
    };
    let mut numbered: Vec<(u32, &T)> = named.iter().map(number).collect::<Result<_, _>>()?;
    numbered.sort_by_key(|(number, _)| *number);
    Ok(numbered)
}

/// The program whose command line a file of rt-tests has.
pub(crate) fn writer(object: &Value) -> Option<&str> {
    let program = object.get("cmdline:")?.as_str()?.split_whitespace().next()?;
    Some(program.rsplit('/').next().unwrap_or(program))
}
