//! How a run ended, if it was not completed.

use howlate_analyse::Analysis;
use howlate_model::EndReason;

use crate::numbers::{count, rough};

/// A short form, and a sentence without its full stop; `None` if completed.
const fn ending_texts(how: EndReason) -> Option<(&'static str, &'static str)> {
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

/// Appended to a title: ` · interrupted`; empty if completed.
pub fn ending_after_title(analysis: &Analysis) -> String {
    let short = match &analysis.end {
        Some(end) => ending_texts(end.how).map(|(short, _)| short),
        None if analysis.is_running => Some("still running"),
        None => Some("did not end in order"),
    };
    short.map_or_else(String::new, |short| format!(" · {short}"))
}

/// Most marks that are listed.
const MARKS: usize = 12;

/// The moments marked by hand in the live view: `Marked by hand: after 12 s and 40 s.`; `None` without any.
pub fn marked(analysis: &Analysis) -> Option<String> {
    let mut times: Vec<String> =
        analysis.marks.iter().take(MARKS).map(|at| rough(at.since(analysis.header.at))).collect();
    let last = times.pop()?;
    let more = match analysis.marks.len().saturating_sub(MARKS) {
        0 => String::new(),
        more => format!(", and {} more", count(more as u64)),
    };
    let all = if times.is_empty() { last } else { format!("{} and {last}", times.join(", ")) };
    Some(format!("Marked by hand: after {all}{more}."))
}

/// A sentence without its full stop; `None` if completed, or unknown.
pub(crate) fn early_ending(analysis: &Analysis) -> Option<&'static str> {
    ending_texts(analysis.end.as_ref()?.how).map(|(_, sentence)| sentence)
}

/// Why limits cannot be said to hold after such a run.
pub(crate) fn why_not_whole(how: Option<EndReason>) -> String {
    let sentence = how.and_then(ending_texts).map_or("It did not end in order", |(_, sentence)| sentence);
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
