//! The thread that is made late: sleeps until one time after the other.

use std::hint::black_box;
use std::io;

use howlate_linux::clock;
use howlate_linux::memory::Pages;
use howlate_model::{InjectedCause, MonotonicInterval, MonotonicTime, Span, Wakeup};

use super::class::Class;
use super::request::{InjectorReport, Stretch};
use super::work::{Work, sleep_until};

/// How late class `late_arming` asks at most: a part of its period.
const OVERDUE: u64 = 400_000;
/// Memory that is touched after the wake-up in class `page_fault`, a page at a time.
const PAGE: usize = 4_096;
const PAGES: usize = 64;
/// What a program computes after each wake-up in class `competitors`, so that it owes the others something.
const WORK: Span = Span::from_micros(300);

/// What the thread does besides sleeping.
enum Habit {
    Nothing,
    /// Computes after each wake-up.
    Works,
    /// Computes past the next time, every second time.
    Overdue,
    /// Touches memory that it has given back.
    Touches(Pages),
}

pub(crate) fn prepare(class: Class) -> io::Result<Work> {
    let habit = match class {
        Class::Competitors => Habit::Works,
        Class::LateArming => Habit::Overdue,
        Class::PageFault => Habit::Touches(Pages::map(PAGES * PAGE)?),
        _ => Habit::Nothing,
    };
    Ok(Box::new(move |stretch| measure(class, habit, stretch)))
}

fn measure(class: Class, mut habit: Habit, stretch: Stretch) -> io::Result<InjectorReport> {
    let mut told = InjectorReport::default();
    let mut stamps = Vec::new();
    let mut number = 0;
    for expected in stretch.grid(class.period(), Span::ZERO) {
        number += 1;
        // Times that passed while it was late are left out, as periodic programs do.
        if expected < told.wakeups.last().map_or(stretch.start, |(_, ran)| *ran) {
            continue;
        }
        let asked = before(&mut habit, number, expected)?;
        sleep_until(expected);
        let woke = clock::now();
        after(&mut habit);
        let ran = clock::now();
        told.wakeups.push((expected, ran));
        stamps.extend(stamp(class, Wakeup { expected, ran }, asked, woke));
        if matches!(habit, Habit::Works) {
            compute_until(ran.plus(WORK));
        }
    }
    let known = || InjectedCause { kind: class.kind(), name: String::new(), pid: None, stamps };
    Ok(InjectorReport { known: (class.makers() == 0).then(known), ..told })
}

/// What it does before it asks to be woken; returns when it asks.
fn before(habit: &mut Habit, number: u64, expected: MonotonicTime) -> io::Result<MonotonicTime> {
    match habit {
        // By another length each time, 50 µs to the most.
        Habit::Overdue if number.is_multiple_of(2) => {
            compute_until(expected.plus(Span::from_nanos(50_000 + number * 7_919 % (OVERDUE - 50_000))));
        }
        Habit::Touches(pages) => pages.give_back()?,
        _ => {}
    }
    Ok(clock::now())
}

/// What it does after the wake-up, before it reads the clock.
fn after(habit: &mut Habit) {
    if let Habit::Touches(pages) = habit {
        for byte in pages.bytes().iter_mut().step_by(PAGE) {
            *byte = black_box(1);
        }
    }
}

/// What the thread itself knows of why it is late.
fn stamp(
    class: Class,
    wakeup: Wakeup,
    asked: MonotonicTime,
    woke: MonotonicTime,
) -> Option<MonotonicInterval> {
    let Wakeup { expected, ran } = wakeup;
    match class {
        Class::LateArming => (asked > expected).then_some(MonotonicInterval { from: expected, until: asked }),
        Class::PageFault => Some(MonotonicInterval { from: woke, until: ran }),
        Class::TimerSlack => slept_out(wakeup, class.slack()),
        _ => None,
    }
}

/// The whole of the slack, or nothing: any interrupt of the CPU meanwhile serves the timer sooner, and the thread cannot tell
/// when that was.
fn slept_out(Wakeup { expected, ran }: Wakeup, slack: Span) -> Option<MonotonicInterval> {
    let until = expected.plus(slack);
    (until <= ran).then_some(MonotonicInterval { from: expected, until })
}

fn compute_until(time: MonotonicTime) {
    while clock::now() < time {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_claimed_only_where_it_was_slept_out() {
        let at = MonotonicTime::from_nanos;
        let slept = |late: i64| {
            slept_out(Wakeup { expected: at(1_000), ran: at(1_000 + late) }, Span::from_nanos(500))
        };
        assert_eq!(slept(499), None);
        for late in [500, 700] {
            assert_eq!(slept(late), Some(MonotonicInterval { from: at(1_000), until: at(1_500) }));
        }
    }
}
