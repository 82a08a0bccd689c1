//! Slices of late waits on the tracks of their threads, with their parts below; below those the threads that they waited for, each on a
//! track of its own, with arrows to who goes on.

use std::collections::{BTreeMap, BTreeSet};

use howlate_model::{MonotonicTime, PathStep, Segment, WaitedThread, path_steps, waited_threads};

use super::{LateSlice, SEQUENCE, TIMESTAMP, WRITER, nanos};
use crate::cause_words::{segment_in_words, segment_of_waited_thread};
use crate::protobuf::ProtobufMessage;
use crate::untrusted_text::legible;

/// Fields of `TracePacket`.
const TRACK_EVENT: u32 = 11;
const FLAGS: u32 = 13;
const TRACK_DESCRIPTOR: u32 = 60;
/// The first packet starts the writer's state.
const BEGINS: u64 = 1;
/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
/// `TrackEvent.flow_ids`, `terminating_flow_ids`.
const FLOW_FROM: u32 = 47;
const FLOW_TO: u32 = 48;
/// A bit of the ids of process tracks, and of those of threads that were waited for.
const PROCESS: u64 = 1 << 32;
const WAITED: u64 = 1 << 33;

/// Track descriptors, then slices.
pub(super) fn packets(late: &[LateSlice<'_>]) -> Vec<ProtobufMessage> {
    let threads: BTreeSet<u32> = late.iter().map(|slice| slice.thread.tid).collect();
    // The last name of a thread that was renamed.
    let last = |tid: &u32| late.iter().rfind(|slice| slice.thread.tid == *tid);
    let (mut all, mut processes) = (Vec::new(), BTreeSet::new());
    for slice in threads.iter().filter_map(last) {
        if processes.insert(slice.thread.pid) {
            all.push(process(slice));
        }
        all.push(thread(slice));
    }
    if let Some(first) = all.first_mut() {
        *first = first.clone().number(FLAGS, BEGINS);
    }
    let mut waited = WaitedTracks::default();
    all.extend(late.iter().flat_map(|slice| slices(slice, &mut waited)));
    all
}

fn packet(field: u32, message: &ProtobufMessage) -> ProtobufMessage {
    ProtobufMessage::default().message(field, message).number(SEQUENCE, WRITER)
}

fn process(slice: &LateSlice<'_>) -> ProtobufMessage {
    let descriptor =
        ProtobufMessage::default().number(1, u64::from(slice.thread.pid)).text(6, slice.thread.process);
    let track =
        ProtobufMessage::default().number(1, PROCESS | u64::from(slice.thread.pid)).message(3, &descriptor);
    packet(TRACK_DESCRIPTOR, &track)
}

fn thread(slice: &LateSlice<'_>) -> ProtobufMessage {
    let thread = &slice.thread;
    let numbers =
        ProtobufMessage::default().number(1, u64::from(thread.pid)).number(2, u64::from(thread.tid));
    let descriptor = numbers.text(5, thread.name);
    packet(
        TRACK_DESCRIPTOR,
        &ProtobufMessage::default().number(1, u64::from(thread.tid)).message(4, &descriptor),
    )
}

fn slices(slice: &LateSlice<'_>, tracks: &mut WaitedTracks) -> Vec<ProtobufMessage> {
    let track = u64::from(slice.thread.tid);
    let waited = waited_threads(slice.parts);
    let steps = tracks.numbered(path_steps(slice.parts, &waited));
    let mut all = vec![begin(track, slice.from, &slice.name)];
    let mut from = slice.from;
    for (place, part) in slice.parts.iter().enumerate() {
        let arrives = steps.iter().filter(|(_, step)| {
            step.to.is_none() && waited.get(step.from).is_some_and(|from| from.parts.end == place)
        });
        let event = slice_event(&part_name(part));
        let event = arrives.fold(event, |event, (id, _)| event.fixed(FLOW_TO, *id));
        all.push(track_event(track, from, event));
        from = from.plus(part.ns);
        all.push(ends(track, from));
    }
    all.push(ends(track, slice.until));
    for (place, stretch) in waited.iter().enumerate() {
        let (track, descriptor) = tracks.of(slice, stretch.thread);
        all.extend(descriptor);
        let event = slice_event(&stretch_name(stretch));
        all.extend(stretch_slices(track, (stretch, event), slice.parts, arrows(&steps, place)));
    }
    all
}

/// Arrows that leave a stretch, and that arrive at it.
fn arrows(steps: &[(u64, PathStep)], stretch: usize) -> (Vec<u64>, Vec<u64>) {
    let ids = |is: &dyn Fn(&PathStep) -> bool| {
        steps.iter().filter(|(_, step)| is(step)).map(|(id, _)| *id).collect::<Vec<_>>()
    };
    (ids(&|step| step.from == stretch), ids(&|step| step.to == Some(stretch)))
}

fn stretch_name(stretch: &WaitedThread<'_>) -> String {
    stretch.waits_for.map_or_else(|| "waited for".to_owned(), |next| format!("waits for {}", legible(next)))
}

/// A slice of the whole stretch, and of what happened to the thread below it.
fn stretch_slices(
    track: u64,
    (stretch, event): (&WaitedThread<'_>, ProtobufMessage),
    parts: &[Segment],
    (leave, arrive): (Vec<u64>, Vec<u64>),
) -> Vec<ProtobufMessage> {
    let parts = parts.get(stretch.parts.clone()).unwrap_or_default();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Vec::new() };
    let event = leave.into_iter().fold(event, |event, id| event.fixed(FLOW_FROM, id));
    let event = arrive.into_iter().fold(event, |event, id| event.fixed(FLOW_TO, id));
    let mut all = vec![track_event(track, first.from, event)];
    if stretch.waits_for.is_none() {
        for part in parts {
            all.push(begin(track, part.from, &segment_of_waited_thread(part, stretch.thread)));
            all.push(ends(track, part.from.plus(part.ns)));
        }
    }
    all.push(ends(track, last.from.plus(last.ns)));
    all
}

/// Tracks of threads that were waited for, below that of who waited.
#[derive(Debug, Default)]
struct WaitedTracks {
    tracks: BTreeMap<(u32, String), u64>,
    arrows: u64,
}

impl WaitedTracks {
    /// The id of a track, and what describes it where it is new.
    fn of(&mut self, slice: &LateSlice<'_>, thread: &str) -> (u64, Option<ProtobufMessage>) {
        let new = WAITED | self.tracks.len() as u64;
        let key = (slice.thread.tid, thread.to_owned());
        let id = *self.tracks.entry(key).or_insert(new);
        let parent = u64::from(slice.thread.tid);
        let name = format!("{}, waited for by {}", legible(thread), legible(slice.thread.name));
        let track = ProtobufMessage::default().number(1, id).text(2, &name).number(5, parent);
        (id, (id == new).then(|| packet(TRACK_DESCRIPTOR, &track)))
    }

    fn numbered(&mut self, steps: Vec<PathStep>) -> Vec<(u64, PathStep)> {
        let first = self.arrows.saturating_add(1);
        self.arrows = self.arrows.saturating_add(steps.len() as u64);
        (first..).zip(steps).collect()
    }
}

fn part_name(part: &Segment) -> String {
    let merged = if part.merged { ", in several stretches, whose order is not known" } else { "" };
    format!("{}{merged}", segment_in_words(part))
}

fn begin(track: u64, at: MonotonicTime, name: &str) -> ProtobufMessage {
    track_event(track, at, slice_event(name))
}

fn slice_event(name: &str) -> ProtobufMessage {
    ProtobufMessage::default().number(9, SLICE_BEGIN).text(22, "howlate").text(23, name)
}

fn ends(track: u64, at: MonotonicTime) -> ProtobufMessage {
    track_event(track, at, ProtobufMessage::default().number(9, SLICE_END))
}

fn track_event(track: u64, at: MonotonicTime, event: ProtobufMessage) -> ProtobufMessage {
    packet(TRACK_EVENT, &event.number(11, track)).number(TIMESTAMP, nanos(at))
}
