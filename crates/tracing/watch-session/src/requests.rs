//! Requests to the servers of a watched program, by the thread that answers them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use howlate_analyse::cause::PastSleep;
use howlate_analyse::watch::{AnsweredRequest, AnsweringThread};
use howlate_model::{
    LateThread, Latency, MonotonicTime, OmittedAnswers, Request, ServerSocket, SleepSite, Span, WakeSource,
};
use howlate_procfs::{Root, Status, listening_ports};

/// Sleeps that wait for requests, about a kilobyte each: of all threads together, unless these are so many that each has the least.
const SLEEPS_OF_ALL_THREADS: usize = 16_384;
const SLEEPS_PER_THREAD: usize = 16;
/// Of threads that have not answered yet, so that the first request of each is known as well: a server may start a process for each
/// connection. Beyond so many threads, it is not.
const SLEEPS_BEFORE_ANSWERS: usize = 4;
/// So few threads that each has room for [`SLEEPS_PER_THREAD`] before it answers.
const FEW_THREADS: usize = SLEEPS_OF_ALL_THREADS / SLEEPS_PER_THREAD;
const MOST_THREADS: usize = 4_096;
/// How often it is read again at which ports servers wait.
const PORTS_EVERY: Span = Span::from_secs(1);

/// Sees every request that a watched program answers.
pub trait RequestObserver {
    /// Longer requests are late: it is known what the time of each went to.
    fn above(&self) -> Span;
    /// A request was answered.
    fn answered(&mut self, socket: ServerSocket, latency: Latency);
    /// It was late; this thread has answered it.
    fn late(&mut self, thread: LateThread, request: AnsweredRequest);
    /// Answers that are not among the requests.
    fn omitted(&mut self, socket: ServerSocket, omitted: &OmittedAnswers);
}

/// A request of which all is known.
pub(crate) struct SettledRequest {
    /// The thread that has answered it.
    pub(crate) tid: u32,
    pub(crate) request: AnsweredRequest,
    /// That thread as it was then, if the observer is to see the request as late.
    pub(crate) late: Option<LateThread>,
}

/// Whose answer it is.
pub(crate) struct AnswererNames {
    pub(crate) pid: u32,
    pub(crate) process: String,
    /// Of the thread.
    pub(crate) name: String,
}

/// The requests of a program.
pub(crate) struct Requests {
    /// A process of the network namespace in which its servers wait.
    process: u32,
    ports: BTreeSet<u16>,
    ports_read: Option<MonotonicTime>,
    threads: HashMap<u32, AnsweringThread>,
    ended: Vec<u32>,
    /// Threads that gave late answers, as they were then: they may have ended by the time that all is known of the request.
    late_threads: HashMap<u32, LateThread>,
    omitted: BTreeMap<ServerSocket, (u32, OmittedAnswers)>,
    observer: Option<Box<dyn RequestObserver>>,
    /// The user of that process.
    user: Option<u32>,
}

impl Requests {
    pub(crate) fn new(process: u32) -> Self {
        Self {
            process,
            ports: BTreeSet::new(),
            ports_read: None,
            threads: HashMap::new(),
            ended: Vec::new(),
            late_threads: HashMap::new(),
            omitted: BTreeMap::new(),
            observer: None,
            user: user_of(process),
        }
    }

    /// From now on, `observer` sees all requests.
    pub(crate) fn observe(&mut self, observer: Box<dyn RequestObserver>) {
        self.observer = Some(observer);
    }

    pub(crate) fn observer(&mut self) -> Option<&mut (dyn RequestObserver + 'static)> {
        self.observer.as_deref_mut()
    }

    /// Of a late answer, notes the thread that gave it. What only the machine knows of it is left open.
    fn note_late_thread(&mut self, request: &Request, names: impl FnOnce() -> AnswererNames) {
        let tid = request.tid;
        let begins = request.arrived.unwrap_or(request.taken);
        if self.above().is_some_and(|above| request.answered.since(begins) > above) {
            let AnswererNames { pid, process, name } = names();
            let uid = user_of(tid).or(self.user).unwrap_or_default();
            let (command, group, policy) = (None, None, None);
            self.late_threads
                .insert(tid, LateThread { name, process, pid, tid, command, uid, group, policy });
        }
    }

    fn late_thread(&self, tid: u32, request: &AnsweredRequest) -> Option<LateThread> {
        let is_late = request.latency() > Latency::from_span(self.above()?);
        self.late_threads.get(&tid).filter(|_| is_late).cloned()
    }

    fn above(&self) -> Option<Span> {
        self.observer.as_ref().map(|observer| observer.above())
    }

    /// The next answer of a thread. Of a connection that the program has made itself it is none.
    pub(crate) fn add(
        &mut self,
        request: &Request,
        now: MonotonicTime,
        names: impl FnOnce() -> AnswererNames,
    ) {
        if !request.accepted && !self.is_server(request.socket, now) {
            return;
        }
        self.note_late_thread(request, names);
        let above = self.above();
        let thread = self.threads.entry(request.tid).or_insert_with(|| AnsweringThread::new(above));
        let (_, omitted) =
            self.omitted.entry(request.socket).or_insert((request.tid, OmittedAnswers::default()));
        if let Some(arrived) = omitted.unless_omitted(request) {
            thread.record_answer(request, arrived);
        }
    }

    fn is_server(&mut self, socket: ServerSocket, now: MonotonicTime) -> bool {
        let ServerSocket::Port(port) = socket else { return true };
        if !self.ports.contains(&port) && self.ports_read.is_none_or(|read| now.since(read) >= PORTS_EVERY) {
            self.ports_read = Some(now);
            self.ports.extend(listening_ports(&Root::live(), self.process));
        }
        self.ports.contains(&port)
    }

    /// A sleep of any thread, with what the thread waited for.
    pub(crate) fn add_past_sleep(&mut self, past: &PastSleep) {
        let tid = past.sleep.tid;
        if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&tid) {
            return;
        }
        let count = self.threads.len().max(1);
        let room = (SLEEPS_OF_ALL_THREADS / count).max(SLEEPS_PER_THREAD);
        let room_before = if count > FEW_THREADS { SLEEPS_BEFORE_ANSWERS } else { SLEEPS_PER_THREAD };
        let above = self.above();
        let thread = self.threads.entry(tid).or_insert_with(|| AnsweringThread::new(above));
        thread.record_sleep(past, if thread.is_of_requests() { room } else { room_before });
        if let (Some(SleepSite::Start), WakeSource::Other(starter)) =
            (&past.sleep.slept_in, &past.sleep.woken_by)
            && let Some(starter) = starter.pid.and_then(|tid| self.threads.get_mut(&tid))
        {
            starter.note_started_thread();
        }
    }

    /// A thread has ended.
    pub(crate) fn forget(&mut self, tid: u32) {
        if self.threads.contains_key(&tid) {
            self.ended.push(tid);
        }
    }

    /// Requests of which all is known, in the order of their answers.
    pub(crate) fn settle(&mut self, now: MonotonicTime) -> Vec<SettledRequest> {
        let is_waiting = |(tid, thread): (&u32, &AnsweringThread)| thread.is_waiting().then_some(*tid);
        let waiting: Vec<u32> = self.threads.iter().filter_map(is_waiting).collect();
        let mut all = Vec::new();
        for tid in waiting {
            let Some(mut thread) = self.threads.remove(&tid) else { continue };
            let settled = thread.settle(now, |other| self.threads.get(&other));
            all.extend(settled.into_iter().map(|request| {
                let late = self.late_thread(tid, &request);
                SettledRequest { tid, request, late }
            }));
            self.threads.insert(tid, thread);
        }
        all.sort_by_key(|settled: &SettledRequest| settled.request.answered);
        let Self { threads, ended, late_threads, .. } = self;
        ended.retain(|tid| {
            let is_waiting = threads.get(tid).is_some_and(AnsweringThread::is_waiting);
            if !is_waiting {
                threads.remove(tid);
                late_threads.remove(tid);
            }
            is_waiting
        });
        all
    }

    /// Answers since the last call that are not among the requests, by socket, with a thread that has given one.
    pub(crate) fn take_omitted(&mut self) -> Vec<(u32, ServerSocket, OmittedAnswers)> {
        let taken = std::mem::take(&mut self.omitted).into_iter();
        taken
            .filter(|(_, (_, omitted))| omitted.total() > 0)
            .map(|(socket, (tid, omitted))| (tid, socket, omitted))
            .collect()
    }
}

fn user_of(tid: u32) -> Option<u32> {
    Status::read(&Root::live(), tid).effective_user()
}

#[cfg(test)]
mod tests {
    use howlate_model::RequestNumber;

    use super::*;

    struct LateAboveOneMillisecond;

    impl RequestObserver for LateAboveOneMillisecond {
        fn above(&self) -> Span {
            Span::from_millis(1)
        }

        fn answered(&mut self, _: ServerSocket, _: Latency) {}

        fn late(&mut self, _: LateThread, _: AnsweredRequest) {}

        fn omitted(&mut self, _: ServerSocket, _: &OmittedAnswers) {}
    }

    #[test]
    fn a_late_answer_is_of_the_thread_that_gave_it_even_if_that_has_ended() {
        let mut requests = Requests::new(std::process::id());
        requests.observe(Box::new(LateAboveOneMillisecond));
        let at = |micros: i64| MonotonicTime::from_nanos(micros * 1_000);
        for (tid, micros) in [(7, 2_000), (8, 500)] {
            let request = Request {
                tid,
                reader: tid,
                arrived: Some(at(0)),
                taken: at(10),
                answered: at(micros),
                socket: ServerSocket::Unix,
                accepted: true,
                number: RequestNumber::One,
            };
            let names = || AnswererNames { pid: 6, process: "server".into(), name: format!("worker {tid}") };
            requests.add(&request, at(micros), names);
            requests.forget(tid);
        }
        let settled = requests.settle(at(i64::from(u32::MAX)));
        let late: Vec<&LateThread> = settled.iter().filter_map(|settled| settled.late.as_ref()).collect();
        assert_eq!(settled.len(), 2);
        assert_eq!(late.len(), 1);
        assert_eq!((late[0].pid, late[0].process.as_str(), late[0].name.as_str()), (6, "server", "worker 7"));
    }
}
