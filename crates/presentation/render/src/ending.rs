//! How a run ended, where it did not do all that was asked.

use howlate_analyse::Analysis;
use howlate_model::EndReason;

use crate::numbers::{count, rough};

/// In a word or two, and as a sentence without its full stop; `None` where it did all.
const fn words(how: EndReason) -> Option<(&'static str, &'static str)> {
    match how {
        EndReason::Done => None,
        EndReason::Interrupted => Some(("interrupted", "It was interrupted")),
        EndReason::StoppedAbove => Some(("stopped at the threshold", "It was stopped at the threshold")),
        EndReason::ProgramEnded => Some(("ended with the program", "The program ended")),
        EndReason::CutOff => Some(("cut off", "The file ends in the middle")),
        EndReason::NotRestored => Some((
            "ended, because a setting could not be put back",
            "It ended, because a setting of the machine could not be put back",
        )),
    }
}

/// What follows a title: ` · interrupted`; empty where the run did all that was asked.
pub fn ending_after_title(analysis: &Analysis) -> String {
    let short = match &analysis.end {
        Some(end) => words(end.how).map(|(short, _)| short),
        None if analysis.is_running => Some("still running"),
        None => Some("did not end in order"),
    };
    short.map_or_else(String::new, |short| format!(" · {short}"))
}

/// So many moments are told one by one.
const MARKS: usize = 12;

/// When somebody who watched has marked a moment: `Marked by hand: after 12 s and 40 s.`; `None` where nobody did.
pub fn marked(analysis: &Analysis) -> Option<String> {
    let mut after: Vec<String> =
        analysis.marks.iter().take(MARKS).map(|at| rough(at.since(analysis.header.at))).collect();
    let last = after.pop()?;
    let more = match analysis.marks.len().saturating_sub(MARKS) {
        0 => String::new(),
        more => format!(", and {} more", count(more as u64)),
    };
    let all = if after.is_empty() { last } else { format!("{} and {last}", after.join(", ")) };
    Some(format!("Marked by hand: after {all}{more}."))
}

/// As a sentence without its full stop; `None` where the run did all that was asked, or nobody knows how it ended.
pub(crate) fn early_ending(analysis: &Analysis) -> Option<&'static str> {
    words(analysis.end.as_ref()?.how).map(|(_, sentence)| sentence)
}

/// Why a run that ended so shows of no limit that it was kept.
pub(crate) fn why_not_whole(how: Option<EndReason>) -> String {
    let sentence = how.and_then(words).map_or("It did not end in order", |(_, sentence)| sentence);
    match sentence.strip_prefix("It ") {
        Some(rest) => format!("the run {rest}"),
        None => sentence.replacen("The", "the", 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_ending_is_a_reason() {
        for (how, reason) in [
            (None, "the run did not end in order"),
            (Some(EndReason::Interrupted), "the run was interrupted"),
            (Some(EndReason::StoppedAbove), "the run was stopped at the threshold"),
            (Some(EndReason::ProgramEnded), "the program ended"),
            (Some(EndReason::CutOff), "the file ends in the middle"),
        ] {
            assert_eq!(why_not_whole(how), reason);
        }
    }
}
