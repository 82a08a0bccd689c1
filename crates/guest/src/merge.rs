//! Many guests' recordings become one.
//!
//! Each boot brings a recording of its own: conditions counted from 0, rounds from 0, times from
//! its own start. In the merged one each kind of guest has its own conditions, rounds go on from
//! boot to boot, and all times are moved to the host's clock.

use howlate_model::{Condition, Header, Line, MonotonicTime, OnHost};

/// A kind of guest: what differs between the guests that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The kernel's name in conditions.
    pub kernel: String,
    /// What is done on the host meanwhile.
    pub on_host: OnHost,
}

/// Renumbers lines as they come.
#[derive(Debug)]
pub struct Merge {
    kinds: Vec<Kind>,
    /// What every guest measures; the kernel is left out.
    measured: Vec<Condition>,
    /// Per kind, the first round of its next boot.
    next_round: Vec<u32>,
    /// Of the boot that goes on.
    current: Place,
}

/// Where the lines of one boot go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    kind: usize,
    first_round: u32,
    moved_by: i64,
}

/// A guest measured something else than the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherConditions;

impl Merge {
    /// Begins with the header of the first guest.
    pub fn new(kinds: Vec<Kind>, first: &Header) -> Self {
        let next_round = vec![0; kinds.len()];
        Self { kinds, measured: comparable(first), next_round, current: Place::default() }
    }

    /// The conditions of the merged recording: what is compared stands side by side.
    pub fn conditions(&self) -> Vec<Condition> {
        let of_kind = |condition: &Condition, kind: &Kind| Condition {
            kernel: kind.kernel.clone(),
            on_host: Some(kind.on_host.clone()),
            ..condition.clone()
        };
        let all = |condition| self.kinds.iter().map(move |kind| of_kind(condition, kind));
        self.measured.iter().flat_map(all).collect()
    }

    /// A guest of `kind` sent its header, which arrived at `arrived`; returns the first round of
    /// this boot, and by how much its times are moved.
    ///
    /// # Errors
    ///
    /// When it measures something else than the others.
    pub fn boot(
        &mut self,
        kind: usize,
        header: &Header,
        arrived: MonotonicTime,
    ) -> Result<(u32, i64), OtherConditions> {
        if comparable(header) != self.measured {
            return Err(OtherConditions);
        }
        let moved_by = arrived.as_nanos().saturating_sub(header.at_ns.as_nanos());
        self.current = Place { kind, first_round: self.next_round[kind], moved_by };
        Ok((self.current.first_round, moved_by))
    }

    /// A line of the guest that goes on, as it stands in the merged recording.
    pub fn line(&mut self, line: Line) -> Line {
        match line {
            Line::Started(mut started) => {
                self.place(&mut started.condition, &mut started.round);
                self.shift(&mut started.at_ns);
                Line::Started(started)
            }
            Line::Block(mut block) => {
                self.place(&mut block.condition, &mut block.round);
                self.shift(&mut block.from_ns);
                self.shift(&mut block.until_ns);
                block.worst.iter_mut().for_each(|worst| self.shift(&mut worst.at_ns));
                Line::Block(block)
            }
            Line::Finished(mut finished) => {
                self.place(&mut finished.condition, &mut finished.round);
                self.shift(&mut finished.at_ns);
                Line::Finished(finished)
            }
            Line::Load(mut load) => {
                load.conditions.iter_mut().for_each(|condition| *condition = self.condition(*condition));
                load.round = self.round(load.round);
                self.shift(&mut load.from_ns);
                self.shift(&mut load.until_ns);
                Line::Load(load)
            }
            Line::Header(_)
            | Line::Caveat(_)
            | Line::Boot(_)
            | Line::BootEnded(_)
            | Line::Resumed(_)
            | Line::End(_) => line,
        }
    }

    fn place(&mut self, condition: &mut u32, round: &mut u32) {
        *condition = self.condition(*condition);
        *round = self.round(*round);
        let next = &mut self.next_round[self.current.kind];
        *next = (*next).max(*round + 1);
    }

    fn condition(&self, of_guest: u32) -> u32 {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        of_guest.saturating_mul(count(self.kinds.len())).saturating_add(count(self.current.kind))
    }

    const fn round(&self, of_guest: u32) -> u32 {
        of_guest.saturating_add(self.current.first_round)
    }

    fn shift(&self, time: &mut MonotonicTime) {
        *time = MonotonicTime::from_nanos(time.as_nanos().saturating_add(self.current.moved_by));
    }
}

/// Conditions without what differs from guest to guest.
fn comparable(header: &Header) -> Vec<Condition> {
    let without = |condition: &Condition| Condition { kernel: String::new(), ..condition.clone() };
    header.conditions.iter().map(without).collect()
}

#[cfg(test)]
mod tests {
    use howlate_model::{Block, Instrument, Load, Policy, Span, System, Wait, Work};

    use super::*;

    fn header(kernel: &str, at: i64, periods: &[u64]) -> Header {
        let condition = |period: &u64| Condition {
            work: Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_micros(*period) },
            policy: Policy::OTHER,
            slack_ns: None,
            cpu: None,
            thread: 0,
            load: Load::IDLE,
            kernel: kernel.into(),
            on_host: None,
        };
        Header {
            format: 1,
            howlate: String::new(),
            command: "cyclic".into(),
            arguments: vec![],
            started: String::new(),
            at_ns: MonotonicTime::from_nanos(at),
            clock: String::new(),
            seed: 0,
            system: System::default(),
            findings: vec![],
            settings: vec![],
            instrument: Instrument::default(),
            conditions: periods.iter().map(condition).collect(),
        }
    }

    fn kinds() -> Vec<Kind> {
        ["6.1", "6.1-rt"].map(|kernel| Kind { kernel: kernel.into(), on_host: OnHost::default() }).into()
    }

    fn block(condition: u32, round: u32, from: i64) -> Line {
        let from_ns = MonotonicTime::from_nanos(from);
        Line::Block(Box::new(Block { condition, round, from_ns, until_ns: from_ns, ..Block::default() }))
    }

    /// Condition, round and time of a line after merging.
    fn place(line: Line) -> (u32, u32, i64) {
        let Line::Block(block) = line else { panic!("a block stays a block") };
        (block.condition, block.round, block.from_ns.as_nanos())
    }

    #[test]
    fn kinds_stand_side_by_side() {
        let merge = Merge::new(kinds(), &header("6.1", 0, &[1000, 2000]));
        let got: Vec<_> =
            merge.conditions().into_iter().map(|one| (one.work.length().to_string(), one.kernel)).collect();
        let wanted = [("1ms", "6.1"), ("1ms", "6.1-rt"), ("2ms", "6.1"), ("2ms", "6.1-rt")];
        assert_eq!(got, wanted.map(|(length, kernel)| (length.to_owned(), kernel.to_owned())));
    }

    #[test]
    fn rounds_go_on_and_times_move_to_the_host() {
        // boot      6.1          6.1-rt       6.1-rt
        // arrives   10_000       20_000       30_000     guest's clock then: 500, 700, 900
        let mut merge = Merge::new(kinds(), &header("6.1", 500, &[1000, 2000]));
        let arrived = MonotonicTime::from_nanos;
        assert_eq!(merge.boot(0, &header("6.1", 500, &[1000, 2000]), arrived(10_000)), Ok((0, 9_500)));
        assert_eq!(place(merge.line(block(1, 0, 600))), (2, 0, 10_100));
        assert_eq!(place(merge.line(block(1, 1, 800))), (2, 1, 10_300));
        assert_eq!(merge.boot(1, &header("x", 700, &[1000, 2000]), arrived(20_000)), Ok((0, 19_300)));
        assert_eq!(place(merge.line(block(0, 0, 700))), (1, 0, 20_000));
        assert_eq!(merge.boot(1, &header("x", 900, &[1000, 2000]), arrived(30_000)), Ok((1, 29_100)));
        assert_eq!(place(merge.line(block(1, 0, 900))), (3, 1, 30_000));
    }

    #[test]
    fn a_guest_that_measures_something_else_is_refused() {
        let mut merge = Merge::new(kinds(), &header("6.1", 0, &[1000]));
        assert_eq!(
            merge.boot(1, &header("6.1-rt", 0, &[1000, 2000]), MonotonicTime::default()),
            Err(OtherConditions)
        );
    }
}
