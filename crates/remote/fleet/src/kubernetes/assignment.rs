//! Which pod each node of a fleet measures in, of all objects that the cluster tells of.

use super::api_types::{KubeList, KubeObject};
use super::manifest::ATTEMPT;
use crate::folder::FleetMember;

/// A pod has the index of its Job here, and Kubernetes puts it there.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// All objects of a fleet.
pub(super) struct ClusterObjects(pub(super) KubeList);

/// What one node measures in.
pub(super) enum Assignment<'a> {
    Pod(&'a KubeObject),
    /// Its Job or DaemonSet makes object.
    Coming,
    /// It had one, and makes no other.
    Gone,
    /// Neither is there.
    Removed,
    /// It was not started.
    Nowhere,
}

/// The Job or DaemonSet that a node measures in, and its index in the Job.
pub(super) fn job(member: &FleetMember) -> Option<(&str, Option<&str>)> {
    let job = member.job.as_deref()?;
    Some(job.split_once('/').map_or((job, None), |(name, index)| (name, Some(index))))
}

impl ClusterObjects {
    /// The Job or DaemonSet of this name.
    pub(super) fn owner(&self, name: &str) -> Option<&KubeObject> {
        let is_owner = |object: &&KubeObject| {
            matches!(object.kind.as_str(), "Job" | "DaemonSet") && object.metadata.name == name
        };
        self.0.items.iter().find(is_owner)
    }

    /// Where a node measures.
    pub(super) fn place(&self, member: &FleetMember) -> Assignment<'_> {
        let Some((name, index)) = job(member) else { return Assignment::Nowhere };
        let is_pod_of_member = |object: &&KubeObject| {
            object.kind == "Pod"
                && object.metadata.labels.get(ATTEMPT).is_some_and(|attempt| attempt == name)
                && match index {
                    Some(index) => {
                        object.metadata.annotations.get(INDEX).is_some_and(|annotation| annotation == index)
                    }
                    None => node(object) == Some(&member.host.address),
                }
        };
        // Times are written so that the alphabet orders them.
        let pod =
            self.0.items.iter().filter(is_pod_of_member).max_by_key(|pod| &pod.metadata.creation_timestamp);
        match (pod, self.owner(name)) {
            (Some(pod), _) => Assignment::Pod(pod),
            (None, None) => Assignment::Removed,
            (None, Some(owner)) => {
                let failed = owner.status.failed_indexes.as_deref().unwrap_or_default();
                if index.is_some_and(|index| holds(failed, index)) {
                    Assignment::Gone
                } else {
                    Assignment::Coming
                }
            }
        }
    }
}

/// The node of a pod: the one it runs on, or the one that its DaemonSet has made it for.
pub(super) fn node(pod: &KubeObject) -> Option<&str> {
    const MADE_FOR: &str = "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    pod.spec.node_name.as_deref().or_else(|| pod.spec.affinity.pointer(MADE_FOR)?.as_str())
}

/// Whether an index is one of `1,3-5`.
fn holds(indexes: &str, index: &str) -> bool {
    let Ok(index) = index.parse::<u32>() else { return false };
    indexes.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.parse::<u32>(), last.parse::<u32>()), (Ok(first), Ok(last)) if (first..=last).contains(&index))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_pod_of_an_index_counts_and_one_that_failed_is_gone() {
        let made = |name: &str, index: &str, at: &str| {
            json!({"kind": "Pod", "metadata": {"name": name, "creationTimestamp": at, "labels": {ATTEMPT: "howlate-f1-1"},
                "annotations": {INDEX: index}}})
        };
        let objects = json!({"items": [
            {"kind": "Job", "metadata": {"name": "howlate-f1-1"}, "status": {"failedIndexes": "2,4-6"}},
            made("old", "0", "2026-01-01T00:00:00Z"), made("new", "0", "2026-01-01T00:01:00Z"),
        ]});
        let seen = ClusterObjects(serde_json::from_value(objects).unwrap());
        let place = |job: &str| seen.place(&FleetMember { job: Some(job.into()), ..FleetMember::default() });
        assert!(matches!(place("howlate-f1-1/0"), Assignment::Pod(pod) if pod.metadata.name == "new"));
        assert!(matches!(place("howlate-f1-1/1"), Assignment::Coming));
        assert!(matches!(place("howlate-f1-1/3"), Assignment::Coming));
        for missing in ["2", "4", "5", "6"] {
            assert!(matches!(place(&format!("howlate-f1-1/{missing}")), Assignment::Gone), "{missing}");
        }
        assert!(matches!(place("howlate-f1-2/0"), Assignment::Removed));
    }

    #[test]
    fn a_pod_of_a_daemon_set_is_known_by_the_node_that_it_is_made_for() {
        let terms = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n7"]}]}]);
        let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
        let objects = json!({"items": [{"kind": "Pod", "metadata": {"labels": {ATTEMPT: "howlate-f1-1"}}, "spec": {"affinity": affinity}}]});
        let seen = ClusterObjects(serde_json::from_value(objects).unwrap());
        let member = |node: &str| FleetMember {
            host: node.parse().unwrap(),
            job: Some("howlate-f1-1".into()),
            ended: None,
        };
        assert!(matches!(seen.place(&member("n7")), Assignment::Pod(_)));
        assert!(matches!(seen.place(&member("n8")), Assignment::Removed));
    }
}
