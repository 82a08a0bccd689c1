use std::collections::BTreeMap;

use howlate_analyse::incidents::{Grouping, RecordedIncidents};
use howlate_model::{
    Cause, CauseKind, CpuHolder, CpuTimeline, HolderKind, IncidentCause, IncidentKind, LateThread,
    LateThreshold, MonotonicTime, Occupant, Part, Segment, SnapProgram, Snapshot, Span, WaitMinute,
};
use howlate_render::RecordingState;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::*;

const MS: i64 = 1_000_000;

fn incident(at: &str, victim: &str, ms: i64) -> Incident {
    let cause = Cause::new(Part::Waiting, CauseKind::Thread, "rsync".to_owned());
    let latency = Span::from_nanos((ms * MS).unsigned_abs());
    let name = victim.to_owned();
    let (pid, tid, uid, group, policy) = (70, 71, 0, None, None);
    Incident {
        at: at.to_owned(),
        at_ns: MonotonicTime::from_nanos(1_000 * MS),
        latency,
        thread: LateThread { command: None, process: name.clone(), name, pid, tid, uid, group, policy },
        kind: IncidentKind::Woken,
        cpu: 1,
        parts: vec![Segment::new(cause, Some(9), MonotonicTime::from_nanos((1_000 - ms) * MS), latency)],
        causes: vec![IncidentCause {
            process_id: None,
            command: None,
            is_recorder: false,
            kind: CauseKind::Thread,
            name: Some("rsync".to_owned()),
            pid: Some(9),
            process: Some("backup".to_owned()),
            policy: None,
            group: None,
            took: latency,
            share: 1.0,
        }],
        idle_cpu: None,
        late_above: None,
        timeline: Some("7.trace.json".to_owned()),
        turn: None,
        server: None,
    }
}

fn recorded_incidents(incidents: Vec<Incident>) -> IncidentReport {
    let minute = WaitMinute {
        at: "2026-11-25T03:13:00Z".to_owned(),
        from: MonotonicTime::default(),
        until: MonotonicTime::from_nanos(60_000 * MS),
        groups: vec![],
        incidents_lost: 0,
        incidents_left_out: 0,
        switches_unseen: 0,
        lines_lost: 0,
        turns_lost: 0,
        loops_left_out: 0,
        snaps_left_out: 0,
        late_above: None,
        removed: vec![],
        clock: None,
        requests: Vec::new(),
    };
    IncidentReport {
        recording: RecordedIncidents { incidents, shorter: 0, minutes: vec![minute], snaps: vec![] },
        machine: None,
        late_above: Some(LateThreshold::Length(Span::from_millis(5))),
        from: None,
        until: None,
        oldest: None,
        written: RecordingState::default(),
        by: Grouping::default(),
        users: BTreeMap::new(),
        zone: TimeZone::UTC,
        cut_off: 0,
        damaged: vec![],
    }
}

fn cpus() -> Vec<CpuTimeline> {
    let occupant = |pid: u32, name: &str, from: i64, ms: i64| Occupant {
        who: CpuHolder { holder: HolderKind::Thread, pid: Some(pid), name: name.to_owned() },
        ns: Span::from_nanos((ms * MS).unsigned_abs()),
        from: Some(MonotonicTime::from_nanos(from * MS)),
    };
    vec![
        CpuTimeline { cpu: 0, stretches: vec![occupant(5, "</script>", 900, 50)] },
        CpuTimeline { cpu: 1, stretches: vec![occupant(71, "web", 900, 70), occupant(9, "rsync", 970, 30)] },
    ]
}

/// The data that the page's script draws.
fn data(page: &str) -> Value {
    let begin = "<script type=\"application/json\">";
    let rest = &page[page.find(begin).unwrap() + begin.len()..];
    serde_json::from_str(&rest[..rest.find("</script>").unwrap()]).unwrap()
}

#[test]
fn the_page_has_the_wait_with_a_lane_for_each_cpu() {
    let all = vec![incident("2026-11-25T03:12:00.5Z", "web", 30), incident("2026-11-25T03:12:10Z", "db", 7)];
    let incidents = recorded_incidents(all);
    let page = incidents_page(&incidents, Some((&incidents.recording.incidents[0], &cpus())));
    let data = data(&page);
    let lanes: Vec<&str> =
        data["lanes"].as_array().unwrap().iter().map(|lane| lane["name"].as_str().unwrap()).collect();
    assert_eq!(lanes, ["web (71) waits", "db (71) waits", "CPU 1", "CPU 0"], "its own CPU first");
    let who = |lane: usize, place: usize| {
        let stretch = &data["lanes"][lane]["stretches"][place];
        let number = usize::try_from(stretch[2].as_u64().unwrap()).unwrap();
        (stretch[0].as_i64().unwrap() / MS, stretch[1].as_i64().unwrap() / MS, data["who"][number].clone())
    };
    assert_eq!(who(2, 1), (0, 30, serde_json::json!(["rsync (9)", "s1"])), "from when the wait began");
    assert_eq!(who(2, 0), (-70, 70, serde_json::json!(["web (71)", "s0"])));
    assert_eq!(who(3, 0).2[0], "</script> (5)", "a name is no markup");
    assert_eq!(data["latency"], 30 * MS);
    for expected in ["2 incidents", "The longest wait", "backup", "held up by rsync of backup, thread 9"] {
        assert!(page.contains(expected), "{expected}");
    }
    // It asks for nothing: no address but those within it.
    assert!(!page.contains("src=") && !page.contains("href=\"http"), "{page}");
}

#[test]
fn worst_come_first_and_what_is_drawn_is_called_what_it_is() {
    let all = vec![incident("2026-11-25T03:12:10Z", "db", 7), incident("2026-11-25T03:12:00.5Z", "web", 30)];
    let incidents = recorded_incidents(all);
    let page = incidents_page(&incidents, Some((&incidents.recording.incidents[0], &[])));
    assert!(page.contains("The longest wait with a timeline"));
    let rows = page.split("id=\"incidents\"").nth(1).unwrap();
    assert!(rows.find("web (71)") < rows.find("db (71)"), "{rows}");
}

#[test]
fn late_waits_that_were_not_kept_are_counted_in_the_headline() {
    let mut incidents = recorded_incidents(vec![incident("2026-11-25T03:12:00.5Z", "web", 30)]);
    assert!(incidents_page(&incidents, None).contains("<strong>1 incident</strong>"));
    incidents.recording.minutes[0].incidents_left_out = 8;
    let page = incidents_page(&incidents, None);
    assert!(page.contains("<strong>1 of about 9 incidents</strong>"), "{page}");
    assert!(page.contains("Counted are those that were kept: 1 of about 9 incidents."), "{page}");
    assert!(page.contains("About 8 more were only counted") && !page.contains("the darker"), "{page}");
}

#[test]
fn without_incidents_the_page_says_so() {
    let page = incidents_page(&recorded_incidents(vec![]), None);
    assert!(
        page.contains("Nothing was late.") && page.contains("id=\"when\"") && !page.contains("id=\"worst\"")
    );
}

#[test]
fn what_programs_asked_for_is_listed_with_its_file() {
    let mut incidents = recorded_incidents(vec![]);
    let snap = |at: &str, reason: Option<&str>, timeline: Option<&str>| Snapshot {
        at: at.to_owned(),
        at_ns: MonotonicTime::default(),
        reason: reason.map(str::to_owned),
        program: reason.map(|_| SnapProgram { process: "player".to_owned(), pid: 7, uid: 0 }),
        timeline: timeline.map(str::to_owned),
    };
    incidents.recording.snaps = vec![
        snap("2026-11-25T03:12:07.5Z", None, None),
        snap("2026-11-25T03:12:09.5Z", Some("frame <dropped>"), Some("snap.trace.json")),
    ];
    let page = incidents_page(&incidents, None);
    assert!(page.contains("href=\"#snaps\"") && !page.contains("href=\"#culprits\""), "{page}");
    let rows = page.split("id=\"snaps\"").nth(1).unwrap();
    for expected in ["frame &lt;dropped&gt;", "player (7)", "snap.trace.json", "not there any more"] {
        assert!(rows.contains(expected), "{expected}: {rows}");
    }
    assert!(rows.find("03:12:09.5") < rows.find("03:12:07.5"), "the last first: {rows}");
}
