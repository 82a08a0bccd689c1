//! What others put around each line of a program's output: indentation, times, names of containers, marks of quotation.

use std::borrow::Cow;

use serde_json::Value;

/// A line as the program wrote it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bare<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Who wrote it, where lines of several are mixed: a container, a process, a job.
    pub(crate) source: &'a str,
}

/// What a diff has changed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Diff {
    #[default]
    None,
    /// All of a file was added, or taken away.
    Whole,
    /// Some of its lines.
    Parts,
}

/// Takes off what wraps lines.
#[derive(Debug, Default)]
pub(crate) struct Unwrapping {
    diff: Diff,
}

/// Nothing that wraps a line is nested deeper.
const DEEPEST: usize = 8;

impl Unwrapping {
    /// Whether it is a diff that has only parts of a file.
    pub(crate) fn is_of_parts(&self) -> bool {
        self.diff == Diff::Parts
    }

    /// The line without what wraps it; `None` where it is nothing but wrapping.
    pub(crate) fn unwrap<'a>(&mut self, line: &'a str) -> Option<Bare<'a>> {
        let (mut text, mut source) = (line.trim_ascii(), "");
        if let Some(text) = text.starts_with(['-', '{']).then(|| message_in_json(text)).flatten() {
            return Some(Bare { text: Cow::Owned(bare_text(&text).to_owned()), source });
        }
        for _ in 0..DEEPEST {
            let Some((more, from)) = without_prefix(text) else { break };
            text = more.trim_ascii_start();
            source = if from.is_empty() { source } else { from };
        }
        let text = match text.as_bytes() {
            [b'`', b'`', b'`', ..] | [b'~', b'~', b'~', ..] => return None,
            [b'@' | b'+' | b'0'..=b'9', ..] => self.without_diff(text)?,
            _ => text,
        };
        let text =
            if text.contains('\u{1b}') { Cow::Owned(without_escapes(text)) } else { Cow::Borrowed(text) };
        Some(Bare { text, source })
    }

    /// Of a diff, the lines that it adds.
    fn without_diff<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        if is_place_in_diff(text) {
            self.diff = Diff::Parts;
            return None;
        }
        if let Some(range) = text.strip_prefix("@@ -") {
            let is_new = range.starts_with("0,0 +") && self.diff != Diff::Parts;
            self.diff = if is_new { Diff::Whole } else { Diff::Parts };
            return None;
        }
        match text.strip_prefix('+') {
            _ if self.diff == Diff::None => Some(text),
            Some(text) => Some(text.trim_start()),
            None => Some(text),
        }
    }
}

/// `12,14c12,14`, as `diff` without options heads what it has found.
fn is_place_in_diff(text: &str) -> bool {
    if !text.starts_with(|first: char| first.is_ascii_digit()) || text.contains([' ', ':']) {
        return false;
    }
    let is_range = |range: &str| {
        !range.is_empty()
            && range.split(',').all(|line| !line.is_empty() && line.bytes().all(|item| item.is_ascii_digit()))
    };
    text.len() < 40
        && text.split_once(['a', 'c', 'd']).is_some_and(|(from, until)| is_range(from) && is_range(until))
}

/// What stands at the end of a line behind times and names.
fn bare_text(mut text: &str) -> &str {
    for _ in 0..DEEPEST {
        let Some((more, _)) = without_prefix(text) else { break };
        text = more.trim_start();
    }
    text.trim()
}

/// One thing less in front of a line, and who wrote it if that says so. The commonest lines are looked at least.
fn without_prefix(text: &str) -> Option<(&str, &str)> {
    match text.as_bytes().first()? {
        b'>' => Some((text.trim_start_matches('>'), "")),
        b'0'..=b'9' => iso_time(text).map(|rest| after_time(rest, text)),
        b'[' => bracketed(text).or_else(|| of_container(text)),
        b'A'..=b'S' => syslog_time(text)
            .map(|rest| after_time(rest, text))
            .or_else(|| of_job(text))
            .or_else(|| of_container(text)),
        b'a'..=b'z' | b'T'..=b'Z' | b'_' => of_job(text).or_else(|| of_container(text)),
        _ => None,
    }
}

/// `2026-05-01T12:00:00.123456789Z `, as containers, CI and journals write it: what is behind it.
fn iso_time(text: &str) -> Option<&str> {
    let shape = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        10 => matches!(byte, b'T' | b' '),
        13 | 16 => *byte == b':',
        _ => byte.is_ascii_digit(),
    };
    let date = text.as_bytes().get(..19)?;
    if !date.iter().enumerate().all(shape) {
        return None;
    }
    let rest = text.get(19..)?;
    let is_of_time =
        |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',' | '+' | '-' | ':' | 'Z');
    let rest = rest.trim_start_matches(is_of_time);
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest)
}

/// `May  1 12:00:00 `, as syslog and journals write it.
fn syslog_time(text: &str) -> Option<&str> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (month, rest) = text.split_at_checked(3)?;
    if !MONTHS.contains(&month) {
        return None;
    }
    let (day, rest) = rest.trim_start().split_once(' ')?;
    let (time, rest) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
    let is_time =
        time.len() >= 8 && time.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    (day.len() <= 2 && day.parse::<u8>().is_ok() && is_time && time.contains(':')).then_some(rest)
}

/// Behind a time stands the stream of a container, or the machine and the process.
fn after_time<'a>(rest: &'a str, whole: &'a str) -> (&'a str, &'a str) {
    let rest = rest.trim_start();
    for stream in ["stdout F ", "stderr F ", "stdout P ", "stderr P "] {
        if let Some(rest) = rest.strip_prefix(stream) {
            return (rest, "");
        }
    }
    let mut fields = rest.splitn(3, ' ');
    let (Some(_host), Some(process)) = (fields.next(), fields.next()) else { return (rest, "") };
    let is_process = process.strip_suffix("]:").is_some_and(|process| {
        process.rsplit_once('[').is_some_and(|(_, pid)| pid.bytes().all(|byte| byte.is_ascii_digit()))
    });
    if !is_process {
        return (rest, "");
    }
    let behind = fields.next().unwrap_or_default();
    let from = whole.len().saturating_sub(rest.len());
    let until = whole.len().saturating_sub(behind.len());
    (behind, whole.get(from..until).unwrap_or_default().trim_end())
}

/// `[12:00:00] `, `[  123.456789] `, `[pod/name/container] `.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
    let is_time = inside.contains([':', '.'])
        && inside.trim().bytes().all(|byte| byte.is_ascii_digit() || b":.-+TZ, ".contains(&byte));
    let is_pod = inside.contains('/') && !inside.contains(' ');
    if !(is_time || is_pod) || !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    Some((rest, if is_pod { inside } else { "" }))
}

/// `cyclictest-1  | `, as `docker compose logs` has it.
fn of_container(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.split_once('|')?;
    let name = before.trim_end();
    let is_name = name.len() <= 64 && name.len() < before.len() && !name.contains([' ', '\t']);
    let is_apart = rest.is_empty() || rest.starts_with(' ');
    (is_name && is_apart && !name.is_empty()).then_some((rest, name))
}

/// `job<tab>step<tab>2026-…`, as `gh run view --log` has it.
fn of_job(text: &str) -> Option<(&str, &str)> {
    let (job, rest) = text.split_once('\t')?;
    let (_step, rest) = rest.split_once('\t')?;
    let rest = rest.trim_start_matches('\u{feff}');
    iso_time(rest).map(|rest| (rest, job))
}

/// The message of a line that is an object: `- {"dt": …, "msg": …}` of LAVA, `{"log": …}` of Docker.
fn message_in_json(text: &str) -> Option<String> {
    if let Some(object) = text.strip_prefix("- {") {
        return lava_message(object, text);
    }
    let line = text.strip_prefix("{\"log\":").map(|_| text)?;
    match serde_json::from_str(line).ok()? {
        Value::Object(mut object) => match object.remove("log")? {
            Value::String(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// LAVA writes JSON, and wrote YAML before.
fn lava_message(object: &str, line: &str) -> Option<String> {
    if let Ok(Value::Object(mut object)) = serde_json::from_str(line.strip_prefix("- ")?) {
        return match object.remove("msg")? {
            Value::String(text) => Some(text),
            _ => None,
        };
    }
    let message = object.split_once("msg: ")?.1.trim_end().strip_suffix('}')?;
    match message.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(quoted) => Some(quoted.replace("''", "'")),
        None => Some(message.trim_matches('"').to_owned()),
    }
}

/// Without escape sequences of cursor and colours; other escapes are text.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut bare = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|letter: char| letter.is_ascii_alphabetic())
            .map_or(part.len(), |end| end.saturating_add(1));
        bare.push_str(part.get(end..).unwrap_or_default());
    }
    bare.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(line: &str) -> (String, String) {
        let bare = Unwrapping::default().unwrap(line).unwrap();
        (bare.text.into_owned(), bare.source.to_owned())
    }

    #[test]
    fn what_wraps_a_line_is_taken_off() {
        for (line, text, source) in [
            ("    000001 000005", "000001 000005", ""),
            ("> > # Histogram\r", "# Histogram", ""),
            (">> 000001 000005", "000001 000005", ""),
            ("2026-05-01T12:00:00.123456789Z # Histogram", "# Histogram", ""),
            ("2026-05-01T12:00:00.1234567Z   000001 000005", "000001 000005", ""),
            ("2026-05-01T12:00:00.1Z stdout F # Histogram", "# Histogram", ""),
            (
                "2026-05-01T12:00:00+0000 rt7 cyclictest[811]: # Histogram",
                "# Histogram",
                "rt7 cyclictest[811]:",
            ),
            ("May  1 12:00:00 rt7 cyclictest[811]: 000001 000005", "000001 000005", "rt7 cyclictest[811]:"),
            ("May 01 12:00:00 # Histogram", "# Histogram", ""),
            ("cyclictest-1  | 000001 000005", "000001 000005", "cyclictest-1"),
            ("cyclictest-1  | ", "", "cyclictest-1"),
            ("[pod/rt-7/main] # Histogram", "# Histogram", "pod/rt-7/main"),
            ("[pod/rt-7/main] 2026-05-01T12:00:00.1Z # Histogram", "# Histogram", "pod/rt-7/main"),
            ("[   12.345678] # Histogram", "# Histogram", ""),
            ("[12:00:01] 000001 000005", "000001 000005", ""),
            ("test\tRun it\t2026-05-01T12:00:00.1234567Z # Histogram", "# Histogram", "test"),
            (
                "- {\"dt\": \"2026-05-01T12:00:00\", \"lvl\": \"target\", \"msg\": \"# Histogram\"}",
                "# Histogram",
                "",
            ),
            ("- {dt: '2026-05-01T12:00:00', lvl: target, msg: '000001 000005'}", "000001 000005", ""),
            ("{\"log\":\"# Histogram\\n\",\"stream\":\"stdout\",\"time\":\"2026\"}", "# Histogram", ""),
            ("\u{1b}[2AT: 0 (  809) P:80", "T: 0 (  809) P:80", ""),
        ] {
            assert_eq!(bare(line), (text.to_owned(), source.to_owned()), "{line:?}");
        }
    }

    #[test]
    fn what_a_program_wrote_itself_stays() {
        for line in [
            "0:       0:      30",
            "T: 0 (  809) P:80 I:1000 C:  61200",
            "stress-ng: info:  [4403] cyclic: latency (ns)  frequency",
            "0 -> 1          : 233      |***********     |",
            "[0]                  233 |@@@@@@@           |",
            "[2, 4)               742 |@@@@@@@@@@@@@@@@@@|",
            "0.000000,1.000000,0.000000,HISTFAAAA",
            "Latency   635.91us    0.89ms  12.92ms   93.69%",
            "Tag=a,0.0,1.0,2.0,HISTFAAAA",
        ] {
            assert_eq!(bare(line).0, line);
        }
    }

    #[test]
    fn of_a_diff_only_a_new_file_is_whole() {
        let mut unwrapping = Unwrapping::default();
        let mut text = |line: &str| unwrapping.unwrap(line).map(|bare| bare.text.into_owned());
        assert_eq!(text("@@ -0,0 +1,20 @@"), None);
        assert_eq!(text("+000001 000005").as_deref(), Some("000001 000005"));
        assert!(!unwrapping.is_of_parts());
        unwrapping.unwrap("@@ -3,2 +3,2 @@");
        assert!(unwrapping.is_of_parts());
        let mut unwrapping = Unwrapping::default();
        unwrapping.unwrap("12,14c12,14");
        assert!(unwrapping.is_of_parts());
        assert_eq!(bare("+1 is no line of a diff here").0, "+1 is no line of a diff here");
    }
}
