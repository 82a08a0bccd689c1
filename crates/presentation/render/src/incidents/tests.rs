use std::collections::BTreeMap;

use howlate_analyse::incidents::{Grouping, LateCounts, RecordedIncidents};
use howlate_model::{
    Cause, CauseKind, Distribution, Evidence, Finding, FindingId, IdleCpu, Incident, IncidentCause,
    IncidentKind, LateThread, LateThreshold, Latency, Line, MonotonicTime, OmittedAnswers, Part, Policy,
    Remedy, RequestCounts, Segment, ServerSocket, Span, Verdict, WaitCounts, WaitMinute,
};
use jiff::tz::TimeZone;

use super::{IncidentReport, RecordingState, late_metrics};
use crate::detail::Detail;

const AT: &str = "2026-11-25T03:12:00.5Z";

/// A wait of 12 ms: a thread of another process, a softirq, and something short.
pub(super) fn incident() -> Incident {
    let part = |kind, name: &str, pid, from: i64, micros| {
        let cause = Cause::new(Part::Waiting, kind, name.to_owned());
        Segment::new(cause, pid, MonotonicTime::from_nanos(from * 1_000), Span::from_micros(micros))
    };
    let cause = |kind, name: &str, pid, process: Option<&str>, micros: u64, share| IncidentCause {
        process_id: None,
        command: None,
        is_recorder: false,
        kind,
        name: Some(name.to_owned()),
        pid,
        process: process.map(str::to_owned),
        policy: pid.map(|_| "fifo:50".parse::<Policy>().unwrap()),
        group: None,
        took: Span::from_micros(micros),
        share,
    };
    let (name, process) = ("worker;1".to_owned(), "nginx".to_owned());
    Incident {
        at: AT.to_owned(),
        at_ns: MonotonicTime::from_nanos(13_000_000),
        latency: Span::from_millis(12),
        thread: LateThread {
            command: None,
            name,
            process,
            pid: 70,
            tid: 71,
            uid: 0,
            group: None,
            policy: Some(Policy::OTHER),
        },
        kind: IncidentKind::Preempted,
        cpu: 3,
        parts: vec![
            part(CauseKind::Thread, "rsync", Some(9), 1_000, 11_000),
            part(CauseKind::Softirq, "NET_RX", None, 12_000, 950),
            part(CauseKind::Kernel, "", None, 12_950, 50),
        ],
        causes: vec![
            cause(CauseKind::Thread, "rsync", Some(9), Some("backup"), 11_000, 0.916_7),
            cause(CauseKind::Softirq, "NET_RX", None, None, 950, 0.079_2),
        ],
        idle_cpu: None,
        late_above: None,
        timeline: Some("7.trace.json".to_owned()),
        turn: None,
        server: None,
    }
}

fn minute() -> WaitMinute {
    let waits = |process: &str, late, nanos: &[i64]| {
        let mut waits = Distribution::default();
        nanos.iter().for_each(|ns| waits.record(Latency::from_nanos(*ns)));
        WaitCounts { process: process.to_owned(), uid: 0, group: None, policy: "other".into(), late, waits }
    };
    WaitMinute {
        at: "2026-11-25T03:13:00Z".to_owned(),
        from: MonotonicTime::default(),
        until: MonotonicTime::from_nanos(60_000_000_000),
        groups: vec![waits("nginx", 1, &[5_000, 12_000_000]), waits("cron", 0, &[7_000])],
        incidents_lost: 0,
        incidents_left_out: 2,
        switches_unseen: 0,
        lines_lost: 0,
        turns_lost: 0,
        loops_left_out: 0,
        snaps_left_out: 0,
        late_above: None,
        removed: vec![],
        clock: None,
        requests: Vec::new(),
    }
}

pub(super) fn incident_report(incidents: Vec<Incident>) -> IncidentReport {
    let from = "2026-11-25T03:12:00Z".parse().unwrap();
    IncidentReport {
        recording: RecordedIncidents { incidents, shorter: 0, minutes: vec![minute()], snaps: vec![] },
        machine: None,
        late_above: Some(LateThreshold::Length(Span::from_millis(5))),
        from: Some(from),
        until: Some("2026-11-25T03:13:00Z".parse().unwrap()),
        oldest: Some(from),
        written: RecordingState::default(),
        by: Grouping::default(),
        users: BTreeMap::new(),
        zone: TimeZone::UTC,
        cut_off: 0,
        damaged: vec![],
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_timer_and_an_event_loop_are_late_in_other_words() {
    let why =
        |kind| plain(&incident_report(vec![Incident { kind, ..incident() }]).why(&[], Detail::Full, 120));
    let timer = why(IncidentKind::Timer);
    assert!(timer.contains("(71) was late by 12.0 ms by its timer, when it ran on CPU 3"), "{timer}");
    let part = |part, kind, ns: u64| Segment {
        merged: true,
        ..Segment::new(
            Cause::new(part, kind, String::new()),
            None,
            MonotonicTime::from_nanos(1_000_000),
            Span::from_millis(ns),
        )
    };
    let parts =
        vec![part(Part::Arming, CauseKind::LongWork, 9), part(Part::Blocked, CauseKind::Unexplained, 3)];
    let away = Incident { kind: IncidentKind::EventLoop, parts, causes: vec![], ..incident() };
    let text = plain(&incident_report(vec![away]).why(&[], Detail::Full, 120));
    assert!(text.contains("(71) was away from its events for 12.0 ms"), "{text}");
    assert!(text.contains("at work") && text.contains("blocked in another call"), "{text}");
}

#[test]
fn an_incident_is_told_part_by_part() {
    let text = plain(&incident_report(vec![incident()]).why(&[], Detail::Full, 100));
    for expected in [
        "03:12:00.500  nginx worker;1 (71) waited 12.0 ms for CPU 3, after it lost its CPU",
        "+0 ns     11.0 ms  waiting for the CPU: rsync of backup, thread 9, fifo:50 92 %",
        "+11.0 ms      950 µs  waiting for the CPU (softirq NET_RX) 7.9 %",
        "50.0 µs  1 shorter part",
        "Timeline of all CPUs: 7.trace.json",
        "! 2 late waits were only counted, as there were too many to keep",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let narrow = plain(&incident_report(vec![incident()]).why(&[], Detail::Full, 60));
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(!text.contains("What to do"), "nothing was found that helps: {text}");
}

#[test]
fn there_are_at_least_as_many_late_waits_as_the_groups_have() {
    let mut report = incident_report(vec![incident()]);
    assert!(report.title().contains("1 of about 3 late waits"), "{}", report.title());
    report.recording.minutes[0].groups[0].late = 10;
    assert!(report.title().contains("1 of about 10 late waits"), "{}", report.title());
}

#[test]
fn a_cpu_that_was_idle_meanwhile_is_named_with_its_time() {
    let at_half = |millis| Incident {
        idle_cpu: Some(IdleCpu { cpu: 5, idle: Span::from_millis(millis) }),
        ..incident()
    };
    let all = incident_report(vec![at_half(6), at_half(5), incident()]);
    let text = plain(&all.why(&[], Detail::Full, 100));
    assert_eq!(
        text.matches("  CPU 5, on which it may run, was idle for 6.00 ms of that.\n").count(),
        1,
        "{text}"
    );
    assert!(
        text.contains("  In 1 of 3 waits, another CPU on which the thread may run was idle for half"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&all.json().unwrap()).unwrap();
    assert_eq!(json["incidents"][0]["idle_cpu"], serde_json::json!({ "cpu": 5, "ns": 6_000_000 }));
    assert!(!plain(&incident_report(vec![incident()]).why(&[], Detail::Full, 100)).contains("idle"));
    let moved = Incident { cpu: 5, ..at_half(6) };
    let text = plain(&incident_report(vec![moved]).why(&[], Detail::Full, 100));
    assert!(text.contains("waited 12.0 ms until it ran on CPU 5, after it lost its CPU"), "{text}");
    assert!(text.contains("  CPU 5, to which it was moved, was idle for 6.00 ms of that."), "{text}");
}

#[test]
fn a_limit_that_follows_the_machine_is_told_with_the_percentile_and_at_each_incident() {
    let late = Incident { late_above: Some(Span::from_micros(2_100)), ..incident() };
    let all = IncidentReport { late_above: Some("p99.9".parse().unwrap()), ..incident_report(vec![late]) };
    let text = plain(&all.why(&[], Detail::Full, 100));
    assert!(
        text.contains("1 of about 3 late waits above p99.9 of the last hour, at least 1 ms are kept"),
        "{text}"
    );
    assert!(text.contains("  Waits longer than 2.10 ms were late then.\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&all.json().unwrap()).unwrap();
    assert_eq!((&json["late_above_ns"], &json["late_above_percentile"]), (&1_000_000.into(), &99.9.into()));
    assert_eq!(json["incidents"][0]["late_above_ns"], 2_100_000);
    assert!(
        !plain(&incident_report(vec![incident()]).why(&[], Detail::Full, 100)).contains("were late then")
    );
}

#[test]
fn stretches_of_one_cause_are_one_part_where_little_came_between() {
    let mut split = incident();
    let part = |name: &str, from: i64, micros: u64| {
        let cause = Cause::new(Part::Waiting, CauseKind::Thread, name.to_owned());
        let pid = Some(if name == "rsync" { 9 } else { 8 });
        Segment::new(cause, pid, MonotonicTime::from_nanos(from * 1_000), Span::from_micros(micros))
    };
    split.parts = vec![part("rsync", 1_000, 4_000), part("tick", 5_000, 100), part("rsync", 5_100, 7_900)];
    let text = plain(&incident_report(vec![split]).why(&[], Detail::Full, 120));
    assert!(
        text.contains(
            "+0 ns     11.9 ms  waiting for the CPU: rsync of backup, thread 9, fifo:50 99 %, in 2 stretches"
        ),
        "{text}"
    );
    assert!(text.contains("100 µs  1 shorter part\n"), "{text}");
}

/// An incident whose CPU these threads had one after the other: name and milliseconds.
fn in_turn(threads: &[(&str, u64)]) -> Incident {
    let mut from = MonotonicTime::from_nanos(1_000_000);
    let mut part = |(name, ms): &(&str, u64)| {
        let cause = Cause::new(Part::Waiting, CauseKind::Thread, (*name).to_owned());
        let segment = Segment::new(cause, None, from, Span::from_millis(*ms));
        from = from.plus(segment.ns);
        segment
    };
    let parts: Vec<Segment> = threads.iter().map(&mut part).collect();
    let whole = parts.iter().fold(Span::ZERO, |sum, part| sum.plus(part.ns));
    Incident { latency: whole, at_ns: from, parts, causes: vec![], ..incident() }
}

#[test]
fn what_took_most_is_told_however_late_it_came_and_in_however_many_stretches() {
    let why = |threads: &[(&str, u64)]| {
        plain(&incident_report(vec![in_turn(threads)]).why(&[], Detail::Brief, 100))
    };
    let late = why(&[("keeper", 22), ("worker", 4), ("hog", 157), ("other", 17), ("keeper", 24)]);
    assert!(late.contains("(hog) 70 %") && late.contains("(keeper) 21 %, in 2 stretches"), "{late}");
    assert!(late.contains("21.0 ms  2 shorter parts together\n"), "{late}");
    assert!(late.find("keeper").unwrap() < late.find("hog").unwrap(), "in order of time: {late}");
    // Each of its stretches is too short to be told by itself.
    let threads: Vec<(&str, u64)> =
        (0..100).map(|turn| (if turn % 2 == 0 { "hog" } else { "keeper" }, 1)).collect();
    let many = why(&[&threads[..], &[("hog", 20), ("worker", 20)]].concat());
    assert!(
        many.contains("(hog) 50 %, in 51 stretches") && many.contains("(keeper) 36 %, in 50 stretches"),
        "{many}"
    );
    let small: Vec<String> = (0..100).map(|number| format!("one-{number}")).collect();
    let small: Vec<(&str, u64)> = small.iter().map(|name| (name.as_str(), 1)).collect();
    let small = why(&small);
    assert!(small.contains("(one-0) 1.0 %") && small.contains("99 shorter parts together"), "{small}");
}

#[test]
fn advice_is_given_against_what_was_met_often_enough() {
    let remedy =
        Remedy { apply: vec!["chrt --fifo 60 PROGRAM".to_owned()], undo: vec![], ..Remedy::default() };
    let finding = Finding {
        id: FindingId::RealtimePermission,
        verdict: Verdict::Good,
        found: "any real-time priority may be asked for".to_owned(),
        evidence: Vec::<Evidence>::new(),
        why: String::new(),
        cost: None,
        remedy: Some(remedy),
    };
    let findings = [finding];
    let why_of =
        |times: usize| plain(&incident_report(vec![incident(); times]).why(&findings, Detail::Brief, 80));
    assert!(!why_of(2).contains("What to do"), "it may never come again");
    let mut two = vec![incident(); 6];
    two[3..].iter_mut().for_each(|incident| incident.causes[0].name = Some("tar".to_owned()));
    let text = plain(&incident_report(two).why(&findings, Detail::Brief, 80));
    assert_eq!(text.matches("chrt --fifo -p 80").count(), 1, "one thing to do against both: {text}");
    assert!(text.contains(" and tar"), "{text}");
    let text = why_of(3);
    assert!(text.contains("Against rsync, 92 % of what normal threads waited"), "{text}");
    // For the thread that waited, not for whatever program.
    assert!(text.contains("    chrt --fifo -p 80 ") && !text.contains("PROGRAM"), "{text}");
    let mut culprit = vec![incident(); 3];
    let tid = culprit[0].thread.tid;
    culprit.push(incident());
    culprit[3].thread.tid = tid + 1;
    culprit[3].causes[0].pid = Some(tid);
    let text = plain(&incident_report(culprit).why(&findings, Detail::Brief, 80));
    assert!(!text.contains("chrt"), "it keeps others waiting itself: {text}");
}

#[test]
fn who_waited_for_whom_is_told_with_what_is_not_known() {
    let text = plain(&incident_report(vec![incident(), incident()]).top(false, Detail::Brief, 100));
    let row = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("nginx"), "nginx 2 – 12.0 ms 2 24.0 ms backup 22.0 ms, softirq NET_RX 1.90 ms");
    assert_eq!(row("cron"), "cron 1 – 7.00 µs 0");
    assert!(text.contains("Waits of up to 5 ms are only counted"), "{text}");
    let narrow = plain(&incident_report(vec![incident(), incident()]).top(false, Detail::Brief, 80));
    assert!(narrow.contains("backup 22.0 ms\n"), "the other one finds no room: {narrow}");
    let text = plain(&incident_report(vec![incident()]).top(true, Detail::Brief, 80));
    assert!(text.contains("backup, fifo:50") && text.contains("1  11.0 ms  nginx\n"), "{text}");
    let nothing =
        plain(&IncidentReport { recording: RecordedIncidents::default(), ..incident_report(vec![]) }.top(
            false,
            Detail::Brief,
            80,
        ));
    assert!(nothing.contains("Nothing was recorded then."), "{nothing}");
}

#[test]
fn counts_say_up_to_when_they_go_and_late_waits_are_not_incidents() {
    let mut all = incident_report(vec![incident()]);
    all.recording.minutes[0].incidents_left_out = 160_000;
    let text = plain(&all.text(Detail::Brief, 100));
    assert!(text.contains("How late all threads ran, counted up to 03:13:00\n"), "{text}");
    assert!(text.contains("  process  waits  late waits "), "{text}");
    assert!(
        text.contains(&format!(
            "1 of about {} late waits above 5 ms are kept",
            crate::numbers::count(160_001)
        )),
        "{text}"
    );
    let doubt = text.find("! 160").unwrap();
    assert!(
        doubt < text.find("How late all").unwrap() && doubt > text.find("What was late").unwrap(),
        "{text}"
    );
    all.recording.minutes[0].incidents_left_out = 0;
    assert!(all.title().contains(" · 1 incident above 5 ms"), "{}", all.title());
}

#[test]
fn what_many_did_fits_a_screen_of_forty_lines_and_says_what_is_left_out() {
    let mut all = incident_report(vec![]);
    for number in 0..40 {
        let mut late = incident();
        late.thread.process = format!("a-service-with-a-name-{number}");
        late.causes[0].process = Some(format!("a-culprit-with-a-long-name-{number}"));
        let mut waits = minute().groups.remove(0);
        waits.process.clone_from(&late.thread.process);
        all.recording.minutes[0].groups.push(waits);
        all.recording.incidents.push(late);
    }
    let texts = [
        all.text(Detail::Brief, 80),
        all.why(&[], Detail::Brief, 80),
        all.top(false, Detail::Brief, 80),
        all.top(true, Detail::Brief, 80),
    ];
    for text in texts.map(|text| plain(&text)) {
        assert!(text.lines().count() <= 40, "{} lines: {text}", text.lines().count());
        assert!(text.contains(": `--details`."), "{text}");
    }
    assert!(plain(&all.text(Detail::Brief, 80)).contains("more with fewer late waits: `--details`."));
    assert!(all.top(true, Detail::Full, 80).lines().count() > 40, "all that is asked for");
}

/// The state of a folder last written at this second of the minute.
fn written(second: &str, is_recording: bool) -> RecordingState {
    RecordingState {
        last: Some(format!("2026-11-25T03:{second}Z").parse().unwrap()),
        newest: None,
        is_recording,
    }
}

#[test]
fn of_a_time_when_nobody_recorded_it_is_not_said_that_nothing_was_late() {
    let recording = |written| IncidentReport {
        recording: RecordedIncidents::default(),
        written,
        until: None,
        ..incident_report(vec![])
    };
    let dead = recording(written("02:00", false));
    let texts = [
        dead.text(Detail::Brief, 120),
        dead.why(&[], Detail::Brief, 120),
        dead.top(false, Detail::Brief, 120),
        dead.title(),
    ];
    for text in texts.map(|text| plain(&text)) {
        assert!(
            text.contains("not recorded · since 2026-11-25 03:12:00") && !text.contains("0 incidents"),
            "{text}"
        );
    }
    let text = plain(&dead.text(Detail::Brief, 120));
    let last = "! Last written 2026-11-25 03:02:00 UTC, 10 min 00 s before the time asked for; no recorder is writing now.";
    assert!(text.contains(last) && text.contains("Nothing was recorded then."), "{text}");
    let alive = plain(&recording(written("11:59", true)).text(Detail::Brief, 120));
    assert!(alive.contains("0 incidents above 5 ms") && !alive.contains("Last written"), "{alive}");
    assert!(
        alive.contains("Nothing was late. All other waits are counted when their minute is over."),
        "{alive}"
    );
    // Before the last line, such a recorder has told all that it ever will.
    let before = IncidentReport { until: dead.from, from: None, ..recording(written("12:59", true)) };
    assert!(plain(&before.text(Detail::Brief, 120)).contains("Nothing was recorded then."));
}

#[test]
fn up_to_when_a_recording_goes_is_told_where_it_ends_before_the_time_asked_for() {
    let of = |from: bool, until: bool, written| {
        let all = incident_report(vec![incident()]);
        let (from, until) = (all.from.filter(|_| from), all.until.filter(|_| until));
        plain(&IncidentReport { from, until, written, ..all }.text(Detail::Brief, 120))
    };
    let note = "! Last written 2026-11-25 03:12:40 UTC; no recorder is writing now.";
    assert!(of(true, true, written("12:40", false)).contains(note));
    assert!(of(true, false, written("12:40", false)).contains(note));
    assert!(!of(true, true, written("13:00", false)).contains("Last written"), "to its end");
    assert!(!of(true, false, written("12:40", true)).contains("Last written"));
    let whole = of(false, false, written("12:40", false));
    assert!(!whole.contains("Last written"), "{whole}");
    assert!(whole.contains("2026-11-25 03:12:00 UTC to 2026-11-25 03:12:40 UTC"), "{whole}");
    assert!(of(false, false, written("12:40", true)).contains("since 2026-11-25 03:12:00 UTC\n"));
    let json = incident_report(vec![]).json().unwrap();
    assert!(json.contains("\"is_recording\":false") && !json.contains("last_written"), "{json}");
}

#[test]
fn where_most_were_not_kept_a_higher_limit_is_named() {
    let mut all = incident_report(vec![incident(); 4]);
    let mut waits = Distribution::default();
    (1..=1_000).for_each(|number| waits.record(Latency::from_nanos(number * 100_000)));
    all.recording.minutes[0].groups[0].waits = waits;
    all.recording.minutes[0].groups.truncate(1);
    all.recording.minutes[0].incidents_left_out = 900;
    let text = plain(&all.text(Detail::Brief, 120));
    assert!(text.contains("`--late-above 100ms` would keep about as many."), "{text}");
    assert!(text.contains("some may be longer than those listed"), "{text}");
    all.recording.minutes[0].incidents_left_out = 3;
    assert!(!plain(&all.text(Detail::Brief, 120)).contains("--late-above"));
}

#[test]
fn groups_of_containers_are_called_by_their_ids() {
    let id = "1f2e3d4c5b6a79880f1e2d3c4b5a69781f2e3d4c5b6a79880f1e2d3c4b5a6978";
    let mut all = IncidentReport { by: Grouping::Cgroup, ..incident_report(vec![]) };
    all.recording.minutes[0].groups[0].group = Some(format!("/docker/{id}"));
    for text in [all.text(Detail::Brief, 120), all.top(false, Detail::Brief, 120)].map(|text| plain(&text)) {
        assert!(text.contains("container 1f2e3d4c5b6a ") && !text.contains(id), "{text}");
    }
    assert!(all.json().unwrap().contains(id));
}

#[test]
fn stacks_add_up_to_what_was_waited() {
    let folded = incident_report(vec![incident(), incident()]).folded();
    let expected = "nginx;worker:1;preempted;waiting for the CPU;backup;rsync 22000000";
    assert!(folded.lines().any(|line| line == expected), "{folded}");
    let nanos = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(nanos.sum::<u64>(), 24_000_000);
}

#[test]
fn metrics_have_a_series_for_each_group_and_pair() {
    let mut counts = LateCounts::default();
    counts.add(&Line::Minute(Box::new(minute())));
    counts.add(&Line::Incident(Box::new(incident())));
    let text = late_metrics(&counts);
    for expected in [
        "howlate_late_seconds_bucket{by=\"process\",group=\"nginx\",le=\"0.00005\"} 1",
        "howlate_late_seconds_bucket{by=\"process\",group=\"nginx\",le=\"0.02\"} 2",
        "howlate_late_seconds_bucket{by=\"process\",group=\"nginx\",le=\"+Inf\"} 2",
        "howlate_late_seconds_sum{by=\"process\",group=\"cron\"} 0.000007",
        "howlate_held_up_seconds_total{victim=\"nginx\",culprit=\"backup\"} 0.011",
        "howlate_late_waits_not_kept_total 2",
        "howlate_record_minute_timestamp_seconds 1795576380",
    ] {
        assert!(text.lines().any(|line| line == expected), "{expected}\n{text}");
    }
    let empty = late_metrics(&LateCounts::default());
    assert!(empty.lines().filter(|line| !line.starts_with('#')).eq(["howlate_late_waits_not_kept_total 0"]));
}

/// A request that waited for a thread which slept, and the minute that counts it.
fn with_requests() -> IncidentReport {
    let segment = |part, kind, through: &str, from: i64, micros| {
        let cause = Cause { through: through.to_owned(), ..Cause::new(part, kind, String::new()) };
        let cause = Cause { call: "clock_nanosleep".to_owned(), ..cause };
        Segment::new(cause, None, MonotonicTime::from_nanos(from * 1_000), Span::from_micros(micros))
    };
    let parts = vec![
        Segment {
            through_pid: Some(4_711),
            ..segment(Part::Blocked, CauseKind::SystemCall, "keeper", 1_000, 9_000)
        },
        segment(Part::AtWork, CauseKind::LongWork, "", 10_000, 3_000),
    ];
    let late = incident();
    let request = Incident {
        kind: IncidentKind::Request,
        server: Some(ServerSocket::Port(80)),
        parts,
        causes: late.causes.clone(),
        ..late
    };
    let mut requests = Distribution::default();
    [90_000, 12_000_000].iter().for_each(|ns| requests.record(Latency::from_nanos(*ns)));
    let omitted = OmittedAnswers { http2: 4, ..OmittedAnswers::default() };
    let (process, server) = ("ngi\u{1b}nx".to_owned(), ServerSocket::Port(80));
    let mut report = incident_report(vec![request]);
    report.recording.minutes[0].requests =
        vec![RequestCounts { process, server, late: 1, requests, omitted }];
    report
}

#[test]
fn a_request_has_its_server_and_where_its_time_went() {
    let report = with_requests();
    let text = plain(&report.text(Detail::Brief, 120));
    for expected in [
        "nginx worker;1 (71), port 80",
        "of that, still blocked (keeper [4711] blocked in clock_nanosleep) 75 %",
        "How long requests took, counted up to 03:13:00",
        "ngi\\u{1b}nx, port 80         2     1",
        "Not among them: 4 answers of HTTP/2",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("Causes"), "what its thread waited for is an incident of its own: {text}");
    let why = plain(&report.why(&[], Detail::Full, 120));
    assert!(why.contains("(71), port 80 answered a request after 12.0 ms"), "{why}");
    assert!(why.contains("still blocked (keeper [4711] blocked in clock_nanosleep) 75 %"), "{why}");
    let document: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!((&document["requests"][0]["count"], &document["requests"][0]["late"]), (&2.into(), &1.into()));
    assert_eq!(document["omitted_answers"]["http2"], 4);
    assert_eq!(document["incidents"][0]["server"]["port"], 80);
}

#[test]
fn requests_have_metrics_of_their_own() {
    let report = with_requests();
    let mut counts = LateCounts::default();
    counts.add(&Line::Minute(Box::new(report.recording.minutes[0].clone())));
    counts.add(&Line::Incident(Box::new(report.recording.incidents[0].clone())));
    let text = late_metrics(&counts);
    let expected = "howlate_request_seconds_count{server=\"ngi\\\\u{1b}nx, port 80\"} 2";
    assert!(text.lines().any(|line| line == expected), "{text}");
    assert!(!text.contains("howlate_held_up_seconds_total{"), "{text}");
}
