//! What conditions are called beside one another.

use howlate_analyse::Outcome;

use crate::condition::condition;

/// The parts of each condition's words that not all have in common.
pub(super) fn names(outcomes: &[&Outcome]) -> Vec<String> {
    let words: Vec<Vec<String>> = outcomes
        .iter()
        .map(|outcome| condition(&outcome.condition).split(" · ").map(str::to_owned).collect())
        .collect();
    let is_common = |part: &String| words.iter().all(|parts| parts.contains(part));
    let name = |(outcome, parts): (&&Outcome, &Vec<String>)| {
        let own: Vec<&str> = parts.iter().filter(|part| !is_common(part)).map(String::as_str).collect();
        match own.as_slice() {
            [] if outcomes.len() > 1 => format!("thread {}", outcome.condition.thread),
            [] => "all wake-ups".to_owned(),
            own => own.join(" · "),
        }
    };
    outcomes.iter().zip(&words).map(name).collect()
}
