//! What came of a piece of advice, from interleaved pairs.

use super::witnessed::Turn;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Helped,
    Nothing,
    Harmed(String),
    CouldNotBeTyped(String),
    /// A change of the program that this check's program does not have.
    NotChanged,
    Restart,
    Elsewhere,
    /// It is kept over the next start: not typed for a trial.
    ForGood,
    /// It was typed, and looks at something.
    Looked,
    /// Nothing could be found out, and why.
    Unknown(String),
}

impl Verdict {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Helped => "helped",
            Self::Nothing => "nothing",
            Self::Harmed(_) => "HARMED",
            Self::CouldNotBeTyped(_) => "NOT TYPED",
            Self::NotChanged => "code",
            Self::Restart => "restart",
            Self::Elsewhere => "elsewhere",
            Self::ForGood => "for good",
            Self::Looked => "looks",
            Self::Unknown(_) => "unknown",
        }
    }

    pub fn why(&self) -> &str {
        match self {
            Self::Harmed(why) | Self::CouldNotBeTyped(why) | Self::Unknown(why) => why,
            _ => "",
        }
    }
}

/// A turn without the advice and one with it.
pub struct Pair {
    pub without: Turn,
    pub with: Turn,
}

/// The lateness with the advice is below this share of that without, as a geometric mean over the pairs; harm is the other way round.
const LESS: f64 = 0.75;
/// In so large a share of the pairs at least.
const MOST_PAIRS: f64 = 0.79;
/// Results that are left, as a share of those without the advice.
const FEWER: f64 = 0.9;
/// Differences below are the machine's, microseconds.
const LEAST_US: f64 = 30.0;
/// A bystander is that late, microseconds, and so many times later than without the advice.
const BYSTANDER_US: f64 = 300_000.0;
const BYSTANDER_TIMES: f64 = 4.0;
/// What stands for the lateness of a program that came to no result, microseconds: that of its whole run.
const NO_RESULT_US: f64 = 10_000_000.0;

/// The judgement.
pub fn judged(pairs: &[Pair]) -> Verdict {
    let ended =
        pairs.iter().find_map(|pair| pair.with.ended.as_ref().filter(|_| pair.without.ended.is_none()));
    if let Some(why) = ended {
        return Verdict::Harmed(why.clone());
    }
    let share = |is_so: &dyn Fn(&Pair) -> bool| {
        pairs.iter().filter(|pair| is_so(pair)).count() as f64 / pairs.len().max(1) as f64
    };
    if pairs.is_empty() || share(&|pair| pair.without.witness.is_none()) > 0.0 {
        return Verdict::Unknown("the program came to no end without the advice".to_owned());
    }
    if share(&|pair| pair.with.witness.is_none()) > 0.0 {
        return Verdict::Harmed("the program came to no end with it".to_owned());
    }
    if share(&|pair| pair.with.beat_us > BYSTANDER_US.max(BYSTANDER_TIMES * pair.without.beat_us))
        >= MOST_PAIRS
    {
        return Verdict::Harmed("a bystander was kept from the CPU".to_owned());
    }
    if share(&|pair| pair.with.done() < FEWER * pair.without.done()) >= MOST_PAIRS {
        return Verdict::Harmed("fewer results".to_owned());
    }
    let ratio = ratio(pairs);
    if ratio < LESS && share(&|pair| late(&pair.with) < late(&pair.without)) >= MOST_PAIRS {
        Verdict::Helped
    } else if ratio > 1.0 / LESS && share(&|pair| late(&pair.with) > late(&pair.without)) >= MOST_PAIRS {
        Verdict::Harmed("the program is later".to_owned())
    } else {
        Verdict::Nothing
    }
}

/// Whether some pairs say what others do not: more may settle it.
pub fn is_open(pairs: &[Pair]) -> bool {
    let ratio = ratio(pairs);
    judged(pairs) == Verdict::Nothing && !(LESS..=1.0 / LESS).contains(&ratio)
}

/// Lateness with the advice as a share of that without: the geometric mean over the pairs.
pub fn ratio(pairs: &[Pair]) -> f64 {
    let logarithms = pairs.iter().map(|pair| (late(&pair.with) / late(&pair.without)).ln());
    (logarithms.sum::<f64>() / pairs.len().max(1) as f64).exp()
}

/// The program's own figure, never below what the machine does by itself.
fn late(turn: &Turn) -> f64 {
    let figure = if turn.done() > 0.0 { turn.late_us() } else { NO_RESULT_US };
    figure.max(LEAST_US)
}

#[cfg(test)]
mod tests {
    use super::super::witnessed::Witness;
    use super::*;

    fn turn(done: f64, p99: f64, beat_us: f64) -> Turn {
        let witness = Witness { done, late_us: p99 };
        Turn { witness: Some(witness), beat_us, ended: None, complaint: String::new() }
    }

    fn pairs(without: (f64, f64, f64), with: (f64, f64, f64)) -> Vec<Pair> {
        let of = |(done, p99, beat): (f64, f64, f64)| turn(done, p99, beat);
        (0..3).map(|_| Pair { without: of(without), with: of(with) }).collect()
    }

    #[test]
    fn pairs_are_judged() {
        let word = |without, with| judged(&pairs(without, with)).word();
        let usual = (300.0, 2_000.0, 5_000.0);
        assert_eq!(word(usual, (300.0, 200.0, 5_000.0)), "helped");
        assert_eq!(word(usual, (300.0, 1_900.0, 5_000.0)), "nothing");
        assert_eq!(word(usual, (300.0, 9_000.0, 5_000.0)), "HARMED");
        assert_eq!(word(usual, (30.0, 200.0, 5_000.0)), "HARMED", "fewer results");
        assert_eq!(word(usual, (300.0, 200.0, 950_000.0)), "HARMED", "a bystander");
        assert_eq!(word((300.0, 12.0, 0.0), (300.0, 25.0, 0.0)), "nothing", "both are what the machine does");
        assert_eq!(word((0.0, 0.0, 0.0), (300.0, 40.0, 0.0)), "helped", "it came to results at all");
    }

    #[test]
    fn one_pair_is_no_harm_and_no_help() {
        let mut all = pairs((300.0, 2_000.0, 0.0), (300.0, 200.0, 0.0));
        all[0].with = turn(300.0, 30_000.0, 0.0);
        assert_eq!(judged(&all), Verdict::Nothing);
        all[0].with = turn(300.0, 2_500.0, 0.0);
        assert!(is_open(&all), "two of three helped");
        all.extend(pairs((300.0, 2_000.0, 0.0), (300.0, 200.0, 0.0)).into_iter().take(2));
        assert_eq!((judged(&all), is_open(&all)), (Verdict::Helped, false), "four of five");
    }

    #[test]
    fn a_cell_that_had_to_be_ended_is_harm_at_once() {
        let mut all = pairs((300.0, 2_000.0, 0.0), (300.0, 200.0, 0.0));
        all[2].with = Turn {
            witness: None,
            beat_us: 0.0,
            ended: Some("it had to be ended".into()),
            complaint: String::new(),
        };
        assert_eq!(judged(&all), Verdict::Harmed("it had to be ended".to_owned()));
        all[2].without.ended = Some("so did this".to_owned());
        assert!(matches!(judged(&all), Verdict::Harmed(_)), "but its results are missing");
        all[2].without.witness = None;
        assert!(matches!(judged(&all), Verdict::Unknown(_)));
    }
}
