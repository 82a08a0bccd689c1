//! Formats and pages that a real kernel wrote.

use super::*;

/// Formats of events, and a few pages of one CPU on which a thread slept.
const FORMATS: &str = include_str!("../testdata/formats");
const PAGES: &[u8] = include_bytes!("../testdata/pages");

fn records() -> EventParser {
    let mut records = EventParser::default();
    for text in FORMATS.split("name: ").skip(1) {
        let name = text.lines().next().unwrap();
        records.add(name, &EventFormat::parse(text).unwrap()).unwrap();
    }
    records
}

#[test]
fn a_preempted_thread_does_not_sleep() {
    let format = EventFormat::parse(&FORMATS[FORMATS.find("name: sched_switch").unwrap()..]).unwrap();
    let state = format.number("prev_state").unwrap();
    for (written, read) in [(0_u64, 0), (1, 1), (0x100, 0), (0x102, 2)] {
        let mut record = vec![0; 64];
        record[..2].copy_from_slice(&format.id.to_le_bytes());
        record[state.offset..state.offset + 8].copy_from_slice(&written.to_le_bytes());
        let EventKind::Switch { state, .. } = records().read(0, 5, &record).unwrap().kind else {
            unreachable!()
        };
        assert_eq!(state, read);
    }
    assert!(records().read(0, 5, &[0xff; 64]).is_none(), "an event of another kind");
}

/// The events of the captured pages.
fn captured() -> Vec<TraceEvent> {
    let records = records();
    let layout = PageLayout::parse(HEADER_PAGE).unwrap();
    let mut events = Vec::new();
    for page in PAGES.chunks(layout.page_size()) {
        let whole = items(page, &layout, &mut |at, item| {
            let PageItem::Record(record) = item else { panic!("nothing was lost") };
            events.push(records.read(0, at, record).unwrap());
        });
        assert!(whole.is_some());
    }
    events
}

#[test]
fn what_a_real_kernel_wrote_is_read() {
    let events = captured();
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at), "times go on");
    let switches: Vec<_> =
        events.iter().filter(|event| matches!(event.kind, EventKind::Switch { .. })).collect();
    let next = |event: &TraceEvent| {
        if let EventKind::Switch { next, .. } = event.kind { next } else { unreachable!() }
    };
    assert!(
        switches.windows(2).all(|pair| next(pair[0]) == pair[1].pid),
        "each begins with whom the last went to"
    );
    let sleeper = events.iter().find_map(|event| match event.kind {
        EventKind::Waking { thread, .. } => Some(thread),
        _ => None,
    });
    let mut follower = EventFollower::new(&[], InterruptNames::parse(""), false);
    follower.follow(sleeper.unwrap(), None);
    let mut sleeps = Vec::new();
    events.iter().for_each(|event| follower.event(event, &mut |sleep| sleeps.push(sleep)));
    assert!(sleeps.len() >= 3, "{sleeps:?}");
    for sleep in &sleeps[1..] {
        let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
        assert_eq!(expiry.hard.since(expiry.soft), Span::from_micros(50));
        assert!(expiry.soft <= expiry.interrupt.unwrap() && expiry.interrupt.unwrap() <= expiry.first_served);
        assert!(expiry.served <= sleep.waking && sleep.waking <= sleep.runnable);
        let waited: Span = sleep.occupants.iter().fold(Span::ZERO, |sum, occupant| sum.plus(occupant.ns));
        assert_eq!(waited, sleep.switched_in.unwrap().since(sleep.runnable));
    }
}

#[test]
fn pages_that_were_cut_or_damaged_end_somewhere() {
    let layout = PageLayout::parse(HEADER_PAGE).unwrap();
    let page = &PAGES[..layout.page_size()];
    for length in 0..page.len() {
        let _ = items(&page[..length], &layout, &mut |_, _| {});
        let mut damaged = page.to_vec();
        damaged[length] = !damaged[length];
        let _ = items(&damaged, &layout, &mut |_, _| {});
    }
}
