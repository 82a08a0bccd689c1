//! `--requests`: a thread watches each server, as `howlate watch` does, as long as the recorder runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use howlate_analyse::watch::AnsweredRequest;
use howlate_linux::clock;
use howlate_model::{Header, LateThread, Latency, OmittedAnswers, ServerSocket, Span};
use howlate_trace::Choice;
use howlate_watch_session::{AttachError, Attachment, RequestObserver, WatchRequest, WatchSession};
use howlate_watched_program::{WatchError, WatchTarget};

use crate::served_requests::{LateRequest, ServedRequests, ServerEvent};

/// How often a server that does not run is looked for.
const LOOK_EVERY: Span = Span::from_secs(1);
/// How often it is looked whether the recorder is over.
const PAUSE: Span = Span::from_millis(50);

/// Servers whose requests are measured.
#[derive(Clone, Copy)]
pub(crate) struct Servers<'a> {
    /// Names or ids of their processes.
    pub(crate) processes: &'a [String],
    /// Longer requests are late.
    pub(crate) late_above: Span,
    /// What every watch begins with.
    pub(crate) header: &'a Header,
    /// Where the requests go.
    pub(crate) requests: &'a ServedRequests,
    /// The recorder is over.
    pub(crate) end: &'a AtomicBool,
}

impl<'a> Servers<'a> {
    /// Watches them by threads of `scope`; returns as soon as all are watched that run.
    pub(crate) fn watch<'s>(
        self,
        scope: &'s Scope<'s, 'a>,
    ) -> Result<Vec<ScopedJoinHandle<'s, ()>>, AttachError> {
        let mut threads = Vec::new();
        for process in self.processes {
            let (sender, attached) = sync_channel(1);
            threads.push(scope.spawn(move || self.follow(process, &sender)));
            // A thread that has panicked ends the recorder as well, when it is joined.
            attached.recv().unwrap_or(Ok(()))?;
        }
        Ok(threads)
    }

    /// Ends all watches, and waits for their last requests.
    pub(crate) fn end(self, threads: Vec<ScopedJoinHandle<'_, ()>>) {
        self.end.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }

    /// Watches a server, and the next one by this name, until the recorder is over. Reports the first attempt, and ends if that is refused.
    fn follow(&self, process: &str, sender: &SyncSender<Result<(), AttachError>>) {
        let mut next = match self.attach(process) {
            Err(error) if is_absent(&error) => {
                self.requests.note(ServerEvent::Awaited { server: process.to_owned() });
                None
            }
            Err(error) => return drop(sender.send(Err(error))),
            Ok(attached) => Some(attached),
        };
        drop(sender.send(Ok(())));
        let mut is_lost = false;
        while !self.end.load(Ordering::Relaxed) {
            if let Some((watching, mut target)) = next.take() {
                is_lost = false;
                drop(watching.run(&mut target, self.end));
            }
            self.pause();
            match self.attach(process) {
                Ok(attached) => next = Some(attached),
                Err(error) if is_absent(&error) => {}
                Err(reason) => {
                    if !std::mem::replace(&mut is_lost, true) {
                        self.requests.note(ServerEvent::Lost { server: process.to_owned(), reason });
                    }
                    // Another process may get this id. By name, it may have ended just now, or there are two while it is restarted.
                    if process.parse::<u32>().is_ok() {
                        return;
                    }
                }
            }
        }
    }

    fn attach(&self, process: &str) -> Result<(WatchSession, WatchTarget), AttachError> {
        let mut target = WatchTarget::running(process)?;
        let request = WatchRequest {
            tracer: Choice::Auto,
            follow: true,
            loop_above: self.late_above,
            requests: true,
            threads: &[],
            duration: None,
        };
        let attachment = Attachment::new(&request, &self.header.system.kernel, &mut target)?;
        let observer = ServerObserver {
            process: target.name().to_owned(),
            late_above: self.late_above,
            requests: self.requests.clone(),
        };
        let watching = WatchSession::unrecorded(attachment, self.header.clone());
        Ok((watching.with_request_observer(Box::new(observer)), target))
    }

    fn pause(&self) {
        let until = clock::now().plus(LOOK_EVERY);
        while clock::now() < until && !self.end.load(Ordering::Relaxed) {
            drop(clock::sleep_for(PAUSE));
        }
    }
}

/// Whether a server of that name may still begin to run.
const fn is_absent(error: &AttachError) -> bool {
    matches!(error, AttachError::Program(WatchError::NoName { .. }))
}

/// Hands the requests of one server to the recorder.
struct ServerObserver {
    process: String,
    late_above: Span,
    requests: ServedRequests,
}

impl RequestObserver for ServerObserver {
    fn above(&self) -> Span {
        self.late_above
    }

    fn answered(&mut self, socket: ServerSocket, latency: Latency) {
        self.requests.add(&self.process, socket, latency);
    }

    fn late(&mut self, thread: LateThread, request: AnsweredRequest) {
        self.requests.add_late(&self.process, LateRequest { thread, request });
    }

    fn omitted(&mut self, socket: ServerSocket, omitted: &OmittedAnswers) {
        self.requests.add_omitted(&self.process, socket, omitted);
    }
}
