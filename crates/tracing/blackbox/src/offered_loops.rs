//! Loops of programs that have handed over the memory in which they leave their turns: each turn that is not done in time is an
//! incident.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use howlate_analyse::watch::{Deadlines, MissedDeadline};
use howlate_linux::clock;
use howlate_linux::peer::Peer;
use howlate_model::{Incident, IncidentKind, LateIteration, LateThread, MonotonicTime, Span};
use howlate_procfs::{ProcessStat, Root, Status};
use howlate_recording::date_and_time;
use howlate_watched_program::{MarkedLoop, MarkedLoops, MarkedTurn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::explain::by_kind;
use crate::requests::{OfferedMemory, is_own};
use crate::thread_owner::Origins;

/// Programs that are read at once: more would take the time that is meant for all threads of the machine. Those of root and of this
/// user find room beside all others, of which each has so much.
const PROGRAMS: usize = 64;
const OF_OTHERS: usize = 48;
const OF_A_USER: usize = 8;
/// Turns and spans that are read at a look, a fifth of a second, for the same reason: of one's own, of all others, and of each.
const TURNS: u64 = 100_000;
const TURNS_OF_OTHERS: u64 = 1_200;
const TURNS_OF_A_USER: u64 = 1_000;
/// The part of a CPU's time for those of others, however slow it is: one in so many; and nanoseconds at once, after a while without any.
const CPU_OF_OTHERS: u64 = 100;
const CPU_AT_ONCE: i64 = 20_000_000;

/// All programs that have handed over such memory, and have not ended.
#[derive(Default)]
pub(crate) struct OfferedLoops {
    programs: Vec<Program>,
    cpu: CpuOfOthers,
    /// Turns that were lost, or cannot have been, and loops that are not read: since that was asked last.
    lost: u64,
    left_out: u64,
}

struct Program {
    peer: Peer,
    connection: OwnedFd,
    loops: MarkedLoops,
    marked: BTreeMap<usize, Followed>,
    /// Loops that found no ring, as far as that was counted.
    left_out: u64,
}

/// One loop.
struct Followed {
    of: Rc<Identity>,
    deadlines: Deadlines,
}

/// Whose a loop is.
struct Identity {
    peer: Peer,
    name: String,
    period: Span,
    pid: u32,
    tid: u32,
}

/// A turn that its program says was not done in time.
pub(crate) struct MissedTurn {
    of: Rc<Identity>,
    missed: MissedDeadline,
}

impl OfferedLoops {
    /// Reads these from now on. What is none of such memory is left alone; of too many programs, that is counted.
    pub(crate) fn take_in(&mut self, handed: OfferedMemory) {
        let OfferedMemory { peer, connection, memory } = handed;
        if !self.has_room(peer.uid) {
            self.left_out = self.left_out.saturating_add(1);
        } else if let Ok(loops) = MarkedLoops::from_file(memory) {
            let (marked, left_out) = (BTreeMap::new(), 0);
            self.programs.push(Program { peer, connection, loops, marked, left_out });
        }
    }

    fn has_room(&self, uid: u32) -> bool {
        let of =
            |chosen: &dyn Fn(u32) -> bool| self.programs.iter().filter(|one| chosen(one.peer.uid)).count();
        let is_others = of(&|uid| !is_own(uid)) < OF_OTHERS && of(&|other| other == uid) < OF_A_USER;
        self.programs.len() < PROGRAMS && (is_own(uid) || is_others)
    }

    /// Turns that are known since the last call to have missed their deadline, by the user whose program tells it.
    pub(crate) fn look(&mut self, now: MonotonicTime) -> BTreeMap<u32, Vec<MissedTurn>> {
        let mut told: BTreeMap<u32, Vec<MissedTurn>> = BTreeMap::new();
        let (mut lost, mut left_out) = (0, 0);
        let Self { programs, cpu, .. } = self;
        cpu.refill(now);
        let mut most = Most::of_a_look(programs);
        programs.retain_mut(|program| {
            let (uid, began) = (program.peer.uid, clock::thread_cpu_time());
            // What it wrote before it ended is read after that was seen.
            let has_ended = has_ended(&program.connection);
            let is_read = *most.left(uid) > 0 && (is_own(uid) || cpu.is_left());
            if is_read {
                lost = program.read(most.left(uid)).saturating_add(lost);
            }
            left_out = program.newly_left_out().saturating_add(left_out);
            let is_over = has_ended && is_read;
            told.entry(uid).or_default().extend(program.missed(now, is_over));
            if !is_own(uid) {
                cpu.spend(clock::thread_cpu_time().minus(began));
            }
            !is_over
        });
        // Who was read last has what others left of the room.
        if let Some(last) = self.programs.len().checked_sub(1) {
            self.programs.rotate_left(1.min(last));
        }
        self.lost = self.lost.saturating_add(lost);
        self.left_out = self.left_out.saturating_add(left_out);
        told
    }

    /// Turns that were lost, and loops that were left out, since the last call.
    pub(crate) fn take_missing(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.lost), std::mem::take(&mut self.left_out))
    }
}

/// How much may still be read at a look.
struct Most {
    own: u64,
    /// Of each other user.
    others: BTreeMap<u32, u64>,
}

impl Most {
    /// Of other users that have any programs, each has the same part.
    fn of_a_look(programs: &[Program]) -> Self {
        let users = programs.iter().map(|one| one.peer.uid).filter(|uid| !is_own(*uid));
        let mut others: BTreeMap<u32, u64> = users.map(|uid| (uid, 0)).collect();
        let each = TURNS_OF_OTHERS / (others.len() as u64).max(1);
        others.values_mut().for_each(|left| *left = each.min(TURNS_OF_A_USER));
        Self { own: TURNS, others }
    }

    fn left(&mut self, uid: u32) -> &mut u64 {
        if is_own(uid) { &mut self.own } else { self.others.entry(uid).or_default() }
    }
}

/// The time of a CPU that may still be spent on programs of other users.
#[derive(Default)]
struct CpuOfOthers {
    /// Below zero: what a read took too much.
    left_ns: i64,
    refilled: MonotonicTime,
}

impl CpuOfOthers {
    fn refill(&mut self, now: MonotonicTime) {
        let since = now.since(std::mem::replace(&mut self.refilled, now)).as_nanos();
        let left_ns = self.left_ns.saturating_add_unsigned(since / CPU_OF_OTHERS);
        self.left_ns = left_ns.min(CPU_AT_ONCE);
    }

    const fn is_left(&self) -> bool {
        self.left_ns > 0
    }

    const fn spend(&mut self, spent: Span) {
        self.left_ns = self.left_ns.saturating_sub_unsigned(spent.as_nanos());
    }
}

/// Whether the program at the other end, and all that it has forked, are gone.
fn has_ended(connection: &OwnedFd) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(connection.as_fd(), PollFlags::empty())];
    let polled_now = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled_now.is_ok() && polled.iter().any(|one| one.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

impl Program {
    /// Takes the turns that have come, so many at most; returns how many were lost.
    fn read(&mut self, most: &mut u64) -> u64 {
        let Self { peer, loops, marked, .. } = self;
        loops.read_at_most(most, &mut |MarkedTurn { number, marked_loop: of, turn, spans }| {
            let one = marked.entry(number).or_insert_with(|| Followed::new(of, *peer, &Root::live()));
            one.deadlines.turned(turn, spans);
        })
    }

    /// Turns that are known since the last call to have missed their deadline; `is_over`: nothing more will come.
    fn missed(&mut self, now: MonotonicTime, is_over: bool) -> Vec<MissedTurn> {
        let of_loop = |one: &mut Followed| {
            let missed = if is_over { one.deadlines.end() } else { one.deadlines.settle(now) };
            let of = Rc::clone(&one.of);
            missed.into_iter().map(move |missed| MissedTurn { of: Rc::clone(&of), missed })
        };
        self.marked.values_mut().flat_map(of_loop).collect()
    }

    /// Loops that have found no ring since the last call. A program may count there whatever it likes.
    fn newly_left_out(&mut self) -> u64 {
        let left_out = self.loops.unmeasured_loops();
        left_out.saturating_sub(std::mem::replace(&mut self.left_out, left_out))
    }
}

impl Followed {
    fn new(of: &MarkedLoop, peer: Peer, root: &Root) -> Self {
        let (pid, tid) = thread(of, peer, root);
        let identity = Identity { peer, name: of.name.clone(), period: of.period, pid, tid };
        Self { of: Rc::new(identity), deadlines: Deadlines::every(of.period) }
    }
}

impl MissedTurn {
    /// How long after its deadline it was done.
    pub(crate) fn latency(&self) -> Span {
        self.missed.done.since(self.missed.deadline)
    }

    /// With what is known of its thread; the clock of the day is `ahead`.
    pub(crate) fn incident(self, ahead: i64, origins: &mut Origins) -> Incident {
        let (latency, missed) = (self.latency(), self.missed);
        let Identity { peer, name: of_loop, period, pid, tid } = self.of.as_ref();
        let (peer, pid, tid, uid) = (*peer, *pid, *tid, peer.uid);
        // Its id may be another's by now: nobody takes the name of one that is not its own.
        let is_its_own = is_of(&Status::read(&Root::live(), tid), pid, peer);
        let origin = is_its_own.then(|| origins.of_thread(tid)).flatten();
        let gone = || "(ended)".to_owned();
        let process = origin.as_ref().map_or_else(gone, |one| one.process.clone());
        let (group, policy, command) =
            origin.map_or((None, None, None), |one| (one.group, one.policy, one.command));
        let (name, cpu) = if is_its_own { name_and_cpu(tid) } else { (None, None) };
        let turn = LateIteration { name: of_loop.clone(), period: *period, spans: missed.spans };
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
            late_above: None,
            timeline: None,
            turn: Some(turn),
        }
    }
}

/// What a thread is called, and which CPU it has, or had last.
fn name_and_cpu(tid: u32) -> (Option<String>, Option<u32>) {
    let root = Root::live();
    let cpu = ProcessStat::read(&root, tid).and_then(|stat| stat.cpu());
    (root.read(&format!("/proc/{tid}/comm")).ok(), cpu)
}

/// Process and thread of a loop. The program says how they see themselves, which is as everybody does where they are the one that has
/// connected, or another of the same user: a fork. Otherwise they are in a container, or it says what is not so.
fn thread(of: &MarkedLoop, peer: Peer, root: &Root) -> (u32, u32) {
    let known = Status::read(root, of.tid);
    let is_gone = known.process().is_none() && of.pid == peer.pid;
    if is_gone || is_of(&known, of.pid, peer) { (of.pid, of.tid) } else { (peer.pid, peer.pid) }
}

/// Whether a thread is of this process, and that of who has connected: itself, whatever rights it has by now, or one of the same user.
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
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let peer = Peer { pid: 7, uid: 5 };
        let file = std::fs::File::open("/dev/null").unwrap();
        offered.take_in(OfferedMemory { peer, connection: one.into(), memory: file.into() });
        assert!(offered.programs.is_empty());
        assert_eq!(offered.take_missing(), (0, 0));
    }

    /// One of this user: its end of the connection.
    fn offer(offered: &mut OfferedLoops, uid: u32) -> std::os::unix::net::UnixStream {
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        let connection = one.into();
        offered.take_in(OfferedMemory { peer: Peer { pid: 7, uid }, connection, memory: memory() });
        other
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
            offered.cpu = CpuOfOthers { left_ns, refilled: MonotonicTime::default() };
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
        assert_eq!(all(70_001, 20), OF_A_USER);
        assert_eq!((70_002..70_020).map(|uid| all(uid, 20)).sum::<usize>(), OF_OTHERS - OF_A_USER);
        assert_eq!(all(0, 20), PROGRAMS - OF_OTHERS);
    }

    #[test]
    fn of_turns_other_users_have_the_same_part() {
        let most = |users: &[u32]| {
            let mut offered = OfferedLoops::default();
            let _ends: Vec<_> = users.iter().map(|uid| offer(&mut offered, *uid)).collect();
            let mut most = Most::of_a_look(&offered.programs);
            [0, 70_001, 70_002, 70_003].map(|uid| *most.left(uid))
        };
        assert_eq!(most(&[70_001]), [TURNS, TURNS_OF_A_USER, 0, 0]);
        assert_eq!(most(&[70_001, 70_001, 0, 70_002, 70_001, 70_003]), [TURNS, 400, 400, 400]);
    }

    #[test]
    fn of_a_cpu_other_users_have_a_hundredth_together() {
        let (at, millis) = (|ms: i64| MonotonicTime::from_nanos(ms * 1_000_000), Span::from_millis);
        let mut cpu = CpuOfOthers::default();
        cpu.refill(at(1_000_000));
        let mut left = |now: i64, spent: u64| {
            cpu.refill(at(now));
            let is_left = cpu.is_left();
            cpu.spend(millis(spent));
            is_left
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
