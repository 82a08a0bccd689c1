//! Folders of `howlate record` of several machines, shown together.

use std::path::{Path, PathBuf};

use howlate_analyse::incidents::Grouping;
use howlate_recording::is_rotated;
use howlate_render::{IncidentReport, NodesIncidentReport};

use super::formats::answer;
use super::{detail, record_folder};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::{OutputFormat, ShowArgs, TimeRangeArgs};

/// The folders named, directly or as the folder that contains one per machine; `None` where they are anything else, or only one.
pub(super) fn folders(paths: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let folders: Vec<PathBuf> = paths.iter().flat_map(|path| folders_in(path)).collect();
    (folders.len() > 1 && folders.iter().all(|path| is_rotated(path))).then_some(folders)
}

fn folders_in(path: &Path) -> Vec<PathBuf> {
    let entries = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| is_rotated(path)).collect();
    folders.sort();
    if folders.is_empty() || is_rotated(path) { vec![path.to_owned()] } else { folders }
}

pub(super) fn show(folders: &[PathBuf], args: &ShowArgs) -> Result<ExitStatus, Error> {
    let (nodes, status) = read(folders, &args.moments, args.together.group_by)?;
    match args.output_format() {
        OutputFormat::Json => {
            let detail = detail(args.details, args.by);
            terminal::print_or_json(&answer(nodes.json()?, detail)?, true)?;
        }
        OutputFormat::Text => terminal::print(&nodes.text(terminal::width()))?,
        _ => return Err(Error::RecordFoldersFormat),
    }
    Ok(status)
}

/// Incidents of the folders within a range of time, and whether all files could be read.
pub(super) fn read(
    folders: &[PathBuf],
    moments: &TimeRangeArgs,
    by: Option<Grouping>,
) -> Result<(NodesIncidentReport, ExitStatus), Error> {
    let read_folder = |folder: &PathBuf| record_folder::read(folder, moments, by);
    let incidents = folders.iter().map(read_folder).collect::<Result<Vec<IncidentReport>, _>>()?;
    let status = incidents.iter().map(record_folder::status).max().unwrap_or(ExitStatus::Done);
    Ok((
        NodesIncidentReport { nodes: names(folders, &incidents).into_iter().zip(incidents).collect() },
        status,
    ))
}

/// Names of the machines; with the folder where a name is missing or not unique.
fn names(folders: &[PathBuf], incidents: &[IncidentReport]) -> Vec<String> {
    let name =
        |incidents: &IncidentReport| incidents.machine.as_ref().and_then(|(node, _)| node.name.clone());
    let node_names: Vec<Option<String>> = incidents.iter().map(name).collect();
    let unique_name = |(folder, name): (&PathBuf, &Option<String>)| {
        let is_unique = node_names.iter().filter(|other| *other == name).count() == 1;
        match name {
            Some(name) if is_unique => name.clone(),
            Some(name) => format!("{name} ({})", folder.display()),
            None => folder.display().to_string(),
        }
    };
    folders.iter().zip(&node_names).map(unique_name).collect()
}
