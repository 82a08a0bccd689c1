//! Timelines of all CPUs around late wake-ups: their files, and a trace of all.

use howlate_analyse::Analysis;
use howlate_model::{
    Caveat, CpuTimeline, IdleCpu, LateWakeup, Latency, MonotonicTime, Part, Segment, TimelineFile,
};

use crate::caveats::caveat;
use crate::detail::{Detail, show_again};
use crate::numbers::count;
use crate::perfetto::{CpuWait, LateSlice, TraceThread, trace};
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, WARN, paint};
use crate::untrusted_text::legible;

/// Most files listed in brief.
const MOST_IN_BRIEF: usize = 3;
const HEADING_OF_ALL: &str = "Timelines of all CPUs, beside the recording, for ui.perfetto.dev";

/// The timeline files, those of the latest wake-ups first: description and file name.
pub fn timeline_files(analysis: &Analysis) -> Vec<(String, String)> {
    let mut all: Vec<&TimelineFile> = analysis.timelines.iter().collect();
    all.sort_by_key(|timeline| std::cmp::Reverse(timeline.late.first().map(|late| late.wakeup.latency)));
    all.into_iter().map(|timeline| (description(timeline), legible(&timeline.file).into_owned())).collect()
}

fn description(timeline: &TimelineFile) -> String {
    let Some(latest) = timeline.late.first() else { return format!("asked for, {}", legible(&timeline.at)) };
    let more = match timeline.late.len() {
        1 => String::new(),
        2 => ", and 1 more late wake-up".to_owned(),
        all => format!(", and {} more late wake-ups", count(all as u64 - 1)),
    };
    format!("{}{more}", late_in_words(latest))
}

/// `54.9 ms late, python3 [4213], while CPU 2, on which it may run, was idle for 30.1 ms`
fn late_in_words(late: &LateWakeup) -> String {
    let thread = if late.thread.is_empty() { "thread".into() } else { legible(&late.thread) };
    let idle = late.idle_cpu.map_or_else(String::new, |IdleCpu { cpu, idle }| {
        let idle = Latency::from_span(idle);
        format!(", while CPU {cpu}, on which it may run, was idle for {idle}")
    });
    format!("{} late, {thread} [{}]{idle}", late.wakeup.latency, late.tid)
}

/// Whether the caveat is about missing timelines, and so shown with them.
pub(crate) const fn is_about_timelines(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::TimelinesRefused { .. } | Caveat::TimelinesWithoutFile | Caveat::TimelinesMissing { .. }
    )
}

/// Why timelines are missing; with `--details` that is among the notes.
fn missing_timelines(analysis: &Analysis, detail: Detail, width: usize) -> String {
    let all = analysis.caveats.iter().filter(|caveat| is_about_timelines(caveat) && detail != Detail::Full);
    let line = |note| format!("{} {}\n", paint(WARN, "!"), wrapped(&caveat(note), width, 2));
    all.map(line).collect()
}

/// The files and why some are missing; empty if none were requested.
pub fn kept_timelines(analysis: &Analysis, detail: Detail, width: usize) -> String {
    let files = timeline_files(analysis);
    let missing_timelines = missing_timelines(analysis, detail, width);
    if files.is_empty() {
        return missing_timelines;
    }
    let shown = if detail == Detail::Full { files.len() } else { MOST_IN_BRIEF };
    let name = |(about, file): &(String, String)| format!("  {}\n    {file}\n", wrapped(about, width, 2));
    let names: String = files.iter().take(shown).map(name).collect();
    let not_shown = files.len().saturating_sub(shown);
    let more = if not_shown > 0 {
        format!("{} more with `--details`. ", count(not_shown as u64))
    } else {
        String::new()
    };
    let more =
        format!("{more}All as one trace: {}.", show_again(analysis, "--format perfetto > late.pftrace"));
    let heading = paint(HEADING, wrapped(HEADING_OF_ALL, width, 0));
    format!("{heading}\n{names}{missing_timelines}{}\n", paint(DIM, wrapped(&more, width, 0)))
}

/// A Perfetto trace of the late wake-ups and the given timelines, which may overlap.
pub fn perfetto(analysis: &Analysis, timelines: Vec<Vec<CpuTimeline>>) -> Vec<u8> {
    let mut all: Vec<LateSlice<'_>> =
        analysis.timelines.iter().flat_map(|timeline| &timeline.late).map(late).collect();
    // Slices of one track must not overlap; a marked loop and its thread have the same wake-ups.
    all.sort_by_key(|slice| (slice.thread.tid, slice.until, slice.from));
    all.dedup_by(|next, before| next.thread.tid == before.thread.tid && next.from < before.until);
    all.sort_by_key(|slice| slice.until);
    let day = analysis.timelines.first().map(|timeline| (timeline.until, timeline.at.as_str()));
    trace(&all, timelines, day)
}

fn late(late: &LateWakeup) -> LateSlice<'_> {
    let wakeup = &late.wakeup;
    let from =
        wakeup.at.minus(howlate_model::Span::from_nanos(wakeup.latency.as_nanos().max(0).unsigned_abs()));
    LateSlice {
        thread: TraceThread { tid: late.tid, pid: late.pid, name: &late.thread, process: &late.process },
        name: format!("{} late", wakeup.latency),
        from,
        until: wakeup.at,
        parts: &wakeup.parts,
        wait: wait(&wakeup.parts),
    }
}

/// The wait for a CPU: from the first such part to the last.
fn wait(parts: &[Segment]) -> Option<CpuWait> {
    let mut waits = parts.iter().filter(|part| part.cause.part == Part::Waiting);
    let first = waits.next()?;
    let last = waits.next_back().unwrap_or(first);
    let until: MonotonicTime = last.from.plus(last.ns);
    Some(CpuWait { from: first.from, until, preempted: false })
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cause, CauseKind, Header, Line, Span, WakeupBreakdown};

    use super::*;

    fn at(ms: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(ms * 1_000_000)
    }

    /// Thread 7 ran at `ran`, `ms` milliseconds late, half of it waiting.
    fn late_by(ran: i64, ms: i64) -> LateWakeup {
        let part = |part, from: i64, name: &str| {
            Segment::new(
                Cause::new(part, CauseKind::Thread, name.into()),
                None,
                at(from),
                Span::from_micros(ms.unsigned_abs() * 500),
            )
        };
        let parts = vec![part(Part::TimerSlack, ran - ms, ""), part(Part::Waiting, ran - ms / 2, "hog")];
        let latency = Latency::from_nanos(ms * 1_000_000);
        let wakeup = WakeupBreakdown { at: at(ran), latency, cpu: Some(0), parts };
        let (thread, process) = ("worker".into(), "server".into());
        LateWakeup { condition: 0, tid: 7, pid: 6, thread, process, idle_cpu: None, wakeup }
    }

    fn analysis(files: &[(&str, Vec<LateWakeup>, Option<&str>)]) -> Analysis {
        let mut analysis = Analysis::new(Header::for_conditions(Vec::new()));
        for (file, late, replaces) in files {
            analysis.add(&Line::Timeline(Box::new(TimelineFile {
                file: (*file).to_owned(),
                at: "2026-11-25T03:12:07.123456Z".into(),
                from: at(0),
                until: at(500),
                late: late.clone(),
                replaces: replaces.map(str::to_owned),
            })));
        }
        analysis
    }

    #[test]
    fn the_files_are_named_the_latest_wake_up_first() {
        let analysis = analysis(&[
            ("a", vec![late_by(100, 4)], None),
            ("b", vec![late_by(200, 20), late_by(210, 2)], None),
            ("c-snap", Vec::new(), None),
            ("d", vec![late_by(300, 9)], Some("a")),
        ]);
        let files = timeline_files(&analysis);
        let names: Vec<&str> = files.iter().map(|(_, file)| file.as_str()).collect();
        assert_eq!(names, ["b", "d", "c-snap"], "one was replaced");
        assert_eq!(files[0].0, "20.0 ms late, worker [7], and 1 more late wake-up");
        assert_eq!(files[2].0, "asked for, 2026-11-25T03:12:07.123456Z");
        let idle_cpu = Some(IdleCpu { cpu: 2, idle: Span::from_millis(3) });
        let words = late_in_words(&LateWakeup { idle_cpu, ..late_by(100, 4) });
        assert_eq!(words, "4.00 ms late, worker [7], while CPU 2, on which it may run, was idle for 3.00 ms");
    }

    #[test]
    fn what_is_brief_names_three_and_how_to_see_all() {
        let files: Vec<_> = ["a", "b", "c", "d"].map(|file| (file, vec![late_by(100, 4)], None)).into();
        let analysis = analysis(&files);
        let brief = kept_timelines(&analysis, Detail::Brief, 80);
        assert_eq!(brief.matches("worker [7]").count(), 3, "{brief}");
        assert!(brief.contains("1 more with `--details`") && brief.contains("--format perfetto"), "{brief}");
        assert_eq!(kept_timelines(&analysis, Detail::Full, 80).matches("worker [7]").count(), 4);
        assert_eq!(kept_timelines(&self::analysis(&[]), Detail::Full, 80), "");
    }

    #[test]
    fn why_there_are_none_stands_where_they_would_and_once() {
        let mut analysis = analysis(&[]);
        analysis.add(&Line::Caveat(Caveat::TimelinesWithoutFile));
        let brief = kept_timelines(&analysis, Detail::Brief, 80);
        assert!(brief.contains("Name a file with `--out`"), "{brief}");
        assert_eq!(kept_timelines(&analysis, Detail::Full, 80), "", "it is one of the notes");
        assert_eq!(crate::notes::doubts(&analysis, 9, 80), "", "no number is doubtful");
    }

    #[test]
    fn a_trace_has_each_late_wake_up_once_with_the_wait_in_it() {
        let wakeup = late_by(200, 20);
        assert_eq!(wait(&wakeup.wakeup.parts).map(|wait| (wait.from, wait.until)), Some((at(190), at(200))));
        let once = perfetto(&analysis(&[("a", vec![wakeup.clone()], None)]), Vec::new());
        let twice = perfetto(&analysis(&[("a", vec![wakeup.clone(), wakeup], None)]), Vec::new());
        assert_eq!(once, twice, "a loop and its thread are late together");
        let text = String::from_utf8_lossy(&once).into_owned();
        assert!(text.contains("20.0 ms late") && text.contains("worker") && text.contains("server"));
    }
}
