//! Files of other programs: whatever is read is counted and compared.

use howlate_analyse::compare::Track;
use howlate_import::{ImportOptions, import};
use howlate_render::{legible_line, legible_value};

use crate::{Target, corpus};

pub(crate) const TARGET: Target = Target { name: "import", seeds, body };

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    corpus::testdata("foreign")
}

fn body(input: &[u8]) {
    let Some(track) = read(input) else { return };
    track.analysis.outcomes().iter().for_each(|one| drop((one.summary(), one.caveats())));
}

/// What a file says; `None` when it is of no format, or damaged.
pub(crate) fn read(input: &[u8]) -> Option<Track> {
    let imported = import(input, ImportOptions::default())?.ok()?;
    let mut track = Track::new(legible_value(imported.header).ok()?);
    for line in imported.lines {
        track.add(&legible_line(line).ok()?);
    }
    Some(track)
}
