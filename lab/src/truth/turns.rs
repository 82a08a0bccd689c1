//! When each thread could run, when it did, and when it left its CPU, by the switches and wake-ups that the kernel wrote.

use std::collections::HashMap;

use super::witness::{between, parts, thread};

/// One time on a CPU and what came before, in microseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnCpu {
    /// When the thread had left a CPU before, and whether to sleep; `None`: not seen.
    pub left: Option<(i64, bool)>,
    /// When it could run: it was woken, or left its CPU without sleeping. `None`: not seen.
    pub ready: Option<i64>,
    pub from: i64,
    pub cpu: u32,
}

impl OnCpu {
    /// How long it was ready, where both ends were seen.
    pub fn waited(&self) -> Option<i64> {
        self.ready.map(|ready| self.from - ready)
    }

    /// How long it slept before that.
    pub fn slept(&self) -> Option<i64> {
        let (left, slept) = self.left?;
        self.ready.filter(|_| slept).map(|ready| ready - left)
    }
}

/// A thread between two events.
#[derive(Clone, Copy, Default)]
struct Off {
    left: Option<(i64, bool)>,
    ready: Option<i64>,
}

/// A wait whose end no event told, as on some virtual machines: the thread was on a CPU all the same when it left that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untold {
    pub ready: i64,
    /// It had got a CPU by then.
    pub by: i64,
}

/// All times on a CPU, by thread.
pub fn turns(text: &str) -> HashMap<u32, Vec<OnCpu>> {
    walk(text).0
}

/// All waits whose end was not told, by thread.
pub fn untold(text: &str) -> HashMap<u32, Vec<Untold>> {
    walk(text).1
}

type Walked = (HashMap<u32, Vec<OnCpu>>, HashMap<u32, Vec<Untold>>);

fn walk(text: &str) -> Walked {
    let (mut off, mut all): (HashMap<u32, Off>, HashMap<u32, Vec<OnCpu>>) = Default::default();
    let mut untold: HashMap<u32, Vec<Untold>> = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')).filter_map(parts) {
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
                    let before = off.insert(pid, Off { left: Some((line.micros, slept)), ready });
                    let waited = before.and_then(|before| before.ready);
                    untold
                        .entry(pid)
                        .or_default()
                        .extend(waited.map(|ready| Untold { ready, by: line.micros }));
                }
                if let Some((_, pid)) = thread(line.fields, "next") {
                    let Off { left, ready } = off.remove(&pid).unwrap_or_default();
                    all.entry(pid).or_default().push(OnCpu { left, ready, from: line.micros, cpu: line.cpu });
                }
            }
            _ => {}
        }
    }
    (all, untold)
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
    fn who_leaves_a_cpu_has_got_it_before() {
        let text = format!("{TEXT}{}", TEXT.lines().next().unwrap().replace("1.000010", "1.000090"));
        assert_eq!(untold(TEXT).values().map(Vec::len).sum::<usize>(), 0);
        assert_eq!(untold(&text)[&12], []);
        let woken = TEXT.lines().nth(1).unwrap().replace("1.000030", "1.000080");
        let text = format!("{TEXT}{woken}\n{}", text.lines().last().unwrap());
        assert_eq!(untold(&text)[&12], [Untold { ready: 1_000_080, by: 1_000_090 }]);
    }

    #[test]
    fn a_wait_is_from_being_woken_or_preempted_to_the_switch() {
        let turns = turns(TEXT);
        let base = 1_000_000;
        let sh = OnCpu { left: Some((base + 10, true)), ready: Some(base + 30), from: base + 50, cpu: 0 };
        assert_eq!(turns[&12], [sh]);
        assert_eq!((sh.waited(), sh.slept()), (Some(20), Some(20)));
        let waits: Vec<_> = turns[&9].iter().map(|one| (one.waited(), one.slept())).collect();
        assert_eq!(waits, [(None, None), (Some(20), None)]);
    }
}
