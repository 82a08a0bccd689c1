//! Parses the records of event loop iterations, laid out in `bpf/record.h`, and configures the system calls in which event loops wait.

use aya::Ebpf;
use aya::maps::Array;
use howlate_linux::wait_syscall_table::{call_name, wait_calls};
use howlate_model::{Iteration, LoopWait, Span, TracerRefusal};

use crate::fields::FieldReader;
use crate::loading::{damaged, refusal};

/// Programs that are attached only if event loops are followed.
pub(super) const LOOPS: [&str; 3] = ["call_begins", "call_ends", "overran"];

/// Length of a record with no frame and with all frames; no other record has a length in between.
const LENGTHS: std::ops::RangeInclusive<usize> = 64..=288;

/// System calls that fit into the settings, and 64-bit words of each.
const CALLS: usize = 8;
const WORDS: usize = 3;

const KINDS: [LoopWait; 4] = [LoopWait::Epoll, LoopWait::Poll, LoopWait::Select, LoopWait::IoUring];

/// Stands for no system call.
const NONE: u32 = u32::MAX;

/// `None`: another kind of record.
pub(super) fn parse(bytes: &[u8]) -> Option<Iteration> {
    if !LENGTHS.contains(&bytes.len()) {
        return None;
    }
    let mut fields = FieldReader(bytes);
    let (from, until) = (fields.time()?, fields.time()?);
    let (blocked, ready, longest) = (fields.span()?, fields.span()?, fields.span()?);
    let (longest_in, tid, kind) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (file, frames, _) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let stack = (0..frames).map(|_| fields.u64()).collect::<Option<Vec<_>>>()?;
    let wait = *KINDS.get(kind as usize)?;
    let call = Some(longest_in).filter(|call| *call != NONE).and_then(call_name).map(str::to_owned);
    Some(Iteration {
        tid,
        wait,
        file: (wait == LoopWait::Epoll).then_some(file),
        from,
        until,
        blocked,
        ready,
        quota: Span::ZERO,
        longest_sleep: (!longest.is_zero()).then_some((longest, call)),
        stack,
    })
}

/// Sets the system calls in which event loops wait, and from which length on iterations are long.
pub(super) fn configure(kernel: &mut Ebpf, above: Span) -> Result<(), TracerRefusal> {
    let settings = kernel.map_mut(".data.loops").ok_or_else(|| damaged(".data.loops"))?;
    let mut settings: Array<_, [u64; 1 + CALLS * WORDS]> =
        Array::try_from(settings).map_err(|error| refusal("map its settings", &error))?;
    settings.set(0, settings_words(above), 0).map_err(|error| refusal("take its settings", &error))
}

/// `loops` of `bpf/wakeups/state.h`. Unused entries repeat the first call.
fn settings_words(above: Span) -> [u64; 1 + CALLS * WORDS] {
    let mut words = [0; 1 + CALLS * WORDS];
    words[0] = above.as_nanos();
    let calls = wait_calls();
    let all = calls.iter().chain(std::iter::repeat_n(&calls[0], CALLS)).take(CALLS);
    for (entry, call) in words[1..].chunks_exact_mut(WORDS).zip(all) {
        let kind = KINDS.iter().position(|kind| *kind == call.wait).unwrap_or_default();
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        entry[0] = pair(call.number, u32::try_from(kind).unwrap_or_default());
        (entry[1], entry[2]) = (pair(call.rank, call.argument), call.mask);
    }
    words
}

#[cfg(test)]
mod tests {
    use howlate_model::MonotonicTime;

    use super::*;
    use crate::layout::BtfTypes;

    fn record(times: [u64; 5], numbers: [u32; 6], frames: &[u64]) -> Vec<u8> {
        let layouts = BtfTypes::of("wakeups");
        let mut record = layouts.record("iteration");
        let fields = ["from", "until", "blocked", "ready", "longest"];
        fields.iter().zip(times).for_each(|(field, time)| record.set(field, time));
        let fields = ["longest_in", "tid", "kind", "on", "frames", "looked"];
        fields.iter().zip(numbers).for_each(|(field, number)| record.set(field, number));
        for (number, frame) in frames.iter().enumerate() {
            record.set(&format!("frame[{number}]"), *frame);
        }
        record.up_to(&format!("frame[{}]", frames.len()))
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let calls = wait_calls();
        let epoll = calls.iter().find(|call| call.wait == LoopWait::Epoll).unwrap();
        let iteration =
            parse(&record([100, 150, 30, 2, 25], [epoll.number, 7, 0, 5, 2, 1], &[0x10, 0x20])).unwrap();
        assert_eq!(
            (iteration.tid, iteration.wait, iteration.file, iteration.stack.as_slice()),
            (7, LoopWait::Epoll, Some(5), &[16, 32][..])
        );
        assert_eq!(
            (iteration.from, iteration.length()),
            (MonotonicTime::from_nanos(100), Span::from_nanos(50))
        );
        assert_eq!(iteration.spent().running, Span::from_nanos(18));
        assert!(iteration.longest_sleep.unwrap().1.unwrap().starts_with("epoll"));
        let iteration = parse(&record([100, 150, 0, 0, 0], [NONE, 7, 1, 5, 0, 0], &[])).unwrap();
        assert_eq!((iteration.wait, iteration.file, iteration.longest_sleep), (LoopWait::Poll, None, None));
    }

    #[test]
    fn what_is_cut_short_is_no_record() {
        let bytes = record([100, 150, 0, 0, 0], [NONE, 7, 1, 5, 2, 1], &[1]);
        assert_eq!((parse(&bytes), parse(&bytes[..56]), parse(&[0; 304])), (None, None, None));
    }

    #[test]
    fn no_place_for_a_call_is_empty() {
        assert!(wait_calls().len() <= CALLS);
        assert!(
            settings_words(Span::from_millis(10))[1..]
                .chunks_exact(WORDS)
                .all(|call| call[0] & 0xffff_ffff != 0 && call[1] != 0)
        );
    }
}
