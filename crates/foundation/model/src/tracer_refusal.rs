//! Why a tracer cannot be had, and what to type.

/// Why a tracer cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracerRefusal {
    /// The kernel's description of its own types is missing.
    #[error(
        "the kernel does not describe its types (no /sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoTypes,
    /// It takes capabilities that this process lacks.
    #[error(
        "not permitted: run as root, or `setcap cap_bpf,cap_perfmon+ep` on the program, given to a group first, or `--cap-add BPF --cap-add PERFMON` for a container"
    )]
    NotPermitted,
    /// The kernel's trace is not there.
    #[error("tracefs is not mounted: as root, `mount -t tracefs tracefs /sys/kernel/tracing`")]
    NotMounted,
    /// The kernel's trace is there for reading only.
    #[error("{place} is read-only: `mount -o remount,rw {place}`, or run outside of this container")]
    ReadOnly {
        /// Where it is mounted.
        place: String,
    },
    /// The kernel's trace belongs to somebody else.
    #[error(
        "not permitted to write below {place}: run as root, or `mount -o remount,gid=GROUP,mode=2770 {place}`"
    )]
    NotRoot {
        /// Where it is mounted.
        place: String,
    },
    /// The kernel lets nobody look into it.
    #[error(
        "the kernel is locked down (/sys/kernel/security/lockdown): boot without `lockdown=confidentiality`"
    )]
    LockedDown,
    /// An event that there is no doing without.
    #[error("this kernel lacks the event {name}: it needs CONFIG_FTRACE=y and CONFIG_EVENT_TRACING=y")]
    NoEvent {
        /// The tracepoint, without its group: `sched_switch`.
        name: String,
    },
    /// An event that there is no doing without, and that is not as any kernel is known to have it.
    #[error("this kernel's event {name} cannot be read: {reason}")]
    EventUnreadable {
        /// The tracepoint, without its group: `sched_switch`.
        name: String,
        /// Which field, and what is the matter with it.
        reason: String,
    },
    /// The kernel records switches for nobody without a capability.
    #[error(
        "kernel.perf_event_paranoid is {level}: `sysctl kernel.perf_event_paranoid=2`, or `setcap cap_perfmon+ep` on the program, given to a group first"
    )]
    Paranoid {
        /// What it is.
        level: i32,
    },
    /// Something else forbids it, such as the filter of a container.
    #[error(
        "recording switches (perf_event_open) is forbidden here: `--cap-add PERFMON` for a container, or a larger kernel.perf_event_mlock_kb for many threads"
    )]
    NoSwitches,
    /// Process ids in here are not those that the kernel's events carry.
    #[error(
        "this process has ids of its own (a PID namespace): share the host's, such as with `podman run --pid=host`"
    )]
    ForeignIds,
    /// The kernel's files on processes are not mounted.
    #[error("there is no /proc here: as root, `mount -t proc proc /proc`")]
    NoProc,
    /// The kernel keeps no account of threads, or shows none.
    #[error("there is no /proc/PID/schedstat: it needs /proc and CONFIG_SCHED_INFO=y")]
    NoAccounts,
    /// The kernel tells this process no addresses.
    #[error(
        "the names of the kernel's functions are hidden (/proc/kallsyms): run as root, or `setcap cap_bpf,cap_perfmon,cap_syslog+ep` on the program, given to a group first"
    )]
    NoNames,
    /// An event that there is no doing without.
    #[error("this kernel lacks the event {name}: it takes Linux 5.18 or later")]
    EventMissing {
        /// The tracepoint, without its group: `sched_switch`.
        name: String,
    },
    /// The processor's byte order.
    #[error("the programs for the kernel are made for little-endian processors")]
    Processor,
    /// More processes than can be watched at once.
    #[error("{asked} processes are to be watched, and {most} can be")]
    TooMany {
        /// How many were asked for.
        asked: usize,
        /// How many there may be.
        most: usize,
    },
    /// Anything else that the kernel said no to.
    #[error("the kernel refuses to {doing}: {reason}")]
    Kernel {
        /// What was asked of it.
        doing: String,
        /// What it said.
        reason: String,
    },
}
