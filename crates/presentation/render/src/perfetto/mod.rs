//! Perfetto traces of late threads and of all CPUs around them: the scheduler's events in ftrace's format, and a slice per late
//! wait on the track of its thread.
//!
//! Source: `protos/perfetto/trace/` of Perfetto: `trace_packet.proto`, `ftrace/*.proto`, `track_event/*.proto`.

mod lanes;
mod sched;
mod slices;

use howlate_model::{CpuTimeline, MonotonicTime, Segment};
use jiff::Timestamp;

use crate::protobuf::ProtobufMessage;

/// `Trace.packet`.
pub(crate) const PACKET: u32 = 1;
/// Fields of `TracePacket`.
const CLOCK_SNAPSHOT: u32 = 6;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
/// All packets are from one writer.
const WRITER: u64 = 1;

/// A trace of late waits, in order of time, and of timelines, which may overlap. `day`: the time of day at one moment, in RFC 3339.
pub(crate) fn trace(
    late: &[LateSlice<'_>],
    timelines: Vec<Vec<CpuTimeline>>,
    day: Option<(MonotonicTime, &str)>,
) -> Vec<u8> {
    let clock = day.and_then(|(at, day)| clocks(at, day));
    let sched = sched::packets(&lanes::merged_times(timelines), late);
    let packets = clock.into_iter().chain(sched).chain(slices::packets(late));
    ProtobufMessage::default().messages(PACKET, packets).into_bytes()
}

/// Nanoseconds of the monotonic clock.
fn nanos(at: MonotonicTime) -> u64 {
    at.as_nanos().max(0).unsigned_abs()
}

/// Snapshot that relates the trace's clock to the time of day.
fn clocks(at: MonotonicTime, day: &str) -> Option<ProtobufMessage> {
    const REALTIME: u64 = 1;
    const MONOTONIC: u64 = 3;
    const TRACE: u64 = 6;
    let day = day.parse::<Timestamp>().ok().and_then(|at| u64::try_from(at.as_nanosecond()).ok())?;
    let reading = |clock: u64, at: u64| ProtobufMessage::default().number(1, clock).number(2, at);
    let at = nanos(at);
    let all = [reading(TRACE, at), reading(MONOTONIC, at), reading(REALTIME, day)];
    let snapshot = ProtobufMessage::default().messages(1, all);
    Some(
        ProtobufMessage::default()
            .message(CLOCK_SNAPSHOT, &snapshot)
            .number(TIMESTAMP, at)
            .number(SEQUENCE, WRITER),
    )
}

/// The thread that was late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceThread<'a> {
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    pub(crate) name: &'a str,
    pub(crate) process: &'a str,
}

/// From when a thread could run until it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuWait {
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    /// The thread was preempted; otherwise it was woken.
    pub(crate) preempted: bool,
}

/// A slice on the track of its thread, with its parts below it.
#[derive(Debug)]
pub(crate) struct LateSlice<'a> {
    pub(crate) thread: TraceThread<'a>,
    /// Title of the slice.
    pub(crate) name: String,
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    /// Consecutive parts, from the start.
    pub(crate) parts: &'a [Segment],
    /// The wait for a CPU in it, if any.
    pub(crate) wait: Option<CpuWait>,
}
