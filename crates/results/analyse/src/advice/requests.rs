//! Advice for requests to servers: by what the slowest of them spent their time with.

use howlate_model::{CauseKind, Part, ProgramLanguage, WatchedProgram};

use super::lock_holders::{Holding, waits_for};
use super::{LEAST_TIMES, Meanwhile, SHARE_OF_A_POLICY};
use crate::cause::WhyCause;
use crate::watch::Rhythm;
use crate::{Analysis, Outcome};

/// What would make the slowest requests of a server faster.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestAdvice {
    /// The server's end of the connections: `port 6379`.
    pub server: String,
    /// The share of the time of the slowest requests that it acts on, 0 to 1.
    pub share: f64,
    pub cure: RequestCure,
}

/// A remedy for slow requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestCure {
    /// More than those that answer now, as requests wait for a thread that answers earlier ones.
    MoreThreads {
        /// Threads that have answered.
        threads: u64,
        /// They were blocked for more than half of that, and not at work.
        mostly_waits: bool,
    },
    /// Less done while a lock is held, or before a thread is woken.
    ShorterLock {
        /// The thread that was waited for.
        holder: String,
        /// What it did for most of that time.
        meanwhile: Meanwhile,
    },
}

/// Advice for all servers of a watched program, that against most of their time first.
pub fn request_advice(analysis: &Analysis) -> Vec<RequestAdvice> {
    let program = analysis.program.as_deref().cloned().unwrap_or_default();
    let mut all: Vec<RequestAdvice> =
        analysis.outcomes().iter().flat_map(|outcome| of_server(outcome, &program)).collect();
    all.sort_by(|one, other| other.share.total_cmp(&one.share));
    all
}

fn of_server(outcome: &Outcome, program: &WatchedProgram) -> Vec<RequestAdvice> {
    let Some(slowest) = outcome.slowest_requests() else { return Vec::new() };
    let causes = slowest.causes;
    let cures = more_threads(outcome, &causes).into_iter().chain(shorter_locks(&causes, program));
    let server = outcome.condition.name.clone().unwrap_or_default();
    let matters = cures.filter(|(share, _)| *share >= SHARE_OF_A_POLICY);
    matters.map(|(share, cure)| RequestAdvice { server: server.clone(), share, cure }).collect()
}

fn more_threads(outcome: &Outcome, causes: &[WhyCause]) -> Option<(f64, RequestCure)> {
    let of_other_requests =
        |cause: &&WhyCause| cause.part == Some(Part::OtherRequests) && cause.wakeups >= LEAST_TIMES;
    let causes: Vec<&WhyCause> = causes.iter().filter(of_other_requests).collect();
    let share: f64 = causes.iter().map(|cause| cause.share).sum();
    let is_wait = |cause: &&&WhyCause| cause.kind == CauseKind::SystemCall;
    let waited: f64 = causes.iter().filter(is_wait).map(|cause| cause.share).sum();
    let threads = outcome.rhythm.as_deref().and_then(Rhythm::threads)?;
    Some((share, RequestCure::MoreThreads { threads, mostly_waits: waited > share / 2.0 }))
}

/// Of each thread of the program itself that is waited for with a futex. What other calls wait for is no lock.
fn shorter_locks(causes: &[WhyCause], program: &WatchedProgram) -> Vec<(f64, RequestCure)> {
    let is_lock = |cause: &&WhyCause| {
        cause.kind == CauseKind::Lock && cause.own && cause.through.is_empty() && cause.wakeups >= LEAST_TIMES
    };
    let holders = causes.iter().filter(is_lock).filter_map(|cause| cause.name.clone());
    let cure = |holder: String| {
        let waits: Vec<&WhyCause> = causes.iter().filter(|cause| waits_for(cause, &holder)).collect();
        let share = waits.iter().map(|cause| cause.share).sum();
        let meanwhile = Holding::of(waits).mostly()?;
        // The interpreter's lock is no lock of the program, and its threads answer one after the other.
        let is_interpreter =
            program.language == Some(ProgramLanguage::Python) && meanwhile == Meanwhile::Works;
        (!is_interpreter).then_some((share, RequestCure::ShorterLock { holder, meanwhile }))
    };
    holders.filter_map(cure).collect()
}

#[cfg(test)]
mod tests {
    use howlate_model::{
        Activation, Cause, CauseBlock, Latency, Ledger, Line, MonotonicTime, Segment, Span, WakeupBreakdown,
        WatchedBlock, Work,
    };

    use super::*;
    use crate::testing::analysis_of;

    /// Advice for requests that spend so many µs with each of these, answered by two threads.
    fn advised(language: Option<ProgramLanguage>, parts: &[(Cause, u64)]) -> Vec<(String, RequestCure)> {
        let mut analysis = analysis_of(&[Work::Watch { mechanism: Activation::Request }]);
        let (at, mut ledger) = (MonotonicTime::default(), Ledger::default());
        let part = |(cause, micros): &(Cause, u64)| {
            Segment::new(cause.clone(), None, at, Span::from_micros(*micros))
        };
        let length = parts.iter().map(|(_, micros)| micros).sum();
        for _ in 0..LEAST_TIMES {
            let latency = Latency::from_span(Span::from_micros(length));
            ledger.add(&WakeupBreakdown { at, latency, cpu: None, parts: parts.iter().map(part).collect() });
        }
        let tracer = "bpf".to_owned();
        let why = CauseBlock { condition: 0, round: 0, beside: 0, from: at, until: at, tracer, ledger };
        analysis.add(&Line::Why(Box::new(why)));
        let watched = WatchedBlock { condition: 0, threads: 2, ..WatchedBlock::default() };
        analysis.add(&Line::Watched(Box::new(watched)));
        analysis.program = Some(Box::new(WatchedProgram { language, ..WatchedProgram::default() }));
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        request_advice(&analysis).into_iter().map(|advice| (percent(advice.share), advice.cure)).collect()
    }

    fn work(part: Part) -> Cause {
        Cause::new(part, CauseKind::LongWork, String::new())
    }

    fn waits(kind: CauseKind, name: &str, through: &str) -> Cause {
        let (call, through) = ("futex".to_owned(), through.to_owned());
        Cause { call, through, own: true, ..Cause::new(Part::Blocked, kind, name.to_owned()) }
    }

    #[test]
    fn requests_behind_others_need_more_threads() {
        let parts = |micros| [(work(Part::AtWork), 100 - micros), (work(Part::OtherRequests), micros)];
        let more = |mostly_waits| RequestCure::MoreThreads { threads: 2, mostly_waits };
        assert_eq!(advised(None, &parts(30)), [("30 %".to_owned(), more(false))]);
        let blocked = Cause {
            call: "read".into(),
            ..Cause::new(Part::OtherRequests, CauseKind::SystemCall, String::new())
        };
        let waits = [(work(Part::AtWork), 60), (work(Part::OtherRequests), 10), (blocked, 30)];
        assert_eq!(advised(None, &waits), [("40 %".to_owned(), more(true))]);
        assert_eq!(advised(None, &parts(10)), [], "that is little");
    }

    #[test]
    fn of_a_lock_it_is_said_what_its_holder_does() {
        let lock = |meanwhile| RequestCure::ShorterLock { holder: "keeper".into(), meanwhile };
        let works = || (waits(CauseKind::Lock, "keeper", ""), 60);
        assert_eq!(
            advised(None, &[works(), (work(Part::AtWork), 40)]),
            [("60 %".to_owned(), lock(Meanwhile::Works))]
        );
        assert_eq!(advised(Some(ProgramLanguage::Python), &[works(), (work(Part::AtWork), 40)]), []);
        let off_cpu =
            [(waits(CauseKind::Thread, "hog", "keeper"), 70), (waits(CauseKind::Lock, "keeper", ""), 5)];
        assert_eq!(advised(None, &off_cpu), [("100 %".to_owned(), lock(Meanwhile::OffCpu))]);
        assert_eq!(advised(None, &off_cpu[..1]), [], "nothing shows that it is a lock");
    }
}
