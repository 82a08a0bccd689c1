//! CPU lists given with `-a` and `--mainaffinity`.

use howlate_model::CpuSet;

use crate::cyclictest::warning::CyclictestWarning;

/// The CPUs of the machine that options refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuMasks {
    /// Number of configured CPUs.
    pub configured: u32,
    /// Number of online CPUs.
    pub online: u32,
    /// Inherited affinity mask: where threads run by default.
    pub allowed: CpuSet,
    /// CPUs to which the kernel lets this process bind threads.
    pub bindable: CpuSet,
}

/// Whether the argument after `-a` is its value.
pub(crate) fn looks_like_cpus(argument: &str) -> bool {
    argument.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '!' | '+' | 'a'))
}

/// Parses `all`, `0-3,8`, `!0` (all but), `+0-1` (indexes into the inherited mask). As in the original, the inherited mask
/// is no limit. At least one CPU has to be bindable; threads of the other CPUs warn when they cannot be bound.
pub(crate) fn parse_cpus(text: &str, masks: &CpuMasks) -> Result<CpuSet, CyclictestWarning> {
    let CpuMasks { allowed, bindable, .. } = masks;
    let unusable = || CyclictestWarning::NoCpus { list: text.trim().to_owned(), bindable: bindable.clone() };
    let parse_list = |list: &str| list.parse::<CpuSet>().map_err(|_| unusable());
    let text = text.trim();
    let cpus = if text == "all" {
        bindable.clone()
    } else if let Some(excluded) = text.strip_prefix('!') {
        bindable.without(&parse_list(excluded)?)
    } else if let Some(indexes) = text.strip_prefix('+') {
        let indexes = parse_list(indexes)?;
        indexes.iter().filter_map(|index| allowed.iter().nth(index as usize)).collect()
    } else {
        parse_list(text)?
    };
    let exist = cpus.iter().all(|cpu| cpu < masks.configured);
    if exist && cpus.iter().any(|cpu| bindable.contains(cpu)) { Ok(cpus) } else { Err(unusable()) }
}

/// The CPU of a thread, round-robin over `set`; `None` for an empty set.
pub(crate) fn cpu_of(thread: usize, set: &CpuSet) -> Option<u32> {
    set.iter().nth(thread % set.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_contain_usable_cpus() {
        let (allowed, bindable) = ("4-5".parse().unwrap(), "2-5".parse().unwrap());
        let masks = CpuMasks { configured: 8, online: 8, allowed, bindable };
        for (text, set) in [
            ("all", "2-5"),
            ("3,5", "3,5"),
            ("2", "2"),
            ("!2", "3-5"),
            ("+0-1", "4-5"),
            (" 4", "4"),
            // The thread of CPU 1 will warn.
            ("1-3", "1-3"),
        ] {
            assert_eq!(parse_cpus(text, &masks).unwrap().to_string(), set, "{text}");
        }
        for text in ["7", "3,8", "0-1", "abc", "!2-5", "+9", "", "3-"] {
            assert!(parse_cpus(text, &masks).is_err(), "{text}");
        }
    }

    #[test]
    fn cpus_are_assigned_round_robin() {
        let set: CpuSet = "0,3-5".parse().unwrap();
        let cpus: Vec<_> = (0..6).filter_map(|thread| cpu_of(thread, &set)).collect();
        assert_eq!(cpus, [0, 3, 4, 5, 0, 3]);
        assert_eq!(cpu_of(1, &CpuSet::default()), None);
    }
}
