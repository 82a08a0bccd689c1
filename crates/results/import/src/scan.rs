//! The one place where it is found out what a file is: line by line, as it is read.

use std::io::Read;

use howlate_model::ImportNote;
use serde_json::Value;

use crate::chunks::Chunks;
use crate::draft::{ImportDraft, Imported, finish};
use crate::error::ImportError;
use crate::format::{FileFormat, ImportOptions, LastLine, LineReader, Neighbour, Shape};
use crate::formats::FORMATS;
use crate::json_text::{JsonLine, JsonText};
use crate::neighbours::{NEIGHBOURS, json_neighbour};
use crate::wrapping::Unwrapping;

/// Maximum distinguished sources of lines in a file: containers, processes.
const MOST_STREAMS: usize = 256;

/// Bytes in which something has to be recognised: some devices never end.
const UNRECOGNISED: usize = 256 << 20;

/// What other programs print says at its beginning what it is.
const LINES_OF_NEIGHBOURS: usize = 4_096;

/// A file, as far as it was read.
pub(crate) struct FormatScan {
    options: ImportOptions,
    unwrapping: Unwrapping,
    /// By the first byte of a line, the formats whose sign it may be, a bit each.
    signs: Box<[u32; 256]>,
    streams: Vec<LineStream>,
    json: JsonText,
    drafts: Vec<ImportDraft>,
    /// Why parts of it are not read.
    refusals: Vec<ImportError>,
    neighbour: Option<&'static Neighbour>,
    lines: usize,
}

fn signs() -> Box<[u32; 256]> {
    let mut signs = Box::new([0; 256]);
    for (bit, format) in (0..u32::BITS).zip(FORMATS) {
        let Shape::Lines { first, .. } = &format.shape else { continue };
        first.iter().for_each(|byte| signs[usize::from(*byte)] |= 1_u32.wrapping_shl(bit));
    }
    signs
}

/// Lines of one source, as one format takes them.
struct LineStream {
    source: String,
    format: usize,
    reader: Box<dyn LineReader>,
}

impl LineStream {
    /// Most files have no sources: to compare nothing with nothing takes processors long, at addresses that are not mapped.
    fn is_of(&self, source: &str) -> bool {
        if source.is_empty() { self.source.is_empty() } else { self.source == source }
    }
}

impl FormatScan {
    pub(crate) fn new(options: ImportOptions) -> Self {
        Self {
            options,
            unwrapping: Unwrapping::default(),
            signs: signs(),
            streams: Vec::new(),
            json: JsonText::default(),
            drafts: Vec::new(),
            refusals: Vec::new(),
            neighbour: None,
            lines: 0,
        }
    }

    /// Reads all of it; `None` where nothing is recognised.
    pub(crate) fn run(mut self, file: impl Read) -> Option<Result<Imported, ImportError>> {
        match self.read(file) {
            Ok(last) => self.finish(last).transpose(),
            Err(error) => Some(Err(error)),
        }
    }

    fn read(&mut self, file: impl Read) -> Result<LastLine, ImportError> {
        let (mut chunks, mut last, mut length) = (Chunks::new(file), LastLine::Whole, 0_usize);
        while let Some((text, end)) = chunks.next()? {
            last = end;
            length = length.saturating_add(text.len());
            if length > UNRECOGNISED && self.streams.is_empty() && self.drafts.is_empty() {
                break;
            }
            text.lines().try_for_each(|line| self.line(line, end))?;
        }
        Ok(last)
    }

    fn line(&mut self, line: &str, end: LastLine) -> Result<(), ImportError> {
        self.lines = self.lines.saturating_add(1);
        let Some(bare) = self.unwrapping.unwrap(line) else { return Ok(()) };
        match self.json.line(&bare.text)? {
            JsonLine::Part => return Ok(()),
            JsonLine::End(value) => return self.value(&value),
            JsonLine::None => {}
        }
        let (text, source) = (&*bare.text, bare.source);
        if text.is_empty() {
            return Ok(());
        }
        self.look_for_signs(text, source);
        let mut of_source = self.streams.iter_mut().filter(|stream| stream.is_of(source));
        of_source.try_for_each(|stream| match end {
            LastLine::Whole => stream.reader.line(text),
            LastLine::Open => stream.reader.open_line(text),
        })
    }

    /// Begins each format whose sign this line is.
    fn look_for_signs(&mut self, text: &str, source: &str) {
        let first = text.bytes().next().unwrap_or_default();
        let mut may_be = self.signs[usize::from(first)];
        while may_be != 0 {
            let format = may_be.trailing_zeros() as usize;
            may_be &= may_be.wrapping_sub(1);
            let Shape::Lines { is_sign, begin, .. } = &FORMATS[format].shape else { continue };
            if !is_sign(text) || self.streams.len() >= MOST_STREAMS || self.is_begun(format, source) {
                continue;
            }
            self.streams.push(LineStream { source: source.to_owned(), format, reader: begin(self.options) });
        }
        if self.neighbour.is_none() && self.lines <= LINES_OF_NEIGHBOURS {
            self.neighbour = NEIGHBOURS.iter().find(|neighbour| (neighbour.is_sign)(text));
        }
    }

    fn is_begun(&self, format: usize, source: &str) -> bool {
        self.streams.iter().any(|stream| stream.format == format && stream.is_of(source))
    }

    fn value(&mut self, value: &Value) -> Result<(), ImportError> {
        for format in FORMATS {
            let FileFormat { shape: Shape::Json { is_it, read }, .. } = format else { continue };
            if is_it(value) {
                return self.take(read(value).map(|draft| vec![draft]));
            }
        }
        if self.neighbour.is_none() {
            self.neighbour = json_neighbour(value);
        }
        Ok(())
    }

    /// Takes what a part of it gave: what is damaged refuses the whole, and what has nothing to read is left out.
    fn take(&mut self, part: Result<Vec<ImportDraft>, ImportError>) -> Result<(), ImportError> {
        match part {
            Ok(drafts) => self.drafts.extend(drafts),
            Err(error) if error.is_of_a_part() => self.refusals.push(error),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn finish(mut self, last: LastLine) -> Result<Option<Imported>, ImportError> {
        let several = self.streams.len() > 1;
        for LineStream { source, reader, .. } in std::mem::take(&mut self.streams) {
            let name = (several && !source.is_empty()).then_some(source);
            let drafts = reader.finish(last);
            self.take(
                drafts.map(|drafts| drafts.into_iter().map(|item| item.or_named(name.as_deref())).collect()),
            )?;
        }
        self.refusals.extend(self.json.cut_off(self.lines));
        let Some(first) = self.drafts.first_mut() else { return self.nothing_read() };
        let left_out = self.refusals.iter().map(|refusal| ImportNote::LeftOut { what: refusal.to_string() });
        first.notes.extend(left_out);
        let program = first.of;
        if self.unwrapping.is_of_parts() {
            return Err(ImportError::Diff { program });
        }
        if let Some(empty) = self.drafts.iter().find(|draft| draft.is_empty()) {
            return Err(ImportError::damaged(empty.of, "it counts no values"));
        }
        let has_unit = self.drafts.iter().all(|draft| !draft.lacks_unit);
        if let Some(unit) = self.options.unit.filter(|_| has_unit) {
            return Err(ImportError::UnitSaid { program, unit });
        }
        finish(self.drafts).map(Some)
    }

    /// Why a file in which there is nothing to read is none.
    fn nothing_read(self) -> Result<Option<Imported>, ImportError> {
        let neighbour = self
            .neighbour
            .map(|neighbour| ImportError::Neighbour { what: neighbour.what, remedy: neighbour.remedy });
        self.refusals.into_iter().next().or(neighbour).map_or(Ok(None), Err)
    }
}
