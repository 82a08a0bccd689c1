//! Requests to the servers of a watched program, by the thread that answers them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use howlate_analyse::cause::PastSleep;
use howlate_analyse::watch::{AnsweredRequest, AnsweringThread};
use howlate_model::{MonotonicTime, OmittedAnswers, Request, ServerSocket, Span};
use howlate_procfs::{Root, listening_ports};

/// Sleeps that wait for requests, about a kilobyte each: of all threads together, unless these are so many that each has the least.
const SLEEPS_OF_ALL_THREADS: usize = 16_384;
const SLEEPS_PER_THREAD: usize = 16;
/// How often it is read again at which ports servers wait.
const PORTS_EVERY: Span = Span::from_secs(1);

/// The requests of a program.
pub(crate) struct Requests {
    /// A process of the network namespace in which its servers wait.
    process: u32,
    ports: BTreeSet<u16>,
    ports_read: Option<MonotonicTime>,
    threads: HashMap<u32, AnsweringThread>,
    ended: Vec<u32>,
    omitted: BTreeMap<ServerSocket, (u32, OmittedAnswers)>,
}

impl Requests {
    pub(crate) fn new(process: u32) -> Self {
        Self {
            process,
            ports: BTreeSet::new(),
            ports_read: None,
            threads: HashMap::new(),
            ended: Vec::new(),
            omitted: BTreeMap::new(),
        }
    }

    /// The next answer of a thread. Of a connection that the program has made itself it is none.
    pub(crate) fn add(&mut self, request: &Request, now: MonotonicTime) {
        if !request.accepted && !self.is_server(request.socket, now) {
            return;
        }
        let thread = self.threads.entry(request.tid).or_default();
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
        let room = (SLEEPS_OF_ALL_THREADS / self.threads.len().max(1)).max(SLEEPS_PER_THREAD);
        if let Some(thread) = self.threads.get_mut(&past.sleep.tid) {
            thread.record_sleep(past, room);
        }
    }

    /// A thread has ended.
    pub(crate) fn forget(&mut self, tid: u32) {
        if self.threads.contains_key(&tid) {
            self.ended.push(tid);
        }
    }

    /// Requests of which all is known, with the threads that have answered them.
    pub(crate) fn settle(&mut self, now: MonotonicTime) -> Vec<(u32, AnsweredRequest)> {
        let settled = |(tid, thread): (&u32, &mut AnsweringThread)| {
            let tid = *tid;
            thread.settle(now).into_iter().map(move |request| (tid, request)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.threads.iter_mut().flat_map(settled).collect();
        all.sort_by_key(|(_, request)| request.answered);
        let Self { threads, ended, .. } = self;
        ended.retain(|tid| {
            let is_waiting = threads.get(tid).is_some_and(AnsweringThread::is_waiting);
            if !is_waiting {
                threads.remove(tid);
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
