//! When each thread became runnable, ran, and left its CPU, from `sched_switch` and `sched_wakeup` events.

use std::collections::HashMap;

use super::witness::{between, parse_line, thread};

/// A period of running on a CPU and the wait before it, µs of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnCpu {
    /// When the thread left a CPU before, and whether to sleep; `None`: not seen.
    pub left: Option<(i64, bool)>,
    /// When it became runnable: it was woken, or preempted. `None`: not seen.
    pub ready: Option<i64>,
    /// Earliest and latest time: on some virtual machines the switch from the idle thread has no event.
    pub from: (i64, i64),
    pub cpu: u32,
}

impl OnCpu {
    /// How long it was runnable; `None` unless both ends were seen.
    pub fn waited(&self) -> Option<i64> {
        let (least, most) = self.from;
        self.ready.filter(|_| least == most).map(|ready| least - ready)
    }

    /// Whether the switch to it has no event.
    pub fn is_switch_unseen(&self) -> bool {
        self.from.0 < self.from.1
    }

    /// Upper bound of the time that it was runnable.
    pub fn waited_at_most(&self) -> Option<i64> {
        self.ready.map(|ready| self.from.1 - ready)
    }

    /// How long it slept before it became runnable.
    pub fn slept(&self) -> Option<i64> {
        let (left, slept) = self.left?;
        self.ready.filter(|_| slept).map(|ready| ready - left)
    }
}

/// A thread that is not on a CPU.
#[derive(Clone, Copy, Default)]
struct OffCpu {
    left: Option<(i64, bool)>,
    ready: Option<i64>,
}

/// When each thread first ran with one of these names: before `exec` it has another name.
pub fn first_called(text: &str, names: &[&str]) -> HashMap<u32, i64> {
    let mut first = HashMap::new();
    for line in text.lines().filter_map(parse_line).filter(|line| line.event == "sched_switch") {
        if let Some((_, pid)) = thread(line.fields, "next").filter(|(name, _)| names.contains(&name.as_str()))
        {
            first.entry(pid).or_insert(line.micros);
        }
    }
    first
}

/// All periods on a CPU, by thread.
pub fn turns(text: &str) -> HashMap<u32, Vec<OnCpu>> {
    let (mut off, mut all): (HashMap<u32, OffCpu>, HashMap<u32, Vec<OnCpu>>) = Default::default();
    for line in text.lines().filter(|line| !line.starts_with('#')).filter_map(parse_line) {
        match line.event {
            "sched_wakeup" | "sched_wakeup_new" => {
                let Some(pid) = between(line.fields, " pid=", " ").and_then(|pid| pid.parse().ok()) else {
                    continue;
                };
                off.entry(pid).or_default().ready = Some(line.micros);
            }
            "sched_switch" => {
                if let Some((_, pid)) = thread(line.fields, "prev") {
                    let state = between(line.fields, " prev_state=", " ").unwrap_or_default();
                    let slept = !state.starts_with('R');
                    let ready = (!slept).then_some(line.micros);
                    let before = off.insert(pid, OffCpu { left: Some((line.micros, slept)), ready });
                    if let Some(OffCpu { left, ready: Some(ready) }) = before {
                        let from = (ready, line.micros);
                        let unseen = OnCpu { left, ready: Some(ready), from, cpu: line.cpu };
                        all.entry(pid).or_default().push(unseen);
                    }
                }
                if let Some((_, pid)) = thread(line.fields, "next") {
                    let OffCpu { left, ready } = off.remove(&pid).unwrap_or_default();
                    let seen = OnCpu { left, ready, from: (line.micros, line.micros), cpu: line.cpu };
                    all.entry(pid).or_default().push(seen);
                }
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
              sh-12      [000] d..2.  1.000010: sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=a next_pid=9 next_prio=120
               a-9       [000] d.h..  1.000030: sched_wakeup: comm=sh pid=12 prio=120 target_cpu=000
               a-9       [000] d..2.  1.000050: sched_switch: prev_comm=a prev_pid=9 prev_prio=120 prev_state=R+ ==> next_comm=sh next_pid=12 next_prio=120
              sh-12      [000] d..2.  1.000070: sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=a next_pid=9 next_prio=120
";

    #[test]
    fn a_wait_is_from_being_woken_or_preempted_to_the_switch() {
        let turns = turns(TEXT);
        let base = 1_000_000;
        let sh = OnCpu {
            left: Some((base + 10, true)),
            ready: Some(base + 30),
            from: (base + 50, base + 50),
            cpu: 0,
        };
        assert_eq!(turns[&12], [sh]);
        assert_eq!((sh.waited(), sh.slept()), (Some(20), Some(20)));
        let waits: Vec<_> = turns[&9].iter().map(|turn| (turn.waited(), turn.slept())).collect();
        assert_eq!(waits, [(None, None), (Some(20), None)]);
    }

    /// Without the event of the switch from the idle thread to 12.
    const UNSEEN_SWITCH: &str = "\
              sh-12      [000] d..2.  1.000010: sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0       [000] dNh..  1.000030: sched_wakeup: comm=sh pid=12 prio=120 target_cpu=000
              sh-12      [000] d..2.  1.000070: sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=a next_pid=9 next_prio=120
";

    #[test]
    fn who_leaves_after_being_woken_was_there_meanwhile() {
        let turns = turns(UNSEEN_SWITCH);
        let sh = turns[&12][0];
        assert_eq!((sh.slept(), sh.waited(), sh.waited_at_most()), (Some(20), None, Some(40)));
    }
}
