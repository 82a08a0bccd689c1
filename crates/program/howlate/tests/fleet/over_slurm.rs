//! `howlate fleet --on slurm`. One test: a cluster takes seconds to start.

use std::fs;

use crate::common::{json, may_use_realtime, skip, stderr, stdout, wait_until};
use crate::slurm::SlurmCluster;
use crate::{assert_measured, folder_for_hours, nodes, with_plan};

#[test]
fn each_node_measures_once_and_the_late_one_is_named() {
    let Some(cluster) = SlurmCluster::start(&["n1", "n2", "n4", "n6", "slow-3", "down-4"]) else { return };
    let folder = with_plan("[[sleep]]\nrounds = 5\nfor = \"1ms\"\npolicy = \"fifo:80\"\nsamples = 40\n");
    let output = cluster.fleet(folder.path(), &["run", "plan.toml", "--on", "slurm", "--quiet"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_measured(&output, folder.path(), &["n1", "n2", "n4", "n6", "slow-3"]);
    let down = nodes(&output).into_iter().find(|node| node.0 == "down-4").unwrap().1;
    assert!(down.starts_with("not started: Slurm says down") && down.ends_with("(disk is gone)"), "{down}");
    assert!(!folder.path().join("plan-fleet/nodes").exists(), "what was fetched is left nowhere else");
    match may_use_realtime() {
        true => assert_late(&folder.path().join("plan-fleet"), "slow-3", &stdout(&output)),
        false => skip("without real-time priorities the other nodes may be as late"),
    }
    unknown_partitions_are_refused(&cluster);
    nodes_are_chosen_as_slurm_has_it(&cluster);
    jobs_wait_go_on_and_are_cancelled(&cluster);
}

/// Only this node stands out as late. With three nodes, two must be almost equal for that, which depends on how busy the machine is.
fn assert_late(fleet: &std::path::Path, name: &str, output: &str) {
    assert!(output.contains(&format!("{name} is later than the other nodes")), "{output}");
    let result = json(&["show", "--json", fleet.to_str().unwrap()], 0);
    let medians = result["nodes"].as_array().unwrap().iter().find(|node| node["statistic"] == "p50").unwrap();
    let late = |value: &serde_json::Value| (value["node"] == name) == (value["stands_out"] == true);
    assert!(medians["nodes"].as_array().unwrap().iter().all(late), "{medians}");
}

fn unknown_partitions_are_refused(cluster: &SlurmCluster) {
    let folder = folder_for_hours();
    let refused = cluster.fleet(folder.path(), &["run", "plan.toml", "--on", "slurm:no-such"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("no-such"), "{}", stderr(&refused));
    assert!(!folder.path().join("plan-fleet").exists());
}

/// By feature, list and reservation, and by the variables of `sbatch`; also Slurm's time limit.
fn nodes_are_chosen_as_slurm_has_it(cluster: &SlurmCluster) {
    let folder = with_plan("[[sleep]]\nrounds = 1\nfor = \"1ms\"\nsamples = 20\n");
    let run = |more: &[&str]| {
        drop(fs::remove_dir_all(folder.path().join("plan-fleet")));
        cluster.fleet(folder.path(), &[&["run", "plan.toml", "--on", "slurm", "--quiet"], more].concat())
    };
    let chosen = |more: &[&str]| -> Vec<String> {
        let shown = stdout(&run(&[more, &["--dry-run"]].concat()));
        let nodes = shown.lines().filter_map(|line| line.split_once("ReqNodeList="));
        nodes.map(|(_, node)| node.to_owned()).collect()
    };
    assert_eq!(chosen(&["--constraint", "odd&first"]), ["n1"]);
    assert_eq!(chosen(&["--constraint", "odd|even", "--nodelist", "n[1-2]"]), ["n1", "n2"]);
    cluster.query(
        "scontrol",
        &[
            "create",
            "reservation",
            "ReservationName=rt",
            "Nodes=n2",
            "StartTime=now",
            "Duration=60",
            "Users=root",
        ],
    );
    assert_eq!(chosen(&["--reservation", "rt"]), ["n2"]);
    let of_the_environment = cluster.fleet_with(
        folder.path(),
        &["run", "plan.toml", "--on", "slurm", "--dry-run"],
        &[("SBATCH_CONSTRAINT", "first"), ("SBATCH_PARTITION", "all")],
    );
    assert!(
        stdout(&of_the_environment).contains("ReqNodeList=n1\n")
            && !stdout(&of_the_environment).contains("ReqNodeList=n2")
    );
    let none = run(&["--constraint", "no-such"]);
    assert!(
        none.status.code() == Some(2) && stderr(&none).contains("with constraint no-such has no node"),
        "{}",
        stderr(&none)
    );
    let more = run(&["--constraint", "[odd|even]*2"]);
    assert!(
        more.status.code() == Some(2) && stderr(&more).contains("join features by `&`"),
        "{}",
        stderr(&more)
    );
    // A real run in the reservation, whose job has the time limit.
    let output = run(&["--reservation", "rt", "--time", "0:07:00", "--constraint", "even"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(nodes(&output).into_iter().map(|node| node.0).collect::<Vec<_>>(), ["n2"]);
    let jobs = cluster.query("scontrol", &["--oneliner", "show", "jobs"]);
    let last = jobs.lines().find(|line| line.contains("Reservation=rt")).unwrap_or_default();
    assert!(last.contains("TimeLimit=00:07:00") && last.contains("Features=even"), "{jobs}");
    cluster.query("scontrol", &["delete", "ReservationName=rt"]);
}

/// One node is cancelled while it measures, and has a partial result; one job stays pending, and has none.
fn jobs_wait_go_on_and_are_cancelled(cluster: &SlurmCluster) {
    let folder = folder_for_hours();
    let recording = folder.path().join("plan-fleet/nodes/n1/run.jsonl");
    cluster.query("scontrol", &["update", "NodeName=n2,n4,n6,slow-3", "State=DRAIN", "Reason=test"]);
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
            .find(|node| node.0 == "n1")
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
