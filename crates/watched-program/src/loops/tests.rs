//! Turns as programs write them, and as none should.

use super::layout::{CAPACITY, CLOCK, LOST, NAME, PERIOD, READ, THREAD, TURN, TURNS, WRITTEN, ring};
use super::*;
use howlate_linux::clock;
use howlate_model::MonotonicTime;

/// A program's end, by readings of the clock.
struct Program {
    loops: Loops,
    written: u64,
}

impl Program {
    fn new() -> Self {
        let loops = Loops::create(false).unwrap();
        let mut program = Self { loops, written: 0 };
        program.loops.memory.words()[TAKEN].store(1, Ordering::Relaxed);
        program.set(PERIOD, 1_000_000);
        program.set(NAME.start, u64::from_ne_bytes(*b"control\0"));
        program.set(THREAD, 7 << 32 | 8);
        program
    }

    fn set(&mut self, word: usize, value: u64) {
        self.loops.memory.words()[ring(0)][word].store(value, Ordering::Relaxed);
    }

    fn turn(&mut self, expected: u64, woke: u64, done: u64) {
        let read = self.loops.memory.words()[ring(0)][READ].load(Ordering::Relaxed);
        if self.written - read >= CAPACITY {
            let lost = self.loops.memory.words()[ring(0)][LOST].load(Ordering::Relaxed);
            return self.set(LOST, lost + 1);
        }
        let place = TURNS + usize::try_from(self.written % CAPACITY).unwrap() * TURN;
        [expected, woke, done]
            .into_iter()
            .enumerate()
            .for_each(|(word, value)| self.set(place + word, value));
        self.written += 1;
        self.set(WRITTEN, self.written);
    }

    fn read(&mut self) -> (Vec<LoopTurn>, u64) {
        let mut turns = Vec::new();
        let lost = self.loops.read(&mut |number, of, turn| {
            let name = "control".to_owned();
            let period = Span::from_millis(1);
            assert_eq!((number, of), (0, &Marked { name, period, pid: 7, tid: 8 }));
            turns.push(turn);
        });
        (turns, lost)
    }
}

fn now() -> u64 {
    clock::now().as_nanos().unsigned_abs()
}

#[test]
fn turns_are_read_once_and_in_order() {
    let mut program = Program::new();
    assert_eq!(program.read(), (vec![], 0));
    let [one, two] = [now(), now() + 1];
    program.turn(0, one, two);
    program.turn(one, two + 1, 0);
    let at = |nanos: u64| MonotonicTime::from_nanos(i64::try_from(nanos).unwrap());
    let first = LoopTurn { expected: None, woke: at(one), done: Some(at(two)) };
    let second = LoopTurn { expected: Some(at(one)), woke: at(two + 1), done: None };
    assert_eq!(program.read(), (vec![first, second], 0));
    assert_eq!(program.read(), (vec![], 0));
}

#[test]
fn what_does_not_fit_is_counted() {
    let mut program = Program::new();
    let begin = now();
    for turn in 0..CAPACITY + 5 {
        program.turn(0, begin + turn, begin + turn);
    }
    while now() < begin + CAPACITY + 5 {}
    let (turns, lost) = program.read();
    assert_eq!((turns.len() as u64, lost), (CAPACITY, 5));
    let later = now();
    program.turn(0, later, later);
    assert_eq!(program.read().0.len(), 1);
}

#[test]
fn a_turn_may_begin_as_the_one_before_ends() {
    let mut program = Program::new();
    let begun = now();
    program.turn(0, begun, begun + 1_000);
    program.turn(0, begun + 1_000, begun + 2_000);
    while now() < begun + 2_000 {}
    let (turns, none) = program.read();
    assert_eq!((turns.len(), none), (2, 0));
}

#[test]
fn what_cannot_have_been_is_no_turn() {
    let mut program = Program::new();
    let begun = now();
    program.turn(0, 5, 6);
    program.turn(0, begun + 1_000, begun);
    program.turn(0, u64::MAX, 0);
    program.turn(u64::MAX, begun + 2_000, 0);
    program.turn(0, begun + 3_000, 0);
    program.turn(0, begun + 2_999, 0);
    while now() < begun + 3_000 {}
    let (turns, none) = program.read();
    assert_eq!((turns.len(), none), (1, 5));
    program.set(WRITTEN, u64::MAX);
    assert_eq!(program.read(), (vec![], 1), "more than fits");
}

#[test]
fn loops_beyond_the_last_ring_are_counted() {
    let loops = Loops::create(true).unwrap();
    assert_eq!(loops.left_out(), 0);
    loops.memory.words()[TAKEN].store(RINGS as u64 + 3, Ordering::Relaxed);
    assert_eq!(loops.left_out(), 3);
    loops.memory.words()[LOCKED_TAKEN].store(LOCKED as u64 + 2, Ordering::Relaxed);
    assert_eq!(loops.left_out(), 5);
}

#[test]
fn a_ring_that_was_taken_under_the_lock_has_a_number_of_its_own() {
    let mut loops = Loops::create(true).unwrap();
    loops.memory.words()[LOCKED_TAKEN].store(1, Ordering::Relaxed);
    let (first, woke) = (ring(RINGS).start, now());
    let turn = [(CLOCK, 1), (THREAD, 7 << 32 | 8), (TURNS + 1, woke), (WRITTEN, 1)];
    turn.into_iter().for_each(|(word, value)| {
        loops.memory.words()[first + word].store(value, Ordering::Relaxed);
    });
    let mut found = Vec::new();
    let lost = loops.read(&mut |number, _, turn| found.push((number, turn.woke.as_nanos().unsigned_abs())));
    assert_eq!((found, lost), (vec![(RINGS, woke)], 0), "by the clock, whatever others count by");
}
