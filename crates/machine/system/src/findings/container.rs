//! The container, and the options of its runtime that grant permissions and limits.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Root, Status, container};

use super::draft::{FindingDraft, finding};

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let container = container(root)?;
    let found = format!("this runs in a container: {}", container.runtime);
    let draft = finding(FindingId::Container, Verdict::Note, found).evidence(&container.reading).why(
        "Containers share the host's kernel: they add limits, not delay. Most settings below can only be \
            changed on the host.",
    );
    Some(draft.finish())
}

/// Puts a comment before commands that can run only on the host.
pub(super) fn mark_for_host(finding: &mut Finding) {
    let needs_host = |command: &String| {
        ["tee /sys", "tee /proc", "kernel's command line", "mount ", "swapoff", "restart into"]
            .iter()
            .any(|mark| command.contains(mark))
    };
    if let Some(remedy) = finding.remedy.as_mut().filter(|remedy| remedy.apply.iter().any(needs_host)) {
        let lists = [&mut remedy.apply, &mut remedy.undo, &mut remedy.lasting];
        for commands in lists.into_iter().filter(|commands| !commands.is_empty()) {
            commands.insert(0, "# on the host, not in the container:".into());
        }
    }
}

/// Exclusive CPUs are given to pods whose limits equal their requests, in whole CPUs.
///
/// Source: Kubernetes documentation, "Control CPU Management Policies on the Node"; OpenShift documentation, "Disabling CPU CFS quota".
const KEEP_CPU_LIMIT: &str =
    "leave `resources.limits.cpu` as it is: without it the pod loses its exclusive CPUs";

/// The real-time budget of all Podman containers, with the cgroup manager `cgroupfs`.
const PODMAN_BUDGET_FILE: &str = "/sys/fs/cgroup/cpu/libpod_parent/cpu.rt_runtime_us";

/// Remedies that start a container with more permissions.
pub(super) struct ContainerAdvice {
    runtime: String,
    /// Whether this process is root in the container; `true` if unknown.
    is_root: bool,
}

impl ContainerAdvice {
    /// Advice for the container this runs in; `None` outside of containers.
    pub(super) fn detect(root: &Root) -> Option<Self> {
        let is_root = Status::read_own(root).effective_user().is_none_or(|user| user == 0);
        Some(Self { runtime: container(root)?.runtime, is_root })
    }

    /// Grants a capability, and the limit that belongs to it.
    pub(super) fn capability(&self, draft: FindingDraft, capability: &str, limit: &str) -> FindingDraft {
        match self.runtime.as_str() {
            "kubernetes" => draft
                .apply(format!(
                    "add `securityContext: {{capabilities: {{add: [{capability}]}}}}` to the \
                    container in the pod's manifest and apply it"
                ))
                .when(!self.is_root, |draft| {
                    let name = capability.to_ascii_lowercase();
                    draft.apply(format!(
                        "who is not root there gains nothing by that alone: run the container as root (`runAsUser: 0`), or give the program the \
                         capability in its image (`setcap cap_{name}+ep PROGRAM`)"
                    ))
                })
                .undo("remove it from the manifest and apply that"),
            "lxc" => {
                let (item, value) = limit.split_once('=').unwrap_or((limit, "unlimited"));
                let value = if value == "-1" { "unlimited" } else { value };
                draft
                    .apply(format!(
                        "on the host: add `lxc.prlimit.{item} = {value}` to the container's configuration (with Proxmox `lxc.prlimit.{item}: \
                         {value}` in /etc/pve/lxc/ID.conf), and start it again"
                    ))
                    .undo("on the host: remove it from the configuration and start the container again")
            }
            "podman (rootless)" => draft
                .apply(format!(
                    "podman run --ulimit {limit} …   # the limit of the user who starts it \
                    must allow this; capabilities do not reach outside a rootless container"
                ))
                .undo(format!("podman run … without --ulimit {limit}")),
            _ => self.option(draft, &format!("--cap-add={capability} --ulimit {limit}")),
        }
    }

    /// Grants a real-time budget in cgroup v1.
    ///
    /// Source: Docker documentation, "Resource constraints", configure the real-time scheduler.
    pub(super) fn realtime_share(&self, draft: FindingDraft) -> FindingDraft {
        match self.runtime.as_str() {
            "kubernetes" => draft
                .apply(
                    "Kubernetes has no setting for it: boot the node with a kernel built without \
                    CONFIG_RT_GROUP_SCHED",
                )
                .undo("boot the node with the present kernel"),
            "podman" => self
                .option(
                    draft.apply(format!("echo 900000 | sudo tee {PODMAN_BUDGET_FILE}")),
                    "--cpu-rt-runtime=800000 --cap-add=SYS_NICE --ulimit rtprio=99",
                )
                .undo(format!("echo 0 | sudo tee {PODMAN_BUDGET_FILE}")),
            _ => self
                .option(
                    draft.apply(
                        "sudo dockerd --cpu-rt-runtime=950000   # the daemon itself needs a share to \
                    hand on",
                    ),
                    "--cpu-rt-runtime=950000 --cap-add=SYS_NICE --ulimit rtprio=99",
                )
                .undo("sudo dockerd   # without --cpu-rt-runtime"),
        }
    }

    /// Starts the container with an option of Docker's, or the equivalent of another runtime.
    pub(super) fn option(&self, draft: FindingDraft, option: &str) -> FindingDraft {
        let has_docker_options = ["docker", "podman"].iter().any(|name| self.runtime.starts_with(name));
        if !has_docker_options {
            let runtime = &self.runtime;
            return draft
                .apply(format!("start the container with {runtime}'s equivalent of Docker's `{option}`"))
                .undo("start the container without it");
        }
        let command = self.program();
        draft.apply(format!("{command} run {option} …")).undo(format!("{command} run … without {option}"))
    }

    /// Removes the CPU quota of the running container. Docker refuses `--cpu-quota` where the
    /// container was started with `--cpus`, and has no `--cpus` without a limit.
    pub(super) fn quota(
        &self,
        draft: FindingDraft,
        quota: &str,
        cpus: &str,
        has_own_cpus: bool,
    ) -> FindingDraft {
        if self.runtime == "kubernetes" && has_own_cpus {
            return draft
                .apply(KEEP_CPU_LIMIT)
                .apply("with CRI-O: annotate the pod with `cpu-quota.crio.io: \"disable\"` and give it the runtime class of the node's performance profile")
                .apply("from Kubernetes 1.33 on, its own gate DisableCPUQuotaWithExclusiveCPUs takes the quota away")
                .undo("remove the annotation from the manifest and apply that");
        }
        if self.runtime == "kubernetes" {
            return draft
                .apply("raise `resources.limits.cpu` of the container in the pod's manifest, or remove it, and apply it")
                .undo("put `resources.limits.cpu` back into the manifest and apply it");
        }
        let command = format!("{} update", self.program());
        draft
            .apply(format!("{command} --cpu-quota=-1 CONTAINER   # started with --cpus? --cpus=$(nproc)"))
            .undo(format!("{command} --cpu-quota={quota} CONTAINER   # started with --cpus? --cpus={cpus}"))
    }

    /// The command line program. Podman has Docker's options.
    fn program(&self) -> &'static str {
        if self.runtime.starts_with("podman") { "podman" } else { "docker" }
    }
}
