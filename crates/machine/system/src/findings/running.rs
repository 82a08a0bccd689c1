//! What findings advise for a process that runs already: nobody starts it again to have it otherwise.

use howlate_model::{Finding, FindingId};

/// Puts commands for the process `pid` in place of those that start a program.
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
    let starts = |step: &&mut String| step.contains(" PROGRAM ") || step.contains("/proc/$$/");
    remedy.apply.iter_mut().filter(starts).for_each(|one| one.clone_from(&step));
    let undone = |step: &mut String| *step = step.replace("/proc/$$/", &format!("/proc/{pid}/"));
    remedy.undo.iter_mut().for_each(undone);
}

#[cfg(test)]
mod tests {
    use howlate_model::Verdict;

    use super::super::draft::finding;
    use super::*;

    fn advised(id: FindingId, step: &str) -> String {
        let mut finding =
            finding(id, Verdict::Good, "").apply(step).undo("echo 7 > /proc/$$/timerslack_ns").end();
        for_running(&mut finding, 4711);
        let remedy = finding.remedy.unwrap();
        format!("{} | {}", remedy.apply.join(" | "), remedy.undo.join(" | "))
    }

    #[test]
    fn a_running_process_is_changed_where_it_runs() {
        let undo = "echo 7 > /proc/4711/timerslack_ns";
        let chrt = advised(FindingId::RealtimePermission, "chrt --fifo 80 PROGRAM …");
        assert!(chrt.starts_with("chrt --fifo -p 80 4711 "), "{chrt}");
        let nice = advised(FindingId::NicePermission, "nice -n -20 PROGRAM …");
        assert_eq!(nice, format!("renice -n -20 -p 4711 | {undo}"));
        let slack = advised(FindingId::TimerSlack, "echo 1 > /proc/$$/timerslack_ns   # this shell");
        assert_eq!(slack, format!("echo 1 > /proc/4711/timerslack_ns   # its main thread | {undo}"));
        let granted = advised(FindingId::RealtimePermission, "echo limits | sudo tee file");
        assert!(
            granted.starts_with("echo limits"),
            "a right that is missing is granted as before: {granted}"
        );
    }
}
