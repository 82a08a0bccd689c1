//! The batch script for Slurm, as text.

use howlate_model::{shell_path, shell_word};

use crate::files::{NODES, SCRIPT};
use crate::folder::Fleet;

/// The options of `sbatch` for so many nodes.
pub(super) fn options(fleet: &Fleet, partition: Option<&str>, tasks: usize) -> Vec<String> {
    let fixed =
        ["--parsable", "--hold", "--nodes=1", "--ntasks=1", "--exclusive", "--no-requeue", "--chdir=/"];
    let mut options: Vec<String> = fixed.iter().map(|option| (*option).to_owned()).collect();
    options.push("--output=/dev/null".to_owned());
    options.push(format!("--array=0-{}", tasks.saturating_sub(1)));
    options.push(format!("--job-name={}", job_name(&fleet.id)));
    let minutes = || fleet.timeout_s.map(|seconds| seconds.div_ceil(60).max(1).to_string());
    let slurm = &fleet.slurm;
    let each = [
        ("time", slurm.time.clone().or_else(minutes)),
        ("partition", partition.map(str::to_owned)),
        ("constraint", slurm.constraint.clone()),
        ("account", slurm.account.clone()),
        ("qos", slurm.qos.clone()),
        ("reservation", slurm.reservation.clone()),
    ];
    options.extend(each.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?))));
    options
}

/// What the queue calls the jobs of a fleet.
pub(super) fn job_name(fleet: &str) -> String {
    format!("howlate-{fleet}")
}

/// What a task makes of its number: the arguments of the node that it is to run on.
pub(super) fn task(fleet: &Fleet, nodes: &[usize]) -> String {
    let case = |(task, node): (usize, &usize)| {
        let arguments = fleet.members[*node].arguments();
        let arguments: Vec<_> = arguments.iter().map(shell_word).collect();
        format!("    {task}) set -- {} ;;\n", arguments.join(" "))
    };
    let cases: String = nodes.iter().enumerate().map(case).collect();
    format!(
        "#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n{cases}esac\numask 077\n\
         cd {} && mkdir -p {NODES}/\"$1\" && cd {NODES}/\"$1\" && exec sh ../../{SCRIPT} \"$@\"\n",
        shell_path(&fleet.folder)
    )
}

/// The arguments of `scontrol` that bind a task to a node.
pub(super) fn bind(job: &str, node: &str) -> [String; 3] {
    ["update".to_owned(), format!("JobId={job}"), format!("ReqNodeList={node}")]
}

/// The commands that start these nodes.
pub(super) fn dry_run(fleet: &Fleet, partition: Option<&str>, nodes: &[usize]) -> String {
    let options = options(fleet, partition, nodes.len());
    let options: Vec<_> = options.iter().map(shell_word).collect();
    let bound = |(task, node): (usize, &usize)| {
        let address = &fleet.members[*node].host.address;
        format!("scontrol update JobId=\"${{job}}_{task}\" ReqNodeList={}\n", shell_word(address))
    };
    let bound: String = nodes.iter().enumerate().map(bound).collect();
    format!(
        "job=$(sbatch {} <<'TASK'\n{}TASK\n)\n{bound}scontrol release \"$job\"\n",
        options.join(" "),
        task(fleet, nodes)
    )
}
