//! How much a turn measures where that was not typed.

use howlate_model::Span;
use howlate_tune::wakeups_per_turn;

use howlate_cli::TuneWork;

/// A turn of its own for each setting and round: what was typed, or as many wake-ups as the numbers of a turn take.
pub(super) fn choose(work: &mut TuneWork) {
    let each = length(work);
    let (measuring, how) = work.parts();
    let extent = &mut measuring.extent;
    extent.rounds = Some(1);
    if extent.samples.is_none() && extent.duration.is_none() {
        extent.samples = Some(wakeups_per_turn(each, how.goal.statistic()));
    }
}

/// How long one wake-up takes.
fn length(work: &TuneWork) -> Span {
    let first = |lengths: &[Span]| lengths.first().copied().unwrap_or(Span::from_millis(1));
    match work {
        TuneWork::Cyclic(tried) => first(&tried.work.period),
        TuneWork::Sleep(tried) => first(&tried.work.lengths()),
        TuneWork::Notify(tried) => first(&tried.work.after),
    }
}
