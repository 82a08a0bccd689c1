//! The manifest for the cluster, as text.
//!
//! In a DaemonSet an init container measures, as its pods are started again when they end; what follows it waits.

use serde_json::{Value, json};

use super::entrypoint::{MEASURES, RESTS};
use crate::files::PLAN;
use crate::folder::Fleet;
use crate::placement::FleetPods;
use crate::placement::{PodPlacement, Toleration};

/// The label that all objects of a fleet have.
pub(super) const FLEET: &str = "app.kubernetes.io/part-of";
/// The label that tells apart the Jobs or DaemonSets of a fleet that was resumed.
pub(super) const ATTEMPT: &str = "app.kubernetes.io/instance";
/// The container that measures.
pub(super) const MEASURE: &str = "measure";

/// Where the plan is in a pod.
const PLANS: &str = "/plan";
/// A folder that the measurement may write.
const WORK: &str = "/work";
/// Where Kubernetes looks for the report.
const REPORT: &str = "/dev/termination-log";
/// Memory of a pod: the program, what its threads record, loads.
const MEMORY: &str = "256Mi";
/// What is left of a pod that only waits.
const AT_REST: (&str, &str) = ("10m", "16Mi");
/// How long a measurement that is ended may take to hand over what it has, in seconds.
const LAST_WORDS: u64 = 60;

/// What all objects of a fleet are labelled with.
pub(super) fn label(fleet: &Fleet) -> String {
    format!("{FLEET}=howlate-{}", fleet.id)
}

/// What a Job or DaemonSet is called.
pub(super) fn name(fleet: &Fleet, attempt: u32) -> String {
    format!("howlate-{}-{attempt}", fleet.id)
}

/// The plan, and the Job or DaemonSet in which these nodes measure it.
pub(super) fn manifest(fleet: &Fleet, pods: &FleetPods, plan: &str, name: &str, nodes: &[usize]) -> Value {
    let labels = labels(fleet, name);
    let mut metadata = json!({"name": name, "labels": labels});
    if let Some(namespace) = &pods.placement.namespace {
        metadata["namespace"] = json!(namespace);
    }
    let plan = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {PLAN: plan}});
    let pod = json!({"metadata": {"labels": labels}, "spec": pod(fleet, pods, name, nodes)});
    let owner = match pods.every_node {
        true => json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
            "spec": {"selector": {"matchLabels": {ATTEMPT: name}}, "template": pod},
        }),
        false => json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
            // One that fails is no reason to end the others.
            "spec": {"completionMode": "Indexed", "completions": nodes.len(), "parallelism": nodes.len(),
                "backoffLimitPerIndex": 0, "template": pod},
        }),
    };
    json!({"apiVersion": "v1", "kind": "List", "items": [plan, owner]})
}

fn labels(fleet: &Fleet, name: &str) -> Value {
    json!({"app.kubernetes.io/name": "howlate", FLEET: format!("howlate-{}", fleet.id), ATTEMPT: name})
}

fn pod(fleet: &Fleet, pods: &FleetPods, name: &str, nodes: &[usize]) -> Value {
    let mut pod = json!({
        "terminationGracePeriodSeconds": LAST_WORDS,
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "volumes": [{"name": "plan", "configMap": {"name": name}}, {"name": "work", "emptyDir": {}}],
    });
    place(&mut pod, &pods.placement);
    let (measure, affinity) = (measure(fleet, pods, name), affinity(fleet, pods, nodes));
    let parts = match pods.every_node {
        true => json!({"initContainers": [measure], "containers": [rest(pods)], "affinity": affinity}),
        false => json!({"containers": [measure], "affinity": affinity, "restartPolicy": "Never",
            "activeDeadlineSeconds": fleet.timeout_s}),
    };
    for (key, value) in parts.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        pod[key] = value.clone();
    }
    pod
}

/// What is said of where pods are put, and as what; recordings stay where there is a claim, in a folder of each pod.
fn place(pod: &mut Value, placement: &PodPlacement) {
    let PodPlacement {
        node_selector,
        tolerations,
        pull_secrets,
        priority_class,
        runtime_class,
        results_claim,
        ..
    } = placement;
    if !node_selector.is_empty() {
        pod["nodeSelector"] = json!(node_selector);
    }
    if !tolerations.is_empty() {
        pod["tolerations"] = tolerations.iter().map(toleration).collect();
    }
    if !pull_secrets.is_empty() {
        pod["imagePullSecrets"] = pull_secrets.iter().map(|secret| json!({"name": secret})).collect();
    }
    let classes = [("priorityClassName", priority_class), ("runtimeClassName", runtime_class)];
    for (key, class) in classes.into_iter().filter_map(|(key, class)| Some((key, class.as_ref()?))) {
        pod[key] = json!(class);
    }
    if let Some(claim) = results_claim {
        pod["volumes"][1] = json!({"name": "work", "persistentVolumeClaim": {"claimName": claim}});
    }
}

fn toleration(toleration: &Toleration) -> Value {
    let mut text = json!({"key": toleration.key, "operator": if toleration.value.is_some() { "Equal" } else { "Exists" }});
    for (key, value) in [("value", &toleration.value), ("effect", &toleration.effect)] {
        if let Some(value) = value {
            text[key] = json!(value);
        }
    }
    text
}

/// A pod of a Job is never beside another of the fleet, since they would disturb each other; that of a DaemonSet is on a
/// node of the fleet.
fn affinity(fleet: &Fleet, pods: &FleetPods, nodes: &[usize]) -> Value {
    let term = |node: &usize| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [fleet.members[*node].host.address]}]});
    match pods.every_node {
        true => json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": nodes.iter().map(term).collect::<Vec<_>>()}}}),
        false => json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchLabels": {FLEET: format!("howlate-{}", fleet.id)}}, "topologyKey": "kubernetes.io/hostname"}]}}),
    }
}

/// Recordings are named after the node. Kubernetes replaces `$(NODE)`.
fn measure(fleet: &Fleet, pods: &FleetPods, name: &str) -> Value {
    let plan = format!("{PLANS}/{PLAN}");
    let ours = [MEASURES, REPORT, WORK, "run", &plan, "--node", "$(NODE)"].map(str::to_owned);
    let escaped = fleet.arguments.iter().map(|word| word.replace('$', "$$"));
    let arguments: Vec<String> =
        ours.into_iter().chain(escaped).chain(["--quiet".to_owned(), "--no-save".to_owned()]).collect();
    let mut container = container(pods, MEASURE, &arguments, (&pods.cpus.to_string(), MEMORY));
    container["env"] = json!([{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]);
    container["volumeMounts"] =
        json!([{"name": "plan", "mountPath": PLANS, "readOnly": true}, {"name": "work", "mountPath": WORK}]);
    if pods.placement.results_claim.is_some() {
        let pod = json!({"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}});
        container["env"].as_array_mut().into_iter().for_each(|all| all.push(pod.clone()));
        // Two pods may have measured on one node.
        container["volumeMounts"][1]["subPathExpr"] = json!(format!("{name}/$(NODE)/$(POD)"));
    }
    // Real-time policies; locked memory; tracing by BPF.
    let capabilities: &[&str] =
        if pods.is_traced { &["SYS_NICE", "IPC_LOCK", "BPF", "PERFMON"] } else { &["SYS_NICE", "IPC_LOCK"] };
    container["securityContext"]["capabilities"]["add"] = json!(capabilities);
    container
}

fn rest(pods: &FleetPods) -> Value {
    container(pods, "rest", &[RESTS.to_owned()], AT_REST)
}

/// With what it asks for equal to its limits: of class Guaranteed, and with whole CPUs under the static CPU manager.
fn container(pods: &FleetPods, name: &str, arguments: &[String], (cpus, memory): (&str, &str)) -> Value {
    let resources = json!({"cpu": cpus, "memory": memory});
    json!({
        "name": name,
        "image": pods.image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments,
        "resources": {"requests": resources, "limits": resources},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "readOnlyRootFilesystem": true,
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;
    use crate::folder::FleetMember;

    fn manifest_of(every_node: bool, arguments: &[&str]) -> Value {
        placed(every_node, arguments, PodPlacement::default())
    }

    fn placed(every_node: bool, arguments: &[&str], placement: PodPlacement) -> Value {
        let host = |name: &str| FleetMember { host: name.parse::<Host>().unwrap(), ..FleetMember::default() };
        let fleet = Fleet {
            task: crate::NodeTask::Plan,
            id: "f1".into(),
            on: "kubernetes".into(),
            sha256: None,
            machine: None,
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            at_once: 2,
            timeout_s: Some(600),
            pods: None,
            slurm: crate::SlurmOptions::default(),
            members: ["n1", "n2", "n3"].map(host).into(),
            folder: "/nowhere".into(),
        };
        let pods = FleetPods {
            image: "registry/howlate:1".into(),
            cpus: 2,
            every_node,
            is_traced: every_node,
            placement,
        };
        manifest(&fleet, &pods, "[[cyclic]]\n", &name(&fleet, 1), &[0, 2])
    }

    #[test]
    fn a_job_has_a_pod_for_each_node() {
        insta::assert_snapshot!(format!("{:#}", manifest_of(false, &["--fail-above", "max>1ms"])));
    }

    #[test]
    fn a_daemon_set_measures_once_in_each_pod() {
        insta::assert_snapshot!(format!("{:#}", manifest_of(true, &["--why"])));
    }

    #[test]
    fn pods_are_put_where_they_are_asked_to_be() {
        let placement = PodPlacement {
            namespace: Some("lab".to_owned()),
            node_selector: [("pool".to_owned(), "rt".to_owned())].into(),
            tolerations: vec!["dedicated=rt:NoSchedule".parse().unwrap(), "other".parse().unwrap()],
            pull_secrets: vec!["registry".to_owned()],
            priority_class: Some("high".to_owned()),
            runtime_class: Some("kata".to_owned()),
            results_claim: Some("results".to_owned()),
        };
        for every_node in [false, true] {
            let pod =
                placed(every_node, &[], placement.clone())["items"][1]["spec"]["template"]["spec"].clone();
            let whole = placed(every_node, &[], placement.clone());
            assert!(
                whole["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|object| object["metadata"]["namespace"] == "lab")
            );
            assert_eq!(pod["nodeSelector"], json!({"pool": "rt"}));
            assert_eq!(
                pod["tolerations"],
                json!([{"key": "dedicated", "operator": "Equal", "value": "rt", "effect": "NoSchedule"},
                    {"key": "other", "operator": "Exists"}])
            );
            assert_eq!(pod["imagePullSecrets"], json!([{"name": "registry"}]));
            assert_eq!(
                (&pod["priorityClassName"], &pod["runtimeClassName"]),
                (&json!("high"), &json!("kata"))
            );
            assert_eq!(pod["volumes"][1]["persistentVolumeClaim"]["claimName"], "results");
            let measure = &pod[if every_node { "initContainers" } else { "containers" }][0];
            assert_eq!(measure["volumeMounts"][1]["subPathExpr"], "howlate-f1-1/$(NODE)/$(POD)");
            assert_eq!(measure["env"][1]["valueFrom"]["fieldRef"]["fieldPath"], "metadata.name");
        }
    }

    #[test]
    fn kubernetes_replaces_nothing_in_what_was_typed() {
        let job = manifest_of(false, &["--label", "price=$(NODE) $5"]);
        let arguments = &job["items"][1]["spec"]["template"]["spec"]["containers"][0]["args"];
        assert!(arguments.as_array().unwrap().contains(&json!("price=$$(NODE) $$5")), "{arguments}");
    }
}
