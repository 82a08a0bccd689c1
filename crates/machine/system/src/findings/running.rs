//! Adapts remedies to a process that runs already: its main thread is changed instead of starting it again.

use howlate_model::{Finding, FindingId};

/// Replaces commands that start a program by those for the running process `pid`.
pub fn for_running(finding: &mut Finding, pid: u32) {
    let step = match finding.id {
        FindingId::RealtimePermission => {
            format!("chrt --fifo -p 80 {pid}   # its main thread; with --all-tasks every one")
        }
        FindingId::NicePermission => format!("renice -n -20 -p {pid}"),
        FindingId::TimerSlack => format!("echo 1 > /proc/{pid}/timerslack_ns   # its main thread"),
        _ => return,
    };
    let Some(remedy) = &mut finding.remedy else { return };
    let starts_program = |step: &&mut String| step.contains(" PROGRAM ") || step.contains("/proc/$$/");
    remedy.apply.iter_mut().filter(starts_program).for_each(|command| command.clone_from(&step));
    let for_pid = |command: &mut String| *command = command.replace("/proc/$$/", &format!("/proc/{pid}/"));
    remedy.undo.iter_mut().for_each(for_pid);
}

#[cfg(test)]
mod tests {
    use howlate_model::Verdict;

    use super::super::draft::finding;
    use super::*;

    fn commands_for(id: FindingId, step: &str) -> String {
        let mut finding =
            finding(id, Verdict::Good, "").apply(step).undo("echo 7 > /proc/$$/timerslack_ns").finish();
        for_running(&mut finding, 4711);
        let remedy = finding.remedy.unwrap();
        format!("{} | {}", remedy.apply.join(" | "), remedy.undo.join(" | "))
    }

    #[test]
    fn a_running_process_is_changed_where_it_runs() {
        let undo = "echo 7 > /proc/4711/timerslack_ns";
        let chrt = commands_for(FindingId::RealtimePermission, "chrt --fifo 80 PROGRAM …");
        assert!(chrt.starts_with("chrt --fifo -p 80 4711 "), "{chrt}");
        let nice = commands_for(FindingId::NicePermission, "nice -n -20 PROGRAM …");
        assert_eq!(nice, format!("renice -n -20 -p 4711 | {undo}"));
        let slack = commands_for(FindingId::TimerSlack, "echo 1 > /proc/$$/timerslack_ns   # this shell");
        assert_eq!(slack, format!("echo 1 > /proc/4711/timerslack_ns   # its main thread | {undo}"));
        let granted = commands_for(FindingId::RealtimePermission, "echo limits | sudo tee file");
        assert!(
            granted.starts_with("echo limits"),
            "a right that is missing is granted as before: {granted}"
        );
    }
}
