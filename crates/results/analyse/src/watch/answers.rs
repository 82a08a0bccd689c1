//! What the time of requests went to, from the arrival of their data to the answer.
//!
//! ```text
//! data arrives       read                          answered
//! |------------------|-----------------------------|
//!  the thread answers                               the thread's own work, and
//!  earlier requests,  what it waited for meanwhile: other threads, and what these waited for
//!  or wakes up
//! ```

use std::collections::VecDeque;

use howlate_model::{
    Cause, CauseKind, Latency, MonotonicTime, Part, Request, Segment, ServerSocket, SleepSite, Span,
    UndecomposedReason, WakeSource, WakeupBreakdown,
};

use super::iteration_parts::LongestTenth;
use crate::cause::{PastSleep, work_parts};

/// A request waits at most this long for the records of its thread's sleeps.
const PATIENCE: Span = Span::from_secs(2);
/// Most requests of a thread that wait.
const MOST_REQUESTS: usize = 65_536;
/// Most requests of a thread of which it is known when it had them, so as to tell what it did for others.
const MOST_SPANS: usize = 64;

/// A request that was answered, and what its time went to.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredRequest {
    pub socket: ServerSocket,
    /// When its data arrived.
    pub arrived: MonotonicTime,
    /// When the answer was began.
    pub answered: MonotonicTime,
    /// Part by part, or why not.
    pub parts: Result<WakeupBreakdown, UndecomposedReason>,
}

impl AnsweredRequest {
    /// From its arrival to the answer.
    pub fn latency(&self) -> Latency {
        Latency::from_span(self.answered.since(self.arrived))
    }
}

/// A request that is answered, and waits for the records of its thread.
#[derive(Clone, Copy, Debug)]
struct WaitingRequest {
    socket: ServerSocket,
    arrived: MonotonicTime,
    /// When the thread had read it; `None` where it had it from another thread.
    taken: Option<MonotonicTime>,
    answered: MonotonicTime,
}

impl WaitingRequest {
    /// Whether the thread had the other request before it took this one up, and after this one had arrived.
    fn is_behind(&self, other: &Self) -> bool {
        let got = other.taken.unwrap_or(other.arrived);
        self.taken.is_some_and(|taken| got < taken) && other.answered > self.arrived
    }
}

/// The requests that one thread answers, and its sleeps.
#[derive(Debug, Default)]
pub struct AnsweringThread {
    waiting: VecDeque<WaitingRequest>,
    sleeps: VecDeque<PastSleep>,
    /// The last requests, in the order of their answers: those that wait, and earlier ones.
    last: VecDeque<WaitingRequest>,
    slowest: LongestTenth,
    has_started_threads: bool,
    /// Longer requests are decomposed even if they are not among the slowest; `None`: only those.
    decomposed_above: Option<Span>,
}

impl AnsweringThread {
    /// A thread of which requests longer than `above` are decomposed, besides the slowest ones.
    pub fn new(above: Option<Span>) -> Self {
        Self { decomposed_above: above, ..Self::default() }
    }

    /// Whether requests wait for the records of its sleeps.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether its sleeps are of requests: it has answered some, or has started threads.
    pub fn is_of_requests(&self) -> bool {
        !self.last.is_empty() || self.has_started_threads
    }

    /// It has started a thread, which may answer a request that had come before.
    pub fn note_started_thread(&mut self) {
        self.has_started_threads = true;
    }

    /// Takes the next sleep of the thread, for which there is `room`: beyond that, the oldest one is dropped.
    pub fn record_sleep(&mut self, past: &PastSleep, room: usize) {
        while self.sleeps.len() >= room.max(1) {
            self.sleeps.pop_front();
        }
        self.sleeps.push_back(past.clone());
    }

    /// Takes the next request that it has answered, whose data had `arrived` then.
    pub fn record_answer(&mut self, request: &Request, arrived: MonotonicTime) {
        self.slowest.record(request.answered.since(arrived));
        let taken = (request.reader == request.tid).then_some(request.taken);
        let Request { socket, answered, .. } = *request;
        let request = WaitingRequest { socket, arrived, taken, answered };
        if self.last.len() == MOST_SPANS {
            self.last.pop_front();
        }
        self.last.push_back(request);
        self.waiting.push_back(request);
    }

    fn recorded_until(&self) -> Option<MonotonicTime> {
        self.sleeps.back().and_then(|last| last.sleep.asleep_again)
    }

    /// The requests of which all is known by `now`, or will not be, in the order of their answers. `others` has the other threads: what
    /// came before this one was started is known from the one that started it.
    pub fn settle<'a>(
        &mut self,
        now: MonotonicTime,
        others: impl Fn(u32) -> Option<&'a Self>,
    ) -> Vec<AnsweredRequest> {
        let recorded_until = self.recorded_until();
        let mut settled = Vec::new();
        while let Some(request) = self.waiting.front().copied() {
            let starter = self.starter(&request).map(|(tid, at)| (others(tid), at));
            let is_starter_recorded = starter
                .is_none_or(|(thread, at)| thread.is_none_or(|thread| thread.recorded_until() >= Some(at)));
            let is_recorded =
                is_starter_recorded && recorded_until.is_some_and(|until| request.answered <= until);
            let is_overdue = now.since(request.answered) >= PATIENCE || self.waiting.len() > MOST_REQUESTS;
            let took = request.answered.since(request.arrived);
            let is_long = self.decomposed_above.is_some_and(|above| took > above);
            let is_short = !is_long && !self.slowest.has(took);
            if !is_recorded && !is_overdue && !is_short {
                break;
            }
            self.waiting.pop_front();
            let parts = match is_short {
                true => Err(UndecomposedReason::Short),
                false => {
                    let starter = starter.and_then(|(thread, _)| thread);
                    self.parts(request, starter).ok_or(UndecomposedReason::NotSeen)
                }
            };
            let WaitingRequest { socket, arrived, answered, .. } = request;
            settled.push(AnsweredRequest { socket, arrived, answered, parts });
        }
        settled
    }

    /// When the thread took a request up, at the latest: what it worked before was for others.
    fn began(&self, request: &WaitingRequest) -> MonotonicTime {
        let before = |other: &&WaitingRequest| other.answered < request.answered;
        match request.taken {
            Some(taken) if self.last.iter().any(|other| request.is_behind(other)) => taken,
            Some(_) => request.arrived,
            // It is not seen when it got that one from the thread that read it.
            None => {
                let answered = self.last.iter().filter(before).map(|other| other.answered);
                answered.max().map_or(request.arrived, |last| last.max(request.arrived))
            }
        }
    }

    /// The thread that started this one, and when, if the request had come before.
    fn starter(&self, request: &WaitingRequest) -> Option<(u32, MonotonicTime)> {
        let first = &self.sleeps.front()?.sleep;
        let WakeSource::Other(starter) = &first.woken_by else { return None };
        let was_started = first.slept_in == Some(SleepSite::Start) && request.arrived < first.waking;
        starter.pid.filter(|_| was_started).map(|tid| (tid, first.waking))
    }

    /// What it did from then until then; `None` where not all of that is known.
    fn work(&self, from: MonotonicTime, until: MonotonicTime) -> Option<Vec<Segment>> {
        // From the last sleep that was over by then to the last one that began before the end.
        let first = self.sleeps.partition_point(|past| past.sleep.waking <= from).saturating_sub(1);
        let last = self.sleeps.partition_point(|past| past.sleep.asleep_since < Some(until));
        let sleeps: Vec<PastSleep> = self.sleeps.iter().take(last).skip(first).cloned().collect();
        work_parts(&sleeps, from, until)
    }

    fn parts(&self, request: WaitingRequest, starter: Option<&Self>) -> Option<WakeupBreakdown> {
        let WaitingRequest { arrived, answered, .. } = request;
        let began = self.began(&request);
        // A thread is seen from its first sleep on; it may have been started for this request.
        let seen_from = self.sleeps.front()?.sleep.asleep_since.unwrap_or(arrived).max(arrived);
        let seen = self.work(seen_from, answered)?;
        let before = seen_from.since(arrived);
        let unseen = || {
            let cause = Cause::new(Part::NotSeen, CauseKind::Unexplained, String::new());
            vec![Segment::new(cause, None, arrived, before)]
        };
        let before = match before.is_zero() {
            true => Vec::new(),
            false => starter.and_then(|starter| starter.work(arrived, seen_from)).unwrap_or_else(unseen),
        };
        let parts = before.into_iter().chain(seen).flat_map(|part| split_at_begin(part, began)).collect();
        let latency = Latency::from_span(answered.since(arrived));
        Some(WakeupBreakdown { at: answered, latency, cpu: None, parts })
    }
}

/// Until the thread `began` with this request, its work and its own waits in system calls were for other requests. Locks, other threads
/// and all that had its CPU are causes of both.
fn split_at_begin(part: Segment, began: MonotonicTime) -> impl Iterator<Item = Segment> {
    let is_own = match part.cause.kind {
        CauseKind::LongWork => part.cause.part == Part::AtWork,
        CauseKind::SystemCall => part.cause.through.is_empty(),
        _ => false,
    };
    let before = if is_own && part.from < began { began.since(part.from).min(part.ns) } else { Span::ZERO };
    let mut before_it = Segment { ns: before, ..part.clone() };
    before_it.cause.part = Part::OtherRequests;
    let rest = Segment { from: part.from.plus(before), ns: part.ns.minus(before), ..part };
    [before_it, rest].into_iter().filter(|part| !part.ns.is_zero())
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, HolderKind, RequestNumber, SleepSite, TracedSleep};

    use super::*;
    use crate::watch::thread::testing::{at, woken};

    /// Asleep in a call since then, woken 100 ns later, ready for 20, and at work until it sleeps again.
    fn sleep(since: i64, again: i64) -> PastSleep {
        let network = CpuHolder { holder: HolderKind::Softirq, pid: None, name: "NET_RX".to_owned() };
        PastSleep::from_sleep(TracedSleep {
            asleep_since: Some(at(since)),
            slept_in: Some(SleepSite::Call("epoll_wait".to_owned())),
            asleep_again: Some(at(again)),
            ..woken(7, network, since + 100, since + 120)
        })
    }

    fn request(reader: u32, arrived: i64, taken: i64, answered: i64) -> Request {
        Request {
            tid: 7,
            reader,
            arrived: Some(at(arrived)),
            taken: at(taken),
            answered: at(answered),
            socket: ServerSocket::Port(80),
            accepted: true,
            number: RequestNumber::One,
        }
    }

    fn thread(sleeps: &[(i64, i64)], requests: &[Request]) -> AnsweringThread {
        let mut thread = AnsweringThread::default();
        sleeps.iter().for_each(|(since, again)| thread.record_sleep(&sleep(*since, *again), 16));
        requests.iter().for_each(|request| thread.record_answer(request, request.arrived.unwrap()));
        thread
    }

    /// No thread has started it.
    const fn alone(_: u32) -> Option<&'static AnsweringThread> {
        None
    }

    /// Of each request, how long each part took; the sum is its latency.
    fn parts(thread: &mut AnsweringThread, now: i64) -> Vec<Vec<(Part, u64)>> {
        let of = |answered: AnsweredRequest| {
            let latency = answered.latency();
            let Ok(breakdown) = answered.parts else { return Vec::new() };
            let mut sums: Vec<(Part, u64)> = Vec::new();
            for part in &breakdown.parts {
                match sums.iter_mut().find(|(other, _)| *other == part.cause.part) {
                    Some((_, sum)) => *sum += part.ns.as_nanos(),
                    None => sums.push((part.cause.part, part.ns.as_nanos())),
                }
            }
            let sum: u64 = sums.iter().map(|(_, sum)| sum).sum();
            assert_eq!(i64::try_from(sum).unwrap(), latency.as_nanos(), "{breakdown:?}");
            assert_eq!(latency, breakdown.latency);
            sums
        };
        thread.settle(at(now), alone).into_iter().map(of).collect()
    }

    /// Sleeps from 1 000, is woken by the data at 1 100, runs from 1 120, reads at 1 150, and answers at 1 400.
    #[test]
    fn from_its_arrival_on_a_request_waits_for_its_thread_and_then_is_worked_on() {
        let mut thread = thread(&[(0, 1_000), (1_000, 1_500)], &[request(7, 1_090, 1_150, 1_400)]);
        let expected = vec![(Part::Blocked, 10), (Part::Waiting, 20), (Part::AtWork, 280)];
        assert_eq!(parts(&mut thread, 1_500), [expected]);
    }

    /// A thread that was not seen before, and one that was not seen when the data arrived.
    #[test]
    fn the_first_request_of_a_thread_is_known_from_its_sleep_on() {
        let mut asleep = thread(&[(1_000, 1_500)], &[request(7, 1_090, 1_150, 1_400)]);
        let expected = vec![(Part::Blocked, 10), (Part::Waiting, 20), (Part::AtWork, 280)];
        assert_eq!(parts(&mut asleep, 1_500), [expected]);
        let mut started_for_it = thread(&[(1_000, 1_500)], &[request(7, 900, 990, 1_400)]);
        let expected =
            vec![(Part::NotSeen, 100), (Part::Blocked, 100), (Part::Waiting, 20), (Part::AtWork, 280)];
        assert_eq!(parts(&mut started_for_it, 1_500), [expected]);
        let mut unseen = thread(&[(1_450, 1_500)], &[request(7, 990, 1_150, 1_400)]);
        let settled = unseen.settle(at(1_500), alone);
        assert_eq!(settled[0].parts, Err(UndecomposedReason::NotSeen));
    }

    /// Thread 5 sleeps from 1 000 to 1 120, and starts this one at 1 200, which runs 20 later and sleeps from 1 300 to 1 400.
    #[test]
    fn what_came_before_a_thread_was_started_is_known_from_its_starter() {
        let starter = thread(&[(0, 1_000), (1_000, 1_500)], &[]);
        let by = CpuHolder { holder: HolderKind::Thread, pid: Some(5), name: "main".to_owned() };
        let start = PastSleep::from_sleep(TracedSleep {
            asleep_since: Some(at(1_200)),
            slept_in: Some(SleepSite::Start),
            asleep_again: Some(at(1_300)),
            ..woken(7, by, 1_200, 1_220)
        });
        let answering = || {
            let mut thread = AnsweringThread::default();
            [&start, &sleep(1_300, 1_500)].iter().for_each(|past| thread.record_sleep(past, 16));
            thread.record_answer(&request(7, 1_090, 1_250, 1_450), at(1_090));
            thread
        };
        let sums = |settled: &[AnsweredRequest]| {
            let parts = &settled[0].parts.as_ref().unwrap().parts;
            parts.iter().map(|part| (part.cause.part, part.ns.as_nanos())).collect::<Vec<_>>()
        };
        let known = answering().settle(at(1_500), |tid| (tid == 5).then_some(&starter));
        let rest = [
            (Part::Waiting, 20),
            (Part::AtWork, 80),
            (Part::Blocked, 100),
            (Part::Waiting, 20),
            (Part::AtWork, 30),
        ];
        let before = [(Part::Blocked, 10), (Part::Waiting, 20), (Part::AtWork, 80)];
        assert_eq!(sums(&known), [before.as_slice(), &rest].concat());
        let unknown = answering().settle(at(1_500), alone);
        assert_eq!(sums(&unknown), [[(Part::NotSeen, 110)].as_slice(), &rest].concat());
        let not_yet = thread(&[(0, 1_000)], &[]);
        assert_eq!(answering().settle(at(1_500), |_| Some(&not_yet)), [], "it has not slept again");
    }

    /// The second one arrives while the first one is worked on.
    #[test]
    fn what_a_thread_does_for_earlier_requests_is_not_for_this_one() {
        let requests = [request(7, 1_100, 1_130, 1_400), request(7, 1_200, 1_410, 1_450)];
        let mut in_order = thread(&[(0, 1_000), (1_000, 1_500)], &requests);
        let found = parts(&mut in_order, 1_500);
        assert_eq!(found[1], [(Part::OtherRequests, 210), (Part::AtWork, 40)]);
        // It reads both before it answers, the later one first.
        let requests = [request(7, 1_105, 1_300, 1_400), request(7, 1_110, 1_130, 1_450)];
        let mut reversed = thread(&[(0, 1_000), (1_000, 1_500)], &requests);
        let found = parts(&mut reversed, 1_500);
        assert!(found[0].contains(&(Part::OtherRequests, 180)), "{found:?}");
        assert!(!found[1].iter().any(|(part, _)| *part == Part::OtherRequests), "{found:?}");
    }

    /// It sleeps while it has the first one.
    #[test]
    fn what_it_waits_for_in_earlier_requests_is_not_for_this_one() {
        let requests = [request(7, 1_090, 1_130, 1_400), request(7, 1_200, 1_410, 1_450)];
        let mut blocked = thread(&[(0, 1_000), (1_000, 1_250), (1_250, 1_500)], &requests);
        let found = parts(&mut blocked, 1_500);
        let expected = [(Part::OtherRequests, 190), (Part::Waiting, 20), (Part::AtWork, 40)];
        assert_eq!(found[1], expected, "50 at work, 100 blocked and 40 at work for the first one");
        assert!(!found[0].iter().any(|(part, _)| *part == Part::OtherRequests), "{found:?}");
    }

    /// Another thread has read the data: this one has the request from its last answer on.
    #[test]
    fn a_thread_of_a_pool_begins_after_its_last_answer() {
        let requests = [request(8, 1_100, 1_110, 1_400), request(8, 1_200, 1_210, 1_450)];
        let mut thread = thread(&[(0, 1_000), (1_000, 1_500)], &requests);
        let found = parts(&mut thread, 1_500);
        assert_eq!(found[1], [(Part::OtherRequests, 200), (Part::AtWork, 50)]);
        assert!(!found[0].iter().any(|(part, _)| *part == Part::OtherRequests), "{found:?}");
    }

    /// So many that the longest tenth of them is known.
    const MANY: usize = 1_100;

    #[test]
    fn where_all_are_long_all_are_decomposed() {
        let decomposed = |above: Option<Span>| {
            let mut thread = AnsweringThread::new(above);
            for number in (1..).take(MANY) {
                let from = number * 10_000;
                thread.record_sleep(&sleep(from, from + 10_000), usize::MAX);
                let arrived = from + 200;
                thread.record_answer(&request(7, arrived, from + 300, from + 9_000 - number), at(arrived));
            }
            let settled = thread.settle(at(1_000_000_000), alone);
            assert_eq!(settled.len(), MANY);
            settled.into_iter().filter(|request| request.parts.is_ok()).count()
        };
        assert_eq!(decomposed(Some(Span::from_nanos(100))), MANY);
        assert!(decomposed(None) < MANY / 2);
    }

    #[test]
    fn a_request_waits_for_the_records_of_its_thread() {
        let mut thread = thread(&[(0, 1_000)], &[request(7, 1_100, 1_130, 1_400)]);
        assert_eq!(parts(&mut thread, 1_500), [] as [Vec<_>; 0]);
        thread.record_sleep(&sleep(1_000, 1_500), 16);
        assert_eq!(parts(&mut thread, 1_500).len(), 1);
        thread.record_answer(&request(7, 1_600, 1_610, 1_700), at(1_600));
        let settled = thread.settle(at(1_700).plus(PATIENCE), alone);
        assert_eq!(settled[0].parts, Err(UndecomposedReason::NotSeen), "they never came");
        assert_eq!(settled[0].latency(), Latency::from_nanos(100));
    }

    #[test]
    fn of_many_requests_the_slowest_tenth_is_taken_apart() {
        let mut thread = AnsweringThread::default();
        let mut slow = 0;
        for number in 0..4_000 {
            let (begin, length) = (number * 10_000, 200 + number % 20 * 20);
            thread.record_sleep(&sleep(begin - 9_000, begin), 16);
            thread.record_sleep(&sleep(begin, begin + 1_000), 16);
            thread
                .record_answer(&request(7, begin + 100, begin + 100, begin + 100 + length), at(begin + 100));
            let settled = thread.settle(at(begin + 1_000), alone);
            assert_eq!(settled.len(), 1);
            let is_short = settled[0].parts == Err(UndecomposedReason::Short);
            assert!(settled[0].parts.is_ok() || is_short && number >= 1_000 && length < 560, "{number}");
            slow += u32::from(is_short);
        }
        assert!(slow > 2_000, "{slow}");
    }
}
