//! Why a tracer is unavailable, and what it cannot see.

/// Why a tracer is unavailable, with a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracerRefusal {
    /// The kernel has no BTF.
    #[error(
        "the kernel does not describe its types (no /sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoTypes,
    /// Missing capabilities.
    #[error(
        "not permitted: run as root, or `setcap cap_bpf,cap_perfmon+ep` on the program, given to a group first, or `--cap-add BPF --cap-add PERFMON` for a container"
    )]
    NotPermitted,
    /// tracefs is not mounted.
    #[error("tracefs is not mounted: as root, `mount -t tracefs tracefs /sys/kernel/tracing`")]
    NotMounted,
    /// tracefs is read-only.
    #[error("{place} is read-only: `mount -o remount,rw {place}`, or run outside of this container")]
    ReadOnly {
        /// Mount point.
        place: String,
    },
    /// tracefs is not writable for this user.
    #[error(
        "not permitted to write below {place}: run as root, or `mount -o remount,gid=GROUP,mode=2770 {place}`"
    )]
    NotRoot {
        /// Where it is mounted.
        place: String,
    },
    /// Kernel lockdown.
    #[error(
        "the kernel is locked down (/sys/kernel/security/lockdown): boot without `lockdown=confidentiality`"
    )]
    LockedDown,
    /// A required event is missing.
    #[error("this kernel lacks the event {name}: it needs CONFIG_FTRACE=y and CONFIG_EVENT_TRACING=y")]
    NoEvent {
        /// The tracepoint, without its group: `sched_switch`.
        name: String,
    },
    /// A required event has an unknown format.
    #[error("this kernel's event {name} cannot be read: {reason}")]
    EventUnreadable {
        /// The tracepoint, without its group: `sched_switch`.
        name: String,
        /// The field, and what is wrong with it.
        reason: String,
    },
    /// `perf_event_paranoid` forbids recording switches.
    #[error(
        "kernel.perf_event_paranoid is {level}: `sysctl kernel.perf_event_paranoid=2`, or `setcap cap_perfmon+ep` on the program, given to a group first"
    )]
    Paranoid {
        /// Current value.
        level: i32,
    },
    /// `perf_event_open(2)` is forbidden, as by a container's filter.
    #[error(
        "recording switches (perf_event_open) is forbidden here: `--cap-add PERFMON` for a container, or a larger kernel.perf_event_mlock_kb for many threads"
    )]
    NoSwitches,
    /// A PID namespace: process ids differ from those in kernel events.
    #[error(
        "this process has ids of its own (a PID namespace): share the host's, such as with `podman run --pid=host`"
    )]
    ForeignIds,
    /// procfs is not mounted.
    #[error("there is no /proc here: as root, `mount -t proc proc /proc`")]
    NoProc,
    /// No `/proc/PID/schedstat`.
    #[error("there is no /proc/PID/schedstat: it needs /proc and CONFIG_SCHED_INFO=y")]
    NoAccounts,
    /// Kernel addresses are hidden.
    #[error(
        "the names of the kernel's functions are hidden (/proc/kallsyms): run as root, or `setcap cap_bpf,cap_perfmon,cap_syslog+ep` on the program, given to a group first"
    )]
    NoNames,
    /// A required event is missing.
    #[error("this kernel lacks the event {name}: it takes Linux 5.18 or later")]
    EventMissing {
        /// The tracepoint, without its group: `sched_switch`.
        name: String,
    },
    /// Requests to servers are seen by BPF only.
    #[error("it does not see requests to servers")]
    NoRequests,
    /// Big-endian processors are unsupported.
    #[error("the programs for the kernel are made for little-endian processors")]
    Processor,
    /// Too many processes to watch.
    #[error("{asked} processes are to be watched, and {most} can be")]
    TooMany {
        asked: usize,
        /// Maximum.
        most: usize,
    },
    /// Another error from the kernel.
    #[error("the kernel refuses to {doing}: {reason}")]
    Kernel {
        /// The attempted operation.
        doing: String,
        /// The error.
        reason: String,
    },
}

/// What a tracer goes without, and what that costs: events that tell one thing only together are one gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TracerGap {
    /// Which timer woke a thread.
    #[error(
        "it does not see which timer wakes a thread, so that all from the end of the thread's slack until it could run is `before_runnable`, `undetermined`"
    )]
    Timers,
    /// The interrupt of the CPU's own timer.
    #[error(
        "it does not see the timer's interrupt come, so that `interrupt_delivery` ends with the first timer that was served"
    )]
    TimerInterrupts,
    /// Interrupts of devices.
    #[error(
        "it does not see interrupts of devices, so that threads are not blamed for having had a CPU: that is `undetermined`"
    )]
    Interrupts,
    /// Softirqs.
    #[error(
        "it does not see softirqs, so that threads are not blamed for having had a CPU: that is `undetermined`"
    )]
    Softirqs,
    /// Page faults of programs.
    #[error("it does not see page faults, whose time is in `return`")]
    PageFaults,
    /// Who sends signals.
    #[error("it does not see who sends signals, so that `stopped` has no name")]
    Signals,
    /// Threads that begin, get a name and end.
    #[error("it does not see threads begin and end: they are looked for now and then")]
    Lives,
}
