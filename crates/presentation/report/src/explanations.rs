//! Explanations of the numbers, and the tables of loops of a watched program.

use howlate_analyse::{Analysis, Outcome};
use howlate_render::{BlockedEventLoop, blocked_event_loops, event_loop_rows, meaning, slowest_iterations};

use crate::NamedRecording;
use crate::entry::Entry;
use crate::table::ReportTable;

/// Explanations; of several recordings, each prefixed with the recording's name.
pub(crate) fn meaning_lines(recordings: &[NamedRecording<'_>]) -> Vec<String> {
    let several = recordings.len() > 1;
    let of = |recording: &NamedRecording<'_>| -> Vec<String> {
        let name = if several { format!("{}: ", recording.name) } else { String::new() };
        let lines = event_loops(recording.analysis).into_iter().chain(meaning(recording.analysis));
        lines.map(|line| format!("{name}{line}")).collect()
    };
    recordings.iter().flat_map(of).collect()
}

/// Event loops that waited for events too late, with advice.
fn event_loops(analysis: &Analysis) -> Vec<String> {
    let all = blocked_event_loops(analysis);
    let sentence = |event_loop: BlockedEventLoop| {
        let to_do = event_loop.to_do.map_or_else(String::new, |text| format!(" What to do: {text}"));
        let to_name = event_loop.to_name.map_or_else(String::new, |text| format!(" {text}"));
        format!("{}{to_do}{to_name}", event_loop.sentence)
    };
    all.into_iter().map(sentence).collect()
}

const CAPTION: &str = "Event loops: time from one wait for events to the next, in µs.";

/// Event loops, and what the longest iterations of loops spent their time with, as far as there are some.
pub(crate) fn loop_tables(entries: &[Entry<'_>]) -> impl Iterator<Item = ReportTable> {
    event_loop_table(entries).into_iter().chain(slowest_table(entries))
}

const SLOWEST_CAPTION: &str = "What the longest iterations of loops, and requests, spent their time with.";

/// One row per cause, the first one of a loop with which iterations these are.
fn slowest_table(entries: &[Entry<'_>]) -> Option<ReportTable> {
    let outcomes: Vec<&Outcome> = entries.iter().map(|entry| entry.outcome).collect();
    let rows: Vec<Vec<String>> = slowest_iterations(&outcomes)
        .into_iter()
        .flat_map(|slowest| {
            let first = std::iter::once(slowest.which).chain(std::iter::repeat(String::new()));
            slowest.causes.into_iter().zip(first).map(|((share, cause), which)| vec![which, cause, share])
        })
        .collect();
    let headings = ["which", "spent with", "share"];
    (!rows.is_empty()).then(|| ReportTable::plain(SLOWEST_CAPTION, &headings, 2, rows))
}

/// One row per event loop; `None` where there is none.
fn event_loop_table(entries: &[Entry<'_>]) -> Option<ReportTable> {
    let outcomes: Vec<&Outcome> = entries.iter().map(|entry| entry.outcome).collect();
    let rows = event_loop_rows(&outcomes)?;
    let headings: Vec<&str> = rows.headings.iter().map(String::as_str).collect();
    Some(ReportTable::plain(CAPTION, &headings, 2, rows.rows))
}

#[cfg(test)]
mod tests {
    use howlate_analyse::watch::ThreadSummary;
    use howlate_model::{Activation, Condition, Iteration, LoopWait, MonotonicTime, Span, Work};

    use crate::testing::{analysis, cyclic};
    use crate::{NamedRecording, ReportInput, markdown, page};

    #[test]
    fn an_event_loop_that_stayed_away_is_on_the_page_with_what_to_do() {
        let work = Work::Watch { mechanism: Activation::Timer };
        let condition = Condition { name: Some("python3".into()), ..Condition::new(work, "6.1.0") };
        let mut analysis = analysis(vec![condition, cyclic("other", 0)]);
        analysis.header.arguments = ["watch", "--", "chrt", "-f", "80", "python3"].map(str::to_owned).into();
        let at = |ms: i64| MonotonicTime::from_nanos(ms * 1_000_000);
        let mut thread = ThreadSummary::new(0, at(0));
        let (from, until, blocked) = (at(0), at(30), Span::from_millis(29));
        let (tid, wait, file, ready) = (7, LoopWait::Epoll, Some(3), Span::ZERO);
        let iteration = Iteration {
            tid,
            wait,
            file,
            from,
            until,
            blocked,
            ready,
            quota: Span::ZERO,
            longest_sleep: None,
            stack: Vec::new(),
        };
        // Advice is for what came back, so one alone says nothing.
        (0..3).for_each(|_| thread.record_loop_iteration(&iteration, Span::from_millis(10), None, 1));
        thread.reasons(at(50), "bpf").iter().for_each(|line| analysis.add(line));
        let recordings = [NamedRecording::new("run.jsonl", &analysis)];
        let subject = ReportInput { recordings: &recordings, comparison: None };
        for text in [page(&subject), markdown(&subject, None).text] {
            assert!(
                text.contains("Event loops: time from one wait") && text.contains("above 10.0 ms"),
                "{text}"
            );
            assert!(text.contains("asyncio.to_thread"), "{text}");
        }
        assert!(page(&subject).contains("How late the threads of python3 run"));
    }
}
