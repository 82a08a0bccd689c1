//! CPU lists as typed after `-a` and `--mainaffinity`.

use howlate_model::CpuSet;

use crate::cyclictest::warning::Warning;

/// The CPUs of the machine, as options must know them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuMasks {
    /// CPUs that the kernel was set up for.
    pub configured: u32,
    /// CPUs that are online.
    pub online: u32,
    /// CPUs of the mask that this process inherited: where threads run if nothing else is asked for.
    pub allowed: CpuSet,
    /// CPUs that the kernel lets it bind threads to: what can be asked for.
    pub bindable: CpuSet,
}

/// Whether the word after `-a` is its value.
pub(crate) fn looks_like_cpus(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '!' | '+' | 'a'))
}

/// The CPUs that `text` names: `all`, `0-3,8`, `!0` (all but), `+0-1` (counted among those of the inherited mask).
/// As in the original the inherited mask is no limit; CPUs that threads cannot be bound to are one,
/// unless others are named with them: then the threads say which they could not have.
pub(crate) fn cpus(text: &str, masks: &CpuMasks) -> Result<CpuSet, Warning> {
    let CpuMasks { allowed, bindable, .. } = masks;
    let unusable = || Warning::NoCpus { typed: text.trim().to_owned(), bindable: bindable.clone() };
    let list = |list: &str| list.parse::<CpuSet>().map_err(|_| unusable());
    let text = text.trim();
    let named = if text == "all" {
        bindable.clone()
    } else if let Some(but) = text.strip_prefix('!') {
        bindable.without(&list(but)?)
    } else if let Some(counted) = text.strip_prefix('+') {
        let counted = list(counted)?;
        counted.iter().filter_map(|place| allowed.iter().nth(place as usize)).collect()
    } else {
        list(text)?
    };
    let exist = named.iter().all(|cpu| cpu < masks.configured);
    if exist && named.iter().any(|cpu| bindable.contains(cpu)) { Ok(named) } else { Err(unusable()) }
}

/// The CPU of thread `thread`: round-robin over the set.
pub(crate) fn cpu_of(thread: usize, set: &CpuSet) -> Option<u32> {
    set.iter().nth(thread % set.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_cpus_that_may_be_used() {
        let (allowed, bindable) = ("4-5".parse().unwrap(), "2-5".parse().unwrap());
        let masks = CpuMasks { configured: 8, online: 8, allowed, bindable };
        for (text, set) in [
            ("all", "2-5"),
            ("3,5", "3,5"),
            ("2", "2"),
            ("!2", "3-5"),
            ("+0-1", "4-5"),
            (" 4", "4"),
            // The thread on CPU 1 will say that it could not have it.
            ("1-3", "1-3"),
        ] {
            assert_eq!(cpus(text, &masks).unwrap().to_string(), set, "{text}");
        }
        for text in ["7", "3,8", "0-1", "abc", "!2-5", "+9", "", "3-"] {
            assert!(cpus(text, &masks).is_err(), "{text}");
        }
    }

    #[test]
    fn threads_go_round() {
        let set: CpuSet = "0,3-5".parse().unwrap();
        let got: Vec<_> = (0..6).filter_map(|thread| cpu_of(thread, &set)).collect();
        assert_eq!(got, [0, 3, 4, 5, 0, 3]);
        assert_eq!(cpu_of(1, &CpuSet::default()), None);
    }
}
