//! Loops of programs that handed over the shared memory of their turns: each late turn is an incident.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use howlate_analyse::watch::{Deadlines, MissedDeadline};
use howlate_linux::clock;
use howlate_linux::socket::Peer;
use howlate_model::{Incident, IncidentKind, LateIteration, LateThread, MonotonicTime, Span};
use howlate_procfs::{ProcessStat, Root, Status};
use howlate_recording::date_and_time;
use howlate_watched_program::{MarkedLoop, MarkedLoops, MarkedTurn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::explain::by_kind;
use crate::requests::{OfferedMemory, is_own};
use crate::thread_owner::{ThreadOwner, ThreadOwners};

/// Maximum programs: reading more would take time from the other threads. Of these, maximum programs of users other
/// than root and this one, and of one such user.
const PROGRAMS: usize = 64;
const PROGRAMS_OF_OTHERS: usize = 48;
const PROGRAMS_OF_USER: usize = 8;
/// Maximum turns and spans per read, every fifth of a second: own, of all other users, and of one.
const TURNS: u64 = 100_000;
const TURNS_OF_OTHERS: u64 = 1_200;
const TURNS_OF_USER: u64 = 1_000;
/// CPU time for programs of other users: one part in this many, and a burst in nanoseconds.
const CPU_OF_OTHERS: u64 = 100;
const CPU_BURST: i64 = 20_000_000;

/// All programs with shared memory that have not ended.
#[derive(Default)]
pub(crate) struct OfferedLoops {
    programs: Vec<LoopProgram>,
    cpu: CpuBudget,
    /// Lost or impossible turns, and loops not read, since the last [`OfferedLoops::take_missing`].
    lost: u64,
    omitted: u64,
}

struct LoopProgram {
    peer: Peer,
    connection: OwnedFd,
    loops: MarkedLoops,
    marked: BTreeMap<usize, FollowedLoop>,
    /// Loops without a ring, as counted by the program so far.
    omitted: u64,
}

struct FollowedLoop {
    of: Rc<LoopIdentity>,
    deadlines: Deadlines,
}

/// Thread of a loop, with its name and period.
struct LoopIdentity {
    peer: Peer,
    name: String,
    period: Span,
    pid: u32,
    tid: u32,
}

/// A late turn, as reported by its program.
pub(crate) struct MissedTurn {
    of: Rc<LoopIdentity>,
    missed: MissedDeadline,
}

impl OfferedLoops {
    /// Adds a program. Invalid memory is ignored; programs above the limit are counted.
    pub(crate) fn add(&mut self, offered: OfferedMemory) {
        let OfferedMemory { peer, connection, memory } = offered;
        if !self.has_room(peer.uid) {
            self.omitted = self.omitted.saturating_add(1);
        } else if let Ok(loops) = MarkedLoops::from_file(memory) {
            let (marked, omitted) = (BTreeMap::new(), 0);
            self.programs.push(LoopProgram { peer, connection, loops, marked, omitted });
        }
    }

    fn has_room(&self, uid: u32) -> bool {
        let count_programs = |matches: &dyn Fn(u32) -> bool| {
            self.programs.iter().filter(|program| matches(program.peer.uid)).count()
        };
        let fits_others = count_programs(&|uid| !is_own(uid)) < PROGRAMS_OF_OTHERS
            && count_programs(&|other| other == uid) < PROGRAMS_OF_USER;
        self.programs.len() < PROGRAMS && (is_own(uid) || fits_others)
    }

    /// Reads all programs; returns new late turns by user.
    pub(crate) fn look(&mut self, now: MonotonicTime) -> BTreeMap<u32, Vec<MissedTurn>> {
        let mut late_turns: BTreeMap<u32, Vec<MissedTurn>> = BTreeMap::new();
        let (mut lost, mut omitted) = (0, 0);
        let Self { programs, cpu, .. } = self;
        cpu.refill(now);
        let mut budget = ReadBudget::for_pass(programs);
        programs.retain_mut(|program| {
            let (uid, start) = (program.peer.uid, clock::thread_cpu_time());
            // Checked before reading, so that everything written before the end is read.
            let has_ended = has_ended(&program.connection);
            let is_read = *budget.left(uid) > 0 && (is_own(uid) || cpu.has_time());
            if is_read {
                lost = program.read(budget.left(uid)).saturating_add(lost);
            }
            omitted = program.newly_omitted().saturating_add(omitted);
            let is_over = has_ended && is_read;
            late_turns.entry(uid).or_default().extend(program.missed(now, is_over));
            if !is_own(uid) {
                cpu.spend(clock::thread_cpu_time().minus(start));
            }
            !is_over
        });
        // The last program gets the rest of the budget, so rotate.
        if let Some(last) = self.programs.len().checked_sub(1) {
            self.programs.rotate_left(1.min(last));
        }
        self.lost = self.lost.saturating_add(lost);
        self.omitted = self.omitted.saturating_add(omitted);
        late_turns
    }

    /// Lost turns and omitted loops since the last call.
    pub(crate) fn take_missing(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.lost), std::mem::take(&mut self.omitted))
    }
}

/// Turns that may still be read in this pass.
struct ReadBudget {
    own: u64,
    /// Per user other than root and this one.
    other_users: BTreeMap<u32, u64>,
}

impl ReadBudget {
    /// Other users share their budget equally.
    fn for_pass(programs: &[LoopProgram]) -> Self {
        let users = programs.iter().map(|program| program.peer.uid).filter(|uid| !is_own(*uid));
        let mut other_users: BTreeMap<u32, u64> = users.map(|uid| (uid, 0)).collect();
        let each = TURNS_OF_OTHERS / (other_users.len() as u64).max(1);
        other_users.values_mut().for_each(|turns| *turns = each.min(TURNS_OF_USER));
        Self { own: TURNS, other_users }
    }

    fn left(&mut self, uid: u32) -> &mut u64 {
        if is_own(uid) { &mut self.own } else { self.other_users.entry(uid).or_default() }
    }
}

/// CPU time that may still be spent on programs of other users.
#[derive(Default)]
struct CpuBudget {
    /// Negative after a read that took too long.
    left_ns: i64,
    refilled: MonotonicTime,
}

impl CpuBudget {
    fn refill(&mut self, now: MonotonicTime) {
        let since = now.since(std::mem::replace(&mut self.refilled, now)).as_nanos();
        let left_ns = self.left_ns.saturating_add_unsigned(since / CPU_OF_OTHERS);
        self.left_ns = left_ns.min(CPU_BURST);
    }

    const fn has_time(&self) -> bool {
        self.left_ns > 0
    }

    const fn spend(&mut self, spent: Span) {
        self.left_ns = self.left_ns.saturating_sub_unsigned(spent.as_nanos());
    }
}

/// Whether the program and all its forks have ended.
fn has_ended(connection: &OwnedFd) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(connection.as_fd(), PollFlags::empty())];
    let polled_now = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled_now.is_ok()
        && polled.iter().any(|descriptor| descriptor.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

impl LoopProgram {
    /// Reads at most `most` turns; returns how many were lost.
    fn read(&mut self, most: &mut u64) -> u64 {
        let Self { peer, loops, marked, .. } = self;
        loops.read_at_most(most, &mut |MarkedTurn { number, marked_loop: of, turn, spans }| {
            let followed =
                marked.entry(number).or_insert_with(|| FollowedLoop::new(of, *peer, &Root::live()));
            followed.deadlines.record_turn(turn, spans);
        })
    }

    /// New late turns; `is_over`: no more will come.
    fn missed(&mut self, now: MonotonicTime, is_over: bool) -> Vec<MissedTurn> {
        let of_loop = |followed: &mut FollowedLoop| {
            let missed = if is_over { followed.deadlines.end() } else { followed.deadlines.settle(now) };
            let of = Rc::clone(&followed.of);
            missed.into_iter().map(move |missed| MissedTurn { of: Rc::clone(&of), missed })
        };
        self.marked.values_mut().flat_map(of_loop).collect()
    }

    /// Loops without a ring since the last call. The counter is written by the program and not reliable.
    fn newly_omitted(&mut self) -> u64 {
        let omitted = self.loops.unmeasured_loops();
        omitted.saturating_sub(std::mem::replace(&mut self.omitted, omitted))
    }
}

impl FollowedLoop {
    fn new(of: &MarkedLoop, peer: Peer, root: &Root) -> Self {
        let (pid, tid) = thread(of, peer, root);
        let identity = LoopIdentity { peer, name: of.name.clone(), period: of.period, pid, tid };
        Self { of: Rc::new(identity), deadlines: Deadlines::every(of.period) }
    }
}

impl MissedTurn {
    /// Time from the deadline to the end of the turn.
    pub(crate) fn latency(&self) -> Span {
        self.missed.done.since(self.missed.deadline)
    }

    /// The turn as an incident. `ahead`: offset of the wall clock.
    pub(crate) fn incident(self, ahead: i64, owners: &mut ThreadOwners) -> Incident {
        let (latency, missed) = (self.latency(), self.missed);
        let LoopIdentity { peer, name: loop_name, period, pid, tid } = self.of.as_ref();
        let (peer, pid, tid, uid) = (*peer, *pid, *tid, peer.uid);
        // The thread id may be reused or wrong: never report the name of a thread of another program.
        let is_own_thread = is_of(&Status::read(&Root::live(), tid), pid, peer);
        let owner = if is_own_thread { owners.of_thread(tid) } else { ThreadOwner::default() };
        let ThreadOwner { process, group, policy, command, .. } = owner;
        let process = process.unwrap_or_else(|| "(ended)".to_owned());
        let (name, cpu) = if is_own_thread { name_and_cpu(tid) } else { (None, None) };
        let turn = LateIteration { name: loop_name.clone(), period: *period, spans: missed.spans };
        Incident {
            at: date_and_time(missed.done, ahead),
            at_ns: missed.done,
            latency,
            thread: LateThread {
                name: name.unwrap_or_else(|| process.clone()),
                process,
                pid,
                tid,
                command,
                uid,
                group,
                policy,
            },
            kind: IncidentKind::Loop,
            cpu: cpu.unwrap_or(0),
            causes: by_kind(&missed.parts, latency),
            parts: missed.parts,
            idle_cpu: None,
            late_above: None,
            timeline: None,
            turn: Some(turn),
            server: None,
        }
    }
}

/// Name of a thread, and its current or last CPU.
fn name_and_cpu(tid: u32) -> (Option<String>, Option<u32>) {
    let root = Root::live();
    let cpu = ProcessStat::read(&root, tid).and_then(|stat| stat.cpu());
    (root.read(&format!("/proc/{tid}/comm")).ok(), cpu)
}

/// Process and thread of a loop. The ids in the program's memory are believed if they are the peer itself or of the
/// same user (a fork). Otherwise the program is in a container or lies, and the peer's ids are used.
fn thread(of: &MarkedLoop, peer: Peer, root: &Root) -> (u32, u32) {
    let status = Status::read(root, of.tid);
    let has_ended = status.process().is_none() && of.pid == peer.pid;
    if has_ended || is_of(&status, of.pid, peer) { (of.pid, of.tid) } else { (peer.pid, peer.pid) }
}

/// Whether a thread belongs to this process, and that to the peer: the peer itself, whatever its user now, or
/// one of the same user.
fn is_of(thread: &Status, pid: u32, peer: Peer) -> bool {
    thread.process() == Some(pid) && (pid == peer.pid || thread.effective_user() == Some(peer.uid))
}

#[cfg(test)]
mod tests {
    use crate::requests::memory;

    use super::*;

    fn marked(pid: u32, tid: u32) -> MarkedLoop {
        MarkedLoop { name: "control".into(), period: Span::from_millis(1), pid, tid }
    }

    #[test]
    fn a_thread_is_believed_to_be_who_it_says_where_that_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| howlate_testing::write_below(folder.path(), file, text);
        write("proc/9/status", "Tgid:\t8\nUid:\t5\t5\t5\t5\n");
        write("proc/3/status", "Tgid:\t3\nUid:\t0\t0\t0\t0\n");
        write("proc/71/status", "Tgid:\t7\nUid:\t6\t6\t6\t6\n");
        let root = Root::at(folder.path());
        let peer = Peer { pid: 7, uid: 5 };
        assert_eq!(thread(&marked(7, 70), peer, &root), (7, 70), "a thread that is gone by now");
        assert_eq!(thread(&marked(7, 71), peer, &root), (7, 71), "its own, with less rights by now");
        assert_eq!(thread(&marked(8, 9), peer, &root), (8, 9), "a fork");
        assert_eq!(thread(&marked(3, 3), peer, &root), (7, 7), "another user's");
        assert_eq!(thread(&marked(7, 3), peer, &root), (7, 7), "another's, as one of its own");
        assert_eq!(thread(&marked(1, 1), peer, &root), (7, 7), "in a container");
    }

    #[test]
    fn what_is_no_memory_for_loops_is_left_alone() {
        let mut offered = OfferedLoops::default();
        let (own_end, _other_end) = std::os::unix::net::UnixStream::pair().unwrap();
        let peer = Peer { pid: 7, uid: 5 };
        let file = std::fs::File::open("/dev/null").unwrap();
        offered.add(OfferedMemory { peer, connection: own_end.into(), memory: file.into() });
        assert!(offered.programs.is_empty());
        assert_eq!(offered.take_missing(), (0, 0));
    }

    /// Offers memory as this user; returns the program's end of the connection.
    fn offer(offered: &mut OfferedLoops, uid: u32) -> std::os::unix::net::UnixStream {
        let (own_end, other_end) = std::os::unix::net::UnixStream::pair().unwrap();
        let connection = own_end.into();
        offered.add(OfferedMemory { peer: Peer { pid: 7, uid }, connection, memory: memory() });
        other_end
    }

    #[test]
    fn programs_are_read_until_they_end_and_of_too_many_that_is_counted() {
        let mut offered = OfferedLoops::default();
        let mut ends: Vec<_> = (0..PROGRAMS + 2).map(|_| offer(&mut offered, 0)).collect();
        assert_eq!((offered.programs.len(), offered.take_missing()), (PROGRAMS, (0, 2)));
        ends.truncate(3);
        assert!(offered.look(MonotonicTime::default()).values().all(Vec::is_empty));
        assert_eq!((offered.programs.len(), offered.take_missing()), (3, (0, 0)));
    }

    #[test]
    fn what_a_program_left_is_read_after_its_end_also_where_no_time_was_left_at_first() {
        let mut offered = OfferedLoops::default();
        drop(offer(&mut offered, 70_001));
        let mut programs_after = |left_ns: i64| {
            offered.cpu = CpuBudget { left_ns, refilled: MonotonicTime::default() };
            offered.look(MonotonicTime::default());
            offered.programs.len()
        };
        assert_eq!([programs_after(0), programs_after(1)], [1, 0]);
    }

    #[test]
    fn no_user_takes_the_room_of_others() {
        let mut offered = OfferedLoops::default();
        let mut ends = Vec::new();
        let mut all = |uid: u32, count: usize| {
            let before = offered.programs.len();
            ends.extend((0..count).map(|_| offer(&mut offered, uid)));
            offered.programs.len() - before
        };
        assert_eq!(all(70_001, 20), PROGRAMS_OF_USER);
        assert_eq!(
            (70_002..70_020).map(|uid| all(uid, 20)).sum::<usize>(),
            PROGRAMS_OF_OTHERS - PROGRAMS_OF_USER
        );
        assert_eq!(all(0, 20), PROGRAMS - PROGRAMS_OF_OTHERS);
    }

    #[test]
    fn of_turns_other_users_have_the_same_part() {
        let most = |users: &[u32]| {
            let mut offered = OfferedLoops::default();
            let _ends: Vec<_> = users.iter().map(|uid| offer(&mut offered, *uid)).collect();
            let mut most = ReadBudget::for_pass(&offered.programs);
            [0, 70_001, 70_002, 70_003].map(|uid| *most.left(uid))
        };
        assert_eq!(most(&[70_001]), [TURNS, TURNS_OF_USER, 0, 0]);
        assert_eq!(most(&[70_001, 70_001, 0, 70_002, 70_001, 70_003]), [TURNS, 400, 400, 400]);
    }

    #[test]
    fn of_a_cpu_other_users_have_a_hundredth_together() {
        let (at, millis) = (|ms: i64| MonotonicTime::from_nanos(ms * 1_000_000), Span::from_millis);
        let mut cpu = CpuBudget::default();
        cpu.refill(at(1_000_000));
        let mut left = |now: i64, spent: u64| {
            cpu.refill(at(now));
            let has_time = cpu.has_time();
            cpu.spend(millis(spent));
            has_time
        };
        assert_eq!([left(1_000_000, 19), left(1_000_000, 11)], [true, true], "so much at once");
        assert_eq!(
            [left(1_000_900, 0), left(1_001_100, 2)],
            [false, true],
            "what was too much is made up for"
        );
        assert!(!left(1_001_199, 0));
    }
}
