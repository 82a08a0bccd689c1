//! What is known of a file, and the lines that it becomes.

use howlate_model::{
    Block, Caveat, Condition, Distribution, End, Foreign, Header, HowEnded, ImportNote, Line, MonotonicTime,
    Policy, Span, System, Work,
};
use jiff::Timestamp;

use crate::MOST_ROOM;
use crate::error::ImportError;
use crate::json::SystemInfo;

/// More threads, CPUs or tags than are read of one file: each takes up to 40 KiB.
pub(crate) const MOST_SERIES: usize = 2_048;

/// A file of another program, as a recording's header and the lines after it.
#[derive(Clone, Debug)]
pub struct Imported {
    /// What is known of the run.
    pub header: Header,
    /// What it measured, as the lines of a recording.
    pub lines: Vec<Line>,
}

/// What a file says of its run.
#[derive(Default)]
pub(crate) struct Draft {
    /// The program with its version, as the result is headed.
    pub(crate) program: String,
    /// RFC 3339; empty where it is not said.
    pub(crate) started: String,
    pub(crate) system: System,
    pub(crate) series: Vec<Series>,
    /// What else a reader must know.
    pub(crate) notes: Vec<ImportNote>,
}

/// What one thread, or one CPU, was found to do.
pub(crate) struct Series {
    pub(crate) mechanism: Foreign,
    pub(crate) thread: u32,
    pub(crate) cpu: Option<u32>,
    pub(crate) period: Option<Span>,
    pub(crate) policy: Option<Policy>,
    /// Whether the file says that there was no load; no format names one.
    pub(crate) idle: bool,
    pub(crate) stretches: Vec<Stretch>,
}

/// Latencies of one stretch of time; of none where the file does not say when.
pub(crate) struct Stretch {
    pub(crate) from: Span,
    pub(crate) until: Span,
    pub(crate) latency: Distribution,
}

impl Series {
    /// A series of which only the distribution is known.
    pub(crate) fn new(mechanism: Foreign, thread: usize, latency: Distribution) -> Self {
        let whole = Stretch { from: Span::ZERO, until: Span::ZERO, latency };
        Self {
            mechanism,
            thread: u32::try_from(thread).unwrap_or(u32::MAX),
            cpu: None,
            period: None,
            policy: None,
            idle: false,
            stretches: vec![whole],
        }
    }

    /// Bytes that its distributions take.
    pub(crate) fn room(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.latency.room()).sum()
    }

    fn condition(&self, kernel: &str) -> Condition {
        let work = Work::Foreign {
            mechanism: self.mechanism,
            period_ns: self.period,
            says_policy: self.policy.is_some(),
            says_load: self.idle,
        };
        Condition {
            policy: self.policy.unwrap_or(Policy::OTHER),
            cpu: self.cpu,
            thread: self.thread,
            ..Condition::new(work, kernel)
        }
    }
}

impl Draft {
    /// What rt-tests' programs say of themselves and of the machine.
    pub(crate) fn of_rt_tests(program: &str, version: &str, start_time: &str, machine: &SystemInfo) -> Self {
        Self {
            program: format!("{program} {version}").trim().to_owned(),
            started: date(start_time),
            system: system(machine),
            ..Self::default()
        }
    }

    /// The lines; what is not said in a caveat of its own.
    pub(crate) fn finish(self, program: &'static str) -> Result<Imported, ImportError> {
        let threads = self.series.len();
        if threads > MOST_SERIES {
            let what = format!("it has {threads} threads; {MOST_SERIES} threads at most are read");
            return Err(ImportError::Damaged { program, what });
        }
        if self.series.iter().map(Series::room).sum::<usize>() > MOST_ROOM {
            return Err(ImportError::Wide { program });
        }
        let header = self.header();
        let mut lines = vec![Line::Caveat(self.unsaid())];
        for (condition, series) in (0..).zip(self.series) {
            lines.extend(series.stretches.into_iter().map(|stretch| block(condition, stretch)));
        }
        let at = MonotonicTime::default();
        lines.push(Line::End(End { at, how: HowEnded::Done }));
        Ok(Imported { header, lines })
    }

    fn header(&self) -> Header {
        let conditions = self.series.iter().map(|series| series.condition(&self.system.kernel)).collect();
        Header {
            command: self.program.as_str().into(),
            started: self.started.clone(),
            clock: String::new(),
            system: self.system.clone(),
            ..Header::for_conditions(conditions)
        }
    }

    fn unsaid(&self) -> Caveat {
        let all = |known: fn(&Series) -> bool| self.series.iter().all(known);
        let known = [
            ("the policy", all(|series| series.policy.is_some())),
            ("the period", all(|series| series.period.is_some() || !series.mechanism.has_period())),
            ("the load", all(|series| series.idle)),
            ("the CPU", all(|series| series.cpu.is_some())),
            ("the kernel", !self.system.kernel.is_empty()),
            ("the date", !self.started.is_empty()),
        ];
        let what = known.into_iter().filter(|(_, known)| !known).map(|(what, _)| what.to_owned()).collect();
        Caveat::Imported { program: self.program.clone(), unsaid: what, notes: self.notes.clone() }
    }
}

fn block(condition: u32, stretch: Stretch) -> Line {
    let at = |span: Span| MonotonicTime::default().plus(span);
    Line::Block(Box::new(Block {
        condition,
        from: at(stretch.from),
        until: at(stretch.until),
        latency: stretch.latency,
        ..Block::default()
    }))
}

/// A machine of which only the kernel and the processor's architecture are known.
pub(crate) fn system(said: &SystemInfo) -> System {
    System {
        kernel: said.release.clone(),
        kernel_build: said.version.clone(),
        realtime_kernel: said.version.contains("PREEMPT_RT") || said.version.contains("PREEMPT RT"),
        architecture: said.machine.clone(),
        ..System::default()
    }
}

/// A date of RFC 2822 or RFC 3339 as RFC 3339; empty where it is neither.
pub(crate) fn date(text: &str) -> String {
    let by_mail = jiff::fmt::rfc2822::parse(text).map(|zoned| zoned.timestamp());
    let found: Result<Timestamp, _> = by_mail.or_else(|_| text.parse());
    found.map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
