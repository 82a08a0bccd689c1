//! Each late one as a slice on the track of its thread, with its parts below it.

use std::collections::BTreeSet;

use howlate_model::{MonotonicTime, Segment};

use super::late::Late;
use super::{SEQUENCE, TIMESTAMP, WRITER, nanos};
use crate::cause_words::segment_in_words;
use crate::protobuf::Message;

/// Fields of `TracePacket`.
const TRACK_EVENT: u32 = 11;
const FLAGS: u32 = 13;
const TRACK_DESCRIPTOR: u32 = 60;
/// The writer knows of nothing before its first packet.
const BEGINS: u64 = 1;
/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

/// Tracks, then slices.
pub(super) fn packets(late: &[Late<'_>]) -> Vec<Message> {
    let threads: BTreeSet<u32> = late.iter().map(|one| one.thread.tid).collect();
    // Of a thread that was renamed, the last name.
    let last = |tid: &u32| late.iter().rfind(|one| one.thread.tid == *tid);
    let (mut all, mut processes) = (Vec::new(), BTreeSet::new());
    for one in threads.iter().filter_map(last) {
        if processes.insert(one.thread.pid) {
            all.push(process(one));
        }
        all.push(thread(one));
    }
    if let Some(first) = all.first_mut() {
        *first = first.clone().number(FLAGS, BEGINS);
    }
    all.extend(late.iter().flat_map(slices));
    all
}

fn packet(field: u32, message: &Message) -> Message {
    Message::default().message(field, message).number(SEQUENCE, WRITER)
}

/// Thread ids and process ids are numbers of one kind: a process's track is told apart by a bit.
fn process(one: &Late<'_>) -> Message {
    let named = Message::default().number(1, u64::from(one.thread.pid)).text(6, one.thread.process);
    let track = Message::default().number(1, 1 << 32 | u64::from(one.thread.pid)).message(3, &named);
    packet(TRACK_DESCRIPTOR, &track)
}

fn thread(one: &Late<'_>) -> Message {
    let thread = &one.thread;
    let numbers = Message::default().number(1, u64::from(thread.pid)).number(2, u64::from(thread.tid));
    let named = numbers.text(5, thread.name);
    packet(TRACK_DESCRIPTOR, &Message::default().number(1, u64::from(thread.tid)).message(4, &named))
}

fn slices(one: &Late<'_>) -> Vec<Message> {
    let mut all = vec![begin(one, one.from, &one.name)];
    let mut from = one.from;
    for part in one.parts {
        all.push(begin(one, from, &part_name(part)));
        from = from.plus(part.ns);
        all.push(ends(one, from));
    }
    all.push(ends(one, one.until));
    all
}

fn part_name(part: &Segment) -> String {
    let merged = if part.merged { ", in several stretches, whose order is not known" } else { "" };
    format!("{}{merged}", segment_in_words(part))
}

fn begin(one: &Late<'_>, at: MonotonicTime, name: &str) -> Message {
    track_event(one, at, &Message::default().number(9, SLICE_BEGIN).text(22, "howlate").text(23, name))
}

fn ends(one: &Late<'_>, at: MonotonicTime) -> Message {
    track_event(one, at, &Message::default().number(9, SLICE_END))
}

fn track_event(one: &Late<'_>, at: MonotonicTime, event: &Message) -> Message {
    let event = event.clone().number(11, u64::from(one.thread.tid));
    packet(TRACK_EVENT, &event).number(TIMESTAMP, nanos(at))
}
