//! What the numbers mean, of one recording or of several.

use howlate_analyse::Analysis;
use howlate_render::{StayedAway, meaning, stayed_away};

use crate::Recording;

/// A sentence or two each; where there are several recordings, with the name of its own.
pub(crate) fn meaning_lines(recordings: &[Recording<'_>]) -> Vec<String> {
    let several = recordings.len() > 1;
    let of = |recording: &Recording<'_>| -> Vec<String> {
        let name = if several { format!("{}: ", recording.name) } else { String::new() };
        let lines = event_loops(recording.analysis).into_iter().chain(meaning(recording.analysis));
        lines.map(|line| format!("{name}{line}")).collect()
    };
    recordings.iter().flat_map(of).collect()
}

/// Event loops that stayed away too long.
fn event_loops(analysis: &Analysis) -> Vec<String> {
    let all = stayed_away(analysis);
    let in_words = |one: StayedAway| {
        let to_do = one.to_do.map_or_else(String::new, |text| format!(" What to do: {text}"));
        let to_name = one.to_name.map_or_else(String::new, |text| format!(" {text}"));
        format!("{}{to_do}{to_name}", one.what)
    };
    all.into_iter().map(in_words).collect()
}
