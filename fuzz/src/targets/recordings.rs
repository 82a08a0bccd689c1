//! Recordings, imported results, and the histograms in them.

use std::io::Cursor;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use howlate_analyse::compare::Track;
use howlate_import::{ImportOptions, import};
use howlate_model::{Distribution, Latency, read_hdr};
use howlate_recording::Reader;
use howlate_render::{legible_line, legible_value};

use crate::{Target, corpus};

/// howlate's own format.
pub(crate) const RECORDING: Target =
    Target { name: "recording", seeds: recordings, body: |input| drop(read_recording(input)) };

/// Result files of other programs.
pub(crate) const IMPORT: Target =
    Target { name: "import", seeds: foreign_results, body: |input| drop(read_import(input)) };

/// Encoded HdrHistograms, with the count and the extremes that a recording has beside them.
pub(crate) const DISTRIBUTION: Target =
    Target { name: "distribution", seeds: histograms, body: read_distribution };

/// Header and a few lines of each kind of recording: with short inputs, more are run in a given time.
pub(crate) fn recordings() -> Vec<Vec<u8>> {
    const LINES: usize = 8;
    let shorten = |text: &Vec<u8>| {
        let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        lines.sort_by_key(|line| (!line.starts_with(b"{\"header\""), line.len() > 2_000));
        lines.truncate(LINES);
        lines.concat()
    };
    corpus::testdata("recordings/v1").iter().map(shorten).collect()
}

pub(crate) fn foreign_results() -> Vec<Vec<u8>> {
    corpus::testdata("foreign")
}

/// `None` if the input is not a recording, or damaged.
pub(crate) fn read_recording(input: &[u8]) -> Option<Track> {
    let mut reader = Reader::read(Cursor::new(input.to_vec()), Path::new("fuzzed")).ok()?;
    let mut track = Track::new(legible_value(reader.header().clone()).ok()?);
    for line in reader.by_ref() {
        track.add(&legible_line(line.ok()?).ok()?);
    }
    for outcome in track.analysis.outcomes() {
        drop((outcome.summary(), outcome.corrected_summary(), outcome.caveats()));
    }
    Some(track)
}

/// `None` if the input has no known format, or is damaged.
pub(crate) fn read_import(input: &[u8]) -> Option<Track> {
    let imported = import(input, ImportOptions::default())?.ok()?;
    let mut track = Track::new(legible_value(imported.header).ok()?);
    for line in imported.lines {
        track.add(&legible_line(line).ok()?);
    }
    for outcome in track.analysis.outcomes() {
        drop((outcome.summary(), outcome.caveats()));
    }
    Some(track)
}

fn histograms() -> Vec<Vec<u8>> {
    let encode = |latencies: &[i64]| {
        let mut distribution = Distribution::default();
        for &nanos in latencies {
            distribution.record_n(Latency::from_nanos(nanos), 1 + nanos.unsigned_abs() % 9);
        }
        let json = serde_json::to_value(&distribution).unwrap_or_default();
        BASE64.decode(json["hdr"].as_str().unwrap_or_default()).unwrap_or_default()
    };
    [&[][..], &[0, 5, 300], &[-7, 1_000, 55_000, 7_000_000_000], &[7_200_000_000_000]].map(encode).into()
}

fn read_distribution(input: &[u8]) {
    let (mut count, mut last) = (0_u64, None);
    let read = read_hdr(input, u64::MAX, |bucket| {
        assert!(bucket.count > 0 && bucket.lowest <= bucket.highest);
        assert!(last.is_none_or(|last| last < bucket.lowest));
        last = Some(bucket.highest);
        count = count.saturating_add(bucket.count);
    });
    if read.is_err() {
        return;
    }
    let hdr = BASE64.encode(input);
    for (min, max, sum) in [(0, 0, 0), (0, 1 << 40, 1 << 41), (i64::MIN, i64::MAX, i128::MAX)] {
        let text = format!(
            "{{\"count\":{count},\"min_ns\":{min},\"max_ns\":{max},\"sum_ns\":{sum},\"hdr\":\"{hdr}\"}}"
        );
        let Ok(mut distribution) = serde_json::from_str::<Distribution>(&text) else { continue };
        distribution.merge(&distribution.clone());
        let (min, max) = (distribution.min(), distribution.max());
        assert!(distribution.quantile(0.5).is_none_or(|median| Some(median) >= min && Some(median) <= max));
        drop((distribution.to_hdr(), distribution.stddev_nanos()));
    }
}
