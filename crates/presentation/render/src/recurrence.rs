//! Periodic late wake-ups, in sentences.

use howlate_analyse::Analysis;
use howlate_analyse::periodicity::{KnownPeriod, Periodic, PeriodicTimes, Recurrence, RecurringCause};
use howlate_model::Span;

use crate::cause_words::who;
use crate::condition::among;
use crate::numbers::count;

/// Most recurrences with a sentence, the most certain ones.
const MOST_SENTENCES: usize = 3;

/// A sentence or two per recurrence.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let all = analysis.recurrences();
    let sentence = |recurrence: &Recurrence| {
        let text = recurrence_in_words(recurrence, analysis);
        among(analysis, &[recurrence.condition])
            .map_or_else(|| text.clone(), |names| format!("{text} Applies to: {names}."))
    };
    distinct(all).take(MOST_SENTENCES).map(sentence).collect()
}

/// Whether any late wake-ups of this condition were traced.
fn is_traced(analysis: &Analysis, condition: u32) -> bool {
    let condition = analysis.header.conditions.get(condition as usize);
    let outcome = analysis.outcomes().iter().find(|outcome| Some(&outcome.condition) == condition);
    outcome.is_some_and(|outcome| outcome.why_late(analysis.header.late_above).is_some())
}

/// The most certain recurrence of each period.
fn distinct(all: &[Recurrence]) -> impl Iterator<Item = &Recurrence> {
    let is_first = |(place, recurrence): &(usize, &Recurrence)| {
        !all[..*place].iter().any(|other| is_alike(other.rhythm.period, recurrence.rhythm.period))
    };
    all.iter().enumerate().filter(is_first).map(|(_, recurrence)| recurrence)
}

fn is_alike(period: Span, other_period: Span) -> bool {
    let apart = period.as_nanos().abs_diff(other_period.as_nanos()) as f64;
    apart <= 0.01 * period.as_nanos() as f64
}

/// The recurrence in a sentence or two.
pub fn recurrence_in_words(recurrence: &Recurrence, analysis: &Analysis) -> String {
    sentence(recurrence, is_traced(analysis, recurrence.condition))
}

/// `Late wake-ups come every 142.9 ms: 98 of the 100 latest (p = 3·10⁻⁹). hog, pid 7, took most of the time in 8 of 9.`
fn sentence(recurrence: &Recurrence, traced: bool) -> String {
    let (period, p) = (period_in_words(&recurrence.rhythm), probability(recurrence.rhythm.p));
    let (members, all) = (count(recurrence.rhythm.members as u64), count(recurrence.rhythm.of as u64));
    let because = match (&recurrence.culprit, recurrence.candidates.as_slice()) {
        (Some(culprit), _) => culprit_sentence(culprit),
        (None, []) if traced => "None of those that were traced shows what takes the time then.".to_owned(),
        (None, []) if recurrence.may_be_shorter => {
            "`--why` names what takes the time then; `--dither` tells it from an echo of something \
                                             faster in the loop's own period."
                .to_owned()
        }
        (None, []) => "`--why` names what takes the time then.".to_owned(),
        (None, periods) => format!(
            "That is consistent with {}{}.",
            periods.iter().map(candidate).collect::<Vec<_>>().join(", or "),
            if traced { "" } else { "; to check, add `--why`" }
        ),
    };
    format!(
        "Late wake-ups come back every {period}: {members} of the {all} slowest are in that rhythm ({p}). {because}"
    )
}

fn culprit_sentence(culprit: &RecurringCause) -> String {
    let RecurringCause { cause, took, known } = culprit;
    let name = who(cause.kind, &cause.name, None);
    format!("Most of the time went to {name} in {took} of {known} that were traced.")
}

/// Name of a mechanism with a known period.
const fn what(periodic: Periodic) -> &'static str {
    match periodic {
        Periodic::Tick => "the tick",
        Periodic::RtPeriod => "real-time throttling or the fair server (`sched_rt_period_us`)",
        Periodic::VmStatistics => "the kernel's memory statistics (`vm.stat_interval`)",
        Periodic::ClockSource => "the check of the clock source",
        Periodic::LockupWatchdog => "the lockup watchdog (`kernel.watchdog_thresh`)",
        Periodic::WriteBack => "writing back dirty pages (`vm.dirty_writeback_centisecs`)",
        Periodic::Quota => "the quota of a control group (`cpu.max`)",
        Periodic::HostQuota => "a quota that the host sets for this machine",
        Periodic::Minute => "a timer of systemd or cron, once a minute",
    }
}

fn candidate(period: &KnownPeriod) -> String {
    what(period.what).to_owned()
}

/// `142.9 ms`, or `142.9 ms or a multiple of it`.
pub(crate) fn period_in_words(rhythm: &PeriodicTimes) -> String {
    let multiple = if rhythm.may_be_multiple { " or a multiple of it" } else { "" };
    format!("{}{multiple}", precise(rhythm.period, rhythm.error))
}

/// With as many digits as are known of what may be off by `error`, and four at most: `142.9 ms`, `1.000 s`.
fn precise(span: Span, error: Span) -> String {
    let nanos = span.as_nanos() as f64;
    let (scale, unit) = match nanos {
        seconds if seconds >= 999.95e6 => (1e9, "s"),
        millis if millis >= 999.95e3 => (1e6, "ms"),
        _ => (1e3, "µs"),
    };
    let value = nanos / scale;
    let decimals = match value {
        few if few < 9.9995 => 3,
        tens if tens < 99.995 => 2,
        hundreds if hundreds < 999.95 => 1,
        _ => 0,
    };
    // The last digit is off by two at most.
    let exponent = (error.as_nanos() as f64 / scale / 2.0).log10().ceil();
    let decimals = (0..decimals).find(|place| -(*place as f64) <= exponent).unwrap_or(decimals);
    let step = 10_f64.powf(exponent);
    let value = if exponent > 0.0 { (value / step).round() * step } else { value };
    format!("{value:.decimals$} {unit}")
}

/// `p = 3·10⁻⁹`.
pub(crate) fn probability(p: f64) -> String {
    if p < 1e-99 {
        return "p < 10⁻⁹⁹".to_owned();
    }
    if p >= 1e-3 {
        return format!("p = {p:.3}");
    }
    let exponent = p.log10().floor();
    let digits = (-exponent).to_string();
    let raised: String =
        digits.chars().filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize)).collect();
    format!("p = {:.0}·10⁻{raised}", (p / 10f64.powf(exponent)).min(9.0))
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cause, CauseKind, Part};

    use super::*;

    fn found(culprit: Option<RecurringCause>, candidates: Vec<KnownPeriod>) -> Recurrence {
        Recurrence {
            condition: 0,
            rhythm: PeriodicTimes {
                period: Span::from_nanos(142_857_143),
                error: Span::ZERO,
                may_be_multiple: false,
                p: 3.2e-9,
                members: 98,
                of: 100,
            },
            phase: Span::ZERO,
            may_be_shorter: true,
            culprit,
            candidates,
            seen: Vec::new(),
        }
    }

    #[test]
    fn it_is_told_with_who_took_the_time_or_what_usually_has_that_period() {
        let cause = Cause::new(Part::Waiting, CauseKind::Thread, "hog".to_owned());
        let text = sentence(&found(Some(RecurringCause { cause, took: 8, known: 9 }), vec![]), true);
        assert_eq!(
            text,
            "Late wake-ups come back every 142.9 ms: 98 of the 100 slowest are in that rhythm (p = 3·10⁻⁹). Most of the time \
             went to hog in 8 of 9 that were traced."
        );
        let mut uncertain = found(None, vec![]);
        uncertain.rhythm.may_be_multiple = true;
        let text = sentence(&uncertain, true);
        assert!(
            text.starts_with("Late wake-ups come back every 142.9 ms or a multiple of it: 98 of"),
            "{text}"
        );
        let period = KnownPeriod { what: Periodic::VmStatistics, period: Span::from_secs(1) };
        let untraced = sentence(&found(None, vec![period]), false);
        assert!(untraced.contains("consistent with the kernel's memory statistics"), "{untraced}");
        assert!(untraced.contains("`--why`") && sentence(&found(None, vec![]), false).contains("`--why`"));
        // `--why` was given already.
        for candidates in [vec![period], vec![]] {
            assert!(!sentence(&found(None, candidates), true).contains("`--why`"));
        }
    }

    #[test]
    fn periods_have_four_digits() {
        let periods = [1_000_000_000, 47_030_000_000, 142_857_143, 4_000_000, 999_990_000, 3_600_000_000_000];
        let periods = periods.map(|nanos| precise(Span::from_nanos(nanos), Span::ZERO));
        assert_eq!(periods, ["1.000 s", "47.03 s", "142.9 ms", "4.000 ms", "1.000 s", "3600 s"]);
        let off_by = |micros| precise(Span::from_micros(250_130), Span::from_micros(micros));
        assert_eq!(
            [2, 150, 300, 1_200, 15_000].map(off_by),
            ["250.1 ms", "250.1 ms", "250 ms", "250 ms", "250 ms"]
        );
        assert_eq!([2e-120, 0.0043, 9.7e-5].map(probability), ["p < 10⁻⁹⁹", "p = 0.004", "p = 9·10⁻⁵"]);
    }
}
