//! What is known of a file, and the lines that it becomes.

use howlate_model::{
    Block, Caveat, Condition, Distribution, EndReason, ForeignTool, Header, ImportNote, Line, MonotonicTime,
    Policy, RecordingEnd, Span, System, Work,
};
use jiff::Timestamp;

use crate::MOST_ROOM;
use crate::error::ImportError;
use crate::histogram::{Findings, Linear};
use crate::json::{RtTestsRun, SystemInfo};

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
pub(crate) struct ImportDraft {
    /// The program that wrote it.
    pub(crate) of: &'static str,
    /// Name with its version, for the heading of results.
    pub(crate) program: String,
    /// Name of this result among those of the file.
    pub(crate) name: Option<String>,
    /// RFC 3339; empty where it is not said.
    pub(crate) started: String,
    pub(crate) system: System,
    pub(crate) series: Vec<ImportedSeries>,
    /// What else a reader must know.
    pub(crate) notes: Vec<ImportNote>,
    /// Whether it does not say its unit.
    pub(crate) lacks_unit: bool,
    /// Whether it ends in the middle.
    pub(crate) is_cut: bool,
}

/// What one thread, or one CPU, was found to do.
pub(crate) struct ImportedSeries {
    pub(crate) mechanism: ForeignTool,
    pub(crate) thread: u32,
    /// What the file calls it, where it has a name.
    pub(crate) name: Option<String>,
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

impl Imported {
    /// Several files as the results of one, each named.
    ///
    /// # Errors
    ///
    /// When they take more memory together than one may.
    pub fn joined(parts: Vec<(String, Self)>) -> Result<Self, ImportError> {
        let mut parts = parts.into_iter();
        let Some((name, mut all)) = parts.next() else {
            return Err(ImportError::damaged("another program", "there is no file"));
        };
        let mut room = all.room();
        all.name_rows(&name);
        let mut is_cut = all.take_end();
        for (name, mut part) in parts {
            part.name_rows(&name);
            is_cut |= part.take_end();
            room = room.saturating_add(part.room());
            if room > MOST_ROOM {
                return Err(ImportError::Wide { program: "another program" });
            }
            all.append(part);
        }
        all.lines.push(end(is_cut));
        Ok(all)
    }

    fn room(&self) -> usize {
        let room = |line: &Line| if let Line::Block(block) = line { block.latency.heap_bytes() } else { 0 };
        self.lines.iter().map(room).sum()
    }

    fn name_rows(&mut self, file: &str) {
        for condition in &mut self.header.conditions {
            condition.name = Some(named(file, condition.name.as_deref()));
        }
    }

    /// Whether it was cut off, as its end says, which is taken from it.
    fn take_end(&mut self) -> bool {
        matches!(self.lines.pop(), Some(Line::End(RecordingEnd { how: EndReason::CutOff, .. })))
    }

    fn append(&mut self, part: Self) {
        let first = u32::try_from(self.header.conditions.len()).unwrap_or(u32::MAX);
        self.header.conditions.extend(part.header.conditions);
        self.lines.extend(part.lines.into_iter().map(|mut line| {
            if let Line::Block(block) = &mut line {
                block.condition = block.condition.saturating_add(first);
            }
            line
        }));
    }
}

/// A row's name within what is called `whole`.
fn named(whole: &str, part: Option<&str>) -> String {
    part.map_or_else(|| whole.to_owned(), |part| format!("{whole}: {part}"))
}

/// What came after the end of a file may be what exceeds a limit: then none is kept.
fn end(is_cut: bool) -> Line {
    let how = if is_cut { EndReason::CutOff } else { EndReason::Done };
    Line::End(RecordingEnd { at: MonotonicTime::default(), how })
}

impl ImportedSeries {
    /// A series of which only the distribution is known.
    pub(crate) fn new(mechanism: ForeignTool, thread: usize, latency: Distribution) -> Self {
        let whole = Stretch { from: Span::ZERO, until: Span::ZERO, latency };
        Self {
            mechanism,
            thread: u32::try_from(thread).unwrap_or(u32::MAX),
            name: None,
            cpu: None,
            period: None,
            policy: None,
            idle: false,
            stretches: vec![whole],
        }
    }

    /// The series with the file's name for it.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), thread: 0, ..self }
    }

    /// Bytes that its distributions take.
    pub(crate) fn room(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.latency.heap_bytes()).sum()
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
            name: self.name.clone(),
            ..Condition::new(work, kernel)
        }
    }
}

impl ImportDraft {
    /// Of a program that says nothing of its run.
    pub(crate) fn new(of: &'static str) -> Self {
        Self { of, program: of.to_owned(), ..Self::default() }
    }

    /// The draft with this name, if it has none.
    pub(crate) fn or_named(mut self, name: Option<&str>) -> Self {
        self.name = self.name.or_else(|| name.map(str::to_owned));
        self
    }

    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        let mut stretches = self.series.iter().flat_map(|series| &series.stretches);
        stretches.all(|stretch| stretch.latency.is_empty())
    }

    /// What rt-tests' programs say of themselves and of the machine.
    pub(crate) fn of_rt_tests(program: &'static str, run: &RtTestsRun) -> Self {
        Self {
            of: program,
            program: format!("{program} {}", run.version).trim().to_owned(),
            started: date(&run.start_time),
            system: system(&run.sysinfo),
            ..Self::default()
        }
    }

    /// Takes the histograms of a table as series, each made of its place and its distribution.
    pub(crate) fn take(
        &mut self,
        tables: Vec<Linear>,
        series: impl Fn(usize, Distribution) -> ImportedSeries,
    ) {
        self.say(tables.iter().map(Linear::findings));
        let distributions = tables.into_iter().map(Linear::distribution).enumerate();
        self.series.extend(distributions.map(|(place, all)| series(place, all)));
    }

    /// Says what was found of its histograms.
    pub(crate) fn say<'a>(&mut self, findings: impl Iterator<Item = &'a Findings>) {
        self.notes.extend(Findings::notes(findings));
    }

    /// That it ends in the middle.
    pub(crate) fn cut_off(&mut self) {
        self.is_cut = true;
        self.notes.push(ImportNote::CutOff);
    }

    /// Names its rows after itself, to tell them from those of other results.
    fn name_rows(&mut self, number: usize) {
        let result = self.name.clone().unwrap_or_else(|| format!("result {number}"));
        for series in &mut self.series {
            series.name = Some(named(&result, series.name.as_deref()));
        }
    }

    fn missing_properties(&self) -> Caveat {
        let all = |is_present: fn(&ImportedSeries) -> bool| self.series.iter().all(is_present);
        let is_present = [
            ("the policy", all(|series| series.policy.is_some())),
            ("the period", all(|series| series.period.is_some() || !series.mechanism.has_period())),
            ("the load", all(|series| series.idle)),
            ("the CPU", all(|series| series.cpu.is_some())),
            ("the kernel", !self.system.kernel.is_empty()),
            ("the date", !self.started.is_empty()),
        ];
        let missing = is_present
            .into_iter()
            .filter(|(_, is_present)| !is_present)
            .map(|(missing, _)| missing.to_owned())
            .collect();
        Caveat::Imported { program: self.program.clone(), unsaid: missing, notes: self.notes.clone() }
    }
}

/// The lines of all results of a file, under one header: that of the first.
pub(crate) fn finish(mut drafts: Vec<ImportDraft>) -> Result<Imported, ImportError> {
    let several = drafts.len();
    if several > 1 {
        drafts.iter_mut().zip(1..).for_each(|(draft, number)| draft.name_rows(number));
        drafts[0].notes.insert(0, ImportNote::SeveralResults { count: several });
    }
    check_room(&drafts)?;
    let header = header(&drafts);
    let is_cut = drafts.iter().any(|draft| draft.is_cut);
    let mut lines: Vec<Line> = drafts.iter().map(|draft| Line::Caveat(draft.missing_properties())).collect();
    let series = drafts.into_iter().flat_map(|draft| draft.series);
    for (condition, series) in (0..).zip(series) {
        lines.extend(series.stretches.into_iter().map(|stretch| block(condition, stretch)));
    }
    lines.push(end(is_cut));
    Ok(Imported { header, lines })
}

fn check_room(drafts: &[ImportDraft]) -> Result<(), ImportError> {
    let program = drafts[0].of;
    let threads: usize = drafts.iter().map(|draft| draft.series.len()).sum();
    if threads > MOST_SERIES {
        let what = format!("it has {threads} threads; {MOST_SERIES} threads at most are read");
        return Err(ImportError::Damaged { program, what });
    }
    let room: usize = drafts.iter().flat_map(|draft| &draft.series).map(ImportedSeries::room).sum();
    if room > MOST_ROOM { Err(ImportError::Wide { program }) } else { Ok(()) }
}

fn header(drafts: &[ImportDraft]) -> Header {
    let of = |draft: &ImportDraft| {
        draft.series.iter().map(|series| series.condition(&draft.system.kernel)).collect::<Vec<_>>()
    };
    let conditions = drafts.iter().flat_map(of).collect();
    let first = &drafts[0];
    Header {
        command: first.program.as_str().into(),
        started: first.started.clone(),
        clock: String::new(),
        system: first.system.clone(),
        ..Header::for_conditions(conditions)
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
pub(crate) fn system(info: &SystemInfo) -> System {
    System {
        kernel: info.release.clone(),
        kernel_build: info.version.clone(),
        realtime_kernel: info.version.contains("PREEMPT_RT") || info.version.contains("PREEMPT RT"),
        architecture: info.machine.clone(),
        ..System::default()
    }
}

/// A date of RFC 2822 or RFC 3339 as RFC 3339; empty where it is neither.
pub(crate) fn date(text: &str) -> String {
    let by_mail = jiff::fmt::rfc2822::parse(text).map(|zoned| zoned.timestamp());
    let found: Result<Timestamp, _> = by_mail.or_else(|_| text.parse());
    found.map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The results of one file, in their order.
#[derive(Default)]
pub(crate) struct FileResults {
    drafts: Vec<ImportDraft>,
    /// Why one of several has none.
    left_out: Option<ImportError>,
}

impl FileResults {
    /// Adds one. Of several, one may be without a histogram; any other error is of the whole file.
    pub(crate) fn add(&mut self, result: Result<ImportDraft, ImportError>) -> Result<(), ImportError> {
        match result {
            Ok(draft) => self.drafts.push(draft),
            Err(error) if error.is_of_a_part() => self.left_out = Some(error),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// All of them; the first says what was left out.
    pub(crate) fn all(mut self) -> Result<Vec<ImportDraft>, ImportError> {
        let Some(first) = self.drafts.first_mut() else { return self.left_out.map_or(Ok(Vec::new()), Err) };
        first.notes.extend(self.left_out.map(|error| ImportNote::LeftOut { what: error.to_string() }));
        Ok(self.drafts)
    }
}
