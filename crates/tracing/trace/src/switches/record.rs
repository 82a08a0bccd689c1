//! Parses `PERF_RECORD_SWITCH` of `perf_event_open(2)`.

use howlate_model::MonotonicTime;

/// From `<linux/perf_event.h>`.
const LOST: u32 = 2;
const SWITCH: u32 = 14;
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

/// A context switch of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    /// It got a CPU.
    In { at: MonotonicTime, cpu: u32 },
    /// It went to sleep.
    Out { at: MonotonicTime },
    /// It lost its CPU, but remained runnable.
    Preempted { at: MonotonicTime },
    /// Number of records that did not fit into the ring.
    Lost(u64),
}

/// A record has a header of type, flags and size, then the content of its type, then thread, time and CPU. `None`: another type.
pub(super) fn parse(bytes: &[u8]) -> Option<Switch> {
    let (kind, flags) = (number(bytes, 0)?, u16::from_ne_bytes(part(bytes, 4)?));
    match kind {
        LOST => Some(Switch::Lost(u64::from_ne_bytes(part(bytes, 16)?))),
        SWITCH => {
            let at = i64::try_from(u64::from_ne_bytes(part(bytes, 16)?)).ok()?;
            let (at, cpu) = (MonotonicTime::from_nanos(at), number(bytes, 24)?);
            Some(match flags {
                _ if flags & OUT == 0 => Switch::In { at, cpu },
                _ if flags & PREEMPTED == 0 => Switch::Out { at },
                _ => Switch::Preempted { at },
            })
        }
        _ => None,
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    part(bytes, at).map(u32::from_ne_bytes)
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, flags: u16, rest: [u64; 3]) -> Vec<u8> {
        let size = 32_u16.to_ne_bytes();
        let header = kind.to_ne_bytes().into_iter().chain(flags.to_ne_bytes()).chain(size);
        header.chain(rest.iter().flat_map(|word| word.to_ne_bytes())).collect()
    }

    #[test]
    fn switches_are_told_apart() {
        let at = MonotonicTime::from_nanos(5_000);
        let cpu = u64::from_ne_bytes([1, 0, 0, 0, 0, 0, 0, 0]);
        for (flags, expected) in [
            (0, Switch::In { at, cpu: u32::from_ne_bytes([1, 0, 0, 0]) }),
            (OUT, Switch::Out { at }),
            (OUT | PREEMPTED, Switch::Preempted { at }),
        ] {
            assert_eq!(parse(&record(SWITCH, flags, [77, 5_000, cpu])), Some(expected));
        }
        assert_eq!(parse(&record(LOST, 0, [1, 9, 77])), Some(Switch::Lost(9)));
        assert_eq!(parse(&record(3, 0, [1, 9, 77])), None);
        assert_eq!(parse(&record(SWITCH, 0, [1, 9, 77])[..20]), None);
    }
}
