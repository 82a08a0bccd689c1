//! OpenSSH's client, as its user has configured it, to many machines at once.

mod connection;
mod fetching;
mod remote_script;

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use howlate_model::{shell_path, shell_word};

use self::connection::{Connection, ssh_arguments};
use crate::files::{PLAN, PROGRAM, SCRIPT};
use crate::folder::Fleet;
use crate::parallel::for_each_node;
use crate::process::{INTERRUPTED, after, complaint};
use crate::scheduler::{FetchResult, Scheduler};
use crate::{FleetError, NodeStatus};

/// Nodes reached through the user's own `ssh`.
#[derive(Clone, Debug)]
pub struct Ssh {
    /// Number of parallel connections.
    pub at_once: usize,
    /// Set when no node is to be waited for any longer.
    pub interrupted: Arc<AtomicBool>,
}

/// Retry interval for a server with too many connections (`MaxStartups` of sshd_config(5)).
const BEFORE_ANOTHER_TRY: Duration = Duration::from_secs(1);

/// Whether there was a server, and the connection to it came to an end by itself.
fn is_lost(reason: &str) -> bool {
    ["Connection closed", "Connection reset", "closed by remote host", "Broken pipe"]
        .iter()
        .any(|message| reason.contains(message))
}

/// What goes to each node besides the program: texts by their names.
struct SentFiles(Vec<(&'static str, String)>);

impl SentFiles {
    fn new(fleet: &Fleet) -> Result<Self, FleetError> {
        let text = |name: &str| {
            let path = fleet.path(name);
            std::fs::read_to_string(&path).map_err(FleetError::file(&path))
        };
        let names = if fleet.task.is_plan() { &[PLAN, SCRIPT][..] } else { &[SCRIPT] };
        Ok(Self(names.iter().map(|name| Ok((*name, text(name)?))).collect::<Result<_, _>>()?))
    }

    /// Sends the program where it is not there yet, and starts the script. Nothing is started twice, so that it may be
    /// tried again where the connection was lost.
    fn start(&self, fleet: &Fleet, node: usize, interrupted: &AtomicBool) -> Result<(), String> {
        let lost = match self.try_to_start(fleet, node, interrupted) {
            Err(reason) if is_lost(&reason) => reason,
            other => return other,
        };
        thread::park_timeout(BEFORE_ANOTHER_TRY);
        self.try_to_start(fleet, node, interrupted)
            .map_err(|reason| if is_lost(&reason) { lost } else { reason })
    }

    fn try_to_start(&self, fleet: &Fleet, node: usize, interrupted: &AtomicBool) -> Result<(), String> {
        let connection = Connection::to(fleet, node, interrupted);
        let found = connection.run_script(&remote_script::prepare(fleet, node))?;
        if answer(fleet, &found).trim() != "there" {
            let program = File::open(fleet.path(PROGRAM)).map_err(|error| error.to_string())?;
            connection.send_file(&remote_script::receive(fleet, node), program)?;
        }
        connection.run_script(&remote_script::start(fleet, node, &self.0)).map(drop)
    }
}

/// What follows the mark.
fn answer(fleet: &Fleet, output: &str) -> String {
    let mut rest = String::new();
    if let Some(mut from) = after(&remote_script::mark(fleet), output.as_bytes()) {
        drop(from.read_to_string(&mut rest));
    }
    rest
}

impl Ssh {
    fn to<'a>(&'a self, fleet: &'a Fleet, node: usize) -> Connection<'a> {
        Connection::to(fleet, node, &self.interrupted)
    }
}

impl Scheduler for Ssh {
    fn dry_run(&self, fleet: &Fleet, plan: Option<&str>) -> String {
        let texts: Vec<_> =
            plan.map(|plan| (PLAN, plan.to_owned())).into_iter().chain([(SCRIPT, fleet.script())]).collect();
        let program = shell_path(&fleet.path(PROGRAM));
        let commands = |node: usize| {
            let call = |command: &str, input: String| {
                let arguments = ssh_arguments(&fleet.members[node].host.address, command);
                let arguments: Vec<_> = arguments.iter().map(shell_word).collect();
                format!("ssh {} {input}\n", arguments.join(" "))
            };
            let here_document = |script: &str| format!("<<'TOLD'\n{script}TOLD");
            [
                call("sh -s", here_document(&remote_script::prepare(fleet, node))),
                call(&remote_script::receive(fleet, node), format!("< {program}")),
                call("sh -s", here_document(&remote_script::start(fleet, node, &texts))),
            ]
            .concat()
        };
        (0..fleet.members.len()).map(commands).collect::<Vec<_>>().join("\n")
    }

    fn start(&self, fleet: &mut Fleet, nodes: &[usize], interrupted: &AtomicBool) -> Result<(), FleetError> {
        let sent = SentFiles::new(fleet)?;
        let results = for_each_node(self.at_once, nodes, |node| match interrupted.load(Ordering::Relaxed) {
            true => None,
            // A node that was not waited for is queried later.
            false => Some(sent.start(fleet, node, interrupted))
                .filter(|result| !matches!(result, Err(reason) if reason == INTERRUPTED)),
        });
        for (node, result) in nodes.iter().zip(results) {
            fleet.members[*node].ended = match result {
                Some(Err(reason)) => Some(NodeStatus::NotStarted { reason }),
                Some(Ok(())) | None => None,
            };
        }
        fleet.save()
    }

    fn look(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<NodeStatus>, FleetError> {
        let status = |node: usize| match self.to(fleet, node).run_script(&remote_script::look(fleet, node)) {
            Ok(output) => state(&answer(fleet, &output)),
            // It may come back; until then nothing is known of it.
            Err(reason) => NodeStatus::Unreachable { reason },
        };
        Ok(for_each_node(self.at_once, nodes, status))
    }

    fn fetch(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<FetchResult, String>>, FleetError> {
        Ok(for_each_node(self.at_once, nodes, |node| fetching::fetch(fleet, node, &self.interrupted)))
    }

    fn cancel(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<(), String>>, FleetError> {
        Ok(for_each_node(self.at_once, nodes, |node| {
            self.to(fleet, node).run_script(&remote_script::cancel(fleet, node)).map(drop)
        }))
    }
}

/// What a node says of itself.
fn state(output: &str) -> NodeStatus {
    const LOST: &str = "it ended without a word: was the machine booted again, or does its logind end what users leave \
                        behind (KillUserProcesses)?";
    let (first, log) = output.split_once('\n').unwrap_or((output, ""));
    match (first.trim(), first.trim().parse::<u8>()) {
        ("running", _) => NodeStatus::Running,
        ("absent", _) => NodeStatus::NotStarted { reason: "not yet".to_owned() },
        ("lost", _) => NodeStatus::Failed { reason: complaint(log).unwrap_or_else(|| LOST.to_owned()) },
        (_, Ok(status)) => NodeStatus::ended(status, complaint(log)),
        _ => NodeStatus::Unreachable { reason: "it answers something else".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_node_says_is_a_state() {
        for (output, expected) in [
            ("running\n", NodeStatus::Running),
            ("0\nall the results\n", NodeStatus::Done { status: 0 }),
            ("3\n", NodeStatus::Done { status: 3 }),
            ("2\nerror: no\nhint: yes\n", NodeStatus::Failed { reason: "no".into() }),
            ("99\n", NodeStatus::Failed { reason: "it ended with status 99".into() }),
            (
                "lost\nNo space left on device\n",
                NodeStatus::Failed { reason: "No space left on device".into() },
            ),
            ("absent\n", NodeStatus::NotStarted { reason: "not yet".into() }),
        ] {
            assert_eq!(state(output), expected, "{output}");
        }
        for strange in ["", "\n", "300\n", "-1", "Last login: today\nrunning\n", "\u{1b}[2J"] {
            assert!(matches!(state(strange), NodeStatus::Unreachable { .. }), "{strange}");
        }
    }

    #[test]
    fn only_a_connection_that_was_lost_is_tried_again() {
        for lost in [
            "kex_exchange_identification: Connection closed by remote host",
            "Connection reset by 192.0.2.7 port 22",
            "client_loop: send disconnect: Broken pipe",
        ] {
            assert!(is_lost(lost), "{lost}");
        }
        for other in
            ["root@n1: Permission denied (publickey).", "Host key verification failed.", "Connection refused"]
        {
            assert!(!is_lost(other), "{other}");
        }
    }
}
