//! The loop: looks, chooses, explains, keeps.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::clock;
use howlate_linux::termination::{go_first, while_nothing_is_kept};
use howlate_model::{
    AsText, EndReason, Header, Incident, IncidentKind, LateThread, LateThreshold, LateWait, Line, Mark,
    MissingProbes, MonotonicTime, RecordingEnd, Span, TracerRefusal, WaitClock, WaitCounts, WaitGroup,
    WaitMinute, WriteFailure,
};
use howlate_procfs::Root;
use howlate_recording::{
    AtMost, Bounds, NotRotated, Rotated, SideFile, Worst, compact, date_and_time, timeline_text,
};
use howlate_trace::{LateReader, TooLate, events_in};
use jiff::Timestamp;

use crate::action::{Action, Actions};
use crate::background_priority::RecorderPriority;
use crate::chosen::{Candidate, Chosen, PolicyName, policy_name};
use crate::explain::{incident, incident_away};
use crate::held::{Held, lanes};
use crate::keeping::{DiskNews, Keeping};
use crate::notify::ServiceManager;
use crate::offered_loops::OfferedLoops;
use crate::rate::{Rate, RateOfUser};
use crate::requests::{self, NotListening, Request, RequestSocket, SnapRequest, is_own};
use crate::snapped::{name_of, snapped};
use crate::thread_owner::Origins;
use crate::threshold::Threshold;

/// It looks when somebody was late, and this often if nobody was: programs ask for something as well.
const LOOK: Span = Span::from_millis(200);
/// Not more often than this, however many are late. A CPU that passes from one thread to another 400 000 times a second writes over
/// what it did in less than four times that.
const BETWEEN_LOOKS: Span = Span::from_millis(50);
const MINUTE: Span = Span::from_secs(60);

/// Letters of what a second recorder is told of this one.
const HOLDER: usize = 250;

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Asked {
    /// A wait longer than this is an incident.
    pub late_above: LateThreshold,
    /// An event loop that is away from its events for longer than this is one.
    pub loop_above: Span,
    /// Which threads are recorded.
    pub chosen: Chosen,
    /// The folder of the rotated recording.
    pub out: PathBuf,
    /// How much is kept.
    pub bounds: Bounds,
    /// How much of what CPUs did is remembered.
    pub keep: Span,
    /// How many incidents get a timeline of it.
    pub timelines: AtMost,
    /// What is done about each incident.
    pub on_late: Vec<Action>,
    /// For how long; `None`: until it is to end.
    pub duration: Option<Span>,
}

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum NotRecorded {
    /// Nobody tells of waits.
    #[error("waits of all threads cannot be seen here: {0}")]
    NotSeen(TracerRefusal),
    /// They cannot be kept.
    #[error(transparent)]
    NotKept(#[from] NotRotated),
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// How many were kept,
    pub incidents: u64,
    /// left out because there were too many,
    pub left_out: u64,
    /// and lost, because the ring had no room for them.
    pub lost: u64,
    /// Lines that are missing because the disk refused them,
    pub not_written: u64,
    /// and why it refused the first of them.
    pub why_not_written: Option<AsText<WriteFailure>>,
    /// What CPUs did when somebody asked for it, for which there was no room.
    pub snaps_not_kept: u64,
    /// Requests of programs for it that were too many.
    pub snaps_left_out: u64,
    /// Commands that were not run, as the one before still did.
    pub commands_left_out: u64,
    /// Whether it ended because something was late,
    pub stopped: bool,
    /// or because its folder, or the file in it, was removed or renamed.
    pub is_gone: bool,
}

/// Signals that are obeyed.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Set by whoever wants recording to end.
    pub end: Arc<AtomicBool>,
    /// To keep what all CPUs have done just now.
    pub snap: Arc<AtomicBool>,
}

/// Where it is shown what is recorded.
pub trait Display {
    /// Shows what has come since the last time: incidents, in order of time.
    fn show(&mut self, new: &[Incident], so_far: &Finished);
    /// Moments that somebody who watched it has marked since the last time.
    fn marks(&mut self) -> Vec<MonotonicTime>;
    /// Tells that the disk refuses what is recorded, or takes it again.
    fn disk(&mut self, news: &DiskNews);
    /// Tells why programs cannot ask for anything.
    fn cannot_be_asked(&mut self, why: &NotListening);
}

/// Records until it is to end or the time is over. `begin` makes the first line of each file; `started` is told
/// where the files are as soon as nothing is missed any more, and what is not seen here, and says where it is shown
/// meanwhile.
///
/// # Errors
///
/// When it cannot begin, or the kernel refuses later what it allowed before. What was recorded until then stays.
pub fn record(
    asked: &Asked,
    requests: &Requests,
    begin: impl FnMut() -> Header + 'static,
    started: impl FnOnce(&std::path::Path, &MissingProbes) -> Box<dyn Display>,
) -> Result<Finished, NotRecorded> {
    // Where nothing can be seen, no folder is made.
    let mut threshold = Threshold::begin(asked.late_above);
    let late = TooLate { above: threshold.now(), loop_above: asked.loop_above };
    let reader = while_nothing_is_kept(|| LateReader::begin(late, events_in(asked.keep)));
    let mut reader = reader.map_err(NotRecorded::NotSeen)?;
    let kept = Rotated::open(&asked.out, &holder(), asked.bounds, begin)?;
    if threshold.recall(kept.path()) {
        reader.late_above(threshold.now()).map_err(NotRecorded::NotSeen)?;
    }
    // Whoever is told that it records may ask it.
    let socket = requests::socket_path().map(|place| RequestSocket::open(&place));
    let mut display = started(kept.path(), reader.unseen());
    let socket = socket.and_then(|opened| opened.inspect_err(|why| display.cannot_be_asked(why)).ok());
    let manager = ServiceManager::find(|name| std::env::var(name).ok());
    manager.ready();
    let now = clock::now();
    let (origins, rate) = (Origins::new(Root::live()), Rate::of_incidents(now));
    let minute = Minute::begin(now);
    let worst = Worst::new(asked.timelines);
    let worst_told = Worst::new(few(asked.timelines));
    let (actions, held, finished) = (Actions::default(), None, Finished::default());
    let keeping = Keeping::default();
    let (offered, told_rate, snap_rate) =
        (OfferedLoops::default(), RateOfUser::of_missed_turns(), RateOfUser::of_snaps());
    let mut recorder = Recorder {
        asked,
        reader,
        threshold,
        kept,
        keeping,
        origins,
        rate,
        minute,
        worst,
        worst_told,
        actions,
        held,
        finished,
        display,
        manager,
        socket,
        offered,
        told_rate,
        snap_rate,
        priority: RecorderPriority::new(&requests.end),
    };
    let how = recorder.run(requests)?;
    recorder.end(how)
}

/// What a second one is told of this process.
fn holder() -> String {
    let typed: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let since = Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC");
    let words = format!("process {}, since {since}: {}", std::process::id(), typed.join(" "));
    words.chars().take(HOLDER).collect()
}

/// What came since the minute began.
struct Minute {
    from: MonotonicTime,
    until: MonotonicTime,
    lost: u64,
    left_out: u64,
    unseen: u64,
    snaps_left_out: u64,
}

impl Minute {
    /// It ends with the minute of the day, as far as the clock of the day goes as it does now.
    fn begin(from: MonotonicTime) -> Self {
        let into = clock::now_on(WaitClock::Realtime)
            .rem_euclid(i64::try_from(MINUTE.as_nanos()).unwrap_or(i64::MAX));
        let left = MINUTE.minus(Span::from_nanos(into.unsigned_abs()));
        Self { from, until: from.plus(left), lost: 0, left_out: 0, unseen: 0, snaps_left_out: 0 }
    }
}

struct Recorder<'a> {
    asked: &'a Asked,
    reader: LateReader,
    threshold: Threshold,
    kept: Rotated,
    keeping: Keeping,
    origins: Origins,
    rate: Rate,
    minute: Minute,
    worst: Worst,
    /// Of what programs of other users tell.
    worst_told: Worst,
    actions: Actions,
    held: Option<Held>,
    finished: Finished,
    display: Box<dyn Display>,
    manager: ServiceManager,
    socket: Option<RequestSocket>,
    offered: OfferedLoops,
    told_rate: RateOfUser,
    snap_rate: RateOfUser,
    priority: RecorderPriority<'a>,
}

impl Recorder<'_> {
    fn run(&mut self, requests: &Requests) -> Result<EndReason, NotRecorded> {
        let began = clock::now();
        loop {
            let left = self.asked.duration.map_or(LOOK, |all| all.minus(clock::now().since(began)));
            self.pause(LOOK.min(left));
            self.requests()?;
            self.look()?;
            self.look_at_the_disk();
            self.manager.alive(clock::now());
            if requests.snap.swap(false, Ordering::Relaxed) {
                self.snap(&[])?;
            }
            if clock::now() >= self.minute.until {
                self.end_minute()?;
            }
            if !self.kept.is_in_place() {
                return Ok(EndReason::Interrupted);
            }
            if self.finished.stopped {
                return Ok(EndReason::StoppedAbove);
            }
            if requests.end.load(Ordering::Relaxed) {
                return Ok(EndReason::Interrupted);
            }
            if self.asked.duration.is_some_and(|all| clock::now().since(began) >= all) {
                return Ok(EndReason::Done);
            }
        }
    }

    /// A signal makes the look come earlier.
    fn pause(&mut self, most: Span) {
        let (began, least) = (clock::now(), BETWEEN_LOOKS.min(most));
        if clock::pause(least).is_ok() {
            self.priority.note_wakeup(clock::now().since(began).minus(least));
            self.reader.wait(most.minus(least));
        }
    }

    fn look(&mut self) -> Result<(), NotRecorded> {
        let now = clock::now();
        self.origins.at(now);
        let Self { asked, reader, origins, rate, threshold, .. } = self;
        let wanted = |wait: &LateWait| is_chosen(&asked.chosen, wait, origins);
        let (read, waits) = reader.read(wanted, |all| rate.take(all, now)).map_err(NotRecorded::NotSeen)?;
        self.minute.lost += read.lost;
        self.minute.unseen += read.unseen;
        self.minute.left_out += read.left_out;
        let ahead = clock::ahead(WaitClock::Realtime);
        let mut new = Vec::new();
        for wait in waits {
            let at = wait.sleep.switched_in.map(|at| date_and_time(at, ahead)).unwrap_or_default();
            let above = threshold.of(wait.late);
            let known = |one: Incident| Incident { late_above: above, ..one };
            new.extend(incident(&wait, at, origins).map(known));
        }
        new.extend(self.late_loops(read.at, ahead));
        new.extend(self.told(read.at, ahead));
        self.finished.incidents += new.len() as u64;
        self.display.show(&new, &self.finished);
        self.display.marks().into_iter().for_each(|at| self.kept.write(&Line::Mark(Mark { at })));
        self.actions.look(read.at);
        for one in new.iter().filter(|one| !is_told_by_others(one) || self.asked.chosen.names(one.thread.uid))
        {
            self.finished.stopped |= self.actions.take(&self.asked.on_late, one, read.at);
        }
        self.hold_or_write(new, read.at)
    }

    /// Loops that did not come back to their events.
    fn late_loops(&mut self, now: MonotonicTime, ahead: i64) -> Vec<Incident> {
        let Self { asked, reader, origins, rate, minute, .. } = self;
        let away = reader.take_away();
        let late = away.iter().map(|one| incident_away(one, date_and_time(one.until, ahead), origins));
        let late = late.filter(|one| is_thread_chosen(&asked.chosen, &one.thread)).collect::<Vec<_>>();
        let kept = rate.take(late.len(), now);
        minute.left_out += late.len().saturating_sub(kept) as u64;
        longest(late, kept)
    }

    /// Turns of loops that were not done in time, as their programs tell: of each user so many, the longest.
    fn told(&mut self, now: MonotonicTime, ahead: i64) -> Vec<Incident> {
        let Self { asked, offered, origins, told_rate, minute, .. } = self;
        let mut all = Vec::new();
        for (uid, mut told) in offered.look(now) {
            told.sort_by_key(|one| std::cmp::Reverse(one.latency()));
            let kept = told_rate.take(uid, told.len(), now);
            minute.left_out += told.len().saturating_sub(kept) as u64;
            all.extend(told.into_iter().take(kept).map(|one| one.incident(ahead, origins)));
        }
        all.retain(|one| is_thread_chosen(&asked.chosen, &one.thread));
        all.sort_by_key(|one| one.at_ns);
        all
    }

    /// What programs have asked for since the last look.
    fn requests(&mut self) -> Result<(), NotRecorded> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        let now = clock::now();
        let mut snaps: BTreeMap<u32, Vec<SnapRequest>> = BTreeMap::new();
        for request in socket.take(now) {
            match request {
                Request::Snap(snap) => snaps.entry(snap.peer.uid).or_default().push(snap),
                Request::Loops(handed) => self.offered.take_in(handed),
            }
        }
        socket.receive(now);
        let mut obeyed = Vec::new();
        for (uid, asked) in snaps {
            if self.snap_rate.take(uid, 1, now) == 1 {
                obeyed.extend(asked);
            } else {
                self.minute.snaps_left_out += asked.len() as u64;
            }
        }
        if obeyed.is_empty() { Ok(()) } else { self.snap(&obeyed) }
    }

    /// While it refuses, it is waited for each time: only so is it known when it does not any more.
    fn look_at_the_disk(&mut self) {
        if self.keeping.is_refusing() {
            self.wait_for_the_disk();
        }
        if let Some(news) = self.keeping.take(self.kept.take_account()) {
            self.display.disk(&news);
        }
        (self.finished.not_written, self.finished.why_not_written) = self.keeping.all();
    }

    fn wait_for_the_disk(&mut self) {
        self.kept.sync(clock::now_on(WaitClock::Realtime) / 1_000_000_000);
    }

    /// Incidents are written at once, but where a timeline is to come with one of them.
    fn hold_or_write(&mut self, new: Vec<Incident>, now: MonotonicTime) -> Result<(), NotRecorded> {
        match &mut self.held {
            Some(held) => held.incidents.extend(new),
            None => match self.worth_a_timeline(&new, now) {
                Some(mut held) => {
                    held.incidents = new;
                    self.remember(&mut held)?;
                    self.held = Some(held);
                }
                None => new.into_iter().for_each(|one| self.kept.write(&Line::Incident(Box::new(one)))),
            },
        }
        match self.held.take() {
            Some(held) if now >= held.until => self.write_held(held, now),
            held => {
                self.held = held;
                Ok(())
            }
        }
    }

    /// Around the worst of them, if it is one of the worst: what other users' programs tell comes after what was seen.
    fn worth_a_timeline(&mut self, new: &[Incident], now: MonotonicTime) -> Option<Held> {
        let most = self.asked.keep;
        let held = |told: bool, worst: &mut Worst| {
            let of_these = new.iter().filter(|one| is_told_by_others(one) == told);
            let longest = of_these.max_by_key(|one| one.latency)?;
            worst.is_one(longest.latency, now).then(|| Held::around(longest, most, told))
        };
        held(false, &mut self.worst).or_else(|| held(true, &mut self.worst_told))
    }

    fn remember(&mut self, held: &mut Held) -> Result<(), NotRecorded> {
        held.remember(self.reader.timeline(held.from, held.until).map_err(NotRecorded::NotSeen)?);
        Ok(())
    }

    /// Writes the timeline, then the incidents, which name it. Where nothing is remembered any more, there is none.
    fn write_held(&mut self, mut held: Held, now: MonotonicTime) -> Result<(), NotRecorded> {
        self.remember(&mut held)?;
        let text = held.cpus().map(|cpus| timeline_text(cpus, &held.lanes()));
        let (beside, worst) = match held.is_told {
            false => (SideFile::Seen(compact(&held.at)), &mut self.worst),
            true => (SideFile::Asked(format!("{}-told", compact(&held.at))), &mut self.worst_told),
        };
        let name = text.and_then(|text| self.kept.write_beside(&beside, text.as_bytes()));
        if let Some(name) = &name
            && let Some(gone) = worst.keep(held.latency, now, name.clone())
        {
            self.kept.remove_beside(&gone);
        }
        for mut one in std::mem::take(&mut held.incidents) {
            one.timeline = name.clone().filter(|_| held.covers(&one));
            self.kept.write(&Line::Incident(Box::new(one)));
        }
        Ok(())
    }

    /// Keeps what all CPUs have done just now, as far as it is remembered: one file, whichever programs have asked for it.
    fn snap(&mut self, asked: &[SnapRequest]) -> Result<(), NotRecorded> {
        let until = clock::now();
        let from = until.minus(self.asked.keep);
        let cpus = self.reader.timeline(from, until).map_err(NotRecorded::NotSeen)?;
        let ahead = clock::ahead(WaitClock::Realtime);
        let beside = SideFile::Asked(name_of(&date_and_time(until, ahead), asked.first()));
        let written =
            self.kept.write_beside(&beside, timeline_text(&cpus, &lanes(std::iter::empty())).as_bytes());
        self.finished.snaps_not_kept += u64::from(written.is_none());
        for snap in snapped(asked, until, ahead, written.as_deref(), &mut self.origins) {
            self.kept.write(&Line::Snap(Box::new(snap)));
        }
        Ok(())
    }

    fn end_minute(&mut self) -> Result<(), NotRecorded> {
        let groups = self.reader.groups().map_err(NotRecorded::NotSeen)?;
        let until = clock::now();
        let groups: Vec<WaitCounts> = groups.into_iter().filter_map(|group| self.counts(group)).collect();
        let late_above = self.threshold.changing();
        if self.threshold.end_minute(&groups) {
            self.reader.late_above(self.threshold.now()).map_err(NotRecorded::NotSeen)?;
        }
        self.priority.end_minute();
        let minute = std::mem::replace(&mut self.minute, Minute::begin(until));
        self.finished.lost += minute.lost;
        self.finished.left_out += minute.left_out;
        let removed = self.kept.take_removed();
        let lines_lost = self.keeping.untold();
        let (turns_lost, loops_left_out) = self.offered.take_missing();
        self.finished.snaps_left_out += minute.snaps_left_out;
        self.kept.write(&Line::Minute(Box::new(WaitMinute {
            at: date_and_time(until, clock::ahead(WaitClock::Realtime)),
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
        })));
        self.look_at_the_disk();
        // Where the line itself was lost, the next one tells.
        if !self.keeping.is_refusing() {
            self.keeping.told(lines_lost);
        }
        self.wait_for_the_disk();
        Ok(())
    }

    fn counts(&mut self, group: WaitGroup) -> Option<WaitCounts> {
        let path = self.origins.group_path(group.cgroup);
        let policy = PolicyName::from_kernel(group.policy);
        let is_chosen = self.asked.chosen.includes(&Candidate {
            names: &[&group.process],
            uid: group.uid,
            policy,
            group: path.as_deref(),
        });
        is_chosen.then(|| WaitCounts {
            process: group.process,
            uid: group.uid,
            group: path,
            policy: policy
                .map_or_else(|| format!("policy {}", group.policy), |policy| policy.name().to_owned()),
            late: group.late,
            waits: group.waits,
        })
    }

    fn end(mut self, how: EndReason) -> Result<Finished, NotRecorded> {
        self.manager.stopping();
        go_first();
        if let Some(held) = self.held.take() {
            self.write_held(held, clock::now())?;
        }
        self.finished.commands_left_out = self.actions.left_out;
        self.end_minute()?;
        self.kept.write(&Line::End(RecordingEnd { at: clock::now(), how }));
        self.wait_for_the_disk();
        self.look_at_the_disk();
        self.finished.is_gone = !self.kept.is_in_place();
        Ok(self.finished)
    }
}

fn is_chosen(chosen: &Chosen, wait: &LateWait, origins: &mut Origins) -> bool {
    let needs_group = !chosen.cgroup.is_empty() || !chosen.unit.is_empty();
    let group = if needs_group { origins.group(wait.cgroup, wait.pid) } else { None };
    chosen.includes(&Candidate {
        names: &[&wait.process, &wait.name],
        uid: wait.uid,
        policy: policy_name(wait.policy),
        group: group.as_deref(),
    })
}

fn is_thread_chosen(chosen: &Chosen, thread: &LateThread) -> bool {
    chosen.includes(&Candidate {
        names: &[&thread.process, &thread.name],
        uid: thread.uid,
        policy: policy_name(thread.policy),
        group: thread.group.as_deref(),
    })
}

/// Whether nobody but a program of another user says that it was late: whoever likes can have said so.
fn is_told_by_others(one: &Incident) -> bool {
    one.kind == IncidentKind::Loop && !is_own(one.thread.uid)
}

/// So many of them get a timeline: a fifth of all, and one at least.
fn few(of: AtMost) -> AtMost {
    AtMost { count: of.count.div_ceil(5), ..of }
}

/// So many of them, the longest, in order of time.
fn longest(mut late: Vec<Incident>, most: usize) -> Vec<Incident> {
    late.sort_by_key(|one| std::cmp::Reverse(one.latency));
    late.truncate(most);
    late.sort_by_key(|one| one.at_ns);
    late
}
