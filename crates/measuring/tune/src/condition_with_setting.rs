//! Conditions with a setting changed.

use howlate_model::{Condition, Policy, SettingWrite, Sleeper, Span, Wait, Work};
use howlate_system::settings::{Change, ThreadSetting};

/// Why a setting changes nothing in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoEffect {
    /// The condition already has it.
    InForce,
    /// It has no effect there, with the reason.
    Useless(&'static str),
}

use NoEffect::{InForce, Useless};

/// `condition` with the setting `name` changed.
pub(crate) fn with_setting(
    condition: &Condition,
    name: &str,
    change: &Change,
) -> Result<Condition, NoEffect> {
    match change {
        Change::Thread(setting) => with_thread_setting(condition, name, setting),
        Change::Files(_) | Change::Held { .. } => with_machine_setting(condition, name, writes(change)),
        Change::Boot(_) => Err(Useless("it takes a restart")),
    }
}

/// The writes that change a setting of the machine.
pub(crate) fn writes(change: &Change) -> Vec<SettingWrite> {
    match change {
        // Watched files are read before any write changes them.
        Change::Files(writes) => [&writes.watched[..], &writes.files].concat(),
        Change::Held { path, micros } => {
            vec![SettingWrite::request(*path, micros.to_string())]
        }
        Change::Thread(_) | Change::Boot(_) => Vec::new(),
    }
}

fn with_machine_setting(
    condition: &Condition,
    name: &str,
    writes: Vec<SettingWrite>,
) -> Result<Condition, NoEffect> {
    let mut tuned = condition.tuned.clone().unwrap_or_default();
    let is_written = |write: &SettingWrite| tuned.writes.iter().any(|earlier| earlier.path == write.path);
    if writes.iter().any(is_written) {
        return Err(Useless("another setting stands in the same file"));
    }
    let unlimited = writes.iter().any(|write| write.path == THROTTLING);
    if unlimited && condition.policy.is_realtime() && may_never_sleep(condition.work) {
        return Err(Useless("a real-time thread that never sleeps would have its CPU to itself"));
    }
    tuned.knobs.push(name.to_owned());
    tuned.writes.extend(writes);
    Ok(Condition { tuned: Some(tuned), ..condition.clone() })
}

/// Limits the CPU time of real-time threads; -1 means no limit.
const THROTTLING: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// A user's program may spin at any time.
const fn may_never_sleep(work: Work) -> bool {
    matches!(work, Work::Watch { .. }) || matches!(work.wait(), Some(Wait::BusyWait))
}

fn with_thread_setting(
    condition: &Condition,
    name: &str,
    setting: &ThreadSetting,
) -> Result<Condition, NoEffect> {
    let mut new = condition.clone();
    let mut tuned = condition.tuned.clone().unwrap_or_default();
    tuned.knobs.push(name.to_owned());
    match setting {
        ThreadSetting::Nothing => {}
        ThreadSetting::AlreadyInForce => return Err(InForce),
        ThreadSetting::Slack(slack) => new.slack_ns = Some(timer_slack(condition, *slack)?),
        ThreadSetting::Policy(policy) => new.policy = policy_of(condition, *policy)?,
        ThreadSetting::Slice(slice) => tuned.slice = Some(slice_of(condition, *slice)?),
        ThreadSetting::Cpu(cpu) => new.cpu = Some(cpu_of(condition, *cpu)?),
        ThreadSetting::Wait(wait) => new.work = work_with(condition.work, *wait)?,
    }
    new.tuned = Some(tuned);
    Ok(new)
}

fn timer_slack(condition: &Condition, slack: Span) -> Result<Span, NoEffect> {
    match condition.work.wait() {
        _ if condition.policy.is_realtime() => Err(Useless("real-time threads have no timer slack")),
        Some(wait) if !wait.has_slack() => Err(Useless("this way to wait has no timer slack")),
        _ if condition.slack_ns == Some(slack) => Err(InForce),
        _ => Ok(slack),
    }
}

fn policy_of(condition: &Condition, policy: Policy) -> Result<Policy, NoEffect> {
    match (condition.policy, policy) {
        (current, new) if current == new => Err(InForce),
        (current, Policy::Other { .. }) if !matches!(current, Policy::Other { .. }) => {
            Err(Useless("only normal threads have a nice value"))
        }
        (current, new) if current.is_realtime() && new.is_realtime() => Err(InForce),
        // Settings of normal threads have no effect on real-time threads.
        (_, new) if new.is_realtime() && has_settings_of_ordinary_threads(condition) => {
            Err(Useless("real-time threads have neither slices nor nice values"))
        }
        (_, new) => Ok(new),
    }
}

fn has_settings_of_ordinary_threads(condition: &Condition) -> bool {
    let names = condition.tuned.iter().flat_map(|tuned| &tuned.knobs);
    names.into_iter().any(|name| matches!(name.as_str(), "slice" | "nice" | "timer_slack"))
}

fn slice_of(condition: &Condition, slice: Span) -> Result<Span, NoEffect> {
    match condition.policy {
        _ if condition.work.runtime().is_some() => Err(Useless("programs are started without one")),
        Policy::Other { .. } | Policy::Batch => Ok(slice),
        _ => Err(Useless("only normal threads have slices")),
    }
}

fn cpu_of(condition: &Condition, cpu: u32) -> Result<u32, NoEffect> {
    match condition.cpu {
        None if matches!(condition.policy, Policy::Deadline { .. }) => {
            Err(Useless("SCHED_DEADLINE takes no affinity"))
        }
        None => Ok(cpu),
        Some(_) => Err(Useless("its threads are bound to CPUs already")),
    }
}

fn work_with(work: Work, wait: Wait) -> Result<Work, NoEffect> {
    match work {
        _ if work.wait() == Some(wait) => Err(InForce),
        Work::Cyclic { period_ns, .. } => Ok(Work::Cyclic { mechanism: wait, period_ns }),
        Work::Sleep { mechanism: Sleeper::Wait(_), target_ns } => {
            Ok(Work::Sleep { mechanism: Sleeper::Wait(wait), target_ns })
        }
        _ => Err(Useless("what sleeps is not howlate's own thread")),
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::SettingWriteKind;
    use howlate_system::settings::{Writes, find};

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
    fn a_setting_changes_the_condition_and_adds_its_name() {
        let new = with_setting(&condition("other"), "timer_slack", &slack()).unwrap();
        assert_eq!(new.slack_ns, Some(Span::from_nanos(1)));
        let both = with_setting(&new, "slice", &slice()).unwrap();
        let tuned = both.tuned.unwrap();
        assert_eq!(
            (tuned.to_string(), tuned.slice),
            ("timer_slack+slice".into(), Some(Span::from_micros(100)))
        );
        let call =
            with_setting(&condition("other"), "timerfd", &Change::Thread(ThreadSetting::Wait(Wait::Timerfd)))
                .unwrap();
        assert_eq!(call.work.wait(), Some(Wait::Timerfd));
    }

    #[test]
    fn settings_without_effect_are_refused() {
        let refused =
            |policy: &str, setting: &Change| with_setting(&condition(policy), "it", setting).unwrap_err();
        assert_eq!(refused("fifo:80", &fifo()), InForce);
        assert!(matches!(refused("fifo:80", &slack()), Useless(_)));
        assert!(matches!(refused("rr:3", &slice()), Useless(_)));
        let bound = Condition { cpu: Some(1), ..condition("other") };
        assert!(with_setting(&bound, "affinity", &Change::Thread(ThreadSetting::Cpu(0))).is_err());
        let timerfd =
            with_setting(&condition("other"), "timerfd", &Change::Thread(ThreadSetting::Wait(Wait::Timerfd)))
                .unwrap();
        assert!(with_setting(&timerfd, "timer_slack", &slack()).is_err());
    }

    #[test]
    fn settings_without_effect_beside_others_are_refused_in_either_order() {
        for (name, setting) in [("timer_slack", slack()), ("slice", slice())] {
            let first = with_setting(&condition("other"), name, &setting).unwrap();
            assert!(with_setting(&first, "fifo", &fifo()).is_err(), "{name}");
            let last = with_setting(&condition("other"), "fifo", &fifo()).unwrap();
            assert!(with_setting(&last, name, &setting).is_err(), "{name}");
        }
    }

    #[test]
    fn machine_settings_combine_unless_they_write_the_same_file() {
        let write = |path: &str| Change::Files(Writes::to_known_file(path, "1", "0"));
        let migration = with_setting(&condition("other"), "timer_migration", &write("/proc/sys/a")).unwrap();
        let both = with_setting(&migration, "slice", &slice()).unwrap().tuned.unwrap();
        assert_eq!((both.to_string(), both.writes.len()), ("timer_migration+slice".into(), 1));
        assert!(with_setting(&migration, "it", &write("/proc/sys/a")).is_err());
        let held = Change::Held { path: "/dev/cpu_dma_latency", micros: 0 };
        let held = with_setting(&migration, "cpu_dma_latency", &held).unwrap().tuned.unwrap();
        assert_eq!(held.writes[1].kind(), SettingWriteKind::Request);
        assert_eq!(held.writes[1].value, "0");
        let busy = Work::Cyclic { mechanism: Wait::BusyWait, period_ns: Span::from_millis(1) };
        let busy = Condition { work: busy, ..condition("fifo:80") };
        assert!(with_setting(&busy, "rt_throttling", &write(THROTTLING)).is_err());
        assert!(with_setting(&condition("fifo:80"), "rt_throttling", &write(THROTTLING)).is_ok());
    }

    /// `has_settings_of_ordinary_threads` contains their names.
    #[test]
    fn settings_of_ordinary_threads_have_their_names() {
        assert!(["slice", "nice", "timer_slack"].iter().all(|name| find(name).is_some()));
    }
}
