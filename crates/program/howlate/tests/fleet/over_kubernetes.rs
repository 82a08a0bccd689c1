//! `howlate fleet --on kubernetes`.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{howlate, json, skip, stderr, stdout, wait_until};
use crate::kubernetes::KubernetesCluster;
use crate::{folder, folder_for_hours, nodes};

/// State of a node in the output.
fn state_of(output: &std::process::Output, name: &str) -> String {
    let found = nodes(output).into_iter().find(|node| node.0 == name);
    found.map(|node| node.1).unwrap_or_else(|| panic!("{name}: {}{}", stdout(output), stderr(output)))
}

#[test]
fn pods_of_a_job_measure_and_what_became_of_the_others_is_named() {
    let Some(cluster) = KubernetesCluster::start(&["n1", "far-2", "cut-3", "full-4", "n5", "rotated-6"])
    else {
        return;
    };
    let folder = folder();
    let arguments = ["run", "plan.toml", "--on", "kubernetes:lab", "--nodes", "6", "--quiet"];
    let output = cluster.fleet(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(state_of(&output, "pod-0").starts_with("done"), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(state_of(&output, "pod-1"), "failed: ImagePullBackOff: Back-off pulling image");
    for cut_off in ["pod-2", "pod-5"] {
        let state = state_of(&output, cut_off);
        assert!(state.starts_with("failed: its log does not hold its recording of "), "{state}");
        assert!(state.ends_with("raise its containerLogMaxSize, or measure less"), "{state}");
    }
    assert_eq!(state_of(&output, "pod-3"), "failed: Evicted: The node was low on resource: memory.");
    // Results are named by node, not by pod.
    let fleet = folder.path().join("plan-fleet");
    let shown = json(&["show", "--json", fleet.to_str().unwrap()], 0);
    let results = shown["results"].as_array().unwrap().iter();
    let measured: BTreeSet<&str> =
        results.filter_map(|result| result["condition"]["node"].as_str()).collect();
    assert_eq!(measured, ["n1", "n5"].into(), "{}", stdout(&output));
    // Failed nodes measure again, with an existing image.
    let again = [&arguments[..], &["--resume", "--image", "registry/howlate"]].concat();
    let output = cluster.fleet(folder.path(), &again);
    assert!(state_of(&output, "pod-1").starts_with("done"), "{}{}", stdout(&output), stderr(&output));
    assert!(state_of(&output, "pod-2").starts_with("done"));
    assert!(cluster.objects().is_empty(), "what is over is removed: {:?}", cluster.objects());
    let other = cluster
        .fleet(folder.path(), &["run", "plan.toml", "--on", "kubernetes:lab", "--nodes", "4", "--resume"]);
    assert!(stderr(&other).contains("is a fleet of another plan"), "{}", stderr(&other));
}

#[test]
fn every_node_measures_goes_on_alone_and_is_cancelled() {
    let Some(cluster) = KubernetesCluster::start(&["n1", "busy-2", "down-3"]) else { return };
    let folder = folder_for_hours();
    let arguments = ["run", "plan.toml", "--on", "kubernetes", "--every-node", "--detach"];
    let output = cluster.fleet(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(3), "not all are started: {}", stderr(&output));
    let recording = || {
        let pod = cluster
            .objects()
            .into_iter()
            .find(|object| object["kind"] == "Pod" && object["spec"]["nodeName"] == "n1")
            .unwrap();
        cluster.file(&format!("{}/work/run.jsonl", pod["metadata"]["name"].as_str().unwrap()))
    };
    wait_until("a block", || fs::read_to_string(recording()).is_ok_and(|text| text.contains("\"block\"")));
    let status = cluster.fleet(folder.path(), &["status", "plan-fleet"]);
    assert_eq!(state_of(&status, "n1"), "measures");
    assert_eq!(state_of(&status, "busy-2"), "waits: no CPU left");
    assert_eq!(state_of(&status, "down-3"), "not started: Kubernetes says that it is not ready (no kubelet)");
    let cancelled = cluster.fleet(folder.path(), &["cancel", "plan-fleet"]);
    assert_eq!(cancelled.status.code(), Some(0), "{}", stderr(&cancelled));
    let state = || state_of(&cluster.fleet(folder.path(), &["status", "plan-fleet"]), "n1");
    wait_until("its end", || state().starts_with("cancelled"));
    let collected = cluster.fleet(folder.path(), &["collect", "plan-fleet"]);
    assert_eq!(collected.status.code(), Some(3), "{}", stderr(&collected));
    assert!(stdout(&collected).contains("interrupted"), "{}", stdout(&collected));
    assert!(state_of(&collected, "busy-2").starts_with("cancelled"));
    assert!(folder.path().join("plan-fleet/n1.jsonl").exists());
    assert!(cluster.objects().is_empty(), "nothing stays there: {:?}", cluster.objects());
    assert_eq!(
        nodes(&cluster.fleet(folder.path(), &["collect", "plan-fleet"])),
        nodes(&collected),
        "it is known"
    );
}

#[test]
fn a_cluster_that_is_not_there_or_refuses_says_so_in_one_line() {
    let Some(cluster) = KubernetesCluster::start(&["n1"]) else { return };
    let folder = folder();
    let run = |on: &str| cluster.fleet(folder.path(), &["run", "plan.toml", "--on", on, "--every-node"]);
    let unknown = run("kubernetes:no-such");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        stderr(&unknown).starts_with("error: kubectl failed: context \"no-such\" does not exist\n"),
        "{}",
        stderr(&unknown)
    );
    assert!(!folder.path().join("plan-fleet").exists());
    cluster.refuses("pods are forbidden: exceeded quota: 1 of 1 used");
    let refused = run("kubernetes");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("exceeded quota: 1 of 1 used\n"), "{}", stderr(&refused));
    assert_eq!(cluster.objects().len(), 0, "nothing of it stays there");
    let arguments = ["status", "plan-fleet"];
    assert_eq!(state_of(&cluster.fleet(folder.path(), &arguments), "n1"), "not started: not yet");
    cluster.refuses("");
    let again =
        cluster.fleet(folder.path(), &["run", "plan.toml", "--on", "kubernetes", "--every-node", "--resume"]);
    assert_eq!(state_of(&again, "n1"), "done", "{}", stderr(&again));
}

#[test]
fn a_fleet_that_the_cluster_does_not_know_is_not_given_up() {
    let Some(cluster) = KubernetesCluster::start(&["n1"]) else { return };
    let folder = folder_for_hours();
    let arguments = ["run", "plan.toml", "--on", "kubernetes", "--nodes", "1", "--detach"];
    assert_eq!(cluster.fleet(folder.path(), &arguments).status.code(), Some(0));
    let cluster = KubernetesCluster::start(&["n1"]).unwrap();
    let lost = cluster.fleet(folder.path(), &["collect", "plan-fleet"]);
    assert_eq!(lost.status.code(), Some(2));
    assert!(stderr(&lost).contains("it knows nothing of this fleet"), "{}{}", stdout(&lost), stderr(&lost));
}

/// `cargo xtask test --kubernetes` starts a cluster, and passes its address.
#[test]
fn a_real_cluster_measures_in_a_job_and_on_every_node() {
    let Some(cluster) = std::env::var_os("HOWLATE_KUBERNETES") else {
        return skip("cargo xtask test --kubernetes has a cluster for it");
    };
    let folder = folder();
    let path = std::env::var_os("PATH").unwrap();
    let path =
        std::env::join_paths([cluster.into()].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let fleet = |arguments: &[&str]| {
        howlate(&["fleet"]).args(arguments).current_dir(folder.path()).env("PATH", &path).output().unwrap()
    };
    let on_kubernetes = |folder: &'static str| {
        ["run", "plan.toml", "--on", "kubernetes:test", "--pod-cpus", "1", "--quiet", "--folder", folder]
    };
    let job = fleet(&[&on_kubernetes("job")[..], &["--nodes", "2"]].concat());
    assert_eq!(job.status.code(), Some(0), "{}{}", stdout(&job), stderr(&job));
    assert_eq!([state_of(&job, "pod-0"), state_of(&job, "pod-1")], ["done", "done"]);
    assert!(stdout(&job).contains("400"), "two times 200 wake-ups: {}", stdout(&job));
    fs::write(folder.path().join("plan.toml"), "[[cyclic]]\nthreads = 1\nduration = \"1h\"\n").unwrap();
    let arguments = [&on_kubernetes("daemons")[..], &["--every-node", "--detach"]].concat();
    let started = fleet(&arguments);
    assert_eq!(started.status.code(), Some(0), "{}", stderr(&started));
    let state = || state_of(&fleet(&["status", "daemons"]), "localhost");
    wait_until("a pod that measures", || state() == "measures");
    assert_eq!(fleet(&["cancel", "daemons"]).status.code(), Some(0));
    wait_until("its end", || state().starts_with("cancelled"));
    let collected = fleet(&["collect", "daemons"]);
    assert!(stdout(&collected).contains("interrupted"), "{}{}", stdout(&collected), stderr(&collected));
    let missing = fleet(
        &[&on_kubernetes("missing")[..], &["--nodes", "1", "--image", "localhost/is-not-there"]].concat(),
    );
    assert!(state_of(&missing, "pod-0").starts_with("failed: ImagePullBackOff: "), "{}", stdout(&missing));
}
