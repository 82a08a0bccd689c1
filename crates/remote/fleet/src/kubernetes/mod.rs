//! Kubernetes: an Indexed Job with a pod for each node, or a DaemonSet with a pod on each; what they have measured comes
//! out of their logs, and how they ended out of the state of their pods.
//!
//! Nothing is sent but the plan: pods run the howlate of their image.

mod api_types;
mod assignment;
mod entrypoint;
mod fetching;
mod kubectl;
mod log_encoding;
mod manifest;
mod nodes;
mod states;
mod termination_message;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::api_types::{KubeList, KubeObject};
use self::assignment::{Assignment, ClusterObjects, job};
pub use self::entrypoint::serve_in_pod;
use self::kubectl::{Kubectl, refused};
use crate::files::PLAN;
use crate::folder::{Fleet, FleetMember};
use crate::parallel::for_each_node;
use crate::placement::FleetPods;
use crate::placement::PodPlacement;
use crate::scheduler::{FetchResult, Scheduler};
use crate::{FleetError, Host, NodeStatus};

/// Nodes of a cluster, reached through `kubectl`.
#[derive(Clone, Debug)]
pub struct Kubernetes {
    /// The context; the current one if none is named.
    pub context: Option<String>,
    /// Where pods are put: the namespace, and which nodes take them.
    pub placement: PodPlacement,
    /// Logs read at once.
    pub at_once: usize,
    /// Set when no answer is to be waited for any longer.
    pub interrupted: Arc<AtomicBool>,
}

impl Kubernetes {
    /// The nodes of the cluster, also those that cannot be used now.
    ///
    /// # Errors
    ///
    /// When the cluster does not say.
    pub fn nodes(&self) -> Result<Vec<Host>, FleetError> {
        let nodes = nodes::nodes(&self.kubectl(), &self.placement)?;
        let hosts: Vec<Host> = nodes.keys().filter_map(|name| name.parse().ok()).collect();
        let where_ = "the cluster".to_owned();
        if hosts.is_empty() { Err(FleetError::NoNodes { where_ }) } else { Ok(hosts) }
    }

    fn kubectl(&self) -> Kubectl<'_> {
        Kubectl {
            context: self.context.as_deref(),
            namespace: self.placement.namespace.as_deref(),
            interrupted: &self.interrupted,
        }
    }

    /// Marks those of these nodes that get no pod, and returns the others.
    fn usable(&self, fleet: &mut Fleet, nodes: &[usize]) -> Result<Vec<usize>, FleetError> {
        let cluster_nodes = nodes::nodes(&self.kubectl(), &self.placement)?;
        let mut usable = Vec::new();
        for node in nodes {
            let member = &mut fleet.members[*node];
            let unusable = match cluster_nodes.get(&member.host.address) {
                Some(unusable) => unusable.clone(),
                None => Some("the cluster does not know it any more".to_owned()),
            };
            member.ended = unusable.map(|reason| NodeStatus::NotStarted { reason });
            if member.ended.is_none() {
                usable.push(*node);
            }
        }
        Ok(usable)
    }

    /// All that the cluster knows of a fleet; its plan, if nothing else.
    fn seen(&self, fleet: &Fleet) -> Result<ClusterObjects, FleetError> {
        let label = manifest::label(fleet);
        let list: KubeList =
            self.kubectl().answer(&["get", "configmaps,jobs,daemonsets,pods", "--selector", &label])?;
        match list.items.is_empty() {
            true => Err(refused(
                "it knows nothing of this fleet: is it another cluster or namespace than it was started in?",
            )),
            false => Ok(ClusterObjects(list)),
        }
    }

    /// What the last warning about each object says; none is better than no state at all.
    fn warnings(&self) -> BTreeMap<String, String> {
        let query = ["get", "events", "--field-selector=type=Warning"];
        let KubeList { items: mut events } = self.kubectl().answer(&query).unwrap_or_default();
        events.sort_by(|earlier, later| {
            earlier.metadata.creation_timestamp.cmp(&later.metadata.creation_timestamp)
        });
        let warning = |event: KubeObject| {
            Some((event.involved_object.name, states::first_line(event.message.as_deref()?)?))
        };
        events.into_iter().filter_map(warning).collect()
    }

    /// Makes what is called so, all of it or nothing.
    fn create(&self, name: &str, manifest: &str) -> Result<(), FleetError> {
        let made = self.kubectl().output(&["create", "--filename=-"], Some(manifest));
        made.map(drop).inspect_err(|_| drop(self.remove(&format!("{}={name}", manifest::ATTEMPT))))
    }

    /// Removes all objects with a label.
    fn remove(&self, label: &str) -> Result<(), FleetError> {
        let kinds = "jobs,daemonsets,pods,configmaps";
        self.kubectl().cleanup_output(&["delete", kinds, "--selector", label, "--wait=false"]).map(drop)
    }
}

/// The number of the next Job or DaemonSet of a fleet.
fn next_attempt(fleet: &Fleet) -> u32 {
    let attempt = |name: &str| name.rsplit('-').next()?.parse::<u32>().ok();
    let last = fleet.members.iter().filter_map(job).filter_map(|(name, _)| attempt(name)).max();
    last.map_or(1, |last| last.saturating_add(1))
}

/// What the pods of a fleet are; one that was started elsewhere has none.
fn pods_of(fleet: &Fleet) -> Result<&FleetPods, FleetError> {
    let reason = "it does not say what its pods are".to_owned();
    fleet.pods.as_ref().ok_or_else(|| FleetError::NoFleet { path: fleet.folder.clone(), reason })
}

impl Scheduler for Kubernetes {
    fn dry_run(&self, fleet: &Fleet, plan: Option<&str>) -> String {
        let plan = plan.unwrap_or_default();
        let all: Vec<usize> = (0..fleet.members.len()).collect();
        let manifest =
            |pods: &FleetPods| manifest::manifest(fleet, pods, plan, &manifest::name(fleet, 1), &all);
        fleet.pods.as_ref().map(|pods| format!("{:#}\n", manifest(pods))).unwrap_or_default()
    }

    fn start(&self, fleet: &mut Fleet, nodes: &[usize], _: &AtomicBool) -> Result<(), FleetError> {
        let pods = pods_of(fleet)?.clone();
        let nodes = if pods.every_node { self.usable(fleet, nodes)? } else { nodes.to_vec() };
        if nodes.is_empty() {
            return fleet.save();
        }
        let path = fleet.path(PLAN);
        let plan = std::fs::read_to_string(&path).map_err(FleetError::file(&path))?;
        let name = manifest::name(fleet, next_attempt(fleet));
        let manifest = manifest::manifest(fleet, &pods, &plan, &name, &nodes).to_string();
        for (index, node) in nodes.iter().enumerate() {
            fleet.members[*node].job =
                Some(if pods.every_node { name.clone() } else { format!("{name}/{index}") });
        }
        // Whatever comes now, it is known what there is to cancel.
        fleet.save()?;
        self.create(&name, &manifest).inspect_err(|_| {
            nodes.iter().for_each(|node| fleet.members[*node].job = None);
            drop(fleet.save());
        })
    }

    fn look(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<NodeStatus>, FleetError> {
        if nodes.iter().all(|node| fleet.members[*node].job.is_none()) {
            return Ok(vec![state(&Assignment::Nowhere); nodes.len()]);
        }
        let seen = self.seen(fleet)?;
        let places: Vec<Assignment<'_>> =
            nodes.iter().map(|node| seen.place(&fleet.members[*node])).collect();
        let mut states: Vec<NodeStatus> = places.iter().map(state).collect();
        if states.iter().any(|state| matches!(state, NodeStatus::Waiting { .. })) {
            let warnings = self.warnings();
            for ((node, place), state) in nodes.iter().zip(&places).zip(&mut states) {
                let warning = object(&fleet.members[*node], place).and_then(|name| warnings.get(name));
                if let (NodeStatus::Waiting { reason }, Some(warning)) = (state, warning) {
                    reason.clone_from(warning);
                }
            }
        }
        Ok(states)
    }

    fn fetch(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<FetchResult, String>>, FleetError> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let (seen, kubectl) = (self.seen(fleet)?, self.kubectl());
        let fetched = for_each_node(self.at_once, nodes, |node| match seen.place(&fleet.members[node]) {
            Assignment::Pod(pod) => fetching::fetch(&kubectl, fleet, node, pod),
            _ => Ok(FetchResult::None),
        });
        let is_all =
            fetched.iter().all(Result::is_ok) && fleet.open_nodes().iter().all(|node| nodes.contains(node));
        if is_all {
            // It is here; what is left there is small, and can be removed by its label.
            drop(self.remove(&manifest::label(fleet)));
        }
        Ok(fetched)
    }

    /// Pods that measure are given a deadline that has passed: other than those that are removed, they keep their logs. No
    /// others are made in their place, as what would make them is removed first.
    fn cancel(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<(), String>>, FleetError> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let (seen, kubectl) = (self.seen(fleet)?, self.kubectl());
        let owners: BTreeSet<&str> =
            nodes.iter().filter_map(|node| job(&fleet.members[*node])).map(|(name, _)| name).collect();
        for owner in owners.into_iter().filter_map(|name| seen.owner(name)) {
            let what = format!("{}/{}", owner.kind.to_lowercase(), owner.metadata.name);
            kubectl.output(&["delete", &what, "--cascade=orphan"], None)?;
        }
        Ok(for_each_node(self.at_once, nodes, |node| match seen.place(&fleet.members[node]) {
            Assignment::Pod(pod) => end(&kubectl, pod).map_err(|error| error.to_string()),
            _ => Ok(()),
        }))
    }
}

/// How a node is doing, as far as its pod shows.
fn state(place: &Assignment<'_>) -> NodeStatus {
    const GONE: &str = "its pod is gone: its node was lost or drained, or somebody removed it";
    match place {
        Assignment::Pod(pod) => states::state(pod),
        Assignment::Coming => NodeStatus::Waiting { reason: "it has no pod yet".to_owned() },
        Assignment::Gone => NodeStatus::Failed { reason: GONE.to_owned() },
        Assignment::Removed => NodeStatus::Cancelled,
        Assignment::Nowhere => NodeStatus::NotStarted { reason: "not yet".to_owned() },
    }
}

/// What is in the way of a node that waits: its pod, or what has yet to make one.
fn object<'a>(member: &'a FleetMember, place: &Assignment<'a>) -> Option<&'a str> {
    match place {
        Assignment::Pod(pod) => Some(&pod.metadata.name),
        _ => job(member).map(|(name, _)| name),
    }
}

/// Ends a pod that measures, and removes one that does not yet.
fn end(kubectl: &Kubectl<'_>, pod: &KubeObject) -> Result<(), FleetError> {
    const PASSED: &str = "--patch={\"spec\":{\"activeDeadlineSeconds\":1}}";
    let pod_name = format!("pod/{}", pod.metadata.name);
    if states::runs(pod) {
        kubectl.output(&["patch", &pod_name, "--type=merge", PASSED], None)?;
    } else if states::has_not_begun(pod) {
        kubectl.output(&["delete", &pod_name, "--wait=false"], None)?;
    }
    Ok(())
}
