//! How often limits raise false alarms, a line each.

use howlate_analyse::{
    Check, GateTrust, LEAST_SHARE, LimitVerdict, UnknownShare, gate_trust, slowest_covered,
};
use howlate_model::Limit;

use crate::numbers::rough;

/// A line per limit that was judged, about the condition that fails most often, or with least evidence.
pub fn gate_lines(checks: &[Check<'_>]) -> Vec<String> {
    let mut limits: Vec<Limit> = Vec::new();
    for limit in checks.iter().filter(is_judged).filter_map(|check| check.limit) {
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    limits.into_iter().filter_map(|limit| line(limit, checks)).collect()
}

fn is_judged(check: &&Check<'_>) -> bool {
    !matches!(check.verdict, LimitVerdict::Unknown(_))
}

fn line(limit: Limit, checks: &[Check<'_>]) -> Option<String> {
    let of_limit = checks.iter().filter(is_judged).filter(|check| check.limit == Some(limit));
    let trusts = of_limit.filter_map(|check| gate_trust(check.outcome, limit));
    let worst = trusts.max_by(|trust, other| doubt(trust).total_cmp(&doubt(other)))?;
    Some(format!("{limit}: {}\n", sentence(&worst)))
}

/// An unknown share sorts as the worst.
fn doubt(trust: &GateTrust) -> f64 {
    trust.exceeds.unwrap_or(2.0)
}

/// `3 % (at most 20 %, for what changes within 300 ms) of runs this long (30 s) would exceed it by chance.`
fn sentence(trust: &GateTrust) -> String {
    let (run, trusted) = (rough(trust.run), percent(trust.trusted));
    let after = trust.trusted_after.map(rough);
    match (trust.exceeds, trust.unknown, after) {
        (Some(share), _, after) => {
            let runs =
                format!("{}{} of runs this long ({run}) would exceed it", share_text(share), range(trust));
            match after.filter(|_| share > trust.trusted) {
                Some(after) => format!("{runs} by chance; {trusted} takes runs of {after}."),
                None if share > trust.trusted => {
                    format!("{runs}, and no fewer of longer ones: the limit is too low here.")
                }
                None => format!("{runs} by chance."),
            }
        }
        (None, Some(UnknownShare::TooShort), _) => {
            format!(
                "how often runs this long ({run}) exceed it by chance cannot be said: it takes a longer run."
            )
        }
        (None, _, Some(after)) => format!(
            "how often runs this long ({run}) exceed it by chance cannot be said, for lack of events; {after} without one would \
             mean at most {trusted}."
        ),
        (None, ..) => format!(
            "how often runs this long ({run}) exceed it by chance cannot be said: there were too few events."
        ),
    }
}

/// ` (2 to 30 %, for what changes within 300 ms)`: the confidence interval and what it covers; only that where its ends round to the same
/// value.
fn range(trust: &GateTrust) -> String {
    let covers = format!("for what changes within {}", rough(slowest_covered(trust.run)));
    match trust.exceeds_between {
        Some((low, high)) if percent(low) == percent(high) => format!(" ({covers})"),
        Some((low, high)) if low < LEAST_SHARE => format!(" (at most {}, {covers})", percent(high)),
        Some((low, high)) => {
            format!(" ({} to {}, {covers})", percent(low).trim_end_matches(" %"), percent(high))
        }
        None => String::new(),
    }
}

fn share_text(share: f64) -> String {
    if share < LEAST_SHARE { format!("less than {}", percent(LEAST_SHARE)) } else { percent(share) }
}

/// Whole per cents from 1 to 99: a single run never proves certainty.
fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).clamp(1.0, 99.0))
}

#[cfg(test)]
mod tests {
    use howlate_model::Span;

    use super::*;

    #[test]
    fn what_is_known_is_told_and_what_is_not_is_not() {
        let run = Span::from_secs(30);
        let trust = |exceeds: Option<f64>, unknown, after: Option<u64>| GateTrust {
            run,
            exceeds,
            exceeds_between: exceeds.map(|share| (share / 20.0, (share * 2.0).min(1.0))),
            trusted_after: after.map(Span::from_secs),
            trusted: 0.05,
            unknown,
        };
        let few = Some(UnknownShare::TooFewEvents);
        let sentences: Vec<String> = [
            trust(Some(0.034), None, Some(20)),
            trust(Some(0.3), None, Some(95)),
            trust(Some(0.002), None, Some(4)),
            trust(Some(0.9996), None, None),
            trust(None, few, Some(1_752)),
            trust(None, few, None),
            trust(None, Some(UnknownShare::TooShort), None),
        ]
        .iter()
        .map(sentence)
        .collect();
        let cannot = "how often runs this long (30.0 s) exceed it by chance cannot be said";
        assert_eq!(
            sentences,
            [
                "3 % (at most 7 %, for what changes within 300 ms) of runs this long (30.0 s) would exceed it by chance.",
                "30 % (2 to 60 %, for what changes within 300 ms) of runs this long (30.0 s) would exceed it by chance; 5 % takes runs of 1 min 35 s.",
                "less than 1 % (for what changes within 300 ms) of runs this long (30.0 s) would exceed it by chance.",
                "99 % (5 to 99 %, for what changes within 300 ms) of runs this long (30.0 s) would exceed it, and no fewer of longer ones: the limit is too low here.",
                &format!("{cannot}, for lack of events; 29 min 12 s without one would mean at most 5 %."),
                &format!("{cannot}: there were too few events."),
                &format!("{cannot}: it takes a longer run."),
            ]
        );
    }
}
