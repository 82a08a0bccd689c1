use howlate_model::{CpuHolder, HolderKind, IncidentKind, LateThread, Occupant, Span};

use howlate_model::{CpuTimeline, Incident, MonotonicTime};
use jiff::Timestamp;

use super::tests::{incident, kept};
use crate::perfetto::PACKET;
use crate::protobuf::tests::{Field, of};

const MS: i64 = 1_000_000;

fn had(holder: HolderKind, name: &str, pid: Option<u32>, from_ms: i64, ms: u64) -> Occupant {
    let who = CpuHolder { holder, pid, name: name.to_owned() };
    Occupant { who, ns: Span::from_millis(ms), from: Some(MonotonicTime::from_nanos(from_ms * MS)) }
}

fn thread(name: &str, pid: u32, from_ms: i64, ms: u64) -> Occupant {
    had(HolderKind::Thread, name, Some(pid), from_ms, ms)
}

/// A wait of thread 71 from 100 to 112 ms.
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
    of(message, field)
        .first()
        .map_or(u64::MAX, |field| if let Field::Number(number) = field { *number } else { 0 })
}

/// What happened on the CPUs: when, in milliseconds, and what.
fn events(trace: &[u8]) -> Vec<(u64, String)> {
    let packets = of(trace, u64::from(PACKET));
    let bundles =
        packets.iter().flat_map(|packet| of(packet.bytes(), 1)).map(|bundle| bundle.bytes().to_vec());
    let of_bundle =
        |bundle: Vec<u8>| of(&bundle, 2).iter().map(|event| told(event.bytes())).collect::<Vec<_>>();
    bundles.flat_map(of_bundle).collect()
}

fn told(event: &[u8]) -> (u64, String) {
    let inner = |field: u64| of(event, field).first().map(|field| field.bytes().to_vec());
    let text = |message: &[u8], field: u64| of(message, field)[0].text();
    let switch = |one: Vec<u8>| {
        let goes_on = if number(&one, 4) == 2_048 { " waits" } else { "" };
        format!("{}{goes_on} > {}", text(&one, 1), text(&one, 5))
    };
    let words = inner(4).map(switch);
    let words = words.or_else(|| inner(20).map(|one| format!("{} woken", text(&one, 1))));
    let words = words.or_else(|| inner(24).map(|one| format!("softirq {}", number(&one, 1))));
    let words = words.or_else(|| inner(36).map(|one| format!("irq {}", text(&one, 2))));
    (number(event, 1) / 1_000_000, words.unwrap_or_else(|| "exit".to_owned()))
}

fn trace(incidents: Vec<Incident>, stretches: Vec<Vec<Occupant>>) -> Vec<u8> {
    let timeline = |stretches| vec![CpuTimeline { cpu: 3, stretches }];
    kept(incidents).perfetto(stretches.into_iter().map(timeline).collect())
}

fn all(incidents: Vec<Incident>, stretches: Vec<Vec<Occupant>>) -> Vec<String> {
    events(&trace(incidents, stretches)).into_iter().map(|(at, what)| format!("{at} {what}")).collect()
}

#[test]
fn each_switch_is_there_and_an_interrupt_ends_nobodys_turn() {
    let stretches = vec![
        thread("worker", 71, 90, 10),
        thread("rsync", 9, 100, 5),
        had(HolderKind::Softirq, "NET_RX", None, 105, 2),
        had(HolderKind::Interrupt, "virtio1", None, 107, 1),
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
    let one = vec![thread("a", 1, 10, 10), thread("b", 2, 20, 5)];
    let two = vec![thread("b", 2, 20, 5), thread("c", 3, 25, 5)];
    let far = vec![thread("a", 1, 500, 1)];
    let expected = [
        "10 not recorded > a",
        "20 a > b",
        "25 b > c",
        "30 c > not recorded",
        "500 not recorded > a",
        "501 a > not recorded",
    ];
    assert_eq!(all(vec![], vec![far, two, one]), expected);
}

#[test]
fn each_wait_is_a_slice_with_its_parts_below_it_and_the_time_of_day_is_known() {
    let bytes = trace(vec![waited(IncidentKind::Woken)], vec![]);
    let packets: Vec<Vec<u8>> = of(&bytes, 1).iter().map(|packet| packet.bytes().to_vec()).collect();
    let slices: Vec<(u64, Vec<u8>)> = packets
        .iter()
        .filter_map(|packet| Some((number(packet, 8), of(packet, 11).first()?.bytes().to_vec())))
        .collect();
    let begun: Vec<String> =
        slices.iter().flat_map(|(_, event)| of(event, 23)).map(|name| name.text()).collect();
    assert_eq!(begun[0], "waited 12.0 ms for CPU 3, after it was woken");
    assert_eq!(begun.len(), 1 + incident().parts.len());
    assert_eq!(
        slices.iter().map(|(_, event)| number(event, 9)).filter(|kind| *kind == 2).count(),
        begun.len()
    );
    assert!(slices.iter().all(|(_, event)| number(event, 11) == 71));
    assert_eq!((slices[0].0, slices.last().unwrap().0), (100_000_000, 112_000_000));
    let snapshot =
        packets.iter().find_map(|packet| of(packet, 6).first().map(|one| one.bytes().to_vec())).unwrap();
    let clocks: Vec<(u64, u64)> =
        of(&snapshot, 1).iter().map(|clock| (number(clock.bytes(), 1), number(clock.bytes(), 2))).collect();
    let day = "2026-11-25T03:12:00.5Z".parse::<Timestamp>().unwrap().as_nanosecond();
    assert_eq!(clocks, [(6, 112_000_000), (3, 112_000_000), (1, u64::try_from(day).unwrap())]);
}
