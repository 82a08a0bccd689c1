//! A condition with a setting changed.

use howlate_knobs::{Change, ThreadSetting};
use howlate_model::{Condition, Policy, SettingWrite, Sleeper, Span, Wait, Work};

/// Why a setting changes nothing in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unaltered {
    /// It is so already.
    InForce,
    /// It does nothing there.
    Without(&'static str),
}

use Unaltered::{InForce, Without};

/// `condition` with the setting of this name.
pub(crate) fn altered(condition: &Condition, name: &str, change: &Change) -> Result<Condition, Unaltered> {
    match change {
        Change::Thread(setting) => of_thread(condition, name, setting),
        Change::Files(_) | Change::Held { .. } => of_machine(condition, name, writes(change)),
        Change::Boot(_) => Err(Without("it takes a restart")),
    }
}

/// What is written to turn a knob of the machine.
pub(crate) fn writes(change: &Change) -> Vec<SettingWrite> {
    match change {
        // What is watched over has to be known before anything changes it.
        Change::Files(writes) => [&writes.watched[..], &writes.each].concat(),
        Change::Held { path, micros } => {
            vec![SettingWrite::request(*path, micros.to_string())]
        }
        Change::Thread(_) | Change::Boot(_) => Vec::new(),
    }
}

fn of_machine(condition: &Condition, name: &str, writes: Vec<SettingWrite>) -> Result<Condition, Unaltered> {
    let mut tuned = condition.tuned.clone().unwrap_or_default();
    let is_written = |write: &SettingWrite| tuned.writes.iter().any(|other| other.path == write.path);
    if writes.iter().any(is_written) {
        return Err(Without("another setting stands in the same file"));
    }
    let unlimited = writes.iter().any(|write| write.path == THROTTLING);
    if unlimited && condition.policy.is_realtime() && may_never_sleep(condition.work) {
        return Err(Without("a real-time thread that never sleeps would have its CPU to itself"));
    }
    tuned.knobs.push(name.to_owned());
    tuned.writes.extend(writes);
    Ok(Condition { tuned: Some(tuned), ..condition.clone() })
}

/// What keeps real-time threads from taking a CPU away.
const THROTTLING: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Nobody knows what somebody's program does next.
const fn may_never_sleep(work: Work) -> bool {
    matches!(work, Work::Watch { .. }) || matches!(work.wait(), Some(Wait::BusyWait))
}

fn of_thread(condition: &Condition, name: &str, setting: &ThreadSetting) -> Result<Condition, Unaltered> {
    let mut new = condition.clone();
    let mut tuned = condition.tuned.clone().unwrap_or_default();
    tuned.knobs.push(name.to_owned());
    match setting {
        ThreadSetting::Nothing => {}
        ThreadSetting::AlreadySo => return Err(InForce),
        ThreadSetting::Slack(slack) => new.slack_ns = Some(with_slack(condition, *slack)?),
        ThreadSetting::Policy(policy) => new.policy = with_policy(condition, *policy)?,
        ThreadSetting::Slice(slice) => tuned.slice = Some(with_slice(condition, *slice)?),
        ThreadSetting::Cpu(cpu) => new.cpu = Some(bound(condition, *cpu)?),
        ThreadSetting::Wait(wait) => new.work = waiting(condition.work, *wait)?,
    }
    new.tuned = Some(tuned);
    Ok(new)
}

fn with_slack(condition: &Condition, slack: Span) -> Result<Span, Unaltered> {
    match condition.work.wait() {
        _ if condition.policy.is_realtime() => Err(Without("real-time threads have no timer slack")),
        Some(wait) if !wait.has_slack() => Err(Without("this way to wait has no timer slack")),
        _ if condition.slack_ns == Some(slack) => Err(InForce),
        _ => Ok(slack),
    }
}

fn with_policy(condition: &Condition, policy: Policy) -> Result<Policy, Unaltered> {
    match (condition.policy, policy) {
        (now, wanted) if now == wanted => Err(InForce),
        (now, Policy::Other { .. }) if !matches!(now, Policy::Other { .. }) => {
            Err(Without("only ordinary threads have a nice value"))
        }
        (now, wanted) if now.is_realtime() && wanted.is_realtime() => Err(InForce),
        // What an ordinary thread was given is of no use to a real-time one.
        (_, wanted) if wanted.is_realtime() && has_what_ordinary_threads_have(condition) => {
            Err(Without("real-time threads have neither slices nor nice values"))
        }
        (_, wanted) => Ok(wanted),
    }
}

fn has_what_ordinary_threads_have(condition: &Condition) -> bool {
    let names = condition.tuned.iter().flat_map(|tuned| &tuned.knobs);
    names.into_iter().any(|name| matches!(name.as_str(), "slice" | "nice" | "timer_slack"))
}

fn with_slice(condition: &Condition, slice: Span) -> Result<Span, Unaltered> {
    match condition.policy {
        _ if condition.work.runtime().is_some() => Err(Without("programs are started without one")),
        Policy::Other { .. } | Policy::Batch => Ok(slice),
        _ => Err(Without("only ordinary threads have slices")),
    }
}

fn bound(condition: &Condition, cpu: u32) -> Result<u32, Unaltered> {
    match condition.cpu {
        None if matches!(condition.policy, Policy::Deadline { .. }) => {
            Err(Without("SCHED_DEADLINE takes no affinity"))
        }
        None => Ok(cpu),
        Some(_) => Err(Without("its threads are bound to CPUs already")),
    }
}

fn waiting(work: Work, wait: Wait) -> Result<Work, Unaltered> {
    match work {
        _ if work.wait() == Some(wait) => Err(InForce),
        Work::Cyclic { period_ns, .. } => Ok(Work::Cyclic { mechanism: wait, period_ns }),
        Work::Sleep { mechanism: Sleeper::Wait(_), target_ns } => {
            Ok(Work::Sleep { mechanism: Sleeper::Wait(wait), target_ns })
        }
        _ => Err(Without("what sleeps is not howlate's own thread")),
    }
}

#[cfg(test)]
mod tests {
    use howlate_knobs::{Writes, named};
    use howlate_model::SettingWriteKind;

    use super::*;

    fn condition(policy: &str) -> Condition {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        Condition { policy: policy.parse().unwrap(), ..Condition::new(work, "") }
    }

    fn slack() -> Change {
        Change::Thread(ThreadSetting::Slack(Span::from_nanos(1)))
    }

    fn fifo() -> Change {
        Change::Thread(ThreadSetting::Policy("fifo:80".parse().unwrap()))
    }

    fn slice() -> Change {
        Change::Thread(ThreadSetting::Slice(Span::from_micros(100)))
    }

    #[test]
    fn a_setting_changes_what_it_is_about_and_leaves_its_name() {
        let new = altered(&condition("other"), "timer_slack", &slack()).unwrap();
        assert_eq!(new.slack_ns, Some(Span::from_nanos(1)));
        let both = altered(&new, "slice", &slice()).unwrap();
        let tuned = both.tuned.unwrap();
        assert_eq!(
            (tuned.to_string(), tuned.slice),
            ("timer_slack+slice".into(), Some(Span::from_micros(100)))
        );
        let call =
            altered(&condition("other"), "timerfd", &Change::Thread(ThreadSetting::Wait(Wait::Timerfd)))
                .unwrap();
        assert_eq!(call.work.wait(), Some(Wait::Timerfd));
    }

    #[test]
    fn what_does_nothing_is_not_tried() {
        let refused =
            |policy: &str, setting: &Change| altered(&condition(policy), "it", setting).unwrap_err();
        assert_eq!(refused("fifo:80", &fifo()), InForce);
        assert!(matches!(refused("fifo:80", &slack()), Without(_)));
        assert!(matches!(refused("rr:3", &slice()), Without(_)));
        let bound = Condition { cpu: Some(1), ..condition("other") };
        assert!(altered(&bound, "affinity", &Change::Thread(ThreadSetting::Cpu(0))).is_err());
        let timerfd =
            altered(&condition("other"), "timerfd", &Change::Thread(ThreadSetting::Wait(Wait::Timerfd)))
                .unwrap();
        assert!(altered(&timerfd, "timer_slack", &slack()).is_err());
    }

    #[test]
    fn what_does_nothing_together_is_not_joined_in_either_order() {
        for (name, one) in [("timer_slack", slack()), ("slice", slice())] {
            let first = altered(&condition("other"), name, &one).unwrap();
            assert!(altered(&first, "fifo", &fifo()).is_err(), "{name}");
            let last = altered(&condition("other"), "fifo", &fifo()).unwrap();
            assert!(altered(&last, name, &one).is_err(), "{name}");
        }
    }

    #[test]
    fn what_holds_for_the_machine_joins_unless_it_is_the_same_file() {
        let write = |path: &str| Change::Files(Writes::to_known_file(path, "1", "0"));
        let migration = altered(&condition("other"), "timer_migration", &write("/proc/sys/a")).unwrap();
        let both = altered(&migration, "slice", &slice()).unwrap().tuned.unwrap();
        assert_eq!((both.to_string(), both.writes.len()), ("timer_migration+slice".into(), 1));
        assert!(altered(&migration, "it", &write("/proc/sys/a")).is_err());
        let held = Change::Held { path: "/dev/cpu_dma_latency", micros: 0 };
        let held = altered(&migration, "cpu_dma_latency", &held).unwrap().tuned.unwrap();
        assert_eq!(held.writes[1].kind(), SettingWriteKind::Request);
        assert_eq!(held.writes[1].value, "0");
        let busy = Work::Cyclic { mechanism: Wait::BusyWait, period_ns: Span::from_millis(1) };
        let busy = Condition { work: busy, ..condition("fifo:80") };
        assert!(altered(&busy, "rt_throttling", &write(THROTTLING)).is_err());
        assert!(altered(&condition("fifo:80"), "rt_throttling", &write(THROTTLING)).is_ok());
    }

    /// Their names stand in the rule above.
    #[test]
    fn settings_of_ordinary_threads_have_their_names() {
        assert!(["slice", "nice", "timer_slack"].iter().all(|name| named(name).is_some()));
    }
}
