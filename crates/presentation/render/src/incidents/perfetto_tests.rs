use howlate_model::{CpuHolder, HolderKind, IncidentKind, LateThread, Occupant, Span};

use howlate_model::{CpuTimeline, Incident, MonotonicTime};
use jiff::Timestamp;

use super::tests::{incident, incident_report};
use crate::perfetto::PACKET;
use crate::protobuf::tests::{FieldValue, values};

const MS: i64 = 1_000_000;

fn stretch(holder: HolderKind, name: &str, pid: Option<u32>, from_ms: i64, ms: u64) -> Occupant {
    let who = CpuHolder { holder, pid, name: name.to_owned() };
    Occupant { who, ns: Span::from_millis(ms), from: Some(MonotonicTime::from_nanos(from_ms * MS)) }
}

fn thread(name: &str, pid: u32, from_ms: i64, ms: u64) -> Occupant {
    stretch(HolderKind::Thread, name, Some(pid), from_ms, ms)
}

/// A wait of thread 71 from 100 ms to 112 ms.
fn waited(kind: IncidentKind) -> Incident {
    let thread =
        LateThread { name: "worker".into(), process: "server".into(), pid: 70, tid: 71, ..incident().thread };
    Incident {
        at_ns: MonotonicTime::from_nanos(112 * MS),
        latency: Span::from_millis(12),
        kind,
        thread,
        ..incident()
    }
}

fn number(message: &[u8], field: u64) -> u64 {
    values(message, field)
        .first()
        .map_or(u64::MAX, |field| if let FieldValue::Number(number) = field { *number } else { 0 })
}

/// Events of all CPUs: time in milliseconds, and description.
fn events(trace: &[u8]) -> Vec<(u64, String)> {
    let packets = values(trace, u64::from(PACKET));
    let bundles =
        packets.iter().flat_map(|packet| values(packet.bytes(), 1)).map(|bundle| bundle.bytes().to_vec());
    let events_of_bundle = |bundle: Vec<u8>| {
        values(&bundle, 2).iter().map(|event| event_text(event.bytes())).collect::<Vec<_>>()
    };
    bundles.flat_map(events_of_bundle).collect()
}

fn event_text(event: &[u8]) -> (u64, String) {
    let inner = |field: u64| values(event, field).first().map(|field| field.bytes().to_vec());
    let field_text = |message: &[u8], field: u64| values(message, field)[0].text();
    let switch = |message: Vec<u8>| {
        let goes_on = if number(&message, 4) == 2_048 { " waits" } else { "" };
        format!("{}{goes_on} > {}", field_text(&message, 1), field_text(&message, 5))
    };
    let text = inner(4).map(switch);
    let text = text.or_else(|| inner(20).map(|message| format!("{} woken", field_text(&message, 1))));
    let text = text.or_else(|| inner(24).map(|message| format!("softirq {}", number(&message, 1))));
    let text = text.or_else(|| inner(36).map(|message| format!("irq {}", field_text(&message, 2))));
    (number(event, 1) / 1_000_000, text.unwrap_or_else(|| "exit".to_owned()))
}

fn trace(incidents: Vec<Incident>, stretches: Vec<Vec<Occupant>>) -> Vec<u8> {
    let timeline = |stretches| vec![CpuTimeline { cpu: 3, stretches }];
    incident_report(incidents).perfetto(stretches.into_iter().map(timeline).collect())
}

fn all(incidents: Vec<Incident>, stretches: Vec<Vec<Occupant>>) -> Vec<String> {
    events(&trace(incidents, stretches)).into_iter().map(|(at, what)| format!("{at} {what}")).collect()
}

#[test]
fn each_switch_is_there_and_an_interrupt_ends_nobodys_turn() {
    let stretches = vec![
        thread("worker", 71, 90, 10),
        thread("rsync", 9, 100, 5),
        stretch(HolderKind::Softirq, "NET_RX", None, 105, 2),
        stretch(HolderKind::Interrupt, "virtio1", None, 107, 1),
        thread("rsync", 9, 108, 4),
        thread("worker", 71, 112, 3),
        thread("cron", 8, 120, 1),
    ];
    let expected = [
        "90 not recorded > worker",
        "100 worker waits > rsync",
        "105 softirq 3",
        "107 exit",
        "107 irq virtio1",
        "108 exit",
        "112 rsync > worker",
        "115 worker > swapper/3",
        "120 swapper/3 > cron",
        "121 cron > not recorded",
    ];
    assert_eq!(all(vec![waited(IncidentKind::Preempted)], vec![stretches]), expected);
}

#[test]
fn a_thread_that_was_woken_waits_from_then_on() {
    let stretches = vec![thread("rsync", 9, 90, 22), thread("worker", 71, 112, 3)];
    let expected =
        ["90 not recorded > rsync", "100 worker woken", "112 rsync > worker", "115 worker > not recorded"];
    assert_eq!(all(vec![waited(IncidentKind::Woken)], vec![stretches]), expected);
}

#[test]
fn timelines_that_overlap_are_one_and_between_others_nothing_is_known() {
    let first = vec![thread("a", 1, 10, 10), thread("b", 2, 20, 5)];
    let second = vec![thread("b", 2, 20, 5), thread("c", 3, 25, 5)];
    let far = vec![thread("a", 1, 500, 1)];
    let expected = [
        "10 not recorded > a",
        "20 a > b",
        "25 b > c",
        "30 c > not recorded",
        "500 not recorded > a",
        "501 a > not recorded",
    ];
    assert_eq!(all(vec![], vec![far, second, first]), expected);
}

#[test]
fn each_wait_is_a_slice_with_its_parts_below_it_and_the_time_of_day_is_known() {
    let bytes = trace(vec![waited(IncidentKind::Woken)], vec![]);
    let packets: Vec<Vec<u8>> = values(&bytes, 1).iter().map(|packet| packet.bytes().to_vec()).collect();
    let slices: Vec<(u64, Vec<u8>)> = packets
        .iter()
        .filter_map(|packet| Some((number(packet, 8), values(packet, 11).first()?.bytes().to_vec())))
        .collect();
    let titles: Vec<String> =
        slices.iter().flat_map(|(_, event)| values(event, 23)).map(|name| name.text()).collect();
    assert_eq!(titles[0], "waited 12.0 ms for CPU 3, after it was woken");
    assert_eq!(titles.len(), 1 + incident().parts.len());
    assert_eq!(
        slices.iter().map(|(_, event)| number(event, 9)).filter(|kind| *kind == 2).count(),
        titles.len()
    );
    assert!(slices.iter().all(|(_, event)| number(event, 11) == 71));
    assert_eq!((slices[0].0, slices.last().unwrap().0), (100_000_000, 112_000_000));
    let snapshot = packets
        .iter()
        .find_map(|packet| values(packet, 6).first().map(|field| field.bytes().to_vec()))
        .unwrap();
    let clocks: Vec<(u64, u64)> = values(&snapshot, 1)
        .iter()
        .map(|clock| (number(clock.bytes(), 1), number(clock.bytes(), 2)))
        .collect();
    let day = "2026-11-25T03:12:00.5Z".parse::<Timestamp>().unwrap().as_nanosecond();
    assert_eq!(clocks, [(6, 112_000_000), (3, 112_000_000), (1, u64::try_from(day).unwrap())]);
}
