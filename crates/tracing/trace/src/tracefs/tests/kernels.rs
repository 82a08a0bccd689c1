//! The events of distribution kernels, which `cargo xtask capture-kernel` extracts from their packages: `testdata/kernels/`.

use std::path::{Path, PathBuf};

use howlate_model::{TracerGap, TracerRefusal};

use super::super::THREAD_EVENTS;
use super::super::available_events::{EVENTS, HRTIMER_PASSED, HRTIMER_REARM, ReadableEvents};
use super::*;
use crate::missing_events::{EventNeed, MissingEvent};

/// The kernel whose description is modified in tests.
const KERNEL: &str = "7.3.4+deb13-amd64";

fn kernels() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/kernels");
    let folders = std::fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.is_dir()).collect()
}

/// Formats of a kernel's events, by name.
fn formats_in(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("name: ").skip(1).map(|format| (format.lines().next().unwrap(), format))
}

fn formats_of_one() -> String {
    let folder = kernels().into_iter().find(|folder| folder.ends_with(KERNEL)).unwrap();
    std::fs::read_to_string(folder.join("formats")).unwrap()
}

/// Events that no kernel for aarch64 has: its timer interrupt is one of `irq_handler_entry`.
const X86_EVENTS: [&str; 3] = ["local_timer_entry", "local_timer_exit", "page_fault_user"];

/// What is wrong in a kernel's description of the events in use.
fn errors_in(formats: &str, is_x86: bool) -> Vec<String> {
    let read = |(_, event, _): &(&str, &str, EventNeed)| {
        let Some((_, text)) = formats_in(formats).find(|(name, _)| name == event) else {
            // Linux 7.0 and before set every timer, and arm the device in its interrupt.
            let is_optional = [HRTIMER_PASSED, HRTIMER_REARM].contains(event);
            let is_elsewhere = !is_x86 && X86_EVENTS.contains(event);
            return (!is_optional && !is_elsewhere).then(|| format!("there is no event {event}"));
        };
        let format = EventFormat::parse(text).unwrap();
        let mut fields = THREAD_EVENTS.iter().filter(|(name, ..)| name == event).map(|(_, field, _)| field);
        let read = EventParser::default().add(event, &format);
        let filtered = fields.try_for_each(|field| format.number(field).map(drop));
        read.and(filtered).err().map(|reason| format!("event {event}: {reason}"))
    };
    EVENTS.iter().filter_map(read).collect()
}

#[test]
fn every_field_of_every_event_is_there_in_every_kernel() {
    let (mut all, mut counted) = (Vec::new(), 0);
    for folder in kernels() {
        let formats = std::fs::read_to_string(folder.join("formats")).unwrap();
        let kernel = folder.file_name().unwrap().to_string_lossy();
        let errors = errors_in(&formats, kernel.ends_with("-amd64"));
        all.extend(errors.into_iter().map(|kind| format!("{kernel}: {kind}")));
        counted += 1;
    }
    assert!(all.is_empty(), "{all:#?}");
    assert_eq!(counted, 16);
}

#[test]
fn errors_name_event_and_field() {
    let formats = formats_of_one();
    let check = |from: &str, to: &str, expected: &[&str]| {
        assert!(formats.contains(from));
        assert_eq!(errors_in(&formats.replace(from, to), true), expected);
    };
    check("char next_comm[16]", "char comm[16]", &["event sched_switch: its field next_comm is not there"]);
    let state = "long int prev_state;\toffset:32;\tsize:";
    let wide = format!("{state}16;");
    check(&format!("{state}8;"), &wide, &["event sched_switch: its field prev_state has 16 bytes"]);
    check("dest_cpu", "cpu", &["event sched_migrate_task: its field dest_cpu is not there"]);
    check("name: softirq_raise\n", "name: softirq_risen\n", &["there is no event softirq_raise"]);
}

/// Events that the tracer reads on a kernel with these descriptions.
fn read(formats: &str) -> Result<ReadableEvents, TracerRefusal> {
    ReadableEvents::all(|file| {
        let event = file.rsplit('/').nth(1).unwrap();
        formats_in(formats).find(|(name, _)| *name == event).map_or("", |(_, text)| text).to_owned()
    })
}

#[test]
fn a_missing_event_costs_only_its_part() {
    let formats = formats_of_one();
    let all = read(&formats).unwrap();
    assert_eq!((all.events.len(), all.missing_events.all()), (EVENTS.len(), &[][..]));
    // A missing event, and one that cannot be read.
    let doctored =
        formats.replace("name: softirq_raise\n", "name: softirq_risen\n").replace("softexpires", "soft");
    let some = read(&doctored).unwrap();
    let missing_events = [("hrtimer_start", TracerGap::Timers), ("softirq_raise", TracerGap::Softirqs)];
    assert_eq!(some.missing_events.all(), missing_events.map(|(event, costs)| MissingEvent { event, costs }));
    let missing = ["hrtimer_start", "hrtimer_expire_entry", "softirq_raise", "softirq_entry", "softirq_exit"];
    assert_eq!(some.events.len() + missing.len(), all.events.len());
    assert!(
        missing
            .iter()
            .all(|name| !some.events.iter().any(|directory| directory.ends_with(&format!("/{name}"))))
    );
}

#[test]
fn switches_are_required() {
    let refused = |from: &str, to: &str| read(&formats_of_one().replace(from, to)).err().unwrap();
    let name = || "sched_switch".to_owned();
    assert_eq!(refused("name: sched_switch\n", "name: x\n"), TracerRefusal::NoEvent { name: name() });
    let reason = "its field next_comm has 4 bytes".to_owned();
    let small = refused("next_comm[16];\toffset:40;\tsize:16", "next_comm[4];\toffset:40;\tsize:4");
    assert_eq!(small, TracerRefusal::EventUnreadable { name: name(), reason });
}
