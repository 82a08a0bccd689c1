//! Every sample of `testdata/foreign`, wrapped and damaged in every way that is known: each variant is read as the sample is, or
//! says what it lacks, or is refused. None is silently wrong.

use howlate_model::{Caveat, Distribution, EndReason, ImportNote, Line, RecordingEnd};

use crate::draft::Imported;
use crate::formats::FORMATS;
use crate::{ImportError, ImportOptions, import};

/// What is read of one row.
#[derive(Clone, Debug, PartialEq)]
struct VariantRow {
    name: Option<String>,
    cpu: Option<u32>,
    count: u64,
    /// Nanoseconds: the smallest, the median, the 99th percentile and the largest.
    numbers: [i64; 4],
    clipped: Option<i64>,
}

/// A sample: its name, its bytes, and what is read of it.
struct VariantSample {
    name: &'static str,
    text: String,
    rows: Vec<VariantRow>,
    notes: Vec<ImportNote>,
}

fn rows(imported: &Imported) -> Vec<VariantRow> {
    let conditions = imported.header.conditions.iter().zip(0_u32..);
    let row = |(condition, number): (&howlate_model::Condition, u32)| {
        let mut all = Distribution::default();
        for line in &imported.lines {
            if let Line::Block(block) = line
                && block.condition == number
            {
                all.merge(&block.latency);
            }
        }
        let nanos =
            |latency: Option<howlate_model::Latency>| latency.map_or(-1, howlate_model::Latency::as_nanos);
        VariantRow {
            name: condition.name.clone(),
            cpu: condition.cpu,
            count: all.count(),
            numbers: [all.min(), all.quantile(0.5), all.quantile(0.99), all.max()].map(nanos),
            clipped: all.clipped().map(howlate_model::Latency::as_nanos),
        }
    };
    conditions.map(row).collect()
}

fn notes(imported: &Imported) -> Vec<ImportNote> {
    let of = |line: &Line| match line {
        Line::Caveat(Caveat::Imported { notes, .. }) => notes.clone(),
        Line::End(RecordingEnd { how: EndReason::CutOff, .. }) => vec![ImportNote::CutOff],
        _ => Vec::new(),
    };
    imported.lines.iter().flat_map(of).collect()
}

fn read(bytes: &[u8]) -> Option<Result<Imported, ImportError>> {
    import(bytes, ImportOptions::default())
}

fn samples() -> Vec<VariantSample> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/foreign");
    let sample = |name: &&'static str| {
        let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
        let imported = read(text.as_bytes()).unwrap_or_else(|| panic!("{name} is of no format"));
        let imported = imported.unwrap_or_else(|error| panic!("{name}: {error}"));
        VariantSample { name, text, rows: rows(&imported), notes: notes(&imported) }
    };
    FORMATS.iter().flat_map(|format| format.samples).map(sample).collect()
}

/// Each line with something in front of it.
fn prefixed(text: &str, prefix: impl Fn(usize) -> String) -> String {
    text.lines().enumerate().map(|(number, line)| format!("{}{line}\n", prefix(number))).collect()
}

fn in_json(line: &str) -> String {
    serde_json::to_string(line).unwrap()
}

/// A text in all wrappings, each with its name.
fn wrappings(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let time = |number: usize| format!("2026-05-01T12:{:02}:{:02}.123456789Z", number / 60 % 60, number % 60);
    let lava = |line: &str| {
        format!("- {{\"dt\": \"2026-05-01T12:00:00.1\", \"lvl\": \"target\", \"msg\": {}}}\n", in_json(line))
    };
    let docker = |line: &str| {
        format!(
            "{{\"log\":{},\"stream\":\"stdout\",\"time\":\"2026-05-01T12:00:00Z\"}}\n",
            in_json(&format!("{line}\n"))
        )
    };
    let yaml = |line: &str| {
        format!("- {{dt: '2026-05-01T12:00:00', lvl: target, msg: '{}'}}\n", line.replace('\'', "''"))
    };
    let texts = [
        ("indented", prefixed(text, |_| "    ".into())),
        ("indented by tabs", prefixed(text, |_| "\t".into())),
        ("quoted", prefixed(text, |_| "> ".into())),
        ("quoted twice", prefixed(text, |_| "> > ".into())),
        ("kubectl", prefixed(text, |number| format!("{} ", time(number)))),
        ("kubectl with names", prefixed(text, |number| format!("[pod/rt-7/main] {} ", time(number)))),
        ("docker compose", prefixed(text, |_| "cyclictest-1  | ".into())),
        ("journald", prefixed(text, |number| format!("May 01 12:00:{:02} rt7 measure[811]: ", number % 60))),
        ("journald, iso", prefixed(text, |_| "2026-05-01T12:00:00+0000 rt7 measure[811]: ".into())),
        ("CRI", prefixed(text, |number| format!("{} stdout F ", time(number)))),
        ("GitHub", prefixed(text, |number| format!("rt\tMeasure\t{} ", time(number)))),
        ("a console", prefixed(text, |number| format!("[   {number}.123456] "))),
        ("LAVA", text.lines().map(lava).collect()),
        ("LAVA, yaml", text.lines().map(yaml).collect()),
        ("docker", text.lines().map(docker).collect()),
        ("Markdown", format!("# What I measured\n\n```\n{text}\n```\nIs that good?\n")),
        ("a log", format!("Starting the test\nuname: Linux rt7\n\n{text}\n\nAll done, 1 of 1 passed\n")),
        (
            "a diff",
            format!("--- /dev/null\n+++ b/result\n@@ -0,0 +1,99 @@\n{}", prefixed(text, |_| "+".into())),
        ),
        ("Windows", text.replace('\n', "\r\n")),
        ("a mark", format!("\u{feff}{text}")),
    ];
    let wide = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    texts.into_iter().map(|(name, text)| (name, text.into_bytes())).chain([("UTF-16", wide)]).collect()
}

#[test]
fn what_wraps_a_file_changes_nothing_of_it() {
    for VariantSample { name, text, rows: expected, .. } in samples() {
        for (wrapping, bytes) in wrappings(&text) {
            let imported =
                read(&bytes).unwrap_or_else(|| panic!("{name}, {wrapping}: nothing is recognised"));
            let imported = imported.unwrap_or_else(|error| panic!("{name}, {wrapping}: {error}"));
            assert_eq!(rows(&imported), expected, "{name}, {wrapping}");
        }
    }
}

/// As `>>` leaves it: what was measured twice is two results.
#[test]
fn two_results_in_a_file_are_two() {
    for VariantSample { name, text, rows: expected, .. } in samples() {
        // Tables of bcc have no beginning and no end: those of the same key are intervals of one run. A log of HdrHistogram that repeats
        // itself is none.
        if ["runqlat.txt", "bpftrace.txt", "hiccups.hlog", "requests.hlog", "cyclictest-rows.txt"]
            .contains(&name)
        {
            continue;
        }
        let imported = read(format!("{text}\n=== again ===\n{text}").as_bytes()).unwrap().unwrap();
        let found = rows(&imported);
        assert_eq!(found.len(), 2 * expected.len(), "{name}");
        for (place, row) in found.iter().enumerate() {
            let item = &expected[place % expected.len()];
            assert_eq!((row.count, row.numbers), (item.count, item.numbers), "{name}");
            assert!(
                row.name.as_ref().is_some_and(|name| name.starts_with("result ")) || name == "latency.hgrm",
                "{name}"
            );
        }
    }
}

/// Lines of two containers, mixed.
#[test]
fn two_sources_in_a_log_are_two_results() {
    for VariantSample { name, text, rows: expected, .. } in
        samples().into_iter().filter(|item| item.name.ends_with(".txt"))
    {
        let mixed: String = text.lines().map(|line| format!("rt-1  | {line}\nrt-2  | {line}\n")).collect();
        let found = rows(&read(mixed.as_bytes()).unwrap().unwrap());
        assert_eq!(found.len(), 2 * expected.len(), "{name}");
        for (row, item) in found.iter().zip(expected.iter().chain(&expected)) {
            assert_eq!((row.count, row.numbers), (item.count, item.numbers), "{name}");
            assert!(row.name.as_ref().is_some_and(|name| name.starts_with("rt-")), "{name}: {row:?}");
        }
    }
}

/// Whether a row is that of the sample, or says less of it: percentiles as bounds, or further up.
fn is_true(row: &VariantRow, expected: &VariantRow, notes: &[ImportNote]) -> bool {
    let is_bound = |number: i64, expected: i64| row.clipped == Some(number) && number <= expected;
    let has = |is_it: fn(&ImportNote) -> bool| notes.iter().any(is_it);
    // What a note says of all values: they count at the end of a bucket, or at its beginning.
    let of_percentiles = has(|note| *note == ImportNote::PercentilesOnly);
    let at_ends = has(|note| matches!(note, ImportNote::EndsOfBuckets { .. }));
    let at_starts = has(|note| matches!(note, ImportNote::StartsOfBuckets { .. }));
    let is_further_up = |place: usize| {
        let is_upper = of_percentiles && place < 3 || at_ends;
        let is_lower = at_starts && row.numbers[place] <= expected.numbers[place];
        is_lower || is_upper && row.numbers[place] >= expected.numbers[place]
    };
    let numbers = row.numbers.iter().zip(expected.numbers).enumerate();
    let mut numbers = numbers.map(|(place, (number, expected))| {
        *number == expected || is_bound(*number, expected) || is_further_up(place)
    });
    row.count == expected.count && numbers.all(|is_true| is_true)
}

/// What a damaged variant came to, if that is silently wrong.
fn silently_wrong(bytes: &[u8], sample: &VariantSample) -> Option<String> {
    let Some(Ok(imported)) = read(bytes) else { return None };
    let (found, printed_notes) = (rows(&imported), notes(&imported));
    let is_said = |note: &&ImportNote| {
        use ImportNote as Note;
        let of_loss = matches!(
            note,
            Note::Disagrees { .. }
                | Note::RowsMissing { .. }
                | Note::CutOff
                | Note::LeftOut { .. }
                | Note::CyclesMissing { .. }
                | Note::OverflowsMissing
                | Note::SeveralResults { .. }
                | Note::BeyondTheLastBucket { .. }
        );
        of_loss && !sample.notes.contains(note)
    };
    let is_always_cut = sample.notes.contains(&ImportNote::CutOff);
    let of_known = |row: &&VariantRow| {
        sample.rows.iter().any(|expected| {
            expected.name == row.name
                && (row.cpu.is_none() || expected.cpu == row.cpu)
                && is_true(row, expected, &printed_notes)
        })
    };
    let is_known = found.len() == sample.rows.len() && found.iter().filter(of_known).count() == found.len();
    (!is_known && !is_always_cut && printed_notes.iter().find(is_said).is_none())
        .then(|| format!("{found:?} of {:?}", sample.rows))
}

/// Damage that leaves no trace in a format, and why.
fn leaves_no_trace(sample: &str, damage: &str, line: &str) -> bool {
    match (sample, damage) {
        // They do not say where they end, nor how many lines there are.
        ("hiccups.hlog" | "requests.hlog", "a line less" | "cut after a line") => true,
        ("cyclictest-verbose.txt" | "runqlat.txt" | "bpftrace.txt", "cut after a line") => true,
        // The first rows, or the last ones, of tables without a total.
        ("runqlat.txt" | "bpftrace.txt", "a line less") => true,
        ("cyclictest-verbose.txt", "a line less") => line.contains(':'),
        // Empty rows are left out, and no total is printed.
        ("cyclictest-2.10.txt", "a line less") => line.starts_with("00"),
        // No total is written.
        ("oslat.json" | "oslat-width.json", "a line less") => line.contains("\": "),
        ("oslat.txt" | "oslat-width.txt", "a line less") => line.contains("(us)"),
        // The unit is in a comment.
        ("latency.hgrm", _) => line.starts_with("#["),
        _ => false,
    }
}

/// What is wrong with a damaged variant, if anything is.
fn check(sample: &VariantSample, damage: &str, line: &str, bytes: &[u8]) -> Option<String> {
    if leaves_no_trace(sample.name, damage, line) {
        return None;
    }
    let wrong = silently_wrong(bytes, sample)?;
    Some(format!("{}, {damage} (`{}`): {wrong}", sample.name, line.chars().take(60).collect::<String>()))
}

/// Of long files, some of the lines.
fn places(lines: usize) -> impl Iterator<Item = usize> {
    let step = (lines / 40).max(1);
    (0..lines).filter(move |place| *place < 12 || place % step == 0 || *place + 12 > lines)
}

#[test]
fn a_damaged_file_is_read_in_part_with_a_word_or_refused() {
    let mut wrong = Vec::new();
    for sample in samples() {
        let lines: Vec<&str> = sample.text.lines().collect();
        let joined = |lines: &[&str]| format!("{}\n", lines.join("\n")).into_bytes();
        for place in places(lines.len()) {
            let line = lines[place];
            let mut less = lines.clone();
            less.remove(place);
            wrong.extend(check(&sample, "a line less", line, &joined(&less)));
            let mut twice = lines.clone();
            twice.insert(place, line);
            wrong.extend(check(&sample, "a line twice", line, &joined(&twice)));
            let mut swapped = lines.clone();
            swapped.swap(place, (place + 1).min(lines.len() - 1));
            wrong.extend(check(&sample, "two lines swapped", line, &joined(&swapped)));
            wrong.extend(check(&sample, "cut after a line", line, &joined(&lines[..=place])));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_that_was_cut_within_a_line_has_no_number_that_is_none() {
    let mut wrong = Vec::new();
    for sample in samples() {
        let step = (sample.text.len() / 150).max(1);
        for cut in (1..sample.text.len()).filter(|cut| cut % step == 0 || *cut + 60 > sample.text.len()) {
            let Some(text) = sample.text.get(..cut) else { continue };
            let line = text.lines().last().unwrap_or_default();
            if text.ends_with('\n') {
                wrong.extend(check(&sample, "cut after a line", line, text.as_bytes()));
            } else if !leaves_no_trace(sample.name, "cut after a line", line) {
                wrong.extend(check(&sample, "cut within a line", line, text.as_bytes()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_diff_of_a_result_is_no_result() {
    for sample in samples().into_iter().filter(|sample| sample.text.lines().count() > 10) {
        let text = format!(
            "--- a/result\n+++ b/result\n@@ -1,9 +1,9 @@\n{}",
            prefixed(&sample.text, |_| "+".into())
        );
        let refused = read(text.as_bytes()).unwrap().unwrap_err();
        assert!(matches!(refused, ImportError::Diff { .. }), "{}: {refused}", sample.name);
    }
}
