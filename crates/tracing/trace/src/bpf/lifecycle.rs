//! Parses the records of threads that start, are renamed or end, laid out in `bpf/record.h`.

use howlate_linux::sched;
use howlate_model::{LifeEvent, LifeEventKind};

use crate::fields::FieldReader;

/// No record of a sleep has this length.
const LENGTH: usize = 56;

/// `None`: another kind of record.
pub(super) fn parse(bytes: &[u8]) -> Option<LifeEvent> {
    if bytes.len() != LENGTH {
        return None;
    }
    let mut fields = FieldReader(bytes);
    let (at, slack) = (fields.time()?, fields.span()?);
    let (tid, process, what) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (policy, priority, nice) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let happened = match what {
        0 => LifeEventKind::Born,
        1 => LifeEventKind::Named,
        _ => LifeEventKind::Ended,
    };
    let policy = sched::policy_of(policy, priority, nice.cast_signed());
    Some(LifeEvent { tid, process, at, happened, name: fields.comm()?, policy, slack })
}

#[cfg(test)]
mod tests {
    use howlate_model::{MonotonicTime, Nice, Policy, Priority, Span};

    use super::*;
    use crate::layout::BtfTypes;

    fn record([policy, priority, nice]: [u32; 3]) -> Vec<u8> {
        let layouts = BtfTypes::of("wakeups");
        let mut record = layouts.record("life");
        record.set_all("", &[("at", 1_000), ("slack", 50), ("tid", 8), ("process", 7), ("what", 1)]);
        record
            .set_all("", &[("policy", policy.into()), ("priority", priority.into()), ("nice", nice.into())]);
        record.name("comm", "worker");
        record.bytes()
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let life = parse(&record([0, 0, (-5i32).cast_unsigned()])).unwrap();
        assert_eq!((life.tid, life.process, life.happened), (8, 7, LifeEventKind::Named));
        assert_eq!((life.at, life.slack), (MonotonicTime::from_nanos(1_000), Span::from_nanos(50)));
        assert_eq!(
            (life.name.as_str(), life.policy),
            ("worker", Some(Policy::Other { nice: Nice::new(-5) }))
        );
        let fifo = Policy::Fifo { priority: Priority::new(80).unwrap() };
        assert_eq!(parse(&record([1, 80, 0])).unwrap().policy, Some(fifo));
        assert_eq!(parse(&record([6, 0, 0])).unwrap().policy, None, "its times are not told");
        assert_eq!(parse(&record([0, 0, 0])[..55]), None);
    }
}
