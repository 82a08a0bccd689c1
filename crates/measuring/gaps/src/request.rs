//! What was asked for, and what of it is refused before a CPU is taken.

use howlate_linux::process::rttime_limit;
use howlate_linux::sched;
use howlate_measure::{Counted, NotStarted, SpinPlan, counted, shortest_turn};
use howlate_model::{CpuSet, Policy, Span};
use howlate_procfs::Root;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct GapRequest {
    /// CPUs to measure; `None`: all but the first one that may be used.
    pub cpus: Option<CpuSet>,
    /// Of the spinning threads.
    pub policy: Policy,
    /// The shortest gap; `None`: a microsecond, or what this machine can tell apart.
    pub above: Option<Span>,
    /// For how long; `None`: until interrupted.
    pub lasts: Option<Span>,
    /// Whether to read the kernel's events, where that is allowed.
    pub traces: bool,
    /// Whether real-time threads may take CPUs for ever.
    pub may_lock: bool,
    /// Bytes that each thread copies at every turn; `None`: it only reads the clock.
    pub copies: Option<usize>,
}

/// The shortest gap that is counted, if nothing else is asked for.
const ABOVE: Span = Span::from_micros(1);
/// Turns that the shortest gap is at least.
const TURNS: u64 = 4;

/// Why nothing is measured.
#[derive(Debug, thiserror::Error)]
pub enum NoGaps {
    /// The one CPU that there is would be taken from everything else.
    #[error("this process may use one CPU only, and a thread that spins takes all of it")]
    OneCpu {
        /// Its number.
        cpu: u32,
    },
    /// Threads cannot be bound to one that was asked for.
    #[error("no thread can be bound to CPU {cpu}; there are {bindable}")]
    NoSuchCpu {
        /// Which one.
        cpu: u32,
        /// Those that there are.
        bindable: CpuSet,
    },
    /// Real-time threads that never sleep would never be stopped.
    #[error(
        "threads with the policy {policy} that never sleep would lock up CPUs {cpus}: real-time throttling is off (kernel.sched_rt_runtime_us = -1)"
    )]
    Locks {
        /// The policy.
        policy: Policy,
        /// Their CPUs.
        cpus: CpuSet,
    },
    /// The kernel would end this process.
    #[error(
        "threads with the policy {policy} that never sleep would be ended after {limit}: that is how long RLIMIT_RTTIME lets real-time threads compute, \
         and it may not be raised here"
    )]
    RealtimeTime {
        /// The policy.
        policy: Policy,
        /// How long they may.
        limit: Span,
    },
    /// A deadline thread is one that sleeps.
    #[error("{policy} is for threads that sleep; a thread that spins needs fifo, rr or other")]
    Deadline {
        /// The policy.
        policy: Policy,
    },
    /// Shorter than what can be told apart.
    #[error("gaps above {above} cannot be told from the loop itself, of which a turn takes {turn}")]
    TooShort {
        /// What was asked for.
        above: Span,
        /// What a turn takes.
        turn: Span,
        /// The least that can be.
        least: Span,
    },
    /// Which CPUs there are is not known.
    #[error("cannot find out which CPUs this process may use: {0}")]
    NoCpus(std::io::Error),
    /// A thread could not be started.
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
}

impl NoGaps {
    /// What to type instead.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::OneCpu { cpu } => format!("name it to take it all the same: `--cpus {cpu}`"),
            Self::NoSuchCpu { bindable, .. } => format!("`--cpus {bindable}`"),
            Self::Locks { .. } => "`sysctl kernel.sched_rt_runtime_us=950000` switches throttling on; `--policy other` needs none; `--yes-lock` takes the CPUs all the same".to_owned(),
            Self::RealtimeTime { limit, .. } => format!(
                "`sudo prlimit --pid $$ --rttime=unlimited` lifts it for this shell; `--duration` shorter than {limit}, or `--policy other`, needs none"
            ),
            Self::Deadline { .. } => "`--policy fifo:80`".to_owned(),
            Self::TooShort { least, .. } => format!("`--above {least}`"),
            Self::NotStarted(NotStarted { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "real-time priorities need root, or a limit that root raises (`ulimit -r 80`); `--policy other` needs neither".to_owned()
            }
            Self::NoCpus(_) | Self::NotStarted(_) => return None,
        })
    }
}

/// What the plan must know of the machine.
struct Facts {
    allowed: CpuSet,
    bindable: CpuSet,
    is_throttled: bool,
    /// How long real-time threads may compute without sleeping; `None`: as long as they like.
    realtime_time: Option<Span>,
    counted: Counted,
    turn: Span,
}

/// What is measured, and whether a CPU is left to everything else.
pub(crate) fn plan(asked: &GapRequest) -> Result<(SpinPlan, bool), NoGaps> {
    let throttling = Root::live().read("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    let counted = counted();
    let facts = Facts {
        allowed: sched::affinity().map_err(NoGaps::NoCpus)?,
        bindable: sched::bindable_cpus().map_err(NoGaps::NoCpus)?,
        is_throttled: throttling.trim() != "-1",
        realtime_time: rttime_limit(),
        counted,
        turn: shortest_turn(counted),
    };
    plan_on(asked, &facts)
}

fn plan_on(asked: &GapRequest, facts: &Facts) -> Result<(SpinPlan, bool), NoGaps> {
    let Facts { allowed, bindable, turn, counted, .. } = facts;
    let cpus = cpus(asked, allowed, bindable)?;
    let policy = asked.policy;
    match policy {
        Policy::Deadline { .. } => return Err(NoGaps::Deadline { policy }),
        Policy::Fifo { .. } | Policy::Rr { .. } if !facts.is_throttled && !asked.may_lock => {
            return Err(NoGaps::Locks { policy, cpus });
        }
        Policy::Fifo { .. } | Policy::Rr { .. } => {
            let is_over = |limit: &Span| asked.lasts.is_none_or(|lasts| lasts >= *limit);
            if let Some(limit) = facts.realtime_time.filter(is_over) {
                return Err(NoGaps::RealtimeTime { policy, limit });
            }
        }
        _ => {}
    }
    let least = turn.times(TURNS);
    let above = asked.above.unwrap_or_else(|| ABOVE.max(least));
    if above < turn.times(2) {
        return Err(NoGaps::TooShort { above, turn: *turn, least });
    }
    let leaves_one = !allowed.without(&cpus).is_empty();
    let (lasts, copies) = (asked.lasts, asked.copies);
    Ok((SpinPlan { cpus, policy, above, lasts, counted: *counted, copies }, leaves_one))
}

/// All that were named, else all but one.
fn cpus(asked: &GapRequest, allowed: &CpuSet, bindable: &CpuSet) -> Result<CpuSet, NoGaps> {
    if let Some(cpus) = &asked.cpus {
        let unknown = cpus.first_outside(bindable);
        let refused = |cpu| NoGaps::NoSuchCpu { cpu, bindable: bindable.clone() };
        return unknown.map_or_else(|| Ok(cpus.clone()), |cpu| Err(refused(cpu)));
    }
    let mut all = allowed.iter();
    let first = all.next().unwrap_or_default();
    let others: CpuSet = all.collect();
    if others.is_empty() { Err(NoGaps::OneCpu { cpu: first }) } else { Ok(others) }
}

#[cfg(test)]
mod tests {
    use howlate_model::Priority;

    use super::*;

    const FIFO: Policy = Policy::Fifo { priority: Priority::USUAL };

    fn facts(cpus: &[u32], is_throttled: bool) -> Facts {
        let cpus = CpuSet::from_iter(cpus.iter().copied());
        let turn = Span::from_nanos(30);
        let (counted, realtime_time) = (Counted::Clock, None);
        Facts { allowed: cpus.clone(), bindable: cpus, is_throttled, realtime_time, counted, turn }
    }

    fn asked() -> GapRequest {
        GapRequest {
            cpus: None,
            policy: Policy::OTHER,
            above: None,
            lasts: None,
            traces: false,
            may_lock: false,
            copies: None,
        }
    }

    #[test]
    fn one_cpu_is_left_unless_all_are_named() {
        let (plan, leaves_one) = plan_on(&asked(), &facts(&[0, 1, 3], true)).unwrap();
        assert_eq!((plan.cpus.to_string().as_str(), leaves_one, plan.above), ("1,3", true, ABOVE));
        let all = GapRequest { cpus: Some(CpuSet::from_iter([0, 1])), ..asked() };
        assert!(!plan_on(&all, &facts(&[0, 1], true)).unwrap().1);
        let refused = plan_on(&asked(), &facts(&[5], true)).unwrap_err();
        assert_eq!(refused.hint().unwrap(), "name it to take it all the same: `--cpus 5`");
        let only = GapRequest { cpus: Some(CpuSet::from_iter([5])), ..asked() };
        assert!(plan_on(&only, &facts(&[5], true)).is_ok());
    }

    #[test]
    fn what_would_lock_up_the_machine_must_be_asked_for_twice() {
        let fifo = GapRequest { policy: FIFO, ..asked() };
        let refused = plan_on(&fifo, &facts(&[0, 1], false)).unwrap_err();
        assert!(refused.hint().unwrap().contains("--yes-lock"), "{refused}");
        assert!(plan_on(&fifo, &facts(&[0, 1], true)).is_ok());
        assert!(plan_on(&GapRequest { may_lock: true, ..fifo }, &facts(&[0, 1], false)).is_ok());
        assert!(plan_on(&asked(), &facts(&[0, 1], false)).is_ok());
    }

    #[test]
    fn what_the_kernel_would_end_is_refused_before_it_begins() {
        let limit = Span::from_millis(100);
        let limited = Facts { realtime_time: Some(limit), ..facts(&[0, 1], true) };
        let fifo = |lasts| GapRequest { policy: FIFO, lasts, ..asked() };
        for lasts in [None, Some(Span::from_secs(2)), Some(limit)] {
            let refused = plan_on(&fifo(lasts), &limited);
            assert!(
                matches!(refused, Err(NoGaps::RealtimeTime { limit: of, .. }) if of == limit),
                "{refused:?}"
            );
        }
        assert!(plan_on(&fifo(Some(Span::from_millis(50))), &limited).is_ok());
        assert!(plan_on(&asked(), &limited).is_ok(), "it is for real-time threads");
        assert!(plan_on(&fifo(None), &facts(&[0, 1], true)).is_ok());
    }

    #[test]
    fn the_threshold_is_what_can_be_told_apart() {
        let slow = Facts { turn: Span::from_micros(2), ..facts(&[0, 1], true) };
        assert_eq!(plan_on(&asked(), &slow).unwrap().0.above, Span::from_micros(8));
        let short = GapRequest { above: Some(Span::from_micros(3)), ..asked() };
        let refused = plan_on(&short, &slow).unwrap_err();
        assert_eq!(refused.hint().unwrap(), "`--above 8us`");
        let longer = GapRequest { above: Some(Span::from_micros(4)), ..asked() };
        assert_eq!(plan_on(&longer, &slow).unwrap().0.above, Span::from_micros(4));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let none = GapRequest { cpus: Some(CpuSet::from_iter([9])), ..asked() };
        assert_eq!(plan_on(&none, &facts(&[0, 1], true)).unwrap_err().hint().unwrap(), "`--cpus 0-1`");
        let deadline: Policy = "deadline:200us/1ms".parse().unwrap();
        let refused = plan_on(&GapRequest { policy: deadline, ..asked() }, &facts(&[0, 1], true));
        assert!(matches!(refused, Err(NoGaps::Deadline { .. })), "{refused:?}");
    }
}
