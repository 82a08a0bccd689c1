//! Loops of programs that have handed over the memory in which they leave their turns: each turn that is not done in time is an
//! incident.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use howlate_analyse::watch::{Deadlines, MissedDeadline};
use howlate_linux::peer::Peer;
use howlate_model::{Incident, IncidentKind, LateThread, LateTurn, MonotonicTime, Span};
use howlate_procfs::{ProcessStat, Root, Status};
use howlate_recording::date_and_time;
use howlate_watched_program::{Loops, Marked, MarkedTurn};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::explain::by_kind;
use crate::requests::HandedOver;
use crate::thread_owner::Origins;

/// Programs that are read at once: more would take the time that is meant for all threads of the machine.
const PROGRAMS: usize = 64;

/// All programs that have handed over such memory, and have not ended.
#[derive(Default)]
pub(crate) struct OfferedLoops {
    programs: Vec<Program>,
    /// Turns that were lost, or cannot have been, and loops that are not read: since that was asked last.
    lost: u64,
    left_out: u64,
}

struct Program {
    peer: Peer,
    connection: OwnedFd,
    loops: Loops,
    marked: BTreeMap<usize, Followed>,
    /// Loops that found no ring, as far as that was counted.
    left_out: u64,
}

/// One loop.
struct Followed {
    name: String,
    period: Span,
    pid: u32,
    tid: u32,
    deadlines: Deadlines,
}

impl OfferedLoops {
    /// Reads these from now on. What is none of such memory is left alone; of too many programs, that is counted.
    pub(crate) fn take_in(&mut self, handed: HandedOver) {
        let HandedOver { peer, connection, memory } = handed;
        if self.programs.len() >= PROGRAMS {
            self.left_out = self.left_out.saturating_add(1);
        } else if let Ok(loops) = Loops::received(memory) {
            let (marked, left_out) = (BTreeMap::new(), 0);
            self.programs.push(Program { peer, connection, loops, marked, left_out });
        }
    }

    /// Turns that are known since the last call to have missed their deadline; the clock of the day is `ahead`.
    pub(crate) fn look(&mut self, now: MonotonicTime, ahead: i64, origins: &mut Origins) -> Vec<Incident> {
        let mut incidents = Vec::new();
        let (mut lost, mut left_out) = (0, 0);
        self.programs.retain_mut(|program| {
            // What it wrote before it ended is read after that was seen.
            let has_ended = has_ended(&program.connection);
            lost = program.read().saturating_add(lost);
            left_out = program.newly_left_out().saturating_add(left_out);
            for one in program.marked.values_mut() {
                let missed = if has_ended { one.deadlines.end() } else { one.deadlines.settle(now) };
                let incident = |missed| one.incident(missed, program.peer, ahead, origins);
                incidents.extend(missed.into_iter().map(incident));
            }
            !has_ended
        });
        self.lost = self.lost.saturating_add(lost);
        self.left_out = self.left_out.saturating_add(left_out);
        incidents
    }

    /// Turns that were lost, and loops that were left out, since the last call.
    pub(crate) fn take_missing(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.lost), std::mem::take(&mut self.left_out))
    }
}

/// Whether the program at the other end, and all that it has forked, are gone. What they send is not for anybody.
fn has_ended(connection: &OwnedFd) -> bool {
    match recv(connection, &mut [0_u8; 1], RecvFlags::DONTWAIT) {
        Ok((_, read)) => read == 0,
        Err(error) => !matches!(error, Errno::AGAIN | Errno::INTR),
    }
}

impl Program {
    /// Takes the turns that have come; returns how many were lost.
    fn read(&mut self) -> u64 {
        let Self { peer, loops, marked, .. } = self;
        loops.read(&mut |MarkedTurn { number, of, turn, spans }| {
            let one = marked.entry(number).or_insert_with(|| Followed::new(of, *peer, &Root::live()));
            one.deadlines.turned(turn, spans);
        })
    }

    /// Loops that have found no ring since the last call. A program may count there whatever it likes.
    fn newly_left_out(&mut self) -> u64 {
        let left_out = self.loops.left_out();
        left_out.saturating_sub(std::mem::replace(&mut self.left_out, left_out))
    }
}

impl Followed {
    fn new(of: &Marked, peer: Peer, root: &Root) -> Self {
        let (pid, tid) = thread(of, peer, root);
        Self { name: of.name.clone(), period: of.period, pid, tid, deadlines: Deadlines::every(of.period) }
    }

    fn incident(&self, missed: MissedDeadline, peer: Peer, ahead: i64, origins: &mut Origins) -> Incident {
        let latency = missed.done.since(missed.deadline);
        // Its id may be another's by now: nobody takes the name of one that is not its own.
        let is_its_own = is_of(&Status::read(&Root::live(), self.tid), self.pid, peer);
        let origin = is_its_own.then(|| origins.of_thread(self.tid)).flatten();
        let gone = || "(ended)".to_owned();
        let process = origin.as_ref().map_or_else(gone, |one| one.process.clone());
        let (group, policy, command) =
            origin.map_or((None, None, None), |one| (one.group, one.policy, one.command));
        let (name, cpu) = if is_its_own { name_and_cpu(self.tid) } else { (None, None) };
        let (pid, tid, uid) = (self.pid, self.tid, peer.uid);
        let turn = LateTurn { name: self.name.clone(), period: self.period, spans: missed.spans };
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
fn thread(of: &Marked, peer: Peer, root: &Root) -> (u32, u32) {
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
    use std::sync::atomic::Ordering;

    use howlate_linux::shared_memory::SharedMemory;

    use super::*;

    fn marked(pid: u32, tid: u32) -> Marked {
        Marked { name: "control".into(), period: Span::from_millis(1), pid, tid }
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
        offered.take_in(HandedOver { peer, connection: one.into(), memory: file.into() });
        assert!(offered.programs.is_empty());
        assert_eq!(offered.take_missing(), (0, 0));
    }

    #[test]
    fn programs_are_read_until_they_end_and_of_too_many_that_is_counted() {
        let mut offered = OfferedLoops::default();
        let mut ends = Vec::new();
        for _ in 0..PROGRAMS + 2 {
            let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
            let connection = one.into();
            // As `loop/howlate.h` makes it.
            let (words, memory) = SharedMemory::create_sparse((65_536 + 80 * 131_072) / 8 - 64).unwrap();
            words.words()[0].store(u64::from_le_bytes(*b"howlate1"), Ordering::Relaxed);
            offered.take_in(HandedOver { peer: Peer { pid: 7, uid: 5 }, connection, memory });
            ends.push(other);
        }
        assert_eq!((offered.programs.len(), offered.take_missing()), (PROGRAMS, (0, 2)));
        let mut origins = Origins::new(Root::live());
        ends.truncate(3);
        assert_eq!(offered.look(MonotonicTime::default(), 0, &mut origins), []);
        assert_eq!((offered.programs.len(), offered.take_missing()), (3, (0, 0)));
    }
}
