//! `howlate merge`: merges recordings into one.

use std::path::{Path, PathBuf};

use howlate_model::{Caveat, Line};
use howlate_recording::{MergedFile, Sources, new_id};
use howlate_render as render;

use super::reading::files;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::MergeArgs;

pub(crate) fn run(args: &MergeArgs) -> Result<ExitStatus, Error> {
    let (summary, status) = merge(&args.recordings, &args.out)?;
    let name = args.out.display().to_string();
    let text = if args.json { summary.json(&name)? } else { summary.text(&name) };
    terminal::print_or_json(&text, args.json)?;
    Ok(status)
}

/// Merges recordings into one file. Returns its summary, and whether all recordings are in it.
pub(super) fn merge(recordings: &[PathBuf], out: &Path) -> Result<(render::MergeResult, ExitStatus), Error> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in recordings {
        paths.extend(files(path)?);
    }
    let arguments =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let sources = Sources::open(&paths, new_id(), arguments)?;
    let mut output = MergedFile::create(out, sources.header())?;
    let mut status = ExitStatus::Done;
    let mut summary = render::MergeResult::new(&sources.header().conditions);
    for line in sources {
        if let Line::Caveat(caveat) = &line {
            status = status.max(report_source(caveat));
        }
        summary.add(&line);
        output.write(&line)?;
    }
    output.close()?;
    Ok((summary, status))
}

/// Prints a note about a recording that is missing from the merge or incomplete; returns the resulting status.
fn report_source(caveat: &Caveat) -> ExitStatus {
    let concerns_a_file = matches!(
        caveat,
        Caveat::SourceLeftOut { .. }
            | Caveat::SourceTwice { .. }
            | Caveat::RecordingCutOff { .. }
            | Caveat::NoEnd { .. }
    );
    if concerns_a_file {
        terminal::eprint_wrapped(&format!("{}\n", render::caveat(caveat)));
    }
    if matches!(caveat, Caveat::SourceLeftOut { .. }) { ExitStatus::NotTrustworthy } else { ExitStatus::Done }
}
