//! Progress of a run, in one line.

use howlate_model::{Condition, Span};

use crate::condition::condition;
use crate::numbers::{count, rough, span_per_span};
use crate::stage::TuneStage;
use crate::style::{DIM, paint};

/// Width of the bar.
const BAR: usize = 20;

/// `━━━━━━━━━━━━━━      34.0 s left · turn 3 of 12 · clock_nanosleep for 1 ms · other · load …`, cut to `width`, least important last.
pub fn progress(
    stage: Option<TuneStage>,
    [turn, turns]: [usize; 2],
    now: &Condition,
    [remaining, whole]: [Span; 2],
    width: usize,
) -> String {
    let time = match stage {
        Some(stage) => format!("{} · {}", most_left(remaining), stage.in_words()),
        None => time_left(remaining),
    };
    let text = format!("{time} · turn {turn} of {turns} · {}", condition(now));
    format!("{} {}", bar(remaining, whole), paint(DIM, cut(&text, width.saturating_sub(BAR + 1))))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn bar(remaining: Span, whole: Span) -> String {
    let done = 1.0 - span_per_span(remaining, whole).clamp(0.0, 1.0);
    let full = (done * BAR as f64) as usize;
    format!("{}{:rest$}", "━".repeat(full), "", rest = BAR - full)
}

/// `text` in one line of `width` columns, with an ellipsis if cut.
fn cut(text: &str, width: usize) -> String {
    match text.chars().count() <= width {
        true => text.to_owned(),
        false => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// `34.0 s left`.
pub fn time_left(remaining: Span) -> String {
    if remaining.is_zero() { "ending".to_owned() } else { format!("{} left", rough(remaining)) }
}

/// `at most 2 min 10 s left`, for runs that may end earlier.
pub fn most_left(remaining: Span) -> String {
    if remaining.is_zero() { time_left(remaining) } else { format!("at most {}", time_left(remaining)) }
}

/// `guest 2 of 4 · 6.1.0-rt · 12.0 s · 24 000 wake-ups`.
pub fn boot_progress(title: &str, age: Span, wakeups: u64) -> String {
    let doing = if wakeups == 0 { "booting".to_owned() } else { format!("{} wake-ups", count(wakeups)) };
    paint(DIM, format!("{title} · {} · {doing}", rough(age)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_never_what_is_cut() {
        assert_eq!(
            bar(Span::from_secs(5), Span::from_secs(10)),
            format!("{}{}", "━".repeat(10), " ".repeat(10))
        );
        let condition =
            Condition::new(howlate_model::Work::Watch { mechanism: howlate_model::Activation::Timer }, "6.1");
        let time = [Span::from_secs(90), Span::from_secs(100)];
        let text = progress(Some(TuneStage::Screening), [3, 12], &condition, time, 200);
        let expected = "at most 1 min 30 s left · stage 2 of 4: each setting · turn 3 of 12 · ";
        assert!(text.contains(expected), "{text}");
        assert_eq!(bar(Span::ZERO, Span::from_secs(10)), "━".repeat(BAR));
        assert_eq!(bar(Span::from_secs(20), Span::from_secs(10)), " ".repeat(BAR));
        assert_eq!(
            (cut("3 s left", 8).as_str(), cut("3 s left · more", 10).as_str()),
            ("3 s left", "3 s left …")
        );
    }
}
