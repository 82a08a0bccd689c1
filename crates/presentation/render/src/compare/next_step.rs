//! The command that would settle what a comparison leaves open.

use howlate_analyse::compare::{Compared, Design, Inconclusive, Settling, Statistic, Verdict};
use howlate_model::{Property, Span, shell_word};

use super::{ComparisonReport, headline, wording};
use crate::command_line::{OUTPUT, without};
use crate::numbers::rough;

/// Options that the proposed command sets itself, each with a value.
const REPLACED: [&str; 4] = ["--rounds", "--duration", "--samples", "--seed"];
/// Output options without a value.
const LEFT_OUT: [&str; 3] = ["--quiet", "-q", "--json"];
/// Properties of which one command can measure several values, in alternating turns.
const IN_TURNS: [&str; 3] = ["policy", "load", "slack"];

/// Longer measurements are not proposed; a damaged recording may ask for centuries.
const LONGEST: Span = Span::from_secs(30 * 24 * 3_600);

/// The command, its duration, and the statistic that needs it; `None` where everything is settled.
pub(super) fn sentence(report: &ComparisonReport<'_>) -> Option<String> {
    // A verdict of "worse" stands, whatever else is inconclusive.
    let is_open = report.comparison.verdict() == Verdict::Inconclusive;
    let (pair, tested, settling) = report.comparison.to_settle(headline::goal(report)).filter(|_| is_open)?;
    if tested.inconclusive == Some(Inconclusive::OneAfterTheOther) && !is_in_turns(pair) {
        return Some(alternating(report, pair));
    }
    let whose = wording::statistic(tested.statistic, pair.design);
    let command = command(report, pair, tested.statistic, settling)?;
    Some(format!("To settle it, {command}. The {whose} of {} needs that long.", wording::subject(pair)))
}

/// Whether one command can measure both sides, in turns.
fn is_in_turns(pair: &Compared) -> bool {
    matches!(pair.differs.as_slice(), [difference] if IN_TURNS.contains(&difference.property))
}

/// How to get a verdict where no option selects the two sides.
fn alternating(report: &ComparisonReport<'_>, pair: &Compared) -> String {
    let rounds = report.comparison.least_pairs(report.criteria.confidence);
    let is_of_kernels =
        matches!(pair.differs.as_slice(), [difference] if difference.property == Property::Kernel.name());
    let guest = if is_of_kernels {
        format!(
            " Or boot both kernels in turns: `howlate guest --kernel A --kernel B --rounds {rounds} -- …`."
        )
    } else {
        String::new()
    };
    format!(
        "For a verdict, measure both in turns: with one command that has both values, such as `--policy other,fifo:80`, then `howlate compare \
         RECORDING --by …`. Where no option tells them apart, measure each again in the same order: a difference that comes and goes with \
         them is theirs.{guest}"
    )
}

fn command(
    report: &ComparisonReport<'_>,
    pair: &Compared,
    statistic: Statistic,
    settling: Settling,
) -> Option<String> {
    let arguments = measuring_command(&report.base.1.header.arguments)?;
    let duration = in_all(settling.turn.max(shortest_turn(pair, statistic)), settling.pairs as u64)?;
    let extent = format!("--rounds {} --duration {}", settling.pairs, whole(duration));
    match (pair.design, pair.differs.as_slice()) {
        (Design::Interleaved, _) => {
            let command = shell_command(&arguments);
            let by = pair.differs.first().map_or("policy", |difference| difference.property);
            let time = rough(duration.times(sides(report, pair)));
            Some(format!(
                "`{command} {extent} --out turns.jsonl`, then `howlate compare turns.jsonl --by {by}` (about {time})"
            ))
        }
        (Design::Separate, [by]) if IN_TURNS.contains(&by.property) => {
            let (option, values) = (format!("--{}", by.property), format!("{},{}", by.base, by.new));
            let command = shell_command(&without(&arguments, &[option.as_str()], &[]));
            let values = shell_word(&values);
            let time = rough(duration.times(2));
            Some(format!(
                "measure both in turns: `{command} {option} {values} {extent} --out turns.jsonl`, then `howlate \
                     compare turns.jsonl --by {}` (about {time})",
                by.property
            ))
        }
        (Design::Distributions, _) => None,
        (Design::Separate, _) => Some(format!(
            "measure each for longer: `{} --duration {} --out …` (about {} in all)",
            shell_command(&arguments),
            whole(duration),
            rough(duration.times(2))
        )),
    }
}

/// Total duration of the turns; `None` above the limit.
fn in_all(turn: Span, pairs: u64) -> Option<Span> {
    Some(turn.times(pairs)).filter(|duration| *duration <= LONGEST)
}

/// Number of values of the property that are compared; all of them take turns.
fn sides(report: &ComparisonReport<'_>, pair: &Compared) -> u64 {
    let has_same_base = |other: &&Compared| {
        other.differs.first().map(|difference| &difference.base)
            == pair.differs.first().map(|difference| &difference.base)
    };
    report.comparison.compared.iter().filter(has_same_base).count() as u64 + 1
}

/// Length of a turn that holds the wake-ups that a statistic needs.
fn shortest_turn(pair: &Compared, statistic: Statistic) -> Span {
    pair.base.work.period().map_or(Span::ZERO, |period| period.times(statistic.least()))
}

/// Rounded up to whole seconds, below ten seconds to tenths: `147s`, `2400ms`.
fn whole(span: Span) -> String {
    const SECOND: u64 = 1_000_000_000;
    let step = if span.as_nanos() < 10 * SECOND { SECOND / 10 } else { SECOND };
    let millis = span.as_nanos().div_ceil(step) * step / 1_000_000;
    if millis.is_multiple_of(1_000) { format!("{}s", millis / 1_000) } else { format!("{millis}ms") }
}

/// The arguments of the base's command without extent and output; `None` unless it measured and can be printed.
fn measuring_command(arguments: &[String]) -> Option<Vec<String>> {
    let measures = matches!(arguments.first()?.as_str(), "cyclic" | "sleep" | "notify");
    let is_printable = !arguments.iter().any(|argument| argument.chars().any(char::is_control));
    let extent_and_output = [&REPLACED[..], &OUTPUT].concat();
    (measures && is_printable).then(|| without(arguments, &extent_and_output, &LEFT_OUT))
}

/// The command quoted for a shell.
fn shell_command(arguments: &[String]) -> String {
    let quoted = arguments.iter().map(shell_word);
    std::iter::once("howlate".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_loses_its_extent_and_its_output() {
        let command = |text: &str| {
            let arguments: Vec<String> = text.split(' ').map(str::to_owned).collect();
            measuring_command(&arguments).map(|arguments| shell_command(&arguments))
        };
        assert_eq!(
            command(
                "cyclic --threads 1 --policy other,fifo:80 --duration=10s --rounds 10 --out x.jsonl --quiet -o y"
            ),
            Some("howlate cyclic --threads 1 --policy other,fifo:80".to_owned())
        );
        assert_eq!(command("guest --kernel x"), None);
        assert_eq!(command("cyclic --out \u{1b}[31m"), None);
    }

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        let command = |load: &str| {
            let arguments = measuring_command(&["cyclic".into(), "--load".into(), load.into()]);
            arguments.map(|arguments| shell_command(&arguments))
        };
        assert_eq!(command("fifo:80,other").as_deref(), Some("howlate cyclic --load fifo:80,other"));
        assert_eq!(command("cmd:sleep 1 -o x").as_deref(), Some("howlate cyclic --load 'cmd:sleep 1 -o x'"));
        assert_eq!(command("it's").as_deref(), Some("howlate cyclic --load 'it'\\''s'"));
    }

    #[test]
    fn nothing_is_proposed_that_takes_centuries() {
        assert_eq!(in_all(Span::from_secs(10), 6), Some(Span::from_secs(60)));
        assert_eq!(in_all(Span::from_secs(10), u64::MAX), None);
        assert_eq!(in_all(Span::from_nanos(u64::MAX), 2), None, "it would wrap to less than a turn");
    }

    #[test]
    fn lengths_are_such_as_people_type() {
        assert_eq!(whole(Span::from_millis(4_000)), "4s");
        assert_eq!(whole(Span::from_nanos(2_340_000_001)), "2400ms");
        assert_eq!(whole(Span::from_millis(147_700)), "148s");
    }
}
