//! Through Slurm. One test: a cluster takes seconds to start.

use std::fs;

use crate::common::{json, may_use_realtime, skip, stderr, stdout, wait_until};
use crate::slurm::Cluster;
use crate::{assert_measured, folder_for_hours, nodes, with_plan};

#[test]
fn each_node_measures_once_and_the_late_one_is_named() {
    let Some(cluster) = Cluster::start(&["n1", "n2", "slow-3", "down-4"]) else { return };
    let folder = with_plan("[[sleep]]\nrounds = 3\nfor = \"1ms\"\npolicy = \"fifo:80\"\nsamples = 20\n");
    let output = cluster.fleet(folder.path(), &["run", "plan.toml", "--on", "slurm", "--quiet"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_measured(&output, folder.path(), &["n1", "n2", "slow-3"]);
    let down = nodes(&output).into_iter().find(|one| one.0 == "down-4").unwrap().1;
    assert!(down.starts_with("not started: Slurm says down") && down.ends_with("(disk is gone)"), "{down}");
    assert!(!folder.path().join("plan-fleet/nodes").exists(), "what was fetched is left nowhere else");
    match may_use_realtime() {
        true => assert_late(&folder.path().join("plan-fleet"), "slow-3", &stdout(&output)),
        false => skip("without real-time priorities the other nodes may be as late"),
    }
    unknown_partitions_are_refused(&cluster);
    jobs_wait_go_on_and_are_cancelled(&cluster);
}

/// This node stands out, and no other.
fn assert_late(fleet: &std::path::Path, name: &str, said: &str) {
    assert!(said.contains(&format!("{name} is later than the other nodes")), "{said}");
    let result = json(&["show", "--format", "json", fleet.to_str().unwrap()], 0);
    let medians = result["nodes"].as_array().unwrap().iter().find(|one| one["statistic"] == "p50").unwrap();
    let late = |one: &serde_json::Value| (one["node"] == name) == (one["stands_out"] == true);
    assert!(medians["nodes"].as_array().unwrap().iter().all(late), "{medians}");
}

fn unknown_partitions_are_refused(cluster: &Cluster) {
    let folder = folder_for_hours();
    let refused = cluster.fleet(folder.path(), &["run", "plan.toml", "--on", "slurm:no-such"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("no-such"), "{}", stderr(&refused));
    assert!(!folder.path().join("plan-fleet").exists());
}

/// One node runs, is cancelled, and leaves what it has; one job waits for ever, and leaves nothing.
fn jobs_wait_go_on_and_are_cancelled(cluster: &Cluster) {
    let folder = folder_for_hours();
    let recording = folder.path().join("plan-fleet/nodes/n1/run.jsonl");
    cluster.said("scontrol", &["update", "NodeName=n2,slow-3", "State=DRAIN", "Reason=test"]);
    let output = cluster.fleet(folder.path(), &["run", "plan.toml", "--on", "slurm:all", "--detach"]);
    assert_eq!(output.status.code(), Some(3), "not all are started: {}", stderr(&output));
    wait_until("a block", || fs::read_to_string(&recording).is_ok_and(|text| text.contains("\"block\"")));
    let status = nodes(&cluster.fleet(folder.path(), &["status", "plan-fleet"]));
    assert!(status.contains(&("n1".into(), "measures".into())), "{status:?}");
    assert!(status.contains(&("n2".into(), "not started: Slurm says drained (test)".into())), "{status:?}");
    assert_eq!(cluster.fleet(folder.path(), &["cancel", "plan-fleet"]).status.code(), Some(0));
    let n1 = || {
        nodes(&cluster.fleet(folder.path(), &["status", "plan-fleet"]))
            .into_iter()
            .find(|one| one.0 == "n1")
            .unwrap()
            .1
    };
    wait_until("its end", || n1().starts_with("cancelled"));
    wait_until("what it left", || recording.with_file_name("status").exists());
    let collected = cluster.fleet(folder.path(), &["collect", "plan-fleet"]);
    assert_eq!(collected.status.code(), Some(3));
    assert!(stdout(&collected).contains("interrupted"), "{}", stdout(&collected));
    assert!(folder.path().join("plan-fleet/n1.jsonl").exists());
}
