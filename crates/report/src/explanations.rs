//! What the numbers mean, of one recording or of several.

use howlate_render::meaning;

use crate::Recording;

/// A sentence or two each; where there are several recordings, with the name of its own.
pub(crate) fn meaning_lines(recordings: &[Recording<'_>]) -> Vec<String> {
    let several = recordings.len() > 1;
    let of = |recording: &Recording<'_>| -> Vec<String> {
        let name = if several { format!("{}: ", recording.name) } else { String::new() };
        meaning(recording.analysis).into_iter().map(|line| format!("{name}{line}")).collect()
    };
    recordings.iter().flat_map(of).collect()
}
