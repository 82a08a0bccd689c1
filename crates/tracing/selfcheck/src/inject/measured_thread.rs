//! The measured thread: sleeps until one time after the other.

use std::hint::black_box;
use std::io;

use howlate_linux::clock;
use howlate_linux::memory::Pages;
use howlate_model::{InjectedCause, MonotonicInterval, MonotonicTime, Span, Wakeup};

use super::class::CauseClass;
use super::task::{InjectionWindow, InjectorReport, PreparedTask, sleep_until};

/// Latest arming of class `late_arming` after the expected time in nanoseconds: less than its period.
const MAX_OVERDUE: u64 = 400_000;
/// Memory that is touched after each wake-up in class `page_fault`.
const PAGE: usize = 4_096;
const PAGES: usize = 64;
/// What the thread computes after each wake-up in class `competitors`: without any run time the scheduler would prefer it.
const WORK: Span = Span::from_micros(300);

/// What the thread does besides sleeping.
enum Activity {
    Nothing,
    /// Computes after each wake-up.
    Computes,
    /// Computes beyond the next expected time, every second time.
    Overruns,
    /// Touches memory that it has given back.
    TouchesPages(Pages),
}

pub(crate) fn prepare(class: CauseClass) -> io::Result<PreparedTask> {
    let activity = match class {
        CauseClass::Competitors => Activity::Computes,
        CauseClass::LateArming => Activity::Overruns,
        CauseClass::PageFault => Activity::TouchesPages(Pages::map(PAGES * PAGE)?),
        _ => Activity::Nothing,
    };
    Ok(Box::new(move |window| measure(class, activity, window)))
}

fn measure(class: CauseClass, mut activity: Activity, window: InjectionWindow) -> io::Result<InjectorReport> {
    let mut report = InjectorReport::default();
    let mut stamps = Vec::new();
    let mut number = 0;
    for expected in window.grid(class.period(), Span::ZERO) {
        number += 1;
        // As in periodic programs, times that passed while it was late are skipped.
        if expected < report.wakeups.last().map_or(window.start, |(_, ran)| *ran) {
            continue;
        }
        let armed_at = prepare_sleep(&mut activity, number, expected)?;
        sleep_until(expected);
        let woke = clock::now();
        run_after_wakeup(&mut activity);
        let ran = clock::now();
        report.wakeups.push((expected, ran));
        stamps.extend(stamp(class, Wakeup { expected, ran }, armed_at, woke));
        if matches!(activity, Activity::Computes) {
            compute_until(ran.plus(WORK));
        }
    }
    let cause = || InjectedCause { kind: class.kind(), name: String::new(), pid: None, stamps };
    Ok(InjectorReport { cause: (class.injectors() == 0).then(cause), ..report })
}

/// Runs before the timer is armed; returns when it is armed.
fn prepare_sleep(activity: &mut Activity, number: u64, expected: MonotonicTime) -> io::Result<MonotonicTime> {
    match activity {
        // From 50 µs to `MAX_OVERDUE`, varying.
        Activity::Overruns if number.is_multiple_of(2) => {
            compute_until(expected.plus(Span::from_nanos(50_000 + number * 7_919 % (MAX_OVERDUE - 50_000))));
        }
        Activity::TouchesPages(pages) => pages.give_back()?,
        _ => {}
    }
    Ok(clock::now())
}

/// Runs after the wake-up, before the clock is read.
fn run_after_wakeup(activity: &mut Activity) {
    if let Activity::TouchesPages(pages) = activity {
        for byte in pages.bytes().iter_mut().step_by(PAGE) {
            *byte = black_box(1);
        }
    }
}

/// Why the thread is late, where it knows that itself.
fn stamp(
    class: CauseClass,
    wakeup: Wakeup,
    armed_at: MonotonicTime,
    woke: MonotonicTime,
) -> Option<MonotonicInterval> {
    let Wakeup { expected, ran } = wakeup;
    match class {
        CauseClass::LateArming => {
            (armed_at > expected).then_some(MonotonicInterval { from: expected, until: armed_at })
        }
        CauseClass::PageFault => Some(MonotonicInterval { from: woke, until: ran }),
        CauseClass::TimerSlack => full_slack(wakeup, class.slack()),
        _ => None,
    }
}

/// The whole slack, or nothing: any interrupt of the CPU serves the timer sooner, and the thread cannot see when that was.
fn full_slack(Wakeup { expected, ran }: Wakeup, slack: Span) -> Option<MonotonicInterval> {
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
            full_slack(Wakeup { expected: at(1_000), ran: at(1_000 + late) }, Span::from_nanos(500))
        };
        assert_eq!(slept(499), None);
        for late in [500, 700] {
            assert_eq!(slept(late), Some(MonotonicInterval { from: at(1_000), until: at(1_500) }));
        }
    }
}
