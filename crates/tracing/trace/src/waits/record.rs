//! What the kernel's side keeps of a thread, as `bpf/waits.h` lays it out.

use howlate_model::Span;

use crate::fields::Fields;

/// Places for reasons, and for rivals, of a thread.
const RIVALS: usize = 8;
const REASONS: u32 = 16;
/// `PF_KTHREAD` of the kernel's `sched.h`.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// Waits since the thread was first seen; the longest one since the last reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) ns: u64,
    pub(super) count: u64,
    pub(super) longest: u64,
}

/// Waits at one place of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) stack: u64,
    pub(super) sum: Sum,
    pub(super) looked_at: u64,
}

/// Who had the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rival {
    pub(super) pid: u32,
    pub(super) ns: u64,
}

/// What a thread waits for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    None,
    Cpu(Span),
    At(u64, Span),
}

/// One thread, as the kernel's side counts for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) since: u64,
    pub(super) now: u64,
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) of_kernel: bool,
    pub(super) ended: bool,
    pub(super) name: String,
    pub(super) process: String,
    pub(super) pending: Pending,
    pub(super) cpu: Sum,
    /// Every place there is, used or not.
    pub(super) rivals: Vec<Rival>,
    pub(super) more_rivals: u64,
    pub(super) more_reasons: Sum,
    /// By their places.
    pub(super) reasons: Vec<Reason>,
}

impl Record {
    /// Takes one record off `fields`; `None` at the end.
    pub(super) fn take(fields: &mut Fields<'_>) -> Option<Self> {
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
            1 => Pending::Cpu(lasts),
            2 => Pending::At(stack, lasts),
            _ => Pending::None,
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

fn sum(fields: &mut Fields<'_>) -> Option<Sum> {
    Some(Sum { ns: fields.u64()?, count: fields.u64()?, longest: fields.u64()? })
}

fn rival(fields: &mut Fields<'_>) -> Option<Rival> {
    let (ns, _used, pid, _) = (fields.u64()?, fields.u64()?, fields.u32()?, fields.u32()?);
    Some(Rival { pid, ns })
}

fn reason(fields: &mut Fields<'_>) -> Option<Reason> {
    let (stack, _used) = (fields.u64()?, fields.u64()?);
    Some(Reason { stack, sum: sum(fields)?, looked_at: fields.u64()? })
}
