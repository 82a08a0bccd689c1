//! Every mechanism between threads, and detection of irregular messages.
//!
//! Tests between processes need the program itself, and are in `crates/program/howlate/tests`.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use howlate_linux::clock;
use howlate_linux::shared_memory::SharedMemory;
use howlate_model::{
    Engine, IrregularMessages, Line, Load, Notifier, Peers, ReceiverCpu, Sink, Span, Task, ThreadProgress,
    Turn, TurnControl, TurnFinished, Work,
};

use super::channel::{Await, Notify};
use super::message_matching::MessageMatching;
use super::receiver::ReceiverLoop;
use super::sender::{NoAnswer, SenderLoop, SentLog};
use super::shared::{Arrivals, Direction, END, words_for};
use crate::NotifyEngine;
use crate::loops::Stop;

#[derive(Default)]
struct RecordedLines(Vec<Line>);

impl Sink for RecordedLines {
    fn line(&mut self, line: Line) {
        self.0.push(line);
    }

    fn progress(&mut self, _: &[ThreadProgress]) {}
}

impl RecordedLines {
    fn count(&self) -> u64 {
        let blocks =
            self.0.iter().map(|line| if let Line::Block(block) = line { block.latency.count() } else { 0 });
        blocks.sum()
    }

    fn finished(&self) -> &TurnFinished {
        match self.0.iter().find(|line| matches!(line, Line::Finished(_))) {
            Some(Line::Finished(finished)) => finished,
            _ => panic!("the turn has no end"),
        }
    }
}

fn turn(mechanism: Notifier, between: Peers, round_trip: bool) -> Turn {
    let work = Work::Notify {
        mechanism,
        after_ns: Span::from_micros(50),
        between,
        sender_cpu: None,
        placement: None,
        receiver: ReceiverCpu::AsLeft,
        round_trip,
    };
    let task = Task { samples: Some(20), warm_up: 3, keep_series: true, ..Task::new(work) };
    let cut_after = Some(Span::from_secs(60));
    Turn { tasks: vec![task], load: Load::IDLE, duration: None, cut_after, estimate: Span::ZERO }
}

fn take(turn: &Turn) -> RecordedLines {
    let mut lines = RecordedLines::default();
    NotifyEngine.run(turn, &TurnControl::default(), &mut lines).unwrap();
    lines
}

/// Helper processes are this program executed again, which a test is not; the tests of the program cover them.
const fn needs_the_program(notifier: Notifier) -> bool {
    matches!(notifier, Notifier::SysvSem | Notifier::SysvMq)
}

#[test]
fn every_mechanism_wakes_a_thread() {
    for notifier in Notifier::ALL.into_iter().filter(|notifier| !needs_the_program(*notifier)) {
        if let Err(reason) = super::is_allowed(notifier) {
            howlate_testing::skip(&format!("{notifier}: {reason}"));
            continue;
        }
        for round_trip in [false, true] {
            let lines = take(&turn(notifier, Peers::Threads, round_trip));
            let finished = lines.finished();
            assert_eq!(finished.error, None, "{notifier}");
            assert_eq!((lines.count(), finished.unfinished), (20, false), "{notifier} {round_trip}");
            assert!(finished.usage.is_some(), "{notifier}");
        }
    }
}

#[test]
fn a_receiver_that_cannot_start_is_an_error_that_names_the_mechanism() {
    // The test program has no helpers: it ends at once.
    let lines = take(&turn(Notifier::Pipe, Peers::Processes, false));
    let error = lines.finished().error.clone().unwrap();
    assert!(error.to_string().starts_with("pipe: the receiver died"), "{error}");
    assert_eq!(lines.count(), 0);
}

/// A mechanism that drops, duplicates or reorders some messages.
struct FaultyNotify {
    out: Sender<u64>,
    dropped: u64,
    duplicated: u64,
    /// Sent after the message that follows it.
    delayed: u64,
    pending: Option<u64>,
}

impl Notify for FaultyNotify {
    fn notify(&mut self, number: u64) -> io::Result<()> {
        let mut out = VecDeque::from([number]);
        if number == self.dropped {
            out.clear();
        }
        if number == self.duplicated {
            out.push_back(number);
        }
        if number == self.delayed {
            self.pending = out.pop_front();
        } else {
            out.extend(self.pending.take());
        }
        out.into_iter().try_for_each(|number| self.out.send(number)).map_err(io::Error::other)
    }
}

struct Mailbox {
    receiver: Receiver<u64>,
    number: u64,
}

impl Await for Mailbox {
    fn wait(&mut self) -> io::Result<()> {
        self.number = self.receiver.recv().unwrap_or(END);
        Ok(())
    }

    fn number(&self) -> u64 {
        self.number
    }
}

/// Number of matched messages out of 12, and the irregular ones.
fn exchange(dropped: u64, duplicated: u64, delayed: u64) -> (usize, IrregularMessages) {
    let count = 12;
    let (memory, _file) = SharedMemory::create(words_for(40)).unwrap();
    let direction = Direction { memory: Arc::new(memory), number: 0, between: Peers::Threads };
    let arrivals = Arrivals::new(Arc::clone(&direction.memory));
    let (out, receiver) = channel();
    let mailbox = Mailbox { receiver, number: 0 };
    let mut receiver_loop = ReceiverLoop {
        receiver: mailbox,
        direction,
        arrivals: arrivals.clone(),
        last: u64::MAX - 1,
        next_stamp: 0,
    };
    struct NoReply;
    impl Notify for NoReply {
        fn notify(&mut self, _: u64) -> io::Result<()> {
            Ok(())
        }
    }
    let thread = std::thread::spawn(move || receiver_loop.run(usize::MAX, &mut NoReply).unwrap());
    let log = SentLog::new(count);
    let sender_loop = SenderLoop {
        gap: Span::from_micros(100),
        shares_cpu: false,
        count: count as u64,
        arrivals: arrivals.clone(),
        log: Arc::clone(&log),
        stop: Stop::default(),
    };
    let mut faulty = FaultyNotify { out, dropped, duplicated, delayed, pending: None };
    assert_eq!(sender_loop.run(&mut faulty, &mut NoAnswer).unwrap(), count as u64);
    drop(faulty);
    thread.join().unwrap();
    let mut matching = MessageMatching::default();
    let matched =
        (0..arrivals.count()).filter(|index| matching.record(arrivals.get(*index).0, log.count())).count();
    (matched, matching.irregular(log.count()))
}

#[test]
fn lost_duplicated_and_reordered_messages_are_detected() {
    let none = IrregularMessages::default();
    assert_eq!(exchange(0, 0, 0), (12, none));
    assert_eq!(exchange(7, 0, 0), (11, IrregularMessages { messages_lost: 1, ..none }));
    assert_eq!(exchange(0, 7, 0), (12, IrregularMessages { messages_duplicated: 1, ..none }));
    assert_eq!(exchange(0, 0, 7), (11, IrregularMessages { messages_reordered: 1, ..none }));
}

#[test]
fn a_receiver_that_receives_nothing_ends_the_turn() {
    let (memory, _file) = SharedMemory::create(words_for(1)).unwrap();
    let (out, _receiver) = channel();
    let sender_loop = SenderLoop {
        gap: Span::from_micros(10),
        shares_cpu: false,
        count: 100,
        arrivals: Arrivals::new(Arc::new(memory)),
        log: SentLog::new(100),
        stop: Stop::default(),
    };
    let mut sender = FaultyNotify { out, dropped: 0, duplicated: 0, delayed: 0, pending: None };
    let error = sender_loop.run(&mut sender, &mut NoAnswer).unwrap_err();
    assert!(error.to_string().contains("took none of 3 notifications"), "{error}");
}

/// Stops the run right after a message was sent that arrives later.
struct StopAfterSend {
    arrivals: Arrivals,
    stop: Stop,
}

impl Notify for StopAfterSend {
    fn notify(&mut self, number: u64) -> io::Result<()> {
        self.stop.request();
        let arrivals = self.arrivals.clone();
        std::thread::spawn(move || {
            clock::sleep_for(Span::from_millis(50)).unwrap();
            arrivals.store(0, number, clock::now());
        });
        Ok(())
    }
}

#[test]
fn a_message_in_flight_when_the_run_is_stopped_may_arrive() {
    let (memory, _file) = SharedMemory::create(words_for(1)).unwrap();
    let (arrivals, stop) = (Arrivals::new(Arc::new(memory)), Stop::default());
    let sender_loop = SenderLoop {
        gap: Span::from_micros(10),
        shares_cpu: false,
        count: 100,
        arrivals: arrivals.clone(),
        log: SentLog::new(100),
        stop: stop.clone(),
    };
    let mut sender = StopAfterSend { arrivals: arrivals.clone(), stop };
    assert_eq!(sender_loop.run(&mut sender, &mut NoAnswer).unwrap(), 1);
    assert_eq!(arrivals.most_recent(), 1);
}
