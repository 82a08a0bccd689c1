//! Requests that watched programs answer, from the threads that watch them to the recorder.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use howlate_analyse::watch::AnsweredRequest;
use howlate_model::{
    Cause, CauseKind, Distribution, Incident, IncidentKind, LateThread, Latency, MonotonicTime,
    OmittedAnswers, Part, RequestCounts, Segment, ServerSocket, WakeupBreakdown,
};
use howlate_watch_session::AttachError;

use crate::explain::{causes_of, few_parts};
use crate::thread_owner::{ThreadOwner, ThreadOwners};

/// Most late requests between two readings, which are a fifth of a second apart; others count as left out.
const MOST_LATE: usize = 1_000;
/// Most pairs of a program and a server: a program may listen at every port.
const MOST_SERVERS: usize = 1_000;

/// A late request, and the thread that answered it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LateRequest {
    pub(crate) thread: LateThread,
    pub(crate) request: AnsweredRequest,
}

/// Something about a server that the user should know.
#[derive(Debug)]
pub enum ServerEvent {
    /// No process has that name; its requests are measured as soon as there is one.
    Awaited { server: String },
    /// Its requests are no longer measured.
    Lost { server: String, reason: AttachError },
}

/// Requests since the last reading, shared by all who hold a clone of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedRequests(Arc<Mutex<Served>>);

#[derive(Debug, Default)]
struct Served {
    late: Vec<LateRequest>,
    left_out: u64,
    counts: BTreeMap<(String, ServerSocket), RequestCounts>,
    events: Vec<ServerEvent>,
    /// Whether there ever was one.
    has_requests: bool,
}

impl ServedRequests {
    /// A server whose process is called `process` has answered a request.
    pub(crate) fn add(&self, process: &str, server: ServerSocket, latency: Latency) {
        if let Some(counts) = self.served().counts(process, server) {
            counts.requests.record(latency);
        }
    }

    /// It was late. A process that the server has started may have answered it.
    pub(crate) fn add_late(&self, process: &str, late: LateRequest) {
        let mut served = self.served();
        if let Some(counts) = served.counts(process, late.request.socket) {
            counts.late += 1;
        }
        match served.late.len() < MOST_LATE {
            true => served.late.push(late),
            false => served.left_out += 1,
        }
    }

    /// Answers that are not among the requests.
    pub(crate) fn add_omitted(&self, process: &str, server: ServerSocket, omitted: &OmittedAnswers) {
        if let Some(counts) = self.served().counts(process, server) {
            counts.omitted.merge(omitted);
        }
    }

    /// Whether there ever was a request, or an answer that is none.
    pub(crate) fn has_requests(&self) -> bool {
        self.served().has_requests
    }

    /// Late requests since the last call, and how many there was no room for.
    pub(crate) fn take_late(&self) -> (Vec<LateRequest>, u64) {
        let mut served = self.served();
        (std::mem::take(&mut served.late), std::mem::take(&mut served.left_out))
    }

    /// All requests since the last call.
    pub(crate) fn take_counts(&self) -> Vec<RequestCounts> {
        std::mem::take(&mut self.served().counts).into_values().collect()
    }

    pub(crate) fn note(&self, event: ServerEvent) {
        self.served().events.push(event);
    }

    /// Events since the last call.
    pub(crate) fn take_events(&self) -> Vec<ServerEvent> {
        std::mem::take(&mut self.served().events)
    }

    fn served(&self) -> MutexGuard<'_, Served> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Served {
    /// `None`: there are too many servers.
    fn counts(&mut self, process: &str, server: ServerSocket) -> Option<&mut RequestCounts> {
        self.has_requests = true;
        let key = (process.to_owned(), server);
        let has_room = self.counts.len() < MOST_SERVERS || self.counts.contains_key(&key);
        let (requests, omitted) = (Distribution::default(), OmittedAnswers::default());
        let none = || RequestCounts { process: process.to_owned(), server, late: 0, requests, omitted };
        has_room.then(|| self.counts.entry(key).or_insert_with(none))
    }
}

impl LateRequest {
    /// Its incident; it was answered `at`, as date and time.
    pub(crate) fn incident(self, at: String, owners: &mut ThreadOwners) -> Incident {
        let Self { thread, request } = self;
        let AnsweredRequest { socket, arrived, answered, .. } = request;
        let latency = answered.since(arrived);
        let owner = owners.of_seen_thread(thread.tid, &thread.name, answered);
        let ThreadOwner { command, group, policy, .. } = owner;
        let thread = LateThread { command, group, policy, ..thread };
        let breakdown = request.parts.unwrap_or_else(|_| not_seen(arrived, answered));
        let causes = causes_of(&breakdown.parts, latency, owners);
        Incident {
            at,
            at_ns: answered,
            latency,
            thread,
            kind: IncidentKind::Request,
            cpu: 0,
            parts: few_parts(breakdown),
            causes,
            idle_cpu: None,
            late_above: None,
            timeline: None,
            turn: None,
            server: Some(socket),
        }
    }
}

fn not_seen(from: MonotonicTime, until: MonotonicTime) -> WakeupBreakdown {
    let ns = until.since(from);
    let cause = Cause::new(Part::NotSeen, CauseKind::Unexplained, String::new());
    let parts = vec![Segment::new(cause, None, from, ns)];
    WakeupBreakdown { at: until, latency: Latency::from_span(ns), cpu: None, parts }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Span, UndecomposedReason};
    use howlate_procfs::Root;

    use super::*;

    const PORT: ServerSocket = ServerSocket::Port(80);

    fn at(ms: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(ms * 1_000_000)
    }

    fn late(parts: Result<WakeupBreakdown, UndecomposedReason>) -> LateRequest {
        let request = AnsweredRequest { socket: PORT, arrived: at(10), answered: at(30), parts };
        let (name, process, pid, tid) = ("worker".to_owned(), "nginx".to_owned(), 4_000_000, 4_000_001);
        let thread =
            LateThread { name, process, pid, tid, command: None, uid: 33, group: None, policy: None };
        LateRequest { thread, request }
    }

    #[test]
    fn all_are_counted_and_of_late_ones_there_is_room_for_some() {
        let served = ServedRequests::default();
        let watcher = served.clone();
        watcher.add("nginx", PORT, Latency::from_nanos(20_000_000));
        watcher.add("nginx", PORT, Latency::from_nanos(1_000));
        watcher.add("redis", ServerSocket::Unix, Latency::from_nanos(1_000));
        watcher.add_omitted("redis", ServerSocket::Unix, &OmittedAnswers { http2: 3, ..Default::default() });
        (0..=MOST_LATE).for_each(|_| watcher.add_late("nginx", late(Err(UndecomposedReason::NotSeen))));
        let (found, left_out) = served.take_late();
        assert_eq!((found.len(), left_out), (MOST_LATE, 1));
        let counts = served.take_counts();
        let rows: Vec<_> = counts
            .iter()
            .map(|row| (row.process.as_str(), row.server, row.late, row.requests.count(), row.omitted.http2))
            .collect();
        let late = MOST_LATE as u64 + 1;
        assert_eq!(rows, [("nginx", PORT, late, 2, 0), ("redis", ServerSocket::Unix, 0, 1, 3)]);
        assert_eq!((served.take_late(), served.take_counts()), ((Vec::new(), 0), Vec::new()), "once");
        assert!(served.has_requests() && !ServedRequests::default().has_requests());
    }

    #[test]
    fn a_program_that_serves_at_every_port_takes_no_more_room() {
        let served = ServedRequests::default();
        (0..u16::MAX).for_each(|port| served.add("all", ServerSocket::Port(port), Latency::default()));
        assert_eq!(served.take_counts().len(), MOST_SERVERS);
    }

    #[test]
    fn the_parts_of_an_incident_are_the_whole_request_also_where_nothing_was_seen() {
        let mut owners = ThreadOwners::new(Root::at("/nonexistent"));
        let unseen = late(Err(UndecomposedReason::NotSeen)).incident("then".to_owned(), &mut owners);
        let hog = Cause::new(Part::Waiting, CauseKind::Thread, "hog".to_owned());
        let segment = |cause: &Cause, from: i64, ms: u64| {
            Segment::new(cause.clone(), None, at(from), Span::from_millis(ms))
        };
        let work = Cause::new(Part::AtWork, CauseKind::LongWork, String::new());
        let parts = vec![segment(&hog, 10, 15), segment(&work, 25, 5)];
        let breakdown = WakeupBreakdown { parts, ..not_seen(at(10), at(30)) };
        let seen = late(Ok(breakdown)).incident("then".to_owned(), &mut owners);
        for incident in [&unseen, &seen] {
            let sum: u64 = incident.parts.iter().map(|part| part.ns.as_nanos()).sum();
            assert_eq!(sum, incident.latency.as_nanos());
            assert_eq!((incident.server, incident.kind), (Some(PORT), IncidentKind::Request));
            assert_eq!((incident.thread.uid, incident.thread.process.as_str()), (33, "nginx"));
        }
        assert_eq!(seen.causes[0].name.as_deref(), Some("hog"));
    }
}
