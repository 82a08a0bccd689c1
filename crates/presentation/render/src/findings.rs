//! `howlate doctor`: findings as text, the worst last.

use anstyle::Style;
use howlate_model::{Finding, Verdict};

use crate::commands_to_type::{is_command, step_lines};
use crate::detail::Detail;
use crate::prose::{WIDEST, lines, text_width};
use crate::style::{BOLD, COMMAND, DIM, GOOD, HEADING, STOP, WARN, paint};

/// Narrower text is harder to read than text broken by the terminal.
const NARROWEST: usize = 40;

/// The findings by verdict, in lines of about `width` columns.
///
/// The text has ANSI colours; the caller strips them for a file. Commands stay copyable.
pub fn findings(findings: &[Finding], width: usize, detail: Detail) -> String {
    let notes = findings.iter().filter(|finding| finding.verdict == Verdict::Note).count();
    // First leave out notes, then what could not be read and the steps.
    let fewer = (0..=notes).rev().map(|notes| FindingsExtent { notes, ..FindingsExtent::WHOLE });
    let least = [(usize::MAX, 1), (0, usize::MAX), (0, 1)];
    let least =
        least.map(|(unknown, steps)| FindingsExtent { notes: 0, unknown, steps, ..FindingsExtent::WHOLE });
    let fewest = |costs| FindingsExtent { notes: 0, unknown: 0, steps: 1, costs };
    let costs = findings.iter().filter(|finding| finding.verdict == Verdict::Costs).count();
    let least = least.into_iter().chain((1..costs).rev().map(fewest));
    let text = |extent: FindingsExtent| page_text(findings, width, detail, extent);
    if detail == Detail::Full {
        return text(FindingsExtent::WHOLE);
    }
    let mut texts = fewer.chain(least).map(text);
    let fitting = texts.clone().find(|text| text.lines().count() <= MOST_LINES);
    fitting.or_else(|| texts.next_back()).unwrap_or_default()
}

/// A screen and a half, less the machine above and the last run below.
const MOST_LINES: usize = 32;

/// How much is shown of each verdict.
#[derive(Clone, Copy, Debug)]
struct FindingsExtent {
    /// Findings that are worth knowing and cost nothing.
    notes: usize,
    /// Findings that could not be read.
    unknown: usize,
    /// Steps of each other finding.
    steps: usize,
    /// Findings that cost latency; those that block real-time work are always shown.
    costs: usize,
}

impl FindingsExtent {
    const WHOLE: Self = Self { notes: usize::MAX, unknown: usize::MAX, steps: usize::MAX, costs: usize::MAX };

    /// Number of findings shown for a verdict.
    const fn of(self, verdict: Verdict) -> usize {
        match verdict {
            Verdict::Note => self.notes,
            Verdict::Unknown => self.unknown,
            Verdict::Costs => self.costs,
            _ => usize::MAX,
        }
    }
}

fn page_text(findings: &[Finding], width: usize, detail: Detail, extent: FindingsExtent) -> String {
    let mut page = FindingsPage {
        text: String::new(),
        width: width.clamp(NARROWEST, WIDEST),
        terminal: width.max(NARROWEST),
        detail,
        extent,
    };
    for group in GROUPS {
        let members: Vec<&Finding> =
            findings.iter().filter(|finding| finding.verdict == group.verdict).collect();
        page.add_group(&group, &members);
    }
    if detail != Detail::Full && !page.text.is_empty() {
        page.text.push('\n');
        page.paragraph_at(
            0,
            "`howlate doctor --details` has all of it, with why, what it costs, how to undo it, and what was read.",
        );
    }
    page.text
}

/// Heading and mark of the findings of a verdict.
struct FindingGroup {
    verdict: Verdict,
    heading: &'static str,
    mark: char,
    style: Style,
}

/// In the order of the output.
const GROUPS: [FindingGroup; 5] = [
    group(Verdict::Good, "As it should be", '✓', GOOD),
    group(Verdict::Note, "Worth knowing", '·', PLAIN),
    group(Verdict::Unknown, "Could not be read", '?', WARN),
    group(Verdict::Costs, "Costs punctuality", '!', WARN),
    group(Verdict::Blocks, "Blocks real-time work", '✗', STOP),
];

const fn group(verdict: Verdict, heading: &'static str, mark: char, style: Style) -> FindingGroup {
    FindingGroup { verdict, heading, mark, style }
}

const PLAIN: Style = Style::new();

/// Indentation below a finding, and width of the label column.
const INDENT: usize = 4;
const LABEL: usize = 11;
/// Further indentation of text below its label.
const BELOW: usize = 2;

/// The text while it is built.
struct FindingsPage {
    text: String,
    /// Width of sentences.
    width: usize,
    /// Width of commands, which had better not be broken.
    terminal: usize,
    detail: Detail,
    extent: FindingsExtent,
}

impl FindingsPage {
    fn add_group(&mut self, group: &FindingGroup, members: &[&Finding]) {
        if members.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        if group.verdict == Verdict::Good && self.detail != Detail::Full {
            return self.line(0, HEADING, &format!("{}: {}", group.heading, count_of(members.len())));
        }
        let shown = self.extent.of(group.verdict).min(members.len());
        if shown == 0 {
            return self.line(0, HEADING, &format!("{}: {}", group.heading, count_of(members.len())));
        }
        let part = if shown < members.len() { format!("{shown} of ") } else { String::new() };
        self.line(0, HEADING, &format!("{} ({part}{})", group.heading, members.len()));
        for (number, finding) in members.iter().take(shown).enumerate() {
            if self.detail == Detail::Full && number > 0 {
                self.text.push('\n');
            }
            self.finding(group, finding);
            if self.detail == Detail::Full {
                self.body(finding);
            } else {
                self.what_to_do(finding);
            }
        }
    }

    /// The steps of a finding that costs something; other findings are explained only in full.
    fn what_to_do(&mut self, finding: &Finding) {
        if let Some(remedy) = finding.remedy.as_ref().filter(|_| finding.verdict <= Verdict::Costs) {
            let is_host = |step: &String| step.starts_with('#');
            let count = remedy.apply.iter().filter(|step| !is_host(step)).count();
            // Incomplete steps would be worse than none: they look complete.
            if count > self.extent.steps {
                return self.beside("do", PLAIN, &format!("{count} steps: `howlate doctor --details`"));
            }
            self.steps("do", &remedy.apply);
        }
    }

    fn finding(&mut self, group: &FindingGroup, finding: &Finding) {
        let style = if finding.verdict <= Verdict::Costs { BOLD } else { PLAIN };
        for (number, line) in lines(&finding.found, self.width - INDENT).iter().enumerate() {
            let mark = if number == 0 { group.mark } else { ' ' };
            self.text.push_str(&format!(
                "  {} {}\n",
                styled(group.style, &mark.to_string()),
                styled(style, line)
            ));
        }
    }

    fn body(&mut self, finding: &Finding) {
        self.paragraph(&finding.why);
        if let Some(cost) = &finding.cost {
            self.beside("typically", PLAIN, &cost.typical);
            self.beside("", DIM, &format!("({})", cost.source));
        }
        if let Some(remedy) = &finding.remedy {
            self.steps("do", &remedy.apply);
            if let Some(price) = &remedy.price {
                self.beside("price", PLAIN, price);
            }
            self.steps("for good", &remedy.lasting);
            self.steps("undo", &remedy.undo);
        }
        self.evidence(finding);
    }

    fn paragraph(&mut self, text: &str) {
        self.paragraph_at(INDENT, text);
    }

    fn paragraph_at(&mut self, indent: usize, text: &str) {
        for line in lines(text, self.width - indent) {
            self.line(indent, PLAIN, &line);
        }
    }

    /// Commands on lines of their own; sentences are broken like other text.
    fn steps(&mut self, label: &str, steps: &[String]) {
        for (number, step) in steps.iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            if !is_command(step) {
                self.beside(label, PLAIN, step);
                continue;
            }
            for (number, line) in step_lines(step, self.terminal - INDENT - LABEL).iter().enumerate() {
                self.labelled(if number == 0 { label } else { "" }, COMMAND, line);
            }
        }
    }

    /// Files that were read, with their contents.
    fn evidence(&mut self, finding: &Finding) {
        for (number, evidence) in finding.evidence.iter().enumerate() {
            let value = if evidence.value.is_empty() { "(empty)" } else { &evidence.value };
            let label = if number == 0 { "read" } else { "" };
            self.beside(label, DIM, &format!("{}: {value}", evidence.path));
        }
        self.labelled("name", DIM, finding.id.name());
    }

    /// Text beside a label, broken to the width; below the label if a word does not fit beside it.
    fn beside(&mut self, label: &str, style: Style, text: &str) {
        let room = self.width - INDENT - LABEL;
        let beside = lines(text, room);
        if beside.iter().any(|line| text_width(line) > room) {
            if !label.is_empty() {
                self.line(INDENT, DIM, label);
            }
            let below = lines(text, self.width - INDENT - BELOW);
            return below.iter().for_each(|line| self.line(INDENT + BELOW, style, line));
        }
        for (number, line) in beside.iter().enumerate() {
            self.labelled(if number == 0 { label } else { "" }, style, line);
        }
    }

    fn labelled(&mut self, label: &str, style: Style, line: &str) {
        let label = styled(DIM, &format!("{label:<LABEL$}"));
        self.text.push_str(&format!("{:INDENT$}{label}{}\n", "", styled(style, line)));
    }

    fn line(&mut self, indent: usize, style: Style, line: &str) {
        self.text.push_str(&format!("{:indent$}{}\n", "", styled(style, line)));
    }
}

fn count_of(findings: usize) -> String {
    if findings == 1 { "1 thing".to_owned() } else { format!("{findings} things") }
}

/// Text in a style; blanks need none.
fn styled(style: Style, text: &str) -> String {
    if text.trim().is_empty() { text.to_owned() } else { paint(style, text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Cost, Evidence, FindingId, Remedy};

    fn finding(id: FindingId, verdict: Verdict, found: &str) -> Finding {
        Finding {
            id,
            verdict,
            found: found.into(),
            evidence: vec![Evidence { path: "/proc/self/timerslack_ns".into(), value: "50000".into() }],
            why: "The kernel delays the sleeps of normal threads by up to this much, so that several \
                can end together."
                .into(),
            cost: None,
            remedy: None,
        }
    }

    fn slack() -> Finding {
        Finding {
            cost: Some(Cost { typical: "50 µs on every sleep".into(), source: "prctl(2)".into() }),
            remedy: Some(Remedy {
                apply: vec![
                    "echo 1 > /proc/$$/timerslack_ns   # this shell and everything it starts later on".into(),
                ],
                undo: vec!["echo 50000 > /proc/$$/timerslack_ns".into()],
                ..Remedy::default()
            }),
            ..finding(FindingId::TimerSlack, Verdict::Costs, "timers of this process may expire 50 µs late")
        }
    }

    /// The text without colours.
    fn plain(text: &str) -> String {
        let mut plain = String::new();
        let mut inside = false;
        for letter in text.chars() {
            match (inside, letter) {
                (false, '\u{1b}') => inside = true,
                (false, letter) => plain.push(letter),
                (true, letter) => inside = !letter.is_ascii_alphabetic(),
            }
        }
        plain
    }

    #[test]
    fn what_costs_comes_last_with_what_to_do() {
        let good = finding(FindingId::Swap, Verdict::Good, "there is no swap");
        let text = plain(&findings(&[slack(), good], 72, Detail::Brief));
        let expected = "\
As it should be: 1 thing

Costs punctuality (1)
  ! timers of this process may expire 50 µs late
    do         # this shell and everything it starts later on
               echo 1 > /proc/$$/timerslack_ns

`howlate doctor --details` has all of it, with why, what it costs, how
to undo it, and what was read.
";
        assert_eq!(text, expected);
    }

    /// Fits a screen and a half on any machine, with the costs on the last screen.
    #[test]
    fn what_costs_nothing_makes_room_for_what_does() {
        let finding_with = |verdict, text: &str| finding(FindingId::Tick, verdict, text);
        let mut all = vec![finding_with(Verdict::Note, &"long note ".repeat(9)); 20];
        all.extend(vec![finding_with(Verdict::Unknown, "not read"); 3]);
        all.extend(vec![slack(); 4]);
        let text = plain(&findings(&all, 80, Detail::Brief));
        assert!(text.lines().count() <= MOST_LINES, "{text}");
        assert!(text.contains(" of 20)") && text.contains("Could not be read (3)"), "{text}");
        assert!(text.contains("Costs punctuality (4)"), "{text}");
        all.extend(vec![slack(); 5]);
        let crowded = plain(&findings(&all, 80, Detail::Brief));
        assert!(crowded.contains("Worth knowing: 20 things") && crowded.contains(" of 9)"), "{crowded}");
        assert!(crowded.lines().count() <= MOST_LINES, "{crowded}");
        assert!(plain(&findings(&all, 80, Detail::Full)).contains("Worth knowing (20)"));
    }

    #[test]
    fn the_reason_and_the_way_back_are_said_in_full() {
        let good = finding(FindingId::Swap, Verdict::Good, "there is no swap");
        let text = plain(&findings(&[slack(), good], 72, Detail::Full));
        let expected = "\
Costs punctuality (1)
  ! timers of this process may expire 50 µs late
    The kernel delays the sleeps of normal threads by up to this much,
    so that several can end together.
    typically  50 µs on every sleep
               (prctl(2))
    do         # this shell and everything it starts later on
               echo 1 > /proc/$$/timerslack_ns
    undo       echo 50000 > /proc/$$/timerslack_ns
    read       /proc/self/timerslack_ns: 50000
    name       timer_slack
";
        assert!(text.ends_with(expected), "{text}");
        assert!(text.starts_with("As it should be (1)\n  ✓ there is no swap\n    The kernel"), "{text}");
    }

    #[test]
    fn evidence_is_shown_in_full() {
        assert!(!findings(&[slack()], 80, Detail::Brief).contains("timerslack_ns: 50000"));
        let full = plain(&findings(&[slack()], 80, Detail::Full));
        assert!(full.contains("read       /proc/self/timerslack_ns: 50000"));
        assert!(full.contains("name       timer_slack"));
    }

    #[test]
    fn groups_are_ordered_and_empty_ones_left_out() {
        let all = [
            finding(FindingId::Smt, Verdict::Good, "a"),
            finding(FindingId::Tick, Verdict::Blocks, "b"),
            finding(FindingId::Turbo, Verdict::Note, "c"),
        ];
        let text = plain(&findings(&all, 80, Detail::Brief));
        let headings: Vec<&str> = text.lines().filter(|line| line.ends_with(')')).collect();
        assert_eq!(headings, ["Worth knowing (1)", "Blocks real-time work (1)"]);
        assert_eq!(findings(&[], 80, Detail::Full), "");
    }

    #[test]
    fn a_sentence_is_broken_where_a_command_goes_on() {
        let command = format!("echo {}", "1 ".repeat(75).trim_end());
        let mut wide = Finding { why: "word ".repeat(40).trim_end().to_owned(), ..slack() };
        wide.remedy.iter_mut().for_each(|remedy| remedy.apply = vec![command.clone()]);
        let text = plain(&findings(&[wide], 200, Detail::Full));
        assert!(text.lines().any(|line| line.ends_with(&command)), "{text}");
        let widest = text.lines().filter(|line| line.ends_with("word")).map(str::len).max();
        assert!(widest.is_some_and(|widest| (101..=WIDEST).contains(&widest)), "{text}");
    }

    #[test]
    fn only_commands_are_wider_than_asked() {
        let text = plain(&findings(&[slack()], 10, Detail::Full));
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > NARROWEST).collect();
        assert!(wide.iter().all(|line| line.contains("echo")), "{wide:?}");
    }

    #[test]
    fn colours_are_switched_off_again() {
        let text = findings(&[slack()], 80, Detail::Full);
        assert!(text.contains("\u{1b}["));
        for line in text.lines().filter(|line| line.contains('\u{1b}')) {
            let last = line.rsplit('\u{1b}').next().unwrap_or_default();
            assert!(last.starts_with("[0m"), "{line:?}");
        }
    }
}
