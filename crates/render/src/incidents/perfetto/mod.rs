//! What was late, and what all CPUs did around it, for Perfetto: the scheduler's events as Linux's ftrace has them, and a slice
//! for each wait on the track of the thread that waited.
//!
//! Source: `protos/perfetto/trace/` of Perfetto: `trace_packet.proto`, `ftrace/*.proto`, `track_event/*.proto`.

mod lanes;
mod sched;
mod slices;

use howlate_model::{CpuTimeline, Incident, MonotonicTime};
use jiff::Timestamp;

use super::Incidents;
use crate::protobuf::Message;

/// `Trace.packet`.
const PACKET: u32 = 1;
/// Fields of `TracePacket`.
const CLOCK_SNAPSHOT: u32 = 6;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
/// All events and tracks are of one writer.
const WRITER: u64 = 1;

impl Incidents {
    /// A trace: the incidents, and these timelines of their moments, which may overlap.
    pub fn perfetto(&self, timelines: Vec<Vec<CpuTimeline>>) -> Vec<u8> {
        let incidents = &self.kept.incidents;
        let clock = incidents.first().and_then(clocks);
        let sched = sched::packets(&lanes::spells(timelines), incidents);
        let packets = clock.into_iter().chain(sched).chain(slices::packets(incidents));
        Message::default().messages(PACKET, packets).into_bytes()
    }
}

/// A reading of the recording's clock; times are never before the machine's start.
fn nanos(at: MonotonicTime) -> u64 {
    at.as_nanos().max(0).unsigned_abs()
}

/// What the time of day was: the trace's own clock is the recording's.
fn clocks(one: &Incident) -> Option<Message> {
    const REALTIME: u64 = 1;
    const MONOTONIC: u64 = 3;
    const TRACE: u64 = 6;
    let day = one.at.parse::<Timestamp>().ok().and_then(|at| u64::try_from(at.as_nanosecond()).ok())?;
    let reading = |clock: u64, at: u64| Message::default().number(1, clock).number(2, at);
    let at = nanos(one.at_ns);
    let all = [reading(TRACE, at), reading(MONOTONIC, at), reading(REALTIME, day)];
    let snapshot = Message::default().messages(1, all);
    Some(Message::default().message(CLOCK_SNAPSHOT, &snapshot).number(TIMESTAMP, at).number(SEQUENCE, WRITER))
}

#[cfg(test)]
mod tests;
