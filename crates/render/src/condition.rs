//! A condition in words.

use howlate_model::{Condition, Work};

use crate::guests;

/// `clock_nanosleep every 1ms · fifo:80 · CPU 1 · load idle`.
pub fn condition(condition: &Condition) -> String {
    let work = match condition.work {
        Work::Cyclic { mechanism, period_ns } => format!("{mechanism} every {period_ns}"),
        Work::Sleep { mechanism, target_ns } => format!("{mechanism} for {target_ns}"),
        Work::Notify { mechanism, after_ns, .. } => format!("{mechanism} after {after_ns}"),
    };
    let mut parts = vec![work, condition.policy.to_string()];
    parts.extend(condition.slack_ns.map(|slack| format!("slack {slack}")));
    parts.extend(match (condition.work.sender_cpu(), condition.cpu) {
        (Some(sender), Some(receiver)) => Some(format!("CPU {sender} → {receiver}")),
        (_, cpu) => cpu.map(|cpu| format!("CPU {cpu}")),
    });
    parts.push(format!("load {}", condition.load));
    parts.extend(condition.on_host.as_ref().map(|_| guests::name(condition)));
    parts.join(" · ")
}
