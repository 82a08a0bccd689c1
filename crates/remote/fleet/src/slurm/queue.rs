//! What Slurm says of nodes and tasks, and what tasks have left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::batch::job_name;
use super::command::SlurmClient;
use crate::process::{INTERRUPTED, complaint, last_line};
use crate::{FleetError, NodeStatus};

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A node as Slurm knows it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SlurmNode {
    /// Why it cannot be used, if it cannot.
    pub(super) unusable: Option<String>,
    /// Whether Slurm has not heard of it yet.
    pub(super) is_unknown: bool,
    pub(super) features: Vec<String>,
}

/// The nodes of a partition, or of the default one; only those of a list, where there is one.
pub(super) fn nodes(
    slurm: SlurmClient<'_>,
    partition: Option<&str>,
    list: Option<&str>,
) -> Result<BTreeMap<String, SlurmNode>, FleetError> {
    let mut arguments = strings(&["--noheader", "--Node", "--format=%P|%N|%T|%b|%E"]);
    arguments.extend(partition.map(|name| format!("--partition={name}")));
    arguments.extend(list.map(|list| format!("--nodes={list}")));
    Ok(parse_nodes(&slurm.output("sinfo", &arguments, None)?, partition.is_some()))
}

/// Reads what `sinfo` says: one line for each node and partition, the default of which has a star.
fn parse_nodes(output: &str, is_named: bool) -> BTreeMap<String, SlurmNode> {
    let node = |line: &str| {
        let mut parts = line.splitn(5, '|').map(str::trim);
        let (partition, name, state, features) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let reason = parts.next().filter(|reason| !matches!(*reason, "" | "none"));
        let node = SlurmNode {
            unusable: unusable(state, reason),
            is_unknown: state.starts_with("unk"),
            features: features.split(',').map(str::to_owned).collect(),
        };
        (is_named || partition.ends_with('*')).then(|| (name.to_owned(), node))
    };
    output.lines().filter_map(node).collect()
}

/// The nodes of a reservation, as a list; `None` if it has none.
pub(super) fn reserved(slurm: SlurmClient<'_>, name: &str) -> Result<Option<String>, FleetError> {
    let output = slurm.output("scontrol", &strings(&["--oneliner", "show", "reservation", name]), None)?;
    Ok(parse_reservation(&output))
}

fn parse_reservation(output: &str) -> Option<String> {
    let list = output.split_whitespace().find_map(|word| word.strip_prefix("Nodes="));
    list.filter(|list| !matches!(*list, "" | "(null)")).map(str::to_owned)
}

/// Why Slurm starts nothing on a node in this state; a star says that the node does not respond.
fn unusable(state: &str, reason: Option<&str>) -> Option<String> {
    let state = last_line(state).unwrap_or_default();
    let is_out = ["down", "drain", "fail", "unk", "error", "future"].iter().any(|out| state.starts_with(out));
    let reason = reason.and_then(last_line).map(|reason| format!(" ({reason})")).unwrap_or_default();
    match state.strip_suffix('*') {
        Some(state) => Some(format!("Slurm says {state}, and that it does not respond{reason}")),
        None => is_out.then(|| format!("Slurm says {state}{reason}")),
    }
}

/// The tasks of a fleet that the queue knows.
pub(super) fn tasks(slurm: SlurmClient<'_>, fleet: &str) -> Result<BTreeMap<String, NodeStatus>, FleetError> {
    let mut arguments = strings(&["--noheader", "--array", "--format=%i|%T|%r"]);
    arguments.push(format!("--name={}", job_name(fleet)));
    Ok(parse_tasks(&slurm.output("squeue", &arguments, None)?))
}

/// The jobs of a fleet that wait to be released.
pub(super) fn held(slurm: SlurmClient<'_>, fleet: &str) -> Result<BTreeSet<String>, FleetError> {
    let mut arguments = strings(&["--noheader", "--states=PENDING", "--format=%A|%r"]);
    arguments.push(format!("--name={}", job_name(fleet)));
    Ok(parse_pending(&slurm.cleanup_output("squeue", &arguments)?))
}

fn parse_pending(output: &str) -> BTreeSet<String> {
    let job = |line: &str| {
        let (job, reason) = line.split_once('|')?;
        let is_job = job.trim().parse::<u64>().is_ok();
        (is_job && reason.trim() == "JobHeldUser").then(|| job.trim().to_owned())
    };
    output.lines().filter_map(job).collect()
}

fn parse_tasks(output: &str) -> BTreeMap<String, NodeStatus> {
    let task = |line: &str| {
        let mut parts = line.splitn(3, '|').map(str::trim);
        let (job, state, reason) = (parts.next()?, parts.next()?, parts.next()?);
        let state = match state {
            "RUNNING" | "COMPLETING" | "CONFIGURING" | "STAGE_OUT" => NodeStatus::Running,
            _ => NodeStatus::Waiting { reason: last_line(reason).unwrap_or_default() },
        };
        Some((job.to_owned(), state))
    };
    output.lines().filter_map(task).collect()
}

/// What became of a task that is in no queue and left no status.
pub(super) fn state_of_gone(slurm: SlurmClient<'_>, job: &str) -> NodeStatus {
    let arguments = strings(&["--oneliner", "show", "job", job]);
    let job_text = match slurm.output("scontrol", &arguments, None) {
        Ok(job_text) => job_text,
        Err(_) if slurm.is_interrupted() => {
            return NodeStatus::Unreachable { reason: INTERRUPTED.to_owned() };
        }
        Err(_) => String::new(),
    };
    let state = job_text.split_whitespace().find_map(|word| word.strip_prefix("JobState="));
    let reason = match state {
        Some("CANCELLED") => return NodeStatus::Cancelled,
        // Files that a node writes take a while to be seen here.
        Some("COMPLETED") => {
            return NodeStatus::Waiting { reason: "what it left is not to be seen here yet".to_owned() };
        }
        Some("TIMEOUT") => "it was not done in time".to_owned(),
        Some("NODE_FAIL") => "the node was lost".to_owned(),
        Some(other) => format!(
            "Slurm says {}, and it left nothing: do all nodes see the fleet's folder?",
            other.chars().take(40).collect::<String>()
        ),
        None => "Slurm does not know its job any more, and it left nothing".to_owned(),
    };
    NodeStatus::Failed { reason }
}

/// What a node has left in its folder.
pub(super) fn state_in_folder(folder: &Path) -> Option<NodeStatus> {
    let status = end_of(&folder.join("status")).ok()?.trim().parse().ok()?;
    Some(NodeStatus::ended(status, complaint(&end_of(&folder.join("log")).unwrap_or_default())))
}

/// The end of a text file, however long it is.
fn end_of(path: &Path) -> io::Result<String> {
    const MOST: u64 = 2_000;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut end = Vec::new();
    file.take(MOST).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_cannot_be_used_have_a_reason() {
        let output = "rt*|n1|idle|fast,big|none\nrt*|n2|drained|(null)|disk is gone\nother|n3|idle|(null)|none\n\
                    rt*|n4|down*|fast|Not responding\nrt*|n5|mixed|(null)|none\nrt*|n6|unknown*|(null)|none\n";
        let usual = parse_nodes(output, false);
        assert_eq!(usual.keys().collect::<Vec<_>>(), ["n1", "n2", "n4", "n5", "n6"]);
        assert_eq!((&usual["n1"].unusable, &usual["n5"].unusable), (&None, &None));
        assert_eq!(usual["n1"].features, ["fast", "big"]);
        assert!(usual["n6"].is_unknown && usual["n6"].unusable.is_some() && !usual["n4"].is_unknown);
        assert_eq!(usual["n2"].unusable.as_deref(), Some("Slurm says drained (disk is gone)"));
        assert_eq!(
            usual["n4"].unusable.as_deref(),
            Some("Slurm says down, and that it does not respond (Not responding)")
        );
        assert_eq!(parse_nodes(output, true).len(), 6);
        let reserved = |output: &str| parse_reservation(output);
        assert_eq!(reserved("ReservationName=r Nodes=n[1-2] NodeCnt=2").as_deref(), Some("n[1-2]"));
        assert_eq!(reserved("ReservationName=r Nodes=(null)"), None);
    }

    #[test]
    fn only_what_was_never_released_is_held() {
        let held = parse_pending("7|JobHeldUser\n8|Resources\nx|JobHeldUser\n9|JobHeldAdmin\nnonsense\n");
        assert_eq!(held.into_iter().collect::<Vec<_>>(), ["7"]);
    }

    #[test]
    fn tasks_wait_or_run() {
        let tasks = parse_tasks("7_0|RUNNING|None\n7_1|PENDING|Resources\nnonsense\n");
        assert_eq!((&tasks["7_0"], tasks.len()), (&NodeStatus::Running, 2));
        assert_eq!(tasks["7_1"], NodeStatus::Waiting { reason: "Resources".into() });
    }

    #[test]
    fn what_a_node_left_says_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(state_in_folder(folder.path()), None);
        write("log", &format!("{}\nerror: no disk\n", "x".repeat(5_000)));
        write("status", "2\n");
        assert_eq!(state_in_folder(folder.path()), Some(NodeStatus::Failed { reason: "no disk".into() }));
        write("status", "143\n");
        assert_eq!(state_in_folder(folder.path()), Some(NodeStatus::Cancelled));
        write("status", "what");
        assert_eq!(state_in_folder(folder.path()), None);
    }
}
