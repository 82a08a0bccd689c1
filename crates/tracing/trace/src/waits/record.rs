//! Parses the records of threads, laid out in `bpf/waits.h`.

use howlate_model::Span;

use crate::fields::FieldReader;

/// Number of rivals and of reasons that a record has room for.
const RIVALS: usize = 8;
const REASONS: u32 = 16;
/// `PF_KTHREAD` of the kernel's `sched.h`.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// Waits since the first event of the thread; the longest one since the last reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitSum {
    pub(super) ns: u64,
    pub(super) count: u64,
    pub(super) longest: u64,
}

/// Waits at one kernel stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReasonRecord {
    pub(super) stack: u64,
    pub(super) sum: WaitSum,
    pub(super) looked_at: u64,
}

/// A thread that used the CPU during a wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RivalRecord {
    pub(super) pid: u32,
    pub(super) ns: u64,
}

/// What a thread waits for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingWait {
    None,
    Cpu(Span),
    At(u64, Span),
}

/// The counters of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WaitRecord {
    pub(super) since: u64,
    pub(super) now: u64,
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) of_kernel: bool,
    pub(super) ended: bool,
    pub(super) name: String,
    pub(super) process: String,
    pub(super) pending: PendingWait,
    pub(super) cpu: WaitSum,
    /// All places, used or not.
    pub(super) rivals: Vec<RivalRecord>,
    pub(super) more_rivals: u64,
    pub(super) more_reasons: WaitSum,
    /// By place.
    pub(super) reasons: Vec<ReasonRecord>,
}

impl WaitRecord {
    /// Reads one record; `None` at the end.
    pub(super) fn take(fields: &mut FieldReader<'_>) -> Option<Self> {
        let (since, now) = (fields.u64()?, fields.u64()?);
        let (tid, pid, flags, ended) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()? != 0);
        let (name, process) = (fields.comm()?, fields.comm()?);
        let (lasts, stack) = (fields.span()?, fields.u64()?);
        let (kind, reasons) = (fields.u32()?, fields.u32()?);
        let cpu = sum(fields)?;
        let rivals = (0..RIVALS).map(|_| rival(fields)).collect::<Option<_>>()?;
        let (more_rivals, more_reasons) = (fields.u64()?, sum(fields)?);
        let reasons = (0..reasons.min(REASONS)).map(|_| reason(fields)).collect::<Option<_>>()?;
        let pending = match kind {
            1 => PendingWait::Cpu(lasts),
            2 => PendingWait::At(stack, lasts),
            _ => PendingWait::None,
        };
        let of_kernel = flags & KERNEL_THREAD != 0;
        Some(Self {
            since,
            now,
            tid,
            pid,
            of_kernel,
            ended,
            name,
            process,
            pending,
            cpu,
            rivals,
            more_rivals,
            more_reasons,
            reasons,
        })
    }
}

fn sum(fields: &mut FieldReader<'_>) -> Option<WaitSum> {
    Some(WaitSum { ns: fields.u64()?, count: fields.u64()?, longest: fields.u64()? })
}

fn rival(fields: &mut FieldReader<'_>) -> Option<RivalRecord> {
    let (ns, _used, pid, _) = (fields.u64()?, fields.u64()?, fields.u32()?, fields.u32()?);
    Some(RivalRecord { pid, ns })
}

fn reason(fields: &mut FieldReader<'_>) -> Option<ReasonRecord> {
    let (stack, _used) = (fields.u64()?, fields.u64()?);
    Some(ReasonRecord { stack, sum: sum(fields)?, looked_at: fields.u64()? })
}
