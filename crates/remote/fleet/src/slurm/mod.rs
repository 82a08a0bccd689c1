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

use self::command::Programs;
use self::constraint::Constraint;
use self::queue::Node;
use crate::files::NODES;
use crate::folder::Fleet;
use crate::scheduler::{Fetched, LONGEST_RECORDING, Scheduler, TOO_LONG};
use crate::{FleetError, Host, SlurmOptions, State};

/// How long a controller that was just started may take to hear of its nodes.
const TO_REPORT: Span = Span::from_secs(60);
/// How long nothing is asked meanwhile.
const A_WHILE: Span = Span::from_secs(1);

/// Slurm takes arrays of so many tasks as it is installed (`MaxArraySize` 1001).
const LONGEST_ARRAY: usize = 1_000;

/// Through `sinfo`, `sbatch`, `squeue`, `scontrol` and `scancel`.
#[derive(Clone, Debug, Default)]
pub struct Slurm {
    /// The partition; the default one if none is named.
    pub partition: Option<String>,
    /// Set when no answer is to be waited for any longer.
    pub interrupted: Arc<AtomicBool>,
}

impl Slurm {
    /// The nodes of the partition, also those that cannot be used now.
    ///
    /// # Errors
    ///
    /// When there is no Slurm, or no such partition.
    pub fn nodes(&self, asked: &SlurmOptions) -> Result<Vec<Host>, FleetError> {
        let nodes = self.known(asked)?;
        let hosts: Vec<Host> = nodes.keys().filter_map(|name| name.parse().ok()).collect();
        if hosts.is_empty() { Err(FleetError::NoNodes { where_: self.described(asked) }) } else { Ok(hosts) }
    }

    /// The partition that is meant; none for the default one.
    fn partition<'a>(&'a self, asked: &'a SlurmOptions) -> Option<&'a str> {
        self.partition.as_deref().or(asked.partition.as_deref())
    }

    /// Where nodes are looked for, in words.
    fn described(&self, asked: &SlurmOptions) -> String {
        let partition = self.partition(asked);
        let mut text =
            partition.map_or("the default partition".to_owned(), |name| format!("partition {name}"));
        for (name, value) in [
            ("constraint", &asked.constraint),
            ("nodelist", &asked.nodelist),
            ("reservation", &asked.reservation),
        ] {
            text.extend(value.iter().map(|value| format!(" with {name} {value}")));
        }
        text
    }

    /// The nodes that are asked for, as Slurm knows them.
    fn known(&self, asked: &SlurmOptions) -> Result<BTreeMap<String, Node>, FleetError> {
        let partition = self.partition(asked);
        let mut nodes = queue::nodes(self.programs(), partition, asked.nodelist.as_deref())?;
        if let Some(name) = &asked.reservation {
            let reserved = match queue::reserved(self.programs(), name)? {
                Some(list) => queue::nodes(self.programs(), partition, Some(&list))?,
                None => BTreeMap::new(),
            };
            nodes.retain(|name, _| reserved.contains_key(name));
        }
        if let Some(text) = &asked.constraint {
            let constraint =
                Constraint::read(text).ok_or_else(|| FleetError::Constraint { found: text.clone() })?;
            nodes.retain(|_, node| constraint.is_met_by(&node.features));
        }
        Ok(nodes)
    }

    /// The same once none of these nodes is unknown: for a while after its start, a controller has not heard of any.
    fn settled(
        &self,
        fleet: &Fleet,
        nodes: &[usize],
        interrupted: &AtomicBool,
    ) -> Result<BTreeMap<String, Node>, FleetError> {
        let until = clock::now().plus(TO_REPORT);
        loop {
            let known = self.known(&fleet.slurm)?;
            let is_unknown = |node: &usize| {
                known.get(&fleet.members[*node].host.address).is_some_and(|node| node.is_unknown)
            };
            let is_over = clock::now() >= until || interrupted.load(Ordering::Relaxed);
            if is_over || !nodes.iter().any(is_unknown) {
                return Ok(known);
            }
            // Whatever ends it sooner is looked for above.
            drop(clock::sleep_for(A_WHILE));
        }
    }

    fn programs(&self) -> Programs<'_> {
        Programs { interrupted: &self.interrupted }
    }

    /// Marks those of these nodes that Slurm would not use, and returns the others.
    fn usable(
        &self,
        fleet: &mut Fleet,
        nodes: &[usize],
        interrupted: &AtomicBool,
    ) -> Result<Vec<usize>, FleetError> {
        let known = self.settled(fleet, nodes, interrupted)?;
        let mut usable = Vec::new();
        for node in nodes {
            let member = &mut fleet.members[*node];
            let unusable = match known.get(&member.host.address) {
                Some(known) => known.unusable.clone(),
                None => Some("it is not among those that Slurm knows any more".to_owned()),
            };
            member.ended = unusable.map(|reason| State::NotStarted { reason });
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
            return Err(FleetError::Refused { program: "sbatch", said: format!("`{job}` is no job") });
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
        drop(slurm.last_output("scancel", &[job]));
        for node in nodes {
            let member = &mut fleet.members[*node];
            let reason = error.to_string();
            (member.job, member.ended) = (None, Some(State::NotStarted { reason }));
        }
        fleet.save()?;
        if slurm.is_interrupted() { Ok(()) } else { Err(error) }
    }
}

/// Cancels what was submitted and is held, and whose number was never told.
fn cancel_unknown(slurm: Programs<'_>, fleet: &Fleet) {
    let is_known = |job: &String| {
        let mut known = fleet.members.iter().filter_map(|member| member.job.as_deref());
        known.any(|task| task.split('_').next() == Some(job))
    };
    let held = queue::held(slurm, &fleet.id).unwrap_or_default();
    let unknown: Vec<String> = held.into_iter().filter(|job| !is_known(job)).collect();
    if !unknown.is_empty() {
        drop(slurm.last_output("scancel", &unknown));
    }
}

/// Binds the task of a node to it; one that cannot be is cancelled.
fn bind(slurm: Programs<'_>, fleet: &mut Fleet, node: usize) {
    let member = &mut fleet.members[node];
    let Some(job) = member.job.clone() else { return };
    if let Err(error) = slurm.output("scontrol", &batch::bind(&job, &member.host.address), None) {
        drop(slurm.last_output("scancel", &[job]));
        (member.job, member.ended) = (None, Some(State::NotStarted { reason: error.to_string() }));
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

    fn look(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<State>, FleetError> {
        let queue = queue::tasks(self.programs(), &fleet.id)?;
        let of = |node: &usize| {
            let Some(job) = &fleet.members[*node].job else {
                return State::NotStarted { reason: "not yet".to_owned() };
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

    fn fetch(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<Fetched, String>>, FleetError> {
        Ok(nodes.iter().map(|node| fetch(fleet, *node)).collect())
    }

    fn cancel(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<(), String>>, FleetError> {
        let jobs: Vec<String> = nodes.iter().filter_map(|node| fleet.members[*node].job.clone()).collect();
        let cancelled = match jobs.is_empty() {
            true => Ok(()),
            false => {
                let words = [&["--".to_owned()], &jobs[..]].concat();
                self.programs().output("scancel", &words, None).map(drop).map_err(|error| error.to_string())
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
fn fetch(fleet: &Fleet, node: usize) -> Result<Fetched, String> {
    let folder = folder(fleet, node);
    let left = folder.join(fleet.task.left());
    match left.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fetched::None),
        Err(error) => return Err(error.to_string()),
        Ok(found) => may_be_one(&found)?,
    }
    fleet.keep(node, &left).map_err(|error| error.to_string())?;
    drop(fs::remove_dir_all(folder));
    drop(fs::remove_dir(fleet.path(NODES)));
    Ok(Fetched::Here)
}

/// Whether what a node has left can be a recording: a link would be one of whatever it names.
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
    use crate::Member;

    #[test]
    fn what_a_node_leaves_is_fetched_if_it_can_be_a_recording() {
        let home = tempfile::tempdir().unwrap();
        let host: Host = "n1".parse().unwrap();
        let member = Member { host, ..Member::default() };
        let fleet = Fleet {
            id: "f".to_owned(),
            on: "slurm".to_owned(),
            sha256: None,
            machine: None,
            task: crate::Task::Plan,
            words: Vec::new(),
            at_once: 1,
            timeout_s: None,
            pods: None,
            slurm: SlurmOptions::default(),
            members: vec![member],
            folder: home.path().to_owned(),
        };
        let left = folder(&fleet, 0).join(fleet.task.left());
        fs::create_dir_all(folder(&fleet, 0)).unwrap();
        assert_eq!(fetch(&fleet, 0), Ok(Fetched::None));
        // It takes no room on the disk.
        fs::File::create(&left).unwrap().set_len(LONGEST_RECORDING + 1).unwrap();
        assert_eq!(fetch(&fleet, 0), Err(TOO_LONG.to_owned()));
        fs::remove_file(&left).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &left).unwrap();
        assert!(fetch(&fleet, 0).is_err_and(|said| said.contains("no file")));
        fs::remove_file(&left).unwrap();
        fs::write(&left, "{}\n").unwrap();
        assert_eq!(fetch(&fleet, 0), Ok(Fetched::Here));
        assert_eq!(fs::read_to_string(fleet.recording(0)).unwrap(), "{}\n");
    }
}
