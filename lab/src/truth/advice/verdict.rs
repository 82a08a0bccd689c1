//! Judges a piece of advice by interleaved pairs of runs.

use super::witnessed::CellRun;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdviceVerdict {
    Helped,
    Nothing,
    Harmed(String),
    CouldNotBeTyped(String),
    /// A code change that the test program does not implement.
    NotChanged,
    Restart,
    Elsewhere,
    /// It would survive a reboot, so that it is not tried.
    ForGood,
    /// A command that only looks at something; it was run.
    Looked,
    /// No verdict is possible, and why.
    Unknown(String),
}

impl AdviceVerdict {
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

/// A run without the advice and one with it.
pub struct RunPair {
    pub without: CellRun,
    pub with: CellRun,
}

/// Advice helps if the ratio of lateness with to without, the geometric mean over the pairs, is below this; it harms above the
/// inverse.
const LESS: f64 = 0.75;
/// Least share of the pairs that have to agree.
const MOST_PAIRS: f64 = 0.79;
/// Fewer results than this share of those without the advice are harm.
const FEWER: f64 = 0.9;
/// Lateness below this is noise of the machine, µs.
const LEAST_US: f64 = 30.0;
/// A bystander this late, µs, and this many times later than without the advice, is harm.
const BYSTANDER_US: f64 = 300_000.0;
const BYSTANDER_TIMES: f64 = 4.0;
/// Lateness of a program without a result, µs: that of its whole run.
const NO_RESULT_US: f64 = 10_000_000.0;

pub fn judge(pairs: &[RunPair]) -> AdviceVerdict {
    let ended =
        pairs.iter().find_map(|pair| pair.with.ended.as_ref().filter(|_| pair.without.ended.is_none()));
    if let Some(why) = ended {
        return AdviceVerdict::Harmed(why.clone());
    }
    let share = |is_so: &dyn Fn(&RunPair) -> bool| {
        pairs.iter().filter(|pair| is_so(pair)).count() as f64 / pairs.len().max(1) as f64
    };
    if pairs.is_empty() || share(&|pair| pair.without.witness.is_none()) > 0.0 {
        return AdviceVerdict::Unknown("the program came to no end without the advice".to_owned());
    }
    if share(&|pair| pair.with.witness.is_none()) > 0.0 {
        return AdviceVerdict::Harmed("the program came to no end with it".to_owned());
    }
    if share(&|pair| pair.with.beat_us > BYSTANDER_US.max(BYSTANDER_TIMES * pair.without.beat_us))
        >= MOST_PAIRS
    {
        return AdviceVerdict::Harmed("a bystander was kept from the CPU".to_owned());
    }
    if share(&|pair| pair.with.done() < FEWER * pair.without.done()) >= MOST_PAIRS {
        return AdviceVerdict::Harmed("fewer results".to_owned());
    }
    let ratio = ratio(pairs);
    if ratio < LESS && share(&|pair| lateness_us(&pair.with) < lateness_us(&pair.without)) >= MOST_PAIRS {
        AdviceVerdict::Helped
    } else if ratio > 1.0 / LESS
        && share(&|pair| lateness_us(&pair.with) > lateness_us(&pair.without)) >= MOST_PAIRS
    {
        AdviceVerdict::Harmed("the program is later".to_owned())
    } else {
        AdviceVerdict::Nothing
    }
}

/// Whether the pairs disagree, so that more of them may decide.
pub fn is_open(pairs: &[RunPair]) -> bool {
    let ratio = ratio(pairs);
    judge(pairs) == AdviceVerdict::Nothing && !(LESS..=1.0 / LESS).contains(&ratio)
}

/// Lateness with the advice divided by that without: the geometric mean over the pairs.
pub fn ratio(pairs: &[RunPair]) -> f64 {
    let logarithms = pairs.iter().map(|pair| (lateness_us(&pair.with) / lateness_us(&pair.without)).ln());
    (logarithms.sum::<f64>() / pairs.len().max(1) as f64).exp()
}

/// The program's own figure, at least `LEAST_US`.
fn lateness_us(run: &CellRun) -> f64 {
    let figure = if run.done() > 0.0 { run.late_us() } else { NO_RESULT_US };
    figure.max(LEAST_US)
}

#[cfg(test)]
mod tests {
    use super::super::witnessed::ProgramStamps;
    use super::*;

    fn run(done: f64, p99: f64, beat_us: f64) -> CellRun {
        let stamps = ProgramStamps { done, late_us: p99 };
        CellRun { witness: Some(stamps), beat_us, ended: None, complaint: String::new() }
    }

    fn pairs(without: (f64, f64, f64), with: (f64, f64, f64)) -> Vec<RunPair> {
        let run = |(done, p99, beat): (f64, f64, f64)| run(done, p99, beat);
        (0..3).map(|_| RunPair { without: run(without), with: run(with) }).collect()
    }

    #[test]
    fn pairs_are_judged() {
        let word = |without, with| judge(&pairs(without, with)).word();
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
        all[0].with = run(300.0, 30_000.0, 0.0);
        assert_eq!(judge(&all), AdviceVerdict::Nothing);
        all[0].with = run(300.0, 2_500.0, 0.0);
        assert!(is_open(&all), "two of three helped");
        all.extend(pairs((300.0, 2_000.0, 0.0), (300.0, 200.0, 0.0)).into_iter().take(2));
        assert_eq!((judge(&all), is_open(&all)), (AdviceVerdict::Helped, false), "four of five");
    }

    #[test]
    fn a_cell_that_had_to_be_ended_is_harm_at_once() {
        let mut all = pairs((300.0, 2_000.0, 0.0), (300.0, 200.0, 0.0));
        all[2].with = CellRun {
            witness: None,
            beat_us: 0.0,
            ended: Some("it had to be ended".into()),
            complaint: String::new(),
        };
        assert_eq!(judge(&all), AdviceVerdict::Harmed("it had to be ended".to_owned()));
        all[2].without.ended = Some("so did this".to_owned());
        assert!(matches!(judge(&all), AdviceVerdict::Harmed(_)), "but its results are missing");
        all[2].without.witness = None;
        assert!(matches!(judge(&all), AdviceVerdict::Unknown(_)));
    }
}
