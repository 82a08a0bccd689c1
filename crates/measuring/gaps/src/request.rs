//! Gap requests, and the checks before any CPU is taken.

use howlate_linux::process::rttime_limit;
use howlate_linux::sched;
use howlate_measure::{SpinPlan, SpinStartError, TickSource, shortest_iteration, tick_source};
use howlate_model::{CpuSet, Policy, Span};
use howlate_procfs::Root;

/// A request to measure gaps.
#[derive(Clone, Debug)]
pub struct GapRequest {
    /// CPUs to measure; `None`: all allowed ones but the first.
    pub cpus: Option<CpuSet>,
    /// Policy of the spinning threads.
    pub policy: Policy,
    /// The shortest gap; `None`: a microsecond, or more where this machine needs more.
    pub threshold: Option<Span>,
    /// `None`: until interrupted.
    pub duration: Option<Span>,
    /// Whether to read kernel events, where that is allowed.
    pub use_tracing: bool,
    /// Whether real-time threads may take whole CPUs even without real-time throttling.
    pub allow_lockup: bool,
    /// Bytes that each thread copies in every iteration; `None`: it only reads the clock.
    pub copied_bytes: Option<usize>,
}

/// The shortest gap that is counted by default.
const DEFAULT_THRESHOLD: Span = Span::from_micros(1);
/// The default threshold is at least this many iterations.
const MIN_ITERATIONS: u64 = 4;

/// Why gaps are not measured.
#[derive(Debug, thiserror::Error)]
pub enum GapError {
    /// The only allowed CPU would be taken from everything else.
    #[error("this process may use one CPU only, and a thread that spins takes all of it")]
    OneCpu { cpu: u32 },
    /// Threads cannot be bound to a requested CPU.
    #[error("no thread can be bound to CPU {cpu}; there are {bindable}")]
    NoSuchCpu {
        cpu: u32,
        /// CPUs that threads can be bound to.
        bindable: CpuSet,
    },
    /// Real-time throttling is off, so real-time threads that never sleep would lock up their CPUs.
    #[error(
        "threads with the policy {policy} that never sleep would lock up CPUs {cpus}: real-time throttling is off (kernel.sched_rt_runtime_us = -1)"
    )]
    Locks { policy: Policy, cpus: CpuSet },
    /// The kernel would end this process because of `RLIMIT_RTTIME`.
    #[error(
        "threads with the policy {policy} that never sleep would be ended after {limit}: that is how long RLIMIT_RTTIME lets real-time threads compute, \
         and it may not be raised here"
    )]
    RealtimeTime {
        policy: Policy,
        /// How long real-time threads may run without sleeping.
        limit: Span,
    },
    /// Deadline threads must sleep.
    #[error("{policy} is for threads that sleep; a thread that spins needs fifo, rr or other")]
    Deadline { policy: Policy },
    /// The requested threshold is close to the duration of an iteration.
    #[error("gaps above {threshold} cannot be told from the loop itself, of which a turn takes {iteration}")]
    TooShort {
        /// The requested threshold.
        threshold: Span,
        /// Duration of an iteration.
        iteration: Span,
        /// The lowest recommended threshold.
        least: Span,
    },
    /// The allowed CPUs could not be read.
    #[error("cannot find out which CPUs this process may use: {0}")]
    NoCpus(std::io::Error),
    /// A thread could not be started.
    #[error(transparent)]
    NotStarted(#[from] SpinStartError),
}

impl GapError {
    /// A command or an option that avoids the error.
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
            Self::NotStarted(SpinStartError { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "real-time priorities need root, or a limit that root raises (`ulimit -r 80`); `--policy other` needs neither".to_owned()
            }
            Self::NoCpus(_) | Self::NotStarted(_) => return None,
        })
    }
}

/// Facts about the machine that the plan depends on.
struct MachineFacts {
    allowed: CpuSet,
    bindable: CpuSet,
    is_throttled: bool,
    /// How long real-time threads may run without sleeping; `None`: no limit.
    realtime_time: Option<Span>,
    tick_source: TickSource,
    iteration: Span,
}

/// The plan, and whether it leaves a CPU to other processes.
pub(crate) fn plan(request: &GapRequest) -> Result<(SpinPlan, bool), GapError> {
    let throttling = Root::live().read("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    let source = tick_source();
    let facts = MachineFacts {
        allowed: sched::affinity().map_err(GapError::NoCpus)?,
        bindable: sched::bindable_cpus().map_err(GapError::NoCpus)?,
        is_throttled: throttling.trim() != "-1",
        realtime_time: rttime_limit(),
        tick_source: source,
        iteration: shortest_iteration(source),
    };
    plan_on(request, &facts)
}

fn plan_on(request: &GapRequest, facts: &MachineFacts) -> Result<(SpinPlan, bool), GapError> {
    let MachineFacts { allowed, bindable, iteration, tick_source, .. } = facts;
    let cpus = cpus(request, allowed, bindable)?;
    let policy = request.policy;
    match policy {
        Policy::Deadline { .. } => return Err(GapError::Deadline { policy }),
        Policy::Fifo { .. } | Policy::Rr { .. } if !facts.is_throttled && !request.allow_lockup => {
            return Err(GapError::Locks { policy, cpus });
        }
        Policy::Fifo { .. } | Policy::Rr { .. } => {
            let is_over = |limit: &Span| request.duration.is_none_or(|duration| duration >= *limit);
            if let Some(limit) = facts.realtime_time.filter(is_over) {
                return Err(GapError::RealtimeTime { policy, limit });
            }
        }
        _ => {}
    }
    let least = iteration.times(MIN_ITERATIONS);
    let threshold = request.threshold.unwrap_or_else(|| DEFAULT_THRESHOLD.max(least));
    if threshold < iteration.times(2) {
        return Err(GapError::TooShort { threshold, iteration: *iteration, least });
    }
    let leaves_one = !allowed.without(&cpus).is_empty();
    let (duration, copied_bytes) = (request.duration, request.copied_bytes);
    Ok((SpinPlan { cpus, policy, threshold, duration, tick_source: *tick_source, copied_bytes }, leaves_one))
}

/// All named CPUs, or else all allowed ones but the first.
fn cpus(request: &GapRequest, allowed: &CpuSet, bindable: &CpuSet) -> Result<CpuSet, GapError> {
    if let Some(cpus) = &request.cpus {
        let unknown = cpus.first_outside(bindable);
        let refused = |cpu| GapError::NoSuchCpu { cpu, bindable: bindable.clone() };
        return unknown.map_or_else(|| Ok(cpus.clone()), |cpu| Err(refused(cpu)));
    }
    let mut all = allowed.iter();
    let first = all.next().unwrap_or_default();
    let remaining: CpuSet = all.collect();
    if remaining.is_empty() { Err(GapError::OneCpu { cpu: first }) } else { Ok(remaining) }
}

#[cfg(test)]
mod tests {
    use howlate_model::Priority;

    use super::*;

    const FIFO: Policy = Policy::Fifo { priority: Priority::USUAL };

    fn facts(cpus: &[u32], is_throttled: bool) -> MachineFacts {
        let cpus = CpuSet::from_iter(cpus.iter().copied());
        let iteration = Span::from_nanos(30);
        let (tick_source, realtime_time) = (TickSource::Clock, None);
        MachineFacts {
            allowed: cpus.clone(),
            bindable: cpus,
            is_throttled,
            realtime_time,
            tick_source,
            iteration,
        }
    }

    fn request() -> GapRequest {
        GapRequest {
            cpus: None,
            policy: Policy::OTHER,
            threshold: None,
            duration: None,
            use_tracing: false,
            allow_lockup: false,
            copied_bytes: None,
        }
    }

    #[test]
    fn one_cpu_is_left_unless_all_are_named() {
        let (plan, leaves_one) = plan_on(&request(), &facts(&[0, 1, 3], true)).unwrap();
        assert_eq!(
            (plan.cpus.to_string().as_str(), leaves_one, plan.threshold),
            ("1,3", true, DEFAULT_THRESHOLD)
        );
        let all = GapRequest { cpus: Some(CpuSet::from_iter([0, 1])), ..request() };
        assert!(!plan_on(&all, &facts(&[0, 1], true)).unwrap().1);
        let refused = plan_on(&request(), &facts(&[5], true)).unwrap_err();
        assert_eq!(refused.hint().unwrap(), "name it to take it all the same: `--cpus 5`");
        let only = GapRequest { cpus: Some(CpuSet::from_iter([5])), ..request() };
        assert!(plan_on(&only, &facts(&[5], true)).is_ok());
    }

    #[test]
    fn a_lockup_must_be_allowed_explicitly() {
        let fifo = GapRequest { policy: FIFO, ..request() };
        let refused = plan_on(&fifo, &facts(&[0, 1], false)).unwrap_err();
        assert!(refused.hint().unwrap().contains("--yes-lock"), "{refused}");
        assert!(plan_on(&fifo, &facts(&[0, 1], true)).is_ok());
        assert!(plan_on(&GapRequest { allow_lockup: true, ..fifo }, &facts(&[0, 1], false)).is_ok());
        assert!(plan_on(&request(), &facts(&[0, 1], false)).is_ok());
    }

    #[test]
    fn rttime_limit_shorter_than_the_duration_is_refused() {
        let limit = Span::from_millis(100);
        let limited = MachineFacts { realtime_time: Some(limit), ..facts(&[0, 1], true) };
        let fifo = |duration| GapRequest { policy: FIFO, duration, ..request() };
        for duration in [None, Some(Span::from_secs(2)), Some(limit)] {
            let refused = plan_on(&fifo(duration), &limited);
            assert!(
                matches!(refused, Err(GapError::RealtimeTime { limit: of, .. }) if of == limit),
                "{refused:?}"
            );
        }
        assert!(plan_on(&fifo(Some(Span::from_millis(50))), &limited).is_ok());
        assert!(plan_on(&request(), &limited).is_ok(), "it is for real-time threads");
        assert!(plan_on(&fifo(None), &facts(&[0, 1], true)).is_ok());
    }

    #[test]
    fn threshold_is_at_least_some_iterations() {
        let slow = MachineFacts { iteration: Span::from_micros(2), ..facts(&[0, 1], true) };
        assert_eq!(plan_on(&request(), &slow).unwrap().0.threshold, Span::from_micros(8));
        let short = GapRequest { threshold: Some(Span::from_micros(3)), ..request() };
        let refused = plan_on(&short, &slow).unwrap_err();
        assert_eq!(refused.hint().unwrap(), "`--above 8us`");
        let longer = GapRequest { threshold: Some(Span::from_micros(4)), ..request() };
        assert_eq!(plan_on(&longer, &slow).unwrap().0.threshold, Span::from_micros(4));
    }

    #[test]
    fn refusals_name_an_alternative() {
        let none = GapRequest { cpus: Some(CpuSet::from_iter([9])), ..request() };
        assert_eq!(plan_on(&none, &facts(&[0, 1], true)).unwrap_err().hint().unwrap(), "`--cpus 0-1`");
        let deadline: Policy = "deadline:200us/1ms".parse().unwrap();
        let refused = plan_on(&GapRequest { policy: deadline, ..request() }, &facts(&[0, 1], true));
        assert!(matches!(refused, Err(GapError::Deadline { .. })), "{refused:?}");
    }
}
