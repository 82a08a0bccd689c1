//! `howlate merge`

use std::path::{Path, PathBuf};

use howlate_model::{Caveat, Line};
use howlate_recording::{Merged, Sources, new_id};
use howlate_render as render;

use super::reading::files;
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::MergeArgs;

pub(crate) fn run(asked: &MergeArgs) -> Result<Status, Error> {
    let (merged, status) = into_one(&asked.recordings, &asked.out)?;
    let name = asked.out.display().to_string();
    let text = if asked.json { merged.json(&name)? } else { merged.words(&name) };
    terminal::print_or_json(&text, asked.json)?;
    Ok(status)
}

/// Makes one recording of many; what it is of, and whether all are in it.
pub(super) fn into_one(recordings: &[PathBuf], out: &Path) -> Result<(render::MergeResult, Status), Error> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in recordings {
        paths.extend(files(path)?);
    }
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let sources = Sources::open(&paths, new_id(), arguments)?;
    let mut merged = Merged::create(out, sources.header())?;
    let mut status = Status::Done;
    let mut counted = render::MergeResult::new(&sources.header().conditions);
    for line in sources {
        if let Line::Caveat(caveat) = &line {
            status = status.max(tell_of_source(caveat));
        }
        counted.add(&line);
        merged.write(&line)?;
    }
    merged.close()?;
    Ok((counted, status))
}

/// Tells what is not in the merged recording, or not whole; returns how the command then ends.
fn tell_of_source(caveat: &Caveat) -> Status {
    let is_of_files = matches!(
        caveat,
        Caveat::SourceLeftOut { .. }
            | Caveat::SourceTwice { .. }
            | Caveat::RecordingCutOff { .. }
            | Caveat::NoEnd { .. }
    );
    if is_of_files {
        terminal::tell(&format!("{}\n", render::caveat(caveat)));
    }
    if matches!(caveat, Caveat::SourceLeftOut { .. }) { Status::NotTrustworthy } else { Status::Done }
}
