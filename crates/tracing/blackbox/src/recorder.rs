//! The recorder's loop: reads waits, filters and explains them, writes lines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use howlate_linux::termination::{raise_termination_priority, with_immediate_termination};
use howlate_linux::{clock, sched};
use howlate_model::{
    AsText, EndReason, Header, Incident, IncidentKind, LateThread, LateThreshold, LateWait, Line, Mark,
    MissingProbes, MonotonicTime, RecordingEnd, Span, TracerRefusal, WaitClock, WaitCounts, WaitGroup,
    WaitMinute, WriteFailure,
};
use howlate_procfs::Root;
use howlate_recording::{
    RotatedRecording, RotationError, RotationLimits, SideFile, TimelineQuota, WorstTimelines, compact,
    date_and_time, timeline_text,
};
use howlate_session::{ActionRunner, LateAction};
use howlate_trace::{LateReader, LateThresholds, ring_events};
use howlate_watch_session::AttachError;
use jiff::Timestamp;

use crate::background_priority::{RecorderPriority, at_start_priority};
use crate::disk_health::{DiskEvent, DiskHealth};
use crate::explain::{incident, incident_away};
use crate::notify::ServiceManager;
use crate::offered_loops::OfferedLoops;
use crate::pending_incidents::{PendingIncidents, lanes};
use crate::rate_limit::{RateLimit, UserRateLimits};
use crate::requests::{self, ListenError, Request, RequestSocket, SnapRequest, is_own};
use crate::served_requests::{LateRequest, ServedRequests, ServerEvent};
use crate::servers::Servers;
use crate::snap_lines::{snap_file_name, snap_lines};
use crate::thread_filter::{PolicyKind, ThreadFilter, ThreadProperties, policy_name};
use crate::thread_owner::ThreadOwners;
use crate::threshold::Threshold;

/// Interval of reading when no thread was late: programs may have sent requests.
const LOOK: Span = Span::from_millis(200);
/// Minimum interval of reading. A CPU that switches 400 000 times a second overwrites its history in
/// less than four of these.
const BETWEEN_LOOKS: Span = Span::from_millis(50);
const MINUTE: Span = Span::from_secs(60);

/// Maximum incidents of the last reading: each takes milliseconds on a busy machine, and whoever ends the recorder waits. The others count
/// as left out.
const AT_THE_END: usize = 10;

/// Maximum characters of [`holder`].
const HOLDER: usize = 250;

/// Options of `howlate record`.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// Waits longer than this are incidents.
    pub late_above: LateThreshold,
    /// Event loops that are away from their events for longer are incidents.
    pub loop_above: Span,
    /// Threads that are recorded.
    pub filter: ThreadFilter,
    /// Folder of the rotated recording.
    pub folder: PathBuf,
    /// Size and age after which files are removed.
    pub bounds: RotationLimits,
    /// Length of the timelines.
    pub keep: Span,
    /// Maximum number of incidents with a timeline.
    pub timelines: TimelineQuota,
    /// Actions for each incident.
    pub on_late: Vec<LateAction>,
    /// `None`: until a signal.
    pub duration: Option<Span>,
    /// Names or ids of servers whose requests are measured; longer ones than the least that counts as late are incidents.
    pub servers: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// No tracer reports waits.
    #[error("waits of all threads cannot be seen here: {0}")]
    NotSeen(TracerRefusal),
    /// Requests of a server cannot be measured; the reason is worded where options are known.
    #[error("requests to servers cannot be measured")]
    NotServed(AttachError),
    /// The recording cannot be written.
    #[error(transparent)]
    NotKept(#[from] RotationError),
}

/// Numbers of a finished recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingSummary {
    pub incidents: u64,
    /// Incidents above the rate limit.
    pub left_out: u64,
    /// Incidents for which the ring buffer had no room.
    pub lost: u64,
    /// Lines that could not be written.
    pub not_written: u64,
    /// Reason for the first of them.
    pub why_not_written: Option<AsText<WriteFailure>>,
    /// Requested timelines that could not be written.
    pub snaps_not_written: u64,
    /// Requests for a timeline above the rate limit.
    pub snaps_left_out: u64,
    /// `--on-late` commands not run, because the previous one was still running.
    pub commands_left_out: u64,
    /// Whether `--on-late stop` ended it.
    pub stopped: bool,
    /// Whether the folder or the file was removed or renamed.
    pub folder_removed: bool,
    /// Whether requests were to be measured, and there was none.
    pub lacks_requests: bool,
}

/// Flags set by signal handlers.
#[derive(Clone, Debug, Default)]
pub struct SignalFlags {
    pub end: Arc<AtomicBool>,
    /// Write the timelines of all CPUs.
    pub snap: Arc<AtomicBool>,
}

/// Live output of the recorder.
pub trait RecorderDisplay {
    /// New incidents, in order of time.
    fn show(&mut self, new: &[Incident], summary: &RecordingSummary);
    /// Marks that the user set since the last call.
    fn marks(&mut self) -> Vec<MonotonicTime>;
    /// Writing failed, or works again.
    fn disk_event(&mut self, event: &DiskEvent);
    /// Programs cannot send requests.
    fn requests_unavailable(&mut self, error: &ListenError);
    /// A server is awaited, or its requests are no longer measured.
    fn server_event(&mut self, event: ServerEvent);
}

/// Records until a signal or the end of the duration. `begin` builds the first line of each file; `started` is called
/// with the file and with what cannot be seen as soon as recording is complete, and returns the display.
///
/// # Errors
///
/// When it cannot begin, or the kernel refuses later what it allowed before. Lines written until then remain.
pub fn record(
    options: &RecorderOptions,
    signals: &SignalFlags,
    mut begin: impl FnMut() -> Header + 'static,
    started: impl FnOnce(&std::path::Path, &MissingProbes) -> Box<dyn RecorderDisplay>,
) -> Result<RecordingSummary, RecordError> {
    let (header, requests, end) = (begin(), ServedRequests::default(), AtomicBool::new(false));
    let servers = Servers {
        processes: &options.servers,
        late_above: options.late_above.least(),
        header: &header,
        requests: &requests,
        end: &end,
    };
    std::thread::scope(|scope| {
        let result = record_beside(options, signals, begin, started, (servers, scope));
        // Also where it could not begin.
        end.store(true, Ordering::Relaxed);
        result
    })
}

/// Records while the servers are watched by threads of `scope`.
fn record_beside<'s, 'a>(
    options: &RecorderOptions,
    signals: &SignalFlags,
    begin: impl FnMut() -> Header + 'static,
    started: impl FnOnce(&std::path::Path, &MissingProbes) -> Box<dyn RecorderDisplay>,
    (servers, scope): (Servers<'a>, &'s Scope<'s, 'a>),
) -> Result<RecordingSummary, RecordError> {
    // The tracer first: if it fails, no folder is created.
    let mut threshold = Threshold::begin(options.late_above);
    let late = LateThresholds { above: threshold.now(), loop_above: options.loop_above };
    let own_policy = sched::policy(sched::THIS_THREAD).ok();
    let begin_reading = || LateReader::begin(late, ring_events(options.keep));
    let reader = with_immediate_termination(|| at_start_priority(begin_reading));
    let mut reader = reader.map_err(RecordError::NotSeen)?;
    let watching = servers.watch(scope).map_err(RecordError::NotServed)?;
    let began = clock::now();
    let recording = RotatedRecording::open(&options.folder, &holder(), options.bounds, begin)?;
    if threshold.recall(recording.path()) {
        reader.late_above(threshold.now()).map_err(RecordError::NotSeen)?;
    }
    // The socket is open before `started` announces the recording.
    let socket = requests::socket_path().map(|path| RequestSocket::open(&path));
    let mut display = started(recording.path(), reader.unseen());
    let socket =
        socket.and_then(|socket| socket.inspect_err(|error| display.requests_unavailable(error)).ok());
    let manager = ServiceManager::find(|name| std::env::var(name).ok());
    manager.ready();
    let now = clock::now();
    let (owners, rate_limit) = (ThreadOwners::new(Root::live()), RateLimit::for_incidents(now));
    let minute = MinuteCounts::begin(began);
    let worst = WorstTimelines::new(options.timelines);
    let worst_reported = WorstTimelines::new(few(options.timelines));
    let (actions, pending, summary) = (ActionRunner::new(own_policy), None, RecordingSummary::default());
    let disk = DiskHealth::default();
    let (offered_loops, turn_limit, snap_limit) =
        (OfferedLoops::default(), UserRateLimits::for_turns(), UserRateLimits::for_snaps());
    let mut recorder = BlackboxRecorder {
        options,
        reader,
        threshold,
        recording,
        disk,
        owners,
        rate_limit,
        minute,
        worst,
        worst_reported,
        actions,
        pending,
        summary,
        display,
        manager,
        socket,
        offered_loops,
        turn_limit,
        snap_limit,
        priority: RecorderPriority::new(&signals.end),
        served: servers.requests.clone(),
    };
    let how_ended = recorder.run(signals)?;
    // The last requests of each are handed over at its end.
    servers.end(watching);
    recorder.end(how_ended)
}

/// Description of this process, for the error message of a second recorder.
fn holder() -> String {
    let arguments: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let since = Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC");
    let description = format!("process {}, since {since}: {}", std::process::id(), arguments.join(" "));
    description.chars().take(HOLDER).collect()
}

/// Counters of the current minute.
struct MinuteCounts {
    from: MonotonicTime,
    until: MonotonicTime,
    lost: u64,
    left_out: u64,
    unseen: u64,
    snaps_left_out: u64,
}

impl MinuteCounts {
    /// Ends with the minute of the wall clock, unless that clock is set.
    fn begin(from: MonotonicTime) -> Self {
        let into_minute = clock::now_on(WaitClock::Realtime)
            .rem_euclid(i64::try_from(MINUTE.as_nanos()).unwrap_or(i64::MAX));
        let remaining = MINUTE.minus(Span::from_nanos(into_minute.unsigned_abs()));
        Self { from, until: from.plus(remaining), lost: 0, left_out: 0, unseen: 0, snaps_left_out: 0 }
    }
}

struct BlackboxRecorder<'a> {
    options: &'a RecorderOptions,
    reader: LateReader,
    threshold: Threshold,
    recording: RotatedRecording,
    disk: DiskHealth,
    owners: ThreadOwners,
    rate_limit: RateLimit,
    minute: MinuteCounts,
    worst: WorstTimelines,
    /// Worst turns reported by programs of other users.
    worst_reported: WorstTimelines,
    actions: ActionRunner,
    pending: Option<PendingIncidents>,
    summary: RecordingSummary,
    display: Box<dyn RecorderDisplay>,
    manager: ServiceManager,
    socket: Option<RequestSocket>,
    offered_loops: OfferedLoops,
    turn_limit: UserRateLimits,
    snap_limit: UserRateLimits,
    priority: RecorderPriority<'a>,
    served: ServedRequests,
}

impl BlackboxRecorder<'_> {
    fn run(&mut self, signals: &SignalFlags) -> Result<EndReason, RecordError> {
        let start = clock::now();
        loop {
            let remaining =
                self.options.duration.map_or(LOOK, |duration| duration.minus(clock::now().since(start)));
            self.pause(LOOK.min(remaining));
            self.requests()?;
            self.look(usize::MAX)?;
            self.check_disk();
            self.manager.alive(clock::now());
            if signals.snap.swap(false, Ordering::Relaxed) {
                self.snap(&[])?;
            }
            if clock::now() >= self.minute.until {
                self.end_minute()?;
            }
            if !self.recording.is_in_place() {
                return Ok(EndReason::Interrupted);
            }
            if self.summary.stopped {
                return Ok(EndReason::StoppedAbove);
            }
            if signals.end.load(Ordering::Relaxed) {
                return Ok(EndReason::Interrupted);
            }
            if self.options.duration.is_some_and(|duration| clock::now().since(start) >= duration) {
                return Ok(EndReason::Done);
            }
        }
    }

    /// Waits for late threads, at most `most`; a signal ends it early.
    fn pause(&mut self, most: Span) {
        let (start, least) = (clock::now(), BETWEEN_LOOKS.min(most));
        if clock::sleep_for(least).is_ok() {
            self.priority.note_wakeup(clock::now().since(start).minus(least));
            self.reader.wait(most.minus(least));
        }
    }

    /// Records what was late since the last call: of that, the `most` longest.
    fn look(&mut self, most: usize) -> Result<(), RecordError> {
        let now = clock::now();
        self.owners.at(now);
        let Self { options, reader, owners, rate_limit, threshold, .. } = self;
        let is_wanted = |wait: &LateWait| includes_wait(&options.filter, wait, owners);
        let (read, waits) = reader
            .read(is_wanted, |count| rate_limit.take(count.min(most), now))
            .map_err(RecordError::NotSeen)?;
        self.minute.lost += read.lost;
        self.minute.unseen += read.unseen;
        self.minute.left_out += read.left_out;
        let ahead = clock::offset_from_monotonic(WaitClock::Realtime);
        let mut new = Vec::new();
        for wait in waits {
            let at = wait.sleep.switched_in.map(|at| date_and_time(at, ahead)).unwrap_or_default();
            let above = threshold.of(wait.late);
            let with_threshold = |incident: Incident| Incident { late_above: above, ..incident };
            new.extend(incident(&wait, at, owners).map(with_threshold));
        }
        new.extend(self.late_loops(read.at, ahead));
        new.extend(self.reported_turns(read.at, ahead));
        new.extend(self.late_requests(most, read.at, ahead));
        self.served.take_events().into_iter().for_each(|event| self.display.server_event(event));
        self.summary.incidents += new.len() as u64;
        self.display.show(&new, &self.summary);
        self.display.marks().into_iter().for_each(|at| self.recording.write(&Line::Mark(Mark { at })));
        self.actions.look(read.at);
        for incident in new.iter().filter(|incident| {
            !is_reported_by_others(incident) || self.options.filter.names(incident.thread.uid)
        }) {
            self.summary.stopped |=
                self.actions.take(&self.options.on_late, &|| serde_json::to_vec(incident), read.at);
        }
        self.write_or_defer(new, read.at)
    }

    /// Event loops that returned late to their events.
    fn late_loops(&mut self, now: MonotonicTime, ahead: i64) -> Vec<Incident> {
        let Self { options, reader, owners, rate_limit, minute, .. } = self;
        let away = reader.take_away();
        let late = away
            .iter()
            .map(|loop_away| incident_away(loop_away, date_and_time(loop_away.until, ahead), owners));
        let late =
            late.filter(|loop_away| includes_thread(&options.filter, &loop_away.thread)).collect::<Vec<_>>();
        let allowed = rate_limit.take(late.len(), now);
        minute.left_out += late.len().saturating_sub(allowed) as u64;
        longest(late, allowed)
    }

    /// Late requests of watched programs: of those that the rate limit allows, the `most` longest.
    fn late_requests(&mut self, most: usize, now: MonotonicTime, ahead: i64) -> Vec<Incident> {
        let Self { served, owners, rate_limit, minute, .. } = self;
        let (mut late, left_out) = served.take_late();
        late.sort_by_key(|late| std::cmp::Reverse(late.request.latency()));
        let allowed = rate_limit.take(late.len().min(most), now);
        minute.left_out += left_out + late.len().saturating_sub(allowed) as u64;
        late.truncate(allowed);
        late.sort_by_key(|late| late.request.answered);
        let incident = |late: LateRequest| {
            let at = date_and_time(late.request.answered, ahead);
            late.incident(at, owners)
        };
        late.into_iter().map(incident).collect()
    }

    /// Late loop turns reported by programs, rate limited by user, the longest first.
    fn reported_turns(&mut self, now: MonotonicTime, ahead: i64) -> Vec<Incident> {
        let Self { options, offered_loops, owners, turn_limit, minute, .. } = self;
        let mut all = Vec::new();
        for (uid, mut turns) in offered_loops.look(now) {
            turns.sort_by_key(|turn| std::cmp::Reverse(turn.latency()));
            let allowed = turn_limit.take(uid, turns.len(), now);
            minute.left_out += turns.len().saturating_sub(allowed) as u64;
            all.extend(turns.into_iter().take(allowed).map(|turn| turn.incident(ahead, owners)));
        }
        all.retain(|turn| includes_thread(&options.filter, &turn.thread));
        all.sort_by_key(|turn| turn.at_ns);
        all
    }

    /// Handles requests since the last call.
    fn requests(&mut self) -> Result<(), RecordError> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        let now = clock::now();
        let mut snaps: BTreeMap<u32, Vec<SnapRequest>> = BTreeMap::new();
        for request in socket.take(now) {
            match request {
                Request::Snap(snap) => snaps.entry(snap.peer.uid).or_default().push(snap),
                Request::Loops(memory) => self.offered_loops.add(memory),
            }
        }
        socket.receive(now);
        let mut granted = Vec::new();
        for (uid, user_requests) in snaps {
            if self.snap_limit.take(uid, 1, now) == 1 {
                granted.extend(user_requests);
            } else {
                self.minute.snaps_left_out += user_requests.len() as u64;
            }
        }
        if granted.is_empty() { Ok(()) } else { self.snap(&granted) }
    }

    /// While writing fails, each call syncs: only that shows when it works again.
    fn check_disk(&mut self) {
        if self.disk.is_failing() {
            self.sync_disk();
        }
        if let Some(event) = self.disk.take(self.recording.take_write_status()) {
            self.display.disk_event(&event);
        }
        (self.summary.not_written, self.summary.why_not_written) = self.disk.all();
    }

    fn sync_disk(&mut self) {
        self.recording.sync(clock::now_on(WaitClock::Realtime) / 1_000_000_000);
    }

    /// Writes incidents at once, unless one of them gets a timeline.
    fn write_or_defer(&mut self, new: Vec<Incident>, now: MonotonicTime) -> Result<(), RecordError> {
        match &mut self.pending {
            Some(pending) => pending.incidents.extend(new),
            None => match self.timeline_for(&new, now) {
                Some(mut pending) => {
                    pending.incidents = new;
                    self.remember(&mut pending)?;
                    self.pending = Some(pending);
                }
                None => new
                    .into_iter()
                    .for_each(|incident| self.recording.write(&Line::Incident(Box::new(incident)))),
            },
        }
        match self.pending.take() {
            Some(pending) if now >= pending.until => self.write_pending(pending, now),
            pending => {
                self.pending = pending;
                Ok(())
            }
        }
    }

    /// A timeline around the worst incident, if it ranks among the worst. Turns reported by
    /// other users' programs come second.
    fn timeline_for(&mut self, new: &[Incident], now: MonotonicTime) -> Option<PendingIncidents> {
        let most = self.options.keep;
        let pending_for = |is_reported: bool, worst: &mut WorstTimelines| {
            let candidates = new.iter().filter(|incident| is_reported_by_others(incident) == is_reported);
            let longest = candidates.max_by_key(|incident| incident.latency)?;
            worst
                .is_among_worst(longest.latency, now)
                .then(|| PendingIncidents::around(longest, most, is_reported))
        };
        pending_for(false, &mut self.worst).or_else(|| pending_for(true, &mut self.worst_reported))
    }

    fn remember(&mut self, pending: &mut PendingIncidents) -> Result<(), RecordError> {
        pending.remember(self.reader.timeline(pending.from, pending.until).map_err(RecordError::NotSeen)?);
        Ok(())
    }

    /// Writes the timeline, then the incidents, which name it. There is no timeline if the history was overwritten.
    fn write_pending(
        &mut self,
        mut pending: PendingIncidents,
        now: MonotonicTime,
    ) -> Result<(), RecordError> {
        self.remember(&mut pending)?;
        let text = pending.cpus().map(|cpus| timeline_text(cpus, &pending.lanes()));
        let (side_file, worst) = match pending.is_reported {
            false => (SideFile::Seen(compact(&pending.at)), &mut self.worst),
            true => (SideFile::Asked(format!("{}-told", compact(&pending.at))), &mut self.worst_reported),
        };
        let name = text.and_then(|text| self.recording.write_beside(&side_file, text.as_bytes()));
        if let Some(name) = &name
            && let Some(replaced) = worst.add(pending.latency, now, name.clone())
        {
            self.recording.remove_beside(&replaced);
        }
        for mut incident in std::mem::take(&mut pending.incidents) {
            incident.timeline = name.clone().filter(|_| pending.covers(&incident));
            self.recording.write(&Line::Incident(Box::new(incident)));
        }
        Ok(())
    }

    /// Writes the timelines of all CPUs to one file for all requests.
    fn snap(&mut self, requests: &[SnapRequest]) -> Result<(), RecordError> {
        let until = clock::now();
        let from = until.minus(self.options.keep);
        let cpus = self.reader.timeline(from, until).map_err(RecordError::NotSeen)?;
        let ahead = clock::offset_from_monotonic(WaitClock::Realtime);
        let side_file = SideFile::Asked(snap_file_name(&date_and_time(until, ahead), requests.first()));
        let written = self
            .recording
            .write_beside(&side_file, timeline_text(&cpus, &lanes(std::iter::empty())).as_bytes());
        self.summary.snaps_not_written += u64::from(written.is_none());
        for snap in snap_lines(requests, until, ahead, written.as_deref(), &mut self.owners) {
            self.recording.write(&Line::Snap(Box::new(snap)));
        }
        Ok(())
    }

    fn end_minute(&mut self) -> Result<(), RecordError> {
        let groups = self.reader.groups().map_err(RecordError::NotSeen)?;
        let until = clock::now();
        let groups: Vec<WaitCounts> = groups.into_iter().filter_map(|group| self.counts(group)).collect();
        let late_above = self.threshold.changing();
        if self.threshold.end_minute(&groups) {
            self.reader.late_above(self.threshold.now()).map_err(RecordError::NotSeen)?;
        }
        self.priority.end_minute();
        let minute = std::mem::replace(&mut self.minute, MinuteCounts::begin(until));
        self.summary.lost += minute.lost;
        self.summary.left_out += minute.left_out;
        let removed = self.recording.take_removed();
        let lines_lost = self.disk.unreported_lines();
        let (turns_lost, loops_left_out) = self.offered_loops.take_missing();
        self.summary.snaps_left_out += minute.snaps_left_out;
        self.recording.write(&Line::Minute(Box::new(WaitMinute {
            at: date_and_time(until, clock::offset_from_monotonic(WaitClock::Realtime)),
            from: minute.from,
            until,
            groups,
            incidents_lost: minute.lost,
            incidents_left_out: minute.left_out,
            switches_unseen: minute.unseen,
            lines_lost,
            turns_lost,
            loops_left_out,
            snaps_left_out: minute.snaps_left_out,
            late_above,
            removed,
            clock: clock::day_clock(),
            requests: self.served.take_counts(),
        })));
        self.check_disk();
        // If this line was lost, the next one reports it.
        if !self.disk.is_failing() {
            self.disk.report(lines_lost);
        }
        self.sync_disk();
        Ok(())
    }

    fn counts(&mut self, group: WaitGroup) -> Option<WaitCounts> {
        let path = self.owners.group_path(group.cgroup);
        let policy = PolicyKind::from_kernel(group.policy);
        let includes_wait = self.options.filter.includes(&ThreadProperties {
            names: &[&group.process],
            uid: group.uid,
            policy,
            group: path.as_deref(),
        });
        includes_wait.then(|| WaitCounts {
            process: group.process,
            uid: group.uid,
            group: path,
            policy: policy
                .map_or_else(|| format!("policy {}", group.policy), |policy| policy.name().to_owned()),
            late: group.late,
            waits: group.waits,
        })
    }

    fn end(mut self, how_ended: EndReason) -> Result<RecordingSummary, RecordError> {
        self.manager.stopping();
        raise_termination_priority();
        // From now on nothing is late. What was, is an incident, or counted as left out or lost.
        self.reader.late_above(Span::from_nanos(u64::MAX)).map_err(RecordError::NotSeen)?;
        self.look(AT_THE_END)?;
        if let Some(pending) = self.pending.take() {
            self.write_pending(pending, clock::now())?;
        }
        self.summary.commands_left_out = self.actions.left_out;
        self.summary.lacks_requests = !self.options.servers.is_empty() && !self.served.has_requests();
        self.end_minute()?;
        self.recording.write(&Line::End(RecordingEnd { at: clock::now(), how: how_ended }));
        self.sync_disk();
        self.check_disk();
        self.summary.folder_removed = !self.recording.is_in_place();
        // What is to be told of the last incident comes before the end.
        if self.summary.stopped {
            self.actions.finish();
        }
        Ok(self.summary)
    }
}

fn includes_wait(filter: &ThreadFilter, wait: &LateWait, owners: &mut ThreadOwners) -> bool {
    let needs_group = !filter.cgroup.is_empty() || !filter.unit.is_empty();
    let (thread, at) = (&wait.thread, wait.sleep.switched_in.unwrap_or_default());
    let group = if needs_group { owners.group(thread.cgroup, thread.pid, at) } else { None };
    filter.includes(&ThreadProperties {
        names: &[&thread.process, &thread.name],
        uid: thread.uid,
        policy: policy_name(thread.policy),
        group: group.as_deref(),
    })
}

fn includes_thread(filter: &ThreadFilter, thread: &LateThread) -> bool {
    filter.includes(&ThreadProperties {
        names: &[&thread.process, &thread.name],
        uid: thread.uid,
        policy: policy_name(thread.policy),
        group: thread.group.as_deref(),
    })
}

/// Whether only a program of another user reports it, which could be untrue.
fn is_reported_by_others(incident: &Incident) -> bool {
    incident.kind == IncidentKind::Loop && !is_own(incident.thread.uid)
}

/// A fifth of all, at least one.
fn few(limit: TimelineQuota) -> TimelineQuota {
    TimelineQuota { count: limit.count.div_ceil(5), ..limit }
}

/// The `most` longest, in order of time.
fn longest(mut incidents: Vec<Incident>, most: usize) -> Vec<Incident> {
    incidents.sort_by_key(|incident| std::cmp::Reverse(incident.latency));
    incidents.truncate(most);
    incidents.sort_by_key(|incident| incident.at_ns);
    incidents
}
