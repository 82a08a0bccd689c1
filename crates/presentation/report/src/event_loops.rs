//! How long the event loops of a watched program stayed away from the call in which they wait.

use howlate_analyse::Outcome;
use howlate_render::event_loop_rows;

use crate::entry::Entry;
use crate::table::Table;

const CAPTION: &str = "Event loops: time from one wait for events to the next, in µs.";

/// A row for each; `None` where nothing has one.
pub(crate) fn table(entries: &[Entry<'_>]) -> Option<Table> {
    let outcomes: Vec<&Outcome> = entries.iter().map(|entry| entry.outcome).collect();
    let found = event_loop_rows(&outcomes)?;
    let headings: Vec<&str> = found.headings.iter().map(String::as_str).collect();
    Some(Table::plain(CAPTION, &headings, 2, found.rows))
}

#[cfg(test)]
mod tests {
    use howlate_analyse::watch::ThreadSummary;
    use howlate_model::{Activation, Condition, Iteration, LoopWait, MonotonicTime, Span, Work};

    use crate::testing::{analysis, cyclic};
    use crate::{Recording, Subject, markdown, page};

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
        let one = Iteration {
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
        (0..3).for_each(|_| thread.iterated(&one, Span::from_millis(10), None, 1));
        thread.reasons(at(50), "bpf").iter().for_each(|line| analysis.add(line));
        let recordings = [Recording::new("run.jsonl", &analysis)];
        let subject = Subject { recordings: &recordings, comparison: None };
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
