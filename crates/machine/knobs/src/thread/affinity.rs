//! One CPU for the thread: an isolated one, or the one that was idle most since the start.
//!
//! Source: `sched_setaffinity(2)`, `proc_stat(5)`.

use howlate_model::SettingScope;
use howlate_procfs::{Root, Stat, Status};

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "affinity",
    scope: SettingScope::Thread,
    what: "bound to the quietest CPU",
    cost: "the scheduler cannot move the thread away when that CPU is busy",
    look,
    texts: &[
        Text::OfProgram("systemd", "CPUAffinity=@CPU"),
        Text::OfThread("now", "taskset -c -p @CPU TID"),
        Text::Line(
            "C",
            "cpu_set_t s; CPU_ZERO(&s); CPU_SET(@CPU, &s); pthread_setaffinity_np(pthread_self(), sizeof s, &s);",
        ),
        Text::Line("Python", "os.sched_setaffinity(0, {@CPU})"),
        Text::OfProgram("shell", "taskset -c @CPU ./my-program"),
    ],
};

fn look(root: &Root) -> Look {
    let allowed = Status::read_own(root).cpus_allowed();
    if allowed.len() < 2 {
        return Look::Absent("this process may use only one CPU".to_owned());
    }
    let quietest = Stat::read(root).cpus().into_iter().filter(|(cpu, _)| allowed.contains(*cpu));
    match quietest.min_by_key(|(_, ticks)| ticks.busy) {
        Some((cpu, _)) => Look::thread(allowed.to_string(), cpu.to_string(), ThreadSetting::Cpu(cpu)),
        None => Look::Absent("/proc/stat does not say which CPU is quietest".to_owned()),
    }
}
