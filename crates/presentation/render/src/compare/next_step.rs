//! The one command that would settle what a comparison leaves open.

use howlate_analyse::compare::{Compared, Design, Inconclusive, Settling, Statistic, Verdict};
use howlate_model::{Property, Span, shell_word};

use super::{ComparisonReport, headline, words};
use crate::command_line::{OUTPUT, without};
use crate::numbers::rough;

/// Options that the new command has its own of, each with a value.
const REPLACED: [&str; 4] = ["--rounds", "--duration", "--samples", "--seed"];
/// Options of output, without one.
const LEFT_OUT: [&str; 3] = ["--quiet", "-q", "--json"];
/// Properties that one command can measure several values of, in turns.
const IN_TURNS: [&str; 3] = ["policy", "load", "slack"];

/// Nobody measures for longer to settle one question, and a damaged recording may ask for centuries.
const LONGEST: Span = Span::from_secs(30 * 24 * 3_600);

/// What to type, how long it takes, and what takes so long; nothing where all is settled.
pub(super) fn sentence(report: &ComparisonReport<'_>) -> Option<String> {
    // What is worse is worse, whatever else is open.
    let is_open = report.comparison.verdict() == Verdict::Inconclusive;
    let (one, tested, settling) = report.comparison.to_settle(headline::goal(report)).filter(|_| is_open)?;
    if tested.inconclusive == Some(Inconclusive::OneAfterTheOther) && !is_in_turns(one) {
        return Some(alternating(report, one));
    }
    let whose = words::statistic(tested.statistic, one.design);
    let command = command(report, one, tested.statistic, settling)?;
    Some(format!("To settle it, {command}. The {whose} of {} needs that long.", words::subject(one)))
}

/// Whether one command can measure both sides, in turns.
fn is_in_turns(one: &Compared) -> bool {
    matches!(one.differs.as_slice(), [by] if IN_TURNS.contains(&by.property))
}

/// How a verdict is had of what no option tells apart.
fn alternating(report: &ComparisonReport<'_>, one: &Compared) -> String {
    let rounds = report.comparison.least_pairs(report.asked.confidence);
    let is_of_kernels = matches!(one.differs.as_slice(), [by] if by.property == Property::Kernel.name());
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
    one: &Compared,
    statistic: Statistic,
    settling: Settling,
) -> Option<String> {
    let typed = typed(&report.base.1.header.arguments)?;
    let duration = in_all(settling.turn.max(least_turn(one, statistic)), settling.pairs as u64)?;
    let extent = format!("--rounds {} --duration {}", settling.pairs, whole(duration));
    match (one.design, one.differs.as_slice()) {
        (Design::Interleaved, _) => {
            let typed = shown(&typed);
            let by = one.differs.first().map_or("policy", |by| by.property);
            let time = rough(duration.times(sides(report, one)));
            Some(format!(
                "`{typed} {extent} --out turns.jsonl`, then `howlate compare turns.jsonl --by {by}` (about {time})"
            ))
        }
        (Design::Separate, [by]) if IN_TURNS.contains(&by.property) => {
            let (option, values) = (format!("--{}", by.property), format!("{},{}", by.base, by.new));
            let typed = shown(&without(&typed, &[option.as_str()], &[]));
            let values = shell_word(&values);
            let time = rough(duration.times(2));
            Some(format!(
                "measure both in turns: `{typed} {option} {values} {extent} --out turns.jsonl`, then `howlate \
                 compare turns.jsonl --by {}` (about {time})",
                by.property
            ))
        }
        (Design::Distributions, _) => None,
        (Design::Separate, _) => Some(format!(
            "measure each for longer: `{} --duration {} --out …` (about {} in all)",
            shown(&typed),
            whole(duration),
            rough(duration.times(2))
        )),
    }
}

/// How long so many turns take; nothing where nobody would measure for so long.
fn in_all(turn: Span, pairs: u64) -> Option<Span> {
    Some(turn.times(pairs)).filter(|duration| *duration <= LONGEST)
}

/// How many values of the property are compared; all take their turns.
fn sides(report: &ComparisonReport<'_>, one: &Compared) -> u64 {
    let alike = |other: &&Compared| {
        other.differs.first().map(|by| &by.base) == one.differs.first().map(|by| &by.base)
    };
    report.comparison.compared.iter().filter(alike).count() as u64 + 1
}

/// How long a turn must be to hold the wake-ups that a statistic takes.
fn least_turn(one: &Compared, statistic: Statistic) -> Span {
    one.base.work.period().map_or(Span::ZERO, |period| period.times(statistic.least()))
}

/// As people type them: whole seconds, or tenths of one where there are few.
fn whole(span: Span) -> String {
    const SECOND: u64 = 1_000_000_000;
    let step = if span.as_nanos() < 10 * SECOND { SECOND / 10 } else { SECOND };
    let millis = span.as_nanos().div_ceil(step) * step / 1_000_000;
    if millis.is_multiple_of(1_000) { format!("{}s", millis / 1_000) } else { format!("{millis}ms") }
}

/// The words of the command as it was typed, but for its extent and output; only where it measured, and can be shown.
fn typed(arguments: &[String]) -> Option<Vec<String>> {
    let measured = matches!(arguments.first()?.as_str(), "cyclic" | "sleep" | "notify");
    let can_be_shown = !arguments.iter().any(|word| word.chars().any(char::is_control));
    let extent_and_output = [&REPLACED[..], &OUTPUT].concat();
    (measured && can_be_shown).then(|| without(arguments, &extent_and_output, &LEFT_OUT))
}

/// Words as a shell takes them.
fn shown(words: &[String]) -> String {
    let words = words.iter().map(shell_word);
    std::iter::once("howlate".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_loses_its_extent_and_its_output() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let typed = |text: &str| typed(&words(text)).map(|words| shown(&words));
        assert_eq!(
            typed(
                "cyclic --threads 1 --policy other,fifo:80 --duration=10s --rounds 10 --out x.jsonl --quiet -o y"
            ),
            Some("howlate cyclic --threads 1 --policy other,fifo:80".to_owned())
        );
        assert_eq!(typed("guest --kernel x"), None);
        assert_eq!(typed("cyclic --out \u{1b}[31m"), None);
    }

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        let command = |word: &str| typed(&["cyclic".into(), "--load".into(), word.into()]);
        let command = |word: &str| command(word).map(|words| shown(&words));
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
