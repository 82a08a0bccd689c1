//! How a pod is doing.

use super::api_types::{KubeContainer, KubeObject, StateReason};
use super::assignment::node;
use super::manifest::MEASURE;
use super::termination_message::PodReport;
use crate::NodeStatus;
use crate::process::last_line;

/// What a container waits for that does not come by itself, or not soon.
const WAITS_FOR_EVER: [&str; 7] = [
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "CrashLoopBackOff",
];

/// The container of a pod that measures.
fn measuring(pod: &KubeObject) -> Option<&KubeContainer> {
    let all = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    all.into_iter().find(|container| container.name == MEASURE)
}

/// What a pod has reported.
pub(super) fn report(pod: &KubeObject) -> Option<PodReport> {
    let ended = measuring(pod)?.state.terminated.as_ref()?;
    serde_json::from_str(ended.message.as_deref()?).ok()
}

/// Whether a pod has begun to measure and not ended.
pub(super) fn runs(pod: &KubeObject) -> bool {
    measuring(pod).is_some_and(|container| container.state.running.is_some())
}

/// Whether there is nothing in a pod yet that could be lost.
pub(super) fn has_not_begun(pod: &KubeObject) -> bool {
    measuring(pod)
        .is_none_or(|container| container.state.running.is_none() && container.state.terminated.is_none())
}

/// How a pod is doing.
pub(super) fn state(pod: &KubeObject) -> NodeStatus {
    let status = &pod.status;
    let ended_for = status.reason.as_deref().filter(|reason| *reason != "DeadlineExceeded");
    match (measuring(pod), ended_for) {
        _ if pod.metadata.deletion_timestamp.is_some() => NodeStatus::Unreachable { reason: leaving(pod) },
        (_, Some(reason)) if status.phase == "Failed" => failed(Some(reason), status.message.as_deref()),
        (Some(container), _) => container_state(pod, container),
        (None, _) if status.phase == "Failed" => failed(status.reason.as_deref(), status.message.as_deref()),
        (None, _) => NodeStatus::Waiting { reason: unscheduled(pod) },
    }
}

fn leaving(pod: &KubeObject) -> String {
    match (pod.status.reason.as_deref(), node(pod)) {
        (Some("NodeLost"), Some(node)) => format!("Kubernetes has lost node {}", shortly(node)),
        _ => "somebody is removing its pod".to_owned(),
    }
}

fn unscheduled(pod: &KubeObject) -> String {
    let condition = pod
        .status
        .conditions
        .iter()
        .find(|condition| condition.kind == "PodScheduled" && condition.status == "False");
    let message = condition.and_then(|condition| condition.message.as_deref()).and_then(first_line);
    message.unwrap_or_else(|| "its pod is made".to_owned())
}

fn container_state(pod: &KubeObject, container: &KubeContainer) -> NodeStatus {
    let state = &container.state;
    if let Some(ended) = &state.terminated {
        return report(pod).map_or_else(|| without_report(pod, ended), |report| report.state());
    }
    // A DaemonSet starts again what did not end well.
    if let Some(ended) = &container.last_state.terminated {
        return without_report(pod, ended);
    }
    match &state.waiting {
        Some(waiting) => {
            let reason = waiting.reason.as_deref().unwrap_or_default();
            match WAITS_FOR_EVER.contains(&reason) {
                true => failed(Some(reason), waiting.message.as_deref()),
                false => NodeStatus::Waiting { reason: in_words(Some(reason), waiting.message.as_deref()) },
            }
        }
        None => NodeStatus::Running,
    }
}

/// One that ended and could not say how it went.
fn without_report(pod: &KubeObject, ended: &StateReason) -> NodeStatus {
    let late = pod.status.reason.as_deref() == Some("DeadlineExceeded");
    match ended.reason.as_deref() {
        _ if late => NodeStatus::Failed {
            reason: "it was not done in time, and could not hand over what it had".to_owned(),
        },
        Some("OOMKilled") => {
            NodeStatus::Failed { reason: "it needed more memory than its pod has (OOMKilled)".to_owned() }
        }
        Some("Error" | "Completed") | None => {
            let message = ended.message.as_deref().and_then(crate::process::complaint);
            let reason =
                message.unwrap_or_else(|| format!("its container ended with status {}", ended.exit_code));
            NodeStatus::Failed { reason }
        }
        reason => failed(reason, ended.message.as_deref()),
    }
}

fn failed(reason: Option<&str>, message: Option<&str>) -> NodeStatus {
    NodeStatus::Failed { reason: in_words(reason, message) }
}

/// `Evicted: The node was low on resource: memory.`
fn in_words(reason: Option<&str>, message: Option<&str>) -> String {
    let parts: Vec<String> = [reason, message].into_iter().flatten().filter_map(first_line).collect();
    if parts.is_empty() { "Kubernetes does not say why".to_owned() } else { parts.join(": ") }
}

/// The first line, which is what went wrong; those after it are details.
pub(super) fn first_line(text: &str) -> Option<String> {
    text.lines().find_map(last_line)
}

/// Names are up to 253 letters in Kubernetes, and what one says may be longer.
fn shortly(name: &str) -> String {
    name.chars().take(253).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::api_types::KubeList;
    use super::*;

    fn pod(status: Value) -> KubeObject {
        serde_json::from_value(json!({"kind": "Pod", "spec": {"nodeName": "n1"}, "status": status})).unwrap()
    }

    fn measures(state: Value) -> KubeObject {
        pod(json!({"phase": "Running", "containerStatuses": [{"name": "measure", "state": state}]}))
    }

    #[track_caller]
    fn says(pod: &KubeObject, expected: &str) {
        assert_eq!(state(pod).to_string(), expected);
    }

    #[test]
    fn a_pod_waits_measures_and_is_done() {
        says(&pod(json!({"phase": "Pending"})), "waits: its pod is made");
        let message = "0/3 nodes are available: 3 Insufficient cpu.";
        let conditions = json!([{"type": "PodScheduled", "status": "False", "message": message}]);
        says(&pod(json!({"phase": "Pending", "conditions": conditions})), &format!("waits: {message}"));
        says(&measures(json!({"waiting": {"reason": "ContainerCreating"}})), "waits: ContainerCreating");
        says(&measures(json!({"running": {}})), "measures");
        let done = |status: u8| {
            let report = PodReport { status, recording: None, message: Some("no disk".into()) };
            let message = serde_json::to_string(&report).unwrap();
            measures(json!({"terminated": {"reason": "Completed", "exitCode": 0, "message": message}}))
        };
        says(&done(0), "done");
        says(&done(1), "done; a limit was exceeded");
        says(&done(143), "cancelled: what it measured until then counts");
        says(&done(2), "failed: no disk");
    }

    #[test]
    fn what_will_not_come_to_anything_has_failed() {
        let waits = |reason: &str, message: &str| {
            measures(json!({"waiting": {"reason": reason, "message": message}}))
        };
        says(
            &waits("ImagePullBackOff", "Back-off pulling image \"nowhere/howlate\"\nmore"),
            "failed: ImagePullBackOff: Back-off pulling image \"nowhere/howlate\"",
        );
        says(&waits("ErrImagePull", "no such host"), "waits: ErrImagePull: no such host");
        let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
        says(&pod(evicted), "failed: Evicted: The node was low on resource: memory.");
        let ended = |reason: &str, message: &str| {
            measures(json!({"terminated": {"reason": reason, "exitCode": 137, "message": message}}))
        };
        says(&ended("OOMKilled", ""), "failed: it needed more memory than its pod has (OOMKilled)");
        says(&ended("Error", ""), "failed: its container ended with status 137");
        says(&ended("Error", "error: no such role\nhint: none"), "failed: no such role");
        let again = json!([{"name": "measure", "state": {"running": {}}, "lastState": {"terminated": {"reason": "OOMKilled"}}}]);
        says(
            &pod(json!({"phase": "Pending", "initContainerStatuses": again})),
            "failed: it needed more memory than its pod has (OOMKilled)",
        );
    }

    #[test]
    fn a_pod_that_leaves_does_not_answer() {
        let lost = json!({"kind": "Pod", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": "n1"}, "status": {"phase": "Running", "reason": "NodeLost"}});
        says(&serde_json::from_value(lost).unwrap(), "does not answer: Kubernetes has lost node n1");
    }

    #[test]
    fn whatever_is_answered_is_a_state_or_refused() {
        for text in [
            "{}",
            r#"{"status":{"phase":"\u001b[2J"}}"#,
            r#"{"status":{"containerStatuses":[{"name":"measure"}]}}"#,
        ] {
            drop(state(&serde_json::from_str(text).unwrap()).to_string());
        }
        let report = "x".repeat(100_000);
        assert!(state(&measures(json!({"terminated": {"message": report}}))).to_string().len() < 400);
        for text in ["[]", "7", r#"{"items":7}"#, r#"{"items":[{"metadata":7}]}"#, "{}"] {
            assert!(serde_json::from_str::<KubeList>(text).is_err(), "{text}");
        }
    }
}
