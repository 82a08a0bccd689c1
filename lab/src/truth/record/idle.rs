//! When CPUs were idle, from `sched_switch` events.

use std::collections::HashMap;

use super::stamped::Time;
use crate::truth::witness::{parse_line, thread};

/// The longest times in which nothing ran on each CPU: from the switch to the idle thread to the next switch of any thread, as on
/// some virtual machines the switch from the idle thread has no event.
pub fn idle_times(text: &str) -> HashMap<u32, Vec<Time>> {
    let (mut since, mut all): (HashMap<u32, i64>, HashMap<u32, Vec<Time>>) = Default::default();
    for line in text.lines().filter_map(parse_line).filter(|line| line.event == "sched_switch") {
        let now = line.micros * 1_000;
        if let Some(from) = since.remove(&line.cpu) {
            all.entry(line.cpu).or_default().push(Time { from, until: now });
        }
        if thread(line.fields, "next").is_some_and(|(_, pid)| pid == 0) {
            since.insert(line.cpu, now);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
              sh-12      [000] d..2.  1.000010: sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
              sh-12      [001] d..2.  1.000020: sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=a next_pid=9 next_prio=120
          <idle>-0       [000] d..2.  1.000050: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=9 next_prio=120
";

    #[test]
    fn nothing_runs_from_the_switch_to_the_idle_thread_to_the_next() {
        let time = Time { from: 1_000_010_000, until: 1_000_050_000 };
        assert_eq!(idle_times(TEXT), HashMap::from([(0, vec![time])]));
    }
}
