//! A run with known numbers, as text and JSON.

use howlate_analyse::gaps::{CpuGaps, ExplainedGap, GapAccount, GapPart, GapRun, GapShare, Stall, Stalls};
use howlate_model::{
    Caveat, CpuGap, Distribution, GapCause, GapKind, Latency, MonotonicTime, Policy, Span, SpinCount,
    TracerRefusal,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::GapsReport;
use crate::detail::Detail;

const BEGAN: MonotonicTime = MonotonicTime::from_nanos(5_000_000_000);

fn cause(kind: GapKind, name: &str) -> GapCause {
    GapCause { kind, name: name.into() }
}

fn share(cause: GapCause, gaps: u64, total: u64, longest: u64) -> GapShare {
    GapShare {
        cause,
        gaps,
        in_gaps: gaps,
        total: Span::from_micros(total),
        longest: Span::from_micros(longest),
    }
}

/// 1 000 gaps of 3 µs and one of 2.5 ms within ten seconds.
fn cpu(number: u32) -> CpuGaps {
    let mut histogram = Distribution::default();
    histogram.record_n(Latency::from_nanos(3_000), 1_000);
    histogram.record(Latency::from_nanos(2_500_000));
    let gap =
        CpuGap { cpu: number, from: BEGAN.plus(Span::from_millis(1_250)), length: Span::from_micros(2_500) };
    let stolen = GapPart { cause: cause(GapKind::NoEvent, ""), length: Span::from_micros(2_490) };
    let timer = GapPart { cause: cause(GapKind::Interrupt, "local_timer"), length: Span::from_micros(10) };
    CpuGaps {
        counted: SpinCount {
            cpu: number,
            tid: 77,
            lasted: Span::from_secs(10),
            turns: 300_000_000,
            shortest: Span::from_nanos(20),
            gaps: 1_001,
            total: Span::from_micros(5_500),
            longest: gap.length,
            lost: 0,
            waited: Some(Span::from_micros(40)),
            moved: false,
        },
        histogram,
        by: vec![share(timer.cause.clone(), 1_000, 3_010, 3), share(stolen.cause.clone(), 1, 2_490, 2_500)],
        worst: vec![ExplainedGap { gap, parts: vec![stolen, timer] }],
        account: GapAccount { stolen: Some(Span::from_millis(10)), nmis: Some(0), smis: None },
    }
}

fn gaps(cpus: &[u32]) -> GapsReport {
    let stall = Stall { from: BEGAN.plus(Span::from_millis(1_250)), length: Span::from_micros(2_400) };
    let run = GapRun {
        cpus: cpus.iter().map(|number| cpu(*number)).collect(),
        stalls: Stalls { count: 1, total: stall.length, worst: vec![stall] },
        above: Span::from_micros(1),
        policy: Policy::OTHER,
        reads_ticks: true,
        megahertz: 2_000,
        not_traced: None,
        events_lost: 0,
        leaves_one: true,
        began: BEGAN,
        interrupted: false,
    };
    let began = Timestamp::from_second(1_700_000_000).unwrap();
    GapsReport {
        run,
        machine: "A machine".to_owned(),
        is_guest: true,
        began,
        zone: TimeZone::UTC,
        traces: true,
        busy: None,
    }
}

fn text(gaps: &GapsReport) -> String {
    anstream::adapter::strip_str(&gaps.text(Detail::Full, 80)).to_string()
}

#[test]
fn the_answer_names_the_worst_cpu_and_where_its_time_went() {
    let text = text(&gaps(&[1]));
    assert!(text.contains("CPU 1 lost 550 ppm of its time to gaps of 1 µs or longer"), "{text}");
    assert!(text.contains("Most of it went to: timer interrupt (55 %)."), "{text}");
    assert!(text.contains("no kernel event: probably the hypervisor"), "{text}");
    assert!(text.contains("  2.50 ms on CPU 1 at 22:13:21.250000: 2.49 ms no kernel event"), "{text}");
    assert!(text.contains("  from   2 µs  1 000  ▇"), "{text}");
    assert!(!text.contains("at the same time"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn of_many_cpus_it_fits_a_screen_with_doubts_first_and_the_answer_last() {
    let mut all = gaps(&(0..64).collect::<Vec<_>>());
    all.busy = Some(Caveat::MachineBusy { load_average_percent: 284, cpus: 2 });
    all.run.cpus[7].by = vec![share(cause(GapKind::Thread, "load-cpu"), 1, 2_530, 2_500); 9];
    all.run.cpus[7].counted.total = Span::from_micros(5_501);
    let brief = anstream::adapter::strip_str(&all.text(Detail::Brief, 80)).to_string();
    let lines: Vec<&str> = brief.lines().collect();
    assert!(lines.len() <= 40, "{} {brief}", lines.len());
    assert!(
        brief.find("! Other programs were running").unwrap() < brief.find("Gaps in µs").unwrap(),
        "{brief}"
    );
    assert!(brief.contains("load average 2.8 on 2 CPUs"), "{brief}");
    assert!(brief.contains("58 more that lost less: `--details`."), "{brief}");
    assert!(brief.contains("4 more smaller causes, and those of other CPUs: `--details`."), "{brief}");
    all.run.cpus[7].counted.waited = Some(Span::from_secs(3));
    assert!(all.text(Detail::Brief, 80).contains("Other programs had 30 % of CPU 7 while it ran"), "{brief}");
    let last = lines[lines.len() - 3..].join(" ");
    assert!(
        last.contains("CPU 7 lost") && last.contains("The largest part went to: thread load-cpu"),
        "{brief}"
    );
    assert!(!brief.contains("How long they were"), "{brief}");
}

#[test]
fn what_cpus_have_in_common_is_told() {
    let text = text(&gaps(&[1, 2]));
    assert!(text.contains("All measured CPUs were in a gap at the same time once"), "{text}");
}

#[test]
fn where_nobody_looked_no_cause_is_named() {
    let mut gaps = gaps(&[1]);
    gaps.run.not_traced = Some(TracerRefusal::NotMounted);
    let text = text(&gaps);
    assert!(!text.contains("timer interrupt") && !text.contains("hypervisor ("), "{text}");
    assert!(text.contains("What had the CPU is not known: tracefs is not mounted"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&gaps.json().unwrap()).unwrap();
    assert_eq!(json["tracer"], "none");
    assert!(json["refused"].as_str().unwrap().starts_with("tracefs"));
}

#[test]
fn a_thread_that_did_not_stay_on_its_cpu_is_told_of() {
    let mut gaps = gaps(&[1, 2]);
    gaps.run.cpus[1].counted.moved = true;
    let text = text(&gaps);
    assert!(text.contains("! The thread of CPU 2 did not stay there"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&gaps.json().unwrap()).unwrap();
    assert_eq!((&json["gaps"][0]["moved"], &json["gaps"][1]["moved"]), (&false.into(), &true.into()));
}

#[test]
fn programs_read_counts_times_and_causes() {
    let json: serde_json::Value = serde_json::from_str(&gaps(&[1]).json().unwrap()).unwrap();
    let cpu = &json["gaps"][0];
    assert_eq!((&cpu["cpu"], &cpu["count"], &cpu["total_ns"]), (&1.into(), &1_001.into(), &5_500_000.into()));
    assert!((cpu["ppm"].as_f64().unwrap() - 550.0).abs() < 1e-6);
    assert_eq!((&cpu["by"][1]["kind"], &cpu["by"][1]["gaps"]), (&"no_event".into(), &1.into()));
    assert_eq!(cpu["worst"][0]["at_ns"], 6_250_000_000_u64);
    assert_eq!(cpu["worst"][0]["time"], "2023-11-14T22:13:21.25Z");
    assert_eq!(cpu["histogram"].as_array().unwrap().len(), 2);
    assert_eq!(json.get("stalls"), None, "one CPU alone has no others");
}
