//! What the folders of `howlate record` of several machines say together.

use std::path::{Path, PathBuf};

use howlate_analyse::incidents::Grouping;
use howlate_recording::is_rotated;
use howlate_render::{Incidents, NodesIncidents};

use super::recorded;
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::{OutputFormat, ShowArgs, TimeRangeArgs};

/// The folders that are meant, where each that was named is one, or has one in it for each machine; `None` where they are
/// something else, or there is only one.
pub(super) fn folders(named: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let all: Vec<PathBuf> = named.iter().flat_map(|path| those_in(path)).collect();
    (all.len() > 1 && all.iter().all(|path| is_rotated(path))).then_some(all)
}

fn those_in(path: &Path) -> Vec<PathBuf> {
    let entries = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = entries.filter(|path| is_rotated(path)).collect();
    all.sort();
    if all.is_empty() || is_rotated(path) { vec![path.to_owned()] } else { all }
}

pub(super) fn show(folders: &[PathBuf], asked: &ShowArgs) -> Result<Status, Error> {
    let (nodes, status) = read(folders, &asked.moments, asked.together.group)?;
    match asked.output_format() {
        OutputFormat::Json => terminal::print_or_json(&nodes.json()?, true)?,
        OutputFormat::Text => terminal::print(&nodes.text(terminal::width()))?,
        _ => return Err(Error::FormatOfRecords),
    }
    Ok(status)
}

/// What the folders hold of these moments, and whether all of it could be read.
pub(super) fn read(
    folders: &[PathBuf],
    moments: &TimeRangeArgs,
    by: Option<Grouping>,
) -> Result<(NodesIncidents, Status), Error> {
    let read = |folder: &PathBuf| recorded::read(folder, moments, by);
    let kept = folders.iter().map(read).collect::<Result<Vec<Incidents>, _>>()?;
    let status = kept.iter().map(recorded::status).max().unwrap_or(Status::Done);
    Ok((NodesIncidents { nodes: names(folders, &kept).into_iter().zip(kept).collect() }, status))
}

/// What each machine calls itself; where that is nothing, or two are called the same, the folder as well.
fn names(folders: &[PathBuf], kept: &[Incidents]) -> Vec<String> {
    let name = |one: &Incidents| one.machine.as_ref().and_then(|(node, _)| node.name.clone());
    let all: Vec<Option<String>> = kept.iter().map(name).collect();
    let told = |(folder, name): (&PathBuf, &Option<String>)| {
        let is_alone = all.iter().filter(|other| *other == name).count() == 1;
        match name {
            Some(name) if is_alone => name.clone(),
            Some(name) => format!("{name} ({})", folder.display()),
            None => folder.display().to_string(),
        }
    };
    folders.iter().zip(&all).map(told).collect()
}
