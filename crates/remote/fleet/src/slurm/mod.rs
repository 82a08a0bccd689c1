//! Slurm: a job array, one task a node, each node for itself.
//!
//! The fleet's folder must be on a file system that all nodes share, as homes of clusters are.

mod batch;
mod command;
mod constraint;
mod queue;

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::clock;
use howlate_model::Span;

use self::command::SlurmClient;
use self::constraint::Constraint;
use self::queue::SlurmNode;
use crate::files::NODES;
use crate::folder::Fleet;
use crate::scheduler::{FetchResult, LONGEST_RECORDING, Scheduler, TOO_LONG};
use crate::{FleetError, Host, NodeStatus, SlurmOptions};

/// Time for a controller that was just started to learn of its nodes.
const NODE_DISCOVERY: Span = Span::from_secs(60);
/// Polling interval meanwhile.
const POLL_INTERVAL: Span = Span::from_secs(1);

/// Slurm takes arrays of so many tasks as it is installed (`MaxArraySize` 1001).
const LONGEST_ARRAY: usize = 1_000;

/// Through `sinfo`, `sbatch`, `squeue`, `scontrol` and `scancel`.
#[derive(Clone, Debug, Default)]
pub struct Slurm {
    /// The partition; the default one if none is named.
    pub partition: Option<String>,
    /// Set to stop waiting for answers.
    pub interrupted: Arc<AtomicBool>,
}

impl Slurm {
    /// The nodes of the partition, also those that cannot be used now.
    ///
    /// # Errors
    ///
    /// When there is no Slurm, or no such partition.
    pub fn nodes(&self, options: &SlurmOptions) -> Result<Vec<Host>, FleetError> {
        let nodes = self.selected_nodes(options)?;
        let hosts: Vec<Host> = nodes.keys().filter_map(|name| name.parse().ok()).collect();
        if hosts.is_empty() { Err(FleetError::NoNodes { where_: self.describe(options) }) } else { Ok(hosts) }
    }

    /// The partition; `None` for the default one.
    fn partition<'a>(&'a self, options: &'a SlurmOptions) -> Option<&'a str> {
        self.partition.as_deref().or(options.partition.as_deref())
    }

    /// Describes the selection of nodes.
    fn describe(&self, options: &SlurmOptions) -> String {
        let partition = self.partition(options);
        let mut text =
            partition.map_or("the default partition".to_owned(), |name| format!("partition {name}"));
        for (name, value) in [
            ("constraint", &options.constraint),
            ("nodelist", &options.nodelist),
            ("reservation", &options.reservation),
        ] {
            text.extend(value.iter().map(|value| format!(" with {name} {value}")));
        }
        text
    }

    /// The selected nodes, as Slurm knows them.
    fn selected_nodes(&self, options: &SlurmOptions) -> Result<BTreeMap<String, SlurmNode>, FleetError> {
        let partition = self.partition(options);
        let mut nodes = queue::nodes(self.programs(), partition, options.nodelist.as_deref())?;
        if let Some(name) = &options.reservation {
            let reserved = match queue::reserved(self.programs(), name)? {
                Some(list) => queue::nodes(self.programs(), partition, Some(&list))?,
                None => BTreeMap::new(),
            };
            nodes.retain(|name, _| reserved.contains_key(name));
        }
        if let Some(text) = &options.constraint {
            let constraint =
                Constraint::read(text).ok_or_else(|| FleetError::Constraint { found: text.clone() })?;
            nodes.retain(|_, node| constraint.is_met_by(&node.features));
        }
        Ok(nodes)
    }

    /// The selected nodes once none of `nodes` is unknown: a controller does not know any for a while after its start.
    fn known_nodes(
        &self,
        fleet: &Fleet,
        nodes: &[usize],
        interrupted: &AtomicBool,
    ) -> Result<BTreeMap<String, SlurmNode>, FleetError> {
        let until = clock::now().plus(NODE_DISCOVERY);
        loop {
            let known_nodes = self.selected_nodes(&fleet.slurm)?;
            let is_unknown = |node: &usize| {
                known_nodes.get(&fleet.members[*node].host.address).is_some_and(|node| node.is_unknown)
            };
            let is_over = clock::now() >= until || interrupted.load(Ordering::Relaxed);
            if is_over || !nodes.iter().any(is_unknown) {
                return Ok(known_nodes);
            }
            drop(clock::sleep_for(POLL_INTERVAL));
        }
    }

    fn programs(&self) -> SlurmClient<'_> {
        SlurmClient { interrupted: &self.interrupted }
    }

    /// Marks those of these nodes that Slurm would not use, and returns the others.
    fn usable(
        &self,
        fleet: &mut Fleet,
        nodes: &[usize],
        interrupted: &AtomicBool,
    ) -> Result<Vec<usize>, FleetError> {
        let known_nodes = self.known_nodes(fleet, nodes, interrupted)?;
        let mut usable = Vec::new();
        for node in nodes {
            let member = &mut fleet.members[*node];
            let unusable = match known_nodes.get(&member.host.address) {
                Some(node) => node.unusable.clone(),
                None => Some("it is not among those that Slurm knows any more".to_owned()),
            };
            member.ended = unusable.map(|reason| NodeStatus::NotStarted { reason });
            if member.ended.is_none() {
                usable.push(*node);
            }
        }
        Ok(usable)
    }

    /// Submits an array for these nodes. It is held until each of its tasks is bound to its node: which node a task gets is
    /// else for Slurm to say, and one may get two. After an interruption none is left held.
    fn submit(&self, fleet: &mut Fleet, nodes: &[usize]) -> Result<(), FleetError> {
        let options = batch::options(fleet, self.partition(&fleet.slurm), nodes.len());
        let slurm = self.programs();
        let submitted = slurm.output("sbatch", &options, Some(&batch::task(fleet, nodes)));
        // It may have been submitted all the same.
        let out = submitted.inspect_err(|_| cancel_unknown(slurm, fleet))?;
        let job = out.trim().split(';').next().unwrap_or_default().to_owned();
        if job.parse::<u64>().is_err() {
            return Err(FleetError::Refused { program: "sbatch", message: format!("`{job}` is no job") });
        }
        for (task, node) in nodes.iter().enumerate() {
            fleet.members[*node].job = Some(format!("{job}_{task}"));
        }
        // Whatever comes now, it is known what there is to cancel.
        fleet.save()?;
        for node in nodes.iter().take_while(|_| !slurm.is_interrupted()) {
            bind(slurm, fleet, *node);
        }
        let released = slurm.output("scontrol", &["release".to_owned(), job.clone()], None);
        let Err(error) = released else { return Ok(()) };
        drop(slurm.cleanup_output("scancel", &[job]));
        for node in nodes {
            let member = &mut fleet.members[*node];
            let reason = error.to_string();
            (member.job, member.ended) = (None, Some(NodeStatus::NotStarted { reason }));
        }
        fleet.save()?;
        if slurm.is_interrupted() { Ok(()) } else { Err(error) }
    }
}

/// Cancels held jobs whose number was not recorded.
fn cancel_unknown(slurm: SlurmClient<'_>, fleet: &Fleet) {
    let is_known = |job: &String| {
        let mut job_ids = fleet.members.iter().filter_map(|member| member.job.as_deref());
        job_ids.any(|task| task.split('_').next() == Some(job))
    };
    let held = queue::held(slurm, &fleet.id).unwrap_or_default();
    let unknown: Vec<String> = held.into_iter().filter(|job| !is_known(job)).collect();
    if !unknown.is_empty() {
        drop(slurm.cleanup_output("scancel", &unknown));
    }
}

/// Binds the task of a node to it; one that cannot be is cancelled.
fn bind(slurm: SlurmClient<'_>, fleet: &mut Fleet, node: usize) {
    let member = &mut fleet.members[node];
    let Some(job) = member.job.clone() else { return };
    if let Err(error) = slurm.output("scontrol", &batch::bind(&job, &member.host.address), None) {
        drop(slurm.cleanup_output("scancel", &[job]));
        (member.job, member.ended) = (None, Some(NodeStatus::NotStarted { reason: error.to_string() }));
    }
}

impl Scheduler for Slurm {
    fn dry_run(&self, fleet: &Fleet, _plan: Option<&str>) -> String {
        let all: Vec<usize> = (0..fleet.members.len()).collect();
        let arrays = all.chunks(LONGEST_ARRAY);
        arrays.map(|nodes| batch::dry_run(fleet, self.partition(&fleet.slurm), nodes)).collect()
    }

    fn start(&self, fleet: &mut Fleet, nodes: &[usize], interrupted: &AtomicBool) -> Result<(), FleetError> {
        let usable = self.usable(fleet, nodes, interrupted)?;
        for node in &usable {
            // What it left the last time is not what it will leave.
            drop(fs::remove_file(folder(fleet, *node).join("status")));
        }
        usable.chunks(LONGEST_ARRAY).try_for_each(|nodes| self.submit(fleet, nodes))?;
        fleet.save()
    }

    fn look(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<NodeStatus>, FleetError> {
        let queue = queue::tasks(self.programs(), &fleet.id)?;
        let of = |node: &usize| {
            let Some(job) = &fleet.members[*node].job else {
                return NodeStatus::NotStarted { reason: "not yet".to_owned() };
            };
            // In this order: what has left the queue has left its status before.
            match (queue.get(job), queue::state_in_folder(&folder(fleet, *node))) {
                (_, Some(state)) => state,
                (Some(state), None) => state.clone(),
                (None, None) => queue::state_of_gone(self.programs(), job),
            }
        };
        Ok(nodes.iter().map(of).collect())
    }

    fn fetch(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<FetchResult, String>>, FleetError> {
        Ok(nodes.iter().map(|node| fetch(fleet, *node)).collect())
    }

    fn cancel(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<(), String>>, FleetError> {
        let jobs: Vec<String> = nodes.iter().filter_map(|node| fleet.members[*node].job.clone()).collect();
        let cancelled = match jobs.is_empty() {
            true => Ok(()),
            false => {
                let arguments = [&["--".to_owned()], &jobs[..]].concat();
                self.programs()
                    .output("scancel", &arguments, None)
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
        };
        Ok(vec![cancelled; nodes.len()])
    }
}

/// The folder of a node.
fn folder(fleet: &Fleet, node: usize) -> std::path::PathBuf {
    fleet.path(NODES).join(fleet.members[node].name())
}

/// Puts a recording where the others are, and removes what is left.
fn fetch(fleet: &Fleet, node: usize) -> Result<FetchResult, String> {
    let folder = folder(fleet, node);
    let left = folder.join(fleet.task.left());
    match left.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FetchResult::None),
        Err(error) => return Err(error.to_string()),
        Ok(found) => may_be_one(&found)?,
    }
    fleet.keep(node, &left).map_err(|error| error.to_string())?;
    drop(fs::remove_dir_all(folder));
    drop(fs::remove_dir(fleet.path(NODES)));
    Ok(FetchResult::Here)
}

/// Whether a node's file can be a recording: a link could point to any file.
fn may_be_one(found: &Metadata) -> Result<(), String> {
    match found.len() <= LONGEST_RECORDING {
        _ if !found.is_file() => Err("what it left as its recording is no file".to_owned()),
        false => Err(TOO_LONG.to_owned()),
        true => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FleetMember;

    #[test]
    fn what_a_node_leaves_is_fetched_if_it_can_be_a_recording() {
        let home = tempfile::tempdir().unwrap();
        let host: Host = "n1".parse().unwrap();
        let member = FleetMember { host, ..FleetMember::default() };
        let fleet = Fleet {
            id: "f".to_owned(),
            on: "slurm".to_owned(),
            sha256: None,
            machine: None,
            task: crate::NodeTask::Plan,
            arguments: Vec::new(),
            at_once: 1,
            timeout_s: None,
            pods: None,
            slurm: SlurmOptions::default(),
            members: vec![member],
            folder: home.path().to_owned(),
        };
        let left = folder(&fleet, 0).join(fleet.task.left());
        fs::create_dir_all(folder(&fleet, 0)).unwrap();
        assert_eq!(fetch(&fleet, 0), Ok(FetchResult::None));
        // It takes no room on the disk.
        fs::File::create(&left).unwrap().set_len(LONGEST_RECORDING + 1).unwrap();
        assert_eq!(fetch(&fleet, 0), Err(TOO_LONG.to_owned()));
        fs::remove_file(&left).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &left).unwrap();
        assert!(fetch(&fleet, 0).is_err_and(|message| message.contains("no file")));
        fs::remove_file(&left).unwrap();
        fs::write(&left, "{}\n").unwrap();
        assert_eq!(fetch(&fleet, 0), Ok(FetchResult::Here));
        assert_eq!(fs::read_to_string(fleet.recording(0)).unwrap(), "{}\n");
    }
}
