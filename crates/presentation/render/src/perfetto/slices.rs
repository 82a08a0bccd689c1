//! Slices of late waits on the tracks of their threads, with their parts below.

use std::collections::BTreeSet;

use howlate_model::{MonotonicTime, Segment};

use super::{LateSlice, SEQUENCE, TIMESTAMP, WRITER, nanos};
use crate::cause_words::segment_in_words;
use crate::protobuf::ProtobufMessage;

/// Fields of `TracePacket`.
const TRACK_EVENT: u32 = 11;
const FLAGS: u32 = 13;
const TRACK_DESCRIPTOR: u32 = 60;
/// The first packet starts the writer's state.
const BEGINS: u64 = 1;
/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

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
    all.extend(late.iter().flat_map(slices));
    all
}

fn packet(field: u32, message: &ProtobufMessage) -> ProtobufMessage {
    ProtobufMessage::default().message(field, message).number(SEQUENCE, WRITER)
}

/// A bit distinguishes the ids of process tracks from those of thread tracks.
fn process(slice: &LateSlice<'_>) -> ProtobufMessage {
    let descriptor =
        ProtobufMessage::default().number(1, u64::from(slice.thread.pid)).text(6, slice.thread.process);
    let track =
        ProtobufMessage::default().number(1, 1 << 32 | u64::from(slice.thread.pid)).message(3, &descriptor);
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

fn slices(slice: &LateSlice<'_>) -> Vec<ProtobufMessage> {
    let mut all = vec![begin(slice, slice.from, &slice.name)];
    let mut from = slice.from;
    for part in slice.parts {
        all.push(begin(slice, from, &part_name(part)));
        from = from.plus(part.ns);
        all.push(ends(slice, from));
    }
    all.push(ends(slice, slice.until));
    all
}

fn part_name(part: &Segment) -> String {
    let merged = if part.merged { ", in several stretches, whose order is not known" } else { "" };
    format!("{}{merged}", segment_in_words(part))
}

fn begin(slice: &LateSlice<'_>, at: MonotonicTime, name: &str) -> ProtobufMessage {
    track_event(
        slice,
        at,
        &ProtobufMessage::default().number(9, SLICE_BEGIN).text(22, "howlate").text(23, name),
    )
}

fn ends(slice: &LateSlice<'_>, at: MonotonicTime) -> ProtobufMessage {
    track_event(slice, at, &ProtobufMessage::default().number(9, SLICE_END))
}

fn track_event(slice: &LateSlice<'_>, at: MonotonicTime, event: &ProtobufMessage) -> ProtobufMessage {
    let event = event.clone().number(11, u64::from(slice.thread.tid));
    packet(TRACK_EVENT, &event).number(TIMESTAMP, nanos(at))
}
