//! What the kernel's side sends of one iteration of an event loop, as `bpf/record.h` lays it out; and what it is told of the
//! calls in which such loops wait.

use aya::Ebpf;
use aya::maps::Array;
use howlate_linux::wait_syscall_table::{call_name, wait_calls};
use howlate_model::{Iteration, LoopWait, Span, TracerRefusal};

use crate::fields::Fields;
use crate::loading::{damaged, refusal};

/// Programs that are attached only for event loops.
pub(super) const LOOPS: [&str; 3] = ["call_begins", "call_ends", "overran"];

/// A record of an iteration without frames has this length, one with all of them that; no other has one in between.
const LENGTHS: std::ops::RangeInclusive<usize> = 64..=288;

/// Calls that the kernel's side has room for, and the 64-bit words of each.
const CALLS: usize = 8;
const WORDS: usize = 3;

const KINDS: [LoopWait; 4] = [LoopWait::Epoll, LoopWait::Poll, LoopWait::Select, LoopWait::IoUring];

/// The number of no call.
const NONE: u32 = u32::MAX;

/// Reads one record; `None` if it is not one.
pub(super) fn parse(bytes: &[u8]) -> Option<Iteration> {
    if !LENGTHS.contains(&bytes.len()) {
        return None;
    }
    let mut fields = Fields(bytes);
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

/// Tells the kernel's side which calls event loops wait in here, and which iterations are long.
pub(super) fn tell(kernel: &mut Ebpf, above: Span) -> Result<(), TracerRefusal> {
    let settings = kernel.map_mut(".data.loops").ok_or_else(|| damaged(".data.loops"))?;
    let mut settings: Array<_, [u64; 1 + CALLS * WORDS]> =
        Array::try_from(settings).map_err(|error| refusal("map its settings", &error))?;
    settings.set(0, words(above), 0).map_err(|error| refusal("take its settings", &error))
}

/// `loops` of `bpf/wakeups/state.h`. What is left over says what the first call says.
fn words(above: Span) -> [u64; 1 + CALLS * WORDS] {
    let mut words = [0; 1 + CALLS * WORDS];
    words[0] = above.as_nanos();
    let calls = wait_calls();
    let all = calls.iter().chain(std::iter::repeat_n(&calls[0], CALLS)).take(CALLS);
    for (place, call) in words[1..].chunks_exact_mut(WORDS).zip(all) {
        let kind = KINDS.iter().position(|kind| *kind == call.wait).unwrap_or_default();
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        place[0] = pair(call.number, u32::try_from(kind).unwrap_or_default());
        (place[1], place[2]) = (pair(call.rank, call.argument), call.mask);
    }
    words
}

#[cfg(test)]
mod tests {
    use howlate_model::MonotonicTime;

    use super::*;
    use crate::layout::Layouts;

    fn record(times: [u64; 5], numbers: [u32; 6], frames: &[u64]) -> Vec<u8> {
        let layouts = Layouts::of("wakeups");
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
        let one =
            parse(&record([100, 150, 30, 2, 25], [epoll.number, 7, 0, 5, 2, 1], &[0x10, 0x20])).unwrap();
        assert_eq!(
            (one.tid, one.wait, one.file, one.stack.as_slice()),
            (7, LoopWait::Epoll, Some(5), &[16, 32][..])
        );
        assert_eq!((one.from, one.length()), (MonotonicTime::from_nanos(100), Span::from_nanos(50)));
        assert_eq!(one.spent().running, Span::from_nanos(18));
        assert!(one.longest_sleep.unwrap().1.unwrap().starts_with("epoll"));
        let one = parse(&record([100, 150, 0, 0, 0], [NONE, 7, 1, 5, 0, 0], &[])).unwrap();
        assert_eq!((one.wait, one.file, one.longest_sleep), (LoopWait::Poll, None, None));
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
            words(Span::from_millis(10))[1..]
                .chunks_exact(WORDS)
                .all(|call| call[0] & 0xffff_ffff != 0 && call[1] != 0)
        );
    }
}
