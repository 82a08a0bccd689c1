//! The nodes of a cluster.

use std::collections::BTreeMap;

use super::api_types::{KubeList, KubeObject, Taint};
use super::kubectl::Kubectl;
use super::states::first_line;
use crate::FleetError;
use crate::placement::{PodPlacement, Toleration};

/// All nodes, each with why it is not used, if it is not.
pub(super) fn nodes(
    kubectl: &Kubectl<'_>,
    placement: &PodPlacement,
) -> Result<BTreeMap<String, Option<String>>, FleetError> {
    let list: KubeList = kubectl.answer(&["get", "nodes"])?;
    let is_selected = |node: &&KubeObject| {
        placement.node_selector.iter().all(|(key, value)| node.metadata.labels.get(key) == Some(value))
    };
    let entry = |node: &KubeObject| (node.metadata.name.clone(), unusable(node, &placement.tolerations));
    Ok(list.items.iter().filter(is_selected).map(entry).collect())
}

/// A DaemonSet would make pods for some of these as well, which then wait.
fn unusable(node: &KubeObject, tolerations: &[Toleration]) -> Option<String> {
    let ready = node.status.conditions.iter().find(|condition| condition.kind == "Ready");
    let is_borne = |taint: &Taint| {
        tolerations.iter().any(|toleration| toleration.bears(&taint.key, &taint.value, &taint.effect))
    };
    let keeps_away =
        |taint: &&Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute") && !is_borne(taint);
    let taint = node.spec.taints.iter().find(keeps_away);
    match (ready, taint) {
        (ready, _) if ready.is_none_or(|condition| condition.status != "True") => {
            let message = ready.and_then(|condition| condition.message.as_deref()).and_then(first_line);
            let message = message.map(|message| format!(" ({message})")).unwrap_or_default();
            Some(format!("Kubernetes says that it is not ready{message}"))
        }
        _ if node.spec.unschedulable => Some("it is cordoned".to_owned()),
        (_, Some(taint)) => Some(format!("it is tainted {}", first_line(&taint.key).unwrap_or_default())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_that_are_not_used_have_a_reason() {
        let node = |ready: &str, spec: serde_json::Value| -> KubeObject {
            let conditions = json!([{"type": "Ready", "status": ready, "message": "kubelet is gone"}]);
            serde_json::from_value(json!({"spec": spec, "status": {"conditions": conditions}})).unwrap()
        };
        let taint = |effect: &str| json!({"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": effect}]});
        for (node, expected) in [
            (node("True", json!({})), None),
            (node("True", taint("PreferNoSchedule")), None),
            (node("True", taint("NoSchedule")), Some("it is tainted node-role.kubernetes.io/control-plane")),
            (node("True", json!({"unschedulable": true})), Some("it is cordoned")),
            (
                node("Unknown", taint("NoSchedule")),
                Some("Kubernetes says that it is not ready (kubelet is gone)"),
            ),
            (KubeObject::default(), Some("Kubernetes says that it is not ready")),
        ] {
            assert_eq!(unusable(&node, &[]).as_deref(), expected);
        }
        let borne = ["node-role.kubernetes.io/control-plane:NoSchedule".parse().unwrap()];
        assert_eq!(unusable(&node("True", taint("NoSchedule")), &borne), None);
        assert!(unusable(&node("True", taint("NoExecute")), &borne).is_some());
    }
}
