//! What was late, and what all CPUs did around it, for Perfetto: the scheduler's events as Linux's ftrace has them, and a slice
//! for each late one on the track of its thread.
//!
//! Source: `protos/perfetto/trace/` of Perfetto: `trace_packet.proto`, `ftrace/*.proto`, `track_event/*.proto`.

mod lanes;
mod late;
mod sched;
mod slices;

use howlate_model::{CpuTimeline, MonotonicTime};
use jiff::Timestamp;

pub(crate) use self::late::{Late, LateThread, Wait};
use crate::protobuf::Message;

/// `Trace.packet`.
pub(crate) const PACKET: u32 = 1;
/// Fields of `TracePacket`.
const CLOCK_SNAPSHOT: u32 = 6;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
/// All events and tracks are of one writer.
const WRITER: u64 = 1;

/// A trace of what was late, in the order of time, and of these timelines, which may overlap. `day` says what the time of day was
/// at one moment, RFC 3339.
pub(crate) fn trace(
    late: &[Late<'_>],
    timelines: Vec<Vec<CpuTimeline>>,
    day: Option<(MonotonicTime, &str)>,
) -> Vec<u8> {
    let clock = day.and_then(|(at, day)| clocks(at, day));
    let sched = sched::packets(&lanes::spells(timelines), late);
    let packets = clock.into_iter().chain(sched).chain(slices::packets(late));
    Message::default().messages(PACKET, packets).into_bytes()
}

/// A reading of the recording's clock; times are never before the machine's start.
fn nanos(at: MonotonicTime) -> u64 {
    at.as_nanos().max(0).unsigned_abs()
}

/// What the time of day was: the trace's own clock is the recording's.
fn clocks(at: MonotonicTime, day: &str) -> Option<Message> {
    const REALTIME: u64 = 1;
    const MONOTONIC: u64 = 3;
    const TRACE: u64 = 6;
    let day = day.parse::<Timestamp>().ok().and_then(|at| u64::try_from(at.as_nanosecond()).ok())?;
    let reading = |clock: u64, at: u64| Message::default().number(1, clock).number(2, at);
    let at = nanos(at);
    let all = [reading(TRACE, at), reading(MONOTONIC, at), reading(REALTIME, day)];
    let snapshot = Message::default().messages(1, all);
    Some(Message::default().message(CLOCK_SNAPSHOT, &snapshot).number(TIMESTAMP, at).number(SEQUENCE, WRITER))
}
